"""Dataclasses in the types of JSON and back, by the type hints of their fields: strict, and open to new fields.

Two libraries do this and neither fits (cattrs 26.2, msgspec 0.22). Both stop with a NameError at a field whose class
is imported for type checkers only (``Curve.column: Column``). msgspec refuses a union of two dataclasses (what a
masking is), reads over unknown and repeated keys, and knows no keys but text. cattrs takes ``"3"`` and ``2.7`` for
whole numbers unless every scalar gets a hook, and must be told the members of every union in advance, where ours are
open: what stands in a table of operators. Half of the fields (columns of the fitted table, coalitions, rows, arrays)
need hooks in either.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import date, timedelta
from functools import cache
from inspect import Parameter, signature
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

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
_SETS = (set, frozenset, Set)
_LISTS = (tuple, list, Sequence, *_SETS)
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_REFUSALS = (GraniteError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def entry(data: object, key: str, kind: type[T], place: str) -> T:
    """Return one entry of an object after checking its type; truth values are not numbers.

    Examples
    --------
    >>> entry({"n": 3}, "n", int, "node")
    3
    """
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

    Parameters
    ----------
    classes : mapping of name to dataclass
        What a field may hold whose hint leaves the class open; the file names it.
    forms : mapping of hint to Form
        Types with a form of their own.
    by_row : bool
        Whether fields with one entry a row are kept; otherwise they come back empty.

    Examples
    --------
    >>> @dataclass
    ... class Step:
    ...     size: float
    ...     columns: tuple[int, ...] = ()
    >>> structure = Structure({"step": Step})
    >>> structure.write(Step(0.5, (1, 2)), Any, "step")
    {'type': 'step', 'size': 0.5, 'columns': [1, 2]}
    >>> structure.read({"type": "step", "size": True}, Any, "step")
    Traceback (most recent call last):
    ...
    granite_xai.FormatError: F04: step.size is 'True', not of type float.
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
        if (form := self._form(hint)) is not None:
            return form.write(value, place)
        if is_dataclass(hint) and type(value) is hint:
            return self._fields(value, place, without)
        if origin in _LISTS:
            value = sorted(value, key=_rank) if origin in _SETS else value
            items = enumerate(zip(value, _each(origin, inner, len(value)), strict=True))
            return [self.write(item, each, f"{place}[{i}]") for i, (item, each) in items]
        if origin in (dict, Mapping):
            if inner[0] is str:
                return {key: self.write(item, inner[1], f"{place}.{key}") for key, item in value.items()}
            pairs = value.items()
            return [[self.write(k, inner[0], place), self.write(v, inner[1], f"{place}[{k}]")] for k, v in pairs]
        if origin is np.ndarray and _numeric(hint):
            return _checked(write_cells, value, place)
        return self._value(value, place)

    def read(self, data: Any, hint: Any, place: str, **known: Any) -> Any:
        """Read what `write` wrote; ``known`` are the fields that the file does not hold."""
        hint, optional = _present(hint)
        if data is None and optional:
            return None
        origin, inner = get_origin(hint), get_args(hint)
        if (form := self._form(hint)) is not None:
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
        if origin is np.ndarray and _numeric(hint):
            return read_cells(data, np.dtype(get_args(inner[1])[0]), place)
        value = self._plain(data, place)
        if not _fits(value, hint):
            raise broken(place, f"is {str(value)[:60]!r}, not of type {_name(hint) or hint}")
        return _real(value, place) if hint is float else value

    def _form(self, hint: Any) -> Form | None:
        if isinstance(hint, type) and issubclass(hint, _Unseen):
            return next((form for kind, form in self.forms.items() if _name(kind) == hint.__name__), None)
        return self.forms.get(hint)

    def _fields(self, value: Any, place: str, without: Sequence[str] = ()) -> dict[str, Any]:
        kind: Any = type(value)
        hints = _hints(kind)
        kept = [f for f in fields(value) if f.init and f.name not in without and self._keeps(f)]
        return {f.name: self.write(getattr(value, f.name), hints[f.name], f"{place}.{f.name}") for f in kept}

    def _keeps(self, known: Any) -> bool:
        return self.by_row or not known.metadata.get("by_row", False)

    def _made(self, kind: Any, data: object, place: str, known: Mapping[str, Any]) -> Any:
        if not isinstance(data, dict):
            raise broken(place, "is not an object")
        hints: dict[str, Any] = _hints(kind)
        given, expected = dict(known), {f.name: f for f in fields(kind) if f.init}
        for name in data:
            if name not in expected or name in known or not self._keeps(expected[name]):
                raise broken(place, f"has {name[:60]!r}, which is not known")
        for name, known_field in expected.items():
            if name in data:
                given[name] = self.read(data[name], hints[name], f"{place}.{name}")
            elif not self._keeps(known_field):
                given[name] = np.empty(0, dtype=get_args(get_args(hints[name])[1])[0])
            elif name not in known and known_field.default is MISSING and known_field.default_factory is MISSING:
                raise broken(place, f"has no entry {name!r}")
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
            key_data, item = _pair(pair, f"{place}[{i}]")
            key, value = self.read(key_data, key_hint, f"{place}[{i}]"), self.read(item, value_hint, f"{place}[{i}]")
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
            return {"array": _checked(lambda cells: [dtype_name(cells), write_cells(cells)], np.asarray(value), place)}
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float) and not math.isfinite(value):
            return {"number": str(value)}
        if value is None or isinstance(value, bool | str | int | float):
            return value
        if isinstance(value, list | tuple):
            items = [self._value(item, f"{place}[{i}]") for i, item in enumerate(value)]
            return {"tuple": items} if isinstance(value, tuple) else items
        if isinstance(value, Mapping):
            return {"mapping": [[self._value(k, place), self._value(v, f"{place}[{k!r}]")] for k, v in value.items()]}
        if type(value) in self.classes.values():
            return {"type": next(n for n, c in self.classes.items() if c is type(value)), **self._fields(value, place)}
        raise unwritable(value, place)

    def _plain(self, data: Any, place: str) -> Any:
        """Read what `_value` wrote."""
        if isinstance(data, np.ndarray):
            return plain_list(data, place)
        if isinstance(data, list):
            return [self._plain(item, f"{place}[{i}]") for i, item in enumerate(data)]
        if not isinstance(data, dict):
            return _scalar(data, place)
        if "type" in data:
            name = entry(data, "type", str, place)
            if name not in self.classes:
                raise broken(f"{place}.type", f"is {name[:60]!r}, which is not known")
            return self._made(self.classes[name], {k: v for k, v in data.items() if k != "type"}, place, {})
        kind, held = next(iter(data.items())) if len(data) == 1 else ("", None)
        if kind == "tuple":
            return tuple(self._plain(item, f"{place}[{i}]") for i, item in enumerate(plain_list(held, place)))
        if kind == "mapping":
            return self._mapping(held, Any, Any, place)
        if kind == "number" and isinstance(held, str) and held in _SPECIAL:
            return _SPECIAL[held]
        if kind == "array":
            name, cells = _pair(held, place)
            return read_cells(cells, read_dtype(name, place), place)[()]  # a date has no dimensions
        raise broken(place, "is not a value that is known")


def unwritable(value: Any, place: str) -> InputError:
    """Return the error for a value that no file can hold (F08)."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    what = f"the function {name}" if callable(value) and hasattr(value, "__qualname__") else f"a {name}"
    hint = "Use an option that has a name or is a number, or pickle the object: that keeps functions and the model."
    if isinstance(value, np.random.RandomState | np.random.Generator):
        hint = "Set random_state to diagnostics_['seed'], the seed that was drawn from it."
    message = f"{place} is {what}, which a file cannot hold: a loaded file never runs code."
    return InputError(message, code="F08", argument=place.split(".")[0].split("[")[0], hint=hint)


class _Unseen:
    """Base of the classes that stand for names which a module imports for type checkers only."""


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Hints of a dataclass; a class that its module does not import when it runs is known by its name."""
    unseen: dict[str, type] = {}
    while True:
        try:
            return get_type_hints(kind, localns=unseen)
        except NameError as error:
            unseen[str(error.name)] = type(str(error.name), (_Unseen,), {})


def _name(hint: Any) -> str:
    return str(getattr(hint, "__name__", ""))


def _present(hint: Any) -> tuple[Any, bool]:
    """Tell whether None is allowed, and what else."""
    if get_origin(hint) not in _UNION or type(None) not in get_args(hint):
        return hint, hint is type(None)
    return Union[tuple(inner for inner in get_args(hint) if inner is not type(None))], True  # noqa: UP007


def _rank(item: Any) -> tuple[bool, Any]:
    """Place of an entry of a set: numbers first, texts after them."""
    number = isinstance(item, int | float)
    return not number, item if number else str(item)


def _each(origin: Any, inner: tuple[Any, ...], count: int) -> Sequence[Any]:
    """Hints of the entries of a list."""
    fixed = origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis)
    return inner if fixed else [inner[0]] * count


def _numeric(hint: Any) -> bool:
    """Tell whether the hint of an array says which numbers it holds."""
    kind = get_args(get_args(hint)[1])[0]
    return isinstance(kind, type) and kind is not np.generic and np.dtype(kind).kind in "fib"


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in _UNION:
        return any(_fits(value, inner) for inner in get_args(hint))
    if origin is Literal:
        return any(value == inner and type(value) is type(inner) for inner in get_args(hint))
    if isinstance(hint, type) and issubclass(hint, _Unseen):
        return type(value).__name__ == hint.__name__
    if hint in (int, float):
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    kind = origin or hint
    if kind is Callable:
        return callable(value)
    if not isinstance(kind, type) or kind is Any or (getattr(kind, "_is_protocol", False) and kind is not Hashable):
        return True
    return isinstance(value, kind)


def _scalar(data: Any, place: str) -> Any:
    if isinstance(data, float) and not math.isfinite(data):
        raise broken(place, "is not a finite number")
    if data is None or isinstance(data, bool | str | int | float):
        return data
    raise broken(place, "is not a value that is known")


def _real(value: float, place: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise broken(place, "is not a finite number") from None


def _checked(write: Callable[[Any], Any], value: Any, place: str) -> Any:
    try:
        return write(value)
    except UnwritableError:
        raise unwritable(value, place) from None


def _pair(data: Any, place: str) -> list[Any]:
    found = plain_list(data, place)
    if len(found) != 2:
        raise broken(place, "is not a pair")
    return found
