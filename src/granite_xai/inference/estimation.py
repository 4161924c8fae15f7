"""How an `Estimate` is computed: the share that regions leave on some rows, with its interval.

The regions are fixed, and the rows are others than those that chose them. How figures vary with the
sample is read off signed pairs of weights (`perturbed_figures`). No model is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.text import ALL_ROWS
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.engine.signed_weights import STEP
from granite_xai.inference.confidence import Confidence
from granite_xai.inference.described_share import DescribedShares
from granite_xai.inference.estimate import Estimate, EstimateLine
from granite_xai.inference.intervals import interval_around
from granite_xai.inference.measured_regions import MeasuredQuestion, Sample
from granite_xai.inference.perturbed_figures import PerturbedFigures, standard_error_of
from granite_xai.inference.replicates import Chance


def estimate(
    everywhere: Sample,
    regions: Sequence[Sample | None],
    measured: Sequence[MeasuredQuestion],
    *,
    weights: Sequence[float],
    floors: FloatArray,
    confidence: Confidence,
    clusters: IntArray,
    rules: Sequence[str],
    rows: str,
    fidelities: Deferred[DescribedShares],
    optimism: Sequence[float] | None = None,
    root: Chance | None = None,
) -> Estimate:
    """What a partition leaves on some rows.

    Parameters
    ----------
    everywhere, regions : Sample
        All rows, and those of each region; None where it has none.
    measured : sequence of MeasuredQuestion
        What `measure_regions` says of them.
    weights, floors : sequences of n_questions numbers
        Weight and noise floor of each question.
    confidence : Confidence
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    rules : sequence of str
        Of the regions.
    rows : "held-out", "given", "cross-validated" or "fitting"
        Which rows these are; those that chose the regions (the last two) give no interval.
    fidelities : Deferred
        Share that curves describe, with regions and without.
    optimism : sequence of n_questions numbers, optional
        How much less regions leave of each question on these rows than on others, in its units,
        because these rows chose them.
    root : Chance, optional
        What chance says of all rows, where the fit has found that out.
    """
    n_clusters = len(np.unique(clusters))
    quantile = math.nan
    if rows not in ("cross-validated", "fitting"):
        quantile = confidence.quantile(n_clusters)
    if root is None:
        root = confidence.replicates(clusters).chance(*everywhere)
    below_noise_floor = bool(np.all(root.plug_in <= floors))
    question_shares = np.where(root.exceeded(floors), np.asarray(weights, dtype=np.float64), 0.0)
    question_shares = question_shares / (question_shares.sum() or 1.0)
    lines = list[EstimateLine]()
    for question, figures in zip(everywhere.questions, measured, strict=True):
        label = question.question.label
        parts = zip(
            [everywhere, *regions],
            [figures.whole, *figures.regions],
            [ALL_ROWS, *rules],
            strict=True,
        )
        for region, (sample, part, rule) in enumerate(parts, start=-1):
            quantile_of_region = math.nan
            if sample is not None and not math.isnan(quantile):
                n_clusters_inside = len(np.unique(clusters[sample.rows]))
                quantile_of_region = confidence.quantile(n_clusters_inside)
            lines.append(_line(label, region, rule, sample, part, quantile_of_region))
    if optimism is None:
        optimism = [0.0] * len(measured)
    remaining = _remaining(measured, question_shares, optimism, quantile, below_noise_floor)
    total = _total_disagreement(measured, question_shares, lines, below_noise_floor)
    return Estimate(
        remaining=remaining.share,
        low=remaining.low,
        high=remaining.high,
        standard_error=remaining.standard_error,
        disagreement=total.disagreement,
        disagreement_low=total.low,
        disagreement_high=total.high,
        chance=total.chance,
        rows=rows,
        n_rows=len(everywhere.rows),
        fidelities=fidelities,
        confidence_level=confidence.level,
        below_noise_floor=below_noise_floor,
        lines=tuple(lines),
        n_clusters=n_clusters,
    )


class _Remaining(NamedTuple):
    """Share of the disagreement that regions leave, of all questions together."""

    share: float
    low: float
    high: float
    standard_error: float


def _remaining(
    measured: Sequence[MeasuredQuestion],
    question_shares: FloatArray,
    optimism: Sequence[float],
    quantile: float,
    below_noise_floor: bool,
) -> _Remaining:
    """What all questions that show more than chance leave, by their shares."""
    if below_noise_floor and not question_shares.any():
        return _without_interval(0.0)
    if not question_shares.any():
        return _without_interval(math.nan)
    if len(measured[0].regions) == 1:  # nothing was divided, nothing was removed
        return _without_interval(1.0)
    share = 0.0
    n_pairs = len(measured[0].whole.centred_excess)
    slopes_of_pairs = np.zeros(n_pairs)
    centred_excess = np.zeros(n_pairs)
    for question_share, figures, too_low in zip(question_shares, measured, optimism, strict=True):
        if question_share:
            of_question = _remaining_of_question(figures)
            share += question_share * (of_question.share + too_low / figures.whole.corrected)
            slopes_of_pairs += question_share * of_question.slopes
            centred_excess += question_share * of_question.centred_excess
    share = max(share, 0.0)
    n_observations = measured[0].whole.n_observations
    standard_error = standard_error_of(slopes_of_pairs, centred_excess, n_observations)
    low, high = interval_around(share, standard_error, quantile)
    if math.isnan(quantile):
        standard_error = math.nan
    return _Remaining(share=share, low=low, high=high, standard_error=standard_error)


def _without_interval(share: float) -> _Remaining:
    return _Remaining(share=share, low=math.nan, high=math.nan, standard_error=math.nan)


class _RemainingOfQuestion(NamedTuple):
    """The share of one question that the regions leave, and how it moves with each signed pair."""

    share: float
    slopes: FloatArray  # (P,)
    centred_excess: FloatArray  # (P,)


def _remaining_of_question(figures: MeasuredQuestion) -> _RemainingOfQuestion:
    whole = figures.whole
    regions = [part for part in figures.regions if part is not None]
    mass = np.sum([part.mass for part in regions], axis=0)  # (2, P)
    inside_regions = 0.0
    moved = np.zeros_like(mass)
    excess = np.zeros_like(whole.centred_excess)
    for part in regions:
        share_of_rows = part.mass.mean() / np.mean(mass)
        inside_regions += share_of_rows * part.corrected
        excess += share_of_rows * part.centred_excess
        # What chance adds to a region stays as it is while the weights move.
        moved += part.mass / mass * (part.moved - part.plug_in + part.corrected)
    share = inside_regions / whole.corrected
    moved_whole = whole.moved[0] - whole.moved[1]
    slopes_of_pairs = (moved[0] - moved[1] - share * moved_whole) / (2 * STEP * whole.corrected)
    return _RemainingOfQuestion(
        share=float(share),
        slopes=slopes_of_pairs,
        centred_excess=(excess - share * whole.centred_excess) / whole.corrected,
    )


class _TotalDisagreement(NamedTuple):
    """The disagreement on all rows, and the part of it that chance would show."""

    disagreement: float
    low: float
    high: float
    chance: float


def _total_disagreement(
    measured: Sequence[MeasuredQuestion],
    question_shares: FloatArray,
    lines: Sequence[EstimateLine],
    below_noise_floor: bool,
) -> _TotalDisagreement:
    """In the units of a single question; in shares, 1.0, for several."""
    chance = 0.0
    if len(measured) == 1:
        all_rows = lines[0]
        disagreement = all_rows.corrected
        low = all_rows.low
        high = all_rows.high
        if all_rows.plug_in > 0:
            chance = all_rows.chance / all_rows.plug_in
    else:
        disagreement = low = high = float(question_shares.any())
        for question_share, figures in zip(question_shares, measured, strict=True):
            if question_share:
                chance += question_share * figures.whole.chance_level / figures.whole.plug_in
    if below_noise_floor:
        disagreement = 0.0
    return _TotalDisagreement(
        disagreement=max(disagreement, 0.0), low=low, high=high, chance=float(chance)
    )


def _line(
    question: str,
    region: int,
    rule: str,
    sample: Sample | None,
    figures: PerturbedFigures | None,
    quantile: float,
) -> EstimateLine:
    """One question in one region, or on all rows; nothing is known where there are no rows."""
    if sample is None or figures is None:
        return EstimateLine(
            question=question,
            region=region,
            rule=rule,
            n_samples=0,
            plug_in=math.nan,
            chance=math.nan,
            corrected=math.nan,
            low=math.nan,
            high=math.nan,
        )
    low, high = interval_around(figures.corrected, figures.standard_error, quantile)
    return EstimateLine(
        question=question,
        region=region,
        rule=rule,
        n_samples=len(sample.rows),
        plug_in=figures.plug_in,
        chance=figures.chance_level,
        corrected=figures.corrected,
        low=low,
        high=high,
    )
