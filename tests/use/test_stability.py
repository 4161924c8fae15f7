"""Do the same splits come back on halves of the rows?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from strategies import quiet


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


def test_a_clear_split_comes_back_and_asks_the_model_nothing():
    calls = []

    def model(X):
        calls.append(len(X))
        return step(X)

    X = np.random.default_rng(0).normal(size=(300, 3))
    g = gx.Granite(model).fit(X)
    before = len(calls)
    found = g.stability(n_resamples=5)
    assert len(calls) == before
    assert found.searches == 10
    assert found.splits[0].column == "x1"
    assert found.splits[0].share == 1.0
    assert found.splits[0].low < 0.1 < found.splits[0].high + 0.2
    assert found.score > 0.7
    assert str(found) == str(g.stability(n_resamples=5))
    assert g.stability_.score == found.score
    axes = found.plot()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [split.label for split in found.splits]
    assert [bar.get_width() for bar in axes.patches] == [split.share for split in found.splits]
    assert found.plot(axes) is axes


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


def test_halves_must_have_room_for_two_regions_and_a_search():
    X = np.random.default_rng(1).normal(size=(200, 3))
    assert gx.Granite(step, min_samples_leaf=51).fit(X).stability(2).searches == 0
    assert gx.Granite(step, min_samples_leaf=50).fit(X).stability(2).searches == 4
    assert gx.Granite(step, max_depth=1).fit(X).stability().searches >= 8
    rules = gx.partitioners.GivenRules(["x1 ≤ 0", "x1 > 0"])
    with pytest.raises(gx.InputError, match="P03"):
        gx.Granite(step, partitioner=rules).fit(X).stability(2)
