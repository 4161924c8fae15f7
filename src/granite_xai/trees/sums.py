"""``E_S`` and pairwise Shapley values of a forest: in NumPy, and by the compiled loops beside it."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

import numpy as np

from granite_xai.base.typing import BoolArray, Coalition, FloatArray, IntArray
from granite_xai.compute import Workspace, in_threads, resolve_jobs
from granite_xai.compute.compiling import compiled
from granite_xai.trees.forest import Cells
from granite_xai.trees.kernels import ANCHOR, add_masked, add_pairs, add_trees

WALKED_ROWS = 4096
"""Rows of one block of the compiled walk, whatever the number of threads."""
EXPLAINED_ROWS = 16
"""Explained rows of one block, whatever the number of threads."""


def sums_by_numpy(cells: Cells, columns: BoolArray, donors: IntArray, out: FloatArray, space: Workspace) -> None:
    """``E_S = (I_S diag(v)) J_{-S}`` with 0/1 matrices: which values and which rows meet a leaf's conditions.

    Neighbouring values mostly reach the same leaves, so the product is taken with the differences of the lines of
    ``I_S``, which are sparse, and summed up along the values afterwards.

    ``columns`` are S, ``donors`` the rows that carry the values; ``out`` is written. The space says how large the
    blocks on the way are; the sums do not depend on it.
    """
    forest, n = cells.forest, len(cells.rows)
    out[...] = forest.base
    if not forest.n_trees:
        return
    keep = 2 * cells.forest.feature.size * (n // 8 + 1) <= space.block
    nodes, leaves = len(forest.feature), len(forest.leaves)
    height = max(1, space.block // (4 * nodes * ANCHOR)) * ANCHOR  # sums start afresh at an anchor, so blocks may too
    for low in range(0, len(donors), height):
        lines = slice(low, min(low + height, len(donors)))
        changes = _changes(cells.values_reached(donors[lines], ~columns), forest.value[forest.leaves])
        # Nodes are bits; of the leaves a row meets some, which a sparse matrix lists; sums are there twice.
        size = nodes // 4 + 4 * leaves + 32 * (lines.stop - lines.start)
        step = max(8, space.block // size // 8 * 8)
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            reached = _sparse(cells.rows_reached(columns, part, keep))
            out[lines, part] += _summed((changes @ reached).toarray())


def _changes(reached: BoolArray, values: FloatArray) -> Any:
    """``I_S diag(v)`` as differences from line to line, whole again at every anchor; sparse, shape (U, leaves)."""
    from scipy.sparse import csr_array

    lines = reached.T.astype(np.int8)
    lines[1:] -= reached.T[:-1].astype(np.int8)
    lines[::ANCHOR] = reached.T[::ANCHOR]
    at, leaf = np.nonzero(lines)
    return csr_array((lines[at, leaf] * values[leaf], (at, leaf)), shape=lines.shape)


def _sparse(reached: BoolArray) -> Any:
    from scipy.sparse import csr_array

    places = np.flatnonzero(reached)
    ends = np.searchsorted(places, reached.shape[1] * np.arange(len(reached) + 1))
    return csr_array((np.ones(len(places)), places % reached.shape[1], ends), shape=reached.shape)


def _summed(differences: FloatArray) -> FloatArray:
    for start in range(0, len(differences), ANCHOR):
        part = differences[start : start + ANCHOR]
        np.cumsum(part, axis=0, out=part)
    return differences


def sums_by_numba(
    cells: Cells, columns: BoolArray, donors: IntArray, out: FloatArray, space: Workspace, n_jobs: int | None = None
) -> None:
    """The same sums compiled, in blocks of rows: by words of leaves for small trees, otherwise by walking."""
    rows = cells.rows
    values = rows[donors]
    out[...] = 0.0
    masks = cells.masks if 8 * cells.n_words <= space.block else None

    def block(start: int) -> None:
        part = slice(start, min(start + WALKED_ROWS, len(rows)))
        if masks is None:
            compiled(add_trees)(cells.nodes, rows[part], values, columns, out[:, part])
        else:
            mine = np.ascontiguousarray(rows[part].T), np.ascontiguousarray(values.T)
            compiled(add_masked)(*masks, *mine, columns, out[:, part])

    # Never in processes: the blocks write into one array.
    in_threads(block, range(0, len(rows), WALKED_ROWS), resolve_jobs(n_jobs))
    out += cells.forest.base


def shares(n_players: int) -> FloatArray:
    """``a! b! / (a + b + 1)!``: the share of one player that arrives between a given ones before and b after.

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
    """
    n = len(cells.rows)
    out[...] = 0.0
    values = cells.forest.value[cells.forest.leaves]
    columns = np.arange(cells.rows.shape[1])
    bits = [cells.bits_reached(~np.isin(columns, sorted(player)), slice(0, n)) for player in players]
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
        rows = (start, min(start + EXPLAINED_ROWS, n))
        walk(cells.nodes, cells.rows, player, place, shares(len(players)), *rows, out)

    in_threads(block, range(0, n, EXPLAINED_ROWS), resolve_jobs(n_jobs))
