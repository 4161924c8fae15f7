"""The story of a fit: everything that a report tells, in plain types."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from granite_xai.base.numbers import count
from granite_xai.base.parallel import Meter, one_blas_thread
from granite_xai.base.text import plain
from granite_xai.fitting.fitted import fitted_view
from granite_xai.report.certainty_part import evaluation, stability
from granite_xai.report.description_part import describes
from granite_xai.report.effects_part import effects
from granite_xai.report.features_part import importance, triage
from granite_xai.report.overview_part import overview
from granite_xai.report.provenance import provenance
from granite_xai.report.questions_part import question_facts
from granite_xai.report.regions_part import regions, tree
from granite_xai.report.rows_part import single_rows
from granite_xai.report.source import ReportSource
from granite_xai.report.wording import glossary

VERSION = 3  # of the dict


def tell(
    source: ReportSource,
    test: Any = None,
    title: str | None = None,
    began: float = 0.0,
    rows: Any = None,
) -> dict[str, Any]:
    """Build the dict; without evaluations (a loaded fit) it holds what the stored curves tell.

    Parameters
    ----------
    source : ReportSource
    test, rows, title
        As in `explain`.
    began : float
        When the work began, by `time.perf_counter`; 0: now.

    Returns
    -------
    dict
        The function that makes a part describes its keys: those of ``describes``, ``effects``,
        ``importances``, ``triage``, ``overview``, ``regions``,
        ``tree``, ``stability``, ``evaluation``, ``rows`` and ``provenance``.
    """
    begin = began or time.perf_counter()
    fitted = source.fitted
    granite = source.granite
    values = source.values
    resources = fitted_view(granite).resources
    importances: list[dict[str, Any]] = []
    features: list[dict[str, Any]] = []
    effects_of_rows = None
    with one_blas_thread(), closing(Meter(resources, 2, desc="report", unit="parts")) as done:
        if values is not None:
            importances = [importance(values, question) for question in fitted.questions]
            features = triage(source, importances[0])
            effects_of_rows = overview(values)
        done(1)
        cards = regions(source)
        curves = effects(source, features, cards)
        described = describes(source)
        done(1)
    return {
        "version": VERSION,
        **_finding(source, title),
        "about": about(source),
        "measure": {**source.measure._asdict(), "rows": _rows_of_figures(source)},
        "describes": described,
        "questions": [question_facts(question, source) for question in fitted.questions],
        "figures": _figures(source),
        "estimate": None if fitted.estimate is None else fitted.estimate.facts(),
        "effects": curves,
        "importances": importances,
        "triage": features,
        "overview": effects_of_rows,
        "regions": cards,
        "tree": tree(source),
        "stability": stability(source),
        "doubts": [_capitalised(doubt) for doubt in source.finding.doubts],
        "notes": [_capitalised(note) for note in source.finding.notes],
        "path": None if fitted.path is None else fitted.path.facts(),
        "evaluation": None if test is None else evaluation(granite, test),
        "rows": [] if rows is None else single_rows(granite, rows),
        "glossary": glossary(source.measure),
        "warnings": list(granite.diagnostics_.get("warnings", [])),
        "provenance": provenance(source, time.perf_counter() - begin),
    }


def _finding(source: ReportSource, title: str | None) -> dict[str, Any]:
    """Title and sentences of the finding, what it names, and which case it is."""
    finding = source.finding
    return {
        "title": title or f"What {finding.output.name} depends on",
        "opening": finding.headline,
        "further": [text for text in (finding.details, finding.benefit) if text],
        "by_question": list(finding.by_question),
        "case": finding.outcome,
        "main_feature": finding.main_feature,
        "named": _named_features(source),
        "quiet": list(finding.quiet_regions),
        "output": finding.output.name,
    }


def _figures(source: ReportSource) -> dict[str, Any]:
    """Figures of the fit on the search rows."""
    granite = source.granite
    return {
        "disagreement": granite.disagreement_,
        "remaining": granite.remaining_,
        "fidelity": granite.fidelity_,
        "global_fidelity": granite.global_fidelity_,
        "nothing_to_explain": source.fitted.below_noise_floor,
    }


def _named_features(source: ReportSource) -> list[str]:
    """Features that the finding may name, each once."""
    dependence = source.finding.dependence
    names = [*dependence.features, *dependence.moderators]
    for rule in source.fitted.partition.rules:
        names += [name for name, _ in rule.conditions]
    return list(dict.fromkeys(names))


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _rows_of_figures(source: ReportSource) -> str:
    """The rows that figures of quality come from."""
    figures = source.figures
    if figures is not None and figures.rows == "held-out":
        return f"{figures.n_rows:,} held-out rows"
    return f"the {source.n_rows:,} search rows"


def about(source: ReportSource) -> list[str]:
    """Model, features, rows, and how good the model is: a sentence each."""
    granite = source.granite
    model = "The model is not in the file"
    if granite.model is not None:
        model = type(granite.model).__name__
        if model == "function":
            model = plain(source.fitted.model.label)
    features = count(source.fitted.table.n_columns, "feature")
    sentences = [f"{model}, {features}."]
    sentences += _rows_sentences(source)
    if source.score is not None:
        sentences.append(f"The model: {source.score['text']} {source.score['rows']}.")
    return sentences


def _rows_sentences(source: ReportSource) -> list[str]:
    """Which rows regions, curves and figures come from."""
    n_available = source.granite.diagnostics_.get("rows", {}).get("available") or 0
    n_unused = max(n_available - source.n_rows - source.n_held_out, 0)
    of_all = f" of {n_available:,}" if n_available > source.n_rows else ""
    searched = f"Regions, curves and means come from {source.n_rows:,}{of_all} rows (search rows)"
    if source.n_held_out:
        checked = (
            f"How well they work is measured on {source.n_held_out:,} others, set aside before the "
            "search to check the regions (held-out rows)."
        )
        sentences = [f"{searched}.", checked]
    elif source.is_cross_validated:
        sentences = [f"{searched}; how much curves describe is measured on rows left out in turn."]
    else:
        sentences = [
            f"{searched}; no rows were held out, so that figures are corrected for sampling noise."
        ]
    if n_unused:
        sentences.append(f"{n_unused:,} rows were not used.")
    return sentences
