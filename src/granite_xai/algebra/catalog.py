"""Explanations and questions with a familiar name, such as PDP, SHAP or ice-pdp."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

from granite_xai.algebra.behavior import Behavior, Sensitivity
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Joint
from granite_xai.algebra.interaction import Additive, Interaction, Whole
from granite_xai.base.document import PrintableDict

JANSEN = Sensitivity(total="jansen")


class NamedExplanation(NamedTuple):
    """An entry of the catalog.

    Parameters
    ----------
    masking, behavior, interaction : str or operator
        The choice on three axes; influence is that of single columns.
    title : str
        What it is called.
    meaning : str
        What it says, in a few words.
    """

    masking: str
    behavior: str | Behavior
    interaction: str | Interaction
    title: str
    meaning: str


CATALOG: dict[str, NamedExplanation] = {
    "ice": NamedExplanation(
        masking="marginal",
        behavior="local",
        interaction="full",
        title="ICE",
        meaning="how the prediction of each single row moves with a feature",
    ),
    "pdp": NamedExplanation(
        masking="marginal",
        behavior="local",
        interaction="pure",
        title="PDP",
        meaning="how the prediction moves with a feature on average",
    ),
    "shap": NamedExplanation(
        masking="marginal",
        behavior="local",
        interaction="partial",
        title="SHAP",
        meaning="each row's prediction shared out fairly among the features",
    ),
    "baseline-shap": NamedExplanation(
        masking="baseline",
        behavior="local",
        interaction="partial",
        title="baseline SHAP",
        meaning="each row's prediction shared out, counted from one baseline row",
    ),
    "cice": NamedExplanation(
        masking="conditional",
        behavior="local",
        interaction="full",
        title="conditional ICE",
        meaning="what a row's prediction loses when a feature is hidden, among similar rows",
    ),
    "preddiff": NamedExplanation(
        masking="conditional",
        behavior="local",
        interaction="full",
        title="PredDiff",
        meaning="conditional ICE by another name",
    ),
    "mplot": NamedExplanation(
        masking="conditional",
        behavior="local",
        interaction="pure",
        title="M-plot",
        meaning="the mean prediction of rows with similar values of a feature",
    ),
    "cshap": NamedExplanation(
        masking="conditional",
        behavior="local",
        interaction="partial",
        title="conditional SHAP",
        meaning="SHAP that compares with similar rows only",
    ),
    "local-change": NamedExplanation(
        masking="accumulated",
        behavior="local",
        interaction="full",
        title="local changes",
        meaning="how each row's prediction changes across its interval of a feature",
    ),
    "ale": NamedExplanation(
        masking="accumulated",
        behavior="local",
        interaction="pure",
        title="ALE",
        meaning="the mean change across each interval of a feature, added up",
    ),
    "sobol-total": NamedExplanation(
        masking="marginal",
        behavior=JANSEN,
        interaction="full",
        title="total Sobol indices",
        meaning="variance that is lost when a feature is unknown, interactions included",
    ),
    "sobol-closed": NamedExplanation(
        masking="marginal",
        behavior=JANSEN,
        interaction="pure",
        title="first-order Sobol indices",
        meaning="variance that a feature explains alone",
    ),
    "shapley-effects": NamedExplanation(
        masking="conditional",
        behavior="sensitivity",
        interaction="partial",
        title="Shapley effects",
        meaning="variance shared out fairly among the features",
    ),
    "csobol-total": NamedExplanation(
        masking="conditional",
        behavior=JANSEN,
        interaction="full",
        title="conditional total Sobol indices",
        meaning="variance lost when a feature is unknown, the others known",
    ),
    "variance-full": NamedExplanation(
        masking="marginal",
        behavior="sensitivity",
        interaction="full",
        title="full variance importance",
        meaning="variance that is lost when a feature is averaged out",
    ),
    "variance-pure": NamedExplanation(
        masking="marginal",
        behavior="sensitivity",
        interaction="pure",
        title="pure variance importance",
        meaning="variance that a feature explains alone",
    ),
    "pfi": NamedExplanation(
        masking="marginal",
        behavior="risk",
        interaction="full",
        title="PFI",
        meaning="permutation importance: what the model's error gains when a feature is shuffled",
    ),
    "grouped-pfi": NamedExplanation(
        masking="marginal",
        behavior="risk",
        interaction="full",
        title="grouped PFI",
        meaning="what the error gains when the features of a group are shuffled together",
    ),
    "pure-risk": NamedExplanation(
        masking="marginal",
        behavior="risk",
        interaction="pure",
        title="pure risk importance",
        meaning="error that a feature saves alone",
    ),
    "sage": NamedExplanation(
        masking="marginal",
        behavior="risk",
        interaction="partial",
        title="SAGE",
        meaning="saved error shared out fairly among the features",
    ),
    "cfi": NamedExplanation(
        masking="conditional",
        behavior="risk",
        interaction="full",
        title="CFI",
        meaning="what the error gains when a feature is shuffled among similar rows",
    ),
    "csage": NamedExplanation(
        masking="conditional",
        behavior="risk",
        interaction="partial",
        title="conditional SAGE",
        meaning="SAGE that compares with similar rows only",
    ),
    "prediction": NamedExplanation(
        masking="marginal",
        behavior="local",
        interaction=Whole(),
        title="the model",
        meaning="the prediction itself",
    ),
    "additive": NamedExplanation(
        masking="marginal",
        behavior="local",
        interaction=Additive(),
        title="its additive surrogate",
        meaning="the sum of one average curve per feature",
    ),
}


# From the name of a question to the names of its first and second explanation.
QUESTIONS: dict[str, tuple[str, str]] = {
    "ice-pdp": ("ice", "pdp"),
    "shap-pdp": ("shap", "pdp"),
    "ice-shap": ("ice", "shap"),
    "mplot-pdp": ("mplot", "pdp"),
    "cice-mplot": ("cice", "mplot"),
    "cshap-shap": ("cshap", "shap"),
    "sobol": ("sobol-total", "sobol-closed"),
    "variance": ("variance-full", "variance-pure"),
    "csobol-sobol": ("csobol-total", "sobol-total"),
    "pfi-risk": ("pfi", "pure-risk"),
    "sage-risk": ("sage", "pure-risk"),
    "cfi-pfi": ("cfi", "pfi"),
    "coe": ("prediction", "additive"),
    "ale": ("local-change", "ale"),
}


@cache
def _explainers() -> dict[str, Explainer]:
    by_name = {}
    for name, entry in CATALOG.items():
        explainer = Explainer(entry.masking, entry.behavior, entry.interaction)
        by_name[name] = replace(explainer, name=name)
    # The user has still to name its groups.
    by_name["grouped-pfi"] = by_name["grouped-pfi"].with_influence(Joint(()))
    return by_name


def explanations() -> dict[str, Explainer]:
    """The explanations with a familiar name.

    ``grouped-pfi`` has no groups yet: ``explanations()["grouped-pfi"].with_influence(Joint({name: columns}))``.

    Examples
    --------
    >>> explanations()["pdp"].interaction.key
    'pure'
    """
    headings = ("explanation", "masking", "behavior", "interaction")
    return PrintableDict(
        _explainers(),
        headings,
        lambda each: (each.masking.key, each.behavior.key, each.interaction.key),
    )


def title(name: str | None, place: str = "") -> str:
    """What an explanation is called.

    Parameters
    ----------
    name : str or None
        Its familiar name, if it has one.
    place : str
        "first" or "second", for one without a name.
    """
    if name in CATALOG:
        return CATALOG[name].title
    return name or f"the {place} explanation"


def meaning(name: str | None) -> str:
    """What an explanation says, in a few words."""
    if name in CATALOG:
        return CATALOG[name].meaning
    return "an explanation without a familiar name"
