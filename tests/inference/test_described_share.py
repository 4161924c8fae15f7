"""Share described: against loops and the jackknife, and how often its interval covers."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.inference.confidence import Confidence
from granite_xai.inference.described_share import Predicted, described_share

import granite_xai as gx
from strategies import quiet

CONFIDENCE = Confidence(level=0.95, n_replicates=50, seed=0)


def r2(model, curves, weights):
    mean = np.average(model, weights=weights)
    return 1 - (weights @ (model - curves) ** 2) / (weights @ (model - mean) ** 2)


def sample(n, seed):
    rng = np.random.default_rng(seed)
    model = rng.normal(size=n)
    return model, model + 0.5 * rng.normal(size=n), rng.integers(1, 4, n) * 1.0


def test_the_share_is_r_squared_and_its_interval_that_of_the_jackknife():
    """Leaving out a cluster moves R² by its influence: the error is that of the jackknife."""
    model, curves, weights = sample(400, 0)
    clusters = np.repeat(np.arange(80), 5)
    found = described_share([Predicted(model, curves)], weights, clusters, CONFIDENCE)
    assert found.value == pytest.approx(r2(model, curves, weights), rel=1e-12)
    without = []
    for cluster in range(80):
        kept = clusters != cluster
        without.append(r2(model[kept], curves[kept], weights[kept]))
    error = np.sqrt(79 / 80 * np.sum((np.array(without) - np.mean(without)) ** 2))
    hidden = 1 - found.value
    measured = hidden * np.log((1 - found.low) / hidden) / CONFIDENCE.quantile(80)
    assert measured == pytest.approx(error, rel=0.05)
    assert found.low < found.value < found.high
    assert hidden < found.hidden_high < 1 - found.low  # one side is nearer than the end of two


def test_few_clusters_count_as_few():
    """The error by its definition: sums over clusters of what rows move, with C / (C - 1)."""
    model, curves, weights = sample(60, 5)
    clusters = np.repeat(np.arange(6), 10)
    found = described_share([Predicted(model, curves)], weights, clusters, CONFIDENCE)
    hidden = 1 - found.value
    variance = np.average((model - np.average(model, weights=weights)) ** 2, weights=weights)
    total = 0.0
    for cluster in range(6):
        moved = 0.0
        for n in np.flatnonzero(clusters == cluster):
            far = (model[n] - np.average(model, weights=weights)) ** 2
            moved -= weights[n] * ((model[n] - curves[n]) ** 2 - hidden * far) / variance
        total += (moved / weights.sum()) ** 2
    error = np.sqrt(total * 6 / 5)
    assert hidden > 2 * error
    high = hidden * np.exp(CONFIDENCE.quantile(6) * error / hidden)
    assert found.low == pytest.approx(1 - high, rel=1e-10)


def test_outputs_are_averaged():
    model, curves, weights = sample(100, 1)
    alone = np.arange(100)
    one = described_share([Predicted(model, curves)], weights, alone, CONFIDENCE)
    both = [Predicted(model, curves), Predicted(model, model)]
    assert described_share(both, weights, alone, CONFIDENCE).value == pytest.approx(
        (one.value + 1) / 2
    )


def test_without_a_level_or_clusters_there_is_no_interval():
    model, curves, weights = sample(100, 2)
    few = np.repeat(np.arange(4), 25)
    for clusters, confidence in ((few, CONFIDENCE), (np.arange(100), None)):
        found = described_share([Predicted(model, curves)], weights, clusters, confidence)
        assert np.isfinite(found.value)
        assert np.isnan([found.low, found.high, found.hidden_high]).all()


def test_a_constant_model_is_described():
    flat = Predicted(np.ones(50), np.ones(50))
    assert described_share([flat], np.ones(50), np.arange(50), CONFIDENCE).value == 1.0


def test_intervals_cover_as_often_as_they_say():
    """200 samples of 150 rows of fixed curves; R² = 1 - 0.25 / 1."""
    covered = limited = 0
    for seed in range(200):
        model, curves, _ = sample(150, 1000 + seed)
        found = described_share(
            [Predicted(model, curves)], np.ones(150), np.arange(150), CONFIDENCE
        )
        covered += found.low <= 0.75 <= found.high
        limited += found.hidden_high >= 0.25
    assert 0.90 <= covered / 200 <= 0.99
    assert 0.90 <= limited / 200 <= 0.99


def test_a_fit_says_how_much_its_curves_describe_and_how_much_may_be_hidden(tmp_path):
    X = np.random.default_rng(0).normal(size=(900, 3))

    def model(X):
        return X[:, 0] + X[:, 1] * X[:, 2]

    with quiet():
        g = gx.Granite(model).fit(X)
    found = g.estimate_
    assert found.fidelity_low < found.fidelity < found.fidelity_high
    assert found.global_fidelity_low < found.global_fidelity < found.global_fidelity_high
    assert found.hidden_high > 1 - found.global_fidelity
    assert found.global_fidelity_low < 0.5 < found.global_fidelity_high
    gx.save(g, tmp_path / "fit.granite")
    again = gx.load(tmp_path / "fit.granite").estimate_
    for name in ("fidelity_low", "global_fidelity_high", "hidden_high"):
        assert getattr(again, name) == getattr(found, name)
    assert found.facts()["hidden_high"] == found.hidden_high
