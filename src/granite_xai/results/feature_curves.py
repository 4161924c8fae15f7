"""Curves of all features in a region, beside those of all rows at the same values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.fitting.fit_result import FitResult
from granite_xai.regions.rule import Rule
from granite_xai.results.profile import level_text
from granite_xai.results.shapes import FeatureCurve
from granite_xai.surrogate.additive import RegionSurrogate
from granite_xai.surrogate.curves import Curve
from granite_xai.tables import Column


class CurvePair(NamedTuple):
    """The curve of a feature in a region, and that of all rows at the values that occur there."""

    here: FeatureCurve
    overall: FeatureCurve


def overall_curves(fitted: FitResult) -> dict[str, FeatureCurve]:
    """Curves of all rows, by feature; none where a file of an older version does not hold them."""
    everywhere = fitted.additive.value.everywhere
    if everywhere is None:
        return {}
    return {
        curve.column.name: _feature_curve(everywhere, curve, _shares(fitted, curve.column, None))
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
    everywhere = fitted.additive.value.everywhere
    if everywhere is None:
        return {}
    surrogate = fitted.additive.value.surrogate.regions[region]
    overall = {curve.column.name: curve for curve in everywhere.curves}
    pairs = {}
    for curve in surrogate.curves:
        name = curve.column.name
        shares = _shares(fitted, curve.column, region)
        if name in overall and shares.any():
            pairs[name] = CurvePair(
                here=_feature_curve(surrogate, curve, shares),
                overall=_feature_curve(everywhere, overall[name], shares),
            )
    return pairs


def _shares(fitted: FitResult, column: Column, region: int | None) -> FloatArray:
    """Share of the (region's) rows that have each level of a column, (levels,).

    A fit that was loaded without its rows counts all levels that the rule allows alike.
    """
    count = len(column.levels)
    rows_known = len(column.codes) == len(fitted.regions)
    if rows_known:
        inside: BoolArray = np.ones(len(fitted.regions), dtype=np.bool_)
        if region is not None:
            inside = fitted.regions == region
        codes = column.codes[inside]
        masses = np.bincount(codes + 1, weights=fitted.weights[inside], minlength=count + 1)[1:]
    else:
        rule = Rule() if region is None else fitted.partition[region].rule
        masses = _allowed(rule, column).astype(np.float64)
    total = masses.sum()
    return np.asarray(masses / total if total > 0 else masses, dtype=np.float64)


def _allowed(rule: Rule, column: Column) -> BoolArray:
    """Which levels of a column a rule allows."""
    for name, condition in rule.conditions:
        if name == column.name:
            return condition.contains(column.levels, column.order)
    return np.ones(len(column.levels), dtype=np.bool_)


def _feature_curve(region: RegionSurrogate, curve: Curve, shares: FloatArray) -> FeatureCurve:
    """A curve at the levels that have a share of the rows."""
    column = curve.column
    occurs = shares > 0
    levels = column.levels[occurs]
    is_number = column.kind == "numeric"
    return FeatureCurve(
        feature=column.name,
        labels=[level_text(column, level) for level in levels],
        predictions=region.mean + curve.effects[1:][occurs],
        weights=shares[occurs],
        positions=levels.astype(np.float64) if is_number else None,
        ordered=column.is_ordered,
        whole=not is_number or bool(np.all(column.levels.astype(np.float64) % 1 == 0)),
    )
