"""The pilot: which values of a column stand for all of them, by what the model does for a few rows (C22).

A search needs the predictions of every row at every value of a column. Sixteen values are enough if they are
chosen by what the model does: neighbouring values at which a few *pilot rows* interact alike share a cell, and
one of them stands for the cell. Cells of equal numbers of rows would straddle a jump of the model and pull the
cut to the cell's edge, whatever the number of rows.

Of a column of many levels the pilot rows are asked at some; these are the *pilot values* here. Where many columns
share the budget, so that their pilot is coarse, a *screen* of a few rows at a few values tells first which columns
interact: these get a finer pilot, the others a coarser one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.evaluations.fine_curve import fit_fine_curve
from granite_xai.evaluations.merging import merge_any_pairs, merge_neighbours
from granite_xai.evaluations.value_cells import LearnedValues, ValueCells
from granite_xai.tables import Column, Table


class PilotSize(NamedTuple):
    """How many rows the model is asked about, at how many values of a column, at most."""

    n_rows: int
    n_values: int

    def within(self, n_rows: int) -> PilotSize:
        """The same for a table of so many rows."""
        return self._replace(n_rows=min(self.n_rows, n_rows))


CELLS = 16  # values that stand for a column
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
# From base rows, donor rows and a column to predictions, (outputs, n).
Ask = Callable[[IntArray, IntArray, int], FloatArray]


def n_values(column: Column, n_cells: int) -> int:
    """Values at which the model is asked about a column: all, or one a cell; missing is a value."""
    return min(len(column.levels), n_cells) + int(column.missing.any())


def pilot_size(columns: Sequence[Column], n_cells: int, budget: float) -> PilotSize:
    """The finest pilot that sends, with its screen, no more rows to the model than a budget.

    Parameters
    ----------
    columns : sequence of Column
        Columns that may have cells.
    n_cells : int
        Cells of a column, at most.
    budget : float
        Rows that may be sent; the coarsest pilot is taken where none is cheap enough.
    """
    for size in PILOTS:
        cost = pilot_cost(columns, n_cells, size)
        if is_screened(columns, n_cells, size):
            cost += pilot_cost(columns, n_cells, SCREEN)
        if cost <= budget:
            return size
    return PILOTS[-1]


def pilot_cost(columns: Sequence[Column], n_cells: int, size: PilotSize) -> int:
    """Rows that a pilot sends to the model, at most; none for columns whose values are all evaluated.

    Parameters
    ----------
    columns : sequence of Column
        Columns that may have cells.
    n_cells : int
        Cells of a column, at most.
    size : PilotSize
    """
    cost = 0
    for column in columns:
        n_levels = len(column.levels)
        if n_levels <= n_cells:
            continue
        if column.is_ordered:
            cost += size.n_rows * min(n_levels, size.n_values + COLUMN_ENDS)
        else:
            n_beyond = max(n_levels - size.n_values, 0)
            n_rare = min(n_beyond, RARE_LABELS * size.n_values)
            # A rare label is asked about as it is, and at the standing value of every cell.
            cost += size.n_rows * min(n_levels, size.n_values) + n_rare * (1 + n_cells)
    return cost


def is_screened(columns: Sequence[Column], n_cells: int, size: PilotSize) -> bool:
    """Whether a screen comes before a pilot of this size."""
    n_with_cells = sum(len(column.levels) > n_cells for column in columns)
    return size in SCREENED and n_with_cells >= MANY_COLUMNS


def planned_cost(columns: Sequence[Column], n_cells: int, budget: float, n_rows: int) -> int:
    """Rows that `learn_values` sends to the model, at most.

    Parameters
    ----------
    columns : sequence of Column
        Columns that may have cells.
    n_cells : int
        Cells of a column, at most.
    budget : float
        Rows that may be sent.
    n_rows : int
        Rows of the table.
    """
    size = pilot_size(columns, n_cells, budget)
    if is_screened(
        columns, n_cells, size
    ):  # what the screen leaves of the budget goes to the columns that interact
        return int(budget)
    return pilot_cost(columns, n_cells, size.within(n_rows))


def placeholder_cells(table: Table, positions: Sequence[int], n_cells: int) -> LearnedValues:
    """As many cells as a pilot would choose, for what they cost before the model is asked.

    Parameters
    ----------
    table : Table
    positions : sequence of int
        Columns that may have cells.
    n_cells : int
        Cells of a column, at most.
    """
    placeholders = {}
    for position in positions:
        column = table.columns[position]
        n_levels = len(column.levels)
        if n_levels > n_cells:
            cell_of_level = np.arange(n_levels) * n_cells // n_levels
            placeholders[position] = ValueCells(
                column=column,
                cell_of_level=cell_of_level,
                standing=np.unique(cell_of_level, return_index=True)[1],
            )
    return LearnedValues(placeholders)


def learn_values(
    table: Table,
    weights: FloatArray,
    positions: Sequence[int],
    ask: Ask,
    *,
    n_cells: int,
    budget: float,
    seed: int,
) -> LearnedValues:
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
        Cells of a column, at most; columns with no more values have none.
    budget : float
        Rows that the pilot may send to the model.
    seed : int
        Draws the pilot rows.
    """
    columns = [table.columns[position] for position in positions]
    columns_with_cells = [column for column in columns if len(column.levels) > n_cells]
    if not columns_with_cells:
        return LearnedValues()
    size = pilot_size(columns_with_cells, n_cells, budget)
    has_screen = is_screened(columns_with_cells, n_cells, size)
    n_drawn = PILOTS[0].n_rows if has_screen else size.n_rows
    n_pilot = min(n_drawn, table.n_rows)
    generator = np.random.default_rng([seed, PILOT_DRAW])
    pilot_rows = np.sort(generator.choice(table.n_rows, size=n_pilot, replace=False))
    sizes = [size] * len(columns_with_cells)
    if has_screen:
        squares = []
        for column in columns_with_cells:
            screen_rows = pilot_rows[: SCREEN.n_rows]
            squares.append(_squared_interactions(column, weights, screen_rows, ask))
        budget_left = budget - pilot_cost(columns_with_cells, n_cells, SCREEN)
        sizes = _sizes_after_screen(columns_with_cells, squares, n_cells, budget_left, size)
    learned = {}
    for column, of_column in zip(columns_with_cells, sizes, strict=True):
        rows_of_column = pilot_rows[: of_column.n_rows]
        learned[column.position] = _learn_column(
            column, weights, rows_of_column, ask, n_cells, of_column.n_values
        )
    return LearnedValues(learned, n_pilot)


def _squared_interactions(
    column: Column, weights: FloatArray, screen_rows: IntArray, ask: Ask
) -> float:
    """Mean square of the interactions of a column that a screen sees; of several outputs in units of their spread."""
    mass = _mass_of_levels(column, weights)
    levels = _pilot_levels(column, mass, SCREEN.n_values)
    curves = _pilot_curves(column.position, screen_rows, first_carriers(column)[levels], ask)
    interactions, _ = _interactions_and_main_effect(curves, mass[levels])
    by_output = np.square(interactions).mean(axis=(1, 2))
    if len(curves) > 1:
        variance = curves.var(axis=(1, 2))
        by_output = by_output / np.where(variance > 0.0, variance, 1.0)
    return float(by_output.sum())


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
    finer_size = pilot_size(strong, n_cells, budget - pilot_cost(weak, n_cells, FEW_INTERACTIONS))
    if PILOTS.index(finer_size) >= PILOTS.index(equal_size):
        return [equal_size] * len(columns)
    sizes = [FEW_INTERACTIONS] * len(columns)
    for place in strongest_first[:n_strong]:
        sizes[place] = finer_size
    return sizes


def _learn_column(
    column: Column,
    weights: FloatArray,
    pilot_rows: IntArray,
    ask: Ask,
    n_cells: int,
    most_values: int,
) -> ValueCells:
    """Choose the cells of one column.

    Parameters
    ----------
    column : Column
    weights : array of shape (n_rows,)
    pilot_rows : array of shape (n_pilot,)
    ask : callable
        As in `learn_values`.
    n_cells : int
        Cells, at most.
    most_values : int
        Values at which the pilot rows are asked, about.
    """
    mass = _mass_of_levels(column, weights)
    carriers = first_carriers(column)
    pilot_levels = _pilot_levels(column, mass, most_values)
    curves = _pilot_curves(column.position, pilot_rows, carriers[pilot_levels], ask)

    value_of_level = _nearest_pilot_value(column, pilot_levels)  # -1: a rare label
    is_rare = value_of_level < 0
    mass_of_value = _mass_of_values(value_of_level[~is_rare], mass[~is_rare], len(pilot_levels))
    vectors = _merging_vectors(curves, mass_of_value)
    merge = merge_neighbours if column.is_ordered else merge_any_pairs
    cell_of_value = merge(vectors, mass_of_value, n_cells, _flat_distance(curves))
    standing_values = _standing_values(vectors, mass_of_value, cell_of_value)
    standing = pilot_levels[standing_values]

    cell_of_level = np.empty(len(column.levels), dtype=np.intp)
    cell_of_level[~is_rare] = cell_of_value[value_of_level[~is_rare]]
    rare_labels = np.flatnonzero(is_rare)
    if len(rare_labels):
        heaviest_cell = np.argmax(np.bincount(cell_of_value, weights=mass_of_value))
        cell_of_level[rare_labels] = heaviest_cell
        first_rare = rare_labels[: RARE_LABELS * most_values]
        cell_of_level[first_rare] = _cells_of_rare(column, first_rare, carriers, standing, ask)
    fine_curves = [
        fit_fine_curve(curves_of_output, pilot_levels, standing_values, cell_of_value)
        for curves_of_output in curves
    ]
    return ValueCells(
        column=column,
        cell_of_level=cell_of_level,
        standing=standing,
        curves=tuple(fine_curves),
    )


def _mass_of_levels(column: Column, weights: FloatArray) -> FloatArray:
    """Weight of the rows that carry each level, (n_levels,)."""
    present = column.codes >= 0
    mass = np.bincount(
        column.codes[present], weights=weights[present], minlength=len(column.levels)
    )
    return mass.astype(np.float64)


def first_carriers(column: Column) -> IntArray:
    """The first row that carries each level, (n_levels,)."""
    codes, first_rows = np.unique(column.codes, return_index=True)
    return first_rows[codes >= 0]


def _pilot_levels(column: Column, mass: FloatArray, most_values: int) -> IntArray:
    """Levels that the pilot asks about: all, quantiles of an ordered column, or the frequent ones."""
    if len(mass) <= most_values:
        return np.arange(len(mass), dtype=np.intp)
    if not column.is_ordered:
        return np.sort(np.argsort(-mass, kind="stable")[:most_values])
    ranks = (np.arange(most_values) + 0.5) / most_values * mass.sum()
    quantiles = np.searchsorted(np.cumsum(mass), ranks)
    lowest = 0
    highest = len(mass) - 1
    return np.unique(np.concatenate([[lowest], quantiles, [highest]])).astype(np.intp)


def _pilot_curves(position: int, pilot_rows: IntArray, donors: IntArray, ask: Ask) -> FloatArray:
    """Predictions of the pilot rows at the values of donor rows, (n_outputs, n_values, n_pilot)."""
    base = np.tile(pilot_rows, len(donors))
    predictions = ask(base, np.repeat(donors, len(pilot_rows)), position)
    return predictions.reshape(len(predictions), len(donors), len(pilot_rows))


def _nearest_pilot_value(column: Column, pilot_levels: IntArray) -> IntArray:
    """For each level the number of the pilot value nearest by rank; -1: a label not asked about."""
    if column.is_ordered:
        middles = (pilot_levels[:-1] + pilot_levels[1:]) // 2
        return np.searchsorted(middles, np.arange(len(column.levels)))
    numbers = np.full(len(column.levels), -1, dtype=np.intp)
    numbers[pilot_levels] = np.arange(len(pilot_levels))
    return numbers


def _mass_of_values(value_of_level: IntArray, mass: FloatArray, n_pilot_values: int) -> FloatArray:
    """Weight of the rows whose levels are nearest to each pilot value, (n_pilot_values,); never 0."""
    mass_of_value = np.bincount(value_of_level, weights=mass, minlength=n_pilot_values)
    return np.maximum(mass_of_value.astype(np.float64), np.finfo(np.float64).tiny)


def _merging_vectors(curves: FloatArray, mass: FloatArray) -> FloatArray:
    """By what values are told apart, (n_values, outputs × (rows + 1)).

    For each output the interactions (curves without what belongs to the row or to the value alone)
    and, with little weight, the mean curve. Each output counts by its own spread.

    Parameters
    ----------
    curves : array of shape (n_outputs, n_values, n_pilot)
    mass : array of shape (n_values,)
    """
    interactions, main_effect = _interactions_and_main_effect(curves, mass)
    weight = np.sqrt(MAIN_EFFECT * curves.shape[2])  # as much as `MAIN_EFFECT` in every row
    vectors = np.concatenate([interactions, weight * main_effect], axis=2)
    if len(curves) > 1:
        spread = curves.std(axis=(1, 2))
        vectors = vectors / np.where(spread > 0.0, spread, 1.0)[:, None, None]
    return np.asarray(vectors.transpose(1, 0, 2).reshape(curves.shape[1], -1))


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
    shares = mass / mass.sum()
    mean_of_row = np.einsum("v,ovr->or", shares, curves)
    centred = curves - mean_of_row[:, None, :]
    main_effect = centred.mean(axis=2, keepdims=True)
    return centred - main_effect, main_effect


def _flat_distance(curves: FloatArray) -> float:
    """Squared distance of merging vectors below which values are alike."""
    n_outputs = len(curves)
    n_pilot = int(curves.shape[2])
    if n_outputs == 1:
        variance = float(np.var(curves))
    else:
        variance = float(n_outputs)  # each has a variance of 1 among the vectors
    return FLAT * variance * n_pilot


def _standing_values(vectors: FloatArray, mass: FloatArray, cell_of_value: IntArray) -> IntArray:
    """Of each cell the number of the value that stands for it, (n_cells,)."""
    n_cells = int(cell_of_value.max()) + 1
    return np.array([_most_typical(vectors, mass, cell_of_value == k) for k in range(n_cells)])


def _most_typical(vectors: FloatArray, mass: FloatArray, is_member: BoolArray) -> int:
    """The value of a cell that is nearest to the cell's mean; of several, the one in their middle."""
    members = np.flatnonzero(is_member)
    mean = mass[members] @ vectors[members] / mass[members].sum()
    distances = np.square(vectors[members] - mean).sum(axis=1)
    limit = distances.min() * (1.0 + SAME_DISTANCE) + np.finfo(np.float64).tiny
    nearest = members[distances <= limit]
    return int(nearest[len(nearest) // 2])


def _cells_of_rare(
    column: Column, labels: IntArray, carriers: IntArray, standing: IntArray, ask: Ask
) -> IntArray:
    """Cells of labels that the pilot did not ask about: where a row of theirs is predicted alike.

    Parameters
    ----------
    column : Column
    labels : array of shape (n_rare,)
        Levels.
    carriers : array of shape (n_levels,)
        A row that carries each level.
    standing : array of shape (n_cells,)
        The level that stands for each cell.
    ask : callable
        As in `learn_values`.
    """
    rows = carriers[labels]
    predictions = ask(rows, rows, column.position)  # (outputs, rare)
    base = np.tile(rows, len(standing))
    donors = np.repeat(carriers[standing], len(rows))
    at_cells = ask(base, donors, column.position)
    at_cells = at_cells.reshape(len(predictions), len(standing), len(rows))
    distances = np.square(at_cells - predictions[:, None, :]).sum(axis=0)  # (cells, rare)
    return np.asarray(np.argmin(distances, axis=0))
