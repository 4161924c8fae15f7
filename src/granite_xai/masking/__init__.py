"""F_T: what stands in for the columns that are hidden; one file an operator."""

from __future__ import annotations

from granite_xai.masking.accumulated import Accumulated
from granite_xai.masking.baseline import Baseline
from granite_xai.masking.conditional import Conditional
from granite_xai.masking.marginal import Marginal
from granite_xai.masking.masking import Masking

MASKINGS: dict[str, Masking] = {each.key: each for each in (Marginal(), Conditional(), Baseline(), Accumulated())}
"""Every masking by its name, as it is without options: the only place where one is registered."""

__all__ = ["MASKINGS", "Accumulated", "Baseline", "Conditional", "Marginal", "Masking"]
