"""PartitionDisplay: the tree that is drawn is that of the partition."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.displays.tree import boxes_of
from granite_xai.regions import Leaf, Partition, Split, cut


def test_the_tree_is_that_of_the_partition(bike):
    display = gx.PartitionDisplay.from_estimator(bike).plot()
    nodes = display.frame()
    leaves = nodes.dropna(subset="region")
    assert leaves["rule"].tolist() == [str(rule) for rule in bike.partition_.rules]
    assert leaves["n_samples"].tolist() == [region.n_samples for region in bike.partition_]
    assert nodes["after"][0] == pytest.approx(bike.remaining_)
    texts = [text.get_text() for text in display.ax_.texts]
    for box in display.boxes[1:]:
        assert box.words in [text.replace("\n", " ") for text in texts]
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
    leaf = Leaf(10, 0.25, 0.1)
    again = Split("a", *cut(1.0), (leaf, leaf), 20, 0.5, 0.2)
    inner = Split("b", *cut(2.0), (again, leaf), 30, 0.75, 0.3)
    partition = Partition(Split("a", *cut(3.0), (inner, leaf), 40, 1.0, 1.0))
    words = [box.words for box in boxes_of(partition)[1:]]
    assert words == ["a ≤ 3", "b ≤ 2", "a ≤ 1", "1 < a ≤ 3", "b > 2", "a > 3"]
