"""The explanations that have a familiar name, with their place in the algebra."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from granite_xai.behavior import Local, Risk, Sensitivity
from granite_xai.explainer import Explainer
from granite_xai.influence import Joint
from granite_xai.interaction import Additive, Whole

_JANSEN = Sensitivity(total="jansen")
_LOCAL = Local()
_RISK = Risk()

# name: masking, behavior, interaction, and influence where it is not individual
_EXPLANATIONS: dict[str, tuple[Any, ...]] = {
    "ice": ("marginal", _LOCAL, "full"),
    "pdp": ("marginal", _LOCAL, "pure"),
    "shap": ("marginal", _LOCAL, "partial"),
    "baseline-shap": ("baseline", _LOCAL, "partial"),
    "cice": ("conditional", _LOCAL, "full"),
    "mplot": ("conditional", _LOCAL, "pure"),
    "cshap": ("conditional", _LOCAL, "partial"),
    "local-change": ("accumulated", _LOCAL, "full"),
    "ale": ("accumulated", _LOCAL, "pure"),
    "sobol-total": ("marginal", _JANSEN, "full"),
    "sobol-closed": ("marginal", _JANSEN, "pure"),
    "shapley-effects": ("conditional", Sensitivity(), "partial"),
    "csobol-total": ("conditional", _JANSEN, "full"),
    "variance-full": ("marginal", Sensitivity(), "full"),
    "variance-pure": ("marginal", Sensitivity(), "pure"),
    "pfi": ("marginal", _RISK, "full"),
    "grouped-pfi": ("marginal", _RISK, "full", Joint(())),
    "pure-risk": ("marginal", _RISK, "pure"),
    "sage": ("marginal", _RISK, "partial"),
    "cfi": ("conditional", _RISK, "full"),
    "prediction": ("marginal", _LOCAL, Whole()),
    "additive": ("marginal", _LOCAL, Additive()),
}


def explanations() -> dict[str, Explainer]:
    """The explanations with a familiar name.

    ``grouped-pfi`` has no groups yet: ``explanations()["grouped-pfi"].with_influence(Joint({name: columns}))``.

    Examples
    --------
    >>> explanations()["pdp"].interaction.key
    'pure'
    """
    return {name: replace(Explainer(*axes), name=name) for name, axes in _EXPLANATIONS.items()}
