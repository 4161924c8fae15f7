"""Options of a fit: what is refused, with the name of the argument, and what "auto" stands for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from strategies import quiet

N = 200
X = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 2)), columns=["a", "b"])
RULES = gx.partitioners.GivenRules(["a ≤ 0", "a > 0"])


def product(frame):
    return (frame["a"] * frame["b"]).to_numpy()


def never(frame):
    raise AssertionError("the model was asked")


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"partitioner": 3}, "partitioner"),
        ({"resources": 3}, "resources"),
        ({"influence": "all"}, "influence"),
        ({"influence": "joint"}, "groups"),
        ({"groups": {"a": ["b"]}}, "groups"),
        ({"confidence_level": 1.0}, "confidence_level"),
        ({"holdout": "some"}, "holdout"),
        ({"holdout": 1.5}, "holdout"),
        ({"holdout": True}, "holdout"),
        ({"holdout": (1, 2, 3, 4)}, "holdout"),
        ({"max_samples": 0}, "max_samples"),
        ({"max_samples": "many"}, "max_samples"),
        ({"missing": "drop"}, "missing"),
        ({"random_state": -1}, "random_state"),
        ({"question": []}, "question"),
        ({"alpha": "auto", "partitioner": RULES}, "alpha"),
    ],
    ids=str,
)
def test_an_option_that_is_no_choice_is_named_before_the_model_is_asked(options, argument):
    with pytest.raises(gx.InputError) as caught:
        gx.Granite(never, **options).fit(X)
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("holdout", "n_rows", "code", "hint"),
    [
        ((X, None), N, "P03", ""),
        ((X.sample(frac=1, random_state=0), None), N, "P03", ""),
        ((X[:9] + 1, None), N, "P02", ""),
        (0.1, N, "P02", "holdout=0.15 or more"),
        (0.9, 20, "P02", "holdout=False, or more rows"),
    ],
    ids=["the same rows", "the same rows shuffled", "few", "a small share", "few rows in all"],
)
def test_held_out_rows_must_be_other_ones_and_enough(holdout, n_rows, code, hint):
    with pytest.raises(gx.InputError) as caught:
        gx.Granite(never, holdout=holdout).fit(X[:n_rows])
    assert (caught.value.code, caught.value.argument) == (code, "holdout")
    assert hint in (caught.value.hint or "")


def test_the_share_that_a_refusal_names_is_accepted():
    with quiet():
        g = gx.Granite(product, holdout=0.15).fit(X)
    assert g.diagnostics_["plan"]["held_out"] == 30


@pytest.mark.parametrize(
    ("level", "options", "used", "held_out"),
    [
        (None, {}, 200, 0),
        (0.95, {"max_samples": None, "holdout": False}, 200, 0),
        (None, {"max_samples": 50}, 50, 0),
        (0.95, {"holdout": 0.3}, 140, 60),
    ],
)
def test_auto_means_all_rows_and_none_held_out_without_a_confidence_level(
    level, options, used, held_out
):
    with quiet():
        g = gx.Granite(product, confidence_level=level, **options).fit(X)
    plan = g.diagnostics_["plan"]
    assert (plan["rows"], plan["held_out"]) == (used, held_out)


def test_a_wide_budget_is_not_refused_and_an_explicit_number_of_rows_must_be_paid_for():
    limits = gx.Resources(max_evaluations=2_000)
    with pytest.raises(gx.ResourceError, match="M13"):
        gx.Granite(product, resources=limits, max_samples=None, holdout=False).fit(X)


def test_a_column_of_texts_is_read_only_where_an_option_names_it():
    texts = X.assign(t=[f"row {i}" for i in range(N)])
    with pytest.warns(gx.DataWarning, match="D11"):
        gx.Granite(product).fit(texts)


def test_a_stream_is_drawn_from_once():
    seeds = []
    for stream in (np.random.RandomState(5), np.random.RandomState(5)):
        with quiet():
            seeds.append(gx.Granite(product, random_state=stream).fit(X).diagnostics_["seed"])
    assert seeds[0] == seeds[1] != np.random.RandomState(5).randint(10)


def test_constant_columns_are_on_record_and_have_no_candidates():
    with quiet():
        g = gx.Granite(lambda X: X["a"] * X["b"], max_depth=1).fit(X.assign(c=1.0))
    assert g.diagnostics_["constant_columns"] == ["c"]
    assert g.diagnostics_["candidates"]["c"] == 0


def test_questions_of_all_outputs_stand_output_by_output():
    def three(X):
        return np.column_stack([X["a"] * X["b"], X["a"], X["b"]])

    with quiet():
        g = gx.Granite(three, {"ice-pdp": 2.0, "sobol": 1.0}, output="all", max_depth=1).fit(X)
    assert list(g.disagreements_) == [f"{q} of {k}" for k in range(3) for q in ("ice-pdp", "sobol")]


def test_rows_needed_grow_with_the_square_of_the_precision():
    rows = np.random.default_rng(3).normal(size=(900, 3))

    def noisy(X):
        return X[:, 0] * np.sign(X[:, 1]) + np.sin(3 * X[:, 0] * X[:, 2])

    g = gx.Granite(noisy, max_depth=1).fit(rows)
    assert g.rows_needed(0.01) / g.rows_needed(0.02) == pytest.approx(4.0, rel=0.1)
    with pytest.raises(gx.InputError, match="P03"):
        gx.Granite(noisy, confidence_level=None, max_depth=0).fit(rows[:100]).rows_needed(0.05)
