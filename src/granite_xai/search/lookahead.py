"""Thresholds that are chosen together: two levels ahead of a node, and those of a whole tree.

A greedy first cut may miss an interaction that shows only after two cuts, and a threshold that was
best when it was drawn need not be best for the tree that grew below it. Tables tell what any cuts
leave; the model is not asked. The cost of a tree is its share of the disagreement plus the price of
each region (C3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    regions_as_cuts,
    sharpest,
)
from granite_xai.search.tables import LEFT, RIGHT, Grid, Tables

COARSE_CUTS = 9  # of each column that are paired
FINE_CUTS = 19  # of each column when two levels are cut again
RECUT_TREES = 3
ROWS_AHEAD = 4000  # of a node; they stand for all of its rows

CodesOf = Callable[[int, IntArray], IntArray]  # from a column and places to the codes of these rows
CutsAround = Callable[
    [Cut, IntArray, int], Sequence[Cut]
]  # so many others of its column, at places


class CutTree(NamedTuple):
    """A cut, and what cuts both sides; None: a region."""

    cut: Cut
    below: tuple[CutTree | None, CutTree | None] = (None, None)

    def paths(self) -> list[tuple[int, ...]]:
        """The sides that lead to each cut, the one at the top first."""
        paths: list[tuple[int, ...]] = [()]
        for side, cuts in enumerate(self.below):
            if cuts is not None:
                paths += [(side, *path) for path in cuts.paths()]
        return paths

    def with_cut(self, path: tuple[int, ...], cut: Cut) -> CutTree:
        """The same tree with another cut at the end of a path."""
        if not path:
            return self._replace(cut=cut)
        left, right = self.below
        if path[0] == LEFT and left is not None:
            return self._replace(below=(left.with_cut(path[1:], cut), right))
        if path[0] == RIGHT and right is not None:
            return self._replace(below=(left, right.with_cut(path[1:], cut)))
        raise ValueError(f"the path {path} ends at a region")


class NodeCuts(NamedTuple):
    """The rows of a node, and how their columns may be cut.

    Parameters
    ----------
    places : array of int
        Rows of the node.
    codes_of : callable
        Codes of a column at some places.
    cuts_around : callable
        A cut and others of its column, which leave rows on both sides of these places.
    min_samples : int
        Rows of a region, at least.
    """

    places: IntArray
    codes_of: CodesOf
    cuts_around: CutsAround
    min_samples: int

    def codes(self, column: int) -> IntArray:
        """Codes of a column, (n_rows,)."""
        return self.codes_of(column, self.places)

    def cuts(self, options: Sequence[Cut]) -> Cuts:
        """Some cuts of a column that leave enough rows on both sides."""
        return Cuts.of(options, self.codes(options[0].column), self.min_samples)

    def axis_around(self, cut: Cut, count: int) -> Axis:
        """A cut and others of its column, to begin with."""
        codes = self.codes(cut.column)
        cuts = Cuts.of(self.cuts_around(cut, self.places, count), codes, self.min_samples)
        return Axis.starting_with(cuts, codes, self.min_samples)

    def sides(self, cut: Cut) -> tuple[IntArray, IntArray]:
        """Places on both sides of a cut."""
        goes_left = cut.goes_left(self.codes(cut.column))
        return self.places[goes_left], self.places[~goes_left]

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
        node = node._replace(places=node.places[::step], min_samples=tables.min_samples)
    coarse = [node.cuts(evenly(cuts.options, COARSE_CUTS)) for cuts in candidates]
    coarse = [cuts for cuts in coarse if len(cuts)]
    if not coarse:  # in so many rows less there is no room
        return candidates[0].options[0]
    trees = _best_two_levels(tables, coarse, alpha)
    recut = [_recut(node, tables, tree, alpha) for tree in trees[:RECUT_TREES]]
    return recut[first_of_best(np.array([best.remaining for best in recut]))].cut


def _best_two_levels(tables: Tables, columns: Sequence[Cuts], alpha: float) -> list[CutTree]:
    """For each column the best tree of up to two levels that cuts it first; least cost first."""
    pairs = [(i, j) for i in range(len(columns)) for j in range(i, len(columns))]
    undivided = tables.sides([cuts.along for cuts in columns])
    quarters = tables.remaining([Grid(columns[i].along, columns[j].along) for i, j in pairs])
    tops = [
        _Top.of(cuts, remaining, alpha) for cuts, remaining in zip(columns, undivided, strict=True)
    ]
    for (i, j), parts in zip(pairs, quarters, strict=True):  # (2, 2, k, l)
        tops[i].divide(columns[j], parts.sum(axis=1) + 2 * alpha)
        if i != j:
            tops[j].divide(columns[i], parts.sum(axis=0).swapaxes(1, 2) + 2 * alpha)
    costs = np.array([top.least_cost() for top in tops])
    trees = []
    is_left = np.ones(len(tops), dtype=np.bool_)
    while is_left.any():
        number = int(np.flatnonzero(is_left)[first_of_best(costs[is_left])])
        is_left[number] = False
        trees.append(tops[number].best_tree())
    return trees


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

    def least_cost(self) -> float:
        """Of both sides of the best cut."""
        return float(self.costs.sum(axis=0).min())

    def best_tree(self) -> CutTree:
        """The first cut of the least cost, with the second cuts."""
        number = first_of_best(self.costs.sum(axis=0))
        left, right = self.second[:, number]
        return CutTree(
            self.cuts.options[number],
            (None if left is None else CutTree(left), None if right is None else CutTree(right)),
        )


def _recut(node: NodeCuts, tables: Tables, tree: CutTree, alpha: float) -> BestCut:
    """The top and the cost of the best tree of two levels with the columns of a given one."""
    axes: list[Axis | None] = [None, None, None]  # at the top, on the left, on the right
    for number, cut in enumerate(_cuts_of_two_levels(tree)):
        if cut is not None:
            axes[number] = node.axis_around(cut, FINE_CUTS)
    best = tree
    least = np.inf
    has_new = True
    while has_new:
        cost, found = _best_of_grid(tables, axes, alpha)
        if cost < least - TIE:
            least, best = cost, found
        has_new = False
        for number, cut in enumerate(_cuts_of_two_levels(best)):
            axis = axes[number]
            if cut is None or axis is None:
                axes[number] = None
                continue
            finer = axis.finer(cut, FINE_CUTS)
            has_new = has_new or finer is not None
            if finer is None or not len(finer.cuts):
                finer = (finer or axis).alone(cut)
            axes[number] = finer
    return BestCut(best.cut, float(least))


def _cuts_of_two_levels(tree: CutTree) -> list[Cut | None]:
    """The cuts at the top, on the left and on the right; None: a region."""
    return [tree.cut, *(None if below is None else below.cut for below in tree.below)]


def _best_of_grid(
    tables: Tables, axes: Sequence[Axis | None], alpha: float
) -> tuple[float, CutTree]:
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
    divided = [Grid(cuts.along, lower_cuts.along, side) for side, lower_cuts in lower.items()]
    undivided, *quarters = tables.remaining([Grid(cuts.along), *divided])
    top = _Top.of(cuts, undivided, alpha)
    for (side, lower_cuts), parts in zip(lower.items(), quarters, strict=True):  # (1, 2, k, l)
        top.divide(lower_cuts, parts.sum(axis=1) + 2 * alpha, (side,))
    return top.least_cost(), top.best_tree()


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
        for path in tree.paths():
            tree = _with_best_threshold(node, tables, tree, path, n_cuts)
    return tree


def _with_best_threshold(
    node: NodeCuts, tables: Tables, tree: CutTree, path: tuple[int, ...], n_cuts: int
) -> CutTree:
    """A tree with the best threshold at the cut that a path leads to."""
    inner = tree
    inside = np.arange(len(node.places))
    for side in path:
        is_left = inner.cut.goes_left(node.codes_of(inner.cut.column, node.places[inside]))
        inside = inside[is_left == (side == LEFT)]
        below = inner.below[side]
        if below is None:
            raise ValueError(f"the path {path} ends at a region")
        inner = below
    if len(inside) < len(node.places):
        tables = tables.take(inside)
        node = node._replace(places=node.places[inside])
    # Each region below takes the left or the right part of the rows that its other conditions leave.
    regions = [regions_as_cuts(*node.regions_of(below)) for below in inner.below]

    def remaining(cuts: Cuts) -> FloatArray:
        """What the regions on both sides leave, (k,)."""
        grids = [Grid(cuts.along, of_side, side) for side, of_side in enumerate(regions)]
        left, right = tables.remaining(grids)  # (1, 2, k, regions), inside and outside of each
        return np.asarray(left[0, LEFT].sum(axis=1) + right[0, LEFT].sum(axis=1))

    axis = node.axis_around(inner.cut, n_cuts)
    before = remaining(Cuts.of([inner.cut], axis.codes))[0]
    if not len(axis.cuts):
        return tree
    best = sharpest(axis, remaining(axis.cuts), remaining)
    if best.remaining < before - TIE:
        return tree.with_cut(path, best.cut)
    return tree
