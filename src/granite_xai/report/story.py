"""The story of a fit: everything that a report tells, in plain types."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from granite_xai.base.formats import share
from granite_xai.base.text import plain
from granite_xai.base.typing import Coalition
from granite_xai.base.wording import count
from granite_xai.compute import Meter, one_blas_thread
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.explanation.catalog import meaning, title
from granite_xai.explanation.influence import Interactions
from granite_xai.fitting.causes import cause
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.report.certainty_part import evaluation, single_rows, stability
from granite_xai.report.effects_part import effects
from granite_xai.report.features_part import disagreement_map, importance, overview, triage
from granite_xai.report.provenance import provenance
from granite_xai.report.regions_part import known, regions, tree
from granite_xai.report.source import ReportSource
from granite_xai.report.wording import basis_text, benefit_heading, glossary
from granite_xai.results.described import in_regions_text
from granite_xai.results.pair_effects import pair_effects

VERSION = 3  # of the dict
WHOLE_MODEL = 1.0 - 1e-9  # share described from which on pairs have nothing to add


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
    """
    begin = began or time.perf_counter()
    fitted = source.fitted
    granite = source.granite
    finding = source.finding
    values = source.values
    resources = fitted_view(granite).resources
    importances: list[dict[str, Any]] = []
    features: list[dict[str, Any]] = []
    questions: dict[str, Any] = {"sets": [], "questions": []}
    rows_at_a_glance = None
    with one_blas_thread(), closing(Meter(resources, 3, desc="report", unit="parts")) as done:
        if values is not None:
            importances = [importance(values, question) for question in fitted.comparisons]
            features = triage(source, importances[0])
            rows_at_a_glance = overview(values)
        done(1)
        if values is not None:
            questions = disagreement_map(values)
        done(1)
        cards = regions(source)
        curves = effects(source, features, cards)
        described = describes(source)
    estimate = fitted.estimate
    return {
        "version": VERSION,
        "title": title or f"What {_subject(source)} depends on",
        "opening": finding.headline,
        "further": [text for text in (finding.details, finding.benefit) if text],
        "by_question": list(finding.by_question),
        "case": finding.outcome,
        "main_feature": finding.main_feature,
        "named": _named(source),
        "quiet": list(finding.quiet_regions),
        "output": finding.output.name,
        "about": about(source),
        "measure": {**source.measure._asdict(), "rows": _rows_of_figures(source)},
        "describes": described,
        "questions": [question_facts(question, source) for question in fitted.comparisons],
        "figures": {
            "disagreement": granite.disagreement_,
            "remaining": granite.remaining_,
            "fidelity": granite.fidelity_,
            "global_fidelity": granite.global_fidelity_,
            "nothing_to_explain": fitted.below_noise_floor,
        },
        "estimate": None if estimate is None else estimate.facts(),
        "effects": curves,
        "map": questions,
        "importances": importances,
        "triage": features,
        "overview": rows_at_a_glance,
        "regions": cards,
        "tree": tree(source),
        "stability": stability(source),
        "notes": [_sentence(note) for note in finding.notes],
        "path": None if fitted.path is None else fitted.path.facts(),
        "evaluation": None if test is None else evaluation(granite, test),
        "rows": [] if rows is None else single_rows(granite, rows),
        "glossary": glossary(finding, source.measure),
        "warnings": list(granite.diagnostics_.get("warnings", [])),
        "provenance": provenance(source, time.perf_counter() - begin),
    }


def _named(source: ReportSource) -> list[str]:
    """Features that the finding may name."""
    dependence = source.finding.dependence
    ruled = [name for name, _ in _conditions(source)]
    return list(dict.fromkeys([*dependence.features, *dependence.moderators, *ruled]))


def _conditions(source: ReportSource) -> list[tuple[str, Any]]:
    rules = source.fitted.partition.rules
    return [condition for rule in rules for condition in rule.conditions]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _subject(source: ReportSource) -> str:
    return source.finding.output.name


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
            model = plain(source.fitted.predictor.label)
    features = count(source.fitted.table.n_columns, "feature")
    sentences = [f"{model}, {features}."]
    sentences += _rows_sentences(source)
    if source.score is not None:
        sentences.append(f"The model: {source.score['text']} {source.score['rows']}.")
    return sentences


def _rows_sentences(source: ReportSource) -> list[str]:
    """Which rows regions, curves and figures come from."""
    of_all = ""
    available = source.granite.diagnostics_.get("rows", {}).get("available")
    unused = 0
    if available:
        unused = max(available - source.n_rows - source.held_out, 0)
        of_all = f" of {available:,}" if available > source.n_rows else ""
    searched = f"Regions, curves and means come from {source.n_rows:,}{of_all} rows (search rows)"
    sentences = []
    if source.held_out:
        sentences.append(f"{searched}.")
        sentences.append(
            f"How well they work is measured on {source.held_out:,} others, set aside before the "
            "search to check the regions (held-out rows)."
        )
    elif source.is_cross_validated:
        sentences.append(
            f"{searched}; how much curves describe is measured on rows left out in turn."
        )
    else:
        sentences.append(
            f"{searched}; no rows were held out, so that figures are corrected for sampling noise."
        )
    if unused:
        sentences.append(f"{unused:,} rows were not used.")
    return sentences


def question_facts(resolved: ResolvedQuestion, source: ReportSource) -> dict[str, Any]:
    """Both explanations of a question by name and meaning, and why they can differ."""
    question = resolved.question
    noted = (source.granite.diagnostics_.get("cause") or {}).get(question.label) or {}
    nothing_beyond_noise = source.finding.outcome in ("nothing", "noise")
    without_interactions = noted.get("without_interactions") or None
    first, second = question.first.name, question.second.name
    return {
        "name": question.label,
        "first": {"name": title(first, "first"), "meaning": meaning(first)},
        "second": {"name": title(second, "second"), "meaning": meaning(second)},
        "cause": cause(question),
        "kept": None if nothing_beyond_noise else without_interactions,
    }


def describes(source: ReportSource) -> dict[str, Any] | None:
    """Share of the model that curves describe, without and with regions, and what pairs add.

    None where the question is not about effects, or where nothing is known.
    """
    finding = source.finding
    found = finding.described
    if found is None or not finding.is_effect or finding.outcome in ("nothing", "noise"):
        return None
    n_regions = len(source.fitted.partition)
    steps = [{"step": _unit(source), "share": float(found.overall)}]
    if n_regions > 1:
        inside = f"{_unit(source)} in each of {n_regions} regions"
        steps.append({"step": inside, "share": float(found.in_regions)})
    in_regions, interval = in_regions_text(found)
    return {
        "heading": benefit_heading(found, n_regions),
        "steps": steps,
        "low": known(found.low),
        "high": known(found.high),
        "in_regions": in_regions,
        "interval": interval,
        "level": share(found.confidence_level),
        "rows": basis_text(found),
        **_pairs(source),
    }


def _unit(source: ReportSource) -> str:
    """What describes the model."""
    influence = source.fitted.comparisons[0].question.first.influence
    if isinstance(influence, Interactions):
        return f"the effects of up to {influence.order} features"
    return "one curve per feature" if influence.key == "individual" else "one effect per group"


def _pairs(source: ReportSource) -> dict[str, Any]:
    """The pairs of features that matter most on top of the regions, and what they add."""
    nothing: dict[str, Any] = {"pairs": [], "pairs_share": None, "note": ""}
    fitted = source.fitted
    influence = fitted.comparisons[0].question.first.influence
    few = len(fitted.layout.explained) <= 2
    complete = fitted.additive.value.fidelity >= WHOLE_MODEL
    if source.values is None or few or complete or isinstance(influence, Interactions):
        return nothing
    found = pair_effects(source.values)
    if found.needed:
        spent = f"they would take {found.needed:,} more evaluations; the fit took {found.spent:,}"
        return {**nothing, "note": f"Pairs of features are left out: {spent}."}
    if found.explained is None:
        return nothing
    names = {}
    for sets, labels in zip(fitted.layout.sets, fitted.layout.labels, strict=True):
        if len(sets) == 1:
            names[sets[0]] = labels[0]
    columns = fitted.table.names
    pairs = [[names.get(one) or _columns(one, columns) for one in pair] for pair in found.pairs]
    return {"pairs": pairs, "pairs_share": float(found.explained), "note": ""}


def _columns(player: Coalition, names: Sequence[str]) -> str:
    return ", ".join(names[position] for position in sorted(player))
