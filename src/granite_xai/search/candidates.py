"""The ways to cut a node in two along one column, in the order that breaks ties.

A candidate says which levels of its column, and whether missing values, go left. Cuts, groups of
levels and missing values are then one thing, and the split is read off at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.engine.splits import Cut
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.search.level_groups import frequent_levels, level_groups
from granite_xai.tables import Column, Table


@dataclass(frozen=True, eq=False)
class Family:
    """All candidates of one column: levels that every one of them sends the same way are one class.

    Parameters
    ----------
    column : int
        Position of the column.
    classes : array of shape (n_levels + 1,)
        Class of missing values (entry 0) and of each level (entries 1, 2, …).
    left_classes : array of shape (n_candidates, n_classes)
        Which classes go left.
    is_nested : bool
        Whether each candidate sends the first so many classes left, and more than the one before.
    """

    column: int
    classes: IntArray
    left_classes: BoolArray
    is_nested: bool = False

    @cached_property
    def last_left_levels(self) -> IntArray:
        """Of an ordered column the last level that each candidate sends left; -1 where only missing values go."""
        last_entry = np.zeros(self.left_classes.shape[1], dtype=np.intp)  # of each class
        np.maximum.at(last_entry, self.classes, np.arange(len(self.classes)))
        return np.asarray(np.max(np.where(self.left_classes, last_entry, 0), axis=1) - 1)

    def left_entries(self, entries: IntArray) -> BoolArray:
        """Which candidates send some entries left, (n_candidates, n): missing values (0) and levels (1, 2, …)."""
        return np.asarray(self.left_classes[:, self.classes[entries]])

    def with_enough_rows(self, counts: IntArray, min_samples: int) -> list[Candidate]:
        """The candidates that leave so many rows on both sides.

        Parameters
        ----------
        counts : array of shape (n_levels + 1,)
            Rows of the node with a missing value (entry 0) and at each level.
        min_samples : int
        """
        n_classes = self.left_classes.shape[1]
        by_class = np.bincount(self.classes, weights=counts, minlength=n_classes)
        n_left = self.left_classes @ by_class
        n_right = by_class.sum() - n_left
        is_enough = np.minimum(n_left, n_right) >= max(min_samples, 1)
        family = Family(self.column, self.classes, self.left_classes[is_enough], self.is_nested)
        return [Candidate(family, number) for number in range(len(family.left_classes))]


class Candidate(NamedTuple):
    """One way to cut a node."""

    family: Family  # the candidates of the same column
    number: int  # which of them

    @property
    def column(self) -> int:
        """Position of the column."""
        return self.family.column

    @property
    def left(self) -> BoolArray:
        """Whether missing values (entry 0) and each level of the table (entries 1, 2, …) go left."""
        return np.asarray(self.family.left_classes[self.number][self.family.classes])

    @property
    def code(self) -> int:
        """Of an ordered column the last level that goes left; -1 where only missing values do."""
        return int(self.family.last_left_levels[self.number])

    def goes_left(self, table: Table, rows: IntArray) -> BoolArray:
        """Which of some rows go left, (n_rows,).

        Parameters
        ----------
        table : Table
            All fitting rows.
        rows : array
            Positions of some of them.
        """
        classes = self.family.classes[table.columns[self.column].codes[rows] + 1]
        return np.asarray(self.family.left_classes[self.number][classes])


def candidates(
    table: Table,
    rows: IntArray,
    evaluations: Deferred[Evaluations],
    columns: Sequence[int],
    max_candidates: int,
    min_samples: int,
    cuts: str,
) -> list[Candidate]:
    """Every cut of a node that leaves enough rows on both sides, lowest in the order of ties first.

    Parameters
    ----------
    table : Table
        All fitting rows.
    rows : array
        Those of the node.
    evaluations : Deferred
        Of these rows; they order the levels of nominal columns with many.
    columns : sequence of int
        Positions of the columns that may be cut, ascending.
    max_candidates : int
        B: at most B - 1 thresholds of a column.
    min_samples : int
        Rows on each side, at least, whatever their weight.
    cuts : "quantiles" or "values"
        Where thresholds lie.
    """
    options: list[Candidate] = []
    for position in columns:
        column = table.columns[position]
        counts = np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)
        if column.kind in ("nominal", "boolean"):
            family = _nominal_family(column, rows, counts, evaluations, max_candidates)
        else:
            family = ordered_family(column, counts, CUTS[cuts](counts[1:], max_candidates))
        options += family.with_enough_rows(counts, min_samples)
    return options


def _nominal_family(
    column: Column,
    rows: IntArray,
    counts: IntArray,
    evaluations: Deferred[Evaluations],
    max_candidates: int,
) -> Family:
    """The groups of levels of a column."""
    classes = frequent_levels(column)
    merged = column.merged(classes)
    present = np.unique(classes[np.flatnonzero(counts[1:])])
    groups: list[tuple[int, ...]] = []
    if len(present) > 1:
        groups = level_groups(merged, rows, present, evaluations, max_candidates)
    left_classes = np.zeros((len(groups), len(merged.levels)), dtype=np.bool_)
    for number, group in enumerate(groups):
        left_classes[number, list(group)] = True
    return _with_missing(column, counts, left_classes, classes)


def ordered_family(column: Column, counts: IntArray, codes: IntArray) -> Family:
    """The cuts ``x <= v`` of an ordered column at some of its levels.

    Parameters
    ----------
    column : Column
    counts : array of shape (n_levels + 1,)
        Rows with a missing value (entry 0) and at each level.
    codes : array
        The levels ``v``, ascending.
    """
    left_classes = np.tri(len(codes), len(codes) + 1, dtype=np.bool_)
    classes = np.searchsorted(codes, np.arange(len(counts) - 1))
    if counts[0]:
        return _with_missing(column, counts, left_classes, classes)
    # No missing values: their class is the last one, which never goes left.
    classes = np.concatenate([[len(codes)], classes])
    return Family(column.position, classes, left_classes, is_nested=True)


def _with_missing(
    column: Column, counts: IntArray, left_classes: BoolArray, classes: IntArray
) -> Family:
    """The candidates of a column, its missing values on the left first, then on the right (C14).

    Missing values are one more class, the last one; where there are some, they may also go left alone.
    """
    n_cuts, n_classes = left_classes.shape
    with_missing = np.append(n_classes, classes)
    missing_right = np.hstack([left_classes, np.zeros((n_cuts, 1), dtype=np.bool_)])
    if not counts[0]:
        return Family(column.position, with_missing, missing_right)
    missing_left = np.hstack([left_classes, np.ones((n_cuts, 1), dtype=np.bool_)])
    missing_alone = np.arange(n_classes + 1)[None] == n_classes
    all_lines = np.concatenate([missing_alone, missing_left, missing_right])
    return Family(column.position, with_missing, all_lines)


def cut_codes(counts: IntArray, max_candidates: int) -> IntArray:
    """Levels v of the cuts ``x <= v`` of an ordered column, from the rows at each level (C11).

    With fewer than B distinct values every value but the largest; otherwise the values at the places
    ``(n - 1) k // B`` of the sorted rows, k = 1 … B - 1.
    """
    present = np.flatnonzero(counts)
    if len(present) < max_candidates:
        return present[:-1]
    places = (int(counts.sum()) - 1) * np.arange(1, max_candidates) // max_candidates
    codes = np.unique(np.searchsorted(np.cumsum(counts), places, side="right"))
    return np.asarray(codes[codes < present[-1]])


def _all_codes(counts: IntArray, max_candidates: int) -> IntArray:
    """Every level but the largest, however many there are."""
    return np.flatnonzero(counts)[:-1]


CUTS: dict[str, Callable[[IntArray, int], IntArray]] = {
    "quantiles": cut_codes,
    "values": _all_codes,
}


def cuts_of(options: Sequence[Candidate], table: Table, rows: IntArray) -> list[Cut]:
    """The candidates of a node as cuts of its rows, one for each column; candidates of a column are neighbours."""
    cuts = []
    for family, group in groupby(options, key=attrgetter("family")):
        numbers = [option.number for option in group]
        left = family.left_classes[numbers]
        classes = family.classes[table.columns[family.column].codes[rows] + 1]
        is_ascending = all(number < following for number, following in pairwise(numbers))
        if family.is_nested and is_ascending:
            cuts.append(_nested_cut(family.column, left, classes))
        else:
            cuts.append(Cut.of(family.column, left, classes))
    return cuts


def _nested_cut(column: int, left: BoolArray, classes: IntArray) -> Cut:
    """The same as `Cut.of` where each split sends the first so many classes left, more and more.

    Classes between two neighbouring splits are merged into one.
    """
    n_left = np.count_nonzero(left, axis=1)
    first_of_merged = np.concatenate([[0], n_left])
    merged = np.searchsorted(n_left, np.arange(left.shape[1]), side="right")
    return Cut(column=column, classes=merged[classes], left=left[:, first_of_merged])
