"""What the parts of a node leave, for every cut of a column and every pair of cuts of two columns.

Cuts of a column divide the rows into classes, those of two columns into cells. Sums over cells,
added up along each column, are the sums over all parts: the cost grows with the rows and not with
the number of cuts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from granite_xai.core.algebra.moments import Moments
from granite_xai.core.search.cuts import Cuts

PARTS_AT_ONCE = 2600  # what the cache holds
LEFT, RIGHT = 0, 1
Grid = tuple[Cuts, ...]  # of one column, or of two


@dataclass(frozen=True)
class Tables:
    """The rows of one node.

    Parameters
    ----------
    sets : list of Moments
    products : list of arrays (n, p)
        What is summed up of each set.
    weights : array of shape (n,)
    per_mass : float
        What turns a disagreement times a mass into a share of the disagreement on all rows.
    min_samples : int
        Parts of fewer rows are infinitely bad.
    """

    sets: list[Moments]
    products: list[np.ndarray]
    weights: np.ndarray
    per_mass: float
    min_samples: int

    @classmethod
    def of(
        cls, sets: list[Moments], weights: np.ndarray, per_mass: float, min_samples: int
    ) -> Tables:
        """Tables of some rows."""
        products = [of_set.products(weights) for of_set in sets]
        return cls(sets, products, weights, per_mass, min_samples)

    def thinner(self, step: int) -> Tables:
        """Every so manieth row stands for all."""
        sets = [of_set.take(slice(None, None, step)) for of_set in self.sets]
        min_samples = max(1, self.min_samples // step)
        return Tables.of(sets, self.weights[::step], self.per_mass * step, min_samples)

    def take(self, places: np.ndarray) -> Tables:
        """The tables of some of the rows."""
        sets = [of_set.take(places) for of_set in self.sets]
        products = [of_set[places] for of_set in self.products]
        return Tables(sets, products, self.weights[places], self.per_mass, self.min_samples)

    def of_sides(self, candidates: Sequence[Cuts]) -> list[np.ndarray]:
        """Share that both sides of each cut leave, (2, k) for each column."""
        return self.remaining([(cuts,) for cuts in candidates])

    def remaining(self, grids: Sequence[Grid]) -> list[np.ndarray]:
        """Share that each part of some grids leaves.

        Returns
        -------
        list of arrays
            For each grid (2, k) of both sides, or (2, 2, k, l) of the quarters of every pair of
            cuts.
        """
        tables = []
        for batch in _batches(grids, PARTS_AT_ONCE // max(map(_n_bins, self.sets))):
            remaining = self._of_parts(batch)
            start = 0
            for grid in batch:
                shape = _shape_of_parts(grid)
                end = start + math.prod(shape)
                tables.append(remaining[start:end].reshape(shape))
                start = end
        return tables

    def _of_parts(self, grids: Sequence[Grid]) -> np.ndarray:
        """What the parts of some grids leave, one after the other; infinite where rows are few."""
        counts_and_mass = np.column_stack([np.ones(len(self.weights)), self.weights])
        counts, mass = _sums_of_parts(grids, counts_and_mass)[0].T
        is_enough = counts >= self.min_samples
        total = np.zeros(np.count_nonzero(is_enough))
        for of_set, products in zip(self.sets, self.products, strict=True):
            sums = _sums_of_parts(grids, products, of_set.bins)
            total += of_set.of_sums(sums[:, is_enough])
        remaining = np.full(len(counts), np.inf)
        remaining[is_enough] = total * mass[is_enough] * self.per_mass
        return remaining


def _n_bins(of_set: Moments) -> int:
    return 1 if of_set.bins is None else int(of_set.bins.max()) + 1


def _shape_of_parts(grid: Grid) -> tuple[int, ...]:
    """Both sides of every column, then the cuts of every column."""
    return (2,) * len(grid) + tuple(cuts.count for cuts in grid)


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


def _sums_of_parts(
    grids: Sequence[Grid], numbers: np.ndarray, bins: np.ndarray | None = None
) -> np.ndarray:
    """Sums of numbers (n, p) over the parts of all grids, within bins: (bins, parts, p)."""
    if bins is None:
        bins = np.zeros(len(numbers), dtype=int)
    n_bins = int(bins.max()) + 1
    shapes = [(*(cuts.left.shape[1] for cuts in grid), n_bins) for grid in grids]  # cells, bins
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    starts = np.append(0, ends[:-1])
    cells = np.empty((len(numbers), len(grids)), dtype=int)
    for number, (grid, shape) in enumerate(zip(grids, shapes, strict=True)):
        classes = [cuts.classes for cuts in grid]
        cells[:, number] = starts[number] + np.ravel_multi_index((*classes, bins), shape)
    by_cell = _sums_of_cells(cells, numbers, n_cells=int(ends[-1]))
    parts = []
    for grid, shape, start, end in zip(grids, shapes, starts, ends, strict=True):
        sums = by_cell[start:end].reshape(*shape, -1)
        sums = _both_sides(sums, grid[0], axis=0)  # (2, k, ...)
        if len(grid) == 2:
            sums = _both_sides(sums, grid[1], axis=2).swapaxes(0, 1)  # (2, 2, k, l, ...)
        parts.append(np.moveaxis(sums, -2, 0).reshape(n_bins, -1, numbers.shape[1]))
    return np.concatenate(parts, axis=1)


def _sums_of_cells(cells: np.ndarray, numbers: np.ndarray, n_cells: int) -> np.ndarray:
    """Sums of numbers (n, p) over the cells (n, g) that each row lies in, (n_cells, p)."""
    n_rows, n_each = cells.shape
    starts = np.arange(0, cells.size + 1, n_each)
    membership = sparse.csc_matrix(
        (np.ones(cells.size), cells.reshape(-1), starts), shape=(n_cells, n_rows)
    )
    return membership @ numbers


def _both_sides(by_class: np.ndarray, cuts: Cuts, axis: int) -> np.ndarray:
    """Sums on both sides of each cut, (2, ...), from sums over classes along an axis."""
    total = by_class.sum(axis=axis, keepdims=True)
    if cuts.is_nested:
        on_left = np.cumsum(by_class, axis=axis).take(range(cuts.count), axis=axis)
    else:
        on_left = np.moveaxis(np.tensordot(cuts.left, by_class, axes=(1, axis)), 0, axis)
    return np.stack([on_left, total - on_left])
