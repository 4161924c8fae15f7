"""Ways to find regions: pass one as ``Granite(model, question, partitioner=...)``.

Tree
    Greedy splits that lower the disagreement, with a price for each region: what `Granite` does by itself.
Given
    Rules that someone wrote down.
Clusters
    Rows with like explanations or like ICE curves (`Ice`), put into rules.
Cohorts
    Rows near a few representatives, chosen so that explanations agree, put into rules.
Subgroups
    Regions in which one column is nearly independent of the others.
Original
    The trees of REPID and GADGET as their authors grow them.

Each is a small frozen value with ``partition(problem)``; anything else with that method serves as well. `Without` names
the columns that rules may not use.

>>> import granite_xai as gx
>>> toy = gx.datasets.make_toy()
>>> mine = gx.partitioners.Given(["x2 ≤ 0", "x2 > 0"])
>>> bool(gx.Granite(toy.model, partitioner=mine).fit(toy.X).remaining_ < 1e-12)
True
"""

from __future__ import annotations

from granite_xai.curves import Ice
from granite_xai.partition.clusters import Clusters
from granite_xai.partition.cohorts import Cohorts
from granite_xai.partition.given import Given
from granite_xai.partition.original import Original
from granite_xai.partition.problem import Found, Problem
from granite_xai.partition.subgroups import Subgroups
from granite_xai.partition.tree import Tree, Without

__all__ = ["Clusters", "Cohorts", "Found", "Given", "Ice", "Original", "Problem", "Subgroups", "Tree", "Without"]
