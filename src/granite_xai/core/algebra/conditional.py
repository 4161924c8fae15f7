"""Bins of conditional masking: rows that look alike in the visible columns (C8, C9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2, rankdata
from sklearn.tree import DecisionTreeRegressor

from granite_xai.core.evaluations.evaluations import Coalition
from granite_xai.core.evaluations.values import places_among
from granite_xai.tables import Table
from granite_xai.tables.rows import Rows

INTERVALS = 10
MAX_LEAVES = 10
MIN_LEAF_ROWS = 20
ROUNDING = 1e-12  # relative difference of sums of weights that is rounding
FALSE_SPLITS = 0.05  # probability that a guarded tree splits independent columns
SPLITS_OF_PAIR = 10  # independent tests that the splits of one column by another count as


class Bins(NamedTuple):
    """The bin of each row."""

    numbers: np.ndarray

    def take(self, places: np.ndarray) -> Bins:
        """Those of some of the rows."""
        return Bins(self.numbers[places])


class LearnedBins(NamedTuple):
    """A function from x (n, d) to the bin of each row, learned from a table."""

    table: Table
    bin_of: Callable

    def asks(self, table: Table) -> None:
        """Nothing."""

    def fact(self, table: Table, predictions: np.ndarray | None) -> Bins:
        """The bins of some rows."""
        return Bins(self.bin_of(numbers_of(table, self.table)))


def numbers_of(table: Table, fitted: Table) -> np.ndarray:
    """Cells as numbers, (n, d): values, or of nominal columns the places among the fitted levels."""
    columns = []
    for column, of_fit in zip(table.columns, fitted.columns, strict=True):
        if of_fit.kind == "numeric":
            columns.append(column.values)
        else:
            columns.append(places_among(column, of_fit)[column.codes].astype(float))
    return np.column_stack(columns)


class _Numbers(NamedTuple):
    x: np.ndarray
    labels: frozenset[int]
    weights: np.ndarray


def fit_bins(table_rows: Rows, visible: Coalition, seed: int, guarded: bool) -> LearnedBins | None:
    """Learn a function from x (n, d) to the bin of each row; None: all rows share one.

    Parameters
    ----------
    table_rows : Rows
        The fitting rows.
    visible : coalition
    seed : int
    guarded : bool
        Whether a tree splits only on what the rows show beyond chance.
    """
    table = table_rows.table
    rows = _Numbers(
        numbers_of(table, table),
        frozenset(column.position for column in table.columns if not column.is_ordered),
        table_rows.weights,
    )
    varying = [j for j in sorted(visible) if np.ptp(rows.x[:, j]) > 0]
    hidden = [j for j in range(rows.x.shape[1]) if j not in visible and np.ptp(rows.x[:, j]) > 0]
    if not varying or len(visible) == rows.x.shape[1]:
        return None
    if len(varying) == 1:
        return LearnedBins(table, _intervals(rows, varying[0]))
    if not hidden:
        return None
    return LearnedBins(table, _leaves(rows, varying, hidden, seed, guarded))


def _intervals(rows: _Numbers, column: int) -> Callable:
    """Tenths of the weight of a column, or its values where these are few."""
    edges, codes = np.unique(rows.x[:, column], return_inverse=True)
    if len(edges) > INTERVALS and column not in rows.labels:
        below = np.cumsum(np.bincount(codes, weights=rows.weights)) * INTERVALS
        ranks = np.arange(1, INTERVALS + 1) * rows.weights.sum() * (1 - ROUNDING)
        edges = np.unique(edges[np.searchsorted(below, ranks)])
    return lambda x: np.minimum(np.searchsorted(edges, x[:, column]), len(edges) - 1)


def _leaves(
    rows: _Numbers, visible: list[int], hidden: list[int], seed: int, guarded: bool
) -> Callable:
    """Leaves of one tree that predicts the hidden columns from the visible ones.

    Ordered columns are read as ranks, nominal ones as indicators; each target has variance 1.
    """
    x = rows.x
    levels = {column: np.unique(x[:, column]) for column in visible}

    def predictors(x: np.ndarray) -> np.ndarray:
        blocks = []
        for column in visible:
            places = np.searchsorted(levels[column], x[:, column], side="right") - 1
            if column in rows.labels:
                blocks.append(np.eye(len(levels[column]))[places])
            else:
                blocks.append(places[:, None])
        return np.hstack(blocks)

    targets = []
    for column in hidden:
        block = rankdata(x[:, column])[:, None]
        if column in rows.labels:
            block = (x[:, [column]] == np.unique(x[:, column])).astype(float)
        targets.append(block / np.sqrt(block.var(axis=0).sum()))
    targets = np.hstack(targets)
    tree = DecisionTreeRegressor(
        max_leaf_nodes=MAX_LEAVES,
        min_samples_leaf=MIN_LEAF_ROWS,
        min_impurity_decrease=_gain_by_chance(targets, x.shape[1]) / len(x) if guarded else 0.0,
        random_state=seed,
    ).fit(predictors(x), targets)
    leaves = np.unique(tree.apply(predictors(x)))
    return lambda x: np.searchsorted(leaves, tree.apply(predictors(x)))


def _gain_by_chance(targets: np.ndarray, n_columns: int) -> float:
    """What the best split of independent columns gains in one of twenty samples (Satterthwaite)."""
    n_rows, n_targets = targets.shape
    variances = np.linalg.svd(targets - targets.mean(axis=0), compute_uv=False) ** 2 / n_rows
    scale = np.sum(variances**2) / np.sum(variances)
    n_tests = SPLITS_OF_PAIR * n_columns * (n_columns - 1)
    return scale * chi2.isf(FALSE_SPLITS / n_tests, np.sum(variances) / scale) / n_targets
