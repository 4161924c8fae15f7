"""Who is in a region, and what is special there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.base.formats import OutputUnit
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.results.profile import _times, profiles


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"group": rng.integers(0, 2, 400), "dose": rng.integers(0, 40, 400).astype(float)}
    )
    X["age"] = rng.normal(40, 5, 400).round() + 20 * X["group"]
    X["w"] = pd.Categorical(np.where(rng.random(400) < 0.2 + 0.6 * X["group"], "rain", "clear"))

    def model(X):
        late = np.maximum(np.asarray(X["dose"]) - 25, 0)
        return np.where(np.asarray(X["group"]) > 0, 4.0 * late, np.asarray(X["dose"]) * 1.0)

    g = gx.Granite(model, split_features=["group"], max_depth=1).fit(X)
    return g, X, model


def test_traits_are_distances_of_distributions(case):
    g, X, _ = case
    found = profiles(fitted_view(g).result)[1]
    traits = {trait.column: trait for trait in found.traits}
    inside = X["group"] > 0
    levels = np.sort(X["age"].unique())
    gaps = [abs((X["age"][inside] <= v).mean() - (X["age"][~inside] <= v).mean()) for v in levels]
    assert traits["age"].distance == pytest.approx(max(gaps))
    assert traits["w"].distance == pytest.approx(
        abs((X["w"][inside] == "rain").mean() - (X["w"][~inside] == "rain").mean())
    )
    assert traits["group"].in_rule
    assert traits["group"].distance == 1.0
    assert traits["w"].here.startswith("rain (")
    assert traits["dose"].distance < 0.15


def test_means_and_risk_stand_beside_those_of_the_rest(case):
    g, X, model = case
    y = model(X) + np.where(X["group"] > 0, 2.0, 1.0)
    result = fitted_view(g).result
    fitting = g._run.inputs.positions  # the fit has the rows in an order of its own
    by_row = (model(X)[fitting], y[fitting], np.square(model(X) - y)[fitting])
    found = profiles(result, *by_row)[1]
    inside = X["group"] > 0
    assert found.prediction == pytest.approx((model(X[inside]).mean(), model(X[~inside]).mean()))
    assert found.target == pytest.approx((y[inside].mean(), y[~inside].mean()))
    assert found.risk == pytest.approx((4.0, 1.0))
    assert "the model's error is 4 times as much as elsewhere" in " ".join(found.sentences())


def test_effects_are_told_by_their_shape_and_beside_the_rest(case):
    first, second = (profile.effects[0] for profile in profiles(fitted_view(case[0]).result))
    assert (first.column, second.column) == ("dose", "dose")
    assert first.words.endswith("it rises.")
    assert "hardly below 2" in second.words
    assert first.words != second.words
    assert second.size / second.elsewhere == pytest.approx(first.elsewhere / first.size)


def test_one_region_has_no_rest():
    X = np.random.default_rng(0).normal(size=(60, 2))
    found = profiles(fitted_view(gx.Granite(lambda X: X[:, 0]).fit(X)).result)
    assert len(found) == 1
    assert found[0].traits == ()
    assert "elsewhere" not in " ".join(found[0].sentences())


def test_the_report_tells_them(case):
    g, X, model = case
    told = g.report(X, model(X) + X["group"])
    assert "Besides its rule: age" in told.story["regions"][1]["profile"][0]
    assert "What is special in each region" in str(told)
    assert "Besides its rule: age" in told.html()
    assert "the 10% and 90% quantiles" in told.story["regions"][1]["profile"][0]


def test_a_probability_is_told_in_percent_and_its_effects_in_points(case):
    g, X, _ = case
    result = fitted_view(g).result
    fitting = g._run.inputs.positions
    inside = (X["group"] > 0).to_numpy()
    chances = np.where(inside, 0.25, 0.75)[fitting]
    found = profiles(result, chances, output=OutputUnit(probability=True))[1]
    told = found.sentences()
    assert "Mean prediction 25%, elsewhere 75%." in told
    assert " points" in found.effects[0].words


def test_ratios_are_told_as_people_say_them():
    told = {
        2.04: "twice ",
        0.5: "half ",
        1.02: "",
        0.31: "a third ",
        0.097: "a tenth ",
        0.02: "less than a tenth ",
        0.15: "0.15 times ",
        7.3: "7.3 times ",
    }
    assert {ratio: _times(ratio) for ratio in told} == {
        ratio: f"{words}as much as" for ratio, words in told.items()
    }
