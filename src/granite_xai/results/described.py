"""Share of the model that curves describe."""

from __future__ import annotations

import math
from typing import NamedTuple

from granite_xai.base.numbers import ShareWithInterval, share, share_with_interval
from granite_xai.fitting.fit_result import FitResult


class Described(NamedTuple):
    """Share of the model that curves describe.

    Attributes
    ----------
    overall, in_regions : float
        With one curve per feature, and with one per feature and region; NaN: not known.
    low, high : float
        Interval of the share in regions; NaN: there is none.
    confidence_level : float
    rows : "held-out", "given", "cross-validated", "fitting"
        What rows these are shares of.
    n_rows : int
    """

    overall: float
    in_regions: float
    low: float
    high: float
    confidence_level: float
    rows: str
    n_rows: int


def described_of(fitted: FitResult) -> Described | None:
    """Share of the model that curves describe; None where it has not been computed yet."""
    estimate = fitted.estimate
    if estimate is not None and estimate.fidelities.is_computed:
        return Described(
            overall=estimate.global_fidelity,
            in_regions=estimate.fidelity,
            low=estimate.fidelity_low,
            high=estimate.fidelity_high,
            confidence_level=estimate.confidence_level,
            rows=estimate.rows,
            n_rows=estimate.n_rows,
        )
    if estimate is None and fitted.shared_curves.is_computed:
        return Described(
            overall=fitted.shared_curves.value.global_fidelity,
            in_regions=fitted.shared_curves.value.fidelity,
            low=math.nan,
            high=math.nan,
            confidence_level=math.nan,
            rows="fitting",
            n_rows=len(fitted.regions),
        )
    return None


def in_regions_text(described: Described) -> ShareWithInterval:
    """The share described in regions, and its interval, which is empty where there is none.

    Parameters
    ----------
    described : Described
    """
    in_regions = max(described.in_regions, 0.0)
    if math.isnan(described.low):
        return ShareWithInterval(share=share(in_regions), interval="")
    return share_with_interval(in_regions, described.low, described.high)
