"""Which of a model's outputs is explained, what it is called, and on which response.

The scale of an explanation, once there is one, is applied where `ModelOutput` says how predictions are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.options import unknown
from granite_xai.base.text import error_text, listing

Response = Literal["predict", "probability", "raw"]
Classes = tuple[Any, ...] | None
Send = Callable[[Any], Any]

ALL = "all"  # the user's word for every output
EVERY = object()  # what readers of models are given instead: no class can have this name
EVERY_COLUMN = -1  # the column that stands for all of them
# Of models whose answers have no names or types, the response is taken at the user's word.
RESPONSES: dict[str, Response] = {"probability": "probability", "raw": "raw"}
PASS_A_FUNCTION = "Pass a function that returns the output to explain."


def _as_it_is(values: Any) -> Any:
    return values


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
        Names of the columns of the answer where they are known.
    column : int, optional
        The position of the one asked for; None where the user named none.
    default : int, optional
        Taken instead where there are two columns (None: refuse).
    warning : str, optional
        What users should know about it.
    prepare : callable
        Turns the table into what the model takes.
    unpack : callable
        Turns the answer into one array.
    names : tuple of str, optional
        What the model calls its columns, where it wants to be given them.
    is_function : bool
        Whether the user passed a function.
    is_module : bool
        Whether what is prepared is an array where the model is, and so is its answer.
    """

    send: Send
    response: Response
    label: str
    classes: Classes = None
    column: int | None = None
    default: int | None = None
    warning: str | None = None
    prepare: Send = _as_it_is
    unpack: Send = _as_it_is
    names: tuple[str, ...] | None = None
    is_function: bool = False
    is_module: bool = False

    @property
    def explained_class(self) -> Any:
        """The class whose probability or score is explained; None where there are no classes."""
        if self.classes is None or self.column is None:
            return None
        return self.classes[self.column]


def class_output(send: Send, response: Response, classes: Classes, output: Any) -> ModelOutput:
    """How a model is asked for a probability or a score.

    Parameters
    ----------
    send : callable
        Calls the model.
    response : {"probability", "raw"}
    classes : tuple or None
        Names of the classes where they are known.
    output : object
        The class that is explained; None: the second of two.
    """
    column = _class_position(classes, output)
    label = "probability" if response == "probability" else "raw score"
    if column is not None and classes is not None:
        label = f"{label} of class {classes[column]!r}"
    elif column is not None:
        label = f"{label} of output {column}"
    # Two unnamed columns of probabilities are those of "no" and "yes"; two unnamed scores could be
    # anything.
    default = 1 if response == "probability" else None
    return ModelOutput(send, response, label, classes=classes, column=column, default=default)


def number_output(
    send: Send, output: Any, label: str, response: Response = "predict"
) -> ModelOutput:
    """How a model is asked for a number.

    Parameters
    ----------
    send : callable
        Calls the model.
    output : object
        Position of the number among several.
    label : str
        What the answer as a whole is called.
    response : {"predict", "probability", "raw"}
        What the user says that the numbers are.
    """
    column = _position(output)
    if column is not None:
        label = f"output {column} of {label}"
    return ModelOutput(send, response, label, column=column)


def class_names(model: Any) -> Classes:
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


def _class_position(classes: Classes, output: Any) -> int | None:
    """Position of the class that is explained.

    Parameters
    ----------
    classes : tuple or None
        None: they have no names, and ``output`` is a position already.
    output : object
        The name of a class, or the position of one among names that are text; None: the last of at
        most two.

    Raises
    ------
    ModelError
        M02: there are more than two, and none is chosen.
    InputError
        P01: there is no such class.
    """
    if classes is None or output is EVERY:
        return _position(output)
    if output is None:
        if len(classes) > 2:
            ask_which(classes)
        return len(classes) - 1
    for position, name in enumerate(classes):
        # 1 == True in Python, but nobody means the class True by 1.
        is_meant = isinstance(output, bool) or not isinstance(name, bool)
        if is_meant and name == output:
            return position
    # Where classes are numbers, to read another number as a position would be a guess.
    names_are_text = all(isinstance(name, str) for name in classes)
    if names_are_text and _is_whole(output) and 0 <= output < len(classes):
        return int(output)
    raise unknown("output", output, classes, what="Classes")


def ask_which(names: tuple[Any, ...]) -> NoReturn:
    """Ask which output is meant, with the names to choose from (M02)."""
    raise ModelError(
        f"the model has {len(names)} outputs and it is not clear which to explain.",
        code="M02",
        argument="output",
        hint=f"Pass output= one of {listing(names)}; Granite takes output={ALL!r} for all of them.",
    )


def _position(output: Any) -> int | None:
    """Position of an output that has no name; None where none is chosen."""
    if output is None:
        return None
    if output is EVERY:
        return EVERY_COLUMN
    if _is_whole(output) and output >= 0:
        return int(output)
    raise InputError(
        f"output={output!r} is not known: the model's outputs have no names.",
        code="P01",
        argument="output",
        hint="Pass the position of the output: 0, 1, …",
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
