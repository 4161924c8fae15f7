"""The best two levels of cuts below a node, over some cuts of each column.

A greedy first cut may miss an interaction that shows only after two cuts. Tables over pairs of cuts
(`tables`) tell what every tree of two levels leaves. The cost of a tree is its share of the
disagreement plus the price of each region (C3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.engine.splits import Cut
from granite_xai.search.candidates import Candidate
from granite_xai.search.cells import LEFT, RIGHT
from granite_xai.search.tables import NodeTables
from granite_xai.search.ties import ROUNDING, first_of_best, rounded

NO_CUT = -1
PAIRS_AT_ONCE = 64  # pairs of columns whose tables are in memory together


class CutTree(NamedTuple):
    """A tree of cuts: the one at the top, and what follows on both sides; None: a region."""

    cut: Candidate
    left: CutTree | None = None
    right: CutTree | None = None

    @property
    def height(self) -> int:
        """Cuts on the longest way down."""
        height_below = 0
        for side in (self.left, self.right):
            if side is not None:
                height_below = max(height_below, side.height)
        return 1 + height_below


@dataclass(eq=False)
class SideCosts:
    """For every cut of one column the least cost of both its sides so far, and the second cut for it.

    Parameters
    ----------
    cost : array of shape (2, n_cuts)
    column, cut : arrays of shape (2, n_cuts)
        Number of the column and of its cut that follow on this side; ``NO_CUT``: a region.
    """

    cost: FloatArray
    column: IntArray
    cut: IntArray

    @classmethod
    def of_regions(cls, remaining: FloatArray, alpha: float) -> SideCosts:
        """Both sides are regions, which leave so much, (2, n_cuts)."""
        nothing = np.full(remaining.shape, NO_CUT)
        return cls(remaining + alpha, nothing, nothing.copy())

    def improve(self, column: int, costs: FloatArray) -> None:
        """Follow the best second cut of a column wherever that costs less: costs (2, n_cuts, n_second)."""
        least = costs.min(axis=2)
        better = least < self.cost - ROUNDING
        if better.any():
            self.cost[better] = least[better]
            self.column[better] = column
            self.cut[better] = costs.argmin(axis=2)[better]

    def best(self) -> int:
        """Number of the first cut with the least cost of both sides."""
        return first_of_best(self.cost.sum(axis=0), ROUNDING)

    def least_total(self) -> float:
        """The cost of both sides of that cut."""
        return float(self.cost[:, self.best()].sum())


def sides_of_upper_cut(quarters: FloatArray, *, first_on_top: bool) -> FloatArray:
    """What both parts of each side of the upper cut leave, (2, n_upper, n_lower).

    Parameters
    ----------
    quarters : array of shape (4, n_first, n_second)
        What the quarters of a first and a second column leave; either may be on top.
    first_on_top : bool
    """
    _, n_first, n_second = quarters.shape
    by_sides = quarters.reshape(2, 2, n_first, n_second)  # of the first cut, and of the second
    if first_on_top:
        return np.asarray(by_sides.sum(axis=1))
    return np.asarray(by_sides.sum(axis=0).swapaxes(1, 2))


@dataclass(frozen=True, eq=False)
class TwoLevels:
    """All trees of up to two levels over some cuts of each column.

    Parameters
    ----------
    tables : NodeTables
        Of the node.
    cuts : sequence of Cut
        One for each column, over the rows of the node.
    options : sequence of sequences of Candidate
        The same cuts as candidates, by column.
    alpha : float
        Price of a region.
    """

    tables: NodeTables
    cuts: Sequence[Cut]
    options: Sequence[Sequence[Candidate]]
    alpha: float

    def side_costs(self) -> list[SideCosts]:
        """The least cost of both sides of every cut, column by column."""
        undivided = self.tables.sides(self.cuts)
        costs = [SideCosts.of_regions(remaining, self.alpha) for remaining in undivided]
        for first, second, quarters in self._quarters():
            below_first = sides_of_upper_cut(quarters, first_on_top=True)
            costs[first].improve(second, below_first + 2 * self.alpha)
            if first != second:
                below_second = sides_of_upper_cut(quarters, first_on_top=False)
                costs[second].improve(first, below_second + 2 * self.alpha)
        return costs

    def _quarters(self) -> Iterator[tuple[int, int, FloatArray]]:
        """Every pair of columns with its table."""
        numbers = list(combinations_with_replacement(range(len(self.cuts)), 2))
        for start in range(0, len(numbers), PAIRS_AT_ONCE):
            batch = numbers[start : start + PAIRS_AT_ONCE]
            tables = self.tables.quarters(
                [(self.cuts[first], self.cuts[second]) for first, second in batch]
            )
            for (first, second), quarters in zip(batch, tables, strict=True):
                yield first, second, quarters

    def trees(self, costs: Sequence[SideCosts]) -> list[tuple[float, CutTree]]:
        """For each column the best tree that cuts it first, with its cost; the least cost first."""
        trees = [self._tree(column, of_column) for column, of_column in enumerate(costs)]
        return sorted(trees, key=lambda entry: rounded(entry[0]))

    def _tree(self, column: int, costs: SideCosts) -> tuple[float, CutTree]:
        number = costs.best()
        below: list[CutTree | None] = []
        for side in (LEFT, RIGHT):
            if costs.column[side, number] == NO_CUT:
                below.append(None)
            else:
                options = self.options[costs.column[side, number]]
                below.append(CutTree(options[costs.cut[side, number]]))
        tree = CutTree(self.options[column][number], *below)
        return costs.least_total(), tree
