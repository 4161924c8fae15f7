"""RowDisplay: each curve on its own scale, or all on one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import granite_xai as gx


def test_a_small_effect_fills_its_panel_unless_one_scale_is_asked_for():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["large", "slight"])
    g = gx.Granite(lambda X: (100 * X["large"] + X["slight"]).to_numpy()).fit(X)
    display = gx.RowDisplay.from_estimator(g, X.iloc[[0]])
    heights = [np.ptp(panel.get_ylim()) for panel in display.plot().axes_[1:]]
    assert heights[0] > 20 * heights[1]
    limits = {panel.get_ylim() for panel in display.plot(share_scale=True).axes_[1:]}
    assert len(limits) == 1


def test_a_row_is_said_as_in_its_text():
    """Title and numbers are those of ``explain_row``: two digits, points of a probability, rules in words."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"hr": rng.integers(0, 24, 300), "x": rng.normal(size=300)})

    def model(X):
        return 100 * np.asarray(X["x"]) * np.where(np.asarray(X["hr"]) > 6, 1.0, -1.0)

    g = gx.Granite(model, max_depth=1).fit(X)
    display = gx.RowDisplay.from_estimator(g, X.iloc[[3]]).plot()
    row = g.explain_row(X.iloc[[3]])
    title = " ".join(display.figure_.get_suptitle().split())
    assert title == row.sentences()[0]
    assert "hr 7–23" in title or "hr 0–6" in title
    numbers = {text.get_text() for text in display.axes_[0].texts}
    assert row.unit.signed_effect(float(row.rest), bare=True) in numbers


def test_the_dot_of_the_row_lies_on_its_curve():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300), "k": rng.choice(list("abc"), 300)})
    X.loc[::10, "x"] = np.nan

    def model(X):
        return np.sin(3 * X["x"].fillna(1.0)).to_numpy() + (X["k"] == "b").to_numpy()

    g = gx.Granite(model, missing="allow", max_depth=0).fit(X)
    for row in (3, 10):
        for panel in gx.RowDisplay.from_estimator(g, X.iloc[[row]]).plot().axes_[1:]:
            curves = [line for line in panel.lines if line.get_label() == "_line region"]
            (dot,) = (line for line in panel.lines if line.get_label() == "_line row")
            x, y = dot.get_xdata()[0], dot.get_ydata()[0]
            heights = [
                np.interp(x, line.get_xdata(), line.get_ydata())
                for line in curves
                if np.min(line.get_xdata()) <= x <= np.max(line.get_xdata())
            ]
            assert np.isclose(heights, y, atol=1e-9).any()


def test_a_probability_has_one_unit_in_the_figure():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
    y = (X["a"] + X["b"] > 0).astype(int)
    g = gx.Granite(LogisticRegression().fit(X, y), max_depth=0).fit(X)
    display = gx.RowDisplay.from_estimator(g, X.iloc[[0]], max_features=1).plot()
    display.figure_.draw_without_rendering()
    waterfall, curve = display.axes_
    assert all(text.get_text().endswith("%") for text in waterfall.get_xticklabels())
    assert curve.get_ylabel() == "points"
    heights = [float(t.get_text().replace("−", "-")) for t in curve.get_yticklabels()]
    assert max(map(abs, heights)) > 1


def test_weaker_features_of_many_are_summed_up_and_long_names_differ():
    names = [f"a_long_name_of_a_sensor_whose_number_is_{k}" for k in range(13)]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 13)), columns=names)
    g = gx.Granite(lambda X: np.asarray(X) @ np.arange(13.0), max_depth=0).fit(X)
    display = gx.RowDisplay.from_estimator(g, X.iloc[[0]], max_features=1).plot()
    texts = [tick.get_text() for tick in display.axes_[0].get_yticklabels()]
    assert texts[-2:] == ["3 others", "interactions"]
    assert len({text.partition(" = ")[0] for text in texts}) == 12
