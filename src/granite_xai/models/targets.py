"""What users say about each row: its target, its weight, its cluster, whether it is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.errors import DataWarning, Diagnostics, InputError
from granite_xai.base.text import count_text, listing
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.models.model import Predictor
from granite_xai.models.survival import refuse_times_beyond
from granite_xai.tables import Column, Table

SHOWN_ROWS = 5  # that a message names
# Between these, squares of sums of weights neither overflow nor lose their digits.
SMALLEST_WEIGHT = 1e-100
LARGEST_WEIGHT = 1e100
FEWEST_ROWS = 30  # of fewer, a column and y may agree by chance
ROUND_OFF = 2.0**-23  # share of a number by which it changes in single precision, about
NUMBERS = ("integer", "floating", "mixed-integer-float", "boolean")  # in the words of pandas
ONE_VALUE = "Pass one value a row."
NUMERIC_TARGET = "Pass a numeric target."
# Labels of a probability whose classes have no names cannot be told apart.
ZERO_OR_ONE = (
    "The classes of the model are not known: "
    "pass y as 1 where the explained one holds, 0 elsewhere."
)
EVENT_AND_TIME = (
    "Pass a structured array (a boolean field for the event, another for the time) or a frame with the columns "
    "event and time."
)
WEIGHT_HINT = "Pass one finite number ≥ 0 for each row, at least one above 0."
COLUMN_IS_Y = (
    "A model that was fitted with it has the answer among its features, and what is found of the others says little. "
    "Leave it out of X, and fit the model without it."
)


def _refused(
    argument: str, what: str, *, code: str, hint: str, rows: Sequence[Any] = ()
) -> InputError:
    """The error that says what is wrong with an argument that comes with the rows."""
    return InputError(f"{argument} {what}.", code=code, argument=argument, rows=rows, hint=hint)


def _refuse_rows(
    flags: BoolArray, noun: str, table: Table, argument: str, *, code: str, hint: str
) -> None:
    """Refuse an argument that has something wrong at some rows, which are named."""
    count = int(flags.sum())
    if count:
        labels = table.row_labels(np.flatnonzero(flags)[:SHOWN_ROWS])
        what = f"has {count_text(count, noun + 's' * (count > 1), labels)}"
        raise _refused(argument, what, code=code, hint=hint, rows=labels)


def read_target(
    y: Any,
    table: Table,
    predictor: Predictor,
    needed: bool = True,
    probability_loss: str | None = None,
    needed_by: str = "a question about risk",
    weights: FloatArray | None = None,
) -> FloatArray | None:
    """The target of each row and explained output, as numbers.

    Parameters
    ----------
    y : array-like or None
        One value a row; of several numeric outputs, one column for each.
    table : Table
        The rows that it belongs to.
    predictor : Predictor
        With classes, a target is 1 where y is the explained class and 0 elsewhere (C18).
    needed : bool
        Whether a loss is asked for; otherwise only the length of y is checked.
    probability_loss : str, optional
        The loss that was asked for and needs probabilities.
    needed_by : str
        What needs y, for messages.
    weights : array of shape (n_rows,), optional
        Of the rows, where some may be censored.

    Returns
    -------
    array of shape (n_rows,), or (n_rows, n_outputs) where several are explained; None: not needed
        Of survival the weight of a row that is alive, minus that of one that is not, 0 where it is censored.

    Raises
    ------
    InputError
        T01 to T06, T11: there is no y, or it cannot be read. P03: the loss is not one of this output.
    """
    if not needed:
        if hasattr(y, "__len__"):  # not used, but a y of other rows is a slip worth telling
            _check_length(y, table)
        return None
    if y is None:
        raise InputError(
            f"{needed_by} needs y: it is about losses, "
            "and a loss compares a prediction with the target.",
            code="T01",
            argument="y",
            hint="Pass the target as the second argument.",
        )
    if predictor.is_survival and predictor.axis is not None:
        status = _weighted_status(y, table, predictor.axis.places, weights)
        return status if predictor.outputs else status[:, 0]
    if not predictor.outputs:
        return _target_of_output(y, table, predictor, probability_loss)
    outputs = list(predictor.outputs.values())
    targets = [y] * len(outputs)
    if predictor.classes is None and len(outputs) > 1:
        targets = _columns_of(y, len(outputs))
    numbers = []
    for target, output in zip(targets, outputs, strict=True):
        numbers.append(_target_of_output(target, table, output, probability_loss))
    return np.stack(numbers, axis=1)


def _columns_of(y: Any, n_outputs: int) -> list[Any]:
    """The column of y for each output."""
    if np.shape(y)[1:] != (n_outputs,):
        raise _refused(
            "y",
            f"has shape {np.shape(y)}; {n_outputs} outputs are explained",
            code="T04",
            hint=ONE_VALUE,
        )
    by_position = getattr(y, "iloc", np.asarray(y))
    return [by_position[:, output] for output in range(n_outputs)]


def _target_of_output(
    y: Any, table: Table, predictor: Predictor, probability_loss: str | None
) -> FloatArray:
    if probability_loss is not None and not predictor.is_probability:
        raise InputError(
            f"the loss {probability_loss!r} needs probabilities; {predictor.label} is explained.",
            code="P03",
            argument="risk_loss",
            hint="Explain a probability (response='probability'), or use 'squared' or 'absolute'.",
        )
    _check_labels(y, table, "y", "T06")
    values = _one_column(y)
    _check_length(values, table)
    _refuse_missing(values, table)
    if predictor.classes is not None:
        return _indicators(values, predictor.classes, predictor.explained_class)
    if not predictor.is_probability:
        return _as_numbers(values, hint=NUMERIC_TARGET)
    numbers = _as_numbers(values, hint=ZERO_OR_ONE)
    outside = numbers[(numbers < 0) | (numbers > 1)]
    if len(outside):
        raise _refused(
            "y",
            f"holds {outside[0]:g}, which is neither 0 nor 1 nor between",
            code="T05",
            hint=ZERO_OR_ONE,
        )
    return numbers


def _one_column(y: Any) -> NDArray[Any]:
    """Y as an array of shape (n,)."""
    if isinstance(y, np.ma.MaskedArray):
        hint = "Pass y.filled(numpy.nan) and drop the rows without a value."
        raise _refused("y", "is a masked array", code="T04", hint=hint)
    try:
        values = np.asarray(y)
    except ValueError as error:  # lists of different lengths
        raise _refused("y", "has rows of different lengths", code="T04", hint=ONE_VALUE) from error
    if values.ndim == 0:
        raise _refused(
            "y",
            f"is a {type(y).__name__}, not one value a row",
            code="T04",
            hint="Pass a list, an array or a column.",
        )
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim > 1:
        raise _refused(
            "y",
            f"has shape {values.shape}; one target is explained at a time",
            code="T04",
            hint="Pass one column of y.",
        )
    return values


def _check_length(y: Any, table: Table) -> None:
    if len(y) != table.n_rows:
        raise _refused(
            "y", f"has {len(y)} values, X has {table.n_rows} rows", code="T02", hint=ONE_VALUE
        )


def _refuse_missing(values: NDArray[Any], table: Table) -> None:
    """Refuse missing and infinite values (T03)."""
    incomplete = np.asarray(pd.isna(values), dtype=bool)
    if values.dtype.kind in "fcO":
        is_infinite = [isinstance(v, float | complex) and np.isinf(v) for v in values.tolist()]
        incomplete = incomplete | np.array(is_infinite, dtype=bool)
    noun = "missing or infinite value"
    _refuse_rows(incomplete, noun, table, "y", code="T03", hint="Drop or fill these rows.")


def _indicators(values: NDArray[Any], classes: tuple[Any, ...], explained_class: Any) -> FloatArray:
    """1 where y is the explained class, 0 elsewhere (C18)."""
    labels = values.tolist()
    known_labels = set(classes)
    unknown = [label for label in dict.fromkeys(labels) if label not in known_labels]
    if unknown:
        what = f"has labels that the model does not know: {listing(unknown)}; "
        what += f"its classes are {listing(classes)}"
        raise _refused(
            "y", what, code="T05", hint="Pass y with the labels the model was trained on."
        )
    return np.array([label == explained_class for label in labels], dtype=np.float64)


def _as_numbers(values: NDArray[Any], hint: str) -> FloatArray:
    """Real numbers as float64; text that looks like a number, dates and complex numbers are none."""
    if values.dtype.kind in "biuf":
        return np.array(values, dtype=np.float64)  # a copy: y is the caller's
    if values.dtype == object and all(isinstance(cell, Real | np.bool_) for cell in values):
        return np.array([float(cell) for cell in values])
    example = next(cell for cell in values if not isinstance(cell, Real))
    shown = f"{str(example)!r} ({type(example).__name__})"
    raise _refused(
        "y", f"holds values such as {shown}; the loss needs real numbers", code="T05", hint=hint
    )


# ---------------------------------------------------------------------------------------------------------------
# Censored targets


def _weighted_status(
    y: Any, table: Table, times: Sequence[float], weights: FloatArray | None
) -> FloatArray:
    """What is known of each row at some times, (n_rows, n_times): its status, weighted for censoring.

    Who is alive at t counts 1 / G(t), who had the event before counts -1 / G(T-), who was censored before counts 0:
    G is the Kaplan-Meier estimate of the probability not to be censored yet, in which events come before censoring
    at the same time (docs/method.rst, "Censoring").
    """
    _check_labels(y, table, "y", "T06")
    happened, until = _events_and_times(y)
    _check_length(until, table)
    _refuse_missing(until, table)
    _refuse_missing(happened, table)
    until = _as_numbers(until, hint=EVENT_AND_TIME)
    is_event = _as_numbers(happened, hint=EVENT_AND_TIME)
    if not np.all(np.isin(is_event, (0.0, 1.0))):
        raise _refused("y", "has events that are neither 0 nor 1", code="T05", hint=EVENT_AND_TIME)
    places = np.array(times)
    refuse_times_beyond(places, float(until.max()))
    mass = np.ones(len(until)) if weights is None else weights
    moments, number = np.unique(until, return_inverse=True)
    leaving = np.bincount(number, weights=mass, minlength=len(moments))
    censored = np.bincount(number, weights=mass * (1.0 - is_event), minlength=len(moments))
    at_risk = np.cumsum(leaving[::-1])[::-1] - (leaving - censored)
    hazards = np.divide(censored, at_risk, out=np.zeros(len(moments)), where=at_risk > 0)
    not_censored = np.append(
        1.0, np.cumprod(1.0 - hazards)
    )  # before the first moment, then after each
    before = not_censored[number]  # G(T-) of each row
    at_times = not_censored[np.searchsorted(moments, places, side="right")]
    has_died = (until[:, None] <= places) & (is_event[:, None] > 0)
    is_alive = until[:, None] > places
    status = np.zeros((len(until), len(places)))
    status -= np.divide(1.0, before[:, None], out=np.zeros(status.shape), where=has_died)
    status += np.divide(1.0, at_times, out=np.zeros(status.shape), where=is_alive)
    return status


def _events_and_times(y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The two columns of a censored target."""
    fields = getattr(getattr(y, "dtype", None), "fields", None)
    if fields is not None and len(fields) == 2:
        booleans = [name for name, (dtype, *_) in fields.items() if dtype.kind == "b"]
        if len(booleans) == 1:
            (other,) = set(fields) - set(booleans)
            return y[booleans[0]], y[other]
    names = getattr(y, "column_names", getattr(y, "columns", ()))
    if {"event", "time"} <= set(names):
        return np.asarray(y["event"]), np.asarray(y["time"])
    raise _refused(
        "y",
        "does not say when each row was seen last, and whether it had the event then",
        code="T04",
        hint=EVENT_AND_TIME,
    )


# ---------------------------------------------------------------------------------------------------------------
# Columns of X that are the target itself


def note_columns_that_are_y(y: Any, table: Table, record: Diagnostics) -> None:
    """Warn of columns that hold the target, in whatever unit (T10).

    Parameters
    ----------
    y : array-like or None
        The user's target, which no question needs to read.
    table : Table
        The rows that it belongs to.
    record : Diagnostics
        Warns and remembers.
    """
    values = _comparable(y)
    if values is None or len(values) != table.n_rows or table.n_rows < FEWEST_ROWS:
        return
    distinct, ranks = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        return
    equal = []
    elsewhere = []
    for column in table.columns:
        is_ordered = column.kind != "nominal" and values.dtype.kind != "U"
        if _is_equal(column, values):
            equal.append(column.name)
        elif is_ordered and len(column.levels) == len(distinct):
            # A column with an order rises, or falls, strictly with y.
            falling = len(distinct) - 1 - ranks
            if np.array_equal(column.codes, ranks) or np.array_equal(column.codes, falling):
                elsewhere.append(column.name)
    for names, what in ((equal, "y"), (elsewhere, "y in another unit or scale")):
        if names:
            are = f"column {names[0]} is" if len(names) == 1 else f"columns {listing(names)} are"
            record.warn(f"T10: {are} {what}. {COLUMN_IS_Y}", DataWarning)


def _comparable(y: Any) -> NDArray[Any] | None:
    """One number or one text a row; None where y is something else."""
    if isinstance(y, list | tuple) and not all(isinstance(cell, Real | str) for cell in y):
        return None
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        return None
    content = pd.api.types.infer_dtype(values, skipna=False)
    if content == "string":
        return values.astype(str)
    if content in NUMBERS and np.all(np.isfinite(values.astype(np.float64))):
        return values.astype(np.float64)
    return None


def _is_equal(column: Column, values: NDArray[Any]) -> bool:
    """Whether a column holds the same numbers, up to round-off, or the same texts."""
    if column.kind == "date":
        return False
    if column.kind == "numeric":
        if values.dtype.kind == "U":
            return False
        smallest = np.finfo(np.float64).eps * float(np.abs(values).max())
        return np.allclose(column.values, values, rtol=ROUND_OFF, atol=smallest)
    return bool(column.values.tolist() == values.tolist())


# ---------------------------------------------------------------------------------------------------------------
# Weights, clusters, chosen rows


def _check_labels(values: Any, table: Table, argument: str, code: str) -> None:
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
        raise InputError(
            f"the row labels of {argument} differ from those of X.",
            code=code,
            argument=argument,
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
    _check_labels(sample_weight, table, "sample_weight", "D43")
    weights = _weight_numbers(sample_weight)
    if weights.shape != (table.n_rows,):
        raise _weight_error(f"has shape {weights.shape}; X has {table.n_rows} rows")
    invalid = ~np.isfinite(weights) | (weights < 0)
    noun = "negative, missing or infinite value"
    _refuse_rows(invalid, noun, table, "sample_weight", code="D43", hint=WEIGHT_HINT)
    if not weights.any():
        raise _weight_error("is zero for every row")
    if not SMALLEST_WEIGHT <= weights.max() <= LARGEST_WEIGHT:
        raise _weight_error(
            f"has its largest value at {weights.max():g}, where sums lose their digits",
            hint="Rescale it.",
        )
    return weights


def _weight_numbers(sample_weight: Any) -> FloatArray:
    if isinstance(sample_weight, np.ma.MaskedArray):
        raise _weight_error("is a masked array")
    try:
        weights = np.asarray(sample_weight)
        if weights.dtype.kind not in "UScMm":  # text, bytes, complex numbers, dates, durations
            weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _weight_error("is not a list of numbers") from error
    if weights.dtype.kind != "f":
        example = str(weights.ravel()[0])
        raise _weight_error(f"holds values such as {example!r}, which are no real numbers")
    return weights


def _weight_error(what: str, hint: str = WEIGHT_HINT) -> InputError:
    return _refused("sample_weight", what, code="D43", hint=hint)


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
    _check_labels(clusters, table, argument, "D43")
    refused = partial(_refused, argument, code="D43", hint="Pass one label for each row.")
    try:
        labels = np.asarray(clusters)
    except ValueError as error:  # lists of different lengths
        raise refused("has rows of different lengths") from error
    if labels.shape != (table.n_rows,):
        raise refused(f"has shape {labels.shape}; X has {table.n_rows} rows")
    missing = np.asarray(pd.isna(labels), dtype=bool)
    if isinstance(clusters, np.ma.MaskedArray):
        missing |= np.ma.getmaskarray(clusters)
    hint = "A row that belongs to no other needs a label of its own; or drop these rows."
    _refuse_rows(missing, "missing label", table, argument, code="D43", hint=hint)
    try:
        numbers, _ = pd.factorize(labels)
    except TypeError as error:  # a label that cannot be hashed, such as a list
        raise refused(f"holds labels that are no single values ({error})") from error
    return np.asarray(numbers, dtype=np.intp)


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
            raise _refused(
                "rows",
                f"must be different positions between 0 and {n_rows - 1}",
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
