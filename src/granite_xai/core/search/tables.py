"""What the parts of a node leave, for every cut of a column and every pair of cuts of two columns.

Cuts of a column divide the rows into classes, those of two columns into cells. Sums over cells,
added up along each column, are the sums over all parts: the cost grows with the rows and not with
the number of cuts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import in_threads, resolve_jobs
from granite_xai.core.algebra.moments import Moments
from granite_xai.core.search.cuts import Cuts

LEFT, RIGHT = 0, 1  # sides of a cut
PARTS_AT_ONCE = 2600  # parts whose sums are worked on together: what the cache holds
INT32_END = 2**31  # numbers of 32 bits end before this one

Grid = tuple[Cuts, ...]  # of one column, or of two


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

    def sides(self, candidates: Sequence[Cuts]) -> list[FloatArray]:
        """What both sides of each cut leave, (2, k) for each column."""
        return self.remaining([(cuts,) for cuts in candidates])

    def remaining(self, grids: Sequence[Grid]) -> list[FloatArray]:
        """Share that each part of some grids leaves; infinite where it has too few rows.

        Returns
        -------
        list of arrays
            For each grid (2, k) of both sides, or (2, 2, k, l) of the quarters of every pair of cuts.
        """
        n_bins = max((moments.n_bins for _, moments in self.sets), default=1)
        batches = list(_batches(grids, PARTS_AT_ONCE // n_bins))
        tables = []
        of_batches = in_threads(self._of_parts, batches, resolve_jobs(self.n_jobs))
        for batch, remaining in zip(batches, of_batches, strict=True):
            start = 0
            for grid in batch:
                shape = _shape_of_parts(grid)
                end = start + math.prod(shape)
                tables.append(remaining[start:end].reshape(shape))
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
            sums = cells.sums_of_parts(moments.products, moments.bins, moments.n_bins)
            if not is_enough.all():
                sums = sums[:, :, is_enough]
            total += factor * moments.of_sums(sums)
        if self.total_mass is not None:
            total *= mass[is_enough] / self.total_mass
        remaining = np.full(len(counts), np.inf)
        remaining[is_enough] = total
        return remaining


def _shape_of_parts(grid: Grid) -> tuple[int, ...]:
    """Both sides of every column, then the cuts of every column."""
    return (2,) * len(grid) + tuple(len(cuts.left) for cuts in grid)


def _batches(grids: Sequence[Grid], most_parts: int) -> Iterator[list[Grid]]:
    """Neighbouring grids that are worked on together."""
    batch: list[Grid] = []
    n_parts = 0
    for grid in grids:
        n_of_grid = math.prod(_shape_of_parts(grid))
        if batch and n_parts + n_of_grid > most_parts:
            yield batch
            batch = []
            n_parts = 0
        batch.append(grid)
        n_parts += n_of_grid
    if batch:
        yield batch


class _Cells:
    """The cells of some grids over the same rows, numbered through all grids."""

    def __init__(self, grids: Sequence[Grid]) -> None:
        self.grids = grids
        self._shapes = [tuple(cuts.left.shape[1] for cuts in grid) for grid in grids]
        sizes = [math.prod(shape) for shape in self._shapes]
        self._ends = np.cumsum(sizes)
        numbers = []
        for grid, shape, end, size in zip(grids, self._shapes, self._ends, sizes, strict=True):
            classes = tuple(cuts.classes for cuts in grid)
            numbers.append(np.ravel_multi_index(classes, shape) + (end - size))
        self._of_rows = np.stack(numbers, axis=1)  # (n_rows, n_grids)

    def sums_of_parts(
        self, numbers: FloatArray, bins: IntArray | None = None, n_bins: int = 1
    ) -> FloatArray:
        """Sums of numbers (n_rows, p) over the parts of all grids, within bins: (p, n_bins, n_parts)."""
        by_cell = self._sums_of_cells(numbers, bins, n_bins)  # (n_cells, n_bins * p)
        parts = []
        start = 0
        for grid, shape, end in zip(self.grids, self._shapes, self._ends, strict=True):
            sums = by_cell[start:end].reshape(*shape, -1)
            start = end
            sums = _both_sides(sums, grid[0], axis=0)  # (2, k, ...)
            if len(grid) == 2:
                sums = _both_sides(sums, grid[1], axis=2).swapaxes(0, 1)  # (2, 2, k, l, ...)
            parts.append(sums.reshape(-1, by_cell.shape[1]))
        # Parts last: numbers of a kind lie side by side.
        side_by_side = np.ascontiguousarray(np.concatenate(parts).T)
        return side_by_side.reshape(n_bins, -1, side_by_side.shape[1]).swapaxes(0, 1)

    def _sums_of_cells(self, numbers: FloatArray, bins: IntArray | None, n_bins: int) -> FloatArray:
        n_rows, n_each = self._of_rows.shape
        places = self._of_rows
        if bins is not None:
            places = places * n_bins + bins[:, None]
        n_cells = int(self._ends[-1])
        is_small = max(places.size, n_cells * n_bins) < INT32_END  # SciPy would convert others
        index_type = np.int32 if is_small else np.int64
        membership = sparse.csc_matrix(
            (
                np.ones(places.size),
                places.reshape(-1).astype(index_type),
                np.arange(0, places.size + 1, n_each, dtype=index_type),
            ),
            shape=(n_cells * n_bins, n_rows),
        )
        return np.asarray(membership @ numbers).reshape(n_cells, -1)


def _both_sides(by_class: FloatArray, cuts: Cuts, axis: int) -> FloatArray:
    """Sums on both sides of each cut, (2, ...), from sums over classes along an axis."""
    if cuts.is_nested:
        sums = np.cumsum(by_class, axis=axis)
        n_cuts = len(cuts.left)
        on_left = sums.take(range(n_cuts), axis=axis)
        total = sums.take([n_cuts], axis=axis)
    else:
        total = by_class.sum(axis=axis, keepdims=True)
        on_left = np.moveaxis(np.tensordot(cuts.left, by_class, axes=(1, axis)), 0, axis)
    return np.stack([on_left, total - on_left])
