"""What rows say of the regions that a fit found: held-out rows, folds of the search rows, or these themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.curves.curves import CurveMaker, Surrogate, SurrogateFit, in_unit_interval
from granite_xai.evaluations.evaluations import Sample
from granite_xai.fitting.find import Searching
from granite_xai.fitting.fit_result import FitResult
from granite_xai.inference.estimate import (
    DescribedShare,
    DescribedShares,
    Estimate,
    FoldTree,
    JudgedQuestion,
    JudgingRows,
    Predicted,
    described_share,
    estimate,
    expected_optimism,
    folds,
    optimism_of_tree,
)
from granite_xai.inference.nodes import NodeFigures, measure_nodes
from granite_xai.inference.noise import Chance, Signs
from granite_xai.models import Predictor
from granite_xai.search.problem import GivenRules
from granite_xai.tables import Table
from granite_xai.tables.rows import SMALL_TABLE, Rows

UNKNOWN = DescribedShare(math.nan)


class Judgement(NamedTuple):
    """What some rows say of a partition."""

    estimate: Estimate | None  # None: there is no confidence level
    nodes: tuple[NodeFigures, ...]  # one for each question


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
        lambda: _described_by_rows(result, sample, regions), now=result.curves.is_computed
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
        measured = [
            measure_nodes(
                question,
                sample.outputs[question.output],
                result.partition,
                rows.regions,
                "held-out" if are_others else "search",
                signs,
            )
            for question in result.questions
        ]
    nodes = tuple(of_question.figures for of_question in measured)
    if level is None or signs is None:
        return Judgement(None, nodes)
    exceeded = result.exceeded
    if are_others or exceeded is None:
        of_all_rows = [of_question.whole for of_question in measured]
        exceeded = Chance(result.questions, signs, of_all_rows, result.floors, level).exceeded
    judged = [
        JudgedQuestion(question, of_question.whole, of_question.regions)
        for question, of_question in zip(result.questions, measured, strict=True)
    ]
    return Judgement(
        estimate(
            judged,
            rows,
            weights=result.question_weights,
            floors=result.floors,
            exceeded=exceeded,
            level=level,
            rules=[str(rule) for rule in result.partition.rules],
            fidelities=described,
            optimism=optimism or [0.0] * len(judged),
        ),
        nodes,
    )


# Trees of folds ---------------------------------------------------------------------------------------


def trees_of_folds(result: FitResult, sample: Sample, searching: Searching) -> list[FoldTree]:
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
    quiet = searching.without_bars()
    trees = []
    for rows, left_out in folds(sample.rows.clusters, result.settings.seed):
        partition = quiet.on(sample.take(rows), exceeded=result.exceeded).regions().partition
        is_left_out = np.zeros(n_rows, dtype=np.bool_)
        is_left_out[left_out] = True
        trees.append(FoldTree(partition.apply(sample.rows.table), is_left_out))
    return trees


# Share that curves describe -----------------------------------------------------------------------------


def _described_by_fit(result: FitResult) -> Deferred[DescribedShares]:
    """Share described on the rows that made the curves."""
    curves = result.curves

    def shares() -> DescribedShares:
        return DescribedShares(
            in_regions=DescribedShare(curves.value.fidelity),
            overall=DescribedShare(curves.value.global_fidelity),
        )

    return Deferred(shares, now=curves.is_computed)


def _described_by_rows(result: FitResult, sample: Sample, regions: IntArray) -> DescribedShares:
    """Share of the prediction's variance that curves describe on other rows, with regions and without."""
    fits = list(result.outputs.values()) or [result]
    if any(fit.curves.value.surrogate.lacks_rows for fit in fits):
        return DescribedShares(in_regions=UNKNOWN, overall=UNKNOWN)
    one_region = np.zeros_like(regions)
    in_regions = list[Predicted]()
    overall = list[Predicted]()
    for fit, evaluations in zip(fits, sample.outputs, strict=True):
        model = evaluations.f + evaluations.offset
        curves: SurrogateFit = fit.curves.value
        surrogate = curves.surrogate
        predicted = predict_by_curves(surrogate, sample.rows.table, regions, fit.model)
        in_regions.append(Predicted(model, predicted))
        without_regions = replace(surrogate, regions=(curves.everywhere,))
        predicted = predict_by_curves(without_regions, sample.rows.table, one_region, fit.model)
        overall.append(Predicted(model, predicted))
    rows: Rows = sample.rows
    return DescribedShares(
        in_regions=described_share(in_regions, rows.weights, rows.clusters, result.level),
        overall=described_share(overall, rows.weights, rows.clusters, result.level),
    )


def predict_by_curves(
    surrogate: Surrogate, table: Table, regions: IntArray, model: Predictor
) -> FloatArray:
    """What curves say of other rows; effects of several columns ask the model."""
    predicted = surrogate.predict(table, regions, model if surrogate.needs_model else None)
    return in_unit_interval(predicted) if model.is_probability else predicted


def _described_by_folds(result: FitResult, trees: Sequence[FoldTree]) -> Deferred[DescribedShares]:
    """Share described on other rows, by curves that were made without a fold of the rows each."""
    fits = list(result.outputs.values()) or [result]

    def shares() -> DescribedShares:
        makers = [fit.curve_maker.value for fit in fits if fit.curve_maker is not None]
        if any(len(members) > 1 or len(members[0]) > 1 for m in makers for members in m.effects):
            # Curves alone do not predict: the model would be asked.
            return _described_by_fit(result).value
        return _shares_by_folds(result, makers, trees)

    return Deferred(shares, now=result.curves.is_computed)


def _shares_by_folds(
    result: FitResult, makers: Sequence[CurveMaker], trees: Sequence[FoldTree]
) -> DescribedShares:
    """Share described in the printed regions, and by one curve per feature."""
    weights = result.weights
    one_region = np.zeros(len(weights), dtype=np.intp)
    missed_in_regions = list[float]()
    overall = list[Predicted]()
    for maker in makers:
        missed_in_regions.append(_share_missed_in_regions(result, maker, trees))
        curves = np.empty(len(weights))  # of each row, made without its fold
        for tree in trees:
            without_fold = _predict_search_rows(maker, one_region, ~tree.is_left_out)
            curves[tree.is_left_out] = without_fold[tree.is_left_out]
        overall.append(Predicted(_model_predictions(maker), curves))
    return DescribedShares(
        # The rows chose the regions: there is no interval.
        in_regions=DescribedShare(1.0 - float(np.mean(missed_in_regions))),
        overall=described_share(overall, weights, result.rows.clusters, result.level),
    )


def _share_missed_in_regions(
    result: FitResult, maker: CurveMaker, trees: Sequence[FoldTree]
) -> float:
    """Share of the variance that curves in the printed regions miss on other rows.

    What they miss on their own rows, and the optimism of the trees of the folds with their curves.
    """
    weights = result.weights
    model = _model_predictions(maker)
    variance = float(
        np.average(np.square(model - np.average(model, weights=weights)), weights=weights)
    )
    if variance == 0.0:
        return 0.0
    every_row = np.ones(len(model), dtype=np.bool_)
    squared_errors = np.square(model - _predict_search_rows(maker, result.regions, every_row))
    missed = float(np.average(squared_errors, weights=weights)) / variance
    optimism_by_fold = []
    for tree in trees:
        left_out = tree.is_left_out
        squared_errors = np.square(model - _predict_search_rows(maker, tree.regions, ~left_out))
        on_others = np.average(squared_errors[left_out], weights=weights[left_out])
        on_search_rows = np.average(squared_errors[~left_out], weights=weights[~left_out])
        optimism_by_fold.append(float(on_others - on_search_rows) / variance)
    # By chance curves may miss less on the folds than on their own rows; nothing is less than none.
    return max(missed + expected_optimism(optimism_by_fold, trees, weights), 0.0)


def _model_predictions(maker: CurveMaker) -> FloatArray:
    """What the model predicts for the search rows, (n_rows,)."""
    return np.asarray(maker.evaluations.f + maker.evaluations.offset)


def _predict_search_rows(
    maker: CurveMaker, regions: IntArray, makes_curves: BoolArray
) -> FloatArray:
    """What one curve per feature and region predicts for all search rows, (n_rows,).

    Parameters
    ----------
    maker : CurveMaker
    regions : array of shape (n_rows,)
        Region of each row.
    makes_curves : array of shape (n_rows,)
        Which rows the curves are made from.
    """
    rows_of_regions = []
    for region in range(int(regions.max()) + 1):
        inside = np.flatnonzero((regions == region) & makes_curves)
        if len(inside) == 0:  # no row of the region makes curves: those of the others speak for it
            inside = np.flatnonzero(makes_curves)
        rows_of_regions.append(inside)
    centred = replace(maker, is_centred=True)
    predicted = centred.surrogate(rows_of_regions).predict(maker.table, regions)
    return in_unit_interval(predicted) if maker.is_probability else predicted
