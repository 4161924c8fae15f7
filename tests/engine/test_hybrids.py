"""Rows against the references of their bins: each row once, by pairs or by shares of values."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine import hybrids
from granite_xai.engine.hybrids import Hybrids
from granite_xai.engine.row_values import RowValues
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.row_bins import Bins

from engine.known_rows import ALL, BINS, FEW, KNOWN, MANY, SIDES, N, hybrid, mean_over
from strategies import paper, quiet

SPLITS = Splits.of(SIDES, KNOWN.weights)


def hybrids_of(visible, binned, block=2**20):
    matrix, is_shown = KNOWN.stored(visible)
    bins = Bins(BINS) if binned else None
    return Hybrids(splits=SPLITS, matrix=matrix, is_shown=is_shown, bins=bins, block=block)


@pytest.mark.parametrize("block", [1, 2**20])
@pytest.mark.parametrize("binned", [False, True])
@pytest.mark.parametrize("visible", [FEW, ALL - FEW, MANY, ALL - MANY], ids=str)
def test_blocks_hold_each_row_once_and_means_are_those_of_its_references(visible, binned, block):
    rows = [np.arange(N)[one.rows] for one in hybrids_of(visible, binned, block).blocks()]
    assert sorted(np.concatenate(rows).tolist()) == list(range(N))
    means = hybrids_of(visible, binned, block).means(-2.0)
    found = RowValues(SPLITS.zeros, tiled=means).array(SPLITS)
    for k in range(len(SIDES)):
        for n in range(N):
            wanted = -2.0 * mean_over(lambda m, n=n: hybrid(visible, n, m), n, k, binned)
            assert found[n, k] == pytest.approx(wanted, rel=1e-12, abs=1e-13)


def test_small_bins_are_handed_on_together():
    """Three bins of a few rows are one part; where little fits, no part has rows of two bins."""
    ((rows, _),) = hybrids_of(FEW, binned=True).means(1.0)
    assert sorted(rows.tolist()) == list(range(N))
    for rows, part in hybrids_of(FEW, binned=True, block=32 * 4 * len(SIDES)).means(1.0):
        assert len(set(BINS[rows].tolist())) == 1
        assert part.bins is None


def test_values_stand_for_rows_where_they_are_few(monkeypatch):
    """Two values of the hidden column, or the rows one by one where shares would be too many."""
    assert [one.predictions.shape[0] for one in hybrids_of(ALL - FEW, False).blocks()] == [2]
    monkeypatch.setattr(hybrids, "MOST_SHARES", 0)
    assert [one.predictions.shape[0] for one in hybrids_of(ALL - FEW, False).blocks()] == [N]


@pytest.mark.parametrize("question", ["mplot-pdp", "cfi-pfi", "csobol-sobol", "cice-mplot"])
@pytest.mark.parametrize(("name", "value"), [("MOST_SHARES", 0)])
def test_many_bins_give_the_same_tree_as_few(question, name, value, monkeypatch):
    """Shares of all bins at once or pairs of rows bin by bin, bins one by one or all pairs: the same numbers."""
    X = np.round(np.random.default_rng(3).normal(size=(120, 3)), 1)
    y = X[:, 0] * np.sign(X[:, 1]) + 0.3 * X[:, 2]
    fits = []
    for change in (False, True):
        if change:
            monkeypatch.setattr(hybrids, name, value)
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
