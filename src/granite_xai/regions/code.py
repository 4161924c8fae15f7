"""Rules in the languages of other programs.

A rule in any language is made of a few statements on one column: a comparison, a list of labels,
present, missing. `write_rule` walks a rule; a `Language` knows the statements, none of which but the
last holds for a missing value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from granite_xai.regions.code_limits import unwritable
from granite_xai.regions.conditions import Condition, Interval, Levels
from granite_xai.regions.values import Bound, Label, between, label_order


class Language(Protocol):
    """The statements of a language; what they are (text, expressions) is its own affair."""

    @property
    def everything(self) -> Any:
        """A statement that holds for every row."""

    def compare(self, name: str, sign: str, end: Bound) -> Any:
        """A column is > or <= a number, date or duration."""

    def among(self, name: str, labels: Sequence[Label], inside: bool) -> Any:
        """A column has one of some labels, or (not ``inside``) another value."""

    def is_present(self, name: str) -> Any:
        """A column has a value."""

    def is_missing(self, name: str, of_numbers: bool = False) -> Any:
        """A column, perhaps known to have numbers, has no value."""

    def both(self, statements: Sequence[Any]) -> Any:
        """All of some statements hold."""

    def either(self, first: Any, second: Any) -> Any:
        """One of two statements holds."""


def write_rule(conditions: Iterable[tuple[str, Condition]], language: Language) -> Any:
    """Write the conditions of a rule in a language.

    Parameters
    ----------
    conditions : iterable of (column name, condition)
    language : Language

    Returns
    -------
    object
        A statement of the language; it holds for every row if there are no conditions.
    """
    statements = [_write_condition(name, condition, language) for name, condition in conditions]
    if not statements:
        return language.everything
    return language.both(statements)


def _write_condition(name: str, condition: Condition, language: Language) -> Any:
    """Write one condition: for present values, and for missing ones if these belong."""
    if isinstance(condition, Interval) and condition.order is not None and condition.has_ends:
        condition = _as_levels(condition)
    if not condition.has_values:
        if condition.takes_missing:
            return language.is_missing(name)
        return language.both([language.is_present(name), language.is_missing(name)])  # no row
    if isinstance(condition, Levels):
        present = _write_levels(name, condition, language)
        is_of_numbers = False
    else:
        present = _write_ends(name, condition, language)
        is_of_numbers = condition.has_ends and not _is_instant(condition)
    if condition.takes_missing:
        return language.either(present, language.is_missing(name, is_of_numbers))
    return present


def _as_levels(interval: Interval) -> Levels:
    """The labels of an interval of an ordered column; all but some where new labels belong."""
    order = interval.order or ()
    labels = np.fromiter(order, dtype=object, count=len(order))
    is_inside = between(labels, interval.low, interval.high, order, interval.others)
    is_listed = ~is_inside if interval.others else is_inside
    return Levels(
        levels=set(labels[is_listed]),
        others=interval.others,
        missing=interval.missing,
        missing_unseen=interval.missing_unseen,
    )


def _is_instant(interval: Interval) -> bool:
    """Whether an interval is one of dates or durations."""
    end = interval.high if interval.low is None else interval.low
    return isinstance(end, np.generic)


def _write_levels(name: str, levels: Levels, language: Language) -> Any:
    """Write which labels a column has, or has not."""
    labels = sorted(levels.levels, key=label_order)
    n_texts = sum(isinstance(label, str) for label in labels)
    if 0 < n_texts < len(labels):
        raise unwritable(name, "its labels are texts and numbers")
    if not labels:  # every value but none
        return language.is_present(name)
    return language.among(name, labels, inside=not levels.others)


def _write_ends(name: str, interval: Interval, language: Language) -> Any:
    """Write the ends of an interval of numbers, dates or durations."""
    low = interval.low
    high = interval.high
    if isinstance(low, str) or isinstance(high, str):
        raise unwritable(name, "the order of its labels is not known")
    comparisons = []
    if low is not None:
        comparisons.append(language.compare(name, ">", low))
    if high is not None:
        comparisons.append(language.compare(name, "<=", high))
    if not comparisons:
        return language.is_present(name)
    return language.both(comparisons)
