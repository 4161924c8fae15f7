"""The compiled walk: every tree once for each row, both ways at a split on the replaced columns."""

from __future__ import annotations

from typing import Any

import numpy as np

ANCHOR = 256
"""Values after which the running sum starts afresh, so that its rounding stays bounded."""
CHUNK = 1024
"""Rows whose leaves of one tree are kept at a time."""


def add_trees(
    feature: Any,
    first: Any,
    cut: Any,
    offset: Any,
    bits: Any,
    left: Any,
    right: Any,
    value: Any,
    starts: Any,
    cells: Any,
    donors: Any,
    replaced: Any,
    result: Any,
) -> None:
    """Add ``E_S`` of every tree to ``result``, shape (U, n).

    The splits of a tree on S put the U values into few classes. A row's walk finds the leaf of each class; the sums
    change only between neighbouring values of different class, so differences are added there and summed up at the end.

    Parameters
    ----------
    feature, first, cut, offset, left, right, value : one entry a node
        Feature -1 is a leaf. A cell goes left if ``first <= cell < cut``, or by ``bits`` where there is an offset.
    starts : (trees + 1,) int
        First node (the root) of each tree.
    cells : (n, d) int
        The rows.
    donors : (U, d) int
        Rows that carry the values.
    replaced : (d,) bool
        The columns S.
    """
    n_rows = cells.shape[0]
    n_values = donors.shape[0]
    classes = np.zeros(n_values, np.int64)
    carriers = np.zeros(n_values, np.int64)
    for tree in range(len(starts) - 1):
        root, end = starts[tree], starts[tree + 1]
        # 1. classes of values that no split of this tree tells apart
        classes[:] = 0
        n_classes = 1
        for node in range(root, end):
            j = feature[node]
            if j < 0 or not replaced[j]:
                continue
            number = np.full(2 * n_classes, -1, np.int64)
            count = 0
            for u in range(n_values):
                c = donors[u, j]
                goes = (first[node] <= c and c < cut[node]) if offset[node] < 0 else bits[offset[node] + c]
                key = 2 * classes[u] + (1 if goes else 0)
                if number[key] < 0:
                    number[key] = count
                    count += 1
                classes[u] = number[key]
            n_classes = count
        for u in range(n_values - 1, -1, -1):
            carriers[classes[u]] = u
        # 2. the classes that may reach each node, which no row decides
        begin = np.zeros(end - root, np.int64)
        stop = np.zeros(end - root, np.int64)
        pool = np.arange(n_classes)
        used = n_classes
        stop[0] = n_classes
        for node in range(root, end):
            j = feature[node]
            if j < 0:
                continue
            here, low, high = node - root, left[node] - root, right[node] - root
            if not replaced[j]:
                begin[low], stop[low], begin[high], stop[high] = begin[here], stop[here], begin[here], stop[here]
                continue
            size = stop[here] - begin[here]
            if used + size > len(pool):
                larger = np.empty(2 * len(pool) + size, np.int64)
                larger[:used] = pool[:used]
                pool = larger
            ahead, behind = used, used + size
            for k in range(begin[here], stop[here]):
                c = donors[carriers[pool[k]], j]
                goes = (first[node] <= c and c < cut[node]) if offset[node] < 0 else bits[offset[node] + c]
                if goes:
                    pool[ahead] = pool[k]
                    ahead += 1
                else:
                    behind -= 1
                    pool[behind] = pool[k]
            begin[low], stop[low], begin[high], stop[high] = used, ahead, ahead, used + size
            used += size
        # 3. the leaf of every row and class, and the differences between neighbouring values
        stack = np.empty(end - root + 1, np.int64)
        leaves = np.empty((n_classes, min(CHUNK, n_rows)))
        for low_row in range(0, n_rows, CHUNK):
            high_row = min(low_row + CHUNK, n_rows)
            for n in range(low_row, high_row):
                stack[0] = root
                depth = 1
                while depth > 0:
                    depth -= 1
                    node = stack[depth]
                    while feature[node] >= 0:
                        j = feature[node]
                        if replaced[j]:
                            low, high = left[node], right[node]
                            if begin[low - root] == stop[low - root]:
                                node = high
                            elif begin[high - root] == stop[high - root]:
                                node = low
                            else:
                                stack[depth] = high
                                depth += 1
                                node = low
                            continue
                        c = cells[n, j]
                        goes = (first[node] <= c and c < cut[node]) if offset[node] < 0 else bits[offset[node] + c]
                        node = left[node] if goes else right[node]
                    for k in range(begin[node - root], stop[node - root]):
                        leaves[pool[k], n - low_row] = value[node]
            for u in range(n_values):
                own = classes[u]
                if u % ANCHOR == 0:
                    for n in range(low_row, high_row):
                        result[u, n] += leaves[own, n - low_row]
                elif own != classes[u - 1]:
                    before = classes[u - 1]
                    for n in range(low_row, high_row):
                        result[u, n] += leaves[own, n - low_row] - leaves[before, n - low_row]
    for u in range(n_values):
        if u % ANCHOR != 0:
            for n in range(n_rows):
                result[u, n] += result[u - 1, n]
