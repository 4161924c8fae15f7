"""D37, D01: the model's own columns are compared by name; missing cells are decided by trying."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import granite_xai as gx

RNG = np.random.default_rng(0)


X = pd.DataFrame(RNG.normal(size=(80, 3)), columns=["a", "b", "c"])


class Counting(LinearRegression):
    """Counts the rows that it is asked about."""

    asked = 0

    def predict(self, X):
        type(self).asked += len(X)
        return super().predict(X)


@pytest.mark.parametrize(
    ("table", "text", "columns"),
    [
        (X[["b", "a", "c"]], "in another order, from 'b' on", ("b", "a")),
        (X[["a", "b"]], "X lacks 'c'", ("c",)),
        (X.assign(z=1.0), "was not fitted on, 'z'", ("z",)),
        (
            X.rename(columns={"c": "d"}),
            "X lacks 'c'; X has, and the model was not fitted on, 'd'",
            ("c", "d"),
        ),
    ],
)
def test_columns_that_the_model_was_not_fitted_on_are_named_before_it_is_asked(
    table, text, columns
):
    model = Counting().fit(X, X["a"])
    Counting.asked = 0
    with pytest.raises(gx.InputError, match="D37") as caught:
        gx.Granite(model).fit(table)
    assert text in str(caught.value)
    assert caught.value.columns == columns
    assert Counting.asked == 0
    with pytest.raises(gx.InputError, match="D37"):
        gx.Explainer().explain(model, table)


def test_lightgbm_names_of_its_own_are_no_names():
    lightgbm = pytest.importorskip("lightgbm")
    wide = X.rename(columns={"a": "a b"})
    for fitted_on in (X.to_numpy(), wide):
        model = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1, min_child_samples=2).fit(
            fitted_on, X["a"]
        )
        gx.Granite(model).fit(wide)


def _gaps():
    Z = X.copy()
    Z.iloc[::5, 1] = np.nan
    return Z


def test_a_pipeline_that_imputes_late_is_tried_and_allowed():
    """Its first step is a function, which has no tag that allows missing values."""
    steps = (
        FunctionTransformer(),
        SimpleImputer(),
        StandardScaler(),
        RandomForestRegressor(5, random_state=0),
    )
    model = make_pipeline(*steps).fit(_gaps(), X["a"])
    assert gx.Granite(model, min_samples_leaf=5).fit(_gaps()).diagnostics_["warnings"] == []
    assert gx.Explainer().explain(model, _gaps()).values.shape == (80, 3)


def test_a_model_that_fails_on_missing_cells_is_refused_with_its_own_words():
    with pytest.raises(gx.InputError, match="D01: X column 'b'.*It was tried.*contains NaN"):
        gx.Granite(LinearRegression().fit(X, X["a"])).fit(_gaps())


def test_nothing_is_tried_when_missing_values_are_an_error():
    model = Counting().fit(X, X["a"])
    Counting.asked = 0
    with pytest.raises(gx.InputError, match="D01"):
        gx.Granite(model, missing="error").fit(_gaps())
    assert Counting.asked == 0
