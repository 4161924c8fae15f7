"""Learning the bins of conditional masking from the fitting rows (C8, C9)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray
from granite_xai.explanation.masking.bins import (
    BinFunction,
    BinTree,
    CustomBins,
    ExactBins,
    IntervalBins,
    LevelBins,
    OneBin,
    TreeBins,
    as_predictors,
    has_missing,
    predictors,
)
from granite_xai.explanation.masking.intervals import ROUNDING, interval_edges, rows_stood_for
from granite_xai.tables import Column, Table

MAX_LEAVES = 10  # of the tree behind the bins of several columns
MIN_LEAF_ROWS = 20  # rows that each leaf must hold
# Probability that a tree finds a split where the hidden columns do not depend on the visible ones.
FALSE_SPLITS = 0.05
SPLITS_OF_PAIR = 10  # independent tests that the splits of one column by another one count as


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
    columns = [table.columns[position] for position in positions]
    varying = [column for column in columns if _varies(column)]
    if not varying:
        return OneBin()
    if len(varying) > 1:
        return _fit_tree_bins(table, varying, seed, weights, guarded)
    (column,) = varying
    if not column.is_ordered:
        return LevelBins(column)
    return IntervalBins(column, interval_edges(column, weights))


def _varies(column: Column) -> bool:
    """Whether a column has two values, of which one may be a missing value."""
    return len(column.levels) + int(has_missing(column)) > 1


def _fit_custom_bins(bins: Any, table: Table, visible: Sequence[int]) -> CustomBins:
    hidden = [position for position in table.explained if position not in visible]
    fitted = deepcopy(bins)  # one object of the user serves every coalition
    fitted.fit(table.select(visible), table.select(hidden))
    return CustomBins(tuple(visible), fitted)


def _fit_tree_bins(
    table: Table,
    visible: Sequence[Column],
    seed: int,
    weights: FloatArray | None,
    guarded: bool,
) -> BinFunction:
    """The leaves of a tree that predicts the hidden columns (C9); one bin where there is nothing to predict.

    With weights a leaf must weigh as much as `MIN_LEAF_ROWS` rows would.
    """
    from sklearn.tree import DecisionTreeRegressor

    targets = _targets_of_tree(table, visible, weights)
    if targets is None:
        return OneBin()
    if weights is None:
        smallest_leaf: dict[str, float] = {"min_samples_leaf": MIN_LEAF_ROWS}
    else:
        share = MIN_LEAF_ROWS * (1 - ROUNDING) / float(weights.sum())
        if share > 0.5:  # no room for two leaves
            return OneBin()
        smallest_leaf = {"min_weight_fraction_leaf": share}
    least_gain = 0.0
    if guarded:
        least_gain = _gain_by_chance(targets, table.n_columns) / table.n_rows
    tree = DecisionTreeRegressor(
        max_leaf_nodes=MAX_LEAVES,
        min_impurity_decrease=least_gain,
        random_state=seed,
        **smallest_leaf,
    )
    tree.fit(predictors(table, visible), targets, weights)
    return TreeBins(tuple(visible), BinTree.of(tree))


def _targets_of_tree(
    table: Table, visible: Sequence[Column], weights: FloatArray | None
) -> FloatArray | None:
    """What a tree predicts of all hidden columns, (n, targets); None where these are constant."""
    visible_positions = {column.position for column in visible}
    blocks = []
    for column in table.columns:
        if column.position in visible_positions or column.passes:
            continue
        block = _targets_of_column(column, weights)
        if block is not None:
            blocks.append(block)
    if not blocks:
        return None
    return np.hstack(blocks)


def _targets_of_column(column: Column, weights: FloatArray | None) -> FloatArray | None:
    """What a tree predicts of a column (C9): mid-ranks or indicators, scaled to total variance 1, (n, targets).

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
        block = as_predictors(column, column)
    if weights is None:
        variances = block.var(axis=0)
    else:
        mean = np.average(block, axis=0, weights=weights)
        variances = np.average((block - mean) ** 2, axis=0, weights=weights)
    return np.asarray(block / np.sqrt(variances.sum()))


def _gain_by_chance(targets: FloatArray, n_columns: int) -> float:
    """The gain of the best split that chance exceeds with the probability `FALSE_SPLITS` alone.

    A gain is the impurity that a split takes away, times the rows. Where hidden columns do not depend on the visible
    ones, a fixed split takes away a sum of ``chi²`` variables: one for each direction of the targets, times the
    variance ``v`` along it. One scaled ``chi²`` with the same mean and variance stands for the sum (Satterthwaite): its
    scale is ``sum v² / sum v`` and its degrees of freedom are ``sum v / scale``. scikit-learn divides by the number of
    targets. The best of all splits counts as `SPLITS_OF_PAIR` tests for each ordered pair of columns.

    Parameters
    ----------
    targets : array of shape (n, targets)
        What the tree predicts.
    n_columns : int
        Columns of the table.
    """
    from scipy.stats import chi2

    n_rows, n_targets = targets.shape
    singular_values = np.linalg.svd(targets - targets.mean(axis=0), compute_uv=False)
    variances = singular_values**2 / n_rows  # along each direction
    total_variance = float(np.sum(variances))
    scale = float(np.sum(variances**2) / np.sum(variances))
    degrees_of_freedom = total_variance / scale
    n_tests = SPLITS_OF_PAIR * n_columns * (n_columns - 1)
    gain = scale * chi2.isf(FALSE_SPLITS / n_tests, degrees_of_freedom) / n_targets
    return float(gain)
