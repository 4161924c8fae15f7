"""What a partitioner is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.objective import ScaledObjective
from granite_xai.regions.nodes import Leaf, Node
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import satisfied

if TYPE_CHECKING:
    from granite_xai.base.diagnostics import Diagnostics
    from granite_xai.models import Predictor
    from granite_xai.search.tree import Tree
    from granite_xai.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a partitioner works on: the rows, what is known of the model on them, and what shall become small.

    Parameters
    ----------
    table : Table
        The fitting rows.
    evaluations : Evaluations
        Of all of them.
    shares : ScaledObjective
        The objective.
    missing : bool
        Whether the fit allowed missing values.
    predictor : Predictor
        The model.
    tree : Tree
        The tree that the options of the estimator describe: how deep rules may be, how small regions.
    error : float
        Noise of one prediction.
    seed : int
        For whatever is drawn.
    """

    table: Table
    evaluations: Evaluations
    shares: ScaledObjective
    missing: bool
    resources: Resources
    n_jobs: int | None
    diagnostics: Diagnostics
    predictor: Predictor
    tree: Tree
    error: float = 0.0
    seed: int = 0

    @property
    def silent(self) -> bool:
        """Whether the question has nothing to explain."""
        return not np.any(self.shares.factors)

    def measure(self, members: FloatArray) -> FloatArray:
        """Share of the disagreement in each of some regions, given by the (K, n) membership of their rows."""
        splits = Splits.of(members.astype(np.bool_), self.evaluations.weights)
        return self.shares.of(self.shares.disagreements(self.evaluations, splits), splits.mass)[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class PartitionResult:
    """What a partitioner found.

    Parameters
    ----------
    partition : Partition
        The regions.
    learned : mapping
        Further fitted attributes of the estimator, such as ``clusters_``.
    """

    partition: Partition
    learned: Mapping[str, Any] = field(default_factory=dict)


def measured(node: Node, problem: Problem) -> Node:
    """A tree that was grown for another end, or elsewhere, with the rows and the disagreement of this problem."""
    rows = np.arange(problem.table.n_rows, dtype=np.intp)
    return _measured(node, problem, rows)


def _measured(node: Node, problem: Problem, rows: IntArray) -> Node:
    members = np.zeros((1, problem.table.n_rows))
    members[0, rows] = 1.0
    share = float(problem.measure(members)[0])
    fraction = float(problem.evaluations.weights[rows].sum() / problem.shares.total)
    if isinstance(node, Leaf):
        return replace(node, n_samples=len(rows), fraction=fraction, disagreement=share)
    column = problem.table.columns[problem.table.names.index(node.column)]
    left = satisfied(node.left, column)[rows]
    sides = (rows[left], rows[~left])
    below = [_measured(child, problem, side) for child, side in zip(node.children, sides, strict=True)]
    children = (below[0], below[1])
    return replace(node, n_samples=len(rows), fraction=fraction, disagreement=share, children=children)
