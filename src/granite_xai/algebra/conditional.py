"""Bins of conditional masking: functions of the visible columns alone, the same everywhere.

One visible column has intervals or levels as its bins (C8), several have the leaves of a tree that
predicts the hidden columns (C9). Bins are learned once, on the fitting rows, and are values that can
be saved.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.stats import chi2
from sklearn.tree import DecisionTreeRegressor

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.tables import Column, Rows, Table

INTERVALS = 10  # of one column, unless the user says otherwise
MAX_LEAVES = 10  # of the tree behind the bins of several columns
MIN_LEAF_ROWS = 20  # rows that each leaf must hold
# Relative difference of sums that counts as rounding: ten rows of weight 0.1 weigh as much as one of weight 1.
ROUNDING = 1e-12
# Probability that a guarded tree finds a split where the hidden columns do not depend on the visible ones.
FALSE_SPLITS = 0.05
SPLITS_OF_PAIR = 10  # independent tests that the splits of one column by another one count as


class Bins(ABC):
    """A function from a table to a bin number of each row, which masking learned."""

    __slots__ = ()
    follows_values: ClassVar[bool] = True

    @abstractmethod
    def of(self, table: Table) -> IntArray:
        """Bin number of each row, (n,), from 0."""

    def keys(self, table: Table, fitted: Table) -> IntArray:
        """What tells the bins of a table apart, in terms that other tables share, (n, ...)."""
        return self.of(table)

    def asks(self, table: Table) -> None:
        """Nothing of the model."""
        return

    def fact(self, table: Table, predictions: FloatArray | None) -> IntArray:
        """Bin number of each row, (n,)."""
        return self.of(table)


def common_bins(bins: Bins, table: Table, fitted: Table) -> tuple[IntArray, IntArray]:
    """Bin numbers of the rows of two tables, on one scale.

    Exact bins and those of the user number what they see in one table; here rows of both tables that
    belong together get one number.

    Parameters
    ----------
    bins : Bins
    table, fitted : Table
        Of n and m rows; `fitted` are the rows on which the bins were learned.

    Returns
    -------
    arrays of int of shape (n,) and (m,)
    """
    keys = np.concatenate([bins.keys(rows, fitted) for rows in (table, fitted)])
    _, numbers = np.unique(keys, axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    return numbers[: table.n_rows], numbers[table.n_rows :]


@dataclass(frozen=True, slots=True, eq=False)
class ExactBins(Bins):
    """One bin for each distinct row of the visible columns."""

    columns: tuple[int, ...]

    def of(self, table: Table) -> IntArray:
        """Bin number of each row; two tables are numbered apart."""
        codes, _ = table.distinct(self.columns)
        return codes

    def keys(self, table: Table, fitted: Table) -> IntArray:
        """The levels of the visible columns."""
        codes = [level_codes(table.columns[j], fitted.columns[j]) for j in self.columns]
        return np.stack(codes, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class LevelBins(Bins):
    """One bin for each level (C8); missing values and every unseen level apart."""

    fitted: Column

    def of(self, table: Table) -> IntArray:
        """Bin number of each row."""
        return level_codes(table.columns[self.fitted.position], self.fitted)


@dataclass(frozen=True, slots=True, eq=False)
class IntervalBins(Bins):
    """Tenths of an ordered column, one bin for each value when it has few (C8); missing values apart.

    Parameters
    ----------
    fitted : Column
        On the fitting rows.
    edges : array of int
        Upper ends of the bins, as positions among the levels.
    """

    fitted: Column
    edges: IntArray

    def of(self, table: Table) -> IntArray:
        """Bin number of each row."""
        column = table.columns[self.fitted.position]
        level_at_or_above = ranks_among(column, self.fitted, side="left")
        last_bin = len(self.edges) - 1
        bins = np.minimum(np.searchsorted(self.edges, level_at_or_above, side="left"), last_bin)
        missing_bin = len(self.edges)
        return np.where(column.codes < 0, missing_bin, bins).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class TreeBins(Bins):
    """Leaves of one tree that predicts the hidden columns from the visible ones (C9).

    Parameters
    ----------
    fitted : tuple of Column
        The visible columns on the fitting rows.
    feature : array of int
        Which number of a row each node reads (`predictors`).
    threshold : array of float
        Rows at or below it go left.
    left, right : array of int
        The children of each node, all later than itself; -1 at a leaf.
    """

    fitted: tuple[Column, ...]
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray

    def of(self, table: Table) -> IntArray:
        """Bin number of each row: its leaf."""
        # As scikit-learn's trees read them.
        cells = predictors(table, self.fitted).astype(np.float32)
        node_of_row = np.zeros(table.n_rows, dtype=np.intp)
        for _ in self.left:  # no path is longer than there are nodes
            rows = np.flatnonzero(self.left[node_of_row] >= 0)
            if not len(rows):
                break
            nodes = node_of_row[rows]
            goes_left = cells[rows, self.feature[nodes]] <= self.threshold[nodes]
            node_of_row[rows] = np.where(goes_left, self.left[nodes], self.right[nodes])
        return node_of_row


@dataclass(frozen=True, slots=True, eq=False)
class CustomBins(Bins):
    """A user's own bins, fitted."""

    columns: tuple[int, ...]
    bins: Any

    def of(self, table: Table) -> IntArray:
        """Bin number of each row; two tables are numbered apart."""
        answer = np.asarray(self.bins.apply(table.select(self.columns)))
        if answer.shape != (table.n_rows,):
            raise InputError(
                f"bins.apply returned shape {answer.shape} for {table.n_rows} rows.",
                code="P03",
                argument="bins",
                hint="Return one bin number for each row.",
            )
        _, numbers = np.unique(answer, return_inverse=True)
        return numbers.reshape(-1).astype(np.intp)

    def keys(self, table: Table, fitted: Table) -> Any:
        """What the user's object says."""
        return np.asarray(self.bins.apply(table.select(self.columns)))


# Learning ---------------------------------------------------------------------------------------


def fit_bins(
    bins: Any, rows: Rows, visible: Coalition, seed: int, guarded: bool = False
) -> Bins | None:
    """Learn ``bin_T``.

    Parameters
    ----------
    bins : "tree", "exact" or object
        As in `Conditional`. The user's own bins know no weights.
    rows : Rows
        The fitting rows. With weights, quantiles, ranks and leaves of the tree are those of rows that
        are repeated as often as they weigh.
    visible : coalition
        The visible columns T. Those that are constant on the fitting rows do not count.
    seed : int
        For the tree.
    guarded : bool
        Whether the tree splits only on what the rows show beyond chance.

    Returns
    -------
    Bins or None
        None: all rows share one.
    """
    table = rows.table
    positions = sorted(visible - table.passing)
    if not positions or len(visible) == table.n_columns:
        return None
    if isinstance(bins, str) and bins == "exact":
        return ExactBins(tuple(positions))
    if not isinstance(bins, str):
        hidden = [position for position in table.explained if position not in positions]
        fitted = deepcopy(bins)  # one object of the user serves every coalition
        fitted.fit(table.select(positions), table.select(hidden))
        return CustomBins(tuple(positions), fitted)
    columns = [table.columns[position] for position in positions]
    varying = [column for column in columns if _varies(column)]
    if not varying:
        return None
    weights = rows_stood_for(rows.weights)
    if len(varying) > 1:
        return _tree_bins(table, varying, weights, seed, guarded)
    (column,) = varying
    if not column.is_ordered:
        return LevelBins(column)
    return IntervalBins(column, interval_edges(column, weights))


def _varies(column: Column) -> bool:
    """Whether a column has two values, of which one may be a missing value."""
    return len(np.unique(column.codes)) > 1


def _tree_bins(
    table: Table,
    visible: Sequence[Column],
    weights: FloatArray | None,
    seed: int,
    guarded: bool,
) -> TreeBins | None:
    """The leaves of a tree that predicts the hidden columns (C9); None where there is nothing to predict.

    With weights a leaf must weigh as much as `MIN_LEAF_ROWS` rows would.
    """
    shown = {column.position for column in visible}
    hidden = [table.columns[position] for position in table.explained if position not in shown]
    blocks = [_targets(column, weights) for column in hidden if _varies(column)]
    if not blocks:
        return None
    targets = np.hstack(blocks)
    if weights is None:
        smallest_leaf: dict[str, float] = {"min_samples_leaf": MIN_LEAF_ROWS}
    else:
        share = MIN_LEAF_ROWS * (1 - ROUNDING) / float(weights.sum())
        if share > 0.5:  # no room for two leaves
            return None
        smallest_leaf = {"min_weight_fraction_leaf": share}
    least_gain = _gain_by_chance(targets, table.n_columns) / table.n_rows if guarded else 0.0
    tree = DecisionTreeRegressor(
        max_leaf_nodes=MAX_LEAVES,
        min_impurity_decrease=least_gain,
        random_state=seed,
        **smallest_leaf,
    )
    tree.fit(predictors(table, visible), targets, weights)
    nodes = tree.tree_
    return TreeBins(
        fitted=tuple(visible),
        feature=np.maximum(nodes.feature, 0).astype(np.intp),
        threshold=np.where(nodes.children_left >= 0, nodes.threshold, 0.0),
        left=nodes.children_left.astype(np.intp),
        right=nodes.children_right.astype(np.intp),
    )


def _targets(column: Column, weights: FloatArray | None) -> FloatArray:
    """What a tree predicts of a column (C9): mid-ranks or indicators, of total variance 1, (n, targets).

    Missing values are the lowest rank.
    """
    block = _numbers_read(column, column)
    if column.is_ordered:
        codes = column.codes + 1  # missing values: 0
        counts = np.bincount(codes, weights=weights)
        mid_ranks = np.cumsum(counts) - (counts - 1) / 2
        block = mid_ranks[codes][:, None]
    mean = np.average(block, axis=0, weights=weights)
    variances = np.average(np.square(block - mean), axis=0, weights=weights)
    return np.asarray(block / np.sqrt(variances.sum()))


def _gain_by_chance(targets: FloatArray, n_columns: int) -> float:
    """The gain of the best split that chance exceeds with the probability `FALSE_SPLITS` alone.

    A gain is the impurity that a split takes away, times the rows. Where hidden columns do not depend on
    the visible ones, a fixed split takes away a sum of ``chi²`` variables: one for each direction of the
    targets, times the variance ``v`` along it. One scaled ``chi²`` with the same mean and variance stands
    for the sum (Satterthwaite): its scale is ``sum v² / sum v`` and its degrees of freedom are
    ``sum v / scale``. scikit-learn divides by the number of targets. The best of all splits counts as
    `SPLITS_OF_PAIR` tests for each ordered pair of columns.

    Parameters
    ----------
    targets : array of shape (n, targets)
        What the tree predicts.
    n_columns : int
        Columns of the table.
    """
    n_rows, n_targets = targets.shape
    singular_values = np.linalg.svd(targets - targets.mean(axis=0), compute_uv=False)
    variances = singular_values**2 / n_rows  # along each direction
    scale = float(np.sum(variances**2) / np.sum(variances))
    degrees_of_freedom = float(np.sum(variances)) / scale
    n_tests = SPLITS_OF_PAIR * n_columns * (n_columns - 1)
    return float(scale * chi2.isf(FALSE_SPLITS / n_tests, degrees_of_freedom) / n_targets)


def predictors(table: Table, fitted: Sequence[Column]) -> FloatArray:
    """What the tree reads of some columns, (n, predictors).

    Parameters
    ----------
    table : Table
        Of n rows.
    fitted : sequence of Column
        The columns on the fitting rows.
    """
    blocks = [_numbers_read(table.columns[column.position], column) for column in fitted]
    return np.hstack(blocks)


def _numbers_read(column: Column, fitted: Column) -> FloatArray:
    """A column as the tree reads it (C9), (n, predictors).

    An ordered column is ranks among the fitting values: -1 for missing values, 0 below all of them. A
    nominal one is indicators, all 0 for an unseen level.
    """
    if not fitted.is_ordered:
        n_indicators = len(fitted.levels) + int((fitted.codes < 0).any())
        codes = level_codes(column, fitted)
        return np.asarray(codes[:, None] == np.arange(n_indicators), dtype=np.float64)
    ranks = np.maximum(ranks_among(column, fitted, side="right"), 0)
    return np.where(column.codes < 0, -1, ranks)[:, None].astype(np.float64)


# Where values stand among the levels of the fit ---------------------------------------------------


def interval_edges(
    column: Column, weights: FloatArray | None = None, count: int = INTERVALS
) -> IntArray:
    """Upper ends of the intervals of an ordered column, as positions among its levels (C8).

    The k-th edge is the smallest value with at least k / ``count`` of the rows at or below it; where there are no more
    distinct values than intervals, every value is an edge. Missing values do not count.

    Parameters
    ----------
    column : Column
    weights : array of shape (n,), optional
        How many rows each row stands for.
    count : int
        Intervals, at most.
    """
    n_levels = len(column.levels)
    if n_levels <= count:
        return np.arange(n_levels, dtype=np.intp)
    present = column.codes >= 0
    mass = np.bincount(
        column.codes[present],
        weights=None if weights is None else weights[present],
        minlength=n_levels,
    )
    mass_at_or_below = np.cumsum(mass)
    # Both sides times ``count``, so that counts of rows are compared as whole numbers.
    needed = np.arange(1, count + 1) * mass_at_or_below[-1]
    if weights is not None:
        needed = needed * (1 - ROUNDING)
    edges = np.searchsorted(mass_at_or_below * count, needed, side="left")
    return np.unique(edges).astype(np.intp)


def rows_stood_for(weights: FloatArray) -> FloatArray | None:
    """How many rows each row stands for, at least 1 on average; None where each stands for itself.

    Weights below 1 on average, such as shares of the rows, are scaled to 1 on average.
    """
    multiplicity: FloatArray = weights / min(float(weights.mean()), 1.0)
    if np.allclose(multiplicity, 1.0, rtol=0.0, atol=ROUNDING):
        return None
    return multiplicity


def ranks_among(column: Column, fitted: Column, side: Literal["left", "right"]) -> IntArray:
    """Position of each value among the levels of the fit, (n,).

    Parameters
    ----------
    column, fitted : Column
        The same ordered column on some rows, and on the fitting rows. The scale of an ordinal column is
        the place in its declared order, behind all of which an unseen label stands.
    side : "left" or "right"
        Whether a value between two levels counts as the upper one or as the lower one.

    Returns
    -------
    array of int
        -1 for missing values, and on the right for a value below all levels.
    """
    if column is fitted:
        return column.codes
    fitted_levels: Any = fitted.levels
    levels: Any = column.levels
    if fitted.order is not None:
        place_of_label = {label: place for place, label in enumerate(fitted.order)}
        fitted_levels = [place_of_label[level] for level in fitted.levels]
        levels = [place_of_label.get(level, len(place_of_label)) for level in column.levels]
    ranks = np.searchsorted(fitted_levels, levels, side=side)
    if side == "right":
        ranks = ranks - 1
    rank_of_code = np.append(ranks, -1)  # missing values have code -1: the last entry
    return rank_of_code[column.codes].astype(np.intp)


def level_codes(column: Column, fitted: Column) -> IntArray:
    """Code of each row's level in the fit, (n,).

    Missing values get the number after those of the fit, and every unseen level a number of its own after that.

    Parameters
    ----------
    column, fitted : Column
        The same column on n rows, and on the fitting rows.
    """
    code_in_fit = {level: code for code, level in enumerate(fitted.levels.tolist())}
    missing_code = len(code_in_fit)
    codes = [
        code_in_fit.get(level, missing_code + 1 + number)
        for number, level in enumerate(column.levels.tolist())
    ]
    codes.append(missing_code)  # missing values have code -1: the last entry
    return np.array(codes, dtype=np.intp)[column.codes]
