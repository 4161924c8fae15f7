"""F_T as a mean over the rows of a region or of a bin, against loops over pairs of rows."""

from __future__ import annotations

import numpy as np
import pytest

from engine.known_rows import ALL, CHANCE, FEW, KNOWN, MANY, SIDES, N, hybrid, side_of
from granite_xai.compute.primitives import NUMPY
from granite_xai.engine import averages
from granite_xai.engine.averages import Averages
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.row_bins import Bins
from strategies import paper, quiet

SPLITS = Splits.of(SIDES, KNOWN.weights, NUMPY)
BINS = np.array([0, 0, 1, 1, 2, 2, 2] * 2)
COALITIONS = [frozenset(), FEW, ALL - FEW, MANY, ALL - MANY, ALL]


def references(n, k, binned):
    """Rows of the side that holds row n, and of its bin."""
    return [m for m in side_of(SIDES[k], n) if not binned or BINS[m] == BINS[n]]


def mean_over(function, n, k, binned):
    rows = references(n, k, binned)
    return np.average([function(m) for m in rows], weights=KNOWN.weights[rows])


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


def test_a_block_holds_single_pairs():
    terms = dict(zip(COALITIONS, (0.3, -1.0, 2.0, 0.7, -0.4, 1.5), strict=True))
    some, others = np.array([3, 0, 9]), np.array([5, 2])
    found = masked(False).pair_block(terms, others, some)
    for i, m in enumerate(others):
        for j, n in enumerate(some):
            wanted = sum(a * hybrid(visible, n, m) for visible, a in terms.items())
            assert found[i, j] == pytest.approx(wanted, rel=1e-13)


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


@pytest.mark.parametrize("question", ["mplot-pdp", "cfi-pfi", "csobol-sobol", "cice-mplot"])
@pytest.mark.parametrize(("name", "value"), [("MOST_SHARES", 0)])
def test_many_bins_give_the_same_tree_as_few(question, name, value, monkeypatch):
    """Shares of all bins at once or pairs of rows bin by bin, bins one by one or all pairs: the same numbers."""
    X = np.round(np.random.default_rng(3).normal(size=(120, 3)), 1)
    y = X[:, 0] * np.sign(X[:, 1]) + 0.3 * X[:, 2]
    fits = []
    for change in (False, True):
        if change:
            monkeypatch.setattr(averages, name, value)
        with quiet():
            fits.append(
                paper(lambda X: X[:, 0] * np.sign(X[:, 1]) + 0.3 * X[:, 2] ** 2, question).fit(X, y)
            )
    assert [str(rule) for rule in fits[0].partition_.rules] == [
        str(rule) for rule in fits[1].partition_.rules
    ]
    assert len(fits[0].partition_) > 1
    assert fits[0].disagreement_ == pytest.approx(fits[1].disagreement_, rel=1e-12)
    assert fits[0].remaining_ == pytest.approx(fits[1].remaining_, abs=1e-12)
