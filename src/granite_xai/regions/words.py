"""Rules in words: `workingday = 0`, `hr 0–6`, `education: Masters or PhD`.

The text of a rule is exact and can be read back; its words are for people. They
need to know which values a feature has: `ColumnWords` keeps what they need of them, so that a
partition can be printed without its table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.formats import with_minus
from granite_xai.base.text import plain, shortened
from granite_xai.base.wording import ALL_ROWS
from granite_xai.regions.conditions import Condition, Interval, Levels
from granite_xai.regions.rule import Rule
from granite_xai.regions.values import label_order, value_text
from granite_xai.tables import Column, Table

MOST_WHOLE_VALUES = 31  # whole numbers that are written as ranges: hours, weekdays, days of a month
MOST_LABELS = 4  # labels that a condition lists
LONGEST_LABEL = 30  # characters of a label


class ConditionWords(NamedTuple):
    """A condition in words: the feature, and what is said of it.

    Examples
    --------
    >>> night = ConditionWords("hr", "0–6")
    >>> night.text, night.in_sentence
    ('hr 0–6', 'hr is 0–6')
    >>> ConditionWords("temp", "> 20").in_sentence
    'temp > 20'
    """

    feature: str
    predicate: str  # "0–6", "> 20", "= Married", ": Masters or PhD", "missing"
    bounds_before: str = ""  # "20 <", where the feature stands between its bounds

    @property
    def text(self) -> str:
        """As in a table or tree."""
        joined = "" if self.predicate.startswith(":") else " "
        words = f"{self.feature}{joined}{self.predicate}"
        return f"{self.bounds_before} {words}" if self.bounds_before else words

    @property
    def in_sentence(self) -> str:
        """As in running text."""
        if self.predicate.startswith(":"):
            return f"{self.feature} is{self.predicate.removeprefix(':')}"
        if self.predicate[0] in "=≠<>≤" or self.bounds_before:
            return self.text
        return f"{self.feature} is {self.predicate}"


@dataclass(frozen=True)
class ColumnWords:
    """What the words of a condition need to know about a feature.

    Parameters
    ----------
    whole : tuple of int
        All values of a feature with few whole numbers, which is written as ranges of them.
    pair : tuple of str
        Texts of both values of a feature that has only two.
    labels : tuple
        All labels of a feature without numbers, in their order.
    cuts : mapping of number to text
        Bounds, rounded as far as they still separate the values of the data.
    """

    whole: tuple[int, ...] = ()
    pair: tuple[float, ...] = ()
    labels: tuple[Any, ...] = ()
    cuts: Mapping[float, str] = field(default_factory=dict)

    @classmethod
    def of(cls, column: Column, bounds: Iterable[float] = ()) -> ColumnWords:
        """Those of a column.

        Parameters
        ----------
        column : Column
        bounds : iterable of float
            At which rules cut a numeric column.
        """
        if column.kind == "date":
            return cls()
        if column.kind != "numeric":
            labels = column.order if column.order is not None else column.levels.tolist()
            return cls(labels=tuple(labels))
        values = column.levels.astype(np.float64)
        cuts = {float(bound): separating_text(float(bound), values) for bound in bounds}
        if len(values) == 2:
            return cls(pair=(float(values[0]), float(values[1])), cuts=cuts)
        is_whole = len(values) > 0 and bool(np.all(values % 1 == 0)) and values[0] >= 0
        if is_whole and len(values) <= MOST_WHOLE_VALUES:
            return cls(whole=tuple(int(value) for value in values), cuts=cuts)
        return cls(cuts=cuts)


Vocabulary = Mapping[str, ColumnWords]


def vocabulary(rules: Sequence[Rule], table: Table) -> dict[str, ColumnWords]:
    """What the words of some rules need to know about the table that they divide.

    Parameters
    ----------
    rules : sequence of Rule
    table : Table
        Rows among which bounds are rounded; those that searched.

    Returns
    -------
    dict of feature to ColumnWords
        Of the features in the rules.
    """
    bounds: dict[str, set[float]] = {}
    for rule in rules:
        for name, condition in rule.conditions:
            bounds.setdefault(name, set()).update(_numeric_ends(condition))
    columns = {column.name: column for column in table.columns}
    return {
        name: ColumnWords.of(columns[name], sorted(ends))
        for name, ends in bounds.items()
        if name in columns
    }


def _numeric_ends(condition: Condition) -> list[float]:
    if not isinstance(condition, Interval) or condition.order is not None:
        return []
    ends = (condition.low, condition.high)
    return [float(end) for end in ends if isinstance(end, int | float)]


def separating_text(bound: float, values: Any) -> str:
    """Write a bound with as few digits as still put every value on its side.

    Parameters
    ----------
    bound : float
        Values up to it belong to one side, larger ones to the other.
    values : array of float
        The values of the data, ascending.

    Examples
    --------
    >>> separating_text(25.832, [25.74, 25.82, 25.9])
    '25.83'
    >>> separating_text(20.09, [19.68, 20.5])
    '20'
    """
    values = np.asarray(values, dtype=np.float64)
    place = int(np.searchsorted(values, bound, side="right"))
    lowest = values[place - 1] if place > 0 else -math.inf
    above = values[place] if place < len(values) else math.inf
    if not (math.isfinite(lowest) and math.isfinite(above)):
        return _number_text(bound)
    magnitude = math.floor(math.log10(max(abs(lowest), abs(above)))) if bound else 0
    for digits in range(-magnitude, 17):
        rounded = round(bound, digits)
        if lowest <= rounded < above:
            return _number_text(rounded)
    return _number_text(bound)


def _number_text(value: float) -> str:
    """A value of a feature: no separators, which would turn the year 2011 into 2,011."""
    return with_minus(value_text(value + 0.0))


def condition_words(
    name: str, condition: Condition, known: ColumnWords | None = None
) -> ConditionWords:
    """A condition on one feature in words.

    Parameters
    ----------
    name : str
        The feature.
    condition : Interval or Levels
    known : ColumnWords, optional
        What is known of the values of the feature.

    Examples
    --------
    >>> hours = ColumnWords(whole=tuple(range(24)))
    >>> condition_words("hr", Interval(None, 6), hours).text
    'hr 0–6'
    >>> condition_words("marital", Levels({"Married"}, others=True)).text
    'marital ≠ Married'
    >>> condition_words("age", Interval.only_missing()).text
    'age missing'
    """
    known = known or ColumnWords()
    feature = shortened(plain(name))
    if not condition.has_values:
        return ConditionWords(feature, "missing" if condition.takes_missing else "impossible")
    if isinstance(condition, Levels):
        words = _of_labels(feature, _listed(condition, known.labels))
    elif condition.low is None and condition.high is None:
        words = ConditionWords(feature, "present")
    elif condition.order is not None or isinstance(condition.low or condition.high, str):
        words = _of_ordered_labels(feature, condition, known)
    else:
        words = _of_bounds(feature, condition, known)
    if condition.missing:
        return words._replace(predicate=f"{words.predicate} or missing")
    return words


class _Listing(NamedTuple):
    """Labels that a condition lists, or all labels but these."""

    labels: list[str]
    negated: bool


def _listed(condition: Levels, all_labels: Sequence[Any]) -> _Listing:
    """The shorter of both ways to say which labels belong; of two labels the one that does."""
    listed = sorted(condition.levels, key=label_order)
    known = [label for label in all_labels if label is not None]
    belongs = [label for label in known if (label in condition.levels) != condition.others]
    excluded = [label for label in known if label not in belongs]
    complete = condition.levels <= set(known)
    if not complete or not belongs or not excluded:
        return _Listing([_label_text(label) for label in listed], condition.others)
    if len(belongs) <= len(excluded):
        return _Listing([_label_text(label) for label in belongs], negated=False)
    return _Listing([_label_text(label) for label in excluded], negated=True)


def _of_labels(feature: str, listing: _Listing) -> ConditionWords:
    if len(listing.labels) == 1:
        sign = "≠" if listing.negated else "="
        return ConditionWords(feature, f"{sign} {listing.labels[0]}")
    negation = "not " if listing.negated else ""
    return ConditionWords(feature, f": {negation}{_alternatives(listing.labels)}")


def _alternatives(labels: Sequence[str]) -> str:
    """``a, b or c``; long lists are cut."""
    if len(labels) > MOST_LABELS:
        kept = labels[: MOST_LABELS - 1]
        return f"{', '.join(kept)} or {len(labels) - len(kept)} more"
    *first, last = labels
    return f"{', '.join(first)} or {last}" if first else last


def _label_text(label: Any) -> str:
    return shortened(plain(label), LONGEST_LABEL)


def _of_ordered_labels(feature: str, condition: Interval, known: ColumnWords) -> ConditionWords:
    order = list(condition.order if condition.order is not None else known.labels)
    low, high = condition.low, condition.high
    if not order:
        return _of_bounds(feature, condition, known)
    first = 0 if low is None else order.index(low) + 1
    last = len(order) - 1 if high is None else order.index(high)
    inside = [_label_text(label) for label in order[first : last + 1]]
    if len(inside) > 2:
        return ConditionWords(feature, f": {inside[0]} to {inside[-1]}")
    return _of_labels(feature, _Listing(inside, negated=False))


def _of_bounds(feature: str, condition: Interval, known: ColumnWords) -> ConditionWords:
    inside = _values_inside(condition, known.pair or known.whole)
    if known.pair and len(inside) == 1:
        return ConditionWords(feature, f"= {_number_text(inside[0])}")
    if known.whole and inside:
        lowest, highest = _number_text(inside[0]), _number_text(inside[-1])
        predicate = f"= {lowest}" if len(inside) == 1 else f"{lowest}–{highest}"
        return ConditionWords(feature, predicate)
    low = None if condition.low is None else _bound_text(condition.low, known)
    high = None if condition.high is None else _bound_text(condition.high, known)
    if high is None:
        return ConditionWords(feature, f"> {low}")
    if low is None:
        return ConditionWords(feature, f"≤ {high}")
    return ConditionWords(feature, f"≤ {high}", bounds_before=f"{low} <")


def _values_inside(condition: Interval, values: Sequence[float]) -> list[float]:
    if not values:
        return []
    array = np.array(values, dtype=np.float64)
    return [float(value) for value in array[condition.contains(array)]]


def _bound_text(bound: Any, known: ColumnWords) -> str:
    if isinstance(bound, float) and bound in known.cuts:
        return known.cuts[bound]
    text = value_text(bound)
    return shortened(plain(text.strip('"')) if isinstance(bound, str) else with_minus(text))


def rule_conditions(rule: Rule, known: Vocabulary | None = None) -> list[ConditionWords]:
    """The conditions of a rule in words, one for each feature."""
    known = known or {}
    return [
        condition_words(name, condition, known.get(name)) for name, condition in rule.conditions
    ]


def rule_words(rule: Rule, known: Vocabulary | None = None) -> str:
    """A rule in words, as in a table or heading.

    Examples
    --------
    >>> rule_words(Rule.parse("hr > 6 and workingday ≤ 0"), {"workingday": ColumnWords(pair=(0.0, 1.0))})
    'hr > 6, workingday = 0'
    >>> rule_words(Rule())
    'all rows'
    """
    return ", ".join(words.text for words in rule_conditions(rule, known)) or ALL_ROWS


def rule_in_sentence(rule: Rule, known: Vocabulary | None = None) -> str:
    """A rule in words, as in running text.

    Examples
    --------
    >>> rule_in_sentence(Rule.parse("hr ≤ 6 and temp > 20"), {"hr": ColumnWords(whole=tuple(range(24)))})
    'hr is 0–6 and temp > 20'
    """
    texts = [words.in_sentence for words in rule_conditions(rule, known)]
    *first, last = texts or [ALL_ROWS]
    return f"{', '.join(first)} and {last}" if first else last
