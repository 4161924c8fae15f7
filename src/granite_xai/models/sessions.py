"""Sessions of ONNX Runtime: one input for all columns or one for each, probabilities as arrays or as dictionaries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import InputError, listing
from granite_xai.models.estimators import has
from granite_xai.models.output import (
    SCALES,
    Choice,
    ModelOutput,
    output_of_classes,
    output_of_numbers,
    position_of_class,
    refuse_outputs,
)
from granite_xai.tables.recombine import column_names, number_column, number_matrix, text_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LABELS = ("tensor(int64)", "tensor(string)")
_FRACTIONS = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2"}
_WHOLE = {f"tensor({name})": name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool")}
_READER = "the session"


def is_session(model: Any) -> bool:
    """Whether this is an inference session, which names its inputs and outputs."""
    return all(has(model, name) for name in ("run", "get_inputs", "get_outputs"))


def read_session(model: Any, output: Any, response: str) -> ModelOutput:
    """Take the probabilities that stand behind a classifier's labels, otherwise the only output or the named one."""
    outputs = model.get_outputs()
    labelled = len(outputs) > 1 and outputs[0].type in _LABELS
    if labelled and response != "predict":
        found = _read_scores(model, outputs[1:], output, response)
    else:
        found = _read_output(model, outputs[:1] if labelled else outputs, output, response)
    return found._replace(prepare=partial(_feed, model))


def _read_scores(model: Any, outputs: Sequence[Any], output: Any, response: str) -> ModelOutput:
    """Read scores by class; they are probabilities unless the user says otherwise (they are checked to be)."""
    scale = SCALES.get(response, "probability")
    send = partial(model.run, [part.name for part in outputs])
    if len(outputs) > 1:
        return output_of_classes(send, scale, tuple(part.name for part in outputs), output)._replace(unpack=_stacked)
    if not outputs[0].type.startswith("seq(map("):
        return output_of_classes(send, scale, None, output)._replace(unpack=_only)
    name = "" if output is None else f" of class {output!r}"
    label = f"{'raw score' if scale == 'raw' else 'probability'}{name}"
    return ModelOutput(send, Choice(scale), label, unpack=partial(_by_class, output))


def _read_output(model: Any, outputs: Sequence[Any], output: Any, response: str) -> ModelOutput:
    """Read an output as it is: what it means is known to the author of the session alone."""
    names = tuple(part.name for part in outputs)
    scale = SCALES.get(response, "predict")
    if len(names) == 1:
        send = partial(model.run, list(names))
        return output_of_numbers(send, output, f"output {names[0]!r}", scale)._replace(unpack=_only)
    if output is None:
        refuse_outputs(names, len(names))
    name = names[position_of_class(names, output) or 0]
    return ModelOutput(partial(model.run, [name]), Choice(scale), f"output {name!r}", unpack=_only)


def _only(returned: Any, choice: Choice) -> tuple[Any, Choice]:
    return returned[0], choice


def _stacked(returned: Any, choice: Choice) -> tuple[Any, Choice]:
    return np.column_stack(returned), choice


def _by_class(output: Any, returned: Any, choice: Choice) -> tuple[Any, Choice]:
    """Turn one dictionary a row into columns; only now the classes are known."""
    rows = returned[0]
    classes = tuple(rows[0]) if len(rows) else ()
    values = np.array([[row[name] for name in classes] for row in rows])
    return values, choice._replace(classes=classes, column=position_of_class(classes, output))


def _feed(model: Any, frame: Any) -> dict[str, NDArray[Any]]:
    """Give each input what it takes: all columns, or the one of its name."""
    inputs, names = model.get_inputs(), column_names(frame)
    if {part.name for part in inputs} <= set(names) and all(_is_one_column(part) for part in inputs):
        places = {part.name: names.index(part.name) for part in inputs}
    elif len(inputs) == 1:
        return {inputs[0].name: _as_matrix(frame, inputs[0].type, len(names))}
    elif isinstance(frame, np.ndarray) and len(inputs) == len(names):
        places = {part.name: position for position, part in enumerate(inputs)}
    else:
        raise _other_inputs([part.name for part in inputs], names)
    return {part.name: _as_column(frame, places[part.name], part) for part in inputs}


def _is_one_column(part: Any) -> bool:
    return len(part.shape) == 1 or (len(part.shape) == 2 and part.shape[1] == 1)


def _as_matrix(frame: Any, kind: str, width: int) -> NDArray[Any]:
    if kind in _FRACTIONS:
        return number_matrix(frame, _READER).astype(_FRACTIONS[kind])
    return np.column_stack([_cells(frame, position, kind) for position in range(width)])


def _as_column(frame: Any, position: int, part: Any) -> NDArray[Any]:
    cells = _cells(frame, position, part.type)
    return cells if len(part.shape) == 1 else cells[:, None]


def _cells(frame: Any, position: int, kind: str) -> NDArray[Any]:
    if kind == "tensor(string)":
        return text_column(frame, position, _READER)
    if kind in _WHOLE:
        return number_column(frame, position, _READER, whole=True).astype(_WHOLE[kind])
    if kind in _FRACTIONS:
        return number_column(frame, position, _READER).astype(_FRACTIONS[kind])
    message = f"the session has an input of type {kind}, which no column of a table is."
    raise InputError(message, code="M14", argument="model", hint="Pass a function of the table that asks the session.")


def _other_inputs(inputs: Sequence[str], names: Sequence[str]) -> InputError:
    message = f"the session has the inputs {listing(inputs)}, X has the columns {listing(names)}."
    hint = "Rename the columns, or pass a function of the table that asks the session."
    return InputError(message, code="M14", argument="X", columns=names, hint=hint)
