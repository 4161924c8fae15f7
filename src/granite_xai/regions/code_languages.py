"""Languages in which a rule is text.

These are SQL, expressions of pandas, and Python.

Templates have ``{x}`` for the column, ``{v}`` for what it is compared with and ``{sign}`` for > or <=.
No statement but those about missing values may hold for a missing value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.regions.code_limits import nanoseconds, pandas_name, storable, unwritable
from granite_xai.regions.values import Bound, Label, value_text

LARGEST_EXACT = 2**53
"""Below it every whole number is a float exactly."""

NANOSECOND_DIGITS = 9


def _sql_name(name: str) -> str:
    return '"' + storable(name, name).replace('"', '""') + '"'


def _sql_text(name: str, text: str) -> str:
    return "'" + storable(name, text).replace("'", "''") + "'"


@dataclass(frozen=True)
class TextLanguage:
    """A language whose statements are text; the defaults are those of standard SQL.

    Parameters
    ----------
    column : callable
        A column as the language names it.
    text : callable
        A text as the language writes it; gets the column, which errors name, and the text.
    truths : tuple of two str
        False and True.
    compared, compared_date : str
        Templates of a comparison; of one with a date, where that differs.
    above_number : str
        Template of ``x > number``, where the language counts NaN as the largest number.
    inside, outside, outside_numbers : str
        Templates of "one of" and "none of" some labels; of the latter for numbers, where NaN is a
        value.
    present, missing, missing_number : str
        Templates; of the latter for numbers, where NaN is a value.
    and_, or_ : str
        What joins statements that hold together, and those of which one holds.
    everything : str
        A statement that holds for every row.
    date, fine_date : str
        Templates of a date with ``{text}``; of one with nanoseconds, where that differs.
    second_digits : int
        Digits of a second that dates have at least, where dates are compared as text.
    duration : str
        Template of a duration with ``{seconds}``, ``{us}`` or ``{ns}``; empty: there are none.
    """

    column: Callable[[str], str] = _sql_name
    text: Callable[[str, str], str] = _sql_text
    truths: tuple[str, str] = ("FALSE", "TRUE")
    compared: str = "{x} {sign} {v}"
    compared_date: str = ""
    above_number: str = ""
    inside: str = "{x} IN ({v})"
    outside: str = "{x} NOT IN ({v})"
    outside_numbers: str = ""
    present: str = "{x} IS NOT NULL"
    missing: str = "{x} IS NULL"
    missing_number: str = ""
    and_: str = " AND "
    or_: str = " OR "
    everything: str = "1 = 1"
    date: str = "TIMESTAMP '{text}'"
    fine_date: str = ""
    second_digits: int = 0
    duration: str = "INTERVAL '{seconds}' SECOND"

    def compare(self, name: str, sign: str, end: Bound) -> str:
        """Write a comparison.

        Parameters
        ----------
        name : str
            The column.
        sign : ">" or "<="
        end : number, date or duration
        """
        template = self.compared
        is_number = not isinstance(end, np.generic)
        if is_number and sign == ">" and self.above_number:
            template = self.above_number
        elif isinstance(end, np.datetime64) and self.compared_date:
            template = self.compared_date
        return template.format(x=self.column(name), sign=sign, v=self._value(name, end))

    def is_one_of(self, name: str, labels: Sequence[Label]) -> str:
        """Write that the column is one of some labels."""
        return self.inside.format(x=self.column(name), v=self._listing(name, labels))

    def is_none_of(self, name: str, labels: Sequence[Label]) -> str:
        """Write that the column has a value that is none of some labels."""
        template = self.outside
        if self.outside_numbers and any(_is_number(label) for label in labels):
            template = self.outside_numbers
        return template.format(x=self.column(name), v=self._listing(name, labels))

    def _listing(self, name: str, labels: Sequence[Label]) -> str:
        return ", ".join(self._value(name, label) for label in labels)

    def is_present(self, name: str) -> str:
        """Write that a value is there."""
        return self.present.format(x=self.column(name))

    def is_missing(self, name: str, of_numbers: bool = False) -> str:
        """Write that no value is there; ``of_numbers``: the column has numbers."""
        template = self.missing
        if of_numbers and self.missing_number:
            template = self.missing_number
        return template.format(x=self.column(name))

    def conjunction(self, statements: Sequence[str]) -> str:
        """Write that all of some statements hold."""
        return self.and_.join(statements)

    def disjunction(self, first: str, second: str) -> str:
        """Write that one of two statements holds, or both."""
        return f"({first}{self.or_}{second})"

    def _value(self, name: str, value: Bound) -> str:
        """Write a value so that it is read as the same one."""
        if isinstance(value, bool):
            return self.truths[value]
        if isinstance(value, str):
            return self.text(name, value)
        if isinstance(value, np.datetime64):
            return self._date(name, value)
        if isinstance(value, np.timedelta64):
            return self._duration(name, value)
        return _number(value)

    def _date(self, name: str, value: np.datetime64) -> str:
        seconds, fraction = divmod(nanoseconds(name, value), 10**9)
        digits = f"{fraction:0{NANOSECOND_DIGITS}}"
        n_digits = max(len(digits.rstrip("0")), self.second_digits)
        text = str(np.datetime64(seconds, "s")).replace("T", " ")
        if n_digits > 0:
            text = f"{text}.{digits[:n_digits]}"
        template = self.date
        if fraction % 1000 and self.fine_date:
            template = self.fine_date
        return template.format(text=text)

    def _duration(self, name: str, value: np.timedelta64) -> str:
        count = nanoseconds(name, value)
        is_too_fine = count % 1000 != 0 and "{ns}" not in self.duration
        if not self.duration or is_too_fine:
            raise unwritable(name, f"{value_text(value)} is no duration there")
        seconds, fraction = divmod(abs(count), 10**9)
        decimals = f"{seconds}.{fraction // 1000:06}"
        if count < 0:
            decimals = f"-{decimals}"
        return self.duration.format(ns=count, us=count // 1000, seconds=decimals)


def _is_number(label: Label) -> bool:
    return isinstance(label, int | float) and not isinstance(label, bool)


def _number(value: float) -> str:
    """Write a number so that a database reads the same double."""
    is_exact = isinstance(value, int) or (value.is_integer() and abs(value) < LARGEST_EXACT)
    if is_exact:
        return str(int(value))
    text = repr(value)
    if "e" in text:
        return text
    return f"{text}e0"  # without an exponent it may be read as a decimal number, and rounded


def _sql_with_nan(is_nan_number: str, is_nan: str) -> TextLanguage:
    """SQL of a database in which NaN is no NULL, and larger than every number.

    Parameters
    ----------
    is_nan_number : str
        Template that holds for NaN in a column of numbers.
    is_nan : str
        Template that holds for NaN in a column of any type.
    """
    return TextLanguage(
        above_number=f"{{x}} > {{v}} AND NOT {is_nan_number}",
        outside_numbers=f"{{x}} NOT IN ({{v}}) AND NOT {is_nan_number}",
        missing=f"({{x}} IS NULL OR ({is_nan}))",
        missing_number=f"({{x}} IS NULL OR {is_nan_number})",
        present=f"({{x}} IS NOT NULL AND NOT ({is_nan}))",
    )


_DUCKDB = _sql_with_nan(
    is_nan_number="isnan({x})",
    is_nan="typeof({x}) IN ('FLOAT', 'DOUBLE') AND CAST({x} AS VARCHAR) = 'nan'",
)
_POSTGRES = _sql_with_nan(
    is_nan_number="({x} = 'NaN'::float8)",
    is_nan="pg_typeof({x})::text IN ('real', 'double precision') AND {x}::text = 'NaN'",
)
DIALECTS = {
    "ansi": TextLanguage(),
    "duckdb": replace(_DUCKDB, fine_date="TIMESTAMP_NS '{text}'"),
    "postgres": _POSTGRES,
    # Dates are texts there, of more or fewer digits: with all nine a comparison holds for each.
    "sqlite": TextLanguage(
        date="'{text}'",
        compared_date="replace({x}, 'T', ' ') {sign} {v}",
        second_digits=NANOSECOND_DIGITS,
        duration="",
    ),
}
"""SQL by the name of its dialect."""


def _escaped_for_pandas(name: str, text: str) -> str:
    """A text as an expression of pandas, which looks for marks in texts and knows no escaped ones."""
    escaped = ""
    for letter in text:
        if letter.isalnum() or letter in " _-.":
            escaped += letter
        else:
            escaped += f"\\U{ord(letter):08x}"
    return f"'{escaped}'"


PANDAS = TextLanguage(
    column=pandas_name,
    text=_escaped_for_pandas,
    truths=("False", "True"),
    inside="{x} in [{v}]",
    outside="({x} not in [{v}] and {x}.notnull())",
    present="{x}.notnull()",
    missing="{x}.isnull()",
    and_=" and ",
    or_=" or ",
    everything="(index.isnull() or index.notnull())",
    date="'{text}'",
    duration="'{ns} ns'",
)
"""Expressions for ``DataFrame.query`` and ``DataFrame.eval``."""

PYTHON = TextLanguage(
    column=lambda name: f"row[{name!a}]",
    text=lambda name, text: ascii(text),
    truths=("False", "True"),
    compared="present({x}) and {x} {sign} {v}",
    compared_date="present({x}) and moment({x}) {sign} {v}",
    inside="present({x}) and {x} in ({v},)",
    outside="present({x}) and {x} not in ({v},)",
    present="present({x})",
    missing="not present({x})",
    and_=" and ",
    or_=" or ",
    everything="True",
    date="'{text}'",
    second_digits=NANOSECOND_DIGITS,
    duration="timedelta(microseconds={us})",
)
"""Conditions inside `PYTHON_FUNCTION`."""

PYTHON_FUNCTION = '''\
def {name}(row):
    """{says}"""
    from datetime import timedelta, timezone

    def present(value):
        return value is not None and type(value).__name__ != "NAType" and bool(value == value)

    def moment(value):
        aware = getattr(value, "tzinfo", None) is not None
        value = value.astimezone(timezone.utc).replace(tzinfo=None) if aware else value
        return str(value).replace("T", " ")

{body}
'''
"""A function of a row, a mapping of columns to values, that needs no package; ``format`` puts in the rest."""


def python_function(name: str, says: str, body: str) -> str:
    """Write a function of a row.

    Parameters
    ----------
    name : str
        Of the function.
    says : str
        Its docstring, in ASCII.
    body : str
        Statements that return something, indented by four; their conditions are those of `PYTHON`.
    """
    if not name.isidentifier():
        raise InputError(f"name={name!r} is no name of a function.", code="P02", argument="name")
    return PYTHON_FUNCTION.format(name=name, says=says, body=body)
