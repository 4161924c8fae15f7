"""Rules as expressions of polars."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from granite_xai.regions.code_limits import LONGEST, nanoseconds, storable
from granite_xai.regions.values import Bound, Label


class Polars:
    """Statements as expressions of polars; NaN is missing, though it is a value there.

    Methods are those of `granite_xai.regions.code.Language`.
    """

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
        if sign == ">":
            return (column > value).fill_null(False)
        return (column <= value).fill_null(False)

    def _instant(self, name: str, end: np.datetime64 | np.timedelta64) -> Any:
        """A date or duration in nanoseconds; in microseconds where these do not fit into 64 bits."""
        count = nanoseconds(name, end)
        unit = "ns"
        if abs(count) >= LONGEST:
            unit = "us"
            count //= 1000
        dtype = self.pl.Duration(unit)
        if isinstance(end, np.datetime64):
            dtype = self.pl.Datetime(unit)
        return self.pl.lit(count, dtype=self.pl.Int64).cast(dtype)

    def is_one_of(self, name: str, labels: Sequence[Label]) -> Any:
        """One of some labels, which are all texts or all numbers."""
        return self._is_listed(name, labels).fill_null(False)

    def is_none_of(self, name: str, labels: Sequence[Label]) -> Any:
        """A value that is none of some labels."""
        return (~self._is_listed(name, labels)).fill_null(False)

    def _is_listed(self, name: str, labels: Sequence[Label]) -> Any:
        """Whether a value is one of some labels; null for a missing value."""
        texts = [storable(name, label) for label in labels if isinstance(label, str)]
        if texts:
            return self._column(name).cast(self.pl.String).is_in(texts)
        return self._number(name).is_in([float(label) for label in labels])

    def is_present(self, name: str) -> Any:
        """Neither null nor NaN."""
        return ~self.is_missing(name)

    def is_missing(self, name: str, of_numbers: bool = False) -> Any:
        """Null or NaN; a column is looked at for NaN only if it has floats.

        Which columns have floats is known when a frame evaluates the expression: a selector that fits the
        column only then. Of no column ``any_horizontal`` is False, of a null it is null.
        """
        if_float = self.selectors.by_name(storable(name, name)) & self.selectors.float()
        is_nan = self.pl.any_horizontal(if_float.is_nan()).fill_null(True)
        return self._column(name).is_null() | is_nan

    def conjunction(self, statements: Sequence[Any]) -> Any:
        """All of some statements hold."""
        return reduce(and_, statements)

    def disjunction(self, first: Any, second: Any) -> Any:
        """One of two statements holds, or both."""
        return first | second

    def _number(self, name: str) -> Any:
        return self._column(name).cast(self.pl.Float64).fill_nan(None)

    def _column(self, name: str) -> Any:
        if name.startswith("^") and name.endswith("$"):  # polars would read it as a pattern
            return self.pl.col(f"^{re.escape(name)}$")
        return self.pl.col(storable(name, name))
