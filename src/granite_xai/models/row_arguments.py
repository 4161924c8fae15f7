"""Arguments that say something about each row: its weight, its cluster, whether it is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from granite_xai.base.errors import InputError
from granite_xai.base.text import count_text
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.tables import Table

SHOWN_ROWS = 5  # that a message names
# Between these, squares of sums of weights neither overflow nor lose their digits.
SMALLEST_WEIGHT = 1e-100
LARGEST_WEIGHT = 1e100
WEIGHT_HINT = "Pass one finite number ≥ 0 for each row, at least one above 0."
NOT_REAL = "UScMm"  # kinds of arrays: text, bytes, complex numbers, dates, durations


def argument_error(
    argument: str, text: str, *, code: str, hint: str, rows: Sequence[Any] = ()
) -> InputError:
    """The error about an argument that comes with the rows."""
    return InputError(text, code=code, argument=argument, rows=rows, hint=hint)


def check_labels(values: Any, table: Table, argument: str, code: str) -> None:
    """Refuse values whose row labels are not those of the table.

    Pandas aligns by label, so they are probably meant for other rows.

    Parameters
    ----------
    values : object
        Checked where it has an index of the table's length.
    table : Table
    argument : str
        What the caller calls the values.
    code : str
        Of the error.
    """
    index = _row_labels(values)
    table_index = _row_labels(table.native)
    if index is None or table_index is None or len(index) != len(table_index):
        return
    if not index.equals(table_index):
        raise argument_error(
            argument,
            f"the row labels of {argument} differ from those of X.",
            code=code,
            hint=f"Pass {argument}.to_numpy() if the rows are in the same order, "
            f"otherwise {argument}.loc[X.index].",
        )


def _row_labels(container: Any) -> Any:
    """The index of a pandas container; None where there is none (of lists it is a method)."""
    index = getattr(container, "index", None)
    return None if callable(index) else index


def read_weights(sample_weight: Any, table: Table) -> FloatArray:
    """The weight of each row, all 1 where none are given.

    Parameters
    ----------
    sample_weight : array-like or None
        One number for each row of the table.
    table : Table

    Returns
    -------
    array of shape (n_rows,)

    Raises
    ------
    InputError
        D43: not one finite number of at least 0 for each row, or none above 0.
    """
    if sample_weight is None:
        return np.ones(table.n_rows)
    check_labels(sample_weight, table, "sample_weight", "D43")
    weights = _as_real_numbers(sample_weight)
    if weights.shape != (table.n_rows,):
        raise _weight_error(f"has shape {weights.shape}; X has {table.n_rows} rows")
    invalid = ~np.isfinite(weights) | (weights < 0)
    if invalid.any():
        labels = table.row_labels(np.flatnonzero(invalid)[:SHOWN_ROWS])
        count = count_text(int(invalid.sum()), "negative, missing or infinite values", labels)
        raise _weight_error(f"has {count}", rows=labels)
    if not weights.any():
        raise _weight_error("is zero for every row")
    if not SMALLEST_WEIGHT <= weights.max() <= LARGEST_WEIGHT:
        reason = f"has its largest value at {weights.max():g}, where sums lose their digits"
        raise _weight_error(reason, hint="Rescale it.")
    return weights


def _as_real_numbers(sample_weight: Any) -> FloatArray:
    if isinstance(sample_weight, np.ma.MaskedArray):
        raise _weight_error("is a masked array")
    try:
        weights = np.asarray(sample_weight)
        if weights.dtype.kind not in NOT_REAL:
            weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _weight_error("is not a list of numbers") from error
    if weights.dtype.kind != "f":
        example = str(weights.ravel()[0])
        raise _weight_error(f"holds values such as {example!r}, which are no real numbers")
    return weights


def _weight_error(reason: str, rows: Sequence[Any] = (), hint: str = WEIGHT_HINT) -> InputError:
    text = f"sample_weight {reason}."
    return argument_error("sample_weight", text, code="D43", hint=hint, rows=rows)


def read_clusters(clusters: Any, table: Table, argument: str = "clusters") -> IntArray:
    """Number of the cluster that each row belongs to, from 0 in the order in which they appear.

    Parameters
    ----------
    clusters : array or None
        A label for each row, aligned with the table as y is. None: every row is a cluster of its
        own.
    table : Table
    argument : str
        What the caller calls them, for messages.

    Returns
    -------
    array of shape (n_rows,)

    Raises
    ------
    InputError
        D43: labels of other rows, not one label a row, missing labels.
    """
    if clusters is None:
        return np.arange(table.n_rows)
    check_labels(clusters, table, argument, "D43")
    try:
        labels = np.asarray(clusters)
    except ValueError as error:  # lists of different lengths
        raise _cluster_error(argument, "has rows of different lengths") from error
    if labels.shape != (table.n_rows,):
        raise _cluster_error(argument, f"has shape {labels.shape}; X has {table.n_rows} rows")
    missing = np.asarray(pd.isna(labels), dtype=bool)
    if isinstance(clusters, np.ma.MaskedArray):
        missing |= np.ma.getmaskarray(clusters)
    count = int(missing.sum())
    if count > 0:
        rows = table.row_labels(np.flatnonzero(missing)[:SHOWN_ROWS])
        noun = "missing label" if count == 1 else "missing labels"
        raise argument_error(
            argument,
            f"{argument} has {count_text(count, noun, rows)}.",
            code="D43",
            hint="A row that belongs to no other needs a label of its own; or drop these rows.",
            rows=rows,
        )
    number_of_label: dict[Any, int] = {}
    try:
        for label in labels.tolist():
            number_of_label.setdefault(label, len(number_of_label))
    except TypeError as error:  # a label that cannot be hashed, such as a list
        reason = f"holds labels that are no single values ({error})"
        raise _cluster_error(argument, reason) from error
    return np.array([number_of_label[label] for label in labels.tolist()], dtype=np.intp)


def _cluster_error(argument: str, reason: str) -> InputError:
    text = f"{argument} {reason}."
    return argument_error(argument, text, code="D43", hint="Pass one label for each row.")


def read_rows(rows: Any, weights: FloatArray) -> IntArray:
    """Positions of the chosen rows that have a weight.

    Parameters
    ----------
    rows : array-like or None
        Positions, negative ones from the end, or one truth value a row. None: all rows.
    weights : array of shape (n_rows,)

    Raises
    ------
    InputError
        P04: no rows, positions twice or outside the table. D43: no chosen row has a weight.
    """
    n_rows = len(weights)
    if rows is None:
        chosen = np.arange(n_rows, dtype=np.intp)
    else:
        chosen = np.asarray(rows)
        if chosen.dtype == np.bool_ and chosen.shape == (n_rows,):
            chosen = np.flatnonzero(chosen)
        if not _are_different_positions(chosen, n_rows):
            raise argument_error(
                "rows",
                f"rows must be different positions between 0 and {n_rows - 1}.",
                code="P04",
                hint="Pass positions, not labels.",
            )
        chosen = (chosen % n_rows).astype(np.intp)
    has_weight = weights[chosen] > 0
    if not has_weight.any():
        raise _weight_error("is zero for every row of the region")
    return chosen[has_weight]


def _are_different_positions(chosen: Any, n_rows: int) -> bool:
    if chosen.ndim != 1 or chosen.size == 0 or not np.issubdtype(chosen.dtype, np.integer):
        return False
    if chosen.min() < -n_rows or chosen.max() >= n_rows:
        return False
    return len(np.unique(chosen % n_rows)) == len(chosen)
