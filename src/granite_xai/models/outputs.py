"""Which output of a model is explained, and how it is called (C18, M02, M22)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.options import unknown
from granite_xai.models.answers import Choice, refuse_outputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from granite_xai.models.answers import Scale

# Of models whose answers have no names or types, the response is taken at the user's word.
SCALES: dict[str, Scale] = {"probability": "probability", "raw": "raw"}


def as_it_is(frame: Any) -> Any:
    """Give the model the table itself.

    Examples
    --------
    >>> as_it_is([[1.0]])
    [[1.0]]
    """
    return frame


def as_answered(returned: Any, choice: Choice) -> tuple[Any, Choice]:
    """Take the answer as one array.

    Examples
    --------
    >>> as_answered([1.0], Choice("predict"))[0]
    [1.0]
    """
    return returned, choice


class Reading(NamedTuple):
    """How a model is asked: the function that gets the table, the output taken from its answer, the words for it.

    ``prepare`` turns the table into what the model takes, ``unpack`` the answer into one array. What they raise is an
    error about the table or the answer, not a failure of the model.
    """

    send: Callable[[Any], Any]
    choice: Choice
    label: str
    warning: str | None = None
    prepare: Callable[[Any], Any] = as_it_is
    unpack: Callable[[Any, Choice], tuple[Any, Choice]] = as_answered


def reading_of_classes(
    send: Callable[[Any], Any], scale: Scale, classes: tuple[Any, ...] | None, output: Any
) -> Reading:
    """Read probabilities or scores: the class named by ``output``, otherwise the second of two.

    Examples
    --------
    >>> reading_of_classes(abs, "probability", ("no", "yes"), None).label
    "probability of class 'yes'"
    """
    column = position_of_class(classes, output)
    quantity = "probability" if scale == "probability" else "raw score"
    name = None if column is None else f"output {column}" if classes is None else f"class {classes[column]!r}"
    # Two unnamed columns of probabilities are those of "no" and "yes"; two unnamed scores could be anything.
    default = 1 if scale == "probability" else None
    return Reading(send, Choice(scale, classes, column, default), f"{quantity} of {name}" if name else quantity)


def reading_of_numbers(send: Callable[[Any], Any], output: Any, label: str, scale: Scale = "predict") -> Reading:
    """Read predicted numbers; of several outputs the one at position ``output``.

    Examples
    --------
    >>> reading_of_numbers(abs, 2, "predict").label
    'output 2 of predict'
    """
    column = _position(output)
    return Reading(send, Choice(scale, None, column), label if column is None else f"output {column} of {label}")


def labels_as_numbers(name: str) -> str:
    """Warn that a classifier's labels are about to be averaged as if they were numbers (M22).

    Examples
    --------
    >>> labels_as_numbers("SVC")[:18]
    'M22: SVC predicts '
    """
    return (
        f"M22: {name} predicts classes and gives no probabilities: its class labels are explained as numbers. "
        "Pass response='raw' to explain its score, or response='predict' if the labels are meant."
    )


def class_names(model: Any) -> tuple[Any, ...] | None:
    """Classes of a fitted classifier as plain values; None for a model without.

    Examples
    --------
    >>> class_names(object()) is None
    True
    """
    classes = getattr(model, "classes_", None)
    if classes is None:
        return None
    if isinstance(classes, list) and classes and isinstance(classes[0], np.ndarray):
        message = f"{type(model).__name__} predicts {len(classes)} targets at once, each with its own classes."
        hint = "Pass a function that returns the output to explain."
        raise ModelError(message, code="M02", argument="model", hint=hint)
    return tuple(np.asarray(classes).tolist()) or None  # regressors of catboost have classes: none


def position_of_class(classes: tuple[Any, ...] | None, output: Any) -> int | None:
    """Find the class named by ``output``; without one, the second of two (M02 where there are more).

    Examples
    --------
    >>> position_of_class(("no", "yes"), None), position_of_class(("low", "middle", "high"), "middle")
    (1, 1)
    """
    if classes is None:
        return _position(output)
    if output is None:
        if len(classes) > 2:
            refuse_outputs(classes, len(classes))
        return len(classes) - 1
    for position, name in enumerate(classes):
        if type(output) is not bool and type(name) is bool:
            continue  # 1 == True in Python, but nobody means the class True by 1
        if name == output:
            return position
    # Only where classes have names can a number be meant as a position; among numbers it would be a guess.
    if all(isinstance(name, str) for name in classes) and _is_whole(output) and 0 <= output < len(classes):
        return int(output)
    raise unknown("output", output, classes, what="Classes")


def _position(output: Any) -> int | None:
    if output is None:
        return None
    if _is_whole(output) and output >= 0:
        return int(output)
    message = f"output={output!r} is not known: the model's outputs have no names."
    raise InputError(message, code="P01", argument="output", hint="Pass the position of the output: 0, 1, …")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
