"""OverviewDisplay: every dot is the effect of a feature on a row in its region."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx


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


def dots(ax):
    """Places of all dots of a panel."""
    return np.concatenate([np.asarray(drawn.get_offsets()) for drawn in ax.collections])


def test_effects_are_those_of_the_rows_in_their_regions(fit, table, display):
    explained = fit.explain(table).frame().query("explanation == 'ice'")
    shown = display.frame()
    for feature in ("a", "b"):
        effects = shown[shown["feature"] == feature]["effect"].to_numpy()
        wanted = explained[explained["set"] == feature]["value"].to_numpy()
        np.testing.assert_allclose(np.sort(effects), np.sort(wanted), atol=1e-9)


def test_every_dot_of_the_frame_is_drawn_in_the_panel_of_its_region(fit, display):
    display.plot()
    frame = display.frame()
    assert len(display.axes_) == len(fit.partition_)
    for region, ax in enumerate(display.axes_):
        of_region = frame[frame["region"] == region]
        assert ax.get_title(loc="left").startswith(f"Region {region} ")
        np.testing.assert_allclose(
            np.sort(dots(ax)[:, 0]), np.sort(of_region["effect"]), atol=1e-12
        )


def test_features_come_by_their_mean_size_which_is_written_in_each_panel(display):
    frame = display.plot().frame()
    sizes = frame["effect"].abs().groupby(frame["feature"]).mean()
    assert list(display.features) == sizes.sort_values(ascending=False).index.tolist()
    for region, ax in enumerate(display.axes_):
        of_region = frame[frame["region"] == region]
        own = of_region["effect"].abs().groupby(of_region["feature"]).mean()
        written = [text.get_text() for text in ax.texts]
        for feature in ("a", "b"):
            assert float(written[display.features.index(feature)]) == pytest.approx(
                own[feature], rel=0.06
            )


def test_features_that_are_left_out_are_counted(fit, table):
    display = gx.OverviewDisplay.from_estimator(fit, table, max_features=2)
    assert display.features == ("a", "b")
    assert "2 more features not shown" in display.plot().headline_


def test_colour_is_the_value_and_missing_values_are_grey(table, display):
    ax = display.plot().axes_[0]
    values = np.concatenate([c.get_array() for c in ax.collections if c.get_array() is not None])
    assert values.min() >= 0.0
    assert values.max() <= 1.0
    rows = display.scopes[0].rows
    grey = [c for c in ax.collections if c.get_array() is None]
    n_missing = int(table["c"].iloc[rows].isna().sum())
    assert n_missing in [len(c.get_offsets()) for c in grey]


def test_names_have_a_line_each_at_the_same_place_in_every_panel(display):
    display.plot()
    names = [tick.get_text() for tick in display.axes_[0].get_yticklabels()]
    assert names[names.index("kind: u") + 1] == "v"
    assert len({tuple(ax.get_yticks()) for ax in display.axes_}) == 1


def test_twenty_thousand_dots_stay_in_their_lines_and_fall_the_same_way_twice():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20_000, 2)), columns=["a", "b"])
    g = gx.Granite(lambda X: np.asarray(X["a"] + X["b"] ** 3), max_depth=0).fit(X)
    display = gx.OverviewDisplay.from_estimator(g, X, max_samples=20_000)
    places = dots(display.plot().ax_)
    assert len(places) == 40_000
    lines = np.floor(places[:, 1])
    assert np.abs(places[:, 1] - lines - 0.5).max() < 0.45
    np.testing.assert_array_equal(places, dots(display.plot().ax_))


def test_one_region_is_one_panel():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    g = gx.Granite(lambda X: np.asarray(X).sum(axis=1)).fit(X)
    display = gx.OverviewDisplay.from_estimator(g, X)
    assert display.frame()["region"].isna().all()
    assert len(display.plot().axes_) == 1


def test_another_local_explanation_can_be_shown(fit, table):
    display = gx.OverviewDisplay.from_estimator(fit, table, explanation="pdp", features=["a"])
    assert display.explanation == "pdp"
    with pytest.raises(gx.InputError, match="no effect of single features"):
        gx.OverviewDisplay.from_estimator(fit, table, explanation="pfi")
