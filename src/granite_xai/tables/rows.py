"""Rows of a table with what belongs to each, in a fixed order: by what they hold, not by where they stand.

Every draw of a fit (which rows search, which are held out, the pilot, halves, folds, random signs) is
by place in this order. A table whose rows are permuted, or whose columns are, gives the same draws,
and so the same regions and figures.

Rows are sorted by a 64-bit *key* mixed from their cells: unlike an order by value it costs the same
for any table, says nothing about the values, and rows share a key only if they are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.tables.table import Column, Table

SMALL_TABLE = 600  # rows below which none are held out by default
MOST_HELD_OUT = 4000  # held-out rows by default, at most
LEAST_HELD_OUT = 30  # rows that can judge regions: fewer are never held out by default

Keys = NDArray[np.uint64]
GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / φ, which SplitMix64 adds at each step
MISSING_KEY = GOLDEN_RATIO  # of a missing cell; any fixed number would do


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table with their targets, weights and clusters, each known by its place: 0, 1, 2, and so on.

    Parameters
    ----------
    y : array of shape (n_rows,) or (n_rows, n_outputs), optional
        The target of each row.
    weights : array of shape (n_rows,)
        All positive.
    clusters : array of shape (n_rows,)
        Number of the cluster of each row: 0, 1, 2, … Rows of a cluster are drawn together.
    positions : array of shape (n_rows,)
        Where each row stands in the user's table, for messages and `diagnostics_`.
    source : Table
        The table that holds these rows, and perhaps others.
    position_in_source : array of shape (n_rows,)
    """

    y: FloatArray | None
    weights: FloatArray
    clusters: IntArray
    positions: IntArray
    source: Table
    position_in_source: IntArray

    @classmethod
    def of(
        cls,
        table: Table,
        y: FloatArray | None = None,
        weights: FloatArray | None = None,
        clusters: IntArray | None = None,
        in_fixed_order: bool = True,
    ) -> Rows:
        """The rows of a table that have a positive weight.

        Parameters
        ----------
        table : Table
        y : array of shape (n_rows,) or (n_rows, n_outputs), optional
        weights, clusters : arrays of shape (n_rows,), optional
            None: all weights are 1, every row is a cluster of its own.
        in_fixed_order : bool
            False: as they stand.
        """
        weights = np.ones(table.n_rows) if weights is None else weights
        clusters = np.arange(table.n_rows) if clusters is None else clusters
        order = np.arange(table.n_rows)
        if in_fixed_order:
            order = fixed_row_order(table, y, weights, clusters)
            clusters = pd.factorize(clusters[order])[0]  # numbered by their first rows
        is_weighted = weights[order] > 0
        order = order[is_weighted]
        return cls(
            y=None if y is None else y[order],
            weights=weights[order],
            clusters=np.unique(clusters[is_weighted], return_inverse=True)[1].reshape(-1),
            positions=order,
            source=table,
            position_in_source=order,
        )

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def table(self) -> Table:
        """These rows alone, in their order; made when it is first read, as the table may be large."""
        if len(self) == self.source.n_rows and np.all(np.diff(self.position_in_source) == 1):
            return self.source
        return self.source.take(self.position_in_source)

    def take(self, places: IntArray) -> Rows:
        """Some of the rows; a copy, so that what is written into X later changes nothing."""
        return Rows(
            y=None if self.y is None else self.y[places],
            weights=self.weights[places],
            clusters=pd.factorize(self.clusters[places])[0],  # numbered by their first rows
            positions=self.positions[places],
            source=self.source.take(self.position_in_source[places]),
            position_in_source=np.arange(len(places)),
        )

    def draw(self, seed: int) -> Draw:
        """All rows in random order, whole clusters at a time; every third cluster may be held out."""
        n_clusters = int(self.clusters.max()) + 1
        turn = np.random.default_rng(seed).permutation(n_clusters)[self.clusters]
        places = np.argsort(turn, kind="stable")
        is_held_out = turn[places] % 3 == 2
        return Draw(places[~is_held_out], places[is_held_out], self.clusters)

    def random_places(self, count: int, seed: int) -> IntArray:
        """Places of so many rows, ascending; whole clusters, so about so many where these are large."""
        if count >= len(self):
            return np.arange(len(self))
        generator = np.random.default_rng(seed)
        n_clusters = int(self.clusters.max()) + 1
        if n_clusters == len(self):
            return np.sort(generator.choice(len(self), size=count, replace=False))
        turn = generator.permutation(n_clusters)[self.clusters]
        # The first clusters, in the drawn order, that together hold so many rows.
        rows_up_to_turn = np.cumsum(np.bincount(turn))
        return np.flatnonzero(turn <= np.searchsorted(rows_up_to_turn, count))


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows in the order in which a fit uses them: fewer rows are a beginning of the same draw.

    Parameters
    ----------
    search, held_out : arrays of places
        Rows of two of three drawn clusters, and of the third.
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    """

    search: IntArray
    held_out: IntArray
    clusters: IntArray

    def first(
        self, n_search: int | None = None, holdout: float | Literal["auto", False] = "auto"
    ) -> tuple[IntArray, IntArray]:
        """Places of the first rows that search, and of those that are held out; both ascending.

        Parameters
        ----------
        n_search : int, optional
            Rows that search, at most; whole clusters, so about so many where these are large. None:
            all that are not held out.
        holdout : "auto", False or float
            "auto": half as many as search, but none of a small table and never more than 4,000.
            A float: this share of all rows.
        """
        n_rows = len(self.search) + len(self.held_out)
        n_search = n_rows if n_search is None else n_search
        if holdout is False:
            search = self._whole_clusters(np.concatenate([self.search, self.held_out]), n_search)
            return np.sort(search), self.held_out[:0]
        if holdout != "auto":
            places = np.concatenate([self.held_out, self.search])
            held_out = self._whole_clusters(places, round(holdout * n_rows))
            search = self._whole_clusters(places[len(held_out) :], n_search)
            return np.sort(search), np.sort(held_out)
        n_judging = 0 if n_rows < SMALL_TABLE else min(len(self.held_out), MOST_HELD_OUT)
        n_search = min(n_search, n_rows - n_judging)
        n_judging = min(n_search // 2, n_judging)
        if n_judging < LEAST_HELD_OUT:
            n_judging = 0
        held_out = self._whole_clusters(self.held_out, n_judging)
        is_held_out = np.isin(self.clusters[self.held_out], self.clusters[held_out])
        may_search = np.concatenate([self.search, self.held_out[~is_held_out]])
        return np.sort(self._whole_clusters(may_search, n_search)), np.sort(held_out)

    def _whole_clusters(self, places: IntArray, count: int) -> IntArray:
        """The first of some places, up to the end of the cluster that holds the last of so many."""
        if count >= len(places):
            return places
        if count == 0:
            return places[:0]
        changes = np.flatnonzero(np.diff(self.clusters[places[count - 1 :]]))
        if len(changes) == 0:  # the cluster of the last row is the last one
            return places
        return places[: count + int(changes[0])]


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
