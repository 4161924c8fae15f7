"""The range of a model's predictions, outside which they cannot be explained (N06)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import FloatArray

# Disagreements are up to fourth powers of predictions: within these sizes they have all their digits.
LARGEST_SIZE = 1e70
SMALLEST_SIZE = 1e-70
CELLS_AT_ONCE = 2**16  # evaluations looked at together


def out_of_range(message: str) -> InputError:
    """The refusal of predictions that cannot be squared, and squared again (N06)."""
    return InputError(message, code="N06", argument="model", hint="Rescale the predictions.")


def require_at_most(what: str, largest: float) -> None:
    """Refuse predictions, or a target, of which the largest is too large (N06)."""
    if largest > LARGEST_SIZE:
        raise out_of_range(f"{what} {largest:.3g}; up to {LARGEST_SIZE:g} can be explained.")


@dataclass(slots=True)
class EvaluationRange:
    """What the noise floor needs to know of all evaluations of an output.

    Parameters
    ----------
    scale : float
        Their largest size.
    float32, integers : bool
        Whether each is exactly a single-precision number, or a whole number.
    largest_change : float
        How much the model's answers for the same row differ, at most.
    others : tuple of EvaluationRange
        Of further outputs.
    """

    scale: float = 0.0
    float32: bool = True
    integers: bool = True
    largest_change: float = 0.0
    others: tuple[EvaluationRange, ...] = ()

    def note_values(self, values: FloatArray) -> FloatArray:
        """Take note of some evaluations and pass them on, unless they are too large (N06).

        Parameters
        ----------
        values : array of any shape

        Returns
        -------
        array
            The values themselves.
        """
        flat = values.reshape(-1)
        for start in range(0, flat.shape[0], CELLS_AT_ONCE):
            part = flat[start : min(start + CELLS_AT_ONCE, flat.shape[0])]
            self.scale = max(self.scale, float(np.max(np.abs(part))))
            require_at_most("predictions reach", self.scale)
            self.float32 = self.float32 and bool(np.all(_in_single_precision(part) == part))
            self.integers = self.integers and bool(np.all(np.round(part) == part))
        return values

    def require_sizeable(self) -> None:
        """Refuse evaluations that are tiny in every output, though not all 0 (N06)."""
        scales_of_others = [output.scale for output in self.others]
        largest = max([self.scale, *scales_of_others])
        if 0.0 < largest < SMALLEST_SIZE:
            raise out_of_range(
                f"no prediction is larger than {largest:.3g} in size; "
                f"from {SMALLEST_SIZE:g} on they can be explained."
            )

    def note_change(self, answers: FloatArray, repeated: FloatArray) -> None:
        """Take note of how much two answers for the same rows differ."""
        change = float(np.max(np.abs(answers - repeated)))
        self.largest_change = max(self.largest_change, change)

    @property
    def single_precision(self) -> bool:
        """Every value is exactly a float32, and not all are integers."""
        return self.float32 and not self.integers


def _in_single_precision(values: FloatArray) -> Any:
    """Values rounded to float32, to be compared with themselves; what is beyond its range becomes infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)
