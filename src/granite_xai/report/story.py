"""The story of one fit as one plain dict: what every form of the report is made from."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.behavior import Risk
from granite_xai.compute import one_blas_thread
from granite_xai.estimator import Granite
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.frameworks.measures import held_out_fidelity
from granite_xai.report.basis import Basis
from granite_xai.report.disagreements import disagreement_map
from granite_xai.report.ledger import ledger
from granite_xai.report.outline import regions, tree
from granite_xai.report.panels import effects, importances
from granite_xai.report.provenance import provenance
from granite_xai.report.report import Report
from granite_xai.report.sentences import further, opening, verdict
from granite_xai.report.words import GLOSSARY, cause, side_words
from granite_xai.tables import read_table
from granite_xai.targets import read_target

VERSION = 1
"""Version of the dict."""


def explain(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    question: Any = "ice-pdp",
    test: Any = None,
    title: str | None = None,
    **options: Any,
) -> Report:
    """Find the regions of a model and tell the story: in a terminal, a notebook or one HTML file.

    Parameters
    ----------
    model, X, y, question
        As in `Granite`. With y the report also maps questions about risk.
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
    On these 1,000 rows ICE and PDP disagree by ...
    >>> len(report.granite.partition_)
    2
    """
    begin = time.perf_counter()
    seen: list[Evaluations] = []
    granite = Granite(model, question, **options)._fit(X, y, see=seen.append)
    basis = Basis(granite, seen[0]).with_target(_target(granite, X, y))
    return Report(story(basis, test=test, title=title, began=begin), granite)


def retold(granite: Granite, title: str | None = None) -> Report:
    """The report of an object that is fitted already, from its stored curves: nobody is asked anything (F09)."""
    return Report(story(Basis(granite), title=title), granite)


def _target(granite: Granite, X: Any, y: Any) -> FloatArray | None:
    """The target of the fitting rows, for questions about risk that nobody asked but that cost nothing."""
    if y is None:
        return None
    fitted = granite._fitted
    everyone = read_table(X, kinds=granite.kinds, missing="allow" if fitted.missing else "error")
    target = read_target(y, everyone, fitted.predictor, Risk().resolved(fitted.predictor.is_probability))
    rows = granite._rows(np.ones(everyone.n_rows), int(granite.diagnostics_["seed"]))
    return None if target is None else target[rows]


def story(basis: Basis, *, test: Any = None, title: str | None = None, began: float | None = None) -> dict[str, Any]:
    """Build the dict; without evaluations (a loaded object) it holds what the stored curves tell."""
    begin = time.perf_counter() if began is None else began
    fitted, granite = basis.fitted, basis.granite
    with one_blas_thread():
        told = _measured(basis)
    evaluation = None if test is None else _evaluation(granite, test)
    parts = regions(basis, told["importances"][0] if told["importances"] else None)
    for part in parts:
        part["verdict"] = verdict(part)
    return {
        "version": VERSION,
        "title": title or f"Where {_title(basis)} agree",
        "opening": opening(basis),
        "further": further(basis, parts, evaluation),
        "unit": basis.unit,
        "questions": [_question(comparison) for comparison in fitted.comparisons],
        "figures": {
            "disagreement": granite.disagreement_,
            "remaining": granite.remaining_,
            "fidelity": granite.fidelity_,
            "global_fidelity": granite.global_fidelity_,
            "nothing_to_explain": fitted.silent,
        },
        **told,
        "regions": parts,
        "tree": tree(basis),
        "evaluation": evaluation,
        "glossary": [{"word": word, "meaning": meaning} for word, meaning in GLOSSARY.items()],
        "warnings": list(granite.diagnostics_.get("warnings", [])),
        "provenance": provenance(basis, time.perf_counter() - begin),
    }


def _measured(basis: Basis) -> dict[str, Any]:
    """What is read off the evaluations of the fit."""
    if basis.evaluations is None:
        empty: dict[str, Any] = {"sets": [], "questions": []}
        return {"ledger": ledger(basis), "map": empty, "importances": [], "effects": effects(basis)}
    return {
        "ledger": ledger(basis),
        "map": disagreement_map(basis),
        "importances": importances(basis),
        "effects": effects(basis),
    }


def _title(basis: Basis) -> str:
    question = basis.fitted.comparisons[0].question
    return " and ".join(
        side_words(side.name, p)[0] for side, p in ((question.first, "first"), (question.second, "second"))
    )


def _question(comparison: Any) -> dict[str, Any]:
    question = comparison.question
    first, second = side_words(question.first.name, "first"), side_words(question.second.name, "second")
    return {
        "name": question.label,
        "first": {"name": first[0], "meaning": first[1]},
        "second": {"name": second[0], "meaning": second[1]},
        "cause": cause(question),
    }


def _evaluation(granite: Granite, test: Any) -> dict[str, Any]:
    """The regions on rows that the fit did not see."""
    X, y = test if isinstance(test, tuple) and len(test) == 2 else (test, None)
    found = granite.evaluate(X, y)
    floors = granite._fitted.floors
    if len(floors) == 1 and found.disagreement <= float(floors[0]):  # rounding, as on the fitting rows
        before = found.global_disagreement if found.global_disagreement > float(floors[0]) else 0.0
        found = replace(found, disagreement=0.0, global_disagreement=before, regional=np.zeros_like(found.regional))
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
