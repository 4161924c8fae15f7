"""A loss: Huber's, quadratic for small gaps and linear for large ones."""

from __future__ import annotations

import numpy as np

from granite_xai.behavior.losses import Loss

huber = Loss(lambda gap: np.where(np.abs(gap) < 1, gap**2, 2 * np.abs(gap) - 1))
