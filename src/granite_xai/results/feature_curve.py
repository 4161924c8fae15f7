"""The average prediction along the values of one feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from granite_xai.base.numbers import amount
from granite_xai.base.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class FeatureCurve:
    """A curve along the values of a feature that occur.

    Parameters
    ----------
    feature : str
    labels : sequence of str
        The values as text, in their order.
    predictions : array of shape (n_values,)
        Average prediction (or effect) at each of them.
    weights : array of shape (n_values,)
        Share of the rows that have each value.
    positions : array of shape (n_values,), optional
        The values as numbers; None: at equal distances.
    ordered : bool
        Whether the values have an order.
    whole : bool
        Whether sentences give values exactly: whole numbers, dates, labels. Other numbers are rounded:
        ``about 0.2``.
    errors : array of shape (n_values,), optional
        Standard errors of the predictions around their mean.
    """

    feature: str
    labels: Sequence[str]
    predictions: FloatArray
    weights: FloatArray
    positions: FloatArray | None = None
    ordered: bool = True
    whole: bool = True
    errors: FloatArray | None = None

    @property
    def range(self) -> float:
        """Highest minus lowest prediction; 0 without values."""
        if len(self.predictions) == 0:
            return 0.0
        return float(np.ptp(self.predictions))

    @property
    def axis(self) -> FloatArray:
        """Where the values lie between the first (0) and the last (1), (n_values,)."""
        n_values = len(self.predictions)
        positions = np.arange(n_values, dtype=np.float64)
        if self.positions is not None:
            positions = np.asarray(self.positions, dtype=np.float64)
        if n_values == 0 or np.ptp(positions) == 0.0:
            return np.zeros(n_values)
        return np.asarray((positions - positions[0]) / np.ptp(positions))

    def value_text(self, index: int) -> str:
        """A value as a sentence names it: ``8``, ``about 0.2``."""
        if self.whole:
            return self.labels[index]
        return f"about {self.short_value_text(index)}"

    def short_value_text(self, index: int) -> str:
        """A value after another one in a sentence: the 0.5 of ``from about 0.2 to 0.5``."""
        if self.whole or self.positions is None:
            return self.labels[index]
        two_digits = f"{float(self.positions[index]):.2g}"
        return amount(float(two_digits))

    def restrict(self, is_included: BoolArray) -> FeatureCurve:
        """The curve at some of its values, whose weights are shares again.

        Parameters
        ----------
        is_included : array of bool, of shape (n_values,)
        """
        return self.take(np.flatnonzero(is_included))

    def take(self, indices: IntArray) -> FeatureCurve:
        """The curve at some of its values in a given order, whose weights are shares again.

        Parameters
        ----------
        indices : array of int
        """
        weights = self.weights[indices]
        if weights.sum() > 0:
            weights = weights / weights.sum()
        positions = self.positions
        if positions is not None:
            positions = positions[indices]
        errors = self.errors
        if errors is not None:
            errors = errors[indices]
        return FeatureCurve(
            feature=self.feature,
            labels=[self.labels[index] for index in indices.tolist()],
            predictions=self.predictions[indices],
            weights=weights,
            positions=positions,
            ordered=self.ordered,
            whole=self.whole,
            errors=errors,
        )
