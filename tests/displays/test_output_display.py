"""OutputDisplay: what a feature does to every output, by region, equals averages of the model's own answers."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import granite_xai as gx

N = 200
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "a": RNG.integers(0, 11, N) / 10.0,
        "b": RNG.normal(size=N),
        "town": RNG.choice(["Bern", "Chur", "Genf", "Ulm"], N, p=[0.5, 0.3, 0.15, 0.05]),
    }
)
HORIZONS = [1, 6, 24]
WEIGHTS = RNG.integers(1, 4, N).astype(float)


def forecasts(X):
    sign = np.where(X["b"] > 0, 1.0, -1.0)
    return np.column_stack([h * sign * X["a"] + (X["town"] == "Ulm") for h in HORIZONS])


@pytest.fixture(scope="module")
def fitted():
    model = gx.outputs(forecasts, HORIZONS, axis="horizon")
    return gx.Granite(model, output="all", max_depth=1).fit(X)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_means_are_those_of_the_model_with_the_feature_at_the_value(fitted):
    display = gx.OutputDisplay.from_estimator(
        fitted, X, features=["a"], max_samples=N, sample_weight=WEIGHTS
    )
    lines = display.frame()
    assert list(lines) == ["region", "rule", "feature", "value", "output", "horizon", "mean"]
    assert sorted(lines["value"].unique(), key=float) == [
        f"{q:g}" for q in np.quantile(X["a"], [0.1, 0.5, 0.9], method="lower")
    ]
    regions = fitted.apply(X)
    for line in lines.itertuples():
        rows = np.arange(N) if pd.isna(line.region) else np.flatnonzero(regions == line.region)
        answers = forecasts(X.iloc[rows].assign(a=float(line.value)))
        expected = np.average(answers[:, HORIZONS.index(line.horizon)], weights=WEIGHTS[rows])
        assert line.mean == pytest.approx(expected, rel=1e-12)
    assert len(lines) == 3 * 3 * 3  # all rows and two regions, values, horizons


def test_values_that_a_region_does_not_have_are_not_drawn(fitted):
    lines = gx.OutputDisplay.from_estimator(fitted, X, features=["b"], max_samples=N).frame()
    below = lines[lines["rule"] == "b ≤ 0"]
    assert (below["value"].str.replace("−", "-").astype(float) <= 0).all()
    assert lines["value"].nunique() > below["value"].nunique()


def test_a_region_between_the_values_shown_moves_nothing():
    """Low, middle and high are .1, .5 and .9; the region in between has none of them."""
    rules = gx.partitioners.GivenRules(["a <= 0.25", "a > 0.25 and a <= 0.45", "a > 0.45"])
    model = gx.outputs(forecasts, HORIZONS, axis="horizon")
    g = gx.Granite(model, output="all", partitioner=rules).fit(X[["a", "b", "town"]])
    assert len(g.partition_) == 3
    display = gx.OutputDisplay.from_estimator(g, X, max_features=3)
    by_name = {each.axis.column.name: each.spread for each in display.features}
    assert np.isfinite(list(by_name.values())).all()
    assert by_name["b"] == max(by_name.values())


def test_the_strongest_feature_and_the_most_frequent_levels_are_shown(fitted):
    assert set(gx.OutputDisplay.from_estimator(fitted, X).frame()["feature"]) == {"a"}
    lines = gx.OutputDisplay.from_estimator(fitted, X, features=["town"]).frame()
    assert list(dict.fromkeys(lines["value"])) == ["Bern", "Chur", "Genf"]


def test_ordered_outputs_lie_along_their_axis_with_a_panel_for_each_region(fitted):
    display = gx.OutputDisplay.from_estimator(fitted, X, max_features=2).plot()
    assert display.axes_.shape == (2, 3)
    first = display.axes_[0, 0]
    assert first.get_xlabel() == "horizon"
    drawn = [line for line in first.lines if len(line.get_xdata()) == len(HORIZONS)]
    assert [line.get_xdata().tolist() for line in drawn] == [[1.0, 6.0, 24.0]] * 3
    assert display.headline_ == "Effect of a and b over horizon, on all rows and in 2 regions"
    assert "a = 0.5" in [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert gx.OutputDisplay.from_estimator(fitted, X).plot(first).ax_ is first


def test_classes_have_a_panel_each_with_a_line_for_each_region():
    y = np.select([X["b"] > 0.5, X["a"] > 0.5], ["low", "high"], "middle")
    numbers = X[["a", "b"]]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(numbers, y)
    g = gx.Granite(model, output="all", max_depth=1).fit(numbers)
    display = gx.OutputDisplay.from_estimator(g, numbers, features=["a"]).plot()
    assert [panel.get_title(loc="left") for panel in display.axes_[0]] == list(model.classes_)
    assert display.axes_[0, 0].get_xlabel() == "a"
    assert len(display.figure_.legends[0].get_texts()) == 1 + len(g.partition_)
    lines = display.frame()
    assert list(lines)[5] == "place"
    point = lines[lines["region"].isna() & (lines["output"] == "low")].iloc[0]
    expected = model.predict_proba(numbers.assign(a=float(point["value"])))[:, 1].mean()
    assert point["mean"] == pytest.approx(expected, rel=1e-12)


def test_text_along_an_axis_stands_side_by_side():
    model = gx.outputs(forecasts, ["in 1 h", "in 6 h", "in 24 h"], axis="horizon")
    g = gx.Granite(model, output="all", max_depth=1).fit(X)
    display = gx.OutputDisplay.from_estimator(g, X).plot()
    ticks = [text.get_text() for text in display.axes_[0, 0].get_xticklabels()]
    assert ticks == ["in 1 h", "in 6 h", "in 24 h"]


def test_predictions_are_shown_on_their_own_scale():
    def positive(X):
        return np.exp(forecasts(X) / 24)

    model = gx.outputs(positive, HORIZONS, axis="horizon")
    options = {"features": ["a"], "max_samples": N}
    shown = [
        gx.OutputDisplay.from_estimator(
            gx.Granite(model, output="all", max_depth=0, scale=scale).fit(X), X, **options
        ).frame()
        for scale in ("response", "log")
    ]
    np.testing.assert_allclose(shown[0]["mean"], shown[1]["mean"], rtol=1e-10)


def test_one_output_has_no_others_to_show(fitted):
    one = gx.Granite(gx.outputs(forecasts, HORIZONS), output=6, max_depth=0).fit(X)
    with pytest.raises(gx.InputError, match=r"P03: .*several outputs.*output=.all."):
        gx.OutputDisplay.from_estimator(one, X)
    with pytest.raises(gx.InputError, match="P02"):
        gx.OutputDisplay.from_estimator(fitted, X, max_features=0)
