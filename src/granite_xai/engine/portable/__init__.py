"""The scores of candidate splits by plain products, over NumPy or torch: what single precision and a device compute.

These scores only shortlist (C15): what is decided is decided on the scores of `granite_xai.engine` itself.
"""

from __future__ import annotations

from granite_xai.engine.portable.arithmetic import Arithmetic, arithmetic_for, with_numpy, with_torch
from granite_xai.engine.portable.matrices import Moved
from granite_xai.engine.portable.scores import Gaps, Scorer, why_not

__all__ = ["Arithmetic", "Gaps", "Moved", "Scorer", "arithmetic_for", "why_not", "with_numpy", "with_torch"]
