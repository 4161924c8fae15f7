"""A fixed order of rows, by what they hold and not by where they stand.

Every draw of a fit (which rows search, which are held out, the pilot, halves, folds, replicates) is
by place in this order. A table whose rows are permuted, or whose columns are, gives the same draws,
and so the same regions and figures.

Rows are sorted by a 64-bit *key* mixed from their cells: unlike an order by value it costs the same
for any table, says nothing about the values, and rows share a key only if they are equal.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.tables.columns import Column
from granite_xai.tables.table import Table

Keys = NDArray[np.uint64]
GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / φ, which SplitMix64 adds at each step
MISSING_KEY = GOLDEN_RATIO  # of a missing cell; any fixed number would do


def fixed_row_order(
    table: Table, y: FloatArray | None, weights: FloatArray, clusters: IntArray
) -> IntArray:
    """Positions of the rows of a table in the fixed order.

    The target tells only rows apart that are equal otherwise, and by its order alone: in other units
    (``a y + b``, also with a < 0) it is the same target.

    Parameters
    ----------
    table : Table
    y : array of shape (n_rows,) or (n_rows, n_outputs), optional
        The target.
    weights, clusters : arrays of shape (n_rows,)
        Rows with equal cells and another weight or cluster are different rows; clusters differ by the
        rows that they hold, not by their numbers.

    Returns
    -------
    array of shape (n_rows,)
    """
    keys = _with_weights(_keys_of_rows(table), weights)
    keys = _with_clusters(keys, clusters)
    if y is None:
        return np.argsort(keys, kind="stable")
    keys_with_target = keys
    for target in np.atleast_2d(np.asarray(y).T):
        keys_with_target = _mixed(keys_with_target ^ _keys_of_target(target, keys))
    return np.lexsort((_with_clusters(keys_with_target, clusters), keys))


def row_order_by_ranks(table: Table, weights: FloatArray) -> IntArray:
    """Positions of the rows in an order that reads cells by their ranks alone.

    Strictly increasing transforms of columns leave it as it is.
    """
    keys = np.zeros(table.n_rows, dtype=np.uint64)
    for column in sorted(table.columns, key=lambda column: column.name):
        keys = _mixed(keys ^ _mixed(_ranks(column.codes)))
    return np.argsort(_with_weights(keys, weights), kind="stable")


def same_rows_in_any_order(table: Table, other: Table) -> bool:
    """Whether two tables hold the same cells in the same columns, wherever their rows stand."""
    if (table.n_rows, table.names) != (other.n_rows, other.names):
        return False
    column_pairs = list(zip(table.columns, other.columns, strict=True))
    for column, other_column in column_pairs:
        if len(column.codes) != len(other_column.codes):  # loaded without rows
            return False
        if column.levels.tolist() != other_column.levels.tolist():
            return False
    order = np.argsort(_keys_of_rows(table), kind="stable")
    other_order = np.argsort(_keys_of_rows(other), kind="stable")
    for column, other_column in column_pairs:
        if not np.array_equal(column.codes[order], other_column.codes[other_order]):
            return False
    return True


def _keys_of_rows(table: Table) -> Keys:
    """A key for each row, mixed from its cells."""
    keys = np.zeros(table.n_rows, dtype=np.uint64)
    for column in sorted(table.columns, key=lambda column: column.name):
        keys = _mixed(keys ^ cell_keys(column))
    return keys


def cell_keys(column: Column) -> Keys:
    """A key for each cell of a column; equal cells have equal keys, in any container."""
    if column.kind == "numeric":
        keys = _keys_of_floats(column.values + 0.0)  # -0.0 becomes 0.0, which it equals
    elif column.kind == "date":
        keys = _keys_of_floats(_seconds(column.values))
    else:
        level_keys = np.array([_key_of_label(level) for level in column.levels], dtype=np.uint64)
        keys = np.append(level_keys, MISSING_KEY)[column.codes]  # the code -1 is the last place
    return np.where(column.missing, MISSING_KEY, keys)


def _seconds(moments: NDArray[Any]) -> FloatArray:
    """Dates since 1970, or durations, in seconds, whatever unit they are stored in."""
    if moments.dtype.kind == "M":
        moments = moments - np.array(0, dtype="M8[s]")
    return np.asarray(moments / np.timedelta64(1, "s"), dtype=np.float64)


def _key_of_label(label: object) -> np.uint64:
    """The key of a text, boolean or number that is a label."""
    if isinstance(label, bool):
        text = f"bool {label}"
    elif isinstance(label, int | float):
        text = f"number {float(label)!r}"
    else:
        text = f"text {label}"
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def _keys_of_floats(values: FloatArray) -> Keys:
    """Keys of numbers, from their bits."""
    return _mixed(np.ascontiguousarray(values, dtype=np.float64).view(np.uint64))


def _keys_of_target(y: FloatArray, keys: Keys) -> Keys:
    """A key for each value of a target, from its rank.

    Ranks count from below or from above, whichever gives the smaller sum over the rows: -y then has
    the keys of y, and the order of the rows does not matter.

    Parameters
    ----------
    y : array of shape (n_rows,)
    keys : array of shape (n_rows,)
        Of the rows without their target.
    """
    ranks = _ranks(y)
    from_below = _mixed(ranks)
    from_above = _mixed(ranks.max() - ranks)
    if np.sum(_mixed(keys ^ from_above)) < np.sum(_mixed(keys ^ from_below)):
        return from_above
    return from_below


def _ranks(values: NDArray[Any]) -> Keys:
    """The number of each value among the distinct ones, in ascending order."""
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.uint64)


def _with_weights(keys: Keys, weights: FloatArray) -> Keys:
    """Keys of rows that also tell their weights; twice the weights are the same weights."""
    return _mixed(keys ^ _keys_of_floats(weights / weights.max()))


def _with_clusters(keys: Keys, clusters: IntArray) -> Keys:
    """Keys of rows that also say with which rows each of them is in a cluster."""
    numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    n_clusters = int(numbers.max()) + 1
    if n_clusters == len(clusters):  # every row is alone
        return keys
    sums = np.zeros(n_clusters, dtype=np.uint64)
    np.add.at(sums, numbers, _mixed(keys))  # the same in any order of the rows
    return _mixed(keys ^ sums[numbers])


def _mixed(keys: Keys) -> Keys:
    """Spread the bits of keys (the finaliser of the generator SplitMix64)."""
    mixed = keys + GOLDEN_RATIO
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
