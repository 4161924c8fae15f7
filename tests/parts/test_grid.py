"""Columns at a few values of their own: what is measured there, what it costs, what has no grid."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

import granite_xai as gx
import oracle as o
from parts.test_search import check as check_tree, growth
from strategies import (
    behaviors,
    cases,
    examples,
    interactions,
    is_defined,
    maskings,
    paper,
    questions,
    quiet,
)
from use.test_questions import check as check_measure

SINGLE = [name for name in o.NAMED if "shap" not in name and "sage" not in name]


@pytest.mark.parametrize("question", ["sobol", "csobol-sobol", "ice-pdp", "cfi-pfi"])
def test_of_two_columns_the_one_without_a_grid_is_measured_exactly(question):
    """To hide x0 is to show x1, which has a grid; but only in the gap of x1 is x1 snapped."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 60), rng.normal(size=60)])
    with quiet():
        found = [
            paper(
                lambda X: X[:, 0] * np.exp(X[:, 1]),
                question,
                features=["x0"],
                resources=gx.Resources(max_grid=grid),
            )
            .fit(X, X.sum(axis=1))
            .disagreement_
            for grid in (None, 3)
        ]
    assert found[0] == pytest.approx(found[1], rel=1e-12) != 0.0


@pytest.fixture(scope="module")
def normal():
    return np.random.default_rng(0).normal(size=(400, 4))


def product(X):
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + (X[:, 3] > 0) * X[:, 2]


@pytest.mark.parametrize("question", ["ice-pdp", "sobol"])
def test_additive_models_stay_at_zero_on_any_grid(normal, question):
    model = lambda X: X[:, 0] ** 3 + np.sin(X[:, 1]) + X[:, 2]  # noqa: E731
    granite = paper(model, question, resources=gx.Resources(max_grid=5)).fit(normal)
    assert len(granite.partition_) == 1
    assert granite.remaining_ == 0.0


def test_the_cost_is_the_grid_times_the_rows_and_the_error_is_reported(normal):
    granite = paper(product, resources=gx.Resources(max_grid=64)).fit(normal)
    exact = paper(product).fit(normal)
    note = granite.diagnostics_["max_grid"]
    assert note["columns"] == {f"x{i}": 64 for i in range(4)}
    # The grid and its ends, the rows themselves, and the exact gaps of some rows: planned beforehand. Then the probe.
    assert note["rows"] == 160  # the square root of 64 times 400: no more than the fit itself
    planned = granite.diagnostics_["plan"]["model_rows"]
    asked = 4 * 64 * 400 + 2 * 4 * 400 + 400 + 4 * 160**2
    assert asked < planned <= asked + 5 * 64
    assert asked < granite.diagnostics_["model"]["rows"] <= planned + 160
    assert granite.diagnostics_["bytes"] == 8 * 4 * 64 * 400
    gaps = note["gaps"]["ice-pdp"]
    assert 0 < gaps["rms_difference"] < 0.2 * gaps["rms_gap"]
    assert granite.disagreement_ == pytest.approx(exact.disagreement_, rel=0.05)
    assert "max_grid" not in exact.diagnostics_


def test_a_grid_as_fine_as_the_column_changes_nothing(normal):
    granite, exact = (
        paper(product, resources=gx.Resources(max_grid=g)).fit(normal) for g in (400, None)
    )
    assert str(granite.partition_) == str(exact.partition_)
    assert granite.remaining_ == exact.remaining_


def test_an_additive_model_of_straight_lines_is_its_own_surrogate_on_any_grid(normal):
    granite = paper(lambda X: X @ [1.0, -2.0, 0.5, 3.0], resources=gx.Resources(max_grid=4)).fit(
        normal
    )
    assert granite.fidelity_ == pytest.approx(1.0, abs=1e-12)


def test_missing_values_and_nominal_columns_keep_their_own_line():
    chance = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "a": chance.normal(size=60),
            "b": chance.choice(list("xyz"), 60),
            "c": chance.normal(size=60),
        }
    )
    X.loc[::7, "a"] = np.nan
    model = lambda X: X["a"].fillna(3.0) * (X["b"] == "x") + X["c"] * X["a"].isna()  # noqa: E731
    granite = paper(model, missing="allow", resources=gx.Resources(max_grid=4)).fit(X)
    assert granite.diagnostics_["max_grid"]["columns"] == {
        "a": 5,
        "c": 4,
    }  # four values and missing
    assert np.isfinite(granite.predict(X)).all()


def test_other_rows_are_measured_on_their_own_grid(normal):
    other = np.random.default_rng(5).normal(size=(500, 4))
    fits = [paper(product, resources=gx.Resources(max_grid=g)).fit(normal) for g in (32, None)]
    found, exact = (granite.evaluate(other).global_disagreement for granite in fits)
    assert found != exact
    assert found == pytest.approx(exact, rel=0.05)
    assert len(fits[0].explain(other[:50]).frame()) == 50 * 4 * 2


def test_explained_gaps_are_those_that_are_measured(normal):
    """The same grid in fit, evaluate and explain: squared gaps, weighted by the regions, are the disagreement."""
    granite = paper(product, resources=gx.Resources(max_grid=8)).fit(normal)
    explained = granite.explain(normal, reference="rows")
    gaps = explained.of("ice") - explained.of("pdp")
    assert len(granite.partition_) > 1
    assert np.mean(np.sum(gaps**2, axis=1)) == pytest.approx(
        granite.evaluate(normal).disagreement, rel=1e-10
    )


@pytest.mark.parametrize("row", ["mean", "median"])
def test_baselines_are_on_the_grid_in_fit_and_on_other_rows_alike(normal, row):
    sides = [
        gx.Explainer(gx.Baseline(row), interaction=interaction) for interaction in ("full", "pure")
    ]
    granite = paper(
        product, gx.Disagreement(*sides), max_depth=0, resources=gx.Resources(max_grid=8)
    ).fit(normal)
    exact = paper(product, gx.Disagreement(*sides), max_depth=0).fit(normal)
    assert granite.disagreement_ != exact.disagreement_
    assert granite.evaluate(normal).global_disagreement == pytest.approx(
        granite.disagreement_, rel=1e-10
    )


def test_effects_that_read_columns_on_a_grid_beside_their_own_are_refused(normal):
    """Also where the compared column itself has few values: its partial effect reads the others."""
    X = normal.copy()
    X[:, 3] = np.round(X[:, 3])
    for question in ("shap-pdp", "ice-shap", "cshap-shap", "sage-risk"):
        granite = paper(product, question, features=[3], resources=gx.Resources(max_grid=16))
        with pytest.raises(gx.InputError, match="P03"):
            granite.fit(X, X.sum(axis=1))


def test_pairs_of_columns_with_few_values_stay_exact_beside_a_grid(normal):
    X = normal.copy()
    X[:, :2] = np.round(X[:, :2])
    for width in (3, 4):
        model = lambda X: X[:, 0] * X[:, 1] * X[:, 2]  # noqa: E731
        options = {"influence": "interaction", "features": [(0, 1)], "max_depth": 1}
        found, exact = (
            paper(model, resources=gx.Resources(max_grid=g), **options).fit(X[:, :width])
            for g in (16, None)
        )
        assert found.disagreement_ == pytest.approx(exact.disagreement_, rel=1e-12)


@pytest.mark.parametrize("question", ["ice-pdp", "mplot-pdp", "sobol"])
def test_a_group_beside_one_column_on_a_grid_stays_exact(normal, question):
    model = lambda X: X[:, 0] * X[:, 1] * X[:, 2]  # noqa: E731
    options = {"influence": "joint", "groups": {"pair": [0, 1]}, "features": ["pair"]}
    with quiet():
        found, exact = (
            paper(model, question, resources=gx.Resources(max_grid=g), **options).fit(normal[:, :3])
            for g in (16, None)
        )
    assert found.disagreement_ == pytest.approx(exact.disagreement_, rel=1e-12)


def test_the_check_of_a_grid_is_planned_before_the_model_is_asked(normal):
    """Its rows count towards max_evaluations, and there are never more of them than the fit itself has."""
    calls = []
    limits = gx.Resources(max_grid=2, max_evaluations=4000)
    with pytest.raises(gx.ResourceError, match="M13"):
        paper(lambda X: calls.append(len(X)) or product(X), resources=limits).fit(normal)
    assert sum(calls) <= 5 * 64  # the probe
    granite = paper(product, resources=gx.Resources(max_grid=2)).fit(normal)
    assert granite.diagnostics_["max_grid"]["rows"] == 28  # the square root of 2 times 400


@pytest.mark.slow
def test_the_report_draws_curves_between_the_values_of_a_grid(normal):
    frame = pd.DataFrame(normal, columns=list("abcd"))
    model = lambda X: np.sin(3 * X["a"]) + X["b"] * X["c"]  # noqa: E731
    report = gx.explain(model, frame, resources=gx.Resources(max_grid=8))
    assert report.granite.diagnostics_["plan"]["values"] == dict.fromkeys("abcd", 8)
    written = next(one for one in json.loads(report.json())["curves"] if one["features"] == ["a"])
    # The curve of the region, between the values of the grid as G is.
    inside = np.isin(report.granite.apply(frame), written["regions"])
    places = np.array(written["places"], dtype=float)
    own = frame[inside].iloc[[0] * len(places)]
    wanted = report.granite.predict(own.assign(a=places))
    effects = np.array(written["effects"], dtype=float)
    assert len(places) > 20
    np.testing.assert_allclose(effects - effects[0], wanted - wanted[0], atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"question": "shap-pdp"},
        {"question": "sage-risk"},
        {"question": "coe"},
        {"question": "ice-pdp", "influence": "interaction"},
    ],
)
def test_P03_what_reads_other_columns_one_by_one_has_no_grid(normal, options):
    calls = []
    granite = paper(
        lambda X: calls.append(1) or X[:, 0], resources=gx.Resources(max_grid=16), **options
    )
    with pytest.raises(gx.InputError, match="P03.*max_grid") as caught:
        granite.fit(normal[:50], normal[:50].sum(axis=1))
    assert caught.value.argument == "max_grid"
    assert not calls
    X = np.round(normal[:50])  # at most 16 values a column: nothing to snap, nothing to refuse
    with quiet():
        granite.fit(X, X.sum(axis=1))


def test_groups_of_several_columns_stay_exact_beside_columns_on_a_grid(normal):
    options = {"influence": "joint", "groups": {"pair": [0, 1]}}
    granite = paper(product, resources=gx.Resources(max_grid=16), **options).fit(normal)
    exact = paper(product, **options).fit(normal)
    assert granite.diagnostics_["max_grid"]["columns"] == {f"x{i}": 16 for i in range(4)}
    assert granite.disagreement_ == pytest.approx(exact.disagreement_, rel=0.05)


X = np.random.default_rng(15).normal(size=(300, 2))


def note_of(model, max_grid):
    limits = gx.Resources(max_grid=max_grid)
    g = gx.Granite(model, confidence_level=None, max_depth=0, resources=limits).fit(X)
    return g.diagnostics_["max_grid"]


def smooth(X):
    return X[:, 0] * X[:, 1]


def test_a_finer_grid_is_nearer_to_the_exact_gaps():
    coarse, fine = (note_of(smooth, size)["gaps"]["ice-pdp"] for size in (4, 32))
    assert coarse["rms_difference"] / coarse["rms_gap"] > 0.1
    assert fine["rms_difference"] / fine["rms_gap"] < 0.1


def test_the_note_names_the_columns_on_a_grid_and_the_rows():
    note = note_of(smooth, 8)
    assert note["columns"] == {"x0": 8, "x1": 8}
    assert 0 < note["rows"] <= 300


def test_a_side_that_agrees_is_exactly_at_its_floor():
    """Sums of one side are not the difference of large numbers: a side without interaction stays at rounding."""
    chance = np.random.default_rng(1)
    X = np.column_stack([chance.integers(0, 2, 400), chance.normal(size=(400, 2))]).astype(float)
    model = lambda X: X[:, 1] + 1e3 * X[:, 0] * X[:, 1] * X[:, 2]  # noqa: E731
    granite = paper(model, max_depth=1, split_features=[0]).fit(X)
    assert [str(region.rule) for region in granite.partition_] == ["x0 ≤ 0", "x0 > 0"]
    first, second = granite.partition_
    assert first.stop_reason == "nothing to explain"
    assert first.disagreement < 1e-25
    assert second.disagreement > 0.1


@pytest.mark.parametrize("name", SINGLE)
@given(data=st.data())
@examples(10)
def test_a_question_on_a_grid_is_the_exact_question_about_snapped_columns(name, data):
    case = data.draw(cases(min_columns=2, max_columns=3, weighted=None, missing=None))
    size = data.draw(st.integers(2, 4))
    question, asked, options = data.draw(
        questions(case, name, data.draw(st.sampled_from(["squared", "absolute"])))
    )
    assume(asked.first.influence == "individual")
    resources = gx.Resources(max_grid=size)
    check_measure(case, question, o.replace(asked, max_grid=size), resources=resources, **options)


@given(data=st.data())
@examples(40)
def test_any_two_pure_or_full_effects_of_columns_can_be_compared_on_a_grid(data):
    case = data.draw(cases(min_columns=2, max_columns=3, weighted=None, missing=None))
    size = data.draw(st.integers(2, 4))
    behavior, shared = data.draw(
        st.sampled_from(["local", "sensitivity", "risk"]).flatmap(behaviors)
    )
    sides, words = [], []
    for _ in range(2):
        masking, about_masking = data.draw(maskings(case))
        interaction, about_interaction = data.draw(
            st.sampled_from(["pure", "full"]).flatmap(interactions)
        )
        words.append({**about_masking, **about_interaction, **shared, "influence": "individual"})
        assume(is_defined(words[-1]))
        sides.append(gx.Explainer(masking, behavior, interaction))
    assume((sides[0].masking, sides[0].interaction) != (sides[1].masking, sides[1].interaction))
    asked = o.Question(o.Setting(**words[0]), o.Setting(**words[1]), max_grid=size)
    check_measure(case, gx.Disagreement(*sides), asked, resources=gx.Resources(max_grid=size))


@pytest.mark.parametrize("name", ["ice-pdp", "mplot-pdp", "sobol", "cfi-pfi"])
@given(data=st.data())
@examples(8)
def test_the_tree_on_a_grid_is_that_of_the_loop(name, data):
    case = data.draw(cases(min_rows=6, max_rows=10, min_columns=2, max_columns=3, weighted=None))
    size = data.draw(st.integers(2, 3))
    question, asked, options = data.draw(questions(case, name, "squared"))
    assume(asked.first.influence == "individual")
    grown = data.draw(growth(case))
    words = {**options, **grown, "resources": gx.Resources(max_grid=size)}
    check_tree(case, question, o.replace(asked, max_grid=size), words, grown, floors_too=False)
