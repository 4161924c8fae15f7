"""Pairwise Shapley values ``Phi_i[n, m]`` of a sum of trees.

A leaf with value v that needs the players A from row n and B from row m, a and b of them, where every player
of its path is met by n or by m, adds ``v (a - 1)! b! / (a + b)!`` to each of A and
``-v a! (b - 1)! / (a + b)!`` to each of B.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import FloatArray, IntArray, Players
from granite_xai.compute import in_threads, resolve_jobs, slices
from granite_xai.compute.compiled import compiled
from granite_xai.trees.forest_cells import ForestCells
from granite_xai.trees.kernels import add_pairs, shapley_weights
from granite_xai.trees.tree_sums import unpacked

EXPLAINED_ROWS = 16  # explained rows of one block, whatever the number of threads


def attributions_by_leaf(
    cells: ForestCells, players: Players, chosen: Sequence[int], out: FloatArray, block: int
) -> None:
    """The attributions leaf by leaf.

    Parameters
    ----------
    cells : ForestCells
    players : sequence of coalitions
        Sets of columns that are attributed to together.
    chosen : sequence of int
        Numbers of the players whose attributions are written.
    out : array of shape (chosen, n, n)
        Where they are written: of row n against row m.
    block : int
        Bytes of what is made on the way.
    """
    n_rows = len(cells.rows)
    line_of = {player: line for line, player in enumerate(chosen)}
    packed = _conditions_met(cells, players)
    weights = shapley_weights(len(players))
    out[...] = 0.0
    for leaf, value in enumerate(cells.forest.value[cells.forest.leaves]):
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


def _conditions_met(cells: ForestCells, players: Players) -> list[NDArray[np.uint8]]:
    """For each player, whether its columns of each row meet the conditions of each leaf; eight rows to a byte."""
    n_rows, n_columns = cells.rows.shape
    packed = []
    for player in players:
        is_free = ~np.isin(np.arange(n_columns), sorted(player))
        packed.append(cells.leaves_of_rows(is_free, slice(0, n_rows)))
    return packed


def compiled_attributions(
    cells: ForestCells,
    players: Players,
    chosen: Sequence[int],
    out: FloatArray,
    n_jobs: int | None = None,
) -> None:
    """The same attributions by the compiled walk, in blocks of rows; each pair is walked once.

    Parameters
    ----------
    cells, players, chosen, out
        As in `attributions_by_leaf`.
    n_jobs : int, optional
        Threads.
    """
    n_rows, n_columns = cells.rows.shape
    walk = compiled(add_pairs)
    line_of_player: IntArray = np.full(len(players), -1, dtype=np.intp)
    line_of_player[list(chosen)] = np.arange(len(chosen))
    player_of_column: IntArray = np.zeros(n_columns, dtype=np.intp)
    for number, columns in enumerate(players):
        player_of_column[sorted(columns)] = number
    weights = shapley_weights(len(players))
    out[...] = 0.0

    def explain_rows(start: int) -> None:
        end = min(start + EXPLAINED_ROWS, n_rows)
        walk(cells.nodes, cells.rows, player_of_column, line_of_player, weights, start, end, out)

    in_threads(explain_rows, range(0, n_rows, EXPLAINED_ROWS), resolve_jobs(n_jobs))
