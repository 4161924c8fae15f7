"""A sum of trees in flat arrays, the cells into which it divides the columns, ``E_S`` and pairwise Shapley values.

Every comparison with a threshold is made once for each value of a table, in the model's own numbers; what follows
compares whole numbers only, so that no rounding can send a row another way than the model does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from granite_xai.base.typing import BoolArray, FloatArray, IntArray, Players
from granite_xai.compute import in_threads, resolve_jobs, slices
from granite_xai.compute.compiled import compiled
from granite_xai.trees.kernels import (
    ANCHOR,
    MOST_LEAVES,
    Wanted,
    add_masked,
    add_pairs,
    add_trees,
    build_masks,
    shares,
)


class RefusalError(Exception):
    """Why a model is evaluated by its own ``predict``; a code says that we ought to read it: worth a warning."""

    def __init__(self, reason: str, code: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.code = reason, code


NodeArrays = tuple[NDArray[np.generic], ...]
MOST_WORDS = 2**24  # words of leaves that are kept for a table (128 MiB)
BLOCK_CELLS = (
    2**20
)  # cells of nodes times rows that are compared at a time: few enough for the cache
WALKED_ROWS = 4096  # rows of one block of the compiled walk, whatever the number of threads
EXPLAINED_ROWS = 16  # explained rows of one block, whatever the number of threads
Bits = TypeVar("Bits", np.uint8, np.bool_)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose leaves are added up; the nodes of a tree follow each other, parents first, from ``starts`` on.

    A feature of -1 is a leaf. A row goes left if ``x <= threshold``, ``x < threshold`` where strict; missing values go
    by ``default_left``. Nodes with ``categories`` send these left, or right where ``list_right``. The averaging factor
    is part of the values; ``base`` is added to the sum of the leaves.
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
        return abs(self.base) + float(
            np.maximum.reduceat(sizes, self.starts[:-1]).sum() if self.n_trees else 0.0
        )


class Cells:
    """A forest on a table: the cell of every row and column, and what each split does with cells.

    Cell 0 is missing; otherwise 1 + the number of thresholds passed, or 1 + the place of the category. A cell goes left
    if ``first <= cell < cut``, or by ``bits[offset + cell]`` where the offset is not negative. The table is a matrix in
    the model's own numbers (NaN: missing).
    """

    def __init__(self, forest: Forest, matrix: FloatArray) -> None:
        nodes, bits, used = len(forest.feature), list[BoolArray](), 0
        self.rows: NDArray[np.int32] = np.ones(matrix.shape, dtype=np.int32)
        self.forest, self.first, self.cut = (
            forest,
            np.zeros(nodes, np.int32),
            np.zeros(nodes, np.int32),
        )
        self.offset = np.full(nodes, -1, np.intp)
        for j in range(matrix.shape[1]):
            own = np.flatnonzero(forest.feature == j)
            listed = [node for node in own.tolist() if node in forest.categories]
            if listed and len(listed) < len(own):
                raise RefusalError(f"column {j} is split by thresholds and by categories")
            if not listed:
                self.rows[:, j], self.cut[own] = _by_threshold(forest, own, matrix[:, j])
                self.first[own] = ~forest.default_left[own]
                continue
            present = ~np.isnan(matrix[:, j])
            whole = np.trunc(matrix[present, j]).astype(
                np.int64
            )  # fractions are cut off, as the libraries do
            kinds, places = np.unique(whole, return_inverse=True)
            self.rows[:, j], self.rows[present, j] = 0, places + 1
            for node in listed:
                went = np.isin(kinds, forest.categories[node]) != forest.list_right[node]
                bits.append(np.concatenate([[forest.default_left[node]], went]))
                self.offset[node], used = used, used + len(kinds) + 1
        self.bits: BoolArray = np.concatenate(bits) if bits else np.zeros(1, dtype=bool)

    @property
    def nodes(self) -> NodeArrays:
        """What the compiled loops read."""
        trees = self.forest
        own = (trees.feature, self.first, self.cut, self.offset, self.bits)
        return *own, trees.left, trees.right, trees.value, trees.starts

    @cached_property
    def n_words(self) -> int:
        """Words of leaves that the masks hold."""
        return int(self.forest.n_trees * (self.rows.max(axis=0, initial=0) + 1).sum())

    @cached_property
    def masks(self) -> NodeArrays | None:
        """The leaves that each cell leaves possible, as words of bits; None where a tree has too many leaves."""
        forest = self.forest
        sizes = (
            np.add.reduceat(forest.feature < 0, forest.starts[:-1])
            if forest.n_trees
            else np.zeros(1)
        )
        begins = np.concatenate([[0], np.cumsum(self.rows.max(axis=0, initial=0) + 1)]).astype(
            np.intp
        )
        if sizes.max() > MOST_LEAVES or self.n_words > MOST_WORDS:
            return None
        masks = np.zeros((forest.n_trees, int(begins[-1])), dtype=np.uint64)
        values = np.zeros((forest.n_trees, MOST_LEAVES))
        asks = np.zeros((forest.n_trees, self.rows.shape[1]), dtype=bool)
        compiled(build_masks)(self.nodes, begins, masks, values, asks)
        return masks, values, asks, begins

    def goes_left(self, nodes: IntArray, rows: NDArray[np.int32]) -> BoolArray:
        """Whether each row goes left at each (inner) node, shape (nodes, rows)."""
        cells = rows.T[self.forest.feature[nodes]]
        went: BoolArray = (cells >= self.first[nodes, None]) & (cells < self.cut[nodes, None])
        listed = np.flatnonzero(self.offset[nodes] >= 0)
        if len(listed):
            went[listed] = self.bits[self.offset[nodes[listed], None] + cells[listed]]
        return went

    @cached_property
    def packed(self) -> NDArray[np.uint8]:
        """Whether each row of the table goes left at each node, eight rows to a byte."""
        return self._packed(self.rows)

    def _packed(self, rows: NDArray[np.int32]) -> NDArray[np.uint8]:
        result = np.zeros((len(self.forest.feature), -(-len(rows) // 8)), dtype=np.uint8)
        inner = np.flatnonzero(self.forest.feature >= 0)
        for part in np.array_split(inner, 1 + len(inner) * len(rows) // BLOCK_CELLS):
            result[part] = np.packbits(self.goes_left(part, rows), axis=1, bitorder="little")
        return result

    def bits_reached(self, free: BoolArray, part: slice, keep: bool = True) -> NDArray[np.uint8]:
        """Which leaves some rows (from a multiple of 8) meet, free columns left aside, eight rows to a byte."""
        # What every row does at every node is kept for the next question, unless it takes too much memory.
        bytes_of = slice(part.start // 8, -(-part.stop // 8))
        went = self.packed[:, bytes_of] if keep else self._packed(self.rows[part])
        return self._propagate(went, np.uint8(255), free)

    def values_reached(self, donors: IntArray, free: BoolArray) -> BoolArray:
        """Which leaves the rows that carry some values meet, free columns left aside, shape (leaves, U)."""
        forest = self.forest
        went = np.zeros((len(forest.feature), len(donors)), dtype=bool)
        asked = np.flatnonzero((forest.feature >= 0) & ~free[forest.feature])
        went[asked] = self.goes_left(asked, self.rows[donors])
        return self._propagate(went, np.bool_(True), free)

    def _propagate(self, went: NDArray[Bits], everything: Bits, free: BoolArray) -> NDArray[Bits]:
        """Pass what reaches each node on to its children, down to the leaves."""
        forest, reach = self.forest, np.empty(went.shape, dtype=went.dtype)
        reach[forest.starts[:-1]] = everything
        for nodes in forest.levels:
            ignored = free[forest.feature[nodes]]
            both, asked = nodes[ignored], nodes[~ignored]
            reach[forest.left[both]] = reach[forest.right[both]] = reach[both]
            here, left = reach[asked], went[asked]
            reach[forest.left[asked]] = here & left
            reach[forest.right[asked]] = here & ~left
        return reach[forest.leaves]


def _by_threshold(forest: Forest, nodes: IntArray, values: FloatArray) -> tuple[IntArray, IntArray]:
    """Cells of the values and the cell at which each node turns right; ``x < t`` is passed before ``x <= t``."""
    strict = forest.strict[nodes]
    open_ends, closed_ends = (
        np.unique(forest.threshold[nodes[strict]]),
        np.unique(forest.threshold[nodes[~strict]]),
    )
    passed = np.searchsorted(open_ends, values, side="right") + np.searchsorted(
        closed_ends, values, side="left"
    )
    turns = forest.threshold[nodes]
    before = np.searchsorted(open_ends, turns, side="left") + np.searchsorted(
        closed_ends, turns, side="left"
    )
    before += ~strict & np.isin(turns, open_ends)
    return np.where(np.isnan(values), 0, passed + 1), before + 2


def slow_sums(
    cells: Cells, columns: BoolArray, donors: IntArray, out: FloatArray, block: int
) -> None:
    """``E_S = (I_S diag(v)) J_{-S}`` with 0/1 matrices: which values and which rows meet a leaf's conditions."""
    # Neighbouring values mostly reach the same leaves, so the product is taken with the differences of the lines of
    # ``I_S``, which are sparse, and summed up along the values afterwards. ``columns`` are S, ``donors`` the rows that
    # carry the values, ``block`` the bytes of what is made on the way; the sums do not depend on it.
    forest, n = cells.forest, len(cells.rows)
    out[...] = forest.base
    if not forest.n_trees:
        return
    keep = 2 * cells.forest.feature.size * (n // 8 + 1) <= block
    nodes, leaves = len(forest.feature), len(forest.leaves)
    height = (
        max(1, block // (4 * nodes * ANCHOR)) * ANCHOR
    )  # sums start afresh at an anchor, so blocks may too
    for low in range(0, len(donors), height):
        lines = slice(low, min(low + height, len(donors)))
        changes = _changes(
            cells.values_reached(donors[lines], ~columns), forest.value[forest.leaves]
        )
        # Nodes are bits; of the leaves a row meets some, which a sparse matrix lists; sums are there twice.
        size = nodes // 4 + 4 * leaves + 32 * (lines.stop - lines.start)
        step = max(8, block // size // 8 * 8)
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            met = _unpacked(cells.bits_reached(columns, part, keep), part.stop - part.start)
            places, width = np.flatnonzero(met), met.shape[1]
            lines_of = np.searchsorted(places, width * np.arange(len(met) + 1))
            found = (
                changes
                @ csr_array((np.ones(len(places)), places % width, lines_of), shape=met.shape)
            ).toarray()
            _run_up(found)
            out[lines, part] += found


def _run_up(changes: FloatArray) -> None:
    """Sum up what changes from value to value, afresh from every anchor on."""
    for line in range(1, len(changes)):  # not by cumsum, which goes along the columns
        if line % ANCHOR:
            changes[line] += changes[line - 1]


def _changes(reached: BoolArray, values: FloatArray) -> Any:
    """``I_S diag(v)`` as differences from line to line, whole again at every anchor; sparse, shape (U, leaves)."""
    lines = reached.T.astype(np.int8)
    lines[1:] -= reached.T[:-1].astype(np.int8)
    lines[::ANCHOR] = reached.T[::ANCHOR]
    at, leaf = np.nonzero(lines)
    return csr_array((lines[at, leaf] * values[leaf], (at, leaf)), shape=lines.shape)


def _unpacked(bits: NDArray[np.uint8], count: int) -> BoolArray:
    return np.unpackbits(bits, axis=-1, count=count, bitorder="little").view(bool)


def fast_sums(
    cells: Cells,
    columns: BoolArray,
    donors: IntArray,
    out: FloatArray,
    block: int,
    n_jobs: int | None = None,
) -> None:
    """The same sums compiled, in blocks of rows: by words of leaves for small trees, otherwise by walking."""
    rows, values = cells.rows, cells.rows[donors]
    out[...] = 0.0
    masks = cells.masks if 8 * cells.n_words <= block else None

    def add_rows(start: int) -> None:
        part = slice(start, min(start + WALKED_ROWS, len(rows)))
        if masks is None:
            compiled(add_trees)(cells.nodes, rows[part], values, columns, out[:, part])
        else:
            mine = np.ascontiguousarray(rows[part].T), np.ascontiguousarray(values.T)
            compiled(add_masked)(masks, *mine, columns, out[:, part])
        _run_up(out[:, part])

    # Never in processes: the blocks write into one array.
    in_threads(add_rows, range(0, len(rows), WALKED_ROWS), resolve_jobs(n_jobs))
    out += cells.forest.base


def slow_pairs(cells: Cells, players: Players, wanted: Wanted, out: FloatArray, block: int) -> None:
    """``Phi_i[n, m]``: a leaf that needs the players A from n and B from m credits A and debits B."""
    # Where every player of its path is met by n or by m, it contributes ``v (a - 1)! b! / (a + b)!`` to each of A and
    # ``-v a! (b - 1)! / (a + b)!`` to each of B.
    n = len(cells.rows)
    out[...] = 0.0
    values, columns = cells.forest.value[cells.forest.leaves], np.arange(cells.rows.shape[1])
    bits = [
        cells.bits_reached(~np.isin(columns, sorted(player)), slice(0, n)) for player in players
    ]
    place, weights = {player: line for line, player in enumerate(wanted)}, shares(len(players))
    for leaf, value in enumerate(values):
        met = [_unpacked(each[leaf], n) for each in bits]
        path = [i for i in range(len(players)) if not met[i].all()]
        if not any(i in place for i in path):
            continue
        patterns, codes = np.unique(np.stack([met[i] for i in path]), axis=1, return_inverse=True)
        own, other = patterns[:, :, None], patterns[:, None, :]
        from_n, from_m = np.sum(own & ~other, axis=0), np.sum(other & ~own, axis=0)
        both = np.all(own | other, axis=0) * value
        gain, loss, codes = (
            both * weights[from_n - 1, from_m],
            both * weights[from_n, from_m - 1],
            codes.reshape(-1),
        )
        for k, i in enumerate(path):
            if i in place:
                change = gain * (own & ~other)[k] - loss * (other & ~own)[k]
                for part in slices(n, 8 * n, block):
                    out[place[i], part] += change[np.ix_(codes[part], codes)]


def fast_pairs(
    cells: Cells, players: Players, wanted: Wanted, out: FloatArray, n_jobs: int | None = None
) -> None:
    """The same attributions by the compiled walk, in blocks of rows; each pair is walked once."""
    n, d = cells.rows.shape
    walk = compiled(add_pairs)
    place: IntArray = np.full(len(players), -1, dtype=np.intp)
    place[list(wanted)] = np.arange(len(wanted))
    player: IntArray = np.zeros(d, dtype=np.intp)
    for i, columns in enumerate(players):
        player[sorted(columns)] = i
    out[...] = 0.0

    def block(start: int) -> None:
        rows = (start, min(start + EXPLAINED_ROWS, n))
        walk(cells.nodes, cells.rows, player, place, shares(len(players)), *rows, out)

    in_threads(block, range(0, n, EXPLAINED_ROWS), resolve_jobs(n_jobs))
