"""Ways to find regions: pass one as ``Granite(model, question, partitioner=...)``.

- `Tree`: splits that lower the disagreement, with a price for each region: what `Granite` does by itself.
- `GivenRules`: rules that someone wrote down.
- `Clusters`: rows with like explanations or like ICE curves (`Ice`), put into rules.
- `Cohorts`: rows near a few representatives, chosen so that explanations agree, put into rules.
- `Subgroups`: regions in which one feature is nearly independent of the others.
- `RepidTree`: the trees of REPID and GADGET as their authors grow them.

Each is a small frozen value with ``partition(problem)``; anything else with that method serves as well, and one that
reads further effects or ignores the noise floor is a `Partitioner`. `AllExcept` names features that rules may not use.

>>> import granite_xai as gx
>>> toy = gx.datasets.make_toy()
>>> mine = gx.partitioners.GivenRules(["x2 ≤ 0", "x2 > 0"])
>>> bool(gx.Granite(toy.model, partitioner=mine).fit(toy.X).remaining_ < 1e-12)
True
"""

from __future__ import annotations

from granite_xai.frameworks.cohex import Cohorts
from granite_xai.frameworks.gadget import RepidTree
from granite_xai.frameworks.transformation_trees import Subgroups
from granite_xai.frameworks.vine import Clusters, Ice
from granite_xai.search.growth import Tree
from granite_xai.search.problem import (
    AllExcept,
    GivenRules,
    Partitioner,
    PartitionResult,
    Problem,
)

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
