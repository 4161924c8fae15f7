"""The compiled sums of small trees: a set of leaves is one machine word, and two sets meet in one leaf."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.trees.walk_kernels import ANCHOR, CHUNK

MOST_LEAVES = 64
WORD = 0x03F79D71B4CB0A89
"""De Bruijn's word: each power of two times this begins with six bits of its own, which number the leaf."""


def build_masks(
    feature: Any,
    first: Any,
    cut: Any,
    offset: Any,
    bits: Any,
    left: Any,
    right: Any,
    value: Any,
    starts: Any,
    begins: Any,
    masks: Any,
    values: Any,
    asks: Any,
) -> None:
    """Write for every tree and cell the leaves whose conditions the cell meets, and the leaves' values by number.

    Parameters
    ----------
    feature, ..., starts
        As in `add_trees`.
    begins : (d + 1,) int
        Where the cells of each column begin.
    masks : (trees, cells) unsigned
    values : (trees, 64) float
    asks : (trees, d) bool
        Whether the tree splits on the column.
    """
    for tree in range(len(starts) - 1):
        root, end = starts[tree], starts[tree + 1]
        below = np.zeros(end - root, np.uint64)
        count = 0
        for node in range(end - 1, root - 1, -1):
            if feature[node] < 0:
                bit = np.uint64(1) << np.uint64(count)
                below[node - root] = bit
                values[tree, (bit * np.uint64(WORD)) >> np.uint64(58)] = value[node]
                count += 1
            else:
                below[node - root] = below[left[node] - root] | below[right[node] - root]
        masks[tree, :] = below[0]
        asks[tree, 0] = feature[root] < 0  # a single leaf asks no column, but has to be found
        for node in range(root, end):
            j = feature[node]
            if j < 0:
                continue
            asks[tree, j] = True
            for c in range(begins[j + 1] - begins[j]):
                goes = (first[node] <= c and c < cut[node]) if offset[node] < 0 else bits[offset[node] + c]
                lost = below[right[node] - root] if goes else below[left[node] - root]
                masks[tree, begins[j] + c] &= ~lost


def add_masked(
    masks: Any, values: Any, asks: Any, begins: Any, cells: Any, donors: Any, replaced: Any, result: Any
) -> None:
    """Add ``E_S`` of every tree to ``result``, shape (U, n).

    The leaves left by a value's columns S and those left by a row's other columns have one leaf in common.

    Parameters
    ----------
    masks, values, asks, begins
        From `build_masks`.
    cells : (d, n) int
        The rows.
    donors : (d, U) int
        Rows that carry the values.
    replaced : (d,) bool
        The columns S.
    """
    n_columns, n_rows = cells.shape
    n_values = donors.shape[1]
    everything = ~np.uint64(0)
    of_value = np.empty(n_values, np.uint64)
    of_row = np.empty(CHUNK, np.uint64)
    before = np.empty(CHUNK)
    for low in range(0, n_rows, CHUNK):
        size = min(CHUNK, n_rows - low)
        for tree in range(len(masks)):
            of_value[:] = everything
            of_row[:] = everything
            for j in range(n_columns):
                if not asks[tree, j]:
                    continue
                begin = begins[j]
                if replaced[j]:
                    for u in range(n_values):
                        of_value[u] &= masks[tree, begin + donors[j, u]]
                else:
                    for n in range(size):
                        of_row[n] &= masks[tree, begin + cells[j, low + n]]
            for u in range(n_values):
                own = of_value[u]
                anchor = u % ANCHOR == 0
                if not anchor and own == of_value[u - 1]:
                    continue
                if anchor:
                    before[:size] = 0.0
                for n in range(size):
                    now = values[tree, ((own & of_row[n]) * np.uint64(WORD)) >> np.uint64(58)]
                    result[u, low + n] += now - before[n]
                    before[n] = now
    for u in range(n_values):
        if u % ANCHOR != 0:
            for n in range(n_rows):
                result[u, n] += result[u - 1, n]
