"""The words and the summary of an estimate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import granite_xai as gx
from strategies import quiet

RULES = gx.partitioners.GivenRules(["x1 ≤ 0", "x1 > 0"])


def test_the_printed_result_says_how_much_one_curve_a_feature_describes():
    """Of 4 x2 and x0 by the sign of x1 the first has 16 of 17 parts of the variance; with regions curves tell all."""
    X = np.random.default_rng(4).normal(size=(400, 3))
    with quiet():
        g = gx.Granite(
            lambda X: 4 * X[:, 2] + X[:, 0] * np.sign(X[:, 1]), partitioner=RULES, holdout=False
        ).fit(X)
    found = g.estimate_
    assert found.fidelity == pytest.approx(1.0)
    assert found.global_fidelity == pytest.approx(16 / 17, abs=0.02)
    told = round(100 * found.global_fidelity)
    assert f"One curve per feature describes {told}% of the model; in 2 regions, " in str(g)


def test_an_estimate_says_in_one_sentence_what_is_known():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    options = {"max_depth": 1, "min_samples_leaf": 10}
    found = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), **options).fit(X).estimate_
    assert str(found).startswith("2 regions remove ")
    assert "95% interval" in str(found)
    narrow = replace(found, remaining=0.3, low=0.2, high=0.4)
    assert str(narrow).startswith(
        "2 regions remove 70% of the heterogeneity (95% interval 60–80%, "
    )
    hardly_any = replace(found, remaining=0.9, low=0.7, high=1.2)
    assert "interval 0–30%" in str(hardly_any)
    worse = replace(found, remaining=1.1, low=1.003, high=1.2)
    assert str(worse).startswith("2 regions remove 0% of the heterogeneity (233 held-out rows")
    better_than_all = replace(found, remaining=0.1, low=-0.2, high=0.3)
    assert "interval 70–100%" in str(better_than_all)
    additive = gx.Granite(lambda X: X[:, 0] + X[:, 1], **options).fit(X).estimate_
    assert str(additive) == "There is no heterogeneity to explain."
    noise = gx.Granite(lambda X: X[:, 0], "mplot-pdp", **options).fit(X).estimate_
    assert str(noise).startswith("No heterogeneity stands out from sampling noise (")
    undivided = gx.Granite(lambda X: X[:, 0] * X[:, 1], max_depth=0).fit(X).estimate_
    assert str(undivided) == "One region: the rows are not divided."
    shown = found._repr_html_()
    assert "one curve per feature in each of 2 regions" in shown
    assert "heterogeneity that regions remove" in shown


def test_bars_of_an_estimate_are_as_long_as_its_shares():
    X = np.random.default_rng(0).normal(size=(700, 2))
    found = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), max_depth=1).fit(X).estimate_
    bars = [line[1] for line in found._summary().table[1:]]
    shares = [found.global_fidelity, found.fidelity, 1.0 - found.remaining]
    assert [bar.fraction for bar in bars] == pytest.approx(np.maximum(shares, 0.0).tolist())
