"""Rows drawn from a table."""

from __future__ import annotations

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
