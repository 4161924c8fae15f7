"""Conditions on one column.

A condition is an `Interval` or a set of `Levels`, and says of itself all that a rule needs in any
language: whether present values belong (``has_values``), which (``low, high, order`` or
``levels, others``), and whether missing ones do (``takes_missing``). ``others`` are labels that are
not listed: beside the interval those outside its order, in place of the levels all but these.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.typing import BoolArray
from granite_xai.regions.values import (
    NOT_LISTED,
    Bound,
    Label,
    as_end,
    as_label,
    between,
    higher_end,
    is_at_least,
    is_missing,
    label_sort_key,
    lower_end,
    name_text,
    places_among,
    value_text,
)

OR_MISSING = " or missing"
"""How the text of a condition ends that missing values satisfy."""

NO_VALUE = 0.0
"""Both ends of an interval without present values: one form for columns of every kind."""


@dataclass(frozen=True)
class Interval:
    """Rows with ``low < x <= high`` of a numeric, ordered or date column.

    ``Interval()`` is every present value; `only_missing` its opposite. These two serve columns of any
    kind.

    Parameters
    ----------
    low, high : number, date, duration or label, optional
        An end that is None is open.
    order : sequence of labels, optional
        All labels of an ordered column, lowest first.
    missing : bool
        Whether missing values belong, too.
    others : bool
        Whether labels outside the order belong, too.
    missing_unseen : bool
        Whether missing values belong although no fitting row had one (C14).

    Notes
    -----
    Neither `order` nor `others` nor `missing_unseen` is part of the text, nor of equality.
    """

    low: Bound | None = None
    high: Bound | None = None
    order: Sequence[Label] | None = field(default=None, compare=False)
    missing: bool = False
    others: bool = field(default=False, compare=False)
    missing_unseen: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        order = self.order
        if order is not None:
            order = tuple(as_label(label) for label in order)
        low = as_end(self.low, order)
        high = as_end(self.high, order)
        is_without_values = low is not None and high is not None and is_at_least(low, high, order)
        # Equal ends mean that no value lies between them: see `has_values`.
        if is_without_values and self.others and order:
            # No label of the order, but all that are not in it: the order is still needed.
            low = order[0]
            high = order[0]
        elif is_without_values:
            low = NO_VALUE
            high = NO_VALUE
            order = None
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "order", order)

    @classmethod
    def without_values(cls, *, missing: bool = False, missing_unseen: bool = False) -> Interval:
        """Rows whose value is missing, or no row; parameters as of the class."""
        return cls(low=NO_VALUE, high=NO_VALUE, missing=missing, missing_unseen=missing_unseen)

    @classmethod
    def only_missing(cls) -> Interval:
        """Rows whose value is missing."""
        return cls.without_values(missing=True)

    @property
    def has_values(self) -> bool:
        """Whether some value between the ends can belong; new labels are `takes_new_labels`."""
        # An interval without values has equal ends since it was made. By their texts: NumPy cannot
        # compare all units.
        return self.low is None or repr(self.low) != repr(self.high)

    @property
    def has_ends(self) -> bool:
        """Whether it is bounded, on one side at least."""
        return self.low is not None or self.high is not None

    @property
    def takes_missing(self) -> bool:
        """Whether missing values belong, in the text of the rule or without it."""
        return self.missing or self.missing_unseen

    @property
    def takes_new_labels(self) -> bool:
        """Whether labels outside the order belong."""
        return self.others and bool(self.order)

    @property
    def is_empty(self) -> bool:
        """Whether no value can belong, missing included."""
        return not (self.has_values or self.takes_missing or self.takes_new_labels)

    def contains(self, values: NDArray[Any], order: Sequence[Label] | None = None) -> BoolArray:
        """Tell which values belong.

        Parameters
        ----------
        values : array of shape (n,)
        order : sequence of labels, optional
            Of the column, for an interval of labels that has none.
        """
        if self.order is not None:
            order = self.order
        missing = is_missing(values)
        if not self.has_values and not self.takes_new_labels:
            inside = np.zeros(len(values), dtype=np.bool_)
        elif not self.has_ends:
            inside = ~missing
        else:
            inside = between(values, self.low, self.high, order, self.others) & ~missing
        if self.takes_missing:
            inside |= missing
        return inside

    def intersect(self, other: Condition) -> Condition:
        """Return the values that belong to both.

        Parameters
        ----------
        other : Interval or Levels
            On the same column.
        """
        if isinstance(other, Levels):
            return other.intersect(self)
        missing = _missing_in_both(self, other)
        # An interval without ends holds every present value, new labels included: it excludes none.
        bounded = [condition for condition in (self, other) if condition.has_ends]
        others = bool(bounded) and all(condition.others for condition in bounded)
        order = self.order
        if order is None:
            order = other.order
        if self.has_values and other.has_values:
            low = higher_end(self.low, other.low, order)
            high = lower_end(self.high, other.high, order)
        elif others and order:  # labels outside the order only
            low = order[0]
            high = order[0]
        else:
            low = NO_VALUE
            high = NO_VALUE
            order = None
        return Interval(
            low=low,
            high=high,
            order=order,
            missing=missing.in_text,
            others=others,
            missing_unseen=missing.unseen,
        )

    def text(self, name: str) -> str:
        """Write the condition as a person would.

        Parameters
        ----------
        name : str
            Of the column.
        """
        column = name_text(name)
        if not self.has_values and self.takes_missing:
            return f"{column} is missing"
        if not self.has_values:
            return f"{column} is impossible"
        if self.low is not None and self.high is not None:
            text = f"{value_text(self.low)} < {column} ≤ {value_text(self.high)}"
        elif self.low is not None:
            text = f"{column} > {value_text(self.low)}"
        elif self.high is not None:
            text = f"{column} ≤ {value_text(self.high)}"
        else:
            text = f"{column} is present"
        if self.missing:
            text += OR_MISSING
        return text


@dataclass(frozen=True)
class Levels:
    """Rows whose level of a nominal or boolean column is one of some.

    Parameters
    ----------
    levels : set of labels
    others : bool
        Every level but these, including those that no fitting row had, so that a new level has its
        place.
    missing : bool
        Whether missing values belong, too.
    missing_unseen : bool
        Whether missing values belong although no fitting row had one; neither in the text nor part
        of equality.
    """

    levels: Set[Label]
    others: bool = False
    missing: bool = False
    missing_unseen: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", frozenset(as_label(level) for level in self.levels))

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
        """Tell which values belong; levels are matched by label, and need no order."""
        missing = is_missing(values)
        inside: BoolArray = places_among(values, self.levels) != NOT_LISTED
        if self.others:
            inside = ~inside & ~missing
        if self.takes_missing:
            inside |= missing
        return inside

    def intersect(self, other: Condition) -> Condition:
        """Return the levels that belong to both; parameters as of `Interval.intersect`."""
        missing = _missing_in_both(self, other)
        no_value = Interval.without_values(missing=missing.in_text, missing_unseen=missing.unseen)
        if isinstance(other, Interval):
            if not other.has_values:
                return no_value
            if other.has_ends:
                raise InputError(
                    "an interval and a set of levels cannot describe one column.", code="P03"
                )
            return replace(self, missing=missing.in_text, missing_unseen=missing.unseen)
        all_but_listed = self.others and other.others
        if all_but_listed:
            levels = self.levels | other.levels
        elif self.others:
            levels = other.levels - self.levels
        elif other.others:
            levels = self.levels - other.levels
        else:
            levels = self.levels & other.levels
        if not levels and not all_but_listed:
            return no_value
        return Levels(
            levels=levels,
            others=all_but_listed,
            missing=missing.in_text,
            missing_unseen=missing.unseen,
        )

    def text(self, name: str) -> str:
        """Write the condition as a person would.

        Parameters
        ----------
        name : str
            Of the column.
        """
        labels = ", ".join(value_text(level) for level in sorted(self.levels, key=label_sort_key))
        negation = "not " if self.others else ""
        if len(self.levels) == 1:
            text = f"{name_text(name)} is {negation}{labels}"
        else:
            text = f"{name_text(name)} {negation}in {{{labels}}}"
        if self.missing:
            text += OR_MISSING
        return text


Condition = Interval | Levels


class _MissingInBoth(NamedTuple):
    """Whether missing values belong to two conditions together."""

    in_text: bool  # they do, and the text of both says so
    unseen: bool  # they do, but the text of one does not say so


def _missing_in_both(first: Condition, second: Condition) -> _MissingInBoth:
    in_text = first.missing and second.missing
    belong = first.takes_missing and second.takes_missing
    return _MissingInBoth(in_text=in_text, unseen=belong and not in_text)
