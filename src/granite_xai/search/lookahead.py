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
from granite_xai.search.candidates import ROUNDING, Candidate, best_of
from granite_xai.search.cells import LEFT, RIGHT
from granite_xai.search.tables import NodeTables

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
        below = [0 if side is None else side.height for side in (self.left, self.right)]
        return 1 + max(below)


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
    def of_regions(cls, leaves: FloatArray, alpha: float) -> SideCosts:
        """Both sides are regions."""
        nothing = np.full(leaves.shape, NO_CUT)
        return cls(leaves + alpha, nothing, nothing.copy())

    def improve(self, side: int, column: int, costs: FloatArray) -> None:
        """Follow the best second cut of a column wherever that costs less: costs (n_cuts, n_second)."""
        best = np.argmin(costs, axis=1)
        least = np.min(costs, axis=1)
        better = least < self.cost[side] - ROUNDING
        self.cost[side, better] = least[better]
        self.column[side, better] = column
        self.cut[side, better] = best[better]

    def best(self) -> int:
        """Number of the first cut with the least cost of both sides."""
        return best_of(self.cost.sum(axis=0), ROUNDING)


def one_side(quarters: FloatArray, side: int, *, first_on_top: bool) -> FloatArray:
    """What both parts of one side of the upper cut leave, (upper cuts, lower cuts).

    ``quarters`` (4, k, l) are those of a first and a second column, either of which may be on top.
    """
    if first_on_top:
        return np.asarray(quarters[2 * side : 2 * side + 2].sum(axis=0))
    return np.asarray(quarters[side::2].sum(axis=0).T)


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
        leaves = self.tables.sides(self.cuts)
        costs = [SideCosts.of_regions(own, self.alpha) for own in leaves]
        for first, second, quarters in self._quarters():
            for side in (LEFT, RIGHT):
                below = one_side(quarters, side, first_on_top=True) + 2 * self.alpha
                costs[first].improve(side, second, below)
                if first != second:
                    below = one_side(quarters, side, first_on_top=False) + 2 * self.alpha
                    costs[second].improve(side, first, below)
        return costs

    def _quarters(self) -> Iterator[tuple[int, int, FloatArray]]:
        """Every pair of columns with its table."""
        numbers = list(combinations_with_replacement(range(len(self.cuts)), 2))
        for start in range(0, len(numbers), PAIRS_AT_ONCE):
            some = numbers[start : start + PAIRS_AT_ONCE]
            pairs = [(self.cuts[first], self.cuts[second]) for first, second in some]
            for (first, second), quarters in zip(some, self.tables.quarters(pairs), strict=True):
                yield first, second, quarters

    def trees(self, costs: Sequence[SideCosts]) -> list[tuple[float, CutTree]]:
        """For each column the best tree that cuts it first, with its cost; the least cost first."""
        found = [self._tree(number, own) for number, own in enumerate(costs)]
        return sorted(found, key=lambda entry: round(entry[0], 12))

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
        return float(costs.cost[:, number].sum()), tree
