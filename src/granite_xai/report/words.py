"""The words of the report: explanations by their familiar names, numbers, and a glossary."""

from __future__ import annotations

import math
from typing import Any

from granite_xai.disagreement import Disagreement
from granite_xai.regions.words import quoted

# name of an explanation: how it is called, and what it is
EXPLANATIONS: dict[str, tuple[str, str]] = {
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
    "grouped-pfi": (
        "grouped PFI",
        "what the error gains when the columns of a group are shuffled together",
    ),
    "pure-risk": ("pure risk importance", "error that a column saves alone"),
    "sage": ("SAGE", "saved error shared out fairly among the columns"),
    "cfi": ("CFI", "what the error gains when a column is shuffled among similar rows"),
    "prediction": ("the model", "the prediction itself"),
    "additive": ("its additive surrogate", "the sum of one average curve per column"),
}

GLOSSARY: dict[str, str] = {
    "Explanation": "A number or curve that says how a column matters, such as PDP, SHAP or permutation importance.",
    "Disagreement": "The squared gap between two explanations of the same model on the same rows, averaged over rows "
    "and added up over columns. 0: both tell the same story.",
    "Region": "Rows that satisfy a simple rule, such as “hr ≤ 6”. Inside a region both explanations are computed from "
    "the region's own rows.",
    "Left in the regions": "The disagreement inside the regions, as a share of that over all rows. The smaller, the "
    "better one simple explanation per region tells the whole story.",
    "ICE": "One curve a row: the prediction when only one column of this row is changed. Here each curve is shown "
    "around its own mean.",
    "PDP": "The mean of all ICE curves: what changing the column does on average. Where the band of ICE curves is "
    "wide, the average hides that rows react differently.",
    "Band": "Eight of ten ICE curves run inside it at each value (10 % to 90 %).",
    "Interaction": "The effect of one column depends on the value of another. It makes ICE and PDP, or PFI and pure "
    "importance, disagree.",
    "Dependence": "Columns that move together. It makes conditional and marginal explanations disagree.",
    "Explained variance": "How much of the variation of the model's predictions a simpler description reproduces; "
    "100 % is all of it.",
    "Marginal, conditional": "Hidden columns are filled in from all rows (marginal) or only from similar rows "
    "(conditional).",
    "Held-out rows": "Rows that were not used to find the regions; they tell whether the regions hold in general.",
}


def side_words(name: str | None, place: str) -> tuple[str, str]:
    """How an explanation is called, and what it is.

    Examples
    --------
    >>> side_words("pdp", "first")[0]
    'PDP'
    """
    return EXPLANATIONS.get(name or "", (name or f"the {place} explanation", "an explanation without a familiar name"))


def cause(question: Disagreement) -> str:
    """Why two explanations can differ at all.

    Examples
    --------
    >>> from granite_xai.questions import questions
    >>> cause(questions()["mplot-pdp"]), cause(questions()["ice-pdp"])
    ('columns depend on each other', 'columns interact')
    """
    masking = question.first.masking != question.second.masking
    interaction = question.first.interaction != question.second.interaction
    reasons = ["columns depend on each other"] * masking + ["columns interact"] * interaction
    return " or ".join(reasons)


def percent(share: float | None) -> str:
    """Write a share; one that is more than rounding is never shown as zero, one that is not whole never as 100 %.

    Examples
    --------
    >>> percent(0.3071), percent(0.0001), percent(None), percent(0.99999)
    ('30.7 %', '< 0.1 %', '–', '> 99.9 %')
    """
    if share is None or math.isnan(share):
        return "–"
    if share <= -0.0005:
        return f"{100 * share:,.1f} %"
    if 1e-12 < abs(share) < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if 0.9995 <= share < 1 - 1e-12 else f"{abs(100 * share):.1f} %"


def number(value: Any) -> str:
    """Write a number with four significant digits and no exponent where it can be read without.

    Examples
    --------
    >>> number(12345.678), number(0.00123456), number(1e-9), number(3), number(None)
    ('12,346', '0.001235', '1e-09', '3', '–')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    size = abs(value)
    if isinstance(value, int) or (size >= 1000 and size < 1e15):
        return f"{value:,.0f}"
    return f"{value:.4g}"


def value(amount: float) -> str:
    """Write a value of a column: no separators, which would turn the year 2011 into 2,011.

    Examples
    --------
    >>> value(2011.0), value(0.125), value(1e-9)
    ('2011', '0.125', '1e-09')
    """
    return f"{amount:.6g}"


def plain(text: object) -> str:
    r"""Text in which nothing acts on a terminal or hides there.

    Examples
    --------
    >>> print(plain("a" + chr(27) + "[31m" + chr(10) + "b"))
    a\x1b[31m\nb
    """
    # A backslash of the user's own stays single: nobody reads this text back.
    return quoted(str(text), "").replace("\\\\", "\\")


def count(amount: int, word: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> count(1, "region"), count(3, "region")
    ('1 region', '3 regions')
    """
    return f"{amount:,} {word}" + ("" if amount == 1 else "s")
