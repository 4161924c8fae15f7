"""One row, as a user gives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from granite_xai.base.errors import ModelError
from granite_xai.base.text import column_text, listing
from granite_xai.tables import Table, row_like, sorted_labels

MOST_LEVELS = 10
"""Levels that a hint lists."""


def one_row(fitted: Table, x: Any) -> Any:
    """A row given by its cells as a table of one row; anything else as it is.

    Parameters
    ----------
    fitted : Table
        The fitting rows.
    x : mapping, Series, list, or a table
    """
    cells = x
    if type(x).__name__ == "Series" and hasattr(x, "to_dict"):
        cells = x.to_dict()
    if isinstance(cells, Mapping) or _is_row_of_cells(cells):
        return row_like(fitted, cells, "x").native
    return x


def label_of_row(x: Any) -> Any:
    """The label of one row of a pandas frame; None: it has none.

    Parameters
    ----------
    x : object
        The row as `one_row` takes it.
    """
    label = None
    if type(x).__name__ == "Series" and hasattr(x, "to_dict"):
        label = x.name
    elif type(x).__name__ == "DataFrame" and hasattr(x, "iloc") and len(x) == 1:
        label = x.index[0]
    if isinstance(label, np.generic):
        return label.item()
    return label


def _is_row_of_cells(x: Any) -> bool:
    """Whether something is a sequence of cells, and not of rows."""
    if isinstance(x, np.ndarray):
        return x.ndim == 1
    if not isinstance(x, list | tuple):
        return False
    return len(x) == 0 or np.ndim(x[0]) == 0


@contextmanager
def naming_new_levels(table: Table, fitted: Table) -> Iterator[None]:
    """Where the model refuses a row inside this context, name the level that the fit has not seen (D15).

    Parameters
    ----------
    table : Table
        The row.
    fitted : Table
        The fitting rows.
    """
    try:
        yield
    except ModelError as error:
        for column, fitted_column in zip(table.columns, fitted.columns, strict=True):
            if column.kind not in ("nominal", "ordinal"):
                continue
            seen = {*fitted_column.levels, *(fitted_column.order or ())}
            new_levels = sorted_labels({*column.levels} - seen)
            if new_levels:
                where = column_text(column.name, column.position)
                raise ModelError(
                    f"x {where} is {new_levels[0]!r}, which the fit has not seen, and the model refuses it: "
                    f"{error.message}",
                    code="D15",
                    argument="x",
                    columns=[column.name],
                    hint=f"Pass a level that the model knows: {listing(fitted_column.levels, MOST_LEVELS)}.",
                ) from error
        raise
