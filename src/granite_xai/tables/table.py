"""Tables read: columns, rows, distinct rows, tables made of them; all bad data ends here, before a model is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Literal

import narwhals as nw
import numpy as np

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import CellError, DataWarning, InputError
from granite_xai.base.files import object_array
from granite_xai.base.text import column_text, count_text, listing, rows_text
from granite_xai.base.typing import Coalition, IntArray
from granite_xai.base.validation import choose, unknown
from granite_xai.tables.columns import (
    KINDS,
    Cells,
    Column,
    Kind,
    UnreadableError,
    as_kind,
    from_array,
    sorted_labels,
)
from granite_xai.tables.containers import Container, Outline
from granite_xai.tables.opening import open_table

FEW = 20  # texts that are levels however few the rows
_SHOWN = 5
_IMPUTE = 'The model is not declared to accept missing values: pass missing="allow" if it does, or impute/drop.'


@dataclass(frozen=True, eq=False)
class Table:
    """A table, read once and never written."""

    columns: tuple[Column, ...]
    container: Container  # holds the user's own table
    notices: tuple[str, ...] = ()  # texts of the warnings that reading gave

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.container.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def explained(self) -> tuple[int, ...]:
        """Positions of the columns that are explained and split; the others only pass through to the model."""
        return tuple(column.position for column in self.columns if not column.passes)

    @cached_property
    def passing(self) -> Coalition:
        """Positions of the columns that only pass through to the model."""
        return frozenset(range(self.n_columns)) - set(self.explained)

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kinds of the columns, by name."""
        return {column.name: column.kind for column in self.columns}

    @property
    def native(self) -> Any:
        """The user's own table."""
        return self.container.native

    def row_labels(self, positions: Sequence[int] | IntArray) -> list[Any]:
        """Labels of rows as the user knows them, for messages."""
        return self.container.row_labels(np.asarray(positions, dtype=np.intp))

    def same_rows(self, other: Table) -> bool:
        """Whether both hold the same cells in the same order."""
        pairs = zip(self.columns, other.columns, strict=False)
        same = (
            np.array_equal(a.codes, b.codes) and a.levels.tolist() == b.levels.tolist()
            for a, b in pairs
        )
        return (self.n_rows, self.n_columns) == (other.n_rows, other.n_columns) and all(same)

    def take(self, rows: Sequence[int] | IntArray) -> Table:
        """The table of some rows; levels are those present there, labels stay those of the user."""
        rows = np.asarray(rows, dtype=np.intp)
        container = self.container.take(rows)  # first: a table loaded without its rows refuses here
        return Table(tuple(column.take(rows) for column in self.columns), container, self.notices)

    def select(self, positions: Sequence[int]) -> Any:
        """Some columns in the user's own library, as a copy."""
        return self.container.select(positions)

    def resolve(self, label: Any, argument: str) -> int:
        """Position of a column, given by its label; an int that is no label is a position."""
        usable = isinstance(label, (str, Integral)) and not isinstance(label, bool)
        for labels in (self.container.labels, self.names) if usable else ():
            if label in labels:
                return labels.index(label)
        if isinstance(label, Integral) and usable and 0 <= int(label) < self.n_columns:
            return int(label)
        raise unknown(argument, label, self.names, code="P04", what="Columns")

    def distinct(
        self, columns: Iterable[int], cells: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Number of each row among the distinct ones of some columns, by codes (or ``cells``), and their first rows."""
        chosen = sorted(columns) if isinstance(columns, (set, frozenset)) else columns
        return distinct_rows(
            self.n_rows,
            (self.columns[j].codes + 1 if cells is None else cells[:, j] for j in chosen),
        )


def distinct_rows(n_rows: int, columns: Iterable[IntArray]) -> tuple[IntArray, IntArray]:
    """Number the distinct rows of some columns of codes from 0, and find the first row of each."""
    keys, size = np.zeros(n_rows, dtype=np.int64), 1
    for column in columns:
        width = int(column.max(initial=-1)) + 1
        keys, size = keys * width + column, size * width
        if (
            size > 8 * len(keys) + 1024
        ):  # ranks stay small enough for 64 bits and for a table of all of them
            values, keys = np.unique(keys, return_inverse=True)
            size = len(values)
        else:
            seen = np.zeros(size, dtype=bool)
            seen[keys] = True
            keys, size = (np.cumsum(seen) - 1)[keys], int(seen.sum())
    first = np.zeros(size if len(keys) else 0, dtype=np.intp)
    # of several assignments to one place the last one stays: go backwards
    first[keys[::-1]] = np.arange(len(keys) - 1, -1, -1, dtype=np.intp)
    return keys.astype(np.intp, copy=False), first


def require_rows(table: Table, what: str) -> None:
    """Refuse work that needs the rows of a table that was loaded without them (F09)."""
    if isinstance(table.container, Outline):
        table.container.refuse(what=what)


def recombine(
    base: Table, base_rows: Any, donor: Table, donor_rows: Any, columns: Iterable[int]
) -> Any:
    """Rows of one table with some columns from rows of another; fresh, in the library and the dtypes of the first."""
    rows, others = np.asarray(base_rows, dtype=np.intp), np.asarray(donor_rows, dtype=np.intp)
    if rows.shape != others.shape:
        raise ValueError(f"base_rows has shape {rows.shape}, donor_rows has shape {others.shape}.")
    alike = donor.container.library == base.container.library
    container = donor.container if alike else base.container.adopt(donor.columns)
    return base.container.recombined(rows, container, others, sorted(columns))


def nudged(
    table: Table, rows: Any, direction: Literal[1, -1], columns: Sequence[int] | None = None
) -> Any:
    """Rows with every floating-point cell (of some columns) moved to the next number of its own dtype, up or down."""
    chosen = range(table.n_columns) if columns is None else columns
    return table.container.nudged(np.asarray(rows, dtype=np.intp), direction, list(chosen))


def frame(data: Mapping[str, Sequence[Any] | Any], like: Table | None = None) -> Any:
    """A frame in the library of a table; pandas for arrays."""
    if like is None or like.container.library in ("numpy", "pandas"):
        return nw.from_dict(dict(data), backend="pandas").to_native()
    backend = nw.from_native(like.native, eager_only=True).implementation
    return nw.from_dict(
        {name: list(values) for name, values in data.items()}, backend=backend
    ).to_native()


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
    """Read a table of any supported library, or say what is wrong with it; ``like``: as one that was read before.

    With ``named``, columns neither among these nor given a kind pass through to the model (D11): those not ``used``
    (None: all are), and texts with more than 20 values that are more than half of the rows.
    """
    container = open_table(X, argument)
    names, shape = _names(container, argument), (container.n_rows, len(container.labels))
    for count, code, what, unit in (
        (shape[0], "D28", "rows", "sample"),
        (shape[1], "D32", "columns", "feature"),
    ):
        if count == 0:
            found = (
                f"Found array with 0 {unit}(s) (shape={shape}) while a minimum of 1 is required."
            )
            raise InputError(f"{argument} has 0 {what}. {found}", code=code, argument=argument)
    notices = [] if like is None else _check_agreement(container, like, argument)
    names = names if like is None else like.names
    wanted = (
        _kinds(kinds, names, container)
        if like is None
        else {c.position: c.kind for c in like.columns}
    )
    cells = [
        _cells(container, j, name, wanted.get(j), like is not None, argument)
        for j, name in enumerate(names)
    ]
    table = Table(
        tuple(_column(name, j, cells[j], like) for j, name in enumerate(names)), container
    )
    if named is not None:
        asked = {
            *wanted,
            *(j for j, label in enumerate(container.labels) if {label, names[j]} & {*named}),
        }
        table, told = _passing(table, cells, asked, used, argument)
        notices += told
    numeric = [column for column in table.columns if column.kind == "numeric" and not column.passes]
    infinite = ((column, np.isinf(column.values), "infinity value") for column in numeric)
    _refuse(
        table, infinite, "D03", "Replace infinity by a finite value, or drop these rows.", argument
    )
    if missing == "error":
        require_present(table, argument=argument)
    why = (
        "holds integers beyond 2^53, which float64 cannot hold exactly: neighbours count as equal."
    )
    remedy = "Subtract an offset, or make it a category."
    inexact = (
        c
        for c, read in zip(table.columns, cells, strict=True)
        if read.inexact and c.kind == "numeric"
    )
    notices += [
        f"D20: {argument} {column_text(c.name, c.position)} {why} {remedy}" for c in inexact
    ]
    notices += [] if like is None else _new_levels(table, like, argument)
    for text in notices:
        warn(text, DataWarning)
    return replace(table, notices=tuple(notices))


def _names(container: Container, argument: str) -> tuple[str, ...]:
    """Names as text; what is no name, or the name of two columns, is refused (D07, D09)."""
    labels, names = container.labels, container.names
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    odd = [
        label
        for label in labels
        if isinstance(label, bool) or not isinstance(label, (str, Integral))
    ]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        places = "; ".join(
            f"{x!r} at {[j for j, y in enumerate(labels) if y == x]}" for x in repeated[:_SHOWN]
        )
        message = f"has duplicate column names: {places}."
        hint = f"Rename or drop columns; {argument}.columns lists them."
    elif odd:
        flat = (
            '["_".join(map(str, c)) for c in X.columns]'
            if isinstance(odd[0], tuple)
            else "X.columns.astype(str)"
        )
        message = (
            f"has column names that are neither text nor whole numbers: {listing(odd, _SHOWN)}."
        )
        hint = f"Set X.columns = {flat}.".replace("X.", f"{argument}.")
    elif twice:
        message = f"has column names that are the same as text: {listing(twice, _SHOWN)}."
        hint = "Rename one of them: a number and its text read alike."
    else:
        return names
    columns = map(str, repeated or odd or twice)
    code = "D07" if repeated else "D09"
    raise InputError(
        f"{argument} {message}", code=code, argument=argument, columns=columns, hint=hint
    )


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
    message, found = (
        "The feature names should match those that were passed during fit.\n",
        [*unexpected, *missing],
    )
    for what, some in (
        ("unseen at fit time", unexpected),
        ("seen at fit time, yet now missing", missing),
    ):
        shown = [name if name.isprintable() else repr(name) for name in some[:_SHOWN]] + ["..."] * (
            len(some) > _SHOWN
        )
        message += (
            "".join([f"Feature names {what}:\n", *(f"- {name}\n" for name in shown)])
            if some
            else ""
        )
    if not found:
        message += "Feature names must be in the same order as they were in fit.\n"
        found = [new for new, old in zip(names, fitted, strict=True) if new != old]
    return InputError(message, code="D37", argument=argument, columns=found)


def _kinds(
    kinds: Mapping[Any, str] | None, names: tuple[str, ...], container: Container
) -> dict[int, Kind]:
    bare = Table(
        tuple(Column(name, j, "numeric", np.empty(0)) for j, name in enumerate(names)), container
    )
    if kinds is not None and not isinstance(kinds, Mapping):
        hint = "Pass kinds={column: kind}."
        raise InputError(
            f"kinds={kinds!r} is not a mapping.", code="P02", argument="kinds", hint=hint
        )
    items = (kinds or {}).items()
    return {
        bare.resolve(label, "kinds"): choose(f"kinds[{label!r}]", kind, KINDS)
        for label, kind in items
    }


def _cells(
    container: Container, j: int, name: str, kind: Kind | None, fitted: bool, argument: str
) -> Cells:
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
        raise error(
            message, code=code, argument=argument, columns=[name], rows=rows, hint=refused.hint
        ) from None


def _column(name: str, j: int, cells: Cells, like: Table | None) -> Column:
    order = None
    if cells.kind == "ordinal":
        known = None if like is None else like.columns[j].order
        order = (
            known
            or cells.declared
            or tuple(sorted_labels({x for x in cells.values if x is not None}))
        )
    declared = cells.declared if cells.kind == "nominal" else None
    passes = like is not None and like.columns[j].passes
    return Column(name, j, cells.kind, cells.values, order, cells.integer, declared, passes)


def _passing(
    table: Table,
    cells: list[Cells],
    asked: Collection[int],
    used: Collection[str] | None,
    argument: str,
) -> tuple[Table, list[str]]:
    """The table with its passing columns marked, and what is said about them (D11)."""
    free = [column for column in table.columns if column.position not in asked]
    idle = {c.position for c in free if used is not None and c.name not in used}
    texts = {
        c.position
        for c in free
        if cells[c.position].text and len(c.levels) > max(FEW, table.n_rows / 2)
    } - idle
    passing = idle | texts if len(idle | texts) < table.n_columns else set()
    columns = tuple(replace(c, passes=True) if c.position in passing else c for c in table.columns)
    whys = {
        "the model does not use": idle,
        "more than half of the cells are different texts in": texts,
    }
    names = (
        (why, listing([table.names[j] for j in sorted(which)], _SHOWN))
        for why, which in whys.items()
        if which
    )
    rest = "as it is, neither explained nor split. To explain it, name it in features or kinds."
    told = [
        f"D11: {why} {named} of {argument}: passed on to the model {rest}"
        for why, named in names
        if passing
    ]
    return replace(table, columns=columns), told


def require_present(table: Table, more: str = "", argument: str = "X") -> None:
    """Refuse missing values, but for columns that only pass through (D01)."""
    columns = (table.columns[j] for j in table.explained)
    gone = ((c, c.missing, "NaN" if c.kind == "numeric" else "missing value") for c in columns)
    _refuse(table, gone, "D01", _IMPUTE + more, argument)


def _refuse(table: Table, flagged: Iterable[Any], code: str, hint: str, argument: str) -> None:
    """One error about all flagged columns, each given with the flags of its rows and what they mean."""
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


def _new_levels(table: Table, like: Table, argument: str) -> list[str]:
    """Tell which labels the fit has not seen; labels are compared, never codes (D15)."""
    notices, pairs = [], zip(table.columns, like.columns, strict=True)
    for new, old in [(a, b) for a, b in pairs if a.kind in ("nominal", "ordinal") and not b.passes]:
        # an ordered label that was declared has its place in the order even if no row carried it
        if unseen := sorted_labels({*new.levels} - {*old.levels, *(old.order or ())}):
            count = "1 level that was" if len(unseen) == 1 else f"{len(unseen)} levels that were"
            place = column_text(new.name, new.position)
            notices.append(
                f"D15: {argument} {place} has {count} not seen at fit: {listing(unseen, _SHOWN)}"
            )
    return notices


def row_like(table: Table, row: Mapping[Any, Any] | Sequence[Any], argument: str) -> Table:
    """Read one row given by hand, such as a baseline, as a table like another, whose only row has what is left out."""
    if not isinstance(row, Mapping) and len(row) != table.n_columns:
        message = f"{argument} has {len(row)} cells, the table has {table.n_columns} columns."
        raise InputError(
            message, code="D37", argument=argument, hint=f"Columns: {listing(table.names)}."
        )
    items = row.items() if isinstance(row, Mapping) else enumerate(row)
    cells = {
        table.resolve(x, argument) if isinstance(row, Mapping) else x: cell for x, cell in items
    }
    absent = [name for j, name in enumerate(table.names) if j not in cells]
    if absent and table.n_rows != 1:
        message = f"{argument} has no cell for the columns {listing(absent)}."
        raise InputError(
            message, code="D37", argument=argument, columns=absent, hint="Give every column a cell."
        )
    first = np.zeros(1, dtype=np.intp)
    own = {c.position: c.take(first) for c in table.columns if c.position not in cells}
    columns = [
        own.get(c.position) or _by_hand(c, cells[c.position], argument) for c in table.columns
    ]
    native = table.container.recombined(first, table.container.adopt(columns), first, sorted(cells))
    return read_table(native, missing="allow", like=table, argument=argument)


def _by_hand(column: Column, cell: Any, argument: str) -> Column:
    try:
        values = as_kind(from_array(object_array([cell])), column.kind).values
    except UnreadableError as refused:
        message, columns = (
            f"{argument} {column_text(column.name, column.position)} {refused.reason}.",
            [column.name],
        )
        raise InputError(
            message, code=refused.code, argument=argument, columns=columns, hint=refused.hint
        ) from None
    return Column(column.name, column.position, column.kind, values, column.order)
