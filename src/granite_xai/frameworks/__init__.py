"""Six earlier methods for regions, each a configuration of `Granite`.

Every function takes the model first, then the feature (by its label) where it is about one, and further options of
`Granite`; it returns an unfitted `Granite`. ``exact=True`` is the original's own form where the two differ.

>>> import granite_xai as gx
>>> toy = gx.datasets.make_toy()
>>> g = gx.frameworks.repid(toy.model, "x1").fit(toy.X)
>>> [str(rule) for rule in g.partition_.rules]
['x2 ≤ 0', 'x2 > 0']
"""

from __future__ import annotations

from granite_xai.frameworks.cohex import cohex
from granite_xai.frameworks.fd_trees import fd_trees
from granite_xai.frameworks.gadget import gadget
from granite_xai.frameworks.repid import repid
from granite_xai.frameworks.transformation_trees import transformation_trees
from granite_xai.frameworks.vine import vine

__all__ = ["cohex", "fd_trees", "gadget", "repid", "transformation_trees", "vine"]
