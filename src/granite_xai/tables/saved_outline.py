"""What a file knows of a table without its rows: names, kinds, orders and levels of its columns."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.files import Structure, broken, require
from granite_xai.tables.columns import LABELLED, Column, Kind
from granite_xai.tables.containers import Outline
from granite_xai.tables.table import Table

_STRUCTURE = Structure()


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFacts:
    """What a file knows of a column.

    Its distinct values stand in ascending order, so that no row can be told.
    """

    name: str
    kind: Kind
    levels: NDArray[Any]
    missing: bool
    order: tuple[Any, ...] | None
    integer: bool
    declared: tuple[Any, ...] | None
    passes: bool = False
    seen: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TableFacts:
    """What a file knows of a table without its rows."""

    library: Literal["numpy", "pandas", "polars", "pyarrow"]
    labels: tuple[str | int, ...]
    columns: tuple[ColumnFacts, ...]


def outline_to_dict(table: Table, *, with_values: bool) -> Any:
    """Write what is known of the columns.

    Parameters
    ----------
    table : Table
        Any table.
    with_values : bool
        Whether the file also holds the distinct values of numbers and dates, not of labels only.

    Returns
    -------
    dict
        In the types of JSON.
    """
    container: Any = table.container
    facts = TableFacts(
        library=container.library,
        labels=tuple(_plain_label(label) for label in container.labels),
        columns=tuple(_facts(column, with_values) for column in table.columns),
    )
    return _STRUCTURE.write(facts, TableFacts, "table")


def _plain_label(label: Any) -> str | int:
    """The label of a column without a subclass, such as NumPy's."""
    if isinstance(label, str):
        return str(label)
    return int(label)


def _facts(column: Column, with_values: bool) -> ColumnFacts:
    levels = column.levels
    if column.passes or not (with_values or column.kind in LABELLED):
        levels = levels[:0]
    seen = None  # where all labels of the table are among the levels
    if not column.passes and set(column.seen or ()) > set(column.levels):
        seen = column.seen
    return ColumnFacts(
        name=column.name,
        kind=column.kind,
        levels=levels,
        missing=bool(column.missing.any()),
        order=column.order,
        integer=column.integer,
        declared=None if column.passes else column.declared,
        passes=column.passes,
        seen=seen,
    )


def outline_from_dict(data: object, place: str) -> Table:
    """Read what `outline_to_dict` wrote, as a table without rows.

    Parameters
    ----------
    data : object
        What the file holds.
    place : str
        Where it stands in the file.

    Raises
    ------
    FormatError
        F04, with the place.
    """
    facts: TableFacts = _STRUCTURE.read(data, TableFacts, place)
    n_columns = len(facts.columns)
    is_labelled = n_columns > 0 and len(facts.labels) == n_columns
    require(is_labelled, f"{place}.labels", "is not one text or number for each column")
    columns = tuple(
        _column(column, position, f"{place}.columns[{position}]")
        for position, column in enumerate(facts.columns)
    )
    names = {column.name for column in columns}
    require(len(names) == n_columns, f"{place}.columns", "has two columns of one name")
    return Table(columns, Outline(facts.labels, facts.library))


def _column(facts: ColumnFacts, position: int, place: str) -> Column:
    _require_different_labels(facts.order, f"{place}.order")
    _require_different_labels(facts.declared, f"{place}.declared")
    _require_different_labels(facts.seen, f"{place}.seen")
    levels = facts.levels
    what = f"has the dtype {levels.dtype}, which no {facts.kind} column has"
    require(_is_dtype_of(facts.kind, levels), f"{place}.levels", what)
    has_order = facts.order is not None
    require(has_order or facts.kind != "ordinal", f"{place}.order", "is not a list of labels")
    has_places = facts.order is None or set(levels.tolist()) <= set(facts.order)
    require(has_places, f"{place}.order", "has no place for some of the levels")
    values = levels
    if facts.missing:
        missing_value = {"O": None, "f": np.nan}.get(levels.dtype.kind, "NaT")
        values = np.append(levels, np.array([missing_value], dtype=levels.dtype))
    column = Column(
        name=facts.name,
        position=position,
        kind=facts.kind,
        values=values,
        order=facts.order,
        integer=facts.integer,
        declared=facts.declared,
        passes=facts.passes,
        seen=facts.seen,
    )
    with suppress(TypeError):  # levels that cannot be sorted
        if np.array_equal(column.levels, levels):
            return column
    raise broken(f"{place}.levels", "is not a list of different values in their order")


def _require_different_labels(labels: tuple[Any, ...] | None, place: str) -> None:
    labels = labels or ()
    are_plain = all(isinstance(label, str | int | float) for label in labels)
    are_different = are_plain and len(set(labels)) == len(labels)
    require(are_different, place, "is not a list of different labels")


def _is_dtype_of(kind: Kind, levels: NDArray[Any]) -> bool:
    if levels.ndim != 1:
        return False
    if kind in LABELLED:
        return levels.dtype.kind == "O"
    if kind == "date":
        return levels.dtype.kind in "Mm"
    return levels.dtype == np.float64
