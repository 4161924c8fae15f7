"""GivenRules: regions by rules that were written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import listing
from granite_xai.base.typing import IntArray
from granite_xai.regions import Leaf, Node, Partition, Rule, find_column, satisfied
from granite_xai.search.partitioner import Partitioner, PartitionResult
from granite_xai.search.problem import Problem


def measured(node: Node, problem: Problem) -> Partition:
    """A tree from elsewhere with the rows and the disagreement of a problem.

    Parameters
    ----------
    node : Node
        Root of a tree that was grown for another end, or on other rows.
    problem : Problem
    """
    every_row = np.arange(problem.table.n_rows, dtype=np.intp)
    return Partition(_measured_node(node, every_row, problem), problem.table.names)


def _measured_node(node: Node, rows: IntArray, problem: Problem) -> Node:
    """A node, and those below it, measured on some rows."""
    table = problem.table
    weights = problem.evaluations.weights
    members = np.bincount(rows, minlength=table.n_rows)[None].astype(np.float64)
    node = replace(
        node,
        n_samples=len(rows),
        fraction=float(weights[rows].sum() / problem.shares.total),
        disagreement=float(problem.measure(members)[0]),
    )
    if isinstance(node, Leaf):
        return node
    goes_left = satisfied(node.left, find_column(table, node.column))[rows]
    left, right = node.children
    children = (
        _measured_node(left, rows[goes_left], problem),
        _measured_node(right, rows[~goes_left], problem),
    )
    return replace(node, children=children)


@dataclass(frozen=True, slots=True, init=False)
class GivenRules(Partitioner):
    """Regions by rules that were written down, or found elsewhere.

    Parameters
    ----------
    regions : Partition, or sequence of Rule or text
        Disjoint rules that cover every row.

    Examples
    --------
    >>> len(GivenRules(["hr ≤ 6", "hr > 6"]).regions)
    2
    """

    regions: Partition
    ignores_noise_floor: ClassVar[bool] = True

    def __init__(self, regions: Partition | Sequence[Rule | str]) -> None:
        if not isinstance(regions, Partition):
            regions = Partition.from_rules(regions)
        object.__setattr__(self, "regions", regions)

    def partition(self, problem: Problem) -> PartitionResult:
        """The given regions, with their rows and disagreement."""
        labels = self.regions.apply(problem.table)
        members = (labels == np.arange(len(self.regions))[:, None]).astype(np.float64)
        is_empty = ~members.any(axis=1)
        if is_empty.any():
            empty = [str(self.regions.rules[number]) for number in np.flatnonzero(is_empty)]
            words = f"no fitting row satisfies {listing(empty)}."
            raise InputError(words, code="P03", argument="partitioner", hint="Leave the rule out.")
        if self.regions.root is not None:
            return PartitionResult(measured(self.regions.root, problem))
        n_samples = members.sum(axis=1)
        fractions = members @ problem.evaluations.weights / problem.shares.total
        disagreements = problem.measure(members)
        leaves = []
        for number in range(len(self.regions)):
            leaf = Leaf(
                n_samples=int(n_samples[number]),
                fraction=float(fractions[number]),
                disagreement=float(disagreements[number]),
                stop_reason="given",
            )
            leaves.append(leaf)
        return PartitionResult(
            Partition.from_rules(self.regions.rules, names=problem.table.names, leaves=leaves)
        )
