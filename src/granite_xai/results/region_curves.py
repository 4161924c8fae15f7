"""Curves of all features in a region beside those of all rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.curves.curves import Curve, RegionSurrogate
from granite_xai.fitting.fit_result import FitResult
from granite_xai.results.feature_curve import FeatureCurve
from granite_xai.results.level_text import level_text


class CurvePair(NamedTuple):
    """The curve of a feature in a region, and that of all rows at the values that occur there."""

    here: FeatureCurve
    overall: FeatureCurve


def overall_curves(fitted: FitResult) -> dict[str, FeatureCurve]:
    """Curves of all rows, by feature."""
    everywhere = fitted.curves.value.everywhere
    return {
        curve.column.name: _feature_curve(everywhere, curve, curve.level_shares)
        for curve in everywhere.curves
    }


def region_curves(fitted: FitResult, region: int) -> dict[str, CurvePair]:
    """Curves of a region and of all rows, by feature, at the values that rows of the region have.

    Parameters
    ----------
    fitted : FitResult
        Its surrogate must be made: nothing is asked of the model.
    region : int

    Returns
    -------
    dict of feature to CurvePair
        Without features that have no curve of their own, and without those with no value there.
    """
    everywhere = fitted.curves.value.everywhere
    surrogate = fitted.curves.value.surrogate.regions[region]
    overall = {curve.column.name: curve for curve in everywhere.curves}
    pairs = {}
    for curve in surrogate.curves:
        name = curve.column.name
        shares = curve.level_shares
        if name in overall and shares.any():
            pairs[name] = CurvePair(
                here=_feature_curve(surrogate, curve, shares),
                overall=_feature_curve(everywhere, overall[name], shares),
            )
    return pairs


def _feature_curve(surrogate: RegionSurrogate, curve: Curve, shares: FloatArray) -> FeatureCurve:
    """A curve at the levels that have a share of the rows."""
    column = curve.column
    occurs = shares > 0
    levels = column.levels[occurs]
    positions = None
    is_written_exactly = True
    if column.kind == "numeric":
        positions = levels.astype(np.float64)
        is_written_exactly = bool(np.all(column.levels.astype(np.float64) % 1 == 0))
    return FeatureCurve(
        feature=column.name,
        labels=[level_text(column, level) for level in levels],
        predictions=surrogate.mean + curve.effects[1:][occurs],
        weights=shares[occurs],
        positions=positions,
        ordered=column.is_ordered,
        whole=is_written_exactly,
    )
