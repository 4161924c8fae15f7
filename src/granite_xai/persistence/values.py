"""Parameters and operators by value: plain types, and a fixed list of our own frozen classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date, timedelta
from typing import Any

import numpy as np

from granite_xai.base.errors import GraniteError, InputError
from granite_xai.base.files import broken, entry, members
from granite_xai.behavior import Local, Risk, Sensitivity
from granite_xai.compute import Resources
from granite_xai.disagreement import Disagreement
from granite_xai.explainer import Explainer
from granite_xai.influence import Individual, Interactions, Joint
from granite_xai.interaction import Additive, Full, Partial, Pure, Whole
from granite_xai.masking import Accumulated, Baseline, Conditional, Marginal
from granite_xai.objective import Objective
from granite_xai.regions.partition import Partition
from granite_xai.search.numeric import NumericTree
from granite_xai.search.partitioners import AllExcept, Clusters, Cohorts, GivenRules, Ice, RepidTree, Subgroups, Tree
from granite_xai.tables.arrays_file import UnwritableError, array_from_json, array_to_json

_CLASSES: tuple[type[Any], ...] = (
    *(Marginal, Conditional, Baseline, Accumulated),
    *(Local, Sensitivity, Risk),
    *(Pure, Partial, Full, Whole, Additive),
    *(Individual, Joint, Interactions),
    *(Explainer, Disagreement, Objective, Resources),
    *(Tree, NumericTree, AllExcept, GivenRules, Clusters, Cohorts, Subgroups, RepidTree, Ice),
)
NAMED: dict[str, type[Any]] = {kind.__name__: kind for kind in _CLASSES}
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")


def value_to_json(value: Any, place: str) -> Any:
    """Write a value; a function, a random state and any other object is refused with its place.

    Examples
    --------
    >>> value_to_json(("interaction", 2), "influence")
    {'tuple': ['interaction', 2]}
    >>> value_to_json(Sensitivity("jansen"), "behavior")
    {'type': 'Sensitivity', 'fields': {'total': 'jansen'}}
    """
    if isinstance(value, np.datetime64 | np.timedelta64 | date | timedelta):
        return _date_to_json(value, place)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str | int | float):
        return _scalar_to_json(value, place)
    if isinstance(value, tuple):
        return {"tuple": [value_to_json(item, f"{place}[{i}]") for i, item in enumerate(value)]}
    if isinstance(value, Mapping):
        pairs = value.items()
        return {"mapping": [[value_to_json(k, place), value_to_json(v, f"{place}[{k!r}]")] for k, v in pairs]}
    if isinstance(value, np.ndarray):
        return _array_to_json(value, place)
    if isinstance(value, list):
        return [value_to_json(item, f"{place}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Partition):
        return {"partition": value.to_dict()}
    if type(value) in _CLASSES:
        inner = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"type": type(value).__name__, "fields": {k: value_to_json(v, f"{place}.{k}") for k, v in inner.items()}}
    raise _not_by_value(value, place)


def value_from_json(data: object, place: str) -> Any:
    """Read what `value_to_json` wrote; anything else is a FormatError that names the place.

    Examples
    --------
    >>> value_from_json({"type": "Sensitivity", "fields": {"total": "jansen"}}, "behavior")
    Sensitivity(total='jansen')
    """
    if data is None or isinstance(data, bool | str | int | float):
        return data
    if isinstance(data, list):
        return [value_from_json(item, f"{place}[{i}]") for i, item in enumerate(data)]
    if isinstance(data, dict) and "type" in data:
        return _object_from_json(data, place)
    if isinstance(data, dict) and len(data) == 1:
        (kind,) = data
        if kind in _READERS:
            return _READERS[kind](data, place)
    raise broken(place, "is not a value that is known")


def _scalar_to_json(value: Any, place: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        raise _not_by_value(value, place)
    return value


def _array_to_json(value: Any, place: str) -> Any:
    try:
        if value.ndim == 1:
            return {"array": list(array_to_json(value))}
    except UnwritableError:
        pass
    raise _not_by_value(value, place)


def _date_to_json(value: Any, place: str) -> Any:
    moment = value if isinstance(value, np.datetime64 | np.timedelta64) else np.array(_naive(value, place))[()]
    moment = moment if isinstance(moment, np.generic) else np.array([moment]).astype("M8[us]")[0]
    unit, count = np.datetime_data(moment.dtype)
    if unit not in _UNITS or count != 1:
        raise _not_by_value(value, place)
    kind = "datetime64" if isinstance(moment, np.datetime64) else "timedelta64"
    return {"date": [kind, unit, int(moment.astype(np.int64))]}


def _naive(value: Any, place: str) -> np.datetime64 | np.timedelta64:
    if getattr(value, "tzinfo", None) is not None:
        raise _not_by_value(value, place)
    return np.timedelta64(value) if isinstance(value, timedelta) else np.datetime64(value)


def _object_from_json(data: dict[str, Any], place: str) -> Any:
    name = entry(data, "type", str, place)
    if name not in NAMED:
        raise broken(f"{place}.type", f"is {name[:60]!r}, which is not known")
    kind, stored = NAMED[name], entry(data, "fields", dict, place)
    if not stored.keys() <= {field.name for field in fields(kind)}:
        raise broken(f"{place}.fields", f"are not those of {name}")
    given = {key: value_from_json(value, f"{place}.{key}") for key, value in stored.items()}
    try:
        return kind(*given["columns"]) if kind is AllExcept else kind(**given)
    except (GraniteError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise broken(place, f"is no {name}: {str(error)[:200]}") from error


def _tuple(data: dict[str, Any], place: str) -> tuple[Any, ...]:
    return tuple(value_from_json(item, f"{place}[{i}]") for i, item in enumerate(members(data, "tuple", place)))


def _mapping(data: dict[str, Any], place: str) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for i, pair in enumerate(members(data, "mapping", place)):
        if not isinstance(pair, list) or len(pair) != 2:
            raise broken(f"{place}[{i}]", "is not a pair")
        key, value = (value_from_json(item, f"{place}[{i}]") for item in pair)
        try:
            made[key] = value
        except TypeError as error:
            raise broken(f"{place}[{i}]", "has a key that cannot be one") from error
    return made


def _number(data: dict[str, Any], place: str) -> float:
    name = entry(data, "number", str, place)
    if name not in _SPECIAL:
        raise broken(place, f"is {name[:60]!r}, which is not a number")
    return _SPECIAL[name]


def _date(data: dict[str, Any], place: str) -> Any:
    stored = members(data, "date", place)
    if len(stored) != 3 or stored[0] not in ("datetime64", "timedelta64") or stored[1] not in _UNITS:
        raise broken(place, "is not a date or duration")
    if type(stored[2]) is not int or abs(stored[2]) >= 2**63:
        raise broken(place, "is not a whole number of its unit")
    return np.array([stored[2]], dtype=np.int64).view(f"{stored[0]}[{stored[1]}]")[0]


def _array(data: dict[str, Any], place: str) -> Any:
    stored = members(data, "array", place)
    if len(stored) != 2 or not isinstance(stored[1], list):
        raise broken(place, "is not a dtype with its cells")
    return array_from_json(stored[0], stored[1], place)


def _partition(data: dict[str, Any], place: str) -> Partition:
    return Partition.from_dict(entry(data, "partition", dict, place))


_READERS: dict[str, Callable[[dict[str, Any], str], Any]] = {
    "tuple": _tuple,
    "mapping": _mapping,
    "number": _number,
    "date": _date,
    "array": _array,
    "partition": _partition,
}


def _not_by_value(value: Any, place: str) -> InputError:
    name = getattr(value, "__qualname__", type(value).__qualname__)
    what = f"the function {name}" if callable(value) and hasattr(value, "__qualname__") else f"a {name}"
    hint = "Use an option that has a name or is a number, or pickle the object: that keeps functions and the model."
    if isinstance(value, np.random.RandomState | np.random.Generator):
        hint = "Set random_state to diagnostics_['seed'], the seed that was drawn from it."
    message = f"{place} is {what}, which a file cannot hold: a loaded file never runs code."
    return InputError(message, code="F08", argument=place.split(".")[0].split("[")[0], hint=hint)
