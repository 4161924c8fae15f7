"""Figures that once slipped on large samples of fits, each in the smallest case that shows it.

Whole simulations of them are in experiments/chance.py.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from experiments.chance import planted_model, planted_rows, toy_model, toy_rows
from scipy.special import stdtrit

import granite_xai as gx
from granite_xai.inference.estimate import Predicted, described_share


@pytest.mark.filterwarnings("ignore::granite_xai.DataWarning", "ignore::granite_xai.BinWarning")
@pytest.mark.parametrize("question", ["shap-pdp", "ice-shap", "cshap-shap", "sage-risk", "coe"])
def test_more_rows_never_search_fewer(question):
    """A budget that is too small for all rows buys as many, read as finely, of a larger table."""
    rows = []
    for n_rows in (1000, 3000):
        X = planted_rows(0.3, n_rows, np.random.default_rng(0))
        g = gx.Granite(lambda X: planted_model(X, 0.3), question, max_depth=1)
        g.fit(X, planted_model(X, 0.3))
        chosen = g.diagnostics_["rows"]
        asked = g.diagnostics_["model"]["rows"] / (len(chosen["search"]) + len(chosen["held_out"]))
        rows.append((len(chosen["search"]), len(chosen["held_out"]), asked))
    small, large = rows
    assert large[0] >= small[0]
    assert large[1] >= small[1]
    assert large[2] >= small[2] * small[0] / large[0]


@pytest.mark.filterwarnings("ignore::granite_xai.ModelWarning")
@pytest.mark.parametrize("n_rows", [300, 1000])
def test_noise_at_every_row_has_no_regions(n_rows):
    def hashed(X):
        digests = [hashlib.md5(row.tobytes()).digest() for row in np.ascontiguousarray(X)]
        return np.array([int.from_bytes(digest[:4], "little") / 2**32 for digest in digests])

    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(n_rows, 4))
        assert len(gx.Granite(hashed).fit(X).partition_) == 1


def test_intervals_of_the_share_described_hold_with_few_rows():
    """Curves miss a few rows by much: intervals of 200 held-out rows hold the truth in more than nine of ten."""
    rng = np.random.default_rng(5)
    X, _ = toy_rows(600, 0, rng)
    g = gx.Granite(toy_model, "ice-pdp").fit(X)
    rows, _ = toy_rows(60_000, 0, rng)
    model, curves = toy_model(rows), g.predict(rows)
    truth = 1.0 - np.mean((model - curves) ** 2) / np.var(model)
    held = []
    for _ in range(1500):
        chosen = rng.integers(0, len(rows), 200)
        of_rows = Predicted(model[chosen], curves[chosen])
        told = described_share([of_rows], np.ones(200), np.arange(200), 0.95)
        held.append(told.low <= truth <= told.high)
    assert 0.90 <= np.mean(held) <= 0.98


def test_the_error_of_the_share_described_is_that_of_leaving_clusters_out():
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 12, size=80)
    weights = rng.uniform(0.5, 2.0, size=80)
    model = rng.normal(size=80)
    outputs = [Predicted(model, model + rng.normal(scale=0.3, size=80)) for _ in range(2)]

    def missed(kept):
        shares = weights[kept] / weights[kept].sum()
        spread = shares @ np.square(model[kept] - shares @ model[kept])
        squares = [shares @ np.square(output.model - output.curves)[kept] for output in outputs]
        return np.mean(squares) / spread

    whole = missed(np.ones(80, dtype=bool))
    without = [missed(clusters != cluster) for cluster in np.unique(clusters)]
    error = np.sqrt(11 * np.var(without))
    assert whole > 2 * error
    told = described_share(outputs, weights, clusters, 0.95)
    assert told.value == pytest.approx(1.0 - whole, rel=1e-12)
    squares = np.square(without - np.mean(without))
    kurtosis = np.mean(squares**2) / np.mean(squares) ** 2
    freedom = min(11, round(24 / (kurtosis - 1)))
    assert freedom > 4
    factor = np.exp(stdtrit(freedom, 0.975) * error / whole)
    assert (told.low, told.high) == pytest.approx((1 - whole * factor, 1 - whole / factor))


@pytest.mark.filterwarnings("ignore:M13:granite_xai.DataWarning")
def test_a_fit_of_pairs_says_what_its_figures_rest_on():
    def pairs(X):
        return X[:, 0] * np.sign(X[:, 1]) + np.where(X[:, 2] > 0, X[:, 0] * X[:, 3], 0.0)

    X = np.random.default_rng(0).normal(size=(6000, 5))
    g = gx.Granite(pairs, influence="interaction", max_depth=1).fit(X)
    n_search = len(g.diagnostics_["rows"]["search"])
    n_held_out = len(g.diagnostics_["rows"]["held_out"])
    assert n_search >= 1000
    text = str(g)
    assert f"{n_search:,} of them (search rows)" in text
    assert f"{n_held_out:,} held-out rows" in text
