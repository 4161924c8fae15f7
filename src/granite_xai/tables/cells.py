"""Cells as a library stores them, turned into values of one kind.

Nothing here knows the column's name: what cannot be read is an `UnreadableError`, and the reader of the
table adds the name, the index and the row labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.tables.columns import Kind

LARGEST_EXACT = 2**53
DECIMAL_HINT = "Convert the column: astype(float)."
_MACHINE = (-(2**63), 2**64)
NOT_A_CELL = "each argument must be a string or a number"


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Values of one kind, with what their dtype says about them."""

    kind: Kind
    values: NDArray[Any]
    declared: tuple[Any, ...] | None = None
    integer: bool = False
    text: bool = False
    inexact: bool = False


class UnreadableError(Exception):
    """A column that cannot be read: the case, the reason, the rows by position, the remedy."""

    def __init__(self, code: str, reason: str, hint: str, rows: Iterable[int] = ()) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.hint = hint
        self.rows = tuple(rows)


def from_array(values: NDArray[Any]) -> Cells:
    """Read a one-dimensional array by its dtype.

    Examples
    --------
    >>> from_array(np.array([3, 1])).values
    array([3., 1.])
    >>> from_array(np.array(["b", "a"])).kind
    'nominal'
    """
    reader = _BY_DTYPE.get(values.dtype.kind)
    if reader is None:
        raise UnreadableError("D12", f"has dtype {values.dtype}; {NOT_A_CELL}", "Convert the column.")
    return reader(values)


def from_objects(values: NDArray[Any]) -> Cells:
    """Read a column of Python objects by what its cells are (D04, D11, D12, D18, D20)."""
    import pandas as pd

    content = pd.api.types.infer_dtype(values, skipna=True)
    missing = np.asarray(pd.isna(values), dtype=bool)
    if content == "empty":
        return Cells("numeric", np.full(len(values), np.nan))
    if content in ("mixed", "mixed-integer") and not _all_real(values[~missing]):
        raise _mixture(values, missing)
    reader = _BY_CONTENT.get(content)
    if reader is None:
        raise _mixture(values, missing)
    return reader(values, missing)


def from_labels(labels: Sequence[Any] | NDArray[Any], missing: BoolArray, **facts: Any) -> Cells:
    """Read labels, given as any objects; the missing ones become None."""
    import pandas as pd

    cells = np.empty(len(missing), dtype=object)
    cells[:] = labels
    codes, distinct = pd.factorize(cells)  # each label is made plain once, not once a row
    table = np.empty(len(distinct) + 1, dtype=object)  # the last place is for -1, missing
    table[:-1] = [plain(label) for label in distinct]
    return Cells(facts.pop("kind", "nominal"), table[np.where(missing, -1, codes)], **facts)


def from_integers(values: NDArray[Any], missing: BoolArray | None = None) -> Cells:
    """Read whole numbers; beyond 2^53 neighbours fall together, which is noted (D20)."""
    present = values if missing is None else values[~missing]
    inexact = present.size > 0 and bool(int(present.max()) > LARGEST_EXACT or int(present.min()) < -LARGEST_EXACT)
    floats = values.astype(np.float64)
    if missing is not None:
        floats[missing] = np.nan
    return Cells("numeric", floats, integer=True, inexact=inexact)


def plain(label: Any) -> Any:
    """Turn a label into plain text, bool or number, so that it can be printed, saved, compared.

    Examples
    --------
    >>> plain(np.int64(3)), plain(np.str_("a")), plain(np.bool_(True))
    (3, 'a', True)
    """
    if isinstance(label, (bool, np.bool_)):
        return bool(label)
    if isinstance(label, Integral):
        return int(label)
    if isinstance(label, Real) and not isinstance(label, Decimal):
        return float(label)
    return str(label)


def _floats(values: NDArray[Any]) -> Cells:
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinity: D03
        return Cells("numeric", values.astype(np.float64))


def _booleans(values: NDArray[Any]) -> Cells:
    return Cells("boolean", values.astype(object))


def _texts(values: NDArray[Any]) -> Cells:
    return from_labels(values.tolist(), np.zeros(len(values), dtype=bool), text=True)


def _complex(values: NDArray[Any], missing: BoolArray | None = None) -> Cells:
    reason = f"has dtype {values.dtype}. Complex data not supported"
    raise UnreadableError("D22", reason, "Pass real and imaginary parts as two columns.")


def _bytes(values: NDArray[Any], missing: BoolArray | None = None) -> Cells:
    raise UnreadableError("D12", f"holds bytes; {NOT_A_CELL}", "Decode it: astype(str).")


def _numbers(values: NDArray[Any], missing: BoolArray) -> Cells:
    floats: FloatArray = np.full(len(values), np.nan)
    present = values[~missing]
    big = [int(p) for p in np.flatnonzero(~missing) if _beyond_machine(values[p])]
    if big:
        raise UnreadableError("D20", f"holds {values[big[0]]}, beyond 64 bits", DECIMAL_HINT, big)
    floats[~missing] = present.astype(np.float64)
    whole = [isinstance(cell, Integral) for cell in present]
    inexact = bool(np.any(np.abs(floats[~missing][whole]) > LARGEST_EXACT))
    return Cells("numeric", floats, integer=all(whole), inexact=inexact)


def _dates(values: NDArray[Any], missing: BoolArray) -> Cells:
    return Cells("date", _filled(values, missing, "datetime64[D]"))


def _datetimes(values: NDArray[Any], missing: BoolArray) -> Cells:
    import pandas as pd

    zones = {str(getattr(cell, "tzinfo", None)) for cell in values[~missing]}
    if len(zones) > 1:
        hint = "Convert all of them to one zone: pandas.to_datetime(…, utc=True)."
        raise UnreadableError("D18", f"mixes time zones ({', '.join(sorted(zones))})", hint)
    series = pd.to_datetime(pd.Series(with_none(values, missing)))
    return Cells("date", series.dt.tz_localize(None).to_numpy() if zones == {"None"} else utc(series))


def _durations(values: NDArray[Any], missing: BoolArray) -> Cells:
    import pandas as pd

    return Cells("date", pd.to_timedelta(pd.Series(with_none(values, missing))).to_numpy())


def with_none(values: NDArray[Any], missing: BoolArray) -> NDArray[Any]:
    """Objects with None for everything missing."""
    cells = values.astype(object)
    cells[missing] = None
    return cells


def utc(series: Any) -> NDArray[Any]:
    """Datetimes with a zone as plain ones in UTC, where their order is the order of time."""
    return np.asarray(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())


def _decimals(values: NDArray[Any], missing: BoolArray) -> Cells:
    raise UnreadableError("D20", "holds Decimal numbers", DECIMAL_HINT)


def _periods(values: NDArray[Any], missing: BoolArray) -> Cells:
    raise UnreadableError("D18", "holds periods", "Convert the column: .dt.to_timestamp().")


def _times(values: NDArray[Any], missing: BoolArray) -> Cells:
    raise UnreadableError("D18", "holds times of day", "Convert the column to seconds, or to timedelta.")


def _filled(values: NDArray[Any], missing: BoolArray, dtype: str) -> NDArray[Any]:
    result = np.full(len(values), "NaT", dtype=dtype)
    result[~missing] = values[~missing].astype(dtype)
    return result


def _all_real(cells: NDArray[Any]) -> bool:
    return all(isinstance(cell, (Real, np.bool_)) and not isinstance(cell, Decimal) for cell in cells)


def _beyond_machine(cell: Any) -> bool:
    return isinstance(cell, Integral) and not _MACHINE[0] <= int(cell) < _MACHINE[1]


def _mixture(values: NDArray[Any], missing: BoolArray) -> UnreadableError:
    """Show two cells that do not belong together (D12)."""
    rows = np.flatnonzero(~missing)
    odd = [row for row in rows if not isinstance(values[row], (Real, str, np.bool_))]
    one = odd[0] if odd else rows[0]
    sort = isinstance(values[one], str)
    other = next((row for row in rows if isinstance(values[row], str) != sort), None)
    if odd:
        other = next((row for row in rows if type(values[row]) is not type(values[one])), None)
    shown = sorted([one] if other is None else [one, other])
    cells = " and ".join(f"{_cut(values[r])} ({type(values[r]).__name__})" for r in shown)
    hint = "Make all cells numbers or all cells text."
    return UnreadableError("D12", f"mixes cells: it holds {cells}; {NOT_A_CELL}", hint, map(int, shown))


def _cut(cell: Any) -> str:
    text = repr(cell)
    return text if len(text) <= 40 else f"{text[:39]}…"


_BY_DTYPE: dict[str, Callable[[NDArray[Any]], Cells]] = {
    "b": _booleans,
    "i": from_integers,
    "u": from_integers,
    "f": _floats,
    "c": _complex,
    "U": _texts,
    "T": _texts,
    "S": _bytes,
    "O": from_objects,
    "M": lambda values: Cells("date", values.copy()),
    "m": lambda values: Cells("date", values.copy()),
}
_BY_CONTENT: dict[str, Callable[[NDArray[Any], BoolArray], Cells]] = {
    "string": lambda values, missing: from_labels(values, missing, text=True),
    "boolean": lambda values, missing: from_labels(values, missing, kind="boolean"),
    "integer": _numbers,
    "floating": _numbers,
    "mixed-integer-float": _numbers,
    "mixed-integer": _numbers,
    "mixed": _numbers,
    "date": _dates,
    "datetime": _datetimes,
    "datetime64": _datetimes,
    "timedelta": _durations,
    "timedelta64": _durations,
    "decimal": _decimals,
    "complex": _complex,
    "bytes": _bytes,
    "period": _periods,
    "time": _times,
}
