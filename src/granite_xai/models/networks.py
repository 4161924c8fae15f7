"""Modules of torch and sessions of ONNX Runtime: what they take, and what their answers are."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.files import object_array
from granite_xai.base.text import column_text, listing
from granite_xai.models.output import (
    SCALES,
    ModelOutput,
    OutputChoice,
    ask_which,
    class_position,
    read_classes,
    read_numbers,
)
from granite_xai.tables.columns import UnreadableError, as_kind
from granite_xai.tables.containers import Container
from granite_xai.tables.opening import open_table


def read_module(model: Any, output: Any, response: str) -> ModelOutput:
    """Send the table as one tensor of numbers; what the answer means is known to the module's author alone."""
    label = f"module {type(model).__name__}"
    found = read_numbers(partial(_ask, model), output, label, SCALES.get(response, "predict"))
    return found._replace(
        prepare=partial(_tensor, model, label), unpack=_one_tensor, is_module=True
    )


def _tensor(model: Any, label: str, frame: Any) -> Any:
    import torch

    matrix = number_matrix(frame, label)
    # Other numbers have no twin in torch, or not on every device; float64 holds all that the table was read as.
    dtype = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.float64
    tensor = torch.as_tensor(np.require(matrix, dtype=dtype, requirements=["C", "W"]))
    own = next(
        (p for p in chain(model.parameters(), model.buffers()) if p.is_floating_point()), None
    )
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


def _one_tensor(returned: Any, choice: OutputChoice) -> tuple[Any, OutputChoice]:
    """Pass a tensor on; several of them could be read as rows of one."""
    if not hasattr(returned, "detach"):
        message = f"the module returned a {type(returned).__name__}, not a tensor."
        hint = "Pass a function of the table that returns the output to explain."
        raise ModelError(message, code="M03", argument="model", hint=hint)
    narrow = returned.is_floating_point() and returned.element_size() < 4  # NumPy has no bfloat16
    return (returned.detach().float() if narrow else returned), choice


_LABELS = ("tensor(int64)", "tensor(string)")
_FRACTIONS = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2"}
_WHOLE = {
    f"tensor({name})": name
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool")
}
_READER = "the session"


def read_session(model: Any, output: Any, response: str) -> ModelOutput:
    """Take the probabilities that stand behind a classifier's labels, otherwise the only output or the named one."""
    outputs = model.get_outputs()
    labelled = len(outputs) > 1 and outputs[0].type in _LABELS
    scores = labelled and response != "predict"
    outputs = outputs[1:] if scores else outputs[:1] if labelled else outputs
    names, several = tuple(part.name for part in outputs), len(outputs) > 1
    send, prepare = partial(model.run, list(names)), partial(_feed, model)
    # Scores are probabilities unless the user says otherwise (they are checked to be); what another output means is
    # known to the author of the session alone.
    scale = SCALES.get(response, "probability" if scores else "predict")
    if scores and not several and outputs[0].type.startswith("seq(map("):
        label = f"{'raw score' if scale == 'raw' else 'probability'}{'' if output is None else f' of class {output!r}'}"
        return ModelOutput(
            send, OutputChoice(scale), label, prepare=prepare, unpack=partial(_by_class, output)
        )
    if scores:
        found = read_classes(send, scale, names if several else None, output)
    elif not several:
        found = read_numbers(send, output, f"output {names[0]!r}", scale)
    else:
        at = -1 if output is None else class_position(names, output) or 0
        name = ask_which(names) if at < 0 else names[at]
        found = ModelOutput(partial(model.run, [name]), OutputChoice(scale), f"output {name!r}")
    return found._replace(prepare=prepare, unpack=_stacked)


def _stacked(returned: Any, choice: OutputChoice) -> tuple[Any, OutputChoice]:
    return (returned[0] if len(returned) == 1 else np.column_stack(returned)), choice


def _by_class(output: Any, returned: Any, choice: OutputChoice) -> tuple[Any, OutputChoice]:
    """Turn one dictionary a row into columns; only now the classes are known."""
    rows = returned[0]
    classes = tuple(rows[0]) if len(rows) else ()
    values = np.array([[row[name] for name in classes] for row in rows])
    return values, choice._replace(classes=classes, column=class_position(classes, output))


def _feed(model: Any, frame: Any) -> dict[str, NDArray[Any]]:
    """Give each input what it takes: all columns, or the one of its name."""
    inputs, table = model.get_inputs(), open_table(frame, "X")
    names = table.names
    if {part.name for part in inputs} <= set(names) and all(
        list(part.shape[1:]) in ([], [1]) for part in inputs
    ):
        places = [names.index(part.name) for part in inputs]
    elif len(inputs) == 1:
        if (kind := inputs[0].type) in _FRACTIONS:
            return {inputs[0].name: number_matrix(frame, _READER).astype(_FRACTIONS[kind])}
        return {
            inputs[0].name: np.column_stack(
                [_cells(table, position, kind) for position in range(len(names))]
            )
        }
    elif isinstance(frame, np.ndarray) and len(inputs) == len(names):
        places = list(range(len(names)))
    else:
        message = f"the session has the inputs {listing([part.name for part in inputs])}, X has the columns"
        hint = "Rename the columns, or pass a function of the table that asks the session."
        raise InputError(
            f"{message} {listing(names)}.", code="M14", argument="X", columns=names, hint=hint
        )
    columns = [(part, _cells(table, j, part.type)) for j, part in zip(places, inputs, strict=True)]
    return {
        part.name: cells.reshape((-1,) + (1,) * (len(part.shape) - 1)) for part, cells in columns
    }


def _cells(table: Container, position: int, kind: str) -> NDArray[Any]:
    """One column as a session takes it; whole numbers are neither fractions nor missing (M14)."""
    if kind == "tensor(string)":
        cells = table.cells(position)
        text = cells.kind in ("nominal", "ordinal")
        if text and all(label is not None for label in cells.values):
            return object_array([str(label) for label in cells.values])
        raise _refusal(
            table,
            position,
            "has missing values" if text else f"is {cells.kind}",
            f"{_READER} takes text",
        )
    if kind in (dtypes := _WHOLE | _FRACTIONS):
        numbers = _numbers(table, position, _READER)
        if kind in _WHOLE and not bool(np.all(numbers == np.rint(numbers))):
            raise _refusal(
                table,
                position,
                "holds fractions or missing values",
                f"{_READER} takes whole numbers",
            )
        return numbers.astype(dtypes[kind])
    message = f"the session has an input of type {kind}, which no column of a table is."
    raise InputError(
        message,
        code="M14",
        argument="model",
        hint="Pass a function of the table that asks the session.",
    )


def number_matrix(frame: Any, reader: str) -> NDArray[Any]:
    """All cells as numbers; booleans are 0 and 1, missing cells NaN, text and dates are refused (M14)."""
    table = open_table(frame, "X")
    if table.matrix is not None and table.matrix.dtype.kind in "fiub":
        return np.asarray(table.matrix)
    columns = [_numbers(table, position, reader) for position in range(len(table.labels))]
    return np.column_stack(columns) if columns else np.empty((table.n_rows, 0))


def _numbers(table: Container, position: int, reader: str) -> NDArray[Any]:
    try:
        return as_kind(table.cells(position), "numeric").values
    except UnreadableError as refused:
        raise _refusal(table, position, refused.reason, f"{reader} takes numbers") from None


def _refusal(table: Container, position: int, reason: str, wish: str) -> InputError:
    message = f"X {column_text(table.names[position], position)} {reason}; {wish}."
    hint = "Convert the column, or pass a function of the table that does it as the model."
    return InputError(message, code="M14", argument="X", columns=[table.names[position]], hint=hint)
