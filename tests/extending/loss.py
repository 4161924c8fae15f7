"""A loss: Huber's, squared for small gaps and absolute for large ones."""

from __future__ import annotations

import numpy as np

from granite_xai.algebra.behavior import Loss
from granite_xai.base.typing import FloatArray


def huber(gaps: FloatArray) -> FloatArray:
    """Half the square up to 1, then a straight line."""
    size = np.abs(gaps)
    return np.where(size <= 1, size**2 / 2, size - 0.5)


HUBER = Loss(huber)
