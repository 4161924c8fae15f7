"""What rows say of the regions that a fit found: held-out rows, folds of the search rows, or these themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from granite_xai.algebra.interaction import Whole
from granite_xai.base.deferred import Deferred
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.typing import IntArray
from granite_xai.curves.description import CurveMaker
from granite_xai.curves.other_scale import (
    on_scale as on_other_scale,
    one_curve_per_feature,
    scale_to_try,
)
from granite_xai.curves.sharing import Nodes
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
from granite_xai.inference.nodes import MeasuredNodes, NodeFigures, measure_nodes
from granite_xai.inference.noise import Chance, Signs
from granite_xai.search.problem import GivenRules
from granite_xai.tables.rows import SMALL_TABLE, Rows

UNKNOWN = DescribedShare(math.nan)


class Judgement(NamedTuple):
    """What some rows say of a partition."""

    estimate: Estimate | None  # None: there is no confidence level
    measured: tuple[MeasuredNodes, ...]  # one for each question

    @property
    def nodes(self) -> tuple[NodeFigures, ...]:
        """The figures of each question."""
        return tuple(of_question.figures for of_question in self.measured)


def judge_by_other_rows(
    result: FitResult, sample: Sample, regions: IntArray, kind: str = "held-out"
) -> Judgement:
    """What other rows say of the regions, and of every node above them.

    Parameters
    ----------
    result : FitResult
    sample : Sample
        The rows, with what the model said about them.
    regions : array of shape (n_rows,)
        Region of each row.
    kind : "held-out", "given" or "fitting"
        Which rows these are.
    """
    rows = JudgingRows(kind, regions, sample.rows.clusters)
    described = Deferred(
        lambda: _described_by_rows(result, sample, regions), now=result.shared_curves.is_computed
    )
    return _judgement(result, sample, rows, described)


def judge_by_search_rows(
    result: FitResult, sample: Sample, trees: Sequence[FoldTree] = ()
) -> Judgement:
    """What the rows that searched say; there is no interval, since they chose the regions.

    Parameters
    ----------
    result : FitResult
    sample : Sample
        The rows that searched.
    trees : sequence of FoldTree
        Searched without a fold of the rows each: figures are then corrected by their optimism.
    """
    rows = JudgingRows("fitting", result.regions, sample.rows.clusters)
    if not trees:
        return _judgement(result, sample, rows, _described_by_fit(result))
    signs = Signs.drawn(sample.rows.clusters, result.settings.seed)
    optimism = []
    with one_blas_thread():
        for question in result.questions:
            evaluations = sample.outputs[question.output]
            by_fold = [optimism_of_tree(question, evaluations, tree, signs) for tree in trees]
            optimism.append(expected_optimism(by_fold, trees, evaluations.weights))
    described = _described_by_folds(result, trees)
    return _judgement(result, sample, rows._replace(kind="cross-validated"), described, optimism)


def _judgement(
    result: FitResult,
    sample: Sample,
    rows: JudgingRows,
    described: Deferred[DescribedShares],
    optimism: Sequence[float] | None = None,
) -> Judgement:
    """The estimate and the figures of all nodes; the same random signs tell both what chance adds."""
    level = result.level
    signs = None
    if level is not None:
        signs = Signs.drawn(rows.clusters, result.settings.seed)
    are_others = rows.kind in ("held-out", "given")
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
    exceeded = result.exceeded
    if are_others or exceeded is None:
        of_all_rows = [of_question.whole for of_question in measured]
        exceeded = Chance(result.questions, signs, of_all_rows, result.floors, level).exceeded
    return Judgement(
        estimate(
            measured,
            rows,
            weights=result.question_weights,
            floors=result.floors,
            exceeded=exceeded,
            level=level,
            rules=[str(rule) for rule in result.partition.rules],
            fidelities=described,
            optimism=optimism or [0.0] * len(measured),
        ),
        measured,
    )


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


def _described_by_fit(result: FitResult) -> Deferred[DescribedShares]:
    """Share described on the rows that made the curves."""
    curves = result.shared_curves

    def shares() -> DescribedShares:
        with one_blas_thread():
            makers = _makers_on_other_scale(result)
            of_outputs = [one_curve_per_feature(maker).global_fidelity for maker in makers or ()]
        described = DescribedShares(
            in_regions=DescribedShare(curves.value.fidelity),
            overall=DescribedShare(curves.value.global_fidelity),
        )
        if not of_outputs:
            return described
        return replace(
            described,
            on_other_scale=DescribedShare(float(np.mean(of_outputs))),
            other_scale=makers[0].scale.name,
        )

    return Deferred(shares, now=curves.is_computed)


def _described_by_rows(result: FitResult, sample: Sample, regions: IntArray) -> DescribedShares:
    """Share of the prediction's variance that curves describe on other rows, with regions and without."""
    fits = list(result.outputs.values()) or [result]
    if any(fit.shared_curves.value.lacks_rows for fit in fits):
        return DescribedShares(in_regions=UNKNOWN, overall=UNKNOWN)
    in_regions = list[Predicted]()
    overall = list[Predicted]()
    for fit, evaluations in zip(fits, sample.outputs, strict=True):
        model = evaluations.predictions
        curves = fit.shared_curves.value
        table = sample.rows.table
        in_regions.append(Predicted(model, curves.predict(table, regions, fit.model)))
        overall.append(Predicted(model, curves.predict_by_one_curve(table, fit.model)))
    rows: Rows = sample.rows
    described = DescribedShares(
        in_regions=described_share(in_regions, rows.weights, rows.clusters, result.level),
        overall=described_share(overall, rows.weights, rows.clusters, result.level),
    )
    makers = _makers_on_other_scale(result)
    if not makers:
        return described
    on_scale = [
        Predicted(model, one_curve_per_feature(maker).predict_by_one_curve(rows.table))
        for maker, (model, _) in zip(makers, overall, strict=True)
    ]
    return replace(
        described,
        on_other_scale=described_share(on_scale, rows.weights, rows.clusters, result.level),
        other_scale=makers[0].scale.name,
    )


def _makers_on_other_scale(result: FitResult) -> list[CurveMaker]:
    """What curves on another scale are made of; empty where no other scale is looked at.

    One is where regions were found for a question about interactions, and every feature has a curve that tells it
    by itself.
    """
    first = result.questions[0]
    fits = list(result.outputs.values()) or [result]
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
        return []
    scale = scale_to_try(makers, result.model.is_survival)
    if scale is None:
        return []
    return [on_other_scale(maker, scale) for maker in makers]


def _described_by_folds(result: FitResult, trees: Sequence[FoldTree]) -> Deferred[DescribedShares]:
    """Share described on other rows, by curves that were made without a fold of the rows each."""
    fits = list(result.outputs.values()) or [result]

    def shares() -> DescribedShares:
        first = result.questions[0]
        is_coe = isinstance(first.question.first.interaction, Whole)
        if first.order > 1 and not is_coe:
            # Interactions of other questions are told on the rows that made them (tests/spec/defaults.json).
            return _described_by_fit(result).value
        makers = [fit.curve_maker.value for fit in fits if fit.curve_maker is not None]
        with one_blas_thread():
            return _shares_by_folds(result, makers, trees)

    return Deferred(shares, now=result.shared_curves.is_computed)


def _shares_by_folds(
    result: FitResult, makers: Sequence[CurveMaker], trees: Sequence[FoldTree]
) -> DescribedShares:
    """Share described in the printed regions, and by one curve per feature.

    In the regions it is what curves miss on their own rows, and the optimism of the trees of the folds
    with their curves, which each of them shares for itself.
    """
    weights = result.weights
    missed_in_regions = list[float]()
    overall = list[Predicted]()
    for maker, fit in zip(makers, list(result.outputs.values()) or [result], strict=True):
        model = maker.evaluations.predictions
        spread = np.square(model - np.average(model, weights=weights))
        variance = float(np.average(spread, weights=weights))
        by_one_curve = np.empty(len(weights))  # of each row, made without its fold
        optimism_by_fold = list[float]()
        for tree in trees:
            left_out = tree.is_left_out
            of_tree = maker.describe(Nodes.of(tree.partition), tree.regions, ~left_out)
            by_one_curve[left_out] = of_tree.overall[left_out]
            missed = np.square(model - of_tree.in_regions)
            on_others = np.average(missed[left_out], weights=weights[left_out])
            on_search_rows = np.average(missed[~left_out], weights=weights[~left_out])
            optimism_by_fold.append(float(on_others - on_search_rows))
        overall.append(Predicted(model, by_one_curve))
        share_missed = 0.0
        if variance > 0.0:
            optimism = expected_optimism(optimism_by_fold, trees, weights) / variance
            # By chance curves may miss less on the folds than on their own rows; nothing is less than none.
            share_missed = max(1.0 - fit.shared_curves.value.fidelity + optimism, 0.0)
        missed_in_regions.append(share_missed)
    described = DescribedShares(
        # The rows chose the regions: there is no interval.
        in_regions=DescribedShare(1.0 - float(np.mean(missed_in_regions))),
        overall=described_share(overall, weights, result.rows.clusters, result.level),
    )
    on_scale = list[Predicted]()
    others = _makers_on_other_scale(result)
    for maker, (model, _) in zip(others, overall, strict=False):
        by_one_curve = np.empty(len(weights))
        for tree in trees:
            left_out = tree.is_left_out
            of_fold = maker.describe(Nodes.of(tree.partition), tree.regions, ~left_out)
            by_one_curve[left_out] = of_fold.overall[left_out]
        on_scale.append(Predicted(model, by_one_curve))
    if not on_scale:
        return described
    return replace(
        described,
        on_other_scale=described_share(on_scale, weights, result.rows.clusters, result.level),
        other_scale=others[0].scale.name,
    )
