"""A whole fit: rows search, others judge."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.fitting.inputs import open_inputs
from granite_xai.fitting.judged_fit import fit_and_judge, plan_fit

import granite_xai as gx
from granite_xai.base.errors import Diagnostics

X = np.random.default_rng(6).normal(size=(900, 3))


class Counting:
    def __init__(self):
        self.rows = 0

    def __call__(self, X):
        self.rows += len(X)
        return X[:, 0] * np.where(X[:, 1] > 0.2, 1.0, -1.0)


def opened_for(rows=X, model=None, weights=None, **options):
    g = gx.Granite(model or Counting(), max_depth=1, **options)
    return open_inputs(g, rows, None, weights, None, Diagnostics())


def fit(rows=X, is_judged=True, **options):
    record = Diagnostics()
    run = fit_and_judge(opened_for(rows, **options), record, is_judged=is_judged)
    return run, record.as_dict()["rows"]


@pytest.mark.parametrize(
    ("options", "n_search", "n_held_out", "reason"),
    [
        ({}, 600, 300, "all rows"),
        ({"max_samples": 200}, 200, 100, "as asked"),
        ({"holdout": False}, 900, 0, "all rows"),
        ({"resources": gx.Resources(max_evaluations=30_000)}, None, None, "max_evaluations"),
        ({"confidence_level": None, "max_samples": 100}, 100, 0, "as asked"),
    ],
)
def test_the_record_says_which_rows_were_used_and_why(options, n_search, n_held_out, reason):
    run, rows = fit(**options)
    assert rows["reason"] == reason
    assert rows["available"] == 900
    assert not set(rows["search"]) & set(rows["held_out"])
    assert len(rows["search"]) == run.result.table.n_rows
    if n_search is not None:
        assert (len(rows["search"]), len(rows["held_out"])) == (n_search, n_held_out)


def test_the_rows_on_record_are_those_of_the_user_s_table():
    run, rows = fit(max_samples=200)
    searched = np.sort(run.result.table.native[:, 0])
    assert np.array_equal(searched, np.sort(X[rows["search"], 0]))


def test_rows_of_weight_zero_are_not_available():
    weights = np.ones(900)
    weights[:100] = 0.0
    record = Diagnostics()
    fit_and_judge(opened_for(weights=weights), record)
    rows = record.as_dict()["rows"]
    assert rows["available"] == 800
    assert min(rows["search"] + rows["held_out"]) >= 100


def test_held_out_rows_judge_and_give_the_standard_error():
    run, _ = fit()
    assert run.result.estimate.rows == "held-out"
    assert run.result.estimate.standard_error > 0.0


def test_rows_of_the_user_judge():
    run, rows = fit(holdout=(X + 0.01, None))
    assert run.result.estimate.rows == "held-out"
    assert run.result.estimate.n_rows == 900
    assert rows["held_out"] == []


def test_few_rows_judge_by_folds():
    assert fit(X[:300])[0].result.estimate.rows == "cross-validated"


def test_a_fit_that_nobody_reads_is_not_judged():
    run, _ = fit(is_judged=False)
    assert run.result.estimate is None
    assert run.result.nodes == ()


@pytest.mark.parametrize("options", [{}, {"max_samples": 200}, {"question": "sobol"}])
def test_the_plan_is_what_the_fit_does(options):
    plan = plan_fit(opened_for(**options), Diagnostics())
    model = Counting()
    run, rows = fit(model=model, **options)
    assert plan["rows"] == len(rows["search"])
    assert plan["held_out"] == len(rows["held_out"])
    assert model.rows <= plan["model_rows"]
    assert run.inputs.plan["model_rows"] == plan["model_rows"]


def test_M13_a_refused_budget_names_one_that_is_enough():
    limits = gx.Resources(max_evaluations=5000)
    with pytest.raises(gx.ResourceError, match="M13") as caught:
        fit(max_samples=500, resources=limits)
    enough = int(caught.value.hint.split("max_evaluations=")[1].split(")")[0])
    fit(max_samples=500, resources=gx.Resources(max_evaluations=enough))


def test_M13_a_fit_on_few_of_many_rows_says_so():
    wide = np.random.default_rng(0).normal(size=(40_000, 60))
    g = gx.Granite(lambda X: X[:, 0], max_depth=1)
    opened = open_inputs(g, wide, None, None, None, Diagnostics())
    record = Diagnostics()
    with pytest.warns(gx.DataWarning, match=r"M13: [\d,]+ of 40,000 rows were used"):
        fit_and_judge(opened, record, is_judged=False)
    assert any(text.startswith("M13") for text in record.warnings)
