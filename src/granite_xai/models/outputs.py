"""Which of a model's outputs is explained, what it is called, on which response; and its number a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.options import unknown
from granite_xai.base.text import error_text, listing
from granite_xai.base.typing import BoolArray, FloatArray

Response = Literal["predict", "probability", "raw"]
Names = tuple[Any, ...] | None
Send = Callable[[Any], Any]

ALL = "all"  # the user's word for every output
# Of models whose answers have no names or types, the response is taken at the user's word.
RESPONSES: dict[str, Response] = {"probability": "probability", "raw": "raw"}
PASS_A_FUNCTION = "Pass a function that returns the output to explain."
NUMBER_KINDS = "fiub"  # kinds of arrays: floats, integers, unsigned integers, truth values
SHOWN = 60  # characters of a value that a message repeats
ROUND_OFF = 8  # times the precision of a probability that it may lie outside of 0 to 1
ONE_NUMBER = "The model must return one number a row."


def as_it_is(values: Any) -> Any:
    """Nothing is changed."""
    return values


@dataclass(frozen=True)
class OutputAxis:
    """What ordered outputs are ordered by.

    Parameters
    ----------
    name : str
        Such as "time" or "horizon".
    places : tuple of float
        Where the outputs stand on it.
    """

    name: str
    places: tuple[float, ...]

    def at(self, output: int) -> OutputAxis:
        """The place of one output."""
        return OutputAxis(self.name, self.places[output : output + 1])


class ModelOutput(NamedTuple):
    """How a model is asked for one output, and what is taken from its answer.

    What ``prepare`` and ``unpack`` raise is an error about the table or the answer, not a failure of the model.

    Parameters
    ----------
    send : callable
        Calls the model.
    response : {"predict", "probability", "raw"}
        What its numbers are.
    label : str
        What users call the output.
    classes : tuple, optional
        Names of the columns of the answer where they are classes.
    names : tuple, optional
        Names of the columns where they are something else. Where neither is known, a frame that the model
        answers with may name them.
    axis : OutputAxis, optional
        What named outputs are ordered by, with the place of the one asked for.
    column : int or str, optional
        The position of the one asked for, or its name in a frame; None where the user named none.
    default : int, optional
        Taken instead where there are two columns (None: refuse).
    warning : str, optional
        What users should know about it.
    prepare : callable
        Turns the table into what the model takes.
    unpack : callable
        Turns the answer into one array.
    feature_names : tuple of str, optional
        What the model calls the columns of the table, where it wants to be given them.
    is_function : bool
        Whether the user passed a function.
    is_module : bool
        Whether what is prepared is an array where the model is, and so is its answer.
    """

    send: Send
    response: Response
    label: str
    classes: Names = None
    names: Names = None
    axis: OutputAxis | None = None
    column: int | str | None = None
    default: int | None = None
    warning: str | None = None
    prepare: Send = as_it_is
    unpack: Send = as_it_is
    feature_names: tuple[str, ...] | None = None
    is_function: bool = False
    is_module: bool = False

    @property
    def explained_class(self) -> Any:
        """The class whose probability or score is explained; None where there are no classes."""
        return self.classes[self.column] if self.classes and isinstance(self.column, int) else None

    @property
    def is_survival(self) -> bool:
        """Whether the outputs are probabilities to survive to some times."""
        is_along_time = self.axis is not None and self.axis.name == "time"
        return is_along_time and self.response == "probability"

    @property
    def name(self) -> Any:
        """What the explained output is called, where it has a name and is no class."""
        if isinstance(self.column, str):
            return self.column
        return self.names[self.column] if self.names and self.column is not None else None


def class_output(send: Send, response: Response, classes: Names, output: Any) -> ModelOutput:
    """How a model is asked for a probability or a score.

    Parameters
    ----------
    send : callable
        Calls the model.
    response : {"probability", "raw"}
    classes : tuple or None
        Names of the classes where they are known.
    output : object
        The class that is explained; None: the last of at most two.
    """
    label = "probability" if response == "probability" else "raw score"
    if classes is None:
        column = _position(output)
        if column is not None:
            label += f" of output {column}"
    else:
        column = _named_position(classes, output, "Classes")
        if output is None and len(classes) <= 2:
            column = len(classes) - 1
        if column is not None:
            label += f" of class {classes[column]!r}"
    # Two unnamed columns of probabilities are those of "no" and "yes"; two unnamed scores could be
    # anything.
    default = 1 if response == "probability" else None
    return ModelOutput(send, response, label, classes=classes, column=column, default=default)


def number_output(
    send: Send,
    output: Any,
    label: str,
    response: Response = "predict",
    names: Names = None,
    axis: OutputAxis | None = None,
) -> ModelOutput:
    """How a model is asked for a number.

    Parameters
    ----------
    send : callable
        Calls the model.
    output : object
        Name or position of the number among several.
    label : str
        What the answer as a whole is called.
    response : {"predict", "probability", "raw"}
        What the user says that the numbers are.
    names : tuple, optional
        Of the numbers.
    axis : OutputAxis, optional
        What they are ordered by.
    """
    column: int | str | None = output
    if names is not None:
        is_only = len(names) == 1 and output is None
        column = _named_position(names, names[0] if is_only else output, "Outputs")
        axis = axis if axis is None or column is None else axis.at(column)
    elif not isinstance(output, str):  # which may name a column of a frame that the model returns
        column = _position(output)
    if column is not None:
        which = column if names is None else names[int(column)]
        label = f"output {which} of {label}"
    return ModelOutput(send, response, label, names=names, axis=axis, column=column)


def class_names(model: Any) -> Names:
    """Classes of a fitted classifier as plain values; None for a model without.

    Raises
    ------
    ModelError
        M02: classes of several targets, or two of the same name. M07: asking for them fails.
    """
    name = type(model).__name__
    try:
        classes = getattr(model, "classes_", None)
    except Exception as error:  # a property may do anything
        raise ModelError(
            f"{name}.classes_ raised {type(error).__name__} ({error_text(error)}).",
            code="M07",
            argument="model",
            hint="Check the model.",
        ) from error
    if classes is None:
        return None
    if isinstance(classes, list) and classes and isinstance(classes[0], np.ndarray):
        raise ModelError(
            f"{name} predicts {len(classes)} targets at once, each with its own classes.",
            code="M02",
            argument="model",
            hint=PASS_A_FUNCTION,
        )
    names = tuple(np.asarray(classes).tolist())
    if len(set(names)) < len(names):
        raise ModelError(
            f"{name} names a class twice: its classes_ are {listing(names)}.",
            code="M02",
            argument="model",
            hint=PASS_A_FUNCTION,
        )
    return names or None  # regressors of catboost have classes: none


def _named_position(names: tuple[Any, ...], output: Any, what: str) -> int | None:
    """Position of the output that is explained; None where none is chosen.

    Parameters
    ----------
    names : tuple
    output : object
        One of the names, or a position among names that are text.
    what : str
        What the names are of.

    Raises
    ------
    InputError
        P01: there is no such output.
    """
    if output is None:
        return None
    for position, name in enumerate(names):
        # 1 == True in Python, but nobody means the class True by 1.
        is_meant = isinstance(output, bool) or not isinstance(name, bool)
        if is_meant and name == output:
            return position
    # Where names are numbers, to read another number as a position would be a guess.
    names_are_text = all(isinstance(name, str) for name in names)
    if names_are_text and _is_whole(output) and 0 <= output < len(names):
        return int(output)
    raise unknown("output", output, names, what=what)


def _position(output: Any) -> int | None:
    """Position of an output that has no name; None where none is chosen."""
    if output is None:
        return None
    if _is_whole(output) and output >= 0:
        return int(output)
    raise _without_names(output)


def _without_names(output: Any) -> InputError:
    return InputError(
        f"output={output!r} is not known: the model's outputs have no names.",
        code="P01",
        argument="output",
        hint="Pass the position of the output: 0, 1, …",
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


# What a model returned, as one checked number a row -----------------------------------------------


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
    array = _as_array(returned, output)
    column = one_column(array, count, output, returned)
    # A copy: models may answer with a view of a buffer that the next call overwrites (M11).
    values = np.array(column, dtype=np.float64, order="C", copy=True)
    is_narrow = array.dtype.kind == "f" and array.dtype.itemsize < values.dtype.itemsize
    return values, is_narrow


def names_in_answer(returned: Any, output: ModelOutput) -> tuple[Any, ...]:
    """What the outputs of an answer are called: the text above its columns, otherwise their positions.

    Raises
    ------
    ModelError
        M02: there is one output only.
    """
    array = _as_array(returned, output)
    if array.ndim != 2:
        raise ModelError(
            "the model returned one number a row: there are no others.",
            code="M02",
            argument="output",
            hint="Leave output=None.",
        )
    return _columns_of_frame(returned) or tuple(range(array.shape[1]))


def _columns_of_frame(returned: Any) -> tuple[str, ...]:
    """The columns of a frame, where they have names of their own; otherwise none."""
    names = getattr(returned, "column_names", getattr(returned, "columns", None))  # pyarrow, others
    if not isinstance(names, Iterable):
        return ()
    names = tuple(names)
    return names if all(isinstance(name, str) for name in names) else ()


def _as_array(returned: Any, output: ModelOutput) -> NDArray[Any]:
    """The answer as an array of real numbers of any shape."""
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
        raise _unreadable(
            f"the model returned {_name(answer)}, which is no array of numbers ({error})."
        ) from error
    return _as_numbers(array)


def _as_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """The array, if it holds real numbers (M05); objects that are numbers become some."""
    if array.dtype.kind in NUMBER_KINDS or array.ndim == 0:
        return array
    if array.dtype.kind == "O" and all(
        cell is None or isinstance(cell, Real | np.bool_) for cell in array.flat
    ):
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


def one_column(array: Any, count: int, output: ModelOutput, returned: Any) -> Any:
    """The output that is explained, of shape (count,).

    Parameters
    ----------
    array : array of shape (count,), (count, 1) or (count, n_outputs), of any library
    count : int
        Rows that the model was asked about.
    output : ModelOutput
    returned : object
        What the model returned, for messages and for the names of its columns.
    """
    column = output.column
    names = output.names or output.classes
    if isinstance(column, str):
        names = _columns_of_frame(returned)
        if not names:
            raise _without_names(column)
        column = _named_position(names, column, "Outputs")
    if array.shape == (count, 1):
        array = array[:, 0]
    if array.shape == (count,):
        return _only_output(array, output, column)
    if array.ndim != 2 or array.shape[0] != count or array.shape[1] < 2:
        raise _unreadable(
            f"the model returned {_name(returned)} of shape {array.shape} for {count} rows; "
            f"expected ({count},)."
        )
    n_outputs = array.shape[1]
    if names is not None and len(names) != n_outputs:
        what = "names" if output.classes is None else "classes"
        raise _unreadable(
            f"the model returned {n_outputs} columns for {len(names)} {what}.", hint=PASS_A_FUNCTION
        )
    if column is None and n_outputs == 2:
        column = output.default
    if column is None:
        names = names or _columns_of_frame(returned) or tuple(range(n_outputs))
        raise which_output(names)
    if column >= n_outputs:
        raise ModelError(
            f"output={column} is not known: the model has {n_outputs} outputs, "
            f"numbered 0 to {n_outputs - 1}.",
            code="M02",
            argument="output",
            hint="Pass the position of one of them.",
        )
    return array[:, column]


def which_output(names: tuple[Any, ...]) -> ModelError:
    """The error that asks which output is meant, with the names to choose from (M02)."""
    return ModelError(
        f"the model has {len(names)} outputs and it is not clear which to explain.",
        code="M02",
        argument="output",
        hint=f"Pass output= one of {listing(names)}; Granite takes output={ALL!r} for all of them.",
    )


def _only_output(values: Any, output: ModelOutput, column: int | None) -> Any:
    """Read a single output; of two classes it speaks for the second, so the first is its complement."""
    is_binary = output.classes is not None and len(output.classes) == 2
    if is_binary and column == 0:
        if isinstance(values, np.ndarray):
            values = values.astype(np.float64)
        if output.response == "probability":
            return 1.0 - values
        return -values
    if column in (None, 0) or (is_binary and column == 1):
        return values
    raise ModelError(
        f"the model returned one number a row, so there is no output {column}.",
        code="M02",
        argument="output",
        hint="Leave output=None.",
    )


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
