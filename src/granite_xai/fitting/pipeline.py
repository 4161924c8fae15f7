"""One fit, step by step: the model is asked, all rows are measured, regions are searched and described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Meter, one_blas_thread, resolve_jobs
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.prediction_range import EvaluationRange
from granite_xai.evaluations.probe import Probe, probe
from granite_xai.evaluations.value_cells import LearnedValues
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.masking.fitted import FittedMaskings, fit_maskings
from granite_xai.explanation.memory import memory_stages
from granite_xai.fitting.causes import causes
from granite_xai.fitting.fit_inputs import FitInputs
from granite_xai.fitting.fit_request import (
    asks_about_all_players,
    candidate_bytes,
    complete_for_surrogate,
    request_of_fit,
    require_memory,
    with_learned_values,
)
from granite_xai.fitting.fit_result import FitResult, FitRun
from granite_xai.fitting.grid_check import check_grid, grid_check_in_words
from granite_xai.fitting.measuring import measure
from granite_xai.fitting.searching import (
    RootFigures,
    chance_of_all_rows,
    find_path,
    note_clarity,
    search_regions,
    with_proven_gains,
)
from granite_xai.fitting.thin_bins import note_bins
from granite_xai.inference.path import Path
from granite_xai.search.given_rules import GivenRules
from granite_xai.search.partitioner import PartitionResult
from granite_xai.surrogate.additive import SurrogateFit, fit_with_fidelity
from granite_xai.trees.ensembles import Route


def run(inputs: FitInputs, meter: Meter) -> FitRun:
    """Ask the model, search for regions, and describe them.

    Parameters
    ----------
    inputs : FitInputs
        What the fit is about; its record gets what is noted on the way.
    meter : Meter
        Says at once what will take long.

    Raises
    ------
    ResourceError
        D33, where the fit needs more memory than allowed; the model has not been asked then.
    """
    require_memory(inputs)
    probed = probe(inputs.predictor, inputs.table, inputs.diagnostics)
    meter.announce(probed.seconds_per_row)
    inputs = with_learned_values(inputs)
    answers = _ask_model(inputs)
    evaluations = answers.evaluations
    with inputs.diagnostics.stage("search"), one_blas_thread():
        root = _measure_all_rows(inputs, answers, probed)
        inputs, path = _with_chosen_alpha(inputs, evaluations, root)
        regions = search_regions(inputs, evaluations, root)
        note_clarity(inputs, evaluations, root, regions.partition)
        _note_alpha(inputs, path, len(regions.partition))
    _note_causes(inputs, evaluations, root)
    fitted = _describe(inputs, evaluations, answers.reference, root, regions, path)
    return _with_each_output(fitted)


class ModelAnswers(NamedTuple):
    """What the model said about the rows of a fit."""

    evaluations: Evaluations
    extent: EvaluationRange  # how large its predictions are
    reference: FittedMaskings  # bins, baselines, copulas and intervals that maskings learned


def _ask_model(inputs: FitInputs) -> ModelAnswers:
    """Evaluate all that the questions read, and check a grid of quantiles against exact values."""
    record = inputs.diagnostics
    requested = request_of_fit(inputs)
    reference = fit_maskings(
        requested.readings, requested.changes, inputs.table, inputs.weights, inputs.seed, record
    )
    record.note("bytes", requested.n_bytes)
    stages = memory_stages(requested, inputs.route, inputs.resources, candidate_bytes(inputs))
    record.note("plan", {**stages, **inputs.plan})
    with record.stage("evaluations"):
        evaluations, extent = evaluate(
            inputs.route,
            requested,
            reference,
            resources=inputs.resources,
            weights=inputs.weights,
            y=inputs.y,
            n_jobs=inputs.n_jobs,
            diagnostics=record,
        )
        extent.require_sizeable()
    is_on_quantiles = bool(evaluations.snapped) and inputs.n_pilot_values is None
    if is_on_quantiles:
        note = check_grid(
            inputs.comparisons,
            inputs.route,
            evaluations,
            reference,
            resources=inputs.resources,
            n_rows=requested.n_checked_rows,
            seed=inputs.seed,
            y=inputs.y,
        )
        record.note("max_grid", note)
        record.remember(grid_check_in_words(note))
    return ModelAnswers(evaluations=evaluations, extent=extent, reference=reference)


def _measure_all_rows(inputs: FitInputs, answers: ModelAnswers, probed: Probe) -> RootFigures:
    """The disagreement on all rows, its noise floor, and what chance says of it."""
    evaluations = answers.evaluations
    measured = measure(
        inputs.comparisons,
        evaluations,
        answers.extent,
        probed,
        is_single_precision=inputs.predictor.native_float32,
        n_jobs=resolve_jobs(inputs.n_jobs),
        record=inputs.diagnostics,
    )
    root = RootFigures(
        disagreements=measured.disagreements,
        floors=measured.floors,
        error=measured.error,
        chance=chance_of_all_rows(inputs, evaluations, measured.disagreements),
    )
    return with_proven_gains(inputs, evaluations, root)


def _with_chosen_alpha(
    inputs: FitInputs, evaluations: Evaluations, root: RootFigures
) -> tuple[FitInputs, Path | None]:
    """The inputs with the price of a region that the path chooses, and the path; None: alpha is a number."""
    if not inputs.chooses_alpha:
        return inputs, None
    path = find_path(inputs, evaluations, root)
    return inputs.with_alpha(path.chosen.alpha), path


def _note_alpha(inputs: FitInputs, path: Path | None, n_regions: int) -> None:
    if path is not None:
        chosen = {"alpha": path.chosen.alpha, "text": path.text(n_regions)}
        inputs.diagnostics.note("alpha", chosen)


def _note_causes(inputs: FitInputs, evaluations: Evaluations, root: RootFigures) -> None:
    if inputs.confidence is not None:
        by_label = causes(inputs.comparisons, evaluations, root.floors, inputs.table)
        inputs.diagnostics.note("cause", by_label)


def _describe(
    inputs: FitInputs,
    evaluations: Evaluations,
    reference: FittedMaskings,
    root: RootFigures,
    searched: PartitionResult,
    path: Path | None = None,
) -> FitRun:
    """What was found, with the central rows of the regions and their additive surrogate."""
    partition = searched.partition
    regions = partition.apply(inputs.table)
    rows_of_regions = [np.flatnonzero(regions == k) for k in range(len(partition))]
    note_bins(
        inputs.diagnostics,
        evaluations,
        rows_of_regions,
        names=inputs.table.names,
        single_bins_are_meant=not inputs.as_in_paper,
    )
    surrogate_evaluations = Deferred(partial(complete_for_surrogate, inputs, evaluations))
    additive = Deferred(
        partial(_fit_surrogate, inputs, surrogate_evaluations, rows_of_regions),
        now=asks_about_all_players(inputs),
    )
    values = None
    if isinstance(inputs.values, LearnedValues):
        values = inputs.values.without_curves()
    result = FitResult(
        table=inputs.table,
        predictor=inputs.predictor,
        comparisons=inputs.comparisons,
        question_weights=inputs.question_weights,
        reference=reference,
        partition=partition,
        regions=regions,
        weights=inputs.weights,
        root_disagreements=root.disagreements,
        floors=root.floors,
        remaining=float(sum(region.disagreement for region in partition)),
        additive=additive,
        missing=inputs.missing,
        confidence=inputs.confidence,
        chance=root.chance,
        path=path,
        learned={
            **searched.extra_attributes,
            **_in_order_of_table(inputs, searched.row_attributes),
        },
        values=values,
    )
    return FitRun(
        result=result,
        evaluations=evaluations,
        inputs=inputs,
        error=root.error,
        surrogate_evaluations=surrogate_evaluations,
    )


def _fit_surrogate(
    inputs: FitInputs,
    surrogate_evaluations: Deferred[Evaluations],
    rows_of_regions: Sequence[IntArray],
) -> SurrogateFit:
    """One curve per player in each region, and over all rows."""
    return fit_with_fidelity(
        inputs.table,
        surrogate_evaluations.value,
        inputs.comparisons[0].first.layout.explained,
        inputs.comparisons[0].effect_order,
        rows_of_regions,
        probability=inputs.predictor.is_probability,
        centred=inputs.confidence is not None,
    )


def _in_order_of_table(
    inputs: FitInputs, by_row: Mapping[str, IntArray | FloatArray]
) -> dict[str, IntArray | FloatArray]:
    """Attributes with an entry for each row, in the order in which the user's table has these rows."""
    order = np.argsort(inputs.positions, kind="stable")
    return {name: values[order] for name, values in by_row.items()}


def _with_each_output(joint: FitRun) -> FitRun:
    """Where all outputs are explained: add the fit of each one, given the regions that were found for all."""
    outputs = joint.inputs.predictor.outputs
    if not outputs:
        return joint
    runs = {name: _fit_output(joint, number, name) for number, name in enumerate(outputs)}
    results = {name: output_run.result for name, output_run in runs.items()}
    surrogates = [result.additive.value for result in results.values()]
    additive = replace(
        joint.result.additive.value,
        fidelity=float(np.mean([surrogate.fidelity for surrogate in surrogates])),
        global_fidelity=float(np.mean([surrogate.global_fidelity for surrogate in surrogates])),
    )
    result = replace(joint.result, outputs=results, additive=Deferred(lambda: additive, now=True))
    return replace(joint, result=result, outputs=runs)


def _fit_output(joint: FitRun, number: int, name: object) -> FitRun:
    """A fit of one output in the regions of all; the model is not asked again.

    Parameters
    ----------
    joint : FitRun
        Of all outputs. Its questions are those of the first output, then those of the second, and so on.
    number, name : int, object
        Of the output.
    """
    inputs = joint.inputs
    evaluations = joint.evaluations.outputs[number]
    n_questions = len(inputs.comparisons) // len(inputs.predictor.outputs)
    of_output = slice(number * n_questions, (number + 1) * n_questions)
    chance = joint.result.chance
    if chance is not None:
        chance = chance.of_questions(of_output)
    output_inputs = replace(
        inputs,
        route=Route(inputs.predictor.outputs[name], inputs.table),
        y=evaluations.y,
        comparisons=_questions_of_output(inputs.comparisons[of_output], name),
        question_weights=inputs.question_weights[of_output],
        partitioner=GivenRules(joint.result.partition),
    )
    root = RootFigures(
        disagreements=joint.result.root_disagreements[of_output],
        floors=joint.result.floors[of_output],
        error=joint.error,
        chance=chance,
    )
    with one_blas_thread():
        regions = search_regions(output_inputs, evaluations, root)
    return _describe(output_inputs, evaluations, joint.result.reference, root, regions)


def _questions_of_output(
    questions: Sequence[ResolvedQuestion], name: object
) -> tuple[ResolvedQuestion, ...]:
    """Questions of a joint fit as a fit of the one output asks them: about its only output, under their own label."""
    of_output = []
    for question in questions:
        label = question.question.label.removesuffix(f" of {name}")
        of_output.append(question.about_output(0, label))
    return tuple(of_output)
