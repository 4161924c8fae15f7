"""How clearly the splits of a tree won (method page, "Smooth or sharp").

For each split: how far its threshold could move at little cost, whether the best cut of another
column does nearly as well, and whether a surface describes effects better than two regions
(`surfaces`). The model is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.engine.signed_weights import STEP
from granite_xai.engine.splits import Cut
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.perturbed_figures import perturbed_figures
from granite_xai.regions import Node, Split, find_column, satisfied
from granite_xai.search.candidates import Candidate, candidates, cuts_of
from granite_xai.search.problem import Problem
from granite_xai.search.scoring import score_candidates
from granite_xai.search.split_conditions import conditions
from granite_xai.search.surfaces import counted_questions, strongest_surface
from granite_xai.search.tables import RegionTables, region_tables
from granite_xai.tables import Column

LOSS_ON_PLATEAU = 0.05  # share of a split's gain that a cut on its plateau loses, at most
WIDE_PLATEAU = 0.1  # share of a node's rows on the plateau from which a cut is one of many
SMOOTHER_BY = 0.05  # share that a surface must leave less than both regions
FEWEST_VALUES = 8  # values of a column, at least, along which effects may change smoothly
CLOSE_BEHIND = 0.5  # share of a split's gain that another column may be behind to be tested
SIGNED_PAIRS = 16  # of weights, that tell the standard error of being behind


def split_clarity(
    problem: Problem, node: Node, signs: FloatArray, rows: IntArray
) -> Iterator[dict[str, Any]]:
    """A record for each split of a tree, parents first.

    Parameters
    ----------
    problem : Problem
    node : Node
        Root of the tree.
    signs : array of shape (n_pairs, n_rows)
        Random signs of all rows.
    rows : array
        Rows of the node.
    """
    tables = region_tables(problem, problem.tree.min_samples_leaf)
    yield from _records(problem, tables, node, signs[:SIGNED_PAIRS], rows)


def _records(
    problem: Problem, tables: RegionTables | None, node: Node, signs: FloatArray, rows: IntArray
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
    ).record(signs)
    left, right = node.children
    yield from _records(problem, tables, left, signs, rows[goes_left])
    yield from _records(problem, tables, right, signs, rows[~goes_left])


class _CutOnColumn(NamedTuple):
    """A cut of the column of a split: which share of the node's rows it sends left, and whether it costs little."""

    share_left: float
    text: str
    is_near: bool


def _is_near(cut: _CutOnColumn) -> bool:
    return cut.is_near


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
            max_candidates=tree.max_candidates,
            min_samples=tree.min_samples_leaf,
            cuts=tree.cuts,
        )

    @cached_property
    def remaining(self) -> float:
        """What both sides of the split leave together."""
        return sum(self.problem.shares.on(side) for side in self.sides)

    @cached_property
    def gain(self) -> float:
        """What the split takes away."""
        return self.problem.shares.on(self.evaluations) - self.remaining

    @cached_property
    def sides(self) -> list[Evaluations]:
        """What is known of the rows on the left, and on the right."""
        masks = (self.goes_left, ~self.goes_left)
        return [self.evaluations.restrict(np.flatnonzero(mask)) for mask in masks]

    def record(self, signs: FloatArray) -> dict[str, Any]:
        """What is known of the split beside others; its keys are those of ``diagnostics_["splits"]``."""
        remaining = self._remaining_of_options()
        same_column = np.array([option.column == self.column.position for option in self.options])
        record: dict[str, Any] = {
            "column": self.column.name,
            "split": self.split.left.text(self.column.name),
            "gain": self.gain,
        }
        record |= self._plateau(remaining, same_column)
        record |= dict.fromkeys(("second", "behind", "standard_error", "with", "left", "surface"))
        record |= {"tie": False, "smooth": False}
        if not same_column.all():
            record |= self._runner_up(np.where(same_column, np.inf, remaining), signs)
        is_ordered = self.column.kind not in ("nominal", "boolean")
        is_fine = len(np.unique(self.codes)) >= FEWEST_VALUES
        if record["plateau"] >= WIDE_PLATEAU and is_ordered and is_fine:
            record |= self._surface_record()
        return record

    def _remaining_of_options(self) -> FloatArray:
        """What both sides of each cut leave; from tables as far from the split's own as these say."""
        if self.tables is None:
            return self._exact_remaining(self.options)
        node_tables = self.tables.of_node(self.rows)
        cuts = cuts_of(self.options, self.problem.table, self.rows)
        by_tables = np.concatenate([sides.sum(axis=0) for sides in node_tables.sides(cuts)])
        split_as_cut = Cut(-1, self.goes_left.astype(np.intp), np.array([[False, True]]))
        split_by_tables = float(node_tables.sides([split_as_cut])[0].sum())
        if not np.isfinite(split_by_tables):
            return by_tables
        return by_tables - split_by_tables + self.remaining

    def _exact_remaining(self, options: list[Candidate]) -> FloatArray:
        """What both sides of some cuts leave together, from the predictions."""
        scores = score_candidates(
            self.problem, self.rows, options, self.evaluations, self.problem.tree.max_candidates
        )
        return scores.remaining(self.problem.shares)

    def _plateau(self, remaining: FloatArray, same_column: BoolArray) -> dict[str, Any]:
        """Between which cuts of the same column the threshold could lie at little cost, itself among them."""
        limit = self.remaining + LOSS_ON_PLATEAU * self.gain
        below: list[_CutOnColumn] = []
        above: list[_CutOnColumn] = []
        itself = _CutOnColumn(
            share_left=float(np.mean(self.goes_left)),
            text=self.split.left.text(self.column.name),
            is_near=True,
        )
        for number in np.flatnonzero(same_column):
            option = self.options[number]
            other = _CutOnColumn(
                share_left=float(np.mean(option.goes_left(self.problem.table, self.rows))),
                text=self._text(option),
                is_near=bool(remaining[number] <= limit),
            )
            side = below if other.share_left < itself.share_left else above
            side.append(other)
        below.sort(key=lambda cut: -cut.share_left)  # the nearest first
        above.sort(key=lambda cut: cut.share_left)
        # Cuts beyond one that costs more are none of the plateau, though they may cost little again.
        first = [itself, *takewhile(_is_near, below)][-1]
        last = [itself, *takewhile(_is_near, above)][-1]
        return {
            "plateau": last.share_left - first.share_left,
            "between": [first.text, last.text],
        }

    def _runner_up(self, remaining_of_others: FloatArray, signs: FloatArray) -> dict[str, Any]:
        """The best cut of another column, and whether it is within one standard error."""
        second = self.options[int(np.argmin(remaining_of_others))]
        behind = float(self._exact_remaining([second])[0]) - self.remaining
        record: dict[str, Any] = {"second": self._text(second), "behind": behind}
        if behind < CLOSE_BEHIND * self.gain:
            second_left = second.goes_left(self.problem.table, self.rows)
            moves_of_second = self._moves_with_sample(second_left, signs)
            moves = moves_of_second - self._moves_with_sample(self.goes_left, signs)
            standard_error = float(np.sqrt(np.mean(np.square(moves))))
            record |= {"standard_error": standard_error, "tie": behind <= standard_error}
        return record

    def _text(self, option: Candidate) -> str:
        column = self.problem.table.columns[option.column]
        left, _ = conditions(column, option, self.rows, self.problem.missing)
        return left.text(column.name)

    def _moves_with_sample(self, goes_left: BoolArray, signs: FloatArray) -> FloatArray:
        """How what both sides of a cut leave moves with the sample, for each vector of signs."""
        total = np.zeros(len(signs))
        for is_inside in (goes_left, ~goes_left):
            inside = np.flatnonzero(is_inside)
            if self.tables is not None and self.tables.have_influences:
                rows = self.rows[inside]
                influences = self.tables.influences(rows)
                total += signs[:, rows] @ (self.tables.weights[rows] * influences)
            else:
                total += self._moves_by_weights(inside, signs)
        return total

    def _moves_by_weights(self, inside: IntArray, signs: FloatArray) -> FloatArray:
        """How what one side leaves moves, from its figures under moved weights.

        Parameters
        ----------
        inside : array
            Rows of the side, as positions within the node.
        signs : array of shape (n_pairs, n_rows)
            Of all rows.
        """
        shares = self.problem.shares
        side = self.evaluations.restrict(inside)
        total = np.zeros(len(signs))
        for factor, question in counted_questions(shares):
            figures = perturbed_figures(question, side, signs[:, self.rows[inside]])
            moved = factor * figures.moved  # (2, n_pairs)
            if shares.by_mass:
                moved = moved * (figures.mass / shares.total)
            with_signs, against_signs = moved
            total += (with_signs - against_signs) / (2 * STEP)
        return total

    def _surface_record(self) -> dict[str, Any]:
        """The set that the split makes agree most: what both regions leave of it, and what a surface would."""
        surface = strongest_surface(
            self.problem, self.rows, self.evaluations, self.sides, self.column
        )
        if surface is None:
            return {}
        return {
            "with": surface.partner,
            "left": surface.left_by_regions,
            "surface": surface.left_by_surface,
            "smooth": surface.left_by_surface < surface.left_by_regions - SMOOTHER_BY,
        }
