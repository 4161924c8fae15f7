"""What rows say of the regions of a fit: held-out or new rows, folds of the search rows, or these themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.interaction import Whole
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.deferred import Deferred
from granite_xai.base.document import (
    Bar,
    Document,
    Paragraph,
    Printable,
    RegionLabel,
    Table as TableBlock,
)
from granite_xai.base.numbers import OutputUnit, amount, count, share
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.text import ALL_ROWS, shortened
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.description import CurveMaker, Nodes, scale_to_try
from granite_xai.curves.shared import SharedCurves
from granite_xai.evaluations.evaluations import Sample
from granite_xai.fitting.find import Search
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.remarks import INTERACT, cause
from granite_xai.inference.estimate import (
    DescribedShare,
    DescribedShares,
    Estimate,
    FoldTree,
    JudgingRows,
    Predicted,
    described_share,
    estimate,
    expected_optimism,
    folds,
    optimism_of_tree,
)
from granite_xai.inference.nodes import MeasuredNodes, NodeFigure, NodeFigures, measure_nodes
from granite_xai.inference.noise import Chance, Signs
from granite_xai.regions import Leaf, Node, Partition
from granite_xai.regions.tree import Ledger, UntakenCut
from granite_xai.search.growth import Tree, untaken_cuts
from granite_xai.search.problem import GivenRules
from granite_xai.tables import Table, frame
from granite_xai.tables.rows import SMALL_TABLE, Rows

UNKNOWN = DescribedShare(math.nan)


class Judgement(NamedTuple):
    """What some rows say of a partition."""

    estimate: Estimate | None  # None: there is no confidence level
    measured: tuple[MeasuredNodes, ...]  # one for each question


def judge(
    result: FitResult,
    sample: Sample,
    regions: IntArray | None = None,
    kind: str = "held-out",
    trees: Sequence[FoldTree] = (),
) -> Judgement:
    """What some rows say of the regions, and of every node above them.

    Parameters
    ----------
    result : FitResult
    sample : Sample
        The rows, with what the model said about them.
    regions : array of shape (n_rows,), optional
        Region of each row; None: these are the rows that searched, and give no interval.
    kind : "held-out", "given" or "fitting"
        Which rows these are, where their regions are given.
    trees : sequence of FoldTree
        Searched without a fold of the rows each: figures of the rows that searched are then corrected by
        their optimism.
    """
    level = result.level
    clusters = sample.rows.clusters
    # The same random signs tell the estimate and all nodes what chance adds.
    signs = None if level is None else Signs.drawn(clusters, result.settings.seed)
    if regions is not None:
        described = partial(_described_by_rows, result, sample, regions)
    elif trees:
        kind = "cross-validated"
        described = partial(_described_by_folds, result, trees)
    else:
        kind = "fitting"
        described = partial(_described_by_fit, result)
    rows = JudgingRows(kind, result.regions if regions is None else regions, clusters)
    are_others = kind in ("held-out", "given")
    with one_blas_thread():
        measured = tuple(
            measure_nodes(
                question,
                sample.outputs[question.output],
                result.partition,
                rows.regions,
                "held-out" if are_others else "search",
                signs,
            )
            for question in result.questions
        )
        if level is None or signs is None:
            return Judgement(None, measured)
        optimism = []
        for question in result.questions:
            evaluations = sample.outputs[question.output]
            by_fold = [optimism_of_tree(question, evaluations, tree, signs) for tree in trees]
            optimism.append(expected_optimism(by_fold, trees, evaluations.weights))
    exceeded = result.exceeded
    if are_others or exceeded is None:
        of_all_rows = [of_question.whole for of_question in measured]
        exceeded = Chance(result.questions, signs, of_all_rows, result.floors, level).exceeded
    of_regions = estimate(
        measured,
        rows,
        weights=result.question_weights,
        floors=result.floors,
        exceeded=exceeded,
        level=level,
        rules=[str(rule) for rule in result.partition.rules],
        fidelities=Deferred(described, now=result.shared_curves.is_computed),
        optimism=optimism,
    )
    return Judgement(of_regions, measured)


# Trees of folds ---------------------------------------------------------------------------------------


def trees_of_folds(result: FitResult, sample: Sample) -> list[FoldTree]:
    """Trees that are searched without a fold of the rows each; the model is not asked.

    None where there are enough rows to hold some out, where nothing was found, and where the
    regions were not searched.
    """
    if result.exceeded is None or len(result.partition) == 1:
        return []
    n_rows = len(sample.rows)
    if n_rows >= SMALL_TABLE or isinstance(result.settings.partitioner, GivenRules):
        return []
    # Whether there is anything to divide is decided by all rows, not by each fold's again.
    quiet = result.without_bars()
    trees = []
    for rows, left_out in folds(sample.rows.clusters, result.settings.seed):
        search = Search.of(quiet, sample.take(rows), exceeded=result.exceeded, is_repeated=True)
        partition = search.regions().partition
        is_left_out = np.zeros(n_rows, dtype=np.bool_)
        is_left_out[left_out] = True
        trees.append(FoldTree(partition.apply(sample.rows.table), is_left_out, partition))
    return trees


# Share that curves describe -----------------------------------------------------------------------------


def _described_by_fit(result: FitResult) -> DescribedShares:
    """Share described on the rows that made the curves."""
    curves = result.shared_curves.value
    described = DescribedShares(
        in_regions=DescribedShare(curves.fidelity), overall=DescribedShare(curves.global_fidelity)
    )

    def share_on_scale(makers: Sequence[CurveMaker]) -> DescribedShare:
        of_outputs = [_one_curve_per_feature(maker).global_fidelity for maker in makers]
        return DescribedShare(float(np.mean(of_outputs)))

    return _with_other_scale(result, described, share_on_scale)


def _one_curve_per_feature(maker: CurveMaker) -> SharedCurves:
    """The description without regions."""
    table = maker.table
    everything = Partition(Leaf(table.n_rows, 1.0, 0.0), table.names)
    return maker.shared_curves(everything, np.zeros(table.n_rows, dtype=np.intp))


def _described_by_rows(result: FitResult, sample: Sample, regions: IntArray) -> DescribedShares:
    """Share of the prediction's variance that curves describe on other rows, with regions and without."""
    fits = result.by_output
    if any(fit.shared_curves.value.lacks_rows for fit in fits):
        return DescribedShares(in_regions=UNKNOWN, overall=UNKNOWN)
    rows = sample.rows

    def share_of(predictions: Sequence[FloatArray]) -> DescribedShare:
        predicted = [
            Predicted(evaluations.predictions, of_output)
            for evaluations, of_output in zip(sample.outputs, predictions, strict=True)
        ]
        return described_share(predicted, rows.weights, rows.clusters, result.level)

    def share_on_scale(makers: Sequence[CurveMaker]) -> DescribedShare:
        curves = [_one_curve_per_feature(maker) for maker in makers]
        return share_of([of_output.predict_by_one_curve(rows.table) for of_output in curves])

    curves = [(fit.shared_curves.value, fit.model) for fit in fits]
    described = DescribedShares(
        in_regions=share_of([of.predict(rows.table, regions, model) for of, model in curves]),
        overall=share_of([of.predict_by_one_curve(rows.table, model) for of, model in curves]),
    )
    return _with_other_scale(result, described, share_on_scale)


def _described_by_folds(result: FitResult, trees: Sequence[FoldTree]) -> DescribedShares:
    """Share described on other rows, by curves that were made without a fold of the rows each.

    In the printed regions it is what curves miss on their own rows, and the optimism of the trees of the folds
    with their curves, which each of them shares for itself.
    """
    first = result.questions[0]
    is_coe = isinstance(first.question.first.interaction, Whole)
    if first.order > 1 and not is_coe:
        # Interactions of other questions are told on the rows that made them (tests/spec/defaults.json).
        return _described_by_fit(result)
    if any(fit.curve_maker is None for fit in result.by_output):
        return DescribedShares(in_regions=UNKNOWN, overall=UNKNOWN)
    weights = result.weights
    makers = [fit.curve_maker.value for fit in result.by_output if fit.curve_maker is not None]
    models = [maker.evaluations.predictions for maker in makers]

    def without_folds(maker: CurveMaker, model: FloatArray) -> tuple[Predicted, float]:
        """What one curve per feature says of each row, made without its fold; the optimism of curves in regions."""
        by_one_curve = np.empty(len(weights))
        optimism_by_fold: list[float] = []
        for tree in trees:
            left_out = tree.is_left_out
            of_tree = maker.describe(Nodes.of(tree.partition), tree.regions, ~left_out)
            by_one_curve[left_out] = of_tree.overall[left_out]
            missed = np.square(model - of_tree.in_regions)
            on_others = np.average(missed[left_out], weights=weights[left_out])
            on_search_rows = np.average(missed[~left_out], weights=weights[~left_out])
            optimism_by_fold.append(float(on_others - on_search_rows))
        optimism = expected_optimism(optimism_by_fold, trees, weights)
        return Predicted(model, by_one_curve), optimism

    def share_by_one_curve(makers: Sequence[CurveMaker]) -> DescribedShare:
        predicted = [
            without_folds(maker, model)[0] for maker, model in zip(makers, models, strict=True)
        ]
        return described_share(predicted, weights, result.rows.clusters, result.level)

    missed_in_regions: list[float] = []
    overall: list[Predicted] = []
    for fit, maker, model in zip(result.by_output, makers, models, strict=True):
        with one_blas_thread():
            predicted, optimism = without_folds(maker, model)
        overall.append(predicted)
        spread = np.square(model - np.average(model, weights=weights))
        variance = float(np.average(spread, weights=weights))
        share_missed = 0.0
        if variance > 0.0:
            missed = 1.0 - fit.shared_curves.value.fidelity + optimism / variance
            # By chance curves may miss less on the folds than on their own rows; nothing is less than none.
            share_missed = max(missed, 0.0)
        missed_in_regions.append(share_missed)
    described = DescribedShares(
        # The rows chose the regions: there is no interval.
        in_regions=DescribedShare(1.0 - float(np.mean(missed_in_regions))),
        overall=described_share(overall, weights, result.rows.clusters, result.level),
    )
    return _with_other_scale(result, described, share_by_one_curve)


def _with_other_scale(
    result: FitResult,
    described: DescribedShares,
    share_of: Callable[[Sequence[CurveMaker]], DescribedShare],
) -> DescribedShares:
    """Add the share that one curve per feature describes on another scale, where one is looked at.

    One is where regions were found for a question about interactions, and every feature has a curve that tells it
    by itself. The kept predictions are enough; the model is not asked again.
    """
    first = result.questions[0]
    fits = result.by_output
    makers = [fit.curve_maker.value for fit in fits if fit.curve_maker is not None]
    is_asked = (
        result.level is not None
        and result.settings.scale.is_response
        and len(result.partition) > 1
        and first.is_local
        and cause(first.question) == INTERACT
        and not isinstance(result.plan.values, int)
    )
    if not is_asked or not makers or any(fit.shared_curves.value.needs_model for fit in fits):
        return described
    scale = scale_to_try(makers, result.model.is_survival)
    if scale is None:
        return described
    with one_blas_thread():
        share_on_scale = share_of([maker.on_scale(scale) for maker in makers])
    return replace(described, on_other_scale=share_on_scale, other_scale=scale.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation(Printable):
    """Disagreement on other rows, which serve both as explained rows and as reference, inside each region.

    With a confidence level, what is printed and quoted is corrected for chance (``estimate``, ``remaining``). What the
    rows show without that correction stands beside it: what the regions leave (``disagreement``: the sum of each
    region's times its share of the rows), what there is without them (``global_disagreement``; in shares, 1.0, for
    several questions), their ratio (``plug_in``) and the frame.

    Parameters
    ----------
    rules, titles : tuples of length n_regions
        Rules of the regions, and their names or the rules as a person says them.
    counts : tuple of length n_regions
        Rows of each region.
    regional : array of shape (n_regions,)
        Disagreement inside each region, times its share of the rows: what it leaves.
    by_region : array of shape (n_regions,)
        The part of ``global_disagreement`` that the rows of each region have where there are no regions; nan where a
        question has no value a row.
    disagreement, global_disagreement : float
        Sum of ``regional``, and disagreement on all rows.
    table : Table
        The rows.
    figures : NodeFigures
        What the first question says on all these rows and in each region.
    is_effect : bool
        Whether the first question is about effects, so that its heterogeneity is how far rows stray.
    unit : OutputUnit
        How effects are written.
    below_noise_floor : bool
        Whether every question is at its noise floor on these rows.
    estimate : Estimate, optional
        The same corrected for chance, with its interval; None without a confidence level.
    """

    rules: tuple[str, ...]
    titles: tuple[str, ...]
    counts: tuple[int, ...]
    regional: FloatArray
    by_region: FloatArray
    disagreement: float
    global_disagreement: float
    table: Table = field(repr=False)
    figures: NodeFigures
    is_effect: bool
    unit: OutputUnit
    below_noise_floor: bool
    estimate: Estimate | None

    @property
    def remaining(self) -> float:
        """Share of the disagreement that the regions leave: the figure to quote.

        Corrected for chance with a confidence level, otherwise `plug_in`; 0.0 where there is nothing to explain, nan
        where there is only chance.
        """
        if self.estimate is not None and not self.below_noise_floor:
            return self.estimate.remaining
        return self.plug_in

    @property
    def plug_in(self) -> float:
        """The same as these rows show it, with what chance adds to both; 0.0 where there is nothing to explain."""
        if self.below_noise_floor or not self.global_disagreement > 0:
            return 0.0
        return self.disagreement / self.global_disagreement

    def _document(self) -> Document:
        """What the regions remove, and how far rows stray on all rows and in each region."""
        heading = "difference"
        if self.is_effect:
            heading = f"rows stray ({self.unit.noun})" if self.unit.noun else "rows stray"
        all_rows = self.figures.root
        largest = np.nanmax([node.heterogeneity for node in self.figures.nodes])
        lines: list[tuple[object, ...]] = [
            (ALL_ROWS, f"{all_rows.n_samples:,}", "", self._bar(all_rows, largest))
        ]
        leaves = self.figures.leaves if len(self.rules) > 1 else ()
        for node in leaves:
            line = (
                RegionLabel(node.region, shortened(self.titles[node.region])),
                f"{node.n_samples:,}",
                Bar(share(node.share), node.share),
                self._bar(node, largest),
            )
            lines.append(line)
        table = TableBlock(("region", "rows", "share", heading), lines, left=(0,))
        return Document([Paragraph(self._sentence()), table])

    def _sentence(self) -> str:
        """What the regions change, in the unit of the table below it."""
        estimate = self.estimate
        figures = self.figures
        if estimate is not None and (estimate.regions == 1 or math.isnan(estimate.remaining)):
            return str(estimate)
        overall = figures.root.heterogeneity
        inside = self._size(figures.size(figures.by_set_inside_regions()))
        basis = count(figures.n_rows, "row")
        questions = set() if estimate is None else {line.question for line in estimate.lines}
        if estimate is not None and len(questions) == 1 and not math.isnan(estimate.low):
            # The interval is that of the share that is left of the squared figure.
            low, high = (
                self._size(overall * figures.size([left])) for left in (estimate.low, estimate.high)
            )
            basis = f"{100 * estimate.confidence_level:g}% interval {low} to {high}, {basis}"
        regions = count(len(self.rules), "region")
        if self.is_effect:
            return (
                f"Rows stray by {self._size(overall)}, inside the {regions} by {inside} ({basis})."
            )
        return f"The difference is {self._size(overall)}, inside the {regions} {inside} ({basis})."

    def _size(self, heterogeneity: float) -> str:
        return self.unit.spread(heterogeneity) if self.is_effect else amount(heterogeneity)

    def _bar(self, node: NodeFigure, largest: float) -> Bar:
        """The heterogeneity of a node beside the largest."""
        text = amount(node.heterogeneity)
        if self.is_effect:
            text = self.unit.spread(node.heterogeneity, bare=True)
        if math.isnan(node.heterogeneity) or not largest > 0:
            return Bar(text, 0.0)
        return Bar(text, float(node.heterogeneity / largest))

    def __repr__(self) -> str:
        rows = count(sum(self.counts), "row")
        regions = count(len(self.rules), "region")
        if math.isnan(self.remaining):
            return f"<Evaluation of {rows} in {regions}: only sampling noise>"
        removed = share(max(1.0 - self.remaining, 0.0))
        return f"<Evaluation of {rows} in {regions}: {removed} of the heterogeneity removed>"

    def frame(self) -> Any:
        """One line for each region, as these rows show it, not corrected for chance.

        Columns: region, rule, n_samples, fraction, global_disagreement, disagreement, remaining. Corrected figures
        with their intervals: ``estimate.frame()``.
        """
        counts = np.array(self.counts)
        # What is left in each region of its part of the disagreement on all rows; nan where there is none.
        is_measured = np.isfinite(self.by_region) & (self.by_region > 0)
        shares_left = np.full(len(counts), np.nan)
        np.divide(self.regional, self.by_region, out=shares_left, where=is_measured)
        columns = {
            "region": np.arange(len(counts)),
            "rule": list(self.rules),
            "n_samples": counts,
            "fraction": counts / counts.sum(),
            "global_disagreement": self.by_region,
            "disagreement": self.regional,
            "remaining": shares_left,
        }
        return frame(columns, like=self.table)


def evaluate_rows(result: FitResult, rows: Rows, kind: str = "given") -> Evaluation:
    """Measure the regions on other rows (C17); with a confidence level, also corrected for chance.

    Parameters
    ----------
    result : FitResult
    rows : Rows
    kind : "given" or "fitting"
        Whether these are other rows, or those that chose the regions.
    """
    sample = result.plan.ask(rows)
    regions = result.partition.apply(rows.table)
    judgement = judge(result, sample, regions, kind)
    plug_in = np.stack([of_question.plug_in for of_question in judgement.measured])  # (Q, nodes)
    figures = judgement.measured[0].figures
    everywhere = plug_in[:, 0]
    factors = _factors(result, everywhere)
    in_regions = factors @ np.nan_to_num(plug_in[:, [leaf.node for leaf in figures.leaves]])
    regional = in_regions * [leaf.share for leaf in figures.leaves]
    n_regions = len(result.partition)
    by_region = np.full(n_regions, np.nan)
    with one_blas_thread():
        losses = _losses_by_row(result, sample, factors)
    if losses is not None:
        by_region = np.bincount(regions, weights=losses, minlength=n_regions)
    question = result.questions[0].question
    counts = np.bincount(regions, minlength=n_regions)
    return Evaluation(
        rules=tuple(str(rule) for rule in result.partition.rules),
        titles=tuple(result.partition.titles),
        counts=tuple(counts.tolist()),
        regional=regional,
        by_region=by_region,
        disagreement=float(regional.sum()),
        global_disagreement=float(factors @ everywhere),
        table=rows.table,
        figures=figures,
        is_effect=question.behavior.key == "local" and cause(question) == INTERACT,
        unit=OutputUnit(probability=result.model.is_probability),
        below_noise_floor=not factors.any(),
        estimate=judgement.estimate,
    )


def _factors(result: FitResult, disagreements: FloatArray) -> FloatArray:
    """What each question counts: 1 for one, its weight in shares of its disagreement on all rows for several."""
    is_beyond_rounding = disagreements > result.floors
    if len(result.questions) == 1:
        return np.where(is_beyond_rounding, 1.0, 0.0)
    weights = np.where(is_beyond_rounding, result.question_weights, 0.0)
    weights = weights / (weights.sum() or 1.0)
    return np.divide(weights, disagreements, out=np.zeros_like(weights), where=weights > 0)


def _losses_by_row(result: FitResult, sample: Sample, factors: FloatArray) -> FloatArray | None:
    """Each row's part of the disagreement on all rows; None where a question has no value a row."""
    if not all(question.is_local for question in result.questions):
        return None
    weights = sample.rows.weights
    whole = RegionWeights.whole(weights)
    total = np.zeros(len(weights))
    for factor, question in zip(factors, result.questions, strict=True):
        for gap in question.gaps(sample.outputs[question.output], whole):
            total += factor * question.loss(gap)[:, 0]
    return np.asarray(total * weights / weights.sum())


def ledger_of(result: FitResult, search: Search, judging: Sample) -> Deferred[Ledger]:
    """The ledger of a fit, read off its evaluations when somebody asks.

    Parameters
    ----------
    result : FitResult
    search : Search
    judging : Sample
        The rows that judge: those held out, or else those that searched.
    """
    rows = judging.rows
    predictions = [evaluations.predictions for evaluations in judging.outputs]

    def ledger() -> Ledger:
        if result.partition.root is None:
            return Ledger()
        with one_blas_thread():
            cuts: list[UntakenCut] = []
            if isinstance(result.settings.partitioner, Tree):
                cuts = list(untaken_cuts(search.problem(), result.partition.root))
            # Without splits, with the first one, with the first two, ..., parents first.
            described = []
            for number in range(len(result.partition)):
                root, _ = _first_splits(result.partition.root, number)
                described.append(_described(result, root, rows, predictions))
        return Ledger(tuple(described), tuple(cuts))

    return Deferred(ledger)


def _first_splits(node: Node, number: int) -> tuple[Node, int]:
    """A tree with so many of its splits, parents first, and how many of the number are left."""
    if isinstance(node, Leaf):
        return node, number
    if number == 0:
        return Leaf(node.n_samples, node.fraction, node.disagreement), 0
    left, number = _first_splits(node.children[0], number - 1)
    right, number = _first_splits(node.children[1], number)
    return replace(node, children=(left, right)), number


def _described(result: FitResult, root: Node, rows: Rows, predictions: list[FloatArray]) -> float:
    """Share of the model described with a tree; NaN where effects of several features would ask the model."""
    partition = Partition(root, result.table.names)
    search_regions, regions = partition.apply(result.table), partition.apply(rows.table)
    predicted = []
    for fit, model in zip(result.by_output, predictions, strict=True):
        curves = fit.shared_curves.value
        if fit.curve_maker is None or curves.needs_model:
            return math.nan
        if len(partition) < len(result.partition):
            curves = fit.curve_maker.value.shared_curves(partition, search_regions)
        predicted.append(Predicted(model, curves.predict(rows.table, regions)))
    return described_share(predicted, rows.weights, rows.clusters, None).value
