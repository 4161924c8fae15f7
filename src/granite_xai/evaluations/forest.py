"""Sums of trees in flat arrays, and ``E_S`` read off them for the rows of a table.

A leaf with value v counts in ``E_S[u, n] = F(value u on S, row n elsewhere)`` exactly when the value u meets
its conditions on S and the row n meets those on the other columns. With 0/1 matrices of who meets what,
``E_S = (I_S diag(v)) J_{-S}``: a sparse product in NumPy and SciPy, or one compiled walk where the extra
``fast`` is installed.

Every comparison with a threshold is made once for each value of a table, in the model's own numbers; what
follows compares whole numbers (cells) only, so that no rounding can send a row another way than the model does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from granite_xai.base.limits import slices
from granite_xai.base.parallel import in_threads, resolve_jobs
from granite_xai.base.typing import BoolArray, FloatArray, IntArray

LEAF = -1  # the feature of a node that asks nothing
ANCHOR = 256  # values after which running sums start afresh, so that their rounding stays bounded
WALKED_ROWS = 2048  # rows of one block of the compiled walk, whatever the number of threads
WALKED_BYTES = 64  # of a row and tree while rows are walked down one by one
COMPARED_CELLS = 2**20  # nodes times rows compared at a time: few enough for the cache

Kernel = TypeVar("Kernel", bound=Callable[..., None])


def can_compile() -> bool:
    """Whether the compiler is installed (the extra ``fast``); it is not loaded to find out."""
    return find_spec("numba") is not None


@cache
def compiled(function: Kernel) -> Kernel:
    """Compile a function of arrays, once.

    Parameters
    ----------
    function : callable
        Plain loops over its arguments; it writes into one of them.

    Returns
    -------
    callable
        Does the same, and releases the interpreter's lock while it runs.
    """
    # Never ``parallel=True``: its work queue aborts the process when two threads call it.
    import numba

    build = partial(numba.njit, nogil=True, error_model="numpy")
    try:
        return cast("Kernel", build(cache=True)(function))
    except RuntimeError:  # no folder where the machine code could be kept
        return cast("Kernel", build()(function))


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose leaves are added up; the nodes of a tree follow each other, parents first.

    A row goes left at a node if ``x <= threshold``, or ``x < threshold`` where the node is strict.

    Parameters
    ----------
    feature : array of shape (n_nodes,)
        Column that a node asks about; -1: a leaf.
    threshold, strict : arrays of shape (n_nodes,)
    default_left : array of shape (n_nodes,)
        Whether missing values go left.
    left, right : arrays of shape (n_nodes,)
        Numbers of the children.
    value : array of shape (n_nodes,)
        What a leaf adds.
    categories : dict of node to array
        The categories that a node sends left, or right where ``list_right``.
    list_right : array of shape (n_nodes,)
    starts : array of shape (n_trees + 1,)
        Root of each tree, and the number of nodes.
    base : float
        Added to the sum of the leaves.
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
    base: float = 0.0

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.starts) - 1

    @cached_property
    def leaves(self) -> IntArray:
        """Nodes that are leaves."""
        return np.flatnonzero(self.feature == LEAF)

    @cached_property
    def levels(self) -> tuple[IntArray, ...]:
        """The inner nodes of every depth, over all trees."""
        levels: list[IntArray] = []
        nodes = self.starts[:-1]
        while True:
            nodes = nodes[self.feature[nodes] != LEAF]
            if len(nodes) == 0:
                return tuple(levels)
            levels.append(nodes)
            nodes = np.concatenate([self.left[nodes], self.right[nodes]])

    @property
    def n_steps(self) -> int:
        """Nodes that a row passes, at most: the trees times the depth of the deepest."""
        return self.n_trees * len(self.levels)

    @cached_property
    def reach(self) -> float:
        """Largest size that a partial sum of the leaves can take: what rounding is measured by."""
        if not self.n_trees:
            return abs(self.base)
        sizes = np.abs(np.where(self.feature == LEAF, self.value, 0.0))
        return abs(self.base) + float(np.maximum.reduceat(sizes, self.starts[:-1]).sum())


class ForestOnTable:
    """A forest, and the cell of every row in every column of a table.

    Cell 0 is missing; otherwise 1 + the number of thresholds passed, or 1 + the place of the category. A
    cell goes left at a node if ``first <= cell < cut``, or by ``bits[offset + cell]`` where the offset is
    not negative.

    Parameters
    ----------
    forest : Forest
        No column is asked about by thresholds and by categories.
    matrix : array of shape (n_rows, n_columns)
        The table in the model's own numbers; NaN is missing.

    Attributes
    ----------
    cells : array of shape (n_rows, n_columns)
        Cell of each row and column.
    nodes : tuple of arrays
        What compiled loops read: feature, first, cut, offset, bits, left, right, value, starts.
    """

    def __init__(self, forest: Forest, matrix: FloatArray) -> None:
        n_nodes = len(forest.feature)
        self.forest = forest
        self.cells: NDArray[np.int32] = np.ones(matrix.shape, dtype=np.int32)
        self._first = np.zeros(n_nodes, np.int32)
        self._cut = np.zeros(n_nodes, np.int32)
        self._offset = np.full(n_nodes, -1, np.intp)
        bits: list[BoolArray] = []  # of each node that asks about categories, which cells go left
        n_bits = 0
        for column in range(matrix.shape[1]):
            nodes = np.flatnonzero(forest.feature == column)
            category_nodes = [node for node in nodes.tolist() if node in forest.categories]
            if not category_nodes:
                self.cells[:, column], self._cut[nodes] = _threshold_cells(
                    forest, nodes, matrix[:, column]
                )
                # The first cell that goes left: 0, which is missing, or 1.
                self._first[nodes] = np.where(forest.default_left[nodes], 0, 1)
                continue
            # 1 + the place of a category among those that occur; fractions are cut off, as the libraries do.
            present = ~np.isnan(matrix[:, column])
            categories, places = np.unique(
                np.trunc(matrix[present, column]).astype(np.int64), return_inverse=True
            )
            self.cells[:, column] = 0
            self.cells[present, column] = places.reshape(-1) + 1
            for node in category_nodes:
                self._offset[node] = n_bits
                listed = np.isin(categories, forest.categories[node])
                goes_left = listed != forest.list_right[node]
                bits.append(np.concatenate([[forest.default_left[node]], goes_left]))
                n_bits += len(bits[-1])
        self._bits: BoolArray = np.concatenate(bits) if bits else np.zeros(1, dtype=bool)
        self.nodes = (
            forest.feature,
            self._first,
            self._cut,
            self._offset,
            self._bits,
            forest.left,
            forest.right,
            forest.value,
            forest.starts,
        )

    def _goes_left(self, nodes: IntArray, cells: NDArray[np.int32]) -> BoolArray:
        """Whether cells of the columns that (inner) nodes ask about go left there; the nodes are the first axis."""
        along_nodes = (-1,) + (1,) * (cells.ndim - 1)
        first = self._first[nodes].reshape(along_nodes)
        cut = self._cut[nodes].reshape(along_nodes)
        goes_left: BoolArray = (cells >= first) & (cells < cut)
        by_category = np.flatnonzero(self._offset[nodes] >= 0)
        if len(by_category):
            offset = self._offset[nodes[by_category]].reshape(along_nodes)
            goes_left[by_category] = self._bits[offset + cells[by_category]]
        return goes_left

    def sums(self, block: int) -> FloatArray:
        """The sum for each row of the table, (n,), by walking rows down the trees; ``block``: bytes at a time."""
        forest = self.forest
        result = np.full(len(self.cells), forest.base)
        for part in slices(len(result), WALKED_BYTES * forest.n_trees, block):
            cells = self.cells[part]
            node = np.tile(forest.starts[:-1], len(cells))  # of each row and tree
            walking = np.arange(len(node))
            for _ in forest.levels:
                walking = walking[forest.feature[node[walking]] != LEAF]
                inner = node[walking]
                asked = cells[walking // forest.n_trees, forest.feature[inner]]
                goes_left = self._goes_left(inner, asked)
                node[walking] = np.where(goes_left, forest.left[inner], forest.right[inner])
            of_trees = forest.value[node].reshape(len(cells), forest.n_trees)
            result[part] += of_trees.sum(axis=1)
        return result

    def compiled_sums(
        self, replaced: BoolArray, donors: IntArray, out: FloatArray, n_jobs: int | None = None
    ) -> None:
        """``E_S`` by the compiled walk, in blocks of rows.

        Parameters
        ----------
        replaced : array of shape (n_columns,)
            Whether a column is in S.
        donors : array of shape (U,)
            Rows that carry the values.
        out : array of shape (U, n)
            Where the sums are written.
        n_jobs : int, optional
            Threads.
        """
        values = self.cells[donors].T
        out[...] = 0.0

        def add_rows(part: slice) -> None:
            values_and_rows = np.concatenate([values, self.cells[part].T], axis=1)
            compiled(walk_trees)(self.nodes, values_and_rows, replaced, out[:, part])
            _add_changes_up(out[:, part])

        # Never in processes: the blocks write into one array.
        in_threads(add_rows, slices(len(self.cells), 1, WALKED_ROWS), resolve_jobs(n_jobs))
        out += self.forest.base

    def sparse_sums(
        self, replaced: BoolArray, donors: IntArray, out: FloatArray, block: int
    ) -> None:
        """``E_S`` as a sparse product.

        Neighbouring values mostly reach the same leaves, so the product is taken with the differences of the
        lines of ``I_S``, which are sparse, and summed up along the values afterwards.

        Parameters
        ----------
        replaced, donors, out
            As in `compiled_sums`.
        block : int
            Bytes of what is made on the way; the sums do not depend on it.
        """
        forest = self.forest
        n_rows = len(self.cells)
        n_nodes = len(forest.feature)
        values = forest.value[forest.leaves]
        out[...] = forest.base
        # Sums start afresh at an anchor, so blocks of values may too.
        values_at_once = max(1, block // (4 * max(1, n_nodes) * ANCHOR)) * ANCHOR
        for lines in slices(len(donors), 1, values_at_once):
            n_lines = lines.stop - lines.start
            turns = self._packed_turns(self.cells[donors[lines]], ~replaced)
            meets = unpacked(self._propagate(turns, ~replaced), n_lines).T  # (values, leaves)
            # I_S diag(v) as differences from line to line, whole again at every anchor.
            changes = meets.astype(np.int8)
            changes[1:] -= meets[:-1]
            changes[::ANCHOR] = meets[::ANCHOR]
            line, leaf = np.nonzero(changes)
            changed_values = csr_array(
                (changes[line, leaf] * values[leaf], (line, leaf)), shape=changes.shape
            )
            # Nodes are bits; of the leaves a row meets some, which a sparse matrix lists; sums are there twice.
            row_bytes = n_nodes // 4 + 4 * len(values) + 32 * n_lines
            for part in slices(n_rows, 1, max(8, block // row_bytes // 8 * 8)):
                packed = self.leaves_of_rows(replaced, part, block)
                met = unpacked(packed, part.stop - part.start)  # (leaves, rows)
                places = np.flatnonzero(met)
                line_starts = np.searchsorted(places, met.shape[1] * np.arange(len(met) + 1))
                met_leaves = csr_array(
                    (np.ones(len(places)), places % met.shape[1], line_starts), shape=met.shape
                )
                sums = (changed_values @ met_leaves).toarray()
                _add_changes_up(sums)
                out[lines, part] += sums

    def leaves_of_rows(self, free: BoolArray, part: slice, block: int) -> NDArray[np.uint8]:
        """Which leaves some rows meet, free columns left aside, (leaves, rows / 8): eight rows to a byte.

        Parameters
        ----------
        free : array of shape (n_columns,)
            Columns that may have any value.
        part : slice
            The rows, from a multiple of 8 on.
        block : int
            Bytes; where it fits in them, what every row does at every node is kept for the next call.
        """
        n_bytes = 2 * len(self.forest.feature) * (len(self.cells) // 8 + 1)
        if n_bytes <= block:
            packed = self._turns_of_rows[:, part.start // 8 : -(-part.stop // 8)]
        else:
            packed = self._packed_turns(self.cells[part])
        return self._propagate(packed, free)

    @cached_property
    def _turns_of_rows(self) -> NDArray[np.uint8]:
        return self._packed_turns(self.cells)

    def _packed_turns(
        self, cells: NDArray[np.int32], free: BoolArray | None = None
    ) -> NDArray[np.uint8]:
        """Whether each row goes left at each node, (nodes, rows / 8): eight rows to a byte.

        Parameters
        ----------
        cells : array of shape (rows, n_columns)
        free : array of shape (n_columns,), optional
            Columns whose nodes need not be looked at.
        """
        feature = self.forest.feature
        is_asked = feature != LEAF
        if free is not None:
            is_asked &= ~free[feature]
        nodes = np.flatnonzero(is_asked)
        result = np.zeros((len(feature), -(-len(cells) // 8)), dtype=np.uint8)
        for some in np.array_split(nodes, 1 + len(nodes) * len(cells) // COMPARED_CELLS):
            goes_left = self._goes_left(some, cells.T[feature[some]])
            result[some] = np.packbits(goes_left, axis=1, bitorder="little")
        return result

    def _propagate(self, goes_left: NDArray[np.uint8], free: BoolArray) -> NDArray[np.uint8]:
        """Pass what arrives at each node on to its children, down to the leaves, (leaves, rows / 8).

        Parameters
        ----------
        goes_left : array of shape (nodes, rows / 8)
            What goes left at each node: eight rows to a byte.
        free : array of shape (n_columns,)
            Columns whose nodes pass everything to both children.
        """
        forest = self.forest
        arrives = np.empty_like(goes_left)
        arrives[forest.starts[:-1]] = 255  # all rows
        for nodes in forest.levels:
            is_free = free[forest.feature[nodes]]
            both_ways = nodes[is_free]
            arrives[forest.left[both_ways]] = arrives[both_ways]
            arrives[forest.right[both_ways]] = arrives[both_ways]
            one_way = nodes[~is_free]
            arrives_here = arrives[one_way]
            turns_left = goes_left[one_way]
            arrives[forest.left[one_way]] = arrives_here & turns_left
            arrives[forest.right[one_way]] = arrives_here & ~turns_left
        return arrives[forest.leaves]


def _threshold_cells(
    forest: Forest, nodes: IntArray, values: FloatArray
) -> tuple[IntArray, IntArray]:
    """Cell of each value, (n,), and the cell from which on each node sends right, (nodes,).

    A cell is 1 + the number of thresholds passed. The strict ones, ``x < t``, are passed at t; the others,
    ``x <= t``, behind it: of two with the same t the strict one is passed first.

    Parameters
    ----------
    forest : Forest
    nodes : array of shape (nodes,)
        Those that ask about the column.
    values : array of shape (n,)
        The column in the model's own numbers; NaN is missing.
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


def unpacked(bits: NDArray[np.uint8], count: int) -> BoolArray:
    """Truth values of ``count`` rows that were packed eight to a byte."""
    return np.unpackbits(bits, axis=-1, count=count, bitorder="little").view(bool)


def _add_changes_up(changes: FloatArray) -> None:
    """Add up what changes from value to value, (values, rows), afresh from every anchor on, in place."""
    for line in range(1, len(changes)):  # not by cumsum, which goes along the columns
        if line % ANCHOR:
            changes[line] += changes[line - 1]


def walk_trees(nodes: Any, cells: Any, replaced: Any, result: Any) -> None:
    """Add how ``E_S`` of every tree changes from value to value, afresh at every anchor; to be compiled.

    Values that no split of a tree on S tells apart are one class. Lists of classes and of rows go down the tree:
    a split on S divides the classes, any other the rows, and what it does not divide goes to both children. At a
    leaf every class in its list has the leaf's value for every row in its list. The sums change only between
    neighbouring values of different class.

    Parameters
    ----------
    nodes : tuple of arrays
        As `ForestOnTable.nodes`.
    cells : array of shape (d, U + n)
        Of the values, then of the rows.
    replaced : array of shape (d,)
        Whether a column is in S.
    result : array of shape (U, n)
        Where the changes are added.
    """
    feature, first, cut, offset, bits, left, right, value, starts = nodes
    n_values, n_rows = result.shape
    class_of_value = np.empty(n_values, np.int64)
    new_number = np.empty(2 * n_values, np.int64)  # of each half of a class
    members = np.empty(n_values + n_rows, np.int64)
    aside = np.empty(max(n_values, n_rows), np.int64)
    for tree in range(len(starts) - 1):
        # 1. The classes: each split on S halves those so far.
        class_of_value[:] = 0
        n_classes = 1
        for node in range(starts[tree], starts[tree + 1]):
            j = feature[node]
            if j < 0 or not replaced[j]:
                continue
            new_number[: 2 * n_classes] = -1
            n_new = 0
            for u in range(n_values):
                cell = cells[j, u]
                if offset[node] < 0:
                    goes_left = first[node] <= cell and cell < cut[node]
                else:
                    goes_left = bits[offset[node] + cell]
                half = 2 * class_of_value[u] + (1 if goes_left else 0)
                if new_number[half] < 0:
                    new_number[half] = n_new
                    n_new += 1
                class_of_value[u] = new_number[half]
            n_classes = n_new

        # 2. Down the tree with the first value of each class, and with the rows: every node has a segment of both.
        #    Line n_classes is nothing, before an anchor.
        leaf_values = np.zeros((n_classes + 1, n_rows))
        for u in range(n_values - 1, -1, -1):
            members[class_of_value[u]] = u
        for n in range(n_rows):
            members[n_values + n] = n_values + n
        waiting = [(starts[tree], 0, n_classes, n_values, n_values + n_rows)]
        while len(waiting) > 0:
            node, class_low, class_high, row_low, row_high = waiting.pop()
            j = feature[node]
            if j < 0:
                for k in range(class_low, class_high):
                    number = class_of_value[members[k]]
                    for m in range(row_low, row_high):
                        leaf_values[number, members[m] - n_values] = value[node]
                continue
            low = class_low if replaced[j] else row_low
            high = class_high if replaced[j] else row_high
            middle = low
            n_aside = 0
            for k in range(low, high):
                member = members[k]
                cell = cells[j, member]
                if offset[node] < 0:
                    goes_left = first[node] <= cell and cell < cut[node]
                else:
                    goes_left = bits[offset[node] + cell]
                # Both are written, and one of them is kept: faster than a branch.
                members[middle] = member
                aside[n_aside] = member
                middle += 1 if goes_left else 0
                n_aside += 0 if goes_left else 1
            for k in range(n_aside):
                members[middle + k] = aside[k]
            if middle > low:
                class_end = middle if replaced[j] else class_high
                row_end = row_high if replaced[j] else middle
                waiting.append((left[node], class_low, class_end, row_low, row_end))
            if middle < high:
                class_begin = middle if replaced[j] else class_low
                row_begin = row_low if replaced[j] else middle
                waiting.append((right[node], class_begin, class_high, row_begin, row_high))

        # 3. The differences between neighbouring values.
        for u in range(n_values):
            this_class = class_of_value[u]
            last_class = n_classes if u % ANCHOR == 0 else class_of_value[u - 1]
            if this_class != last_class:
                for n in range(n_rows):
                    result[u, n] += leaf_values[this_class, n] - leaf_values[last_class, n]
