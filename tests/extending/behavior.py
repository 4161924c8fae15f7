"""A behavior: the mean absolute deviation of the masked prediction, a measure of spread that outliers move less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from granite_xai.algebra.behavior import Behavior


@dataclass(frozen=True, slots=True)
class Deviation(Behavior):
    """How far masked predictions of a region lie from their mean: ``nu(T) = mean |F_T - mean F_T|``."""

    key: ClassVar[str] = "deviation"

    def value(self, masked, evaluations, regions):
        """Of both sides of every cut: the predictions, less the mean of the side that a row is in."""
        predictions = masked.values(regions)  # (n, K)
        own_means = regions.at_rows(*regions.means(predictions))
        return regions.means(np.abs(predictions - own_means))

    def error(self, delta, evaluations):
        """A prediction and the mean may both be off."""
        return 2 * delta
