"""``E_S`` of a forest: a product of sparse leaf indicators, and the compiled walk beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.kernels import compiled
from granite_xai.kernels.masks import add_masked
from granite_xai.kernels.walk import ANCHOR, add_trees
from granite_xai.recombined.blocks import in_blocks
from granite_xai.recombined.forest import BLOCK_CELLS, Cells
from granite_xai.typing import BoolArray, FloatArray, IntArray

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
    changes = _changes(cells.values_reached(donors, ~columns), forest.value[forest.leaves])
    step = max(8, BLOCK_CELLS // len(forest.leaves) // 8 * 8)
    for start in range(0, len(rows), step):
        part = slice(start, min(start + step, len(rows)))
        result[:, part] += _summed((changes @ _sparse(cells.rows_reached(columns, part))).toarray())
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

    places = np.flatnonzero(reached)
    ends = np.searchsorted(places, reached.shape[1] * np.arange(len(reached) + 1))
    return csr_array((np.ones(len(places)), places % reached.shape[1], ends), shape=reached.shape)


def _summed(differences: FloatArray) -> FloatArray:
    for start in range(0, len(differences), ANCHOR):
        part = differences[start : start + ANCHOR]
        np.cumsum(part, axis=0, out=part)
    return differences


def sums_by_numba(cells: Cells, columns: BoolArray, donors: IntArray, n_jobs: int | None = None) -> FloatArray:
    """The same sums compiled, in blocks of rows: by words of leaves for small trees, otherwise by walking."""
    rows = cells.rows
    values = rows[donors]
    result = np.zeros((len(donors), len(rows)))
    masks = cells.masks

    def block(start: int) -> None:
        part = slice(start, min(start + ROWS, len(rows)))
        if masks is None:
            compiled(add_trees)(*cells.arrays, rows[part], values, columns, result[:, part])
        else:
            mine = np.ascontiguousarray(rows[part].T), np.ascontiguousarray(values.T)
            compiled(add_masked)(*masks, *mine, columns, result[:, part])

    in_blocks(block, range(0, len(rows), ROWS), n_jobs)
    result += cells.forest.base
    return result
