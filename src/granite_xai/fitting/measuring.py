"""The disagreement of each question on all rows, beside its noise floor (method page, C4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.errors import DataWarning, Diagnostics, ModelWarning
from granite_xai.base.typing import FloatArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.noise_floor import (
    changed_answers_warning,
    large_integers_warning,
    rounding_floor,
    sampling_floor,
)
from granite_xai.evaluations.prediction_range import EvaluationRange, out_of_range
from granite_xai.evaluations.probe import Probe, delta
from granite_xai.explanation.regional_part import regional_part

LARGEST_MERE_ROUNDING = 0.05
"""Share of its floor below which a disagreement may be rounding alone, which makes about a thousandth of it."""
EQUAL_PREDICTIONS = 2.0**-49
"""Share of their size by which equal predictions differ from their mean, at most."""
CODES_OF_HIGH_FLOORS = ("M09", "N01", "D20: the model")
"""Beginnings of warnings that already say that the floor is high, and why."""


class MeasuredRows(NamedTuple):
    """What all rows show of every question, before anything is divided."""

    disagreements: FloatArray  # (Q,) of each question
    floors: FloatArray  # (Q,) what rounding and sampling alone can produce of it
    error: float  # noise of one prediction; of several outputs, the largest


def measure(
    questions: Sequence[ResolvedQuestion],
    evaluations: Evaluations,
    extent: EvaluationRange,
    probe: Probe,
    *,
    is_single_precision: bool,
    n_jobs: int,
    record: Diagnostics,
) -> MeasuredRows:
    """Measure every question on all rows.

    Parameters
    ----------
    questions : sequence of Q questions
    evaluations : Evaluations
        Of all rows that search; of all outputs, where there are several.
    extent : EvaluationRange
        How large the predictions are, and how far they changed between two calls.
    probe : Probe
        What the model answered about a few rows, asked twice.
    is_single_precision : bool
        Whether the model's table or its answers are float32.
    n_jobs : int
    record : Diagnostics
        Gets the floors, the disagreements, and warnings of models that are noisy.

    Raises
    ------
    ModelError
        N06, where a disagreement is too large to be a number.
    """
    errors = _prediction_noise_of_outputs(evaluations, extent, probe, is_single_precision, record)
    all_rows = Splits.whole(evaluations.weights)
    disagreements = np.empty(len(questions))
    floors = np.empty(len(questions))
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is named below (N06)
        for number, question in enumerate(questions):
            output = evaluations.outputs[question.output]
            disagreements[number] = question.regional(evaluations, all_rows, n_jobs)[0, 0]
            floors[number] = _noise_floor(question, output, errors[question.output])
        total_losses = disagreements * evaluations.n_rows
    labels = [question.question.label for question in questions]
    record.note("noise_floor", dict(zip(labels, floors.tolist(), strict=True)))
    record.note("measured_disagreement", dict(zip(labels, disagreements.tolist(), strict=True)))
    scales = [output_extent.scale for output_extent in (extent, *extent.others)]
    if not np.all(np.isfinite(total_losses) & np.isfinite(floors)):
        raise out_of_range(
            f"the disagreement is too large to be a number; predictions reach {max(scales):.3g}."
        )
    for number, question in enumerate(questions):
        scale = scales[question.output]
        if not _is_constant(evaluations.outputs[question.output], scale):
            _warn_of_high_floor(
                question, float(floors[number]), float(disagreements[number]), scale, record
            )
    return MeasuredRows(disagreements=disagreements, floors=floors, error=max(errors))


def _prediction_noise_of_outputs(
    evaluations: Evaluations,
    extent: EvaluationRange,
    probe: Probe,
    is_single_precision: bool,
    record: Diagnostics,
) -> list[float]:
    """The noise of one prediction of each output."""
    extents = (extent, *extent.others)
    probes = (probe, *probe.others)
    errors = []
    for output, output_extent, output_probe in zip(
        evaluations.outputs, extents, probes, strict=True
    ):
        is_single = is_single_precision or output_extent.single_precision
        errors.append(_prediction_noise(output, output_extent, output_probe, is_single, record))
    return errors


def _is_constant(evaluations: Evaluations, scale: float) -> bool:
    """Whether all predictions are equal up to rounding: then no floor hides anything."""
    largest_deviation = float(np.max(np.abs(evaluations.predictions)))
    return largest_deviation <= EQUAL_PREDICTIONS * scale


def _prediction_noise(
    evaluations: Evaluations,
    extent: EvaluationRange,
    probe: Probe,
    is_single_precision: bool,
    record: Diagnostics,
) -> float:
    """The noise of one prediction of an output: rounding, or how far repeated answers differ."""
    error = delta(probe, extent.scale, is_single_precision)
    all_rows = Splits.whole(evaluations.weights)
    spread = float(np.sqrt(all_rows.variances(evaluations.predictions[None])[0, 0]))
    warning = changed_answers_warning(error, extent.largest_change, spread, is_single_precision)
    if warning is None:
        return error
    if any(text.startswith("D20") for text in record.warnings):
        record.warn(large_integers_warning(extent.largest_change), DataWarning)
    else:
        record.warn(warning, ModelWarning)
    return max(error, extent.largest_change)


def _noise_floor(question: ResolvedQuestion, evaluations: Evaluations, error: float) -> float:
    """The disagreement that rounding (and sampling) alone can produce (C4)."""
    error_of_value = question.first.behavior.error(error, evaluations)
    n_sets = len(question.first.layout.sets)
    total = rounding_floor(n_sets, question.loss, question.effect_order, error_of_value)
    for effect in (question.first, question.second):
        if effect.draws:
            every_row = np.arange(evaluations.n_rows)
            errors = regional_part(0, "", effect, evaluations, every_row).errors
            weights = evaluations.weights if effect.behavior.per_row else None
            total += sampling_floor(question.loss, np.atleast_2d(errors), weights)
    return total


def _warn_of_high_floor(
    question: ResolvedQuestion,
    noise_floor: float,
    disagreement: float,
    scale: float,
    record: Diagnostics,
) -> None:
    """Say where the noise floor hides more than rounding mostly makes (N10)."""
    if any(text.startswith(CODES_OF_HIGH_FLOORS) for text in record.warnings):
        return
    if question.first.draws or question.second.draws:
        return
    if LARGEST_MERE_ROUNDING * noise_floor < disagreement <= noise_floor:
        record.warn(
            f"N10: {question.question.label}: the measured disagreement {disagreement:.3g} is below its noise floor "
            f"{noise_floor:.3g}, but no mere rounding; it is reported as 0. The predictions reach {scale:.3g}: "
            "explain them minus a constant, or in double precision.",
            ModelWarning,
        )
