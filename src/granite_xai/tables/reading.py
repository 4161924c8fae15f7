"""Tables read from what a user passes.

Bad data end here, before a model is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import CellError, DataWarning, InputError
from granite_xai.base.text import column_text, count_text, listing, rows_text
from granite_xai.base.typing import BoolArray
from granite_xai.base.validation import choose
from granite_xai.tables.agreement import (
    check_agreement,
    new_level_notices,
    new_missing_notices,
)
from granite_xai.tables.cells import Cells, UnreadableError, as_kind
from granite_xai.tables.columns import KINDS, Column, Kind, sorted_labels
from granite_xai.tables.containers import Container
from granite_xai.tables.opening import open_table
from granite_xai.tables.passing import mark_passing
from granite_xai.tables.table import Table

SHOWN = 5  # columns and rows that a message names
IMPUTE = (
    "The model is not declared to accept missing values: "
    'pass missing="allow" if it does, or impute/drop.'
)


def read_table(
    X: Any,
    *,
    kinds: Mapping[Any, str] | None = None,
    missing: Literal["allow", "error"],
    like: Table | None = None,
    requested: Collection[Any] | None = None,
    used: Collection[str] | None = None,
    argument: str = "X",
) -> Table:
    """Read a table of any supported library.

    Parameters
    ----------
    X : array, list of lists, or frame
    kinds : mapping of a column's label to its kind, optional
        Read these columns as something else than their dtype says.
    missing : "allow" or "error"
        Whether explained columns may have missing values.
    like : Table, optional
        The table of the fit: names, kinds and passing columns are its own.
    requested : collection of labels, optional
        Columns that the user names in other arguments. With it, columns that are neither among
        them nor in ``kinds`` may pass through to the model unexplained (D11): those that the model
        does not use, and texts with more than 20 values that are more than half of the rows.
    used : collection of str, optional
        Names of the columns that the model uses; None: all.
    argument : str
        Name of the table in messages.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        What is wrong with X, with its columns, rows and the remedy.
    """
    container = open_table(X, argument)
    names = _checked_names(container, argument)
    _require_cells(container, argument)
    notices = []
    if like is None:
        wanted_kinds = _wanted_kinds(kinds, names, container)
    else:
        notices += check_agreement(container, like, argument)
        names = like.names
        wanted_kinds = {column.position: column.kind for column in like.columns}
    cells = [
        _read_cells(container, position, name, wanted_kinds.get(position), like, argument)
        for position, name in enumerate(names)
    ]
    columns = [
        _column(name, position, cells[position], like) for position, name in enumerate(names)
    ]
    table = Table(tuple(columns), container)
    if requested is not None:
        positions = _positions_of(requested, table) | set(wanted_kinds)
        passing = mark_passing(table, cells, positions, used, argument)
        table = passing.table
        notices += passing.notices
    _require_finite(table, argument)
    if missing == "error":
        require_present(table, argument=argument)
    notices += _inexact_notices(table, cells, argument)
    if like is not None:
        notices += new_level_notices(table, like, argument)
        notices += new_missing_notices(table, like, argument)
    for notice in notices:
        warn(notice, DataWarning)
    return replace(table, notices=tuple(notices))


def _require_cells(container: Container, argument: str) -> None:
    """Refuse a table without rows or without columns, in scikit-learn's words (D28, D32)."""
    n_rows = container.n_rows
    n_columns = len(container.labels)
    required = f"(shape={(n_rows, n_columns)}) while a minimum of 1 is required."
    if n_rows == 0:
        message = f"{argument} has 0 rows. Found array with 0 sample(s) {required}"
        raise InputError(message, code="D28", argument=argument)
    if n_columns == 0:
        message = f"{argument} has 0 columns. Found array with 0 feature(s) {required}"
        raise InputError(message, code="D32", argument=argument)


def _checked_names(container: Container, argument: str) -> tuple[str, ...]:
    """Names as text; what is no name, or the name of two columns, is refused (D07, D09)."""
    labels = container.labels
    repeated_labels = _repeated(labels)
    if repeated_labels:
        places = [f"{label!r} at {_places(labels, label)}" for label in repeated_labels[:SHOWN]]
        raise InputError(
            f"{argument} has duplicate column names: {'; '.join(places)}.",
            code="D07",
            argument=argument,
            columns=map(str, repeated_labels),
            hint=f"Rename or drop columns; {argument}.columns lists them.",
        )
    no_names = [label for label in labels if not _is_name(label)]
    if no_names:
        if isinstance(no_names[0], tuple):
            new_names = f'["_".join(map(str, c)) for c in {argument}.columns]'
        else:
            new_names = f"{argument}.columns.astype(str)"
        shown = listing(no_names, SHOWN)
        raise InputError(
            f"{argument} has column names that are neither text nor whole numbers: {shown}.",
            code="D09",
            argument=argument,
            columns=map(str, no_names),
            hint=f"Set {argument}.columns = {new_names}.",
        )
    repeated_names = _repeated(container.names)
    if repeated_names:
        shown = listing(repeated_names, SHOWN)
        raise InputError(
            f"{argument} has column names that are the same as text: {shown}.",
            code="D09",
            argument=argument,
            columns=repeated_names,
            hint="Rename one of them: a number and its text read alike.",
        )
    return container.names


def _repeated(labels: Iterable[Any]) -> list[Any]:
    return [label for label, count in Counter(labels).items() if count > 1]


def _places(labels: Sequence[Any], label: Any) -> list[int]:
    return [place for place, candidate in enumerate(labels) if candidate == label]


def _is_name(label: Any) -> bool:
    return isinstance(label, (str, Integral)) and not isinstance(label, bool)


def _wanted_kinds(
    kinds: Mapping[Any, str] | None, names: tuple[str, ...], container: Container
) -> dict[int, Kind]:
    """The kinds that the user gives, by position."""
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise InputError(
            f"kinds={kinds!r} is not a mapping.",
            code="P02",
            argument="kinds",
            hint="Pass kinds={column: kind}.",
        )
    # A table of names alone, for the rules by which `Table.resolve` reads a label.
    no_cells = np.empty(0)
    unread_columns = [
        Column(name, position, "numeric", no_cells) for position, name in enumerate(names)
    ]
    unread = Table(tuple(unread_columns), container)
    kind_of_position: dict[int, Kind] = {}
    for label, kind in kinds.items():
        position = unread.resolve(label, "kinds")
        kind_of_position[position] = choose(f"kinds[{label!r}]", kind, KINDS)
    return kind_of_position


def _read_cells(
    container: Container,
    position: int,
    name: str,
    kind: Kind | None,
    like: Table | None,
    argument: str,
) -> Cells:
    """Read one column, and put its name and rows into whatever is wrong with it."""
    try:
        cells = container.cells(position)
        if kind is None:
            return cells
        return as_kind(cells, kind)
    except UnreadableError as unreadable:
        rows = container.row_labels(np.asarray(unreadable.rows[:SHOWN], dtype=np.intp))
        where = f" ({rows_text(rows, len(unreadable.rows))})" if rows else ""
        reason = unreadable.reason
        code = unreadable.code
        if like is not None and code == "P03":  # the kind is that of the fit, not the user's
            code = "D37"
            reason += ", as it was at fit"
        error_class = CellError if code == "D12" else InputError
        raise error_class(
            f"{argument} {column_text(name, position)} {reason}{where}.",
            code=code,
            argument=argument,
            columns=[name],
            rows=rows,
            hint=unreadable.hint,
        ) from None


def _column(name: str, position: int, cells: Cells, like: Table | None) -> Column:
    """A column of cells; its order, and whether it passes, are those of the fit."""
    order = None
    passes = False
    if like is not None:
        fitted = like.columns[position]
        passes = fitted.passes
        if cells.kind == "ordinal":
            order = fitted.order
    if cells.kind == "ordinal" and not order:
        order = cells.declared or _sorted_present(cells)
    return Column(
        name=name,
        position=position,
        kind=cells.kind,
        values=cells.values,
        order=order,
        integer=cells.integer,
        declared=cells.declared if cells.kind == "nominal" else None,
        passes=passes,
    )


def _sorted_present(cells: Cells) -> tuple[Any, ...]:
    """The labels that some row carries, sorted."""
    present = {label for label in cells.values if label is not None}
    return tuple(sorted_labels(present))


def _positions_of(labels: Collection[Any], table: Table) -> set[int]:
    """Positions of the columns whose label or name is among some."""
    positions = set()
    for column, label in zip(table.columns, table.container.labels, strict=True):
        if label in labels or column.name in labels:
            positions.add(column.position)
    return positions


def _inexact_notices(table: Table, cells: Sequence[Cells], argument: str) -> list[str]:
    """Say which columns hold whole numbers that are too large for float64 (D20)."""
    notices = []
    for column in table.columns:
        if column.kind == "numeric" and cells[column.position].inexact:
            place = column_text(column.name, column.position)
            notices.append(
                f"D20: {argument} {place} holds integers beyond 2^53, "
                "which float64 cannot hold exactly: neighbours count as equal. "
                "Subtract an offset, or make it a category."
            )
    return notices


class BadCells(NamedTuple):
    """Cells of a column that are refused."""

    column: Column
    flags: BoolArray  # (n_rows,): which rows have such a cell
    what: str  # what such a cell is called


def _require_finite(table: Table, argument: str) -> None:
    """Refuse infinite numbers, but for columns that only pass through (D03)."""
    explained = [column for column in table.columns if not column.passes]
    infinite = [
        BadCells(column, np.isinf(column.values), "infinity value")
        for column in explained
        if column.kind == "numeric"
    ]
    hint = "Replace infinity by a finite value, or drop these rows."
    _refuse_cells(table, infinite, "D03", hint, argument)


def require_present(table: Table, further_hint: str = "", argument: str = "X") -> None:
    """Refuse missing values, but for columns that only pass through (D01).

    Parameters
    ----------
    table : Table
    further_hint : str
        A further sentence of the hint, with the blank before it.
    argument : str
        Name of the table in messages.
    """
    missing = []
    for column in table.columns:
        if not column.passes:
            what = "NaN" if column.kind == "numeric" else "missing value"
            missing.append(BadCells(column, column.missing, what))
    _refuse_cells(table, missing, "D01", IMPUTE + further_hint, argument)


def _refuse_cells(
    table: Table, candidates: Iterable[BadCells], code: str, hint: str, argument: str
) -> None:
    """Raise one error about all columns that have flagged rows."""
    bad = [candidate for candidate in candidates if candidate.flags.any()]
    if not bad:
        return
    texts = []
    for column, flags, what in bad[:SHOWN]:
        rows = np.flatnonzero(flags)
        plural = "s" if len(rows) > 1 and what != "NaN" else ""
        cells = count_text(len(rows), what + plural, table.row_labels(rows[:SHOWN]))
        texts.append(f"{column_text(column.name, column.position)} has {cells}")
    if len(bad) > SHOWN:
        texts.append(f"and {len(bad) - SHOWN} more columns")
    any_flag = np.any([candidate.flags for candidate in bad], axis=0)
    raise InputError(
        f"{argument} {'; '.join(texts)}.",
        code=code,
        argument=argument,
        columns=[candidate.column.name for candidate in bad],
        rows=table.row_labels(np.flatnonzero(any_flag)[:SHOWN]),
        hint=hint,
    )
