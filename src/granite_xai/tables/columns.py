"""Cells turned into values of one kind; and a column: its values, its levels, the code of each row among the levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.files import object_array
from granite_xai.base.text import shortened
from granite_xai.base.typing import BoolArray, FloatArray, IntArray

Kind = Literal["numeric", "ordinal", "nominal", "boolean", "date"]
KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
LABELLED = ("ordinal", "nominal", "boolean")
_LARGEST_EXACT = 2**53
_NOT_A_CELL = "each argument must be a string or a number"
_TO_FLOATS = "Convert the column: astype(float)."
_REFUSED = {
    "complex": (
        "D22",
        "has dtype {}. Complex data not supported",
        "Pass real and imaginary parts as two columns.",
    ),
    "bytes": ("D12", f"holds bytes; {_NOT_A_CELL}", "Decode it: astype(str)."),
    "decimal": ("D20", "holds Decimal numbers", _TO_FLOATS),
    "period": ("D18", "holds periods ({})", "Convert the column: .dt.to_timestamp()."),
    "time": ("D18", "holds times of day", "Convert the column to seconds, or to timedelta."),
    "sparse": ("D23", "is sparse ({})", "Convert it: .sparse.to_dense()."),
    "nested": ("D12", "has categories that are no single values", "Convert the column."),
    "ambiguous": ("D12", "has categories that read the same as text", "Rename the categories."),
}
_NUMBERS = ("empty", "integer", "floating", "mixed-integer-float", "mixed-integer", "mixed")
_MOMENTS = ("date", "datetime", "datetime64", "timedelta", "timedelta64")


class Cells(NamedTuple):
    """Values of one kind, with what their dtype says about them."""

    kind: Kind
    values: NDArray[Any]
    declared: tuple[Any, ...] | None = None
    integer: bool = False
    text: bool = False
    inexact: bool = False


class UnreadableError(Exception):
    """A column, whose name its reader does not know, cannot be read: the case, the reason, the rows, the remedy."""

    def __init__(self, code: str, reason: str, hint: str, rows: Iterable[int] = ()) -> None:
        super().__init__(reason)
        self.code, self.reason, self.hint, self.rows = code, reason, hint, tuple(rows)


def refused(content: str, dtype: object) -> UnreadableError:
    """Say why a column of some content, or else of some dtype, cannot be read (D12, D18, D20, D22)."""
    code, reason, hint = _REFUSED.get(
        content, ("D12", f"has dtype {{}}; {_NOT_A_CELL}", "Convert the column.")
    )
    return UnreadableError(code, reason.format(dtype), hint)


def from_array(values: NDArray[Any]) -> Cells:
    """Read a one-dimensional array by its dtype."""
    kind = values.dtype.kind
    if kind in "iu":
        return from_integers(values)
    if kind == "f":
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinity: D03
            return Cells("numeric", values.astype(np.float64))
    if kind == "O":
        return from_objects(values)
    if kind in "Mm":
        return Cells("date", values.copy())
    if kind == "b":
        return Cells("boolean", values.astype(object))
    if kind in "UT":
        return from_labels(values.tolist(), np.zeros(len(values), dtype=bool), text=True)
    raise refused({"c": "complex", "S": "bytes"}.get(kind, ""), values.dtype)


def from_objects(values: NDArray[Any]) -> Cells:
    """Read a column of Python objects by what its cells are (D04, D11, D12, D18, D20)."""
    content, missing = (
        pd.api.types.infer_dtype(values, skipna=True),
        np.asarray(pd.isna(values), dtype=bool),
    )
    if content in _REFUSED:
        raise refused(content, values.dtype)
    if content in ("string", "boolean"):
        text = content == "string"
        return from_labels(values, missing, kind="nominal" if text else "boolean", text=text)
    if content in _MOMENTS:
        return Cells("date", _moments(np.where(missing, object_array([None]), values), content))
    real = (
        isinstance(cell, (Real, np.bool_)) and not isinstance(cell, Decimal)
        for cell in values[~missing]
    )
    if content not in _NUMBERS or not all(real):
        raise _mixture(values, missing)
    whole = np.array([isinstance(cell, Integral) for cell in values[~missing]], dtype=bool)
    big = [
        row
        for row in np.flatnonzero(~missing)[whole].tolist()
        if not -(2**63) <= int(values[row]) < 2**64
    ]
    if big:
        raise UnreadableError("D20", f"holds {values[big[0]]}, beyond 64 bits", _TO_FLOATS, big)
    floats: FloatArray = np.full(len(values), np.nan)
    floats[~missing] = values[~missing].astype(np.float64)
    inexact = bool(np.any(np.abs(floats[~missing][whole]) > _LARGEST_EXACT))
    return Cells("numeric", floats, integer=bool(whole.any() and whole.all()), inexact=inexact)


def from_labels(labels: Sequence[Any] | NDArray[Any], missing: BoolArray, **facts: Any) -> Cells:
    """Read labels, given as any objects; the missing ones become None."""
    codes, distinct = pd.factorize(
        object_array(labels)
    )  # each label is made plain once, not once a row
    table = object_array([*map(plain, distinct), None])  # the last place is for -1, missing
    return Cells(facts.pop("kind", "nominal"), table[np.where(missing, -1, codes)], **facts)


def from_integers(values: NDArray[Any], missing: BoolArray | None = None) -> Cells:
    """Read whole numbers; beyond 2^53 neighbours fall together, which is noted (D20)."""
    present = values if missing is None else values[~missing]
    inexact = present.size > 0 and bool(
        int(present.max()) > _LARGEST_EXACT or int(present.min()) < -_LARGEST_EXACT
    )
    floats = values.astype(np.float64)
    if missing is not None:
        floats[missing] = np.nan
    return Cells("numeric", floats, integer=True, inexact=inexact)


def plain(label: Any) -> Any:
    """Turn a label into plain text, bool or number, so that it can be printed, saved, compared."""
    if isinstance(label, (bool, np.bool_)):
        return bool(label)
    number = isinstance(label, Real) and not isinstance(label, Decimal)
    return int(label) if isinstance(label, Integral) else float(label) if number else str(label)


def as_kind(cells: Cells, kind: Kind) -> Cells:
    """Read cells as another kind that the user or the fit gives, or refuse what would need a guess."""
    if cells.kind == kind:
        return cells
    labels = cells.values
    if cells.kind == "numeric":
        number = int if cells.integer else float  # + 0.0: one label for both zeros
        labels = object_array(
            [None if np.isnan(value) else number(value + 0.0) for value in cells.values]
        )
    gone = (
        np.isnat(labels)
        if cells.kind == "date"
        else np.array([label is None for label in labels], dtype=bool)
    )
    if gone.all():
        gap = {"numeric": np.nan, "date": np.datetime64("NaT", "s")}.get(kind)
        return Cells(kind, np.full(len(labels), gap, dtype=object if gap is None else None))
    what, hint, odd = "", "Convert the column.", []
    if "date" in (cells.kind, kind):
        what = f"is {cells.kind}"
    elif kind == "numeric" and any(isinstance(label, str) for label in labels):
        what = f"is {cells.kind} with text labels"
    elif kind == "boolean" and (
        odd := [row for row, label in enumerate(labels) if label not in (0, 1, None)]
    ):
        what, hint = f"holds {labels[odd[0]]!r}", "A boolean column holds True, False, 1 or 0."
    if what:
        raise UnreadableError("P03", f"{what} and cannot be read as {kind}", hint, odd)
    if kind in ("ordinal", "nominal"):
        return Cells(kind, labels, cells.declared, text=cells.text)
    if kind == "numeric":
        values = np.array([np.nan if label is None else float(label) for label in labels])
        return Cells(
            "numeric", values, integer=all(isinstance(label, int | None) for label in labels)
        )
    return from_labels([bool(label) for label in labels], gone, kind="boolean")


def _moments(cells: NDArray[Any], content: str) -> NDArray[Any]:
    """Dates, datetimes (in UTC, where their order is the order of time) and durations; None is missing."""
    if content == "date":
        return cells.astype("datetime64[D]")
    if content.startswith("timedelta"):
        return np.asarray(pd.to_timedelta(pd.Series(cells)).to_numpy())
    zones = {str(getattr(cell, "tzinfo", None)) for cell in cells if cell is not None}
    if len(zones) > 1:
        hint = "Convert all of them to one zone: pandas.to_datetime(…, utc=True)."
        raise UnreadableError("D18", f"mixes time zones ({', '.join(sorted(zones))})", hint)
    return np.asarray(pd.to_datetime(pd.Series(cells), utc=True).dt.tz_localize(None).to_numpy())


def _mixture(values: NDArray[Any], missing: BoolArray) -> UnreadableError:
    """Show two cells that do not belong together (D12)."""
    rows = np.flatnonzero(~missing).tolist()
    odd = [row for row in rows if not isinstance(values[row], (Real, str, np.bool_))]
    one = odd[0] if odd else rows[0]
    sorts = {row: type(values[row]) if odd else isinstance(values[row], str) for row in rows}
    other = next((row for row in rows if sorts[row] != sorts[one]), None)
    shown = sorted([one] if other is None else [one, other])
    cells = " and ".join(
        f"{shortened(repr(cell), 40)} ({type(cell).__name__})" for cell in values[shown]
    )
    hint = "Make all cells numbers or all cells text."
    return UnreadableError("D12", f"mixes cells: it holds {cells}; {_NOT_A_CELL}", hint, shown)


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table, read once and never written."""

    name: str  # x0, x1, … when the table has none
    position: int
    kind: Kind
    values: NDArray[
        Any
    ]  # missing are NaN among numbers (float64), NaT among dates and durations, None among labels
    order: tuple[Any, ...] | None = (
        None  # of an ordinal column: the declared labels, also those that no row carries
    )
    integer: bool = False  # whether cells are whole numbers by dtype
    declared: tuple[Any, ...] | None = None  # of a nominal column: the labels of its dtype
    passes: bool = False  # whether it only passes through to the model, neither explained nor split

    def __post_init__(self) -> None:
        """Lock the values: every reader shares them."""
        self.values.setflags(write=False)

    @property
    def is_ordered(self) -> bool:
        """Whether its values have an order: numbers, dates, ordinal labels."""
        return self.kind not in ("nominal", "boolean")

    @cached_property
    def missing(self) -> BoolArray:
        """Which rows have no value."""
        if self.kind in LABELLED:
            return _locked(np.array([label is None for label in self.values], dtype=bool))
        return _locked(np.isnat(self.values) if self.kind == "date" else np.isnan(self.values))

    @cached_property
    def levels(self) -> NDArray[Any]:
        """The distinct values present, in their order (labels outside the order come last)."""
        return self._ranked[0]

    @cached_property
    def codes(self) -> IntArray:
        """Index of each row's value among the levels; -1 is missing."""
        return self._ranked[1]

    @cached_property
    def _ranked(self) -> tuple[NDArray[Any], IntArray]:
        present, codes = ~self.missing, np.full(len(self.values), -1, dtype=np.intp)
        if self.kind in LABELLED:
            first, labels = (
                self.order if self.kind == "ordinal" else self.declared,
                self.values[present],
            )
            distinct, known = (
                pd.unique(labels),
                {label: rank for rank, label in enumerate(first or ())},
            )
            order = sorted((label for label in distinct if label in known), key=known.__getitem__)
            order += sorted_labels(label for label in distinct if label not in known)
            levels, codes[present] = (
                object_array(order),
                pd.Index(order, dtype=object).get_indexer(labels),
            )
        else:
            levels, codes[present] = np.unique(self.values[present], return_inverse=True)
            if self.kind == "numeric":
                levels = levels + 0.0  # -0.0 becomes 0.0, which it equals
        return _locked(levels), _locked(codes)

    def take(self, rows: IntArray) -> Column:
        """The same column on some rows; its levels are those present there."""
        part = replace(self, values=self.values[rows])
        if "_ranked" in self.__dict__:  # ranks of a part follow from ranks of the whole
            seen = np.zeros(len(self.levels) + 1, dtype=bool)  # the last place is for -1, missing
            seen[codes := self.codes[rows]] = True
            place = np.append(np.cumsum(seen[:-1]) - 1, -1)
            part.__dict__["_ranked"] = _locked(self.levels[seen[:-1]]), _locked(place[codes])
        return part

    def merged(self, classes: IntArray) -> Column:
        """The same column with levels that share a class as one level, which has the label of the first of them."""
        if len(classes) == 0 or classes[-1] == len(classes) - 1:
            return self
        first, part = np.unique(classes, return_index=True)[1], replace(self, values=self.values)
        part.__dict__["_ranked"] = (
            _locked(self.levels[first]),
            _locked(np.append(classes, -1)[self.codes]),
        )
        return part


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """Sort labels; those that cannot be compared by value are compared by type and text."""
    labels = list(labels)
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def _locked(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
