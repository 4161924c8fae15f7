"""Evaluations for any model: every planned recombined row is sent to the predictor once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from granite_xai.errors import InputError
from granite_xai.recombined.evaluations import Matrix
from granite_xai.recombined.plan import Plan
from granite_xai.recombined.values import Distinct
from granite_xai.resources import Resources, progress
from granite_xai.typing import Coalition, FloatArray

if TYPE_CHECKING:
    from granite_xai.frames import Table
    from granite_xai.models import Predictor

CHUNK = 2**20
"""Recombined rows indexed at a time; the predictor sends them in smaller batches."""
LARGEST = 1e150
"""Size up to which a prediction's square, summed over many rows, is still a number."""


def too_large(scale: float) -> InputError:
    """The refusal of predictions whose squares, or the squares of their variances, are no numbers (N06).

    Examples
    --------
    >>> too_large(1e200).code
    'N06'
    """
    return InputError(
        f"predictions reach {scale:.3g} and the disagreement overflows: their squares are no numbers.",
        code="N06",
        argument="model",
        hint="Rescale the predictions.",
    )


@dataclass(slots=True)
class Extent:
    """What the noise floor needs to know of all evaluations: the largest size, and whether they are float32 numbers."""

    scale: float = 0.0
    float32: bool = True
    integers: bool = True

    def see(self, values: FloatArray) -> FloatArray:
        """Take note of some evaluations and pass them on, unless they are too large (N06)."""
        self.scale = max(self.scale, float(np.max(np.abs(values), initial=0.0)))
        if self.scale > LARGEST:
            raise too_large(self.scale)
        with np.errstate(over="ignore"):  # what is beyond float32 becomes infinite, and differs
            self.float32 = self.float32 and bool(np.all(values.astype(np.float32) == values))
        self.integers = self.integers and bool(np.all(np.rint(values) == values))
        return values

    @property
    def single_precision(self) -> bool:
        """Every value is exactly a float32, and not all are integers."""
        return self.float32 and not self.integers


def evaluate_matrix(predictor: Predictor, table: Table, columns: Coalition, distinct: Distinct) -> FloatArray:
    """``E_S[u, n] = F(value u on S, row n elsewhere)``, shape (U, n)."""
    n, total = table.n_rows, len(distinct)
    chosen = sorted(columns)
    result = np.empty((total, n))
    step = max(1, CHUNK // n)
    for start in range(0, total, step):
        donors = distinct.representatives[start : start + step]
        base_rows = np.tile(np.arange(n), len(donors))
        block = predictor.recombined(table, base_rows, table, np.repeat(donors, n), chosen)
        result[start : start + step] = block.reshape(len(donors), n)
    return result


def evaluate_plan(
    matrix: Callable[[Coalition, Distinct], FloatArray], plan: Plan, resources: Resources, extent: Extent, pivot: float
) -> Iterator[tuple[Coalition, Matrix]]:
    """Each planned matrix in turn, centred by the pivot."""
    for columns, distinct in progress(plan.stores.items(), resources, "evaluations", len(plan.stores)):
        values = extent.see(matrix(columns, distinct))
        values -= pivot
        yield columns, Matrix(values, distinct.codes, distinct.levels)
