"""What every node of a tree says about its rows, set by set: the figures beside the printed tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.noise import ROUNDING, Noise, Signs, noise_of
from granite_xai.regions import Partition, Split
from granite_xai.tables import frame

NO_NODE = -1  # parent of the root, and region of a node that is split
PAIRS_OF_SPLIT_NODES = 10  # vectors of signs at a node that is split: it has no interval


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
        regions = [node for node in self.nodes if node.region != NO_NODE]
        return tuple(sorted(regions, key=lambda node: node.region))

    def children(self, number: int) -> tuple[NodeFigure, ...]:
        """The nodes right below that of this number, left before right."""
        return tuple(node for node in self.nodes if node.parent == number)

    def size(self, by_set: Sequence[float] | FloatArray) -> float:
        """The size of the gaps of some sets together, as `NodeFigure.heterogeneity`: nan where they are not known."""
        total = max(math.fsum(by_set), 0.0) if not any(map(math.isnan, by_set)) else math.nan
        return math.sqrt(total) if self.is_rooted else total

    def by_set_inside_regions(self) -> FloatArray:
        """Mean squared gap of every feature inside the regions, these weighed by share of the rows."""
        return _weighted_squared_gaps(self.leaves, len(self.sets))

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
        whole = _weighted_squared_gaps([self.nodes[node]], len(self.sets))
        return whole - _weighted_squared_gaps(self.children(node), len(self.sets))

    @property
    def removed(self) -> FloatArray:
        """How much the regions remove of every feature's mean squared gap over all rows."""
        return np.array(self.root.by_set) - self.by_set_inside_regions()

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


def _weighted_squared_gaps(nodes: Sequence[NodeFigure], n_sets: int) -> FloatArray:
    """Squared gaps of some nodes by set, each by its share of the rows; nodes without rows have none."""
    total = np.zeros(n_sets)
    for node in nodes:
        if node.n_samples:
            total += node.share * np.array(node.by_set)
    return total


class NodePlace(NamedTuple):
    """Where a node stands in its tree; numbers as in `NodeFigure`."""

    parent: int
    region: int
    column: str
    regions: range  # the regions below it

    def rows(self, regions: IntArray) -> IntArray:
        """The rows of the node, from the region of each row."""
        return np.flatnonzero((regions >= self.regions.start) & (regions < self.regions.stop))


def tree_places(partition: Partition) -> list[NodePlace]:
    """The nodes of a tree, parents first; of regions without a tree, the root and these."""
    places = []
    for place in partition.places:
        parent = NO_NODE if place.parent is None else place.parent.number
        region = NO_NODE if place.region is None else place.region
        column = place.node.column if isinstance(place.node, Split) else ""
        places.append(NodePlace(parent, region, column, place.regions))
    return places


# Measuring ----------------------------------------------------------------------------------------


class MeasuredNodes(NamedTuple):
    """One question at every node of a tree, on some rows.

    Parameters
    ----------
    figures : NodeFigures
    noises : list
        Of each node, in their order; None without signs, and where there are no rows.
    """

    figures: NodeFigures
    noises: list[Noise | None]

    @property
    def whole(self) -> Noise:
        """Of all rows."""
        noise = self.noises[0]
        if noise is None:
            raise ValueError("these nodes were measured without signs")
        return noise

    @property
    def plug_in(self) -> FloatArray:
        """The disagreement of every node as measured, (n_nodes,); nan where there are no rows."""
        by_node = zip(self.figures.nodes, self.noises, strict=True)
        return np.array(
            [sum(node.by_set) if noise is None else noise.plug_in for node, noise in by_node]
        )

    @property
    def regions(self) -> list[Noise | None]:
        """Of each region, by number."""
        nodes = zip(self.figures.nodes, self.noises, strict=True)
        by_region = {node.region: noise for node, noise in nodes if node.region != NO_NODE}
        return [by_region[region] for region in sorted(by_region)]


def measure_nodes(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    partition: Partition,
    regions: IntArray,
    rows: str,
    signs: Signs | None,
) -> MeasuredNodes:
    """What one question says at every node.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        Of all rows, of the output that the question is about.
    partition : Partition
    regions : array of shape (n_rows,)
        Region of each row.
    rows : "held-out" or "search"
    signs : Signs, optional
        Of the rows; without any, what chance adds is not taken off.
    """
    nodes: list[NodeFigure] = []
    noises: list[Noise | None] = []
    # Squared gaps beside squared predictions, or beside those of all rows.
    are_squared_effects = question.is_local and question.has_squared_loss
    largest = float(np.square(evaluations.f).max(initial=0.0)) if are_squared_effects else 0.0
    for number, place in enumerate(tree_places(partition)):
        inside = place.rows(regions)
        of_node = evaluations if number == 0 else evaluations.take(inside)
        whole = RegionWeights.whole(of_node.weights)
        noise = None
        by_set = np.full(len(question.sets), math.nan)
        if len(inside) and signs is not None:
            has_interval = number == 0 or place.region != NO_NODE
            of_rows = signs if number == 0 else signs.take(inside)
            if not has_interval:
                of_rows = of_rows.first(PAIRS_OF_SPLIT_NODES)
            noise = noise_of(question, of_node, of_rows, has_interval=has_interval)
            by_set = noise.corrected_by_set
        elif len(inside):
            by_set = question.losses(of_node, whole)[:, 0, 0]
        if number == 0:
            largest = max(largest, float(np.nanmax(np.abs(by_set), initial=0.0)))
        by_set = np.where(np.abs(by_set) < ROUNDING * largest, 0.0, by_set)
        heterogeneity = math.nan
        if len(inside):
            heterogeneity = max(float(by_set.sum()), 0.0)
            if question.has_squared_loss:
                heterogeneity = math.sqrt(heterogeneity)
        importances: list[tuple[float, ...]] = [(), ()]
        if len(inside) and not question.is_local:
            importances = [
                tuple(float(value[0, 0]) for value in side.values(of_node, whole))
                for side in (question.first, question.second)
            ]
        mean, spread = _mean_and_spread(evaluations, inside)
        figure = NodeFigure(
            node=number,
            parent=place.parent,
            region=place.region,
            column=place.column,
            n_samples=len(inside),
            share=float(evaluations.weights[inside].sum() / evaluations.weights.sum()),
            mean=mean,
            spread=spread,
            heterogeneity=heterogeneity,
            by_set=tuple(by_set.tolist()),
            first=importances[0],
            second=importances[1],
        )
        noises.append(noise)
        nodes.append(figure)
    figures = NodeFigures(
        question=question.label,
        rows=rows,
        n_rows=len(regions),
        sets=tuple(tuple(map(str, names)) for names in question.first.layout.labels),
        is_rooted=question.has_squared_loss,
        nodes=tuple(nodes),
    )
    return MeasuredNodes(figures, noises)


def _mean_and_spread(evaluations: Evaluations, inside: IntArray) -> tuple[float, float]:
    """Mean and standard deviation of the predictions of some rows; nan where there are none."""
    if len(inside) == 0:
        return math.nan, math.nan
    weights = evaluations.weights[inside]
    predictions = evaluations.predictions[inside]
    deviations = predictions - predictions[0]  # exactly 0 where predictions are equal
    mean = float(np.average(deviations, weights=weights))
    variance = float(np.average(np.square(deviations - mean), weights=weights))
    return float(predictions[0]) + mean, math.sqrt(variance)


def with_levels_of(
    figures: NodeFigures, partition: Partition, regions: IntArray, evaluations: Evaluations
) -> NodeFigures:
    """The same figures with mean and spread of the predictions of other rows.

    Heterogeneity is measured on held-out rows, but curves, and what is said of single rows, start
    from the mean of the search rows: one region has one mean.

    Parameters
    ----------
    figures : NodeFigures
    partition : Partition
    regions : array of shape (n_rows,)
        Region of each of the other rows.
    evaluations : Evaluations
        Of the other rows.
    """
    nodes = []
    for node, place in zip(figures.nodes, tree_places(partition), strict=True):
        mean, spread = _mean_and_spread(evaluations, place.rows(regions))
        nodes.append(replace(node, mean=mean, spread=spread))
    return replace(figures, nodes=tuple(nodes))
