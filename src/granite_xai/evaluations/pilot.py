"""The pilot: which values of a column stand for all of them, by what the model does for a few rows (C22).

A search needs the predictions of every row at every value of a column. Sixteen values are enough if
they are chosen by what the model does: values at which a few *pilot rows* interact alike share a
cell, and one of them stands for the cell. Cells of equal numbers of rows would straddle a jump of the
model and pull the cut to the cell's edge, whatever the number of rows.

Of a column of many levels the pilot rows are asked at some: these are the *pilot values*. Where many
columns share the budget, so that their pilot is coarse, a *screen* of a few rows at a few values tells
first which columns interact: these get a finer pilot, the others a coarser one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.values import (
    Cells,
    FineCurve,
    combined_values,
    every_level,
    few_values,
)
from granite_xai.tables import Column, Table

CELLS = 16  # values that stand for a column


class PilotSize(NamedTuple):
    """How many rows the model is asked about, at how many values of a column, at most."""

    n_rows: int
    n_values: int

    def cost(self, columns: Sequence[Column], n_cells: int) -> int:
        """Rows that are sent to the model about columns that have cells, at most."""
        cost = 0
        for column in columns:
            n_levels = len(column.levels)
            if column.is_ordered:
                cost += self.n_rows * min(n_levels, self.n_values + COLUMN_ENDS)
            else:
                n_rare = min(max(n_levels - self.n_values, 0), RARE_LABELS * self.n_values)
                # A rare label is asked about as it is, and at the standing value of every cell.
                cost += self.n_rows * min(n_levels, self.n_values) + n_rare * (1 + n_cells)
        return cost


# From the finest pilot to the coarsest.
PILOTS = (
    PilotSize(64, 512),
    PilotSize(64, 256),
    PilotSize(64, 128),
    PilotSize(48, 128),
    PilotSize(32, 128),
    PilotSize(32, 64),
    PilotSize(16, 64),
    PilotSize(16, 32),
    PilotSize(8, 32),
)
# Pilots of many columns that are coarse, and dear enough for a screen before them.
SCREENED = (PilotSize(64, 128), PilotSize(48, 128), PilotSize(32, 128))
MANY_COLUMNS = 16
SCREEN = PilotSize(16, 32)
FEW_INTERACTIONS = PilotSize(16, 64)  # after a screen, the pilot of a column that hardly interacts
INTERACTIONS_KEPT = 0.999  # share of the squared interactions of a screen that get a finer pilot
PILOT_DRAW = 23  # with the seed of the fit: what the pilot rows are drawn by
COLUMN_ENDS = 2  # the smallest and the largest value of an ordered column are always asked about
RARE_LABELS = 4  # labels beyond the pilot that are asked about, for each value of the pilot
SAME_DISTANCE = 1e-9  # relative difference of distances that is rounding
FLAT = 1e-6  # share of the predictions' variance below which interactions do not decide on cells
MAIN_EFFECT = 1e-3  # weight of the mean curve beside interactions: it decides where there are none
TINY = np.finfo(np.float64).tiny
# What is added to the diagonal of a covariance, as a share of its mean entry there: curves need not
# run exactly through the values at which they are known, so that noise of the pilot is not followed.
RIDGE = 1e-3
FLAT_RIDGE = (
    1e-6  # the same as a share of the variance of all predictions, where rows do not differ
)

# From base rows, donor rows and a column to predictions, (outputs, n).
Ask = Callable[[IntArray, IntArray, int], FloatArray]


class PilotPlan(NamedTuple):
    """A pilot of some columns within a budget."""

    size: PilotSize
    has_screen: bool
    cost: int  # rows that are sent to the model, at most


def plan_pilot(
    columns: Sequence[Column], n_cells: int, budget: float, n_rows: int | None = None
) -> PilotPlan:
    """The finest pilot that sends, with its screen, no more rows to the model than a budget.

    Parameters
    ----------
    columns : sequence of Column
        Those that have cells.
    n_cells : int
        Cells of a column, at most.
    budget : float
        Rows that may be sent; the coarsest pilot is taken where none is cheap enough.
    n_rows : int, optional
        Rows of the table.
    """
    for size in PILOTS:
        has_screen = size in SCREENED and len(columns) >= MANY_COLUMNS
        cost = size.cost(columns, n_cells)
        if has_screen:
            cost += SCREEN.cost(columns, n_cells)
        if cost <= budget:
            break
    if has_screen:  # what it leaves of the budget goes to the columns that interact
        return PilotPlan(size, has_screen=True, cost=int(budget))
    n_pilot = size.n_rows if n_rows is None else min(size.n_rows, n_rows)
    cost = size._replace(n_rows=n_pilot).cost(columns, n_cells)
    return PilotPlan(size, has_screen=False, cost=cost)


def n_values(column: Column, n_cells: int) -> int:
    """Values at which the model is asked about a column: all, or one a cell; missing is a value."""
    return min(len(column.levels), n_cells) + int(column.missing.any())


def placeholder_cells(table: Table, positions: Sequence[int], n_cells: int) -> dict[int, Cells]:
    """As many cells as a pilot would choose, for what they cost before the model is asked."""
    placeholders = {}
    for position in positions:
        column = table.columns[position]
        n_levels = len(column.levels)
        if n_levels > n_cells:
            cell_of_level = np.arange(n_levels) * n_cells // n_levels
            standing = np.unique(cell_of_level, return_index=True)[1]
            placeholders[position] = Cells(column, cell_of_level, standing)
    return placeholders


def learn_cells(
    table: Table,
    weights: FloatArray,
    positions: Sequence[int],
    ask: Ask,
    *,
    n_cells: int,
    budget: float,
    seed: int,
    fewest: int | None = None,
) -> dict[int, Cells]:
    """Ask the model about a few rows and choose the cells of each column by their curves.

    Parameters
    ----------
    table : Table
        The fitting rows.
    weights : array of shape (n_rows,)
    positions : sequence of int
        Columns that may have cells.
    ask : callable
        ``ask(base_rows, donor_rows, column)``: predictions of base rows with one column taken from
        donor rows, of shape (n_outputs, n).
    n_cells : int
        Cells of a column, at most.
    budget : float
        Rows that the pilot may send to the model.
    seed : int
        Draws the pilot rows.
    fewest : int, optional
        Columns with no more values have no cells; None: those with no more values than cells.
    """
    columns = [table.columns[position] for position in positions]
    fewest = n_cells if fewest is None else fewest
    columns = [column for column in columns if len(column.levels) > fewest]
    if not columns:
        return {}
    plan = plan_pilot(columns, n_cells, budget)
    n_pilot = PILOTS[0].n_rows if plan.has_screen else plan.size.n_rows
    generator = np.random.default_rng([seed, PILOT_DRAW])
    n_drawn = min(n_pilot, table.n_rows)
    pilot_rows = np.sort(generator.choice(table.n_rows, size=n_drawn, replace=False))
    pilots = [_Pilot(column, weights, ask) for column in columns]
    sizes = [plan.size] * len(columns)
    if plan.has_screen:
        squares = [pilot.squared_interactions(pilot_rows[: SCREEN.n_rows]) for pilot in pilots]
        left = budget - SCREEN.cost(columns, n_cells)
        sizes = _sizes_after_screen(columns, squares, n_cells, left, plan.size)
    cells = {}
    for pilot, size in zip(pilots, sizes, strict=True):
        rows = pilot_rows[: size.n_rows]
        cells[pilot.column.position] = pilot.cells(rows, n_cells, size.n_values)
    return cells


def _sizes_after_screen(
    columns: Sequence[Column],
    squares: Sequence[float],
    n_cells: int,
    budget: float,
    equal_size: PilotSize,
) -> list[PilotSize]:
    """The pilot of each column: finer for those that have nearly all interactions, if that can be paid.

    Parameters
    ----------
    columns : sequence of Column
    squares : sequence of float
        Squared interactions of each column.
    n_cells : int
        Cells of a column, at most.
    budget : float
        Rows that may be sent to the model after the screen.
    equal_size : PilotSize
        Of every column where none can have a finer one.
    """
    strongest_first = np.argsort(-np.asarray(squares), kind="stable")
    summed = np.cumsum(np.asarray(squares)[strongest_first])
    n_strong = 1 + int(np.searchsorted(summed, INTERACTIONS_KEPT * summed[-1]))
    strong = [columns[place] for place in strongest_first[:n_strong]]
    weak = [columns[place] for place in strongest_first[n_strong:]]
    finer = plan_pilot(strong, n_cells, budget - FEW_INTERACTIONS.cost(weak, n_cells)).size
    if PILOTS.index(finer) >= PILOTS.index(equal_size):
        return [equal_size] * len(columns)
    sizes = [FEW_INTERACTIONS] * len(columns)
    for place in strongest_first[:n_strong]:
        sizes[place] = finer
    return sizes


class _Pilot:
    """The pilot of one column.

    Parameters
    ----------
    column : Column
    weights : array of shape (n_rows,)
    ask : callable
        As in `learn_cells`.
    """

    def __init__(self, column: Column, weights: FloatArray, ask: Ask) -> None:
        self.column = column
        self._ask = ask
        codes, first_rows = np.unique(column.codes, return_index=True)
        self._carriers = first_rows[codes >= 0]  # the first row that has each level
        present = column.codes >= 0
        # Weight of the rows that have each level.
        self._mass = np.bincount(
            column.codes[present], weights=weights[present], minlength=len(column.levels)
        ).astype(np.float64)

    def squared_interactions(self, screen_rows: IntArray) -> float:
        """Mean square of the interactions that a screen sees; of several outputs in units of spread."""
        levels = self._pilot_levels(SCREEN.n_values)
        curves = self._predictions(screen_rows, levels)
        interactions, _ = _interactions_and_main_effect(curves, self._mass[levels])
        by_output = np.square(interactions).mean(axis=(1, 2))
        if len(curves) > 1:
            variance = curves.var(axis=(1, 2))
            by_output = by_output / np.where(variance > 0.0, variance, 1.0)
        return float(by_output.sum())

    def cells(self, pilot_rows: IntArray, n_cells: int, most_values: int) -> Cells:
        """Choose the cells.

        Parameters
        ----------
        pilot_rows : array of shape (n_pilot,)
        n_cells : int
            Cells, at most.
        most_values : int
            Values at which the pilot rows are asked, about.
        """
        levels = self._pilot_levels(most_values)
        curves = self._predictions(pilot_rows, levels)
        # A level counts to the pilot value nearest by rank; a label that was not asked about is rare.
        if self.column.is_ordered:
            middles = (levels[:-1] + levels[1:]) // 2
            value_of_level = np.searchsorted(middles, np.arange(len(self._mass)))
        else:
            value_of_level = np.full(len(self._mass), -1, dtype=np.intp)
            value_of_level[levels] = np.arange(len(levels))
        is_rare = value_of_level < 0
        counted = np.bincount(
            value_of_level[~is_rare], weights=self._mass[~is_rare], minlength=len(levels)
        )
        mass: FloatArray = np.maximum(counted.astype(np.float64), TINY)
        vectors, flat = _merging_vectors(curves, mass)
        cell_of_value, standing = merge_values(vectors, mass, n_cells, flat, self.column.is_ordered)
        cell_of_level = np.empty(len(value_of_level), dtype=np.intp)
        cell_of_level[~is_rare] = cell_of_value[value_of_level[~is_rare]]
        # Rare labels join the cell where a row of theirs is predicted alike; the rarest the heaviest.
        cell_of_level[is_rare] = np.argmax(np.bincount(cell_of_value, weights=mass))
        asked_labels = np.flatnonzero(is_rare)[: RARE_LABELS * most_values]
        if len(asked_labels):
            rows = self._carriers[asked_labels]
            at_cells = self._predictions(rows, levels[standing])  # (outputs, cells, labels)
            as_they_are = self._ask(rows, rows, self.column.position)[:, None, :]
            distances = np.square(at_cells - as_they_are).sum(axis=0)
            cell_of_level[asked_labels] = np.argmin(distances, axis=0)
        mass_of_cell = np.bincount(cell_of_level, weights=self._mass, minlength=len(standing))
        return Cells(
            column=self.column,
            cell_of_level=cell_of_level,
            standing=levels[standing],
            vectors=vectors[standing],
            mass=np.maximum(mass_of_cell.astype(np.float64), TINY),
            curves=tuple(
                fit_fine_curve(of_output, levels, standing, cell_of_value) for of_output in curves
            ),
        )

    def _pilot_levels(self, most_values: int) -> IntArray:
        """Levels that the pilot asks about: all, quantiles of an ordered column, or frequent ones."""
        mass = self._mass
        if len(mass) <= most_values:
            return np.arange(len(mass), dtype=np.intp)
        if not self.column.is_ordered:
            return np.sort(np.argsort(-mass, kind="stable")[:most_values])
        ranks = (np.arange(most_values) + 0.5) / most_values * mass.sum()
        quantiles = np.searchsorted(np.cumsum(mass), ranks)
        return np.unique([0, *quantiles, len(mass) - 1]).astype(np.intp)

    def _predictions(self, rows: IntArray, levels: IntArray) -> FloatArray:
        """Predictions of some rows at some levels, (n_outputs, n_levels, n_rows)."""
        base = np.tile(rows, len(levels))
        donors = np.repeat(self._carriers[levels], len(rows))
        predictions = self._ask(base, donors, self.column.position)
        return predictions.reshape(len(predictions), len(levels), len(rows))


def _interactions_and_main_effect(
    curves: FloatArray, mass: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What belongs to row and value together, and what belongs to the value alone.

    Parameters
    ----------
    curves : array of shape (n_outputs, n_values, n_pilot)
    mass : array of shape (n_values,)

    Returns
    -------
    interactions : array of shape (n_outputs, n_values, n_pilot)
    main_effect : array of shape (n_outputs, n_values, 1)
    """
    mean_of_row = np.einsum("v,ovr->or", mass / mass.sum(), curves)
    centred = curves - mean_of_row[:, None, :]
    main_effect = centred.mean(axis=2, keepdims=True)
    return centred - main_effect, main_effect


def _merging_vectors(curves: FloatArray, mass: FloatArray) -> tuple[FloatArray, float]:
    """By what values are told apart, and the squared distance below which they are alike.

    Vectors are of shape (n_values, outputs × (rows + 1)). They hold for each output the interactions
    and, with little weight, the mean curve; each of several outputs counts by its own spread.
    """
    n_outputs, n_values, n_pilot = curves.shape
    interactions, main_effect = _interactions_and_main_effect(curves, mass)
    weight = np.sqrt(MAIN_EFFECT * n_pilot)  # as much as `MAIN_EFFECT` in every row
    vectors = np.concatenate([interactions, weight * main_effect], axis=2)
    variance = float(np.var(curves))
    if n_outputs > 1:
        spread = curves.std(axis=(1, 2))
        vectors = vectors / np.where(spread > 0.0, spread, 1.0)[:, None, None]
        variance = float(n_outputs)
    return vectors.transpose(1, 0, 2).reshape(n_values, -1), FLAT * variance * n_pilot


# Interactions --------------------------------------------------------------------------------------
#
# Interactions of several columns are read at all combinations of a few values of each of them. Most of
# them do not depend on further columns: they are read at very few values, and the others share what the
# budget pays for.

GRIDS = (16, 12, 8, 6, 4, 3)  # values of each column of a set that matters
COARSE = 2  # values of each column of the other sets
SCREEN_ROWS = 16  # on which sets are compared
SCREEN_GRID = 3  # at so many values of each column


def coarser(cells: Cells, n_cells: int) -> Cells:
    """The same cells, the most alike joined until few enough are left."""
    if len(cells.standing) <= n_cells or cells.vectors is None or cells.mass is None:
        return cells
    cell_of_cell, kept = merge_values(
        cells.vectors, cells.mass, n_cells, flat=0.0, is_ordered=cells.column.is_ordered
    )
    return Cells(
        column=cells.column,
        cell_of_level=cell_of_cell[cells.cell_of_level],
        standing=cells.standing[kept],
        vectors=cells.vectors[kept],
        mass=np.bincount(cell_of_cell, weights=cells.mass).astype(np.float64),
    )


def combined_cells(
    ask: Callable[..., FloatArray],
    table: Table,
    sets: AbstractSet[Coalition],
    cells: Mapping[int, Cells],
    values_of_row: float,
) -> dict[Coalition, dict[int, Cells]]:
    """Values of each column at which sets are read: very few, but where further columns play a part.

    Parameters
    ----------
    ask : callable
        ``ask(base, base_rows, donor, donor_rows, columns)``: predictions of recombined rows, (1, n).
    table : Table
        The fitting rows.
    sets : set of coalitions
    cells : mapping of column to Cells
        Those of single columns.
    values_of_row : float
        Values of all sets together that a row is asked about.
    """
    few = table.take(np.arange(min(SCREEN_ROWS, table.n_rows)))
    every_row = np.arange(few.n_rows)
    of_columns = {
        position: cells.get(position, every_level(column))
        for position, column in enumerate(table.columns)
    }
    squares = {}  # how much of what the columns of a set do together differs between rows
    for columns in sorted(sets, key=sorted):
        of_set = {}
        for position in sorted(columns):
            column = table.columns[position]
            of_set[position] = few_values(
                column, coarser(of_columns[position], SCREEN_GRID).stand_ins(column)
            )
        values = combined_values(table, of_set)
        (predictions,) = ask(
            few,
            np.repeat(every_row, len(values)),
            values.donors or table,
            np.tile(values.carriers, len(every_row)),
            sorted(columns),
        )
        together = predictions.reshape(few.n_rows, *values.sizes)
        for axis in range(together.ndim):
            together = together - together.mean(axis=axis, keepdims=True)
        squares[columns] = float(np.mean(np.square(together)))
    sizes = _grids_within(squares, of_columns, values_of_row)
    return {
        columns: {position: coarser(of_columns[position], size) for position in columns}
        for columns, size in sizes.items()
    }


def _grids_within(
    squares: Mapping[Coalition, float], cells: Mapping[int, Cells], values_of_row: float
) -> dict[Coalition, int]:
    """How many values of each of its columns a set is read at, so that a row is asked about so many in all.

    Parameters
    ----------
    squares : mapping of set to float
        How much of what the columns of a set do together depends on further columns.
    cells : mapping of column to Cells
    values_of_row : float
    """
    strongest_first = sorted(squares, key=lambda columns: (-squares[columns], sorted(columns)))
    summed = np.cumsum([squares[columns] for columns in strongest_first])
    n_strong = int(np.searchsorted(summed, INTERACTIONS_KEPT * summed[-1])) + 1
    strong = strongest_first[:n_strong]
    weak = strongest_first[n_strong:]

    def n_combined(columns: Coalition, size: int) -> int:
        total = 1
        for position in columns:
            of_column = cells[position]
            total *= min(len(of_column.standing), size) + int(of_column.column.missing.any())
        return total

    left = values_of_row - sum(n_combined(columns, COARSE) for columns in weak)
    for size in GRIDS:
        if sum(n_combined(columns, size) for columns in strong) <= left:
            return dict.fromkeys(strong, size) | dict.fromkeys(weak, COARSE)
    return dict.fromkeys(strongest_first, COARSE)


# Merging -------------------------------------------------------------------------------------------


def merge_values(
    vectors: FloatArray, mass: FloatArray, n_cells: int, flat: float, is_ordered: bool
) -> tuple[IntArray, IntArray]:
    """Join values into cells, the two cheapest cells again and again, until few enough are left.

    Joining two cells with masses p and q and mean vectors f and g costs ``p q / (p + q) · (|f - g|² + flat)``:
    what the squared distances of vectors to the mean of their cell grow by (Ward). Where vectors count as
    alike, the cells with the least mass are joined first.

    Parameters
    ----------
    vectors : array of shape (n_values, n)
        What the values are told apart by, in the order of the column.
    mass : array of shape (n_values,)
        Weight of the rows at each value, positive.
    n_cells : int
        Cells that are left, at least 1.
    flat : float
        Squared distance below which vectors are alike.
    is_ordered : bool
        Whether only neighbouring cells may be joined; otherwise any two.

    Returns
    -------
    cell_of_value : array of shape (n_values,)
        Number of the cell of each value, by first values, from 0.
    standing : array of shape (n_cells,)
        In each cell the value nearest to the cell's mean vector; of several, the one in their middle.
    """
    n_values = len(mass)
    cell_of_value = np.arange(n_values)  # a cell has the number of its first value
    cell_means = vectors.copy()
    cell_mass = mass.copy()
    if is_ordered:
        first = np.arange(n_values - 1)
        second = first + 1
    else:
        first, second = np.triu_indices(n_values, 1)

    def joining_costs(pairs: IntArray) -> FloatArray:
        p = cell_mass[first[pairs]]
        q = cell_mass[second[pairs]]
        distances = np.square(cell_means[first[pairs]] - cell_means[second[pairs]]).sum(axis=1)
        return np.asarray(p * q / (p + q) * (distances + flat))

    costs = joining_costs(np.arange(len(first)))
    for _ in range(n_values - n_cells):
        cheapest = int(np.argmin(costs))
        growing = first[cheapest]
        absorbed = second[cheapest]
        of_growing = cell_mass[growing] * cell_means[growing]
        of_absorbed = cell_mass[absorbed] * cell_means[absorbed]
        cell_mass[growing] += cell_mass[absorbed]
        cell_means[growing] = (of_growing + of_absorbed) / cell_mass[growing]
        cell_of_value[cell_of_value == absorbed] = growing
        costs[cheapest] = np.inf
        if is_ordered:  # the neighbour behind is now that of the absorbed cell
            first[first == absorbed] = growing
        else:
            costs[(first == absorbed) | (second == absorbed)] = np.inf
        has_grown = (first == growing) | (second == growing)
        changed = np.flatnonzero(has_grown & np.isfinite(costs))
        costs[changed] = joining_costs(changed)

    _, cell_of_value = np.unique(cell_of_value, return_inverse=True)
    standing = []
    for cell in range(int(cell_of_value.max()) + 1):
        members = np.flatnonzero(cell_of_value == cell)
        mean = mass[members] @ vectors[members] / mass[members].sum()
        distances = np.square(vectors[members] - mean).sum(axis=1)
        limit = distances.min() * (1.0 + SAME_DISTANCE) + TINY
        nearest = members[distances <= limit]
        standing.append(nearest[len(nearest) // 2])
    return cell_of_value, np.array(standing)


# Between the values that stand for cells -----------------------------------------------------------


def fit_fine_curve(
    curves: FloatArray, levels: IntArray, standing_values: IntArray, cell_of_value: IntArray
) -> FineCurve:
    """Learn from the curves of the pilot rows how curves run between standing values.

    Let m be the mean curve of the pilot rows and s the standing values. K is the covariance between
    values of the pilot rows' curves less m, each of them less its mean over s. A curve b that is known
    at s is expected at a value v to be

        m(v) + mean(b(s) - m(s)) + K(v, s) K(s, s)^-1 d,   d = b(s) - m(s) - mean(b(s) - m(s)).

    K(s, s) is made a little larger on its diagonal (`RIDGE`). What this misses at s itself is added in
    the whole cell.

    Parameters
    ----------
    curves : array of shape (n_values, n_pilot)
        Predictions of the pilot rows.
    levels : array of shape (n_values,)
        Levels of the values.
    standing_values : array of shape (n_cells,)
        Which of the values stand for cells.
    cell_of_value : array of shape (n_values,)
    """
    n_cells = len(standing_values)
    mean_curve = curves.mean(axis=1)
    deviations = curves - mean_curve[:, None]
    deviations = deviations - deviations[standing_values].mean(axis=0)
    covariance = deviations @ deviations[standing_values].T / curves.shape[1]  # K(v, s)
    covariance_of_standing = covariance[standing_values]  # K(s, s)
    ridge = RIDGE * np.trace(covariance_of_standing) / n_cells + FLAT_RIDGE * np.var(curves)
    if ridge > 0.0:
        regularized = covariance_of_standing + ridge * np.eye(n_cells)
        regression = np.linalg.solve(regularized, covariance.T).T  # K(v, s) K(s, s)^-1
    else:  # all predictions are equal
        regression = np.zeros_like(covariance)
    averaging = np.full((n_cells, n_cells), 1.0 / n_cells)  # from b(s) - m(s) to its mean
    centring = np.eye(n_cells) - averaging  # from b(s) - m(s) to d
    missed = np.eye(n_cells) - regression[standing_values]
    weights = averaging[cell_of_value] + (regression + missed[cell_of_value]) @ centring
    return FineCurve(
        standing=levels[standing_values],
        levels=levels,
        offsets=mean_curve - weights @ mean_curve[standing_values],
        weights=weights,
    )
