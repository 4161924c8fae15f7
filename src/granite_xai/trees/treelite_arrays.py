"""The arrays of a model that treelite has read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.trees.refusal import RefusalError
from granite_xai.trees.tree_model import LEAF, Tree, TreeModel

# Treelite's numbers for comparisons and for kinds of nodes.
_LESS = 2
_AT_MOST = 3
_LEAF_NODE = 0
_NUMERICAL = 1
_CATEGORICAL = 2
_EVERY_OUTPUT = -1  # of a tree whose leaves hold a vector, one entry for each output


def read_treelite(model: Any, n_trees: int | None = None) -> TreeModel:
    """What treelite made of a model.

    Parameters
    ----------
    model : treelite.Model
    n_trees : int, optional
        Trees in use, all outputs counted; None: all.
    """
    field = model.get_header_accessor().get_field
    n_targets = int(field("num_target")[0])
    n_classes = int(np.max(field("num_class")))
    if n_targets > 1 and n_classes > 1:
        raise RefusalError("the model has several targets with several classes each")
    if n_trees is None:
        n_trees = model.num_tree
    if n_trees > model.num_tree:
        raise RefusalError(f"{n_trees} trees are in use, {model.num_tree} were read", "M24")
    numbers_in_use = range(n_trees)
    output_of_tree = field("class_id" if n_targets == 1 else "target_id")

    def trees_of(output: int) -> list[Tree]:
        trees = []
        for number in numbers_in_use:
            owner = output_of_tree[number]
            if owner == _EVERY_OUTPUT:
                trees.append(_read_tree(model.get_tree_accessor(number), output))
            elif owner == output:
                trees.append(_read_tree(model.get_tree_accessor(number), None))
        return trees

    n_outputs = n_targets * n_classes
    return TreeModel(
        link=str(field("postprocessor")),
        n_features=int(field("num_feature")[0]),
        bases=np.array(field("base_scores"), dtype=np.float64)[:n_outputs],
        trees_of=trees_of,
        average=bool(int(field("average_tree_output")[0])),
        slope=float(field("sigmoid_alpha")[0]),
    )


def _read_tree(accessor: Any, output: int | None) -> Tree:
    """One tree, copied out of treelite's memory; ``output``: the entry of vector leaves."""

    def field(name: str, dtype: Any = None) -> NDArray[Any]:
        return np.array(accessor.get_field(name), dtype=dtype)

    kind = field("node_type")
    if not np.isin(kind, (_LEAF_NODE, _NUMERICAL, _CATEGORICAL)).all():
        raise RefusalError("a tree has nodes of an unknown kind or order", "M30")
    comparison = field("cmp")
    if not np.isin(comparison[kind == _NUMERICAL], (_LESS, _AT_MOST)).all():
        raise RefusalError("a tree compares by neither < nor <=", "M27")
    is_leaf = kind == _LEAF_NODE
    value = np.zeros(len(kind))
    if output is None:
        value[is_leaf] = field("leaf_value")[is_leaf]
    else:
        begins = field("leaf_vector_begin", np.intp)[is_leaf]
        value[is_leaf] = field("leaf_vector")[begins + output]
    begin = field("category_list_begin", np.intp)
    end = field("category_list_end", np.intp)
    listed = field("category_list", np.intp)
    category_nodes = np.flatnonzero(kind == _CATEGORICAL).tolist()
    return Tree(
        feature=np.where(is_leaf, LEAF, field("split_index")).astype(np.intp),
        threshold=field("threshold", np.float64),
        strict=comparison == _LESS,
        default_left=field("default_left", bool),
        left=field("cleft", np.intp),
        right=field("cright", np.intp),
        value=value,
        categories={node: listed[begin[node] : end[node]] for node in category_nodes},
        list_right=field("category_list_right_child", bool),
    )
