"""Rules in words: `workingday = 0`, `hr 0–6`, `education: Masters or PhD`; and the tree in words.

The text of a rule is exact and can be read back; its words are for people. They need to know which
values a feature has: `ColumnWords` keeps what they need of them, so that a partition can be printed
without its table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.numbers import with_minus
from granite_xai.base.text import ALL_ROWS, plain, shortened
from granite_xai.regions.rule import Condition, Interval, Levels, Rule
from granite_xai.regions.tree import Place, Split
from granite_xai.regions.values import label_sort_key, value_text
from granite_xai.tables import Column, Table

MOST_WHOLE_VALUES = 31  # whole numbers that are written as ranges: hours, weekdays, days of a month
MOST_LABELS = 4  # labels that a condition lists
LONGEST_LABEL = 30  # characters of a label
MOST_DIGITS = 16  # decimals with which a bound is tried: no float has more
IMPOSSIBLE = "impossible"  # what is said of a condition that no value satisfies

STOP_WORDS = {
    "below alpha": "little left to split",
    "no more than chance": "only sampling noise left",
    "split undone": "a further split did not hold up",
    "improvement too small": "a further split did not hold up",
    "maximum depth": "max_depth reached",
    "too few samples": "too few rows",
}
"""What is said of reasons to stop; others are said as they are."""


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
        if self.predicate.startswith(":"):
            return f"{self.feature}{self.predicate}"
        if self.bounds_before:
            return f"{self.bounds_before} {self.feature} {self.predicate}"
        return f"{self.feature} {self.predicate}"

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
    pair : tuple of two float
        Both values of a feature that has only two; empty for others.
    labels : tuple
        All labels of a feature without numbers, in their order.
    cuts : mapping of number to text
        Bounds, rounded as far as they still separate the values of the data.
    has_missing : bool
        Whether it has missing values. Where it has none the words of a rule leave out where they
        would go.
    """

    whole: tuple[int, ...] = ()
    pair: tuple[float, ...] = ()
    labels: tuple[Any, ...] = ()
    cuts: Mapping[float, str] = field(default_factory=dict)
    has_missing: bool = True

    @classmethod
    def of(cls, column: Column, bounds: Iterable[float] = ()) -> ColumnWords:
        """Those of a column.

        Parameters
        ----------
        column : Column
        bounds : iterable of float
            At which rules cut a numeric column.
        """
        has_missing = bool(column.missing.any())
        if column.kind == "date":
            return cls(has_missing=has_missing)
        if column.kind != "numeric":
            labels = column.levels.tolist() if column.order is None else column.order
            return cls(labels=tuple(labels), has_missing=has_missing)
        values = column.levels.astype(np.float64)  # ascending
        cuts = {float(bound): separating_text(float(bound), values) for bound in bounds}
        pair: tuple[float, ...] = ()
        whole: tuple[int, ...] = ()
        if len(values) == 2:
            pair = tuple(values.tolist())
        elif 0 < len(values) <= MOST_WHOLE_VALUES and values[0] >= 0 and np.all(values % 1 == 0):
            whole = tuple(values.astype(np.int64).tolist())
        return cls(whole=whole, pair=pair, cuts=cuts, has_missing=has_missing)


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
    words = {}
    for column in table.columns:
        if column.name in bounds:
            words[column.name] = ColumnWords.of(column, sorted(bounds[column.name]))
    return words


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
    n_below = int(np.searchsorted(values, bound, side="right"))  # values up to the bound
    if n_below == 0 or n_below == len(values):
        return _number_text(bound)
    last_below = values[n_below - 1]
    first_above = values[n_below]
    if not (math.isfinite(last_below) and math.isfinite(first_above)):
        return _number_text(bound)
    magnitude = 0
    if bound != 0:
        magnitude = math.floor(math.log10(max(abs(last_below), abs(first_above))))
    for digits in range(-magnitude, MOST_DIGITS + 1):
        rounded = round(bound, digits)
        if last_below <= rounded < first_above:
            return _number_text(rounded)
    return _number_text(bound)


def _number_text(value: float) -> str:
    """A value of a feature: no separators, which would turn the year 2011 into 2,011."""
    return with_minus(value_text(value + 0.0))


def condition_words(
    name: str, condition: Condition, column_words: ColumnWords | None = None
) -> ConditionWords:
    """A condition on one feature in words.

    Parameters
    ----------
    name : str
        The feature.
    condition : Interval or Levels
    column_words : ColumnWords, optional
        What is known of the values of the feature.

    Examples
    --------
    >>> hours = ColumnWords(whole=tuple(range(24)))
    >>> condition_words("hr", Interval(None, 6), hours).text
    'hr 0–6'
    >>> condition_words("marital", Levels({"Married"}, others=True)).text
    'marital ≠ Married'
    >>> condition_words("age", Interval.without_values(missing=True)).text
    'age missing'
    """
    column_words = column_words or ColumnWords()
    feature = feature_text(name)
    if not condition.has_values:
        return ConditionWords(feature, "missing" if condition.missing else IMPOSSIBLE)
    if isinstance(condition, Levels):
        words = _words_of_labels(feature, *shorter_listing(condition, column_words.labels))
    elif not condition.has_ends:
        words = ConditionWords(feature, "present")
    elif condition.order is not None or str in (type(condition.low), type(condition.high)):
        words = _words_of_ordered_labels(feature, condition, column_words)
    else:
        words = _words_of_bounds(feature, condition, column_words)
    if condition.missing and words.predicate == IMPOSSIBLE:
        return ConditionWords(feature, "missing")
    if condition.missing and column_words.has_missing:
        return words._replace(predicate=f"{words.predicate} or missing")
    return words


def _words_of_labels(feature: str, labels: Sequence[str], are_excluded: bool) -> ConditionWords:
    """``= a``, ``≠ a``, ``: a or b``, ``: not a or b``; ``present`` for all labels but none."""
    if not labels:
        return ConditionWords(feature, "present" if are_excluded else IMPOSSIBLE)
    if len(labels) == 1:
        return ConditionWords(feature, f"{'≠' if are_excluded else '='} {labels[0]}")
    if len(labels) > MOST_LABELS:
        n_listed = MOST_LABELS - 1
        labels = [*labels[:n_listed], f"{len(labels) - n_listed} more"]
    return ConditionWords(feature, f": {'not ' * are_excluded}{word_list(labels, 'or')}")


def shorter_listing(condition: Levels, all_labels: Sequence[Any]) -> tuple[list[str], bool]:
    """The shorter of two listings: labels that belong, or those that do not (then True).

    Of equal length the first; as the condition lists them where not all labels are known.

    Parameters
    ----------
    condition : Levels
    all_labels : sequence of labels
        Of the column, as far as they are known.
    """
    listed = [label for label in all_labels if label in condition.levels]
    unlisted = [
        label for label in all_labels if label not in condition.levels and label is not None
    ]
    belonging, excluded = (unlisted, listed) if condition.others else (listed, unlisted)
    if not (len(listed) == len(condition.levels) and belonging and excluded):
        labels: Sequence[Any] = sorted(condition.levels, key=label_sort_key)
        are_excluded = condition.others
    else:
        are_excluded = len(belonging) > len(excluded)
        labels = excluded if are_excluded else belonging
    return [label_text(label) for label in labels], are_excluded


def label_text(label: Any) -> str:
    """A label on one line, cut if it is long."""
    return shortened(plain(label), LONGEST_LABEL)


def word_list(texts: Sequence[str], conjunction: str = "and") -> str:
    """Texts one after the other, at least one, as in a sentence.

    Examples
    --------
    >>> word_list(["hr", "temp", "season"]), word_list(["a", "b"], "or"), word_list(["hr"])
    ('hr, temp and season', 'a or b', 'hr')
    """
    *first, last = texts
    if not first:
        return last
    return f"{', '.join(first)} {conjunction} {last}"


def _words_of_ordered_labels(
    feature: str, interval: Interval, column_words: ColumnWords
) -> ConditionWords:
    """``: a to d``, or the labels themselves where there are only two; bounds without an order."""
    order = list(column_words.labels if interval.order is None else interval.order)
    if not order:
        return _words_of_bounds(feature, interval, column_words)
    start = 0 if interval.low is None else order.index(interval.low) + 1
    stop = len(order) if interval.high is None else order.index(interval.high) + 1
    inside = [label_text(label) for label in order[start:stop]]
    if len(inside) > 2:
        return ConditionWords(feature, f": {inside[0]} to {inside[-1]}")
    return _words_of_labels(feature, inside, are_excluded=False)


def _words_of_bounds(feature: str, interval: Interval, column_words: ColumnWords) -> ConditionWords:
    """``= 0`` and ``0–6`` where the values of the feature are few, otherwise the bounds."""
    inside: list[float] = []
    if column_words.pair or column_words.whole:
        values = np.array(column_words.pair or column_words.whole, dtype=np.float64)
        inside = values[interval.contains(values)].tolist()
    if len(inside) == 1:
        return ConditionWords(feature, f"= {_number_text(inside[0])}")
    if column_words.whole and inside:
        return ConditionWords(feature, f"{_number_text(inside[0])}–{_number_text(inside[-1])}")
    if interval.high is None:
        return ConditionWords(feature, f"> {_bound_text(interval.low, column_words)}")
    at_most = f"≤ {_bound_text(interval.high, column_words)}"
    if interval.low is None:
        return ConditionWords(feature, at_most)
    above = f"{_bound_text(interval.low, column_words)} <"
    return ConditionWords(feature, at_most, bounds_before=above)


def _bound_text(bound: Any, column_words: ColumnWords) -> str:
    """An end of an interval, rounded where it is known how far."""
    if isinstance(bound, float) and bound in column_words.cuts:
        return column_words.cuts[bound]
    text = value_text(bound)
    if isinstance(bound, str):
        return shortened(plain(text.strip('"')))
    return shortened(with_minus(text))


def rule_conditions(rule: Rule, vocabulary: Vocabulary | None = None) -> list[ConditionWords]:
    """The conditions of a rule in words, one for each feature; parameters as of `rule_words`."""
    vocabulary = vocabulary or {}
    conditions = []
    for name, condition in rule.conditions:
        conditions.append(condition_words(name, condition, vocabulary.get(name)))
    return conditions


def rule_words(rule: Rule, vocabulary: Vocabulary | None = None) -> str:
    """A rule in words, as in a table or heading.

    Parameters
    ----------
    rule : Rule
    vocabulary : mapping of feature to ColumnWords, optional
        What is known of the features.

    Examples
    --------
    >>> words = {"workingday": ColumnWords(pair=(0.0, 1.0))}
    >>> rule_words(Rule.parse("hr > 6 and workingday ≤ 0"), words)
    'hr > 6, workingday = 0'
    >>> rule_words(Rule())
    'all rows'
    """
    if not rule.conditions:
        return ALL_ROWS
    return ", ".join(words.text for words in rule_conditions(rule, vocabulary))


def rule_in_sentence(rule: Rule, vocabulary: Vocabulary | None = None) -> str:
    """A rule in words, as in running text; parameters as of `rule_words`.

    Examples
    --------
    >>> words = {"hr": ColumnWords(whole=tuple(range(24)))}
    >>> rule_in_sentence(Rule.parse("hr ≤ 6 and temp > 20"), words)
    'hr is 0–6 and temp > 20'
    """
    if not rule.conditions:
        return ALL_ROWS
    return word_list([words.in_sentence for words in rule_conditions(rule, vocabulary)])


def feature_text(name: str) -> str:
    """The name of a feature as people see it: on one line, and not too long.

    Parameters
    ----------
    name : str
        As in the table.
    """
    return shortened(plain(name))


def stop_reason_words(reason: str) -> str:
    """Why a region was not split, in words.

    Examples
    --------
    >>> stop_reason_words("below alpha")
    'little left to split'
    """
    return STOP_WORDS.get(reason, reason)


def draw_tree(places: Sequence[Place], vocabulary: Vocabulary) -> list[tuple[Place, str, str]]:
    """The nodes of a tree, each with its branches and the words of its edge.

    Parameters
    ----------
    places : sequence of Place
        Parents first; regions without a tree have no branches.
    vocabulary : mapping of feature to ColumnWords
        What the words of conditions need to know.
    """
    drawn: list[tuple[Place, str, str]] = []
    indents: list[str] = []  # what stands before the branches of the children of each node
    for place in places:
        parent = place.parent
        branch = indent = ""
        if parent is not None and isinstance(parent.node, Split):
            is_left = place.number == parent.number + 1
            branch = indents[parent.number] + ("├─ " if is_left else "└─ ")
            indent = indents[parent.number] + ("│  " if is_left else "   ")
        indents.append(indent)
        drawn.append((place, branch, rule_words(place.edge, vocabulary)))
    return drawn
