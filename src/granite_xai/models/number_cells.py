"""Cells of a table as the numbers that networks take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.text import column_text
from granite_xai.tables import Container, UnreadableError, as_kind, open_table

NUMBER_KINDS = "fiub"  # kinds of arrays: floats, integers, unsigned integers, truth values


def number_matrix(frame: Any, reader: str) -> NDArray[Any]:
    """All cells as numbers; truth values are 0 and 1, missing cells NaN.

    Parameters
    ----------
    frame : object
        A container that `open_table` reads.
    reader : str
        Who takes the numbers, for messages.

    Returns
    -------
    array of shape (n_rows, n_columns)
        Of the type of the user's own array where there is one.

    Raises
    ------
    InputError
        M14: a column holds text or dates.
    """
    table = open_table(frame, "X")
    if table.matrix is not None and table.matrix.dtype.kind in NUMBER_KINDS:
        return np.asarray(table.matrix)
    columns = [number_column(table, position, reader) for position in range(len(table.labels))]
    if not columns:
        return np.empty((table.n_rows, 0))
    return np.column_stack(columns)


def number_column(table: Container, position: int, reader: str) -> NDArray[Any]:
    """The same of one column, (n_rows,)."""
    try:
        return as_kind(table.cells(position), "numeric").values
    except UnreadableError as refused:
        wish = f"{reader} takes numbers"
        raise unfit_column(table, position, refused.reason, wish) from None


def unfit_column(table: Container, position: int, reason: str, wish: str) -> InputError:
    """The error about a column that is not what a network takes (M14).

    Parameters
    ----------
    table : Container
    position : int
        Of the column.
    reason : str
        What is wrong with the column.
    wish : str
        What is taken instead.
    """
    name = table.names[position]
    return InputError(
        f"X {column_text(name, position)} {reason}; {wish}.",
        code="M14",
        argument="X",
        columns=[name],
        hint="Convert the column, or pass a function of the table that does it as the model.",
    )
