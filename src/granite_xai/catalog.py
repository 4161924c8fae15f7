"""The catalog: explanations and questions that have a name, with their titles."""

from __future__ import annotations

from dataclasses import replace

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.typing import Elementwise, PairLoss
from granite_xai.behavior import Risk, Sensitivity
from granite_xai.disagreement import Disagreement, questions
from granite_xai.explainer import explanations
from granite_xai.masking import Accumulated, Conditional

__all__ = ["TITLES", "explanations", "meaning", "question", "questions", "title"]

TITLES: dict[str, tuple[str, str]] = {  # name of an explanation: how it is called, and what it is
    "ice": ("ICE", "how the prediction of each single row moves with a column"),
    "pdp": ("PDP", "how the prediction moves with a column on average"),
    "shap": ("SHAP", "each row's prediction shared out fairly among the columns"),
    "baseline-shap": ("baseline SHAP", "each row's prediction shared out, counted from one baseline row"),
    "cice": ("conditional ICE", "what a row's prediction loses when a column is hidden, among similar rows"),
    "preddiff": ("PredDiff", "conditional ICE by another name"),
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
    "csage": ("conditional SAGE", "SAGE that compares with similar rows only"),
    "prediction": ("the model", "the prediction itself"),
    "additive": ("its additive surrogate", "the sum of one average curve per column"),
}


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
        ("conditional", conditional is not None, "conditional" in keys, "questions with conditional masking"),
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
            sides = [replace(side, masking=own) if side.masking.key == own.key else side for side in sides]
    return Disagreement(sides[0], sides[1], loss, name)
