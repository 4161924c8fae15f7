"""The compiled passes over splits and rows against their NumPy twins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.compute.compiling import available
from granite_xai.engine import masked, sides
from strategies import quiet

pytestmark = pytest.mark.skipif(not available(), reason="could not import 'numba'")


def twins(monkeypatch: pytest.MonkeyPatch, compute: Any) -> list[Any]:
    """The same computation with compiled passes everywhere and nowhere."""
    results = []
    for cells in (0, math.inf):
        monkeypatch.setattr(sides, "WORTHWHILE", cells)
        results.append(compute())
    return results


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("binned", [False, True])
def test_passes_equal_their_twins(monkeypatch, seed, binned):
    """Means of the row's own side, entries of its own table, sums of both sides; some sides are empty."""
    generator = np.random.default_rng(seed)
    K, n, U, B = 7, 13, 4, 3 if binned else 1
    inside = generator.random((K, n)) < 0.5
    inside[0], inside[1] = True, False
    sums, total, start = generator.normal(size=(K, n)), generator.normal(size=n), generator.normal(size=(K, n))
    scales = generator.random((K, B)), generator.random((K, B))
    tables = generator.normal(size=(K, U)), generator.normal(size=(K, U))
    bins = generator.integers(0, B, size=n) if binned else None
    codes, weights = generator.integers(0, U, size=n), generator.random(n)

    def compute() -> np.ndarray:
        out = start.copy()
        sides.add_own_side(out, -1.5, sums.copy(), total, scales, bins, inside)
        sides.add_looked_up(out, 0.5, tables, codes, inside)
        return np.concatenate([out, sides.side_sums(out, weights, inside)], axis=1)

    compiled, plain = twins(monkeypatch, compute)
    np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-12)


QUESTIONS = (
    "ice-pdp",
    "shap-pdp",
    "coe",
    "ale",
    "mplot-pdp",
    "cice-mplot",
    "sobol",
    "csobol-sobol",
    "pfi-risk",
    "cfi-pfi",
)


@pytest.mark.parametrize("name", QUESTIONS)
def test_trees_are_the_same_with_and_without_the_compiler(monkeypatch, name):
    """The same rules, and shares equal to 1e-12, with weights."""
    generator = np.random.default_rng(len(name))
    X = np.round(generator.normal(size=(60, 3)), 1)
    X[:, 2] += X[:, 0]
    y, weights = generator.normal(size=60), generator.choice([0.5, 1.0, 2.0], size=60)
    model = lambda X: X[:, 0] * (X[:, 1] > 0) + X[:, 1] * X[:, 2]  # noqa: E731

    def fit() -> gx.Granite:
        with quiet():
            return gx.Granite(model, name, min_samples_leaf=5, alpha=0.01).fit(X, y, weights)

    compiled, plain = twins(monkeypatch, fit)
    assert len(plain.partition_) > 1
    assert compiled.partition_.rules == plain.partition_.rules
    shares = [[region.disagreement for region in fitted.partition_] for fitted in (compiled, plain)]
    np.testing.assert_allclose(*shares, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("question", ["mplot-pdp", "cfi-pfi", "csobol-sobol", "cice-mplot"])
def test_bins_one_by_one_give_the_same_tree_as_all_bins_at_once(question, monkeypatch):
    """The table of shares is made for all bins at once while it is small; the other way gives the same numbers."""
    generator = np.random.default_rng(3)
    X = np.round(generator.normal(size=(120, 3)), 1)
    y = X[:, 0] * np.sign(X[:, 1]) + 0.3 * X[:, 2]
    fits = []
    for most in (2**22, 0):
        monkeypatch.setattr(masked, "MOST_SHARES", most)
        with quiet():
            fits.append(gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]) + 0.3 * X[:, 2] ** 2, question).fit(X, y))
    assert [str(rule) for rule in fits[0].partition_.rules] == [str(rule) for rule in fits[1].partition_.rules]
    assert len(fits[0].partition_) > 1
    assert fits[0].disagreement_ == pytest.approx(fits[1].disagreement_, rel=1e-12)
    assert fits[0].remaining_ == pytest.approx(fits[1].remaining_, abs=1e-12)
