"""Regions of the data where explanations of a model agree.

Two explanations of the same model, say ICE and PDP, or PFI and CFI, disagree where features interact or depend on each
other. GRANITE splits the data by simple rules into regions where they agree, so that one explanation per region tells
the whole story. There are five kinds of object:

- `Explainer`: a choice on four axes (masking, behavior, interaction, influence), such as PDP or a Sobol index;
  ``Explainer(...).explain(model, X)`` computes it, `explanations` lists those with a name.
- `Disagreement`: two explainers and a loss on the gap between them, the question that is asked. `question` builds one
  by name, `questions` lists the names, an `Objective` asks several at once.
- `Granite`: the estimator. ``Granite(model, "ice-pdp").fit(X)`` finds the regions; `Resources` says what it may cost.
- `Partition`: the tree of regions. Each `Region` has a `Rule` in plain words; text, membership and JSON come from it.
- `Explanation`: what comes out, globally and per region, as a tidy ``frame()``; ``Granite.evaluate`` takes new rows.

Whatever is wrong with data or model ends in a `GraniteError` that names argument, column, rows and remedy.

>>> import granite_xai as gx
>>> toy = gx.datasets.make_toy()
>>> g = gx.Granite(toy.model, "ice-pdp").fit(toy.X)
>>> [str(region.rule) for region in g.partition_]
['x2 ≤ 0', 'x2 > 0']
"""

from __future__ import annotations

import lazy_loader

__version__ = "0.2.0"

# The stub says where each public name is; its room is loaded when the name is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
