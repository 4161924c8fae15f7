"""The border to models: the only place that calls one."""

from granite_xai.models.kinds import accepts_missing
from granite_xai.models.model import (
    DEFAULT_BATCH,
    Predictor,
    SentRows,
    Usage,
    as_predictor,
    for_table,
    joint_predictor,
)
from granite_xai.models.outputs import OutputAxis
from granite_xai.models.scale import RESPONSE, SCALES, Scale, read_scale

__all__ = [
    "DEFAULT_BATCH",
    "RESPONSE",
    "SCALES",
    "OutputAxis",
    "Predictor",
    "Scale",
    "SentRows",
    "Usage",
    "accepts_missing",
    "as_predictor",
    "for_table",
    "joint_predictor",
    "read_scale",
]
