"""A partitioner: regions in which the model errs most, the leaves of a small tree on its squared errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

import granite_xai as gx


@dataclass(frozen=True)
class WeakSpots:
    """At most ``2 ** depth`` regions of large and of small errors; all features are numbers."""

    depth: int = 2

    def partition(self, problem: gx.partitioners.Problem) -> gx.partitioners.PartitionResult:
        """Find the regions, and let the rules that are given be measured."""
        table = problem.table
        features = np.column_stack([column.values for column in table.columns])
        squared_errors = np.square(problem.target - problem.predictions)
        smallest = problem.tree.min_samples_leaf
        tree = DecisionTreeRegressor(max_depth=self.depth, min_samples_leaf=smallest)
        tree.fit(features, squared_errors, sample_weight=problem.weights)
        rules = [" and ".join(conditions) for conditions in leaves(tree.tree_, table.names)]
        return gx.partitioners.GivenRules(rules).partition(problem)


def leaves(tree: Any, names: Any, node: int = 0, above: tuple[str, ...] = ()) -> Iterator[Any]:
    """The conditions on the way to every leaf."""
    if tree.children_left[node] < 0:
        yield above
        return
    name, threshold = names[tree.feature[node]], float(tree.threshold[node])
    yield from leaves(tree, names, tree.children_left[node], (*above, f"{name} ≤ {threshold!r}"))
    yield from leaves(tree, names, tree.children_right[node], (*above, f"{name} > {threshold!r}"))
