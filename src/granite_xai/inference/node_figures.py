"""NodeFigures: what every node of a tree says about its rows, feature by feature.

These stand beside the printed tree ("rows stray"), and its first sentence comes from them: whose
heterogeneity a split removes. The rows are held out where any are; the model is not asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute.primitives import SQUARE
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.regional_part import regional_part
from granite_xai.inference.estimate import MeasuredQuestion, Perturbed, Sample, perturbed
from granite_xai.regions.nodes import Leaf, Node, leaves
from granite_xai.regions.partition import Partition
from granite_xai.tables import frame

NO_NODE = -1  # parent of the root, and region of a node that is split
INNER_PAIRS = (
    10  # signed pairs that tell what chance adds at a node that is split; it has no interval
)


@dataclass(frozen=True, slots=True)
class NodeFigure:
    """One node of the tree.

    Attributes
    ----------
    node, parent : int
        Its number, parents first and left before right (the root is 0, as in ``Partition.to_dict``),
        and that of the node above it; -1 above the root.
    region : int
        Its region where it is a leaf, otherwise -1.
    column : str
        Feature that it is split on; empty for a leaf. Of regions that have no tree, all are
        children of the root, which has none.
    n_samples, share : int, float
        Its rows among those of `NodeFigures.rows`, and their share of the weight.
    mean, spread : float
        Mean and standard deviation of the predictions of its search rows, which also made the
        curves; nan where there are none.
    heterogeneity : float
        How far rows stray from one curve per feature at this node: the root of the mean squared gap,
        summed over features, without what chance adds, in units of the prediction. Of an
        importance question the root of the summed squared differences, in units of the importance.
        Losses other than the squared one: their mean. nan where no row is here.
    by_set : tuple of float
        The same feature by feature, not rooted: mean squared gap without what chance adds. May be
        slightly negative; the sum is the square of ``heterogeneity``, unless that is 0.
    first, second : tuple of float
        Of an importance question the importance of every feature by both explanations, as they are
        here; empty for questions with a gap at every row.
    """

    node: int
    parent: int
    region: int
    column: str
    n_samples: int
    share: float
    mean: float
    spread: float
    heterogeneity: float
    by_set: tuple[float, ...]
    first: tuple[float, ...] = ()
    second: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """What one question says at every node of a tree.

    Attributes
    ----------
    question : str
        Its label.
    rows : "held-out" or "search"
        Which rows these figures are of.
    n_rows : int
        How many these are.
    sets : tuple of tuples of str
        The features (or groups, or pairs) in the order of ``by_set``, ``first`` and ``second``.
    is_rooted : bool
        Whether the loss is squared, so that roots of ``by_set`` are in units of the prediction.
    nodes : tuple of NodeFigure
        All nodes, parents first.
    """

    question: str
    rows: str
    n_rows: int
    sets: tuple[tuple[str, ...], ...]
    is_rooted: bool
    nodes: tuple[NodeFigure, ...]

    @property
    def root(self) -> NodeFigure:
        """All rows."""
        return self.nodes[0]

    @property
    def leaves(self) -> tuple[NodeFigure, ...]:
        """The regions, by number."""
        found = [node for node in self.nodes if node.region != NO_NODE]
        return tuple(sorted(found, key=lambda node: node.region))

    def children(self, node: int) -> tuple[NodeFigure, ...]:
        """The nodes right below one, left before right."""
        return tuple(each for each in self.nodes if each.parent == node)

    def by_set_inside_regions(self) -> FloatArray:
        """Mean squared gap of every feature inside the regions, these weighed by share of the rows."""
        return _mass_of(self.leaves, len(self.sets))

    def removed_by_split(self, node: int) -> FloatArray:
        """How much a split removes of every feature's mean squared gap over all rows.

        Parameters
        ----------
        node : int
            Number of the node that is split.

        Returns
        -------
        array of shape (n_sets,)
            ``share * by_set`` of the node, less those of both children. The splits of a tree add up
            to `removed`. Negative where a split adds to a feature's heterogeneity.
        """
        whole = _mass_of([self.nodes[node]], len(self.sets))
        return whole - _mass_of(self.children(node), len(self.sets))

    @property
    def removed(self) -> FloatArray:
        """How much the regions remove of every feature's mean squared gap over all rows."""
        return np.array(self.root.by_set) - self.by_set_inside_regions()

    def importances_inside_regions(self) -> tuple[FloatArray, FloatArray]:
        """Both importances of every feature inside the regions, these weighed by share of the rows.

        Empty for questions with a gap at every row.
        """
        shares = np.array([leaf.share for leaf in self.leaves if leaf.n_samples])
        first = np.array([leaf.first for leaf in self.leaves if leaf.n_samples])
        second = np.array([leaf.second for leaf in self.leaves if leaf.n_samples])
        return shares @ first, shares @ second

    def frame(self) -> Any:
        """One line for each node and feature: node, parent, region, n_samples, share, mean, spread, ..."""
        lines = []
        for node in self.nodes:
            for number, names in enumerate(self.sets):
                line = {
                    "node": node.node,
                    "parent": node.parent,
                    "region": node.region,
                    "n_samples": node.n_samples,
                    "share": node.share,
                    "mean": node.mean,
                    "spread": node.spread,
                    "heterogeneity": node.heterogeneity,
                    "feature": " × ".join(names),
                    "squared_gap": node.by_set[number],
                }
                lines.append(line)
        return frame({key: [line[key] for line in lines] for key in lines[0]})


def _mass_of(nodes: Sequence[NodeFigure], n_sets: int) -> FloatArray:
    """Squared gaps of some nodes, each by its share of the rows; nodes without rows have none."""
    total = np.zeros(n_sets)
    for node in nodes:
        if node.n_samples:
            total += node.share * np.array(node.by_set)
    return total


class NodePlace(NamedTuple):
    """Where a node stands in its tree."""

    parent: int
    region: int
    column: str
    regions: range  # the regions below it


def tree_places(partition: Partition) -> list[NodePlace]:
    """The nodes of a tree, parents first; of regions without a tree, the root and these."""
    count = len(partition)
    if partition.root is None:
        root = NodePlace(parent=NO_NODE, region=NO_NODE, column="", regions=range(count))
        regions = [
            NodePlace(parent=0, region=k, column="", regions=range(k, k + 1)) for k in range(count)
        ]
        return [root, *regions]
    places = list[NodePlace]()
    _append_places(partition.root, NO_NODE, 0, places)
    return places


def _append_places(node: Node, parent: int, first_region: int, places: list[NodePlace]) -> None:
    """Append a node and those below it."""
    n_regions = sum(1 for _ in leaves(node))
    regions = range(first_region, first_region + n_regions)
    if isinstance(node, Leaf):
        places.append(NodePlace(parent=parent, region=first_region, column="", regions=regions))
        return
    number = len(places)
    places.append(NodePlace(parent=parent, region=NO_NODE, column=node.column, regions=regions))
    left, right = node.children
    _append_places(left, number, first_region, places)
    _append_places(right, number, first_region + sum(1 for _ in leaves(left)), places)


def node_figures(
    partition: Partition,
    regions: IntArray,
    everywhere: Sample,
    by_region: Sequence[Sample | None],
    *,
    rows: str,
    drawn: FloatArray | None = None,
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
    drawn : array of shape (n_pairs, n_rows), optional
        Signs of the rows; without any, what chance adds is not taken off.
    measured : sequence of MeasuredQuestion, optional
        What is known of all rows and of each region; without it this is measured here.
    measures_inner : bool
        Whether rows of several regions can be looked at as one; not where a masking depends on the
        region.
    """
    places = tree_places(partition)
    members = [np.flatnonzero(np.isin(regions, place.regions)) for place in places]
    samples = list[Sample | None]([everywhere])
    for place, inside in zip(places[1:], members[1:], strict=True):
        samples.append(_sample(place, inside, everywhere, by_region, measures_inner))
    found = []
    for number, question in enumerate(everywhere.questions):
        nodes = []
        for k, (place, inside) in enumerate(zip(places, members, strict=True)):
            known = None
            if measured and k == 0:
                known = measured[number].whole
            elif measured and place.region != NO_NODE:
                known = measured[number].regions[place.region]
            by_set = _squared_gaps(number, samples[k], known, drawn)
            nodes.append(
                _node_figure(k, place, question, everywhere, inside, samples[k], by_set, number)
            )
        found.append(
            NodeFigures(
                question=question.question.label,
                rows=rows,
                n_rows=len(everywhere.rows),
                sets=tuple(tuple(map(str, names)) for names in question.first.layout.labels),
                is_rooted=question.gap_loss.mode == SQUARE,
                nodes=tuple(nodes),
            )
        )
    return tuple(found)


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
    members = [np.flatnonzero(np.isin(regions, place.regions)) for place in tree_places(partition)]
    changed = []
    for of_question, question in zip(figures, questions, strict=True):
        nodes = []
        for node, inside in zip(of_question.nodes, members, strict=True):
            mean, spread = _level(evaluations, question, inside)
            nodes.append(replace(node, mean=mean, spread=spread))
        changed.append(replace(of_question, nodes=tuple(nodes)))
    return tuple(changed)


def _level(
    evaluations: Evaluations, question: ResolvedQuestion, inside: IntArray
) -> tuple[float, float]:
    """Mean and standard deviation of the predictions of some rows; nan where there are none."""
    if len(inside) == 0:
        return math.nan, math.nan
    output = evaluations.outputs[question.output]
    weights = output.weights[inside]
    predictions = output.predictions[inside]
    centre = float(np.average(predictions, weights=weights))
    variance = float(np.average(np.square(predictions - centre), weights=weights))
    return centre + output.offset, math.sqrt(variance)


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


def _squared_gaps(
    number: int, sample: Sample | None, known: Perturbed | None, drawn: FloatArray | None
) -> FloatArray | None:
    """Mean loss of the gap of every set at a node, without chance where signs tell it, (S,)."""
    if known is not None:
        return known.corrected_by_set
    if sample is None:
        return None
    question = sample.questions[number]
    if drawn is None:
        return _plug_in(question, sample.evaluations)
    few = drawn[:INNER_PAIRS, sample.rows]
    return perturbed(question, sample.evaluations, few).corrected_by_set


def _plug_in(question: ResolvedQuestion, evaluations: Evaluations) -> FloatArray:
    """Mean loss of the gap of every set as it is, (S,)."""
    whole = Splits.whole(evaluations.weights, evaluations.primitives)
    shares = evaluations.weights / evaluations.weights.sum()
    by_set = []
    for gap in question.gap_values(evaluations, whole):
        if question.first.behavior.per_row:
            by_set.append(float(question.loss(gap[0]) @ shares))
        else:
            by_set.append(float(question.loss(gap[:1, 0])[0]))
    return np.array(by_set)


def _node_figure(
    node: int,
    place: NodePlace,
    question: ResolvedQuestion,
    everywhere: Sample,
    inside: IntArray,
    sample: Sample | None,
    by_set: FloatArray | None,
    number: int,
) -> NodeFigure:
    """One node, from its rows and the squared gaps there."""
    output = everywhere.evaluations.outputs[question.output]
    weights = output.weights[inside]
    mean, spread = _level(everywhere.evaluations, question, inside)
    heterogeneity = math.nan
    if by_set is None:
        by_set = np.full(len(question.first.layout.sets), math.nan)
    else:
        heterogeneity = max(float(by_set.sum()), 0.0)
        if question.gap_loss.mode == SQUARE:
            heterogeneity = math.sqrt(heterogeneity)
    first, second = _importances(sample, number)
    return NodeFigure(
        node=node,
        parent=place.parent,
        region=place.region,
        column=place.column,
        n_samples=len(inside),
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
    known = sample.evaluations.outputs[question.output]
    first, second = (
        regional_part(0, "", side, known, sample.rows).values
        for side in (question.first, question.second)
    )
    return tuple(first.tolist()), tuple(second.tolist())
