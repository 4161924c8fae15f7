"""Rules in the languages of other programs: SQL, pandas, Python and polars.

A rule in any language is made of four statements on one column: a comparison, a list of labels, present, missing.
`written` walks a rule; a language knows the statements, none of which but the last holds for a missing value.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import Any, cast

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.regions.conditions import Condition, Levels
from granite_xai.regions.values import (
    SIZES,
    Bound,
    Label,
    attoseconds,
    between,
    label_order,
    value_text,
)

_YEARS = (
    -62_135_596_800 * 10**9,
    253_402_300_800 * 10**9,
)  # nanoseconds from 1970 to the years 1 and 10000
PYTHON = '''\
def {name}(row):
    """Tell whether a row, a mapping of columns to values, satisfies {text}."""
    from datetime import timedelta, timezone

    def present(value):
        return value is not None and type(value).__name__ != "NAType" and bool(value == value)

    def moment(value):
        aware = getattr(value, "tzinfo", None) is not None
        value = value.astimezone(timezone.utc).replace(tzinfo=None) if aware else value
        return str(value).replace("T", " ")

    return bool({code})
'''
"""A rule as a Python function of a row that needs no package; ``format`` puts in name, text and code."""


def _unwritable(name: str, why: str) -> InputError:
    hint = "Rename the column, convert it, or use another language."
    return InputError(
        f"the condition on {name!r} cannot be written: {why}.",
        code="P03",
        columns=[name],
        hint=hint,
    )


def _storable(name: str, text: str) -> str:
    if re.search("[\x00\ud800-\udfff]", text):
        raise _unwritable(name, f"no database holds the text {text!r}")
    return text


def _backticked(name: str) -> str:
    readable = re.fullmatch(r"[\w ?!$€%&*+,./:;<=>^|~()\[\]{}-]+", name)
    if not readable or unicodedata.normalize("NFKC", name) != name:
        raise _unwritable(name, "pandas reads no such name in an expression")
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"`{name}`"


def _escaped(name: str, text: str) -> str:
    # pandas looks for marks in texts, too, and knows no escaped ones.
    return (
        "'" + "".join(c if c.isalnum() or c in " _-." else f"\\U{ord(c):08x}" for c in text) + "'"
    )


@dataclass(frozen=True)
class Text:
    """A language whose statements are text: ``{x}`` is the column, ``{v}`` what it is compared with."""

    column: Callable[[str], str] = lambda name: '"' + _storable(name, name).replace('"', '""') + '"'
    text: Callable[[str, str], str] = lambda name, value: (
        "'" + _storable(name, value).replace("'", "''") + "'"
    )
    truths: tuple[str, str] = ("FALSE", "TRUE")
    compared: str = "{x} {sign} {v}"
    above: str = ""  # for numbers, where the language counts NaN as the largest of them
    inside: str = "{x} IN ({v})"
    outside: str = "{x} NOT IN ({v})"
    outside_numbers: str = ""
    present: str = "{x} IS NOT NULL"
    missing: str = "{x} IS NULL"
    missing_number: str = ""
    both: str = " AND "
    either: str = " OR "
    everything: str = "1 = 1"
    dated: str = ""
    moment: str = "TIMESTAMP '{text}'"
    fine_moment: str = ""
    digits: int = 0  # of a second that dates have at least: where they are compared as text
    duration: str = "INTERVAL '{seconds}' SECOND"

    def compare(self, name: str, sign: str, end: Bound) -> str:
        """Write a comparison."""
        number, date = not isinstance(end, np.generic), isinstance(end, np.datetime64)
        form = self.above if number and sign == ">" else self.dated if date else ""
        return (form or self.compared).format(
            x=self.column(name), sign=sign, v=self._value(name, end)
        )

    def among(self, name: str, labels: Sequence[Label], inside: bool) -> str:
        """Write that the column is, or is none, of some labels."""
        numbers = any(
            isinstance(label, int | float) and not isinstance(label, bool) for label in labels
        )
        outside = self.outside_numbers if numbers and self.outside_numbers else self.outside
        values = ", ".join(self._value(name, label) for label in labels)
        return (self.inside if inside else outside).format(x=self.column(name), v=values)

    def presence(self, name: str, there: bool, number: bool = False) -> str:
        """Write that a value is there, or not; `number`: it would be one."""
        missing = self.missing_number if number and self.missing_number else self.missing
        return (self.present if there else missing).format(x=self.column(name))

    def join(self, parts: Sequence[str], every: bool) -> str:
        """Write that all statements hold, or one of them."""
        return self.both.join(parts) if every else f"({self.either.join(parts)})"

    def _value(self, name: str, value: Bound) -> str:
        """Write a value so that it is read as the same one."""
        if isinstance(value, bool):
            return self.truths[value]
        if isinstance(value, str):
            return self.text(name, value)
        if isinstance(value, np.datetime64):
            whole, rest = divmod(_nanoseconds(name, value), 10**9)
            digits = f"{rest:09}"[: max(len(f"{rest:09}".rstrip("0")), self.digits)]
            text = str(np.datetime64(whole, "s")).replace("T", " ") + f".{digits}".rstrip(".")
            return (self.fine_moment if rest % 1000 and self.fine_moment else self.moment).format(
                text=text
            )
        if isinstance(value, np.timedelta64):
            count = _nanoseconds(name, value)
            if not self.duration or (count % 1000 and "{ns}" not in self.duration):
                raise _unwritable(name, f"{value_text(value)} is no duration there")
            seconds = (
                f"{'-' if count < 0 else ''}{abs(count) // 10**9}.{abs(count) // 1000 % 10**6:06}"
            )
            return self.duration.format(ns=count, us=count // 1000, seconds=seconds)
        # With an exponent it is a double; without one databases may read a decimal number, and round it.
        integer = isinstance(value, int) or (float(value).is_integer() and abs(value) < 2**53)
        return str(int(value)) if integer else repr(value) if "e" in repr(value) else f"{value!r}e0"


def _with_nan(number: str, anything: str) -> Text:
    """SQL of a database in which NaN is no NULL, and larger than every number."""
    missing = f"({{x}} IS NULL OR {number})"
    never = f"({{x}} IS NOT NULL AND NOT ({anything}))"
    return Text(
        above="{x} > {v} AND NOT " + number,
        outside_numbers="{x} NOT IN ({v}) AND NOT " + number,
        missing=f"({{x}} IS NULL OR ({anything}))",
        missing_number=missing,
        present=never,
    )


_DUCK = _with_nan(
    "isnan({x})", "typeof({x}) IN ('FLOAT', 'DOUBLE') AND CAST({x} AS VARCHAR) = 'nan'"
)
_POSTGRES = "pg_typeof({x})::text IN ('real', 'double precision') AND {x}::text = 'NaN'"
DIALECTS = {
    "ansi": Text(),
    "duckdb": replace(_DUCK, fine_moment="TIMESTAMP_NS '{text}'"),
    "postgres": _with_nan("({x} = 'NaN'::float8)", _POSTGRES),
    # Dates are texts there, of more or fewer digits: with all nine a comparison holds for each.
    "sqlite": Text(
        moment="'{text}'", dated="replace({x}, 'T', ' ') {sign} {v}", digits=9, duration=""
    ),
}
_WORDS: dict[str, Any] = {"truths": ("False", "True"), "both": " and ", "either": " or "}
_QUERY: dict[str, Any] = {
    "inside": "{x} in [{v}]",
    "outside": "({x} not in [{v}] and {x}.notnull())",
}
_QUERY |= {
    "present": "{x}.notnull()",
    "missing": "{x}.isnull()",
    "everything": "(index.isnull() or index.notnull())",
}
PANDAS = Text(
    **_WORDS, **_QUERY, text=_escaped, column=_backticked, moment="'{text}'", duration="'{ns} ns'"
)
_CALLS: dict[str, Any] = {
    "present": "present({x})",
    "missing": "not present({x})",
    "everything": "True",
    "digits": 9,
}
_CALLS |= {
    "compared": "present({x}) and {x} {sign} {v}",
    "dated": "present({x}) and moment({x}) {sign} {v}",
}
_CALLS |= {
    "inside": "present({x}) and {x} in ({v},)",
    "outside": "present({x}) and {x} not in ({v},)",
}
_CALLS |= {"moment": "'{text}'", "duration": "timedelta(microseconds={us})"}
# Python, on a row
ROW = Text(
    **_WORDS, **_CALLS, text=lambda name, value: ascii(value), column=lambda name: f"row[{name!a}]"
)


class Polars:
    """Statements as expressions of polars; NaN is missing, though it is a value there."""

    def __init__(self) -> None:
        import polars
        from polars import selectors

        self.pl: Any = polars
        self.selectors, self.everything = selectors, polars.lit(True)

    def compare(self, name: str, sign: str, end: Bound) -> Any:
        """Compare; with numbers as floats, with dates in nanoseconds where they reach."""
        column, value = self._number(name), cast(Any, end)
        if isinstance(end, np.datetime64 | np.timedelta64):
            count, kind = (
                _nanoseconds(name, end),
                {"M": self.pl.Datetime, "m": self.pl.Duration}[end.dtype.kind],
            )
            unit, size = ("ns", 1) if abs(count) < 2**63 else ("us", 1000)
            column, value = (
                self._column(name),
                self.pl.lit(count // size, dtype=self.pl.Int64).cast(kind(unit)),
            )
        return (column > value if sign == ">" else column <= value).fill_null(False)

    def among(self, name: str, labels: Sequence[Label], inside: bool) -> Any:
        """Look labels up: texts as texts, all others as numbers."""
        texts = isinstance(labels[0], str)
        column = self._column(name).cast(self.pl.String) if texts else self._number(name)
        found = column.is_in(
            [_storable(name, label) if isinstance(label, str) else float(label) for label in labels]
        )
        return (found if inside else ~found).fill_null(False)

    def presence(self, name: str, there: bool, number: bool = False) -> Any:
        """Neither null nor NaN, or one of them."""
        floats = self.selectors.by_name(_storable(name, name)) & self.selectors.float()
        gone = self._column(name).is_null() | self.pl.any_horizontal(floats.is_nan()).fill_null(
            True
        )
        return ~gone if there else gone

    def join(self, parts: Sequence[Any], every: bool) -> Any:
        """All statements hold, or one of them."""
        return reduce(and_ if every else or_, parts)

    def _number(self, name: str) -> Any:
        return self._column(name).cast(self.pl.Float64).fill_nan(None)

    def _column(self, name: str) -> Any:
        # A name that looks like a pattern would be read as one.
        return self.pl.col(
            f"^{re.escape(name)}$"
            if name[:1] == "^" and name[-1:] == "$"
            else _storable(name, name)
        )


def written(conditions: Iterable[tuple[str, Condition]], language: Text | Polars) -> Any:
    """Write the conditions of a rule."""
    parts = [_clause(name, condition, language) for name, condition in conditions]
    return (
        language.join(parts, True) if len(parts) > 1 else parts[0] if parts else language.everything
    )


def _clause(name: str, condition: Condition, language: Text | Polars) -> Any:
    ends, labels, inside = _contents(name, condition)
    number = bool(ends) and not isinstance(ends[0][1], np.generic)
    gone, parts = (
        language.presence(name, False, number),
        [language.compare(name, sign, end) for sign, end in ends],
    )
    if labels:
        parts = [language.among(name, labels, inside)]
    elif labels is not None and inside:
        parts = (
            [gone]
            if condition.takes_missing
            else [language.presence(name, there) for there in (True, False)]
        )
        return language.join(parts, True)
    elif not parts:
        parts = [language.presence(name, True)]
    every = language.join(parts, True)
    return language.join([every, gone], False) if condition.takes_missing else every


def _contents(
    name: str, condition: Condition
) -> tuple[list[tuple[str, Bound]], tuple[Label, ...] | None, bool]:
    """Signs with ends; or labels, and whether these are inside or all others. No label inside: no value belongs."""
    if isinstance(condition, Levels):
        labels = tuple(sorted(condition.levels, key=label_order))
        if len({isinstance(label, str) for label in labels}) > 1:
            raise _unwritable(name, "its labels are texts and numbers")
        return [], labels, not condition.others
    low, high, order = condition.low, condition.high, condition.order
    if not condition.has_values and not (condition.others and order):
        return [], (), True
    if order is not None and (low is not None or high is not None):
        kept = between(
            np.array([*order, None], dtype=object)[:-1], low, high, order, condition.others
        )
        labels = tuple(
            label
            for label, one in zip(order, kept.tolist(), strict=True)
            if one != condition.others
        )
        return _contents(name, Levels(set(labels), condition.others))
    if isinstance(low, str) or isinstance(high, str):
        raise _unwritable(name, "the order of its labels is not known")
    return [(sign, end) for sign, end in ((">", low), ("<=", high)) if end is not None], None, True


def _nanoseconds(name: str, end: np.datetime64 | np.timedelta64) -> int:
    """Count up to an end, rounded down: no column there has finer ticks, so every comparison stays as it is."""
    count = attoseconds(end) // SIZES["ns"]
    if isinstance(end, np.datetime64) and not _YEARS[0] <= count < _YEARS[1]:
        raise _unwritable(name, f"{value_text(end)} is not in the years 1 to 9999")
    if isinstance(end, np.timedelta64) and abs(count) >= 2**63:
        raise _unwritable(name, f"{value_text(end)} is too long")
    return count
