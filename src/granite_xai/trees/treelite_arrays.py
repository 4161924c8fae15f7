"""The arrays of a model that treelite has read, copied and checked field by field."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.trees.forest import Forest
from granite_xai.trees.refusal import RefusalError

# Treelite's numbers for comparisons and for kinds of nodes.
_LESS = 2
_AT_MOST = 3
_LEAF = 0
_NUMERICAL = 1
_CATEGORICAL = 2
_EVERY_OUTPUT = -1  # of a tree whose leaves hold a vector, one entry for each output


class LoadedModel:
    """What treelite made of a model.

    Attributes
    ----------
    link : str
        Name of its link.
    slope : float
        Of a logistic link.
    n_features : int
    n_outputs : int
        Sums that are formed for a row.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._field = model.get_header_accessor().get_field
        n_targets = int(self._field("num_target")[0])
        n_classes = int(np.max(self._field("num_class")))
        if n_targets > 1 and n_classes > 1:
            raise RefusalError("the model has several targets with several classes each")
        self.link = str(self._field("postprocessor"))
        self.slope = float(self._field("sigmoid_alpha")[0])
        self.n_features = int(self._field("num_feature")[0])
        self.n_outputs = n_targets * n_classes
        self._output_of_tree = self._field("class_id" if n_targets == 1 else "target_id")

    def forest(self, output: int, n_trees: int | None = None) -> Forest:
        """The trees behind one output.

        Parameters
        ----------
        output : int
        n_trees : int, optional
            Only so many, all outputs counted; None: all.
        """
        count = self._model.num_tree if n_trees is None else n_trees
        if count > self._model.num_tree:
            raise RefusalError(f"{count} trees are in use, {self._model.num_tree} were read", "M24")
        trees = []
        for number in range(count):
            owner = self._output_of_tree[number]
            if owner == _EVERY_OUTPUT:
                trees.append(_read_tree(self._model.get_tree_accessor(number), output))
            elif owner == output:
                trees.append(_read_tree(self._model.get_tree_accessor(number), None))
        return _joined_trees(
            trees,
            base=float(self._field("base_scores")[output]),
            average=bool(int(self._field("average_tree_output")[0])),
        )


class _Tree(NamedTuple):
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


def _joined_trees(trees: list[_Tree], base: float, average: bool) -> Forest:
    """Trees one after the other, their nodes numbered through."""
    starts = np.cumsum([0, *(len(tree.feature) for tree in trees)]).astype(np.intp)
    shifts = starts[:-1].tolist()
    categories: dict[int, IntArray] = {}
    for tree, shift in zip(trees, shifts, strict=True):
        categories.update({shift + node: listed for node, listed in tree.categories.items()})
    value = _concatenated([tree.value for tree in trees], np.float64)
    if average:
        value = value / float(len(trees))
    shifted = list(zip(trees, shifts, strict=True))
    return Forest(
        feature=_concatenated([tree.feature for tree in trees], np.intp),
        threshold=_concatenated([tree.threshold for tree in trees], np.float64),
        strict=_concatenated([tree.strict for tree in trees], np.bool_),
        default_left=_concatenated([tree.default_left for tree in trees], np.bool_),
        left=_concatenated([tree.left + shift for tree, shift in shifted], np.intp),
        right=_concatenated([tree.right + shift for tree, shift in shifted], np.intp),
        value=value,
        categories=categories,
        list_right=_concatenated([tree.list_right for tree in trees], np.bool_),
        starts=starts,
        base=base,
    )


def _concatenated(arrays: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """One after the other; of no trees an empty array of the right type."""
    return np.concatenate([np.zeros(0, dtype), *arrays])


def _read_tree(accessor: Any, output: int | None) -> _Tree:
    """One tree, copied out of treelite's memory and checked; ``output``: the entry of vector leaves."""

    def field(name: str, dtype: Any = None) -> NDArray[Any]:
        return np.array(accessor.get_field(name), dtype=dtype)

    kind = field("node_type")
    is_leaf = kind == _LEAF
    left = field("cleft", np.intp)
    right = field("cright", np.intp)
    threshold = field("threshold", np.float64)
    comparison = field("cmp")
    value = np.zeros(len(kind))
    if output is None:
        value[is_leaf] = field("leaf_value")[is_leaf]
    else:
        begins = field("leaf_vector_begin", np.intp)[is_leaf]
        value[is_leaf] = field("leaf_vector")[begins + output]
    if not np.isin(comparison[kind == _NUMERICAL], (_LESS, _AT_MOST)).all():
        raise RefusalError("a tree compares by neither < nor <=", "M27")
    inner = np.flatnonzero(~is_leaf)
    parents_first = np.all(left[inner] > inner) and np.all(right[inner] > inner)
    if not np.isin(kind, (_LEAF, _NUMERICAL, _CATEGORICAL)).all() or not parents_first:
        raise RefusalError("a tree has nodes of an unknown kind or order", "M30")
    if not np.isfinite(value).all() or np.isnan(threshold).any():
        raise RefusalError("a tree has values that are not finite", "M30")
    begin = field("category_list_begin", np.intp)
    end = field("category_list_end", np.intp)
    listed = field("category_list", np.intp)
    category_nodes = np.flatnonzero(kind == _CATEGORICAL).tolist()
    return _Tree(
        feature=np.where(is_leaf, -1, field("split_index")).astype(np.intp),
        threshold=threshold,
        strict=comparison == _LESS,
        default_left=field("default_left", bool),
        left=left,
        right=right,
        value=value,
        categories={node: listed[begin[node] : end[node]] for node in category_nodes},
        list_right=field("category_list_right_child", bool),
    )
