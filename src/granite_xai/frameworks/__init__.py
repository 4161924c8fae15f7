"""Six published regional frameworks as configurations of `Granite`, and a comparison of all of them.

Each function returns an unfitted `Granite`; further options are those of `Granite`.

>>> import granite_xai as gx
>>> toy = gx.datasets.make_toy()
>>> g = gx.frameworks.repid(toy.model, "x1").fit(toy.X)
>>> [str(rule) for rule in g.partition_.rules]
['x2 ≤ 0', 'x2 > 0']
"""

from __future__ import annotations

from granite_xai.frameworks.compare import compare
from granite_xai.frameworks.importance import subgroup_importance
from granite_xai.frameworks.paper_table import overview
from granite_xai.frameworks.published import (
    cohex,
    fd_trees,
    gadget,
    repid,
    transformation_trees,
    vine,
)

__all__ = [
    "cohex",
    "compare",
    "fd_trees",
    "gadget",
    "overview",
    "repid",
    "subgroup_importance",
    "transformation_trees",
    "vine",
]
