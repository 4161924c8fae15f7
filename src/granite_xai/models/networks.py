"""Modules of torch and sessions of ONNX Runtime.

A module is asked in evaluation mode, without gradients, in the dtype and on the device of its own parameters. A session
has one input for all columns or one for each, and probabilities as arrays or as dictionaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError, ModelError, listing
from granite_xai.models.output import (
    SCALES,
    Choice,
    ModelOutput,
    output_of_classes,
    output_of_numbers,
    position_of_class,
    refuse_outputs,
)
from granite_xai.tables.opening import open_table
from granite_xai.tables.recombine import number_column, number_matrix, text_column


def read_module(model: Any, output: Any, response: str) -> ModelOutput:
    """Send the table as one tensor of numbers; what the answer means is known to the module's author alone."""
    label = f"module {type(model).__name__}"
    found = output_of_numbers(partial(_ask, model), output, label, SCALES.get(response, "predict"))
    return found._replace(prepare=partial(_tensor, model, label), unpack=_one_tensor)


def _tensor(model: Any, label: str, frame: Any) -> Any:
    import torch

    matrix = number_matrix(frame, label)
    # Other numbers have no twin in torch, or not on every device; float64 holds all that the table was read as.
    dtype = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.float64
    tensor = torch.as_tensor(np.require(matrix, dtype=dtype, requirements=["C", "W"]))
    own = next((p for p in chain(model.parameters(), model.buffers()) if p.is_floating_point()), None)
    return tensor if own is None else tensor.to(device=own.device, dtype=own.dtype)


def _ask(model: Any, tensor: Any) -> Any:
    """Run the module in evaluation mode; afterwards each of its parts is in the mode it was in."""
    import torch

    training = [part for part in model.modules() if part.training]
    try:
        if training:
            model.eval()
        with torch.no_grad():
            return model(tensor)
    finally:
        for part in training:
            part.training = True


def _one_tensor(returned: Any, choice: Choice) -> tuple[Any, Choice]:
    """Pass a tensor on; several of them could be read as rows of one."""
    if not hasattr(returned, "detach"):
        message = f"the module returned a {type(returned).__name__}, not a tensor."
        hint = "Pass a function of the table that returns the output to explain."
        raise ModelError(message, code="M03", argument="model", hint=hint)
    narrow = returned.is_floating_point() and returned.element_size() < 4  # NumPy has no bfloat16
    return (returned.detach().float() if narrow else returned), choice


_LABELS = ("tensor(int64)", "tensor(string)")
_FRACTIONS = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2"}
_WHOLE = {f"tensor({name})": name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool")}
_READER = "the session"


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
    inputs, names = model.get_inputs(), open_table(frame, "X").names
    if {part.name for part in inputs} <= set(names) and all(list(part.shape[1:]) in ([], [1]) for part in inputs):
        places = {part.name: names.index(part.name) for part in inputs}
    elif len(inputs) == 1:
        if (kind := inputs[0].type) in _FRACTIONS:
            return {inputs[0].name: number_matrix(frame, _READER).astype(_FRACTIONS[kind])}
        return {inputs[0].name: np.column_stack([_cells(frame, position, kind) for position in range(len(names))])}
    elif isinstance(frame, np.ndarray) and len(inputs) == len(names):
        places = {part.name: position for position, part in enumerate(inputs)}
    else:
        message = f"the session has the inputs {listing([part.name for part in inputs])}, X has the columns"
        hint = "Rename the columns, or pass a function of the table that asks the session."
        raise InputError(f"{message} {listing(names)}.", code="M14", argument="X", columns=names, hint=hint)
    columns = {part.name: _cells(frame, places[part.name], part.type) for part in inputs}
    return {part.name: columns[part.name].reshape((-1,) + (1,) * (len(part.shape) - 1)) for part in inputs}


def _cells(frame: Any, position: int, kind: str) -> NDArray[Any]:
    if kind == "tensor(string)":
        return text_column(frame, position, _READER)
    if kind in _WHOLE:
        return number_column(frame, position, _READER, whole=True).astype(_WHOLE[kind])
    if kind in _FRACTIONS:
        return number_column(frame, position, _READER).astype(_FRACTIONS[kind])
    message = f"the session has an input of type {kind}, which no column of a table is."
    raise InputError(message, code="M14", argument="model", hint="Pass a function of the table that asks the session.")
