"""Conditions on one column, their algebra, and the pairs of them that split a column in two.

A condition is an `Interval` or a set of `Levels`, and says of itself all that a rule needs in any language: whether
present values belong (``has_values``), which (``low, high, order`` or ``levels, others``), and whether missing ones do
(``takes_missing``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.typing import BoolArray
from granite_xai.regions import values as rule_values
from granite_xai.regions.values import (
    Bound,
    Label,
    as_label,
    is_missing,
    label_order,
    name_text,
    value_text,
)


@dataclass(frozen=True)
class Interval:
    """Rows with ``low < x <= high`` of a numeric, ordered or date column; an end that is None is open.

    ``Interval()`` is every present value; `only_missing` its opposite. These two serve columns of any kind. `order` are
    all labels of an ordered column, lowest first. `missing` and `others` say whether missing values, and labels outside
    the order, belong too; `missing_unseen` that missing values do although no fitting row had one (C14). Neither
    `order` nor `others` nor `missing_unseen` is part of the text, nor of equality.
    """

    low: Bound | None = None
    high: Bound | None = None
    order: Sequence[Label] | None = field(default=None, compare=False)
    missing: bool = False
    others: bool = field(default=False, compare=False)
    missing_unseen: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        order = None if self.order is None else tuple(as_label(v) for v in self.order)
        low, high = rule_values.end(self.low, order), rule_values.end(self.high, order)
        if low is not None and high is not None and rule_values.at_or_above(low, high, order):
            if self.others and order:  # no label of the order, but all that are not in it
                low = high = order[0]
            else:  # one form for all empty intervals, whatever the kind of column
                low, high, order = 0.0, 0.0, None
        for name, value in (("low", low), ("high", high), ("order", order)):
            object.__setattr__(self, name, value)

    @classmethod
    def only_missing(cls) -> Interval:
        """Rows whose value is missing."""
        return cls(0.0, 0.0, missing=True)

    @property
    def has_values(self) -> bool:
        """Whether any present value can belong."""
        return self.low is None or repr(self.low) != repr(
            self.high
        )  # NumPy cannot compare all units

    @property
    def takes_missing(self) -> bool:
        """Whether missing values belong, in the text of the rule or without it."""
        return self.missing or self.missing_unseen

    @property
    def is_empty(self) -> bool:
        """Whether no value can belong, missing included."""
        return not (self.has_values or self.takes_missing or (self.others and self.order))

    def contains(self, values: NDArray[Any], order: Sequence[Label] | None = None) -> BoolArray:
        """Tell which values belong; `order` is the column's, for an interval of labels that has none."""
        missing = is_missing(values)
        if not self.has_values and not (self.others and self.order):
            inside = np.zeros(len(values), dtype=np.bool_)
        elif self.low is None and self.high is None:
            inside = ~missing
        else:
            order = self.order if self.order is not None else order
            inside = rule_values.between(values, self.low, self.high, order, self.others) & ~missing
        return inside | missing if self.takes_missing else inside

    def intersect(self, other: Condition) -> Condition:
        """Return the values that belong to both."""
        if isinstance(other, Levels):
            return other.intersect(self)
        missing, unseen = _missing_in_both(self, other)
        bounded = [c for c in (self, other) if c.low is not None or c.high is not None]
        others = bool(bounded) and all(c.others for c in bounded)
        order = self.order if self.order is not None else other.order
        if not (self.has_values and other.has_values):
            both = order[0] if others and order else 0.0
            return Interval(both, both, order if others else None, missing, others, unseen)
        low = rule_values.tighter(self.low, other.low, order, upper=False)
        high = rule_values.tighter(self.high, other.high, order, upper=True)
        return Interval(low, high, order, missing, others, unseen)

    def text(self, name: str) -> str:
        """Write the condition as a person would."""
        word = name_text(name)
        if not self.has_values:
            return f"{word} is {'missing' if self.takes_missing else 'impossible'}"
        low, high = (None if v is None else value_text(v) for v in (self.low, self.high))
        if high is None:
            text = f"{word} is present" if low is None else f"{word} > {low}"
        else:
            text = f"{word} ≤ {high}" if low is None else f"{low} < {word} ≤ {high}"
        return text + " or missing" if self.missing else text


@dataclass(frozen=True)
class Levels:
    """Rows whose level of a nominal or boolean column is one of `levels`; `missing`: or is missing.

    ``others``: every level but these, including those that no fitting row had, so that a new level has its place.
    ``missing_unseen``: or is missing although no fitting row was; neither in the text nor part of equality.
    """

    levels: Set[Label]
    others: bool = False
    missing: bool = False
    missing_unseen: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", frozenset(as_label(v) for v in self.levels))

    @property
    def has_values(self) -> bool:
        """Whether any present value can belong."""
        return bool(self.levels) or self.others

    @property
    def takes_missing(self) -> bool:
        """Whether missing values belong, in the text of the rule or without it."""
        return self.missing or self.missing_unseen

    @property
    def is_empty(self) -> bool:
        """Whether no value can belong, missing included."""
        return not (self.has_values or self.takes_missing)

    def contains(self, values: NDArray[Any], order: Sequence[Label] | None = None) -> BoolArray:
        """Tell which values belong; levels are matched by label."""
        missing = is_missing(values)
        inside = ((rule_values.ranks(values, self.levels) >= 0) ^ self.others) & ~missing
        return inside | missing if self.takes_missing else inside

    def intersect(self, other: Condition) -> Condition:
        """Return the levels that belong to both."""
        missing, unseen = _missing_in_both(self, other)
        no_value = Interval(0.0, 0.0, missing=missing, missing_unseen=unseen)
        if isinstance(other, Interval):
            if not other.has_values:
                return no_value
            if other.low is None and other.high is None:
                return replace(self, missing=missing, missing_unseen=unseen)
            raise InputError(
                "an interval and a set of levels cannot describe one column.", code="P03"
            )
        if self.others and other.others:
            return Levels(self.levels | other.levels, True, missing, unseen)
        listing, further = (other, self) if self.others else (self, other)
        kept = (
            listing.levels - further.levels if further.others else listing.levels & further.levels
        )
        return Levels(kept, False, missing, unseen) if kept else no_value

    def text(self, name: str) -> str:
        """Write the condition as a person would."""
        labels = ", ".join(value_text(v) for v in sorted(self.levels, key=label_order))
        negation = "not " if self.others else ""
        text = f"is {negation}{labels}" if len(self.levels) == 1 else f"{negation}in {{{labels}}}"
        return f"{name_text(name)} {text}{' or missing' if self.missing else ''}"


def _missing_in_both(one: Condition, other: Condition) -> tuple[bool, bool]:
    """Whether missing values belong to two conditions; and whether they do, but one text does not say so."""
    in_texts = one.missing and other.missing
    return in_texts, one.takes_missing and other.takes_missing and not in_texts


Condition = Interval | Levels
Side = Literal["left", "right"]
Labels = Iterable[Label]


def cut(
    at: Bound,
    *,
    order: Sequence[Label] | None = None,
    missing: Side | None = None,
    larger: Side = "right",
) -> tuple[Interval, Interval]:
    """Split a column into ``x <= at`` and ``x > at``; labels outside the `order` go with the child of more rows."""
    labelled = order is not None
    left = Interval(None, at, order, missing == "left", labelled and larger == "left")
    return left, Interval(at, None, order, missing == "right", labelled and larger == "right")


def grouping(
    left: Labels, right: Labels, *, larger: Side, missing: Side | None = None
) -> tuple[Levels, Levels]:
    """Split a column into two groups of levels: the child with more rows gets all (new ones, too) but the other's."""
    # Truth values are listed on both sides.
    first, second = (
        Levels(set(left), missing=missing == "left"),
        Levels(set(right), missing=missing == "right"),
    )
    if all(isinstance(v, bool) for v in first.levels | second.levels):
        return first, second
    if larger == "right":
        return first, Levels(first.levels, others=True, missing=second.missing)
    return Levels(second.levels, others=True, missing=first.missing), second


def with_unseen_missing(
    pair: tuple[Condition, Condition], larger: Side
) -> tuple[Condition, Condition]:
    """Give missing values, which no fitting row had, a place with the child of more rows (C14)."""
    left, right = pair
    if larger == "left":
        return replace(left, missing_unseen=True), right
    return left, replace(right, missing_unseen=True)


def missing_or_present() -> tuple[Interval, Interval]:
    """Split a column of any kind into missing and present values."""
    return Interval.only_missing(), Interval()


def complementary(left: Condition, right: Condition) -> bool:
    """Tell whether every present value satisfies exactly one of two conditions, and a missing one at most one."""
    if left.takes_missing and right.takes_missing:
        return False
    if isinstance(left, Levels) and isinstance(right, Levels):
        truths = all(isinstance(v, bool) for v in left.levels | right.levels)
        if truths and not (left.others or right.others):
            return {left.levels, right.levels} == {frozenset({False}), frozenset({True})}
        return left.levels == right.levels and left.others != right.others
    if not (isinstance(left, Interval) and isinstance(right, Interval)):
        return False
    if {left, right} == {Interval.only_missing(), Interval()}:
        return True
    ends = left.low is None and right.high is None and left.high is not None and left.has_values
    return (
        ends
        and left.high == right.low
        and left.order == right.order
        and not (left.others and right.others)
    )
