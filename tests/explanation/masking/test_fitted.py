"""What maskings learn from the fitting rows."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.masking.fitted import (
    FittedMaskings,
    column_of_ratios,
    fit_maskings,
)

import granite_xai as gx
from granite_xai.tables import read_table

RNG = np.random.default_rng(51)
X = RNG.normal(size=(120, 3))
X[:, 1] += X[:, 0]
TABLE = read_table(X, missing="error")
ONES = np.ones(120)
FIRST = frozenset({0})


def learned(*readings):
    return fit_maskings(readings, (), TABLE, ONES, 0)


def test_marginal_masking_learns_nothing():
    fitted = learned((gx.Marginal(), FIRST))
    assert (fitted.bins, fitted.baselines, fitted.copulas) == ({}, {}, {})


def test_a_baseline_is_kept_once_for_all_columns():
    masking = gx.Baseline("mean")
    fitted = learned((masking, FIRST), (masking, frozenset({1})))
    assert list(fitted.baselines) == [masking]
    assert fitted.baselines[masking].n_rows == 1


def test_bins_are_kept_by_reading_and_read_on_other_rows():
    masking = gx.Conditional(sampler="bins")
    fitted = learned((masking, FIRST))
    others = read_table(X[:10], missing="error", like=TABLE)
    bins = fitted.bins_of([(masking, FIRST), (masking, frozenset({2}))], others)
    assert list(bins) == [(masking, FIRST)]
    all_bins = fitted.bins_of([(masking, FIRST)], TABLE)[masking, FIRST]
    assert np.array_equal(
        bins[masking, FIRST].numbers[:, None] == bins[masking, FIRST].numbers,
        all_bins.numbers[:10, None] == all_bins.numbers[:10],
    )


def test_what_is_learned_later_is_added():
    marginal = FittedMaskings({}, {}, {})
    baseline = gx.Baseline("mean")
    joined = marginal.joined(learned((baseline, FIRST)))
    assert list(joined.baselines) == [baseline]
    assert marginal.baselines == {}


@pytest.mark.parametrize(
    ("visible", "n_columns", "column"),
    [
        ({0}, 3, 0),
        ({2}, 3, 2),
        ({1, 2}, 3, 0),
        ({0, 1}, 3, 2),
        ({0}, 2, 0),
        ((), 3, None),
        ({0, 1, 2}, 3, None),
        ({0, 1}, 4, None),
    ],
)
def test_density_ratios_are_about_the_one_column_that_is_shown_or_hidden(
    visible, n_columns, column
):
    assert column_of_ratios(frozenset(visible), frozenset(range(n_columns))) == column
