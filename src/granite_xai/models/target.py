"""The target y, as the numbers that losses compare predictions with."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.text import count_text, listing
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.models import Predictor
from granite_xai.models.row_arguments import SHOWN_ROWS, argument_error, check_labels
from granite_xai.tables import Table

ONE_VALUE = "Pass one value a row."
NUMERIC_TARGET = "Pass a numeric target."
# Labels of a probability whose classes have no names cannot be told apart.
ZERO_OR_ONE = (
    "The classes of the model are not known: "
    "pass y as 1 where the explained one holds, 0 elsewhere."
)


def read_target(
    y: Any,
    table: Table,
    predictor: Predictor,
    needed: bool = True,
    probability_loss: str | None = None,
    needed_by: str = "a question about risk",
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

    Returns
    -------
    array of shape (n_rows,), or (n_rows, n_outputs) where several are explained; None: not needed

    Raises
    ------
    InputError
        T01 to T06: there is no y, or it cannot be read. P03: the loss needs probabilities.
    """
    if not needed:
        if hasattr(y, "__len__"):  # not used, but a y of other rows is a slip worth telling
            _check_length(y, table)
        return None
    if y is None:
        raise argument_error(
            "y",
            f"{needed_by} needs y: it is about losses, "
            "and a loss compares a prediction with the target.",
            code="T01",
            hint="Pass the target as the second argument.",
        )
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
        raise argument_error(
            "y",
            f"y has shape {np.shape(y)}; {n_outputs} outputs are explained.",
            code="T04",
            hint=ONE_VALUE,
        )
    by_position = getattr(y, "iloc", np.asarray(y))
    return [by_position[:, output] for output in range(n_outputs)]


def _target_of_output(
    y: Any, table: Table, predictor: Predictor, probability_loss: str | None
) -> FloatArray:
    if probability_loss is not None and not predictor.is_probability:
        raise argument_error(
            "risk_loss",
            f"the loss {probability_loss!r} needs probabilities; {predictor.label} is explained.",
            code="P03",
            hint="Explain a probability (response='probability'), or use 'squared' or 'absolute'.",
        )
    check_labels(y, table, "y", "T06")
    values = _one_column(y)
    _check_length(values, table)
    _check_complete(values, table)
    if predictor.classes is not None:
        return _indicators(values, predictor.classes, predictor.explained_class)
    if predictor.is_probability:
        numbers = _as_numbers(values, hint=ZERO_OR_ONE)
        _check_probabilities(numbers)
        return numbers
    return _as_numbers(values, hint=NUMERIC_TARGET)


def _one_column(y: Any) -> NDArray[Any]:
    """Y as an array of shape (n,)."""
    if isinstance(y, np.ma.MaskedArray):
        raise argument_error(
            "y",
            "y is a masked array.",
            code="T04",
            hint="Pass y.filled(numpy.nan) and drop the rows without a value.",
        )
    try:
        values = np.asarray(y)
    except ValueError as error:  # lists of different lengths
        text = "y has rows of different lengths."
        raise argument_error("y", text, code="T04", hint=ONE_VALUE) from error
    if values.ndim == 0:
        raise argument_error(
            "y",
            f"y is a {type(y).__name__}, not one value a row.",
            code="T04",
            hint="Pass a list, an array or a column.",
        )
    if values.ndim == 1:
        return values
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    raise argument_error(
        "y",
        f"y has shape {values.shape}; one target is explained at a time.",
        code="T04",
        hint="Pass one column of y.",
    )


def _check_length(y: Any, table: Table) -> None:
    if len(y) != table.n_rows:
        text = f"y has {len(y)} values, X has {table.n_rows} rows."
        raise argument_error("y", text, code="T02", hint=ONE_VALUE)


def _check_complete(values: NDArray[Any], table: Table) -> None:
    """Refuse missing and infinite values (T03)."""
    incomplete = _missing_or_infinite(values)
    count = int(incomplete.sum())
    if count == 0:
        return
    labels = table.row_labels(np.flatnonzero(incomplete)[:SHOWN_ROWS])
    noun = "missing or infinite value" if count == 1 else "missing or infinite values"
    raise argument_error(
        "y",
        f"y has {count_text(count, noun, labels)}.",
        code="T03",
        hint="Drop or fill these rows.",
        rows=labels,
    )


def _missing_or_infinite(values: NDArray[Any]) -> BoolArray:
    if np.issubdtype(values.dtype, np.number):
        return np.asarray(~np.isfinite(values))
    missing: BoolArray = np.asarray(pd.isna(values), dtype=bool)
    infinite = [isinstance(cell, float) and np.isinf(cell) for cell in values.tolist()]
    return np.asarray(missing | np.array(infinite, dtype=bool))


def _indicators(values: NDArray[Any], classes: tuple[Any, ...], explained_class: Any) -> FloatArray:
    """1 where y is the explained class, 0 elsewhere (C18)."""
    labels = values.tolist()
    known_labels = set(classes)
    unknown = [label for label in dict.fromkeys(labels) if label not in known_labels]
    if unknown:
        raise argument_error(
            "y",
            f"y has labels that the model does not know: {listing(unknown)}; "
            f"its classes are {listing(classes)}.",
            code="T05",
            hint="Pass y with the labels the model was trained on.",
        )
    return np.array([label == explained_class for label in labels], dtype=np.float64)


def _check_probabilities(numbers: FloatArray) -> None:
    outside = numbers[(numbers < 0) | (numbers > 1)]
    if len(outside):
        text = f"y holds {outside[0]:g}, which is neither 0 nor 1 nor between."
        raise argument_error("y", text, code="T05", hint=ZERO_OR_ONE)


def _as_numbers(values: NDArray[Any], hint: str) -> FloatArray:
    """Real numbers as float64; text that looks like a number, dates and complex numbers are none."""
    if values.dtype.kind in "biuf":
        return np.array(values, dtype=np.float64)  # a copy: y is the caller's
    if values.dtype == object:
        cells = values.tolist()
        if cells and all(isinstance(cell, Real | np.bool_) for cell in cells):
            return np.array([float(cell) for cell in cells])
        example = next((cell for cell in cells if not isinstance(cell, Real)), values[0])
    else:
        example = values[0]
    raise _no_number(example, hint)


def _no_number(example: Any, hint: str) -> InputError:
    text = (
        f"y holds values such as {str(example)!r} ({type(example).__name__}); "
        "the loss needs real numbers."
    )
    return argument_error("y", text, code="T05", hint=hint)
