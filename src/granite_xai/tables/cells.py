"""Columns of any library read as values of one kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, get_args

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.files import object_array
from granite_xai.base.text import shortened
from granite_xai.base.typing import BoolArray, FloatArray

Kind = Literal["numeric", "ordinal", "nominal", "boolean", "date"]
KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
LABELLED = ("ordinal", "nominal", "boolean")  # kinds whose values are Python objects
MISSING_CODE = -1

LARGEST_EXACT = 2**53  # beyond it float64 does not hold every whole number
SMALLEST_INT64 = -(2**63)
LARGEST_UINT64 = 2**64 - 1
CELLS_MUST_BE = "each argument must be a string or a number"  # scikit-learn's words
TO_FLOATS = "Convert the column: astype(float)."

# What pandas' infer_dtype says about objects that are read as numbers, and as dates or durations.
NUMBER_CONTENTS = ("empty", "integer", "floating", "mixed-integer-float", "mixed-integer", "mixed")
DATE_CONTENTS = ("date", "datetime", "datetime64", "timedelta", "timedelta64")
FINER_THAN_NANOSECONDS = ("ps", "fs", "as")  # units of NumPy that no table library has
READ_AS_OBJECTS = (nw.Int128, nw.UInt128, nw.Object)

# Why columns of some content are not read: the code, the reason with a place for the dtype, the
# hint. The content is a word of pandas' infer_dtype, or one of ours.
REFUSALS = {
    "complex": (
        "D22",
        "has dtype {}. Complex data not supported",
        "Pass real and imaginary parts as two columns.",
    ),
    "bytes": ("D12", f"holds bytes; {CELLS_MUST_BE}", "Decode it: astype(str)."),
    "decimal": ("D20", "holds Decimal numbers", TO_FLOATS),
    "period": ("D18", "holds periods ({})", "Convert the column: .dt.to_timestamp()."),
    "time": (
        "D18",
        "holds times of day",
        "Convert the column to seconds, or to timedelta.",
    ),
    "fine": (
        "D18",
        "has dtype {}, finer than nanoseconds",
        "Convert the column: astype('datetime64[ns]').",
    ),
    "sparse": ("D23", "is sparse ({})", "Convert it: .sparse.to_dense()."),
    "nested": ("D12", "has categories that are no single values", "Convert the column."),
    "ambiguous": (
        "D12",
        "has categories that read the same as text",
        "Rename the categories.",
    ),
    "other": ("D12", f"has dtype {{}}; {CELLS_MUST_BE}", "Convert the column."),
}


class Cells(NamedTuple):
    """Values of one kind, with what their dtype says about them.

    Parameters
    ----------
    kind, values, integer
        As in `Column`.
    declared : tuple, optional
        The labels of the dtype, in its order.
    text : bool
        Whether the labels are texts, not categories: many of them are no levels (D11).
    inexact : bool
        Whether whole numbers were too large for float64 (D20).
    """

    kind: Kind
    values: NDArray[Any]
    declared: tuple[Any, ...] | None = None
    integer: bool = False
    text: bool = False
    inexact: bool = False


class UnreadableError(Exception):
    """A column cannot be read; whoever knows its name turns this into an `InputError`.

    Parameters
    ----------
    code : str
        The case, such as D12.
    reason, hint : str
        What is wrong, and the remedy.
    rows : iterable of int
        Positions of the cells that show it.
    """

    def __init__(self, code: str, reason: str, hint: str, rows: Iterable[int] = ()) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.hint = hint
        self.rows = tuple(rows)


def content_error(content: str, dtype: object) -> UnreadableError:
    """The error for a column that is not read because of what it holds (D12, D18, D20, D22, D23)."""
    code, reason, hint = REFUSALS[content]
    return UnreadableError(code, reason.format(dtype), hint)


def read_series(series: Any) -> Cells:
    """Read one column by its dtype (D13, D14, D17, D18, D19, D23).

    Parameters
    ----------
    series : narwhals.Series

    Returns
    -------
    Cells

    Raises
    ------
    UnreadableError
        Its dtype, or what its cells are, is not supported.
    """
    is_pandas = series.implementation.is_pandas()
    if is_pandas:
        native = series.to_native()
        if isinstance(native.dtype, np.dtype):
            return from_array(native.to_numpy())
        if type(native.dtype).__name__ == "ArrowDtype":
            return read_series(nw.from_native(native.array.__arrow_array__(), series_only=True))
    dtype = series.dtype
    missing = series.is_null().to_numpy()
    if dtype.is_integer() and dtype not in READ_AS_OBJECTS:
        return from_integers(series.fill_null(0).to_numpy(), missing)
    if dtype.is_float() or dtype in (nw.Date, nw.Datetime, nw.Duration):
        return from_array(series.to_numpy())
    if dtype == nw.String:
        return from_labels(series.to_list(), missing, kind="nominal", text=True)
    if dtype == nw.Boolean:
        return from_labels(series.to_list(), missing, kind="boolean")
    if dtype in (nw.Categorical, nw.Enum):
        return _read_categories(series, missing)
    if dtype in READ_AS_OBJECTS or (missing.all() and not is_pandas):
        return from_objects(object_array(series.to_list()))
    native = native_dtype(series)
    dtype_name = type(native).__name__
    if dtype_name == "SparseDtype":
        n_bytes = len(series) * np.dtype(native.subtype).itemsize
        raise content_error("sparse", f"{native}; {n_bytes} bytes when dense")
    if dtype_name == "PeriodDtype":
        raise content_error("period", native)
    if dtype in (nw.Decimal, nw.Time):
        raise content_error("time" if dtype == nw.Time else "decimal", dtype)
    raise content_error("other", native if dtype == nw.Unknown else dtype)


def _read_categories(series: Any, missing: BoolArray) -> Cells:
    """Labels of a dictionary; ordered if the library says so."""
    native = series.to_native()
    is_ordered = bool(nw.is_ordered_categorical(series))
    if series.implementation.is_pandas():
        categories = native.dtype.categories.to_list()
    elif series.implementation.is_polars():
        # The labels of a Categorical are those of every frame of the process, in the order in which
        # it met them: they are no declaration. Before 1.32 polars calls them ordered.
        is_ordered = series.dtype == nw.Enum
        categories = native.dtype.categories.to_list() if is_ordered else []
    else:
        chunks = native.unify_dictionaries().chunks
        categories = chunks[0].dictionary.to_pylist() if chunks else []
    if any(isinstance(category, dict | list) for category in categories):
        raise content_error("nested", series.dtype)
    plain_labels = {category: plain_label(category) for category in categories}
    if len(set(plain_labels.values())) < len(plain_labels):
        raise content_error("ambiguous", series.dtype)
    # to_list, not to_numpy: for a pyarrow dictionary the latter puts a label in place of a null.
    labels = [plain_labels.get(label, label) for label in series.to_list()]
    return from_labels(
        labels,
        missing,
        kind="ordinal" if is_ordered else "nominal",
        declared=tuple(plain_labels.values()) or None,
    )


def native_dtype(series: Any) -> Any:
    """The dtype of a column as its own library has it."""
    native = series.to_native()
    if hasattr(native, "dtype"):
        return native.dtype
    return native.type  # pyarrow


def from_array(values: NDArray[Any]) -> Cells:
    """Read a one-dimensional array by its dtype."""
    dtype_kind = values.dtype.kind
    if dtype_kind in "iu":
        return from_integers(values)
    if dtype_kind == "f":
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinity: D03
            return Cells("numeric", values.astype(np.float64))
    if dtype_kind == "O":
        return from_objects(values)
    if dtype_kind in "Mm":
        if np.datetime_data(values.dtype)[0] in FINER_THAN_NANOSECONDS:
            raise content_error("fine", values.dtype)
        return Cells("date", values.copy())
    if dtype_kind == "b":
        return Cells("boolean", values.astype(object))
    if dtype_kind in "UT":
        none_missing = np.zeros(len(values), dtype=bool)
        return from_labels(values.tolist(), none_missing, text=True)
    raise content_error({"c": "complex", "S": "bytes"}.get(dtype_kind, "other"), values.dtype)


def from_integers(values: NDArray[Any], missing: BoolArray | None = None) -> Cells:
    """Read whole numbers; beyond 2^53 neighbours fall together, which is noted (D20).

    Parameters
    ----------
    values : array of shape (n_rows,), of integers
    missing : array of shape (n_rows,), optional
        Which rows have no value, whatever stands there.
    """
    floats = values.astype(np.float64)
    present = values
    if missing is not None:
        floats[missing] = np.nan
        present = values[~missing]
    inexact = False
    if present.size > 0:
        inexact = int(present.max()) > LARGEST_EXACT or int(present.min()) < -LARGEST_EXACT
    return Cells("numeric", floats, integer=True, inexact=inexact)


def from_labels(
    labels: Sequence[Any] | NDArray[Any],
    missing: BoolArray,
    *,
    kind: Kind = "nominal",
    declared: tuple[Any, ...] | None = None,
    text: bool = False,
) -> Cells:
    """Read labels, given as any objects; the missing ones become None.

    Parameters
    ----------
    labels : sequence of n_rows objects
    missing : array of shape (n_rows,)
        Which rows have no label, whatever stands there.
    kind, declared, text
        As in `Cells`.
    """
    codes, distinct = pd.factorize(object_array(labels))  # a label is made plain once, not per row
    plain_labels = [plain_label(label) for label in distinct]
    values_by_code = object_array([*plain_labels, None])  # the last place is for MISSING_CODE
    values = values_by_code[np.where(missing, MISSING_CODE, codes)]
    return Cells(kind, values, declared=declared, text=text)


def from_objects(values: NDArray[Any]) -> Cells:
    """Read a column of Python objects by what its cells are (D04, D11, D12, D18, D20)."""
    content = pd.api.types.infer_dtype(values, skipna=True)
    missing = np.asarray(pd.isna(values), dtype=bool)
    if content in REFUSALS:
        raise content_error(content, values.dtype)
    if content == "string":
        return from_labels(values, missing, kind="nominal", text=True)
    if content == "boolean":
        return from_labels(values, missing, kind="boolean")
    if content in DATE_CONTENTS:
        dates = np.where(missing, object_array([None]), values)
        return Cells("date", _dates(dates, content))
    are_numbers = content in NUMBER_CONTENTS and all(
        isinstance(cell, (Real, np.bool_)) and not isinstance(cell, Decimal)
        for cell in values[~missing]
    )
    if not are_numbers:
        raise _mixture_error(values, missing)
    return _from_number_objects(values, missing)


def _from_number_objects(values: NDArray[Any], missing: BoolArray) -> Cells:
    """Python numbers as floats; whole numbers beyond 64 bits are refused (D20)."""
    present_rows = np.flatnonzero(~missing)
    present = values[present_rows]
    is_whole = np.array([isinstance(cell, Integral) for cell in present], dtype=bool)
    whole_rows = present_rows[is_whole]
    too_big = [
        row
        for row in whole_rows.tolist()
        if not SMALLEST_INT64 <= int(values[row]) <= LARGEST_UINT64
    ]
    if too_big:
        raise UnreadableError(
            "D20", f"holds {values[too_big[0]]}, beyond 64 bits", TO_FLOATS, too_big
        )
    floats: FloatArray = np.full(len(values), np.nan)
    floats[present_rows] = present.astype(np.float64)
    return Cells(
        "numeric",
        floats,
        integer=0 < len(whole_rows) == len(present_rows),
        inexact=bool(np.any(np.abs(floats[whole_rows]) > LARGEST_EXACT)),
    )


def _dates(cells: NDArray[Any], content: str) -> NDArray[Any]:
    """Dates, datetimes and durations; None is missing.

    Datetimes are read in UTC, where their order is the order of time.
    """
    if content == "date":
        return cells.astype("datetime64[D]")
    if content.startswith("timedelta"):
        return np.asarray(pd.to_timedelta(pd.Series(cells)).to_numpy())
    zones = {str(getattr(cell, "tzinfo", None)) for cell in cells if cell is not None}
    if len(zones) > 1:
        raise UnreadableError(
            "D18",
            f"mixes time zones ({', '.join(sorted(zones))})",
            "Convert all of them to one zone: pandas.to_datetime(…, utc=True).",
        )
    return np.asarray(pd.to_datetime(pd.Series(cells), utc=True).dt.tz_localize(None).to_numpy())


def _mixture_error(values: NDArray[Any], missing: BoolArray) -> UnreadableError:
    """The error that shows two cells that do not belong together, or one where all are alike (D12).

    Where some cells are neither number nor text: the first of these, and the first of another type.
    Otherwise the first cell, and the first that is text where that one is a number, or the reverse.
    """
    rows = np.flatnonzero(~missing).tolist()
    unusable = [row for row in rows if not isinstance(values[row], (Real, str, np.bool_))]
    if unusable:  # a list, say
        first = unusable[0]
        differing = [row for row in rows if type(values[row]) is not type(values[first])]
    else:
        first = rows[0]
        is_text = isinstance(values[first], str)
        differing = [row for row in rows if isinstance(values[row], str) != is_text]
    shown = sorted([first, *differing[:1]])
    texts = [f"{shortened(repr(cell), 40)} ({type(cell).__name__})" for cell in values[shown]]
    return UnreadableError(
        code="D12",
        reason=f"mixes cells: it holds {' and '.join(texts)}; {CELLS_MUST_BE}",
        hint="Make all cells numbers or all cells text.",
        rows=shown,
    )


def plain_label(label: Any) -> Any:
    """Turn a label into plain text, bool or number, so that it can be printed, saved, compared."""
    if isinstance(label, (bool, np.bool_)):
        return bool(label)
    if isinstance(label, Integral):
        return int(label)
    if isinstance(label, Real) and not isinstance(label, Decimal):
        return float(label)
    return str(label)


def as_kind(cells: Cells, kind: Kind) -> Cells:
    """Read cells as another kind that the user or the fit gives.

    Parameters
    ----------
    cells : Cells
        As their dtype says.
    kind : Kind
        What they are to be read as.

    Returns
    -------
    Cells

    Raises
    ------
    UnreadableError
        Where it would need a guess, such as a date read as a number.
    """
    if cells.kind == kind:
        return cells
    labels = cells.values
    if cells.kind == "numeric":  # as Python objects, with one label for both zeros
        number_type = int if cells.integer else float
        labels = object_array(
            [None if np.isnan(value) else number_type(value + 0.0) for value in cells.values]
        )
    missing = np.asarray(pd.isna(labels), dtype=bool)
    if missing.all():
        return _all_missing(kind, len(labels))
    what: str = cells.kind
    if kind == "numeric" and any(isinstance(label, str) for label in labels):
        what = f"{cells.kind} with text labels"
    if "date" in (cells.kind, kind) or what != cells.kind:
        reason = f"is {what} and cannot be read as {kind}"
        raise UnreadableError("P03", reason, "Convert the column.")
    if kind in ("ordinal", "nominal"):
        return Cells(kind, labels, declared=cells.declared, text=cells.text)
    if kind == "numeric":
        floats = np.array([np.nan if label is None else float(label) for label in labels])
        integer = all(isinstance(label, int | None) for label in labels)
        return Cells("numeric", floats, integer=integer)
    not_boolean = [row for row, label in enumerate(labels) if label not in (0, 1, None)]
    if not_boolean:
        raise UnreadableError(
            "P03",
            f"holds {labels[not_boolean[0]]!r} and cannot be read as {kind}",
            "A boolean column holds True, False, 1 or 0.",
            not_boolean,
        )
    return from_labels([bool(label) for label in labels], missing, kind="boolean")


def _all_missing(kind: Kind, n_rows: int) -> Cells:
    """A column of a kind without any value."""
    if kind == "numeric":
        return Cells(kind, np.full(n_rows, np.nan))
    if kind == "date":
        return Cells(kind, np.full(n_rows, np.datetime64("NaT", "s")))
    return Cells(kind, np.full(n_rows, None, dtype=object))
