"""A table as bare numbers or texts, for models that take neither frames nor names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError, column_text
from granite_xai.tables.cells import UnreadableError, as_kind
from granite_xai.tables.containers import Container
from granite_xai.tables.opening import open_table

_PASS_A_FUNCTION = "Convert the column, or pass a function of the table that does it as the model."


def column_names(native: Any) -> tuple[str, ...]:
    """Names of the columns of a native table; an array has x0, x1 and so on."""
    return open_table(native, "X").names


def number_matrix(native: Any, reader: str) -> NDArray[Any]:
    """All cells as one matrix of numbers; booleans are 0 and 1, missing cells NaN.

    Parameters
    ----------
    native : table of any supported library
        A table that `read_table` accepts.
    reader : str
        Who wants numbers, for the message.

    Raises
    ------
    InputError
        M14 a column of text or dates.

    Examples
    --------
    >>> number_matrix([[1, True], [2, None]], "the model")
    array([[ 1.,  1.],
           [ 2., nan]])
    """
    container = open_table(native, "X")
    if container.matrix is not None and container.matrix.dtype.kind in "fiub":
        return container.matrix
    columns = [_numbers(container, position, reader) for position in range(len(container.labels))]
    return np.column_stack(columns) if columns else np.empty((container.n_rows, 0))


def number_column(native: Any, position: int, reader: str, whole: bool = False) -> NDArray[Any]:
    """One column as float64 numbers; ``whole`` refuses fractions and missing cells.

    Examples
    --------
    >>> number_column([[1.0, 2.5]], 1, "the model")
    array([2.5])
    """
    container = open_table(native, "X")
    numbers = _numbers(container, position, reader)
    if whole and not bool(np.all(numbers == np.rint(numbers))):
        raise _refusal(container, position, "holds fractions or missing values", f"{reader} takes whole numbers")
    return numbers


def text_column(native: Any, position: int, reader: str) -> NDArray[Any]:
    """One column of labels as texts.

    Examples
    --------
    >>> text_column([["a"], ["b"]], 0, "the model")
    array(['a', 'b'], dtype=object)
    """
    container = open_table(native, "X")
    cells = container.cells(position)
    if cells.kind not in ("nominal", "ordinal"):
        raise _refusal(container, position, f"is {cells.kind}", f"{reader} takes text")
    if any(label is None for label in cells.values):
        raise _refusal(container, position, "has missing values", f"{reader} takes text")
    texts = np.empty(len(cells.values), dtype=object)
    texts[:] = [str(label) for label in cells.values]
    return texts


def _numbers(container: Container, position: int, reader: str) -> NDArray[Any]:
    try:
        return as_kind(container.cells(position), "numeric").values
    except UnreadableError as refused:
        raise _refusal(container, position, refused.reason, f"{reader} takes numbers") from None


def _refusal(container: Container, position: int, reason: str, wish: str) -> InputError:
    name = container.names[position]
    message = f"X {column_text(name, position)} {reason}; {wish}."
    return InputError(message, code="M14", argument="X", columns=[name], hint=_PASS_A_FUNCTION)
