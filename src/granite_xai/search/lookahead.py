"""Thresholds that are chosen together: two levels ahead of a node, and those of a whole tree.

A greedy first cut may miss an interaction that shows only after two cuts, and a threshold that was
best when it was drawn need not be best for the tree that grew below it. Tables tell what any cuts
leave; the model is not asked. The cost of a tree is its share of the disagreement plus the price of
each region (C3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.search.cuts import (
    TIE,
    Axis,
    BestCut,
    Cut,
    Cuts,
    evenly,
    first_of_best,
    least_first,
    quantile_codes,
    thresholds_at,
)
from granite_xai.search.tables import LEFT, RIGHT, Grid, Tables
from granite_xai.tables import Column

COARSE_CUTS = 9  # of each column that are paired
FINE_CUTS = 19  # of each column when two levels are cut again
RECUT_TREES = 3
ROWS_AHEAD = 4000  # of a node; they stand for all of its rows


class CutTree(NamedTuple):
    """A cut, and what cuts both sides; None: a region."""

    cut: Cut
    below: tuple[CutTree | None, CutTree | None] = (None, None)


@dataclass(frozen=True, eq=False)
class NodeCuts:
    """The rows of a node, and how their columns may be cut.

    Parameters
    ----------
    columns : sequence of Column
        Of all fitting rows.
    places : array of int
        Rows of the node.
    groups : mapping
        By a cut that groups levels: the cuts among which it was chosen.
    min_samples : int
        Rows of a region, at least.
    """

    columns: Sequence[Column]
    places: IntArray
    groups: Mapping[Cut, Sequence[Cut]]
    min_samples: int

    def take(self, inside: IntArray) -> NodeCuts:
        """Some of the rows."""
        return replace(self, places=self.places[inside])

    def codes(self, column: int) -> IntArray:
        """Codes of a column, (n_rows,)."""
        return self.columns[column].codes[self.places]

    def axis_around(self, cut: Cut, count: int) -> Axis:
        """A cut and about so many others of its column; groups of levels are those it was chosen from."""
        codes = self.codes(cut.column)
        if cut.group:
            options = self.groups[cut]
        elif not self.columns[cut.column].is_ordered:  # missing values against all labels
            options = [cut]
        else:
            last_codes = np.append(quantile_codes(codes, count + 1), cut.last)
            options = thresholds_at(cut.column, np.unique(last_codes[last_codes >= 0]), codes)
        chosen = {*evenly(options, 2 * count), cut}
        cuts = [option for option in options if option in chosen]
        return Axis.starting_with(Cuts.of(cuts, codes, self.min_samples), codes, self.min_samples)

    def regions_of(self, tree: CutTree | None) -> tuple[IntArray, int]:
        """Number of the region of each row if a tree cuts the node, and how many regions there are."""
        if tree is None:
            return np.zeros(len(self.places), dtype=np.intp), 1
        goes_left = tree.cut.goes_left(self.codes(tree.cut.column))
        left, n_left = self.regions_of(tree.below[LEFT])
        right, n_right = self.regions_of(tree.below[RIGHT])
        return np.where(goes_left, left, n_left + right), n_left + n_right


# Two levels ahead ----------------------------------------------------------------------------------


def first_of_two_levels(
    node: NodeCuts, tables: Tables, candidates: Sequence[Cuts], alpha: float
) -> Cut:
    """The first cut of the best tree of two levels: over a coarse grid, then over finer ones around its best.

    Parameters
    ----------
    node : NodeCuts
    tables : Tables
        Of its rows.
    candidates : sequence of Cuts
        Of the columns that are paired.
    alpha : float
        Price of a region.
    """
    step = -(-len(node.places) // ROWS_AHEAD)
    if step > 1:
        tables = tables.thinner(step)
        node = replace(node, places=node.places[::step], min_samples=tables.min_samples)
    coarse = []
    for cuts in candidates:
        options = evenly(cuts.options, COARSE_CUTS)
        with_room = Cuts.of(options, node.codes(cuts.column), node.min_samples)
        if len(with_room):
            coarse.append(with_room)
    if not coarse:  # in so many rows less there is no room
        return candidates[0].options[0]
    trees = _best_two_levels(tables, coarse, alpha)
    recut = [_recut(node, tables, tree, alpha) for tree in trees[:RECUT_TREES]]
    return recut[first_of_best(np.array([best.remaining for best in recut]))].cut


def _best_two_levels(tables: Tables, columns: Sequence[Cuts], alpha: float) -> list[CutTree]:
    """For each column the best tree of up to two levels that cuts it first; least cost first."""
    pairs = [(i, j) for i in range(len(columns)) for j in range(i, len(columns))]
    undivided = tables.sides(columns)
    quarters = tables.remaining([Grid(columns[i], columns[j]) for i, j in pairs])
    tops = [
        _Top.of(cuts, remaining, alpha) for cuts, remaining in zip(columns, undivided, strict=True)
    ]
    for (i, j), parts in zip(pairs, quarters, strict=True):  # (2, 2, k, l)
        tops[i].divide(columns[j], parts.sum(axis=1) + 2 * alpha)
        if i != j:
            tops[j].divide(columns[i], parts.sum(axis=0).swapaxes(1, 2) + 2 * alpha)
    trees, costs = zip(*(top.best_tree() for top in tops), strict=True)
    return [trees[number] for number in least_first(costs)]


class _Top(NamedTuple):
    """For every cut of a column the least cost of both its sides so far, and the second cuts for it.

    Parameters
    ----------
    cuts : Cuts
    costs : array of shape (2, k)
    second : array of shape (2, k) of Cut
        None: the side is a region.
    """

    cuts: Cuts
    costs: FloatArray
    second: np.ndarray

    @classmethod
    def of(cls, cuts: Cuts, remaining: FloatArray, alpha: float) -> _Top:
        """Both sides are regions, which leave so much, (2, k)."""
        return cls(cuts, remaining + alpha, np.full(remaining.shape, None))

    def divide(
        self, lower: Cuts, costs: FloatArray, sides: tuple[int, ...] = (LEFT, RIGHT)
    ) -> None:
        """Divide sides by the best lower cut where that costs less; costs (sides, k, n_lower)."""
        best = costs.argmin(axis=2)
        least = costs.min(axis=2)
        for row, side in enumerate(sides):
            for number in np.flatnonzero(least[row] < self.costs[side] - TIE):
                self.costs[side, number] = least[row, number]
                self.second[side, number] = lower.options[best[row, number]]

    def best_tree(self) -> tuple[CutTree, float]:
        """The first cut of the least cost with the second cuts, and the least cost."""
        costs = self.costs.sum(axis=0)
        number = first_of_best(costs)
        left, right = (None if cut is None else CutTree(cut) for cut in self.second[:, number])
        return CutTree(self.cuts.options[number], (left, right)), float(costs.min())


def _recut(node: NodeCuts, tables: Tables, tree: CutTree, alpha: float) -> BestCut:
    """The top and the cost of the best tree of two levels with the columns of a given one."""
    axes = [
        None if cut is None else node.axis_around(cut, FINE_CUTS)
        for cut in _cuts_of_two_levels(tree)
    ]
    best = tree
    least = np.inf
    has_new = True
    while has_new:
        recut, cost = _best_of_grid(tables, axes, alpha)
        if cost < least - TIE:
            least, best = cost, recut
        has_new = False
        for number, (axis, cut) in enumerate(zip(axes, _cuts_of_two_levels(best), strict=True)):
            if axis is None or cut is None:
                axes[number] = None
                continue
            finer = axis.finer(cut, FINE_CUTS)
            has_new = has_new or finer is not None
            if finer is None or not len(finer.cuts):  # the best cut alone
                finer = replace(finer or axis, cuts=Cuts.of([cut], axis.codes))
            axes[number] = finer
    return BestCut(best.cut, least)


def _cuts_of_two_levels(tree: CutTree) -> list[Cut | None]:
    """The cuts at the top, on the left and on the right; None: a region."""
    return [tree.cut, *(None if below is None else below.cut for below in tree.below)]


def _best_of_grid(
    tables: Tables, axes: Sequence[Axis | None], alpha: float
) -> tuple[CutTree, float]:
    """The best of some cuts at the top, each side of it with cuts of its own, and its cost."""
    top_axis, *lower_axes = axes
    if top_axis is None:
        raise ValueError("a tree of two levels has a cut at its top")
    cuts = top_axis.cuts
    lower = {
        side: axis.cuts
        for side, axis in enumerate(lower_axes)
        if axis is not None and len(axis.cuts)
    }
    divided = [Grid(cuts, lower_cuts, side) for side, lower_cuts in lower.items()]
    undivided, *quarters = tables.remaining([Grid(cuts), *divided])
    top = _Top.of(cuts, undivided, alpha)
    for (side, lower_cuts), parts in zip(lower.items(), quarters, strict=True):  # (1, 2, k, l)
        top.divide(lower_cuts, parts.sum(axis=1) + 2 * alpha, (side,))
    return top.best_tree()


# All thresholds of a tree --------------------------------------------------------------------------


def polished(node: NodeCuts, tables: Tables, tree: CutTree, n_cuts: int) -> CutTree:
    """A tree with each threshold chosen again while all others stay, until none moves.

    Parameters
    ----------
    node : NodeCuts
        All rows of the tree.
    tables : Tables
        Of these rows.
    tree : CutTree
    n_cuts : int
        Cuts of a column that are tried first.
    """
    before = None
    while tree != before:
        before = tree
        tree = _chosen_again(node, tables, tree, n_cuts)
    return tree


def _chosen_again(node: NodeCuts, tables: Tables, tree: CutTree, n_cuts: int) -> CutTree:
    """A tree with each threshold chosen again once, the one at the top first."""
    cut = _best_threshold(node, tables, tree, n_cuts)
    goes_left = cut.goes_left(node.codes(cut.column))
    below = []
    for side, lower in enumerate(tree.below):
        if lower is not None:
            inside = np.flatnonzero(goes_left == (side == LEFT))
            lower = _chosen_again(node.take(inside), tables.take(inside), lower, n_cuts)
        below.append(lower)
    left, right = below
    return CutTree(cut, (left, right))


def _best_threshold(node: NodeCuts, tables: Tables, tree: CutTree, n_cuts: int) -> Cut:
    """The best cut at the top of a tree while all below stays."""
    # Each region below takes the left or the right part of the rows that its other conditions leave.
    regions = [Cuts.of_regions(*node.regions_of(below)) for below in tree.below]

    def remaining(cuts: Cuts) -> FloatArray:
        """What the regions on both sides leave, (k,)."""
        grids = [Grid(cuts, of_side, side) for side, of_side in enumerate(regions)]
        left, right = tables.remaining(grids)  # (1, 2, k, regions), inside and outside of each
        return np.asarray(left[0, LEFT].sum(axis=1) + right[0, LEFT].sum(axis=1))

    axis = node.axis_around(tree.cut, n_cuts)
    before = remaining(Cuts.of([tree.cut], axis.codes))[0]
    if not len(axis.cuts):
        return tree.cut
    best = axis.sharpest(remaining(axis.cuts), remaining)
    return best.cut if best.remaining < before - TIE else tree.cut
