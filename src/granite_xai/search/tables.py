"""What the parts of a node leave, for every cut of a column and every pair of cuts of two columns.

Cuts of a column divide the rows into classes, those of two columns into cells. Sums over cells,
added up along each column, are the sums over all parts: the cost grows with the rows and not with
the number of cuts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from granite_xai.algebra.moments import Moments
from granite_xai.base.parallel import in_threads, resolve_jobs
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.search.cuts import ColumnCuts

LEFT, RIGHT = 0, 1  # sides of a cut
PARTS_AT_ONCE = 2600  # parts whose sums are worked on together: what the cache holds
NEGLIGIBLE = 1e-3  # share of all squared gaps between two rows below which a set decides nothing
INT32_END = 2**31  # numbers of 32 bits end before this one


class Grid(NamedTuple):
    """Cuts of one column, or every pair of cuts of two.

    Parameters
    ----------
    first : ColumnCuts
    second : ColumnCuts, optional
    side : int, optional
        Only the parts on this side of the first cuts; None: on both.
    """

    first: ColumnCuts
    second: ColumnCuts | None = None
    side: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """(2, k) sides, or (2, 2, k, l) quarters; the first axis has length 1 where one side is wanted."""
        n_sides = 2 if self.side is None else 1
        if self.second is None:
            return (n_sides, len(self.first.left))
        return (n_sides, 2, len(self.first.left), len(self.second.left))

    @property
    def n_parts(self) -> int:
        """How many sides, or quarters."""
        return math.prod(self.shape)

    @property
    def n_classes(self) -> tuple[int, ...]:
        """Classes along each column; crossed they are cells."""
        if self.second is None:
            return (self.first.left.shape[1],)
        return (self.first.left.shape[1], self.second.left.shape[1])

    def cells(self) -> IntArray:
        """The cell of each row, (n_rows,)."""
        if self.second is None:
            return self.first.classes
        n_second = self.n_classes[1]
        return np.asarray(self.first.classes * n_second + self.second.classes)

    def fill(self, parts: FloatArray, by_cell: FloatArray) -> None:
        """Write sums over parts (n_parts, width) from those over cells (n_cells, width), which are overwritten."""
        width = by_cell.shape[1]
        parts = parts.reshape(*self.shape, width)
        sums = self.first.left_sums(by_cell.reshape(*self.n_classes, width))
        if self.second is None:
            if self.side != RIGHT:
                parts[0] = sums[:-1]
            if self.side != LEFT:
                np.subtract(sums[-1:], sums[:-1], out=parts[-1])
            return
        sums = self.second.left_sums(sums.swapaxes(0, 1)).swapaxes(0, 1)
        left_left, left = sums[:-1, :-1], sums[:-1, -1:]  # both cuts; the first alone
        if self.side != RIGHT:
            parts[0, LEFT] = left_left
            np.subtract(left, left_left, out=parts[0, RIGHT])
        if self.side != LEFT:
            right = parts[-1]
            np.subtract(sums[-1:, :-1], left_left, out=right[LEFT])
            np.subtract(sums[-1:, -1:] - left, right[LEFT], out=right[RIGHT])


@dataclass(frozen=True, eq=False)
class Tables:
    """Sums over the rows of one node.

    Parameters
    ----------
    sets : sequence of (float, Moments)
        The sets of all questions that count, and what multiplies their disagreement.
    weights : array of shape (n_rows,)
    total_mass : float, optional
        Weight of all rows of the search; None: a region counts alike whatever its mass.
    min_samples : int
        Parts of fewer rows are infinitely bad.
    n_jobs : int, optional
        Threads.
    """

    sets: Sequence[tuple[float, Moments]]
    weights: FloatArray
    total_mass: float | None
    min_samples: int
    n_jobs: int | None = None

    def take(self, places: IntArray) -> Tables:
        """The tables of some of the rows."""
        sets = [(factor, moments.take(places)) for factor, moments in self.sets]
        return replace(self, sets=sets, weights=self.weights[places])

    def deciding(self) -> Tables:
        """Without the sets that show next to nothing in any part of the rows."""
        limits = [factor * moments.limits() for factor, moments in self.sets]
        negligible = NEGLIGIBLE * sum(of_sets[np.isfinite(of_sets)].sum() for of_sets in limits)
        sets = [
            (factor, moments.of_sets(of_sets > negligible))
            for (factor, moments), of_sets in zip(self.sets, limits, strict=True)
            if (of_sets > negligible).any()
        ]
        return replace(self, sets=sets)

    def thinner(self, step: int) -> Tables:
        """Every so manieth row stands for all."""
        sets = [(factor, moments.take(slice(None, None, step))) for factor, moments in self.sets]
        return replace(
            self,
            sets=sets,
            weights=self.weights[::step],
            total_mass=None if self.total_mass is None else self.total_mass / step,
            min_samples=max(1, self.min_samples // step),
        )

    def sides(self, candidates: Sequence[ColumnCuts]) -> list[FloatArray]:
        """What both sides of each cut leave, (2, k) for each column."""
        return self.remaining([Grid(cuts) for cuts in candidates])

    def remaining(self, grids: Sequence[Grid]) -> list[FloatArray]:
        """Share that each part of some grids leaves; infinite where it has too few rows.

        Returns
        -------
        list of arrays
            Of the shapes of the grids.
        """
        n_bins = max((moments.n_bins for _, moments in self.sets), default=1)
        batches = list(_batches(grids, PARTS_AT_ONCE // n_bins))
        tables = []
        of_batches = in_threads(self._of_parts, batches, resolve_jobs(self.n_jobs))
        for batch, remaining in zip(batches, of_batches, strict=True):
            start = 0
            for grid in batch:
                end = start + grid.n_parts
                tables.append(remaining[start:end].reshape(grid.shape))
                start = end
        return tables

    def _of_parts(self, grids: Sequence[Grid]) -> FloatArray:
        """What the parts of some grids leave, one after the other."""
        cells = _Cells(grids)
        counts_and_mass = np.column_stack([np.ones(len(self.weights)), self.weights])
        counts, mass = cells.sums_of_parts(counts_and_mass)[:, 0]
        is_enough = counts >= self.min_samples
        total = np.zeros(np.count_nonzero(is_enough))
        for factor, moments in self.sets:
            sums = cells.sums_of_parts(moments.products, is_enough, moments.bins, moments.n_bins)
            total += factor * moments.of_sums(sums)
        if self.total_mass is not None:
            total *= mass[is_enough] / self.total_mass
        remaining = np.full(len(counts), np.inf)
        remaining[is_enough] = total
        return remaining


def _batches(grids: Sequence[Grid], most_parts: int) -> Iterator[list[Grid]]:
    """Neighbouring grids that are worked on together."""
    batch: list[Grid] = []
    n_parts = 0
    for grid in grids:
        if batch and n_parts + grid.n_parts > most_parts:
            yield batch
            batch = []
            n_parts = 0
        batch.append(grid)
        n_parts += grid.n_parts
    if batch:
        yield batch


class _Cells:
    """The cells of some grids over the same rows, numbered through all grids."""

    def __init__(self, grids: Sequence[Grid]) -> None:
        self.grids = grids
        sizes = [math.prod(grid.n_classes) for grid in grids]
        self.ends = np.cumsum(sizes)
        starts = self.ends - sizes
        self.of_rows = np.stack(
            [grid.cells() + start for grid, start in zip(grids, starts, strict=True)], axis=1
        )  # (n_rows, n_grids)

    def sums_of_parts(
        self,
        numbers: FloatArray,
        is_wanted: BoolArray | None = None,
        bins: IntArray | None = None,
        n_bins: int = 1,
    ) -> FloatArray:
        """Sums of numbers (n_rows, p) over wanted parts of all grids, within bins: (p, n_bins, n_wanted)."""
        membership = self._membership
        if bins is not None:
            membership = _membership(
                self.of_rows * n_bins + bins[:, None], int(self.ends[-1]) * n_bins
            )
        by_cell = np.asarray(membership @ numbers).reshape(self.ends[-1], -1)
        sums = np.empty((sum(grid.n_parts for grid in self.grids), by_cell.shape[1]))
        first_cell = first_part = 0
        for grid, end_cell in zip(self.grids, self.ends, strict=True):
            end_part = first_part + grid.n_parts
            grid.fill(sums[first_part:end_part], by_cell[first_cell:end_cell])
            first_cell, first_part = end_cell, end_part
        if is_wanted is not None and not is_wanted.all():
            sums = sums[is_wanted]
        # Parts last: numbers of a kind lie side by side.
        n_numbers = by_cell.shape[1] // n_bins
        return np.ascontiguousarray(sums.T).reshape(n_bins, n_numbers, len(sums)).swapaxes(0, 1)

    @cached_property
    def _membership(self) -> sparse.csc_matrix:
        return _membership(self.of_rows, int(self.ends[-1]))


def _membership(cells: IntArray, n_cells: int) -> sparse.csc_matrix:
    """A column of zeros and ones for each row, from the cells (n_rows, n_grids) that it lies in."""
    n_rows, n_each = cells.shape
    is_small = max(cells.size, n_cells) < INT32_END  # SciPy would convert others
    index_type = np.int32 if is_small else np.int64
    places = cells.reshape(-1).astype(index_type)
    starts = np.arange(0, cells.size + 1, n_each, dtype=index_type)
    return sparse.csc_matrix((np.ones(cells.size), places, starts), shape=(n_cells, n_rows))
