"""Modules of torch."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from granite_xai.base.errors import ModelError
from granite_xai.models.number_cells import number_matrix
from granite_xai.models.output import SCALES, ModelOutput, OutputChoice, number_output

NARROWEST = 4  # bytes of the smallest floats that NumPy reads; it has no bfloat16


def module_output(model: Any, output: Any, response: str) -> ModelOutput:
    """How a module is asked: it gets the table as one tensor of numbers.

    Parameters are those of `estimator_output`; what the answer means is known to the module's author
    alone, so ``response`` is taken at its word.
    """
    label = f"module {type(model).__name__}"
    scale = SCALES.get(response, "predict")
    answer = number_output(partial(_evaluate, model), output, label, scale)
    return answer._replace(
        prepare=partial(_tensor, model, label), unpack=_only_tensor, is_module=True
    )


def _tensor(model: Any, label: str, frame: Any) -> Any:
    """The table as a tensor where the module's floating-point numbers are, of their type."""
    import torch

    matrix = number_matrix(frame, label)
    # Integers have no twin in torch, or not on every device; float64 holds all that tables hold.
    dtype = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.float64
    tensor = torch.as_tensor(np.require(matrix, dtype=dtype, requirements=["C", "W"]))
    for parameter in chain(model.parameters(), model.buffers()):
        if parameter.is_floating_point():
            return tensor.to(device=parameter.device, dtype=parameter.dtype)
    return tensor


def _evaluate(model: Any, tensor: Any) -> Any:
    """Run the module in evaluation mode; afterwards each of its parts is in the mode it was in."""
    import torch

    training_parts = [part for part in model.modules() if part.training]
    try:
        if training_parts:
            model.eval()
        with torch.no_grad():
            return model(tensor)
    finally:
        for part in training_parts:
            part.training = True


def _only_tensor(returned: Any, choice: OutputChoice) -> tuple[Any, OutputChoice]:
    """The tensor that a module returned; several of them could be read as rows of one (M03)."""
    if not hasattr(returned, "detach"):
        raise ModelError(
            f"the module returned a {type(returned).__name__}, not a tensor.",
            code="M03",
            argument="model",
            hint="Pass a function of the table that returns the output to explain.",
        )
    if returned.is_floating_point() and returned.element_size() < NARROWEST:
        return returned.detach().float(), choice
    return returned, choice
