"""Conditions in the types of JSON, and careful reading of what someone else wrote."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.files import broken, entry, members
from granite_xai.regions.conditions import Condition, Interval, Levels
from granite_xai.regions.grammar import read_bound
from granite_xai.regions.words import Bound, Label, value_text

_LONGEST_DATE = 60


def condition_to_dict(condition: Condition) -> dict[str, Any]:
    """Return a condition in the types of JSON.

    Examples
    --------
    >>> condition_to_dict(Levels({"b", "a"}))
    {'type': 'levels', 'levels': ['a', 'b'], 'others': False, 'missing': False}
    """
    if isinstance(condition, Levels):
        return {
            "type": "levels",
            "levels": condition.sorted_levels(),
            "others": condition.others,
            "missing": condition.missing,
        }
    return {
        "type": "interval",
        "low": _bound_to_json(condition.low),
        "high": _bound_to_json(condition.high),
        "order": None if condition.order is None else list(condition.order),
        "others": condition.others,
        "missing": condition.missing,
    }


def _bound_to_json(value: Bound | None) -> Any:
    """Write dates and durations as the text of a rule, in a list to tell them from labels."""
    return [value_text(value)] if isinstance(value, np.datetime64 | np.timedelta64) else value


def condition_from_dict(data: object, place: str = "condition") -> Condition:
    """Read what `condition_to_dict` wrote; anything else is a FormatError that names the place.

    Examples
    --------
    >>> condition_from_dict(condition_to_dict(Levels({"a"}))).text("x")
    'x is a'
    """
    kind = entry(data, "type", str, place)
    others, missing = entry(data, "others", bool, place), entry(data, "missing", bool, place)
    if kind == "levels":
        labels = [_label(v, f"{place}.levels") for v in members(data, "levels", place)]
        return Levels(set(labels), others, missing)
    if kind != "interval":
        raise broken(f"{place}.type", f"is {kind!r}, not 'interval' or 'levels'")
    low, high = (_bound(entry(data, key, object, place), f"{place}.{key}") for key in ("low", "high"))
    order = None
    if entry(data, "order", object, place) is not None:
        order = [_label(v, f"{place}.order") for v in members(data, "order", place)]
    try:
        return Interval(low, high, order, missing, others)
    except InputError as error:
        raise broken(place, f"is not an interval: {error.message}") from error


def _label(value: object, place: str) -> Label:
    if not isinstance(value, str | int | float):
        raise broken(place, f"has the label {value!r}, which is neither text nor number")
    return value if isinstance(value, str | bool) else number_or_int(value, place)


def number_or_int(value: float, place: str) -> float:
    """Return a label that is a finite number, integers unchanged.

    Examples
    --------
    >>> number_or_int(3, "levels")
    3
    """
    if isinstance(value, float) and not np.isfinite(value):
        raise broken(place, "has a number that is not finite")
    return value


def _bound(value: object, place: str) -> Bound | None:
    if value is None:
        return None
    if isinstance(value, list):
        if len(value) != 1 or not isinstance(value[0], str) or len(value[0]) > _LONGEST_DATE:
            raise broken(place, "is not a date or duration")
        try:
            return read_bound(value[0])
        except (InputError, OverflowError) as error:
            raise broken(place, f"is not a date or duration: {value[0]!r}") from error
    return _label(value, place)
