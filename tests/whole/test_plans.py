"""M13: plans that fit the time; the same plan has the same bits; an interrupt keeps nothing (R01)."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
from granite_xai.compute import Meter, TooSlowError, progress
from granite_xai.evaluations.noise_floor import Speed, measured
from granite_xai.models import as_predictor
from granite_xai.tables import read_table

X = np.random.default_rng(0).normal(size=(700, 4))


def product(X):
    return X[:, 0] * (X[:, 1] > 0) + X[:, 2] * X[:, 3]


def slow(seconds_a_row):
    """A model that sleeps for every row."""

    def model(X):
        time.sleep(seconds_a_row * len(X))
        return product(X)

    return model


def test_what_fits_with_room_to_spare_is_exact_and_nothing_more_is_asked():
    g = gx.Granite(product, min_samples_leaf=50).fit(X[:200])
    plan = g.diagnostics_["plan"]
    assert (plan["rows"], plan["max_grid"], plan["sentence"]) == (200, None, "")
    assert (
        g.diagnostics_["model"]["rows"] == plan["model_rows"] + 4 * 64 + 7
    )  # the probe, nothing else
    assert g.diagnostics_["warnings"] == []


@pytest.mark.slow
def test_a_slow_model_is_planned_on_grids_then_on_fewer_rows_and_it_is_said():
    limits = gx.Resources(max_seconds=6)
    with pytest.warns(
        gx.ModelWarning, match=r"M13: 4 columns on grids of \d+ values; exact would take about"
    ):
        g = gx.Granite(slow(2e-5), max_depth=1, max_samples=None, resources=limits).fit(X)
    plan = g.diagnostics_["plan"]
    assert plan["rows"] == 700
    assert plan["max_grid"] in (128, 64, 32)
    many = np.concatenate([X, X + 0.5])
    with pytest.warns(gx.ModelWarning, match="M13") as told:
        g = gx.Granite(slow(5e-5), max_depth=1, resources=gx.Resources(max_seconds=8)).fit(many)
    assert any(
        "of 1,400 rows search: twice as many do not fit" in str(each.message) for each in told
    )
    assert g.diagnostics_["rows"]["reason"] == "more rows do not fit the limits"
    assert g.diagnostics_["plan"]["rows"] in (125, 250)
    assert (
        g.estimate_.n_rows == g.diagnostics_["plan"]["rows"]
    )  # the interval says what the haste costs
    assert g.estimate_.low < g.estimate_.remaining < g.estimate_.high


@pytest.mark.slow
def test_N04_a_plan_that_time_chose_has_the_bits_of_the_same_plan_asked_for():
    with pytest.warns(gx.ModelWarning, match="M13"):
        found = gx.Granite(
            slow(2e-5), max_depth=1, max_samples=600, resources=gx.Resources(max_seconds=6)
        ).fit(X)
    plan = found.diagnostics_["plan"]
    limits = gx.Resources(
        max_seconds=None, max_grid=plan["max_grid"], batch_size=plan["batch_size"]
    )
    asked = gx.Granite(product, max_depth=1, max_samples=plan["rows"], resources=limits).fit(X)
    assert asked.disagreement_ == found.disagreement_
    assert [str(region) for region in asked.partition_] == [
        str(region) for region in found.partition_
    ]


def test_what_no_plan_fits_is_refused_with_the_seconds_it_needs():
    with pytest.raises(
        gx.ResourceError, match=r"M13: \d+ rows need about .*max_seconds allows 1 s"
    ) as caught:
        gx.Granite(slow(1e-3), resources=gx.Resources(max_seconds=1)).fit(X)
    assert "Resources(max_seconds=" in caught.value.hint
    with pytest.raises(gx.ResourceError, match="M13: the plan sends"):
        gx.Granite(product, resources=gx.Resources(max_evaluations=100)).fit(X)


@pytest.mark.slow
def test_partial_effects_are_drawn_from_fewer_pairs_when_the_time_is_short():
    wide = np.random.default_rng(0).normal(size=(30, 14))
    with pytest.warns(gx.ModelWarning, match=r"M13: (8|16|32) pairs of orders"):
        g = gx.Granite(
            slow(1e-5), "shap-pdp", max_depth=0, resources=gx.Resources(max_seconds=5)
        ).fit(wide)
    assert g.diagnostics_["plan"]["pairs"] in (8, 16, 32)


def test_a_plan_is_said_before_anything_runs():
    plan = gx.Granite(product, max_depth=1).plan(X[:100])
    assert plan["model_rows"] == 100 * (1 + 4 * 100)
    assert set(plan["seconds"]) == {"evaluations", "search", "other_rows"}
    assert plan["evaluations"]["evaluated_by"] == "model"


def test_seconds_come_from_calls_of_the_size_that_is_used():
    """A call costs 20 ms and a row 1 µs: 64 rows alone would say 300 µs a row."""

    def model(X):
        time.sleep(0.02 + 1e-6 * len(X))
        return X[:, 0]

    table = read_table(X, missing="error")
    speed = measured(as_predictor(model), table, most=10**6)
    assert 0.5 < speed.seconds(10**6) / (16 * 0.02 + 1.0) < 2.0


def test_calls_of_a_slow_model_are_made_shorter():
    assert Speed(0.0, 1e-6, 2**16).patient_batch() == 2**16
    assert Speed(0.0, 5e-4, 2**16).patient_batch() == 1024
    assert Speed(0.0, 1.0, 2**16).patient_batch() == 64


@pytest.mark.slow
def test_a_model_that_proves_slower_than_timed_makes_the_plan_smaller():
    asked = SimpleNamespace(rows=0)

    def model(X):
        asked.rows += len(X)
        if asked.rows > 20_000:  # fast while it is timed
            time.sleep(4e-5 * len(X))
        return product(X)

    limits = gx.Resources(max_seconds=6, batch_size=4096)
    with pytest.warns(gx.ModelWarning, match="M13"):
        g = gx.Granite(model, max_depth=1, resources=limits).fit(X)
    assert g.diagnostics_["plan"]["max_grid"] is not None
    exact = gx.Granite(product, max_depth=1, max_samples=g.diagnostics_["plan"]["rows"]).fit(X)
    assert g.disagreement_ == pytest.approx(exact.disagreement_, rel=0.2)


def test_a_meter_stops_what_takes_far_too_long_and_nothing_else(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("granite_xai.compute.jobs.time.perf_counter", lambda: clock.now)
    meter = Meter(gx.Resources(max_seconds=10), 100, planned=5.0)
    clock.now = 1.0
    meter(1)  # too early to say
    clock.now = 4.0
    meter(49)
    clock.now = 9.0
    with pytest.raises(TooSlowError) as caught:
        meter(10)
    assert caught.value.per_row == pytest.approx(0.15)
    Meter(gx.Resources(max_seconds=10), 100)(1)


def test_progress_is_told_in_rows(capsys, monkeypatch):
    monkeypatch.setattr("granite_xai.compute.jobs.time.perf_counter", lambda: 0.0)
    meter = Meter(gx.Resources(progress=True), 1000)
    meter._bar.delay = 0.0
    meter._bar.mininterval = 0.0
    meter._bar.start_t -= 10
    meter(500)
    meter._bar.refresh()
    meter.close()
    assert "500" in capsys.readouterr().err


class Stopped:
    """A model that the user stops once, after so many rows, and that can be trained again in place."""

    def __init__(self, after=None):
        self.after = after
        self.asked = 0
        self.slope = 1.0

    def predict(self, X):
        if self.after is not None and self.asked > self.after:
            self.after = None
            raise KeyboardInterrupt
        self.asked += len(X)
        return self.slope * product(X) + X[:, 1]

    def train_again(self):
        self.slope = -2.0


def answers(g):
    """The regions and figures of a fit, to the bit."""
    return g.partition_.to_dict(), g.disagreement_, g.remaining_, g.predict(X[:50]).tobytes()


def test_R01_after_an_interrupt_a_fit_starts_anew():
    model = Stopped(after=200_000)
    g = gx.Granite(model, min_samples_leaf=50)
    with pytest.raises(KeyboardInterrupt):
        g.fit(X[:300])
    assert vars(g).keys() == vars(clone(g)).keys()
    before = model.asked
    g.fit(X[:300])
    fresh = Stopped()
    whole = gx.Granite(fresh, min_samples_leaf=50).fit(X[:300])
    assert model.asked - before == fresh.asked
    assert answers(g) == answers(whole)


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "sobol"])
@pytest.mark.parametrize("after", [1000, 100_000, 200_000])
def test_R01_a_model_that_is_trained_again_after_an_interrupt_is_asked_again(question, after):
    model = Stopped(after)
    g = gx.Granite(model, question, min_samples_leaf=50)
    with pytest.raises(KeyboardInterrupt):
        g.fit(X[:300])
    model.train_again()
    g.fit(X[:300])
    fresh = Stopped()
    fresh.train_again()
    assert answers(g) == answers(gx.Granite(fresh, question, min_samples_leaf=50).fit(X[:300]))


def test_R01_trees_that_are_trained_again_after_an_interrupt_are_read_again(monkeypatch):
    rows = X[:300]
    model = HistGradientBoostingRegressor(max_iter=5).fit(rows, product(rows))
    g = gx.Granite(model, min_samples_leaf=50)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("granite_xai.fit.search", interrupt)
        with pytest.raises(KeyboardInterrupt):
            g.fit(rows)
    model.fit(rows, -product(rows) + 3 * rows[:, 2])
    g.fit(rows)
    assert g.diagnostics_["evaluations"]["path"].startswith("trees")
    assert answers(g) == answers(gx.Granite(model, min_samples_leaf=50).fit(rows))


class Bars:
    """Stands for the bars of a fit: what each is called, how much there is, and how much was told."""

    def __init__(self):
        self.seen = []

    def __call__(self, resources, total, planned=None, desc="evaluations", unit="rows"):
        told = SimpleNamespace(desc=desc, total=total, unit=unit, shown=resources.progress, done=0)
        self.seen.append(told)

        class Bar:
            def __call__(self, count):
                told.done += count

            def close(self):
                told.closed = True

        return Bar()


@pytest.mark.parametrize("search", ["greedy", pytest.param("refined", marks=pytest.mark.slow)])
def test_the_search_tells_how_many_rows_went_through_a_level(search, monkeypatch):
    bars = Bars()
    monkeypatch.setattr("granite_xai.fit.Meter", bars)
    X = np.random.default_rng(0).normal(size=(200, 4))
    g = gx.Granite(
        product,
        search=search,
        max_samples=None,
        holdout=False,
        resources=gx.Resources(progress=True),
    ).fit(X)
    (bar,) = bars.seen
    assert (bar.desc, bar.unit, bar.closed, bar.shown) == ("search", "rows", True, True)
    assert bar.total == (3 if search == "greedy" else 6) * 200
    assert bar.done == pytest.approx(bar.total)
    bars.seen.clear()
    assert len(g.path_) > 1
    assert [bar.desc for bar in bars.seen if bar.shown] == [
        "path"
    ]  # the searches inside it are not shown one by one
    assert next(bar.done for bar in bars.seen if bar.desc == "path") == len(bars.seen) - 1


def test_resamples_are_told_one_by_one(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "granite_xai.fitting.progress", lambda items, *told: seen.append(told[1:]) or items
    )
    g = gx.Granite(product, max_samples=None, holdout=False).fit(
        np.random.default_rng(0).normal(size=(120, 4))
    )
    g.stability(3)
    assert seen == [("resamples", 3)]


def test_a_bar_is_there_soon_although_its_first_item_takes_long(monkeypatch, capsys):
    monkeypatch.setattr("granite_xai.compute.jobs.SOON", 0.05)
    for _ in progress(range(1), gx.Resources(progress=True), "resamples", 1):
        time.sleep(0.3)
        assert "resamples" in capsys.readouterr().err
    for _ in progress(range(1), gx.Resources(progress=False), "resamples", 1):
        time.sleep(0.1)
    for _ in progress(range(1), gx.Resources(progress=True), "short", 1):
        pass
    time.sleep(0.2)  # a bar that is closed does not come back
    assert "short" not in capsys.readouterr().err
