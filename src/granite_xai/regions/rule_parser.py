"""Rules read from their text: ``x ≤ 3 and 6.5 < hr ≤ 20 and w in {a, b} or missing``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.wording import ALL_ROWS
from granite_xai.regions.conditions import Condition, Interval, Levels
from granite_xai.regions.instants import SIZES, UNITS, instant
from granite_xai.regions.values import KEYWORDS, Label, as_number, unquoted

_WORD = r"[^\W\d]\w*\b"
_NAME = rf"(?:`(?:[^`\\]|\\.)*`|{_WORD})"
_VALUES = re.compile(
    rf"""(?P<quote>"(?:[^"\\]|\\.)*")
  | (?P<date>-?\d{{4,}}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?![\w.]))
  | (?P<duration>-?\d+\ (?:{"|".join(UNITS)})\b)
  | (?P<number>-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
  | (?P<word>{_WORD})""",
    re.VERBOSE | re.DOTALL,
)
_VALUE = "(?:" + re.sub(r"\?P<\w+>", "?:", _VALUES.pattern) + ")"
_CLAUSE = re.compile(
    rf"""\s* (?P<open>(?:\(\s*)*) (?:(?P<low>{_VALUE})\s*<\s*)? (?P<name>{_NAME}) \s* (?:
    (?:≤|<=)\s* (?P<high>{_VALUE})
  | > \s* (?P<above>{_VALUE})
  | is\b \s* (?P<state>missing|impossible|present)\b
  | is\b \s* (?P<is_not>not\b\s*)? (?P<label>{_VALUE})
  | (?P<not_in>not\b\s*)? in\b \s* \{{\s* (?P<labels>(?:{_VALUE}\s*(?:,\s*{_VALUE}\s*)*)?) \}}
) \s* (?P<or_missing>or\b\s*missing\b\s*)? (?P<close>(?:\)\s*)*) (?:(?P<and>and\b)|\Z)""",
    re.VERBOSE | re.DOTALL,
)
"""One condition on one column, up to the next "and" or the end of the text.

Of the groups high, above, state, label and labels exactly one is there; low may stand before any of them.
is_not stands before a label ("w is not mist"), not_in before labels ("w not in {a, b}").
"""


def parse_conditions(
    text: str, orders: Mapping[str, Sequence[Label]]
) -> Iterator[tuple[str, Condition]]:
    """Read the conditions of a rule.

    Parameters
    ----------
    text : str
        What ``str(rule)`` gives; ``<=`` may stand for ``≤``, and a column may have several
        conditions.
    orders : mapping of column name to labels
        Labels of ordered columns, lowest first.

    Yields
    ------
    name, condition
        In the order of the text.

    Raises
    ------
    InputError
        Of a text that is no rule.
    """
    if text.strip() == ALL_ROWS:
        return
    position = 0
    while True:
        clause = _CLAUSE.match(text, position)
        if clause is None or clause["name"] in KEYWORDS:
            raise _not_a_rule(text)
        if clause["open"].count("(") != clause["close"].count(")"):
            raise _not_a_rule(text)
        name = clause["name"]
        if name.startswith("`"):
            name = unquoted(name)
        yield name, _condition(clause, orders.get(name))
        if clause["and"] is None:
            return
        position = clause.end()


def _condition(clause: re.Match[str], order: Sequence[Label] | None) -> Condition:
    """What a clause says of its column."""
    text = clause.string
    or_missing = clause["or_missing"] is not None
    if clause["low"] and not clause["high"]:  # "3 < x > 5"
        raise _not_a_rule(text)
    if clause["low"] or clause["above"] or clause["high"]:
        return _interval(clause, order)
    if clause["state"] == "present":
        return Interval(missing=or_missing)
    if clause["state"]:
        if or_missing:  # "x is missing or missing"
            raise _not_a_rule(text)
        return Interval.without_values(missing=clause["state"] == "missing")
    if clause["label"]:
        labels = {_label(clause["label"], text)}
    else:
        labels = {_label(match[0], text) for match in _VALUES.finditer(clause["labels"])}
    is_negated = bool(clause["is_not"] or clause["not_in"])
    return Levels(labels, others=is_negated, missing=or_missing)


def _interval(clause: re.Match[str], order: Sequence[Label] | None) -> Interval:
    """The interval of a clause with one end or two."""
    ends: list[Any] = []
    for word in (clause["low"] or clause["above"], clause["high"]):
        if word is None:
            ends.append(None)
        elif order is None:
            ends.append(_end(word, clause.string))
        else:
            ends.append(_label(word, clause.string))
    low, high = ends
    or_missing = clause["or_missing"] is not None
    interval = Interval(low=low, high=high, order=order, missing=or_missing)
    if not interval.has_values:
        # Never written by us: a slip, or labels whose order is not that of numbers.
        raise _not_a_rule(clause.string)
    return interval


def _label(word: str, text: str) -> Label:
    """A label: text in quotes or a plain word, a number or a truth value."""
    kind = _kind_of(word)
    if kind == "number":
        if re.fullmatch(r"-?\d+", word):
            return int(word)
        return as_number(word)
    if word in ("True", "False"):
        return word == "True"
    if kind == "quote":
        return unquoted(word)
    if kind != "word" or word in KEYWORDS:
        raise _not_a_rule(text)
    return word


def _end(word: str, text: str) -> Any:
    """An end of an interval: a number, date or duration, or a label."""
    kind = _kind_of(word)
    if kind == "number":
        return as_number(word)
    try:
        if kind == "duration":
            count, unit = word.split(" ")
            return instant(np.timedelta64, int(count) * SIZES[UNITS[unit]])
        if kind == "date":
            return _date(word)
    except (ValueError, OverflowError):
        raise _not_a_rule(text) from None
    return _label(word, text)


def _date(word: str) -> np.datetime64:
    """A date; ValueError where NumPy cannot hold it.

    NumPy wraps around silently when a date does not fit into 64 bits of the unit that its text
    implies: what it read must begin like the text.
    """
    iso_text = word.replace(" ", "T")
    date = np.datetime64(iso_text)
    if not str(date).startswith(iso_text):
        raise ValueError(word)
    return date


def _kind_of(word: str) -> str | None:
    """Which kind of value a word is: quote, date, duration, number or word."""
    match = _VALUES.fullmatch(word)
    if match is None:
        return None
    return match.lastgroup


def _not_a_rule(text: str) -> InputError:
    return InputError(
        f"{text!r} is not a rule.",
        code="P02",
        argument="rule",
        hint="Rules read like 'x ≤ 3 and 6.5 < hr ≤ 20 and w in {a, b}', "
        'with `names` and "labels" in marks.',
    )
