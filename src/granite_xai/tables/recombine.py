"""Tables made for the model: recombined rows, rows moved by one representable value, result frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.tables.table import Table


def recombine(
    base: Table,
    base_rows: Sequence[int] | IntArray,
    donor: Table,
    donor_rows: Sequence[int] | IntArray,
    columns: Iterable[int],
) -> Any:
    """Rows of one table with some columns taken from rows of another: ``(x_S of the donor, x_rest of the base)``.

    Parameters
    ----------
    base, donor : Table
        Often the same table. A donor of another library is converted.
    base_rows, donor_rows : sequences of int, of equal length
        Which rows to combine.
    columns : iterable of int
        Positions of the columns that come from the donor.

    Returns
    -------
    native table
        A fresh table of the library of ``base``. Dtypes, category sets and the type of the index are those of
        ``base``; only a donor's column that its dtype cannot hold exactly keeps the donor's.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> table = read_table([[1, 10], [2, 20]], missing="error")
    >>> recombine(table, [0, 0], table, [0, 1], [1])
    array([[ 1, 10],
           [ 1, 20]])
    """
    rows, others = np.asarray(base_rows, dtype=np.intp), np.asarray(donor_rows, dtype=np.intp)
    if rows.shape != others.shape:
        raise ValueError(f"base_rows has shape {rows.shape}, donor_rows has shape {others.shape}.")
    container = donor.container
    if container.library != base.container.library or type(container.native) is not type(base.native):
        container = base.container.adopt(donor.columns)
    return base.container.recombined(rows, container, others, sorted(columns))


def nudged(
    table: Table, rows: Sequence[int] | IntArray, direction: Literal[1, -1], columns: Sequence[int] | None = None
) -> Any:
    """Rows with every floating-point cell (of some columns) moved to the next number of its own dtype, up or down.

    Missing cells stay missing, and a cell at the end of the range stays where it is.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> table = read_table(np.array([[1.0]], dtype=np.float32), missing="error")
    >>> float(nudged(table, [0], +1)[0, 0]) - 1.0 == 2.0**-23
    True
    """
    chosen = range(table.n_columns) if columns is None else columns
    return table.container.nudged(np.asarray(rows, dtype=np.intp), direction, list(chosen))


def frame(data: Mapping[str, Sequence[Any] | Any], like: Table | None = None) -> Any:
    """A frame in the library of a table; pandas for arrays.

    Parameters
    ----------
    data : mapping
        Columns by name, in order.
    like : Table, optional
        The table whose library is used.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> frame({"region": [0, 1], "value": [0.5, 0.25]}, read_table([[1.0]], missing="error"))
       region  value
    0       0   0.50
    1       1   0.25
    """
    library = "numpy" if like is None else like.container.library
    if library in ("numpy", "pandas"):
        import pandas as pd

        return pd.DataFrame(dict(data))
    import narwhals as nw

    backend = nw.from_native(like.native, eager_only=True).implementation  # type: ignore[union-attr]
    return nw.from_dict({name: list(values) for name, values in data.items()}, backend=backend).to_native()
