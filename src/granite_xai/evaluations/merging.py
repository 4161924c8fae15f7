"""Values of a column that are alike are merged into cells, by Ward's criterion (C22).

Joining two cells with masses p and q and mean curves f and g costs

    p q / (p + q) · (|f - g|² + flat)

which is what the squared distances of curves to the mean curve of their cell grow by. ``flat`` is the squared
distance below which curves count as alike: then the cells with the least mass are joined first. The two
cheapest cells are joined again and again, until few enough are left.
"""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray


def merge_neighbours(curves: FloatArray, mass: FloatArray, n_cells: int, flat: float) -> IntArray:
    """Merge the values of an ordered column: a cell is a run of neighbouring values.

    Parameters
    ----------
    curves : array of shape (n_values, n)
        What the values are told apart by, in the order of the column.
    mass : array of shape (n_values,)
        Weight of the rows at each value, positive.
    n_cells : int
        Cells that are left, at least 1.
    flat : float
        Squared distance below which curves are alike.

    Returns
    -------
    array of shape (n_values,)
        Number of the cell of each value, ascending from 0.
    """
    means = curves.copy()
    mass = mass.copy()
    first_value = np.arange(len(mass))  # of each cell
    costs = _joining_costs(means, mass, first_value[:-1], first_value[1:], flat)  # with the next
    while len(first_value) > n_cells:
        cheapest = int(np.argmin(costs))
        absorbed = cheapest + 1
        _join(means, mass, cheapest, absorbed)
        means = np.delete(means, absorbed, axis=0)
        mass = np.delete(mass, absorbed)
        first_value = np.delete(first_value, absorbed)
        costs = np.delete(costs, cheapest)
        # The joined cell has new costs with the cell before it and with the one behind it.
        begin = max(cheapest - 1, 0)
        end = min(cheapest + 1, len(first_value) - 1)
        changed = np.arange(begin, end)
        costs[changed] = _joining_costs(means, mass, changed, changed + 1, flat)
    values = np.arange(len(curves))
    return np.asarray(np.searchsorted(first_value, values, side="right") - 1)


def merge_any_pairs(curves: FloatArray, mass: FloatArray, n_cells: int, flat: float) -> IntArray:
    """Merge the values of a column without order: any two cells may be joined.

    Parameters
    ----------
    curves, mass, n_cells, flat
        As in `merge_neighbours`.

    Returns
    -------
    array of shape (n_values,)
        Number of the cell of each value; cells are numbered from 0 by their first value.
    """
    means = curves.copy()
    mass = mass.copy()
    n_values = len(mass)
    cell_of_value = np.arange(n_values)  # a cell has the number of its first value
    first, second = np.triu_indices(n_values, 1)
    costs = np.full((n_values, n_values), np.inf)  # of two cells, above the diagonal
    costs[first, second] = _joining_costs(means, mass, first, second, flat)
    for _ in range(n_values - n_cells):
        growing, absorbed = np.unravel_index(int(np.argmin(costs)), costs.shape)
        _join(means, mass, int(growing), int(absorbed))
        cell_of_value[cell_of_value == absorbed] = growing
        costs[absorbed, :] = np.inf
        costs[:, absorbed] = np.inf
        other_cells = np.setdiff1d(cell_of_value, [growing])
        lower = np.minimum(growing, other_cells)
        higher = np.maximum(growing, other_cells)
        growing_cells = np.full(len(other_cells), growing)
        costs[lower, higher] = _joining_costs(means, mass, growing_cells, other_cells, flat)
    return np.unique(cell_of_value, return_inverse=True)[1].reshape(-1)


def _joining_costs(
    means: FloatArray, mass: FloatArray, first: IntArray, second: IntArray, flat: float
) -> FloatArray:
    """Ward's criterion for pairs of cells, (pairs,)."""
    squared_distance = np.square(means[first] - means[second]).sum(axis=1)
    reduced_mass = mass[first] * mass[second] / (mass[first] + mass[second])
    return np.asarray(reduced_mass * (squared_distance + flat))


def _join(means: FloatArray, mass: FloatArray, growing: int, absorbed: int) -> None:
    """Add one cell to another, in place; what stands at the absorbed one is not read again."""
    total = mass[growing] + mass[absorbed]
    weighted_sum = mass[growing] * means[growing] + mass[absorbed] * means[absorbed]
    means[growing] = weighted_sum / total
    mass[growing] = total
