"""The thresholds of a whole tree chosen again, its columns kept.

A threshold that was best when it was drawn need not be best for the tree that grew below it. Two
levels are cut again together by tables over pairs of cuts; a taller tree by moving its top cut and
cutting again what is below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.search.candidates import ROUNDING, TIE, Candidate, best_of, cuts_of
from granite_xai.search.cells import LEFT, RIGHT
from granite_xai.search.finer import FinerCuts, thinned
from granite_xai.search.lookahead import CutTree
from granite_xai.search.tables import RegionTables

FINE_CUTS, COARSE_CUTS = 19, 9  # cuts of a column that are tried at a time
Recut = tuple[float, CutTree | None]  # cost of a tree, and the tree; None: a region is better


@dataclass(frozen=True, slots=True, eq=False)
class SecondThoughts:
    """Costs are shares of the disagreement plus ``alpha`` for each region (C3)."""

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
        options = self.finer.around(rows, tree.cut, FINE_CUTS if thorough else COARSE_CUTS)
        if not options:
            return np.inf, None
        if tree.height <= 2:
            return self._two_levels(rows, tree, options, thorough)
        if not thorough:
            region_costs = self._region_costs(rows, [tree.cut])[:, 0]
            return self._with_top(rows, tree, tree.cut, region_costs, thorough=False)
        top = self._best_top(rows, tree, [tree.cut, *thinned(options, COARSE_CUTS)])
        region_costs = self._region_costs(rows, [top])[:, 0]
        return self._with_top(rows, tree, top, region_costs, thorough=True)

    def _best_top(self, rows: IntArray, tree: CutTree, tried: list[Candidate]) -> Candidate:
        """The best cut at the top of a tree, among some cuts and then among those next to the best."""
        top = tree.cut
        least = np.inf
        known = list(tried)
        while tried:
            region_costs = self._region_costs(rows, tried)
            best_tried = top
            least_tried = least - TIE
            for number, cut in enumerate(tried):
                cost, _ = self._with_top(
                    rows, tree, cut, region_costs[:, number], thorough=False, most=least_tried
                )
                if cost < least_tried:
                    least_tried = cost
                    best_tried = cut
            if least_tried < least - TIE:
                least = least_tried
                top = best_tried
            tried = self.finer.between(rows, known, top, COARSE_CUTS)
            known = known + tried
        return top

    def _region_costs(self, rows: IntArray, cuts: list[Candidate]) -> FloatArray:
        """What both sides of some cuts of a column cost as regions, (2, n_cuts); infinite: too few rows."""
        of_families = self.tables.of_node(rows).sides(cuts_of(cuts, self.finer.table, rows))
        return np.hstack(of_families) + self.alpha

    def _rows_of_side(self, rows: IntArray, cut: Candidate, side: int) -> IntArray:
        """The rows of a node on one side of a cut."""
        goes_left = cut.inside(self.finer.table.columns[cut.column].codes[rows])
        return rows[goes_left if side == LEFT else ~goes_left]

    def _with_top(
        self,
        rows: IntArray,
        tree: CutTree,
        top: Candidate,
        region_costs: FloatArray,
        thorough: bool,
        most: float = np.inf,
    ) -> Recut:
        """The tree with this cut at its top and everything below cut again.

        ``region_costs`` (2,) are those of both sides as regions. A tree that costs ``most`` or more is
        given up after its left side, where that alone says so; its cost is then infinite.
        """
        total = 0.0
        parts: list[CutTree | None] = []
        for side, below in enumerate((tree.left, tree.right)):
            region_cost = float(region_costs[side])
            cost, part = np.inf, None
            if below is not None and np.isfinite(region_cost):
                side_rows = self._rows_of_side(rows, top, side)
                cost, part = self.recut(side_rows, below, thorough)
            parts.append(part if cost < region_cost else None)
            total += min(cost, region_cost)
            if total >= most:
                return np.inf, None
        return total, CutTree(top, *parts)

    def _two_levels(
        self, rows: IntArray, tree: CutTree, options: list[Candidate], thorough: bool
    ) -> Recut:
        """The best thresholds of two levels: over a grid, then over finer ones around its best."""
        most = FINE_CUTS if thorough else COARSE_CUTS
        below = [
            [] if side is None else self.finer.around(rows, side.cut, most)
            for side in (tree.left, tree.right)
        ]
        axes = [options, *below]
        known = [list(axis) for axis in axes]
        least = np.inf
        chosen: list[Candidate | None] = [options[0], None, None]
        while any(axes):
            # What has no finer cuts stays where it is.
            axes = [
                axis or ([] if cut is None else [cut])
                for axis, cut in zip(axes, chosen, strict=True)
            ]
            cost, cuts = self._best_on_grid(rows, axes)
            if cost < least - TIE:
                least = cost
                chosen = cuts
            if not thorough:
                break
            axes = [
                [] if cut is None else self.finer.between(rows, seen, cut, most)
                for seen, cut in zip(known, chosen, strict=True)
            ]
            known = [seen + new for seen, new in zip(known, axes, strict=True)]
        top, left, right = chosen
        if top is None:
            return least, None
        below_left = None if left is None else CutTree(left)
        below_right = None if right is None else CutTree(right)
        return least, CutTree(top, below_left, below_right)

    def _best_on_grid(
        self, rows: IntArray, axes: list[list[Candidate]]
    ) -> tuple[float, list[Candidate | None]]:
        """The best cut at the top and on both sides; None: this side is a region."""
        table = self.finer.table
        node = self.tables.of_node(rows)
        top_options, *side_options = axes
        top = cuts_of(top_options, table, rows)[0]
        sides = [side for side in (LEFT, RIGHT) if side_options[side]]
        divided = [(side, cuts_of(side_options[side], table, rows)[0]) for side in sides]
        undivided, by_side = node.grid(top, divided)
        costs = undivided + self.alpha
        followed = np.full(costs.shape, -1)
        for side, leaves in zip(sides, by_side, strict=True):
            both = leaves + 2 * self.alpha
            better = both.min(axis=1) < costs[side] - ROUNDING
            followed[side] = np.where(better, both.argmin(axis=1), -1)
            costs[side] = np.minimum(costs[side], both.min(axis=1))
        place = best_of(costs.sum(axis=0))
        below: list[Candidate | None] = []
        for side in (LEFT, RIGHT):
            number = int(followed[side, place])
            below.append(side_options[side][number] if number >= 0 else None)
        return float(costs[:, place].sum()), [top_options[place], *below]
