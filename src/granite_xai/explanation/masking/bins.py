"""Bins of conditional masking: functions of the visible columns alone, the same in regions and on new rows.

One visible column has intervals or levels as its bins (C8), several have the leaves of a tree that predicts the hidden
columns (C9). Bins are learned once, on the fitting rows, and are values that can be saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.tables import Column, Table

BinFunction = Callable[[Table], IntArray]  # bin number of each row of a table
COUNT = 10  # bins of one column, and leaves of the tree for several
LEAF = 20  # rows that each leaf must hold
# Relative difference of sums that counts as rounding: ten rows of weight 0.1 weigh as much as one of weight 1.
ROUNDING = 1e-12
# Probability that a tree finds a split where the hidden columns do not depend on the visible ones.
FALSE_SPLITS = 0.05


def fit_bins(
    bins: Any,
    table: Table,
    visible: Coalition,
    seed: int = 0,
    weights: FloatArray | None = None,
    guarded: bool = False,
) -> BinFunction:
    """Learn ``bin_T``, from a table to one bin number for each row.

    Parameters
    ----------
    bins : "tree", "exact" or object
        As in `Conditional`.
    table : Table
        The fitting rows.
    visible : coalition
        The visible columns T. Those that are constant on the fitting rows do not count.
    seed : int
        For the tree.
    weights : array of shape (n,), optional
        How many rows each row stands for: quantiles, ranks and leaves of the tree are those of the repeated rows. The
        user's own bins know no weights.
    guarded : bool
        Whether the tree splits only on what the rows show beyond chance.

    Returns
    -------
    BinFunction
    """
    weights = rows_stood_for(weights)
    positions = sorted(visible - table.passing)
    if not positions or len(visible) == table.n_columns:
        return OneBin()
    if isinstance(bins, str) and bins == "exact":
        return ExactBins(tuple(positions))
    if bins != "tree":
        return _fit_custom_bins(bins, table, positions)
    varying = [table.columns[i] for i in positions if _varies(table.columns[i])]
    if not varying:
        return OneBin()
    if len(varying) > 1:
        return _fit_tree_bins(table, varying, seed, weights, guarded)
    (column,) = varying
    if not column.is_ordered:
        return LevelBins(column)
    return IntervalBins(column, interval_edges(column, weights))


def rows_stood_for(weights: FloatArray | None) -> FloatArray | None:
    """How many rows each row stands for, at least 1 on average; None where each stands for itself."""
    if weights is None:
        return None
    multiplicity: FloatArray = weights / min(float(weights.mean()), 1.0)
    if np.allclose(multiplicity, 1.0, rtol=0.0, atol=ROUNDING):
        return None
    return multiplicity


def _varies(column: Column) -> bool:
    """Whether a column has two values, of which one may be a missing value."""
    return len(column.levels) + int(_has_missing(column)) > 1


def _has_missing(column: Column) -> bool:
    return bool((column.codes < 0).any())


@dataclass(frozen=True, slots=True)
class OneBin:
    """All rows together: nothing, or everything, is visible."""

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row, (n,)."""
        return np.zeros(table.n_rows, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class ExactBins:
    """One bin for each distinct row of the visible columns."""

    columns: tuple[int, ...]

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row, (n,); two tables are numbered apart (see `common_bins`)."""
        codes, _ = table.distinct(self.columns)
        return codes


@dataclass(frozen=True, slots=True, eq=False)
class LevelBins:
    """One bin for each level (C8); missing values and every unseen level apart."""

    fitted: Column

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row, (n,)."""
        return level_codes(table.columns[self.fitted.position], self.fitted)


@dataclass(frozen=True, slots=True, eq=False)
class IntervalBins:
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

    def __post_init__(self) -> None:
        if not self.fitted.is_ordered:
            raise ValueError(f"a {self.fitted.kind} column has no intervals")
        among_levels = (self.edges >= 0) & (self.edges < max(1, len(self.fitted.levels)))
        if np.any(np.diff(self.edges) <= 0) or not np.all(among_levels):
            raise ValueError("the edges do not ascend among the levels")

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row, (n,)."""
        column = table.columns[self.fitted.position]
        level_at_or_above = ranks_among(column, self.fitted, side="left")
        last_bin = len(self.edges) - 1
        bins = np.minimum(np.searchsorted(self.edges, level_at_or_above, side="left"), last_bin)
        missing_bin = len(self.edges)
        return np.where(column.codes < 0, missing_bin, bins).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class BinTree:
    """The nodes of a regression tree.

    Parameters
    ----------
    feature : array of int
        The number that each node reads.
    threshold : array of float
        Rows at or below it go left.
    left, right : array of int
        The children of each node; -1 at a leaf.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray

    def __post_init__(self) -> None:
        n_nodes = len(self.threshold)
        arrays = (self.threshold, self.feature, self.left, self.right)
        same_length = all(array.shape == (n_nodes,) for array in arrays)
        if not n_nodes or not same_length or np.any(self.feature < 0):
            raise ValueError("nodes lack a feature, a threshold or children")
        parents = np.flatnonzero((self.left >= 0) | (self.right >= 0))
        children = np.concatenate([self.left[parents], self.right[parents]])
        # Each child later than its parent, and every node but the root one node's child: no path can be endless.
        later = np.all(children > np.tile(parents, 2)) and np.all(children < n_nodes)
        n_distinct = len(np.unique(children))
        if not later or len(children) != n_nodes - 1 or n_distinct != n_nodes - 1:
            raise ValueError("children are no later nodes, have two parents, or nodes have none")
        if not np.all(np.isfinite(self.threshold)):
            raise ValueError("a threshold is not a number")

    @classmethod
    def of(cls, tree: Any) -> BinTree:
        """The nodes of a fitted tree of scikit-learn."""
        nodes = tree.tree_
        is_inner = nodes.children_left >= 0
        return cls(
            feature=np.maximum(nodes.feature, 0).astype(np.intp),
            threshold=np.where(is_inner, nodes.threshold, 0.0),
            left=nodes.children_left.astype(np.intp),
            right=nodes.children_right.astype(np.intp),
        )

    def apply(self, X: FloatArray) -> IntArray:
        """Leaf that each row of ``X`` (n, numbers that nodes read) reaches, (n,)."""
        cells = X.astype(np.float32)  # as scikit-learn's trees read them
        node_of_row = np.zeros(len(X), dtype=np.intp)
        rows = self._rows_at_inner_nodes(node_of_row)
        while len(rows):
            nodes = node_of_row[rows]
            goes_left = cells[rows, self.feature[nodes]] <= self.threshold[nodes]
            node_of_row[rows] = np.where(goes_left, self.left[nodes], self.right[nodes])
            rows = self._rows_at_inner_nodes(node_of_row)
        return node_of_row

    def _rows_at_inner_nodes(self, node_of_row: IntArray) -> IntArray:
        return np.flatnonzero(self.left[node_of_row] >= 0)


@dataclass(frozen=True, slots=True, eq=False)
class TreeBins:
    """Leaves of one tree that predicts the hidden columns from the visible ones (C9)."""

    fitted: tuple[Column, ...]
    tree: BinTree

    def __post_init__(self) -> None:
        positions = [column.position for column in self.fitted]
        n_predictors = sum(_n_predictors(column) for column in self.fitted)
        ascending = sorted(set(positions)) == positions
        if not positions or not ascending or np.any(self.tree.feature >= n_predictors):
            raise ValueError("the columns do not ascend, or the tree reads more of them")

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row, (n,)."""
        return self.tree.apply(_predictors(table, self.fitted))


@dataclass(frozen=True, slots=True, eq=False)
class CustomBins:
    """A user's own bins."""

    columns: tuple[int, ...]
    bins: Any

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row, (n,); two tables are numbered apart (see `common_bins`)."""
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


def common_bins(function: BinFunction, table: Table, fitted: Table) -> tuple[IntArray, IntArray]:
    """Bin numbers of the rows of two tables, on one scale.

    Exact bins and those of the user number what they see in one table; here rows of both tables that belong together
    get one number.

    Parameters
    ----------
    function : BinFunction
    table, fitted : Table
        Of n and m rows; ``fitted`` are the rows on which the bins were learned.

    Returns
    -------
    arrays of int of shape (n,) and (m,)
    """
    if not isinstance(function, CustomBins | ExactBins):
        return function(table), function(fitted)
    keys = [_bin_keys(function, rows, fitted) for rows in (table, fitted)]
    _, numbers = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    return numbers[: table.n_rows], numbers[table.n_rows :]


def _bin_keys(function: CustomBins | ExactBins, table: Table, fitted: Table) -> Any:
    """What tells the bins of a table apart, in terms that other tables share, (n, columns)."""
    if isinstance(function, CustomBins):
        return np.asarray(function.bins.apply(table.select(function.columns)))[:, None]
    codes = [level_codes(table.columns[j], fitted.columns[j]) for j in function.columns]
    return np.stack(codes, axis=1)


def _fit_custom_bins(bins: Any, table: Table, positions: Sequence[int]) -> CustomBins:
    hidden = [i for i in table.explained if i not in positions]
    fitted = deepcopy(bins)  # one object of the user serves every coalition
    fitted.fit(table.select(positions), table.select(hidden))
    return CustomBins(tuple(positions), fitted)


def _fit_tree_bins(
    table: Table,
    visible: Sequence[Column],
    seed: int,
    weights: FloatArray | None,
    guarded: bool,
) -> BinFunction:
    """The tree of C9; with weights a leaf must weigh as much as so many rows would."""
    from sklearn.tree import DecisionTreeRegressor

    visible_positions = {column.position for column in visible}
    targets = []
    for column in table.columns:
        if column.position not in visible_positions and not column.passes:
            target = _target(column, weights)
            if target is not None:
                targets.append(target)
    if not targets:
        return OneBin()
    if weights is None:
        smallest_leaf: dict[str, float] = {"min_samples_leaf": LEAF}
    else:
        share = LEAF * (1 - ROUNDING) / float(weights.sum())
        if share > 0.5:  # no room for two leaves
            return OneBin()
        smallest_leaf = {"min_weight_fraction_leaf": share}
    outputs = np.hstack(targets)  # (n, outputs)
    least_gain = 0.0
    if guarded:
        least_gain = _gain_by_chance(outputs, table.n_columns) / table.n_rows
    tree = DecisionTreeRegressor(
        max_leaf_nodes=COUNT, min_impurity_decrease=least_gain, random_state=seed, **smallest_leaf
    )
    fitted = tuple(visible)
    tree.fit(_predictors(table, fitted), outputs, weights)
    return TreeBins(fitted, BinTree.of(tree))


def _gain_by_chance(outputs: FloatArray, n_columns: int) -> float:
    """How much impurity, times the rows, the best split of a tree hardly takes away by chance.

    A fixed split takes away a sum of ``chi²`` variables: one for each direction of the hidden columns, times the
    variance along it. One scaled ``chi²`` with the same mean and variance stands for the sum, and scikit-learn divides
    by the number of outputs. The best of all splits counts as ten tests for each pair of columns.

    Parameters
    ----------
    outputs : array of shape (n, outputs)
        What the tree predicts.
    n_columns : int
        Columns of the table.
    """
    from scipy.stats import chi2

    n_rows, n_outputs = outputs.shape
    singular_values = np.linalg.svd(outputs - outputs.mean(axis=0), compute_uv=False)
    variances = singular_values**2 / n_rows  # along each direction
    total_variance = float(np.sum(variances))
    scale = float(np.sum(variances**2) / np.sum(variances))
    degrees_of_freedom = total_variance / scale
    level = FALSE_SPLITS / (10 * n_columns * (n_columns - 1))
    gain = scale * chi2.isf(level, degrees_of_freedom) / n_outputs
    return float(gain)


def interval_edges(
    column: Column, weights: FloatArray | None = None, count: int = COUNT
) -> IntArray:
    """Upper ends of the bins of an ordered column, as positions among its levels (C8).

    The k-th edge is the smallest value with at least k / ``count`` of the rows at or below it; where there are no more
    distinct values than bins, every value is an edge. Missing values do not count.

    Parameters
    ----------
    column : Column
    weights : array of shape (n,), optional
        How many rows each row stands for.
    count : int
        Bins, at most.
    """
    n_levels = len(column.levels)
    if n_levels <= count:
        return np.arange(n_levels, dtype=np.intp)
    present = column.codes >= 0
    present_weights = None if weights is None else weights[present]
    mass = np.bincount(column.codes[present], weights=present_weights, minlength=n_levels)
    mass_at_or_below = np.cumsum(mass)
    # Both sides times ``count``, so that counts of rows are compared as whole numbers.
    needed = np.arange(1, count + 1) * mass_at_or_below[-1]
    if weights is not None:
        needed = needed * (1 - ROUNDING)
    edges = np.searchsorted(mass_at_or_below * count, needed, side="left")
    return np.unique(edges).astype(np.intp)


def carriers(column: Column, codes: IntArray) -> IntArray:
    """The first row that carries each of some levels, by their codes."""
    first_rows = [int(np.flatnonzero(column.codes == code)[0]) for code in codes]
    return np.array(first_rows, dtype=np.intp)


def ranks_among(column: Column, fitted: Column, side: Literal["left", "right"]) -> IntArray:
    """Position of each value among the levels of the fit, (n,).

    Parameters
    ----------
    column, fitted : Column
        The same column on some rows, and on the fitting rows.
    side : "left" or "right"
        Whether a value between two levels counts as the upper one or as the lower one.

    Returns
    -------
    array of int
        -1 for missing values, and on the right for a value below all levels.
    """
    if column is fitted:
        return column.codes
    fitted_levels, levels = sortable(column, fitted)
    ranks = np.searchsorted(fitted_levels, levels, side=side)
    if side == "right":
        ranks = ranks - 1
    rank_of_code = np.append(ranks, -1)  # missing values have code -1: the last entry
    return rank_of_code[column.codes].astype(np.intp)


def sortable(column: Column, fitted: Column) -> tuple[Any, Any]:
    """Levels of the fit and of the new column on one sorted scale; for ordinal columns their declared places."""
    if fitted.order is None:
        return fitted.levels, column.levels
    place = {label: i for i, label in enumerate(fitted.order)}
    fitted_places = [place[level] for level in fitted.levels]
    places = [place.get(level, len(place)) for level in column.levels]
    return fitted_places, places


def level_codes(column: Column, fitted: Column) -> IntArray:
    """Code of each row's level in the fit, (n,).

    Missing values get the number after those of the fit, and every unseen level a number of its own after that.
    """
    code_of_level = {level: code for code, level in enumerate(fitted.levels.tolist())}
    missing_code = len(code_of_level)
    codes = [
        code_of_level.get(level, missing_code + 1 + number)
        for number, level in enumerate(column.levels.tolist())
    ]
    codes.append(missing_code)  # missing values have code -1: the last entry
    return np.array(codes, dtype=np.intp)[column.codes]


def _n_predictors(column: Column) -> int:
    """Numbers that the tree reads of a column: its rank, or one indicator for each level."""
    if column.is_ordered:
        return 1
    return len(column.levels) + int(_has_missing(column))


def _predictors(table: Table, fitted: Sequence[Column]) -> FloatArray:
    """What the tree reads of some columns, (n, predictors)."""
    return np.hstack([_as_numbers(table.columns[column.position], column) for column in fitted])


def _as_numbers(column: Column, fitted: Column) -> FloatArray:
    """A column as the tree reads it (C9), (n, predictors).

    An ordered column is ranks among the fitting values: -1 for missing values, 0 below all of them. A nominal one is
    indicators, all 0 for an unseen level.
    """
    if not fitted.is_ordered:
        numbers = np.arange(_n_predictors(fitted))
        return np.equal.outer(level_codes(column, fitted), numbers).astype(np.float64)
    ranks = np.maximum(ranks_among(column, fitted, side="right"), 0)
    return np.where(column.codes < 0, -1, ranks)[:, None].astype(np.float64)


def _target(column: Column, weights: FloatArray | None) -> FloatArray | None:
    """What the tree predicts of a column (C9): mid-ranks or indicators, scaled to total variance 1.

    Missing values are the lowest rank. None for a constant.
    """
    codes = column.codes + 1  # missing values: 0
    counts = np.bincount(codes, weights=weights)
    if np.count_nonzero(counts) < 2:
        return None
    if column.is_ordered:
        mid_ranks = np.cumsum(counts) - (counts - 1) / 2
        block = mid_ranks[codes][:, None]
    else:
        block = _as_numbers(column, column)
    if weights is None:
        variances = block.var(axis=0)
    else:
        mean = np.average(block, axis=0, weights=weights)
        variances = np.average((block - mean) ** 2, axis=0, weights=weights)
    return np.asarray(block / np.sqrt(variances.sum()))
