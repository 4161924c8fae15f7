"""One fit: rows are drawn, the model is asked, some rows find regions and others judge them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from granite_xai.algebra.behavior import CENSORED, Risk, risk_loss
from granite_xai.base.deferred import Deferred
from granite_xai.base.errors import Diagnostics, InputError
from granite_xai.base.parallel import Meter, one_blas_thread, progress
from granite_xai.curves.description import CurveMaker
from granite_xai.curves.shared import joined
from granite_xai.evaluations.evaluations import Sample
from granite_xai.evaluations.probe import probe
from granite_xai.fitting.find import Path, Search, Task, path_of
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.judge import judge, ledger_of, trees_of_folds
from granite_xai.fitting.plan import (
    Draft,
    answered_coalitions,
    check_quantiles,
    choose_rows,
    curves_of,
    drafted,
    note_rows,
)
from granite_xai.fitting.remarks import causes, note_bins, note_floors
from granite_xai.fitting.settings import Settings, open_inputs
from granite_xai.fitting.stability import Stability, affordable_pairs, halves, stability_of
from granite_xai.inference.estimate import FoldTree
from granite_xai.inference.model_errors import Losses, ModelErrors, model_errors
from granite_xai.inference.nodes import with_levels_of
from granite_xai.search.growth import Tree
from granite_xai.search.problem import GivenRules, PartitionResult
from granite_xai.tables.rows import Rows

ROUNDING = 1e-12
"""Share of the largest target below which a model's error is rounding."""
LEAVES_OF_HALF = 2
"""Regions of the smallest size that a half must have room for."""


def fit(
    settings: Settings,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    record: Diagnostics | None = None,
) -> FitResult:
    """Find the regions of a table in which two explanations of a model agree.

    Parameters
    ----------
    settings : Settings
    X, y, sample_weight, clusters
        As in `Granite.fit`.
    record : Diagnostics, optional
        Gets what is noted on the way.
    """
    record = record or Diagnostics()
    opened = open_inputs(settings, X, y, sample_weight, clusters, record)
    choice = choose_rows(opened)
    note_rows(opened, choice, record)
    search_rows = opened.rows.take(choice.search)
    table = search_rows.table
    for text in table.notices:
        record.remember(text)
    constant = [
        column.name
        for column in table.columns
        if len(column.levels) + bool(column.missing.any()) < 2
    ]
    record.note("constant_columns", constant)
    record.note("candidates", dict.fromkeys(table.names, 0))  # stays so where no split is tried
    model = opened.model
    if not model.scale.is_response:
        # What share of the predictions lies on an end of the scale.
        clipped = model.share_clipped(table, settings.seed) if model.scale.is_bounded else 0.0
        record.note("scale", {"name": model.scale.name, "clipped": clipped})
    draft = Draft(opened, search_rows, opened.n_judging(choice.held_out), record)
    cost = draft.allowed_cost()
    record.note("plan", draft.facts(cost))
    with (
        closing(Meter(settings.resources, cost.model_rows)) as meter,
        model.watched(meter),
    ):
        plan = draft.plan(record, meter.announce)
        with record.stage("evaluations"):
            sample = plan.ask(search_rows, record, are_fitted=True, reading=draft.reading)
        floors = note_floors(draft.questions, sample, record)
        check_quantiles(plan, draft.questions, sample, record)
        weights = [weight for _, weight in settings.questions]
        task = Task(
            settings=settings,
            model=model,
            missing=opened.missing,
            plan=plan,
            questions=draft.questions,
            question_weights=np.array(weights * len(sample.outputs)),
            floors=floors,
        )
        search, result = _find_regions(task, sample, record)
        with record.stage("estimate"):
            held_out = opened.given_holdout
            if len(choice.held_out):
                held_out = opened.rows.take(choice.held_out)
            return _judged(result, search, held_out)


def plan_of(settings: Settings, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """What a fit would do, before it is done; the model is asked about a few rows, for its speed."""
    record = Diagnostics()
    opened = open_inputs(settings, X, y, sample_weight, None, record)
    draft = drafted(opened, choose_rows(opened), record)
    cost = draft.allowed_cost()
    draft.require_memory()
    probed = probe(opened.model, draft.table, record)
    return draft.facts(cost, probed.seconds_per_row)


def _find_regions(task: Task, sample: Sample, record: Diagnostics) -> tuple[Search, FitResult]:
    """Search for regions, and describe them."""
    settings = task.settings
    path = None
    with record.stage("search"):
        search = Search.of(task, sample, record)
        if search.chance is not None:
            record.note("chance", search.chance.facts())
        if settings.chooses_alpha:
            path = path_of(search)
            chosen = settings.with_alpha(path.chosen.alpha)
            search = replace(search, task=replace(task, settings=chosen))
        regions = search.regions()
    if path is not None:
        text = path.text(len(regions.partition))
        record.note("alpha", {"alpha": path.chosen.alpha, "text": text})
    if settings.level is not None:
        record.note("cause", causes(task, sample))
    result = replace(_described(search, regions), path=path)
    note_bins(record, result, sample, single_bins_are_meant=not settings.as_in_paper)
    if task.model.outputs:
        result = _with_each_output(search, result)
    return search, result


def _described(search: Search, regions: PartitionResult, output_name: str = "") -> FitResult:
    """What was found, with the curves of the regions."""
    task, sample = search.task, search.sample
    table = sample.rows.table
    first = task.questions[0]
    region_of_row = regions.partition.apply(table)
    coalitions = curves_of(first, table)

    def make_curves() -> CurveMaker:
        complete, cells = task.plan.complete(sample, coalitions)
        return CurveMaker(
            table=table,
            evaluations=complete.outputs[first.output],
            players=first.first.layout.explained,
            order=first.order,
            clusters=sample.rows.clusters,
            cells=cells,
            is_centred=task.settings.level is not None,
            shared=task.settings.shared_curves,
            is_probability=task.model.is_probability,
            scale=complete.outputs[first.output].scale,
            output=first.output,
            output_name=output_name,
        )

    maker = Deferred(make_curves)
    is_answered = coalitions <= answered_coalitions(sample)
    with one_blas_thread():
        shared_curves = Deferred(
            lambda: maker.value.shared_curves(regions.partition, region_of_row), now=is_answered
        )
    # Attributes with an entry for each row stand in the order in which the user's table has these rows.
    order = np.argsort(sample.rows.positions, kind="stable")
    by_row = {name: values[order] for name, values in regions.row_attributes.items()}
    return FitResult(
        **vars(task),
        rows=sample.rows,
        disagreements=search.disagreements,
        exceeded=None if search.chance is None else search.chance.exceeded,
        partition=regions.partition,
        regions=region_of_row,
        shared_curves=shared_curves,
        sample=sample,
        curve_maker=maker,
        learned={**regions.extra_attributes, **by_row},
    )


def _with_each_output(search: Search, joint: FitResult) -> FitResult:
    """Add the fit of each output, given the regions that were found for all; the model is not asked again."""
    task = search.task
    given = replace(task.settings, partitioner=GivenRules(joint.partition))
    n_questions = len(given.questions)
    outputs = {}
    for number, (name, model) in enumerate(task.model.outputs.items()):
        chosen = slice(number * n_questions, (number + 1) * n_questions)
        of_output = replace(
            task,
            settings=given,
            model=model,
            plan=task.plan.of_output(number, model),
            questions=tuple(
                question.about_output(0, question.label.removesuffix(f" of {name}"))
                for question in task.questions[chosen]
            ),
            question_weights=task.question_weights[chosen],
            floors=task.floors[chosen],
        )
        of_sample = Search.of(of_output, search.sample.of_output(number))
        outputs[name] = _described(of_sample, of_sample.regions(), output_name=str(name))
    of_outputs = [of_output.shared_curves for of_output in outputs.values()]
    shared_curves = Deferred(lambda: joined([each.value for each in of_outputs]), now=True)
    return replace(joint, outputs=outputs, shared_curves=shared_curves)


def _judged(result: FitResult, search: Search, held_out: Rows | None) -> FitResult:
    """The result with what the held-out rows say of its regions; without any, what the rows that searched say."""
    sample = judging = search.sample
    regions = None
    trees: Sequence[FoldTree] = ()
    if held_out is not None and result.level is not None:
        judging = result.plan.ask(held_out)
        regions = result.partition.apply(held_out.table)
    else:
        trees = trees_of_folds(result, sample)

    def judged(fit: FitResult, searched: Sample, judging: Sample) -> FitResult:
        judgement = judge(fit, judging, regions, trees=trees)
        nodes = tuple(
            with_levels_of(
                measured.figures,
                result.partition,
                result.regions,
                searched.outputs[question.output],
            )
            for measured, question in zip(judgement.measured, fit.questions, strict=True)
        )
        return replace(fit, estimate=judgement.estimate, nodes=nodes)

    joint = judged(result, sample, judging)
    others = [
        judged(fit, sample.of_output(number), judging.of_output(number))
        for number, fit in enumerate(result.outputs.values())
    ]
    is_given = isinstance(result.settings.holdout, tuple | list) and judging is not sample
    samples = [judging] if is_given or judging is sample else [sample, judging]
    errors = _errors(result, samples, "given" if is_given else "fitting")
    return replace(
        joint,
        ledger=ledger_of(joint, search, judging),
        errors=errors,
        outputs={
            name: replace(of_output, errors=errors and errors.of_output(name))
            for name, of_output in zip(result.outputs, others, strict=True)
        },
    )


def _errors(result: FitResult, samples: Sequence[Sample], rows: str) -> ModelErrors | None:
    """Errors of the model in the regions, where a target was given.

    Parameters
    ----------
    result : FitResult
    samples : sequence of Sample
        Rows whose predictions are known: those that searched, and those that judge.
    rows : "given" or "fitting"
        Whose rows these are.
    """
    if any(sample.rows.y is None for sample in samples):
        return None
    behavior = result.questions[0].behavior
    measure = "brier" if result.model.is_probability else "rmse"
    loss = risk_loss("squared")
    if result.model.is_survival:
        loss = risk_loss(CENSORED)
    elif isinstance(behavior, Risk) and behavior.loss not in (None, "squared", "brier"):
        loss = risk_loss(behavior.loss)
        measure = behavior.loss if isinstance(behavior.loss, str) else "loss"
    of_outputs = []
    for number, name in enumerate(result.outputs or [None]):
        of_samples = [sample.outputs[number] for sample in samples]
        predictions = np.concatenate([each.predictions for each in of_samples])
        y = np.concatenate([np.asarray(each.y) for each in of_samples])
        losses = loss.of_predictions(predictions, y)
        residuals = np.full(len(y), nan)
        if not result.model.is_survival:
            residuals = y - predictions
            is_rounding = np.abs(residuals) <= ROUNDING * np.abs(y).max()
            residuals[is_rounding] = losses[is_rounding] = 0.0
        of_outputs.append(Losses(losses, residuals, name))
    all_rows = [sample.rows for sample in samples]
    first_cluster = np.cumsum([0, *(int(each.clusters.max()) + 1 for each in all_rows)])
    return model_errors(
        of_outputs,
        result.partition,
        np.concatenate([result.partition.apply(each.table) for each in all_rows]),
        np.concatenate([each.weights for each in all_rows]),
        np.concatenate(
            [each.clusters + n for each, n in zip(all_rows, first_cluster, strict=False)]
        ),
        measure=measure,
        rows=rows,
        level=result.level,
    )


# Searches after a fit ---------------------------------------------------------------------------------------


def path_of_fit(result: FitResult) -> Path:
    """The path of a fit: its trees from the largest to none.

    Raises
    ------
    InputError
        P03, where the fit has no evaluations any more, or no tree.
    """
    if result.path is not None:
        return result.path
    sample = result.kept_sample(
        "path_", "alpha", "Fit again, or read path_ before the fit is saved."
    )
    partitioner = result.settings.partitioner
    if not isinstance(partitioner, Tree):
        raise InputError(
            f"{type(partitioner).__name__} has no path: its regions have no price.",
            code="P03",
            argument="partitioner",
            hint="Leave partitioner out.",
        )
    return path_of(Search.of(result, sample))


def search_halves(result: FitResult, n_pairs: int | None, model_rows: int) -> Stability:
    """The search on random halves of the rows of a fit, and on their complements; the model is not asked.

    Parameters
    ----------
    result : FitResult
    n_pairs : int, optional
        Halves, each searched together with its complement. None: as many as cost no more than the fit, between 4
        and 25.
    model_rows : int
        What the fit cost.

    Raises
    ------
    InputError
        P03, where the regions were given or the evaluations are gone; D30, where the rows are one cluster.
    """
    sample = result.kept_sample(
        "stability()", "models", "Fit again, or read stability_ of a saved fit."
    )
    settings = result.settings
    if isinstance(settings.partitioner, GivenRules):
        raise InputError(
            "the regions were given, so that they are the same on any rows.",
            code="P03",
            argument="partitioner",
            hint="Ask the fit that searched.",
        )
    if len(np.unique(result.rows.clusters)) < 2:
        what = "one row" if len(result.rows) == 1 else "one cluster of rows"
        raise InputError(
            f"stability() searches halves of the fitting rows, and there is {what}.",
            code="D30",
            argument="X",
            hint="Fit on more rows.",
        )
    is_tree = isinstance(settings.partitioner, Tree)
    if is_tree and len(sample.rows) < 2 * LEAVES_OF_HALF * settings.tree.min_samples_leaf:
        return Stability(
            score=nan, low=nan, high=nan, splits=(), n_regions=len(result.partition), searches=0
        )
    if n_pairs is None:
        n_sets = sum(len(question.sets) for question in result.questions)
        n_columns = len(sample.rows.table.explained)
        n_pairs = affordable_pairs(len(sample.rows) // 2, n_sets, n_columns, model_rows)
    quiet = result.without_bars()
    pairs = []
    halves_of_rows = halves(sample.rows.clusters, n_pairs, settings.seed)
    for sides in progress(halves_of_rows, settings.resources, "resamples", n_pairs):
        one, other = (Search.of(quiet, sample.take(side)).regions().partition for side in sides)
        pairs.append((one, other))
    return stability_of(result.partition, sample.rows.table, pairs)
