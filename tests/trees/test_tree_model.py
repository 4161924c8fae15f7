"""Trees are joined into forests, and checked."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.trees.refusal import RefusalError
from granite_xai.trees.tree_model import LEAF, Tree, TreeModel


def stump(low, high, **changes):
    """One question about column 1: leaves ``low`` and ``high``."""
    tree = Tree(
        feature=np.array([1, LEAF, LEAF]),
        threshold=np.array([0.5, 0.0, 0.0]),
        strict=np.zeros(3, dtype=bool),
        default_left=np.array([True, False, False]),
        left=np.array([1, 0, 0]),
        right=np.array([2, 0, 0]),
        value=np.array([0.0, low, high]),
        categories={},
        list_right=np.zeros(3, dtype=bool),
    )
    return tree._replace(**changes)


def model(*trees, **options):
    settings = {"link": "identity", "n_features": 2, "bases": np.array([7.0]), **options}
    return TreeModel(trees_of=lambda output: list(trees), **settings)


def test_nodes_are_numbered_through():
    by_category = stump(3.0, 4.0, categories={0: np.array([2])})
    forest = model(stump(1.0, 2.0), by_category).forest(0)
    assert forest.starts.tolist() == [0, 3, 6]
    assert forest.left[[0, 3]].tolist() == [1, 4]
    assert forest.right[[0, 3]].tolist() == [2, 5]
    assert list(forest.categories) == [3]
    assert forest.value.tolist() == [0.0, 1.0, 2.0, 0.0, 3.0, 4.0]
    assert forest.base == 7.0


def test_averages_divide_the_leaves_not_the_base():
    forest = model(stump(1.0, 2.0), stump(3.0, 4.0), average=True).forest(0)
    assert forest.value.tolist() == [0.0, 0.5, 1.0, 0.0, 1.5, 2.0]
    assert forest.base == 7.0


def test_each_output_has_its_base_and_its_trees():
    two = TreeModel(
        link="softmax",
        n_features=2,
        bases=np.array([1.0, -1.0]),
        trees_of=lambda output: [stump(output, 0.0)] * (output + 1),
    )
    assert two.n_outputs == 2
    assert two.forest(1).base == -1.0
    assert two.forest(1).n_trees == 2
    assert two.forest(0).n_trees == 1


def test_without_trees_the_base_is_left():
    forest = model().forest(0)
    assert (forest.n_trees, forest.base, len(forest.feature)) == (0, 7.0, 0)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"left": np.array([0, 0, 0])}, "order"),
        ({"right": np.array([-1, 0, 0])}, "order"),
        ({"value": np.array([0.0, np.inf, 0.0])}, "not finite"),
        ({"threshold": np.array([np.nan, 0.0, 0.0])}, "not finite"),
    ],
)
def test_trees_that_cannot_be_walked_are_refused(changes, reason):
    with pytest.raises(RefusalError, match=reason) as caught:
        model(stump(1.0, 2.0, **changes)).forest(0)
    assert caught.value.code == "M30"
