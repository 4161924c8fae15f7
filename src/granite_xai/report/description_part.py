"""Share of the model that curves describe, as the story tells it."""

from __future__ import annotations

from typing import Any

from granite_xai.algebra.influence import Interactions
from granite_xai.base.numbers import share
from granite_xai.report.source import ReportSource, number_or_none
from granite_xai.report.wording import basis_text, benefit_heading
from granite_xai.results.described import in_regions_text


def describes(source: ReportSource) -> dict[str, Any] | None:
    """Share of the model that curves describe, without and with regions.

    Returns
    -------
    dict or None
        ``heading``; ``steps`` (what describes the model, ``step``, and its ``share``); ``low`` and
        ``high``, ends of the interval of the last share, which ``in_regions`` and ``interval`` are
        in words, and its ``level``; the ``rows`` that shares are measured on. None where the
        question is not about effects, or where nothing is known.
    """
    finding = source.finding
    described = finding.described
    if described is None or not finding.is_effect or finding.outcome in ("nothing", "noise"):
        return None
    n_regions = len(source.fitted.partition)
    description = _description_words(source)
    steps = [{"step": description, "share": float(described.overall)}]
    if n_regions > 1:
        step = f"{description} in each of {n_regions} regions"
        steps.append({"step": step, "share": float(described.in_regions)})
    in_regions, interval = in_regions_text(described)
    return {
        "heading": benefit_heading(described, n_regions),
        "steps": steps,
        "low": number_or_none(described.low),
        "high": number_or_none(described.high),
        "in_regions": in_regions,
        "interval": interval,
        "level": share(described.confidence_level),
        "rows": basis_text(described),
    }


def _description_words(source: ReportSource) -> str:
    """What describes the model, in words."""
    influence = source.fitted.questions[0].question.first.influence
    if isinstance(influence, Interactions):
        return f"the effects of up to {influence.order} features"
    if influence.key == "individual":
        return "one curve per feature"
    return "one effect per group"
