"""Bins of conditional masking: functions of the visible columns alone, the same in regions and on new rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.tables import Column, Table

_SAME = 1e-12  # relative difference of sums that counts as rounding: ten rows of weight 0.1 weigh as much as one of 1
BinFunction = Callable[
    ["Table"], IntArray
]  # bin number of each row of a table; a value that can be pickled
COUNT, LEAF = (
    10,
    20,
)  # bins of one column, and leaves of the tree for several; rows that each leaf must hold


def fit_bins(
    bins: Any,
    table: Table,
    visible: Coalition,
    seed: int = 0,
    weights: FloatArray | None = None,
    guarded: bool = False,
) -> BinFunction:
    """Learn ``bin_T``, from a table to one bin number a row, for the visible columns T; ``bins``: see `Conditional`."""
    # ``weights`` tell how many rows each row stands for: quantiles, ranks and leaves of the tree are those of the
    # repeated rows (the user's own bins know none). Columns that are constant on the fitting rows tell nothing: the
    # bins are those of the other ones. ``guarded``: the tree does not split on what may be noise.
    weights, columns = rows_stood_for(weights), tuple(sorted(visible - table.passing))
    if not columns or len(visible) == table.n_columns:
        return OneBin()
    if isinstance(bins, str) and bins == "exact":
        return ExactBins(columns)
    if bins != "tree":
        rest = [i for i in table.explained if i not in columns]
        fitted = deepcopy(bins)  # one object of the user serves every coalition
        fitted.fit(table.select(columns), table.select(rest))
        return CustomBins(columns, fitted)
    varying = (
        column for column in table.columns if len(column.levels) + int((column.codes < 0).any()) > 1
    )
    columns = tuple(column.position for column in varying if column.position in columns)
    if not columns:
        return OneBin()
    if len(columns) > 1:
        return _tree(table, columns, seed, weights, guarded)
    column = table.columns[columns[0]]
    if column.kind in ("nominal", "boolean"):
        return LevelBins(column)
    return IntervalBins(column, interval_edges(column, weights))


def rows_stood_for(weights: FloatArray | None) -> FloatArray | None:
    """How many rows each row stands for, at least 1 on average; None where each stands for itself."""
    if weights is None:
        return None
    scaled: FloatArray = weights / min(float(weights.mean()), 1.0)
    return None if np.allclose(scaled, 1.0, rtol=0.0, atol=_SAME) else scaled


@dataclass(frozen=True, slots=True)
class OneBin:
    """All rows together: nothing, or everything, is visible."""

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row."""
        return np.zeros(table.n_rows, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class ExactBins:
    """One bin for each distinct row of the visible columns."""

    columns: tuple[int, ...]

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row."""
        return table.distinct(self.columns)[0]


@dataclass(frozen=True, slots=True, eq=False)
class LevelBins:
    """One bin for each level; missing values and every unseen level apart."""

    fitted: Column

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row."""
        return level_codes(table.columns[self.fitted.position], self.fitted)


@dataclass(frozen=True, slots=True, eq=False)
class IntervalBins:
    """Tenths of an ordered column, one bin a value when it has few (C8); missing values apart."""

    fitted: Column
    edges: IntArray

    def __post_init__(self) -> None:
        if self.fitted.kind in ("nominal", "boolean"):
            raise ValueError(f"a {self.fitted.kind} column has no intervals")
        inside = (self.edges >= 0) & (self.edges < max(1, len(self.fitted.levels)))
        if np.any(np.diff(self.edges) <= 0) or not np.all(inside):
            raise ValueError("the edges do not ascend among the levels")

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row."""
        column = table.columns[self.fitted.position]
        ranks = ranks_among(column, self.fitted, side="left")
        bins = np.minimum(np.searchsorted(self.edges, ranks, side="left"), len(self.edges) - 1)
        return np.where(column.codes < 0, len(self.edges), bins).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class BinTree:
    """A regression tree: what each node reads (left if at or below the threshold), and its children (a leaf: -1)."""

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray

    def __post_init__(self) -> None:
        count, whole = len(self.threshold), (self.feature, self.left, self.right)
        if (
            not count
            or any(part.shape != (count,) for part in (self.threshold, *whole))
            or np.any(self.feature < 0)
        ):
            raise ValueError("nodes lack a feature, a threshold or children")
        inner = np.flatnonzero((self.left >= 0) | (self.right >= 0))
        children = np.concatenate([self.left[inner], self.right[inner]])
        # Each later than its parent and nobody's child twice: no way through the tree can be endless.
        later = np.all(children > np.tile(inner, 2)) and np.all(children < count)
        if not later or len(np.unique(children)) != count - 1 or len(children) != count - 1:
            raise ValueError("children are no later nodes, have two parents, or nodes have none")
        if not np.all(np.isfinite(self.threshold)):
            raise ValueError("a threshold is not a number")

    @classmethod
    def of(cls, tree: Any) -> BinTree:
        """The nodes of a fitted tree of scikit-learn."""
        nodes = tree.tree_
        whole = (np.maximum(nodes.feature, 0), nodes.children_left, nodes.children_right)
        feature, left, right = (part.astype(np.intp) for part in whole)
        return cls(feature, np.where(left >= 0, nodes.threshold, 0.0), left, right)

    def apply(self, X: FloatArray) -> IntArray:
        """Leaf that each row reaches."""
        cells = X.astype(np.float32)  # as scikit-learn's trees read them
        nodes = np.zeros(len(X), dtype=np.intp)
        while np.any(inner := self.left[nodes] >= 0):
            rows = np.flatnonzero(inner)
            at = nodes[rows]
            below = cells[rows, self.feature[at]] <= self.threshold[at]
            nodes[rows] = np.where(below, self.left[at], self.right[at])
        return nodes


@dataclass(frozen=True, slots=True, eq=False)
class TreeBins:
    """Leaves of one tree that predicts the hidden columns from the visible ones (C9)."""

    fitted: tuple[Column, ...]
    tree: BinTree

    def __post_init__(self) -> None:
        positions, width = (
            [column.position for column in self.fitted],
            sum(map(_width, self.fitted)),
        )
        if (
            not positions
            or sorted(set(positions)) != positions
            or np.any(self.tree.feature >= width)
        ):
            raise ValueError("the columns do not ascend, or the tree reads more of them")

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row."""
        return self.tree.apply(_predictors(table, self.fitted))


@dataclass(frozen=True, slots=True, eq=False)
class CustomBins:
    """A user's own bins."""

    columns: tuple[int, ...]
    bins: Any

    def __call__(self, table: Table) -> IntArray:
        """Bin number of each row."""
        answer = np.asarray(self.bins.apply(table.select(self.columns)))
        if answer.shape != (table.n_rows,):
            message = f"bins.apply returned shape {answer.shape} for {table.n_rows} rows."
            raise InputError(
                message, code="P03", argument="bins", hint="Return one bin number for each row."
            )
        return np.unique(answer, return_inverse=True)[1].reshape(-1).astype(np.intp)


def common_bins(function: BinFunction, table: Table, fitted: Table) -> tuple[IntArray, IntArray]:
    """Bin numbers of the rows of two tables that may be compared: some bins number what one table has."""
    if not isinstance(function, CustomBins | ExactBins):
        return function(table), function(fitted)

    def keys(of: Table) -> Any:
        if isinstance(function, CustomBins):
            return np.asarray(function.bins.apply(of.select(function.columns)))[:, None]
        return np.stack(
            [level_codes(of.columns[j], fitted.columns[j]) for j in function.columns], axis=1
        )

    codes = np.unique(np.concatenate([keys(table), keys(fitted)]), axis=0, return_inverse=True)[
        1
    ].reshape(-1)
    return codes[: table.n_rows], codes[table.n_rows :]


def _tree(
    table: Table, columns: tuple[int, ...], seed: int, weights: FloatArray | None, guarded: bool
) -> BinFunction:
    """The tree; with weights a leaf must weigh as much as so many rows would."""
    from sklearn.tree import DecisionTreeRegressor

    hidden = (
        column for column in table.columns if column.position not in columns and not column.passes
    )
    targets = [block for column in hidden if (block := _target(column, weights)) is not None]
    least = LEAF if weights is None else LEAF * (1 - _SAME) / float(weights.sum())
    if not targets or (weights is not None and least > 0.5):
        return OneBin()
    fitted = tuple(table.columns[i] for i in columns)
    minimum = {"min_samples_leaf" if weights is None else "min_weight_fraction_leaf": least}
    outputs = np.hstack(targets)
    guard = _by_chance(outputs, table.n_columns) / table.n_rows if guarded else 0.0
    options = {"max_leaf_nodes": COUNT, "min_impurity_decrease": guard, "random_state": seed}
    tree = DecisionTreeRegressor(**options, **minimum)
    return TreeBins(fitted, BinTree.of(tree.fit(_predictors(table, fitted), outputs, weights)))


def _by_chance(outputs: FloatArray, n_columns: int) -> float:
    """How much impurity, times the rows, the best split of a tree hardly takes away by chance."""
    # A fixed split takes a sum of ``chi²`` variables, as many as there are directions in the hidden columns, each with
    # the variance along it; it is matched by one ``chi²`` with the same mean and variance, and scikit-learn divides by
    # the number of outputs. The best of all splits of the tree: ten times as many tests as there are pairs of columns.
    from scipy.stats import chi2

    along = np.linalg.svd(outputs - outputs.mean(axis=0), compute_uv=False) ** 2 / len(outputs)
    scale, level = (
        float(np.sum(along**2) / np.sum(along)),
        0.05 / (10 * n_columns * (n_columns - 1)),
    )
    return float(scale * chi2.isf(level, float(np.sum(along)) / scale)) / int(outputs.shape[1])


def interval_edges(
    column: Column, weights: FloatArray | None = None, count: int = COUNT
) -> IntArray:
    """Upper ends of the bins of an ordered column, as positions among its levels."""
    # The k-th edge is the smallest value with at least k tenths of the (present) rows, by their weight, at or below it;
    # with at most ten distinct values every value is an edge. ``count`` bins instead of ten.
    n_levels, present = len(column.levels), column.codes >= 0
    if n_levels <= count:
        return np.arange(n_levels, dtype=np.intp)
    heavy = None if weights is None else weights[present]
    below = np.cumsum(np.bincount(column.codes[present], weights=heavy, minlength=n_levels))
    shares = np.arange(1, count + 1) * below[-1] * (1 if weights is None else 1 - _SAME)
    return np.unique(np.searchsorted(below * count, shares, side="left")).astype(np.intp)


def carriers(column: Column, codes: IntArray) -> IntArray:
    """The first row that carries each level."""
    return np.array([int(np.flatnonzero(column.codes == code)[0]) for code in codes], dtype=np.intp)


def ranks_among(column: Column, fitted: Column, side: str) -> IntArray:
    """Position, in the fit, of the smallest level at or above each value, or the largest at or below it."""
    # -1 where there is none, and for missing values.
    if column is fitted:
        return column.codes
    levels, keys = sortable(column, fitted)
    found = np.searchsorted(levels, keys, side=side) - (side == "right")  # type: ignore[call-overload]
    return np.append(found, -1)[column.codes].astype(np.intp)


def sortable(column: Column, fitted: Column) -> tuple[Any, Any]:
    """Levels of the fit and of the new column on one sorted scale; for ordinal columns their declared places."""
    if fitted.order is None:
        return fitted.levels, column.levels
    place = {label: i for i, label in enumerate(fitted.order)}
    return [place[level] for level in fitted.levels], [
        place.get(level, len(place)) for level in column.levels
    ]


def level_codes(column: Column, fitted: Column) -> IntArray:
    """Code of each level in the fit; missing values and every unseen level get a number of their own after those."""
    known = {level: i for i, level in enumerate(fitted.levels.tolist())}
    missing = len(known)
    codes = [known.get(level, missing + 1 + i) for i, level in enumerate(column.levels.tolist())]
    return np.array([*codes, missing], dtype=np.intp)[column.codes]


def _width(column: Column) -> int:
    """Numbers that the tree reads of a column: its rank, or one indicator a level."""
    return (
        len(column.levels) + int((column.codes < 0).any())
        if column.kind in ("nominal", "boolean")
        else 1
    )


def _predictors(table: Table, fitted: tuple[Column, ...]) -> FloatArray:
    return np.hstack([_numbers(table.columns[column.position], column) for column in fitted])


def _numbers(column: Column, fitted: Column) -> FloatArray:
    """An ordered column as ranks among the fitting values, a nominal one as indicators, all 0 for an unseen level."""
    if fitted.kind in ("nominal", "boolean"):
        return np.equal.outer(level_codes(column, fitted), np.arange(_width(fitted))).astype(
            np.float64
        )
    ranks = ranks_among(column, fitted, side="right")
    # Below all fitting values: the lowest rank, since -1 is for missing values.
    return np.where(column.codes < 0, -1, np.maximum(ranks, 0))[:, None].astype(np.float64)


def _target(column: Column, weights: FloatArray | None = None) -> FloatArray | None:
    """Mid-ranks (or indicators) scaled to total variance 1; None for a constant."""
    codes = column.codes + 1  # missing values lowest
    counts = np.bincount(codes, weights=weights)
    if np.count_nonzero(counts) < 2:
        return None
    middle = np.cumsum(counts) - (counts - 1) / 2
    block = (
        _numbers(column, column)
        if column.kind in ("nominal", "boolean")
        else middle[codes][:, None]
    )
    center = np.average(block, axis=0, weights=weights)
    spread = (
        block.var(axis=0)
        if weights is None
        else np.average((block - center) ** 2, axis=0, weights=weights)
    )
    return np.asarray(block / np.sqrt(spread.sum()))
