"""Dataclasses in the types of JSON and back, by the type hints of their fields: strict, and open to new fields.

cattrs 26.2 and msgspec 0.22 do this and neither fits. Both stop with a NameError at a field whose class is imported for
type checkers only, and neither has open unions: what stands in a table of operators. cattrs takes ``"3"`` for a whole
number, msgspec reads over unknown and repeated keys; half of the fields need hooks in either.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import date, timedelta
from functools import cache
from inspect import Parameter, signature
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import GraniteError, InputError
from granite_xai.base.files.arrays import (
    UnwritableError,
    broken,
    dtype_name,
    plain_list,
    read_cells,
    read_dtype,
    write_cells,
)

T = TypeVar("T")
BY_ROW: Mapping[str, bool] = types.MappingProxyType({"by_row": True})
"""Metadata of a field with one entry a fitting row: a file holds it only together with the rows."""

_UNION = (Union, types.UnionType)
_ARRAYS = (np.ndarray, get_origin(NDArray[Any]))  # NDArray has a name of its own from NumPy 2.5
_SETS = (set, frozenset, Set)
_LISTS = (tuple, list, Sequence, *_SETS)
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_REFUSALS = (GraniteError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def entry(data: object, key: str, kind: type[T], place: str) -> T:
    """Return one entry of an object after checking its type; truth values are not numbers."""
    if not isinstance(data, dict):
        raise broken(place, "is not an object")
    if key not in data:
        raise broken(place, f"has no entry {key!r}")
    value = data[key]
    if kind is list and isinstance(value, np.ndarray):
        value = plain_list(value, place)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, float)):
        raise broken(f"{place}.{key}", f"is not of type {kind.__name__}")
    return value


class Form(NamedTuple):
    """How values of one type are written and read: functions of a value, or of what a file holds, and its place."""

    write: Callable[[Any, str], Any]
    read: Callable[[Any, str], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """What is needed to write values of some classes and to read them back.

    ``classes`` are what a field may hold whose hint leaves the class open, by the name in the file; ``forms`` those of
    types with a form of their own; without ``by_row``, fields with one entry a row are left out and come back empty.
    """

    classes: Mapping[str, type] = field(default_factory=dict)
    forms: Mapping[Any, Form] = field(default_factory=dict)
    by_row: bool = True

    def write(self, value: Any, hint: Any, place: str, without: Sequence[str] = ()) -> Any:
        """Write a value in the form of its hint; ``without`` names fields that the file does not hold."""
        hint, optional = _present(hint)
        if value is None and optional:
            return None
        origin, inner = get_origin(hint), get_args(hint)
        if (form := self.forms.get(hint)) is not None:
            return form.write(value, place)
        if is_dataclass(hint) and type(value) is hint:
            return self._fields(value, place, without)
        if origin in _LISTS:
            if origin in _SETS:  # numbers first, texts after them
                value = sorted(value, key=lambda item: (0, item) if isinstance(item, int | float) else (1, str(item)))
            items = enumerate(zip(value, _each(origin, inner, len(value)), strict=True))
            return [self.write(item, each, f"{place}[{i}]") for i, (item, each) in items]
        if origin in (dict, Mapping):
            if inner[0] is str:
                return {key: self.write(item, inner[1], f"{place}.{key}") for key, item in value.items()}
            pairs = value.items()
            return [[self.write(k, inner[0], place), self.write(v, inner[1], f"{place}[{k!r}]")] for k, v in pairs]
        if _entry_type(hint) is not None:
            return _cells(value, place)[1]
        return self._value(value, place)

    def read(self, data: Any, hint: Any, place: str, **known: Any) -> Any:
        """Read what `write` wrote; ``known`` are the fields that the file does not hold."""
        hint, optional = _present(hint)
        if data is None and optional:
            return None
        origin, inner = get_origin(hint), get_args(hint)
        if (form := self.forms.get(hint)) is not None:
            return form.read(data, place)
        if is_dataclass(hint):
            return self._made(hint, data, place, known)
        if origin in _LISTS:
            items = plain_list(data, place)
            hints = _each(origin, inner, len(items))
            if len(hints) != len(items):
                raise broken(place, f"has {len(items)} entries, not {len(hints)}")
            pairs = enumerate(zip(items, hints, strict=True))
            made = [self.read(item, each, f"{place}[{i}]") for i, (item, each) in pairs]
            return made if origin is list else frozenset(made) if origin in _SETS else tuple(made)
        if origin in (dict, Mapping):
            return self._mapping(data, inner[0], inner[1], place)
        if (kind := _entry_type(hint)) is not None:
            return read_cells(data, np.dtype(kind), place)
        value = self._plain(data, place)
        if not _fits(value, hint):
            raise broken(place, f"is {str(value)[:60]!r}, not of type {getattr(hint, '__name__', hint)}")
        try:
            return float(value) if hint is float else value
        except OverflowError:
            raise broken(place, "is not a finite number") from None

    def _hints(self, kind: Any) -> dict[str, Any]:
        return _hints(kind, tuple(one for one in self.forms if isinstance(one, type)))

    def _fields(self, value: Any, place: str, without: Sequence[str] = ()) -> dict[str, Any]:
        kind: Any = type(value)
        hints, kept = self._hints(kind), self._kept(kind, without)
        return {name: self.write(getattr(value, name), hints[name], f"{place}.{name}") for name in kept}

    def _kept(self, kind: Any, without: Collection[str]) -> dict[str, Field[Any]]:
        """Fields of a dataclass that the file holds."""
        kept = (f for f in fields(kind) if f.init and (self.by_row or not f.metadata.get("by_row", False)))
        return {f.name: f for f in kept if f.name not in without}

    def _made(self, kind: Any, data: object, place: str, known: Mapping[str, Any]) -> Any:
        if not isinstance(data, dict):
            raise broken(place, "is not an object")
        hints = self._hints(kind)
        given, kept = dict(known), self._kept(kind, known)
        if strange := [name for name in data if name not in kept]:
            raise broken(place, f"has {strange[0][:60]!r}, which is not known")
        for f in fields(kind):
            if f.name in data:
                given[f.name] = self.read(data[f.name], hints[f.name], f"{place}.{f.name}")
            elif f.name in kept and f.default is MISSING and f.default_factory is MISSING:
                raise broken(place, f"has no entry {f.name!r}")
            elif f.init and f.name not in kept and f.name not in known:
                given[f.name] = np.empty(0, dtype=_entry_type(hints[f.name]))
        starred = [p.name for p in signature(kind).parameters.values() if p.kind is Parameter.VAR_POSITIONAL]
        try:
            return kind(*given[starred[0]]) if starred else kind(**given)
        except _REFUSALS as error:
            raise broken(place, f"is no {kind.__name__}: {str(error)[:200]}") from error

    def _mapping(self, data: Any, key_hint: Any, value_hint: Any, place: str) -> dict[Any, Any]:
        if key_hint is str:
            if not isinstance(data, dict):
                raise broken(place, "is not an object")
            return {key: self.read(item, value_hint, f"{place}.{key[:60]}") for key, item in data.items()}
        made: dict[Any, Any] = {}
        for i, pair in enumerate(plain_list(data, place)):
            key, value = self.read(pair, tuple[key_hint, value_hint], f"{place}[{i}]")
            try:
                made[key] = value
            except TypeError as error:
                raise broken(f"{place}[{i}]", "has a key that cannot be one") from error
        if len(made) < len(data):
            raise broken(place, "has a key twice")
        return made

    def _value(self, value: Any, place: str) -> Any:
        """Write a value whose hint leaves open what it is; functions and unknown objects are refused (F08)."""
        if isinstance(value, date | timedelta) and getattr(value, "tzinfo", None) is None:
            value = np.timedelta64(value) if isinstance(value, timedelta) else np.datetime64(value)
        if isinstance(value, np.ndarray | np.datetime64 | np.timedelta64):
            return {"array": _cells(np.asarray(value), place)}
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float) and not math.isfinite(value):
            return {"number": str(value)}
        if value is None or isinstance(value, bool | str | int | float):
            return value
        if isinstance(value, list | tuple):
            items = self.write(value, list[Any], place)
            return {"tuple": items} if isinstance(value, tuple) else items
        if isinstance(value, Mapping):
            return {"mapping": self.write(value, dict[Any, Any], place)}
        if type(value) in self.classes.values():
            return {"type": next(n for n, c in self.classes.items() if c is type(value)), **self._fields(value, place)}
        raise unwritable(value, place)

    def _plain(self, data: Any, place: str) -> Any:
        """Read what `_value` wrote."""
        if isinstance(data, np.ndarray):
            return plain_list(data, place)
        if isinstance(data, list):
            return self.read(data, list[Any], place)
        if isinstance(data, float) and not math.isfinite(data):
            raise broken(place, "is not a finite number")
        if data is None or isinstance(data, bool | str | int | float):
            return data
        if isinstance(data, dict) and "type" in data:
            name = entry(data, "type", str, place)
            if name not in self.classes:
                raise broken(f"{place}.type", f"is {name[:60]!r}, which is not known")
            return self._made(self.classes[name], {k: v for k, v in data.items() if k != "type"}, place, {})
        kind, held = next(iter(data.items())) if isinstance(data, dict) and len(data) == 1 else ("", None)
        if kind == "tuple":
            return self.read(held, tuple[Any, ...], place)
        if kind == "mapping":
            return self._mapping(held, Any, Any, place)
        if kind == "number" and isinstance(held, str) and held in _SPECIAL:
            return _SPECIAL[held]
        if kind == "array" and isinstance(held, list) and len(held) == 2:
            return read_cells(held[1], read_dtype(held[0], place), place)[()]  # a date has no dimensions
        raise broken(place, "is not a value that is known")


NAN_AS_NULL = Form(
    lambda value, place: None if math.isnan(value) else Structure().write(value, float, place),
    lambda data, place: math.nan if data is None else Structure().read(data, float, place),
)
"""Numbers of which some are not known."""


def unwritable(value: Any, place: str) -> InputError:
    """Return the error for a value that no file can hold (F08)."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    what = f"the function {name}" if callable(value) and hasattr(value, "__qualname__") else f"a {name}"
    hint = "Use an option that has a name or is a number, or pickle the object: that keeps functions and the model."
    if isinstance(value, np.random.RandomState | np.random.Generator):
        hint = "Set random_state to diagnostics_['seed'], the seed that was drawn from it."
    message = f"{place} is {what}, which a file cannot hold: a loaded file never runs code."
    return InputError(message, code="F08", argument=place.split(".")[0].split("[")[0], hint=hint)


@cache
def _hints(kind: Any, known: tuple[type, ...]) -> dict[str, Any]:
    """Hints of a dataclass; names that its module imports for type checkers only are those of known types."""
    names: dict[str, type] = {one.__name__: one for one in known}
    while True:
        try:
            return get_type_hints(kind, localns=names)
        except NameError as error:
            names[str(error.name)] = object


def _present(hint: Any) -> tuple[Any, bool]:
    """Tell whether None is allowed, and what else."""
    if get_origin(hint) not in _UNION or type(None) not in get_args(hint):
        return hint, hint is type(None)
    return Union[tuple(inner for inner in get_args(hint) if inner is not type(None))], True  # noqa: UP007


def _each(origin: Any, inner: tuple[Any, ...], count: int) -> Sequence[Any]:
    """Hints of the entries of a list."""
    fixed = origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis)
    return inner if fixed else [inner[0]] * count


def _entry_type(hint: Any) -> Any:
    """Which numbers an array of this hint holds; None: no array, or the hint does not say."""
    kind = hint if get_origin(hint) in _ARRAYS else None
    while inner := get_args(kind):
        kind = inner[-1]
    return kind if isinstance(kind, type) and kind is not np.generic and np.dtype(kind).kind in "fib" else None


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in _UNION:
        return any(_fits(value, inner) for inner in get_args(hint))
    if origin is Literal:
        return any(value == inner and type(value) is type(inner) for inner in get_args(hint))
    if hint in (int, float):
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    kind = np.ndarray if origin in _ARRAYS else origin or hint
    if kind is Callable:
        return callable(value)
    if not isinstance(kind, type) or kind is Any or (getattr(kind, "_is_protocol", False) and kind is not Hashable):
        return True
    return isinstance(value, kind)


def _cells(value: NDArray[Any], place: str) -> list[Any]:
    """Dtype and cells of an array."""
    try:
        return [dtype_name(value), write_cells(value)]
    except UnwritableError:
        raise unwritable(value, place) from None
