"""What each split of a fit adds to what is described, and the best cuts that were not made."""

from __future__ import annotations

import math
from dataclasses import replace

from granite_xai.base.deferred import Deferred
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.typing import FloatArray
from granite_xai.evaluations.evaluations import Sample
from granite_xai.fitting.find import Search
from granite_xai.fitting.fit_result import FitResult
from granite_xai.inference.estimate import Predicted, described_share
from granite_xai.regions import Leaf, Node, Partition
from granite_xai.regions.tree import Ledger, UntakenCut
from granite_xai.search.growth import Tree, untaken_cuts
from granite_xai.tables.rows import Rows


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
            described = [
                _described(result, root, rows, predictions)
                for root in _growing(result.partition.root)
            ]
        return Ledger(tuple(described), tuple(cuts))

    return Deferred(ledger)


def _growing(root: Node) -> list[Node]:
    """A tree without splits, with the first one, with the first two, ..., parents first."""
    return [_first_splits(root, number)[0] for number in range(_count(root) + 1)]


def _count(node: Node) -> int:
    if isinstance(node, Leaf):
        return 0
    return 1 + sum(_count(child) for child in node.children)


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
    for fit, model in zip(result.outputs.values() or [result], predictions, strict=True):
        curves = fit.shared_curves.value
        if fit.curve_maker is None or curves.needs_model:
            return math.nan
        if len(partition) < len(result.partition):
            curves = fit.curve_maker.value.shared_curves(partition, search_regions)
        predicted.append(Predicted(model, curves.predict(rows.table, regions)))
    return described_share(predicted, rows.weights, rows.clusters, None).value
