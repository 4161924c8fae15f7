"""Questions with a name: which two explanations each compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.printable import PrintableDict
from granite_xai.base.typing import Elementwise, PairLoss
from granite_xai.disagreement.disagreement import Disagreement
from granite_xai.explanation.behavior import Risk, Sensitivity
from granite_xai.explanation.catalog import explanations
from granite_xai.explanation.masking import Accumulated, Conditional, Masking

# From the name of a question to the names of its first and second explanation.
CATALOG: dict[str, tuple[str, str]] = {
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


def questions() -> dict[str, Disagreement]:
    """The questions with a name: pairs of explanations that share behavior and influence.

    Examples
    --------
    >>> questions()["ice-pdp"].first.name
    'ice'
    """
    headings = ("question", "first", "second", "about")
    return PrintableDict(_disagreements(), headings, _sides_of)


def _sides_of(question: Disagreement) -> tuple[str, str, str]:
    return question.first.name or "", question.second.name or "", question.behavior.key


@cache
def _disagreements() -> dict[str, Disagreement]:
    named = explanations()
    return {
        name: Disagreement(named[first], named[second], name=name)
        for name, (first, second) in CATALOG.items()
    }


def question(
    name: str,
    *,
    loss: str | Elementwise = "squared",
    risk_loss: str | PairLoss | None = None,
    average: str = "prediction",
    pointwise: bool = False,
    total: str | None = None,
    conditional: Conditional | None = None,
    intervals: int | None = None,
) -> Disagreement:
    """A named question with its options.

    Parameters
    ----------
    name : str
        A name of ``gx.questions()``.
    loss : "squared", "absolute" or callable
        On the gap between both explanations.
    risk_loss, average, pointwise
        Risk only: the loss of the model, and how it is averaged, as in `Risk`.
    total
        Sensitivity only: how a full effect is measured, as in `Sensitivity`.
    conditional : Conditional, optional
        Conditional masking only: its bins or copula.
    intervals : int, optional
        ALE only: of each column; 10 if not told.

    Examples
    --------
    >>> question("pfi-risk", risk_loss="absolute").behavior.loss
    'absolute'
    """
    named = choose("question", name, questions())
    changed = {
        "total": total is not None,
        "risk_loss": risk_loss is not None,
        "average": average != "prediction",
        "pointwise": pointwise,
        "conditional": conditional is not None,
        "intervals": intervals is not None,
    }
    _require_options_of(named, [option for option, is_changed in changed.items() if is_changed])
    behavior = named.behavior
    if isinstance(behavior, Risk):
        behavior = Risk(risk_loss, average, pointwise)
    elif total is not None:
        behavior = Sensitivity(total)
    masking: Masking | None = conditional
    if intervals is not None:
        masking = Accumulated(intervals)
    sides = []
    for side in (named.first, named.second):
        if masking is not None and side.masking.key == masking.key:
            side = replace(side, masking=masking)
        sides.append(replace(side, behavior=behavior))
    return Disagreement(first=sides[0], second=sides[1], loss=loss, name=name)


def _require_options_of(question: Disagreement, options: Sequence[str]) -> None:
    """Refuse options that a question has no use for (P03)."""
    is_risk = isinstance(question.behavior, Risk)
    is_sensitivity = isinstance(question.behavior, Sensitivity)
    maskings = {question.first.masking.key, question.second.masking.key}
    owners = {  # which questions have the option, and whether this is one of them
        "total": ("sensitivity questions", is_sensitivity),
        "risk_loss": ("risk questions", is_risk),
        "average": ("risk questions", is_risk),
        "pointwise": ("risk questions", is_risk),
        "conditional": ("questions with conditional masking", "conditional" in maskings),
        "intervals": ("questions about ALE", "accumulated" in maskings),
    }
    for option in options:
        questions_with_it, is_one = owners[option]
        if not is_one:
            raise InputError(
                f"{option} is an option of {questions_with_it}; {question.name!r} is none.",
                code="P03",
                argument=option,
                hint="Leave it out.",
            )
