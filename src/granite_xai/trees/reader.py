"""The one loader of tree ensembles: treelite's arrays, checked field by field, and its links; the rest is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.trees.forest import Forest, RefusalError

if TYPE_CHECKING:
    from numpy.typing import NDArray


Link = Callable[[Sequence[FloatArray]], FloatArray]
"""What is explained, from the sums of the outputs it depends on."""


def identity(sums: Sequence[FloatArray]) -> FloatArray:
    """The sum itself."""
    return sums[0]


def opposite(sums: Sequence[FloatArray]) -> FloatArray:
    """The score of the first of two classes."""
    return -sums[0]


def _logistic(sums: Sequence[FloatArray], alpha: float) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(alpha * sums[0]))


def _exponential(sums: Sequence[FloatArray]) -> FloatArray:
    return np.exp(sums[0])


def _signed_square(sums: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.copysign(np.square(sums[0]), sums[0]))


def _log_one_plus_exp(sums: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.logaddexp(0.0, sums[0]))


def _softmax(sums: Sequence[FloatArray], output: int) -> FloatArray:
    largest = np.maximum.reduce(list(sums))
    parts = [np.exp(total - largest) for total in sums]
    return np.asarray(parts[output] / np.sum(parts, axis=0))


def _complement(sums: Sequence[FloatArray], link: Link) -> FloatArray:
    return 1.0 - link(sums)


_SINGLE: dict[str, Link] = {
    "identity": identity,
    "identity_multiclass": identity,
    "exponential": _exponential,
    "signed_square": _signed_square,
    "logarithm_one_plus_exp": _log_one_plus_exp,
}


def link_of(name: str, alpha: float, outputs: int, output: int | None) -> tuple[Link, tuple[int, ...]]:
    """The link of one output, and the outputs whose sums it reads.

    Parameters
    ----------
    name : str
        Treelite's name of the function.
    alpha : float
        Slope of the logistic function.
    outputs : int
        Sums a row.
    output : int, optional
        The output (class) asked for; None where there is one. Of one sum for two classes, 0 is the complement.

    Examples
    --------
    >>> link, read = link_of("sigmoid", 1.0, 1, 0)
    >>> link([np.array([0.0])]), read
    (array([0.5]), (0,))
    """
    if name == "softmax" and output is not None and outputs > 1:
        return partial(_softmax, output=output), tuple(range(outputs))
    if name in ("sigmoid", "multiclass_ova"):
        logistic = partial(_logistic, alpha=alpha)
        if outputs > 1 and name == "multiclass_ova" and output is not None:
            return logistic, (output,)
        if outputs == 1:
            return (partial(_complement, link=logistic) if output == 0 else logistic), (0,)
    if name in _SINGLE and (outputs == 1 or output is not None):
        return _SINGLE[name], (output or 0,)
    raise RefusalError(f"the link {name!r} of {outputs} outputs is not applied by us", "M23")


_LESS, _AT_MOST = 2, 3
_LEAF, _NUMERICAL, _CATEGORICAL = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Loaded:
    """What treelite made of a model.

    Parameters
    ----------
    model : treelite's model
    link : str
        Name of the function that treelite applies to the sums.
    alpha : float
        Slope of the logistic link.
    n_features : int
    outputs : int
        Sums a row: classes, or targets.
    """

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
        trees = [_Tree(self.model.get_tree_accessor(t), output if owners[t] == -1 else None) for t in chosen]
        factor = float(len(trees)) if int(header.get_field("average_tree_output")[0]) else 1.0
        return _joined(trees, float(header.get_field("base_scores")[output]), factor)


def load(model: Any) -> Loaded:
    """Read the header of a treelite model."""
    header = model.get_header_accessor()
    targets, classes = _n_targets(header), int(np.max(header.get_field("num_class")))
    if targets > 1 and classes > 1:
        raise RefusalError("the model has several targets with several classes each")
    return Loaded(
        model,
        str(header.get_field("postprocessor")),
        float(header.get_field("sigmoid_alpha")[0]),
        int(header.get_field("num_feature")[0]),
        targets * classes,
    )


def _n_targets(header: Any) -> int:
    return int(header.get_field("num_target")[0])


class _Tree:
    """The arrays of one tree, copied out of treelite's memory."""

    def __init__(self, accessor: Any, output: int | None) -> None:
        def field(name: str) -> NDArray[Any]:
            return np.array(accessor.get_field(name))

        self.size = int(field("num_nodes")[0])
        self.kind = field("node_type")
        self.inner = self.kind != _LEAF
        self.left, self.right = field("cleft").astype(np.intp), field("cright").astype(np.intp)
        self.feature = np.where(self.inner, field("split_index"), -1).astype(np.intp)
        self.default_left = field("default_left").astype(bool)
        self.threshold = field("threshold").astype(np.float64)
        self.list_right = field("category_list_right_child").astype(bool)
        self.value = self._values(field, output)
        self.strict = self._strict(field("cmp"))
        self.categories = self._categories(field)
        self._check()

    def _values(self, field: Any, output: int | None) -> FloatArray:
        values = np.asarray(field("leaf_value"), dtype=np.float64)
        if output is not None:
            vector, begin = field("leaf_vector"), field("leaf_vector_begin").astype(np.intp)
            values = np.zeros(self.size)
            values[~self.inner] = vector[begin[~self.inner] + output]
        return np.where(self.inner, 0.0, values)

    def _strict(self, comparisons: NDArray[Any]) -> NDArray[np.bool_]:
        numerical = self.kind == _NUMERICAL
        if not np.isin(comparisons[numerical], (_LESS, _AT_MOST)).all():
            raise RefusalError("a tree compares by neither < nor <=", "M27")
        return np.asarray(comparisons == _LESS)

    def _categories(self, field: Any) -> dict[int, IntArray]:
        begin, end = field("category_list_begin").astype(np.intp), field("category_list_end").astype(np.intp)
        pool = field("category_list").astype(np.intp)
        return {int(node): pool[begin[node] : end[node]] for node in np.flatnonzero(self.kind == _CATEGORICAL)}

    def _check(self) -> None:
        nodes = np.flatnonzero(self.inner)
        children = np.stack([self.left[nodes], self.right[nodes]])
        if not np.isin(self.kind, (_LEAF, _NUMERICAL, _CATEGORICAL)).all() or not np.all(children > nodes):
            raise RefusalError("a tree has nodes of an unknown kind or order", "M30")
        if not np.isfinite(self.value).all() or np.isnan(self.threshold).any():
            raise RefusalError("a tree has values that are not finite", "M30")


def _joined(trees: list[_Tree], base: float, factor: float) -> Forest:
    starts = np.cumsum([0, *(tree.size for tree in trees)]).astype(np.intp)

    def joined(name: str, dtype: type, shift: bool = False) -> NDArray[Any]:
        parts = [getattr(tree, name) + start if shift else getattr(tree, name) for tree, start in zip(trees, starts)]  # noqa: B905
        return np.concatenate([np.zeros(0, dtype=dtype), *parts]).astype(dtype, copy=False)

    categories = {
        int(node + start): listed
        for tree, start in zip(trees, starts)  # noqa: B905
        for node, listed in tree.categories.items()
    }
    return Forest(
        feature=joined("feature", np.intp),
        threshold=joined("threshold", np.float64),
        strict=joined("strict", np.bool_),
        default_left=joined("default_left", np.bool_),
        left=joined("left", np.intp, shift=True),
        right=joined("right", np.intp, shift=True),
        value=joined("value", np.float64) / factor,
        categories=categories,
        list_right=joined("list_right", np.bool_),
        starts=starts,
        base=base,
    )
