"""The noise floor (C4)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from granite_xai.evaluations.noise_floor import (
    is_float32,
    risk_error,
    rounding_floor,
    sampling_floor,
    sensitivity_error,
)

import granite_xai as gx
from granite_xai.base.errors import ModelWarning
from granite_xai.evaluations.probe import Probe, delta, probe
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from strategies import paper

X = np.random.default_rng(0).normal(size=(100, 3))
QUIET = Probe(repeat=0.0, reorder=0.0, moved=0.0, mutates=False, seconds_per_row=0.0)


def table(data=X, missing="error"):
    return read_table(data, missing=missing)


def quietly(model, data=X, **options):
    """Probe a model that gives no reason for a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return probe(as_predictor(model, **options), table(data))


def squared(prediction, y):
    return (prediction - y) ** 2


def test_values_are_single_precision_if_all_are_exact_and_not_all_whole():
    assert is_float32(X[:, 0].astype(np.float32).astype(float))
    assert not is_float32(X[:, 0])
    assert not is_float32(np.arange(5.0))
    assert not is_float32(np.array([0.5, 1e300]))
    assert not is_float32(np.array([0.5, 1e-320]))
    assert not is_float32(np.empty(0))


def test_the_error_of_a_variance_follows_the_formula():
    assert sensitivity_error(0.25, sd=3.0) == 2 * 3.0 * 0.25 + 0.25**2


def test_the_error_of_a_risk_is_the_worse_of_the_full_and_the_empty_model():
    rng = np.random.default_rng(3)
    F, y, d = rng.normal(size=20), rng.normal(size=20), 0.3
    mean = float(F.mean())

    def by_hand(shown):
        return np.mean(
            [
                max(abs((f + d - t) ** 2 - (f - t) ** 2), abs((f - d - t) ** 2 - (f - t) ** 2))
                for f, t in zip(shown, y, strict=True)
            ]
        )

    expected = max(by_hand(F), by_hand([mean] * 20))
    assert risk_error(d, squared, F, mean, y) == pytest.approx(expected, rel=1e-12)
    # Without any noise of the model what is left is the rounding of a mean loss.
    rounding = 2.0**-51 * max(np.mean((F - y) ** 2), np.mean((mean - y) ** 2))
    assert risk_error(0.0, squared, F, mean, y) == pytest.approx(rounding, rel=1e-12, abs=0.0)


@pytest.mark.parametrize(
    ("F", "mean"), [([1.0, 3.0], 2.0), ([6.0, -2.0], 2.0)], ids=["empty is worse", "full is worse"]
)
def test_the_error_of_a_risk_can_come_from_either_end(F, mean):
    y = np.array([1.0, 3.0])
    full, empty = (
        np.mean(2 * 0.5 * np.abs(shown - y) + 0.25) for shown in (np.array(F), np.full(2, mean))
    )
    assert full != empty
    assert risk_error(0.5, squared, np.array(F), mean, y) == max(full, empty)


def test_the_error_of_a_risk_weighs_rows():
    F, y = np.array([0.0, 5.0]), np.array([0.0, 0.0])
    assert risk_error(1.0, squared, F, 0.0, y, np.array([1.0, 0.0])) == 1.0
    assert risk_error(1.0, squared, F, 0.0, y, np.array([0.0, 1.0])) == 11.0


def test_the_floor_grows_with_sets_and_order():
    assert rounding_floor(5, np.square, order=1, error=0.5) == 5 * (4 * 0.5) ** 2
    assert rounding_floor(5, np.abs, order=2, error=0.5) == 5 * 8 * 0.5
    assert rounding_floor(0, np.square, order=1, error=0.5) == 0.0


def test_sampled_effects_add_their_standard_errors():
    errors = np.array([[0.5, 0.0], [1.0, 0.0], [0.0, 2.0]])
    assert sampling_floor(np.abs, errors) == pytest.approx((1 + 2 + 0) / 3 + (0 + 0 + 4) / 3)
    assert sampling_floor(np.square, errors, np.array([1.0, 0.0, 1.0])) == pytest.approx(
        1 / 2 + 16 / 2
    )


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_additive_model_stays_below_one_percent_of_the_floor_and_an_interaction_far_above(
    scale, offset, dtype
):
    """Gaps of ICE and PDP, straight from their definitions, at hostile scales and offsets."""

    def gaps(model):
        F = as_predictor(model)
        found = quietly(model)
        E = np.array([F(np.column_stack([np.full(40, x), X[:40, 1:]])) for x in X[:40, 0]])
        centred = E - E.mean()
        full = np.diag(centred) - centred.mean(axis=0)
        pure = centred.mean(axis=1) - centred.mean()
        d = delta(found, float(np.abs(E).max()), F.native_float32 or is_float32(E.ravel()))
        return float(np.mean((full - pure) ** 2)), rounding_floor(1, np.square, 1, d)

    noise, limit = gaps(lambda X: (offset + scale * (np.sin(X[:, 0]) + X[:, 1] ** 2)).astype(dtype))
    assert noise < 0.01 * limit
    if offset == 0.0:
        signal, limit = gaps(lambda X: (scale * X[:, 0] * X[:, 1]).astype(dtype))
        assert signal > 1e7 * limit


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "sobol"])
def test_M09_answers_that_depend_on_the_length_of_the_batch_or_change_are_noticed_in_every_fit(
    question,
):
    """The probes send 64 rows and fewer; the diagonal of every matrix shows what longer batches bring."""
    rows = np.random.default_rng(0).normal(size=(60, 3))

    def doubled(Z):
        return Z[:, 0] * Z[:, 1] * (2.0 if len(Z) > 150 else 1.0)

    with pytest.warns(
        ModelWarning, match=r"M09: the model's answers for the same rows differ by up to \d"
    ):
        fitted = paper(doubled, question).fit(rows)
    assert fitted.disagreement_ == 0.0
    assert any(text.startswith("M09") for text in fitted.diagnostics_["warnings"])


def test_M09_a_model_that_changes_during_the_fit_is_noticed():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    calls = []

    def drifting(Z):
        calls.append(len(Z))
        return Z[:, 0] * Z[:, 1] + (1.0 if len(calls) > 6 else 0.0)

    with pytest.warns(ModelWarning, match="M09"):
        paper(drifting).fit(rows)


def test_the_diagonal_on_a_grid_is_compared_where_rows_carry_grid_values():
    rows = np.random.default_rng(0).normal(size=(200, 3))
    fitted = paper(lambda Z: Z[:, 0] * Z[:, 1], resources=gx.Resources(max_grid=8)).fit(rows)
    assert 0.1 < fitted.disagreement_ < 3.0


def test_N10_a_floor_that_hides_more_than_rounding_says_so():
    """Single precision far from zero: the floor is as large as what is there."""
    rows = np.random.default_rng(0).normal(size=(80, 3))

    def far(Z):
        return (30 * Z[:, 0] * Z[:, 1] + 1e5).astype(np.float32)

    told = {}
    for factor in (1.0, 1e-2, 1e-3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = paper(
                lambda Z, factor=factor: (far(Z) - 1e5) * factor + np.float32(1e5), "ice-pdp"
            ).fit(rows)
        found = fitted.diagnostics_
        root, least = found["measured_disagreement"]["ice-pdp"], found["noise_floor"]["ice-pdp"]
        told[factor] = any(str(entry.message).startswith("N10: ice-pdp") for entry in caught)
        assert told[factor] == (0.05 * least < root <= least)
    assert any(told.values())
    assert not all(told.values())
