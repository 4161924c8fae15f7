"""What the rows of a fit say of its regions: folds of the search rows, or the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx


def sharp(X):
    """A step that folds find at slightly different places."""
    return X[:, 0] * np.where(X[:, 1] > 0.25, 1.0, -1.0)


def fit_of(seed, n_rows=60, model=sharp, **options):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 9, n_rows), rng.normal(size=n_rows)]).astype(float)
    return gx.Granite(model, **options).fit(X)


def test_no_more_than_the_whole_model_is_described():
    """Where the trees of folds happen to do better on rows that they have not seen, curves miss none, not less."""
    shares = [fit_of(seed).estimate_.fidelity for seed in (30, 31, 32)]
    assert shares[1] == 1.0
    assert all(0.9 < share <= 1.0 for share in shares)


def test_below_600_rows_folds_judge_and_say_less_than_the_rows_that_chose():
    def noisy(X):
        return sharp(X) + np.sin(40.0 * X[:, 1])

    judged = [fit_of(seed, model=noisy) for seed in range(4)]
    assert {g.estimate_.rows for g in judged} == {"cross-validated"}
    assert np.mean([g.estimate_.fidelity - g.fidelity_ for g in judged]) < -0.01


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_curve_per_feature_describes_no_more_of_rows_that_did_not_make_it(seed):
    g = fit_of(seed)
    assert g.global_fidelity_ - 0.1 < g.estimate_.global_fidelity < g.global_fidelity_


def test_a_fit_on_a_scale_looks_at_no_other_one():
    def model(X):
        return np.exp(10.0 + sharp(X) / 9.0)

    g = fit_of(0, n_rows=700, model=model, scale="log")
    assert len(g.partition_) > 1
    assert g.estimate_.fidelities.value.other_scale == ""


def test_without_a_confidence_level_nothing_is_judged():
    assert fit_of(0, confidence_level=None).estimate_ is None


@pytest.mark.parametrize("rows", [599, 600])
def test_folds_judge_below_600_rows_and_held_out_rows_from_there(rows):
    expected = "cross-validated" if rows < 600 else "held-out"
    assert fit_of(1, n_rows=rows).estimate_.rows == expected


def test_rows_that_are_given_tell_by_themselves_whether_there_is_more_than_chance():
    g = fit_of(0, n_rows=700)
    rng = np.random.default_rng(5)
    few = np.column_stack([rng.integers(0, 9, 6), rng.normal(size=6)]).astype(float)
    evaluation = g.evaluate(few)
    assert evaluation.figures.rows == "held-out"
    assert np.isnan(evaluation.remaining)
