"""What rows say of the regions that a fit found: held-out rows, folds of the search rows, or these themselves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute import one_blas_thread
from granite_xai.engine.signed_weights import signs
from granite_xai.fitting.described import described_later
from granite_xai.fitting.fit_result import FitResult, FitRun
from granite_xai.fitting.judging_rows import (
    JudgingRows,
    RegionsOfSample,
    estimate_of,
    observe_regions,
)
from granite_xai.fitting.new_rows import NewRows, Observation
from granite_xai.fitting.rows import SMALL_TABLE
from granite_xai.fitting.searching import search_again
from granite_xai.inference.cross_validation import (
    FoldTree,
    expected_optimism,
    optimism_of_tree,
)
from granite_xai.inference.described_share import (
    DescribedShare,
    DescribedShares,
    Predicted,
    described_share,
)
from granite_xai.inference.estimate import Estimate
from granite_xai.inference.measured_regions import Sample, joining_clusters
from granite_xai.inference.node_figures import NodeFigures
from granite_xai.inference.node_measures import node_figures
from granite_xai.inference.path import folds
from granite_xai.search.given_rules import GivenRules
from granite_xai.surrogate.additive import fit_surrogate, in_unit_interval


class Judgement(NamedTuple):
    """What some rows say of a partition."""

    estimate: Estimate | None  # None: there is no confidence level
    nodes: tuple[NodeFigures, ...]  # one for each question


def judge_by_held_out_rows(
    new_rows: NewRows, regions: IntArray, clusters: IntArray, observed: Observation
) -> Judgement:
    """What held-out rows say of the regions, and of every node above them; the fit has a confidence level.

    Parameters
    ----------
    new_rows : NewRows
        The held-out rows.
    regions, clusters : arrays of shape (n_rows,)
        Region of each row, and number of its cluster.
    observed : Observation
        What the model answered about them.
    """
    judging = observe_regions(new_rows, regions, clusters, observed)
    described = described_later(new_rows, judging)
    return _judgement(new_rows.fitted, judging, "held-out", described)


def judge_by_search_rows(run: FitRun, trees: Sequence[FoldTree] = ()) -> Judgement:
    """What the rows that searched say; there is no interval, since they chose the regions.

    Parameters
    ----------
    run : FitRun
    trees : sequence of FoldTree
        Searched without a fold of the rows each: figures are then corrected by their optimism.
    """
    judging = _search_rows(run)
    if not trees:
        return _judgement(run.result, judging, "fitting", _described_by_fit(run))
    optimism = _optimism_of_questions(run, judging.clusters, trees)
    described = _described_by_folds(run, trees)
    return _judgement(run.result, judging, "cross-validated", described, optimism)


def _optimism_of_questions(
    run: FitRun, clusters: IntArray, trees: Sequence[FoldTree]
) -> list[float]:
    """For each question how much less the printed tree leaves on its own rows than on others."""
    evaluations = run.evaluations
    row_signs = signs(clusters, run.inputs.seed)
    clusters_of_several = joining_clusters(clusters)
    optimism = []
    with one_blas_thread():
        for question in run.result.comparisons:
            by_fold = []
            for tree in trees:
                of_tree = optimism_of_tree(
                    question,
                    evaluations,
                    tree,
                    row_signs,
                    clusters=clusters_of_several,
                )
                by_fold.append(of_tree)
            optimism.append(expected_optimism(by_fold, trees, evaluations.weights))
    return optimism


def trees_of_folds(run: FitRun) -> list[FoldTree]:
    """Trees that are searched without a fold of the rows each; the model is not asked.

    None where there are enough rows to hold some out, where nothing was found, and where the
    regions were not searched.
    """
    inputs = run.inputs
    result = run.result
    if result.chance is None or len(result.partition) == 1:
        return []
    if inputs.table.n_rows >= SMALL_TABLE or isinstance(inputs.partitioner, GivenRules):
        return []
    # Whether there is anything to divide is decided by all rows, not by each fold's again.
    proven = result.chance.exceeded(result.floors)
    trees = []
    for rows, left_out in folds(inputs.clusters, inputs.seed):
        partition = search_again(inputs, run.evaluations, result.floors, run.error, rows, proven)
        is_left_out = np.zeros(inputs.table.n_rows, dtype=np.bool_)
        is_left_out[left_out] = True
        trees.append(FoldTree(regions=partition.apply(inputs.table), is_left_out=is_left_out))
    return trees


def _search_rows(run: FitRun) -> JudgingRows:
    """The rows that searched, and those of each region."""
    fitted = run.result
    evaluations = run.evaluations
    everywhere = Sample(
        questions=fitted.comparisons,
        evaluations=evaluations,
        rows=np.arange(evaluations.n_rows),
    )
    return JudgingRows(
        everywhere=everywhere,
        by_region=RegionsOfSample(everywhere, fitted.regions, len(fitted.partition)),
        regions=fitted.regions,
        clusters=run.inputs.clusters,
    )


def _judgement(
    fitted: FitResult,
    judging: JudgingRows,
    kind: str,
    described: Deferred[DescribedShares],
    optimism: Sequence[float] | None = None,
) -> Judgement:
    """The estimate and the figures of all nodes; the same signed pairs tell both what chance adds."""
    if fitted.confidence is None:
        with one_blas_thread():
            nodes = node_figures(
                fitted.partition,
                judging.regions,
                judging.everywhere,
                judging.by_region,
                rows="search",
            )
        return Judgement(estimate=None, nodes=nodes)
    are_held_out = kind == "held-out"
    chance_of_rows = None  # of other rows it is found out anew
    if not are_held_out:
        chance_of_rows = fitted.chance
    with one_blas_thread():
        measured = judging.measured(fitted.confidence.seed)
        estimate = estimate_of(
            fitted,
            judging,
            measured,
            kind,
            described,
            optimism=optimism,
            chance_of_rows=chance_of_rows,
        )
        nodes = node_figures(
            fitted.partition,
            judging.regions,
            judging.everywhere,
            judging.by_region,
            rows="held-out" if are_held_out else "search",
            signs=signs(judging.clusters, fitted.confidence.seed),
            clusters=judging.clusters,
            measured=measured,
        )
    return Judgement(estimate=estimate, nodes=nodes)


def _described_by_fit(run: FitRun) -> Deferred[DescribedShares]:
    """Share described on the rows that made the curves."""
    additive = run.result.additive

    def shares() -> DescribedShares:
        return DescribedShares(
            in_regions=DescribedShare(additive.value.fidelity),
            overall=DescribedShare(additive.value.global_fidelity),
        )

    return Deferred(shares, now=additive.is_computed)


def _described_by_folds(run: FitRun, trees: Sequence[FoldTree]) -> Deferred[DescribedShares]:
    """Share described on other rows, by curves that were made without a fold of the rows each."""
    runs = list(run.outputs.values()) or [run]
    if any(_needs_model(output_run) for output_run in runs):
        return _described_by_fit(run)  # curves alone do not predict: the model would be asked
    compute = partial(_shares_by_folds, run, runs, trees)
    return Deferred(compute, now=run.result.additive.is_computed)


def _needs_model(run: FitRun) -> bool:
    """Whether the surrogate has effects of several columns."""
    if run.result.layout.order > 1 or run.result.comparisons[0].effect_order > 1:
        return True
    return any(len(player) > 1 for player in run.result.layout.explained)


def _shares_by_folds(
    run: FitRun, runs: Sequence[FitRun], trees: Sequence[FoldTree]
) -> DescribedShares:
    """Share described in the printed regions, and by one curve per feature."""
    weights = run.evaluations.weights
    one_region = np.zeros(run.inputs.table.n_rows, dtype=np.intp)
    missed_in_regions = list[float]()
    overall = list[Predicted]()
    for output_run in runs:
        missed_in_regions.append(_share_missed_in_regions(output_run, trees, weights))
        model = _model_predictions(output_run)
        curves = np.empty(len(model))  # of each row, made without its fold
        for tree in trees:
            without_fold = _predict_by_curves(output_run, one_region, ~tree.is_left_out)
            curves[tree.is_left_out] = without_fold[tree.is_left_out]
        overall.append(Predicted(model=model, curves=curves))
    return DescribedShares(
        # The rows chose the regions: there is no interval.
        in_regions=DescribedShare(1.0 - float(np.mean(missed_in_regions))),
        overall=described_share(overall, weights, run.inputs.clusters, run.inputs.confidence),
    )


def _share_missed_in_regions(run: FitRun, trees: Sequence[FoldTree], weights: FloatArray) -> float:
    """Share of the variance that curves in the printed regions miss on other rows.

    What they miss on their own rows, and the optimism of the trees of the folds with their curves.
    """
    model = _model_predictions(run)
    deviations = model - np.average(model, weights=weights)
    variance = float(np.average(np.square(deviations), weights=weights))
    if variance == 0.0:
        return 0.0
    every_row = np.ones(len(model), dtype=np.bool_)
    squared_errors = np.square(model - _predict_by_curves(run, run.result.regions, every_row))
    missed = float(np.average(squared_errors, weights=weights)) / variance
    optimism_by_fold = []
    for tree in trees:
        left_out = tree.is_left_out
        squared_errors = np.square(model - _predict_by_curves(run, tree.regions, ~left_out))
        on_others = np.average(squared_errors[left_out], weights=weights[left_out])
        on_search_rows = np.average(squared_errors[~left_out], weights=weights[~left_out])
        optimism_by_fold.append(float(on_others - on_search_rows) / variance)
    # By chance curves may miss less on the folds than on their own rows; nothing is less than none.
    return max(missed + expected_optimism(optimism_by_fold, trees, weights), 0.0)


def _model_predictions(run: FitRun) -> FloatArray:
    """What the model predicts for the search rows, (n_rows,)."""
    evaluations = run.surrogate_evaluations.value
    return np.asarray(evaluations.predictions + evaluations.offset)


def _predict_by_curves(run: FitRun, regions: IntArray, makes_curves: BoolArray) -> FloatArray:
    """What one curve per feature and region predicts for all search rows, (n_rows,).

    Parameters
    ----------
    run : FitRun
    regions : array of shape (n_rows,)
        Region of each row.
    makes_curves : array of shape (n_rows,)
        Which rows the curves are made from.
    """
    table = run.inputs.table
    rows_of_regions = []
    for region in range(int(regions.max()) + 1):
        inside = np.flatnonzero((regions == region) & makes_curves)
        if len(inside) == 0:  # no row of the region makes curves: those of the others speak for it
            inside = np.flatnonzero(makes_curves)
        rows_of_regions.append(inside)
    players = run.result.layout.explained
    surrogate = fit_surrogate(
        table, run.surrogate_evaluations.value, players, 1, rows_of_regions, centred=True
    )
    curves = surrogate.predict(table, regions)
    if run.inputs.predictor.is_probability:
        curves = in_unit_interval(curves)
    return curves
