"""What the parts of a node leave, for every cut of a column and every pair of cuts of two columns.

Cuts of a column divide the rows into classes, those of two columns into cells. Sums over cells,
added up along each column, are the sums over all parts: the cost grows with the rows and not with
the number of cuts.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from granite_xai.algebra.moments import Moments
from granite_xai.base.parallel import in_threads, resolve_jobs
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.search.cuts import Cuts

LEFT, RIGHT = 0, 1  # sides of a cut
NUMBERS_AT_ONCE = 2**19  # sums that are worked on together: about what the cache holds
NEGLIGIBLE = 1e-3  # share of all squared gaps between two rows below which a set decides nothing
INT32_END = 2**31  # numbers of 32 bits end before this one


class Grid(NamedTuple):
    """Cuts of one column, or every pair of cuts of two.

    Parameters
    ----------
    first : Cuts
    second : Cuts, optional
    side : int, optional
        Only the parts on this side of the first cuts; None: on both.
    """

    first: Cuts
    second: Cuts | None = None
    side: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """(2, k) sides, or (2, 2, k, l) quarters; the first axis has length 1 where one side is wanted."""
        n_sides = 2 if self.side is None else 1
        if self.second is None:
            return (n_sides, len(self.first.left))
        return (n_sides, 2, len(self.first.left), len(self.second.left))

    @property
    def n_classes(self) -> tuple[int, ...]:
        """Classes along each column; crossed they are cells."""
        if self.second is None:
            return (self.first.left.shape[1],)
        return (self.first.left.shape[1], self.second.left.shape[1])

    @property
    def form(self) -> Hashable:
        """The same for grids that send the same cells to the same parts."""
        second = None if self.second is None else self.second.form
        return self.first.form, second, self.side

    def cells(self) -> IntArray:
        """The cell of each row, (n_rows,)."""
        if self.second is None:
            return self.first.classes
        n_second = self.n_classes[1]
        return np.asarray(self.first.classes * n_second + self.second.classes)


class _Run(NamedTuple):
    """Grids of one form over the same rows, side by side.

    Parameters
    ----------
    grids : list of Grid
    positions : list of int
        Among all grids that were asked about.
    """

    grids: list[Grid]
    positions: list[int]

    @property
    def n_cells(self) -> int:
        return math.prod(self.grids[0].n_classes) * len(self.grids)

    @property
    def n_parts(self) -> int:
        return math.prod(self.grids[0].shape) * len(self.grids)

    def cells(self) -> IntArray:
        """The cell of each row in each grid, (n_rows, n_grids); the same cells of all grids are neighbours."""
        n_grids = len(self.grids)
        return np.stack([grid.cells() for grid in self.grids], axis=1) * n_grids + np.arange(
            n_grids
        )

    def fill(self, parts: FloatArray, by_cell: FloatArray) -> None:
        """Write sums over parts (n_parts, width) from those over cells (n_cells, width), which are overwritten."""
        first, second, side = self.grids[0]
        width = len(self.grids) * by_cell.shape[1]
        parts = parts.reshape(*self.grids[0].shape, width)
        sums = first.left_sums(by_cell.reshape(*self.grids[0].n_classes, width))
        if second is None:
            if side != RIGHT:
                parts[0] = sums[:-1]
            if side != LEFT:
                np.subtract(sums[-1:], sums[:-1], out=parts[-1])
            return
        sums = second.left_sums(sums.swapaxes(0, 1)).swapaxes(0, 1)
        left_left, left = sums[:-1, :-1], sums[:-1, -1:]  # both cuts; the first alone
        if side != RIGHT:
            parts[0, LEFT] = left_left
            np.subtract(left, left_left, out=parts[0, RIGHT])
        if side != LEFT:
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

    def sides(self, candidates: Sequence[Cuts]) -> list[FloatArray]:
        """What both sides of each cut leave, (2, k) for each column."""
        return self.remaining([Grid(cuts) for cuts in candidates])

    def remaining(self, grids: Sequence[Grid]) -> list[FloatArray]:
        """Share that each part of some grids leaves; infinite where it has too few rows.

        Returns
        -------
        list of arrays
            Of the shapes of the grids.
        """
        width = max((of.products.shape[1] * of.n_bins for _, of in self.sets), default=1)
        batches = list(_batches(grids, NUMBERS_AT_ONCE // width))
        of_batches = in_threads(self._of_parts, batches, resolve_jobs(self.n_jobs))
        by_position: dict[int, FloatArray] = {}
        for batch, remaining in zip(batches, of_batches, strict=True):
            ends = np.cumsum([run.n_parts for run in batch])
            for run, of_run in zip(batch, np.split(remaining, ends[:-1]), strict=True):
                by_grid = of_run.reshape(*run.grids[0].shape, len(run.grids))
                for number, position in enumerate(run.positions):
                    by_position[position] = by_grid[..., number]
        return [by_position[position] for position in range(len(grids))]

    def _of_parts(self, runs: Sequence[_Run]) -> FloatArray:
        """What the parts of some grids leave, one run after the other."""
        cells = _Cells(runs)
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


def _batches(grids: Sequence[Grid], most_parts: int) -> Iterator[list[_Run]]:
    """Grids that are worked on together, those of one form side by side."""
    by_form: dict[Hashable, list[int]] = {}
    for position, grid in enumerate(grids):
        by_form.setdefault(grid.form, []).append(position)
    batch: list[_Run] = []
    n_parts = 0
    for positions in by_form.values():
        at_once = max(1, most_parts // max(1, math.prod(grids[positions[0]].shape)))
        for start in range(0, len(positions), at_once):
            some = positions[start : start + at_once]
            run = _Run([grids[position] for position in some], some)
            if batch and n_parts + run.n_parts > most_parts:
                yield batch
                batch = []
                n_parts = 0
            batch.append(run)
            n_parts += run.n_parts
    if batch:
        yield batch


class _Cells:
    """The cells of some grids over the same rows, numbered through all grids."""

    def __init__(self, runs: Sequence[_Run]) -> None:
        self.runs = runs
        sizes = [run.n_cells for run in runs]
        self.ends = np.cumsum(sizes)
        starts = self.ends - sizes
        self.of_rows = np.hstack(
            [run.cells() + start for run, start in zip(runs, starts, strict=True)]
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
        sums = np.empty((sum(run.n_parts for run in self.runs), by_cell.shape[1]))
        first_cell = first_part = 0
        for run, end_cell in zip(self.runs, self.ends, strict=True):
            end_part = first_part + run.n_parts
            run.fill(sums[first_part:end_part], by_cell[first_cell:end_cell])
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
