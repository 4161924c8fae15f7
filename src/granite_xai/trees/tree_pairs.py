"""Pairwise Shapley attributions of a forest: leaf by leaf, and the compiled walk beside it."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

import numpy as np

from granite_xai.base.typing import BoolArray, Coalition, FloatArray, IntArray
from granite_xai.compute import Workspace
from granite_xai.compute.compiling import compiled
from granite_xai.trees.blocks import in_blocks
from granite_xai.trees.forest import Cells
from granite_xai.trees.pairs_kernels import add_pairs

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


def pairs_by_numpy(
    cells: Cells, players: Sequence[Coalition], wanted: Sequence[int], out: FloatArray, space: Workspace
) -> None:
    """``Phi_i[n, m]``: a leaf that needs the players A from n and B from m credits A and debits B.

    The leaf contributes where every player of its path is met by n or by m:

        v (a - 1)! b! / (a + b)!   to each of A,      -v a! (b - 1)! / (a + b)!   to each of B

    Parameters
    ----------
    cells : Cells
    players : the columns of each player
    wanted : players whose attributions are asked for
    out : (wanted, n, n) float
        Written.
    space : Workspace
        Says how large the blocks on the way are; the sums do not depend on it.
    """
    n = len(cells.rows)
    out[...] = 0.0
    values = cells.forest.value[cells.forest.leaves]
    bits = [cells.bits_reached(~_columns(player, cells.rows.shape[1]), slice(0, n)) for player in players]
    place = {player: line for line, player in enumerate(wanted)}
    weights = shares(len(players))
    for leaf, value in enumerate(values):
        met = [np.unpackbits(each[leaf], count=n, bitorder="little").view(bool) for each in bits]
        path = [i for i in range(len(players)) if not met[i].all()]
        if not any(i in place for i in path):
            continue
        patterns, codes = np.unique(np.stack([met[i] for i in path]), axis=1, return_inverse=True)
        own, other = patterns[:, :, None], patterns[:, None, :]
        from_n, from_m = np.sum(own & ~other, axis=0), np.sum(other & ~own, axis=0)
        both = np.all(own | other, axis=0) * value
        gain, loss = both * weights[from_n - 1, from_m], both * weights[from_n, from_m - 1]
        codes = codes.reshape(-1)
        for k, i in enumerate(path):
            if i in place:
                change = gain * (own & ~other)[k] - loss * (other & ~own)[k]
                for part in space.slices(n, 8 * n):
                    out[place[i], part] += change[np.ix_(codes[part], codes)]


def _columns(player: Coalition, n_columns: int) -> BoolArray:
    return np.isin(np.arange(n_columns), sorted(player))


def pairs_by_numba(
    cells: Cells, players: Sequence[Coalition], wanted: Sequence[int], out: FloatArray, n_jobs: int | None = None
) -> None:
    """The same attributions by the compiled walk, in blocks of rows; each pair is walked once."""
    n, d = cells.rows.shape
    walk = compiled(add_pairs)
    place: IntArray = np.full(len(players), -1, dtype=np.intp)
    place[list(wanted)] = np.arange(len(wanted))
    player: IntArray = np.zeros(d, dtype=np.intp)
    for i, columns in enumerate(players):
        player[sorted(columns)] = i
    out[...] = 0.0

    def block(start: int) -> None:
        rows = (start, min(start + ROWS, n))
        walk(*cells.arrays, cells.rows, player, place, shares(len(players)), *rows, out)

    in_blocks(block, range(0, n, ROWS), n_jobs)
