"""Average effects of a feature by case and region, against partial dependence by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import granite_xai as gx
from studies.two_models import RULES, X, challenger, champion, rows_of_regions


def curves_of(comparison, position):
    """The curves of a feature by case and region."""
    return {
        (curve.case, curve.scope.region): curve for curve in comparison.curves(position, points=400)
    }


def centred_pdp(model, rows, feature, levels):
    """Mean of the ICE curves of some rows, each around its own mean over the rows' values."""
    curves = np.array([model(rows.assign(**{feature: level})) for level in rows[feature]])
    at_levels = np.array([model(rows.assign(**{feature: level})) for level in levels])
    centred = at_levels - curves.mean(axis=0)  # (levels, rows)
    quantile = stats.t.ppf(0.975, len(rows) - 1)
    half_width = quantile * centred.std(axis=1) / np.sqrt(len(rows))
    return centred.mean(axis=1), half_width


@pytest.mark.parametrize("feature", ["a", "c"])
def test_a_curve_is_the_centred_partial_dependence_in_its_region(comparison, feature):
    curves = curves_of(comparison, list(X).index(feature))
    for name, model in (("old", champion), ("new", challenger)):
        for region, inside in enumerate(rows_of_regions()):
            curve = curves[name, region]
            mean, half_width = centred_pdp(model, X[inside], feature, curve.levels)
            np.testing.assert_allclose(curve.mean, mean, atol=1e-10)
            np.testing.assert_allclose(curve.high - curve.mean, half_width, atol=1e-6)
            np.testing.assert_allclose(curve.mean - curve.low, half_width, atol=1e-6)
            assert list(curve.levels) == sorted(set(X[feature][inside]))


def test_an_ordered_feature_is_shown_at_a_few_of_its_values(comparison):
    curve = next(comparison.curves(0, points=7))
    values = sorted(set(X["a"][X["b"] <= 0]))
    assert len(curve.levels) == 7
    assert (curve.levels[0], curve.levels[-1]) == (values[0], values[-1])


def test_categories_are_shown_in_full(comparison):
    curve = next(comparison.curves(3, points=1))
    assert list(curve.levels) == ["u", "v"]


def test_a_missing_value_is_no_point_of_a_curve():
    holes = X.assign(c=X["c"].where(np.arange(400) % 5 > 0))

    def model(X):
        return np.asarray(X["a"]) + np.nan_to_num(np.asarray(X["c"], dtype=float), nan=3.0)

    compared = gx.compare(model, {"then": holes, "now": holes}, partition=RULES, missing="allow")
    for curve in compared.curves(2):
        assert not pd.isna(curve.levels).any()
        assert list(curve.levels) == sorted(set(curve.levels))


def test_rows_of_a_cluster_are_one_observation():
    """Every row four times: with clusters the interval of a curve is that of the single rows."""

    def steep(X):
        return champion(X) * np.asarray(X["b"])

    few = X.iloc[:200]
    rows = np.repeat(np.arange(200), 4)
    repeated = few.iloc[rows].reset_index(drop=True)
    options = {"partition": RULES, "confidence_level": None}
    once = next(gx.compare([steep, champion], few, **options).curves(0))
    together = gx.compare([steep, champion], repeated, clusters=rows, **options)
    clustered = next(together.curves(0))
    assert (once.high - once.low).max() > 0.05
    np.testing.assert_allclose(clustered.high - clustered.low, once.high - once.low, rtol=1e-6)
