"""Modules of torch: evaluation mode, no gradients, the dtype and the device of their own parameters."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import ModelError
from granite_xai.models.estimators import has, is_estimator
from granite_xai.models.output import SCALES, ModelOutput, output_of_numbers
from granite_xai.tables.recombine import number_matrix

if TYPE_CHECKING:
    from granite_xai.models.output import Choice


def is_module(model: Any) -> bool:
    """Whether this is a torch module; one that offers predict is asked by that instead."""
    return all(has(model, name) for name in ("forward", "parameters", "state_dict")) and not is_estimator(model)


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
