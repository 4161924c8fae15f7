"""The sentences a reader needs first."""

from __future__ import annotations

from typing import Any

from granite_xai.disagreement import ResolvedQuestion
from granite_xai.regions.nodes import Split
from granite_xai.regions.words import name_text
from granite_xai.report.basis import Basis
from granite_xai.report.words import count, number, percent, side_words


def opening(basis: Basis) -> str:
    """How much, between which explanations, why, and where it goes away."""
    fitted, granite = basis.fitted, basis.granite
    rows = f"these {basis.n_rows:,} rows" if basis.n_rows != 1 else "this one row"
    begin = f"On {rows} {_sides(basis)}"
    if fitted.silent:
        return f"{begin} agree: there is nothing to explain, and either can be read."
    amount = f" by {number(granite.disagreement_)}{_relative(basis)}" if len(fitted.comparisons) == 1 else ""
    return f"{begin} disagree{amount}; {_where(basis)}"


def _sides(basis: Basis) -> str:
    questions = [comparison.question for comparison in basis.fitted.comparisons]
    pairs = [(side_words(q.first.name, "first")[0], side_words(q.second.name, "second")[0]) for q in questions]
    return ", and ".join(f"{one} and {two}" for one, two in pairs)


def _relative(basis: Basis) -> str:
    """The size in units a reader knows: the variance of the predictions, for local explanations."""
    comparison = basis.fitted.comparisons[0]
    if basis.evaluations is None or comparison.first.behavior.key != "local" or comparison.question.loss != "squared":
        return ""
    share = basis.granite.disagreement_ / basis.variance if basis.variance else 0.0
    return f" (mean squared gap{_over(comparison)}: {percent(share)} of the variance of the predictions)"


def _over(comparison: ResolvedQuestion) -> str:
    sets = len(comparison.first.layout.sets)
    word = {"individual": "column", "joint": "group"}.get(comparison.question.first.influence.key, "set of columns")
    if sets == 1:
        return ""
    return f", summed over {count(sets, word) if word != 'set of columns' else f'{sets} sets of columns'}"


def _where(basis: Basis) -> str:
    partition, remaining = basis.fitted.partition, basis.granite.remaining_
    if len(partition) == 1:
        return "no division of the rows into simple regions saves enough of it to be worth its price."
    ending = f"in {count(len(partition), 'region')} {percent(remaining)} of it is left."
    root = partition.root
    if not isinstance(root, Split):
        return ending
    saved = 1.0 - sum(child.disagreement for child in root.children)
    amount = "half" if 0.45 <= saved <= 0.55 else percent(saved)
    return f"{name_text(root.column)} alone explains {amount} of it; {ending}"


def further(basis: Basis, regions: list[dict[str, Any]], evaluation: dict[str, Any] | None) -> list[str]:
    """What follows from it: what curves explain, what holds on other rows, where care is due."""
    granite, several = basis.granite, len(basis.fitted.partition) > 1
    unit = basis.unit[0].upper() + basis.unit[1:]
    explained = percent(granite.global_fidelity_) if granite.global_fidelity_ >= 0 else "nothing"
    lines = [f"{unit} explains {explained} of the variance of the predictions"]
    lines[0] += f"; with one set of them for each region it is {percent(granite.fidelity_)}." if several else "."
    if evaluation is not None and not basis.fitted.silent:
        text = (
            f"On {evaluation['n_rows']:,} held-out rows {percent(evaluation['remaining'])} of the disagreement is left"
        )
        lines.append(text + (" in the same regions." if several else "."))
    worst = max(regions, key=lambda region: region["disagreement"] or 0.0)
    if several and (worst["disagreement"] or 0.0) > 0.1 and granite.remaining_ > 0:
        share = worst["disagreement"] / granite.remaining_
        lines.append(
            f"Take care in region {worst['region']} ({worst['rule']}): it holds {percent(share)} of what is left; "
            "there the average still hides differences between rows."
        )
    small = [region["region"] for region in regions if region["small"]]
    if small:
        lines.append(f"Fewer than 20 rows: region {', '.join(map(str, small))}; read its figures with caution.")
    return lines


def verdict(region: dict[str, Any]) -> str:
    """What to believe in a region.

    Examples
    --------
    >>> verdict({"explained": 0.97, "small": False})
    'Its curves tell nearly everything.'
    """
    explained = region["explained"]
    if region["small"]:
        return "Very few rows: read with caution."
    if explained is None:
        return ""
    if explained >= 0.95:
        return "Its curves tell nearly everything."
    if explained >= 0.8:
        return "Its curves tell most; some interaction is left."
    return "Columns still interact here: do not read single rows off the curves."
