"""Subgroups: regions in which one column is nearly independent of the others."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from granite_xai.base.options import choose
from granite_xai.base.typing import FloatArray
from granite_xai.compute import Resources
from granite_xai.evaluations.steps import Vectors
from granite_xai.masking.bins import interval_edges
from granite_xai.resolved import ResolvedExplainer
from granite_xai.search.problem import Partitioner, PartitionResult, Problem, measured
from granite_xai.search.scatter import FLOOR, scattered
from granite_xai.tables import Column
from granite_xai.trees.routes import Route


@dataclass(frozen=True, slots=True)
class Subgroups(Partitioner):
    """A tree that models one column from the others; inside its leaves the column hardly depends on them.

    The model is not asked: only the rows decide. How deep the tree is, how small its leaves and what a leaf costs (as
    a share of the column's scatter) are options of the estimator.

    Parameters
    ----------
    feature : label
        The column.
    by : "distribution" or "mean"
        Whether a split separates the column's whole distribution (indicators of its tenths; any monotone transform
        gives the same regions) or its mean (CART).

    Examples
    --------
    >>> Subgroups("temp").by
    'distribution'
    """

    feature: Hashable
    by: str = "distribution"
    ignores_noise_floor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("by", self.by, {name: name for name in ("distribution", "mean")})

    def extra_effects(self, route: Route, resources: Resources, seed: int) -> tuple[ResolvedExplainer, ...]:
        """Nothing is read of the model; an unknown column is refused before any work."""
        route.table.resolve(self.feature, "feature")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """Leaves of the tree, with the disagreement of the question in them."""
        table = problem.table
        column = table.columns[table.resolve(self.feature, "feature")]
        dependent, _ = scattered(problem, [Vectors(described(column, self.by))], FLOOR)
        others = [table.names[i] for i in problem.tree.columns(table) if i != column.position]
        node = replace(problem.tree, split_features=others).grown(dependent)
        return PartitionResult(measured(node, problem))


def described(column: Column, by: str) -> FloatArray:
    """A column as vectors: indicators of its levels, or of lying below each tenth; or its standardised values."""
    missing = (column.codes < 0).astype(np.float64)[:, None]
    if column.kind in ("nominal", "boolean"):
        indicators: FloatArray = (column.codes[:, None] == np.arange(len(column.levels))).astype(np.float64)
    elif by == "distribution":
        indicators = (column.codes[:, None] <= interval_edges(column)[:-1]).astype(np.float64)
    else:
        raw = column.values if column.kind == "numeric" else column.codes.astype(np.float64)
        present = column.codes >= 0
        center, spread = (raw[present].mean(), raw[present].std()) if present.any() else (0.0, 1.0)
        indicators = np.where(present, (raw - center) / (spread or 1.0), 0.0)[:, None]
    return np.hstack([indicators, missing]) if missing.any() else indicators
