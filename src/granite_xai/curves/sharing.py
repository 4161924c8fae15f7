"""Which regions share a curve: from one curve per feature and region to fewer, the cheapest first (docs/method.rst).

Two branches of the tree below one split that tell one curve of a piece each may share that of their
parent's rows. What the description then misses, summed over the rows, is a quadratic form in the
joins that are made, so that they are chosen from a few sums of products, not from rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.inference.nodes import NO_NODE, tree_places
from granite_xai.regions import Partition

LEAST_BUDGET = 0.005
"""Share of the variance that may be given up for fewer curves wherever a share of it may."""
LARGEST_HARDLY = 0.005
"""Share of the variance that a piece which hardly matters describes less than."""
ALL_HARDLY = 0.02
"""Share of the variance that these describe together, at most."""
ROUNDING = 1e-10
"""Share of what may be given up below which two joins cost the same."""


class Inner(NamedTuple):
    """A node that is divided."""

    node: int
    depth: int
    children: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a tree, by the regions below each.

    Parameters
    ----------
    below : array of shape (nodes, regions)
        Which regions lie below each node.
    paths : array of shape (depths, regions)
        The node above each region at each depth, from the root; the region's own beyond.
    inner : tuple of Inner
        Parents before their children.
    """

    below: BoolArray
    paths: IntArray
    inner: tuple[Inner, ...]

    @classmethod
    def of(cls, partition: Partition) -> Nodes:
        """Of a tree; of regions without one, all rows and these below them."""
        places = tree_places(partition)
        if len(partition) == 1:
            places = places[:1]
        n_regions = len(partition)
        below = np.zeros((len(places), n_regions), dtype=np.bool_)
        depths = list[int]()
        children: list[list[int]] = [[] for _ in places]
        for number, place in enumerate(places):
            below[number, place.regions] = True
            depths.append(0 if place.parent == NO_NODE else depths[place.parent] + 1)
            if place.parent != NO_NODE:
                children[place.parent].append(number)
        paths = np.zeros((max(depths) + 1, n_regions), dtype=np.intp)
        for number, depth in enumerate(depths):  # deeper nodes come later and overwrite those above
            paths[depth:, below[number]] = number
        inner = tuple(
            Inner(number, depths[number], tuple(of_node))
            for number, of_node in enumerate(children)
            if of_node
        )
        return cls(below, paths, inner)

    def mixing(self, masses: FloatArray) -> FloatArray:
        """Share of each region in each node, (nodes, regions), from the weight of each region's rows."""
        mixed = self.below * masses
        has_no_row = mixed.sum(axis=1) == 0.0
        mixed[has_no_row] = self.below[has_no_row]
        return np.asarray(mixed / mixed.sum(axis=1)[:, None])

    @property
    def leaves(self) -> IntArray:
        """The node that each region is, (regions,)."""
        return np.asarray(self.paths[-1])


def shared_nodes(
    nodes: Nodes,
    steps: FloatArray,
    missed: FloatArray,
    regions: IntArray,
    weights: FloatArray,
    allowed: float,
) -> IntArray:
    """The node whose curve each region has of each piece, (regions, pieces).

    Parameters
    ----------
    nodes : Nodes
    steps : array of shape (depths - 1, pieces, n_rows)
        How much more a row gets of each piece from its node at a depth than from its node one deeper, each counted
        from its mean over the region's rows.
    missed : array of shape (n_rows,)
        Prediction less description, with one curve per feature and region.
    regions : array of shape (n_rows,)
    weights : array of shape (n_rows,)
    allowed : float
        How much more the weighted squares of what is missed may add up to.
    """
    n_pieces = steps.shape[1]
    joins = [(inner, piece) for inner in nodes.inner for piece in range(n_pieces)]
    product, products = _products(nodes, steps, missed, regions, weights)
    is_single = np.zeros((len(nodes.below), n_pieces), dtype=np.bool_)
    is_single[nodes.leaves] = True
    chosen = np.repeat(nodes.leaves[:, None], n_pieces, axis=1)
    is_open = np.array([is_single[list(inner.children), piece].all() for inner, piece in joins])
    tie = ROUNDING * allowed
    added = 0.0
    while is_open.any():
        costs = np.where(is_open, np.diag(products) - 2.0 * product, np.inf)
        number = int(np.flatnonzero(costs <= costs.min() + tie)[0])
        added += float(costs[number])
        if added > allowed:
            break
        inner, piece = joins[number]
        chosen[nodes.below[inner.node], piece] = inner.node
        is_single[inner.node, piece] = True
        is_open[number] = False
        product = product - products[:, number]
        for place, above in enumerate(nodes.inner):
            if inner.node in above.children:
                are_single = is_single[list(above.children), piece]
                is_open[place * n_pieces + piece] = bool(are_single.all())
    return chosen


def _products(
    nodes: Nodes,
    steps: FloatArray,
    missed: FloatArray,
    regions: IntArray,
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Sums over rows of what every join moves times what is missed, (J,), and what every other moves, (J, J)."""
    n_pieces = steps.shape[1]
    size = len(nodes.inner) * n_pieces
    product = np.zeros(size)
    products = np.zeros((size, size))
    for number, inner in enumerate(nodes.inner):
        here = slice(number * n_pieces, (number + 1) * n_pieces)
        rows = np.flatnonzero(nodes.below[inner.node][regions])
        weighted = steps[inner.depth][:, rows] * weights[rows]
        product[here] = weighted @ missed[rows]
        for other, above in enumerate(nodes.inner[: number + 1]):
            if not nodes.below[above.node][nodes.below[inner.node]].all():
                continue
            there = slice(other * n_pieces, (other + 1) * n_pieces)
            products[here, there] = weighted @ steps[above.depth][:, rows].T
            products[there, here] = products[here, there].T
    return product, products


def budget(fraction: float, gained: float, variance: float) -> float:
    """How much more than with one curve per feature and region may be missed.

    Parameters
    ----------
    fraction : float
        Of what regions add.
    gained : float
        That: how much less is missed, as a mean square, than with one curve per feature.
    variance : float
        Of the predictions.
    """
    return max(fraction * gained, LEAST_BUDGET * variance)


def hardly_matters(
    added: FloatArray, weights: FloatArray, variance: float, matters: BoolArray
) -> BoolArray:
    """Which pieces hardly matter: the smallest, which together describe next to nothing, (pieces,).

    Parameters
    ----------
    added : array of shape (2, pieces, n_rows)
        What each piece adds to the mean of a row's region, and to that of all rows where there are no regions.
    weights : array of shape (n_rows,)
        They add up to 1.
    variance : float
        Of the predictions.
    matters : array of shape (pieces,)
        Those that do in any case: regions are divided by them.
    """
    sizes = (np.square(added) @ weights).max(axis=0)
    hardly = np.zeros(len(sizes), dtype=np.bool_)
    together = np.zeros((2, len(weights)))
    for number in np.argsort(sizes, kind="stable").tolist():
        if matters[number]:
            continue
        together = together + added[:, number]
        is_small = sizes[number] < LARGEST_HARDLY * variance or sizes[number] == 0.0
        if not is_small or (np.square(together) @ weights).max() > ALL_HARDLY * variance:
            break
        hardly[number] = True
    return hardly
