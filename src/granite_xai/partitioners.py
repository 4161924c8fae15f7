"""Ways to find regions: pass one as ``Granite(model, question, partitioner=...)``.

Tree
    Greedy splits that lower the disagreement, with a price for each region: what `Granite` does by itself.
GivenRules
    Rules that someone wrote down.
Clusters
    Rows with like explanations or like ICE curves (`Ice`), put into rules.
Cohorts
    Rows near a few representatives, chosen so that explanations agree, put into rules.
Subgroups
    Regions in which one column is nearly independent of the others.
RepidTree
    The trees of REPID and GADGET as their authors grow them.

Each is a small frozen value with ``partition(problem)``; anything else with that method serves as well, and one that
reads further effects or ignores the noise floor is a `Partitioner`. `AllExcept`
names the columns that rules may not use.

>>> import granite_xai as gx
>>> toy = gx.datasets.make_toy()
>>> mine = gx.partitioners.GivenRules(["x2 ≤ 0", "x2 > 0"])
>>> bool(gx.Granite(toy.model, partitioner=mine).fit(toy.X).remaining_ < 1e-12)
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from granite_xai.base.errors import InputError, listing
from granite_xai.curves import Ice
from granite_xai.regions.nodes import Leaf
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule
from granite_xai.search.clusters import Clusters
from granite_xai.search.cohorts import Cohorts
from granite_xai.search.original import RepidTree
from granite_xai.search.problem import Partitioner, PartitionResult, Problem, measured
from granite_xai.search.subgroups import Subgroups
from granite_xai.search.tree import AllExcept, Tree

__all__ = [
    "AllExcept",
    "Clusters",
    "Cohorts",
    "GivenRules",
    "Ice",
    "PartitionResult",
    "Partitioner",
    "Problem",
    "RepidTree",
    "Subgroups",
    "Tree",
]


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


OLD_NAMES = {"Found": PartitionResult, "Given": GivenRules, "Original": RepidTree, "Without": AllExcept}
"""Names of 0.1 that still work."""


def __getattr__(name: str) -> type:
    """The partitioner behind a name of 0.1."""
    if name in OLD_NAMES:
        return OLD_NAMES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
