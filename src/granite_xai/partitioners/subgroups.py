"""Subgroups: regions in which one feature is nearly independent of the others."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from granite_xai.base.options import choose
from granite_xai.base.typing import FloatArray
from granite_xai.compute import Resources
from granite_xai.evaluations.vectors import Vectors
from granite_xai.explanation.masking.intervals import interval_edges
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.partitioners.scatter import ZERO_SCATTER, pose_scatter
from granite_xai.search.given_rules import measured
from granite_xai.search.partitioner import Partitioner, PartitionResult
from granite_xai.search.problem import Problem
from granite_xai.tables import Column
from granite_xai.trees.ensembles import Route


@dataclass(frozen=True, slots=True)
class Subgroups(Partitioner):
    """A tree that models one feature from the others; inside its leaves the feature hardly depends on them.

    The model is not asked: only the rows decide. How deep the tree is, how small its leaves and what a leaf costs (as
    a share of the feature's scatter) are options of the estimator.

    Parameters
    ----------
    feature : label
        The feature.
    by : "distribution" or "mean"
        Whether a split separates the feature's whole distribution (indicators of its tenths; any monotone transform
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

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """Nothing is read of the model; an unknown feature is refused before any work."""
        route.table.resolve(self.feature, "feature")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """Leaves of the tree, with the disagreement of the question in them."""
        table = problem.table
        position = table.resolve(self.feature, "feature")
        vectors = Vectors(describe_values(table.columns[position], self.by))
        posed = pose_scatter(problem, [vectors], ZERO_SCATTER).problem
        splitting = [
            table.names[column] for column in problem.tree.columns(table) if column != position
        ]
        tree = replace(problem.tree, split_features=splitting, search="greedy")
        return PartitionResult(measured(tree.grown(posed), problem))


def describe_values(column: Column, by: str) -> FloatArray:
    """A feature as vectors whose scatter is its spread.

    Parameters
    ----------
    column : Column
    by : "distribution" or "mean"
        Of a feature with an order: indicators of lying below each tenth, or standardised values.
        Others have indicators of their levels.

    Returns
    -------
    array of shape (n, n_entries)
        The last entry says whether a value is missing, if some are.
    """
    is_missing = column.codes < 0
    if not column.is_ordered:
        levels = np.arange(len(column.levels))
        vectors: FloatArray = np.equal.outer(column.codes, levels).astype(np.float64)
    elif by == "distribution":
        tenths = interval_edges(column)[:-1]
        vectors = (column.codes[:, None] <= tenths).astype(np.float64)
    else:
        vectors = _standardised(column)[:, None]
    if is_missing.any():
        vectors = np.hstack([vectors, is_missing.astype(np.float64)[:, None]])
    return vectors


def _standardised(column: Column) -> FloatArray:
    """Values (of ordered labels their places) in standard deviations from the mean; missing ones are 0."""
    values = column.values if column.kind == "numeric" else column.codes.astype(np.float64)
    is_present = column.codes >= 0
    if not is_present.any():
        return np.zeros(len(values))
    mean = values[is_present].mean()
    spread = values[is_present].std() or 1.0
    return np.asarray(np.where(is_present, (values - mean) / spread, 0.0))
