"""Another model than that of the fit is refused (F09)."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import granite_xai as gx
from granite_xai.base.errors import ModelError
from granite_xai.fitting.fitted_view import fitted_view
from persistence.saved_objects import (
    model,
    other_model,
    table,
)

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


@pytest.mark.parametrize("data", [False, True])
def test_F09_another_model_is_refused(saved, data):
    path = saved("ice-pdp")[1 + data]
    text = "not the model that was saved with: 60 of the 60 predictions that were compared differ"
    with pytest.raises(ModelError, match=text) as caught:
        gx.load(path, model=other_model)
    assert (caught.value.code, caught.value.argument) == ("F09", "model")
    # another machine's rounding is no other model
    loaded = gx.load(path, model=lambda X: model(X) * (1 + 1e-9))
    assert loaded.diagnostics_["loaded"] == {"compared_predictions": 60}


@pytest.mark.parametrize("data", [False, True], ids=["without rows", "with rows"])
@pytest.mark.parametrize(
    "convert", [np.asarray, pd.DataFrame, pl.DataFrame], ids=["numpy", "pandas", "polars"]
)
def test_F09_a_model_that_differs_in_a_corner_is_refused(data, convert, tmp_path):
    """In two of a hundred rows, and in one region: eight predictions would not show it."""
    rng = np.random.default_rng(0)
    cells = np.round(rng.normal(size=(2_000, 3)), 3)
    X = convert(cells)

    def first(X):
        a, b, c = np.asarray(X, dtype=float).T
        return a * np.sign(b) + c

    def second(X):
        a, _, c = np.asarray(X, dtype=float).T
        return first(X) + np.where((a > 0.5) & (c > 1.5), 5.0, 0.0)

    granite = gx.Granite(first, max_depth=1, max_samples=None, holdout=False).fit(X)
    path = gx.save(granite, tmp_path / "a.json", data)
    with pytest.raises(ModelError, match=r"F09: .* of the 1,000 predictions that were compared"):
        gx.load(path, model=second)
    loaded = gx.load(path, model=first)
    assert loaded.diagnostics_["loaded"] == {"compared_predictions": 1000}
    fingerprint = fitted_view(loaded).result.fingerprint
    asked = fingerprint.asked_rows(fitted_view(loaded).result.table)
    counts = np.bincount(loaded.partition_.apply(asked))
    assert len(counts) == len(granite.partition_)
    assert counts.min() >= 8


def test_F09_missing_cells_and_passing_columns_are_compared_too(tmp_path):
    X = table(200)
    X["name"] = [f"row {i}" for i in range(len(X))]
    X.loc[::5, "a"] = np.nan

    def named(X):
        return model(X.assign(a=X["a"].fillna(9.0))) + X["name"].str.len().to_numpy() * 0.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        granite = gx.Granite(named, missing="allow", min_samples_leaf=10).fit(X)
        path = gx.save(granite, tmp_path / "a.json")
        assert gx.load(path, model=named).diagnostics_["loaded"]["compared_predictions"] == 200
        with pytest.raises(ModelError, match="F09"):
            gx.load(path, model=lambda X: named(X) + np.where(np.isnan(X["a"]), 1.0, 0.0))


def test_F09_another_output_of_the_model_is_refused(tmp_path):
    X = np.random.default_rng(0).integers(-2, 3, size=(60, 2)).astype(float)
    classifier = LogisticRegression().fit(X, X[:, 0] > 0)
    path = gx.save(gx.Granite(classifier).fit(X), tmp_path / "a.json")
    with pytest.raises(ModelError, match="is explained, not"):
        gx.load(path, model=lambda X: classifier.predict_proba(X)[:, 1])
