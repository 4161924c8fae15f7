"""What a fit measures on all rows: the disagreement of each question, its noise floor, and what to say of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import ModelWarning
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute.units import by_power_of_two
from granite_xai.disagreement import Objective, ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.agnostic import EvaluationRange, too_large
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.noise_floor import Probe, delta, floor, inconstancy, sampling_floor
from granite_xai.explainer import regional_part
from granite_xai.influence import Interactions

SWALLOWED = 0.05
"""Share of the noise floor from which a measured disagreement is hardly rounding alone, which makes a thousandth."""
SMALLEST = -280
"""Power of ten below which numbers lose their digits."""


def order_of(questions: Sequence[ResolvedQuestion]) -> int:
    """Order of the effects in the surrogate: that of the compared interactions, otherwise 1."""
    interaction = questions[0].question.first.influence
    return interaction.order if isinstance(interaction, Interactions) else 1


def exponent_for(questions: Sequence[ResolvedQuestion], objective: Objective) -> int | None:
    """None where evaluations may be in units of a power of two: every figure scales, and shares stay; otherwise 0."""
    degrees = {question.degree for question in questions}
    return None if None not in degrees and (objective.normalize == "root" or degrees == {2}) else 0


def units_of(questions: Sequence[ResolvedQuestion], exponent: int) -> IntArray:
    """The powers of two in units of which disagreements are measured, where predictions are in those of another."""
    return np.array([exponent * (question.degree or 0) for question in questions])


def measure(
    questions: Sequence[ResolvedQuestion],
    evaluations: Evaluations,
    extent: EvaluationRange,
    probed: Probe,
    single: bool,
    record: Diagnostics,
) -> tuple[FloatArray, FloatArray, float]:
    """Disagreement of each question on all rows, its noise floor, and the noise of one prediction."""
    single, unit = single or extent.single_precision, 2.0**extent.exponent
    error = delta(probed, extent.scale * unit, single)
    splits = Splits.whole(evaluations.weights)
    spread = float(np.sqrt(splits.variances(evaluations.predictions[None])[0, 0]))
    changes = inconstancy(error, extent.changed * unit, spread * unit, single)
    error = error / unit
    if changes is not None:
        record.warn(changes, ModelWarning)
        error = max(error, extent.changed)
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is named below (N06)
        roots = np.array([question.regional(evaluations, splits)[0, 0] for question in questions])
        floors = np.array([_floor(question, evaluations, error) for question in questions])
        countable = np.isfinite(roots * evaluations.n_rows) & np.isfinite(floors)
    told = by_power_of_two(np.stack([floors, roots]), units_of(questions, extent.exponent))
    for name, found in zip(("noise_floor", "measured_disagreement"), told.tolist(), strict=True):
        record.note(name, {question.question.label: each for question, each in zip(questions, found, strict=True)})
    if not np.all(countable):
        raise too_large(extent.scale * unit)
    size = float(np.max(np.abs(evaluations.predictions)))
    for question, heard, least, root in zip(questions, roots > floors, *told.tolist(), strict=True):
        _tell(question, bool(heard), least, root, (size, extent.scale * unit), record)
    return roots, floors, error


def _tell(
    question: ResolvedQuestion, heard: bool, least: float, root: float, sizes: tuple[float, float], record: Diagnostics
) -> None:
    """Say where the noise floor hides more than rounding mostly makes, or where squares are no numbers."""
    label, powers = question.question.label, 2 if question.first.behavior.key == "local" else 4
    if heard and not np.finfo(np.float64).tiny <= root < np.inf:
        text = f"the disagreement is beyond the range of numbers and reported as {root:.3g}; shares of it are right"
        record.warn(f"N11: {label}: {text}.", ModelWarning)
        return
    if any(text.startswith(("M09", "N01")) for text in record.warnings):
        return  # these say that the floor is high, and why
    if sizes[0] > 0.0 and powers * np.log10(sizes[0]) < SMALLEST:
        small = "whose squares are too small to be numbers"
        text = f"predictions differ from their mean by {sizes[0]:.3g} at most, {small}"
        remedy = "Rescale the predictions (and y)."
    elif least * SWALLOWED < root <= least and not (question.first.draws or question.second.draws):
        text = f"the measured disagreement {root:.3g} is below its noise floor {least:.3g}, but no mere rounding"
        remedy = f"The predictions reach {sizes[1]:.3g}: explain them minus a constant, or in double precision."
    else:
        return
    record.warn(f"N10: {label}: {text}; it is reported as 0. {remedy}", ModelWarning)


def _floor(question: ResolvedQuestion, evaluations: Evaluations, error: float) -> float:
    """The disagreement that rounding (and sampling) alone can produce (C4)."""
    error, unscaled = question.first.behavior.error(error, evaluations), replace(evaluations, exponent=0)
    total = floor(len(question.first.layout.sets), question.loss, order_of([question]), error)
    for effect in (question.first, question.second):
        if effect.draws:
            errors = regional_part(0, "", effect, unscaled, np.arange(evaluations.n_rows)).errors
            rows = evaluations.weights if effect.behavior.per_row else None
            total += sampling_floor(question.loss, np.atleast_2d(errors), rows)
    return total
