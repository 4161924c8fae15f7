"""Rules in the languages of other programs: SQL, expressions of pandas, Python, polars and narwhals.

A rule in any language is made of a few statements on one column: a comparison, a list of labels,
present, missing. `Interval.write` and `Levels.write` choose them; a `Language` knows how they are
written, and one more dialect of SQL is one more small class in `DIALECTS`.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any, Protocol

import narwhals as nw
import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import listing
from granite_xai.regions import values
from granite_xai.regions.values import Bound, Label, value_text

YEAR_1 = -62_135_596_800 * 10**9  # nanoseconds from 1970 to the first year of SQL and Python
YEAR_10000 = 253_402_300_800 * 10**9  # … and to the first year that has five digits
LONGEST = 2**63  # nanoseconds that no duration reaches
LARGEST_EXACT = 2**53  # below it every whole number is a float exactly
NANOSECOND_DIGITS = 9

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
_NAME_IN_PANDAS = re.compile(r"[\w ?!$€%&*+,./:;<=>^|~()\[\]{}-]+")


class Language(Protocol):
    """The statements of a language: text, or expressions that combine by ``&``, ``|`` and ``~``.

    No statement but `missing` holds for a missing value.
    """

    everything: Any
    """A statement that holds for every row."""

    def compare(self, name: str, sign: str, end: Bound) -> Any:
        """A column is > or <= a number, date or duration."""

    def listed(self, name: str, labels: Sequence[Label], negated: bool) -> Any:
        """A column has one of some labels, or a value that is none of them."""

    def missing(self, name: str, of_numbers: bool = False) -> Any:
        """A column, perhaps known to have numbers, has no value."""

    def present(self, name: str) -> Any:
        """A column has a value."""
        return ~self.missing(name)

    def all_of(self, statements: Sequence[Any]) -> Any:
        """All of some statements hold."""
        return reduce(and_, statements)

    def any_of(self, first: Any, second: Any) -> Any:
        """One of two statements holds, or both."""
        return first | second

    def order_of(self, name: str, ends: Sequence[Bound]) -> Sequence[Label]:
        """The labels of an ordered column, for an interval of labels that has no order of its own."""
        raise unwritable(name, "the order of its labels is not known")


def unwritable(name: str, reason: str) -> InputError:
    """The error of a condition on a column that a language cannot say."""
    return InputError(
        f"the condition on {name!r} cannot be written: {reason}.",
        code="P03",
        columns=[name],
        hint="Rename the column, convert it, or use another language.",
    )


def storable(name: str, text: str) -> str:
    """A text that databases hold; another one is an error that names the column."""
    if _NOT_STORABLE.search(text):
        raise unwritable(name, f"no database holds the text {text!r}")
    return text


def nanoseconds(name: str, end: np.datetime64 | np.timedelta64) -> int:
    """Nanoseconds of a date from the year 1 to 9999, or of a duration of 64 bits."""
    count = values.nanoseconds(end)
    if isinstance(end, np.datetime64) and not YEAR_1 <= count < YEAR_10000:
        raise unwritable(name, f"{value_text(end)} is not in the years 1 to 9999")
    if isinstance(end, np.timedelta64) and abs(count) >= LONGEST:
        raise unwritable(name, f"{value_text(end)} is too long")
    return count


def _are_texts(name: str, labels: Sequence[Label]) -> bool:
    """Whether labels are texts; a list of texts and numbers is refused."""
    n_texts = sum(isinstance(label, str) for label in labels)
    if 0 < n_texts < len(labels):
        raise unwritable(name, "its labels are texts and numbers")
    return n_texts > 0


class TextLanguage(Language):
    """A language whose statements are text; as it stands, standard SQL.

    Templates have ``{x}`` for the column, ``{v}`` for what it is compared with and ``{sign}`` for > or
    <=. A template that is empty is that of the general case.
    """

    everything = "1 = 1"
    truths = ("FALSE", "TRUE")
    joined_and = " AND "
    joined_or = " OR "
    compared = "{x} {sign} {v}"
    compared_date = ""
    above_number = ""  # "x > number", where NaN counts as the largest number
    inside = "{x} IN ({v})"
    outside = "{x} NOT IN ({v})"
    outside_numbers = ""  # where NaN is a value
    is_present = "{x} IS NOT NULL"
    is_missing = "{x} IS NULL"
    is_missing_number = ""  # where NaN is a value
    date = "TIMESTAMP '{text}'"
    fine_date = ""  # of a date with nanoseconds
    second_digits = 0  # digits of a second at least, where dates are compared as text
    duration = "INTERVAL '{seconds}' SECOND"  # with {seconds}, {us} or {ns}; empty: there are none

    def column(self, name: str) -> str:
        """Write a column."""
        return '"' + storable(name, name).replace('"', '""') + '"'

    def text(self, name: str, text: str) -> str:
        """Write a text that a column is compared with."""
        return "'" + storable(name, text).replace("'", "''") + "'"

    def compare(self, name: str, sign: str, end: Bound) -> str:
        """Write that a column is > or <= a number, date or duration."""
        template = self.compared
        if isinstance(end, np.datetime64):
            template = self.compared_date or template
        elif sign == ">" and not isinstance(end, np.timedelta64):
            template = self.above_number or template
        return template.format(x=self.column(name), sign=sign, v=self._value(name, end))

    def listed(self, name: str, labels: Sequence[Label], negated: bool) -> str:
        """Write that a column has one of some labels, or a value that is none of them."""
        are_texts = _are_texts(name, labels)
        template = self.outside if negated else self.inside
        if negated and not are_texts and not all(isinstance(label, bool) for label in labels):
            template = self.outside_numbers or template
        written = ", ".join(self._value(name, label) for label in labels)
        return template.format(x=self.column(name), v=written)

    def present(self, name: str) -> str:
        """Write that a value is there."""
        return self.is_present.format(x=self.column(name))

    def missing(self, name: str, of_numbers: bool = False) -> str:
        """Write that no value is there; ``of_numbers``: the column has numbers."""
        template = self.is_missing
        if of_numbers:
            template = self.is_missing_number or template
        return template.format(x=self.column(name))

    def all_of(self, statements: Sequence[str]) -> str:
        """Write that all of some statements hold."""
        return self.joined_and.join(statements)

    def any_of(self, first: str, second: str) -> str:
        """Write that one of two statements holds, or both."""
        return f"({first}{self.joined_or}{second})"

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
        if isinstance(value, int) or (value.is_integer() and abs(value) < LARGEST_EXACT):
            return str(int(value))
        text = repr(value)
        # Without an exponent a database may read a decimal number, and round it.
        return text if "e" in text else f"{text}e0"

    def _date(self, name: str, value: np.datetime64) -> str:
        seconds, fraction = divmod(nanoseconds(name, value), 10**9)
        digits = f"{fraction:0{NANOSECOND_DIGITS}}"
        n_digits = max(len(digits.rstrip("0")), self.second_digits)
        text = str(np.datetime64(seconds, "s")).replace("T", " ")
        if n_digits > 0:
            text = f"{text}.{digits[:n_digits]}"
        template = self.date
        if fraction % 1000:
            template = self.fine_date or template
        return template.format(text=text)

    def _duration(self, name: str, value: np.timedelta64) -> str:
        count = nanoseconds(name, value)
        is_too_fine = count % 1000 != 0 and "{ns}" not in self.duration
        if not self.duration or is_too_fine:
            raise unwritable(name, f"{value_text(value)} is no duration there")
        seconds, fraction = divmod(abs(count), 10**9)
        decimals = "-" * (count < 0) + f"{seconds}.{fraction // 1000:06}"
        return self.duration.format(ns=count, us=count // 1000, seconds=decimals)


class DuckDB(TextLanguage):
    """NaN is no NULL there, and larger than every number."""

    above_number = "{x} > {v} AND NOT isnan({x})"
    outside_numbers = "{x} NOT IN ({v}) AND NOT isnan({x})"
    _is_nan = "typeof({x}) IN ('FLOAT', 'DOUBLE') AND CAST({x} AS VARCHAR) = 'nan'"
    is_missing = f"({{x}} IS NULL OR ({_is_nan}))"
    is_missing_number = "({x} IS NULL OR isnan({x}))"
    is_present = f"({{x}} IS NOT NULL AND NOT ({_is_nan}))"
    fine_date = "TIMESTAMP_NS '{text}'"


class Postgres(TextLanguage):
    """NaN is no NULL there, and larger than every number."""

    _is_nan_number = "({x} = 'NaN'::float8)"
    above_number = f"{{x}} > {{v}} AND NOT {_is_nan_number}"
    outside_numbers = f"{{x}} NOT IN ({{v}}) AND NOT {_is_nan_number}"
    _is_nan = "pg_typeof({x})::text IN ('real', 'double precision') AND {x}::text = 'NaN'"
    is_missing = f"({{x}} IS NULL OR ({_is_nan}))"
    is_missing_number = f"({{x}} IS NULL OR {_is_nan_number})"
    is_present = f"({{x}} IS NOT NULL AND NOT ({_is_nan}))"


class SQLite(TextLanguage):
    """Dates are texts there, of more or fewer digits: with all nine a comparison holds for each."""

    date = "'{text}'"
    compared_date = "replace({x}, 'T', ' ') {sign} {v}"
    second_digits = NANOSECOND_DIGITS
    duration = ""


DIALECTS = {
    "ansi": TextLanguage(),
    "duckdb": DuckDB(),
    "postgres": Postgres(),
    "sqlite": SQLite(),
}
"""SQL by the name of its dialect."""


class Pandas(TextLanguage):
    """Expressions for ``DataFrame.query`` and ``DataFrame.eval``."""

    everything = "(index.isnull() or index.notnull())"
    truths = ("False", "True")
    joined_and = " and "
    joined_or = " or "
    inside = "{x} in [{v}]"
    outside = "({x} not in [{v}] and {x}.notnull())"
    is_present = "{x}.notnull()"
    is_missing = "{x}.isnull()"
    date = "'{text}'"
    duration = "'{ns} ns'"

    def column(self, name: str) -> str:
        """Write a column, in backticks unless it is a plain word."""
        is_readable = _NAME_IN_PANDAS.fullmatch(name) is not None
        if not is_readable or unicodedata.normalize("NFKC", name) != name:
            raise unwritable(name, "pandas reads no such name in an expression")
        if name.isidentifier() and not keyword.iskeyword(name):
            return name
        return f"`{name}`"

    def text(self, name: str, text: str) -> str:
        """Write a text; pandas looks for marks in texts and knows no escaped ones."""
        escaped = ""
        for letter in text:
            is_plain = letter.isalnum() or letter in " _-."
            escaped += letter if is_plain else f"\\U{ord(letter):08x}"
        return f"'{escaped}'"


class Python(TextLanguage):
    """Conditions inside `PYTHON_FUNCTION`."""

    everything = "True"
    truths = ("False", "True")
    joined_and = " and "
    joined_or = " or "
    compared = "present({x}) and {x} {sign} {v}"
    compared_date = "present({x}) and moment({x}) {sign} {v}"
    inside = "present({x}) and {x} in ({v},)"
    outside = "present({x}) and {x} not in ({v},)"
    is_present = "present({x})"
    is_missing = "not present({x})"
    date = "'{text}'"
    second_digits = NANOSECOND_DIGITS
    duration = "timedelta(microseconds={us})"

    def column(self, name: str) -> str:
        """Write a column of the row."""
        return f"row[{name!a}]"

    def text(self, name: str, text: str) -> str:
        """Write a text."""
        return ascii(text)


PANDAS = Pandas()
PYTHON = Python()

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


class Polars(Language):
    """Statements as expressions of polars; NaN is missing, though it is a value there."""

    def __init__(self) -> None:
        import polars
        from polars import selectors

        self.pl: Any = polars
        self.selectors = selectors
        self.everything = polars.lit(True)

    def compare(self, name: str, sign: str, end: Bound) -> Any:
        """Compare numbers as floats, and dates in nanoseconds where these reach."""
        if isinstance(end, np.datetime64 | np.timedelta64):
            column = self._column(name)
            value = self._instant(name, end)
        else:
            column = self._number(name)
            value = end
        holds = column > value if sign == ">" else column <= value
        return holds.fill_null(False)

    def _instant(self, name: str, end: np.datetime64 | np.timedelta64) -> Any:
        """A date or duration in nanoseconds; in microseconds where these do not fit into 64 bits."""
        count = nanoseconds(name, end)
        unit = "ns"
        if abs(count) >= LONGEST:
            unit = "us"
            count //= 1000
        is_date = isinstance(end, np.datetime64)
        dtype = self.pl.Datetime(unit) if is_date else self.pl.Duration(unit)
        return self.pl.lit(count, dtype=self.pl.Int64).cast(dtype)

    def listed(self, name: str, labels: Sequence[Label], negated: bool) -> Any:
        """One of some labels, or a value that is none of them."""
        if _are_texts(name, labels):
            texts = [storable(name, str(label)) for label in labels]
            is_listed = self._column(name).cast(self.pl.String).is_in(texts)
        else:
            is_listed = self._number(name).is_in([float(label) for label in labels])
        holds = ~is_listed if negated else is_listed
        return holds.fill_null(False)

    def missing(self, name: str, of_numbers: bool = False) -> Any:
        """Null or NaN; a column is looked at for NaN only if it has floats.

        Which columns have floats is known when a frame evaluates the expression: a selector that fits the
        column only then. Of no column ``any_horizontal`` is False, of a null it is null.
        """
        if_float = self.selectors.by_name(storable(name, name)) & self.selectors.float()
        is_nan = self.pl.any_horizontal(if_float.is_nan()).fill_null(True)
        return self._column(name).is_null() | is_nan

    def _number(self, name: str) -> Any:
        return self._column(name).cast(self.pl.Float64).fill_nan(None)

    def _column(self, name: str) -> Any:
        if name.startswith("^") and name.endswith("$"):  # polars would read it as a pattern
            return self.pl.col(f"^{re.escape(name)}$")
        return self.pl.col(storable(name, name))


class Narwhals(Language):
    """Statements as expressions of narwhals, which the engine of a frame computes.

    Parameters
    ----------
    schema : mapping of column to dtype
        Of the frame.
    """

    everything = (
        None  # narwhals has no literal of all engines: a rule without conditions is not asked
    )

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema

    def compare(self, name: str, sign: str, end: Bound) -> Any:
        """Numbers, or dates and durations to the microsecond; dates with a time zone in UTC."""
        column = nw.col(name)
        dtype = self._dtype(name)
        if dtype == nw.Date:
            column = column.cast(nw.Datetime("us"))
        elif dtype == nw.Datetime and dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        value: Any = end
        if isinstance(end, np.datetime64 | np.timedelta64):
            value = end.astype(f"{end.dtype.kind}8[us]").item()
        holds = column > value if sign == ">" else column <= value
        return holds & self.present(name)

    def listed(self, name: str, labels: Sequence[Label], negated: bool) -> Any:
        """One of some labels, written as the column holds them, or a value that is none of them."""
        column = nw.col(name)
        dtype = self._dtype(name)
        if dtype in (nw.Categorical, nw.Enum):
            column = column.cast(nw.String)
        written: list[Any] = list(labels)
        if dtype.is_numeric():
            # Truth values that a column holds as 0 and 1; texts are none of its values.
            numbers = [label for label in labels if not isinstance(label, str)]
            written = [int(label) if isinstance(label, bool) else label for label in numbers]
        elif dtype == nw.String:
            written = [str(label) for label in labels]
        if not written:
            is_listed = column.is_null() & ~column.is_null()
        else:
            is_listed = column.is_in(written)
        return (~is_listed if negated else is_listed) & self.present(name)

    def missing(self, name: str, of_numbers: bool = False) -> Any:
        """Null or NaN."""
        column = nw.col(name)
        if self._dtype(name).is_float():
            return column.is_null() | column.is_nan()
        return column.is_null()

    def order_of(self, name: str, ends: Sequence[Bound]) -> Sequence[Label]:
        """The labels of an ordered column; engines would compare other texts by their letters."""
        dtype = self._dtype(name)
        if dtype != nw.Enum:
            raise InputError(
                f"the order of the labels is not known for an interval that ends at {ends[0]!r}.",
                code="P03",
                argument="frame",
                columns=[name],
                hint="Give the column an ordered categorical type.",
            )
        order = list(dtype.categories)
        for end in ends:
            if end not in order:
                raise InputError(
                    f"{end!r} is not one of the ordered labels of column {name!r}.",
                    code="P03",
                    argument="frame",
                    columns=[name],
                )
        return order

    def _dtype(self, name: str) -> Any:
        if name not in self.schema:
            raise InputError(
                f"the frame has no column {name!r}; it has {listing(self.schema)}.",
                code="D37",
                argument="frame",
                columns=[name],
            )
        return self.schema[name]
