"""E_S of trees of any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.ensembles import read_ensemble
from granite_xai.trees.forest_cells import ForestCells
from granite_xai.trees.tree_sums import compiled_sums, sparse_sums
from trees.hand_made import FOREST, MATRIX, hybrid_sums
from trees.tree_models import RNG

pytest.importorskip("numba")

WAYS = {"products": sparse_sums, "compiled": compiled_sums}
SETS = [[], [0], [1], [2], [0, 2], [0, 1, 2]]


@pytest.mark.parametrize("block", [1, 10**6])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("chosen", SETS)
def test_sums_are_those_of_every_recombined_row(way, chosen, block):
    """By thresholds, strict ones, categories and missing values, against the walk by hand."""
    columns = np.isin(np.arange(3), chosen)
    donors = np.arange(len(MATRIX))
    found = np.empty((len(donors), len(MATRIX)))
    WAYS[way](ForestCells(FOREST, MATRIX), columns, donors, found, block)
    np.testing.assert_allclose(found, hybrid_sums(columns, donors), rtol=1e-14)


def test_a_forest_without_trees_is_its_base():
    empty = replace(
        FOREST,
        **{
            name: getattr(FOREST, name)[:0]
            for name in ("feature", "threshold", "strict", "default_left", "left", "right")
        },
        value=np.zeros(0),
        list_right=np.zeros(0, dtype=bool),
        categories={},
        starts=np.zeros(1, dtype=np.intp),
    )
    cells = ForestCells(empty, MATRIX)
    found = np.empty((1, len(MATRIX)))
    sparse_sums(cells, np.zeros(3, dtype=bool), np.zeros(1, dtype=np.intp), found, 10**6)
    assert np.all(found == 0.5)
    assert np.all(cells.sums(10**6) == 0.5)


@pytest.mark.parametrize("fast", [False, True])
def test_M28_trees_of_forty_thousand_nodes_and_of_depth_ninety(fast):
    """More nodes than 16 bits can count, and a chain deeper than 64 levels."""
    wide = RNG.normal(size=(20_000, 1))
    many = DecisionTreeRegressor(random_state=0).fit(wide, RNG.normal(size=20_000))
    chain = np.arange(100.0)[:, None]
    deep = DecisionTreeRegressor(random_state=0).fit(chain, 8.0 ** np.arange(100))
    assert many.tree_.node_count > 2**15
    assert deep.tree_.max_depth > 64
    for model, rows in ((many, wide[:40]), (deep, chain[::3])):
        table = read_table(rows, missing="error")
        trees = read_ensemble(as_predictor(model)).on(table)
        found = trees.matrix_of(frozenset({0}), np.arange(len(rows)), fast=fast)
        np.testing.assert_allclose(
            found, np.repeat(model.predict(rows)[:, None], len(rows), axis=1), rtol=1e-12
        )


def test_M28_many_values_and_large_trees_keep_their_digits():
    """More values than one anchor of the running sums, more leaves than one word, rows in several chunks."""
    data = RNG.normal(size=(1100, 2))
    model = RandomForestRegressor(3, random_state=0).fit(data, np.exp(data[:, 0]) * data[:, 1])
    predictor = as_predictor(model)
    table = read_table(data, missing="error")
    trees = read_ensemble(predictor).on(table)
    assert trees.cells[0].masks is None
    donors = np.arange(0, 1100, 2)
    product = trees.matrix_of(frozenset({0}), donors, fast=False)
    walked = trees.matrix_of(frozenset({0}), donors, fast=True, n_jobs=2)
    np.testing.assert_allclose(walked, product, rtol=1e-12, atol=1e-12)
    pairs = RNG.integers(0, [len(donors), 1100], size=(200, 2))
    rows = np.stack([data[donors[pairs[:, 0]], 0], data[pairs[:, 1], 1]], axis=1)
    np.testing.assert_allclose(product[pairs[:, 0], pairs[:, 1]], model.predict(rows), rtol=1e-12)
