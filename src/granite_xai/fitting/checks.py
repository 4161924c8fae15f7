"""What a fit measures on all rows: disagreements, noise floors and causes; what a grid changes (C22); thin bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import BinWarning, DataWarning, ModelWarning
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.compute.primitives import NUMPY
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.noise_floor import floor, inconstancy, large_integers, sampling_floor
from granite_xai.evaluations.prediction_range import EvaluationRange, out_of_range
from granite_xai.evaluations.probe import Probe, delta
from granite_xai.explanation.behavior import Local
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.evaluation_plan import evaluate, request
from granite_xai.explanation.explainer import regional_part
from granite_xai.explanation.influence import Interactions
from granite_xai.explanation.masking import Marginal
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.surrogate.curves import between_values
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

SWALLOWED = 0.05  # share of the floor from which a disagreement is hardly rounding alone, which makes a thousandth
ROUNDING = (
    2.0**-49
)  # share of their size by which equal predictions differ from their mean, at most
MOST = 500  # rows that the additive model is looked at on, at most: its matrices are made in memory
INTERACT, DEPEND = "columns interact", "columns depend on each other"
EITHER = f"{INTERACT} or depend on each other"
Asked = Sequence[ResolvedQuestion]
Limits = tuple[Resources, int, int]  # with a number of rows and a seed
THIN = 5  # rows below which a bin of a region is called thin


def order_of(questions: Asked) -> int:
    """Order of the effects in the surrogate: that of the compared interactions, otherwise 1."""
    interaction = questions[0].question.first.influence
    return interaction.order if isinstance(interaction, Interactions) else 1


def measure(
    asked: Asked,
    held: Evaluations,
    extent: EvaluationRange,
    probe: Probe,
    single: bool,
    jobs: int,
    record: Diagnostics,
) -> tuple[FloatArray, FloatArray, float]:
    """Disagreement of each question on all rows, its noise floor, and the noise of one prediction."""
    splits, every = Splits.whole(held.weights, held.primitives), held.outputs
    extents, probes = (extent, *extent.others), (probe, *probe.others)
    errors = [_noise(*own, single, record) for own in zip(every, extents, probes, strict=True)]
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is named below (N06)
        roots = np.array([question.regional(held, splits, jobs)[0, 0] for question in asked])
        floors = np.array([_floor(q, every[q.output], errors[q.output]) for q in asked])
        countable = np.isfinite(roots * held.n_rows) & np.isfinite(floors)
    labels = [question.question.label for question in asked]
    record.note("noise_floor", dict(zip(labels, floors.tolist(), strict=True)))
    record.note("measured_disagreement", dict(zip(labels, roots.tolist(), strict=True)))
    if not np.all(countable):
        largest = max(each.scale for each in extents)
        text = f"the disagreement is too large to be a number; predictions reach {largest:.3g}."
        raise out_of_range(text)
    for question, noise_floor, root in zip(asked, floors.tolist(), roots.tolist(), strict=True):
        scale = extents[question.output].scale
        largest_deviation = float(np.max(np.abs(every[question.output].predictions)))
        if largest_deviation > ROUNDING * scale:  # of a constant model a floor hides nothing
            _warn_of_high_floor(question, noise_floor, root, scale, record)
    return roots, floors, max(errors)


def _noise(
    own: Evaluations, extent: EvaluationRange, probed: Probe, single: bool, record: Diagnostics
) -> float:
    """The noise of one prediction of an output."""
    single = single or extent.single_precision
    error = delta(probed, extent.scale, single)
    spread = float(
        np.sqrt(Splits.whole(own.weights, own.primitives).variances(own.predictions[None])[0, 0])
    )
    changes = inconstancy(error, extent.changed, spread, single)
    if changes is None:
        return error
    if any(text.startswith("D20") for text in record.warnings):
        record.warn(large_integers(extent.changed), DataWarning)
    else:
        record.warn(changes, ModelWarning)
    return max(error, extent.changed)


def _warn_of_high_floor(
    question: ResolvedQuestion,
    noise_floor: float,
    root: float,
    scale: float,
    record: Diagnostics,
) -> None:
    """Say where the noise floor hides more than rounding mostly makes (N10)."""
    if any(text.startswith(("M09", "N01", "D20: the model")) for text in record.warnings):
        return  # these say that the floor is high, and why
    sampled = bool(question.first.draws or question.second.draws)
    if sampled or not noise_floor * SWALLOWED < root <= noise_floor:
        return
    record.warn(
        f"N10: {question.question.label}: the measured disagreement {root:.3g} is below its noise floor "
        f"{noise_floor:.3g}, but no mere rounding; it is reported as 0. The predictions reach {scale:.3g}: "
        "explain them minus a constant, or in double precision.",
        ModelWarning,
    )


def _floor(question: ResolvedQuestion, evaluations: Evaluations, error: float) -> float:
    """The disagreement that rounding (and sampling) alone can produce (C4)."""
    error = question.first.behavior.error(error, evaluations)
    total = floor(len(question.first.layout.sets), question.loss, order_of([question]), error)
    for effect in (question.first, question.second):
        if effect.draws:
            errors = regional_part(0, "", effect, evaluations, np.arange(evaluations.n_rows)).errors
            rows = evaluations.weights if effect.behavior.per_row else None
            total += sampling_floor(question.loss, np.atleast_2d(errors), rows)
    return total


def grid_check(
    comparisons: Asked,
    route: Route,
    evaluations: Evaluations,
    reference: FittedMaskings,
    limits: Limits,
    y: Any,
) -> dict[str, Any]:
    """A grid's columns, and the root mean square of exact gaps of a few rows and of their difference on the grid."""
    resources, count, seed = limits
    rows = np.sort(
        np.random.default_rng(seed).choice(evaluations.n_rows, size=count, replace=False)
    )
    effects = [side for comparison in comparisons for side in (comparison.first, comparison.second)]
    part, near = route.table.take(rows), evaluations.restrict(rows)
    exact, _ = evaluate(
        Route(route.predictor, part),
        request(part, effects),
        reference,
        resources=replace(resources, max_grid=None),
        weights=near.weights,
        y=None if y is None else y[rows],
        coordinates=near.coordinates,
    )
    splits, figures = Splits.whole(near.weights, near.primitives), {}
    for comparison in comparisons:
        snapped, true = (
            np.stack(list(comparison.gap_values(each, splits))) for each in (near, exact)
        )
        if not comparison.first.behavior.per_row:
            snapped, true = snapped[..., 0], true[..., 0]
        figures[comparison.question.label] = {
            "rms_difference": float(np.sqrt(np.mean(np.square(snapped - true)))),
            "rms_gap": float(np.sqrt(np.mean(np.square(true)))),
        }
    columns = {
        part.names[min(s)]: evaluations.matrices[s].values.shape[0] for s in evaluations.snapped
    }
    return {"columns": columns, "rows": len(rows), "gaps": figures}


def in_words(note: dict[str, Any]) -> str:
    """The note as a sentence, for the report."""
    columns = ", ".join(f"{name} ({count})" for name, count in note["columns"].items())
    errors = (
        gaps["rms_difference"] / gaps["rms_gap"]
        for gaps in note["gaps"].values()
        if gaps["rms_gap"] > 0
    )
    text = f"C22: on a grid of so many values: {columns}. On {note['rows']} rows the gaps differ from the exact ones "
    return text + f"by {max(errors, default=0.0):.1%} of their size (root mean square)."


def note_bins(
    record: Diagnostics, evaluations: Evaluations, regions: Sequence[IntArray], beyond_chance: bool
) -> None:
    """Count the bins that are too thin to average over, and warn once (C10)."""
    thin = single = 0
    for bins in evaluations.bins.values():
        if bins.single and beyond_chance:
            continue  # no dependence beyond chance
        for rows in regions:
            counts = np.unique(bins.numbers[rows], return_counts=True)[1]
            thin += int(np.count_nonzero(counts < THIN))
            single += len(counts) == 1
    record.note("thin_bins", {"cells": thin, "single_bin": single})
    if thin or single:
        text = f"C10: conditional masking has {thin} bins with fewer than {THIN} rows of a region, and {single} times "
        text += (
            "all rows of a region share one bin, where conditional equals marginal by construction."
        )
        record.warn(text, BinWarning)


def cause(question: Disagreement) -> str:
    """What makes the two explanations of a question differ; covariances count in variances and risks."""
    first, second = question.first, question.second
    if first.masking.key != second.masking.key:
        return DEPEND if first.interaction == second.interaction else EITHER
    return (
        INTERACT
        if question.behavior.key == "local" and first.masking.key != "conditional"
        else EITHER
    )


def causes(
    questions: Asked, evaluations: Evaluations, floors: FloatArray, table: Table
) -> dict[str, Any]:
    """For each question its cause, and the share of the disagreement that a sum of its curves would keep, if known."""
    count = min(
        evaluations.n_rows,
        MOST,
        int((evaluations.block / 8 / (1 + len(evaluations.matrices))) ** 0.5),
    )
    rows = np.linspace(0, evaluations.n_rows - 1, count).astype(np.intp)
    found = {}
    for asked, floor_of_question in zip(questions, floors.tolist(), strict=True):
        share: float | None = 0.0
        if cause(asked.question) != INTERACT:
            share = _kept(
                asked.about(0), evaluations.outputs[asked.output], floor_of_question, table, rows
            )
        found[asked.question.label] = {
            "cause": cause(asked.question),
            "without_interactions": share,
        }
    return found


def _kept(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    floor: float,
    table: Table,
    rows: IntArray,
) -> float | None:
    """Share of the disagreement of some rows that the additive model keeps; None where it cannot be read."""
    some = evaluations.restrict(rows) if len(rows) < evaluations.n_rows else evaluations
    shares = (evaluations.weights / evaluations.weights.sum())[None]
    between = {
        columns: between_values(table, evaluations, columns, shares)[0, rows]
        for columns in evaluations.snapped
    }
    without = additive_evaluations(question, some, between)
    whole = Splits.whole(some.weights, some.primitives)
    total = float(question.regional(some, whole)[0, 0])
    if without is None or total <= floor:
        return None
    return float(question.regional(without, whole)[0, 0]) / total


def additive_evaluations(
    question: ResolvedQuestion, evaluations: Evaluations, between: Mapping[Coalition, FloatArray]
) -> Evaluations | None:
    """The evaluations of the additive model on the same rows; None: they cannot be read from those of the model.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
    between : mapping
        For each column on a grid how far its curve is at each row from the value that stands there.
    """
    # With the curve ``c_i`` of each player, ``E_S[x, x'] = sum over S of c_i(x) + sum over the others of c_i(x')``.
    players = question.first.layout.players
    if evaluations.against or not all(player in evaluations.stored_as for player in players):
        return None
    game = Game.of(
        Local(), Marginal(), evaluations, Splits.whole(evaluations.weights, evaluations.primitives)
    )
    curves = {player: game.values({player: 1.0, frozenset(): -1.0})[0] for player in players}
    at_rows = {player: curve + between.get(player, 0.0) for player, curve in curves.items()}
    total: FloatArray = np.sum(list(at_rows.values()), axis=0)
    start, P = (
        float(np.average(evaluations.predictions, weights=evaluations.weights)),
        evaluations.primitives or NUMPY,
    )

    def of(columns: Coalition, curves: Mapping[Coalition, FloatArray]) -> FloatArray:
        inside = [curve for player, curve in curves.items() if player <= columns]
        return np.sum(inside, axis=0) if inside else np.zeros_like(total)

    def pairs(matrix: Matrix, own: FloatArray, rest: FloatArray) -> Matrix:
        _, carriers, index = matrix.present
        return Matrix(P.array(own[carriers])[:, None] + P.array(rest)[None, :], index)

    known = evaluations.matrices.items()
    matrices = {
        columns: pairs(matrix, of(columns, curves), start + total - of(columns, at_rows))
        for columns, matrix in known
    }
    snapped = {
        columns: replace(grid, predictions=start + total - between[columns])
        for columns, grid in evaluations.snapped.items()
    }
    own = {
        t: of(union(t.members), curves) if len(t.members) == 1 else 0.0 * total
        for t in evaluations.attributions
    }
    phi = {
        term: pairs(matrix, own[term], -own[term])
        for term, matrix in evaluations.attributions.items()
    }
    return replace(
        evaluations,
        predictions=start + total,
        matrices=matrices,
        snapped=snapped,
        attributions=phi,
    )
