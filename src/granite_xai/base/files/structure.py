"""Values in the types of JSON and back: arrays with their dtypes, dataclasses by the hints of their fields."""

# Not by cattrs, which takes "3" for a whole number, nor msgspec, which reads over unknown keys; none has open unions.

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import date, timedelta
from functools import cache
from inspect import Parameter, signature
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import FormatError, GraniteError, InputError

T = TypeVar("T")
BY_ROW: Mapping[str, bool] = types.MappingProxyType(
    {"by_row": True}
)  # a field with one entry a row: held with rows

_UNION = (Union, types.UnionType)
_ARRAYS = (np.ndarray, get_origin(NDArray[Any]))  # NDArray has a name of its own from NumPy 2.5
_SETS = (set, frozenset, Set)
_LISTS = (tuple, list, Sequence, *_SETS)
_MAPPINGS = (dict, Mapping)
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_REFUSALS = (GraniteError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_DATES = r"(?:datetime|timedelta)64\[(?:[YMWDhms]|[munpfa]s)\]"
_DTYPES = re.compile(rf"bool|u?int(?:8|16|32|64)|float(?:16|32|64)|object|str|{_DATES}")
_NUMBERS: dict[str, tuple[type, ...]] = {
    "f": (np.float64, int, float),
    "u": (np.uint64, int),
    "b": (np.bool_, bool),
}
_ABSENT = {"f": math.nan, "M": np.iinfo(np.int64).min, "m": np.iinfo(np.int64).min}
_MOST_DIMENSIONS = 4
_LARGEST_TEXT = 2**26
_hints = cache(get_type_hints)


class UnwritableError(Exception):
    """A dtype or a cell that a file cannot hold exactly."""


def broken(place: str, what: str) -> FormatError:
    """Return the error for a file that is not what it claims to be."""
    return FormatError(f"{place} {what}.", code="F04", argument="data")


def require(holds: object, place: str, what: str) -> None:
    """Refuse a file in which something does not hold."""
    if not holds:
        raise broken(place, what)


def entry(data: Any, key: str, kind: type[T], place: str) -> T:
    """Return one entry of an object after checking its type; truth values are not numbers."""
    require(isinstance(data, dict), place, "is not an object")
    require(key in data, place, f"has no entry {key!r}")
    value = (
        plain_list(data[key], place)
        if kind is list and isinstance(data[key], np.ndarray)
        else data[key]
    )
    if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, float)):
        raise broken(f"{place}.{key}", f"is not of type {kind.__name__}")
    return value


def plain_list(data: Any, place: str) -> list[Any]:
    """Return a list of a file; long lists of numbers come as arrays, with NaN for null."""
    if isinstance(data, np.ndarray):
        cells: list[Any] = data.tolist()
        return (
            [None if cell != cell else cell for cell in cells] if data.dtype.kind == "f" else cells
        )
    if not isinstance(data, list):
        raise broken(place, "is not a list")
    return data


def object_array(cells: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return cells as an array of objects, also where they are lists."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def dtype_name(values: NDArray[Any]) -> str:
    """Return the name of a dtype, if files hold it."""
    name = "str" if values.dtype.kind == "U" else str(values.dtype.newbyteorder("="))
    if _DTYPES.fullmatch(name) is None:
        raise UnwritableError(f"has dtype {values.dtype}")
    return name


def read_dtype(name: object, place: str) -> np.dtype[Any]:
    """Return the dtype of a name that `dtype_name` gives; anything else is a FormatError."""
    if not isinstance(name, str) or _DTYPES.fullmatch(name) is None:
        raise broken(f"{place}.dtype", f"is {str(name)[:60]!r}, which is not known")
    return np.dtype(name)


def write_cells(values: NDArray[Any]) -> Any:
    """Write the cells of an array: a list, with null for NaN and NaT; texts that recur as their distinct ones."""
    dtype_name(values)
    if values.ndim != 1:
        return {"shape": list(values.shape), "cells": write_cells(values.ravel())}
    kind = values.dtype.kind
    cells: list[Any] = (values.astype(np.int64) if kind in "Mm" else values).tolist()
    if kind in "Mm":
        return [None if tick == _ABSENT[kind] else tick for tick in cells]
    if kind == "f":
        return [c if math.isfinite(c) else None if math.isnan(c) else str(c) for c in cells]
    if kind not in "OU":
        return cells
    keys = [(type(cell), str(cell)) for cell in cells]
    known = dict(zip(keys, cells, strict=True))
    for key, cell in known.items():
        if isinstance(cell, float) and math.isnan(cell):
            known[key] = {"number": "nan"}
        elif type(cell) not in (str, int, float, bool, type(None)) or cell in (math.inf, -math.inf):
            raise UnwritableError(f"holds a {type(cell).__name__}")
    if 2 * len(known) >= len(cells):
        return [known[key] for key in keys]
    places = {key: i for i, key in enumerate(known)}
    return {"distinct": list(known.values()), "codes": [places[key] for key in keys]}


def read_cells(data: Any, dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    """Read what `write_cells` wrote, as an array of this dtype; anything else is a FormatError."""
    if isinstance(data, dict) and data.keys() == {"shape", "cells"}:
        shape, cells = plain_list(data["shape"], place), read_cells(data["cells"], dtype, place)
        right = len(shape) <= _MOST_DIMENSIONS and all(
            type(n) is int and 0 <= n <= 2**40 for n in shape
        )
        require(
            right and math.prod(shape) == len(cells),
            f"{place}.shape",
            f"is not that of {len(cells)} cells",
        )
        return cells.reshape(shape)
    if dtype.kind in "OU":
        return _read_objects(data, dtype.kind == "U", place)
    ready = isinstance(data, np.ndarray) and (data.dtype.kind, dtype.kind) in (
        ("f", "f"),
        ("i", "i"),
        ("i", "u"),
    )
    found: NDArray[Any] = data if ready else _read_numbers(plain_list(data, place), dtype, place)
    with np.errstate(over="ignore"):
        made = found.view(dtype) if dtype.kind in "Mm" else found.astype(dtype, copy=False)
    overflown = dtype.kind == "f" and np.isinf(made).sum() > np.isinf(found).sum()
    fits = not overflown and (dtype.kind not in "iu" or np.array_equal(made, found))
    require(fits, place, f"has cells that do not fit {dtype}")
    return made


def _read_numbers(cells: list[Any], dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    """Numbers at full width; what is not one is named by its place."""
    if dtype.kind in _ABSENT:
        special = {None: _ABSENT[dtype.kind]} | (
            {"inf": math.inf, "-inf": -math.inf} if dtype.kind == "f" else {}
        )
        cells = [special.get(c, c) if c is None or isinstance(c, str) else c for c in cells]
    widest, *kinds = _NUMBERS.get(dtype.kind, (np.int64, int))
    wrong = next((i for i, cell in enumerate(cells) if type(cell) not in kinds), None)
    require(wrong is None, f"{place}[{wrong}]", f"is not of type {dtype}")
    try:
        return np.array(cells, dtype=widest)
    except OverflowError as error:
        raise broken(place, f"has cells that do not fit {dtype}") from error


def _read_objects(data: Any, text: bool, place: str) -> NDArray[Any]:
    """Cells in one list, or the distinct ones and their codes; each text takes the room of the longest one."""
    if isinstance(data, dict) and data.keys() == {"distinct", "codes"}:
        distinct = _read_objects(data["distinct"], text, place)
        codes = read_cells(data["codes"], np.dtype(np.intp), f"{place}.codes")
        inside = np.all((codes >= 0) & (codes < len(distinct)))
        require(inside, f"{place}.codes", "is not a list of positions among the distinct cells")
        fits = not text or distinct.itemsize // 4 * len(codes) <= _LARGEST_TEXT
        require(fits, place, "has texts that are too long")
        return cast(NDArray[Any], distinct[codes])
    cells = plain_list(data, place)
    cells = [
        math.nan if isinstance(cell, dict) and cell == {"number": "nan"} else cell for cell in cells
    ]
    right = all(isinstance(cell, str if text else str | int | float | None) for cell in cells)
    require(right, place, f"has a cell that is {'not text' if text else 'neither text nor number'}")
    fits = not text or max(map(len, cells), default=0) * len(cells) <= _LARGEST_TEXT
    require(fits, place, "has texts that are too long")
    return np.array(cells, dtype=str) if text else object_array(cells)


class Form(NamedTuple):
    """How values of one type are written and read: functions of a value, or of what a file holds, and its place."""

    write: Callable[[Any, str], Any]
    read: Callable[[Any, str], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """What a file may hold: ``classes`` by name, where a hint leaves the class open, and ``forms`` of types."""

    classes: Mapping[str, type] = field(default_factory=dict)
    forms: Mapping[Any, Form] = field(default_factory=dict)
    by_row: bool = True  # False: fields with one entry a row are left out and come back empty

    def write(self, value: Any, hint: Any, place: str, without: Sequence[str] = ()) -> Any:
        """Write a value in the form of its hint; ``without`` names fields that the file does not hold."""
        hint, optional = _present(hint)
        if value is None and optional:
            return None
        origin, inner = get_origin(hint), get_args(hint)
        if hint in self.forms:
            return self.forms[hint].write(value, place)
        if is_dataclass(hint) and type(value) is hint:
            hints, kept = self._kept(hint, without)
            return {
                name: self.write(getattr(value, name), hints[name], f"{place}.{name}")
                for name in kept
            }
        if origin in _LISTS:
            if origin in _SETS:  # numbers first, texts after them
                value = sorted(
                    value,
                    key=lambda item: (0, item) if isinstance(item, int | float) else (1, str(item)),
                )
            items = enumerate(zip(value, _each(origin, inner, len(value)), strict=True))
            return [self.write(item, each, f"{place}[{i}]") for i, (item, each) in items]
        if origin in _MAPPINGS and inner[0] is str:
            return {
                key: self.write(item, inner[1], f"{place}.{key}") for key, item in value.items()
            }
        if origin in _MAPPINGS:
            pairs = value.items()
            return [
                [self.write(k, inner[0], place), self.write(v, inner[1], f"{place}[{k!r}]")]
                for k, v in pairs
            ]
        return self._value(value, place) if _entry_type(hint) is None else _cells(value, place)[1]

    def read(self, data: Any, hint: Any, place: str, **known: Any) -> Any:
        """Read what `write` wrote; ``known`` are the fields that the file does not hold."""
        hint, optional = _present(hint)
        if data is None and optional:
            return None
        origin, inner = get_origin(hint), get_args(hint)
        if hint in self.forms:
            return self.forms[hint].read(data, place)
        if is_dataclass(hint):
            return self._made(hint, data, place, known)
        if origin in _LISTS:
            items = plain_list(data, place)
            hints = _each(origin, inner, len(items))
            require(len(hints) == len(items), place, f"has {len(items)} entries, not {len(hints)}")
            made = [self.read(items[i], each, f"{place}[{i}]") for i, each in enumerate(hints)]
            return made if origin is list else frozenset(made) if origin in _SETS else tuple(made)
        if origin in _MAPPINGS and inner[0] is str:
            require(isinstance(data, dict), place, "is not an object")
            return {
                key: self.read(item, inner[1], f"{place}.{key[:60]}") for key, item in data.items()
            }
        if origin in _MAPPINGS:
            return self._pairs(data, inner[0], inner[1], place)
        if (kind := _entry_type(hint)) is not None:
            return read_cells(data, np.dtype(kind), place)
        value = self._plain(data, place)
        if not _fits(value, hint):
            raise broken(
                place, f"is {str(value)[:60]!r}, not of type {getattr(hint, '__name__', hint)}"
            )
        try:
            return float(value) if hint is float else value
        except OverflowError:
            raise broken(place, "is not a finite number") from None

    def _kept(
        self, kind: Any, without: Collection[str]
    ) -> tuple[dict[str, Any], dict[str, Field[Any]]]:
        """Hints of a dataclass, and the fields that the file holds."""
        kept = (
            f
            for f in fields(kind)
            if f.init and (self.by_row or not f.metadata.get("by_row", False))
        )
        return _hints(kind), {f.name: f for f in kept if f.name not in without}

    def _made(self, kind: Any, data: Any, place: str, known: Mapping[str, Any]) -> Any:
        require(isinstance(data, dict), place, "is not an object")
        given, (hints, kept) = dict(known), self._kept(kind, known)
        strange = next((name for name in data if name not in kept), "")
        require(kept.keys() >= data.keys(), place, f"has {strange[:60]!r}, which is not known")
        for f in fields(kind):
            if f.name in data:
                given[f.name] = self.read(data[f.name], hints[f.name], f"{place}.{f.name}")
            elif f.name in kept:
                optional = f.default is not MISSING or f.default_factory is not MISSING
                require(optional, place, f"has no entry {f.name!r}")
            elif f.init and f.name not in known:
                given[f.name] = np.empty(0, dtype=_entry_type(hints[f.name]))
        starred = [
            p.name
            for p in signature(kind).parameters.values()
            if p.kind is Parameter.VAR_POSITIONAL
        ]
        try:
            return kind(*given[starred[0]]) if starred else kind(**given)
        except _REFUSALS as error:
            raise broken(place, f"is no {kind.__name__}: {str(error)[:200]}") from error

    def _pairs(self, data: Any, key_hint: Any, value_hint: Any, place: str) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for i, pair in enumerate(plain_list(data, place)):
            key, value = self.read(pair, tuple[key_hint, value_hint], f"{place}[{i}]")
            try:
                made[key] = value
            except TypeError as error:
                raise broken(f"{place}[{i}]", "has a key that cannot be one") from error
        require(len(made) == len(data), place, "has a key twice")
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
        if type(value) not in self.classes.values():
            raise unwritable(value, place)
        name = next(name for name, kind in self.classes.items() if kind is type(value))
        return {"type": name, **self.write(value, type(value), place)}

    def _plain(self, data: Any, place: str) -> Any:
        """Read what `_value` wrote."""
        if isinstance(data, np.ndarray):
            return plain_list(data, place)
        if isinstance(data, list):
            return self.read(data, list[Any], place)
        if data is None or isinstance(data, bool | str | int | float):
            require(
                not isinstance(data, float) or math.isfinite(data), place, "is not a finite number"
            )
            return data
        if isinstance(data, dict) and "type" in data:
            name = entry(data, "type", str, place)
            require(name in self.classes, f"{place}.type", f"is {name[:60]!r}, which is not known")
            return self._made(
                self.classes[name], {k: v for k, v in data.items() if k != "type"}, place, {}
            )
        kind, held = (
            next(iter(data.items())) if isinstance(data, dict) and len(data) == 1 else ("", None)
        )
        if kind in ("tuple", "mapping"):
            return self.read(held, tuple[Any, ...] if kind == "tuple" else dict[Any, Any], place)
        if kind == "number" and isinstance(held, str) and held in _SPECIAL:
            return _SPECIAL[held]
        if kind == "array" and isinstance(held, list) and len(held) == 2:
            return read_cells(held[1], read_dtype(held[0], place), place)[
                ()
            ]  # a date has no dimensions
        raise broken(place, "is not a value that is known")


NAN_AS_NULL = Form(  # numbers of which some are not known
    lambda value, place: None if math.isnan(value) else Structure().write(value, float, place),
    lambda data, place: math.nan if data is None else Structure().read(data, float, place),
)


def unwritable(value: Any, place: str) -> InputError:
    """Return the error for a value that no file can hold (F08)."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    what = (
        f"the function {name}"
        if callable(value) and hasattr(value, "__qualname__")
        else f"a {name}"
    )
    hint = "Use an option that has a name or is a number, or pickle the object: that keeps functions and the model."
    if isinstance(value, np.random.RandomState | np.random.Generator):
        hint = "Set random_state to diagnostics_['seed'], the seed that was drawn from it."
    message = f"{place} is {what}, which a file cannot hold: a loaded file never runs code."
    return InputError(message, code="F08", argument=place.split(".")[0].split("[")[0], hint=hint)


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
    return (
        kind
        if isinstance(kind, type) and kind is not np.generic and np.dtype(kind).kind in "fib"
        else None
    )


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in _UNION:
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in inner)
    kind = np.ndarray if origin in _ARRAYS else int | float if hint is float else origin or hint
    try:
        return isinstance(value, kind) and not (isinstance(value, bool) and hint in (int, float))
    except TypeError:  # what stands for anything, or for whatever has some methods
        return True


def _cells(value: NDArray[Any], place: str) -> list[Any]:
    """Dtype and cells of an array."""
    try:
        return [dtype_name(value), write_cells(value)]
    except UnwritableError:
        raise unwritable(value, place) from None
