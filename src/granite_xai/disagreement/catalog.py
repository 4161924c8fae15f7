"""The catalog: explanations and questions that have a name, with their titles."""

from __future__ import annotations

from dataclasses import replace

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Elementwise, PairLoss
from granite_xai.base.validation import choose
from granite_xai.disagreement.disagreement import Disagreement, questions
from granite_xai.explanation.behavior import Risk, Sensitivity
from granite_xai.explanation.explainer import CATALOG, explanations
from granite_xai.explanation.masking import Accumulated, Conditional

__all__ = ["TITLES", "explanations", "meaning", "question", "questions", "title"]

TITLES = {name: (called, what) for name, *_, called, what in CATALOG}  # of an explanation


def title(name: str | None, place: str = "") -> str:
    """How an explanation is called."""
    return TITLES[name][0] if name in TITLES else name or f"the {place} explanation"


def meaning(name: str | None) -> str:
    """What an explanation is, in a few words."""
    return TITLES[name][1] if name in TITLES else "an explanation without a familiar name"


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
        Conditional masking only: its bins.
    intervals : int, optional
        ALE only: of each column; 10 if not told.

    Examples
    --------
    >>> question("pfi-risk", risk_loss="absolute").behavior.loss
    'absolute'
    """
    base = choose("question", name, questions())
    behavior, risk = base.first.behavior, isinstance(base.first.behavior, Risk)
    keys = {side.masking.key for side in (base.first, base.second)}
    for option, given, fits, owners in (
        ("total", total is not None, isinstance(behavior, Sensitivity), "sensitivity questions"),
        ("risk_loss", risk_loss is not None, risk, "risk questions"),
        ("average", average != "prediction", risk, "risk questions"),
        ("pointwise", pointwise, risk, "risk questions"),
        (
            "conditional",
            conditional is not None,
            "conditional" in keys,
            "questions with conditional masking",
        ),
        ("intervals", intervals is not None, "accumulated" in keys, "questions about ALE"),
    ):
        if given and not fits:
            words = f"{option} is an option of {owners}; {name!r} is none."
            raise InputError(words, code="P03", argument=option, hint="Leave it out.")
    if risk:
        behavior = Risk(risk_loss, average, pointwise)
    elif total is not None:
        behavior = Sensitivity(total)
    sides = [replace(side, behavior=behavior) for side in (base.first, base.second)]
    for own in (conditional, None if intervals is None else Accumulated(intervals)):
        if own is not None:
            sides = [
                replace(side, masking=own) if side.masking.key == own.key else side
                for side in sides
            ]
    return Disagreement(sides[0], sides[1], loss, name)
