"""Bins of conditional masking: functions of the visible columns alone, the same everywhere.

One visible column has intervals or levels as its bins (C8), several have the leaves of a tree that predicts the hidden
columns (C9). Bins are learned once, on the fitting rows (`bin_fitting`), and are values that can be saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.explanation.masking.levels import level_codes, ranks_among
from granite_xai.tables import Column, Table

BinFunction = Callable[[Table], IntArray]  # bin number of each row of a table


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
        return self.tree.apply(predictors(table, self.fitted))


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


def _n_predictors(column: Column) -> int:
    """How many numbers the tree reads of a column: its rank, or one indicator for each level."""
    if column.is_ordered:
        return 1
    return len(column.levels) + int(has_missing(column))


def predictors(table: Table, fitted: Sequence[Column]) -> FloatArray:
    """What the tree reads of some columns, (n, predictors).

    Parameters
    ----------
    table : Table
        Of n rows.
    fitted : sequence of Column
        The columns on the fitting rows.
    """
    blocks = [as_predictors(table.columns[column.position], column) for column in fitted]
    return np.hstack(blocks)


def as_predictors(column: Column, fitted: Column) -> FloatArray:
    """A column as the tree reads it (C9), (n, predictors).

    An ordered column is ranks among the fitting values: -1 for missing values, 0 below all of them. A nominal one is
    indicators, all 0 for an unseen level.
    """
    if not fitted.is_ordered:
        codes = level_codes(column, fitted)
        code_of_indicator = np.arange(_n_predictors(fitted))
        return np.asarray(codes[:, None] == code_of_indicator, dtype=np.float64)
    ranks = np.maximum(ranks_among(column, fitted, side="right"), 0)
    return np.where(column.codes < 0, -1, ranks)[:, None].astype(np.float64)


def has_missing(column: Column) -> bool:
    """Whether a column has missing values."""
    return bool((column.codes < 0).any())
