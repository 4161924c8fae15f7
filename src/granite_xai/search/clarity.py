"""How clearly splits won: whether another column, or other cuts, do nearly as well, and whether a change is smooth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.signed_weights import STEP
from granite_xai.engine.splits import Cut, Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.estimate import perturbed
from granite_xai.moments.statistics import FullAgainstPure
from granite_xai.regions.nodes import Node, Split
from granite_xai.regions.rule import find_column, satisfied
from granite_xai.search.candidates import Candidate, candidates, conditions, cuts_of
from granite_xai.search.problem import Problem
from granite_xai.search.scoring import scored
from granite_xai.search.tables import RegionTables, region_tables

NEARLY = 0.05  # share of what a split takes away that a nearly equal cut leaves more, at most
WIDE = 0.1  # share of a node's rows between the first and the last nearly equal cut from which a cut is one of many
VALUES, DEGREE = (
    8,
    3,
)  # values of a column, at least, along which effects may change as a polynomial of its ranks
CLOSE, SIGNS = (
    0.5,
    16,
)  # share of it that a second column may be behind to be looked at; pairs of weights for that


TILE = 2**16  # pairs of rows looked at together: few enough for the cache


def in_pairs(question: ResolvedQuestion) -> bool:
    """Whether gaps are means over pairs of rows."""
    linear = question.first.behavior.is_linear and question.measure.mode is not None
    return linear and all(masking.in_pairs for masking in question.gaps[0])


def split_clarity(
    problem: Problem, node: Node, drawn: FloatArray, rows: IntArray
) -> Iterator[dict[str, Any]]:
    """A record for each split of a tree, parents first; ``drawn``: random signs of the rows. The model is not asked."""
    tables = region_tables(problem, problem.tree.min_samples_leaf)
    yield from _records(problem, tables, node, drawn[:SIGNS], rows)


def _records(
    problem: Problem, tables: RegionTables | None, node: Node, drawn: FloatArray, rows: IntArray
) -> Iterator[dict[str, Any]]:
    """The records of the splits below a node; scores of cuts come from tables, where there are some."""
    if isinstance(node, Split):
        left = satisfied(node.left, find_column(problem.table, node.column))[rows]
        known = problem.evaluations.restrict(rows)
        yield _Node(problem, rows, known, tables).record(node, left, drawn)
        for child, side in zip(node.children, (left, ~left), strict=True):
            yield from _records(problem, tables, child, drawn, rows[side])


def smooth_changes(splits: Iterable[Mapping[str, Any]]) -> list[str]:
    """What a reader should know of smooth changes that are cut: a sentence for each pair of columns."""
    told: dict[frozenset[str], str] = {}
    for one in splits:
        if one["smooth"]:
            ends, also = (
                " to ".join(one["between"]),
                f", and so does {one['second']}" if one["tie"] else "",
            )
            text = f"{one['column']} and {one['with']} interact smoothly; the cut {one['split']} is one of many "
            text += f"({ends} do nearly as well{also}); consider influence='interaction' or grouping them."
            told.setdefault(frozenset({one["column"], one["with"]}), text)
    return list(told.values())


class _Node(NamedTuple):
    problem: Problem
    rows: IntArray
    known: Evaluations
    tables: RegionTables | None

    def _exact_scores(self, options: list[Candidate]) -> FloatArray:
        """What both sides of some cuts leave together, from the predictions."""
        found = scored(
            self.problem, self.rows, options, self.known, self.problem.tree.max_candidates
        )
        return np.asarray(self.problem.shares.of(*found).sum(axis=1))

    def _scores(self, options: list[Candidate], left: BoolArray, best: float) -> FloatArray:
        """The same of all cuts; from tables as far from the split's own as these say."""
        if self.tables is None:
            return self._exact_scores(options)
        of_node = self.tables.of_node(self.rows)
        cuts = cuts_of(options, self.problem.table, self.rows)
        scores = np.concatenate([own.sum(axis=0) for own in of_node.sides(cuts)])
        own_cut = Cut(-1, left.astype(np.intp), np.array([[False, True]]))
        own_score = float(of_node.sides([own_cut])[0].sum())
        return scores - own_score + best if np.isfinite(own_score) else scores

    def record(self, split: Split, left: BoolArray, drawn: FloatArray) -> dict[str, Any]:
        """What is known of a split beside others."""
        problem, tree, column = (
            self.problem,
            self.problem.tree,
            find_column(self.problem.table, split.column),
        )
        limits = (tree.max_candidates, tree.min_samples_leaf, tree.cuts)
        options = candidates(
            problem.table,
            self.rows,
            Deferred(lambda: self.known),
            tree.columns(problem.table),
            *limits,
        )
        shares, codes = problem.shares, column.codes[self.rows]
        best = sum(map(shares.on, self._sides(left)))
        scores = self._scores(options, left, best)
        gain, own = (
            shares.on(self.known) - best,
            np.array([each.column == column.position for each in options]),
        )
        near = [options[k] for k in np.flatnonzero(own & (scores <= best + NEARLY * gain))]
        reached = [*(float(np.mean(each.inside(codes))) for each in near), float(np.mean(left))]
        ends = [near[int(place(reached[:-1]))] for place in (np.argmin, np.argmax)] if near else []
        told: dict[str, Any] = {
            "column": column.name,
            "split": split.left.text(column.name),
            "gain": gain,
        }
        told |= {
            "plateau": max(reached) - min(reached),
            "between": [self._text(end) for end in ends],
        }
        told |= dict.fromkeys(("second", "behind", "standard_error", "with", "left", "surface"))
        told |= {"tie": False, "smooth": False}
        if not own.all():  # the best cut of another column: is it within one standard error?
            second = options[int(np.argmin(np.where(own, np.inf, scores)))]
            behind = float(self._exact_scores([second])[0]) - best
            told |= {"second": self._text(second), "behind": behind}
            if told["behind"] < CLOSE * gain:
                there = second.inside(problem.table.columns[second.column].codes[self.rows])
                moves = self._moves(there, drawn) - self._moves(left, drawn)
                told["standard_error"] = float(np.sqrt(np.mean(np.square(moves))))
                told["tie"] = told["behind"] <= told["standard_error"]
        ordered, values = column.kind not in ("nominal", "boolean"), len(np.unique(codes))
        if told["plateau"] >= WIDE and ordered and values >= VALUES:
            told |= self._surface(column.position, codes - codes.min(), left)
        return told

    def _sides(self, left: BoolArray) -> list[Evaluations]:
        return [self.known.restrict(np.flatnonzero(side)) for side in (left, ~left)]

    def _text(self, option: Candidate) -> str:
        column = self.problem.table.columns[option.column]
        return conditions(column, option, self.rows, self.problem.missing)[0].text(column.name)

    def _questions(self) -> Iterator[tuple[float, ResolvedQuestion]]:
        """The questions that count, with their factors."""
        for factor, question in zip(
            self.problem.shares.factors.tolist(), self.problem.shares.comparisons, strict=True
        ):
            if factor and isinstance(question, ResolvedQuestion):
                yield factor, question

    def _moves(self, left: BoolArray, drawn: FloatArray) -> FloatArray:
        """How what both sides leave moves with the sample, for each vector of signs."""
        total, shares = np.zeros(len(drawn)), self.problem.shares
        for side, known in zip((left, ~left), self._sides(left), strict=True):
            for factor, question in self._questions():
                found = perturbed(question, known, drawn[:, self.rows[side]])
                share = (
                    factor * found.moved * (found.mass / shares.total if shares.by_mass else 1.0)
                )
                total += (share[0] - share[1]) / (2 * STEP)
        return total

    def _surface(self, position: int, codes: IntArray, left: BoolArray) -> dict[str, Any]:
        """The set that the split makes agree most: its share left by both regions, and by a surface of both."""
        found = list[tuple[float, float, float, ResolvedQuestion, int]]()
        nodes = [
            (part, Splits.whole(part.weights, part.primitives))
            for part in (self.known, *self._sides(left))
        ]
        for factor, question in self._questions():
            if in_pairs(question):
                gaps = ((n.weights, question.gap_values(n, whole)) for n, whole in nodes)
                sums = ([float(w @ question.loss(gap[0])) for gap in every] for w, every in gaps)
                sets = question.first.layout.sets
                for number, (members, before, one, two) in enumerate(zip(sets, *sums, strict=True)):
                    if before > one + two and (len(sets) == 1 or position not in union(members)):
                        found.append(
                            (factor * (before - one - two), one + two, before, question, number)
                        )
        if not found:
            return {}
        _, after, before, question, number = max(found, key=lambda each: each[0])
        layout, shares = (
            question.first.layout,
            (after / before, self._along(codes, question, number) / before),
        )
        name = (
            "others" if position in union(layout.sets[number]) else ":".join(layout.labels[number])
        )
        return {
            "with": name,
            "left": shares[0],
            "surface": shares[1],
            "smooth": shares[1] < shares[0] - NEARLY,
        }

    def _along(self, codes: IntArray, question: ResolvedQuestion, number: int) -> float:
        """What a set leaves if its pure effect may change with the column.

        Its gaps are means over rows of the region. Here these means are polynomials of the ranks of
        the column: the numbers of the rows that gaps are linear in are regressed, not averaged.
        """
        known = self.known
        counts = np.bincount(codes)
        ranks = ((np.cumsum(counts) - 0.5 * counts) / counts.sum())[codes]
        basis = np.polynomial.legendre.legvander(2.0 * ranks - 1.0, DEGREE)
        weighted = basis * known.weights[:, None]
        regression = weighted @ np.linalg.pinv(basis.T @ weighted)  # (rows, degree + 1)
        statistics = self._statistics(question)
        if statistics is None:
            gaps = self._gaps_in_pairs(question, number, basis, regression)
        else:
            own = statistics[number].take(self.rows)
            vectors = own.vectors()
            along = own.times_k((regression.T @ vectors).T)  # (size, degree + 1)
            gaps = np.einsum("rz,rz->r", vectors, basis @ along.T)
        return float(known.weights @ question.loss(gaps))

    def _statistics(self, question: ResolvedQuestion) -> list[FullAgainstPure] | None:
        """The sets of a question whose gaps are linear in a few numbers of the rows."""
        pairs = zip(self.problem.shares.comparisons, self.problem.statistics, strict=True)
        sets = next((own for asked, own in pairs if asked is question), None)
        if sets is None or not isinstance(sets[0], FullAgainstPure):
            return None
        return cast("list[FullAgainstPure]", sets)

    def _gaps_in_pairs(
        self, question: ResolvedQuestion, number: int, basis: FloatArray, regression: FloatArray
    ) -> FloatArray:
        """The same gaps from all pairs of rows."""
        known = self.known
        own = known.on_grid(union(question.first.layout.sets[number]))
        everyone = np.arange(known.n_rows)
        whole = Splits.whole(known.weights, known.primitives)
        step = max(1, TILE // known.n_rows)
        gaps = np.empty(known.n_rows)
        for tile in np.split(everyone, range(step, known.n_rows, step)):
            blocks = [
                masking.masked(own, whole).pair_block(terms, everyone, tile)
                for masking, terms in question.gaps[number].items()
            ]
            block = whole.primitives.host(sum(blocks[1:], blocks[0]))
            gaps[tile] = np.einsum("mc,mc->c", block, regression @ basis[tile].T)
        return gaps
