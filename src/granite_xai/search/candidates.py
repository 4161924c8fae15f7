"""Candidates: the ways to cut a node in two along one column, in the order that breaks ties.

A candidate says which levels of its column, and whether missing values, go left. Cuts, groups of levels and missing
values are then one thing, and the split is read off at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import combinations, groupby, product
from operator import attrgetter
from typing import Any

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.errors import InputError
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.engine.splits import Cut
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.regions.condition_pairs import (
    Side,
    cut,
    grouping,
    missing_or_present,
    with_unseen_missing,
)
from granite_xai.regions.conditions import Condition
from granite_xai.regions.instants import SIZES, Instant, attoseconds, instant
from granite_xai.tables import Column, Table

TIE = 1e-10  # shares and costs this close are the same: the first of them is taken (C15)
ROUNDING = 1e-12  # costs this close differ by the order of sums only: two columns in either order
MOST_LEVELS = 100  # levels of a nominal column that splits tell apart; the rarer ones share a group


@dataclass(frozen=True, eq=False)
class Family:
    """All candidates of one column: levels that every one of them sends the same way are one class."""

    column: int  # position of the column
    classes: IntArray  # (levels + 1,) int: class of missing values (entry 0) and of each level (entries 1, 2, …)
    inner: BoolArray  # (K, classes) bool: which classes go left
    is_nested: bool = False  # whether each candidate sends the first so many classes left

    @cached_property
    def last(self) -> IntArray:
        """Of an ordered column the last level that each candidate sends left; -1 where only missing values go."""
        ends = np.zeros(self.inner.shape[1], dtype=np.intp)
        np.maximum.at(ends, self.classes, np.arange(len(self.classes)))
        return np.asarray(np.max(np.where(self.inner, ends, 0), axis=1) - 1)

    def left_at(self, entries: IntArray) -> BoolArray:
        """Which candidates send some entries left, (K, n): missing values (0) and levels (1, 2, …)."""
        return np.asarray(self.inner[:, self.classes[entries]])

    def enough(self, counts: IntArray, least: int) -> list[Candidate]:
        """Only the candidates that leave so many rows on both sides, given the rows at each entry."""
        by_class = np.bincount(self.classes, weights=counts, minlength=self.inner.shape[1])
        n_left = self.inner @ by_class
        kept = np.minimum(n_left, by_class.sum() - n_left) >= max(least, 1)
        family = Family(self.column, self.classes, self.inner[kept], self.is_nested)
        return [Candidate(family, number) for number in range(len(family.inner))]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
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
        return self.inside(np.arange(-1, len(self.family.classes) - 1))

    @property
    def code(self) -> int:
        """Of an ordered column the last level that goes left; -1 where only missing values do."""
        return int(self.family.last[self.number])

    def inside(self, codes: IntArray) -> BoolArray:
        """Which rows go left, from their codes."""
        return np.asarray(self.family.inner[self.number][self.family.classes[codes + 1]])


def candidates(
    table: Table,
    rows: IntArray,
    evaluations: Deferred[Evaluations],
    columns: Sequence[int],
    most: int,
    least: int,
    cuts: str,
) -> list[Candidate]:
    """Every cut of a node that leaves enough rows on both sides, lowest in the order of ties first."""
    # ``table`` holds all fitting rows, ``rows`` are those of the node and ``evaluations`` theirs, which order the
    # levels of nominal columns with many; ``columns`` are ascending positions. ``most``: B. Each side needs ``least``
    # rows, whatever their weight.
    found = []
    for position in columns:
        column = table.columns[position]
        counts = np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)
        if column.kind in ("nominal", "boolean"):
            family = _nominal(column, rows, counts, evaluations, most)
        else:
            family = ordered(column, counts, CUTS[cuts](counts[1:], most))
        found += family.enough(counts, least)
    return found


def _nominal(
    column: Column,
    rows: IntArray,
    counts: IntArray,
    evaluations: Deferred[Evaluations],
    max_candidates: int,
) -> Family:
    """The groups of levels of a column."""
    classes = frequent_levels(column)
    few, present = column.merged(classes), np.unique(classes[np.flatnonzero(counts[1:])])
    groups = _groupings(few, rows, present, evaluations, max_candidates) if len(present) > 1 else []
    inner = np.zeros((len(groups), len(few.levels)), dtype=np.bool_)
    for line, group in zip(inner, groups, strict=True):
        line[list(group)] = True
    return _either_side(column, counts, inner, classes)


def ordered(column: Column, counts: IntArray, codes: IntArray) -> Family:
    """The cuts ``x <= v`` of an ordered column at some of its levels, from the rows at each entry."""
    inner = np.tri(len(codes), len(codes) + 1, dtype=np.bool_)
    classes = np.searchsorted(codes, np.arange(len(counts) - 1))
    if counts[0]:
        return _either_side(column, counts, inner, classes)
    # No missing values: their class is the last one, which never goes left.
    classes = np.concatenate([[len(codes)], classes])
    return Family(column.position, classes, inner, is_nested=True)


def _either_side(column: Column, counts: IntArray, inner: BoolArray, classes: IntArray) -> Family:
    """The candidates of a column, its missing values on the left first, then on the right (C14)."""
    last, sides = (
        inner.shape[1],
        (True, False) if counts[0] else (False,),
    )  # missing values are the last class
    alone = [np.arange(last + 1)[None] == last] if counts[0] else []
    both = [np.concatenate([inner, np.full((len(inner), 1), side)], axis=1) for side in sides]
    return Family(column.position, np.append(last, classes), np.concatenate([*alone, *both]))


def frequent_levels(column: Column) -> IntArray:
    """Class of each level: its own for the most frequent ones, in their order; all others share the last (D11)."""
    n_levels = len(column.levels)
    if n_levels <= MOST_LEVELS:
        return np.arange(n_levels)
    counts = np.bincount(column.codes[column.codes >= 0], minlength=n_levels)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS])
    classes = np.full(n_levels, MOST_LEVELS, dtype=np.intp)
    classes[frequent] = np.arange(MOST_LEVELS)
    return classes


def cut_codes(counts: IntArray, max_candidates: int) -> IntArray:
    """Levels v of the cuts ``x <= v`` of an ordered column, from the rows at each level (C11)."""
    # With fewer than B distinct values every value but the largest; otherwise the values at the places
    # ``(n - 1) k // B`` of the sorted rows, k = 1 … B - 1.
    present = np.flatnonzero(counts)
    if len(present) < max_candidates:
        return present[:-1]
    places = (int(counts.sum()) - 1) * np.arange(1, max_candidates) // max_candidates
    codes = np.unique(np.searchsorted(np.cumsum(counts), places, side="right"))
    return np.asarray(codes[codes < present[-1]])


CUTS: dict[str, Callable[[IntArray, int], IntArray]] = {
    "quantiles": cut_codes,
    "values": lambda counts, max_candidates: np.flatnonzero(counts)[:-1],
}


def _groupings(
    column: Column,
    rows: IntArray,
    present: IntArray,
    evaluations: Deferred[Evaluations],
    max_candidates: int,
) -> list[tuple[int, ...]]:
    """Groups of levels for the left side: fewer levels first, then in the order of the levels (C13)."""
    levels: list[int] = present.tolist()
    if 2 ** (len(levels) - 1) <= max_candidates:
        groups = [
            group for size in range(1, len(levels) // 2 + 1) for group in combinations(levels, size)
        ]
    else:
        line = order_levels(column, rows, present, evaluations.value).tolist()
        groups = [*((code,) for code in levels), *(tuple(line[:k]) for k in range(1, len(line)))]
    # The side with fewer levels; of two equal ones that with the first level.
    sides = (
        (tuple(sorted(group)), tuple(code for code in levels if code not in group))
        for group in groups
    )
    return sorted(
        {min(both, key=lambda one: (len(one), one)) for both in sides},
        key=lambda one: (len(one), one),
    )


def order_levels(
    column: Column, rows: IntArray, present: IntArray, evaluations: Evaluations
) -> IntArray:
    """Order levels along the first principal component of their pure effects (C13)."""
    # One row of the matrix for each level, one column for each (other column, value): the pure effect of that value
    # computed on the level's rows, minus its mean over the levels, times the root of the value's share. Levels that act
    # alike then stand side by side.
    members = np.where(column.codes[rows] == present[:, None], evaluations.weights, 0.0)
    members /= members.sum(axis=1, keepdims=True)
    others, blocks = (
        (frozenset({position}) for position in sorted(evaluations.everything - {column.position})),
        [],
    )
    present_too = (each for each in others if each in evaluations.stored_as)  # not those that pass
    for other, own in product(present_too, evaluations.outputs):
        matrix = own.matrix(other)
        shares = np.bincount(matrix.codes, weights=own.weights, minlength=len(matrix.values))
        effects = members @ matrix.values.T - (members @ own.predictions)[:, None]
        unit = (
            (np.std(own.predictions) or 1.0) if evaluations.others else 1.0
        )  # each output counts by its own
        blocks.append((effects - effects.mean(axis=0)) * np.sqrt(shares / shares.sum()) / unit)
    if not blocks:
        return present
    left, sizes, _ = np.linalg.svd(np.hstack(blocks), full_matrices=False)
    score = left[:, 0] * sizes[0]
    score = score if score[0] <= score[-1] else -score
    # Rounded, so that levels with equal effects keep their own order.
    score = np.round(score / max(np.abs(score).max(), 1e-300), 9)
    return present[np.lexsort((np.arange(len(present)), score))]


def cuts_of(chosen: Sequence[Candidate], table: Table, rows: IntArray) -> list[Cut]:
    """The candidates of a node as cuts of its rows, one for each column; candidates of a column are neighbours."""
    cuts = []
    for family, group in groupby(chosen, key=attrgetter("family")):
        inner = family.inner[[candidate.number for candidate in group]]
        places = family.classes[table.columns[family.column].codes[rows] + 1]
        is_growing = bool(np.all(np.diff(np.count_nonzero(inner, axis=1)) > 0))
        if family.is_nested and is_growing:
            cuts.append(_nested_cut(family.column, inner, places))
        else:
            cuts.append(Cut.of(family.column, inner, places))
    return cuts


def _nested_cut(column: int, left: BoolArray, places: IntArray) -> Cut:
    """The same as `Cut.of` where each split sends the first so many places left, more and more."""
    n_left = np.count_nonzero(left, axis=1)
    first_of_class = np.concatenate([[0], n_left])
    classes = np.searchsorted(n_left, np.arange(left.shape[1]), side="right")
    return Cut(column=column, classes=classes[places], left=left[:, first_of_class])


def best_of(scores: FloatArray, tolerance: float = TIE) -> int:
    """The first candidate within the tolerance of the smallest score (C15)."""
    return int(np.flatnonzero(scores <= scores.min() + tolerance)[0])


def conditions(
    column: Column, candidate: Candidate, rows: IntArray, missing: bool
) -> tuple[Condition, Condition]:
    """Both sides of a split, worded so that every possible row reaches exactly one of them."""
    # Levels the node never saw go with the larger child (more rows; on a tie the left one). Missing values go where the
    # candidate sends them; at a node that saw none, in a fit that allowed them, with the larger child (C14), which the
    # text says only if the column has some. The column is that of all fitting rows; `missing` says whether the fit
    # allowed missing values.
    counts = np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)
    n_left = int(counts[candidate.left].sum())
    larger: Side = "left" if n_left >= len(rows) - n_left else "right"
    present = np.flatnonzero(counts[1:])
    goes_left = candidate.left[1:][present]
    seen_missing = bool((column.codes < 0).any())
    side: Side | None = larger if missing and seen_missing else None
    if counts[0]:
        side, (gone, there) = "left" if candidate.left[0] else "right", missing_or_present()
        if (
            goes_left.all() or not goes_left.any()
        ):  # a cut of other rows may leave missing values alone on the right
            return (there, gone) if goes_left.all() else (gone, there)
    if column.kind in ("nominal", "boolean"):
        labels = column.levels[present]
        groups = grouping(
            labels[goes_left].tolist(), labels[~goes_left].tolist(), larger=larger, missing=side
        )
        return with_unseen_missing(groups, larger) if missing and not seen_missing else groups
    below, above = column.levels[present[goes_left][-1]], column.levels[present[~goes_left][0]]
    shortest: dict[str, Callable[[Any, Any], Any]] = {"numeric": threshold, "date": date_threshold}
    at = (
        shortest[column.kind](below, above) if column.kind in shortest else below
    )  # of labels the lower one
    halves = cut(at, order=column.order, missing=side, larger=larger)
    return with_unseen_missing(halves, larger) if missing and not seen_missing else halves


def threshold(value: float, next_value: float) -> float:
    """Find the number with the fewest digits that separates two neighbouring values."""
    # Of all decimals ``t`` with ``value <= t < next_value`` (as stored numbers), the one with the fewest significant
    # digits; among those the nearest to the midpoint, then the smaller. Never ``-0.0``.
    low, high = float(value), float(next_value)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        words = f"a threshold needs two finite values in increasing order, got {value!r} and {next_value!r}."
        raise InputError(words, code="P02", argument="next_value")
    if low <= 0.0 < high:
        return 0.0
    # Neighbouring floats: the lower one is the only number there is, however many decimals denote it.
    if math.nextafter(low, math.inf) == high:
        return low
    middle = (Fraction(low) + Fraction(high)) / 2
    # 17 digits tell all floats apart. A decimal as a float is correctly rounded, and inf where it is too large.
    found = (
        [t for t in _around(middle, digits) if low <= float(t) < high] for digits in range(1, 18)
    )
    return float(
        min(next(filter(None, found), [Decimal(low)]), key=lambda t: (abs(Fraction(t) - middle), t))
    )


def _around(middle: Fraction, digits: int) -> list[Decimal]:
    """List the nearest decimals below and above the midpoint."""
    # What separates the values is an interval around the midpoint, so if it holds any decimal of that many digits it
    # holds one of these two.
    size = abs(middle)
    guess = len(str(size.numerator)) - len(str(size.denominator))
    magnitude = (
        guess if Fraction(10) ** guess <= size else guess - 1
    )  # the exact floor(log10(size))
    power = magnitude - digits + 1
    scaled = middle / Fraction(10) ** power
    return [Decimal(f"{n}e{power}") for n in (math.floor(scaled), math.ceil(scaled))]


def date_threshold(value: Instant, next_value: Instant) -> Instant:
    """Find the date or duration of the coarsest calendar unit that separates two neighbouring values."""
    # A start of a year if one lies in ``[value, next_value)``, otherwise of a month, a day, an hour, …; among those the
    # nearest to the midpoint, then the earlier. Durations start with whole days.
    low, high = attoseconds(value), attoseconds(next_value)
    if not low < high:
        words = f"a threshold needs two values in increasing order, got {value} and {next_value}."
        raise InputError(words, code="P02", argument="next_value")
    duration = isinstance(value, np.timedelta64)
    units = list(SIZES) if duration else ["Y", "M", *SIZES]
    found = ([t for t in _starts((low + high) // 2, unit) if low <= t < high] for unit in units)
    nearest = min(next(filter(None, found), [low]), key=lambda t: (abs(2 * t - low - high), t))
    # Days stay days only where both dates are: "≤ 2012-03-01" of hourly data would seem to include that day.
    days = duration or low % SIZES["D"] == high % SIZES["D"] == 0
    return instant(type(value), nearest, "D" if days else "m")


def _starts(middle: int, unit: str) -> tuple[int, int]:
    """Return the last start of a unit at or before the midpoint and the next one after it."""
    if unit in SIZES:
        start = middle // SIZES[unit] * SIZES[unit]
        return start, start + SIZES[unit]
    first = instant(np.datetime64, middle // SIZES["D"] * SIZES["D"]).astype(f"datetime64[{unit}]")
    return attoseconds(first), attoseconds(first + np.ones(1, dtype=f"m8[{unit}]")[0])
