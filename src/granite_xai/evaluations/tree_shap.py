"""Pairwise Shapley values ``Phi_i[n, m]`` of a sum of trees: of row n against row m alone.

A leaf with value v that needs the players A from row n and the players B from row m, a and b of them, where every
player of its path is met by n or by m, gives ``v (a - 1)! b! / (a + b)!`` to each of A and takes
``v a! (b - 1)! / (a + b)!`` from each of B. Two ways to the same sums: leaf by leaf in NumPy, or one compiled walk
for each pair of rows where the extra ``fast`` is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import beta

from granite_xai.base.limits import slices
from granite_xai.base.parallel import in_threads, resolve_jobs
from granite_xai.base.typing import FloatArray, IntArray, Players
from granite_xai.evaluations.forest import ForestOnTable, compiled, unpacked

EXPLAINED_ROWS = (
    16  # explained rows of one block of the compiled walk, whatever the number of threads
)


def shapley_weights(n_players: int) -> FloatArray:
    """``a! b! / (a + b + 1)!`` for a, b up to a number of players.

    It is the share of the orders in which a player arrives after a certain a others and before a certain b.
    """
    arrived = np.arange(n_players + 1)
    return np.asarray(beta(arrived[:, None] + 1, arrived + 1))


def attributions_by_leaf(
    trees: ForestOnTable, players: Players, chosen: Sequence[int], out: FloatArray, block: int
) -> None:
    """The attributions leaf by leaf.

    Parameters
    ----------
    trees : ForestOnTable
    players : sequence of coalitions
        Sets of columns that are attributed to together.
    chosen : sequence of int
        Numbers of the players whose attributions are written.
    out : array of shape (chosen, n, n)
        Where they are written: of row n against row m.
    block : int
        Bytes of what is made on the way.
    """
    n_rows, n_columns = trees.cells.shape
    line_of = {player: line for line, player in enumerate(chosen)}
    packed = []  # of each player, which leaves' conditions on its columns each row meets
    for columns in players:
        is_free = ~np.isin(np.arange(n_columns), sorted(columns))
        packed.append(trees.leaves_of_rows(is_free, slice(0, n_rows), block))
    weights = shapley_weights(len(players))
    out[...] = 0.0
    for leaf, value in enumerate(trees.forest.value[trees.forest.leaves]):
        met = [unpacked(of_player[leaf], n_rows) for of_player in packed]
        path = [player for player in range(len(players)) if not met[player].all()]
        if line_of.keys().isdisjoint(path):
            continue
        # Rows that meet the same players of the path are treated alike: they have one pattern.
        path_met = np.stack([met[player] for player in path])
        patterns, pattern_of_row = np.unique(path_met, axis=1, return_inverse=True)
        pattern_of_row = pattern_of_row.reshape(-1)
        met_by_n = patterns[:, :, None]  # (path, patterns of n, 1)
        met_by_m = patterns[:, None, :]  # (path, 1, patterns of m)
        only_n = met_by_n & ~met_by_m  # whether a player is in A
        only_m = met_by_m & ~met_by_n  # or in B
        a = np.sum(only_n, axis=0)
        b = np.sum(only_m, axis=0)
        is_reached = np.all(met_by_n | met_by_m, axis=0)
        leaf_value = is_reached * value
        gain = leaf_value * weights[a - 1, b]  # v (a - 1)! b! / (a + b)!
        loss = leaf_value * weights[a, b - 1]  # v a! (b - 1)! / (a + b)!
        for place, player in enumerate(path):
            if player not in line_of:
                continue
            change = gain * only_n[place] - loss * only_m[place]
            for part in slices(n_rows, 8 * n_rows, block):
                of_pairs = change[np.ix_(pattern_of_row[part], pattern_of_row)]
                out[line_of[player], part] += of_pairs


def compiled_attributions(
    trees: ForestOnTable,
    players: Players,
    chosen: Sequence[int],
    out: FloatArray,
    n_jobs: int | None = None,
) -> None:
    """The same attributions by the compiled walk, in blocks of rows; each pair is walked once.

    Parameters
    ----------
    trees, players, chosen, out
        As in `attributions_by_leaf`.
    n_jobs : int, optional
        Threads.
    """
    n_rows, n_columns = trees.cells.shape
    line_of_player: IntArray = np.full(len(players), -1, dtype=np.intp)
    line_of_player[list(chosen)] = np.arange(len(chosen))
    player_of_column: IntArray = np.zeros(n_columns, dtype=np.intp)
    for number, columns in enumerate(players):
        player_of_column[sorted(columns)] = number
    weights = shapley_weights(len(players))
    out[...] = 0.0

    def explain_rows(rows: slice) -> None:
        compiled(add_pairs)(
            trees.nodes,
            trees.cells,
            player_of_column,
            line_of_player,
            weights,
            rows.start,
            rows.stop,
            out,
        )

    in_threads(explain_rows, slices(n_rows, 1, EXPLAINED_ROWS), resolve_jobs(n_jobs))


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
        As `ForestOnTable.nodes`.
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
