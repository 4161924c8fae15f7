"""Tables read from what a user passes; bad data end here, before a model is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import CellError, DataWarning, InputError
from granite_xai.base.files import object_array
from granite_xai.base.text import column_text, count_text, listing, rows_text
from granite_xai.base.typing import BoolArray
from granite_xai.base.validation import choose
from granite_xai.tables.agreement import (
    agreement_notices,
    new_level_notices,
    new_missing_notices,
)
from granite_xai.tables.cells import Cells, UnreadableError, as_kind, from_array
from granite_xai.tables.columns import KINDS, Column, Kind, sorted_labels
from granite_xai.tables.containers import Container
from granite_xai.tables.opening import open_table
from granite_xai.tables.table import Table

FEW = 20  # texts that are levels however few the rows
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
    named: Collection[Any] | None = None,
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
    named : collection of labels, optional
        Columns that the user named. With it, columns that are neither among them nor in ``kinds``
        may pass through to the model unexplained (D11): those that the model does not use, and
        texts with more than 20 values that are more than half of the rows.
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
        notices += agreement_notices(container, like, argument)
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
    if named is not None:
        asked_for = _positions_of(container, names, named) | set(wanted_kinds)
        table, passing_notices = _with_passing_columns(table, cells, asked_for, used, argument)
        notices += passing_notices
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
    shape = (container.n_rows, len(container.labels))
    required = f"(shape={shape}) while a minimum of 1 is required."
    if shape[0] == 0:
        message = f"{argument} has 0 rows. Found array with 0 sample(s) {required}"
        raise InputError(message, code="D28", argument=argument)
    if shape[1] == 0:
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
    no_cells = np.empty(0)
    unread_columns = [Column(name, j, "numeric", no_cells) for j, name in enumerate(names)]
    unread = Table(tuple(unread_columns), container)
    return {
        unread.resolve(label, "kinds"): choose(f"kinds[{label!r}]", kind, KINDS)
        for label, kind in kinds.items()
    }


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
        return cells if kind is None else as_kind(cells, kind)
    except UnreadableError as unreadable:
        rows = container.row_labels(np.asarray(unreadable.rows[:SHOWN], dtype=np.intp))
        where = f" ({rows_text(rows, len(unreadable.rows))})" if rows else ""
        reason = unreadable.reason
        code = unreadable.code
        if like is not None and code == "P03":  # the kind is that of the fit, not the user's
            code = "D37"
            reason += ", as it was at fit"
        error = CellError if code == "D12" else InputError
        raise error(
            f"{argument} {column_text(name, position)} {reason}{where}.",
            code=code,
            argument=argument,
            columns=[name],
            rows=rows,
            hint=unreadable.hint,
        ) from None


def _column(name: str, position: int, cells: Cells, like: Table | None) -> Column:
    """A column of cells; its order, and whether it passes, are those of the fit."""
    fitted = None if like is None else like.columns[position]
    order = None
    if cells.kind == "ordinal":
        order = (None if fitted is None else fitted.order) or cells.declared
        if not order:
            present = {label for label in cells.values if label is not None}
            order = tuple(sorted_labels(present))
    return Column(
        name=name,
        position=position,
        kind=cells.kind,
        values=cells.values,
        order=order,
        integer=cells.integer,
        declared=cells.declared if cells.kind == "nominal" else None,
        passes=fitted is not None and fitted.passes,
    )


def _positions_of(container: Container, names: tuple[str, ...], named: Collection[Any]) -> set[int]:
    """Positions of the columns whose label or name is among those that the user named."""
    return {
        position
        for position, (label, name) in enumerate(zip(container.labels, names, strict=True))
        if label in named or name in named
    }


def _with_passing_columns(
    table: Table,
    cells: Sequence[Cells],
    asked_for: Collection[int],
    used: Collection[str] | None,
    argument: str,
) -> tuple[Table, list[str]]:
    """The table with its passing columns marked, and what is said about them (D11)."""
    not_used = set()
    texts = set()
    most_levels = max(FEW, table.n_rows / 2)
    for column in table.columns:
        position = column.position
        if position in asked_for:
            continue
        if used is not None and column.name not in used:
            not_used.add(position)
        elif cells[position].text and len(column.levels) > most_levels:
            texts.add(position)
    passing = not_used | texts
    if len(passing) == table.n_columns:  # nothing would be left to explain
        return table, []
    columns = [
        replace(column, passes=True) if column.position in passing else column
        for column in table.columns
    ]
    reasons = {
        "the model does not use": not_used,
        "more than half of the cells are different texts in": texts,
    }
    notices = []
    for reason, positions in reasons.items():
        if positions:
            names = listing([table.names[position] for position in sorted(positions)], SHOWN)
            notices.append(
                f"D11: {reason} {names} of {argument}: passed on to the model as it is, neither "
                "explained nor split. To explain it, name it in features or kinds."
            )
    return replace(table, columns=tuple(columns)), notices


def _inexact_notices(table: Table, cells: Sequence[Cells], argument: str) -> list[str]:
    """Say which columns hold whole numbers that are too large for float64 (D20)."""
    return [
        f"D20: {argument} {column_text(column.name, column.position)} holds integers beyond 2^53, "
        "which float64 cannot hold exactly: neighbours count as equal. "
        "Subtract an offset, or make it a category."
        for column in table.columns
        if column.kind == "numeric" and cells[column.position].inexact
    ]


class BadCells(NamedTuple):
    """Cells of a column that are refused: the flags of its rows, and what the cells are."""

    column: Column
    flags: BoolArray
    what: str


def _require_finite(table: Table, argument: str) -> None:
    """Refuse infinite numbers, but for columns that only pass through (D03)."""
    infinite = [
        BadCells(column, np.isinf(column.values), "infinity value")
        for column in table.columns
        if column.kind == "numeric" and not column.passes
    ]
    hint = "Replace infinity by a finite value, or drop these rows."
    _refuse_cells(table, infinite, "D03", hint, argument)


def require_present(table: Table, more: str = "", argument: str = "X") -> None:
    """Refuse missing values, but for columns that only pass through (D01).

    Parameters
    ----------
    table : Table
    more : str
        A further sentence of the hint.
    argument : str
        Name of the table in messages.
    """
    missing = [
        BadCells(column, column.missing, "NaN" if column.kind == "numeric" else "missing value")
        for column in table.columns
        if not column.passes
    ]
    _refuse_cells(table, missing, "D01", IMPUTE + more, argument)


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


def row_like(table: Table, row: Mapping[Any, Any] | Sequence[Any], argument: str) -> Table:
    """Read one row given by hand, such as a baseline.

    Parameters
    ----------
    table : Table
        Whose columns, dtypes and library the row gets.
    row : mapping of a column's label to its cell, or sequence of all cells
        Columns may be left out where the table has one row: they have its cells.
    argument : str
        Name of the row in messages.

    Returns
    -------
    Table
        With one row.
    """
    cells = _cells_by_position(table, row, argument)
    absent = [column.name for column in table.columns if column.position not in cells]
    if absent and table.n_rows != 1:
        raise InputError(
            f"{argument} has no cell for the columns {listing(absent)}.",
            code="D37",
            argument=argument,
            columns=absent,
            hint="Give every column a cell.",
        )
    first_row = np.zeros(1, dtype=np.intp)
    columns = []
    for column in table.columns:
        if column.position in cells:
            columns.append(_column_by_hand(column, cells[column.position], argument))
        else:
            columns.append(column.take(first_row))
    container = table.container
    native = container.recombined(first_row, container.adopt(columns), first_row, sorted(cells))
    return read_table(native, missing="allow", like=table, argument=argument)


def _cells_by_position(
    table: Table, row: Mapping[Any, Any] | Sequence[Any], argument: str
) -> dict[int, Any]:
    if isinstance(row, Mapping):
        return {table.resolve(label, argument): cell for label, cell in row.items()}
    if len(row) != table.n_columns:
        raise InputError(
            f"{argument} has {len(row)} cells, the table has {table.n_columns} columns.",
            code="D37",
            argument=argument,
            hint=f"Features: {listing(table.names)}.",
        )
    return dict(enumerate(row))


def _column_by_hand(column: Column, cell: Any, argument: str) -> Column:
    """A column of one cell, of the kind of another."""
    try:
        cells = as_kind(from_array(object_array([cell])), column.kind)
    except UnreadableError as unreadable:
        place = column_text(column.name, column.position)
        raise InputError(
            f"{argument} {place} {unreadable.reason}.",
            code=unreadable.code,
            argument=argument,
            columns=[column.name],
            hint=unreadable.hint,
        ) from None
    return Column(column.name, column.position, column.kind, cells.values, order=column.order)
