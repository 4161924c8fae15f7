"""How clearly the splits of a tree won (method page, "Other cuts").

For each split: how far its threshold could move at little cost, and how far the best cut of another
column is behind. The model is not asked.
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
from granite_xai.engine.splits import Cut
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.regions import Node, Split, find_column, satisfied
from granite_xai.search.candidates import Candidate, candidates, cuts_of
from granite_xai.search.problem import Problem
from granite_xai.search.scoring import score_candidates
from granite_xai.search.split_conditions import conditions
from granite_xai.search.tables import RegionTables, region_tables
from granite_xai.tables import Column

LOSS_ON_PLATEAU = 0.05  # share of a split's gain that a cut on its plateau loses, at most


def split_clarity(problem: Problem, node: Node, rows: IntArray) -> Iterator[dict[str, Any]]:
    """A record for each split of a tree, parents first.

    Parameters
    ----------
    problem : Problem
    node : Node
        Root of the tree.
    rows : array
        Rows of the node.
    """
    tables = region_tables(problem, problem.tree.min_samples_leaf)
    yield from _records(problem, tables, node, rows)


def _records(
    problem: Problem, tables: RegionTables | None, node: Node, rows: IntArray
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
    ).record()
    left, right = node.children
    yield from _records(problem, tables, left, rows[goes_left])
    yield from _records(problem, tables, right, rows[~goes_left])


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

    def record(self) -> dict[str, Any]:
        """What is known of the split beside others; its keys are those of ``diagnostics_["splits"]``."""
        remaining = self._remaining_of_options()
        same_column = np.array([option.column == self.column.position for option in self.options])
        record: dict[str, Any] = {
            "column": self.column.name,
            "split": self.split.left.text(self.column.name),
            "gain": self.gain,
        }
        record |= self._plateau(remaining, same_column)
        record |= {"second": None, "behind": None}
        if not same_column.all():
            second = self.options[int(np.argmin(np.where(same_column, np.inf, remaining)))]
            behind = float(self._exact_remaining([second])[0]) - self.remaining
            record |= {"second": self._text(second), "behind": behind}
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

    def _text(self, option: Candidate) -> str:
        column = self.problem.table.columns[option.column]
        left, _ = conditions(column, option, self.rows, self.problem.missing)
        return left.text(column.name)
