"""``E_S`` of a forest: a product of sparse leaf indicators, and the compiled walk beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.kernels import compiled
from granite_xai.kernels.walk import ANCHOR, add_trees
from granite_xai.recombined.forest import Cells
from granite_xai.resources import map_blocks
from granite_xai.typing import BoolArray, FloatArray, IntArray

BLOCK_CELLS = 2**25
"""Cells of the leaf indicator that are held at a time."""
ROWS = 4096
"""Rows of one block of the compiled walk, whatever the number of threads."""


def sums_by_numpy(cells: Cells, columns: BoolArray, donors: IntArray) -> FloatArray:
    """``E_S = (I_S diag(v)) J_{-S}`` with 0/1 matrices: which values and which rows meet a leaf's conditions.

    Neighbouring values mostly reach the same leaves, so the product is taken with the differences of the lines of
    ``I_S``, which are sparse, and summed up along the values afterwards.

    Parameters
    ----------
    cells : Cells
    columns : (d,) bool
        The columns S.
    donors : (U,) int
        Rows that carry the values.
    """
    forest, rows = cells.forest, cells.rows
    result = np.full((len(donors), len(rows)), forest.base)
    if not forest.n_trees:
        return result
    changes = _changes(cells.reached(rows[donors], ~columns), forest.value[forest.leaves])
    step = max(1, BLOCK_CELLS // len(forest.feature))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        result[:, start : start + step] += _summed((changes @ _sparse(cells.reached(block, columns))).toarray())
    return result


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

    counts = np.count_nonzero(reached, axis=1)
    places = np.flatnonzero(reached) % reached.shape[1]
    return csr_array((np.ones(len(places)), places, np.concatenate([[0], np.cumsum(counts)])), shape=reached.shape)


def _summed(differences: FloatArray) -> FloatArray:
    for start in range(0, len(differences), ANCHOR):
        part = differences[start : start + ANCHOR]
        np.cumsum(part, axis=0, out=part)
    return differences


def sums_by_numba(cells: Cells, columns: BoolArray, donors: IntArray, n_jobs: int | None = None) -> FloatArray:
    """The same sums by the compiled walk, in blocks of rows."""
    rows = cells.rows
    values = rows[donors]
    walk = compiled(add_trees)
    result = np.zeros((len(donors), len(rows)))

    def block(start: int) -> None:
        stop = min(start + ROWS, len(rows))
        walk(*cells.arrays, rows[start:stop], values, columns, result[:, start:stop])

    map_blocks(block, range(0, len(rows), ROWS), n_jobs)
    result += cells.forest.base
    return result
