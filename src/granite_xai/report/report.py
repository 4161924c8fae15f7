"""Report: one story about a fit, told as text, page, JSON and frame."""

from __future__ import annotations

import html
import inspect
import json
import math
import os
import re
import time
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from granite_xai.base.files import write_text
from granite_xai.base.typing import FloatArray
from granite_xai.base.wording import ALL_ROWS, plain
from granite_xai.behavior import Risk
from granite_xai.compute import one_blas_thread
from granite_xai.compute.units import by_power_of_two
from granite_xai.display.figures import framed
from granite_xai.estimator import Granite, fit_with_evaluations, fitted_view
from granite_xai.fit_options import GraniteOptions
from granite_xai.fit_values import FitValues
from granite_xai.fitting import collected_for, read_rows_of
from granite_xai.report import sentences
from granite_xai.report.panels import disagreement_map, effects, importances, ledger, regions, stored_effects, tree
from granite_xai.report.sentences import ReportSource
from granite_xai.report.text import story_text
from granite_xai.scopes import held_out_fidelity

VERSION = 1
"""Version of the dict."""
_NOT_IN_JSON = re.compile("[\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What `explain` found: text, HTML, JSON and frame.

    Attributes
    ----------
    story : dict
        Everything that is told, in plain types.
    granite : Granite
        The fitted estimator behind it.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> report = gx.explain(toy.model, toy.X, title="A toy")
    >>> str(report).startswith("A toy")
    True
    >>> list(report.frame())
    ['region', 'rule', 'n_samples', 'set', 'question', 'first', 'second', 'disagreement']
    """

    story: dict[str, Any]
    granite: Granite = field(compare=False)

    def __str__(self) -> str:
        """The story as text for a terminal."""
        return story_text(self.story, str(self.granite.partition_))

    def __repr__(self) -> str:
        """The first sentence."""
        return f"<Report: {plain(self.story['opening'])}>"

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One self-contained page; also written to ``path``, replacing what is there in one step."""
        from granite_xai.report.page import render

        return _written(render(self.story), path)

    def json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The story as JSON; also written to ``path``, replacing what is there in one step."""
        text = json.dumps(_finite(self.story), ensure_ascii=False, allow_nan=False, indent=1)
        return _written(_NOT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n", path)

    def frame(self) -> Any:
        """One line for each scope and set, in the library of X: both sides and their disagreement.

        Region -1 stands for all rows. first and second are importances: root mean squares of local effects, the
        number itself for sensitivity and risk.
        """
        regions = {None: (-1, ALL_ROWS, self.story["provenance"]["rows"])}
        regions |= {r["region"]: (r["region"], r["rule"], r["n_samples"]) for r in self.story["regions"]}
        lines = [
            (*regions[scope["region"]], name, importance["question"], *cells)
            for importance in self.story["importances"]
            for scope in importance["scopes"]
            for name, *cells in zip(importance["sets"], *(scope[k] for k in ("first", "second", "gap")), strict=True)
        ]
        keys = "region rule n_samples set question first second disagreement"
        return framed(keys, lines, fitted_view(self.granite).result.table)

    def _repr_html_(self) -> str:
        """The page in a frame of its own: neither its style nor its script reaches the notebook (S16)."""
        page = html.escape(self.html(), quote=True)
        return (
            '<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" title="Report" width="100%" height="720" '
            f'style="border:1px solid #8888" srcdoc="{page}"></iframe>'
        )


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        write_text(path, text)
    return text


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON has no word for."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def explain(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    question: Any = "ice-pdp",
    sample_weight: Any = None,
    test: Any = None,
    title: str | None = None,
    **options: Unpack[GraniteOptions],
) -> Report:
    """Find the regions of a model and tell the story: in a terminal, a notebook or one HTML file.

    Parameters
    ----------
    model, X, y, question
        As in `Granite`. With y the report also maps questions about risk.
    sample_weight : array, optional
        Weights of the rows, as in ``Granite.fit``.
    test : tuple (X, y) or table, optional
        Rows that the fit does not see; adds figures on them.
    title : str, optional
        Headline of the report.
    **options
        Of `Granite`.

    Returns
    -------
    Report
        ``print(report)``, ``report.html("report.html")``, ``report.json()``, ``report.frame()``, ``report.granite``.

    Examples
    --------
    >>> from granite_xai.datasets import make_toy
    >>> toy = make_toy()
    >>> report = explain(toy.model, toy.X)
    >>> print(str(report).splitlines()[3])
    2 regions keep 0.0 % of the disagreement (95 % interval 0.0–0.0 %, on 500 held-out rows). On these
    >>> len(report.granite.partition_)
    2
    """
    begin = time.perf_counter()
    granite = Granite(model, question, **options)
    X, y, sample_weight = collected_for(granite, X, y, sample_weight)
    found, view = fit_with_evaluations(granite, X, y, sample_weight), fitted_view(granite)
    by_trees = view.diagnostics["evaluations"]["path"] != "model"
    values = FitValues(found.result, found.evaluations, found.route, view.resources, view.seed, by_trees)
    source = ReportSource(granite, values.with_target(_target(granite, X, y)))
    return Report(story(source, test=test, title=title, began=begin), granite)


def _complete(function: Any, of: Any) -> inspect.Signature:
    """The signature of a function that passes options on, with these by name."""
    own, passed = (inspect.signature(each).parameters for each in (function, of))
    named = [parameter for name, parameter in own.items() if name != "options"]
    return inspect.Signature([*named, *(passed[name] for name in passed if name not in own)])


explain.__signature__ = _complete(explain, Granite)  # type: ignore[attr-defined]


def retold(granite: Granite, title: str | None = None) -> Report:
    """The report of an object that is fitted already, from its stored curves: nobody is asked anything (F09)."""
    return Report(story(ReportSource(granite), title=title), granite)


def _target(granite: Granite, X: Any, y: Any) -> FloatArray | None:
    """The target of the fitting rows, for questions about risk that nobody asked but that cost nothing."""
    if y is None:
        return None
    view = fitted_view(granite)
    everyone = read_rows_of(granite, X)
    target = view.target(y, everyone, Risk().resolved(view.result.predictor.is_probability))
    rows = np.asarray(view.diagnostics["rows"]["search"], dtype=np.intp)
    return None if target is None else target[rows]


def story(
    source: ReportSource, *, test: Any = None, title: str | None = None, began: float | None = None
) -> dict[str, Any]:
    """Build the dict; without evaluations (a loaded object) it holds what the stored curves tell."""
    begin = began or time.perf_counter()
    fitted, granite = source.fitted, source.granite
    with one_blas_thread():
        told = _measured(source)
    evaluation = None if test is None else _evaluation(granite, test)
    parts = regions(source, told["importances"][0] if told["importances"] else None)
    for part in parts:
        part["verdict"] = sentences.verdict(part)
    return {
        "version": VERSION,
        "title": title or f"Where {sentences.sides_of(fitted.comparisons[0].question)} agree",
        "opening": sentences.opening(source),
        "further": sentences.further(source, parts, evaluation),
        "unit": source.unit,
        "questions": [sentences.question_facts(resolved.question) for resolved in fitted.comparisons],
        "figures": {
            "disagreement": granite.disagreement_,
            "remaining": granite.remaining_,
            "fidelity": granite.fidelity_,
            "global_fidelity": granite.global_fidelity_,
            "nothing_to_explain": fitted.below_noise_floor,
            "estimate": None if granite.estimate_ is None else granite.estimate_.facts(),
        },
        **told,
        "regions": parts,
        "tree": tree(fitted.partition),
        "evaluation": evaluation,
        "glossary": [{"word": word, "meaning": meaning} for word, meaning in sentences.GLOSSARY.items()],
        "warnings": list(granite.diagnostics_.get("warnings", [])),
        "provenance": sentences.provenance(source, time.perf_counter() - begin),
    }


def _measured(source: ReportSource) -> dict[str, Any]:
    """What is read off the evaluations of the fit."""
    values, told = source.values, {"ledger": ledger(source)}
    if values is None:
        return {**told, "map": {"sets": [], "questions": []}, "importances": [], "effects": stored_effects(source)}
    found = {"map": disagreement_map(values), "importances": importances(values), "effects": effects(values)}
    return told | found


def _evaluation(granite: Granite, test: Any) -> dict[str, Any]:
    """The regions on rows that the fit did not see."""
    X, y = test if isinstance(test, tuple) and len(test) == 2 else (test, None)
    found = granite.evaluate(X, y)
    fitted = fitted_view(granite).result
    floors = by_power_of_two(fitted.floors, fitted.unit)
    if len(floors) == 1 and found.disagreement <= floors[0] > 0.0:  # rounding, as on the fitting rows
        before = found.global_disagreement if found.global_disagreement > floors[0] else 0.0
        zeros = np.zeros_like(found.regional)
        found = replace(found, disagreement=0.0, global_disagreement=before, regional=zeros, ratios=None)
    lines = [
        {"region": k, "rule": rule, "n_samples": count, "disagreement": float(left)}
        for k, (rule, count, left) in enumerate(zip(found.rules, found.counts, found.regional, strict=True))
    ]
    return {
        "n_rows": int(sum(found.counts)),
        "global_disagreement": found.global_disagreement,
        "disagreement": found.disagreement,
        "remaining": found.remaining,
        "explained": held_out_fidelity(granite, X),
        "regions": lines,
    }
