"""What a file may hold, and the few types that have a form of their own there: columns, coalitions, rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from granite_xai import partitioners
from granite_xai.base.files import NAN_AS_NULL, Form, Structure, broken
from granite_xai.base.typing import AleColumn, Coalition
from granite_xai.behavior import BEHAVIORS
from granite_xai.compute import Resources
from granite_xai.disagreement import Disagreement, Objective
from granite_xai.explainer import INFLUENCES, Explainer
from granite_xai.interaction import INTERACTIONS
from granite_xai.masking import MASKINGS, bins
from granite_xai.regions.partition import Partition
from granite_xai.search.original import NumericTree
from granite_xai.tables import Column, Table, rows_from_dict, rows_to_dict

THE_TABLE = "the table of this file"
_OPERATORS: tuple[dict[str, Any], ...] = (MASKINGS, BEHAVIORS, INTERACTIONS, INFLUENCES)
_NO_VALUES = ("PartitionResult", "Problem")


def structure(table: Table | None = None, *, by_row: bool = True) -> Structure:
    """How values are written beside a table, and read again; ``by_row``: also those with one entry a row of it."""
    forms: dict[Any, Form] = {
        float: NAN_AS_NULL,
        Partition: Form(lambda value, _: value.to_dict(), lambda data, _: Partition.from_dict(data)),
    }
    if table is not None:
        forms |= {Column: _column(table), Coalition: _coalition(table.n_columns), AleColumn: _ale_column(table)}
        forms[Table] = Form(
            lambda value, _: THE_TABLE if value is table else rows_to_dict(value),
            lambda data, place: table if data == THE_TABLE else rows_from_dict(data, table, place),
        )
    return Structure({kind.__name__: kind for kind in _classes()}, forms, by_row)


def _classes() -> Iterator[type]:
    """The classes that a file may name: operators, and what stands beside them in their modules."""
    yield from (Explainer, Disagreement, Objective, Resources, NumericTree)
    yield from (getattr(partitioners, name) for name in partitioners.__all__ if name not in _NO_VALUES)
    modules = {type(operator).__module__ for table in _OPERATORS for operator in table.values()} | {bins.__name__}
    for module in sorted(modules):
        for found in vars(sys.modules[module]).values():
            if isinstance(found, type) and is_dataclass(found) and found.__module__ == module:
                yield found


def _column(table: Table) -> Form:
    def read(data: Any, place: str) -> Column:
        if type(data) is not int or not 0 <= data < table.n_columns:
            raise broken(place, f"is {str(data)[:60]!r}, not the position of one of {table.n_columns} columns")
        return table.columns[data]

    return Form(lambda column, _: column.position, read)


def _ale_column(table: Table) -> Form:
    """The position of a column with ten intervals, otherwise position and number."""

    def read(data: Any, place: str) -> AleColumn:
        found = AleColumn(*(data if isinstance(data, list) and len(data) == 2 else [data]))
        if any(type(number) is not int for number in found) or found.column not in range(table.n_columns):
            raise broken(place, f"is {str(data)[:60]!r}, not a column and a number of intervals")
        return found

    return Form(lambda key, _: key.column if key == AleColumn(key.column) else list(key), read)


def _coalition(n_columns: int) -> Form:
    """Positions of the columns in one text: ``"0 4"``."""
    known = {str(position): position for position in range(n_columns)}

    def read(data: Any, place: str) -> Coalition:
        found = [known.get(text, -1) for text in data.split(" ")] if isinstance(data, str) and data else []
        if not isinstance(data, str) or -1 in found or sorted(set(found)) != found:
            raise broken(place, f"is {str(data)[:60]!r}, which is no set of {n_columns} columns")
        return frozenset(found)

    return Form(lambda columns, _: " ".join(map(str, sorted(columns))), read)
