"""Questions as the story tells them: their explanations, and what other ones would find."""

from __future__ import annotations

from typing import Any

from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.explanation.catalog import meaning, title
from granite_xai.fitting.causes import cause
from granite_xai.report.source import ReportSource, rounded, set_labels
from granite_xai.results.fit_values import FitValues

FEW_PAIRS = 250_000  # rows times squared features up to which other questions are read off, too


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


def disagreement_map(values: FitValues) -> dict[str, Any]:
    """Share of each feature in the heterogeneity of each question, and what regions leave.

    Questions that nobody asked are added where there are regions to judge and they cost little.

    Returns
    -------
    dict
        ``sets`` (features) and ``questions``: names, cause, ``disagreement`` on all rows,
        ``remaining`` (its share that the regions leave) and ``shares`` of the sets in it.
    """
    table = values.table
    questions = list(values.fitted.comparisons)
    has_regions = len(values.regions) > 1
    if has_regions and table.n_rows * table.n_columns**2 <= FEW_PAIRS:
        questions += values.further_questions()
    sets = set_labels(values.fitted.comparisons[0])
    entries: dict[str, dict[str, Any]] = {}
    for resolved in questions:
        question = resolved.question
        if len(resolved.first.layout.sets) < 2 or question.label in entries:
            continue
        gaps = values.gaps(resolved)
        if gaps is None or set_labels(resolved) != sets:
            continue
        on_all_rows, in_regions = gaps  # by set
        total = float(on_all_rows.sum())
        entries[question.label] = {
            **question_names(question),
            "cause": cause(question),
            "behavior": question.behavior.key,
            "disagreement": total,
            "remaining": float(in_regions.sum()) / (total or 1.0),
            "shares": rounded(on_all_rows / (total or 1.0)),
            "sets": sets,
        }
    return {"sets": sets, "questions": list(entries.values())}
