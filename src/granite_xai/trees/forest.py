"""A sum of trees in flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose leaves are added up; the nodes of a tree follow each other, parents first.

    A row goes left at a node if ``x <= threshold``, or ``x < threshold`` where the node is strict.

    Parameters
    ----------
    feature : array of shape (n_nodes,)
        Column that a node asks about; -1: a leaf.
    threshold, strict : arrays of shape (n_nodes,)
    default_left : array of shape (n_nodes,)
        Whether missing values go left.
    left, right : arrays of shape (n_nodes,)
        Numbers of the children.
    value : array of shape (n_nodes,)
        What a leaf adds; the factor of averaging is part of it.
    categories : dict of node to array
        The categories that a node sends left, or right where ``list_right``.
    list_right : array of shape (n_nodes,)
    starts : array of shape (n_trees + 1,)
        Root of each tree, and the number of nodes.
    base : float
        Added to the sum of the leaves.
    """

    feature: IntArray
    threshold: FloatArray
    strict: BoolArray
    default_left: BoolArray
    left: IntArray
    right: IntArray
    value: FloatArray
    categories: dict[int, IntArray]
    list_right: BoolArray
    starts: IntArray
    base: float

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.starts) - 1

    @cached_property
    def leaves(self) -> IntArray:
        """Nodes that are leaves."""
        return np.flatnonzero(self.feature < 0)

    @cached_property
    def inner(self) -> IntArray:
        """Nodes that are not."""
        return np.flatnonzero(self.feature >= 0)

    @cached_property
    def most_leaves(self) -> int:
        """Leaves of the largest tree."""
        if not self.n_trees:
            return 0
        return int(np.add.reduceat(self.feature < 0, self.starts[:-1]).max())

    @cached_property
    def levels(self) -> tuple[IntArray, ...]:
        """The inner nodes of every depth, over all trees."""
        levels: list[IntArray] = []
        nodes = self.starts[:-1]
        while True:
            nodes = nodes[self.feature[nodes] >= 0]
            if len(nodes) == 0:
                return tuple(levels)
            levels.append(nodes)
            nodes = np.concatenate([self.left[nodes], self.right[nodes]])

    @property
    def n_steps(self) -> int:
        """Nodes that a row passes, at most: the trees times the depth of the deepest."""
        return self.n_trees * len(self.levels)

    @cached_property
    def reach(self) -> float:
        """Largest size that a partial sum of the leaves can take: what rounding is measured by."""
        if not self.n_trees:
            return abs(self.base)
        sizes = np.abs(np.where(self.feature < 0, self.value, 0.0))
        return abs(self.base) + float(np.maximum.reduceat(sizes, self.starts[:-1]).sum())
