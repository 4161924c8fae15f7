"""A fit: rows are drawn, the model is asked, some rows find regions and others judge them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from granite_xai.base.errors import Diagnostics
from granite_xai.base.typing import FloatArray
from granite_xai.core.algebra.disagreement import ResolvedQuestion, questions
from granite_xai.core.algebra.influence import Interactions
from granite_xai.core.algebra.objective import Shares
from granite_xai.core.algebra.region_weights import RegionWeights
from granite_xai.core.evaluations.evaluations import Evaluations, Sample
from granite_xai.core.fitting.plan import (
    Draft,
    Options,
    Plan,
    RowChooser,
    check_quantiles,
    coalitions_of_curves,
    make_plan,
)
from granite_xai.core.fitting.settings import Settings
from granite_xai.core.inference.noise import Estimate, Noise, Signs, judge, noise_of
from granite_xai.core.search.problem import Problem
from granite_xai.models import Predictor, for_table
from granite_xai.models.targets import read_clusters, read_weights
from granite_xai.regions import Leaf, Partition
from granite_xai.tables import Rows, Table, read_table

__all__ = ["Fit", "Settings", "fit"]


@dataclass(frozen=True)
class Fit:
    """What was found."""

    settings: Settings
    plan: Plan
    sample: Sample
    disagreement: float
    partition: Partition
    estimate: Estimate | None
    record: Diagnostics

    @property
    def remaining(self) -> float:
        """Share of the disagreement that the regions leave on the rows that found them."""
        return sum(region.disagreement for region in self.partition)


def fit(
    model: Any,
    X: Any,
    y: Any = None,
    settings: Settings | None = None,
    weights: Any = None,
    clusters: Any = None,
) -> Fit:
    """Find the regions of a table in which two explanations of a model agree.

    Parameters
    ----------
    model : estimator or function
    X : table of shape (n, d)
    y : array of shape (n,), optional
        For questions about risk.
    settings : Settings, optional
    weights, clusters : arrays of shape (n,), optional
    """
    settings = settings or Settings()
    record = Diagnostics()
    rows, predictor = open_inputs(model, X, y, weights, clusters, settings, record)
    options = options_of(settings)

    def draft(search: Rows, options: Options) -> Draft:
        questions = (question_on(search.table, settings),)
        return Draft(predictor, questions, search, curves_of(search.table), options, record)

    chooser = RowChooser(rows, draft, options)
    choice = chooser.choose()
    chooser.warn_of_few_rows(choice, record)
    record.note("rows", chooser.facts(choice))
    search, judges = rows.take(choice.search), rows.take(choice.held_out)
    question = question_on(search.table, settings)
    plan = make_plan(predictor, (question,), search, curves_of(search.table), options, record)
    sample = plan.ask(search, record)
    check_quantiles(plan, (question,), sample, record)
    disagreement, partition = find_regions(sample, question, settings)
    estimate = None
    if len(judges):
        estimate = judge_regions(plan.ask(judges), question, partition, settings)
    return Fit(
        settings=settings,
        plan=plan,
        sample=sample,
        disagreement=disagreement,
        partition=partition,
        estimate=estimate,
        record=record,
    )


def open_inputs(
    model: Any,
    X: Any,
    y: Any,
    weights: Any,
    clusters: Any,
    settings: Settings,
    record: Diagnostics,
) -> tuple[Rows, Predictor]:
    """The rows of a table, in the fixed order where they are a sample, and the model."""
    table = read_table(X, missing="allow")
    resources = settings.resources
    predictor = for_table(
        model,
        table,
        None,
        batch_size=resources.batch_size,
        n_jobs=settings.n_jobs,
        device=resources.device,
        block=resources.block,
        record=record,
    )
    target: FloatArray | None = None
    if y is not None:
        target = np.asarray(y, dtype=np.float64)
    rows = Rows.of(
        table,
        target,
        read_weights(weights, table),
        read_clusters(clusters, table),
        in_fixed_order=settings.confidence_level is not None,
    )
    return rows, predictor


def options_of(settings: Settings) -> Options:
    """What decides on a plan."""
    return Options(
        resources=settings.resources,
        seed=settings.seed,
        is_sample=settings.confidence_level is not None,
        as_in_paper=settings.confidence_level is None,
        max_samples=settings.max_samples,
        holdout=settings.holdout,
        n_jobs=settings.n_jobs,
    )


def question_on(table: Table, settings: Settings) -> ResolvedQuestion:
    """The question about the columns of a table."""
    question = questions()[settings.question]
    if settings.order > 1:
        question = question.with_influence(Interactions(settings.order))
    return question.resolve(table, pairs=0)


def curves_of(table: Table) -> frozenset[frozenset[int]]:
    """What curves read: every column alone."""
    return coalitions_of_curves((), 0, table.explained)


def find_regions(
    sample: Sample, question: ResolvedQuestion, settings: Settings
) -> tuple[float, Partition]:
    """Disagreement on all rows, and the regions.

    Parameters
    ----------
    sample : Sample
        The rows that search.
    question : ResolvedQuestion
    settings : Settings
    """
    evaluations = sample.outputs[0]
    every_row = np.arange(len(evaluations))
    whole = RegionWeights.whole(evaluations.weights)
    disagreement = float(question.regional(evaluations, whole)[0, 0])
    floor = question.floor(evaluations, sample.errors[0])
    names = sample.rows.table.names
    if disagreement <= floor:
        return disagreement, Partition(Leaf(len(every_row), 1.0, 0.0, "nothing to explain"), names)
    noise = None
    if settings.confidence_level is not None:
        of_region = noise_of_regions(sample, question, settings)
        of_all_rows = of_region(evaluations, every_row)
        if not of_all_rows.is_exceeded:
            leaf = Leaf(len(every_row), 1.0, 1.0, "no more than chance")
            return disagreement, Partition(leaf, names)

        def noise(outputs, places):
            of_node = of_region(outputs[0], places)
            return replace(of_node, corrected=of_node.corrected / of_all_rows.corrected)

    problem = Problem(
        sample=sample,
        measures=(question,),
        shares=Shares(
            factors=np.array([1.0 / disagreement]),
            floors=np.array([floor]),
            total=float(evaluations.weights.sum()),
        ),
        tree=settings.tree,
        noise=noise,
    )
    return disagreement, settings.tree.partition(problem).partition


def noise_of_regions(
    sample: Sample, question: ResolvedQuestion, settings: Settings
) -> Callable[[Evaluations, np.ndarray], Noise]:
    """The noise of any rows of a sample, from evaluations about them and their places."""
    signs = Signs.drawn(sample.rows.clusters, settings.seed)
    level = settings.confidence_level
    return lambda evaluations, places: noise_of(question, evaluations, signs.take(places), level)


def judge_regions(
    held_out: Sample, question: ResolvedQuestion, partition: Partition, settings: Settings
) -> Estimate:
    """What held-out rows say of the regions."""
    signs = Signs.drawn(held_out.rows.clusters, settings.seed)
    regions = partition.apply(held_out.rows.table)
    return judge(question, held_out.outputs[0], regions, signs, settings.confidence_level)
