"""Bin functions as plain numbers: edges, columns, and the nodes of small trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.files import broken, entry, numbers, position, positions
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.masking.bins import BinFunction, ExactBins, IntervalBins, LevelBins, OneBin, TreeBins

if TYPE_CHECKING:
    from granite_xai.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class PlainTree:
    """A binary tree as four arrays; a leaf has no children (-1).

    Parameters
    ----------
    feature : (k,) int
        Column that each node reads.
    threshold : (k,) float
        Rows at or below it go left.
    left, right : (k,) int
        Children, always later nodes.

    Examples
    --------
    >>> tree = PlainTree(np.array([0, 0, 0]), np.array([0.5, 0, 0]), np.array([1, -1, -1]), np.array([2, -1, -1]))
    >>> tree.apply(np.array([[0.0], [1.0]]))
    array([1, 2])
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray

    def apply(self, X: FloatArray) -> IntArray:
        """Leaf that each row reaches."""
        cells = X.astype(np.float32)  # as scikit-learn's trees read them
        nodes = np.zeros(len(X), dtype=np.intp)
        while np.any(inner := self.left[nodes] >= 0):
            rows = np.flatnonzero(inner)
            at = nodes[rows]
            below = cells[rows, self.feature[at]] <= self.threshold[at]
            nodes[rows] = np.where(below, self.left[at], self.right[at])
        return nodes


def bins_to_dict(bins: BinFunction) -> dict[str, Any]:
    """Write a bin function."""
    if isinstance(bins, OneBin):
        return {"type": "one"}
    if isinstance(bins, ExactBins):
        return {"type": "exact", "columns": list(bins.columns)}
    if isinstance(bins, LevelBins):
        return {"type": "levels", "column": bins.fitted.position}
    if isinstance(bins, IntervalBins):
        return {"type": "intervals", "column": bins.fitted.position, "edges": bins.edges.tolist()}
    if isinstance(bins, TreeBins):
        return {"type": "tree", "columns": [column.position for column in bins.fitted], **_nodes(bins.tree)}
    message = f"the bins of conditional masking are a {type(bins).__name__}, which a file cannot hold."
    raise InputError(message, code="F08", argument="bins", hint="Use bins='tree' or bins='exact'.")


def bins_from_dict(data: object, table: Table, place: str) -> BinFunction:
    """Read what `bins_to_dict` wrote, with the columns of a table."""
    kind = entry(data, "type", str, place)
    if kind == "one":
        return OneBin()
    if kind == "exact":
        return ExactBins(tuple(_columns(data, table, place)))
    if kind == "tree":
        fitted = tuple(table.columns[i] for i in _columns(data, table, place))
        width = sum(_width(column) for column in fitted)
        return TreeBins(fitted, _tree(data, width, place))
    column = table.columns[position(data, "column", place, table.n_columns)]
    if kind == "levels" and column.kind in ("nominal", "boolean"):
        return LevelBins(column)
    if kind != "intervals" or column.kind in ("nominal", "boolean"):
        raise broken(f"{place}.type", f"is {kind[:60]!r}, which a {column.kind} column does not have")
    edges = positions(data, "edges", place, max(1, len(column.levels)))
    if np.any(np.diff(edges) <= 0):
        raise broken(f"{place}.edges", "do not ascend")
    return IntervalBins(column, edges)


def _columns(data: object, table: Table, place: str) -> list[int]:
    columns: list[int] = positions(data, "columns", place, table.n_columns).tolist()
    if not columns or sorted(set(columns)) != columns:
        raise broken(f"{place}.columns", "is not an ascending list of columns")
    return columns


def _width(column: Any) -> int:
    """Numbers that the tree reads from a column: its rank, or one indicator a level."""
    if column.kind not in ("nominal", "boolean"):
        return 1
    return len(column.levels) + int((column.codes < 0).any())


def _nodes(tree: Any) -> dict[str, Any]:
    """Return the arrays of a tree of scikit-learn, or of one that was loaded."""
    if isinstance(tree, PlainTree):
        plain = tree
    else:
        grown = tree.tree_
        plain = PlainTree(np.maximum(grown.feature, 0), grown.threshold, grown.children_left, grown.children_right)
    threshold = np.where(plain.left >= 0, plain.threshold, 0.0)
    return {
        "feature": plain.feature.tolist(),
        "threshold": threshold.tolist(),
        "left": plain.left.tolist(),
        "right": plain.right.tolist(),
    }


def _tree(data: object, width: int, place: str) -> PlainTree:
    threshold = numbers(data, "threshold", place)
    count = len(threshold)
    feature = positions(data, "feature", place, max(1, width))
    left, right = (positions(data, key, place, count, at_least=-1) for key in ("left", "right"))
    if not (count and len(feature) == len(left) == len(right) == count and width):
        raise broken(place, "has nodes without feature, threshold or children")
    inner = np.flatnonzero((left >= 0) | (right >= 0))
    children = np.concatenate([left[inner], right[inner]])
    # Each later than its parent and nobody's child twice: no way through the tree can be endless.
    if np.any(left[inner] <= inner) or np.any(right[inner] <= inner) or len(np.unique(children)) < len(children):
        raise broken(place, "has children that are no later nodes, or have two parents")
    if len(children) != count - 1:
        raise broken(place, "has nodes that no other node leads to")
    return PlainTree(feature, threshold, left, right)
