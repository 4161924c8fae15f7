"""Planted faults of a loader: the audit catches each, warns, and the model is asked instead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor

from granite_xai.base.errors import ModelWarning
from granite_xai.estimator import Granite
from granite_xai.trees import routes
from granite_xai.trees.ensembles import read_ensemble

pytest.importorskip("treelite")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(120, 4))
X[:, 3] = RNG.integers(0, 6, 120)
Y = X[:, 0] * X[:, 1] + 2.0 * np.isin(X[:, 3], (1, 4)) * X[:, 2]
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)


def _missing_left(ensemble):
    return _changed(ensemble, default_left=np.ones_like(ensemble.forests[0].default_left))


def _narrow(ensemble):
    return _changed(ensemble, threshold=ensemble.forests[0].threshold.astype(np.float32).astype(float))


def _one_tree_more(ensemble):
    forest = ensemble.forests[0]
    start, stop = forest.starts[-2:]
    tree, shift = slice(start, stop), stop - start
    arrays = {
        name: np.concatenate([getattr(forest, name), getattr(forest, name)[tree]])
        for name in ("feature", "threshold", "strict", "default_left", "value", "list_right")
    }
    children = {
        name: np.concatenate([getattr(forest, name), getattr(forest, name)[tree] + shift]) for name in ("left", "right")
    }
    return _changed(ensemble, **arrays, **children, starts=np.append(forest.starts, stop + shift))


def _without_categories(ensemble):
    forest = ensemble.forests[0]
    lists = {node: listed[:0] for node, listed in forest.categories.items()}
    return _changed(ensemble, categories=lists)


def _changed(ensemble, **changes):
    return replace(ensemble, forests=(replace(ensemble.forests[0], **changes),))


def _histogram(data, **options):
    return HistGradientBoostingRegressor(max_iter=15, min_samples_leaf=5, random_state=0, **options).fit(data, Y)


FAULTS = {
    "missing values go left": (_missing_left, lambda: _histogram(HOLES), HOLES),
    "early stopping is ignored": (
        _one_tree_more,
        lambda: GradientBoostingRegressor(n_estimators=99, n_iter_no_change=2, random_state=0).fit(X, Y),
        X,
    ),
    "thresholds are narrowed": (_narrow, lambda: _histogram(X), X),
    "a categorical split is dropped": (_without_categories, lambda: _histogram(X, categorical_features=[3]), X),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_M23_the_audit_catches_a_wrong_loader_and_the_model_is_asked(fault, monkeypatch):
    """The fit is then the one of the model as a function, and diagnostics_ say why."""
    spoil, build, data = FAULTS[fault]
    model = build()
    monkeypatch.setattr(routes, "read_ensemble", lambda predictor: spoil(read_ensemble(predictor)))
    with pytest.warns(ModelWarning, match=r"M23: the trees differ from the model's answers by up to \d"):
        fitted = Granite(model).fit(data)
    found = fitted.diagnostics_["evaluations"]
    assert found["path"] == "model"
    assert "differ" in found["reason"]
    assert found["largest_difference"] > 1e-9
    monkeypatch.undo()
    honest = Granite(model).fit(data)
    assert honest.diagnostics_["evaluations"]["path"].startswith("trees")
    assert honest.diagnostics_["evaluations"]["audited_rows"] >= 64
    assert str(honest.partition_) == str(fitted.partition_)
    assert honest.disagreement_ == pytest.approx(fitted.disagreement_, rel=1e-10)


def test_rows_sent_to_the_model_are_those_of_the_table_and_of_the_audit():
    fitted = Granite(_histogram(X)).fit(X)
    probes_and_predictions = fitted.diagnostics_["model"]["rows"] - fitted.diagnostics_["evaluations"]["audited_rows"]
    assert probes_and_predictions <= len(X) + 5 * 64


def test_limits_on_model_rows_do_not_hold_for_trees():
    from granite_xai import Resources

    fitted = Granite(_histogram(X), resources=Resources(max_evaluations=1000)).fit(X)
    assert fitted.diagnostics_["evaluations"]["path"].startswith("trees")


def test_a_model_that_is_no_ensemble_says_so():
    fitted = Granite(lambda X: X[:, 0] * X[:, 1]).fit(X)
    assert fitted.diagnostics_["evaluations"]["path"] == "model"
    assert fitted.diagnostics_["evaluations"]["reason"] == "the model is a function"


def test_without_treelite_the_model_is_asked(monkeypatch):
    from granite_xai.trees import ensembles

    monkeypatch.setattr(ensembles, "find_spec", lambda name: None)
    fitted = Granite(_histogram(X)).fit(X)
    assert "treelite is not installed" in fitted.diagnostics_["evaluations"]["reason"]
