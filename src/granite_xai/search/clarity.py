"""How clearly the splits of a tree won.

For each split: how far its threshold could move at little cost, whether the best cut of another
column does nearly as well, and whether effects change so smoothly along its column that a surface of
two columns would describe them better than two regions. The model is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.signed_weights import STEP
from granite_xai.engine.splits import Cut, Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.perturbed_figures import perturbed_figures
from granite_xai.moments.statistics import FullAgainstPure
from granite_xai.regions.nodes import Node, Split
from granite_xai.regions.rule import find_column, satisfied
from granite_xai.search.candidates import Candidate, candidates, cuts_of
from granite_xai.search.problem import Problem
from granite_xai.search.scoring import score_candidates
from granite_xai.search.split_conditions import conditions
from granite_xai.search.tables import RegionTables, region_tables
from granite_xai.tables import Column

NEARLY = 0.05  # share of what a split takes away that a nearly equal cut leaves more, at most
WIDE = 0.1  # share of a node's rows between nearly equal cuts from which a cut is one of many
FEWEST_VALUES = 8  # values of a column, at least, along which effects may change smoothly
DEGREE = 3  # of the polynomial of a column's ranks along which they do
CLOSE = 0.5  # share of its gain that another column may be behind a split to be looked at
SIGNED_PAIRS = 16  # of weights, that tell the standard error of being behind
PAIRS_AT_ONCE = 2**16  # pairs of rows looked at together: few enough for the cache


def in_pairs(question: ResolvedQuestion) -> bool:
    """Whether gaps are means over pairs of rows."""
    is_linear = question.first.behavior.is_linear and question.measure.mode is not None
    return is_linear and all(masking.in_pairs for masking in question.gaps[0])


def split_clarity(
    problem: Problem, node: Node, drawn: FloatArray, rows: IntArray
) -> Iterator[dict[str, Any]]:
    """A record for each split of a tree, parents first.

    Parameters
    ----------
    problem : Problem
    node : Node
        Root of the tree.
    drawn : array of shape (n_pairs, n_rows)
        Random signs of all rows.
    rows : array
        Rows of the node.
    """
    tables = region_tables(problem, problem.tree.min_samples_leaf)
    yield from _records(problem, tables, node, drawn[:SIGNED_PAIRS], rows)


def _records(
    problem: Problem, tables: RegionTables | None, node: Node, drawn: FloatArray, rows: IntArray
) -> Iterator[dict[str, Any]]:
    """The records of the splits below a node; scores of cuts come from tables, where there are some."""
    if not isinstance(node, Split):
        return
    goes_left = satisfied(node.left, find_column(problem.table, node.column))[rows]
    yield _SplitNode(
        problem=problem,
        rows=rows,
        evaluations=problem.evaluations.restrict(rows),
        tables=tables,
        split=node,
        goes_left=goes_left,
    ).record(drawn)
    left, right = node.children
    yield from _records(problem, tables, left, drawn, rows[goes_left])
    yield from _records(problem, tables, right, drawn, rows[~goes_left])


class _Interacting(NamedTuple):
    """A set whose gaps a split makes smaller."""

    gain: float  # what the split takes away of it, in shares of the objective
    before: float  # summed losses of its gaps in the node
    after: float  # the same in both regions
    question: ResolvedQuestion
    number: int  # of the set


@dataclass(frozen=True, eq=False)
class _SplitNode:
    """A split beside other ways to cut its node.

    Parameters
    ----------
    problem : Problem
    rows : array
        Rows of the node.
    evaluations : Evaluations
        Of these rows.
    tables : RegionTables, optional
    split : Split
    goes_left : array of shape (n_rows_of_node,)
    """

    problem: Problem
    rows: IntArray
    evaluations: Evaluations
    tables: RegionTables | None
    split: Split
    goes_left: BoolArray

    @cached_property
    def column(self) -> Column:
        """The column that is cut."""
        return find_column(self.problem.table, self.split.column)

    @cached_property
    def codes(self) -> IntArray:
        """Levels of that column at the rows of the node."""
        return self.column.codes[self.rows]

    @cached_property
    def options(self) -> list[Candidate]:
        """Every cut of the node at quantiles."""
        tree = self.problem.tree
        return candidates(
            self.problem.table,
            self.rows,
            Deferred(lambda: self.evaluations),
            tree.columns(self.problem.table),
            tree.max_candidates,
            tree.min_samples_leaf,
            tree.cuts,
        )

    @cached_property
    def left_by_split(self) -> float:
        """What both sides of the split leave together."""
        return sum(self.problem.shares.on(side) for side in self._sides)

    @cached_property
    def gain(self) -> float:
        """What the split takes away."""
        return self.problem.shares.on(self.evaluations) - self.left_by_split

    @cached_property
    def _sides(self) -> list[Evaluations]:
        masks = (self.goes_left, ~self.goes_left)
        return [self.evaluations.restrict(np.flatnonzero(mask)) for mask in masks]

    def record(self, drawn: FloatArray) -> dict[str, Any]:
        """What is known of the split beside others."""
        scores = self._scores()
        same_column = np.array([option.column == self.column.position for option in self.options])
        record: dict[str, Any] = {
            "column": self.column.name,
            "split": self.split.left.text(self.column.name),
            "gain": self.gain,
        }
        record |= self._plateau(scores, same_column)
        record |= dict.fromkeys(("second", "behind", "standard_error", "with", "left", "surface"))
        record |= {"tie": False, "smooth": False}
        if not same_column.all():
            record |= self._runner_up(np.where(same_column, np.inf, scores), drawn)
        is_ordered = self.column.kind not in ("nominal", "boolean")
        is_fine = len(np.unique(self.codes)) >= FEWEST_VALUES
        if record["plateau"] >= WIDE and is_ordered and is_fine:
            record |= self._surface()
        return record

    def _scores(self) -> FloatArray:
        """What both sides of each cut leave; from tables as far from the split's own as these say."""
        if self.tables is None:
            return self._exact_scores(self.options)
        node_tables = self.tables.of_node(self.rows)
        cuts = cuts_of(self.options, self.problem.table, self.rows)
        scores = np.concatenate([sides.sum(axis=0) for sides in node_tables.sides(cuts)])
        split_as_cut = Cut(-1, self.goes_left.astype(np.intp), np.array([[False, True]]))
        score_of_split = float(node_tables.sides([split_as_cut])[0].sum())
        if not np.isfinite(score_of_split):
            return scores
        return scores - score_of_split + self.left_by_split

    def _exact_scores(self, options: list[Candidate]) -> FloatArray:
        """What both sides of some cuts leave together, from the predictions."""
        scores = score_candidates(
            self.problem, self.rows, options, self.evaluations, self.problem.tree.max_candidates
        )
        return scores.remaining(self.problem.shares)

    def _plateau(self, scores: FloatArray, same_column: BoolArray) -> dict[str, Any]:
        """Between which cuts of the same column the threshold could lie at little cost."""
        is_near = same_column & (scores <= self.left_by_split + NEARLY * self.gain)
        near = [self.options[number] for number in np.flatnonzero(is_near)]
        shares_left = [
            float(np.mean(option.goes_left(self.problem.table, self.rows))) for option in near
        ]
        between = []
        if near:
            first = near[int(np.argmin(shares_left))]
            last = near[int(np.argmax(shares_left))]
            between = [self._text(first), self._text(last)]
        shares_left.append(float(np.mean(self.goes_left)))
        return {"plateau": max(shares_left) - min(shares_left), "between": between}

    def _runner_up(self, scores_of_others: FloatArray, drawn: FloatArray) -> dict[str, Any]:
        """The best cut of another column, and whether it is within one standard error."""
        second = self.options[int(np.argmin(scores_of_others))]
        behind = float(self._exact_scores([second])[0]) - self.left_by_split
        record: dict[str, Any] = {"second": self._text(second), "behind": behind}
        if behind < CLOSE * self.gain:
            second_left = second.goes_left(self.problem.table, self.rows)
            moves = self._moves(second_left, drawn) - self._moves(self.goes_left, drawn)
            standard_error = float(np.sqrt(np.mean(np.square(moves))))
            record |= {"standard_error": standard_error, "tie": behind <= standard_error}
        return record

    def _text(self, option: Candidate) -> str:
        column = self.problem.table.columns[option.column]
        left, _ = conditions(column, option, self.rows, self.problem.missing)
        return left.text(column.name)

    def _questions(self) -> Iterator[tuple[float, ResolvedQuestion]]:
        """The questions that count, with their factors."""
        shares = self.problem.shares
        for factor, question in zip(shares.factors.tolist(), shares.comparisons, strict=True):
            if factor and isinstance(question, ResolvedQuestion):
                yield factor, question

    def _moves(self, goes_left: BoolArray, drawn: FloatArray) -> FloatArray:
        """How what both sides of a cut leave moves with the sample, for each vector of signs."""
        shares = self.problem.shares
        total = np.zeros(len(drawn))
        for mask in (goes_left, ~goes_left):
            side = self.evaluations.restrict(np.flatnonzero(mask))
            for factor, question in self._questions():
                shown = perturbed_figures(question, side, drawn[:, self.rows[mask]])
                mass = shown.mass / shares.total if shares.by_mass else 1.0
                with_signs, against_signs = factor * shown.moved * mass
                total += (with_signs - against_signs) / (2 * STEP)
        return total

    def _surface(self) -> dict[str, Any]:
        """The set that the split makes agree most: what both regions leave of it, and what a surface would."""
        interacting = list(self._interacting_sets())
        if not interacting:
            return {}
        strongest = max(interacting, key=lambda one: one.gain)
        layout = strongest.question.first.layout
        left = strongest.after / strongest.before
        surface = self._left_along_column(strongest) / strongest.before
        name = ":".join(layout.labels[strongest.number])
        if self.column.position in union(layout.sets[strongest.number]):
            name = "others"
        return {"with": name, "left": left, "surface": surface, "smooth": surface < left - NEARLY}

    def _interacting_sets(self) -> Iterator[_Interacting]:
        """The sets without the column of the split whose gaps it makes smaller."""
        for factor, question in self._questions():
            if not in_pairs(question):
                continue
            in_node = self._losses(question, self.evaluations)
            in_left, in_right = (self._losses(question, side) for side in self._sides)
            sets = question.first.layout.sets
            for number, members in enumerate(sets):
                before = in_node[number]
                after = in_left[number] + in_right[number]
                has_column = len(sets) > 1 and self.column.position in union(members)
                if before > after and not has_column:
                    yield _Interacting(
                        gain=factor * (before - after),
                        before=before,
                        after=after,
                        question=question,
                        number=number,
                    )

    @staticmethod
    def _losses(question: ResolvedQuestion, evaluations: Evaluations) -> list[float]:
        """Summed losses of the gaps of each set, the rows as one region."""
        whole = Splits.whole(evaluations.weights, evaluations.primitives)
        gaps_of_sets = question.gap_values(evaluations, whole)
        return [float(evaluations.weights @ question.loss(gaps[0])) for gaps in gaps_of_sets]

    def _left_along_column(self, interacting: _Interacting) -> float:
        """What a set leaves if its pure effect may change with the column.

        Its gaps are means over rows of the region. Here these means are polynomials of the ranks of
        the column: the numbers of the rows that gaps are linear in are regressed, not averaged.
        """
        weights = self.evaluations.weights
        counts = np.bincount(self.codes - self.codes.min())
        mid_ranks = (np.cumsum(counts) - 0.5 * counts) / counts.sum()  # of each value
        ranks = mid_ranks[self.codes - self.codes.min()]
        basis = np.polynomial.legendre.legvander(2.0 * ranks - 1.0, DEGREE)
        weighted = basis * weights[:, None]
        regression = weighted @ np.linalg.pinv(basis.T @ weighted)  # (rows, degree + 1)
        sets = self._sets_by_sums(interacting.question)
        if sets is None:
            gaps = self._gaps_in_pairs(interacting, basis, regression)
        else:
            statistics = sets[interacting.number].take(self.rows)
            vectors = statistics.vectors()
            along = statistics.times_k((regression.T @ vectors).T)  # (size, degree + 1)
            gaps = np.einsum("rz,rz->r", vectors, basis @ along.T)
        return float(weights @ interacting.question.loss(gaps))

    def _sets_by_sums(self, question: ResolvedQuestion) -> list[FullAgainstPure] | None:
        """The sets of a question whose gaps are linear in a few numbers of the rows."""
        pairs = zip(self.problem.shares.comparisons, self.problem.statistics, strict=True)
        sets = next((sets for comparison, sets in pairs if comparison is question), None)
        if sets is None or not isinstance(sets[0], FullAgainstPure):
            return None
        return cast("list[FullAgainstPure]", sets)

    def _gaps_in_pairs(
        self, interacting: _Interacting, basis: FloatArray, regression: FloatArray
    ) -> FloatArray:
        """The same gaps from all pairs of rows."""
        question = interacting.question
        members = union(question.first.layout.sets[interacting.number])
        evaluations = self.evaluations.on_grid(members)
        every_row = np.arange(evaluations.n_rows)
        whole = Splits.whole(evaluations.weights, evaluations.primitives)
        step = max(1, PAIRS_AT_ONCE // evaluations.n_rows)
        gaps = np.empty(evaluations.n_rows)
        for tile in np.split(every_row, range(step, evaluations.n_rows, step)):
            blocks = [
                masking.masked(evaluations, whole).pair_block(terms, every_row, tile)
                for masking, terms in question.gaps[interacting.number].items()
            ]
            block = whole.primitives.host(sum(blocks[1:], blocks[0]))
            gaps[tile] = np.einsum("mc,mc->c", block, regression @ basis[tile].T)
        return gaps
