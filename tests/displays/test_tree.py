"""PartitionDisplay: the tree that is drawn is that of the partition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx


def test_the_tree_is_that_of_the_partition(bike):
    display = gx.PartitionDisplay.from_estimator(bike).plot()
    nodes = display.frame()
    leaves = nodes.dropna(subset="region")
    assert leaves["rule"].tolist() == [str(rule) for rule in bike.partition_.rules]
    assert leaves["n_samples"].tolist() == [region.n_samples for region in bike.partition_]
    assert nodes["after"][0] == pytest.approx(bike.remaining_)
    texts = [text.get_text() for text in display.ax_.texts]
    for label in display.labels[1:]:
        assert label in texts
    assert sum(text.startswith("Region ") for text in texts) == len(bike.partition_)


@pytest.mark.parametrize("question", ["ice-pdp", "sobol", "pfi-risk"])
def test_a_tree_measured_on_the_fitting_rows_is_the_fitted_one(bike, question):
    g = gx.Granite(bike.model, question, max_depth=2).fit(bike.rows, bike.y)
    fitted, again = (
        gx.PartitionDisplay.from_estimator(g, *data).frame() for data in ((), (bike.rows, bike.y))
    )
    for column in ("n_samples", "fraction", "disagreement", "after"):
        np.testing.assert_allclose(fitted[column], again[column], rtol=1e-9)


def test_regions_given_as_rules_are_drawn_below_one_root(bike):
    g = gx.frameworks.vine(bike.model, "hr").fit(bike.rows)
    tree = gx.PartitionDisplay.from_estimator(g).plot()
    assert (tree.frame()["n_samples"][1:] > 0).all()


def test_an_edge_has_the_condition_of_its_split_also_where_the_feature_was_split_before():
    draw = np.random.default_rng(0)
    X = pd.DataFrame(draw.uniform(0, 4, size=(300, 2)), columns=["a", "b"])

    def model(X):
        return X["b"].to_numpy() * np.floor(X["a"].to_numpy()) ** 2

    g = gx.Granite(model, split_features=["a"], max_depth=2, alpha=0.01).fit(X)
    labels = gx.PartitionDisplay.from_estimator(g).labels
    assert "2 < a ≤ 3" in labels
    assert len(set(labels)) == len(labels) == 5
