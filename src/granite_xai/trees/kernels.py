"""The compiled loops over trees: sums by walking, sums by words of leaves, pairwise Shapley values."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray

Wanted = Sequence[int]  # players whose attributions are asked for
ANCHOR = 256  # values after which the running sum starts afresh, so that its rounding stays bounded
CHUNK = 1024  # rows whose leaves of one tree are kept at a time
MOST_LEAVES = 64  # leaves of a tree that fit a machine word
WORD = 0x03F79D71B4CB0A89  # De Bruijn's: powers of two times this begin with six bits of their own, a leaf's number


def add_trees(nodes: Any, cells: Any, donors: Any, replaced: Any, result: Any) -> None:
    """Add how ``E_S`` of every tree changes from value to value, afresh at every anchor, to ``result``, (U, n)."""
    # The splits of a tree on S put the U values into few classes. A row's walk finds the leaf of each class; the sums
    # change only between neighbouring values of different class. ``nodes``: feature (-1: a leaf), first, cut, offset,
    # bits, left, right, value, starts. A cell goes left if ``first <= cell < cut``, or by ``bits`` where there is an
    # offset. A tree starts with its root. ``cells`` (n, d) are the rows, ``donors`` (U, d) those that carry the values,
    # ``replaced`` (d,) the columns S.
    feature, first, cut, offset, bits, left, right, value, starts = nodes
    n_rows, n_values = cells.shape[0], donors.shape[0]
    classes, carriers = np.zeros(n_values, np.int64), np.zeros(n_values, np.int64)
    for tree in range(len(starts) - 1):
        root, end = starts[tree], starts[tree + 1]
        # 1. classes of values that no split of this tree tells apart
        classes[:] = 0
        n_classes = 1
        for node in range(root, end):
            j = feature[node]
            if j < 0 or not replaced[j]:
                continue
            number, count = np.full(2 * n_classes, -1, np.int64), 0
            for u in range(n_values):
                c = donors[u, j]
                goes = (
                    (first[node] <= c and c < cut[node])
                    if offset[node] < 0
                    else bits[offset[node] + c]
                )
                key = 2 * classes[u] + (1 if goes else 0)
                if number[key] < 0:
                    number[key] = count
                    count += 1
                classes[u] = number[key]
            n_classes = count
        for u in range(n_values - 1, -1, -1):
            carriers[classes[u]] = u
        # 2. the classes that may reach each node, which no row decides
        begin, stop, pool = (
            np.zeros(end - root, np.int64),
            np.zeros(end - root, np.int64),
            np.arange(n_classes),
        )
        used = n_classes
        stop[0] = n_classes
        for node in range(root, end):
            j = feature[node]
            if j < 0:
                continue
            here, low, high = node - root, left[node] - root, right[node] - root
            if not replaced[j]:
                begin[low], stop[low], begin[high], stop[high] = (
                    begin[here],
                    stop[here],
                    begin[here],
                    stop[here],
                )
                continue
            size = stop[here] - begin[here]
            if used + size > len(pool):
                larger = np.empty(2 * len(pool) + size, np.int64)
                larger[:used] = pool[:used]
                pool = larger
            ahead, behind = used, used + size
            for k in range(begin[here], stop[here]):
                c = donors[carriers[pool[k]], j]
                goes = (
                    (first[node] <= c and c < cut[node])
                    if offset[node] < 0
                    else bits[offset[node] + c]
                )
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
        leaves = np.zeros(
            (n_classes + 1, min(CHUNK, n_rows))
        )  # the last class is nothing, before an anchor
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
                        goes = (
                            (first[node] <= c and c < cut[node])
                            if offset[node] < 0
                            else bits[offset[node] + c]
                        )
                        node = left[node] if goes else right[node]
                    for k in range(begin[node - root], stop[node - root]):
                        leaves[pool[k], n - low_row] = value[node]
            for u in range(n_values):
                own, before = classes[u], n_classes if u % ANCHOR == 0 else classes[u - 1]
                if own != before:
                    for n in range(low_row, high_row):
                        result[u, n] += leaves[own, n - low_row] - leaves[before, n - low_row]


def build_masks(nodes: Any, begins: Any, masks: Any, values: Any, asks: Any) -> None:
    """Write for every tree and cell the leaves whose conditions the cell meets, and the leaves' values by number."""
    # ``begins`` (d + 1,): where the cells of each column begin; ``masks`` (trees, cells); ``values`` (trees, 64);
    # ``asks`` (trees, d): whether the tree splits on the column.
    feature, first, cut, offset, bits, left, right, value, starts = nodes
    for tree in range(len(starts) - 1):
        root, end = starts[tree], starts[tree + 1]
        below, count = np.zeros(end - root, np.uint64), 0
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
                goes = (
                    (first[node] <= c and c < cut[node])
                    if offset[node] < 0
                    else bits[offset[node] + c]
                )
                lost = below[right[node] - root] if goes else below[left[node] - root]
                masks[tree, begins[j] + c] &= ~lost


def add_masked(words: Any, cells: Any, donors: Any, replaced: Any, result: Any) -> None:
    """The same from the words that `build_masks` wrote; ``cells`` are (d, n) here and ``donors`` (d, U)."""
    # The leaves left by a value's columns S and those left by a row's other columns have one leaf in common.
    masks, values, asks, begins = words
    (n_columns, n_rows), n_values = cells.shape, donors.shape[1]
    everything, of_value, of_row = (
        ~np.uint64(0),
        np.empty(n_values, np.uint64),
        np.empty(CHUNK, np.uint64),
    )
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
                if u % ANCHOR == 0:
                    before[:size] = 0.0
                elif own == of_value[u - 1]:
                    continue
                for n in range(size):
                    now = values[tree, ((own & of_row[n]) * np.uint64(WORD)) >> np.uint64(58)]
                    result[u, low + n] += now - before[n]
                    before[n] = now


def shares(n_players: int) -> FloatArray:
    """``a! b! / (a + b + 1)!``: the share of one player that arrives between a given ones before and b after."""
    counts = range(n_players + 1)
    return np.array(
        [[factorial(a) * factorial(b) / factorial(a + b + 1) for b in counts] for a in counts]
    )


def add_pairs(
    nodes: Any,
    cells: Any,
    player: Any,
    place: Any,
    shares: Any,
    low_row: int,
    high_row: int,
    result: Any,
) -> None:
    """Add ``Phi_i[n, m]`` of all trees for rows n from ``low_row`` to ``high_row`` and all m > n, and its mirror."""
    # A leaf that the hybrid with the players A from n and B from m reaches, and no smaller change of it, gives
    # ``(a - 1)! b! / (a + b)!`` of its value to each of A and takes ``a! (b - 1)! / (a + b)!`` from each of B.
    # ``player`` (d,) of each column; ``place`` (players,): line of the result (sets, n, n), -1: not asked for;
    # ``shares[a, b] = a! b! / (a + b + 1)!``.
    feature, first, cut, offset, bits, left, right, value, starts = nodes
    n_rows, n_players = cells.shape[0], len(place)
    side = np.zeros(n_players, np.int8)  # 0 open, 1 from n, 2 from m
    decided, total, turns = (
        np.zeros(n_players, np.int64),
        np.zeros(n_players),
        np.zeros(n_players + 1, np.int64),
    )
    depths, parting = np.zeros(n_players + 1, np.int64), np.zeros(n_players + 1, np.int64)
    for n in range(low_row, high_row):
        for m in range(n + 1, n_rows):
            total[:] = 0.0
            for tree in range(len(starts) - 1):
                node, count, from_n, waiting = starts[tree], 0, 0, 0
                while True:
                    while feature[node] >= 0:
                        j = feature[node]
                        c, d = cells[n, j], cells[m, j]
                        if offset[node] < 0:
                            own, other = (
                                first[node] <= c and c < cut[node],
                                first[node] <= d and d < cut[node],
                            )
                        else:
                            own, other = bits[offset[node] + c] != 0, bits[offset[node] + d] != 0
                        i = player[j]
                        if (
                            own != other and side[i] == 0
                        ):  # the player's first parting: the way of m waits
                            turns[waiting] = left[node] if other else right[node]
                            depths[waiting], parting[waiting] = count, i
                            waiting += 1
                            side[i], decided[count] = 1, i
                            count += 1
                            from_n += 1
                        goes = other if side[i] == 2 else own
                        node = left[node] if goes else right[node]
                    from_m = count - from_n
                    gain = value[node] * shares[from_n - 1, from_m] if from_n > 0 else 0.0
                    loss = value[node] * shares[from_n, from_m - 1] if from_m > 0 else 0.0
                    for k in range(count):
                        i = decided[k]
                        total[i] += gain if side[i] == 1 else -loss
                    depth = depths[waiting - 1] if waiting > 0 else 0
                    while count > depth:  # back to where the waiting way branched off
                        count -= 1
                        if side[decided[count]] == 1:
                            from_n -= 1
                        side[decided[count]] = 0
                    if waiting == 0:
                        break
                    waiting -= 1
                    side[parting[waiting]], decided[count] = 2, parting[waiting]
                    count += 1
                    node = turns[waiting]
            for i in range(n_players):
                if place[i] >= 0:
                    result[place[i], n, m] += total[i]
                    result[place[i], m, n] -= total[i]
