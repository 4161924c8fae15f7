"""Stability: half samples, against partitions whose agreement is known."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from granite_xai.inference.stability import SplitStability, Stability, wilson_interval
from granite_xai.inference.tree_agreement import (
    stability_of,
)
from sklearn.base import clone

import granite_xai as gx
from granite_xai.tables import read_table
from inference.known_trees import step, tree
from strategies import quiet


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


def test_evaluations_stay_with_the_object_that_was_fitted():
    X = np.random.default_rng(0).normal(size=(100, 3))
    g = gx.Granite(step).fit(X)
    for other in (pickle.loads(pickle.dumps(g.set_params(model=None))),):
        with pytest.raises(gx.InputError, match="evaluations of the fit"):
            other.stability()
    assert "_run" not in vars(clone(g))


@pytest.mark.parametrize(
    ("share", "instead", "text"),
    [
        (0.75, "temp", "6 split on hr (otherwise temp) again"),
        (0.75, None, "6 split on hr again"),  # the other searches did not split here
        (1.0, "temp", "8 split on hr again"),
    ],
)
def test_a_split_names_the_other_column_only_where_there_is_one(share, instead, text):
    split = SplitStability("all rows", "hr", "hr ≤ 6", share, instead, 5.0, 7.0, 8)
    found = Stability(0.9, 0.8, 1.0, (split,), n_regions=2, searches=8)
    assert str(found).startswith(f"Of 8 searches on half the rows, {text}.")
    verdict = "stable" if share == 1.0 else "unclear"
    line = next(line for line in str(found).splitlines() if line.startswith("split hr ≤ 6"))
    otherwise = ["temp"] if instead and share < 1 else []
    assert line.split()[4:] == [*f"{round(8 * share)} of 8 {verdict} 5 to 7".split(), *otherwise]
    assert ("Unclear: " in str(found)) == (share < 1)


def test_D30_one_row_or_one_cluster_has_no_halves():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(gx.InputError, match="D30: .* there is one row. Fit on more rows"):
        gx.Granite(lambda X: X[:, 0] * X[:, 1]).fit(X[:1]).stability(3)
    with pytest.raises(gx.InputError, match="D30: .* there is one cluster of rows"):
        gx.Granite(lambda X: X[:, 0] * X[:, 1]).fit(X, clusters=np.zeros(40)).stability(3)
    assert gx.Granite(lambda X: X[:, 0] * X[:, 1]).fit(X[:2]).stability(3).searches == 0


@pytest.mark.parametrize(
    ("count", "trials", "low", "high"),
    [(41, 50, 0.6920, 0.9023), (0, 10, 0.0, 0.2775), (6, 8, 0.4093, 0.9285)],
)
def test_the_interval_of_a_count_is_wilson_s(count, trials, low, high):
    """Against published values of the score interval."""
    assert wilson_interval(count, trials) == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize(("count", "verdict"), [(41, "stable"), (20, "unstable"), (33, "")])
def test_a_verdict_needs_an_interval_on_one_side_of_60_percent(count, verdict):
    split = SplitStability("all rows", "a", "a ≤ 1", count / 50, None, 1.0, 2.0, 50)
    assert split.count == count
    assert split.verdict == verdict


def test_eight_searches_of_eight_are_stable_and_six_are_no_verdict():
    seven, six = (
        SplitStability("all rows", "a", "a ≤ 1", k / 8, None, 1.0, 2.0, 8) for k in (8, 6)
    )
    assert (seven.verdict, six.verdict) == ("stable", "")


def test_the_text_counts_searches():
    found = stability_of(
        tree(0.0),
        read_table(np.random.default_rng(1).normal(size=(200, 2)), missing="error"),
        [(tree(0.0), tree(0.0)), (tree(0.0), gx.Partition.from_rules(["x0 ≤ 0", "x0 > 0"]))],
    )
    assert str(found).startswith("Of 4 searches on half the rows, 3 split on x1 again.")
    lines = found.frame()
    assert lines["count"].tolist() == [3]
    assert lines["searches"].tolist() == [4]


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


def test_of_few_rows_nothing_is_measured_and_nothing_said():
    """Halves of ten rows cannot be split: no score, no interval, no verdict."""
    X = np.random.default_rng(0).normal(size=(10, 2))
    with quiet():
        found = gx.Granite(step).fit(X).stability()
    assert found.searches == 0
    assert np.isnan([found.score, found.low, found.high]).all()
    assert "not measured" in str(found)
    assert "1.00" not in str(found)


def test_one_region_is_compared_by_counts():
    X = np.random.default_rng(0).normal(size=(200, 2))
    with quiet():
        found = gx.Granite(lambda X: X[:, 0] + X[:, 1]).fit(X).stability(2)
    assert str(found) == "Of 4 searches on half the rows, 4 found no regions either."


def test_a_column_that_is_split_twice_is_told_apart_by_where():
    table = read_table(np.random.default_rng(1).normal(size=(300, 2)), missing="error")
    X = np.random.default_rng(0).normal(size=(300, 2))
    options = {"confidence_level": None, "split_features": ["x1"], "max_depth": 2}
    with quiet():
        ours = gx.Granite(lambda X: X[:, 0] * np.abs(X[:, 1]), **options).fit(X).partition_
    found = stability_of(ours, table, [(ours, ours)])
    opening = str(found).splitlines()[0]
    assert opening.startswith("Of 2 searches on half the rows, 2 split on x1 and x1 where ")


def test_splits_of_which_none_is_stable_are_told_by_the_first():
    first = SplitStability("all rows", "hr", "hr ≤ 6", 1 / 8, "temp", 5.0, 7.0, 8)
    second = SplitStability("hr > 6", "yr", "yr ≤ 0", 0.0, None, np.nan, np.nan, 8)
    found = Stability(0.1, 0.0, 0.2, (first, second), n_regions=3, searches=8)
    assert found.sentences()[0] == (
        "None of the 2 splits is stable: the first came back in 1 of 8 searches on half the rows "
        "(otherwise most often temp)."
    )
