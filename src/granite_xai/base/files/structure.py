"""Values in the types of JSON and back, by the type hints of dataclasses.

Libraries do half of this. cattrs reads the text "3" and True as numbers; msgspec and pydantic read
over unknown keys of dataclasses; msgspec has no unions of two dataclasses and no mappings with sets
as keys. None knows arrays, takes them in place of lists, or says where in an array a cell is wrong,
and none leaves a class open to rooms that it does not know. Hooks for all that would be most of this
module.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import date, timedelta
from functools import cache
from inspect import Parameter, signature
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import GraniteError
from granite_xai.base.files.cells import (
    UnwritableError,
    dtype_name,
    read_cells,
    read_dtype,
    write_cells,
)
from granite_xai.base.files.checks import broken, entry, plain_list, require
from granite_xai.base.files.hints import allows_none, fits, item_hints, number_type_of, without_none
from granite_xai.base.files.unwritable import unwritable_value

BY_ROW: Mapping[str, bool] = types.MappingProxyType({"by_row": True})
"""Metadata of a dataclass field with one entry a row: a file holds it only with the rows."""


def saved_as(name: str) -> Mapping[str, str]:
    """Metadata of a dataclass field that files know by another name."""
    return types.MappingProxyType({"saved_as": name})


NOTHING: Mapping[str, Any] = types.MappingProxyType({})

_SETS = (set, frozenset, Set)
_LISTS = (tuple, list, Sequence, *_SETS)
_MAPPINGS = (dict, Mapping)
_SPECIAL_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_REFUSALS = (GraniteError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the constructor of a class may answer to figures that make no sense."""

_hints_of = cache(get_type_hints)


class Form(NamedTuple):
    """How values of one type are written and read.

    Parameters
    ----------
    write : callable
        From a value and its place, what the file holds.
    read : callable
        From what the file holds and its place, the value.
    """

    write: Callable[[Any, str], Any]
    read: Callable[[Any, str], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """What a file may hold, and how it is written and read.

    Parameters
    ----------
    classes : mapping of str to type
        Dataclasses by the name that the file gives them, for hints that leave the class open.
    forms : mapping of type hint to Form
        Types with a form of their own.
    by_row : bool, default=True
        False: fields with one entry a row are left out, and come back empty.
    """

    classes: Mapping[str, type] = field(default_factory=dict)
    forms: Mapping[Any, Form] = field(default_factory=dict)
    by_row: bool = True

    def write(self, value: Any, hint: Any, place: str, without: Collection[str] = ()) -> Any:
        """Write a value in the form of its type hint.

        Parameters
        ----------
        value : object
            What is written.
        hint : type hint
            What the value is; ``Any`` leaves it open.
        place : str
            Where it stands, for errors.
        without : collection of str
            Fields of a dataclass that the file does not hold.

        Returns
        -------
        object
            Of the types of JSON.

        Raises
        ------
        InputError
            F08: no file can hold the value.
        """
        if value is None and allows_none(hint):
            return None
        hint = without_none(hint)
        if hint in self.forms:
            return self.forms[hint].write(value, place)
        if is_dataclass(hint) and type(value) is hint:
            return self._write_fields(value, without, place)
        origin = get_origin(hint)
        if origin in _LISTS:
            return self._write_list(value, hint, place)
        if origin in _MAPPINGS:
            return self._write_mapping(value, hint, place)
        if number_type_of(hint) is not None:
            _, cells = _dtype_and_cells(value, place)
            return cells
        return self._write_open(value, place)

    def read(
        self, data: Any, hint: Any, place: str, other_fields: Mapping[str, Any] = NOTHING
    ) -> Any:
        """Read what `write` wrote.

        Parameters
        ----------
        data : object
            What the file holds.
        hint : type hint
            What it must be.
        place : str
            Where it stands in the file.
        other_fields : mapping of str to object
            Fields of a dataclass that the file does not hold.

        Returns
        -------
        object
            The value that was written.

        Raises
        ------
        FormatError
            F04, with the place.
        """
        if data is None and allows_none(hint):
            return None
        hint = without_none(hint)
        if hint in self.forms:
            return self.forms[hint].read(data, place)
        if is_dataclass(hint):
            return self._read_fields(hint, data, place, other_fields)
        origin = get_origin(hint)
        if origin in _LISTS:
            return self._read_list(data, hint, place)
        if origin in _MAPPINGS:
            return self._read_mapping(data, hint, place)
        number_type = number_type_of(hint)
        if number_type is not None:
            return read_cells(data, np.dtype(number_type), place)
        value = self._read_open(data, place)
        if not fits(value, hint):
            type_name = getattr(hint, "__name__", hint)
            raise broken(place, f"is {str(value)[:60]!r}, not of type {type_name}")
        if hint is float:
            return _as_float(value, place)
        return value

    # Dataclasses

    def _fields(self, kind: Any, without: Collection[str]) -> dict[str, Field[Any]]:
        """The fields of a dataclass that a file holds, by their names there."""
        stored = {}
        for entry_field in fields(kind):
            is_left_out = entry_field.metadata.get("by_row", False) and not self.by_row
            if entry_field.init and not is_left_out and entry_field.name not in without:
                stored[_saved_name(entry_field)] = entry_field
        return stored

    def _write_fields(self, value: Any, without: Collection[str], place: str) -> dict[str, Any]:
        kind: Any = type(value)
        hints = _hints_of(kind)
        written = {}
        for saved_name, entry_field in self._fields(kind, without).items():
            entry_value = getattr(value, entry_field.name)
            entry_place = f"{place}.{saved_name}"
            written[saved_name] = self.write(entry_value, hints[entry_field.name], entry_place)
        return written

    def _read_fields(
        self, kind: Any, data: Any, place: str, other_fields: Mapping[str, Any]
    ) -> Any:
        require(isinstance(data, dict), place, "is not an object")
        hints = _hints_of(kind)
        stored = self._fields(kind, without=other_fields)
        for name in data:
            require(name in stored, place, f"has {name[:60]!r}, which is not known")
        arguments = dict(other_fields)
        for entry_field in fields(kind):
            name = entry_field.name
            saved_name = _saved_name(entry_field)
            if saved_name in data:
                entry_place = f"{place}.{saved_name}"
                arguments[name] = self.read(data[saved_name], hints[name], entry_place)
            elif saved_name in stored:
                require(_has_default(entry_field), place, f"has no entry {saved_name!r}")
            elif entry_field.init and name not in other_fields:  # by row, without rows
                arguments[name] = np.empty(0, dtype=number_type_of(hints[name]))
        try:
            return _construct(kind, arguments)
        except _REFUSALS as error:
            raise broken(place, f"is no {kind.__name__}: {str(error)[:200]}") from error

    # Lists, sets and mappings

    def _write_list(self, value: Any, hint: Any, place: str) -> list[Any]:
        items = list(value)
        if get_origin(hint) in _SETS:  # so that equal sets are written alike
            items.sort(key=_numbers_first)
        hints = item_hints(hint, len(items))
        return [
            self.write(item, item_hint, f"{place}[{position}]")
            for position, (item, item_hint) in enumerate(zip(items, hints, strict=True))
        ]

    def _read_list(self, data: Any, hint: Any, place: str) -> Any:
        cells = plain_list(data, place)
        hints = item_hints(hint, len(cells))
        require(len(hints) == len(cells), place, f"has {len(cells)} entries, not {len(hints)}")
        items = [
            self.read(cell, item_hint, f"{place}[{position}]")
            for position, (cell, item_hint) in enumerate(zip(cells, hints, strict=True))
        ]
        origin = get_origin(hint)
        if origin is list:
            return items
        if origin in _SETS:
            return frozenset(items)
        return tuple(items)

    def _write_mapping(self, value: Mapping[Any, Any], hint: Any, place: str) -> Any:
        """An object where keys are texts, otherwise a list of pairs."""
        key_hint, value_hint = get_args(hint)
        if key_hint is str:
            return {
                key: self.write(item, value_hint, f"{place}.{key}") for key, item in value.items()
            }
        pairs = []
        for key, item in value.items():
            written_key = self.write(key, key_hint, place)
            pairs.append([written_key, self.write(item, value_hint, f"{place}[{key!r}]")])
        return pairs

    def _read_mapping(self, data: Any, hint: Any, place: str) -> dict[Any, Any]:
        key_hint, value_hint = get_args(hint)
        if key_hint is str:
            require(isinstance(data, dict), place, "is not an object")
            return {
                key: self.read(item, value_hint, f"{place}.{key[:60]}")
                for key, item in data.items()
            }
        pair_hint: Any = tuple.__class_getitem__((key_hint, value_hint))
        mapping: dict[Any, Any] = {}
        for position, pair in enumerate(plain_list(data, place)):
            place_of_pair = f"{place}[{position}]"
            key, value = self.read(pair, pair_hint, place_of_pair)
            try:
                mapping[key] = value
            except TypeError as error:
                raise broken(place_of_pair, "has a key that cannot be one") from error
        require(len(mapping) == len(data), place, "has a key twice")
        return mapping

    # Values whose hint leaves open what they are: plain ones as they are, others in an object that
    # says what they are.

    def _write_open(self, value: Any, place: str) -> Any:
        if isinstance(value, timedelta):
            value = np.timedelta64(value)
        elif isinstance(value, date) and getattr(value, "tzinfo", None) is None:
            value = np.datetime64(value)
        if isinstance(value, np.ndarray | np.datetime64 | np.timedelta64):
            return {"array": _dtype_and_cells(np.asarray(value), place)}
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return {"number": str(value)}
        if value is None or isinstance(value, bool | str | int | float):
            return value
        if isinstance(value, tuple):
            return {"tuple": self._write_list(value, list[Any], place)}
        if isinstance(value, list):
            return self._write_list(value, list[Any], place)
        if isinstance(value, Mapping):
            return {"mapping": self._write_mapping(value, dict[Any, Any], place)}
        for name, kind in self.classes.items():
            if kind is type(value):
                return {"type": name, **self.write(value, kind, place)}
        raise unwritable_value(value, place)

    def _read_open(self, data: Any, place: str) -> Any:
        if isinstance(data, np.ndarray):
            return plain_list(data, place)
        if isinstance(data, list):
            return self._read_list(data, list[Any], place)
        if isinstance(data, float):
            require(math.isfinite(data), place, "is not a finite number")
            return data
        if data is None or isinstance(data, bool | str | int):
            return data
        if isinstance(data, dict) and "type" in data:
            return self._read_class(data, place)
        if isinstance(data, dict) and len(data) == 1:
            return self._read_marked(data, place)
        raise _not_known(place)

    def _read_class(self, data: dict[str, Any], place: str) -> Any:
        name = entry(data, "type", str, place)
        require(name in self.classes, f"{place}.type", f"is {name[:60]!r}, which is not known")
        stored = {key: value for key, value in data.items() if key != "type"}
        return self._read_fields(self.classes[name], stored, place, NOTHING)

    def _read_marked(self, data: dict[str, Any], place: str) -> Any:
        """Read an object whose single key says what its value is."""
        mark, content = next(iter(data.items()))
        if mark == "tuple":
            return self._read_list(content, tuple[Any, ...], place)
        if mark == "mapping":
            return self._read_mapping(content, dict[Any, Any], place)
        if mark == "number" and isinstance(content, str) and content in _SPECIAL_NUMBERS:
            return _SPECIAL_NUMBERS[content]
        if mark == "array" and isinstance(content, list) and len(content) == 2:
            array = read_cells(content[1], read_dtype(content[0], place), place)
            return array[()]  # a date has no dimensions
        raise _not_known(place)


def _not_known(place: str) -> GraniteError:
    return broken(place, "is not a value that is known")


def _write_or_null(value: float, place: str) -> Any:
    if math.isnan(value):
        return None
    return Structure().write(value, float, place)


def _read_or_nan(data: Any, place: str) -> Any:
    if data is None:
        return math.nan
    return Structure().read(data, float, place)


NAN_AS_NULL = Form(write=_write_or_null, read=_read_or_nan)
"""Numbers of which some are not known."""


def _dtype_and_cells(values: NDArray[Any], place: str) -> list[Any]:
    """The name of an array's dtype, and its cells."""
    try:
        return [dtype_name(values), write_cells(values)]
    except UnwritableError:
        raise unwritable_value(values, place) from None


def _construct(kind: Any, arguments: dict[str, Any]) -> Any:
    """Make an object; a class with one starred parameter, as ``AllExcept(*columns)``, gets its items."""
    for parameter in signature(kind).parameters.values():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            return kind(*arguments[parameter.name])
    return kind(**arguments)


def _saved_name(entry_field: Field[Any]) -> str:
    """The name by which a file knows a field."""
    name: str = entry_field.metadata.get("saved_as", entry_field.name)
    return name


def _has_default(entry_field: Field[Any]) -> bool:
    has_value = entry_field.default is not MISSING
    return has_value or entry_field.default_factory is not MISSING


def _numbers_first(item: Any) -> tuple[int, Any]:
    """Key that sorts a set: numbers by size, texts after them."""
    if isinstance(item, int | float):
        return 0, item
    return 1, str(item)


def _as_float(value: Any, place: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise broken(place, "is not a finite number") from None
