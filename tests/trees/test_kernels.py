"""The loops, as plain Python: what is compiled is what is tested."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

from granite_xai.trees import kernels
from granite_xai.trees.forest_cells import ForestCells
from granite_xai.trees.kernels import add_masked, add_pairs, add_trees, build_masks, shapley_weights
from trees.hand_made import FOREST, MATRIX, hybrid_sums

CELLS = ForestCells(FOREST, MATRIX)
DONORS = np.array([0, 2, 4, 6, 3])
BASE = FOREST.base
pytestmark = pytest.mark.filterwarnings(
    "ignore:overflow encountered"
)  # numbers of words wrap around


def run_up(changes, anchor):
    """From changes to sums, afresh at every anchor."""
    sums = changes.copy()
    for line in range(1, len(sums)):
        if line % anchor:
            sums[line] += sums[line - 1]
    return sums


@pytest.fixture(params=[256, 2])
def anchor(request, monkeypatch):
    monkeypatch.setattr(kernels, "ANCHOR", request.param)
    return request.param


@pytest.fixture(params=[1024, 3])
def _chunk(request, monkeypatch):
    """Rows that are worked on at a time."""
    monkeypatch.setattr(kernels, "CHUNK", request.param)


@pytest.mark.usefixtures("_chunk")
@pytest.mark.parametrize("chosen", [[], [0], [2], [0, 1], [0, 1, 2]])
def test_walking_adds_the_changes_from_value_to_value(chosen, anchor):
    columns = np.isin(np.arange(3), chosen)
    changes = np.zeros((len(DONORS), len(MATRIX)))
    add_trees(CELLS.nodes, CELLS.rows, CELLS.rows[DONORS], columns, changes)
    found = run_up(changes, anchor) + BASE
    np.testing.assert_allclose(found, hybrid_sums(columns, DONORS), rtol=1e-14)


@pytest.mark.usefixtures("_chunk")
@pytest.mark.parametrize("chosen", [[], [0], [2], [0, 1], [0, 1, 2]])
def test_words_of_leaves_give_the_same(chosen, anchor):
    columns = np.isin(np.arange(3), chosen)
    counts = CELLS.rows.max(axis=0) + 1
    begins = np.concatenate([[0], np.cumsum(counts)])
    masks = np.zeros((2, int(begins[-1])), dtype=np.uint64)
    values = np.zeros((2, kernels.MOST_LEAVES))
    asks = np.zeros((2, 3), dtype=bool)
    build_masks(CELLS.nodes, begins, masks, values, asks)
    assert asks[0].all()
    assert asks[1].tolist() == [True, False, False]  # a single leaf, to be found somewhere
    changes = np.zeros((len(DONORS), len(MATRIX)))
    words = (masks, values, asks, begins)
    add_masked(words, CELLS.rows.T, CELLS.rows[DONORS].T, columns, changes)
    found = run_up(changes, anchor) + BASE
    np.testing.assert_allclose(found, hybrid_sums(columns, DONORS), rtol=1e-14)


def test_weights_are_those_of_random_orders():
    table = shapley_weights(3)
    assert table.shape == (4, 4)
    assert table[1, 2] == pytest.approx(factorial(1) * factorial(2) / factorial(4))
    assert table[0, 0] == 1.0


def test_pairs_are_the_shapley_values_of_one_row_against_another():
    """Two players, {x0, x1} and {x2}: half the sum of what each adds first and last."""
    player = np.array([0, 0, 1])
    n_rows = len(MATRIX)
    found = np.zeros((2, n_rows, n_rows))
    line_of_player = np.array([1, 0])
    add_pairs(CELLS.nodes, CELLS.rows, player, line_of_player, shapley_weights(2), 0, n_rows, found)
    rows = np.arange(n_rows)
    first = hybrid_sums(player == 0, rows)  # [n, m]: x0 and x1 of n, x2 of m
    own = np.diag(first)
    expected = ((first - own[None, :]) + (own[:, None] - first.T)) / 2
    np.testing.assert_allclose(found[1], expected, atol=1e-13)
    np.testing.assert_allclose(found[0] + found[1], own[:, None] - own[None, :], atol=1e-13)
