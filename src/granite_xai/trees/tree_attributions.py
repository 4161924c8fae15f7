"""Pairwise Shapley values ``Phi_i[n, m]`` of a sum of trees.

A leaf with value v that needs the players A from row n and B from row m, a and b of them, where every player
of its path is met by n or by m, adds ``v (a - 1)! b! / (a + b)!`` to each of A and
``-v a! (b - 1)! / (a + b)!`` to each of B.
"""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray, Players
from granite_xai.compute import in_threads, resolve_jobs, slices
from granite_xai.compute.compiled import compiled
from granite_xai.trees.forest_cells import ForestCells
from granite_xai.trees.kernels import Wanted, add_pairs, shares
from granite_xai.trees.tree_sums import unpacked

EXPLAINED_ROWS = 16  # explained rows of one block, whatever the number of threads


def slow_pairs(
    cells: ForestCells, players: Players, wanted: Wanted, out: FloatArray, block: int
) -> None:
    """The attributions leaf by leaf.

    Parameters
    ----------
    cells : ForestCells
    players : sequence of coalitions
        Sets of columns that are attributed to together.
    wanted : sequence of int
        Numbers of the players whose attributions are written.
    out : array of shape (wanted, n, n)
    block : int
        Bytes of what is made on the way.
    """
    n_rows = len(cells.rows)
    columns = np.arange(cells.rows.shape[1])
    weights = shares(len(players))
    line_of = {player: line for line, player in enumerate(wanted)}
    packed = [
        cells.leaves_of_rows(~np.isin(columns, sorted(player)), slice(0, n_rows))
        for player in players
    ]
    out[...] = 0.0
    for leaf, value in enumerate(cells.forest.value[cells.forest.leaves]):
        met = [unpacked(of_player[leaf], n_rows) for of_player in packed]
        path = [player for player in range(len(players)) if not met[player].all()]
        if not any(player in line_of for player in path):
            continue
        # Rows that meet the same players of the path are treated alike.
        path_met = np.stack([met[player] for player in path])
        patterns, codes = np.unique(path_met, axis=1, return_inverse=True)
        codes = codes.reshape(-1)
        by_n = patterns[:, :, None]  # (path, patterns of n, 1)
        by_m = patterns[:, None, :]
        only_n = by_n & ~by_m
        only_m = by_m & ~by_n
        a = np.sum(only_n, axis=0)
        b = np.sum(only_m, axis=0)
        leaf_value = np.all(by_n | by_m, axis=0) * value
        gain = leaf_value * weights[a - 1, b]
        loss = leaf_value * weights[a, b - 1]
        for place, player in enumerate(path):
            if player not in line_of:
                continue
            change = gain * only_n[place] - loss * only_m[place]
            for part in slices(n_rows, 8 * n_rows, block):
                out[line_of[player], part] += change[np.ix_(codes[part], codes)]


def fast_pairs(
    cells: ForestCells, players: Players, wanted: Wanted, out: FloatArray, n_jobs: int | None = None
) -> None:
    """The same attributions by the compiled walk, in blocks of rows; each pair is walked once."""
    n_rows, n_columns = cells.rows.shape
    walk = compiled(add_pairs)
    line_of_player: IntArray = np.full(len(players), -1, dtype=np.intp)
    line_of_player[list(wanted)] = np.arange(len(wanted))
    player_of_column: IntArray = np.zeros(n_columns, dtype=np.intp)
    for number, columns in enumerate(players):
        player_of_column[sorted(columns)] = number
    weights = shares(len(players))
    out[...] = 0.0

    def explain_rows(start: int) -> None:
        end = min(start + EXPLAINED_ROWS, n_rows)
        walk(cells.nodes, cells.rows, player_of_column, line_of_player, weights, start, end, out)

    in_threads(explain_rows, range(0, n_rows, EXPLAINED_ROWS), resolve_jobs(n_jobs))
