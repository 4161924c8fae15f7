"""A tree ensemble as its library keeps it, before one output is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.trees.forest import Forest
from granite_xai.trees.refusal import RefusalError

LEAF = -1  # the feature of a node that asks nothing


class Tree(NamedTuple):
    """The arrays of one tree, as in `Forest`; nodes are numbered from its root."""

    feature: IntArray
    threshold: FloatArray
    strict: BoolArray
    default_left: BoolArray
    left: IntArray
    right: IntArray
    value: FloatArray
    categories: dict[int, IntArray]
    list_right: BoolArray


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A tree ensemble: for every output, a base and the trees whose leaves are added to it.

    Parameters
    ----------
    link : str
        Name of the link, as in `links.link_of`.
    n_features : int
    bases : array of shape (n_outputs,)
        What each sum starts from.
    trees_of : callable
        From the number of an output to its trees.
    average : bool
        Whether leaves are averaged instead of added.
    slope : float
        Of a logistic link.
    """

    link: str
    n_features: int
    bases: FloatArray
    trees_of: Callable[[int], list[Tree]]
    average: bool = False
    slope: float = 1.0

    @property
    def n_outputs(self) -> int:
        """Sums that are formed for a row."""
        return len(self.bases)

    def forest(self, output: int) -> Forest:
        """The trees behind one output; a RefusalError where a tree is not as it should be."""
        trees = self.trees_of(output)
        for tree in trees:
            _check(tree)
        return _joined(trees, base=float(self.bases[output]), average=self.average)


def _check(tree: Tree) -> None:
    """Refuse a tree that is not finite, or whose nodes do not follow their parents."""
    inner = np.flatnonzero(tree.feature != LEAF)
    if not np.all(tree.left[inner] > inner) or not np.all(tree.right[inner] > inner):
        raise RefusalError("a tree has nodes of an unknown kind or order", "M30")
    if not np.isfinite(tree.value).all() or np.isnan(tree.threshold).any():
        raise RefusalError("a tree has values that are not finite", "M30")


def _joined(trees: list[Tree], base: float, average: bool) -> Forest:
    """Trees one after the other, their nodes numbered through."""
    starts = np.cumsum([0, *(len(tree.feature) for tree in trees)]).astype(np.intp)
    shifts = starts[:-1].tolist()
    categories: dict[int, IntArray] = {}
    left = [np.zeros(0, np.intp)]
    right = [np.zeros(0, np.intp)]
    for tree, shift in zip(trees, shifts, strict=True):
        left.append(tree.left + shift)
        right.append(tree.right + shift)
        for node, listed in tree.categories.items():
            categories[shift + node] = listed
    value = _field_of_all(trees, "value", np.float64)
    if average:
        value = value / float(len(trees))
    return Forest(
        feature=_field_of_all(trees, "feature", np.intp),
        threshold=_field_of_all(trees, "threshold", np.float64),
        strict=_field_of_all(trees, "strict", np.bool_),
        default_left=_field_of_all(trees, "default_left", np.bool_),
        left=np.concatenate(left),
        right=np.concatenate(right),
        value=value,
        categories=categories,
        list_right=_field_of_all(trees, "list_right", np.bool_),
        starts=starts,
        base=base,
    )


def _field_of_all(trees: list[Tree], field: str, dtype: Any) -> NDArray[Any]:
    """An array of all trees, one after the other; of no trees an empty one of the right type."""
    arrays = [getattr(tree, field) for tree in trees]
    return np.concatenate([np.zeros(0, dtype), *arrays])
