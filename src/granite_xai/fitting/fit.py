"""One fit: rows are drawn, the model is asked, some rows find regions and others judge them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.base.deferred import Deferred
from granite_xai.base.errors import Diagnostics, InputError
from granite_xai.base.parallel import Meter, one_blas_thread, progress
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.curves.description import CurveMaker
from granite_xai.curves.shared import joined
from granite_xai.evaluations.ensembles import Reading
from granite_xai.evaluations.evaluations import Sample
from granite_xai.evaluations.limits import require_table_room
from granite_xai.evaluations.probe import probe
from granite_xai.fitting.find import Search, Searching
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.judge import (
    judge_by_other_rows,
    judge_by_search_rows,
    trees_of_folds,
)
from granite_xai.fitting.ledger import ledger_of
from granite_xai.fitting.opening import Opened, collected, open_inputs
from granite_xai.fitting.path import Path, path_of
from granite_xai.fitting.plan import (
    Draft,
    Options,
    Plan,
    RowChooser,
    answered_coalitions,
    check_quantiles,
    coalitions_of_curves,
    make_plan,
)
from granite_xai.fitting.remarks import causes, note_bins, note_floors
from granite_xai.fitting.settings import Settings
from granite_xai.fitting.stability import (
    Stability,
    affordable_pairs,
    halves,
    search_price,
    stability_of,
)
from granite_xai.inference.nodes import with_levels_of
from granite_xai.regions import Partition
from granite_xai.search.plateau import other_cuts
from granite_xai.search.problem import GivenRules, PartitionResult
from granite_xai.search.tree import Tree
from granite_xai.tables import Table
from granite_xai.tables.rows import Rows

LEAVES_OF_HALF = 2
"""Regions of the smallest size that a half must have room for."""


def fit(
    g: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    record: Diagnostics | None = None,
    seed: int | None = None,
) -> FitResult:
    """Find the regions of a table in which two explanations of a model agree.

    Parameters
    ----------
    g : Granite
        Its options.
    X, y, sample_weight, clusters
        As in `Granite.fit`.
    record : Diagnostics, optional
        Gets what is noted on the way.
    seed : int, optional
        Of all draws, where some were made already; None: as ``random_state`` says.
    """
    record = record or Diagnostics()
    opened, chooser = _open(g, X, y, sample_weight, clusters, record, seed)
    choice = chooser.choose()
    chooser.warn_of_few_rows(choice, record)
    record.note("rows", chooser.facts(choice))
    search = opened.rows.take(choice.search)
    _note_table(search.table, record)
    cost = chooser.draft_of(choice).allowed_cost(chooser.n_judging(choice))
    asking = Asking.about(opened, search, record)
    n_judging = chooser.n_judging(choice)
    record.note("plan", asking.draft.facts(cost, n_judging, len(opened.rows), seconds_per_row=0.0))
    with (
        closing(Meter(opened.settings.resources, cost.model_rows)) as meter,
        opened.model.watched(meter),
    ):
        plan = asking.plan(record, meter)
        with record.stage("evaluations"):
            sample = plan.ask(search, record, are_fitted=True)
        result, searched = _found(opened, asking, plan, sample, record)
        with record.stage("estimate"):
            held_out = opened.given_holdout
            if len(choice.held_out):
                held_out = opened.rows.take(choice.held_out)
            return _judged(result, searched, held_out)


def plan_of(g: Any, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """What a fit would do, before it is done; the model is asked about a few rows, for its speed."""
    record = Diagnostics()
    opened, chooser = _open(g, X, y, sample_weight, None, record, None)
    choice = chooser.choose()
    draft = chooser.draft_of(choice)
    n_judging = chooser.n_judging(choice)
    cost = draft.allowed_cost(n_judging)
    draft.require_memory()
    probed = probe(opened.model, draft.search.table, record)
    return draft.facts(cost, n_judging, len(opened.rows), probed.seconds_per_row)


# Rows and plan ------------------------------------------------------------------------------------------


def _open(
    g: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    clusters: Any,
    record: Diagnostics,
    seed: int | None,
) -> tuple[Opened, RowChooser]:
    """The options, rows and model of a fit, and how its rows are chosen."""
    settings = Settings.of(g, seed)
    inputs = collected(g, X, y, sample_weight, clusters, record, settings.seed)
    opened = open_inputs(settings, *inputs, record)
    n_given = None if opened.given_holdout is None else len(opened.given_holdout)

    def draft(search: Rows, options: Options) -> Draft:
        return Asking.about(opened, search, Diagnostics(), options).draft

    return opened, RowChooser(opened.rows, draft, settings.plan_options(n_given))


def _note_table(table: Table, record: Diagnostics) -> None:
    """Put on record what was noticed when the table was read, and its constant columns."""
    for text in table.notices:
        record.remember(text)
    constant = [
        column.name
        for column in table.columns
        if len(column.levels) + bool(column.missing.any()) < 2
    ]
    record.note("constant_columns", constant)
    record.note("candidates", dict.fromkeys(table.names, 0))  # stays so where no split is tried


class Asking(NamedTuple):
    """What a fit on some rows asks its model.

    Parameters
    ----------
    opened : Opened
    search : Rows
        The rows that search.
    questions : tuple of ResolvedQuestion
        Resolved on these rows.
    beside : tuple
        What the partitioner reads besides.
    draft : Draft
    """

    opened: Opened
    search: Rows
    questions: tuple[ResolvedQuestion, ...]
    beside: tuple[Any, ...]
    draft: Draft

    @classmethod
    def about(
        cls, opened: Opened, search: Rows, record: Diagnostics, options: Options | None = None
    ) -> Asking:
        """About some of the rows, under the options of the fit or others."""
        settings = opened.settings
        if options is None:
            n_given = None if opened.given_holdout is None else len(opened.given_holdout)
            options = settings.plan_options(n_given)
        settings.tree.columns(search.table)  # refuses columns that the table does not have
        require_table_room(search.table, options.resources)
        questions = resolved_questions(opened, search.table)
        beside = settings.partitioner.extra_effects(search.table, settings.resources, settings.seed)
        curves: frozenset[Coalition] = frozenset()
        if _asks_about_all_players(opened, questions, search.table):
            curves = curves_of(questions[0], search.table)
        draft = Draft(opened.model, (*questions, *beside), search, curves, options, record)
        return cls(opened, search, questions, beside, draft)

    def plan(self, record: Diagnostics, meter: Meter) -> Plan:
        """Probe the model and choose the values that stand for columns."""
        return make_plan(
            self.opened.model,
            (*self.questions, *self.beside),
            self.search,
            self.draft.curves,
            self.draft.options,
            record,
            meter.announce,
        )


def resolved_questions(opened: Opened, table: Table) -> tuple[ResolvedQuestion, ...]:
    """The questions on some rows; where all outputs are explained, those of the first one, then of the next."""
    settings = opened.settings
    explained = [side for asked, _ in settings.questions for side in (asked.first, asked.second)]
    is_partial = any(side.is_partial for side in explained)
    gives_paths = is_partial and Reading(opened.model, table).gives_attributions
    resolved = [
        question.resolve(
            table,
            is_probability=opened.model.is_probability,
            gives_paths=gives_paths,
            max_evaluations=settings.resources.max_evaluations,
            seed=settings.seed,
        )
        for question, _ in settings.questions
    ]
    names = list(opened.model.outputs)
    if not names:
        return tuple(resolved)
    return tuple(
        question.about_output(number, f"{question.label} of {name}")
        for number, name in enumerate(names)
        for question in resolved
    )


def curves_of(question: ResolvedQuestion, table: Table) -> frozenset[Coalition]:
    """What the curves of the players of a question read."""
    return coalitions_of_curves(question.first.layout.explained, question.order, table.explained)


def _asks_about_all_players(
    opened: Opened, questions: Sequence[ResolvedQuestion], table: Table
) -> bool:
    """Whether a fit reads the effects of all players before it searches; otherwise it pays for some.

    It does where its questions are about all of them, where all outputs are explained, and where a column has so many
    levels that the search puts them into the order of their effects (C13).
    """
    if opened.model.outputs:
        return True
    compared = Coalition().union(*(members for question in questions for members in question.sets))
    players = Coalition().union(*questions[0].first.layout.explained)
    if compared >= players:
        return True
    tree = opened.settings.tree
    split_columns = tree.columns(table)
    return any(
        column.kind == "nominal"
        and column.position in split_columns
        and 2 ** (len(column.levels) - 1) > tree.max_candidates
        for column in table.columns
    )


# Regions and what they say --------------------------------------------------------------------------------


def _found(
    opened: Opened, asking: Asking, plan: Plan, sample: Sample, record: Diagnostics
) -> tuple[FitResult, Search]:
    """Search for regions, and describe them."""
    settings = opened.settings
    n_outputs = len(sample.outputs)
    weights = np.array([weight for _, weight in settings.questions] * n_outputs)
    floors = note_floors(asking.questions, sample, plan, record)
    check_quantiles(plan, asking.questions, sample, record)
    searching = Searching(settings, plan, opened.missing, asking.questions, weights, floors)
    with record.stage("search"):
        search = searching.on(sample, record)
        if search.chance is not None:
            record.note("chance", search.chance.facts())
        path = None
        if settings.chooses_alpha:
            path = find_path(searching, search)
            settings = settings.with_alpha(path.chosen.alpha)
            searching = searching.given(settings)
            search = replace(search, searching=searching)
        regions = search.regions()
        _note_other_cuts(search, regions.partition)
    if path is not None:
        text = path.text(len(regions.partition))
        record.note("alpha", {"alpha": path.chosen.alpha, "text": text})
    if settings.level is not None:
        record.note("cause", causes(asking.questions, sample, plan, floors))
    result = _described(opened, searching, search, sample, regions)
    note_bins(record, result, sample, single_bins_are_meant=not settings.as_in_paper)
    result = replace(result, path=path)
    if opened.model.outputs:
        result = _with_each_output(opened, result, searching, search)
    return result, search


def _note_other_cuts(search: Search, partition: Partition) -> None:
    """Put on record how clear each split is: how far its threshold could move, and which feature comes next."""
    settings = search.searching.settings
    is_searched = isinstance(settings.partitioner, Tree) and partition.root is not None
    if not is_searched or settings.level is None or partition.root is None:
        return
    with one_blas_thread():
        cuts = [other.record() for other in other_cuts(search.problem(), partition.root)]
    search.record.note("splits", cuts)


def _described(
    opened: Opened,
    searching: Searching,
    search: Search,
    sample: Sample,
    regions: PartitionResult,
    output_name: str = "",
) -> FitResult:
    """What was found, with the curves of the regions."""
    table = sample.rows.table
    plan = searching.plan
    questions = searching.questions
    settings = searching.settings
    region_of_row = regions.partition.apply(table)
    output = questions[0].output
    coalitions = curves_of(questions[0], table)

    def make_curves() -> CurveMaker:
        complete, cells = plan.complete(sample, coalitions)
        return CurveMaker(
            table=table,
            evaluations=complete.outputs[output],
            players=questions[0].first.layout.explained,
            order=questions[0].order,
            clusters=sample.rows.clusters,
            cells=cells,
            is_centred=settings.level is not None,
            shared=settings.shared_curves,
            is_probability=opened.model.is_probability,
            output=output,
            output_name=output_name,
        )

    maker = Deferred(make_curves)
    is_answered = coalitions <= answered_coalitions(sample)
    with one_blas_thread():
        shared_curves = Deferred(
            lambda: maker.value.shared_curves(regions.partition, region_of_row), now=is_answered
        )
    return FitResult(
        settings=settings,
        model=opened.model,
        missing=opened.missing,
        rows=sample.rows,
        plan=plan,
        questions=questions,
        question_weights=searching.question_weights,
        floors=searching.floors,
        disagreements=search.disagreements,
        exceeded=None if search.chance is None else search.chance.exceeded,
        partition=regions.partition,
        regions=region_of_row,
        shared_curves=shared_curves,
        sample=sample,
        curve_maker=maker,
        learned={
            **regions.extra_attributes,
            **_in_order_of_table(sample.rows, regions.row_attributes),
        },
    )


def _in_order_of_table(rows: Rows, by_row: Any) -> dict[str, IntArray | FloatArray]:
    """Attributes with an entry for each row, in the order in which the user's table has these rows."""
    order = np.argsort(rows.positions, kind="stable")
    return {name: values[order] for name, values in by_row.items()}


def _with_each_output(
    opened: Opened, joint: FitResult, searching: Searching, search: Search
) -> FitResult:
    """Add the fit of each output, given the regions that were found for all; the model is not asked again."""
    names = list(opened.model.outputs)
    n_questions = len(searching.questions) // len(names)
    outputs = {}
    for number, name in enumerate(names):
        chosen = slice(number * n_questions, (number + 1) * n_questions)
        labels = [
            question.label.removesuffix(f" of {name}") for question in searching.questions[chosen]
        ]
        model = opened.model.outputs[name]
        of_output = replace(
            searching,
            plan=searching.plan.of_output(number, model),
            settings=searching.settings.given(GivenRules(joint.partition)),
            questions=tuple(
                question.about_output(0, label)
                for question, label in zip(searching.questions[chosen], labels, strict=True)
            ),
            question_weights=searching.question_weights[chosen],
            floors=searching.floors[chosen],
        )
        search_of_output = of_output.on(search.sample.of_output(number))
        outputs[name] = _described(
            replace(opened, model=model),
            of_output,
            search_of_output,
            search_of_output.sample,
            search_of_output.regions(),
            output_name=str(name),
        )
    of_outputs = [of_output.shared_curves for of_output in outputs.values()]
    shared_curves = Deferred(lambda: joined([each.value for each in of_outputs]), now=True)
    return replace(joint, outputs=outputs, shared_curves=shared_curves)


def _judged(result: FitResult, search: Search, held_out: Rows | None) -> FitResult:
    """The result with what the held-out rows say of its regions; without any, what the rows that searched say."""
    sample = judging = search.sample
    if held_out is not None and result.level is not None:
        asked = judging = result.plan.ask(held_out)
        regions = result.partition.apply(held_out.table)
        judgements = [judge_by_other_rows(result, asked, regions)]
        for number, of_output in enumerate(result.outputs.values()):
            judgements.append(judge_by_other_rows(of_output, asked.of_output(number), regions))
    else:
        searching = searching_of(result)
        trees = trees_of_folds(result, sample, searching)
        judgements = [judge_by_search_rows(result, sample, trees)]
        for of_output in result.outputs.values():
            judgements.append(judge_by_search_rows(of_output, of_output.sample or sample, trees))
    results = []
    for fit_of_output, judgement in zip(
        [result, *result.outputs.values()], judgements, strict=True
    ):
        outputs = (fit_of_output.sample or sample).outputs
        nodes = tuple(
            with_levels_of(figures, result.partition, result.regions, outputs[question.output])
            for figures, question in zip(judgement.nodes, fit_of_output.questions, strict=True)
        )
        results.append(replace(fit_of_output, estimate=judgement.estimate, nodes=nodes))
    joint, *others = results
    joint = replace(joint, ledger=ledger_of(joint, search, judging))
    return replace(joint, outputs=dict(zip(result.outputs, others, strict=True)))


# Searches after a fit ---------------------------------------------------------------------------------------


def searching_of(result: FitResult) -> Searching:
    """What the search of a fit knew beside the rows."""
    return Searching(
        settings=result.settings,
        plan=result.plan,
        missing=result.missing,
        questions=result.questions,
        question_weights=result.question_weights,
        floors=result.floors,
    )


def find_path(searching: Searching, search: Search) -> Path:
    """The trees from the largest to none, each judged by folds of the rows that did not search."""
    problem = search.problem()
    if problem.below_noise_floor:
        return Path()
    rows = search.sample.rows
    # Whether there is anything to divide is decided by all rows, not by each fold's again.
    exceeded = None if search.chance is None else search.chance.exceeded
    quiet = searching.repeated()
    resources = searching.settings.resources
    with closing(Meter(resources, 0, desc="path", unit="searches")) as meter:

        def search_at(places: IntArray, alpha: float) -> Any:
            meter(1)
            priced = quiet.given(quiet.settings.with_alpha(alpha))
            on_rows = priced.on(search.sample.take(places), exceeded=exceeded)
            return on_rows.regions().partition.root

        seed = searching.settings.seed
        return path_of(rows.table, rows.clusters, seed, problem.share, search_at)


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
    searching = searching_of(result)
    return find_path(searching, searching.on(sample))


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
    _require_halves(result)
    is_tree = isinstance(settings.partitioner, Tree)
    if is_tree and len(sample.rows) < 2 * LEAVES_OF_HALF * settings.tree.min_samples_leaf:
        return Stability.unmeasured(result.partition)
    if n_pairs is None:
        n_sets = sum(len(question.sets) for question in result.questions)
        n_columns = len(sample.rows.table.explained)
        price = search_price(len(sample.rows) // 2, n_sets, n_columns)
        n_pairs = affordable_pairs(price, model_rows)
    searching = searching_of(result).repeated()
    pairs = []
    halves_of_rows = halves(sample.rows.clusters, n_pairs, settings.seed)
    for sides in progress(halves_of_rows, settings.resources, "resamples", n_pairs):
        one, other = (searching.on(sample.take(side)).regions().partition for side in sides)
        pairs.append((one, other))
    return stability_of(result.partition, sample.rows.table, pairs)


def _require_halves(result: FitResult) -> None:
    """Refuse regions that were not searched, and rows that cannot be halved."""
    if isinstance(result.settings.partitioner, GivenRules):
        raise InputError(
            "the regions were given, so that they are the same on any rows.",
            code="P03",
            argument="partitioner",
            hint="Ask the fit that searched.",
        )
    if len(np.unique(result.rows.clusters)) >= 2:
        return
    what = "one row" if len(result.rows) == 1 else "one cluster of rows"
    raise InputError(
        f"stability() searches halves of the fitting rows, and there is {what}.",
        code="D30",
        argument="X",
        hint="Fit on more rows.",
    )
