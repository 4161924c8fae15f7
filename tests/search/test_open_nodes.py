"""Nodes while their tree grows."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.search.open_nodes import Grown, OpenNode

from granite_xai.base.deferred import Deferred
from granite_xai.regions import Leaf


def node(rows):
    return OpenNode(
        rows=np.array(rows),
        mass=float(len(rows)),
        evaluations=Deferred(lambda: pytest.fail("nobody asked for the evaluations")),
        depth=0,
        shown_share=1.0,
        shown_objective=1.0,
        counted_share=1.0,
        is_silent=False,
    )


def test_nodes_of_the_same_rows_have_the_same_key():
    assert node([0, 3, 5]).key == node([0, 3, 5]).key
    assert node([0, 3, 5]).key != node([0, 3]).key
    assert node([0, 3, 5]).key != node([0, 3, 6]).key


def test_C3_a_tree_costs_what_remains_and_the_price_of_its_regions():
    leaf = Leaf(10, 1.0, 0.4)
    tree = Grown(node=leaf, remaining=0.4, n_leaves=3)
    assert tree.cost(0.0) == pytest.approx(0.4)
    assert tree.cost(0.05) == pytest.approx(0.55)
