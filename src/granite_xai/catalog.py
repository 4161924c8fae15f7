"""The explanations that have a familiar name, with their place in the algebra."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from granite_xai.behavior.behavior import Local, Risk, Sensitivity
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

TITLES: dict[str, tuple[str, str]] = {
    "ice": ("ICE", "how the prediction of each single row moves with a column"),
    "pdp": ("PDP", "how the prediction moves with a column on average"),
    "shap": ("SHAP", "each row's prediction shared out fairly among the columns"),
    "baseline-shap": ("baseline SHAP", "each row's prediction shared out, counted from one baseline row"),
    "cice": ("conditional ICE", "what a row's prediction loses when a column is hidden, among similar rows"),
    "mplot": ("M-plot", "the mean prediction of rows with similar values of a column"),
    "cshap": ("conditional SHAP", "SHAP that compares with similar rows only"),
    "local-change": ("local changes", "how each row's prediction changes across its interval of a column"),
    "ale": ("ALE", "the mean change across each interval of a column, added up"),
    "sobol-total": ("total Sobol indices", "variance that is lost when a column is unknown, interactions included"),
    "sobol-closed": ("first-order Sobol indices", "variance that a column explains alone"),
    "shapley-effects": ("Shapley effects", "variance shared out fairly among the columns"),
    "csobol-total": ("conditional total Sobol indices", "variance lost when a column is unknown, the others known"),
    "variance-full": ("full variance importance", "variance that is lost when a column is averaged out"),
    "variance-pure": ("pure variance importance", "variance that a column explains alone"),
    "pfi": ("PFI", "permutation importance: what the model's error gains when a column is shuffled"),
    "grouped-pfi": ("grouped PFI", "what the error gains when the columns of a group are shuffled together"),
    "pure-risk": ("pure risk importance", "error that a column saves alone"),
    "sage": ("SAGE", "saved error shared out fairly among the columns"),
    "cfi": ("CFI", "what the error gains when a column is shuffled among similar rows"),
    "prediction": ("the model", "the prediction itself"),
    "additive": ("its additive surrogate", "the sum of one average curve per column"),
}
"""Name of an explanation: how it is called, and what it is."""


def explanations() -> dict[str, Explainer]:
    """The explanations with a familiar name.

    ``grouped-pfi`` has no groups yet: ``explanations()["grouped-pfi"].with_influence(Joint({name: columns}))``.

    Examples
    --------
    >>> explanations()["pdp"].interaction.key
    'pure'
    """
    return {name: replace(Explainer(*axes), name=name) for name, axes in _EXPLANATIONS.items()}


def title(name: str | None, place: str = "") -> str:
    """How an explanation is called.

    Examples
    --------
    >>> title("pdp"), title("mine"), title(None, "first")
    ('PDP', 'mine', 'the first explanation')
    >>> set(explanations()) == set(TITLES)
    True
    """
    return TITLES[name][0] if name in TITLES else name or f"the {place} explanation"


def meaning(name: str | None) -> str:
    """What an explanation is, in a few words."""
    return TITLES[name][1] if name in TITLES else "an explanation without a familiar name"
