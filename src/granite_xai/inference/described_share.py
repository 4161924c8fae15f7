"""Share of the model that curves describe, with its interval.

The share is R² of the curves against the model, a ratio of two means over rows:

    described = 1 - A / B,    A = mean of (F - curves)²,  B = mean of (F - mean F)²

The curves are fixed, so a row moves the share by its influence ``-((F - curves)² - (A / B) (F - mean F)²) / B``,
and the sum of these over a cluster moves with the cluster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.inference.confidence import Confidence
from granite_xai.inference.intervals import interval_around, upper_limit


@dataclass(frozen=True, slots=True)
class DescribedShare:
    """Share of the prediction's variance that curves describe.

    Attributes
    ----------
    value : float
        1.0 for a constant model; nan where it is not known.
    low, high : float
        Its interval; nan where there is none.
    hidden_high : float
        Upper limit of what they do not describe, of one side: with the confidence level, no more
        than this is hidden. nan where there is none.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    hidden_high: float = math.nan


@dataclass(frozen=True, slots=True)
class DescribedShares:
    """Share described with one curve per feature and region, and with one per feature."""

    in_regions: DescribedShare
    overall: DescribedShare


class Predicted(NamedTuple):
    """Predictions of some rows, and what curves say of them."""

    model: FloatArray  # (n_rows,)
    curves: FloatArray  # (n_rows,)


def described_share(
    outputs: Sequence[Predicted],
    weights: FloatArray,
    clusters: IntArray,
    confidence: Confidence | None,
) -> DescribedShare:
    """Share that curves describe on rows that they were not made of.

    Parameters
    ----------
    outputs : sequence of Predicted
        Of each explained output; their shares are averaged.
    weights, clusters : arrays of shape (n_rows,)
        Weight of each row, and number of its cluster.
    confidence : Confidence, optional
        None: there is no interval.
    """
    shares = weights / weights.sum()
    values = []
    influences = np.zeros(len(weights))  # of each row on the mean share
    for output in outputs:
        value, influence = _share_and_influences(output, shares)
        values.append(value)
        influences += influence / len(outputs)
    value = float(np.mean(values))
    if confidence is None:
        return DescribedShare(value=value)
    by_cluster = np.bincount(clusters, weights=shares * influences)
    n_clusters = len(np.unique(clusters))
    quantile = confidence.quantile(n_clusters)
    if math.isnan(quantile):
        return DescribedShare(value=value)
    error = math.sqrt(float(np.square(by_cluster).sum()) * n_clusters / (n_clusters - 1))
    hidden = max(1.0 - value, 0.0)
    hidden_low, hidden_high = interval_around(hidden, error, quantile)
    return DescribedShare(
        value=value,
        low=1.0 - hidden_high,
        high=1.0 - hidden_low,
        hidden_high=upper_limit(hidden, error, confidence.one_sided_quantile(n_clusters)),
    )


def _share_and_influences(output: Predicted, shares: FloatArray) -> tuple[float, FloatArray]:
    """R² and the influence of each row on it; a constant model is described as it is."""
    centred = np.square(output.model - shares @ output.model)
    missed = np.square(output.model - output.curves)
    variance = float(shares @ centred)
    if variance == 0.0:
        return 1.0, np.zeros(len(shares))
    hidden = float(shares @ missed) / variance
    return 1.0 - hidden, -(missed - hidden * centred) / variance
