"""The facts of a report, in plain types: everything that its page, its texts and its JSON say."""

from __future__ import annotations

import math
import platform
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from granite_xai.algebra.behavior import Risk
from granite_xai.algebra.catalog import meaning, title
from granite_xai.base.errors import InputError
from granite_xai.base.numbers import UNKNOWN, OutputUnit, amount, count, with_minus
from granite_xai.base.text import ALL_ROWS, capitalized, plain, shortened
from granite_xai.base.typing import FloatArray
from granite_xai.curves.shared import SharedCurve
from granite_xai.document.chart import FeatureAxis
from granite_xai.estimator import Granite
from granite_xai.fitting.fit_result import fitted_view
from granite_xai.fitting.remarks import cause
from granite_xai.fitting.stability import UNCLEAR
from granite_xai.regions import Rule, rule_conditions, rule_words
from granite_xai.results.facts import FitFacts, target_name
from granite_xai.results.profile import profile
from granite_xai.results.sentences import finding_of, output_words
from granite_xai.results.values import Explained, Values
from granite_xai.search.problem import GivenRules

VERSION = 4  # of the facts
HALVES = 3  # that the search is repeated on, with their complements: found in 6 of 6 is stable
MOST_ROWS = 20  # that are told one by one
MOST_PARTS = 8  # of a row; what the others add is told together
FAINT = 1e-3  # share of the average effect by which features without heterogeneity are ranked
ROUNDING = 1e-12  # share of the largest importance below which another one is rounding
PACKAGES = ("granite-xai", "numpy", "scikit-learn", "pandas")
NOT_LIBRARIES = ("builtins", "sklearn", "__main__")


class Source:
    """A fit as a report reads it.

    Halves of its rows are searched where nobody has done so: the model is not asked.

    Parameters
    ----------
    granite : Granite
        Fitted.
    X, y : table and array, optional
        Those of the fit.
    unit : str
        Of the target.

    Attributes
    ----------
    facts : FitFacts
    finding : FitFinding
    output : OutputWords
        How the output is called, and its unit.
    curves : SharedCurves
        Those that describe the model.
    drawn : list of str
        The features that have a curve; groups and pairs have none.
    values : Values or None
        What explanations say about the rows of the fit; None for one that was loaded.
    explained : list of Explained
        Both sides of each question in every scope; none of a fit that was loaded.
    is_per_row : bool
        Whether the question has a gap at every row: rows stray; otherwise importances differ.
    unit : OutputUnit
        How sizes of what is compared are written, on the scale of the fit; squares and importances have no unit.
    score : str
        How good the model is; empty: no target is known.
    """

    def __init__(self, granite: Granite, X: Any, y: Any, unit: str) -> None:
        self.granite = granite
        self.values: Values | None = None
        self.explained: list[Explained] = []
        self.score = ""
        fitted = fitted_view(granite).result
        if fitted.sample is not None:  # not of a loaded one
            if (
                len(fitted.partition) > 1
                and fitted.stability is None
                and not isinstance(fitted.settings.partitioner, GivenRules)
                and len(np.unique(fitted.rows.clusters)) > 1
            ):
                granite.stability(HALVES)
                fitted = fitted_view(granite).result
            self.values = Values.of_fit(granite, X, y)
            self.explained = [self.values.of_question(question) for question in fitted.questions]
            if y is not None:
                self.score = _score(granite, X, y, self.values)
        # What curves describe is computed when it is first read; sentences leave out what has not been.
        self.curves = fitted.shared_curves.value
        if fitted.estimate is not None and not fitted.estimate.below_noise_floor:
            _ = fitted.estimate.fidelity
        self.fitted = fitted
        self.facts = FitFacts(fitted, granite.diagnostics_)
        target = target_name(y) or granite.diagnostics_.get("target") or ""
        self.output = output_words(fitted.model, target, unit)
        self.finding = finding_of(self.facts, self.output)
        self.drawn = [curve.label for curve in self.curves.everywhere if curve.column is not None]
        self.is_per_row = bool(fitted.questions[0].first.behavior.per_row)
        has_unit = self.is_per_row and self.facts.figures.is_rooted
        self.unit = self.output.unit.on_scale if has_unit else OutputUnit()

    def size(self, value: float | None) -> str:
        """How far rows stray, or importances differ, without the unit."""
        if value is None:
            return UNKNOWN
        return self.unit.spread(value, bare=True) if self.is_per_row else amount(value)

    def words(self, rule: Rule) -> str:
        """A rule as a person says it."""
        return rule_words(rule, self.facts.vocabulary)

    def conditions(self, rule: Rule) -> list[list[str]]:
        """What stands before each feature of a rule, the feature, what is said of it."""
        words = rule_conditions(rule, self.facts.vocabulary)
        return [[word.bounds_before, word.feature, word.predicate] for word in words]


def facts_of(
    source: Source, title: str | None, test: Any, rows: Any, began: float
) -> dict[str, Any]:
    """Everything that a report knows.

    Parameters
    ----------
    source : Source
    title, test, rows
        As in `explain`.
    began : float
        When the work began, by `time.perf_counter`.

    Returns
    -------
    dict
        In plain types; None stands for numbers that are not known.

        - ``version`` of these facts, and ``title``;
        - ``finding``: ``outcome``, ``headline``, ``details``, ``benefit``, ``curves``, ``by_question``, ``errors``,
          ``doubts``, ``notes``, ``warnings``, ``stability`` and ``main_feature``;
        - ``output``: its ``name`` and ``unit``, and whether it is a ``probability``;
        - ``about``: model, rows and score, a sentence each;
        - ``questions``: both explanations of each by name and meaning, and why they can differ;
        - ``fit``: figures on the rows that searched; ``estimate``: figures on the rows that judged;
        - ``nodes``: the tree, parents first; ``regions``: numbers, rules and figures of its leaves;
        - ``curves``: every distinct curve, see `curve_facts`;
        - ``features``: average effect and heterogeneity of each, see `feature_facts`;
        - ``values``: both sides of each question for every scope and set, see `value_facts`;
        - ``splits``: the ledger of the tree; ``stability``, ``path``, ``evaluation``;
        - ``rows``: single rows; ``made``: how the report was made.
    """
    finding = source.finding
    fitted = source.fitted
    granite = source.granite
    unit = source.output.unit
    facts = {
        "version": VERSION,
        "title": title or f"What {source.output.name} depends on",
        "finding": {
            "outcome": finding.outcome,
            "headline": finding.headline,
            "details": finding.details,
            "benefit": finding.benefit,
            "curves": finding.curves,
            "by_question": finding.by_question,
            "errors": finding.errors,
            "doubts": [capitalized(doubt) for doubt in finding.doubts],
            "notes": [capitalized(note) for note in finding.notes],
            "warnings": granite.diagnostics_.get("warnings", []),
            "stability": finding.stability,
            "main_feature": finding.main_feature,
        },
        "output": {
            "name": source.output.name,
            "unit": unit.unit,
            "probability": unit.probability,
        },
        "about": _about(source),
        "questions": _questions(source),
        "fit": {
            "disagreement": granite.disagreement_,
            "remaining": granite.remaining_,
            "fidelity": granite.fidelity_,
            "global_fidelity": granite.global_fidelity_,
            "nothing_to_explain": fitted.below_noise_floor,
        },
        "estimate": None if fitted.estimate is None else fitted.estimate.facts(),
        "nodes": _nodes(source),
        "regions": _regions(source),
        "curves": [curve_facts(source, curve) for curve in source.curves],
        "features": feature_facts(source),
        "values": value_facts(source),
        "splits": _splits(source),
        "stability": _stability(source),
        "path": None if fitted.path is None else fitted.path.facts(),
        "evaluation": None if test is None else _evaluation(granite, test),
        "rows": [] if rows is None else _single_rows(granite, rows),
        "made": _made(source, time.perf_counter() - began),
    }
    plain_facts: dict[str, Any] = _in_plain_types(facts)
    return plain_facts


def _in_plain_types(value: Any) -> Any:
    """Facts as JSON has them: numbers of arrays with five digits, None where a number is not known."""
    if isinstance(value, Mapping):
        return {name: _in_plain_types(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray):
        return [_in_plain_types(float(f"{entry:.5g}")) for entry in value.tolist()]
    if isinstance(value, list | tuple | range):
        return [_in_plain_types(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


# Model and rows ----------------------------------------------------------------------------------------


def model_text(model: Any) -> str:
    """The class of a model; of a pipeline that of its last step."""
    last = model
    while getattr(last, "steps", None):
        last = last.steps[-1][1]
    name = type(last).__name__
    return name if last is model else f"{name} in a {type(model).__name__}"


def _about(source: Source) -> list[str]:
    """Model, features, rows, and how good the model is: a sentence each."""
    model = "The model is not in the file"
    if source.granite.model is not None:
        model = model_text(source.granite.model)
        if model in ("function", "method"):
            model = plain(source.fitted.model.label)
    features = count(source.fitted.table.n_columns, "feature")
    sentences = [f"{model}, {features}.", source.finding.rows, source.score]
    return [sentence for sentence in sentences if sentence]


def _score(granite: Granite, X: Any, y: Any, values: Values) -> str:
    """How good the model is: on held-out rows, otherwise on the search rows, whose predictions are known."""
    from sklearn.metrics import log_loss, r2_score, roc_auc_score

    view = fitted_view(granite)
    model = view.result.model
    held_out = view.diagnostics["rows"]["held_out"]
    predictions, truth, _ = values.by_row()
    if model.is_survival:  # whose target is a status with a weight
        return ""
    if held_out:
        rows = np.asarray(held_out, dtype=np.intp)
        table = view.read_again(X)
        target = view.target(y, table, Risk().resolved(model.is_probability))
        truth = None if target is None else target[rows]
        predictions = model.on_rows(table.take(rows))
    if truth is None or len(truth) < 2 or np.ptp(truth) == 0:
        return ""
    if model.is_probability:
        auc = roc_auc_score(truth, predictions)
        figures = f"AUC {auc:.2f}, log loss {log_loss(truth, np.clip(predictions, 0, 1)):.2f}"
    else:
        error = float(np.sqrt(np.mean(np.square(truth - predictions))))
        r_squared = with_minus(f"{r2_score(truth, predictions):.2f}")
        figures = f"R² {r_squared}, typical error {amount(error)}"
    kind = "held-out" if held_out else "search"
    return (
        f"The model: {figures} on the {len(truth):,} {kind} rows; it may have been trained on them."
    )


def _questions(source: Source) -> list[dict[str, Any]]:
    """Both explanations of each question by name and meaning, and why they can differ.

    ``kept`` is the share of their difference that a model without interactions would keep; None where that is not
    known, or where there is nothing but sampling noise.
    """
    causes = source.granite.diagnostics_.get("cause") or {}
    is_known = source.finding.outcome not in ("nothing", "noise")
    questions = []
    for resolved in source.fitted.questions:
        question = resolved.question
        first, second = question.first.name, question.second.name
        kept = (causes.get(question.label) or {}).get("without_interactions") or None
        questions.append(
            {
                "name": question.label,
                "first": {"name": title(first, "first"), "meaning": meaning(first)},
                "second": {"name": title(second, "second"), "meaning": meaning(second)},
                "cause": cause(question),
                "kept": kept if is_known else None,
            }
        )
    return questions


# Tree and regions --------------------------------------------------------------------------------------


def _nodes(source: Source) -> list[dict[str, Any]]:
    """The nodes of the tree, parents first.

    Each has its ``id`` in links of the page, ``node`` and ``parent`` (numbers), ``region`` (None: it is split),
    ``regions`` below it, ``conditions`` on the edge above it (what stands before the feature, the feature, what is
    said of it) and their ``text``, ``name``, ``n_samples``, ``share``, ``mean``, ``spread`` and ``stray``
    (heterogeneity).
    """
    nodes = []
    for place, figure in zip(source.facts.places, source.facts.figures.nodes, strict=True):
        below = [source.fitted.partition[region] for region in place.regions]
        node = {
            "id": "all",
            "node": place.number,
            "parent": None,
            "region": None,
            "regions": place.regions,
            "conditions": source.conditions(place.edge),
            "text": "",
            "name": "",
            "n_samples": sum(region.n_samples for region in below),
            "share": math.fsum(region.fraction for region in below),
            "mean": figure.mean,
            "spread": figure.spread,
            "stray": figure.heterogeneity,
        }
        if place.parent is not None:
            is_leaf = place.region is not None
            node |= {
                "id": f"region-{place.region}" if is_leaf else f"node-{place.number}",
                "parent": place.parent.number,
                "region": place.region,
                "text": source.words(place.edge),
                "name": below[0].name if is_leaf else "",
            }
        nodes.append(node)
    return nodes


def _regions(source: Source) -> list[dict[str, Any]]:
    """The regions: number and name, rule (``rule``: exact), rows (``profile``: who they are) and figures."""
    regions = []
    for region in source.fitted.partition:
        who: list[Any] = []
        if source.values is not None:
            of_rows = source.values.by_row()
            who += profile(source.fitted, region.index, *of_rows, source.output.unit)
        regions.append(
            {
                "region": region.index,
                "name": region.name,
                "rule": str(region.rule),
                "words": source.words(region.rule),
                "conditions": source.conditions(region.rule),
                "n_samples": region.n_samples,
                "share": region.fraction,
                "mean": source.facts.figures.leaves[region.index].mean,
                "disagreement": region.disagreement,
                "stop_reason": region.stop_reason,
                "profile": who,
            }
        )
    return regions


# Curves and features -----------------------------------------------------------------------------------


def curve_facts(source: Source, curve: SharedCurve) -> dict[str, Any]:
    """A curve that is told once.

    ``features``; ``role`` ("differs", "same", "hardly"); ``node``, ``regions`` and ``rule`` of its rows, ``n_samples``;
    ``mean`` prediction; ``range`` and ``spread``; and, of a single feature, at each of its ``places`` its ``effect``
    (less its own mean), its ``error``, where nine rows in ten lie (``low``, ``high``) and the ``share`` of the rows.
    """
    facts: dict[str, Any] = {
        "features": curve.features,
        "role": curve.role,
        "node": curve.node,
        "regions": curve.regions,
        "rule": source.words(source.facts.places[curve.node].rule),
        "n_samples": curve.n_rows,
        "mean": curve.mean,
        "range": curve.range,
        "spread": curve.spread,
    }
    if curve.column is not None:
        axis = FeatureAxis(curve.column, counts=curve.shares, effects=curve.effects)
        facts["places"] = axis.texts
        for name in ("effects", "errors", "low", "high"):
            facts[name] = axis.at_places(getattr(curve, name))
        facts["shares"] = np.array([curve.shares[group + 1].sum() for group in axis.groups])
    return facts


def value_facts(source: Source) -> list[dict[str, Any]]:
    """Both sides of each question: ``question``, ``first``, ``second`` (names), ``features``, and by scope.

    ``scopes`` has all rows (``region`` None) and each region, with ``first``, ``second`` and ``difference`` by feature:
    root mean squares of local effects, the number itself of others.
    """
    entries = []
    for resolved, explained in zip(source.fitted.questions, source.explained, strict=False):
        question = resolved.question
        sizes = _without_rounding([scope.root_mean_squares for scope in explained.scopes], ROUNDING)
        gaps = _without_rounding([scope.gaps for scope in explained.scopes], ROUNDING**2)
        scopes = [
            {
                "region": in_scope.scope.region,
                "first": of_sides[0],
                "second": of_sides[1],
                "difference": gap,
            }
            for in_scope, of_sides, gap in zip(explained.scopes, sizes, gaps, strict=True)
        ]
        entries.append(
            {
                "question": question.label,
                "first": title(question.first.name, "first"),
                "second": title(question.second.name, "second"),
                "features": [":".join(names) for names in explained.sets],
                "scopes": scopes,
            }
        )
    return entries


def _without_rounding(values: Any, tolerance: float) -> FloatArray:
    """Sizes with 0 in the place of those that are next to nothing beside the largest."""
    sizes = np.array(values, dtype=np.float64)
    sizes[np.abs(sizes) < tolerance * np.nan_to_num(np.abs(sizes)).max(initial=0.0)] = 0.0
    return sizes


def feature_facts(source: Source) -> list[dict[str, Any]]:
    """What an average effect shows of each feature, and what it hides; those that hide most come first.

    ``feature``; ``average``: root mean square of its average effect on all rows (of an importance question the second
    importance); ``hidden``: how far single rows stray from it (how far the importances differ), and
    ``hidden_in_regions``: the same inside the regions, from held-out rows where there are some.
    """
    figures = source.facts.figures
    hidden = np.array(figures.root.by_set)
    inside = np.nan_to_num(figures.by_set_inside_regions())
    if source.fitted.below_noise_floor:
        hidden = inside = np.zeros_like(hidden)
    entries = []
    for explained in source.explained[:1]:
        average = _without_rounding(np.abs(explained.scopes[0].root_mean_squares[1]), ROUNDING)
        for number, names in enumerate(explained.sets):
            entries.append(
                {
                    "feature": ":".join(names),
                    "average": float(average[number]),
                    "hidden": figures.size([float(hidden[number])]),
                    "hidden_in_regions": figures.size([float(inside[number])]),
                }
            )
    return sorted(entries, key=lambda entry: -max(entry["hidden"], FAINT * entry["average"]))


# Certainty ---------------------------------------------------------------------------------------------


def _splits(source: Source) -> list[dict[str, Any]]:
    """The ledger of the tree: what each split adds, and the best cut of each region that was not made.

    Entries are those of ``partition_.splits()``, with rules in words (``where_words``, ``cut_words``); None: not known.
    """
    lines = source.fitted.partition.split_lines()
    for line in lines:
        for name in ("where", "cut"):
            is_rule = line[name] not in ("", ALL_ROWS)
            line[f"{name}_words"] = source.words(Rule.parse(line[name])) if is_rule else line[name]
    return lines


def _stability(source: Source) -> dict[str, Any] | None:
    """How often each split comes back in searches of half the rows; None where nothing was searched again."""
    stability = source.fitted.stability
    if stability is None or stability.searches == 0:
        return None
    return {
        "score": stability.score,
        "low": stability.low,
        "high": stability.high,
        "searches": stability.searches,
        "splits": [
            {
                "rule": split.where,
                "feature": split.column,
                "cut": split.words or split.cut,
                "times": split.count,
                "verdict": split.verdict or UNCLEAR,
                "between": split.cuts,
                "instead": split.instead or "",
            }
            for split in stability.splits
        ],
    }


def _evaluation(granite: Granite, test: Any) -> dict[str, Any]:
    """The regions on rows that the fit did not see."""
    X, y = test if isinstance(test, tuple) and len(test) == 2 else (test, None)
    result = granite.evaluate(X, y)
    floors = fitted_view(granite).result.floors
    if len(floors) == 1 and floors[0] > 0.0 and result.disagreement <= floors[0]:  # rounding
        overall = result.global_disagreement if result.global_disagreement > floors[0] else 0.0
        nothing = np.zeros_like(result.regional)
        result = replace(result, disagreement=0.0, global_disagreement=overall, regional=nothing)
    lines = zip(result.rules, result.counts, result.regional, strict=True)
    return {
        "n_rows": int(sum(result.counts)),
        "global_disagreement": result.global_disagreement,
        "disagreement": result.disagreement,
        "remaining": result.remaining,
        "described": fitted_view(granite).held_out_fidelity(X),
        "regions": [
            {"region": region, "rule": rule, "n_samples": int(n_rows), "disagreement": float(gap)}
            for region, (rule, n_rows, gap) in enumerate(lines)
        ],
    }


# Single rows -------------------------------------------------------------------------------------------


def _single_rows(granite: Granite, rows: Any) -> list[dict[str, Any]]:
    """Some rows one by one: ``region``, ``sentences``, and ``parts`` (feature, value, what it adds), largest first."""
    table = fitted_view(granite).read(rows)
    if table.n_rows > MOST_ROWS:
        raise InputError(
            f"a report tells of {MOST_ROWS} rows at most.",
            code="P02",
            argument="rows",
            hint="Use explain_row for more.",
        )
    entries = []
    for number in range(table.n_rows):
        position = np.array([number])
        row = granite.explain_row(table.take(position).native)
        row = replace(row, row=table.row_labels(position)[0])
        weaker = row.order[MOST_PARTS:]
        parts = [
            (row.sets[i], row.values[i], float(row.contributions[i]))
            for i in row.order[:MOST_PARTS]
        ]
        if len(weaker):
            parts.append(("all others", "", float(row.contributions[weaker].sum())))
        parts.append(("interactions", "", float(row.rest)))
        entries.append({"region": row.region, "sentences": row.sentences(), "parts": parts})
    return entries


# How it was made ---------------------------------------------------------------------------------------


def _made(source: Source, seconds: float) -> dict[str, Any]:
    """Settings, model, rows, calls, times and versions: what is needed to make the report again."""
    granite = source.granite
    fitted = source.fitted
    diagnostics = granite.diagnostics_
    usage = diagnostics["model"]
    with_report = getattr(fitted.model, "usage", None)  # with what the report itself asked
    if with_report is not None:
        usage = usage | {"calls": with_report.calls, "rows": with_report.rows}
    n_judging = 0
    if fitted.estimate is not None and fitted.estimate.rows in ("held-out", "given"):
        n_judging = fitted.estimate.n_rows
    # The question, and the options that differ from the defaults.
    options = granite.get_params(deep=False)
    defaults = type(granite)(None).get_params(deep=False)
    settings = {}
    for name, option in options.items():
        is_changed = repr(option) != repr(defaults[name])
        if name == "question" or (is_changed and name != "model"):
            settings[name] = _setting_text(option)
    times = {
        "fit": diagnostics.get("seconds", {}).get("total"),
        "model": usage.get("seconds"),
        "report": seconds,
    }
    versions = {"python": platform.python_version()}
    library = type(granite.model).__module__.partition(".")[0]
    is_library = library in sys.modules and library not in NOT_LIBRARIES
    for package in (*PACKAGES, *[library] * is_library):
        with suppress(PackageNotFoundError, ValueError):
            versions[package] = version(package)
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "settings": settings,
        "model": "not given" if granite.model is None else _setting_text(granite.model),
        "explained": plain(fitted.model.label),
        "rows": source.facts.n_search_rows,
        "held_out": n_judging,
        "available": source.facts.n_rows,
        "columns": fitted.table.n_columns,
        "seed": diagnostics.get("seed"),
        "evaluations": (diagnostics.get("evaluations") or {}).get("path"),
        "model_calls": usage["calls"],
        "model_rows": usage["rows"],
        "seconds": {name: None if time is None else round(time, 3) for name, time in times.items()},
        "versions": versions,
    }


def _setting_text(setting: Any) -> str:
    # Where an object lies in memory tells nobody anything, and differs from run to run.
    return shortened(plain(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(setting))), 200)
