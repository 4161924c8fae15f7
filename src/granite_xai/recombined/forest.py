"""A sum of trees in flat arrays, and the cells into which its thresholds and categories divide the columns.

Every comparison with a threshold is made once for each value of a table, in the model's own numbers; what follows
compares whole numbers only, so that no rounding can send a row another way than the model does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from granite_xai.recombined.refusal import RefusalError
from granite_xai.typing import BoolArray, FloatArray, IntArray

NodeArrays = tuple[NDArray[np.generic], ...]


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose leaves are added up; the nodes of a tree follow each other, parents first.

    Parameters
    ----------
    feature : (nodes,) int
        Column that is compared; -1 for a leaf.
    threshold, strict : (nodes,)
        Left if ``x <= threshold``, or ``x < threshold`` where strict.
    default_left : (nodes,) bool
        Way of missing values.
    left, right : (nodes,) int
    value : (nodes,) float
        Of leaves; the averaging factor is part of it.
    categories : list of arrays, by node of a categorical split; the others are absent
    list_right : (nodes,) bool
        Whether the listed categories go right.
    starts : (trees + 1,) int
        First node of each tree.
    base : float
        What is added to the sum of the leaves.
    """

    feature: IntArray
    threshold: FloatArray
    strict: BoolArray
    default_left: BoolArray
    left: IntArray
    right: IntArray
    value: FloatArray
    categories: dict[int, IntArray]
    list_right: BoolArray
    starts: IntArray
    base: float

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.starts) - 1

    @cached_property
    def leaves(self) -> IntArray:
        """Nodes that are leaves."""
        return np.flatnonzero(self.feature < 0)

    @cached_property
    def levels(self) -> tuple[IntArray, ...]:
        """The inner nodes of every depth, over all trees."""
        levels, nodes = [], self.starts[:-1]
        while len(nodes := nodes[self.feature[nodes] >= 0]):
            levels.append(nodes)
            nodes = np.concatenate([self.left[nodes], self.right[nodes]])
        return tuple(levels)

    @cached_property
    def reach(self) -> float:
        """Largest size that a partial sum of the leaves can take: what rounding is measured by."""
        sizes = np.abs(np.where(self.feature < 0, self.value, 0.0))
        return abs(self.base) + float(np.maximum.reduceat(sizes, self.starts[:-1]).sum() if self.n_trees else 0.0)

    def using(self, columns: BoolArray) -> BoolArray:
        """Which trees split on any of the columns."""
        touched = (self.feature >= 0) & columns[np.maximum(self.feature, 0)]
        return np.logical_or.reduceat(touched, self.starts[:-1]) if self.n_trees else np.zeros(0, dtype=bool)


@dataclass(frozen=True, eq=False)
class Cells:
    """A forest on a table: the cell of every row and column, and what each split does with cells.

    Parameters
    ----------
    rows : (n, d) int
        0 is missing; otherwise 1 + the number of thresholds passed, or 1 + the place of the category.
    first, cut : (nodes,) int
        A cell goes left if ``first <= cell < cut`` ...
    offset : (nodes,) int
        ... or, where this is not negative, if ``bits[offset + cell]``.
    """

    forest: Forest
    rows: NDArray[np.int32]
    first: NDArray[np.int32]
    cut: NDArray[np.int32]
    offset: IntArray
    bits: BoolArray

    @property
    def arrays(self) -> NodeArrays:
        """What the compiled walks read."""
        forest = self.forest
        return (
            *(forest.feature, self.first, self.cut, self.offset, self.bits),
            *(forest.left, forest.right, forest.value, forest.starts),
        )

    def goes_left(self, nodes: IntArray, rows: NDArray[np.int32]) -> BoolArray:
        """Whether each row goes left at each (inner) node, shape (nodes, rows)."""
        cells = rows.T[self.forest.feature[nodes]]
        went: BoolArray = (cells >= self.first[nodes, None]) & (cells < self.cut[nodes, None])
        listed = np.flatnonzero(self.offset[nodes] >= 0)
        if len(listed):
            went[listed] = self.bits[self.offset[nodes[listed], None] + cells[listed]]
        return went

    def reached(self, rows: NDArray[np.int32], free: BoolArray) -> BoolArray:
        """Whether each row meets the conditions of each leaf, those on free columns left aside, (leaves, rows)."""
        forest = self.forest
        reach = np.ones((len(forest.feature), len(rows)), dtype=bool)
        for nodes in forest.levels:
            here, ignored = reach[nodes], free[forest.feature[nodes]]
            reach[forest.left[nodes[ignored]]] = reach[forest.right[nodes[ignored]]] = here[ignored]
            asked = nodes[~ignored]
            went = self.goes_left(asked, rows)
            reach[forest.left[asked]] = here[~ignored] & went
            reach[forest.right[asked]] = here[~ignored] & ~went
        return reach[forest.leaves]


def cells_of(forest: Forest, matrix: FloatArray) -> Cells:
    """Divide the columns of a matrix, given in the model's own numbers, into the cells of a forest.

    Parameters
    ----------
    forest : Forest
    matrix : (n, d) float
        NaN is missing.
    """
    nodes = len(forest.feature)
    rows = np.ones(matrix.shape, dtype=np.int32)
    first, cut, offset = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32), np.full(nodes, -1, np.intp)
    bits: list[BoolArray] = []
    used = 0
    for j in range(matrix.shape[1]):
        own = np.flatnonzero(forest.feature == j)
        listed = [node for node in own.tolist() if node in forest.categories]
        if listed and len(listed) < len(own):
            raise RefusalError(f"column {j} is split by thresholds and by categories")
        if not listed:
            rows[:, j], cut[own] = _by_threshold(forest, own, matrix[:, j])
            first[own] = np.where(forest.default_left[own], 0, 1)
            continue
        kinds, rows[:, j] = _by_category(matrix[:, j])
        for node in listed:
            went = np.isin(kinds, forest.categories[node]) != forest.list_right[node]
            bits.append(np.concatenate([[forest.default_left[node]], went]))
            offset[node], used = used, used + len(kinds) + 1
    return Cells(forest, rows, first, cut, offset, np.concatenate(bits) if bits else np.zeros(1, dtype=bool))


def _by_threshold(forest: Forest, nodes: IntArray, values: FloatArray) -> tuple[IntArray, IntArray]:
    """Cells of the values and the cell at which each node turns right; ``x < t`` is passed before ``x <= t``."""
    strict = forest.strict[nodes]
    open_ends = np.unique(forest.threshold[nodes[strict]])
    closed_ends = np.unique(forest.threshold[nodes[~strict]])
    passed = np.searchsorted(open_ends, values, side="right") + np.searchsorted(closed_ends, values, side="left")
    turns = forest.threshold[nodes]
    before = np.searchsorted(open_ends, turns, side="left") + np.searchsorted(closed_ends, turns, side="left")
    before += ~strict & np.isin(turns, open_ends)
    return np.where(np.isnan(values), 0, passed + 1), before + 2


def _by_category(values: FloatArray) -> tuple[IntArray, IntArray]:
    """The categories present and the cells of the values; fractions are cut off, as the libraries do."""
    present = ~np.isnan(values)
    cells = np.zeros(len(values), dtype=np.intp)
    kinds, places = np.unique(np.trunc(values[present]).astype(np.int64), return_inverse=True)
    cells[present] = places + 1
    return kinds.astype(np.intp), cells
