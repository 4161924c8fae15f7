"""Read a table: every case of bad data ends here, before any model is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import CellError, DataWarning, InputError, column_text, count_text, listing, rows_text
from granite_xai.base.options import choose
from granite_xai.base.typing import BoolArray
from granite_xai.tables.columns import KINDS, Cells, Column, Kind, UnreadableError, as_kind, sorted_labels
from granite_xai.tables.containers import Container
from granite_xai.tables.opening import open_table
from granite_xai.tables.table import Table

FEW = 20  # texts that are levels however few the rows
_SHOWN = 5
_IMPUTE = 'The model is not declared to accept missing values: pass missing="allow" if it does, or impute/drop.'


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
    """Read a table of any supported library, or say what is wrong with it.

    ``kinds`` are those of columns whose dtype does not tell; ``missing``: whether missing values are an error (D01);
    with ``like``, the table of the fit, names and kinds must agree; ``argument`` is what the caller calls X.
    With ``named``, columns that are neither among these nor given a kind pass through to the model (D11): those it does
    not use (None: it uses all), and texts with more than 20 different values that are more than half of the rows.
    """
    container = open_table(X, argument)
    names = _names(container, argument)
    _check_shape(container, argument)
    notices = [] if like is None else _check_agreement(container, like, argument)
    names = names if like is None else like.names
    wanted = _kinds(kinds, names, container) if like is None else {c.position: c.kind for c in like.columns}
    cells = [_cells(container, j, name, wanted.get(j), like is not None, argument) for j, name in enumerate(names)]
    table = Table(tuple(_column(name, j, cells[j], like) for j, name in enumerate(names)), container)
    if named is not None:
        asked = {*wanted, *(j for j, label in enumerate(container.labels) if {label, names[j]} & {*named})}
        table, told = _passing(table, cells, asked, used, argument)
        notices += told
    _check_values(table, missing, argument)
    notices += _inexact(table, cells, argument)
    notices += [] if like is None else _new_levels(table, like, argument)
    for text in notices:
        warn(text, DataWarning)
    return replace(table, notices=tuple(notices))


def _names(container: Container, argument: str) -> tuple[str, ...]:
    """Names as text; what is no name, or the name of two columns, is refused (D07, D09)."""
    labels, names = container.labels, container.names
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    odd = [label for label in labels if isinstance(label, bool) or not isinstance(label, (str, Integral))]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        places = "; ".join(f"{x!r} at {[j for j, y in enumerate(labels) if y == x]}" for x in repeated[:_SHOWN])
        message = f"has duplicate column names: {places}."
        hint = f"Rename or drop columns; {argument}.columns lists them."
    elif odd:
        flat = '["_".join(map(str, c)) for c in X.columns]' if isinstance(odd[0], tuple) else "X.columns.astype(str)"
        message = f"has column names that are neither text nor whole numbers: {listing(odd, _SHOWN)}."
        hint = f"Set X.columns = {flat}.".replace("X.", f"{argument}.")
    elif twice:
        message = f"has column names that are the same as text: {listing(twice, _SHOWN)}."
        hint = "Rename one of them: a number and its text read alike."
    else:
        return names
    columns = map(str, repeated or odd or twice)
    code = "D07" if repeated else "D09"
    raise InputError(f"{argument} {message}", code=code, argument=argument, columns=columns, hint=hint)


def _check_shape(container: Container, argument: str) -> None:
    shape = (container.n_rows, len(container.labels))
    for count, code, what, unit in ((shape[0], "D28", "rows", "sample"), (shape[1], "D32", "columns", "feature")):
        if count == 0:
            found = f"Found array with 0 {unit}(s) (shape={shape}) while a minimum of 1 is required."
            raise InputError(f"{argument} has 0 {what}. {found}", code=code, argument=argument)


def _check_agreement(container: Container, like: Table, argument: str) -> list[str]:
    """Refuse other columns than those of the fit; return what is only worth a warning (D37, D38)."""
    names, fitted = container.names, like.container
    # names count when both tables are frames and both have text names, or both have not
    if "numpy" not in (container.library, fitted.library) and container.named == fitted.named:
        if names != like.names:
            raise _other_names(names, like.names, argument)
        return []
    if len(names) != like.n_columns:
        message = f"{argument} has {len(names)} features, but Granite is expecting {like.n_columns} features as input."
        raise InputError(message, code="D37", argument=argument)
    if fitted.named == container.named:
        return []
    here, there = ("has", "without") if container.named else ("does not have valid", "with")
    return [f"{argument} {here} feature names, but Granite was fitted {there} feature names"]


def _other_names(names: tuple[str, ...], fitted: tuple[str, ...], argument: str) -> InputError:
    """Say it in scikit-learn's words."""
    unexpected, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    message, found = "The feature names should match those that were passed during fit.\n", [*unexpected, *missing]
    for what, some in (("unseen at fit time", unexpected), ("seen at fit time, yet now missing", missing)):
        shown = [name if name.isprintable() else repr(name) for name in some[:_SHOWN]] + ["..."] * (len(some) > _SHOWN)
        message += "".join([f"Feature names {what}:\n", *(f"- {name}\n" for name in shown)]) if some else ""
    if not found:
        message += "Feature names must be in the same order as they were in fit.\n"
        found = [new for new, old in zip(names, fitted, strict=True) if new != old]
    return InputError(message, code="D37", argument=argument, columns=found)


def _kinds(kinds: Mapping[Any, str] | None, names: tuple[str, ...], container: Container) -> dict[int, Kind]:
    bare = Table(tuple(Column(name, j, "numeric", np.empty(0)) for j, name in enumerate(names)), container)
    if kinds is not None and not isinstance(kinds, Mapping):
        hint = "Pass kinds={column: kind}."
        raise InputError(f"kinds={kinds!r} is not a mapping.", code="P02", argument="kinds", hint=hint)
    items = (kinds or {}).items()
    return {bare.resolve(label, "kinds"): choose(f"kinds[{label!r}]", kind, KINDS) for label, kind in items}


def _cells(container: Container, j: int, name: str, kind: Kind | None, fitted: bool, argument: str) -> Cells:
    """Read one column, and put its name and rows into whatever is wrong with it."""
    try:
        cells = container.cells(j)
        return cells if kind is None else as_kind(cells, kind)
    except UnreadableError as refused:
        rows = container.row_labels(np.asarray(refused.rows[:_SHOWN], dtype=np.intp))
        where = f" ({rows_text(rows, len(refused.rows))})" if rows else ""
        code = "D37" if fitted and refused.code == "P03" else refused.code
        told = ", as it was at fit" if code == "D37" else ""
        error = CellError if code == "D12" else InputError
        message = f"{argument} {column_text(name, j)} {refused.reason}{told}{where}."
        raise error(message, code=code, argument=argument, columns=[name], rows=rows, hint=refused.hint) from None


def _column(name: str, j: int, cells: Cells, like: Table | None) -> Column:
    order = None
    if cells.kind == "ordinal":
        known = None if like is None else like.columns[j].order
        order = known or cells.declared or tuple(sorted_labels({x for x in cells.values if x is not None}))
    declared = cells.declared if cells.kind == "nominal" else None
    passes = like is not None and like.columns[j].passes
    return Column(name, j, cells.kind, cells.values, order, cells.integer, declared, passes)


def _passing(
    table: Table, cells: list[Cells], asked: Collection[int], used: Collection[str] | None, argument: str
) -> tuple[Table, list[str]]:
    """The table with its passing columns marked, and what is said about them (D11)."""
    free = [column for column in table.columns if column.position not in asked]
    idle = {c.position for c in free if used is not None and c.name not in used}
    texts = {c.position for c in free if cells[c.position].text and len(c.levels) > max(FEW, table.n_rows / 2)} - idle
    passing = idle | texts if len(idle | texts) < table.n_columns else set()
    columns = tuple(replace(c, passes=True) if c.position in passing else c for c in table.columns)
    whys = {"the model does not use": idle, "more than half of the cells are different texts in": texts}
    told = [
        f"D11: {why} {listing([table.names[j] for j in sorted(which)], _SHOWN)} of {argument}: passed on to the model "
        "as it is, neither explained nor split. To explain it, name it in features or kinds."
        for why, which in whys.items()
        if which & passing
    ]
    return replace(table, columns=columns), told


def _check_values(table: Table, missing: str, argument: str) -> None:
    """Infinity (D03) and, where they are an error, missing values (D01)."""
    numeric = [column for column in table.columns if column.kind == "numeric" and not column.passes]
    infinite = ((column, np.isinf(column.values), "infinity value") for column in numeric)
    _refuse(table, infinite, "D03", "Replace infinity by a finite value, or drop these rows.", argument)
    if missing == "error":
        require_present(table, _IMPUTE, argument)


def require_present(table: Table, hint: str, argument: str = "X") -> None:
    """Refuse missing values, but for columns that only pass through (D01)."""
    columns = (table.columns[j] for j in table.explained)
    gone = ((c, c.missing, "NaN" if c.kind == "numeric" else "missing value") for c in columns)
    _refuse(table, gone, "D01", hint, argument)


def _refuse(
    table: Table, flagged: Iterable[tuple[Column, BoolArray, str]], code: str, hint: str, argument: str
) -> None:
    """One error about all columns with flagged rows."""
    bad = [(column, np.flatnonzero(flags), what) for column, flags, what in flagged if flags.any()]
    if not bad:
        return
    parts = []
    for column, rows, what in bad[:_SHOWN]:
        plural = "s" if len(rows) > 1 and what != "NaN" else ""
        found = count_text(len(rows), what + plural, table.row_labels(rows[:_SHOWN]))
        parts.append(f"{column_text(column.name, column.position)} has {found}")
    more = f"; and {len(bad) - _SHOWN} more columns" if len(bad) > _SHOWN else ""
    rows = np.unique(np.concatenate([rows for _, rows, _ in bad]))[:_SHOWN]
    columns, labels = [column.name for column, _, _ in bad], table.row_labels(rows)
    message = f"{argument} {'; '.join(parts)}{more}."
    raise InputError(message, code=code, argument=argument, columns=columns, rows=labels, hint=hint)


def _inexact(table: Table, cells: list[Cells], argument: str) -> list[str]:
    return [
        f"D20: {argument} {column_text(column.name, column.position)} holds integers beyond 2^53; neighbours that "
        "float64 cannot tell apart count as equal. Subtract an offset, or make it a category."
        for column, read in zip(table.columns, cells, strict=True)
        if read.inexact and column.kind == "numeric"
    ]


def _new_levels(table: Table, like: Table, argument: str) -> list[str]:
    """Tell which labels the fit has not seen; labels are compared, never codes (D15)."""
    notices = []
    for column, fitted in zip(table.columns, like.columns, strict=True):
        if column.kind not in ("nominal", "ordinal") or fitted.passes:
            continue
        # an ordered label that was declared has its place in the order even if no row carried it
        unseen = sorted_labels({*column.levels} - {*fitted.levels, *(fitted.order or ())})
        if unseen:
            count = "1 level that was" if len(unseen) == 1 else f"{len(unseen)} levels that were"
            place = column_text(column.name, column.position)
            notices.append(f"D15: {argument} {place} has {count} not seen at fit: {listing(unseen, _SHOWN)}")
    return notices
