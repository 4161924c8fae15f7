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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from granite_xai import datasets as datasets, frameworks as frameworks, partitioners as partitioners
    from granite_xai.base.errors import (
        BinWarning as BinWarning,
        DataWarning as DataWarning,
        FormatError as FormatError,
        GraniteError as GraniteError,
        GraniteWarning as GraniteWarning,
        InputError as InputError,
        ModelError as ModelError,
        ModelWarning as ModelWarning,
        ResourceError as ResourceError,
    )
    from granite_xai.behavior import Local as Local, Risk as Risk, Sensitivity as Sensitivity
    from granite_xai.catalog import explanations as explanations, question as question, questions as questions
    from granite_xai.chance.estimate import Estimate as Estimate
    from granite_xai.chance.stability import Stability as Stability
    from granite_xai.comparison import Comparison as Comparison, compare as compare
    from granite_xai.compute import Resources as Resources
    from granite_xai.disagreement import Disagreement as Disagreement, Objective as Objective
    from granite_xai.display.decisions import (
        ComparisonDisplay as ComparisonDisplay,
        PathDisplay as PathDisplay,
        RowDisplay as RowDisplay,
    )
    from granite_xai.display.effect import EffectDisplay as EffectDisplay
    from granite_xai.display.importance import ImportanceDisplay as ImportanceDisplay
    from granite_xai.display.network import InteractionDisplay as InteractionDisplay
    from granite_xai.display.tree import PartitionDisplay as PartitionDisplay, StabilityDisplay as StabilityDisplay
    from granite_xai.estimator import Granite as Granite
    from granite_xai.explainer import Explainer as Explainer
    from granite_xai.explanation import Explanation as Explanation
    from granite_xai.groups import GroupProposal as GroupProposal, propose_groups as propose_groups
    from granite_xai.influence import Individual as Individual, Interactions as Interactions, Joint as Joint
    from granite_xai.interaction import Full as Full, Partial as Partial, Pure as Pure
    from granite_xai.masking import (
        Accumulated as Accumulated,
        Baseline as Baseline,
        Conditional as Conditional,
        Marginal as Marginal,
    )
    from granite_xai.persistence import load as load, save as save
    from granite_xai.regions.partition import Partition as Partition, Region as Region
    from granite_xai.regions.rule import Rule as Rule
    from granite_xai.report import Report as Report, explain as explain
    from granite_xai.row import RowExplanation as RowExplanation

__version__ = "0.1.0"

_NAMES = {
    "report": "explain Report",
    "estimator": "Granite",
    "explainer": "Explainer",
    "explanation": "Explanation",
    "disagreement": "Disagreement Objective",
    "catalog": "question questions explanations",
    "masking": "Marginal Conditional Baseline Accumulated",
    "behavior": "Local Sensitivity Risk",
    "interaction": "Pure Partial Full",
    "influence": "Individual Joint Interactions",
    "row": "RowExplanation",
    "comparison": "compare Comparison",
    "regions.partition": "Partition Region",
    "regions.rule": "Rule",
    "compute": "Resources",
    "display.effect": "EffectDisplay",
    "display.importance": "ImportanceDisplay",
    "display.network": "InteractionDisplay",
    "display.tree": "PartitionDisplay StabilityDisplay",
    "display.decisions": "RowDisplay ComparisonDisplay PathDisplay",
    "chance.estimate": "Estimate",
    "chance.stability": "Stability",
    "groups": "propose_groups GroupProposal",
    "persistence": "save load",
    "base.errors": "GraniteError InputError ModelError ResourceError FormatError "
    "GraniteWarning DataWarning ModelWarning BinWarning",
    "datasets": "datasets",
    "frameworks": "frameworks",
    "partitioners": "partitioners",
}
"""The public names of each room."""
_ROOMS = {name: room for room, names in _NAMES.items() for name in names.split()}
_NAMESPACES = ("datasets", "frameworks", "partitioners")

__all__ = list(_ROOMS)


def __getattr__(name: str) -> Any:
    """Load the room of a public name when it is first used."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = import_module(f"{__name__}.{_ROOMS[name]}")
    value = room if name in _NAMESPACES else getattr(room, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*__all__, "__version__"])
