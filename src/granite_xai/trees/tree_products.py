"""``E_S`` of a forest: a product of sparse leaf indicators, and the compiled walk beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute import Workspace
from granite_xai.compute.compiling import compiled
from granite_xai.trees.blocks import in_blocks
from granite_xai.trees.forest import Cells
from granite_xai.trees.masks_kernels import add_masked
from granite_xai.trees.walk_kernels import ANCHOR, add_trees

ROWS = 4096
"""Rows of one block of the compiled walk, whatever the number of threads."""


def sums_by_numpy(cells: Cells, columns: BoolArray, donors: IntArray, out: FloatArray, space: Workspace) -> None:
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
    out : (U, n) float
        Written.
    space : Workspace
        Says how large the blocks on the way are; the sums do not depend on it.
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
        part = slice(start, min(start + ROWS, len(rows)))
        if masks is None:
            compiled(add_trees)(*cells.arrays, rows[part], values, columns, out[:, part])
        else:
            mine = np.ascontiguousarray(rows[part].T), np.ascontiguousarray(values.T)
            compiled(add_masked)(*masks, *mine, columns, out[:, part])

    in_blocks(block, range(0, len(rows), ROWS), n_jobs)
    out += cells.forest.base
