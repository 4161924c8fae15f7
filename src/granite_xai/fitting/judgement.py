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
from granite_xai.fitting.judging_rows import JudgingRows, estimate_of, observe_regions
from granite_xai.fitting.measuring import order_of
from granite_xai.fitting.new_rows import NewRows, Observation, rows_by_region
from granite_xai.fitting.rows import SMALL_TABLE
from granite_xai.fitting.searching import search_again
from granite_xai.inference.cross_validation import FoldTree, cross_validated_disagreement
from granite_xai.inference.described_share import (
    DescribedShare,
    DescribedShares,
    Predicted,
    described_share,
)
from granite_xai.inference.estimate import Estimate, Sample
from granite_xai.inference.node_figures import NodeFigures, node_figures
from granite_xai.inference.path import folds
from granite_xai.search.problem import GivenRules
from granite_xai.surrogate.additive import fit_surrogate, in_unit_interval


class Judgement(NamedTuple):
    """What some rows say of a partition."""

    estimate: Estimate | None  # None: there is no confidence level
    nodes: tuple[NodeFigures, ...]  # one for each question


def judge_by_held_out_rows(
    new: NewRows, regions: IntArray, clusters: IntArray, observed: Observation
) -> Judgement:
    """What held-out rows say of the regions, and of every node above them.

    Parameters are those of `observe_regions`; the fit has a confidence level.
    """
    judging = observe_regions(new, regions, clusters, observed)
    described = described_later(new, judging)
    return _judgement(new.fitted, judging, "held-out", described)


def judge_by_search_rows(run: FitRun, trees: Sequence[FoldTree] = ()) -> Judgement:
    """What the rows that searched say; there is no interval, since they chose the regions.

    Parameters
    ----------
    run : FitRun
    trees : sequence of FoldTree
        Searched without a fold of the rows each: what regions leave is then cross-validated.
    """
    judging = _search_rows(run)
    if not trees:
        return _judgement(run.result, judging, "fitting", _described_by_fit(run))
    drawn = signs(judging.clusters, run.inputs.seed)
    with one_blas_thread():
        left = [
            cross_validated_disagreement(question, run.evaluations, trees, drawn)
            for question in run.result.comparisons
        ]
    described = _described_by_folds(run, trees)
    return _judgement(run.result, judging, "cross-validated", described, left)


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
    by_region: list[Sample | None] = [None] * len(fitted.partition)
    for region, rows in rows_by_region(fitted.regions):
        by_region[region] = Sample(
            questions=fitted.comparisons, evaluations=evaluations.restrict(rows), rows=rows
        )
    return JudgingRows(
        everywhere=Sample(
            questions=fitted.comparisons,
            evaluations=evaluations,
            rows=np.arange(evaluations.n_rows),
        ),
        by_region=by_region,
        regions=fitted.regions,
        clusters=run.inputs.clusters,
    )


def _judgement(
    fitted: FitResult,
    judging: JudgingRows,
    kind: str,
    described: Deferred[DescribedShares],
    cross_validated: Sequence[float] | None = None,
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
    with one_blas_thread():
        measured = judging.measured(fitted.confidence.seed)
        estimate = estimate_of(
            fitted,
            judging,
            measured,
            kind,
            described,
            cross_validated=cross_validated,
            root=None if kind == "held-out" else fitted.chance,
        )
        nodes = node_figures(
            fitted.partition,
            judging.regions,
            judging.everywhere,
            judging.by_region,
            rows="held-out" if kind == "held-out" else "search",
            drawn=signs(judging.clusters, fitted.confidence.seed),
            measured=measured,
            # The baseline of a region is one of its search rows: nodes above regions have none.
            measures_inner=kind != "held-out" or not fitted.centres,
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
    """Share described where each row is predicted by curves that were made without its fold."""
    runs = list(run.outputs.values()) or [run]
    if any(one.result.layout.order > 1 or _needs_model(one) for one in runs):
        return _described_by_fit(run)  # curves alone do not predict: the model would be asked
    compute = partial(_shares_by_folds, run, runs, trees)
    return Deferred(compute, now=run.result.additive.is_computed)


def _needs_model(run: FitRun) -> bool:
    """Whether the surrogate has effects of several columns."""
    players = run.result.layout.explained
    return order_of(run.result.comparisons) > 1 or any(len(player) > 1 for player in players)


def _shares_by_folds(
    run: FitRun, runs: Sequence[FitRun], trees: Sequence[FoldTree]
) -> DescribedShares:
    in_regions = list[Predicted]()
    overall = list[Predicted]()
    everyone = np.zeros(run.inputs.table.n_rows, dtype=np.intp)
    for one in runs:
        known = one.complete.value
        model = known.predictions + known.offset
        by_fold = np.empty((2, len(model)))
        for tree in trees:
            left_out = np.flatnonzero(tree.is_left_out)
            for line, regions in enumerate((run.result.regions, everyone)):
                by_fold[line, left_out] = _predicted_without(one, regions, tree.is_left_out)
        in_regions.append(Predicted(model=model, curves=by_fold[0]))
        overall.append(Predicted(model=model, curves=by_fold[1]))
    weights = run.evaluations.weights
    clusters = run.inputs.clusters
    confidence = run.inputs.confidence
    searched = described_share(in_regions, weights, clusters, confidence=None)
    return DescribedShares(
        in_regions=searched,  # these rows chose the regions: there is no interval
        overall=described_share(overall, weights, clusters, confidence),
    )


def _predicted_without(run: FitRun, regions: IntArray, is_left_out: BoolArray) -> FloatArray:
    """What curves of the other rows say of those of a fold."""
    table = run.inputs.table
    members = []
    for region in range(int(regions.max()) + 1):
        inside = np.flatnonzero((regions == region) & ~is_left_out)
        if len(inside) == 0:  # the whole region is left out: the others speak for it
            inside = np.flatnonzero(~is_left_out)
        members.append(inside)
    players = run.result.layout.explained
    surrogate = fit_surrogate(table, run.complete.value, players, 1, members)
    left_out = np.flatnonzero(is_left_out)
    curves = surrogate.predict(table.take(left_out), regions[left_out])
    if run.inputs.predictor.is_probability:
        curves = in_unit_interval(curves)
    return curves
