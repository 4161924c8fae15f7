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
from granite_xai.regions.values import Bound, Label, between, label_sort_key


class Language(Protocol):
    """The statements of a language; what they are (text, expressions) is its own affair."""

    @property
    def everything(self) -> Any:
        """A statement that holds for every row."""

    def compare(self, name: str, sign: str, end: Bound) -> Any:
        """A column is > or <= a number, date or duration."""

    def is_one_of(self, name: str, labels: Sequence[Label]) -> Any:
        """A column has one of some labels."""

    def is_none_of(self, name: str, labels: Sequence[Label]) -> Any:
        """A column has a value that is none of some labels."""

    def is_present(self, name: str) -> Any:
        """A column has a value."""

    def is_missing(self, name: str, of_numbers: bool = False) -> Any:
        """A column, perhaps known to have numbers, has no value."""

    def conjunction(self, statements: Sequence[Any]) -> Any:
        """All of some statements hold."""

    def disjunction(self, first: Any, second: Any) -> Any:
        """One of two statements holds, or both."""


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
    return language.conjunction(statements)


def _write_condition(name: str, condition: Condition, language: Language) -> Any:
    """Write one condition: for present values, and for missing ones if these belong."""
    if isinstance(condition, Interval) and condition.order is not None and condition.has_ends:
        condition = _as_levels(condition)
    if not condition.has_values:
        if condition.takes_missing:
            return language.is_missing(name)
        no_row = [language.is_present(name), language.is_missing(name)]
        return language.conjunction(no_row)
    if isinstance(condition, Levels):
        present = _write_levels(name, condition, language)
        is_of_numbers = False
    else:
        present = _write_ends(name, condition, language)
        is_of_numbers = condition.has_ends and not _is_instant(condition)
    if condition.takes_missing:
        return language.disjunction(present, language.is_missing(name, is_of_numbers))
    return present


def _as_levels(interval: Interval) -> Levels:
    """The labels of an interval of an ordered column; all but those outside where new labels belong."""
    order = interval.order or ()
    labels = np.fromiter(order, dtype=object, count=len(order))
    is_listed = between(labels, interval.low, interval.high, order, interval.others)
    if interval.others:
        is_listed = ~is_listed
    return Levels(
        levels=set(labels[is_listed]),
        others=interval.others,
        missing=interval.missing,
        missing_unseen=interval.missing_unseen,
    )


def _is_instant(interval: Interval) -> bool:
    """Whether an interval is one of dates or durations."""
    return isinstance(interval.low, np.generic) or isinstance(interval.high, np.generic)


def _write_levels(name: str, levels: Levels, language: Language) -> Any:
    """Write which labels a column has, or has not."""
    labels = sorted(levels.levels, key=label_sort_key)
    n_texts = sum(isinstance(label, str) for label in labels)
    if 0 < n_texts < len(labels):
        raise unwritable(name, "its labels are texts and numbers")
    if not labels:  # every value but none
        return language.is_present(name)
    if levels.others:
        return language.is_none_of(name, labels)
    return language.is_one_of(name, labels)


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
    return language.conjunction(comparisons)
