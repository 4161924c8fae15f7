"""The thresholds of a whole tree chosen again, its columns kept.

A threshold that was best when it was drawn need not be best for the tree that grew below it. Two
levels are cut again together by tables over pairs of cuts; a taller tree by moving its top cut and
cutting again what is below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.search.candidates import Candidate, cuts_of
from granite_xai.search.cells import LEFT, RIGHT
from granite_xai.search.finer import FinerCuts, thinned
from granite_xai.search.lookahead import NO_CUT, CutTree
from granite_xai.search.tables import RegionTables
from granite_xai.search.ties import ROUNDING, TIE, first_of_best

FINE_CUTS = 19  # cuts of a column that are tried at a time
COARSE_CUTS = 9  # the same where a tree is only compared with others


class Recut(NamedTuple):
    """A tree that was cut again."""

    cost: float  # infinite: no tree leaves enough rows
    tree: CutTree | None  # None: no cut leaves enough rows, or the tree was given up as too dear


class _GridBest(NamedTuple):
    """The best two levels over a grid of cuts."""

    cost: float
    top: Candidate
    below: list[Candidate | None]  # on both sides; None: this side is a region


@dataclass(frozen=True, slots=True, eq=False)
class SecondThoughts:
    """Chooses thresholds again; costs are shares of the disagreement plus ``alpha`` for each region (C3).

    Parameters
    ----------
    tables : RegionTables
    finer : FinerCuts
        Other cuts of a column.
    alpha : float
        Price of a region.
    """

    tables: RegionTables
    finer: FinerCuts
    alpha: float

    def cost(self, rows: IntArray, tree: CutTree) -> float:
        """What a tree costs as it is."""
        region_costs = self._region_costs(rows, [tree.cut])[:, 0]
        total = 0.0
        for side, below in enumerate((tree.left, tree.right)):
            if below is None:
                total += float(region_costs[side])
            else:
                total += self.cost(self._rows_of_side(rows, tree.cut, side), below)
        return total

    def recut(self, rows: IntArray, tree: CutTree, thorough: bool = True) -> Recut:
        """The columns of a tree with the best thresholds.

        Parameters
        ----------
        rows : array
            Rows of the node.
        tree : CutTree
        thorough : bool
            Whether many cuts are tried, and then those between them, until nothing is better.
        """
        n_cuts = FINE_CUTS if thorough else COARSE_CUTS
        options = self.finer.around(rows, tree.cut, n_cuts)
        if not options:
            return Recut(np.inf, None)
        if tree.height <= 2:
            return self._recut_two_levels(rows, tree, options, n_cuts, thorough)
        top = tree.cut
        if thorough:
            top = self._best_top(rows, tree, [tree.cut, *thinned(options, COARSE_CUTS)])
        region_costs = self._region_costs(rows, [top])[:, 0]
        return self._with_top(rows, tree, top, region_costs, thorough)

    def _best_top(self, rows: IntArray, tree: CutTree, options: list[Candidate]) -> Candidate:
        """The best cut at the top of a tree, among some cuts and then among those next to the best."""
        top = tree.cut
        least = np.inf
        tried = list(options)
        while options:
            region_costs = self._region_costs(rows, options)
            best_option = top
            least_of_options = least - TIE
            for number, cut in enumerate(options):
                cost, _ = self._with_top(
                    rows,
                    tree,
                    cut,
                    region_costs[:, number],
                    thorough=False,
                    give_up_at=least_of_options,
                )
                if cost < least_of_options:
                    least_of_options = cost
                    best_option = cut
            if least_of_options < least - TIE:
                least = least_of_options
                top = best_option
            options = self.finer.between(rows, tried, top, COARSE_CUTS)
            tried = tried + options
        return top

    def _region_costs(self, rows: IntArray, cuts: list[Candidate]) -> FloatArray:
        """What both sides of some cuts of a column cost as regions, (2, n_cuts); infinite: too few rows."""
        remaining = self.tables.of_node(rows).sides(cuts_of(cuts, self.finer.table, rows))
        return np.hstack(remaining) + self.alpha

    def _rows_of_side(self, rows: IntArray, cut: Candidate, side: int) -> IntArray:
        """The rows of a node on one side of a cut."""
        goes_left = cut.goes_left(self.finer.table, rows)
        if side == LEFT:
            return rows[goes_left]
        return rows[~goes_left]

    def _with_top(
        self,
        rows: IntArray,
        tree: CutTree,
        top: Candidate,
        region_costs: FloatArray,
        thorough: bool,
        give_up_at: float = np.inf,
    ) -> Recut:
        """The tree with this cut at its top and everything below cut again.

        ``region_costs`` (2,) are those of both sides as regions. A tree that costs ``give_up_at`` or
        more is given up after its left side, where that alone says so; its cost is then infinite.
        """
        total = 0.0
        sides: list[CutTree | None] = []
        for side, below in enumerate((tree.left, tree.right)):
            region_cost = float(region_costs[side])
            recut = Recut(np.inf, None)
            if below is not None and np.isfinite(region_cost):
                recut = self.recut(self._rows_of_side(rows, top, side), below, thorough)
            if recut.cost < region_cost:
                sides.append(recut.tree)
                total += recut.cost
            else:
                sides.append(None)
                total += region_cost
            if total >= give_up_at:
                return Recut(np.inf, None)
        return Recut(total, CutTree(top, *sides))

    def _recut_two_levels(
        self,
        rows: IntArray,
        tree: CutTree,
        top_options: list[Candidate],
        n_cuts: int,
        thorough: bool,
    ) -> Recut:
        """The best thresholds of two levels: over a grid, then over finer ones around its best."""
        # Cuts that are tried at the top, on the left and on the right.
        axes: list[list[Candidate]] = [top_options, [], []]
        if tree.left is not None:
            axes[1] = self.finer.around(rows, tree.left.cut, n_cuts)
        if tree.right is not None:
            axes[2] = self.finer.around(rows, tree.right.cut, n_cuts)
        tried = [list(axis) for axis in axes]
        least = np.inf
        best: list[Candidate | None] = [top_options[0], None, None]
        while any(axes):
            grid = self._best_on_grid(rows, _or_best_alone(axes, best))
            if grid.cost < least - TIE:
                least = grid.cost
                best = [grid.top, *grid.below]
            if not thorough:
                break
            axes = []
            for number, cut in enumerate(best):
                new_options = []
                if cut is not None:
                    new_options = self.finer.between(rows, tried[number], cut, n_cuts)
                axes.append(new_options)
                tried[number] = tried[number] + new_options
        top, left, right = best
        if top is None:
            return Recut(least, None)
        below_left = None if left is None else CutTree(left)
        below_right = None if right is None else CutTree(right)
        return Recut(least, CutTree(top, below_left, below_right))

    def _best_on_grid(self, rows: IntArray, axes: list[list[Candidate]]) -> _GridBest:
        """The best cut at the top and on both sides, each side of the top with cuts of its own."""
        table = self.finer.table
        top_options, *side_options = axes
        top = cuts_of(top_options, table, rows)[0]
        divided_sides = [side for side in (LEFT, RIGHT) if side_options[side]]
        lower_cuts = [(side, cuts_of(side_options[side], table, rows)[0]) for side in divided_sides]
        undivided, divided = self.tables.of_node(rows).grid(top, lower_cuts)
        costs = undivided + self.alpha  # (2, n_top) the least so far
        second_cuts = np.full(costs.shape, NO_CUT)
        for side, remaining in zip(divided_sides, divided, strict=True):
            divided_costs = remaining + 2 * self.alpha  # (n_top, n_lower)
            least = divided_costs.min(axis=1)
            is_better = least < costs[side] - ROUNDING
            second_cuts[side] = np.where(is_better, divided_costs.argmin(axis=1), NO_CUT)
            costs[side] = np.minimum(costs[side], least)
        best = first_of_best(costs.sum(axis=0))
        below: list[Candidate | None] = []
        for side in (LEFT, RIGHT):
            number = int(second_cuts[side, best])
            below.append(None if number == NO_CUT else side_options[side][number])
        return _GridBest(float(costs[:, best].sum()), top_options[best], below)


def _or_best_alone(
    axes: list[list[Candidate]], best: list[Candidate | None]
) -> list[list[Candidate]]:
    """The cuts of each axis; what has no finer cuts stays at its best one."""
    filled = []
    for axis, cut in zip(axes, best, strict=True):
        if axis or cut is None:
            filled.append(axis)
        else:
            filled.append([cut])
    return filled
