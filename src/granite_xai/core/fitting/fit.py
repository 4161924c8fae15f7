"""A fit: rows are drawn, the model is asked, some rows find regions and others judge them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.core.algebra.conditional import fit_bins
from granite_xai.core.algebra.disagreement import ResolvedQuestion
from granite_xai.core.algebra.masked_model import RegionWeights
from granite_xai.core.evaluations.evaluations import (
    Cells,
    Coalition,
    Evaluations,
    Model,
    error_of_one_prediction,
    evaluate,
)
from granite_xai.core.evaluations.pilot import learn_cells
from granite_xai.core.fitting.plan import PILOT_SHARE, rows_at_all_values, rows_within_budget
from granite_xai.core.inference.noise import Estimate, Noise, Signs, judge, noise_of
from granite_xai.core.rows import Rows
from granite_xai.core.search.problem import Problem, Shares, Tree
from granite_xai.regions.nodes import Leaf
from granite_xai.regions.partition import Partition
from granite_xai.tables import Table, read_table


@dataclass(frozen=True)
class Settings:
    """What a user chooses; ``confidence_level=None`` is the paper's algorithm."""

    question: str = "ice-pdp"
    order: int = 1  # of interactions that are compared
    tree: Tree = field(default_factory=Tree)
    confidence_level: float | None = 0.95
    max_evaluations: int = 1_000_000  # rows sent to the model
    seed: int = 0


@dataclass(frozen=True)
class Sample:
    """Rows with what the model said about them."""

    rows: Rows
    evaluations: Evaluations


@dataclass(frozen=True)
class Fit:
    """What was found."""

    settings: Settings
    sample: Sample
    disagreement: float
    partition: Partition
    estimate: Estimate | None
    n_model_rows: int

    @property
    def remaining(self) -> float:
        """Share of the disagreement that the regions leave on the rows that found them."""
        return sum(region.disagreement for region in self.partition)


def fit(
    predict: Any,
    X: Any,
    y: Any = None,
    settings: Settings | None = None,
    weights: Any = None,
    clusters: Any = None,
) -> Fit:
    """Find the regions of a table in which two explanations of a model agree.

    Parameters
    ----------
    predict : estimator or function
    X : table of shape (n, d)
    y : array of shape (n,), optional
        For questions about risk.
    settings : Settings, optional
    weights, clusters : arrays of shape (n,), optional
    """
    settings = settings or Settings()
    rows = Rows.of(X, y, weights, clusters)
    model = Model(predict, X, rows.labels)
    question = ResolvedQuestion.named(settings.question, rows.x.shape[1], settings.order)
    searching, judging = choose_rows(rows, question, settings)
    plan = plan_asking(model, question, searching, settings)
    sample = plan.ask(searching)
    disagreement, partition = find_regions(sample, question, plan.error, settings)
    estimate = None
    if len(judging):
        estimate = judge_regions(plan.ask(judging), question, partition, settings)
    return Fit(
        settings=settings,
        sample=sample,
        disagreement=disagreement,
        partition=partition,
        estimate=estimate,
        n_model_rows=model.n_rows,
    )


def choose_rows(rows: Rows, question: ResolvedQuestion, settings: Settings) -> tuple[Rows, Rows]:
    """The rows that search, and those that judge; the paper's way: all search."""
    if settings.confidence_level is None:
        return rows, rows.take(np.arange(0))
    budget = settings.max_evaluations
    if question.reads_single_columns():
        n_search = rows_within_budget(rows, budget)
    else:
        n_search = rows_at_all_values(rows, question.coalitions(), budget, settings.seed)
    draw = rows.draw(n_search, settings.seed)
    return rows.take(draw.search), rows.take(draw.held_out)


@dataclass(frozen=True)
class Plan:
    """What is asked about any rows, as the searching rows have it."""

    model: Model
    question: ResolvedQuestion
    error: float  # of one prediction
    cells: dict[int, Cells]
    bins: dict[Coalition, Callable]  # from x (n, d) to the bin of each row

    def ask(self, rows: Rows) -> Sample:
        """What the model says about some rows."""
        evaluations = evaluate(self.model, rows, self.question.coalitions(), self.cells)
        bins = {visible: bin_of(rows.x) for visible, bin_of in self.bins.items()}
        return Sample(rows, replace(evaluations, bins=bins))


def plan_asking(
    model: Model, question: ResolvedQuestion, searching: Rows, settings: Settings
) -> Plan:
    """Choose the values that stand for columns, and learn the bins of conditional masking."""
    is_exact = settings.confidence_level is None
    cells = {}
    if not is_exact and question.reads_single_columns():
        budget = PILOT_SHARE * settings.max_evaluations
        cells = learn_cells(model, searching, budget, settings.seed)
    bins = {}
    for visible in question.conditioned():
        bin_of = fit_bins(searching, visible, settings.seed, guarded=not is_exact)
        if bin_of is not None:
            bins[visible] = bin_of
    error = error_of_one_prediction(model, searching.x[:64])
    return Plan(model=model, question=question, error=error, cells=cells, bins=bins)


def find_regions(
    sample: Sample, question: ResolvedQuestion, error: float, settings: Settings
) -> tuple[float, Partition]:
    """Disagreement on all rows, and the regions.

    Parameters
    ----------
    sample : Sample
        The rows that search.
    question : ResolvedQuestion
    error : float
        Of one prediction.
    settings : Settings
    """
    evaluations = sample.evaluations
    every_row = np.arange(len(evaluations))
    whole = RegionWeights.whole(evaluations.weights)
    disagreement = float(question.regional(evaluations, whole)[0, 0])
    floor = rounding_floor(question, evaluations, error, settings.order)
    names = sample.rows.names
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
        sample=_Searching(_TableRows(table_of(sample.rows), sample.rows.weights), (evaluations,)),
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


class _TableRows(NamedTuple):
    table: Table
    weights: np.ndarray


class _Searching(NamedTuple):
    rows: _TableRows
    outputs: tuple[Evaluations, ...]


def table_of(rows: Rows) -> Table:
    """The columns of some rows, with their kinds."""
    import pandas as pd

    columns = {}
    for position, name in enumerate(rows.names):
        values = rows.x[:, position]
        if position in rows.labels:
            columns[name] = pd.Categorical.from_codes(values.astype(int), rows.labels[position])
        else:
            columns[name] = values
    return read_table(pd.DataFrame(columns), missing="error")


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
    regions = partition.apply(table_of(held_out.rows))
    return judge(question, held_out.evaluations, regions, signs, settings.confidence_level)


def rounding_floor(
    question: ResolvedQuestion, evaluations: Evaluations, error: float, order: int
) -> float:
    """Disagreement that errors of single predictions can produce (C4)."""
    shares = evaluations.weights / evaluations.weights.sum()
    if question.behavior == "sensitivity":
        spread = np.sqrt(shares @ np.square(evaluations.f))
        error = 2 * spread * error + error**2
    elif question.behavior == "risk":
        of_model = shares @ np.abs(evaluations.f - evaluations.y)
        of_mean = shares @ np.abs(evaluations.y)
        error = 2 * max(of_model, of_mean) * error + error**2
    return len(question.sets) * (2.0 ** (order + 1) * error) ** 2
