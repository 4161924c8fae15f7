"""Behaviors by their names, a module for each operator."""

from __future__ import annotations

from granite_xai.explanation.behavior.behavior import Behavior
from granite_xai.explanation.behavior.local import Local
from granite_xai.explanation.behavior.risk import Risk
from granite_xai.explanation.behavior.sensitivity import Sensitivity

BEHAVIORS: dict[str, Behavior] = {
    "local": Local(),
    "sensitivity": Sensitivity(),
    "risk": Risk(),
}

__all__ = ["BEHAVIORS", "Behavior", "Local", "Risk", "Sensitivity"]
