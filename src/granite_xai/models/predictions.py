"""What a model returned, as one checked number a row."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import ModelError
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.models.outputs import EVERY_COLUMN, PASS_A_FUNCTION, ModelOutput, ask_which

NUMBER_KINDS = "fiub"  # kinds of arrays: floats, integers, unsigned integers, truth values
SHOWN = 60  # characters of a value that a message repeats
ROUND_OFF = 8  # times the precision of a probability that it may lie outside of 0 to 1
ONE_NUMBER = "The model must return one number a row."


def read_prediction(returned: Any, count: int, output: ModelOutput) -> tuple[FloatArray, bool]:
    """Read one output of what a model returned.

    Parameters
    ----------
    returned : object
        An array of any library, a list, a frame.
    count : int
        Rows that the model was asked about.
    output : ModelOutput

    Returns
    -------
    array of shape (count,), bool
        The numbers as float64, and whether the model gave fewer digits (M01, M06).

    Raises
    ------
    ModelError
        M02: no such output. M03: not one number a row. M05: no real numbers.
    """
    answer = output.unpack(returned)
    if hasattr(answer, "detach"):  # tensors without their gradients
        answer = answer.detach()
    if hasattr(answer, "__cuda_array_interface__") and hasattr(answer, "get"):  # CuPy
        answer = answer.get()
    elif hasattr(answer, "cpu"):  # torch
        answer = answer.cpu()
    if isinstance(answer, np.ma.MaskedArray):
        answer = np.where(np.ma.getmaskarray(answer), np.nan, np.ma.getdata(answer))
    try:
        array = np.asarray(answer)
    except (TypeError, ValueError, RuntimeError) as error:
        text = f"the model returned {_name(answer)}, which is no array of numbers ({error})."
        raise _unreadable(text) from error
    column = one_column(_as_numbers(array), count, output, returned)
    # A copy: models may answer with a view of a buffer that the next call overwrites (M11).
    values = np.array(column, dtype=np.float64, order="C", copy=True)
    is_narrow = array.dtype.kind == "f" and array.dtype.itemsize < values.dtype.itemsize
    return values, is_narrow


def _as_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """The array, if it holds real numbers (M05); objects that are numbers become some."""
    if array.dtype.kind in NUMBER_KINDS or array.ndim == 0:
        return array
    if array.dtype.kind == "O" and all(map(_is_number_or_missing, array.flat)):
        return array.astype(np.float64)
    hint = (
        "Use predict_proba or decision_function (response='probability' or 'raw'), "
        "or a function of numbers."
    )
    if array.dtype.kind == "c":
        hint = "Pass a function that returns real numbers."
    first = "nothing"
    if array.size:  # as its author wrote it: 'a', not np.str_('a')
        value = array.flat[0]
        is_numpys = isinstance(value, np.str_ | np.bytes_ | np.complexfloating)
        first = repr(value.item() if is_numpys else value)[:SHOWN]
    raise ModelError(
        f"the model returned values of type {array.dtype} (first: {first}), not real numbers.",
        code="M05",
        argument="model",
        hint=hint,
    )


def _is_number_or_missing(cell: Any) -> bool:
    return cell is None or isinstance(cell, Real | np.bool_)


def one_column(array: Any, count: int, output: ModelOutput, returned: Any) -> Any:
    """The output that is explained.

    Parameters
    ----------
    array : array of shape (count,), (count, 1) or (count, n_outputs), of any library
    count : int
        Rows that the model was asked about.
    output : ModelOutput
    returned : object
        What the model returned, for messages.

    Returns
    -------
    array of shape (count,); of every output, the array itself
    """
    if output.column == EVERY_COLUMN:
        return array
    if array.shape == (count, 1):
        array = array[:, 0]
    if array.shape == (count,):
        return _only_output(array, output)
    if array.ndim == 2 and array.shape[0] == count and array.shape[1] > 1:
        return array[:, _column_among(array.shape[1], output)]
    raise _unreadable(
        f"the model returned {_name(returned)} of shape {array.shape} for {count} rows; "
        f"expected ({count},)."
    )


def _only_output(values: Any, output: ModelOutput) -> Any:
    """Read a single output; of two classes it speaks for the second, so the first is its complement."""
    is_binary = output.classes is not None and len(output.classes) == 2
    if is_binary and output.column == 0:
        if isinstance(values, np.ndarray):
            values = values.astype(np.float64)
        if output.response == "probability":
            return 1.0 - values
        return -values
    if output.column in (None, 0) or (is_binary and output.column == 1):
        return values
    text = f"the model returned one number a row, so there is no output {output.column}."
    raise ModelError(text, code="M02", argument="output", hint="Leave output=None.")


def _column_among(n_outputs: int, output: ModelOutput) -> int:
    """Which of several columns is explained."""
    if output.classes is not None and len(output.classes) != n_outputs:
        text = f"the model returned {n_outputs} columns for {len(output.classes)} classes."
        raise _unreadable(text, hint=PASS_A_FUNCTION)
    column = output.column
    if column is None and n_outputs == 2:
        column = output.default
    if column is None:
        ask_which(output.classes or tuple(range(n_outputs)))
    if column >= n_outputs:
        raise ModelError(
            f"output={column} is not known: the model has {n_outputs} outputs, "
            f"numbered 0 to {n_outputs - 1}.",
            code="M02",
            argument="output",
            hint="Pass the position of one of them.",
        )
    return column


def _unreadable(text: str, hint: str = ONE_NUMBER) -> ModelError:
    return ModelError(text, code="M03", argument="model", hint=hint)


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
