"""GivenRules: regions that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from granite_xai.base.errors import InputError, listing
from granite_xai.regions.nodes import Leaf
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule
from granite_xai.search.problem import Partitioner, PartitionResult, Problem, measured


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
        known = regions if isinstance(regions, Partition) else Partition.from_rules(regions)
        object.__setattr__(self, "regions", known)

    def partition(self, problem: Problem) -> PartitionResult:
        """The given regions, with their rows and disagreement."""
        labels = self.regions.apply(problem.table)
        members = (labels == np.arange(len(self.regions))[:, None]).astype(np.float64)
        empty = [str(rule) for rule, line in zip(self.regions.rules, members, strict=True) if not line.any()]
        if empty:
            words = f"no fitting row satisfies {listing(empty)}."
            raise InputError(words, code="P03", argument="partitioner", hint="Leave the rule out.")
        names = problem.table.names
        if self.regions.root is not None:
            return PartitionResult(measured(self.regions.root, problem))
        fractions = members @ problem.evaluations.weights / problem.shares.total
        lines = zip(members.sum(axis=1), fractions, problem.measure(members), strict=True)
        leaves = [Leaf(int(count), float(share), float(left), "given") for count, share, left in lines]
        return PartitionResult(Partition.from_rules(self.regions.rules, names=names, leaves=leaves))
