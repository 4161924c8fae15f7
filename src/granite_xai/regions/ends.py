"""Ends of intervals and cells of columns: how they are compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.typing import BoolArray
from granite_xai.regions.words import SIZES, Bound, Label, as_bound, as_label, attoseconds, value_text


def is_missing(values: NDArray[Any]) -> BoolArray:
    """Tell which values are missing: NaN, NaT or None."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=np.bool_)
    return np.array([v is None or (isinstance(v, float) and v != v) for v in values], dtype=np.bool_)


def end(value: Bound | None, order: tuple[Label, ...] | None) -> Bound | None:
    """Return the stored form of an end: a number, date or duration, or one of the ordered labels."""
    if value is None or order is None:
        return None if value is None else as_bound(value)
    label = as_label(value)
    if label not in order:
        raise InputError(f"{value_text(label)} is not one of the ordered labels.", code="P02", argument="order")
    return order[order.index(label)]


def at_or_above(low: Bound, high: Bound, order: Sequence[Label] | None) -> bool:
    """Tell whether ``low >= high``; text of unknown order is only compared for equality."""
    if order is not None:
        labels: list[object] = list(order)
        return labels.index(low) >= labels.index(high)
    if _kind(low) != _kind(high):
        words = f"{value_text(low)} and {value_text(high)}"
        raise InputError(f"{words} cannot bound one interval.", code="P03", argument="low")
    return bool(low == high if isinstance(low, str) else low >= high)  # type: ignore[operator]


def _kind(value: Bound) -> str:
    return np.asarray(value).dtype.kind if isinstance(value, np.generic | str) else "f"


def tighter(one: Bound | None, two: Bound | None, order: Sequence[Label] | None, *, upper: bool) -> Bound | None:
    """Return the tighter of two upper, or two lower, ends."""
    if one is None or two is None or one == two:
        return two if one is None else one
    if order is None and isinstance(one, str) and isinstance(two, str):
        raise InputError(f"the order of {value_text(one)} and {value_text(two)} is not known.", code="P03")
    return two if at_or_above(one, two, order) == upper else one


def between(
    values: NDArray[Any], low: Bound | None, high: Bound | None, order: Sequence[Label] | None, others: bool
) -> BoolArray:
    """Tell which values satisfy ``low < x <= high`` (None is open); labels outside the order do if `others` is set."""
    if order is not None:
        places = ranks(values, order)
        return np.where(places < 0, others, _within(places, _rank(low, order), _rank(high, order)))
    known = high if low is None else low
    if isinstance(known, np.datetime64 | np.timedelta64):
        return _between_dates(values, low, high)
    if isinstance(known, str):
        words = f"the order of the labels is not known for an interval that ends at {value_text(known)}."
        hint = "Give the column an ordered categorical type."
        raise InputError(words, code="P03", argument="order", hint=hint)
    # Truth values and numbers kept as objects count as numbers.
    objects = values if values.dtype.kind == "O" else ()
    numeric = (int, float, np.number, np.bool_, type(None))
    if values.dtype.kind not in "fiubO" or not all(isinstance(v, numeric) for v in objects):
        raise InputError("the rule compares with numbers, but the column has others.", code="P03", argument="X")
    return _within(values.astype(np.float64), low, high)


def _within(values: NDArray[Any], low: Any, high: Any) -> BoolArray:
    above = np.ones(len(values), dtype=np.bool_) if low is None else values > low
    return above if high is None else above & (values <= high)


def _between_dates(values: NDArray[Any], low: Bound | None, high: Bound | None) -> BoolArray:
    """Compare dates or durations exactly, whatever their units."""
    ends = [v for v in (low, high) if v is not None]
    if any(values.dtype.kind != _kind(v) for v in ends):
        words = f"{value_text(ends[0])} cannot be compared with {values.dtype}."
        raise InputError(words, code="P03", argument="X")
    if np.datetime_data(values.dtype)[0] in "YMW":
        values = values.astype(f"{values.dtype.kind}8[D]")
    return _within(values.astype(np.int64), *(_floor_ticks(v, values.dtype) for v in (low, high)))


def _floor_ticks(value: Any, dtype: Any) -> int | None:
    """Return the last tick of an array's unit at or before a date, kept within 64 bits.

    ``x <= value`` and ``x > value`` hold for a tick ``x`` exactly when they hold against this integer.
    """
    if value is None:
        return None
    unit, count = np.datetime_data(dtype)
    limits = np.iinfo(np.int64)
    return min(max(attoseconds(value) // (SIZES[unit] * count), int(limits.min)), int(limits.max))


def ranks(values: NDArray[Any], labels: Iterable[Label]) -> NDArray[np.int64]:
    """Return the place of every value among some labels; -1 for one outside them and for a missing one."""
    # Equal numbers are one label (1, 1.0, True): a level may be an integer here and a float in another table.
    place = {as_label(v): i for i, v in enumerate(labels)}
    missing = is_missing(values)
    found = [-1 if gone else place.get(as_label(v), -1) for v, gone in zip(values, missing, strict=True)]
    return np.array(found, dtype=np.int64)


def _rank(value: Bound | None, order: Sequence[Label]) -> int | None:
    labels: list[object] = list(order)
    if value is not None and value not in labels:
        raise InputError(f"{value_text(value)} is not one of the ordered labels.", code="P03", argument="order")
    return None if value is None else labels.index(value)
