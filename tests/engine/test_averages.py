"""F_T as a mean over the rows of a region or of a bin, against loops over pairs of rows."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.averages import Averages
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.row_bins import Bins

from engine.known_rows import ALL, BINS, CHANCE, FEW, KNOWN, MANY, SIDES, N, hybrid, mean_over

SPLITS = Splits.of(SIDES, KNOWN.weights)
COALITIONS = [frozenset(), FEW, ALL - FEW, MANY, ALL - MANY, ALL]


def masked(binned):
    bins = Bins(BINS)
    return Averages(KNOWN, SPLITS, lambda visible: bins if binned else None)


@pytest.mark.parametrize("binned", [False, True])
@pytest.mark.parametrize("visible", [FEW, ALL - FEW, MANY, ALL - MANY], ids=str)
def test_a_masked_model_is_the_mean_over_the_rows_of_its_side(visible, binned):
    found = masked(binned).combined({visible: 1.0}).array(SPLITS)
    for k in range(len(SIDES)):
        for n in range(N):
            wanted = mean_over(lambda m, n=n: hybrid(visible, n, m), n, k, binned)
            assert found[n, k] == pytest.approx(wanted, rel=1e-12, abs=1e-13)


def test_a_combination_adds_tables_tiles_and_the_row_itself():
    terms = dict(zip(COALITIONS, (0.3, -1.0, 2.0, 0.7, -0.4, 1.5), strict=True))
    found = masked(False).combined(terms).array(SPLITS)
    for k in range(len(SIDES)):
        for n in range(N):
            wanted = sum(
                a * mean_over(lambda m, n=n, T=visible: hybrid(T, n, m), n, k, False)
                for visible, a in terms.items()
            )
            assert found[n, k] == pytest.approx(wanted, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("binned", [False, True])
@pytest.mark.parametrize("visible", [FEW, ALL - FEW, MANY], ids=str)
def test_a_function_is_averaged_over_the_references(visible, binned):
    target = CHANCE.normal(size=N)

    def loss(predictions, rows):
        return (predictions - target[rows]) ** 2

    found = masked(binned).averaged(visible, loss).array(SPLITS)
    for k in range(len(SIDES)):
        for n in range(N):
            wanted = mean_over(
                lambda m, n=n: (hybrid(visible, n, m) - target[n]) ** 2, n, k, binned
            )
            assert found[n, k] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("hidden", [FEW, MANY], ids=str)
def test_total_variance_is_the_mean_over_a_side_of_the_variance_of_each_row(hidden):
    found = masked(False).total_variance(hidden)  # (2, K)
    for k, inside in enumerate(SIDES):
        for side, members in enumerate((inside, ~inside)):
            rows = np.flatnonzero(members)
            if len(rows) == 0:
                continue
            weights = KNOWN.weights[rows]
            variances = []
            for n in rows:
                hybrids = np.array([hybrid(ALL - hidden, n, m) for m in rows])
                mean = np.average(hybrids, weights=weights)
                variances.append(np.average((hybrids - mean) ** 2, weights=weights))
            wanted = np.average(variances, weights=weights)
            assert found[side, k] == pytest.approx(wanted, rel=1e-11)


def test_the_mean_of_nothing_shown_is_the_mean_prediction_of_each_side():
    found = masked(False).mean
    for k, inside in enumerate(SIDES):
        wanted = np.average(KNOWN.predictions[inside], weights=KNOWN.weights[inside])
        assert found[0, k] == pytest.approx(wanted, rel=1e-13)
