"""The compiled pairwise attributions: every tree once for each pair of rows, both ways where the two part."""

from __future__ import annotations

from typing import Any

import numpy as np


def add_pairs(
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
    player: Any,
    place: Any,
    shares: Any,
    low_row: int,
    high_row: int,
    result: Any,
) -> None:
    """Add ``Phi_i[n, m]`` of all trees for the rows n from ``low_row`` to ``high_row`` and all m > n, and its mirror.

    A leaf that the hybrid with the players A from n and B from m reaches, and no smaller change of it, gives
    ``(a - 1)! b! / (a + b)!`` of its value to each of A and takes ``a! (b - 1)! / (a + b)!`` from each of B.

    Parameters
    ----------
    feature, ..., starts, cells
        As in `add_trees`.
    player : (d,) int
        The player of each column.
    place : (players,) int
        Line of the result; -1 where the player is not asked for.
    shares : (p + 1, p + 1) float
        ``shares[a, b] = a! b! / (a + b + 1)!``.
    result : (sets, n, n) float
    """
    n_rows = cells.shape[0]
    n_players = len(place)
    side = np.zeros(n_players, np.int8)  # 0 open, 1 from n, 2 from m
    decided = np.zeros(n_players, np.int64)
    total = np.zeros(n_players)
    nodes = np.zeros(n_players + 1, np.int64)
    depths = np.zeros(n_players + 1, np.int64)
    parting = np.zeros(n_players + 1, np.int64)
    for n in range(low_row, high_row):
        for m in range(n + 1, n_rows):
            total[:] = 0.0
            for tree in range(len(starts) - 1):
                node = starts[tree]
                count, from_n, waiting = 0, 0, 0
                while True:
                    while feature[node] >= 0:
                        j = feature[node]
                        c, d = cells[n, j], cells[m, j]
                        if offset[node] < 0:
                            own = first[node] <= c and c < cut[node]
                            other = first[node] <= d and d < cut[node]
                        else:
                            own, other = bits[offset[node] + c] != 0, bits[offset[node] + d] != 0
                        i = player[j]
                        if own != other and side[i] == 0:  # the player's first parting: the way of m waits
                            nodes[waiting] = left[node] if other else right[node]
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
                        if side[i] == 1:
                            total[i] += gain
                        else:
                            total[i] -= loss
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
                    node = nodes[waiting]
            for i in range(n_players):
                if place[i] >= 0:
                    result[place[i], n, m] += total[i]
                    result[place[i], m, n] -= total[i]
