"""Sessions of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.files import object_array
from granite_xai.base.text import listing
from granite_xai.models.number_cells import number_column, number_matrix, unfit_column
from granite_xai.models.output import (
    EVERY,
    SCALES,
    ModelOutput,
    OutputChoice,
    ask_which,
    class_output,
    class_position,
    number_output,
)
from granite_xai.tables import Container, open_table

READER = "the session"
TEXT = "tensor(string)"
LABELS = ("tensor(int64)", TEXT)  # types of an output of class labels
ONE_MAP_A_ROW = "seq(map("  # how the type of an output begins that is a dictionary for each row
FRACTIONS = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2"}
WHOLE_NUMBERS = {
    f"tensor({name})": name
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool")
}
ASK_BY_FUNCTION = "Pass a function of the table that asks the session."


def session_output(model: Any, output: Any, response: str) -> ModelOutput:
    """How a session is asked; parameters as of `estimator_output`.

    Converted classifiers have an output of labels and behind it their probabilities or scores,
    which are explained unless ``response`` is "predict". Of other sessions it is the only output, or
    the one that is named.
    """
    outputs = model.get_outputs()
    is_classifier = len(outputs) > 1 and outputs[0].type in LABELS
    if is_classifier and response != "predict":
        answer = _scores_output(model, outputs[1:], output, response)
    elif is_classifier:
        answer = _value_output(model, outputs[:1], output, response)
    else:
        answer = _value_output(model, outputs, output, response)
    return answer._replace(prepare=partial(_inputs, model))


def _scores_output(
    model: Any, score_outputs: Sequence[Any], output: Any, response: str
) -> ModelOutput:
    """How a classifier is asked: one output for all classes, a dictionary a row, or one a class."""
    names = tuple(part.name for part in score_outputs)
    send = partial(model.run, list(names))
    # Probabilities unless the user says otherwise; answers are checked to be some.
    scale = SCALES.get(response, "probability")
    if len(score_outputs) > 1:
        return class_output(send, scale, names, output)._replace(unpack=_stacked)
    if not score_outputs[0].type.startswith(ONE_MAP_A_ROW):
        return class_output(send, scale, None, output)._replace(unpack=_stacked)
    label = "raw score" if scale == "raw" else "probability"
    if output is not None:
        label = f"{label} of class {output!r}"
    return ModelOutput(
        send=send,
        choice=OutputChoice(scale),
        label=label,
        unpack=partial(_columns_of_classes, output),
    )


def _value_output(
    model: Any, value_outputs: Sequence[Any], output: Any, response: str
) -> ModelOutput:
    """How a session is asked whose outputs are known to its author alone: for one of them."""
    names = tuple(part.name for part in value_outputs)
    scale = SCALES.get(response, "predict")
    if len(names) == 1:
        send = partial(model.run, list(names))
        return number_output(send, output, f"output {names[0]!r}", scale)._replace(unpack=_stacked)
    if output is None or output is EVERY:  # they need not have one number a row
        ask_which(names)
    position = class_position(names, output)
    name = names[position or 0]  # for the type alone: an output is named, so it has a position
    return ModelOutput(
        send=partial(model.run, [name]),
        choice=OutputChoice(scale),
        label=f"output {name!r}",
        unpack=_stacked,
    )


def _stacked(returned: Any, choice: OutputChoice) -> tuple[Any, OutputChoice]:
    """The outputs that a session returned as columns of one array."""
    if len(returned) == 1:
        return returned[0], choice
    return np.column_stack(returned), choice


def _columns_of_classes(
    output: Any, returned: Any, choice: OutputChoice
) -> tuple[Any, OutputChoice]:
    """One dictionary a row as a column for each class; only now the classes are known."""
    scores_of_rows = returned[0]
    classes = tuple(scores_of_rows[0]) if len(scores_of_rows) else ()
    columns = [_scores_of_class(name, scores_of_rows) for name in classes]
    values = np.column_stack(columns) if columns else np.empty((0, 0))
    return values, choice._replace(classes=classes, column=class_position(classes, output))


def _scores_of_class(name: Any, scores_of_rows: Sequence[Any]) -> NDArray[Any]:
    return np.array([scores[name] for scores in scores_of_rows])


def _inputs(model: Any, frame: Any) -> dict[str, NDArray[Any]]:
    """What each input of the session gets: the column of its name, or all columns."""
    inputs = model.get_inputs()
    table = open_table(frame, "X")
    names = table.names
    n_columns = len(names)
    input_names = [part.name for part in inputs]
    all_take_one_column = all(list(part.shape[1:]) in ([], [1]) for part in inputs)
    if set(input_names) <= set(names) and all_take_one_column:
        return _columns_of_inputs(table, inputs, [names.index(name) for name in input_names])
    if len(inputs) == 1:
        return {inputs[0].name: _all_columns(frame, table, inputs[0].type)}
    if isinstance(frame, np.ndarray) and len(inputs) == n_columns:
        return _columns_of_inputs(table, inputs, range(n_columns))
    raise InputError(
        f"the session has the inputs {listing(input_names)}, X has the columns {listing(names)}.",
        code="M14",
        argument="X",
        columns=names,
        hint="Rename the columns, or pass a function of the table that asks the session.",
    )


def _all_columns(frame: Any, table: Container, input_type: str) -> NDArray[Any]:
    """The whole table as one input, (n_rows, n_columns)."""
    if input_type in FRACTIONS:
        return number_matrix(frame, READER).astype(FRACTIONS[input_type])
    positions = range(len(table.names))
    return np.column_stack([_column(table, position, input_type) for position in positions])


def _columns_of_inputs(
    table: Container, inputs: Sequence[Any], positions: Sequence[int]
) -> dict[str, NDArray[Any]]:
    """One column for each input, (n_rows,) or (n_rows, 1)."""
    arrays = {}
    for part, position in zip(inputs, positions, strict=True):
        shape = (-1,) + (1,) * (len(part.shape) - 1)
        arrays[part.name] = _column(table, position, part.type).reshape(shape)
    return arrays


def _column(table: Container, position: int, input_type: str) -> NDArray[Any]:
    """One column as an input of some type takes it (M14 where it cannot)."""
    if input_type == TEXT:
        return _text_column(table, position)
    if input_type in FRACTIONS:
        return number_column(table, position, READER).astype(FRACTIONS[input_type])
    if input_type in WHOLE_NUMBERS:
        numbers = number_column(table, position, READER)
        if not np.all(numbers == np.rint(numbers)):  # also where one is missing
            reason = "holds fractions or missing values"
            raise unfit_column(table, position, reason, f"{READER} takes whole numbers")
        return numbers.astype(WHOLE_NUMBERS[input_type])
    raise InputError(
        f"the session has an input of type {input_type}, which no column of a table is.",
        code="M14",
        argument="model",
        hint=ASK_BY_FUNCTION,
    )


def _text_column(table: Container, position: int) -> NDArray[Any]:
    cells = table.cells(position)
    wish = f"{READER} takes text"
    if cells.kind not in ("nominal", "ordinal"):
        raise unfit_column(table, position, f"is {cells.kind}", wish)
    if any(label is None for label in cells.values):
        raise unfit_column(table, position, "has missing values", wish)
    return object_array([str(label) for label in cells.values])
