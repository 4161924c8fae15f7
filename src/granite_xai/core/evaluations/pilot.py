"""The pilot: which values of a column stand for all of them, by what the model does for a few
rows (C22).

Neighbouring values at which the pilot rows interact alike share a cell. Cells of equal numbers of
rows would straddle a jump of the model and pull a cut to the cell's edge, whatever the number of
rows.
"""

from __future__ import annotations

import numpy as np

from granite_xai.core.evaluations.evaluations import Cells, Model, recombined
from granite_xai.core.fitting.plan import CELLS, pilot_size
from granite_xai.core.rows import Rows

PILOT_STREAM = 23  # of random numbers
FLAT = 1e-6  # share of the predictions' variance below which interactions do not decide on cells
MAIN_EFFECT = 1e-3  # weight of the mean curve beside interactions: it decides where there are none
SAME_DISTANCE = 1e-9  # relative difference of distances that is rounding
TINY = np.finfo(float).tiny


def learn_cells(model: Model, rows: Rows, budget: float, seed: int) -> dict[int, Cells]:
    """Choose the values that stand for each column; columns with few values have no cells.

    Parameters
    ----------
    model : Model
    rows : Rows
        Those that search.
    budget : float
        Rows that may be sent to the model.
    seed : int
        Draws the pilot rows.
    """
    n_rows, most_values = pilot_size(rows.x, budget)
    generator = np.random.default_rng([seed, PILOT_STREAM])
    drawn = generator.choice(len(rows), size=min(n_rows, len(rows)), replace=False)
    pilot = rows.x[np.sort(drawn)]
    learned = {}
    for position, column in enumerate(rows.x.T):
        levels, codes = np.unique(column, return_inverse=True)
        if len(levels) > CELLS:
            mass = np.bincount(codes, weights=rows.weights)
            asked = _asked_levels(mass, most_values)
            curves = recombined(model, pilot, [position], levels[asked][:, None]).T
            learned[position] = _cells_of_column(levels, mass, asked, curves)
    return learned


def _asked_levels(mass: np.ndarray, most_values: int) -> np.ndarray:
    """Levels that the pilot asks about: all, or quantiles and both ends."""
    last = len(mass) - 1
    if last < most_values:
        return np.arange(last + 1)
    ranks = (np.arange(most_values) + 0.5) / most_values * mass.sum()
    quantiles = np.searchsorted(np.cumsum(mass), ranks)
    return np.unique([0, *quantiles, last])


def _cells_of_column(
    levels: np.ndarray, mass_of_level: np.ndarray, asked: np.ndarray, curves: np.ndarray
) -> Cells:
    """Cells of neighbouring levels.

    Parameters
    ----------
    levels, mass_of_level : arrays of shape (n_levels,)
        The column's values, and the weight of the rows at each.
    asked : array of shape (n_values,)
        Levels that the pilot asked about.
    curves : array of shape (n_values, n_pilot)
    """
    middles = (asked[:-1] + asked[1:]) // 2
    nearest = np.searchsorted(middles, np.arange(len(levels)))  # asked value of each level, by rank
    mass = np.maximum(np.bincount(nearest, weights=mass_of_level), TINY)

    # Values are told apart by interactions and, with little weight, by the mean curve.
    n_pilot = curves.shape[1]
    centred = curves - mass @ curves / mass.sum()
    main_effect = centred.mean(axis=1, keepdims=True)
    weight = np.sqrt(MAIN_EFFECT * n_pilot)
    vectors = np.hstack([centred - main_effect, weight * main_effect])

    begins = merge_neighbours(vectors, mass, CELLS, flat=FLAT * np.var(curves) * n_pilot)
    ends = np.append(begins[1:], len(asked))
    standing = []
    for begin, end in zip(begins, ends, strict=True):
        standing.append(begin + _most_typical(vectors[begin:end], mass[begin:end]))
    first_levels = np.searchsorted(nearest, begins)
    return Cells(first=levels[first_levels], standing=levels[asked[standing]])


def merge_neighbours(
    vectors: np.ndarray, mass: np.ndarray, n_cells: int, flat: float
) -> np.ndarray:
    """Merge neighbouring values by Ward's criterion until few enough cells are left.

    Joining two cells of masses p and q with mean vectors f and g costs
    ``p q / (p + q) · (|f - g|² + flat)``.

    Returns
    -------
    array of shape (n_cells,)
        The first value of each cell.
    """
    means = vectors.copy()
    mass = mass.copy()
    begins = np.arange(len(mass))
    while len(begins) > n_cells:
        distance = np.square(means[1:] - means[:-1]).sum(axis=1)
        reduced_mass = mass[1:] * mass[:-1] / (mass[1:] + mass[:-1])
        cheapest = int(np.argmin(reduced_mass * (distance + flat)))
        absorbed = cheapest + 1
        joined = mass[cheapest] * means[cheapest] + mass[absorbed] * means[absorbed]
        mass[cheapest] += mass[absorbed]
        means[cheapest] = joined / mass[cheapest]
        means = np.delete(means, absorbed, axis=0)
        mass = np.delete(mass, absorbed)
        begins = np.delete(begins, absorbed)
    return begins


def _most_typical(vectors: np.ndarray, mass: np.ndarray) -> int:
    """The value nearest to the mean of its cell; of several, the one in their middle."""
    mean = mass @ vectors / mass.sum()
    distances = np.square(vectors - mean).sum(axis=1)
    limit = distances.min() * (1 + SAME_DISTANCE) + TINY
    nearest = np.flatnonzero(distances <= limit)
    return int(nearest[len(nearest) // 2])
