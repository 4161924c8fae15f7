"""Trees answer as their models do on every recombined row, by each of the ways to the same sums."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from granite_xai.base.errors import ModelWarning
from granite_xai.evaluations import ensembles, forest as forest_module
from granite_xai.evaluations.ensembles import Reading, audit, read_parts
from granite_xai.evaluations.forest import ForestOnTable, compiled, walk_trees
from granite_xai.evaluations.tree_shap import add_pairs, attributions_by_leaf, shapley_weights
from granite_xai.evaluations.values import every_value
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from parts.asked import asked
from parts.hand_made_forest import FOREST, MATRIX, SUMS, hybrid_sums, walk
from parts.tree_models import MODELS, RNG, N, X
from strategies import paper

pytest.importorskip("treelite")
pytest.importorskip("numba")

WAYS = {
    "product": lambda trees, *call: trees.sparse_sums(*call, block=10**6),
    "product in small blocks": lambda trees, *call: trees.sparse_sums(*call, block=1),
    "walk": lambda trees, *call: trees.compiled_sums(*call),
}
SETS = [[], [0], [1], [2], [0, 2], [0, 1, 2]]
EMPTY = replace(
    FOREST,
    starts=np.zeros(1, dtype=np.intp),
    categories={},
    **{
        name: values[:0]
        for name, values in vars(FOREST).items()
        if isinstance(values, np.ndarray) and name != "starts"
    },
)


# -- a forest that is small enough to follow by hand


def test_the_forest_by_hand():
    np.testing.assert_array_equal([walk(row) for row in MATRIX], SUMS)
    assert FOREST.n_trees == 2
    assert FOREST.leaves.tolist() == [2, 3, 5, 6, 7]
    assert [sorted(level.tolist()) for level in FOREST.levels] == [[0], [1, 4]]
    assert FOREST.n_steps == 4
    assert FOREST.reach == 0.5 + 8.0 + 100.0  # the base, and the largest leaf of each tree


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("chosen", SETS)
def test_sums_are_those_of_every_recombined_row(way, chosen):
    """By thresholds, strict ones, categories and missing values, against the walk by hand."""
    columns = np.isin(np.arange(3), chosen)
    donors = np.arange(len(MATRIX))
    sums = np.empty((len(donors), len(MATRIX)))
    WAYS[way](ForestOnTable(FOREST, MATRIX), columns, donors, sums)
    np.testing.assert_allclose(sums, hybrid_sums(columns, donors), rtol=1e-14)


@pytest.mark.parametrize("anchor", [256, 2])
@pytest.mark.parametrize("chosen", SETS)
def test_the_walk_as_plain_python(chosen, anchor, monkeypatch):
    """What is compiled is what is tested; sums start afresh at every anchor."""
    monkeypatch.setattr(forest_module, "ANCHOR", anchor)
    columns = np.isin(np.arange(3), chosen)
    donors = np.array([0, 2, 4, 6, 3])
    trees = ForestOnTable(FOREST, MATRIX)
    changes = np.zeros((len(donors), len(MATRIX)))
    values_and_rows = np.concatenate([trees.cells[donors], trees.cells]).T
    walk_trees(trees.nodes, values_and_rows, columns, changes)
    for line in range(1, len(changes)):
        if line % anchor:
            changes[line] += changes[line - 1]
    np.testing.assert_allclose(changes + FOREST.base, hybrid_sums(columns, donors), rtol=1e-14)


@pytest.mark.parametrize("block", [1, 10**6])
def test_rows_walked_down_one_by_one_give_the_same_sums(block):
    np.testing.assert_array_equal(ForestOnTable(FOREST, MATRIX).sums(block), SUMS)


@pytest.mark.parametrize("way", WAYS)
def test_a_forest_without_trees_is_its_base(way):
    trees = ForestOnTable(EMPTY, MATRIX)
    sums = np.empty((1, len(MATRIX)))
    WAYS[way](trees, np.zeros(3, dtype=bool), np.zeros(1, dtype=np.intp), sums)
    assert np.all(sums == 0.5)
    assert np.all(trees.sums(10**6) == 0.5)


def test_pairs_are_the_shapley_values_of_one_row_against_another():
    """Two players, {x0, x1} and {x2}: half the sum of what each adds first and last."""
    player = np.array([0, 0, 1])
    n_rows = len(MATRIX)
    trees = ForestOnTable(FOREST, MATRIX)
    walked = np.zeros((2, n_rows, n_rows))
    line_of_player = np.array([1, 0])
    weights = shapley_weights(2)
    add_pairs(trees.nodes, trees.cells, player, line_of_player, weights, 0, n_rows, walked)
    rows = np.arange(n_rows)
    first = hybrid_sums(player == 0, rows)  # [n, m]: x0 and x1 of n, x2 of m
    predictions = np.diag(first)
    expected = ((first - predictions[None, :]) + (predictions[:, None] - first.T)) / 2
    np.testing.assert_allclose(walked[1], expected, atol=1e-13)
    differences = predictions[:, None] - predictions[None, :]
    np.testing.assert_allclose(walked[0] + walked[1], differences, atol=1e-13)
    by_leaf = np.empty_like(walked)
    attributions_by_leaf(trees, [frozenset({0, 1}), frozenset({2})], [1, 0], by_leaf, 1)
    np.testing.assert_allclose(by_leaf, walked, atol=1e-13)


# -- the models of every library


def _on_table(name):
    build, data, options = MODELS[name]
    predictor = as_predictor(build(), **options)
    table = read_table(data, missing="allow")
    return predictor, table, read_parts(predictor)


@pytest.mark.filterwarnings(
    "ignore:X does not have valid feature names", "ignore:The argument 'eval_set' is deprecated"
)
@pytest.mark.parametrize("name", MODELS)
def test_M23_M24_M25_M26_M29_trees_give_what_the_model_predicts_on_recombined_rows(name):
    """Every entry of E_S is the prediction of one recombined row; values of one cell are evaluated once."""
    predictor, table, ensemble = _on_table(name)
    audited = audit(predictor, table, ensemble)
    assert audited.difference <= audited.tolerance, audited
    assert audited.rows >= 64
    assert predictor.usage.rows == audited.rows
    reading = Reading(predictor, table)
    (trees,) = reading.decision.parts
    tolerance = 3e-6 if predictor.native_float32 else 1e-12
    by_model = predictor.on_rows(table)
    np.testing.assert_allclose(trees.predictions(), by_model, rtol=tolerance, atol=tolerance)
    for columns in map(frozenset, ({0}, {table.n_columns - 1}, {0, 1}, range(1, table.n_columns))):
        donors = every_value(table, columns).carriers
        expected = asked(predictor, table, columns, donors)
        product = trees.matrix(columns, donors).T
        walked = replace(trees, fast=True).matrix(columns, donors).T
        np.testing.assert_allclose(product, expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(walked, product, rtol=1e-12, atol=1e-13)
        for side in (columns, frozenset(range(table.n_columns)) - columns):
            joined = every_value(table, side, reading.model_cells)
            every = every_value(table, side)
            assert len(joined) <= len(every)
            for way in (trees, replace(trees, fast=True)):
                by_cell = way.matrix(side, joined.carriers)[:, joined.codes]
                by_value = way.matrix(side, every.carriers)[:, every.codes]
                assert np.array_equal(by_cell, by_value)


@pytest.mark.parametrize("name", ["forest", "boosting", "histogram", "xgboost", "lightgbm"])
def test_M27_rows_on_a_threshold_and_next_to_it_go_the_models_way(name):
    """Rows are placed on thresholds, one unit in the last place beside them, in double and in single precision."""
    predictor, _, ensemble = _on_table(name)
    (trees,) = ensemble.forests
    nodes = np.flatnonzero(trees.feature >= 0)[:150]
    rows = []
    for node in nodes:
        limit = trees.threshold[node]
        single = np.float32(limit)
        beside = [np.nextafter(limit, end) for end in (-np.inf, np.inf)]
        beside += [np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf)]
        for value in (limit, single, *beside):
            row = X[node % N].copy()
            row[trees.feature[node]] = value
            rows.append(row)
    data = np.array(rows)
    by_trees = ensemble.on(read_table(data, missing="allow")).predictions()
    tolerance = 1e-6 if name == "xgboost" else 1e-12
    np.testing.assert_allclose(by_trees, predictor(data), rtol=tolerance, atol=tolerance)


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
        trees = read_parts(as_predictor(model)).on(read_table(rows, missing="error"))
        matrix = replace(trees, fast=fast).matrix(frozenset({0}), np.arange(len(rows)))
        expected = np.repeat(model.predict(rows)[None], len(rows), axis=0)
        np.testing.assert_allclose(matrix, expected, rtol=1e-12)


def test_M28_many_values_and_large_trees_keep_their_digits():
    """More values than one anchor of the running sums, rows in several blocks, two threads."""
    data = RNG.normal(size=(2100, 2))
    model = RandomForestRegressor(3, random_state=0).fit(data, np.exp(data[:, 0]) * data[:, 1])
    trees = read_parts(as_predictor(model)).on(read_table(data, missing="error"))
    donors = np.arange(0, 2100, 4)
    product = trees.matrix(frozenset({0}), donors).T
    walked = replace(trees, fast=True, n_jobs=2).matrix(frozenset({0}), donors).T
    np.testing.assert_allclose(walked, product, rtol=1e-12, atol=1e-12)
    pairs = RNG.integers(0, [len(donors), 2100], size=(200, 2))
    rows = np.stack([data[donors[pairs[:, 0]], 0], data[pairs[:, 1], 1]], axis=1)
    np.testing.assert_allclose(product[pairs[:, 0], pairs[:, 1]], model.predict(rows), rtol=1e-12)


def _enumerated(predictor, table, players, member):
    """The definition: every coalition of players, every pair of rows."""
    n, p = table.n_rows, len(players)
    total = np.zeros((n, n))
    rows, references = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    others = [i for i in range(p) if i != member]
    for size in range(p):
        for chosen in combinations(others, size):
            weight = factorial(size) * factorial(p - size - 1) / factorial(p)
            for sign, visible in ((1, (*chosen, member)), (-1, chosen)):
                columns = sorted(c for i in visible for c in players[i])
                values = predictor.recombined(table, references, table, rows, columns)
                total += sign * weight * values.reshape(n, n)
    return total


@pytest.mark.parametrize("groups", [[{0}, {1}, {2}, {3}], [{0, 3}, {1}, {2}]])
@pytest.mark.parametrize(
    "name", ["tree", "histogram, codes", "forest, classes", "xgboost, raw", "boosting, raw"]
)
def test_attributions_of_pairs_equal_the_enumeration(name, groups):
    """Phi from the paths is the Shapley value of row n against the single reference m, for groups as well."""
    build, data, options = MODELS[name]
    predictor = as_predictor(build(), **options)
    table = read_table(data[:12], missing="allow")
    trees = read_parts(predictor).on(table)
    players = [frozenset(group) for group in groups]
    wanted = [2, 0]
    by_leaves = trees.attributions(players, wanted)
    walked = replace(trees, fast=True).attributions(players, wanted)
    np.testing.assert_allclose(walked, by_leaves, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(walked, -walked.transpose(0, 2, 1), atol=1e-15)
    tolerance = 1e-6 if "xgboost" in name else 1e-12
    for phi, member in zip(by_leaves, wanted, strict=True):
        expected = _enumerated(predictor, table, players, member)
        np.testing.assert_allclose(phi, expected, rtol=0, atol=tolerance)


# -- the audit: planted faults of a reader are caught, and the model is asked instead

AUDITED = np.random.default_rng(3).normal(size=(120, 4))
AUDITED[:, 3] = np.arange(120) % 6
TARGET = AUDITED[:, 0] * AUDITED[:, 1] + 2.0 * np.isin(AUDITED[:, 3], (1, 4)) * AUDITED[:, 2]
AUDITED_HOLES = np.where(np.random.default_rng(4).random(AUDITED.shape) < 0.1, np.nan, AUDITED)
HISTOGRAM = HistGradientBoostingRegressor(max_iter=15, min_samples_leaf=5, random_state=0)
STOPPED = GradientBoostingRegressor(n_estimators=99, n_iter_no_change=2, random_state=0)


def _one_tree_more(forest):
    start, stop = forest.starts[-2:]
    tree, shift = slice(start, stop), stop - start
    changes = {
        name: np.concatenate([getattr(forest, name), getattr(forest, name)[tree]])
        for name in ("feature", "threshold", "strict", "default_left", "value", "list_right")
    }
    for name in ("left", "right"):
        children = getattr(forest, name)
        changes[name] = np.concatenate([children, children[tree] + shift])
    return changes | {"starts": np.append(forest.starts, stop + shift)}


FAULTS = {
    "missing values go left": (
        lambda forest: {"default_left": np.ones_like(forest.default_left)},
        HISTOGRAM,
        AUDITED_HOLES,
    ),
    "early stopping is ignored": (_one_tree_more, STOPPED, AUDITED),
    "thresholds are narrowed": (
        lambda forest: {"threshold": forest.threshold.astype(np.float32).astype(float)},
        HISTOGRAM,
        AUDITED,
    ),
    "a categorical split is dropped": (
        lambda forest: {"categories": {node: np.zeros(0, int) for node in forest.categories}},
        clone(HISTOGRAM).set_params(categorical_features=[3]),
        AUDITED,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_M23_the_audit_catches_a_wrong_reader_and_the_model_is_asked(fault, monkeypatch):
    """The fit is then the one of the model as a function, and diagnostics_ say why."""
    changes_of, estimator, data = FAULTS[fault]
    model = clone(estimator).fit(data, TARGET)

    def read_wrongly(predictor):
        parts = read_parts(predictor)
        forest = parts.forests[0]
        return replace(parts, forests=(replace(forest, **changes_of(forest)),))

    with monkeypatch.context() as patched:
        patched.setattr(ensembles, "read_parts", read_wrongly)
        with pytest.warns(ModelWarning, match=r"M23: the trees differ .* by up to \d"):
            asked = paper(model).fit(data)
    evaluations = asked.diagnostics_["evaluations"]
    assert evaluations["path"] == "model"
    assert "differ" in evaluations["reason"]
    assert evaluations["largest_difference"] > 1e-9
    read = paper(model).fit(data)
    assert read.diagnostics_["evaluations"]["path"].startswith("trees")
    assert read.diagnostics_["evaluations"]["audited_rows"] >= 64
    assert str(read.partition_) == str(asked.partition_)
    assert read.disagreement_ == pytest.approx(asked.disagreement_, rel=1e-10)


# -- read, audited, or asked


def test_it_is_decided_once_and_when_it_is_asked_for():
    """The audit's rows are sent once, and the trees are read once a model."""
    predictor = as_predictor(MODELS["forest"][0]())
    table = read_table(X, missing="allow")
    reading = Reading(predictor, table)
    assert predictor.usage.rows == 0
    assert reading.decision.parts
    assert predictor.usage.rows == reading.decision.audit.rows
    (again,) = Reading(predictor, table).decision.parts
    assert again.model is reading.decision.parts[0].model


# -- machine code


def add_one(values):
    for i in range(len(values)):
        values[i] += 1.0


def test_a_function_is_compiled_once_and_does_the_same():
    assert compiled(add_one) is compiled(add_one)
    values = np.arange(3.0)
    compiled(add_one)(values)
    assert values.tolist() == [1.0, 2.0, 3.0]


def test_the_lock_of_the_interpreter_is_released():
    assert compiled(add_one).targetoptions["nogil"] is True
