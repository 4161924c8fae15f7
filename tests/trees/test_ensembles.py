"""Trees answer as their models do: on every recombined row, for every library."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.model_matrix import evaluate_matrix
from granite_xai.evaluations.request import request_matrices
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees import forest_cells
from granite_xai.trees.audit import audit
from granite_xai.trees.ensembles import read_ensemble
from granite_xai.trees.refusal import RefusalError
from trees.tree_models import HOLES, LABELS, LGB, MODELS, XGB, N, X, Y, lightgbm, xgboost

pytest.importorskip("treelite")
numba = pytest.importorskip("numba")


@pytest.mark.filterwarnings(
    "ignore:X does not have valid feature names", "ignore:The argument 'eval_set' is deprecated"
)
@pytest.mark.parametrize("name", MODELS)
def test_M23_M24_M25_M26_M29_trees_give_what_the_model_predicts_on_recombined_rows(
    name, monkeypatch
):
    """Every entry of E_S is the prediction of one recombined row: by products, by words of leaves, by the walk."""
    build, data, options = MODELS[name]
    predictor = as_predictor(build(), **options)
    table = read_table(data, missing="allow")
    ensemble = read_ensemble(predictor)
    checked = audit(predictor, table, ensemble)
    assert checked.difference <= checked.tolerance, checked
    assert checked.rows >= 64
    assert predictor.usage.rows == checked.rows
    trees, large = ensemble.on(table), ensemble.on(table)
    with monkeypatch.context() as patched:
        patched.setattr(forest_cells, "MOST_WORDS", -1)
        assert all(cells.masks is None for cells in large.cells)
    tolerance = 3e-6 if predictor.native_float32 else 1e-12
    for columns in ({0}, {table.n_columns - 1}, {0, 1}, set(range(1, table.n_columns))):
        distinct = DistinctValues(*table.distinct(sorted(columns)))
        expected = evaluate_matrix(predictor, table, frozenset(columns), distinct)
        product = trees.matrix_of(frozenset(columns), distinct.representatives, fast=False)
        np.testing.assert_allclose(product, expected, rtol=tolerance, atol=tolerance)
        for compiled in (trees, large):
            found = compiled.matrix_of(frozenset(columns), distinct.representatives, fast=True)
            np.testing.assert_allclose(found, product, rtol=1e-12, atol=1e-13)


@pytest.mark.filterwarnings(
    "ignore:X does not have valid feature names", "ignore:The argument 'eval_set' is deprecated"
)
@pytest.mark.parametrize("name", MODELS)
def test_values_of_one_cell_are_evaluated_once_and_every_bit_is_the_same(name, monkeypatch):
    """E_S of one value a cell, read through the cells, is E_S of all values: by products, by words, by the walk."""
    build, data, options = MODELS[name]
    predictor, table = as_predictor(build(), **options), read_table(data, missing="allow")
    ensemble = read_ensemble(predictor)
    trees, large = ensemble.on(table), ensemble.on(table)
    with monkeypatch.context() as patched:
        patched.setattr(forest_cells, "MOST_WORDS", -1)
        assert all(cells.masks is None for cells in large.cells)
    for columns in map(frozenset, ({0}, {1}, {0, 1}, set(range(1, table.n_columns)))):
        stores = request_matrices(table, [columns], cells=trees.cell_numbers).stores
        for side, joined in stores.items():
            every = DistinctValues(*table.distinct(side))
            assert len(joined) <= len(every)
            for way, fast in ((trees, True), (trees, False), (large, True)):
                by_cell = way.matrix_of(side, joined.representatives, fast=fast)[joined.codes]
                by_value = way.matrix_of(side, every.representatives, fast=fast)[every.codes]
                assert np.array_equal(by_cell, by_value)


FAMILIES = ("forest", "boosting", "histogram", "xgboost", "lightgbm")


@pytest.mark.parametrize("name", FAMILIES)
def test_M27_rows_on_a_threshold_and_next_to_it_go_the_models_way(name):
    """Rows are placed on thresholds, one unit in the last place beside them, in double and in single precision."""
    model = MODELS[name][0]()
    predictor = as_predictor(model)
    ensemble = read_ensemble(predictor)
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
    found = ensemble.on(read_table(data, missing="allow")).predictions()
    tolerance = 1e-6 if name == "xgboost" else 1e-12
    np.testing.assert_allclose(found, predictor(data), rtol=tolerance, atol=tolerance)


class _Subclass(RandomForestRegressor):
    def predict(self, X):
        return super().predict(X) + 1.0


REFUSED = {
    "linear": lambda: LinearRegression().fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), RandomForestRegressor(3)).fit(X, Y),
    "subclass": lambda: _Subclass(3).fit(X, Y),
    "linear leaves": lambda: lightgbm.LGBMRegressor(**LGB, linear_tree=True).fit(X, Y),
    "zero is missing": lambda: lightgbm.LGBMRegressor(**LGB, zero_as_missing=True).fit(HOLES, Y),
    "other missing": lambda: xgboost.XGBRegressor(**XGB, missing=0.0).fit(X, Y),
    "linear booster": lambda: xgboost.XGBRegressor(n_estimators=3, booster="gblinear").fit(X, Y),
    "custom init": lambda: GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(
        X, Y
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_M25_M30_what_is_not_read_exactly_is_refused_with_a_reason(name):
    with pytest.raises(RefusalError) as caught:
        read_ensemble(as_predictor(REFUSED[name]()))
    assert len(caught.value.reason) > 10


def test_a_function_and_labels_are_refused():
    model = RandomForestClassifier(3).fit(X, LABELS)
    for predictor in (as_predictor(lambda X: X[:, 0]), as_predictor(model, response="predict")):
        with pytest.raises(RefusalError):
            read_ensemble(predictor)
