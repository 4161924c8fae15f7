"""Values that are alike are merged into cells, by Ward's criterion.

The cost of joining two cells with masses p and q and mean curves f and g is ``p q / (p + q) (|f - g|² + floor)``:
what the squared distances to the means of their cells grow by. The two cheapest cells are joined again and again.
"""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray


def _merging_cost(
    means: FloatArray, mass: FloatArray, first: IntArray, second: IntArray, floor: float
) -> FloatArray:
    """Ward's criterion of joining pairs of cells; cells that are alike are joined by their mass."""
    apart = np.square(means[first] - means[second]).sum(axis=1)
    return np.asarray(mass[first] * mass[second] / (mass[first] + mass[second]) * (apart + floor))


def merge_neighbours(curves: FloatArray, mass: FloatArray, n_cells: int, floor: float) -> IntArray:
    """Join neighbouring values until so many cells are left; the cell of each value, ascending.

    Parameters
    ----------
    curves : array of shape (n_values, n)
    mass : array of shape (n_values,)
    n_cells : int
    floor : float
        Squared distance below which curves are alike: their mass decides then.
    """
    means = curves.copy()
    mass = mass.copy()
    starts = np.arange(len(mass))  # first value of each cell
    costs = _merging_cost(means, mass, starts[:-1], starts[1:], floor)
    while len(starts) > n_cells:
        place = int(np.argmin(costs))
        total = mass[place] + mass[place + 1]
        means[place] = (mass[place] * means[place] + mass[place + 1] * means[place + 1]) / total
        mass[place] = total
        means = np.delete(means, place + 1, axis=0)
        mass = np.delete(mass, place + 1)
        starts = np.delete(starts, place + 1)
        costs = np.delete(costs, place)
        around = np.arange(max(place - 1, 0), min(place + 1, len(starts) - 1))
        costs[around] = _merging_cost(means, mass, around, around + 1, floor)
    return np.asarray(np.searchsorted(starts, np.arange(len(curves)), side="right") - 1)


def merge_any(curves: FloatArray, mass: FloatArray, n_cells: int, floor: float) -> IntArray:
    """Join any two values until so many cells are left; cells are numbered by their first value."""
    means = curves.copy()
    mass = mass.copy()
    n_values = len(mass)
    cell = np.arange(n_values)
    first, second = np.triu_indices(n_values, 1)
    costs = np.full((n_values, n_values), np.inf)
    costs[first, second] = _merging_cost(means, mass, first, second, floor)
    for _ in range(n_values - n_cells):
        keep, join = np.unravel_index(int(np.argmin(costs)), costs.shape)
        total = mass[keep] + mass[join]
        means[keep] = (mass[keep] * means[keep] + mass[join] * means[join]) / total
        mass[keep] = total
        cell[cell == join] = keep
        costs[join, :] = np.inf
        costs[:, join] = np.inf
        others = np.setdiff1d(cell, [keep])
        again = _merging_cost(means, mass, np.full(len(others), keep), others, floor)
        costs[np.minimum(keep, others), np.maximum(keep, others)] = again
    return np.unique(cell, return_inverse=True)[1].reshape(-1)
