"""OverviewDisplay: every dot is the effect of a feature on a row in its region."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.display.overview import value_ranks
from granite_xai.document.chart import region_color
from granite_xai.tables import read_table


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(5)
    X = pd.DataFrame(draw.normal(size=(90, 3)), columns=["a", "b", "c"])
    X["kind"] = pd.Categorical(draw.choice(["u", "v"], 90))
    X.loc[::9, "c"] = np.nan
    return X


def model(X):
    sign = np.where(X["kind"].astype(object) == "u", 1.0, -1.0)
    return (3 * X["a"] * sign + X["b"] + 0.1 * X["c"].fillna(0.0)).to_numpy()


@pytest.fixture(scope="module")
def fit(table):
    exact = gx.Resources(max_grid=None)
    return gx.Granite(model, missing="allow", max_depth=1, holdout=False, resources=exact).fit(
        table
    )


@pytest.fixture(scope="module")
def display(fit, table):
    return gx.OverviewDisplay.from_estimator(fit, table)


def test_effects_are_those_of_the_rows_in_their_regions(fit, table, display):
    explained = fit.explain(table).frame().query("explanation == 'ice'")
    dots = display.frame()
    for feature in ("a", "b"):
        shown = dots[dots["feature"] == feature].sort_values("row")["effect"].to_numpy()
        wanted = explained[explained["set"] == feature].sort_values("row")["value"].to_numpy()
        np.testing.assert_allclose(np.sort(shown), np.sort(wanted), atol=1e-9)


def test_the_most_important_feature_comes_first_and_the_others_are_counted(fit, table):
    display = gx.OverviewDisplay.from_estimator(fit, table, max_features=2)
    assert display.features == ("a", "b")
    assert "and 2 more features" in display.plot().ax_.get_xlabel()


def test_a_dot_has_the_colour_of_its_region(fit, table, display):
    from matplotlib.colors import to_hex

    solid = display.plot().ax_.collections[0]  # rows of the first feature, mixed
    places = np.asarray(solid.get_offsets())
    colors = [to_hex(color) for color in solid.get_facecolor()]
    dots = display.frame()
    first = dots[dots["feature"] == display.features[0]]
    for (x, _), color in zip(places.tolist()[:20], colors[:20], strict=True):
        row = first.iloc[int(np.argmin(np.abs(first["effect"] - x)))]
        assert color == region_color(int(row["region"]))


def test_high_values_lie_above_low_ones_and_missing_ones_in_the_middle(table, display):
    line = display.features.index("c")
    solid, hollow = display.plot().ax_.collections[2 * line : 2 * line + 2]
    assert len(hollow.get_offsets()) == table["c"].isna().sum()
    np.testing.assert_allclose(np.asarray(hollow.get_offsets())[:, 1], line)
    heights = np.asarray(solid.get_offsets())[:, 1]
    assert heights.min() > line - 0.5
    assert heights.max() < line + 0.5


def test_ranks_follow_the_values_and_equal_values_share_their_places():
    values = pd.DataFrame({"x": [3.0, 1.0, 1.0, np.nan, 2.0]})
    column = read_table(values, missing="allow").columns[0]
    ranks = value_ranks(column)
    assert np.isnan(ranks[3])
    assert ranks[0] == pytest.approx(0.875)
    assert ranks[4] == pytest.approx(0.625)
    np.testing.assert_allclose(sorted(ranks[1:3]), [0.125, 0.375])


def test_one_region_is_drawn_in_ink():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    g = gx.Granite(lambda X: np.asarray(X).sum(axis=1)).fit(X)
    display = gx.OverviewDisplay.from_estimator(g, X)
    assert display.frame()["region"].isna().all()
    assert display.plot().figure_.legends == []


def test_another_local_explanation_can_be_shown(fit, table):
    display = gx.OverviewDisplay.from_estimator(fit, table, explanation="pdp", features=["a"])
    assert display.explanation == "pdp"
    with pytest.raises(gx.InputError, match="no effect of single features"):
        gx.OverviewDisplay.from_estimator(fit, table, explanation="pfi")
