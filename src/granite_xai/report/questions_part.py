"""Questions as the story tells them: their explanations by name, and why these can differ."""

from __future__ import annotations

from typing import Any

from granite_xai.algebra.catalog import meaning, title
from granite_xai.algebra.disagreement import Disagreement, ResolvedQuestion
from granite_xai.fitting.remarks import cause
from granite_xai.report.source import ReportSource


def question_names(question: Disagreement) -> dict[str, str]:
    """The label of a question and the names of its explanations."""
    return {
        "question": question.label,
        "first": title(question.first.name, "first"),
        "second": title(question.second.name, "second"),
    }


def question_facts(resolved: ResolvedQuestion, source: ReportSource) -> dict[str, Any]:
    """Both explanations of a question by name and meaning, and why they can differ.

    ``kept`` is the share of their difference that a model without interactions would keep; None
    where that is not known, or where there is nothing but sampling noise.
    """
    question = resolved.question
    first = question.first.name
    second = question.second.name
    causes = source.granite.diagnostics_.get("cause") or {}
    without_interactions = None
    if source.finding.outcome not in ("nothing", "noise"):
        noted = causes.get(question.label) or {}
        without_interactions = noted.get("without_interactions") or None
    return {
        "name": question.label,
        "first": {"name": title(first, "first"), "meaning": meaning(first)},
        "second": {"name": title(second, "second"), "meaning": meaning(second)},
        "cause": cause(question),
        "kept": without_interactions,
    }
