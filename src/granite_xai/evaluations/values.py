"""Which values of a column stand for all of them when the model is asked (C22).

A search needs the predictions of every row at every value of a column. Sixteen values are enough if
they are chosen by what the model does: neighbouring values at which a few *pilot rows* interact alike
share a cell, and one of them stands for the cell. Cells of equal numbers of rows would straddle a
jump of the model and pull the cut to the cell's edge, whatever the number of rows.

Sixteen values are too few to draw a curve through. Between them the mean curve of any rows is taken
to run as those of the pilot rows do: it is their mean curve plus a sum of what they differ by, which
the sixteen values fix (`FineCurve`). Curves and surrogates are so as fine as the pilot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.evaluations.merging import merge_any_pairs, merge_neighbours
from granite_xai.tables import Column, Table

CELLS = 16  # values that stand for a column
# Pilot rows and values of a column, from the finest pilot to the coarsest.
PILOTS = ((64, 512), (64, 256), (64, 128), (32, 128), (32, 64), (16, 64), (16, 32), (8, 32))
ALIKE = 1e-9  # relative difference of distances that is rounding
RARE_LABELS = 4  # labels beyond the pilot that are asked about, for each value of the pilot
FLAT = 1e-6  # share of the predictions' variance below which interactions do not decide on cells
MAIN_EFFECT = 1e-3  # weight of the mean curve beside interactions: it decides where there are none
# Share of the pilot curves' variance that values may miss when curves are drawn between them.
RIDGE = 1e-3
# From base rows, donor rows and a column to predictions, (outputs, n).
Ask = Callable[[IntArray, IntArray, int], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class FineCurve:
    """How the mean curve of some rows along a column runs between the values that stand for cells.

    At the pilot's levels it is ``offsets + weights @ curve[standing]``.

    Parameters
    ----------
    standing : array of shape (n_cells,)
        Levels at which the curve is known.
    levels : array of shape (n_pilot_values,)
        Levels at which the pilot rows were asked, ascending.
    offsets : array of shape (n_pilot_values,)
    weights : array of shape (n_pilot_values, n_cells)
        Each line adds up to 1; that of a standing level is 1 for its cell, and its offset is 0.
    """

    standing: IntArray
    levels: IntArray
    offsets: FloatArray
    weights: FloatArray

    def at_levels(self, at_standing: FloatArray) -> FloatArray:
        """The curve at the pilot's levels, from its values at the standing ones.

        Several curves are columns of an array of shape (n_cells, n_curves).
        """
        offsets = self.offsets if at_standing.ndim == 1 else self.offsets[:, None]
        return np.asarray(offsets + self.weights @ at_standing)


@dataclass(frozen=True, slots=True, eq=False)
class ValueCells:
    """The cells of one column.

    Parameters
    ----------
    column : Column
        As the fitting rows have it.
    cell_of_level : array of shape (n_levels,)
    standing : array of shape (n_cells,)
        The level that stands for each cell.
    curves : tuple of FineCurve
        For each output how curves run between the standing levels; none where the cells are for
        other rows than those of the fit.
    """

    column: Column
    cell_of_level: IntArray
    standing: IntArray
    curves: tuple[FineCurve, ...] = ()

    def __post_init__(self) -> None:
        """Check what a file may have wrong."""
        n_levels = len(self.column.levels)
        if len(self.cell_of_level) != n_levels:
            raise ValueError(f"{len(self.cell_of_level)} of {n_levels} levels have a cell")
        if not _all_below(self.cell_of_level, len(self.standing)):
            raise ValueError("a level has a cell that does not exist")
        if not _all_below(self.standing, n_levels):
            raise ValueError("a cell stands for a level that does not exist")

    def cells_of(self, column: Column) -> IntArray:
        """Cell of each level of the same column in another table.

        An ordered level between two of the fit joins the lower one; a label that the fit has not
        seen joins the largest cell.
        """
        if column is self.column:
            return self.cell_of_level
        if self.column.is_ordered:
            places = ordered_places(column, self.column)
            return self.cell_of_level[np.clip(places, 0, len(self.cell_of_level) - 1)]
        largest = int(np.argmax(np.bincount(self.cell_of_level)))
        known = dict(zip(self.column.levels.tolist(), self.cell_of_level.tolist(), strict=True))
        return np.array(
            [known.get(level, largest) for level in column.levels.tolist()], dtype=np.intp
        )

    def stand_ins(self, column: Column) -> IntArray:
        """For each level of a column the level of the same column that stands for it.

        In another table than the fit's it is the level of the cell that is nearest to the fit's.
        """
        if column is self.column:
            return self.standing[self.cell_of_level]
        cells = self.cells_of(column)
        if self.column.is_ordered:
            places = ordered_places(column, self.column)
        else:
            known = {level: number for number, level in enumerate(self.column.levels.tolist())}
            unseen = 2 * len(known)  # further from all cells than any label of the fit
            places = np.array([known.get(level, unseen) for level in column.levels.tolist()])
        stand_in = np.empty(len(cells), dtype=np.intp)
        for cell in np.unique(cells):
            members = np.flatnonzero(cells == cell)
            distance = np.abs(places[members] - self.standing[cell])
            stand_in[members] = members[int(np.argmin(distance))]
        return stand_in


def _all_below(numbers: IntArray, end: int) -> bool:
    """Whether all of some numbers count something of which there are so many."""
    return bool(np.all((numbers >= 0) & (numbers < end)))


def ordered_places(column: Column, fitted: Column) -> IntArray:
    """Where each level of a column lies among those of the fit: the last that is not above it."""
    if fitted.order is None:
        levels, new = fitted.levels, column.levels
    else:
        place = {label: number for number, label in enumerate(fitted.order)}
        levels = np.array([place[level] for level in fitted.levels])
        new = np.array([place.get(level, len(place)) for level in column.levels])
    return np.asarray(np.searchsorted(levels, new, side="right") - 1)


@dataclass(frozen=True, slots=True, eq=False)
class LearnedValues:
    """The cells of all columns that have some, by position; other columns keep all their values."""

    columns: Mapping[int, ValueCells] = field(default_factory=dict)
    pilot_rows: int = 0

    def stand_ins(self, table: Table) -> dict[int, IntArray]:
        """For each column with cells, the level that stands for each level of the table."""
        return {
            position: cells.stand_ins(table.columns[position])
            for position, cells in self.columns.items()
        }

    def without_curves(self) -> LearnedValues:
        """What other rows need: the cells alone."""
        bare = {position: replace(cells, curves=()) for position, cells in self.columns.items()}
        return LearnedValues(bare, self.pilot_rows)


def expected_values(table: Table, positions: Sequence[int], cells: int) -> LearnedValues:
    """As many cells as a pilot would choose: what they take is known before the model is asked."""
    expected = {}
    for position in positions:
        column = table.columns[position]
        n_levels = len(column.levels)
        if n_levels > cells:
            cell_of_level = np.arange(n_levels) * cells // n_levels
            expected[position] = ValueCells(
                column=column,
                cell_of_level=cell_of_level,
                standing=np.unique(cell_of_level, return_index=True)[1],
                curves=(),
            )
    return LearnedValues(expected)


def n_values(column: Column, cells: int) -> int:
    """Values at which the model is asked about a column: all, or one a cell; missing is a value."""
    return min(len(column.levels), cells) + int(column.missing.any())


def pilot_size(columns: Sequence[Column], cells: int, budget: float) -> tuple[int, int]:
    """Rows and values of the finest pilot that sends no more rows to the model than a budget."""
    for n_rows, most_values in PILOTS:
        if pilot_cost(columns, cells, n_rows, most_values) <= budget:
            return n_rows, most_values
    return PILOTS[-1]


def pilot_cost(columns: Sequence[Column], cells: int, n_rows: int, most_values: int) -> int:
    """Rows that a pilot sends to the model, at most; none for columns whose values are all evaluated."""
    cost = 0
    for column in columns:
        n_levels = len(column.levels)
        if n_levels <= cells:
            continue
        if column.is_ordered:
            cost += n_rows * min(n_levels, most_values + 2)  # the ends of the column as well
        else:
            n_rare = min(max(n_levels - most_values, 0), RARE_LABELS * most_values)
            cost += n_rows * min(n_levels, most_values) + n_rare * (1 + cells)
    return cost


def learn_values(
    table: Table,
    weights: FloatArray,
    positions: Sequence[int],
    ask: Ask,
    *,
    cells: int,
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
    cells : int
        Cells of a column, at most; columns with no more values have none.
    budget : float
        Rows that the pilot may send to the model.
    seed : int
        Draws the pilot rows.
    """
    columns = [table.columns[position] for position in positions]
    wide = [column for column in columns if len(column.levels) > cells]
    if not wide:
        return LearnedValues()
    n_rows, most_values = pilot_size(wide, cells, budget)
    generator = np.random.default_rng([seed, 23])
    count = min(n_rows, table.n_rows)
    pilot = np.sort(generator.choice(table.n_rows, size=count, replace=False))
    learned = {
        column.position: _learn_column(column, weights, pilot, ask, cells, most_values)
        for column in wide
    }
    return LearnedValues(learned, count)


def _learn_column(
    column: Column, weights: FloatArray, pilot: IntArray, ask: Ask, cells: int, most_values: int
) -> ValueCells:
    """Choose the cells of one column.

    Parameters
    ----------
    column : Column
    weights : array of shape (n_rows,)
    pilot : array of shape (n_pilot,)
        The pilot rows.
    ask : callable
        As in `learn_values`.
    cells : int
        Cells, at most.
    most_values : int
        Values at which the pilot rows are asked, about.
    """
    mass = _mass_of_levels(column, weights)
    carriers = first_carriers(column)
    asked = _pilot_levels(column, mass, most_values)
    curves = _curves(column.position, pilot, carriers[asked], ask)  # (outputs, values, rows)

    value_of_level = _nearest_asked(column, asked)  # -1: a rare label, not asked about
    is_near = value_of_level >= 0
    value_mass = np.bincount(
        value_of_level[is_near], weights=mass[is_near], minlength=len(asked)
    ).astype(np.float64)
    value_mass = np.maximum(value_mass, np.finfo(np.float64).tiny)
    features = _merging_vectors(curves, value_mass)
    merge = merge_neighbours if column.is_ordered else merge_any_pairs
    cell_of_value = merge(features, value_mass, cells, _flat_distance(curves))
    typical = _typical_values(features, value_mass, cell_of_value)

    cell_of_level = np.empty(len(column.levels), dtype=np.intp)
    cell_of_level[is_near] = cell_of_value[value_of_level[is_near]]
    rare = np.flatnonzero(~is_near)
    if len(rare):
        cell_of_level[rare] = np.argmax(np.bincount(cell_of_value, weights=value_mass))
        asked_rare = rare[: RARE_LABELS * most_values]
        cell_of_level[asked_rare] = _join_rare(column, asked_rare, carriers, asked[typical], ask)
    return ValueCells(
        column=column,
        cell_of_level=cell_of_level,
        standing=asked[typical],
        curves=tuple(_fine_curve(of_output, asked, typical, cell_of_value) for of_output in curves),
    )


def _mass_of_levels(column: Column, weights: FloatArray) -> FloatArray:
    """Weight of the rows that carry each level, (n_levels,)."""
    present = column.codes >= 0
    mass = np.bincount(
        column.codes[present], weights=weights[present], minlength=len(column.levels)
    )
    return mass.astype(np.float64)


def _flat_distance(curves: FloatArray) -> float:
    """Squared distance of features below which values are alike."""
    n_outputs = len(curves)
    n_pilot = int(curves.shape[2])
    # Of several outputs each has a variance of 1 among the features.
    variance = float(np.var(curves)) if n_outputs == 1 else float(n_outputs)
    return FLAT * variance * n_pilot


def _typical_values(features: FloatArray, mass: FloatArray, cell_of_value: IntArray) -> IntArray:
    """Of each cell the number of the value that stands for it, (n_cells,)."""
    n_cells = int(cell_of_value.max()) + 1
    return np.array(
        [_most_typical(features, mass, cell_of_value == cell) for cell in range(n_cells)]
    )


def _fine_curve(
    curves: FloatArray, levels: IntArray, typical: IntArray, cell_of_value: IntArray
) -> FineCurve:
    """How curves run between standing values, by how those of the pilot rows do.

    Let m be the mean curve of the pilot rows, K the covariance of their curves between values, s the
    standing values. A curve b that is known at s is expected at a value v to be

        m(v) + mean(b(s) - m(s)) + K(v, s) K(s, s)^-1 d,   d = b(s) - m(s) - mean(b(s) - m(s)).

    What this misses at s itself (K is made a little larger on its diagonal) is added in the whole cell.

    Parameters
    ----------
    curves : array of shape (n_values, n_pilot)
    levels : array of shape (n_values,)
    typical : array of shape (n_cells,)
        Numbers of the values that stand for cells.
    cell_of_value : array of shape (n_values,)
    """
    n_cells = len(typical)
    mean_curve = curves.mean(axis=1)
    apart = curves - mean_curve[:, None]
    apart = apart - apart[typical].mean(axis=0)
    covariance = apart @ apart[typical].T / curves.shape[1]  # (values, cells)
    at_standing = covariance[typical]
    ridge = RIDGE * np.trace(at_standing) / n_cells + FLAT * np.var(curves)
    averaging = np.full((n_cells, n_cells), 1.0 / n_cells)
    deviation = np.eye(n_cells) - averaging  # from b(s) - m(s) to d
    if ridge > 0.0:
        regression = np.linalg.solve(at_standing + ridge * np.eye(n_cells), covariance.T).T
    else:  # all predictions are equal
        regression = np.zeros_like(covariance)
    missed = np.eye(n_cells) - regression[typical]
    weights = averaging[cell_of_value] + (regression + missed[cell_of_value]) @ deviation
    return FineCurve(
        standing=levels[typical],
        levels=levels,
        offsets=mean_curve - weights @ mean_curve[typical],
        weights=weights,
    )


def first_carriers(column: Column) -> IntArray:
    """The first row that carries each level."""
    codes, first = np.unique(column.codes, return_index=True)
    return first[codes >= 0]


def _pilot_levels(column: Column, mass: FloatArray, most: int) -> IntArray:
    """Levels that the pilot asks about: all, quantiles of an ordered column, or the frequent ones."""
    if len(mass) <= most:
        return np.arange(len(mass), dtype=np.intp)
    if not column.is_ordered:
        return np.sort(np.argsort(-mass, kind="stable")[:most])
    ranks = (np.arange(most) + 0.5) / most * mass.sum()
    inner = np.searchsorted(np.cumsum(mass), ranks)
    return np.unique(np.concatenate([[0], inner, [len(mass) - 1]])).astype(np.intp)


def _nearest_asked(column: Column, asked: IntArray) -> IntArray:
    """For each level the number of the pilot value nearest by rank; -1: a label not asked about."""
    if column.is_ordered:
        middles = (asked[:-1] + asked[1:]) // 2
        return np.searchsorted(middles, np.arange(len(column.levels)))
    numbers = np.full(len(column.levels), -1, dtype=np.intp)
    numbers[asked] = np.arange(len(asked))
    return numbers


def _curves(position: int, pilot: IntArray, donors: IntArray, ask: Ask) -> FloatArray:
    """Predictions of the pilot rows at some values, of shape (n_outputs, n_values, n_pilot)."""
    base = np.tile(pilot, len(donors))
    predictions = ask(base, np.repeat(donors, len(pilot)), position)
    return predictions.reshape(len(predictions), len(donors), len(pilot))


def _merging_vectors(curves: FloatArray, mass: FloatArray) -> FloatArray:
    """By what values are told apart, (n_values, outputs × (rows + 1)).

    For each output the interactions (curves without what belongs to the row or to the value alone)
    and, with little weight, the mean curve. Each output counts by its own spread.
    """
    shares = mass / mass.sum()
    by_row = np.einsum("v,ovr->or", shares, curves)
    centred = curves - by_row[:, None, :]
    main_effect = centred.mean(axis=2, keepdims=True)
    weight = np.sqrt(MAIN_EFFECT * curves.shape[2])  # as much as that in every row
    features = np.concatenate([centred - main_effect, weight * main_effect], axis=2)
    if len(curves) > 1:
        spread = curves.std(axis=(1, 2))
        features = features / np.where(spread > 0.0, spread, 1.0)[:, None, None]
    return np.asarray(features.transpose(1, 0, 2).reshape(curves.shape[1], -1))


def _most_typical(features: FloatArray, mass: FloatArray, members: BoolArray) -> int:
    """The value of a cell that is nearest to the cell's mean."""
    inside = np.flatnonzero(members)
    mean = mass[inside] @ features[inside] / mass[inside].sum()
    distances = np.square(features[inside] - mean).sum(axis=1)
    # Values that interact alike: the one in the middle of them.
    alike = inside[distances <= distances.min() * (1.0 + ALIKE) + np.finfo(np.float64).tiny]
    return int(alike[len(alike) // 2])


def _join_rare(
    column: Column, rare: IntArray, carriers: IntArray, standing: IntArray, ask: Ask
) -> IntArray:
    """Cells of labels that the pilot did not ask about: where a row of theirs is predicted alike."""
    rows = carriers[rare]
    own = ask(rows, rows, column.position)  # (outputs, rare)
    base = np.tile(rows, len(standing))
    donors = np.repeat(carriers[standing], len(rows))
    at_cells = ask(base, donors, column.position).reshape(len(own), len(standing), len(rows))
    distances = np.square(at_cells - own[:, None, :]).sum(axis=0)  # (cells, rare)
    return np.asarray(np.argmin(distances, axis=0))
