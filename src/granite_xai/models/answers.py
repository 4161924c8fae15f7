"""What a model returned, as one checked number a row."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import ModelError
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.models.output import (
    EVERY_COLUMN,
    PASS_A_FUNCTION,
    ModelOutput,
    OutputChoice,
    ask_which,
)

NUMBER_KINDS = "fiub"  # kinds of arrays: floats, integers, unsigned integers, truth values
SHOWN = 60  # characters of a value that a message repeats
ROUND_OFF = 8  # times the precision of a probability that it may lie outside of 0 to 1
ONE_NUMBER = "The model must return one number a row."
NUMBERS_BY_RESPONSE = (
    "Use predict_proba or decision_function (response='probability' or 'raw'), "
    "or a function of numbers."
)


def read_outputs(
    returned: Any, count: int, outputs: Sequence[ModelOutput]
) -> tuple[list[FloatArray], bool]:
    """Read every explained output of what the model returned.

    Parameters
    ----------
    returned : object
        The model's answer.
    count : int
        Rows that it was asked about.
    outputs : sequence of ModelOutput
        How each output is read.

    Returns
    -------
    list of arrays, bool
        The numbers of each output, and whether they are of single precision.
    """
    numbers: list[FloatArray] = []
    is_float32 = False
    for output in outputs:
        values, choice = output.unpacked(returned)
        column, is_narrow = read_answer(values, count, choice)
        numbers.append(column)
        is_float32 = is_float32 or is_narrow
    return numbers, is_float32


def read_answer(returned: Any, count: int, choice: OutputChoice) -> tuple[FloatArray, bool]:
    """Read one output.

    Parameters
    ----------
    returned : object
        An array of any library, a list, a frame.
    count : int
        Rows that the model was asked about.
    choice : OutputChoice

    Returns
    -------
    array of shape (count,), bool
        The numbers as float64, and whether the model gave fewer digits (M01, M06).

    Raises
    ------
    ModelError
        M02: no such output. M03: not one number a row. M05: no real numbers.
    """
    answer = _on_host(returned)
    if isinstance(answer, np.ma.MaskedArray):
        answer = np.where(np.ma.getmaskarray(answer), np.nan, np.ma.getdata(answer))
    try:
        array = np.asarray(answer)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _unreadable(
            f"the model returned {_name(answer)}, which is no array of numbers ({error})."
        ) from error
    column = one_column(_as_numbers(array), count, choice, returned)
    # A copy: models may answer with a view of a buffer that the next call overwrites (M11).
    values = np.array(column, dtype=np.float64, order="C", copy=True)
    is_narrow = array.dtype.kind == "f" and array.dtype.itemsize < values.dtype.itemsize
    return values, is_narrow


def _on_host(returned: Any) -> Any:
    """The answer in the memory of the processor; tensors without their gradients."""
    answer = returned
    if hasattr(answer, "detach"):
        answer = answer.detach()
    if hasattr(answer, "__cuda_array_interface__") and hasattr(answer, "get"):  # CuPy
        return answer.get()
    if hasattr(answer, "cpu"):  # torch
        return answer.cpu()
    return answer


def _as_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """The array, if it holds real numbers (M05); objects that are numbers become some."""
    if array.dtype.kind in NUMBER_KINDS or array.ndim == 0:
        return array
    if array.dtype.kind == "O" and all(_is_number_or_missing(cell) for cell in array.flat):
        return array.astype(np.float64)
    hint = NUMBERS_BY_RESPONSE
    if array.dtype.kind == "c":
        hint = "Pass a function that returns real numbers."
    raise ModelError(
        f"the model returned values of type {array.dtype} (first: {_first_value(array)}), "
        "not real numbers.",
        code="M05",
        argument="model",
        hint=hint,
    )


def _is_number_or_missing(cell: Any) -> bool:
    return cell is None or isinstance(cell, Real | np.bool_)


def _first_value(array: NDArray[Any]) -> str:
    """The first value as its author wrote it: 'a', not np.str_('a')."""
    if array.size == 0:
        return "nothing"
    value = array.flat[0]
    if isinstance(value, np.str_ | np.bytes_ | np.complexfloating):
        value = value.item()
    return repr(value)[:SHOWN]


def one_column(array: Any, count: int, choice: OutputChoice, returned: Any) -> Any:
    """The output that is explained.

    Parameters
    ----------
    array : array of shape (count,), (count, 1) or (count, n_outputs), of any library
    count : int
        Rows that the model was asked about.
    choice : OutputChoice
    returned : object
        What the model returned, for messages.

    Returns
    -------
    array of shape (count,); of every output, the array itself
    """
    if choice.column == EVERY_COLUMN:
        return array
    if array.shape == (count, 1):
        array = array[:, 0]
    if array.shape == (count,):
        return _only_output(array, choice)
    if array.ndim == 2 and array.shape[0] == count and array.shape[1] > 1:
        return array[:, _column(array.shape[1], choice)]
    raise _unreadable(
        f"the model returned {_name(returned)} of shape {array.shape} for {count} rows; "
        f"expected ({count},)."
    )


def _only_output(values: Any, choice: OutputChoice) -> Any:
    """Read a single output; of two classes it speaks for the second, so the first is its complement."""
    is_binary = choice.classes is not None and len(choice.classes) == 2
    if is_binary and choice.column == 0:
        if isinstance(values, np.ndarray):
            values = values.astype(np.float64)
        if choice.scale == "probability":
            return 1.0 - values
        return -values
    if choice.column in (None, 0) or (is_binary and choice.column == 1):
        return values
    raise _no_output(
        f"the model returned one number a row, so there is no output {choice.column}.",
        hint="Leave output=None.",
    )


def _column(n_outputs: int, choice: OutputChoice) -> int:
    """Which of several columns is explained."""
    if choice.classes is not None and len(choice.classes) != n_outputs:
        text = f"the model returned {n_outputs} columns for {len(choice.classes)} classes."
        raise _unreadable(text, hint=PASS_A_FUNCTION)
    column = choice.column
    if column is None and n_outputs == 2:
        column = choice.default
    if column is None:
        ask_which(choice.classes or tuple(range(n_outputs)))
    if column >= n_outputs:
        raise _no_output(
            f"output={column} is not known: the model has {n_outputs} outputs, "
            f"numbered 0 to {n_outputs - 1}.",
            hint="Pass the position of one of them.",
        )
    return column


def _unreadable(text: str, hint: str = ONE_NUMBER) -> ModelError:
    return ModelError(text, code="M03", argument="model", hint=hint)


def _no_output(text: str, hint: str) -> ModelError:
    return ModelError(text, code="M02", argument="output", hint=hint)


def _name(returned: Any) -> str:
    return "None" if returned is None else f"a {type(returned).__name__}"


def outside_unit_interval(values: FloatArray, float32: bool = False) -> BoolArray:
    """Mark the values that are no probabilities (T08).

    Parameters
    ----------
    values : array of shape (n,)
    float32 : bool
        Whether they were given in single precision: round-off at the two ends is not held against a
        model.
    """
    precision = np.float32 if float32 else np.float64
    slack = ROUND_OFF * float(np.finfo(precision).eps)
    return (values < -slack) | (values > 1.0 + slack)
