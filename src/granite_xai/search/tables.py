"""What the parts of a node would leave if it were cut once, or along two columns at once.

Sums over the rows of a region tell its disagreement (room ``moments``), and sums add up: those of the
cells that the classes of one column make, or of two, give the sums of both sides of every cut, and of
the four parts of every pair of cuts. The cost grows with the rows, not with the number of cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy import sparse

from granite_xai.base.typing import Elementwise, FloatArray, IntArray
from granite_xai.compute import in_threads, resolve_jobs
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Cut
from granite_xai.moments.chance import chance_by_region, swapped_moments
from granite_xai.moments.statistics import FullAgainstPure, Statistics
from granite_xai.search.problem import Problem

CACHED = 2**15  # sums that are worked on together, few enough for the cache
NODES_KEPT = 4  # tables of nodes that are kept for the next question about the same rows
NEGLIGIBLE = 1e-3  # share of all squared gaps between two rows below which a set decides nothing


@dataclass(frozen=True, eq=False)
class SetShare:
    """One set of one question: its statistics, the loss of its gap, and its factor in the objective."""

    statistics: Statistics
    loss: Elementwise | None  # of the gap of a region; None: the statistics give a mean squared gap
    factor: float
    question: int  # number of the question

    def take(self, rows: IntArray) -> SetShare:
        """Only some of the rows."""
        return SetShare(self.statistics.take(rows), self.loss, self.factor, self.question)

    def disagreement(self, sums: FloatArray) -> FloatArray:
        """Its weighted disagreement in regions, from their sums (..., n_bins, n_products)."""
        found = self.statistics.gap_or_loss(sums)
        return self.factor * (found if self.loss is None else self.loss(found))


@dataclass(frozen=True, eq=False)
class CellLayout:
    """The cells that one cut, or two, make of the rows of a node."""

    cuts: tuple[Cut, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Classes of each cut."""
        return tuple(cut.left.shape[1] for cut in self.cuts)

    def cells(self) -> IntArray:
        """Cell of each row."""
        return np.ravel_multi_index(tuple(cut.classes for cut in self.cuts), self.shape)

    def parts(self, by_cell: FloatArray) -> FloatArray:
        """Sums of the parts that every cut, or pair of cuts, makes, from those of the cells.

        From (cells, n) to (2, k, 1, n) for one cut: left, right; to (4, k, l, n) for two: left and
        left, left and right, right and left, right and right.
        """
        width = by_cell.shape[-1]
        left_of_first = self.cuts[0].left.astype(np.float64)  # (k, classes)
        everything = by_cell.sum(axis=0)
        if len(self.cuts) == 1:
            left = left_of_first @ by_cell
            return np.stack([left, everything - left])[:, :, None, :]
        first_classes, second_classes = self.shape
        left_of_second = self.cuts[1].left.astype(np.float64)  # (l, classes)
        by_second = left_of_first @ by_cell.reshape(first_classes, second_classes * width)
        by_second = by_second.reshape(-1, second_classes, width)
        both = left_of_second @ by_second  # (k, l, n)
        first = by_second.sum(axis=1)[:, None, :]
        second = left_of_second @ by_cell.reshape(first_classes, second_classes, width).sum(axis=0)
        return np.stack([both, first - both, second - both, everything - first - second + both])


@dataclass(frozen=True, eq=False)
class RegionTables:
    """The objective of a problem in the parts of its nodes.

    Parameters
    ----------
    sets : tuple of SetShare
        All sets of all questions that count, with the directions that a search reads.
    total_mass : float
        Mass of all rows of the fit.
    by_mass : bool
        Whether a region counts by its share of the mass.
    min_samples : int
        Rows of a region, at least; smaller parts are infinitely bad.
    n_jobs : int, optional
        Threads, over the sets.
    corrected : bool
        Whether what sampling noise adds is taken off.
    all_directions : bool
        Whether the sets have all directions of their interactions, so that tables are exact.
    recent : dict
        Tables of the nodes that were asked for last, by their rows.
    """

    sets: tuple[SetShare, ...]
    total_mass: float
    by_mass: bool
    min_samples: int
    n_jobs: int | None = None
    corrected: bool = False
    all_directions: bool = True
    recent: dict[bytes, NodeTables] = field(default_factory=dict)

    def of_node(self, rows: IntArray) -> NodeTables:
        """The tables of the rows of a node; sets that show next to nothing in any part are left out."""
        key = rows.tobytes()
        if key not in self.recent:
            sets = [each.take(rows) for each in self.sets]
            sizes = np.array([_squared_pair_gaps(each) for each in sets])
            total = sizes[np.isfinite(sizes)].sum()
            chosen = sizes > NEGLIGIBLE * total
            kept = tuple(
                NodeSet(each, each.statistics.products())
                for each, counts in zip(sets, chosen, strict=True)
                if counts
            )
            while len(self.recent) >= NODES_KEPT:
                del self.recent[next(iter(self.recent))]
            self.recent[key] = NodeTables(self, kept, len(rows))
        return self.recent[key]


@dataclass(frozen=True, eq=False)
class NodeSet:
    """One set in the rows of a node.

    Parameters
    ----------
    share : SetShare
        Of these rows.
    products : array of shape (n_rows, n_products)
        What is summed up.
    """

    share: SetShare
    products: FloatArray


def _squared_pair_gaps(each: SetShare) -> float:
    """Mean square of the gaps of one row against another; infinite: the question has no such gaps.

    The gap of a row in a part is a mean of its gaps against rows, so that these limit what any part
    shows. The disagreement of the node itself does not: gaps may cancel there, and not in its parts.
    With ``gap[n, m] = z[n]' K z[m]`` the mean square is ``trace(K S K S)``.
    """
    statistics = each.statistics
    if not isinstance(statistics, FullAgainstPure):
        return np.inf
    vectors = statistics.vectors()
    shares = statistics.weights / statistics.weights.sum()
    moments = (vectors * shares[:, None]).T @ vectors
    return each.factor * float(np.sum(swapped_moments(statistics) * moments))


@dataclass(frozen=True, eq=False)
class NodeTables:
    """What the parts of one node leave, in shares of the disagreement on all rows."""

    settings: RegionTables
    sets: tuple[NodeSet, ...]
    n_rows: int

    def sides(self, cuts: Sequence[Cut]) -> list[FloatArray]:
        """What both sides of the cuts of each column leave: (2, k) a column."""
        tables = self._tables([CellLayout((cut,)) for cut in cuts])
        return [table[:, :, 0] for table in tables]

    def quarters(self, pairs: Sequence[tuple[Cut, Cut]]) -> list[FloatArray]:
        """What the four parts of every pair of cuts leave: (4, k, l) for each pair of columns."""
        return self._tables([CellLayout(pair) for pair in pairs])

    def _tables(self, layouts: Sequence[CellLayout]) -> list[FloatArray]:
        if not layouts:
            return []
        cells = [layout.cells() for layout in layouts]
        sizes = [int(np.prod(layout.shape)) for layout in layouts]
        ones = np.ones((self.n_rows, 1))
        counts = [
            layout.parts(by_cell)[..., 0]
            for layout, by_cell in zip(layouts, sums_by_cell(ones, cells, sizes), strict=True)
        ]
        leaves = partial(self._set_tables, layouts, cells, sizes, counts)
        by_set = in_threads(leaves, self.sets, resolve_jobs(self.settings.n_jobs))
        tables = []
        for number, count in enumerate(counts):
            total = np.zeros(count.shape)
            for of_question in self._by_question([leaves[number] for leaves in by_set]):
                total = total + of_question
            tables.append(np.where(count < self.settings.min_samples, np.inf, total))
        return tables

    def _by_question(self, by_set: Sequence[FloatArray]) -> list[FloatArray]:
        """What each question leaves, from what its sets leave; corrected for noise never less than 0."""
        sums: dict[int, FloatArray] = {}
        for each, leaves in zip(self.sets, by_set, strict=True):
            question = each.share.question
            sums[question] = sums.get(question, 0.0) + leaves
        if self.settings.corrected:
            return [np.maximum(leaves, 0.0) for leaves in sums.values()]
        return list(sums.values())

    def _set_tables(
        self,
        layouts: Sequence[CellLayout],
        cells: Sequence[IntArray],
        sizes: Sequence[int],
        counts: Sequence[FloatArray],
        each: NodeSet,
    ) -> list[FloatArray]:
        """What one set leaves in all parts of all layouts."""
        statistics = each.share.statistics
        n_bins = statistics.n_bins
        binned = list(cells)
        if n_bins > 1:
            binned = [place * n_bins + statistics.bin_numbers for place in cells]
        by_layout = sums_by_cell(each.products, binned, [size * n_bins for size in sizes])
        found: list[FloatArray] = []
        waiting: list[FloatArray] = []
        size = 0
        for number, (layout, by_cell) in enumerate(zip(layouts, by_layout, strict=True)):
            waiting.append(layout.parts(by_cell.reshape(by_cell.shape[0] // n_bins, -1)))
            size += waiting[-1].size
            # Small parts go together, few enough for the cache.
            if size >= CACHED or number == len(layouts) - 1:
                found += self._leaves(each, waiting, counts[len(found) :])
                waiting = []
                size = 0
        return found

    def _leaves(
        self, each: NodeSet, parts: Sequence[FloatArray], counts: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """What one set leaves in the parts of some layouts, from their sums."""
        statistics = each.share.statistics
        n_products = each.products.shape[1]
        sums = np.concatenate([own.reshape(-1, statistics.n_bins, n_products) for own in parts])
        leaves = each.share.disagreement(sums)
        counts = counts[: len(parts)]
        if self.settings.corrected and isinstance(statistics, FullAgainstPure):
            rows_of_parts = np.concatenate([count.reshape(-1) for count in counts])
            leaves = leaves - each.share.factor * chance_by_region(statistics, sums, rows_of_parts)
        if self.settings.by_mass:
            leaves = leaves * sums[..., -1].sum(axis=-1) / self.settings.total_mass
        ends = np.cumsum([count.size for count in counts])[:-1]
        by_layout = np.split(leaves, ends)
        return [own.reshape(count.shape) for own, count in zip(by_layout, counts, strict=True)]


def sums_by_cell(
    products: FloatArray, cells: Sequence[IntArray], sizes: Sequence[int]
) -> list[FloatArray]:
    """Sums of rows over cells, for several ways to put the rows into cells at once.

    Parameters
    ----------
    products : array of shape (n_rows, n_products)
    cells : sequence of arrays of shape (n_rows,)
        Cell of each row, for each way.
    sizes : sequence of int
        Number of cells of each way.
    """
    n_rows = len(products)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    places = np.stack([own + start for own, start in zip(cells, starts, strict=False)], axis=1)
    membership = sparse.csc_matrix(
        (
            np.ones(places.size),
            places.reshape(-1),
            np.arange(n_rows + 1) * len(cells),
        ),
        shape=(int(starts[-1]), n_rows),
    )
    return np.split(np.asarray(membership @ products), starts[1:-1])


def region_tables(
    problem: Problem, min_samples: int, corrected: bool = False
) -> RegionTables | None:
    """The tables of a problem; None where a question that counts does not follow from sums."""
    if len(problem.statistics) != len(problem.shares.comparisons):
        return None  # measures of a partitioner of its own
    sets: list[SetShare] = []
    all_directions = True
    shares = problem.shares
    factors = shares.factors
    if corrected and problem.chance is not None:
        factors = problem.chance.factors
    counted = zip(shares.comparisons, problem.statistics, factors.tolist(), strict=True)
    for number, (question, statistics, factor) in enumerate(counted):
        if factor == 0.0:
            continue
        if statistics is None or not isinstance(question, ResolvedQuestion):
            return None
        loss = None if question.first.behavior.per_row else question.loss
        for own in statistics:
            sets.append(SetShare(own.shortened(), loss, factor, number))
            all_directions &= own.rank == own.factors.search_rank
    return RegionTables(
        sets=tuple(sets),
        total_mass=shares.total,
        by_mass=shares.by_mass,
        min_samples=min_samples,
        n_jobs=problem.n_jobs,
        corrected=corrected,
        all_directions=all_directions,
    )
