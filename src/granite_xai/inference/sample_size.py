"""Numbers of rows: drawn from a table, needed for an interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite_xai.base.typing import IntArray

LEAST_HELD_OUT = 30  # rows that can judge regions: fewer are never held out


def random_rows(rows: IntArray, clusters: IntArray, n_drawn: int, seed: int) -> IntArray:
    """So many of some rows, in their order; whole clusters, so about so many where these are large.

    Parameters
    ----------
    rows : array of positions
        The rows to draw from.
    clusters : array of shape (n_all_rows,)
        Number of the cluster of each row of the table.
    n_drawn : int
    seed : int
    """
    if n_drawn >= len(rows):
        return rows
    names, numbers = np.unique(clusters[rows], return_inverse=True)
    generator = np.random.default_rng(seed)
    if len(names) == len(rows):
        return np.sort(generator.choice(rows, size=n_drawn, replace=False))
    place_of_cluster = generator.permutation(len(names))
    place_of_row = place_of_cluster[numbers.reshape(-1)]
    # The first clusters, in the drawn order, that together hold so many rows.
    rows_up_to_place = np.cumsum(np.bincount(place_of_row))
    last_place = np.searchsorted(rows_up_to_place, n_drawn)
    return np.sort(rows[place_of_row <= last_place])


def rows_needed(history: Sequence[tuple[int, float]], half_width: float, normal: float) -> int:
    """Rows that search, for an interval of this half width; half as many more are held out.

    Parameters
    ----------
    history : sequence of (n_rows, standard_error)
        Estimates from more and more rows; the last two tell how the standard error falls.
    half_width : float
        Half the length of the interval that is wanted.
    normal : float
        Standard errors on both sides of an estimate.
    """
    n_before, error_before = history[-2] if len(history) > 1 else history[-1]
    n_rows, error = history[-1]
    # The error falls like a power of the rows between 1/2, as means do, and 1, where chance dominates.
    power = 0.5
    if n_rows > n_before:
        power = float(np.clip(np.log(error_before / error) / np.log(n_rows / n_before), 0.5, 1.0))
    return int(np.ceil(n_rows * (normal * error / half_width) ** (1.0 / power)))
