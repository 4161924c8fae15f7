"""The same question asked of other fits of a learner."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.fitting.refits import POINTS, stability_over_refits

RNG = np.random.default_rng(10)
X = RNG.normal(size=(160, 3))


def scaled_step(factor):
    return lambda X: factor * X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def fitted():
    return gx.Granite(scaled_step(1.0), max_depth=1, min_samples_leaf=10).fit(X)


@pytest.fixture(scope="module")
def stability(fitted):
    tables = [RNG.normal(size=(120, 3)) for _ in range(3)]
    factors = (1.0, 2.0, 3.0)
    return stability_over_refits(
        fitted, [(scaled_step(f), rows, None) for f, rows in zip(factors, tables, strict=True)]
    )


def test_regions_come_back_whatever_the_factor(stability):
    assert stability.score > 0.8
    assert stability.source == "refits of the learner"


def test_the_regions_of_the_fit_leave_little_for_all_refits(stability):
    assert stability.remaining < 0.2
    assert stability.remaining_low <= stability.remaining <= stability.remaining_high


def test_every_column_has_a_curve_in_every_region(fitted, stability):
    places = [(curve.region, curve.column) for curve in stability.refit_curves]
    assert places == [
        (k, name) for k in range(len(fitted.partition_)) for name in ("x0", "x1", "x2")
    ]
    assert all(len(curve.values) <= POINTS for curve in stability.refit_curves)


def test_the_mean_curve_is_that_of_the_mean_factor(stability):
    curve = next(c for c in stability.refit_curves if (c.region, c.column) == (0, "x0"))
    slope = np.polyfit(curve.values.astype(float), curve.mean, 1)[0]
    assert abs(slope) == pytest.approx(2.0, abs=0.3)
    widths = curve.high - curve.low
    assert widths[0] > 3 * widths[np.argmin(np.abs(curve.mean))]


def test_a_region_without_rows_of_a_refit_has_no_curve(fitted):
    one_sided = np.abs(X) + 0.1
    models = [(scaled_step(1.0), X, None), (scaled_step(2.0), one_sided, None)]
    curves = stability_over_refits(fitted, models).refit_curves
    inside = {fitted.apply(one_sided)[0]}
    assert set(fitted.apply(one_sided)) == inside
    for curve in curves:
        assert np.isnan(curve.mean).all() == (curve.region not in inside)


def test_two_refits_are_the_least(fitted):
    with pytest.raises(gx.InputError, match="P01"):
        stability_over_refits(fitted, [(scaled_step(1.0), X, None)])


def test_rows_that_repeat_leave_the_interval_of_refits_finite(fitted):
    """All refits are tested on the same table, most of whose rows occur several times."""
    repeated = np.repeat(X[:40], 4, axis=0)
    told = stability_over_refits(
        fitted, [(scaled_step(factor), repeated, None) for factor in (1.0, 2.0, 3.0)]
    )
    assert told.remaining_low <= told.remaining <= told.remaining_high
    for curve in told.refit_curves:
        assert np.isfinite(curve.low).all()
        assert np.isfinite(curve.high).all()
