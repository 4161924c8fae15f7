"""Outputs with names and an order: forecasts, survival at several times, risk where rows are censored."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import granite_xai as gx
from granite_xai.models import as_predictor
from granite_xai.models.targets import read_target
from granite_xai.tables import read_table

N = 240
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.integers(-3, 4, size=(N, 3)) / 3.0, columns=["a", "b", "c"])
TIMES = [0.25, 0.5, 1.0]
NAMES = ("t = 0.25", "t = 0.5", "t = 1")
ROWS = {"holdout": False, "max_samples": None, "min_samples_leaf": 10, "max_depth": 2}


def rates(X):
    return np.exp(np.asarray(X["a"]) * np.where(np.asarray(X["b"]) > 0, 1.0, -1.0))


EVENTS = RNG.exponential(1.0 / rates(X)).round(2)
CENSORINGS = RNG.exponential(1.5, size=N).round(2)
UNTIL = np.minimum(EVENTS, CENSORINGS)
HAPPENED = EVENTS <= CENSORINGS
Y = np.array(list(zip(HAPPENED, UNTIL, strict=True)), dtype=[("dead", bool), ("days", float)])
STEPS = np.linspace(0.0, 4.0, 401)


class Lifelines:
    """Answers with a frame, times by rows, and sorts its columns as models with strata do."""

    durations = pd.Series(UNTIL)

    def predict_survival_function(self, X, times=None):
        index = X.index[np.argsort(rates(X), kind="stable")]
        curves = pd.DataFrame(np.exp(-np.outer(times, rates(X))), index=times, columns=X.index)
        return curves[index]


class Frame:
    """Answers with a frame whose index has the times of the fit."""

    def predict_survival_function(self, X):
        return pd.DataFrame(np.exp(-np.outer(STEPS, rates(X))), index=STEPS)


class Forest:
    """Answers with step functions or with arrays, as scikit-survival does."""

    unique_times_ = STEPS

    def predict_survival_function(self, X, return_array=False):
        curves = np.exp(-np.outer(rates(X), STEPS))
        return curves if return_array else step_functions(curves)


class Pipeline:
    """Answers with step functions, and does not tell its times."""

    def predict_survival_function(self, X, **options):
        return step_functions(np.exp(-np.outer(rates(X), STEPS[10:])), STEPS[10:])


def step_functions(curves, x=STEPS):
    class Step(SimpleNamespace):
        def __call__(self, t):
            if np.max(t) > x[-1] or np.min(t) < x[0]:
                raise ValueError("out of the domain")
            return self.y[np.searchsorted(x, t, side="right") - 1]

    return np.array([Step(x=x, y=y) for y in curves], dtype=object)


LIKE = {"lifelines": Lifelines(), "frame": Frame(), "arrays": Forest(), "steps": Pipeline()}


@pytest.mark.parametrize("name", LIKE)
def test_survival_functions_of_any_kind_are_read_at_the_times(name):
    model = gx.survival(LIKE[name], TIMES)
    expected = np.exp(-np.outer(rates(X), TIMES))
    np.testing.assert_allclose(model(X), expected, rtol=1e-12)
    g = gx.Granite(model, output="all", **ROWS).fit(X)
    assert g.outputs_ == NAMES
    assert [str(rule) for rule in g.partition_.rules] == ["b ≤ 0", "b > 0"]
    assert g.of_output("t = 1").partition_ is not None
    first_line, *_ = str(g).splitlines()
    assert first_line == "The effect of a on the probability of survival depends on b."
    assert "t = 0.5: rows stray ±" in str(g)
    assert "the probability of survival at t = 1 depends on b" in str(g.of_output("t = 1"))


def test_before_the_first_step_everybody_is_alive():
    values = gx.survival(Pipeline(), [0.05, 0.5])(X)
    np.testing.assert_array_equal(values[:, 0], 1.0)
    np.testing.assert_allclose(values[:, 1], np.exp(-0.5 * rates(X)), rtol=1e-12)


@pytest.mark.parametrize("name", LIKE)
def test_T11_a_time_beyond_the_last_one_of_the_model_is_named(name):
    with pytest.raises(gx.InputError, match=r"T11: times: .*7.* beyond the last observed"):
        gx.survival(LIKE[name], [1.0, 7.0])(X)


@pytest.mark.parametrize("times", [[], [1.0, 1.0], [2.0, 1.0], [-1.0], [math.nan], [[1.0], [2.0]]])
def test_P02_times_increase(times):
    with pytest.raises(gx.InputError, match="P02: times=.*in increasing order"):
        gx.survival(Forest(), times)


def test_M21_what_has_no_survival_function_is_refused():
    with pytest.raises(gx.ModelError, match="M21: .*predict_survival_function"):
        gx.survival(SimpleNamespace(predict=abs), TIMES)
    with pytest.raises(gx.ModelError, match="M21"):
        gx.outputs(3, ["a"])


# Names and axes -----------------------------------------------------------------------------------------------------


def forecasts(X):
    near = np.asarray(X["a"]) * np.where(np.asarray(X["b"]) > 0, 1.0, -1.0)
    return np.column_stack([near, 2.0 * near, np.asarray(X["c"])])


def test_outputs_of_a_function_have_the_names_that_they_are_given():
    model = gx.outputs(forecasts, [1, 6, 24], axis="horizon")
    g = gx.Granite(model, output="all", **ROWS).fit(X)
    plain = gx.Granite(forecasts, output="all", **ROWS).fit(X)
    assert g.outputs_ == (1, 6, 24)
    assert g.remaining_ == plain.remaining_
    assert str(g).startswith("The effect of a on the prediction at each horizon depends on b.")
    one = gx.Granite(model, output=6, **ROWS).fit(X)
    assert one.disagreement_ == g.of_output(6).disagreement_
    assert str(one).startswith("The effect of a on the prediction at horizon 6 depends on b.")
    with pytest.raises(gx.ModelError, match=r"M02.*1, 6, 24"):
        gx.Granite(model, **ROWS).fit(X)
    with pytest.raises(gx.InputError, match=r"P01.*1, 6, 24"):
        gx.Granite(model, output=2, **ROWS).fit(X)
    with pytest.raises(gx.ModelError, match="M03: .*3 columns for 2 names"):
        gx.Granite(gx.outputs(forecasts, ["x", "y"]), output="all").fit(X)


def test_an_estimator_has_the_outputs_of_its_predict():
    model = gx.outputs(SimpleNamespace(predict=forecasts), ["near", "far", "other"])
    g = gx.Granite(model, output="far", **ROWS).fit(X)
    assert str(g).startswith("The effect of a on predicted far depends on b.")


@pytest.mark.parametrize("names", [[], "ab", ["a", "a"], [1, "a"], [True, False], [None]])
def test_P02_names_differ(names):
    with pytest.raises(gx.InputError, match="P02: names="):
        gx.outputs(forecasts, names)


def test_P02_numbers_along_an_axis_increase():
    with pytest.raises(gx.InputError, match="P02: names=.*order of the axis"):
        gx.outputs(forecasts, [6, 1, 24], axis="horizon")


# Risk with censoring ------------------------------------------------------------------------------------------------


def brier_by_hand(survival, until, happened, t, weights):
    """Graf's score at t: each row by 1 / G, the probability not to be censored, estimated by Kaplan and Meier."""

    def not_censored(moment, including):
        probability = 1.0
        for u in sorted(set(until)):
            if u > moment or (u == moment and not including):
                break
            leave = at_risk = 0.0
            for time, event, weight in zip(until, happened, weights, strict=True):
                if time > u or (time == u and not event):
                    at_risk += weight
                if time == u and not event:
                    leave += weight
            if at_risk:
                probability *= 1.0 - leave / at_risk
        return probability

    total = 0.0
    for s, time, event, weight in zip(survival, until, happened, weights, strict=True):
        if time > t:
            total += weight * (1.0 - s) ** 2 / not_censored(t, including=True)
        elif event:
            total += weight * s**2 / not_censored(time, including=False)
    return total / sum(weights)


WEIGHTS = RNG.integers(1, 4, size=N).astype(float)


@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS], ids=["plain", "weighted"])
def test_risk_is_the_brier_score_with_weights_for_censoring(weights):
    """The Brier score of the model, and that without any column, make up the joint risk of all columns."""
    table = read_table(X, missing="error")
    S = np.exp(-np.outer(rates(X), TIMES))
    for place, (name, t) in enumerate(zip(NAMES, TIMES, strict=True)):
        predictor = as_predictor(gx.survival(Forest(), TIMES), output=name)
        codes = read_target(Y, table, predictor, weights=weights)
        loss = gx.Risk().resolved(is_probability=True, is_survival=True)._loss
        found = np.average(loss.of_predictions(S[:, place], codes), weights=weights)
        expected = brier_by_hand(S[:, place], UNTIL, HAPPENED, t, weights)
        assert found == pytest.approx(expected, rel=1e-10)
        assert np.sum(codes == 0) == np.sum((t >= UNTIL) & ~HAPPENED)


def test_importance_of_all_columns_is_the_brier_score_without_them_less_that_of_the_model():
    S = np.exp(-rates(X) * 0.5)
    model = gx.survival(Lifelines(), [0.5])
    explainer = gx.Explainer("marginal", "risk", "full", gx.Joint({"all": ["a", "b", "c"]}))
    found = explainer.explain(model, X, Y).values
    ones = np.ones(N)
    without = brier_by_hand(np.full(N, S.mean()), UNTIL, HAPPENED, 0.5, ones)
    expected = without - brier_by_hand(S, UNTIL, HAPPENED, 0.5, ones)
    assert np.ravel(found)[0] == pytest.approx(expected, rel=1e-6)


TARGETS = {
    "structured": Y,
    "pandas": pd.DataFrame({"time": UNTIL, "event": HAPPENED}),
    "polars": pl.DataFrame({"event": HAPPENED.astype(int), "time": UNTIL}),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_events_and_times_are_read_from_arrays_and_frames(kind):
    model = gx.survival(Forest(), TIMES)
    g = gx.Granite(model, "pfi-risk", output="all", **ROWS).fit(X, TARGETS[kind])
    expected = gx.Granite(model, "pfi-risk", output="all", **ROWS).fit(X, Y)
    assert g.remaining_ == expected.remaining_
    assert g.disagreements_ == expected.disagreements_
    alone = gx.Granite(model, "pfi-risk", output="t = 1", **ROWS).fit(X, Y)
    assert alone.disagreement_ == pytest.approx(g.disagreements_["pfi-risk of t = 1"], rel=1e-12)


def test_a_weight_is_that_many_rows():
    model = gx.survival(Forest(), TIMES)
    repeated = np.repeat(np.arange(N), WEIGHTS.astype(int))
    weighted = gx.Granite(model, "pfi-risk", output="all", **ROWS).fit(X, Y, sample_weight=WEIGHTS)
    longer = X.iloc[repeated].reset_index(drop=True)
    options = ROWS | {"min_samples_leaf": 10}
    g = gx.Granite(model, "pfi-risk", output="all", **options).fit(longer, Y[repeated])
    assert weighted.disagreements_ == pytest.approx(g.disagreements_, rel=1e-9)


@pytest.mark.parametrize(
    ("y", "code", "text"),
    [
        (UNTIL, "T04", "does not say when"),
        (Y[:-1], "T02", "239 values"),
        (pd.DataFrame({"event": 2 * HAPPENED, "time": UNTIL}), "T05", "neither 0 nor 1"),
        (
            pd.DataFrame({"event": HAPPENED, "time": np.where(UNTIL > 1, np.nan, UNTIL)}),
            "T03",
            "row",
        ),
        (pd.DataFrame({"event": HAPPENED, "time": np.minimum(UNTIL, 0.9)}), "T11", "1.0 beyond"),
        (pd.DataFrame({"event": HAPPENED, "days": UNTIL}), "T04", "does not say when"),
        (None, "T01", "needs y"),
    ],
)
def test_a_target_that_does_not_say_who_is_censored_is_refused(y, code, text):
    model = gx.survival(Forest(), TIMES)
    with pytest.raises(gx.InputError, match=f"{code}: .*{text}"):
        gx.Granite(model, "pfi-risk", output="all", **ROWS).fit(X, y)


def test_P03_other_losses_say_nothing_of_censored_rows():
    question = gx.question("pfi-risk", risk_loss="absolute")
    with pytest.raises(gx.InputError, match="P03: the loss 'absolute' is not one of censored rows"):
        gx.Granite(gx.survival(Forest(), TIMES), question, output="all", **ROWS).fit(X, Y)


def test_a_fit_of_survival_is_saved_judged_and_reported(tmp_path):
    model = gx.survival(Forest(), TIMES)
    options = ROWS | {"holdout": 0.4}
    g = gx.Granite(model, ["ice-pdp", "pfi-risk"], output="all", **options)
    g.fit(X, Y, clusters=np.arange(N) // 2)
    assert np.isfinite(g.evaluate(X.iloc[:120], Y[:120], clusters=np.arange(120)).remaining)
    assert np.isfinite(g.explain(X, Y, output="t = 0.5").values).all()
    gx.save(g, tmp_path / "fit.json")
    for loaded in (gx.load(tmp_path / "fit.json"), gx.load(tmp_path / "fit.json", model=model)):
        assert str(loaded.partition_) == str(g.partition_)
        assert loaded.outputs_ == NAMES
    assert loaded.evaluate(
        X.iloc[:120], Y[:120], clusters=np.arange(120)
    ).remaining == pytest.approx(
        g.evaluate(X.iloc[:120], Y[:120], clusters=np.arange(120)).remaining
    )
    page = gx.explain(g, X, TARGETS["pandas"]).html()
    assert "t = 0.25" in page
    assert "the probability of survival" in page


# The libraries themselves -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["forest", "cox"])
def test_scikit_survival(name):
    datasets = pytest.importorskip("sksurv.datasets")
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    X, y = datasets.load_whas500()
    X = X.astype(float)
    models = {
        "forest": RandomSurvivalForest(20, min_samples_leaf=15, random_state=0),
        "cox": CoxPHSurvivalAnalysis(alpha=1.0),
    }
    model = models[name].fit(X, y)
    times = [30.0, 180.0, 365.0, 730.0, 1460.0]
    expected = np.array([curve(times) for curve in model.predict_survival_function(X)])
    asked = gx.survival(model, times)
    np.testing.assert_allclose(asked(X), expected, rtol=1e-12)
    g = gx.Granite(asked, "pfi-risk", output="all", max_samples=100).fit(X, y)
    assert g.outputs_ == ("t = 30", "t = 180", "t = 365", "t = 730", "t = 1460")
    with pytest.raises(gx.InputError, match="T11"):
        gx.survival(model, [1e6])


@pytest.mark.slow
def test_lifelines():
    lifelines = pytest.importorskip("lifelines")
    frame = X.assign(until=UNTIL, happened=HAPPENED, group=(X["c"] > 0).astype(int)).drop(
        columns="c"
    )
    for strata in (None, ["group"]):
        model = lifelines.CoxPHFitter(strata=strata).fit(frame, "until", "happened")
        columns = frame[["a", "b", "group"]]
        asked = gx.survival(model, TIMES)
        for row in (0, 7, 100):
            one = model.predict_survival_function(columns.iloc[[row]], times=TIMES).to_numpy()
            np.testing.assert_allclose(asked(columns)[row], one.ravel(), rtol=1e-9)
        assert gx.Granite(asked, output="all", **ROWS).fit(columns).outputs_ == NAMES


def test_functions_without_their_times_are_refused():
    class Callables:
        def predict_survival_function(self, X):
            return [lambda times: np.ones(len(times))] * len(X)

    model = gx.survival(Callables(), times=[1.0, 2.0])
    with pytest.raises(gx.ModelError, match="M03.*whose times are not known"):
        gx.Granite(model, output="all").fit(pd.DataFrame({"a": np.arange(40.0)}))


def test_the_report_of_all_times_shows_effects_along_time():
    class Steps:
        x = np.arange(0.0, 21.0)

        def __init__(self, hazard):
            self.hazard = hazard

        def __call__(self, times):
            return np.exp(-self.hazard * np.asarray(times))

    class Model:
        def predict_survival_function(self, X):
            hazard = np.exp(0.8 * X["a"] * np.sign(X["b"])) / 20
            return [Steps(one) for one in hazard]

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    g = gx.Granite(gx.survival(Model(), times=[2, 5, 10]), output="all", max_depth=1).fit(X)
    page = g.report(X).html()
    assert 'class="over"' in page
    assert "over time" in page
