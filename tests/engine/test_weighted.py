"""Weighted means over the rows of a region, against sums row by row."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.engine.weighted import WeightedAverages, weights_of_rows
from granite_xai.evaluations.densities import DensityRatios
from granite_xai.evaluations.matrix import Matrix

from granite_xai.evaluations.evaluations import Evaluations

N = 12
EVERYTHING = frozenset({0, 1, 2})
SHOWN = frozenset({1})
HIDDEN = EVERYTHING - SHOWN


@pytest.fixture
def evaluations() -> Evaluations:
    """Random predictions of 12 rows; column 1 has four values and three intervals."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, N)
    codes[:4] = range(4)
    densities = DensityRatios(
        column=1, intervals=rng.integers(0, 3, N), ratios=rng.uniform(0.1, 3.0, (3, N))
    )
    return Evaluations(
        predictions=rng.normal(size=N),
        weights=rng.uniform(0.5, 2.0, N),
        offset=0.0,
        y=None,
        stored_as={SHOWN: (SHOWN, True), HIDDEN: (SHOWN, False)},
        matrices={SHOWN: Matrix(rng.normal(size=(4, N)), codes)},
        bins={},
        against={},
        attributions={},
        errors={},
        ale={},
        everything=EVERYTHING,
        densities={("masking", SHOWN): densities, ("masking", HIDDEN): densities},
    )


def pairs_by_definition(evaluations: Evaluations, visible: frozenset) -> tuple:
    """Hybrid prediction and weight of every row n against every reference m, as nested loops."""
    matrix = evaluations.matrices[SHOWN]
    densities = evaluations.densities["masking", visible]
    hybrids, weights = np.empty((N, N)), np.empty((N, N))
    for n in range(N):
        for m in range(N):
            shows, other = (n, m) if visible == SHOWN else (m, n)
            hybrids[n, m] = matrix.values[matrix.codes[shows], other]
            weights[n, m] = densities.ratios[densities.intervals[shows], other]
    return hybrids, weights


def by_definition(evaluations, visible, inside, function=lambda values, rows: values):
    """The weighted mean of each row in its own side of one split, (n,)."""
    hybrids, weights = pairs_by_definition(evaluations, visible)
    found = np.empty(N)
    for n in range(N):
        alike = np.flatnonzero(inside == inside[n])
        share = weights[n, alike] * evaluations.weights[alike]
        values = function(hybrids[n, alike][:, None], np.array([n]))[:, 0]
        found[n] = share @ values / share.sum()
    return found


def masked(evaluations: Evaluations, splits: Splits) -> WeightedAverages:
    densities = {visible: own for (_, visible), own in evaluations.densities.items()}
    return WeightedAverages(evaluations, splits, densities)


SIDES = np.random.default_rng(0).random((5, N)) < 0.4


@pytest.mark.parametrize("visible", [SHOWN, HIDDEN], ids=["shown", "hidden"])
def test_the_masked_model_is_the_weighted_mean_of_the_rows_own_side(evaluations, visible):
    splits = Splits.of(SIDES, evaluations.weights)
    found = masked(evaluations, splits).combined({visible: 2.0, EVERYTHING: -1.0}).array(splits)
    for k, inside in enumerate(SIDES):
        expected = 2.0 * by_definition(evaluations, visible, inside) - evaluations.predictions
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-10)


def test_both_roles_of_a_column_are_added_with_the_mean_of_all_rows(evaluations):
    splits = Splits.of(SIDES, evaluations.weights)
    terms = {SHOWN: 1.0, HIDDEN: -0.5, frozenset(): 3.0}
    found = masked(evaluations, splits).combined(terms).array(splits)
    for k, inside in enumerate(SIDES):
        means = [
            np.average(
                evaluations.predictions[inside == own], weights=evaluations.weights[inside == own]
            )
            for own in inside
        ]
        expected = (
            by_definition(evaluations, SHOWN, inside)
            - 0.5 * by_definition(evaluations, HIDDEN, inside)
            + 3.0 * np.array(means)
        )
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-10)


@pytest.mark.parametrize("visible", [SHOWN, HIDDEN], ids=["shown", "hidden"])
def test_lines_of_weights_replace_those_of_the_rows(evaluations, visible):
    lines = np.random.default_rng(1).uniform(0.2, 2.0, (4, N))
    splits = Splits.weighted(lines, evaluations.weights)
    found = masked(evaluations, splits).combined({visible: 1.0}).array(splits)
    hybrids, weights = pairs_by_definition(evaluations, visible)
    for k, line in enumerate(lines):
        share = weights * line
        expected = (share * hybrids).sum(axis=1) / share.sum(axis=1)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-10)


@pytest.mark.parametrize("visible", [SHOWN, HIDDEN], ids=["shown", "hidden"])
def test_a_function_is_averaged_instead_of_the_predictions(evaluations, visible):
    y = np.random.default_rng(2).normal(size=N)

    def loss(values, rows):
        return np.square(values - y[rows])

    splits = Splits.of(SIDES, evaluations.weights)
    found = masked(evaluations, splits).averaged(visible, loss).array(splits)
    for k, inside in enumerate(SIDES):
        expected = by_definition(evaluations, visible, inside, loss)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-10)


def test_total_variance_is_the_mean_weighted_variance_of_each_side(evaluations):
    splits = Splits.of(SIDES, evaluations.weights)
    found = masked(evaluations, splits).total_variance(SHOWN)
    for k, inside in enumerate(SIDES):
        mean = by_definition(evaluations, HIDDEN, inside)
        square = by_definition(evaluations, HIDDEN, inside, lambda values, rows: values**2)
        for number, side in enumerate((inside, ~inside)):
            expected = np.average((square - mean**2)[side], weights=evaluations.weights[side])
            assert found[number, k] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("visible", [SHOWN, HIDDEN], ids=["shown", "hidden"])
def test_some_rows_alone_give_what_they_give_as_a_side(evaluations, visible):
    inside = SIDES[0]
    rows = np.flatnonzero(inside)
    alone = evaluations.restrict(rows)
    whole = Splits.whole(alone.weights)
    found = masked(alone, whole).combined({visible: 1.0}).array(whole)[:, 0]
    np.testing.assert_allclose(found, by_definition(evaluations, visible, inside)[rows], rtol=1e-10)


@pytest.mark.parametrize("shown", [True, False])
def test_weights_of_reference_rows(evaluations, shown):
    densities = evaluations.densities["masking", SHOWN]
    _, weights = pairs_by_definition(evaluations, SHOWN if shown else HIDDEN)
    rows, references = np.array([2, 5, 7]), np.array([0, 3, 4, 9])
    found = weights_of_rows(shown, densities.restrict(rows), densities.restrict(references))
    np.testing.assert_array_equal(found, weights[np.ix_(rows, references)])
