"""Which output of a model is explained, how it is asked for, and its answer as one checked number a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from numbers import Real
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.text import listing
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.base.validation import unknown

Scale = Literal["predict", "probability", "raw"]
Classes = tuple[Any, ...] | None
Send = Callable[[Any], Any]

ALL, EVERY, _EVERY = (
    "all",
    object(),
    -1,
)  # the word for every output, what readers are asked for, and its column
_PASS_A_FUNCTION = "Pass a function that returns the output to explain."
_no_answer = partial(
    ModelError, code="M03", argument="model", hint="The model must return one number a row."
)
_no_output = partial(ModelError, code="M02", argument="output")


class OutputChoice(NamedTuple):
    """Which of a model's outputs is explained."""

    scale: Scale
    classes: Classes = None  # the names of the columns where they are known
    column: int | None = None  # the position of the one asked for, None where the user named none
    default: int | None = None  # taken instead where there are two columns or more (None: refuse)


def read_answer(returned: Any, count: int, choice: OutputChoice) -> tuple[FloatArray, bool]:
    """What the model returned for ``count`` rows as float64 numbers; and whether they are of single precision (M01)."""
    answer = (
        returned.detach() if hasattr(returned, "detach") else returned
    )  # a tensor that may carry gradients
    if hasattr(answer, "__cuda_array_interface__") and hasattr(answer, "get"):
        answer = answer.get()
    elif hasattr(answer, "cpu"):
        answer = answer.cpu()
    if isinstance(answer, np.ma.MaskedArray):
        answer = np.where(np.ma.getmaskarray(answer), np.nan, np.ma.getdata(answer))
    try:
        array = np.asarray(answer)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _no_answer(
            f"the model returned {_name(answer)}, which is no array of numbers ({error})."
        ) from error
    column = one_column(_as_numbers(array), count, choice, returned)
    # A copy, because models may answer with a view of a buffer that the next call overwrites (M11).
    values = np.array(column, dtype=np.float64, order="C", copy=True)
    return values, array.dtype.kind == "f" and array.dtype.itemsize < 8


def _as_numbers(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind in "fiub" or array.ndim == 0:
        return array
    if array.dtype.kind == "O" and all(
        value is None or isinstance(value, Real | np.bool_) for value in array.flat
    ):
        return array.astype(np.float64)
    value = array.flat[0] if array.size else None
    if isinstance(value, np.str_ | np.bytes_ | np.complexfloating):
        value = value.item()  # as its author wrote it: 'a', not np.str_('a')
    example = repr(value) if array.size else "nothing"
    hint = "Use predict_proba or decision_function (response='probability' or 'raw'), or a function of numbers."
    hint = "Pass a function that returns real numbers." if array.dtype.kind == "c" else hint
    message = (
        f"the model returned values of type {array.dtype} (first: {example:.60}), not real numbers."
    )
    raise ModelError(message, code="M05", argument="model", hint=hint)


def one_column(array: Any, count: int, choice: OutputChoice, returned: Any) -> Any:
    """The output that is explained, of an answer as an array of any library."""
    if choice.column == _EVERY:
        return array
    if array.shape == (count, 1):
        array = array[:, 0]
    if array.shape == (count,):
        return _only_output(array, choice)
    if array.ndim == 2 and array.shape[0] == count and array.shape[1] > 1:
        return array[:, _column(array.shape[1], choice)]
    what = f"{_name(returned)} of shape {array.shape} for {count} rows"
    raise _no_answer(f"the model returned {what}; expected ({count},).")


def _only_output(values: Any, choice: OutputChoice) -> Any:
    """Read a single output; of two classes it speaks for the second, so the first is its complement."""
    binary = choice.classes is not None and len(choice.classes) == 2
    if binary and choice.column == 0:
        values = values.astype(np.float64) if isinstance(values, np.ndarray) else values
        return 1.0 - values if choice.scale == "probability" else -values
    if choice.column in (None, 0) or (binary and choice.column == 1):
        return values
    what = f"the model returned one number a row, so there is no output {choice.column}."
    raise _no_output(what, hint="Leave output=None.")


def _column(outputs: int, choice: OutputChoice) -> int:
    if choice.classes is not None and len(choice.classes) != outputs:
        message = f"the model returned {outputs} columns for {len(choice.classes)} classes."
        raise _no_answer(message, hint=_PASS_A_FUNCTION)
    column = choice.default if choice.column is None and outputs == 2 else choice.column
    if column is None:
        ask_which(choice.classes or tuple(range(outputs)))
    if column >= outputs:
        message = f"output={column} is not known: the model has {outputs} outputs, numbered 0 to {outputs - 1}."
        raise _no_output(message, hint="Pass the position of one of them.")
    return column


def ask_which(names: tuple[Any, ...]) -> NoReturn:
    """Ask which output is meant, with the names to choose from (M02)."""
    message = f"the model has {len(names)} outputs and it is not clear which to explain."
    raise _no_output(message, hint=f"Pass output= one of {listing(names)}.")


def outside_unit_interval(values: FloatArray, float32: bool = False) -> BoolArray:
    """Mark the values that are no probabilities; round-off at the two ends is not held against a model (T08)."""
    slack = 8 * float(np.finfo(np.float32 if float32 else np.float64).eps)
    return (values < -slack) | (values > 1.0 + slack)


def _name(returned: Any) -> str:
    return "None" if returned is None else f"a {type(returned).__name__}"


def first_line(error: Exception) -> str:
    """What an error says up to a stack trace, on one line, short, without characters that act on a terminal."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # the text of an error can fail as well
        lines = []
    told = takewhile(
        lambda line: not line.startswith(("Stack trace", "Traceback")), map(str.strip, lines)
    )
    line = (
        "".join(c if c.isprintable() else "�" for c in " ".join(filter(None, told)))
        or "(no message)"
    )
    return line if len(line) <= 300 else line[:299] + "…"


# Of models whose answers have no names or types, the response is taken at the user's word.
SCALES: dict[str, Scale] = {"probability": "probability", "raw": "raw"}


def as_it_is(frame: Any) -> Any:
    """Give the model the table itself."""
    return frame


class ModelOutput(NamedTuple):
    """How a model is asked: the function that gets the table, the output taken from its answer, the words for it."""

    send: Send
    choice: OutputChoice
    label: str
    warning: str | None = None
    # What these raise is an error about the table or the answer, not a failure of the model.
    prepare: Send = as_it_is  # turns the table into what the model takes
    unpack: Callable[[Any, OutputChoice], tuple[Any, OutputChoice]] | None = (
        None  # turns the answer into one array
    )
    is_function: bool = False  # whether the user passed a function
    is_module: bool = (
        False  # whether what is prepared is an array where the model is, and so is its answer
    )

    def taken(self, returned: Any) -> tuple[Any, OutputChoice]:
        """What the model returned as one array, and the output that is taken from it."""
        if self.unpack is None:
            return returned, self.choice
        return self.unpack(returned, self.choice)


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
        values, choice = output.taken(returned)
        column, single = read_answer(values, count, choice)
        numbers.append(column)
        is_float32 = is_float32 or single
    return numbers, is_float32


def read_classes(send: Send, scale: Scale, classes: Classes, output: Any) -> ModelOutput:
    """Read probabilities or scores: the class named by ``output``, otherwise the second of two."""
    column = class_position(classes, output)
    quantity = "probability" if scale == "probability" else "raw score"
    name = (
        None
        if column is None
        else f"output {column}"
        if classes is None
        else f"class {classes[column]!r}"
    )
    # Two unnamed columns of probabilities are those of "no" and "yes"; two unnamed scores could be anything.
    default = 1 if scale == "probability" else None
    return ModelOutput(
        send,
        OutputChoice(scale, classes, column, default),
        f"{quantity} of {name}" if name else quantity,
    )


def read_numbers(send: Send, output: Any, label: str, scale: Scale = "predict") -> ModelOutput:
    """Read predicted numbers; of several outputs the one at position ``output``."""
    column = _position(output)
    return ModelOutput(
        send,
        OutputChoice(scale, None, column),
        label if column is None else f"output {column} of {label}",
    )


LABEL_WARNING = "M22: {} predicts classes and gives no probabilities: its class labels are explained as numbers. "
LABEL_WARNING += (
    "Pass response='raw' to explain its score, or response='predict' if the labels are meant."
)


def class_names(model: Any) -> Classes:
    """Classes of a fitted classifier as plain values; None for a model without."""
    try:
        classes = getattr(model, "classes_", None)
    except Exception as error:  # a property may do anything
        message = (
            f"{type(model).__name__}.classes_ raised {type(error).__name__} ({first_line(error)})."
        )
        raise ModelError(message, code="M07", argument="model", hint="Check the model.") from error
    if classes is None:
        return None
    if isinstance(classes, list) and classes and isinstance(classes[0], np.ndarray):
        message = f"predicts {len(classes)} targets at once, each with its own classes."
    else:
        names = tuple(np.asarray(classes).tolist())
        if len(set(names)) == len(names):
            return names or None  # regressors of catboost have classes: none
        message = f"names a class twice: its classes_ are {listing(names)}."
    raise ModelError(
        f"{type(model).__name__} {message}", code="M02", argument="model", hint=_PASS_A_FUNCTION
    )


def class_position(classes: Classes, output: Any) -> int | None:
    """Find the class named by ``output``; without one, the second of two (M02 where there are more)."""
    if classes is None or output is EVERY:
        return _position(output)
    if output is None:
        if len(classes) > 2:
            ask_which(classes)
        return len(classes) - 1
    for position, name in enumerate(classes):
        # 1 == True in Python, but nobody means the class True by 1
        if (type(output) is bool or type(name) is not bool) and name == output:
            return position
    # Only where classes have names can a number be meant as a position; among numbers it would be a guess.
    if (
        all(isinstance(name, str) for name in classes)
        and _is_whole(output)
        and 0 <= output < len(classes)
    ):
        return int(output)
    raise unknown("output", output, classes, what="Classes")


def _position(output: Any) -> int | None:
    if output is None or output is EVERY:
        return None if output is None else _EVERY
    if _is_whole(output) and output >= 0:
        return int(output)
    message = f"output={output!r} is not known: the model's outputs have no names."
    raise InputError(
        message, code="P01", argument="output", hint="Pass the position of the output: 0, 1, …"
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
