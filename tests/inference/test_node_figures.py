"""What every node of a tree says about its rows: against loops, and against what is known of the model."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.inference.node_figures import tree_places

import granite_xai as gx
from granite_xai.regions import Partition
from inference.node_fits import figures, fitted, model, rows


def test_splits_add_up_to_what_the_regions_remove():
    (found,) = figures(fitted(rows(900), holdout="auto"))
    assert (found.rows, found.n_rows) == ("held-out", 300)
    inner = [node.node for node in found.nodes if node.region < 0]
    assert len(inner) > 1
    by_split = sum(found.removed_by_split(node) for node in inner)
    assert by_split == pytest.approx(found.removed, abs=1e-12)
    # x0 and x1 act together: regions of x1 and x2 take that away.
    assert np.argmax(found.removed) == 0
    assert found.root.heterogeneity > 2 * max(leaf.heterogeneity for leaf in found.leaves)
    assert [leaf.region for leaf in found.leaves] == list(range(len(found.leaves)))
    assert found.root.mean == pytest.approx(0.0, abs=0.3)


def test_without_a_split_the_root_is_the_region():
    g = fitted(rows(100), max_depth=0)
    (found,) = figures(g)
    (root,) = found.nodes
    assert (root.node, root.parent, root.region, root.column) == (0, -1, 0, "")
    assert found.removed == pytest.approx(np.zeros(3))


def test_regions_without_a_tree_are_children_of_the_root():
    given = gx.partitioners.GivenRules(["x1 ≤ 0", "x1 > 0"])
    (found,) = figures(fitted(rows(100), partitioner=given))
    assert [(node.parent, node.region) for node in found.nodes] == [(-1, -1), (0, 0), (0, 1)]
    partition = Partition.from_rules(["x0 ≤ 0", "x0 > 0"])
    assert [place.regions for place in tree_places(partition)] == [range(2), range(1), range(1, 2)]


def test_figures_are_saved_and_older_files_have_none(tmp_path):
    g = fitted(rows(700), y=None)
    gx.save(g, tmp_path / "fit.granite")
    loaded = gx.load(tmp_path / "fit.granite", model=model)
    assert figures(loaded) == figures(g)
