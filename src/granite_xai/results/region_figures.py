"""Figures of the regions of a fit, as columns of a frame."""

from __future__ import annotations

import math
from typing import Any

from granite_xai.fitting.fit_result import FitResult
from granite_xai.inference.nodes import NodeFigures


def region_columns(fitted: FitResult, figures: NodeFigures | None) -> dict[str, list[Any]]:
    """Figures of the regions by column, for a frame; without their rules and names.

    Parameters
    ----------
    fitted : FitResult
    figures : NodeFigures or None
        Of the first question.

    Returns
    -------
    dict of str to list
        mean_prediction, heterogeneity_overall (before: on all rows), heterogeneity (inside the
        region), with the ends of its interval; NaN where a figure is not known.
    """
    n_regions = len(fitted.partition)
    means = [math.nan] * n_regions
    heterogeneity = [math.nan] * n_regions
    overall = math.nan
    if figures is not None and len(figures.leaves) == n_regions:
        means = [leaf.mean for leaf in figures.leaves]
        heterogeneity = [leaf.heterogeneity for leaf in figures.leaves]
        overall = figures.root.heterogeneity
    is_rooted = figures is not None and figures.is_rooted
    low, high = _heterogeneity_intervals(fitted, is_rooted)
    return {
        "mean_prediction": means,
        "heterogeneity_overall": [overall] * n_regions,
        "heterogeneity": heterogeneity,
        "heterogeneity_low": low,
        "heterogeneity_high": high,
    }


def _heterogeneity_intervals(fitted: FitResult, is_rooted: bool) -> tuple[list[float], list[float]]:
    """Lower and upper ends of the heterogeneity of each region by the first question.

    Parameters
    ----------
    fitted : FitResult
    is_rooted : bool
        Whether heterogeneity is the root of the mean squared gap, which the estimate states.
    """
    low = [math.nan] * len(fitted.partition)
    high = [math.nan] * len(fitted.partition)
    if fitted.estimate is None:
        return low, high
    first_question = fitted.estimate.lines[0].question
    for line in fitted.estimate.lines:
        if line.question == first_question and line.region >= 0:
            low[line.region] = line.low
            high[line.region] = line.high
    if is_rooted:
        low = [_root(end) for end in low]
        high = [_root(end) for end in high]
    return low, high


def _root(end: float) -> float:
    """The root of an end of an interval, 0 for a negative one; NaN stays."""
    if math.isnan(end):
        return math.nan
    return math.sqrt(max(end, 0.0))
