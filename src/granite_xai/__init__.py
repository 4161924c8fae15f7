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

import ast
from importlib import import_module, resources
from typing import Any

__version__ = "0.1.0"

_STUB = ast.parse(resources.files(__name__).joinpath("__init__.pyi").read_text(encoding="utf-8"))
_IMPORTS = [node for node in _STUB.body if isinstance(node, ast.ImportFrom)]
_ROOMS = {
    one.name: (node.module or "").partition(".")[2] for node in _IMPORTS for one in node.names
}
"""The room of each public name; none for a namespace, which is a room itself."""

__all__ = list(_ROOMS)


def __getattr__(name: str) -> Any:
    """Load the room of a public name when it is first used."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = import_module(f"{__name__}.{_ROOMS[name] or name}")
    value = getattr(room, name) if _ROOMS[name] else room
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*__all__, "__version__"])
