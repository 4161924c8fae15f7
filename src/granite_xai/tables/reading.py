"""Tables read from what a user passes: opened, named, of kinds, and in agreement with the fit.

Bad data end here, before a model is called.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import CellError, DataWarning, InputError, warn
from granite_xai.base.files import object_array
from granite_xai.base.options import choose
from granite_xai.base.text import column_text, count_text, listing, rows_text
from granite_xai.base.typing import BoolArray
from granite_xai.tables.cells import KINDS, Cells, Kind, UnreadableError, as_kind, from_array
from granite_xai.tables.containers import ArrayContainer, Container, FrameContainer
from granite_xai.tables.lazy import is_lazy
from granite_xai.tables.table import Column, Table, sorted_labels

SHOWN = 5  # names, columns and rows that a message lists
FEW_TEXTS = 20  # so many different texts are levels however few the rows
IMPUTE = (
    "The model is not declared to accept missing values: "
    'pass missing="allow" if it does, or impute/drop.'
)
FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}
COLLECT_METHODS = {"polars": "collect", "dask": "compute", "pyspark": "toPandas"}
# Hints have a place for the name of the argument.
CONVERT = "Pass a 2-D NumPy array, a list of lists, or a pandas, polars or pyarrow table."
TO_FRAME = "Pass pandas.DataFrame({})."
RESHAPE = (  # scikit-learn's words
    "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
    "array.reshape(1, -1) if it contains a single sample."
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
    notices: list[str] = []
    if like is None:
        wanted_kinds = _wanted_kinds(kinds, names, container)
    else:
        container, notices = _in_agreement(container, like, argument)
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
        explained = set(wanted_kinds)
        for column, label in zip(columns, container.labels, strict=True):
            if label in requested or column.name in requested:
                explained.add(column.position)
        table, passing_notices = _with_passing_columns(table, cells, explained, used, argument)
        notices += passing_notices
    infinite = [
        (column, np.isinf(column.values), "infinity value")
        for column in table.columns
        if column.kind == "numeric" and not column.passes
    ]
    hint = "Replace infinity by a finite value, or drop these rows."
    _refuse_cells(table, infinite, "D03", hint, argument)
    if missing == "error":
        require_present(table, argument=argument)
    for column in table.columns:
        if column.kind == "numeric" and cells[column.position].inexact:
            notices.append(
                f"D20: {argument} {column_text(column.name, column.position)} holds integers beyond "
                "2^53, which float64 cannot hold exactly: neighbours count as equal. "
                "Subtract an offset, or make it a category."
            )
    if like is not None:
        notices += _new_level_notices(table, like, argument)
        notices += _new_missing_notices(table, like, argument)
    for notice in notices:
        warn(notice, DataWarning)
    return replace(table, notices=tuple(notices))


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
            missing.append((column, column.missing, what))
    _refuse_cells(table, missing, "D01", IMPUTE + further_hint, argument)


def _refuse_cells(
    table: Table,
    candidates: Iterable[tuple[Column, BoolArray, str]],
    code: str,
    hint: str,
    argument: str,
) -> None:
    """Raise one error about all columns that have flagged rows.

    Parameters
    ----------
    candidates : iterable of (column, flags, what)
        Which rows of a column have a cell of some sort, and what that is called.
    """
    bad = [candidate for candidate in candidates if candidate[1].any()]
    if not bad:
        return
    texts = []
    n_shown = SHOWN if len(bad) > SHOWN + 1 else len(bad)
    for column, flags, what in bad[:n_shown]:
        rows = np.flatnonzero(flags)
        plural = "s" if len(rows) > 1 and what != "NaN" else ""
        cells = count_text(len(rows), what + plural, table.row_labels(rows[:SHOWN]))
        texts.append(f"{column_text(column.name, column.position)} has {cells}")
    if len(bad) > n_shown:
        texts.append(f"and {len(bad) - n_shown} more columns")
    any_flag = np.any([flags for _, flags, _ in bad], axis=0)
    raise InputError(
        f"{argument} {'; '.join(texts)}.",
        code=code,
        argument=argument,
        columns=[column.name for column, _, _ in bad],
        rows=table.row_labels(np.flatnonzero(any_flag)[:SHOWN]),
        hint=hint,
    )


# What the user passed, in the container of its library --------------------------------------------


def open_table(X: Any, argument: str) -> Container:
    """Put a table into the container of its library.

    Parameters
    ----------
    X : object
        What the user passed.
    argument : str
        As what they passed it, for messages.

    Returns
    -------
    Container

    Raises
    ------
    InputError
        X is no table; the message has the conversion to use.
    """
    if isinstance(X, np.ndarray):
        return ArrayContainer(_checked_matrix(X, argument))
    for library, type_name in FRAMES.items():
        if _is_a(X, library, type_name):
            has_range_index = _is_a(getattr(X, "index", None), "pandas", "RangeIndex")
            return FrameContainer(X, library, has_range_index=has_range_index)
    if isinstance(X, (list, tuple)):
        return ArrayContainer(_checked_matrix(_from_lists(X, argument), argument))
    if hasattr(type(X), "__array__") and not hasattr(X, "shape"):
        # A plain holder of an array; arrays and frames of other libraries have a shape.
        return ArrayContainer(_checked_matrix(np.asarray(X), argument))
    raise _no_table_error(X, argument)


def _checked_matrix(X: NDArray[Any], argument: str) -> NDArray[Any]:
    """An array that is a plain table of real cells."""
    if isinstance(X, np.matrix):
        raise _error(argument, "is a numpy.matrix.", "Pass numpy.asarray({}).")
    if isinstance(X, np.ma.MaskedArray):
        raise _error(argument, "is a masked array.", "Pass {}.filled(numpy.nan).")
    if X.dtype.names is not None:
        raise _error(argument, "is a structured array.", TO_FRAME)
    if X.dtype.kind == "c":
        raise InputError(
            f"Complex data not supported: {argument} has dtype {X.dtype}.",
            code="D22",
            argument=argument,
            hint="Pass real and imaginary parts as columns.",
        )
    if X.ndim != 2:
        raise _not_2d_error(
            argument,
            X.ndim,
            f"has shape {X.shape}.",
            RESHAPE if X.ndim < 2 else "Pass {0}.reshape(len({0}), -1).",
        )
    return X


def _from_lists(X: Sequence[Any], argument: str) -> NDArray[Any]:
    """Rows given one by one; numbers and text in one table stay what they are."""
    if any(isinstance(row, dict) for row in X):
        raise _error(argument, "is a list of dicts.", TO_FRAME)
    if len(X) == 0 or not all(isinstance(row, (list, tuple, np.ndarray)) for row in X):
        raise _not_2d_error(argument, 1, f"is a list of {len(X)} cells.", RESHAPE)
    width = len(X[0])
    ragged = [number for number, row in enumerate(X) if len(row) != width]
    if ragged:
        raise _error(
            argument,
            f"row 0 has {width} cells, row {ragged[0]} has {len(X[ragged[0]])}.",
            "Give every row the same number of cells.",
            rows=ragged[:SHOWN],
        )
    objects = object_array(list(chain.from_iterable(X))).reshape(len(X), width)
    if objects.size == 0:
        return np.empty(objects.shape)
    try:
        array = np.asarray(objects.tolist())
    except ValueError:  # cells that are lists: the reader of the column names them
        return objects
    if array.dtype.kind in "biufc":
        return array
    return objects


def _no_table_error(X: Any, argument: str) -> InputError:
    """The error that says what was passed instead of a table."""
    type_name = f"{type(X).__module__}.{type(X).__qualname__}"
    scipy_sparse = sys.modules.get("scipy.sparse")
    if scipy_sparse is not None and scipy_sparse.issparse(X):
        n_bytes = int(np.prod(X.shape)) * X.dtype.itemsize
        message = f"is sparse ({type_name} of shape {X.shape}); dense it takes {n_bytes:,} bytes."
        return _error(argument, message, "Pass {}.toarray() if that fits.", code="D23")
    if is_lazy(X):
        library = type_name.partition(".")[0]
        method = COLLECT_METHODS.get(library, "df")
        return _error(argument, f"is a {type_name}.", f"Pass {{}}.{method}().", code="D26")
    for library in ("pandas", "polars"):
        if _is_a(X, library, "Series"):
            hint = f"{RESHAPE} A Series becomes a table by {{}}.to_frame()."
            return _not_2d_error(argument, 1, f"is a {library} Series.", hint)
    if isinstance(X, dict):
        return _error(argument, "is a dict.", TO_FRAME)
    is_of_another_library = hasattr(X, "shape") or hasattr(X, "columns")
    is_iterator = hasattr(X, "__next__")
    return _error(
        argument,
        f"is a {type_name}, which is not a table.",
        hint="Pass list({})." if is_iterator else CONVERT,
        code="D26" if is_of_another_library else "D25",
    )


def _not_2d_error(argument: str, dimensions: int, what: str, hint: str) -> InputError:
    """The error about anything that has no rows and columns, in scikit-learn's words."""
    message = f"Expected 2D array, got {dimensions}D array instead: {argument} {what}"
    return InputError(message, code="D25", argument=argument, hint=hint.format(argument))


def _error(
    argument: str, what: str, hint: str, code: str = "D25", rows: Sequence[int] = ()
) -> InputError:
    """The error that says what the argument is, and what to pass instead."""
    return InputError(
        f"{argument} {what}", code=code, argument=argument, rows=rows, hint=hint.format(argument)
    )


def _is_a(X: Any, library: str, type_name: str) -> bool:
    """Whether X is of a type, without importing its library: if it is not loaded, X cannot be."""
    library_type = getattr(sys.modules.get(library), type_name, None)
    return isinstance(library_type, type) and isinstance(X, library_type)


# Names, kinds, cells ------------------------------------------------------------------------------


def _require_cells(container: Container, argument: str) -> None:
    """Refuse a table without rows or without columns, in scikit-learn's words (D28, D32)."""
    n_rows = container.n_rows
    n_columns = len(container.labels)
    required = f"(shape={(n_rows, n_columns)}) while a minimum of 1 is required."
    if n_rows == 0:
        raise InputError(
            f"{argument} has 0 rows. Found array with 0 sample(s) {required}",
            code="D28",
            argument=argument,
        )
    if n_columns == 0:
        raise InputError(
            f"{argument} has 0 columns. Found array with 0 feature(s) {required}",
            code="D32",
            argument=argument,
        )


def _checked_names(container: Container, argument: str) -> tuple[str, ...]:
    """Names as text; what is no name, or the name of two columns, is refused (D07, D09)."""
    labels = container.labels
    repeated_labels = _repeated(labels)
    if repeated_labels:
        places = []
        for label in repeated_labels[:SHOWN]:
            positions = [place for place, other in enumerate(labels) if other == label]
            places.append(f"{label!r} at {positions}")
        raise InputError(
            f"{argument} has duplicate column names: {'; '.join(places)}.",
            code="D07",
            argument=argument,
            columns=map(str, repeated_labels),
            hint=f"Rename or drop columns; {argument}.columns lists them.",
        )
    no_names = [
        label
        for label in labels
        if not isinstance(label, (str, Integral)) or isinstance(label, bool)
    ]
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
    kind_of_position: dict[int, Kind] = {}
    for label, kind in kinds.items():
        position = container.resolve(label, "kinds", names)
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
        present = {label for label in cells.values if label is not None}
        order = cells.declared or tuple(sorted_labels(present))
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


# Agreement with the table of the fit --------------------------------------------------------------


def _in_agreement(container: Container, like: Table, argument: str) -> tuple[Container, list[str]]:
    """The new table with the columns of the fit in their order, and what is worth a warning (D38).

    Columns are taken by name where both tables have names, otherwise by place.

    Raises
    ------
    InputError
        D37: columns are missing, or the fit did not have them.
    """
    fitted = like.container
    goes_by_name = fitted.library != "numpy" and container.named == fitted.named
    if isinstance(container, FrameContainer) and goes_by_name:
        if container.names == like.names:
            return container, []
        absent = [name for name in like.names if name not in container.names]
        unexpected = [name for name in container.names if name not in like.names]
        if not absent and not unexpected:
            return container.with_columns(map(container.names.index, like.names)), []
        differences = []
        if absent:
            differences.append(f"lacks {listing(absent, SHOWN)}")
        if unexpected:
            differences.append(f"has {listing(unexpected, SHOWN)}, which the fit had not")
        hint = f"Pass {argument}[list(g.feature_names_in_)], g being the fit."
        if absent:
            hint = f"Add the missing columns to {argument}."
        raise InputError(
            f"{argument} {' and '.join(differences)}. The fit had {listing(like.names)}.",
            code="D37",
            argument=argument,
            columns=[*unexpected, *absent],
            hint=hint,
        )
    n_features = len(container.labels)
    if n_features != like.n_columns:
        raise InputError(
            f"{argument} has {n_features} features, "
            f"but Granite is expecting {like.n_columns} features as input.",
            code="D37",
            argument=argument,
        )
    if container.named and not fitted.named:
        return container, [
            f"{argument} has feature names, but Granite was fitted without feature names"
        ]
    if fitted.named and not container.named:
        without_names = f"{argument} does not have valid feature names"
        return container, [f"{without_names}, but Granite was fitted with feature names"]
    return container, []


def _new_level_notices(table: Table, like: Table, argument: str) -> list[str]:
    """Say which labels the fit has not seen; labels are compared, never codes (D15)."""
    notices = []
    for column, fitted in zip(table.columns, like.columns, strict=True):
        if fitted.passes or column.kind not in ("nominal", "ordinal"):
            continue
        # A declared label has its place in the order even if no row of the fit carried it; a label of rows that the fit
        # was given and did not draw is not new either.
        labels_of_fit = {*fitted.levels, *(fitted.order or ()), *(fitted.seen or ())}
        unseen = sorted_labels(set(column.levels) - labels_of_fit)
        if unseen:
            n_levels = "1 level that was"
            if len(unseen) > 1:
                n_levels = f"{len(unseen)} levels that were"
            place = column_text(column.name, column.position)
            levels = listing(unseen, SHOWN)
            notices.append(f"D15: {argument} {place} has {n_levels} not seen at fit: {levels}")
    return notices


def _new_missing_notices(table: Table, like: Table, argument: str) -> list[str]:
    """Say which features have missing values where no fitting row had one (D02)."""
    names = []
    n_missing = 0
    for column, fitted in zip(table.columns, like.columns, strict=True):
        if not fitted.passes and column.missing.any() and not fitted.missing.any():
            names.append(column.name)
            n_missing += int(column.missing.sum())
    if not names:
        return []
    features = "feature" if len(names) == 1 else "features"
    values = "1 missing value" if n_missing == 1 else f"{n_missing:,} missing values"
    place = f"{features} {listing(names, SHOWN)}"
    unseen = f"D02: {argument} has {values} in {place}, where no fitting row had any."
    return [f"{unseen} A split sends them with its larger side; a curve adds nothing for them."]


# Columns that only pass through to the model ------------------------------------------------------


def _with_passing_columns(
    table: Table,
    cells: Sequence[Cells],
    requested: Collection[int],
    used: Collection[str] | None,
    argument: str,
) -> tuple[Table, list[str]]:
    """Mark the columns that the model does not use, and those whose texts are mostly different.

    Parameters
    ----------
    table : Table
    cells : sequence of Cells
        As the columns were read.
    requested : collection of int
        Positions of columns that are explained in any case.
    used : collection of str or None
        Names of the columns that the model uses; None: all.
    argument : str
        Name of the table in notices.
    """
    not_used = set()
    texts = set()
    most_levels = max(FEW_TEXTS, table.n_rows / 2)
    for column in table.columns:
        position = column.position
        if position in requested:
            continue
        if used is not None and column.name not in used:
            not_used.add(position)
        elif cells[position].text and len(column.levels) > most_levels:
            texts.add(position)
    passing = not_used | texts
    if len(passing) == table.n_columns:  # nothing would be left to explain
        return table, []
    columns = list(table.columns)
    for position in passing:
        columns[position] = replace(columns[position], passes=True)
    notices = []
    if not_used:
        notices.append(_passing_notice("the model does not use", not_used, table, argument))
    if texts:
        reason = "more than half of the cells are different texts in"
        notices.append(_passing_notice(reason, texts, table, argument))
    return replace(table, columns=tuple(columns)), notices


def _passing_notice(reason: str, positions: Collection[int], table: Table, argument: str) -> str:
    names = listing([table.names[position] for position in sorted(positions)], SHOWN)
    return (
        f"D11: {reason} {names} of {argument}: passed on to the model as it is, neither "
        "explained nor split. To explain it, name it in features or kinds."
    )


# One row by hand ----------------------------------------------------------------------------------


def row_like(table: Table, row: Mapping[Any, Any] | Sequence[Any], argument: str) -> Table:
    """Read one row that is given by hand.

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
    if isinstance(row, Mapping):
        cells = {table.resolve(label, argument): cell for label, cell in row.items()}
    elif len(row) == table.n_columns:
        cells = dict(enumerate(row))
    else:
        raise InputError(
            f"{argument} has {len(row)} cells, the table has {table.n_columns} columns.",
            code="D37",
            argument=argument,
            hint=f"Features: {listing(table.names)}.",
        )
    without_cell = [column.name for column in table.columns if column.position not in cells]
    if without_cell and table.n_rows != 1:
        raise InputError(
            f"{argument} has no cell for the columns {listing(without_cell)}.",
            code="D37",
            argument=argument,
            columns=without_cell,
            hint="Give every column a cell.",
        )
    values = [column.values[:1] for column in table.columns]
    for position, cell in cells.items():
        column = table.columns[position]
        try:
            values[position] = as_kind(from_array(object_array([cell])), column.kind).values
        except UnreadableError as unreadable:
            raise InputError(
                f"{argument} {column_text(column.name, position)} {unreadable.reason}.",
                code=unreadable.code,
                argument=argument,
                columns=[column.name],
                hint=unreadable.hint,
            ) from None
    container = table.container
    first = np.zeros(1, dtype=np.intp)
    native = container.recombined(first, container.adopt(values), first, sorted(cells))
    return read_table(native, missing="allow", like=table, argument=argument)
