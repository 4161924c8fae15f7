"""Pairwise Shapley values from the paths of trees."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.influence import Joint
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.ensembles import read_ensemble
from trees.tree_models import MODELS, RNG, X

pytest.importorskip("treelite")
pytest.importorskip("numba")


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
    trees = read_ensemble(predictor).on(table)
    players = [frozenset(group) for group in groups]
    wanted = [2, 0]
    by_leaves = trees.attributions(players, wanted, fast=False)
    walked = trees.attributions(players, wanted, fast=True)
    np.testing.assert_allclose(walked, by_leaves, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(walked, -walked.transpose(0, 2, 1), atol=1e-15)
    tolerance = 1e-6 if "xgboost" in name else 1e-12
    for phi, member in zip(by_leaves, wanted, strict=True):
        np.testing.assert_allclose(
            phi, _enumerated(predictor, table, players, member), rtol=0, atol=tolerance
        )


def test_shapley_values_of_many_columns_are_exact_and_call_the_model_for_its_rows_only():
    """Thirteen columns would have to be sampled; by paths they add up to the prediction with no standard error."""
    wide = RNG.normal(size=(30, 13))
    model = HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=3).fit(
        wide, wide[:, 0] * wide[:, 5] + wide[:, 9]
    )
    explanation = Explainer("marginal", "local", "partial").explain(model, wide)
    predictions = model.predict(wide)
    np.testing.assert_allclose(
        explanation.values.sum(axis=1), predictions - predictions.mean(), atol=1e-12
    )
    assert not explanation.parts[0].estimated


def test_partial_effects_by_paths_equal_those_by_coalitions():
    """The same explanation of the model as a function, which has no trees, for columns and for groups."""
    model = MODELS["histogram"][0]()
    for influence in ("individual", Joint({"two": [0, 1]}), Joint({"none": [0]})):
        explainer = Explainer("marginal", "local", "partial", influence)
        by_paths, enumerated = (
            explainer.explain(model, X),
            explainer.explain(lambda X: model.predict(X), X),
        )
        np.testing.assert_allclose(by_paths.values, enumerated.values, atol=1e-12)
    regional = Explainer("baseline", "local", "partial")
    np.testing.assert_allclose(
        regional.explain(model, X).values,
        regional.explain(lambda X: model.predict(X), X).values,
        atol=1e-12,
    )
