"""M13: counts decide what a fit costs, an interrupt keeps nothing (R01)."""

import re
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
from counted import CountedModel
from granite_xai.base.parallel import Meter

X = np.random.default_rng(0).normal(size=(700, 4))
MANY = np.random.default_rng(1).normal(size=(3000, 4))
MANY[:, 3] = np.clip(np.round(MANY[:, 3]), -1, 1)


def product(X):
    return X[:, 0] * (X[:, 1] > 0) + X[:, 2] * X[:, 3]


Y = product(MANY) + 0.1 * MANY[:, 1]


# Counts -----------------------------------------------------------------------------------------------------------


def test_a_table_that_the_budget_covers_is_used_whole_and_two_thirds_search():
    g = gx.Granite(product, max_depth=1).fit(MANY)
    rows = g.diagnostics_["rows"]
    assert (len(rows["search"]), len(rows["held_out"]), rows["reason"]) == (2000, 1000, "all rows")
    assert sorted(rows["search"] + rows["held_out"]) == list(range(3000))
    assert g.estimate_.n_rows == 1000
    assert g.diagnostics_["warnings"] == []


def test_of_fewer_than_600_rows_none_are_held_out():
    for n_rows, n_held_out in ((599, 0), (600, 200)):
        rows = gx.Granite(product, max_depth=1).fit(X[:n_rows]).diagnostics_["rows"]
        assert len(rows["held_out"]) == n_held_out
        assert len(rows["search"]) == n_rows - n_held_out


def test_max_samples_counts_the_rows_that_search():
    rows = gx.Granite(product, max_depth=1, max_samples=300).fit(MANY).diagnostics_["rows"]
    assert (len(rows["search"]), len(rows["held_out"]), rows["reason"]) == (300, 150, "as asked")


QUICK = ["ice-pdp", "mplot-pdp", "sobol", "pfi-risk", "ale"]
DEAR = ["shap-pdp", "coe"]


@pytest.mark.parametrize("question", [*QUICK, *DEAR])
@pytest.mark.parametrize("limit", [80_000, 200_000])
def test_a_budget_is_kept_by_using_fewer_rows(question, limit):
    model = CountedModel(product)
    g = gx.Granite(model, question, max_depth=1, resources=gx.Resources(max_evaluations=limit)).fit(
        MANY, Y
    )
    rows = g.diagnostics_["rows"]
    assert model.rows == g.diagnostics_["model"]["rows"]
    assert 0.3 * limit < model.rows <= limit or question in DEAR
    assert model.rows <= limit
    assert 100 <= len(rows["search"]) < 2000
    assert rows["reason"] == "max_evaluations"


@pytest.mark.parametrize("options", [{"holdout": False}, {"holdout": 0.1}, {"holdout": "given"}])
def test_rows_that_judge_are_paid_from_the_same_budget(options):
    model = CountedModel(product)
    if options["holdout"] == "given":
        options = {"holdout": (MANY[2000:2200] + 0.5, Y[2000:2200])}
    limits = gx.Resources(max_evaluations=60_000)
    gx.Granite(model, max_depth=1, resources=limits, **options).fit(MANY, Y)
    assert 40_000 < model.rows <= 60_000


@pytest.mark.parametrize("size", [7, 60])
def test_rows_of_whole_clusters_are_paid_from_the_same_budget(size):
    for limit in range(50_000, 60_000, 1000):
        model = CountedModel(product)
        g = gx.Granite(model, max_depth=0, resources=gx.Resources(max_evaluations=limit))
        g.fit(MANY, clusters=np.arange(3000) // size)
        assert 0.7 * limit < model.rows <= limit


def test_labels_that_the_pilot_meets_one_by_one_are_paid_from_the_same_budget():
    draw = np.random.default_rng(2)
    towns = pd.Series(draw.integers(0, 1500, 3000)).map("t{}".format)
    table = pd.DataFrame({"x": MANY[:, 0], "town": towns, "z": MANY[:, 1]})

    def by_town(frame):
        return frame["x"] * (frame["town"].str[-1] > "4") + frame["z"]

    for limit in (30_000, 150_000):
        model = CountedModel(by_town)
        g = gx.Granite(model, max_depth=1, resources=gx.Resources(max_evaluations=limit))
        planned = g.plan(table)["model_rows"]
        model.rows = 0
        g.fit(table)
        assert 0.3 * limit < model.rows <= limit
        assert planned - 0.1 * limit < model.rows <= planned


@pytest.mark.parametrize("question", [*QUICK, *DEAR])
@pytest.mark.parametrize("limit", [None, 100_000])
def test_a_plan_says_how_many_rows_are_sent(question, limit):
    model = CountedModel(product)
    g = gx.Granite(model, question, max_depth=1, resources=gx.Resources(max_evaluations=limit))
    plan = g.plan(MANY, Y)
    assert model.rows <= 300  # a plan costs a probe
    model.rows = 0
    g.fit(MANY, Y)
    # A value may stand for no held-out row; along their columns (ALE) these move a little less. How many
    # combined values a set needs (COE without a limit) is found out by asking: the plan says how many at most.
    fewest = {"ale": 0.97, "coe": 0.4 if limit is None else 0.99}.get(question, 0.99)
    assert fewest * plan["model_rows"] <= model.rows <= plan["model_rows"]
    assert plan["rows"] == len(g.diagnostics_["rows"]["search"])
    assert plan["held_out"] == len(g.diagnostics_["rows"]["held_out"])
    assert plan["available"] == 3000
    for key in plan.keys() - {"seconds"}:
        assert plan[key] == g.diagnostics_["plan"][key], key


def test_a_budget_beside_options_that_exceed_it_is_refused_with_one_that_is_enough():
    for options in ({"max_samples": 800}, {}):
        model = CountedModel(product)
        limit = 60_000 if options else 1000
        with pytest.raises(gx.ResourceError, match="M13: the plan sends") as caught:
            gx.Granite(model, resources=gx.Resources(max_evaluations=limit), **options).fit(MANY)
        assert model.rows == 0
        enough = int(re.search(r"max_evaluations=(\d+)", caught.value.hint)[1])
        gx.Granite(
            model, max_depth=1, resources=gx.Resources(max_evaluations=enough), **options
        ).fit(MANY)
        assert model.rows <= enough


# Time -------------------------------------------------------------------------------------------------------------


def figures(g):
    """The regions and figures of a fit, to the bit."""
    rows = g.diagnostics_["rows"]
    return (
        g.partition_.to_dict(),
        g.disagreement_,
        g.remaining_,
        (g.estimate_.remaining, str(g.estimate_)),
        (rows["search"], rows["held_out"]),
        g.predict(MANY[:50]).tobytes(),
    )


def test_a_slow_and_erratic_model_gives_the_same_regions_and_figures():
    """Counts decide, never the clock: neither rows, values nor draws depend on how long an answer takes."""
    draw = np.random.default_rng(5)

    def erratic(X):
        time.sleep(draw.choice([0.0, 0.002, 0.05]))
        return product(X)

    options = {"max_depth": 2, "resources": gx.Resources(batch_size=4096)}
    for question in ("ice-pdp", "pfi-risk"):
        slow, quick = (
            gx.Granite(model, question, **options).fit(X, product(X))
            for model in (erratic, product)
        )
        assert figures(slow) == figures(quick)
        assert slow.diagnostics_["plan"] == quick.diagnostics_["plan"]


# Progress and interrupts --------------------------------------------------------------------------------------------


def test_progress_is_told_in_rows(capsys):
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


def test_after_an_interrupt_a_fit_starts_anew():
    model = Stopped(after=80_000)
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
@pytest.mark.parametrize("after", [100, 40_000, 80_000])  # in the probe, in the pilot, later
def test_a_model_that_is_trained_again_after_an_interrupt_is_asked_again(question, after):
    model = Stopped(after)
    g = gx.Granite(model, question, min_samples_leaf=50)
    with pytest.raises(KeyboardInterrupt):
        g.fit(X[:300])
    model.train_again()
    g.fit(X[:300])
    fresh = Stopped()
    fresh.train_again()
    assert answers(g) == answers(gx.Granite(fresh, question, min_samples_leaf=50).fit(X[:300]))


class StoppedTree:
    """The tree of a fit, whose search the user may stop."""

    is_stopped = True

    def partition(self, problem):
        if self.is_stopped:
            raise KeyboardInterrupt
        return problem.tree.partition(problem)


def test_trees_that_are_trained_again_after_an_interrupt_are_read_again():
    rows = X[:300]
    model = HistGradientBoostingRegressor(max_iter=5).fit(rows, product(rows))
    tree = StoppedTree()
    options = {"min_samples_leaf": 50, "partitioner": tree}
    g = gx.Granite(model, **options)
    with pytest.raises(KeyboardInterrupt):
        g.fit(rows)
    model.fit(rows, -product(rows) + 3 * rows[:, 2])
    tree.is_stopped = False
    g.fit(rows)
    assert g.diagnostics_["evaluations"]["path"].startswith("trees")
    assert len(g.partition_) > 1
    assert answers(g) == answers(gx.Granite(model, **options).fit(rows))


class Bars:
    """Stands for the bars of a fit: what each is called, how much there is, and how much was told."""

    def __init__(self):
        self.seen = []

    def __call__(self, resources, total, desc="evaluations", unit="rows"):
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
    monkeypatch.setattr("granite_xai.fitting.find.Meter", bars)
    X = np.random.default_rng(0).normal(size=(200, 4))
    g = gx.Granite(
        product,
        search=search,
        max_samples=None,
        holdout=False,
        resources=gx.Resources(progress=True),
    ).fit(X)
    (bar,) = (bar for bar in bars.seen if bar.shown)  # searches outside of folds are not shown
    assert (bar.desc, bar.unit, bar.closed, bar.shown) == ("search", "rows", True, True)
    assert bar.total == (4 if search == "greedy" else 12) * 200
    if search == "greedy":
        assert bar.done == bar.total
    assert 0.5 * bar.total < bar.done <= bar.total
    bars.seen.clear()
    assert len(g.path_) > 1
    assert [bar.desc for bar in bars.seen if bar.shown] == [
        "path"
    ]  # the searches inside it are not shown one by one
    assert next(bar.done for bar in bars.seen if bar.desc == "path") == len(bars.seen) - 1


def test_resamples_are_told_one_by_one(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "granite_xai.fitting.fit.progress",
        lambda items, *told: seen.append(told[1:]) or items,
    )
    g = gx.Granite(product, max_samples=None, holdout=False).fit(
        np.random.default_rng(0).normal(size=(120, 4))
    )
    g.stability(3)
    assert seen == [("resamples", 3)]
