"""NumericTree: the estimator's own tree, for tables of numbers only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from granite_xai.curves import require_numeric
from granite_xai.search.problem import Partitioner, PartitionResult, Problem

if TYPE_CHECKING:
    from granite_xai.compute import Resources
    from granite_xai.effects import ResolvedExplainer
    from granite_xai.trees.routes import Route


@dataclass(frozen=True, slots=True)
class NumericTree(Partitioner):
    """The tree that the options of the estimator describe, refusing columns that an original cannot split.

    Examples
    --------
    >>> NumericTree()
    NumericTree()
    """

    def extra_effects(self, route: Route, resources: Resources, seed: int) -> tuple[ResolvedExplainer, ...]:
        """Nothing further is read of the model; other columns than numeric ones are refused."""
        for column in route.table.columns:
            require_numeric(column, "the original form (exact=True)")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions of a problem."""
        return problem.tree.partition(problem)
