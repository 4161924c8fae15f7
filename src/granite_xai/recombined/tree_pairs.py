"""Pairwise Shapley attributions of a forest: leaf by leaf, and the compiled walk beside it."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

import numpy as np

from granite_xai.kernels import compiled
from granite_xai.kernels.pairs import add_pairs
from granite_xai.recombined.blocks import in_blocks
from granite_xai.recombined.forest import Cells
from granite_xai.typing import BoolArray, Coalition, FloatArray, IntArray

ROWS = 16
"""Explained rows of one block, whatever the number of threads."""


def shares(n_players: int) -> FloatArray:
    """``a! b! / (a + b + 1)!``: the share of one player that arrives between a given ones before and b after.

    Examples
    --------
    >>> shares(1)
    array([[1.        , 0.5       ],
           [0.5       , 0.16666667]])
    """
    counts = range(n_players + 1)
    return np.array([[factorial(a) * factorial(b) / factorial(a + b + 1) for b in counts] for a in counts])


def pairs_by_numpy(cells: Cells, players: Sequence[Coalition], wanted: Sequence[int]) -> FloatArray:
    """``Phi_i[n, m]``: a leaf that needs the players A from n and B from m credits A and debits B.

    The leaf contributes where every player of its path is met by n or by m:

        v (a - 1)! b! / (a + b)!   to each of A,      -v a! (b - 1)! / (a + b)!   to each of B

    Parameters
    ----------
    cells : Cells
    players : the columns of each player
    wanted : players whose attributions are returned

    Returns
    -------
    (wanted, n, n) float
    """
    n = len(cells.rows)
    result = np.zeros((len(wanted), n, n))
    values = cells.forest.value[cells.forest.leaves]
    whole = slice(0, n)
    met = [cells.rows_reached(~_columns(player, cells.rows.shape[1]), whole) for player in players]
    place = {player: line for line, player in enumerate(wanted)}
    weights = shares(len(players))
    for leaf, value in enumerate(values):
        path = [i for i in range(len(players)) if not met[i][leaf].all()]
        if not any(i in place for i in path):
            continue
        patterns, codes = np.unique(np.stack([met[i][leaf] for i in path]), axis=1, return_inverse=True)
        own, other = patterns[:, :, None], patterns[:, None, :]
        from_n, from_m = np.sum(own & ~other, axis=0), np.sum(other & ~own, axis=0)
        both = np.all(own | other, axis=0) * value
        gain, loss = both * weights[from_n - 1, from_m], both * weights[from_n, from_m - 1]
        cell = np.ix_(codes.reshape(-1), codes.reshape(-1))
        for k, i in enumerate(path):
            if i in place:
                result[place[i]] += (gain * (own & ~other)[k] - loss * (other & ~own)[k])[cell]
    return result


def _columns(player: Coalition, n_columns: int) -> BoolArray:
    return np.isin(np.arange(n_columns), sorted(player))


def pairs_by_numba(
    cells: Cells, players: Sequence[Coalition], wanted: Sequence[int], n_jobs: int | None = None
) -> FloatArray:
    """The same attributions by the compiled walk, in blocks of rows; each pair is walked once."""
    n, d = cells.rows.shape
    walk = compiled(add_pairs)
    place: IntArray = np.full(len(players), -1, dtype=np.intp)
    place[list(wanted)] = np.arange(len(wanted))
    player: IntArray = np.zeros(d, dtype=np.intp)
    for i, columns in enumerate(players):
        player[sorted(columns)] = i
    result = np.zeros((len(wanted), n, n))

    def block(start: int) -> None:
        rows = (start, min(start + ROWS, n))
        walk(*cells.arrays, cells.rows, player, place, shares(len(players)), *rows, result)

    in_blocks(block, range(0, n, ROWS), n_jobs)
    return result
