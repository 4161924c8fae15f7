"""Measuring the figures of every node of a tree, for every question.

What chance adds is read off signed pairs of weights (`perturbed_figures`). The model is not asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute.primitives import SQUARE
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.regional_part import regional_part
from granite_xai.inference.measured_regions import (
    MeasuredQuestion,
    Sample,
    joining_clusters,
    n_clusters_of,
)
from granite_xai.inference.node_figures import (
    NO_NODE,
    NodeFigure,
    NodeFigures,
    NodePlace,
    tree_places,
)
from granite_xai.inference.perturbed_figures import corrected_figures
from granite_xai.regions import Partition

# Signed pairs that tell what chance adds at a node that is split; it has no interval.
PAIRS_OF_SPLIT_NODES = 10


class _NodeRows(NamedTuple):
    """The rows of one node."""

    number: int  # of the node, parents first
    place: NodePlace
    inside: IntArray  # their positions
    sample: Sample | None  # these rows as one region; None: there are none, or they cannot be one


def node_figures(
    partition: Partition,
    regions: IntArray,
    everywhere: Sample,
    by_region: Sequence[Sample | None],
    *,
    rows: str,
    signs: FloatArray | None = None,
    clusters: IntArray | None = None,
    measured: Sequence[MeasuredQuestion] = (),
    measures_inner: bool = True,
) -> tuple[NodeFigures, ...]:
    """What every question says at every node.

    Parameters
    ----------
    partition : Partition
    regions : array of shape (n_rows,)
        Region of each row.
    everywhere : Sample
        All rows.
    by_region : sequence of Sample
        The rows of each region; None where it has none.
    rows : "held-out" or "search"
    signs : array of shape (n_pairs, n_rows), optional
        Random signs of the rows; without any, what chance adds is not taken off.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row stands for itself.
    measured : sequence of MeasuredQuestion, optional
        What is known of all rows and of each region; without it this is measured here.
    measures_inner : bool
        Whether rows of several regions can be looked at as one; not where a masking depends on the
        region.
    """
    clusters = joining_clusters(clusters)
    by_node = []  # of each node the figures of all questions
    for number, place in enumerate(tree_places(partition)):
        inside = np.flatnonzero(np.isin(regions, place.regions))
        sample: Sample | None = everywhere
        if number > 0:
            sample = _sample(place, inside, everywhere, by_region, measures_inner)
        node = _NodeRows(number, place, inside, sample)
        by_node.append(_figures_of_node(node, everywhere, signs, clusters, measured))
        # The rows of an inner node are copied out of all: they are dropped before the next one's.
        del sample, node
    figures = []
    for question, nodes in zip(everywhere.questions, zip(*by_node, strict=True), strict=True):
        figures.append(
            NodeFigures(
                question=question.question.label,
                rows=rows,
                n_rows=len(everywhere.rows),
                sets=tuple(tuple(map(str, names)) for names in question.first.layout.labels),
                is_rooted=question.gap_loss.mode == SQUARE,
                nodes=nodes,
            )
        )
    return tuple(figures)


def _figures_of_node(
    node: _NodeRows,
    everywhere: Sample,
    signs: FloatArray | None,
    clusters: IntArray | None,
    measured: Sequence[MeasuredQuestion],
) -> list[NodeFigure]:
    """One node, question by question; parameters as of `node_figures`."""
    figures = []
    for number in range(len(everywhere.questions)):
        squared_gaps = None
        if measured:
            squared_gaps = _known_squared_gaps(measured[number], node)
        if squared_gaps is None:
            squared_gaps = _squared_gaps(number, node.sample, signs, clusters)
        figures.append(_node_figure(node, number, everywhere, squared_gaps))
    return figures


def with_levels_of(
    figures: Sequence[NodeFigures],
    partition: Partition,
    regions: IntArray,
    questions: Sequence[ResolvedQuestion],
    evaluations: Evaluations,
) -> tuple[NodeFigures, ...]:
    """The same figures with mean and spread of the predictions of other rows.

    Heterogeneity is measured on held-out rows, but curves, and what is said of single rows, start
    from the mean of the search rows: one region has one mean.

    Parameters
    ----------
    figures : sequence of NodeFigures
        One for each question.
    partition : Partition
    regions : array of shape (n_rows,)
        Region of each of the other rows.
    questions : sequence of ResolvedQuestion
    evaluations : Evaluations
        Of the other rows.
    """
    places = tree_places(partition)
    rows_of_nodes = [np.flatnonzero(np.isin(regions, place.regions)) for place in places]
    changed = []
    for of_question, question in zip(figures, questions, strict=True):
        nodes = []
        for node, inside in zip(of_question.nodes, rows_of_nodes, strict=True):
            mean, spread = _mean_and_spread(evaluations, question, inside)
            nodes.append(replace(node, mean=mean, spread=spread))
        changed.append(replace(of_question, nodes=tuple(nodes)))
    return tuple(changed)


def _mean_and_spread(
    evaluations: Evaluations, question: ResolvedQuestion, inside: IntArray
) -> tuple[float, float]:
    """Mean and standard deviation of the predictions of some rows; nan where there are none."""
    if len(inside) == 0:
        return math.nan, math.nan
    output = evaluations.outputs[question.output]
    weights = output.weights[inside]
    predictions = output.predictions[inside]
    mean = float(np.average(predictions, weights=weights))
    variance = float(np.average(np.square(predictions - mean), weights=weights))
    return mean + output.offset, math.sqrt(variance)


def _sample(
    place: NodePlace,
    inside: IntArray,
    everywhere: Sample,
    by_region: Sequence[Sample | None],
    measures_inner: bool,
) -> Sample | None:
    """The rows of a node as one region; None where there are none, or where they cannot be one."""
    if place.region != NO_NODE:
        return by_region[place.region]
    if len(inside) == 0 or not measures_inner:
        return None
    return Sample(
        questions=everywhere.questions,
        evaluations=everywhere.evaluations.restrict(inside),
        rows=everywhere.rows[inside],
    )


def _known_squared_gaps(measured: MeasuredQuestion, node: _NodeRows) -> FloatArray | None:
    """What was measured of the root or of a region; None of other nodes, and without rows."""
    perturbed = None
    if node.number == 0:
        perturbed = measured.whole
    elif node.place.region != NO_NODE:
        perturbed = measured.regions[node.place.region]
    if perturbed is None:
        return None
    return perturbed.figures.corrected_by_set


def _squared_gaps(
    number: int, sample: Sample | None, signs: FloatArray | None, clusters: IntArray | None
) -> FloatArray | None:
    """Mean loss of the gap of every set at a node, without chance where signs tell it, (S,)."""
    if sample is None:
        return None
    question = sample.questions[number]
    if signs is None:
        return _plug_in(question, sample.evaluations)
    few_signs = signs[:PAIRS_OF_SPLIT_NODES, sample.rows]
    corrected = corrected_figures(
        question, sample.evaluations, few_signs, n_clusters_of(sample, clusters)
    )
    return corrected.corrected_by_set


def _plug_in(question: ResolvedQuestion, evaluations: Evaluations) -> FloatArray:
    """Mean loss of the gap of every set as it is, (S,)."""
    whole = Splits.whole(evaluations.weights)
    shares = evaluations.weights / evaluations.weights.sum()
    by_set = []
    for gaps in question.gap_values(evaluations, whole):
        if question.first.behavior.per_row:
            by_set.append(float(question.loss(gaps[0]) @ shares))
        else:
            by_set.append(float(question.loss(gaps[:1, 0])[0]))
    return np.array(by_set)


def _node_figure(
    node: _NodeRows, number: int, everywhere: Sample, by_set: FloatArray | None
) -> NodeFigure:
    """One node and the question of this number, from the squared gaps of its sets."""
    question = everywhere.questions[number]
    output = everywhere.evaluations.outputs[question.output]
    weights = output.weights[node.inside]
    mean, spread = _mean_and_spread(everywhere.evaluations, question, node.inside)
    heterogeneity = math.nan
    if by_set is None:
        by_set = np.full(len(question.first.layout.sets), math.nan)
    else:
        heterogeneity = max(float(by_set.sum()), 0.0)
        if question.gap_loss.mode == SQUARE:
            heterogeneity = math.sqrt(heterogeneity)
    first, second = _importances(node.sample, number)
    return NodeFigure(
        node=node.number,
        parent=node.place.parent,
        region=node.place.region,
        column=node.place.column,
        n_samples=len(node.inside),
        share=float(weights.sum() / output.weights.sum()),
        mean=mean,
        spread=spread,
        heterogeneity=heterogeneity,
        by_set=tuple(by_set.tolist()),
        first=first,
        second=second,
    )


def _importances(sample: Sample | None, number: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Importance of every set by both explanations; nothing where a gap is one of every row."""
    if sample is None:
        return (), ()
    question = sample.questions[number]
    if question.first.behavior.per_row:
        return (), ()
    evaluations = sample.evaluations.outputs[question.output]
    first = regional_part(0, "", question.first, evaluations, sample.rows)
    second = regional_part(0, "", question.second, evaluations, sample.rows)
    return tuple(first.values.tolist()), tuple(second.values.tolist())
