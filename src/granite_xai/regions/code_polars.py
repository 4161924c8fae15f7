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
        column = self._number(name)
        value: Any = end
        if isinstance(end, np.datetime64 | np.timedelta64):
            column = self._column(name)
            value = self._instant(name, end)
        holds = column > value if sign == ">" else column <= value
        return holds.fill_null(False)

    def _instant(self, name: str, end: np.datetime64 | np.timedelta64) -> Any:
        count = nanoseconds(name, end)
        unit = "ns"
        if abs(count) >= LONGEST:
            unit = "us"
            count //= 1000
        kind = self.pl.Datetime if isinstance(end, np.datetime64) else self.pl.Duration
        return self.pl.lit(count, dtype=self.pl.Int64).cast(kind(unit))

    def among(self, name: str, labels: Sequence[Label], inside: bool) -> Any:
        """Look labels up: texts as texts, all others as numbers."""
        values = [
            storable(name, label) if isinstance(label, str) else float(label) for label in labels
        ]
        are_texts = isinstance(labels[0], str)
        column = self._column(name).cast(self.pl.String) if are_texts else self._number(name)
        is_listed = column.is_in(values)
        holds = is_listed if inside else ~is_listed
        return holds.fill_null(False)

    def is_present(self, name: str) -> Any:
        """Neither null nor NaN."""
        return ~self.is_missing(name)

    def is_missing(self, name: str, of_numbers: bool = False) -> Any:
        """Null or NaN; a column is looked at for NaN only if it has floats."""
        if_float = self.selectors.by_name(storable(name, name)) & self.selectors.float()
        is_nan = self.pl.any_horizontal(if_float.is_nan()).fill_null(True)
        return self._column(name).is_null() | is_nan

    def both(self, statements: Sequence[Any]) -> Any:
        """All of some statements hold."""
        return reduce(and_, statements)

    def either(self, first: Any, second: Any) -> Any:
        """One of two statements holds."""
        return first | second

    def _number(self, name: str) -> Any:
        return self._column(name).cast(self.pl.Float64).fill_nan(None)

    def _column(self, name: str) -> Any:
        if name.startswith("^") and name.endswith("$"):  # polars would read it as a pattern
            return self.pl.col(f"^{re.escape(name)}$")
        return self.pl.col(storable(name, name))
