"""The loops over trees that are compiled where the extra ``fast`` is installed."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray

ANCHOR = 256  # values after which the running sum starts afresh, so that its rounding stays bounded
CHUNK = 1024  # rows whose leaves of one tree are kept at a time
MOST_LEAVES = 64  # leaves of a tree that fit a machine word
# De Bruijn's word: a power of two times it begins with six bits that no other power gives, the place of a leaf.
DE_BRUIJN = 0x03F79D71B4CB0A89
LEADING_SIX = 58  # bits behind the first six of a word


def add_trees(nodes: Any, cells: Any, donors: Any, replaced: Any, result: Any) -> None:
    """Add how ``E_S`` of every tree changes from value to value, afresh at every anchor.

    For every tree, in four steps: (1) the splits on S put the U values into few classes; (2) each node gets the
    list of classes that may reach it; (3) a row's walk finds the leaf of each class; (4) the sums change only
    between neighbouring values of different class.

    Parameters
    ----------
    nodes : tuple of arrays
        As `ForestCells.nodes` gives them: feature (-1: a leaf), first, cut, offset, bits, left, right, value,
        starts. A cell goes left if ``first <= cell < cut``, or by ``bits[offset + cell]`` where the offset is
        not negative. A tree starts with its root.
    cells : array of shape (n, d)
        The rows.
    donors : array of shape (U, d)
        The rows that carry the values.
    replaced : array of shape (d,)
        Whether a column is in S.
    result : array of shape (U, n)
        Where the changes are added.
    """
    feature, first, cut, offset, bits, left, right, value, starts = nodes
    n_rows = cells.shape[0]
    n_values = donors.shape[0]
    most_nodes = 0
    for tree in range(len(starts) - 1):
        most_nodes = max(most_nodes, starts[tree + 1] - starts[tree])
    # Loops instead of whole-array operations here, and arrays made once: they halve the time of compilation.
    class_of_value = np.empty(n_values, np.int64)
    value_of_class = np.empty(n_values, np.int64)  # the first value of each class
    new_number = np.empty(2 * n_values, np.int64)  # of each half of a class
    # The classes of all nodes stand in one array, the pool: those of a node from its begin to its stop.
    begin = np.empty(most_nodes, np.int64)
    stop = np.empty(most_nodes, np.int64)
    waiting = np.empty(most_nodes + 1, np.int64)  # nodes where the walk goes on later
    pool = np.empty(n_values, np.int64)
    for tree in range(len(starts) - 1):
        root = starts[tree]
        end = starts[tree + 1]

        # 1. Classes of values that no split of this tree on S tells apart: each split halves the classes so far.
        for u in range(n_values):
            class_of_value[u] = 0
        n_classes = 1
        for node in range(root, end):
            j = feature[node]
            if j < 0 or not replaced[j]:
                continue
            for half in range(2 * n_classes):
                new_number[half] = -1
            n_new = 0
            for u in range(n_values):
                cell = donors[u, j]
                if offset[node] < 0:
                    goes_left = first[node] <= cell and cell < cut[node]
                else:
                    goes_left = bits[offset[node] + cell]
                half = 2 * class_of_value[u] + (1 if goes_left else 0)
                if new_number[half] < 0:
                    new_number[half] = n_new
                    n_new += 1
                class_of_value[u] = new_number[half]
            n_classes = n_new
        for u in range(n_values - 1, -1, -1):
            value_of_class[class_of_value[u]] = u

        # 2. The classes that may reach each node, whatever the row: a split on S divides those of its
        #    node between the children, any other passes them on to both.
        for number in range(n_classes):
            pool[number] = number
        used = n_classes
        begin[0] = 0
        stop[0] = n_classes
        for node in range(root, end):
            j = feature[node]
            if j < 0:
                continue
            parent = node - root
            low = left[node] - root
            high = right[node] - root
            if not replaced[j]:
                begin[low] = begin[parent]
                stop[low] = stop[parent]
                begin[high] = begin[parent]
                stop[high] = stop[parent]
                continue
            size = stop[parent] - begin[parent]
            if used + size > len(pool):
                larger = np.empty(2 * len(pool) + size, np.int64)
                for k in range(used):
                    larger[k] = pool[k]
                pool = larger
            # Classes that go left are written from the front, the others from the back.
            front = used
            back = used + size
            for k in range(begin[parent], stop[parent]):
                cell = donors[value_of_class[pool[k]], j]
                if offset[node] < 0:
                    goes_left = first[node] <= cell and cell < cut[node]
                else:
                    goes_left = bits[offset[node] + cell]
                if goes_left:
                    pool[front] = pool[k]
                    front += 1
                else:
                    back -= 1
                    pool[back] = pool[k]
            begin[low] = used
            stop[low] = front
            begin[high] = front
            stop[high] = used + size
            used += size

        # 3. The leaf of every row and class, some rows at a time. The last class is nothing, before an anchor.
        leaf_values = np.zeros((n_classes + 1, min(CHUNK, n_rows)))
        for first_row in range(0, n_rows, CHUNK):
            last_row = min(first_row + CHUNK, n_rows)
            for n in range(first_row, last_row):
                waiting[0] = root
                n_waiting = 1
                while n_waiting > 0:
                    n_waiting -= 1
                    node = waiting[n_waiting]
                    while feature[node] >= 0:
                        j = feature[node]
                        if replaced[j]:
                            # Both ways, unless no class takes one of them.
                            low = left[node]
                            high = right[node]
                            if begin[low - root] == stop[low - root]:
                                node = high
                            elif begin[high - root] == stop[high - root]:
                                node = low
                            else:
                                waiting[n_waiting] = high
                                n_waiting += 1
                                node = low
                            continue
                        cell = cells[n, j]
                        if offset[node] < 0:
                            goes_left = first[node] <= cell and cell < cut[node]
                        else:
                            goes_left = bits[offset[node] + cell]
                        node = left[node] if goes_left else right[node]
                    for k in range(begin[node - root], stop[node - root]):
                        leaf_values[pool[k], n - first_row] = value[node]

            # 4. The differences between neighbouring values.
            for u in range(n_values):
                this_class = class_of_value[u]
                last_class = n_classes if u % ANCHOR == 0 else class_of_value[u - 1]
                if this_class != last_class:
                    for n in range(first_row, last_row):
                        k = n - first_row
                        result[u, n] += leaf_values[this_class, k] - leaf_values[last_class, k]


def build_masks(nodes: Any, begins: Any, masks: Any, values: Any, asks: Any) -> None:
    """Write for every tree and cell the leaves whose conditions the cell meets, as the bits of a word.

    Parameters
    ----------
    nodes : tuple of arrays
        As in `add_trees`; no tree has more than `MOST_LEAVES` leaves.
    begins : array of shape (d + 1,)
        Where the cells of each column begin.
    masks : array of shape (trees, cells)
        Written: the leaves that a cell leaves possible.
    values : array of shape (trees, 64)
        Written: the values of the leaves, each at the place that `DE_BRUIJN` gives its bit.
    asks : array of shape (trees, d)
        Written: whether the tree splits on the column.
    """
    feature, first, cut, offset, bits, left, right, value, starts = nodes
    for tree in range(len(starts) - 1):
        root = starts[tree]
        end = starts[tree + 1]
        # The leaves below each node; children come after their parents, so backwards.
        below = np.zeros(end - root, np.uint64)
        n_leaves = 0
        for node in range(end - 1, root - 1, -1):
            if feature[node] < 0:
                bit = np.uint64(1) << np.uint64(n_leaves)
                below[node - root] = bit
                values[tree, (bit * np.uint64(DE_BRUIJN)) >> np.uint64(LEADING_SIX)] = value[node]
                n_leaves += 1
            else:
                below[node - root] = below[left[node] - root] | below[right[node] - root]
        masks[tree, :] = below[0]
        asks[tree, 0] = feature[root] < 0  # a single leaf asks no column, but has to be found
        # Each node takes from every cell of its column the leaves on the side that the cell does not go.
        for node in range(root, end):
            j = feature[node]
            if j < 0:
                continue
            asks[tree, j] = True
            for cell in range(begins[j + 1] - begins[j]):
                if offset[node] < 0:
                    goes_left = first[node] <= cell and cell < cut[node]
                else:
                    goes_left = bits[offset[node] + cell]
                lost = below[right[node] - root] if goes_left else below[left[node] - root]
                masks[tree, begins[j] + cell] &= ~lost


def add_masked(words: Any, cells: Any, donors: Any, replaced: Any, result: Any) -> None:
    """Add what `add_trees` adds, from the words that `build_masks` wrote.

    The leaves left by a value's columns S and those left by a row's other columns have one leaf in common.

    Parameters
    ----------
    words : tuple of arrays
        As `LeafMasks` holds them.
    cells : array of shape (d, n)
    donors : array of shape (d, U)
    replaced : array of shape (d,)
    result : array of shape (U, n)
    """
    masks, values, asks, begins = words
    n_columns, n_rows = cells.shape
    n_values = donors.shape[1]
    every_leaf = ~np.uint64(0)
    of_value = np.empty(n_values, np.uint64)
    of_row = np.empty(CHUNK, np.uint64)
    last_value = np.empty(CHUNK)  # that the leaf of each row had for the value before
    for low in range(0, n_rows, CHUNK):
        size = min(CHUNK, n_rows - low)
        for tree in range(len(masks)):
            # The leaves that each value leaves possible by its columns S, and each row by the others.
            of_value[:] = every_leaf
            of_row[:] = every_leaf
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
            # The one leaf in common, where it may differ from that of the value before.
            for u in range(n_values):
                possible = of_value[u]
                if u % ANCHOR == 0:
                    last_value[:size] = 0.0
                elif possible == of_value[u - 1]:
                    continue
                for n in range(size):
                    leaf = ((possible & of_row[n]) * np.uint64(DE_BRUIJN)) >> np.uint64(LEADING_SIX)
                    leaf_value = values[tree, leaf]
                    result[u, low + n] += leaf_value - last_value[n]
                    last_value[n] = leaf_value


def shapley_weights(n_players: int) -> FloatArray:
    """``a! b! / (a + b + 1)!`` for a, b up to a number of players.

    It is the share of the orders in which a player arrives after a certain a others and before a certain b.
    """
    table = np.empty((n_players + 1, n_players + 1))
    for a in range(n_players + 1):
        for b in range(n_players + 1):
            table[a, b] = factorial(a) * factorial(b) / factorial(a + b + 1)
    return table


def add_pairs(
    nodes: Any,
    cells: Any,
    player_of_column: Any,
    line_of_player: Any,
    weights: Any,
    low_row: int,
    high_row: int,
    result: Any,
) -> None:
    """Add ``Phi_i[n, m]`` of all trees for rows n from ``low_row`` to ``high_row`` and all m > n, and its mirror.

    A leaf needs the a players A from n and the b players B from m, if a hybrid reaches it exactly when A come from n
    and B from m, wherever the others come from. It gives ``(a - 1)! b! / (a + b)!`` of its value to each of A and
    takes ``a! (b - 1)! / (a + b)!`` from each of B.
    The walk goes down the tree with n and m together; where they part by a player that is not decided yet, it
    first takes the way of n, and later that of m.

    Parameters
    ----------
    nodes : tuple of arrays
        As in `add_trees`.
    cells : array of shape (n, d)
    player_of_column : array of shape (d,)
    line_of_player : array of shape (players,)
        Line of the result; -1: not asked for.
    weights : array
        ``weights[a, b] = a! b! / (a + b + 1)!``, as `shapley_weights` gives them.
    low_row, high_row : int
    result : array of shape (lines, n, n)
    """
    feature, first, cut, offset, bits, left, right, value, starts = nodes
    n_rows = cells.shape[0]
    n_players = len(line_of_player)
    side = np.zeros(n_players, np.int8)  # 0 open, 1 from n, 2 from m
    decided = np.zeros(n_players, np.int64)  # players with a side, in the order of their decisions
    total = np.zeros(n_players)
    # Ways of m that wait: the node, how many were decided before, and the player that parts there.
    waiting_node = np.zeros(n_players + 1, np.int64)
    waiting_depth = np.zeros(n_players + 1, np.int64)
    waiting_player = np.zeros(n_players + 1, np.int64)
    for n in range(low_row, high_row):
        for m in range(n + 1, n_rows):
            total[:] = 0.0
            for tree in range(len(starts) - 1):
                node = starts[tree]
                n_decided = 0
                from_n = 0
                n_waiting = 0
                while True:
                    # 1. Down to a leaf.
                    while feature[node] >= 0:
                        j = feature[node]
                        cell_n = cells[n, j]
                        cell_m = cells[m, j]
                        if offset[node] < 0:
                            n_left = first[node] <= cell_n and cell_n < cut[node]
                            m_left = first[node] <= cell_m and cell_m < cut[node]
                        else:
                            n_left = bits[offset[node] + cell_n] != 0
                            m_left = bits[offset[node] + cell_m] != 0
                        i = player_of_column[j]
                        if n_left != m_left and side[i] == 0:  # the player's first parting
                            waiting_node[n_waiting] = left[node] if m_left else right[node]
                            waiting_depth[n_waiting] = n_decided
                            waiting_player[n_waiting] = i
                            n_waiting += 1
                            side[i] = 1
                            decided[n_decided] = i
                            n_decided += 1
                            from_n += 1
                        goes_left = m_left if side[i] == 2 else n_left
                        node = left[node] if goes_left else right[node]
                    # 2. What the leaf gives to the players from n and takes from those from m.
                    from_m = n_decided - from_n
                    gain = value[node] * weights[from_n - 1, from_m] if from_n > 0 else 0.0
                    loss = value[node] * weights[from_n, from_m - 1] if from_m > 0 else 0.0
                    for k in range(n_decided):
                        i = decided[k]
                        total[i] += gain if side[i] == 1 else -loss
                    # 3. Back to where the last waiting way branched off; decisions since then are open again.
                    depth = waiting_depth[n_waiting - 1] if n_waiting > 0 else 0
                    while n_decided > depth:
                        n_decided -= 1
                        if side[decided[n_decided]] == 1:
                            from_n -= 1
                        side[decided[n_decided]] = 0
                    if n_waiting == 0:
                        break
                    n_waiting -= 1
                    side[waiting_player[n_waiting]] = 2
                    decided[n_decided] = waiting_player[n_waiting]
                    n_decided += 1
                    node = waiting_node[n_waiting]
            for i in range(n_players):
                line = line_of_player[i]
                if line >= 0:
                    result[line, n, m] += total[i]
                    result[line, m, n] -= total[i]
