"""Maskings by their names, a module for each operator."""

from __future__ import annotations

from granite_xai.explanation.masking.accumulated import Accumulated
from granite_xai.explanation.masking.baseline import Baseline
from granite_xai.explanation.masking.conditional import Conditional
from granite_xai.explanation.masking.marginal import Marginal
from granite_xai.explanation.masking.masking import Masking

MASKINGS: dict[str, Masking] = {
    masking.key: masking for masking in (Marginal(), Conditional(), Baseline(), Accumulated())
}

__all__ = ["MASKINGS", "Accumulated", "Baseline", "Conditional", "Marginal", "Masking"]
