"""``E_S`` of a sum of trees.

A leaf with value v counts in ``E_S[u, n]`` exactly when the value u meets its conditions on S and the row n
meets those on the other columns. With 0/1 matrices of who meets what, ``E_S = (I_S diag(v)) J_{-S}``.

Two ways to the same sums: NumPy and SciPy, and compiled walks where the extra ``fast`` is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute import in_threads, resolve_jobs
from granite_xai.compute.compiled import compiled
from granite_xai.trees.forest_cells import ForestCells
from granite_xai.trees.kernels import ANCHOR, add_masked, add_trees

WORD_BYTES = 8
WALKED_ROWS = 4096  # rows of one block of the compiled walk, whatever the number of threads


def sparse_sums(
    cells: ForestCells, columns: BoolArray, donors: IntArray, out: FloatArray, block: int
) -> None:
    """``E_S`` as a sparse product.

    Neighbouring values mostly reach the same leaves, so the product is taken with the differences of the
    lines of ``I_S``, which are sparse, and summed up along the values afterwards.

    Parameters
    ----------
    cells : ForestCells
    columns : array of shape (n_columns,)
        Whether a column is in S.
    donors : array of shape (U,)
        Rows that carry the values.
    out : array of shape (U, n)
        Where the sums are written.
    block : int
        Bytes of what is made on the way; the sums do not depend on it.
    """
    forest = cells.forest
    n_rows = len(cells.rows)
    out[...] = forest.base
    if not forest.n_trees:
        return
    n_nodes = len(forest.feature)
    n_leaves = len(forest.leaves)
    keep_packed = 2 * n_nodes * (n_rows // 8 + 1) <= block
    # Sums start afresh at an anchor, so blocks of values may too.
    values_at_once = max(1, block // (4 * n_nodes * ANCHOR)) * ANCHOR
    for first_value in range(0, len(donors), values_at_once):
        lines = slice(first_value, min(first_value + values_at_once, len(donors)))
        meets = cells.leaves_of_values(donors[lines], ~columns)  # (leaves, values)
        changes = _changes(meets, forest.value[forest.leaves])
        # Nodes are bits; of the leaves a row meets some, which a sparse matrix lists; sums are there twice.
        row_bytes = n_nodes // 4 + 4 * n_leaves + 32 * (lines.stop - lines.start)
        rows_at_once = max(8, block // row_bytes // 8 * 8)
        for start in range(0, n_rows, rows_at_once):
            part = slice(start, min(start + rows_at_once, n_rows))
            packed = cells.leaves_of_rows(columns, part, keep_packed)
            met = unpacked(packed, part.stop - part.start)  # (leaves, rows)
            sums = (changes @ _sparse(met)).toarray()
            _add_changes_up(sums)
            out[lines, part] += sums


def compiled_sums(
    cells: ForestCells,
    columns: BoolArray,
    donors: IntArray,
    out: FloatArray,
    block: int,
    n_jobs: int | None = None,
) -> None:
    """The same sums compiled, in blocks of rows: by words of leaves for small trees, otherwise by walking.

    Parameters
    ----------
    cells, columns, donors, out, block
        As in `sparse_sums`.
    n_jobs : int, optional
        Threads.
    """
    rows = cells.rows
    values = cells.rows[donors]
    masks = None
    if WORD_BYTES * cells.n_words <= block:
        masks = cells.masks
    out[...] = 0.0

    def add_rows(start: int) -> None:
        part = slice(start, min(start + WALKED_ROWS, len(rows)))
        if masks is None:
            compiled(add_trees)(cells.nodes, rows[part], values, columns, out[:, part])
        else:
            rows_by_column = np.ascontiguousarray(rows[part].T)
            values_by_column = np.ascontiguousarray(values.T)
            compiled(add_masked)(
                tuple(masks), rows_by_column, values_by_column, columns, out[:, part]
            )
        _add_changes_up(out[:, part])

    # Never in processes: the blocks write into one array.
    in_threads(add_rows, range(0, len(rows), WALKED_ROWS), resolve_jobs(n_jobs))
    out += cells.forest.base


def _add_changes_up(changes: FloatArray) -> None:
    """Add up what changes from value to value, (values, rows), afresh from every anchor on, in place."""
    for line in range(1, len(changes)):  # not by cumsum, which goes along the columns
        if line % ANCHOR:
            changes[line] += changes[line - 1]


def _changes(meets: BoolArray, values: FloatArray) -> Any:
    """``I_S diag(v)`` as differences from line to line, whole again at every anchor; sparse, (U, leaves).

    Parameters
    ----------
    meets : array of shape (leaves, U)
        Whether a value meets the conditions of a leaf on S.
    values : array of shape (leaves,)
    """
    lines = meets.T.astype(np.int8)
    lines[1:] -= meets.T[:-1].astype(np.int8)
    lines[::ANCHOR] = meets.T[::ANCHOR]
    line, leaf = np.nonzero(lines)
    return csr_array((lines[line, leaf] * values[leaf], (line, leaf)), shape=lines.shape)


def _sparse(met: BoolArray) -> Any:
    """A 0/1 matrix (leaves, rows) in compressed lines."""
    n_leaves, n_rows = met.shape
    places = np.flatnonzero(met)
    line_starts = np.searchsorted(places, n_rows * np.arange(n_leaves + 1))
    return csr_array((np.ones(len(places)), places % n_rows, line_starts), shape=met.shape)


def unpacked(bits: NDArray[np.uint8], count: int) -> BoolArray:
    """Truth values of ``count`` rows that were packed eight to a byte."""
    return np.unpackbits(bits, axis=-1, count=count, bitorder="little").view(bool)
