"""Do the same splits come back on halves of the rows?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from strategies import quiet


def test_pure_noise_does_not_come_back():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    additive = lambda X: X[:, 0] + X[:, 1] ** 2 + X[:, 2]  # noqa: E731
    y = additive(X) + rng.normal(size=200)
    with quiet():
        g = gx.Granite(additive, "pfi-risk", confidence_level=None).fit(X, y)
        assert len(g.partition_) > 1
        assert g.stability(n_resamples=5).score < 0.6


def test_D30_one_row_or_one_cluster_has_no_halves():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(gx.InputError, match="D30: .* there is one row. Fit on more rows"):
        gx.Granite(lambda X: X[:, 0] * X[:, 1]).fit(X[:1]).stability(3)
    with pytest.raises(gx.InputError, match="D30: .* there is one cluster of rows"):
        gx.Granite(lambda X: X[:, 0] * X[:, 1]).fit(X, clusters=np.zeros(40)).stability(3)
    assert gx.Granite(lambda X: X[:, 0] * X[:, 1]).fit(X[:2]).stability(3).searches == 0


def test_rules_are_said_as_in_the_printed_tree_and_a_notebook_has_a_table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"hr": rng.integers(0, 24, 600), "off": rng.integers(0, 2, 600)})
    X["x"] = rng.normal(size=600)

    def model(X):
        late = np.asarray(X["hr"]) > 6
        return np.asarray(X["x"]) * np.where(late, np.where(np.asarray(X["off"]) > 0, 3, 1), -2)

    with quiet():
        g = gx.Granite(model, max_depth=2).fit(X)
        found = g.stability(2)
    text = str(found)
    assert "split hr 0–6 or 7–23 " in text
    assert "split where hr is 7–23: off = 0 or = 1 " in text
    assert "≤" not in text
    shown = found._repr_html_()
    assert "<table>" in shown
    assert "split hr 0–6 or 7–23" in shown
    assert repr(found) == "<Stability: 4 searches on half the rows>"


def test_one_region_is_compared_by_counts():
    X = np.random.default_rng(0).normal(size=(200, 2))
    with quiet():
        found = gx.Granite(lambda X: X[:, 0] + X[:, 1]).fit(X).stability(2)
    assert str(found) == "Of 4 searches on half the rows, 4 found no regions either."
