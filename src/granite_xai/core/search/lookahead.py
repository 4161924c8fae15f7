"""Thresholds that are chosen together: two levels ahead of a node, and those of a whole tree.

A greedy first cut may miss an interaction that shows only after two cuts, and a threshold that
was best when it was drawn need not be best for the tree that grew below it. Tables tell what any
cuts leave; the model is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from granite_xai.core.search.cuts import TIE, Cut, Cuts, between, first_of_best, quantiles, sharpest
from granite_xai.core.search.levels import groups_of_levels
from granite_xai.core.search.tables import LEFT, RIGHT, Tables
from granite_xai.core.search.tree import CutTree, places_of_regions

COARSE_CUTS = 9  # of each column that are paired
FINE_CUTS = 19  # of each column when two levels are cut again
RECUT_TREES = 3
ROWS_AHEAD = 4000  # of a node; they stand for all of its rows


def first_of_two_levels(
    x: np.ndarray, tables: Tables, candidates: Sequence[Cuts], alpha: float
) -> Cut:
    """The first cut of the best tree of two levels: over a coarse grid, then over finer ones
    around its best.

    Parameters
    ----------
    x : array of shape (n, d)
        Rows of the node.
    tables : Tables
        Of the same rows.
    candidates : sequence of Cuts
        Of the columns that are paired.
    alpha : float
        Price of a region.
    """
    coarse = [cuts.thinned(COARSE_CUTS) for cuts in candidates]
    step = -(-len(x) // ROWS_AHEAD)
    if step > 1:
        x, tables = x[::step], tables.thinner(step)
        coarse = [_again(x, cuts, tables.min_samples) for cuts in coarse]
    trees = best_two_levels(tables, [cuts for cuts in coarse if cuts.count], alpha)
    recut = [_recut(x, tables, tree, alpha) for tree in trees[:RECUT_TREES]]
    cost, best = min(recut, key=lambda entry: round(entry[0], 12))
    return best


def best_two_levels(tables: Tables, cuts: Sequence[Cuts], alpha: float) -> list[CutTree]:
    """For each column the best tree of up to two levels that cuts it first; least cost first."""
    pairs = [(i, j) for i in range(len(cuts)) for j in range(i, len(cuts))]
    undivided = tables.remaining([(of_column,) for of_column in cuts])
    quarters = tables.remaining([(cuts[i], cuts[j]) for i, j in pairs])
    costs = [
        remaining + alpha for remaining in undivided
    ]  # (2, k) for each column, the least so far
    lower = [np.full((2, of_column.count), None) for of_column in cuts]  # the second cut for it

    def improve(top: int, second: int, remaining: np.ndarray) -> None:
        """Divide the sides of ``top`` by ``second`` where that costs less; remaining (2, k, l)."""
        divided = remaining.min(axis=2) + 2 * alpha
        for side, number in np.argwhere(divided < costs[top] - TIE):
            costs[top][side, number] = divided[side, number]
            lower[top][side, number] = CutTree(cuts[second][int(remaining[side, number].argmin())])

    for (i, j), parts in zip(pairs, quarters, strict=True):  # (2, 2, k, l)
        improve(i, j, parts.sum(axis=1))
        if i != j:
            improve(j, i, parts.sum(axis=0).swapaxes(1, 2))
    trees = []
    for of_column, of_sides, below in zip(cuts, costs, lower, strict=True):
        total = of_sides.sum(axis=0)
        number = first_of_best(total)
        trees.append(
            (round(float(total[number]), 12), CutTree(of_column[number], tuple(below[:, number])))
        )
    return [tree for _, tree in sorted(trees, key=itemgetter(0))]


def _recut(x: np.ndarray, tables: Tables, tree: CutTree, alpha: float) -> tuple[float, Cut]:
    """The cost and the top of the best tree of two levels with the columns of a given one."""
    best = [tree.cut, *(None if below is None else below.cut for below in tree.below)]
    least = np.inf
    tried = [np.zeros(0)] * len(best)
    axes = [cut and _around(x, cut, FINE_CUTS + 1, tables.min_samples) for cut in best]
    has_new = True
    while has_new and axes[0].count:
        cost, cuts = _best_of_grid(tables, axes, alpha)
        if cost < least - TIE:
            least, best = cost, cuts
        has_new = False
        for number, cut in enumerate(best):
            if cut is None:
                axes[number] = None
                continue
            new = np.zeros(0)
            if not cut.levels:
                tried[number] = np.append(tried[number], axes[number].values)
                new = between(x[:, cut.column], tried[number], cut.value, FINE_CUTS)
            has_new = has_new or len(new) > 0
            if len(new):
                tried[number] = np.append(tried[number], new)  # also those that leave too few rows
                axes[number] = Cuts.at(x, cut.column, new, tables.min_samples)
            else:
                axes[number] = _alone(x, cut)
    return least, best[0]


def _around(x: np.ndarray, cut: Cut, count: int, min_samples: int) -> Cuts:
    """A cut and others of its column."""
    if cut.levels:
        groups = groups_of_levels(np.unique(x[:, cut.column]), count)
        return Cuts.of_groups(x, cut.column, sorted({*groups, cut.levels}), min_samples)
    values = np.append(quantiles(x[:, cut.column], count), cut.value)
    return Cuts.at(x, cut.column, values, min_samples)


def _alone(x: np.ndarray, cut: Cut) -> Cuts:
    if cut.levels:
        return Cuts.of_groups(x, cut.column, [cut.levels], 1)
    return Cuts.at(x, cut.column, np.array([cut.value]), 1)


def _again(x: np.ndarray, cuts: Cuts, min_samples: int) -> Cuts:
    """The same cuts in other rows."""
    if cuts.is_nested:
        return Cuts.at(x, cuts.column, cuts.values, min_samples)
    return Cuts.of_groups(x, cuts.column, [cut.levels for cut in cuts.options], min_samples)


def _best_of_grid(
    tables: Tables, axes: Sequence[Cuts | None], alpha: float
) -> tuple[float, list[Cut | None]]:
    """The best of some cuts at the top, on the left and on the right, with their cost; None: a
    region.
    """
    top = axes[0]
    costs = tables.remaining([(top,)])[0] + alpha  # (2, k)
    lower = np.full(costs.shape, None)
    for side in (LEFT, RIGHT):
        cuts = axes[1 + side]
        if cuts is None or not cuts.count:
            continue
        remaining = tables.remaining([(top, cuts)])[0][side].sum(axis=0)  # (k, l)
        divided = remaining.min(axis=1) + 2 * alpha
        for number in np.flatnonzero(divided < costs[side] - TIE):
            costs[side, number] = divided[number]
            lower[side, number] = cuts[int(remaining[number].argmin())]
    number = first_of_best(costs.sum(axis=0))
    return float(costs[:, number].sum()), [top[number], *lower[:, number]]


def polished(x: np.ndarray, tables: Tables, tree: CutTree, max_candidates: int) -> CutTree:
    """A tree with each threshold chosen again while all others stay, until none moves."""
    before = None
    while tree != before:
        before = tree
        for path in tree.paths():
            tree = _with_best_threshold(x, tables, tree, path, max_candidates)
    return tree


def _with_best_threshold(
    x: np.ndarray, tables: Tables, tree: CutTree, path: tuple[int, ...], max_candidates: int
) -> CutTree:
    """A tree with the best threshold at the cut that a path leads to."""
    inner = tree
    places = np.arange(len(x))
    for side in path:
        places = places[inner.sides(x[places])[side]]
        inner = inner.below[side]
    x = x[places]
    # Each region below takes the left or the right part of the rows that its other
    # conditions leave.
    regions = [
        [(rows, tables.take(places[rows])) for rows in places_of_regions(below, x)]
        for below in inner.below
    ]

    def score(cuts: Cuts) -> np.ndarray:
        """What the regions on both sides leave, (2, k)."""
        return np.array(
            [
                sum(
                    of_rows.remaining([(cuts.take(rows),)])[0][side]
                    for rows, of_rows in regions[side]
                )
                for side in (LEFT, RIGHT)
            ]
        )

    cuts = _around(x, inner.cut, max_candidates, tables.min_samples)
    scores = score(cuts)
    best, least = sharpest(x, cuts, scores, score, tables.min_samples)
    if least < scores.sum(axis=0)[cuts.options.index(inner.cut)] - TIE:
        return tree.with_cut(path, best)
    return tree
