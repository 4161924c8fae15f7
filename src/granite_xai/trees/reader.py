"""The one loader of tree ensembles: treelite's arrays, checked field by field, and its links; the rest is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.trees.forest import Forest, RefusalError

Link = Callable[[Sequence[FloatArray]], FloatArray]
"""What is explained, from the sums of the outputs it depends on."""


def identity(sums: Sequence[FloatArray]) -> FloatArray:
    """The sum itself."""
    return sums[0]


def opposite(sums: Sequence[FloatArray]) -> FloatArray:
    """The score of the first of two classes."""
    return -sums[0]


def _logistic(sums: Sequence[FloatArray], alpha: float, complement: bool = False) -> FloatArray:
    from scipy.special import expit

    shares = np.asarray(expit(alpha * sums[0]))
    return 1.0 - shares if complement else shares


def _softmax(sums: Sequence[FloatArray], output: int) -> FloatArray:
    largest = np.maximum.reduce(list(sums))
    parts = [np.exp(total - largest) for total in sums]
    return np.asarray(parts[output] / np.sum(parts, axis=0))


_SINGLE: dict[str, Link] = {
    "identity": identity,
    "identity_multiclass": identity,
    "exponential": lambda sums: np.exp(sums[0]),
    "signed_square": lambda sums: np.copysign(np.square(sums[0]), sums[0]),
    "logarithm_one_plus_exp": lambda sums: np.logaddexp(0.0, sums[0]),
}


def link_of(name: str, alpha: float, outputs: int, output: int | None) -> tuple[Link, tuple[int, ...]]:
    """The link (by treelite's name) of one output, and the outputs whose sums it reads.

    Without an output there is one; of one sum for two classes, 0 is the complement.
    """
    if name == "softmax" and output is not None and outputs > 1:
        return partial(_softmax, output=output), tuple(range(outputs))
    if name in ("sigmoid", "multiclass_ova"):
        if outputs > 1 and name == "multiclass_ova" and output is not None:
            return partial(_logistic, alpha=alpha), (output,)
        if outputs == 1:
            return partial(_logistic, alpha=alpha, complement=output == 0), (0,)
    if name in _SINGLE and (outputs == 1 or output is not None):
        return _SINGLE[name], (output or 0,)
    raise RefusalError(f"the link {name!r} of {outputs} outputs is not applied by us", "M23")


_LESS, _AT_MOST = 2, 3
_LEAF, _NUMERICAL, _CATEGORICAL = 0, 1, 2
_ARRAYS: dict[str, type] = {
    **dict.fromkeys(("feature", "left", "right"), np.intp),
    **dict.fromkeys(("threshold", "value"), np.float64),
    **dict.fromkeys(("strict", "default_left", "list_right"), np.bool_),
}


@dataclass(frozen=True, eq=False)
class Loaded:
    """What treelite made of a model: its link by name, the slope of a logistic one, and the sums a row (outputs)."""

    model: Any
    link: str
    alpha: float
    n_features: int
    outputs: int

    def forest(self, output: int, n_trees: int | None = None) -> Forest:
        """The trees behind one output; of the first ``n_trees`` (all classes counted) only."""
        header = self.model.get_header_accessor()
        count = self.model.num_tree if n_trees is None else n_trees
        if count > self.model.num_tree:
            raise RefusalError(f"{count} trees are in use, {self.model.num_tree} were read", "M24")
        owners = header.get_field("class_id") if _n_targets(header) == 1 else header.get_field("target_id")
        chosen = [t for t in range(count) if owners[t] in (-1, output)]
        trees = [_tree(self.model.get_tree_accessor(t), output if owners[t] == -1 else None) for t in chosen]
        starts = np.cumsum([0, *(len(tree["feature"]) for tree in trees)]).astype(np.intp)
        categories: dict[int, IntArray] = {}
        for t, tree, start in zip(chosen, trees, starts[:-1], strict=True):
            tree["left"], tree["right"] = tree["left"] + start, tree["right"] + start
            listed = _categories(self.model.get_tree_accessor(t))
            categories.update({int(start) + node: kinds for node, kinds in listed.items()})
        parts = {name: [np.zeros(0, dtype), *(tree[name] for tree in trees)] for name, dtype in _ARRAYS.items()}
        joined: dict[str, NDArray[Any]] = {name: np.concatenate(each) for name, each in parts.items()}
        if int(header.get_field("average_tree_output")[0]):
            joined["value"] = joined["value"] / float(len(trees))
        base = float(header.get_field("base_scores")[output])
        return Forest(**joined, categories=categories, starts=starts, base=base)


def load(model: Any) -> Loaded:
    """Read the header of a treelite model."""
    header = model.get_header_accessor()
    targets, classes = _n_targets(header), int(np.max(header.get_field("num_class")))
    if targets > 1 and classes > 1:
        raise RefusalError("the model has several targets with several classes each")
    link, alpha = str(header.get_field("postprocessor")), float(header.get_field("sigmoid_alpha")[0])
    return Loaded(model, link, alpha, int(header.get_field("num_feature")[0]), targets * classes)


def _n_targets(header: Any) -> int:
    return int(header.get_field("num_target")[0])


def _tree(accessor: Any, output: int | None) -> dict[str, NDArray[Any]]:
    """The arrays of one tree, copied out of treelite's memory and checked; ``output``: the entry of vector leaves."""

    def field(name: str, dtype: Any = None) -> NDArray[Any]:
        return np.array(accessor.get_field(name), dtype=dtype)

    kind, comparisons = field("node_type"), field("cmp")
    inner = kind != _LEAF
    left, right, threshold = field("cleft", np.intp), field("cright", np.intp), field("threshold", np.float64)
    values = np.zeros(len(kind))
    if output is None:
        values[~inner] = field("leaf_value")[~inner]
    else:
        values[~inner] = field("leaf_vector")[field("leaf_vector_begin", np.intp)[~inner] + output]
    if not np.isin(comparisons[kind == _NUMERICAL], (_LESS, _AT_MOST)).all():
        raise RefusalError("a tree compares by neither < nor <=", "M27")
    nodes = np.flatnonzero(inner)
    children = np.stack([left[nodes], right[nodes]])
    if not np.isin(kind, (_LEAF, _NUMERICAL, _CATEGORICAL)).all() or not np.all(children > nodes):
        raise RefusalError("a tree has nodes of an unknown kind or order", "M30")
    if not np.isfinite(values).all() or np.isnan(threshold).any():
        raise RefusalError("a tree has values that are not finite", "M30")
    return {
        "feature": np.where(inner, field("split_index"), -1).astype(np.intp),
        "threshold": threshold,
        "strict": comparisons == _LESS,
        "default_left": field("default_left", bool),
        "left": left,
        "right": right,
        "value": values,
        "list_right": field("category_list_right_child", bool),
    }


def _categories(accessor: Any) -> dict[int, IntArray]:
    begin, end, pool = (
        np.array(accessor.get_field(f"category_list{part}"), dtype=np.intp) for part in ("_begin", "_end", "")
    )
    listed = np.flatnonzero(accessor.get_field("node_type") == _CATEGORICAL)
    return {int(node): pool[begin[node] : end[node]] for node in listed}
