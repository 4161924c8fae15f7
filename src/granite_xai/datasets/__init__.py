"""Data to learn and to test with: the paper's tables and its small models."""

from __future__ import annotations

from granite_xai.datasets.tables import load_bike_sharing, load_diabetes, load_kin8nm
from granite_xai.datasets.toys import PiecewiseLinear, Toy, make_order_two, make_piecewise_linear, make_toy

__all__ = [
    "PiecewiseLinear",
    "Toy",
    "load_bike_sharing",
    "load_diabetes",
    "load_kin8nm",
    "make_order_two",
    "make_piecewise_linear",
    "make_toy",
]
