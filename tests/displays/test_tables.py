"""Displays of every kind of question, column and table."""

from __future__ import annotations

import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import granite_xai as gx

HOSTILE = [
    "a_b^c",
    "$x$",
    "one $ only",
    "\\frac{1}{2}",
    "$\\frac{1}$",
    "\\$",
    "evil\u202egnp.exe",
    "line\nbreak",
    "esc\x1b[31m",
    "n" * 200,
    "{braces} % & # ~",
    "<script>alert(1)</script>",
]


def all_displays(g, X, y=None, pair=None):
    made = [
        gx.EffectDisplay.from_estimator(g, X, y),
        gx.ImportanceDisplay.from_estimator(g, X, y),
        gx.InteractionDisplay.from_estimator(g, X, y),
        gx.PartitionDisplay.from_estimator(g, X, y),
    ]
    if pair is not None:
        made.append(gx.InteractionDisplay.from_estimator(g, X, y, pair=pair))
    return made


def drawn(displays):
    """Draw all, with every mathtext, font and layout problem as an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for display in displays:
            display.plot().figure_.draw_without_rendering()
            assert len(display.frame()) > 0
    return displays


@pytest.mark.parametrize("question", list(gx.questions()))
@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
def test_every_question_can_be_shown(bike, question):
    X, y = bike.rows[:60], bike.y[:60]
    g = gx.Granite(bike.model, question, max_depth=1, min_samples_leaf=15).fit(X, y)
    effect = gx.EffectDisplay.from_estimator(g, X, max_features=1, max_curves=5)
    importance = gx.ImportanceDisplay.from_estimator(g, X, y)
    pairs = gx.InteractionDisplay.from_estimator(g, X, y, features=["hr", "workingday"]).frame()
    tree = gx.PartitionDisplay.from_estimator(g, X, y)
    drawn([effect, importance])
    assert np.isfinite(pairs["value"]).all()
    own = gx.questions()[question]
    sides = {own.first.name, own.second.name}
    local = own.behavior.key == "local" and question != "coe"
    assert set(effect.names) == (sides if local else {"ice", "pdp"})
    assert set(importance.names) == (sides if question != "coe" else {"ice", "pdp"})
    assert len(tree.frame()) == 2 * len(g.partition_) - 1


def test_importance_of_groups_and_of_pairs(bike):
    joint = gx.Granite(
        bike.model, influence="joint", groups={"time": ["hr", "yr"]}, max_depth=1
    ).fit(bike.rows)
    bars = drawn([gx.ImportanceDisplay.from_estimator(joint, bike.rows)])[0].frame()
    assert set(bars["set"]) == {"time", "workingday", "temp"}
    pairs = gx.Granite(bike.model, influence="interaction", max_depth=1).fit(bike.rows)
    bars = drawn([gx.ImportanceDisplay.from_estimator(pairs, bike.rows)])[0].frame()
    assert "hr:workingday" in set(bars["set"])
    drawn(
        [
            gx.EffectDisplay.from_estimator(pairs, bike.rows),
            gx.InteractionDisplay.from_estimator(joint, bike.rows),
        ]
    )


def test_several_questions_are_chosen_by_name(bike):
    g = gx.Granite(bike.model, ["ice-pdp", "sobol"], max_depth=1).fit(bike.rows)
    assert gx.ImportanceDisplay.from_estimator(g, bike.rows, question="sobol").names == (
        "sobol-total",
        "sobol-closed",
    )
    fitted, again = (gx.PartitionDisplay.from_estimator(g, *X).frame() for X in ((), (bike.rows,)))
    np.testing.assert_allclose(fitted["after"], again["after"], rtol=1e-9)
    with pytest.raises(gx.InputError, match="question='sobl'"):
        gx.ImportanceDisplay.from_estimator(g, bike.rows, question="sobl")


def mixed(rows=160):
    draw = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "level": pd.Categorical(
                draw.choice(["low", "mid", "high"], rows), ["low", "mid", "high"], ordered=True
            ),
            "town": pd.Categorical(
                draw.choice([f"a town with a long name {i}" for i in range(30)], rows)
            ),
            "member": draw.random(rows) < 0.5,
            "age": np.where(draw.random(rows) < 0.2, np.nan, draw.normal(40, 10, rows)),
            "kind": pd.Categorical(
                np.where(draw.random(rows) < 0.2, None, draw.choice(["x", "y"], rows))
            ),
        }
    )
    y = X["level"].cat.codes * np.where(X["member"], 5, -5) + X["age"].fillna(0) / 10 * (
        X["kind"] == "x"
    )
    return X, y


@pytest.fixture(scope="module")
def grouped():
    X, y = mixed()
    model = HistGradientBoostingRegressor(
        max_iter=20, min_samples_leaf=5, categorical_features="from_dtype"
    ).fit(X, y)
    return gx.Granite(model, max_depth=1).fit(X), X, y


def test_levels_missing_values_and_truth_values_have_their_names_on_the_axis(grouped):
    g, X, y = grouped
    drawn(all_displays(g, X, y, pair=("kind", "age"))[1:])
    display = gx.EffectDisplay.from_estimator(g, X, features=list(X), max_curves=5).plot()

    def labels(row):
        return [tick.get_text() for tick in display.axes_[row, 0].get_xticklabels()]

    assert labels(0) == ["low", "mid", "high"]
    assert labels(2) == ["False", "True"]
    assert labels(3)[-1] == "missing"
    assert labels(4) == ["x", "y", "missing"]
    towns = labels(1)
    assert towns[-1] == "18 rare levels"
    assert len(set(towns)) == 13
    lines = display.frame()
    kinds = lines.query("feature == 'kind' and explanation == 'pdp'")
    assert set(kinds["level"]) == {"x", "y", "missing"}
    age = lines.query("feature == 'age' and explanation == 'pdp' and level == 'missing'")
    assert (age["x"] > X["age"].max()).all()


def test_a_pure_effect_at_missing_values_is_that_of_the_explanation(grouped):
    g, X, _ = grouped
    lines = gx.EffectDisplay.from_estimator(g, X, features=["age"]).frame()
    values = g.explain(X).frame().query("set == 'age' and explanation == 'pdp'")
    missing = X["age"].isna().to_numpy()
    for region in range(len(g.partition_)):
        own = values[values["region"] == region]
        expected = own["value"].to_numpy()[missing[own["row"].to_numpy(int)]]
        drawn = lines[lines["region"] == region].query(
            "explanation == 'pdp' and level == 'missing'"
        )["value"]
        np.testing.assert_allclose(expected, drawn.iloc[0], atol=1e-12)


def test_shap_points_name_levels_and_missing_values(grouped):
    g, X, _ = grouped
    display = gx.EffectDisplay.from_estimator(g, X, features=["kind", "age"], explanations="shap")
    points = display.frame().query("shape == 'points' and feature == 'kind'")
    assert set(points["level"]) == {"x", "y", "missing"}
    drawn([display])


def test_dates_and_durations():
    draw = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "day": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(draw.integers(0, 700, 60), unit="D"),
            "wait": pd.to_timedelta(draw.integers(0, 100, 60), unit="h"),
            "x": draw.normal(size=60),
        }
    )

    def model(X):
        return np.where(X["day"] > pd.Timestamp("2021-01-01"), X["x"], -X["x"]) + X["wait"].dt.days

    g = gx.Granite(model, max_depth=1).fit(X)
    display = gx.EffectDisplay.from_estimator(
        g, X, features=["day", "wait"], max_curves=5, points=10
    )
    drawn([display, gx.InteractionDisplay.from_estimator(g, X, pair=("day", "wait"), points=5)])
    levels = display.frame().query("feature == 'day' and explanation == 'pdp'")["level"]
    assert levels.str.startswith("202").all()


def test_frames_come_in_the_library_of_the_table(bike):
    X = pl.from_pandas(bike.rows)
    g = gx.Granite(lambda X: X["hr"].to_numpy() * X["workingday"].to_numpy(), max_depth=1).fit(X)
    for display in all_displays(g, X, pair=("hr", "temp")):
        assert isinstance(display.frame(), pl.DataFrame)
        display.plot()


def test_one_region_is_one_panel_and_its_headline_says_so():
    X = np.random.default_rng(0).normal(size=(50, 2))
    g = gx.Granite(lambda X: X[:, 0] + X[:, 1]).fit(X)
    effect, importance, network, tree = drawn(all_displays(g, X))
    assert effect.axes_.shape == (2, 1)
    assert "one region" in effect.figure_._suptitle.get_text()
    assert len(importance.axes_) == len(network.axes_) == 1
    assert "The explanations agree" in tree.figure_._suptitle.get_text()
    importance.plot(kind="layered")
    mine = plt.figure().add_subplot()
    assert importance.plot(ax=mine).axes_.tolist() == [mine]


@pytest.mark.slow
def test_many_regions_wrap_into_lines():
    X = np.random.default_rng(0).normal(size=(250, 2))
    g = gx.Granite(
        lambda X: np.round(3 * np.sin(3 * X[:, 0])) * X[:, 1], max_depth=4, alpha=0.0
    ).fit(X)
    assert len(g.partition_) >= 9
    effect = drawn([gx.EffectDisplay.from_estimator(g, X, features=["x1"], max_curves=5)])[0]
    assert effect.axes_.shape == (1, len(g.partition_) + 1)
    columns = {round(ax.get_position().x0, 3) for ax in effect.axes_[0]}
    assert len(columns) <= 5
    layered = gx.ImportanceDisplay.from_estimator(g, X).plot(kind="layered")
    looks = {(patch.get_facecolor(), patch.get_hatch()) for patch in layered.axes_[1].patches}
    assert len(looks) == len(g.partition_)
    drawn([gx.PartitionDisplay.from_estimator(g)])


def test_a_region_of_few_rows_is_flagged(bike):
    display = gx.ImportanceDisplay.from_estimator(bike, bike.rows[:12]).plot()
    assert "(few)" in display.axes_[0].get_title(loc="left")


def test_a_probability_is_named(bike):
    model = HistGradientBoostingClassifier(max_iter=10).fit(bike.rows, bike.y > np.median(bike.y))
    g = gx.Granite(model, max_depth=1).fit(bike.rows)
    label = gx.EffectDisplay.from_estimator(g, bike.rows).plot().axes_[0, 0].get_ylabel()
    assert "probability" in label


@pytest.fixture(scope="module")
def hostile():
    draw = np.random.default_rng(0)
    X = pd.DataFrame(draw.normal(size=(80, len(HOSTILE))), columns=HOSTILE)
    X[HOSTILE[0]] = pd.Categorical(draw.choice(HOSTILE, 80))

    def model(X):
        return X[HOSTILE[1]].to_numpy() * (X[HOSTILE[4]].to_numpy() > 0)

    return gx.Granite(model, max_depth=1).fit(X), X


def test_hostile_names_are_shown_as_they_are(hostile):
    """No formula, no escape sequence, no hidden direction mark; long names are cut (S05, S07)."""
    g, X = hostile
    displays = [
        gx.EffectDisplay.from_estimator(g, X, features=HOSTILE[:3], max_curves=2, points=3),
        gx.ImportanceDisplay.from_estimator(g, X, features=HOSTILE, max_features=20),
        gx.InteractionDisplay.from_estimator(g, X, features=HOSTILE[5:]),
        gx.InteractionDisplay.from_estimator(g, X, pair=(HOSTILE[0], HOSTILE[4]), points=4),
        gx.PartitionDisplay.from_estimator(g),
    ]
    for display in drawn(displays):
        for text in display.figure_.findobj(mpl.text.Text):
            words = text.get_text()
            assert all(c.isprintable() or c == "\n" for c in words)
            assert not mpl.cbook.is_math_text(words) or "mathdefault" in words
            assert max(map(len, words.split("\n"))) <= 110
    assert set(displays[1].frame()["set"]) == set(HOSTILE)


def test_tex_never_sees_a_name(hostile):
    g, X = hostile
    display = gx.ImportanceDisplay.from_estimator(g, X)
    with mpl.rc_context({"text.usetex": True}):
        figure = display.plot().figure_
        named = [text for text in figure.findobj(mpl.text.Text) if text.get_text()]
        assert named
        assert not any(text.get_usetex() for text in named)


def test_a_loaded_estimator_is_shown_like_the_saved_one(grown, toy, tmp_path):
    gx.save(grown, tmp_path / "g.json")
    loaded = gx.load(tmp_path / "g.json", model=toy.model)
    for kind in (gx.EffectDisplay, gx.ImportanceDisplay, gx.InteractionDisplay):
        pd.testing.assert_frame_equal(
            *(kind.from_estimator(g, toy.X).frame() for g in (grown, loaded))
        )
    pd.testing.assert_frame_equal(
        *(gx.PartitionDisplay.from_estimator(g).frame() for g in (grown, loaded))
    )


def test_the_surface_of_a_pair_needs_no_target(bike):
    g = gx.Granite(bike.model, "pfi-risk", max_depth=1).fit(bike.rows, bike.y)
    surface = gx.InteractionDisplay.from_estimator(g, bike.rows, pair=("hr", "temp"), points=3)
    assert len(surface.frame()) > 0
