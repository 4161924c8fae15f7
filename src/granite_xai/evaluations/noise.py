"""The probe of a model and the noise floor."""

from __future__ import annotations

from granite_xai.evaluations.floors import (
    delta,
    floor,
    is_float32,
    local_error,
    risk_error,
    round_off,
    sampling_floor,
    sensitivity_error,
)
from granite_xai.evaluations.probing import Probe, probe

__all__ = [
    "Probe",
    "delta",
    "floor",
    "is_float32",
    "local_error",
    "probe",
    "risk_error",
    "round_off",
    "sampling_floor",
    "sensitivity_error",
]
