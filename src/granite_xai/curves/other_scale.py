"""Whether another scale does what regions do: one curve per feature, made on it and turned back.

The kept predictions are enough; the model is not asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from granite_xai.curves.description import CurveMaker
from granite_xai.curves.shared import SharedCurves
from granite_xai.models import SCALES, Scale
from granite_xai.regions import Leaf, Partition


def scale_to_try(makers: Sequence[CurveMaker], is_survival: bool) -> Scale | None:
    """Log-odds where every kept prediction lies in [0, 1], the log where all are positive; otherwise none.

    Parameters
    ----------
    makers : sequence of CurveMaker
        One for each output that is explained.
    is_survival : bool
        Whether predictions are probabilities of survival: their scale is log-log.
    """
    kept = [
        values + maker.evaluations.offset
        for maker in makers
        for values in (
            maker.evaluations.f,
            *(matrix.values for matrix in maker.evaluations.matrices.values()),
        )
    ]
    lowest = min(float(values.min()) for values in kept)
    highest = max(float(values.max()) for values in kept)
    name = "log-log" if is_survival else "log-odds"
    if highest > 1.0:
        name = "log"
    if lowest < 0.0 or (lowest == 0.0 and name == "log"):
        return None
    scale = SCALES[name]
    low, high = scale.ends
    distances = np.concatenate([np.minimum(v - low, high - v).ravel() for v in kept])
    is_on_end = distances <= max(scale.clips)
    if not is_on_end.any() or is_on_end.all():
        return scale
    half = float(distances[~is_on_end].min()) / 2
    return replace(scale, clips=(half, half))


def on_scale(maker: CurveMaker, scale: Scale) -> CurveMaker:
    """What curves on another scale are made of; between the values that stand for a column they are straight."""
    cells = {position: replace(each, curves=()) for position, each in maker.cells.items()}
    return replace(
        maker, evaluations=maker.evaluations.on_scale(scale), cells=cells, scale=scale, shared=0.0
    )


def one_curve_per_feature(maker: CurveMaker) -> SharedCurves:
    """The description without regions."""
    table = maker.table
    everything = Partition(Leaf(table.n_rows, 1.0, 0.0), table.names)
    return maker.shared_curves(everything, np.zeros(table.n_rows, dtype=np.intp))
