"""A forest on a table: the cells into which it divides the columns.

Every comparison with a threshold is made once for each value of a table, in the model's own numbers; what
follows compares whole numbers only, so that no rounding can send a row another way than the model does.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute import slices
from granite_xai.compute.compiled import compiled
from granite_xai.trees.forest import Forest
from granite_xai.trees.kernels import MOST_LEAVES, build_masks
from granite_xai.trees.refusal import RefusalError

MOST_WORDS = 2**24  # words of leaves that are kept for a table (128 MiB)
WALKED_BYTES = 64  # of a row and tree while it is walked down
COMPARED_CELLS = 2**20  # nodes times rows compared at a time: few enough for the cache

NodeArrays = tuple[NDArray[np.generic], ...]
Bits = TypeVar("Bits", np.uint8, np.bool_)


class LeafMasks(NamedTuple):
    """The leaves that each cell leaves possible, as words of bits; in the order in which loops read them."""

    masks: NDArray[np.uint64]  # (trees, cells of all columns)
    values: FloatArray  # (trees, 64): of the leaves
    asks: BoolArray  # (trees, columns): whether a tree asks about a column
    begins: IntArray  # (columns + 1,): where the cells of each column begin


class ForestCells:
    """A forest, and the cell of every row in every column of a table.

    Cell 0 is missing; otherwise 1 + the number of thresholds passed, or 1 + the place of the category. A
    cell goes left at a node if ``first <= cell < cut``, or by ``bits[offset + cell]`` where the offset is
    not negative.

    Parameters
    ----------
    forest : Forest
    matrix : array of shape (n_rows, n_columns)
        The table in the model's own numbers; NaN is missing.

    Attributes
    ----------
    rows : array of shape (n_rows, n_columns)
        Cell of each row and column.
    """

    def __init__(self, forest: Forest, matrix: FloatArray) -> None:
        n_nodes = len(forest.feature)
        self.forest = forest
        self.rows: NDArray[np.int32] = np.ones(matrix.shape, dtype=np.int32)
        self.first = np.zeros(n_nodes, np.int32)
        self.cut = np.zeros(n_nodes, np.int32)
        self.offset = np.full(n_nodes, -1, np.intp)
        bits: list[BoolArray] = []  # of each node that asks about categories, which cells go left
        n_bits = 0
        for column in range(matrix.shape[1]):
            nodes = np.flatnonzero(forest.feature == column)
            category_nodes = [node for node in nodes.tolist() if node in forest.categories]
            if not category_nodes:
                cells, turns = _threshold_cells(forest, nodes, matrix[:, column])
                self.rows[:, column] = cells
                self.cut[nodes] = turns
                # The first cell that goes left: 0, which is missing, or 1.
                self.first[nodes] = np.where(forest.default_left[nodes], 0, 1)
            elif len(category_nodes) < len(nodes):
                raise RefusalError(f"column {column} is split by thresholds and by categories")
            else:
                categories, cells = _category_cells(matrix[:, column])
                self.rows[:, column] = cells
                for node in category_nodes:
                    self.offset[node] = n_bits
                    listed = np.isin(categories, forest.categories[node])
                    goes_left = listed != forest.list_right[node]
                    bits.append(np.concatenate([[forest.default_left[node]], goes_left]))
                    n_bits += len(bits[-1])
        self.bits: BoolArray = np.zeros(1, dtype=bool)
        if bits:
            self.bits = np.concatenate(bits)

    @property
    def nodes(self) -> NodeArrays:
        """What the compiled loops read."""
        forest = self.forest
        return (
            forest.feature,
            self.first,
            self.cut,
            self.offset,
            self.bits,
            forest.left,
            forest.right,
            forest.value,
            forest.starts,
        )

    @cached_property
    def _cells_of_column(self) -> IntArray:
        return np.asarray(self.rows.max(axis=0, initial=0) + 1, dtype=np.intp)

    @cached_property
    def n_words(self) -> int:
        """Words of leaves that the masks hold."""
        return int(self.forest.n_trees * self._cells_of_column.sum())

    @cached_property
    def masks(self) -> LeafMasks | None:
        """The leaves that each cell leaves possible; None where a tree has too many leaves for a word."""
        forest = self.forest
        if forest.most_leaves > MOST_LEAVES or self.n_words > MOST_WORDS:
            return None
        begins = np.concatenate([[0], np.cumsum(self._cells_of_column)]).astype(np.intp)
        leaf_masks = LeafMasks(
            masks=np.zeros((forest.n_trees, int(begins[-1])), dtype=np.uint64),
            values=np.zeros((forest.n_trees, MOST_LEAVES)),
            asks=np.zeros((forest.n_trees, self.rows.shape[1]), dtype=bool),
            begins=begins,
        )
        compiled(build_masks)(
            self.nodes, begins, leaf_masks.masks, leaf_masks.values, leaf_masks.asks
        )
        return leaf_masks

    def goes_left(self, nodes: IntArray, rows: NDArray[np.int32]) -> BoolArray:
        """Whether each row goes left at each (inner) node, (nodes, rows).

        Parameters
        ----------
        nodes : array of shape (nodes,)
        rows : array of shape (rows, n_columns)
            Cells.
        """
        cells = rows.T[self.forest.feature[nodes]]
        goes_left: BoolArray = (cells >= self.first[nodes, None]) & (cells < self.cut[nodes, None])
        by_category = np.flatnonzero(self.offset[nodes] >= 0)
        if len(by_category):
            places = self.offset[nodes[by_category], None] + cells[by_category]
            goes_left[by_category] = self.bits[places]
        return goes_left

    @cached_property
    def packed(self) -> NDArray[np.uint8]:
        """Whether each row of the table goes left at each node, eight rows to a byte."""
        return self._packed(self.rows)

    def _packed(self, rows: NDArray[np.int32]) -> NDArray[np.uint8]:
        result = np.zeros((len(self.forest.feature), -(-len(rows) // 8)), dtype=np.uint8)
        n_parts = 1 + len(self.forest.inner) * len(rows) // COMPARED_CELLS
        for nodes in np.array_split(self.forest.inner, n_parts):
            result[nodes] = np.packbits(self.goes_left(nodes, rows), axis=1, bitorder="little")
        return result

    def leaves_of_rows(
        self, free: BoolArray, part: slice, keep_packed: bool = True
    ) -> NDArray[np.uint8]:
        """Which leaves some rows meet, free columns left aside, (leaves, rows / 8): eight rows to a byte.

        Parameters
        ----------
        free : array of shape (n_columns,)
            Columns that may have any value.
        part : slice
            The rows, from a multiple of 8 on.
        keep_packed : bool
            Whether what every row does at every node is kept in memory for the next call.
        """
        if keep_packed:
            goes_left = self.packed[:, part.start // 8 : -(-part.stop // 8)]
        else:
            goes_left = self._packed(self.rows[part])
        return self._propagate(goes_left, np.uint8(255), free)

    def leaves_of_values(self, donors: IntArray, free: BoolArray) -> BoolArray:
        """Which leaves the rows that carry some values meet, free columns left aside, (leaves, U)."""
        inner = self.forest.inner
        not_free = inner[~free[self.forest.feature[inner]]]
        goes_left = np.zeros((len(self.forest.feature), len(donors)), dtype=bool)
        goes_left[not_free] = self.goes_left(not_free, self.rows[donors])
        return self._propagate(goes_left, np.bool_(True), free)

    def sums(self, block: int) -> FloatArray:
        """The sum of the leaves that each row reaches, (n,), by walking down all trees at once.

        For deep trees, of which a row sees few nodes; `leaves_of_rows` looks at every node.

        Parameters
        ----------
        block : int
            Bytes of what is made on the way.
        """
        forest = self.forest
        result = np.full(len(self.rows), forest.base)
        if not forest.n_trees:
            return result
        for part in slices(len(self.rows), WALKED_BYTES * forest.n_trees, block):
            result[part] += forest.value[self._reached_leaves(self.rows[part])].sum(axis=1)
        return result

    def _reached_leaves(self, rows: NDArray[np.int32]) -> IntArray:
        """The leaf of each row in each tree, (rows, trees)."""
        forest = self.forest
        node = np.tile(forest.starts[:-1], len(rows))
        walking = np.arange(len(node))  # pairs of row and tree that have not reached a leaf
        while True:
            walking = walking[forest.feature[node[walking]] >= 0]
            if len(walking) == 0:
                return node.reshape(len(rows), forest.n_trees)
            inner = node[walking]
            cells = rows[walking // forest.n_trees, forest.feature[inner]]
            goes_left = (cells >= self.first[inner]) & (cells < self.cut[inner])
            by_category = self.offset[inner] >= 0
            places = self.offset[inner[by_category]] + cells[by_category]
            goes_left[by_category] = self.bits[places]
            node[walking] = np.where(goes_left, forest.left[inner], forest.right[inner])

    def _propagate(
        self, goes_left: NDArray[Bits], everything: Bits, free: BoolArray
    ) -> NDArray[Bits]:
        """Pass what arrives at each node on to its children, down to the leaves, (leaves, ...).

        Parameters
        ----------
        goes_left : array of shape (nodes, ...)
            What goes left at each node: flags, or eight of them to a byte.
        everything : scalar
            What arrives at the roots.
        free : array of shape (n_columns,)
            Columns whose nodes pass everything to both children.
        """
        forest = self.forest
        arrives = np.empty(goes_left.shape, dtype=goes_left.dtype)
        arrives[forest.starts[:-1]] = everything
        for nodes in forest.levels:
            is_free = free[forest.feature[nodes]]
            both_ways = nodes[is_free]
            arrives[forest.left[both_ways]] = arrives[both_ways]
            arrives[forest.right[both_ways]] = arrives[both_ways]
            one_way = nodes[~is_free]
            arrives_here = arrives[one_way]
            leaves_left = goes_left[one_way]
            arrives[forest.left[one_way]] = arrives_here & leaves_left
            arrives[forest.right[one_way]] = arrives_here & ~leaves_left
        return arrives[forest.leaves]


def _threshold_cells(
    forest: Forest, nodes: IntArray, values: FloatArray
) -> tuple[IntArray, IntArray]:
    """Cell of each value, and the cell from which on each node sends right.

    A cell is 1 + the number of thresholds passed. The strict ones, ``x < t``, are passed at t; the others,
    ``x <= t``, behind it: of two with the same t the strict one is passed first.

    Parameters
    ----------
    forest : Forest
    nodes : array of shape (nodes,)
        Those that ask about the column.
    values : array of shape (n,)
        The column in the model's own numbers; NaN is missing.

    Returns
    -------
    cells : array of shape (n,)
    cuts : array of shape (nodes,)
    """
    strict = forest.strict[nodes]
    thresholds = forest.threshold[nodes]
    open_ends = np.unique(thresholds[strict])
    closed_ends = np.unique(thresholds[~strict])
    passed_open = np.searchsorted(open_ends, values, side="right")
    passed_closed = np.searchsorted(closed_ends, values, side="left")
    cells = np.where(np.isnan(values), 0, passed_open + passed_closed + 1)
    # A node sends right what has passed its threshold: all that are passed before, and this one.
    before_open = np.searchsorted(open_ends, thresholds, side="left")
    before_closed = np.searchsorted(closed_ends, thresholds, side="left")
    strict_at_same_number = ~strict & np.isin(thresholds, open_ends)
    n_passed_before = before_open + before_closed + strict_at_same_number
    return cells, 1 + n_passed_before + 1


def _category_cells(values: FloatArray) -> tuple[IntArray, IntArray]:
    """The categories that occur, and the cell of each value: 1 + its place among them, 0 for missing."""
    present = ~np.isnan(values)
    whole = np.trunc(values[present]).astype(np.int64)  # fractions are cut off, as the libraries do
    categories, places = np.unique(whole, return_inverse=True)
    cells = np.zeros(len(values), dtype=np.intp)
    cells[present] = places.reshape(-1) + 1
    return categories, cells
