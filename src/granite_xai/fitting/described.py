"""The share of a model that curves describe on other rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.judging_rows import JudgingRows
from granite_xai.fitting.new_rows import NewRows
from granite_xai.inference.described_share import (
    DescribedShare,
    DescribedShares,
    Predicted,
    described_share,
)
from granite_xai.surrogate.additive import Surrogate, in_unit_interval

UNKNOWN = DescribedShare(math.nan)


def described_later(new_rows: NewRows, judging: JudgingRows) -> Deferred[DescribedShares]:
    """The shares described on other rows: computed now where the surrogate is known, otherwise when they are read.

    Parameters
    ----------
    new_rows : NewRows
    judging : JudgingRows
        The same rows, with what the model answered about them.
    """
    evaluations = judging.everywhere.evaluations
    answers = [output.predictions + output.offset for output in evaluations.outputs]
    compute = partial(
        _described_shares,
        new_rows,
        judging.regions,
        answers,
        evaluations.weights,
        judging.clusters,
    )
    return Deferred(compute, now=new_rows.fitted.additive.is_computed)


def _described_shares(
    new_rows: NewRows,
    regions: IntArray,
    answers: Sequence[FloatArray],
    weights: FloatArray,
    clusters: IntArray,
) -> DescribedShares:
    """Share of the prediction's variance that curves describe, with regions and without.

    Parameters
    ----------
    new_rows : NewRows
    regions, weights, clusters : arrays of shape (n_rows,)
    answers : sequence of arrays of shape (n_rows,)
        What the model predicts, for each output.
    """
    fits = list(new_rows.fitted.outputs.values()) or [new_rows.fitted]
    if any(fit.additive.value.surrogate.lacks_rows for fit in fits):
        return DescribedShares(in_regions=UNKNOWN, overall=UNKNOWN)
    one_region = np.zeros_like(regions)
    in_regions = list[Predicted]()
    overall = list[Predicted]()
    for fit, model in zip(fits, answers, strict=True):
        additive = fit.additive.value
        curves = _predict_by_curves(new_rows, fit, additive.surrogate, regions)
        in_regions.append(Predicted(model=model, curves=curves))
        if additive.everywhere is not None:
            without_regions = replace(additive.surrogate, regions=(additive.everywhere,))
            curves = _predict_by_curves(new_rows, fit, without_regions, one_region)
            overall.append(Predicted(model=model, curves=curves))
    confidence = new_rows.fitted.confidence
    described_overall = UNKNOWN
    if len(overall) == len(fits):  # an older file does not hold the curves of all rows
        described_overall = described_share(overall, weights, clusters, confidence)
    return DescribedShares(
        in_regions=described_share(in_regions, weights, clusters, confidence),
        overall=described_overall,
    )


def _predict_by_curves(
    new_rows: NewRows, fit: FitResult, surrogate: Surrogate, regions: IntArray
) -> FloatArray:
    """What a surrogate says of other rows; effects of several columns ask the model."""
    predictor = None
    if surrogate.needs_model:
        predictor = fit.predictor
    curves = surrogate.predict(new_rows.route.table, regions, predictor)
    if fit.predictor.is_probability:
        curves = in_unit_interval(curves)
    return curves
