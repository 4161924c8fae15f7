"""All frameworks side by side, on the same rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from granite_xai.base.errors import GraniteWarning, InputError
from granite_xai.base.options import choose, whole_number
from granite_xai.estimator import Granite
from granite_xai.explanation.catalog import explanations
from granite_xai.fitting.evaluation import evaluate_rows
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.frameworks import published
from granite_xai.frameworks.published import questions_of
from granite_xai.regions import Partition
from granite_xai.tables import frame, read_table

REFIT_SHARE = 0.8
"""Part of the rows that a refit sees."""

TIE = 1e-9
"""Features whose gaps differ by less, relatively, are equally good."""

FRAMEWORKS = (
    "granite",
    "vine",
    "cohex",
    "repid",
    "gadget",
    "fd_trees",
    "transformation_trees",
)
OF_ONE_FEATURE = ("vine", "repid", "transformation_trees")

ROW_OPTIONS = (
    "output",
    "response",
    "missing",
    "kinds",
    "max_samples",
    "n_jobs",
    "random_state",
    "resources",
)
"""Options that say how rows are read and evaluated, not how regions are found."""

PREDICTION_OPTIONS = ("output", "response", "resources")
"""Options that an explanation without regions takes."""


def compare(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    test: Any,
    questions: Sequence[Any] = ("ice-pdp",),
    frameworks: Sequence[str] | Mapping[str, Granite] | None = None,
    feature: Hashable | None = None,
    resamples: int = 3,
    random_state: int = 0,
    **options: Any,
) -> Any:
    """Fit every framework and measure its regions with the same questions on other rows: a frame.

    Its columns: framework, feature, regions, rules, "remaining …" for each question, fidelity (of the regional additive
    surrogate on the test rows), stability (mean adjusted Rand index on the test rows between the regions and those of
    the refits), seconds (of the fit).

    Parameters
    ----------
    X, y : table, array
        Fitting rows; y for questions about risk.
    test : tuple (X, y) or table
        Rows that the regions are measured on.
    questions : sequence, as in `Granite`
        Whose disagreement is measured, over all features, whatever the framework itself looked at.
    frameworks : sequence of names, or mapping from names to unfitted `Granite` objects, optional
        None: granite, vine, cohex, repid, gadget, fd_trees and transformation_trees.
    feature : label, optional
        The feature of frameworks for one feature. None: that with the largest gap between ICE and PDP.
    resamples : int
        Refits on four fifths of the rows, for stability; 0: none.
    **options
        Of every `Granite` made here.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.uniform(-1, 1, (120, 3)), rng.uniform(-1, 1, (80, 3))
    >>> model = lambda X: X[:, 0] * np.sign(X[:, 2])
    >>> table = compare(model, X, test=Z, frameworks=["granite", "repid"], resamples=0)
    >>> table["regions"].tolist()
    [2, 2]
    """
    whole_number("resamples", resamples, at_least=0)
    if not questions or isinstance(questions, str):
        raise InputError("questions is not a list of questions.", code="P01", argument="questions")
    fits_of_questions = _fit_questions(model, X, y, questions, options)
    configurations = _configurations(model, X, questions[0], frameworks, feature, options)
    test_X = test
    test_y = None
    if isinstance(test, tuple) and len(test) == 2:
        test_X, test_y = test
    columns: dict[str, list[Any]] = {}
    for name, granite in configurations.items():
        begin = time.perf_counter()
        granite.fit(X, y)
        seconds = time.perf_counter() - begin
        partition = granite.partition_
        line: dict[str, Any] = {
            "framework": name,
            "feature": _feature_names(granite),
            "regions": len(partition),
            "rules": " | ".join(str(rule) for rule in partition.rules),
        }
        for label, fit_of_question in fits_of_questions.items():
            line[f"remaining {label}"] = remaining(fit_of_question, partition, test_X, test_y)
        line["fidelity"] = fitted_view(granite).held_out_fidelity(test_X)
        line["stability"] = stability(granite, X, y, test_X, resamples, random_state)
        line["seconds"] = seconds
        for heading, cell in line.items():
            columns.setdefault(heading, []).append(cell)
    return frame(columns, like=read_table(X, missing="allow"))


def _fit_questions(
    model: Any, X: Any, y: Any, questions: Sequence[Any], options: Mapping[str, Any]
) -> dict[str, Granite]:
    """A fit without regions for each question, on all rows: it measures the regions of others."""
    settings = _picked(options, ROW_OPTIONS)
    settings["confidence_level"] = None
    fits_of_questions = {}
    for question in questions:
        fit_of_question = Granite(model, question, max_depth=0, **settings).fit(X, y)
        label = " + ".join(resolved.label for resolved in questions_of(fit_of_question))
        fits_of_questions[label] = fit_of_question
    return fits_of_questions


def _picked(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Those of the options that have one of these names."""
    return {name: options[name] for name in names if name in options}


def _feature_names(granite: Granite) -> str:
    """The features whose effects a configuration compares."""
    if granite.features is None:
        return "all"
    return ", ".join(str(feature) for feature in granite.features)


def _configurations(
    model: Any,
    X: Any,
    question: Any,
    frameworks: Any,
    feature: Hashable | None,
    options: Mapping[str, Any],
) -> dict[str, Granite]:
    """The frameworks to compare, unfitted, by name."""
    if isinstance(frameworks, Mapping):
        return dict(frameworks)
    names = list(FRAMEWORKS)
    if frameworks is not None:
        known_names = {name: name for name in FRAMEWORKS}
        names = [choose("frameworks", name, known_names) for name in frameworks]
    if not names:
        raise InputError(
            "frameworks is empty.", code="P01", argument="frameworks", hint="Name at least one."
        )
    if feature is None and any(name in OF_ONE_FEATURE for name in names):
        feature = most_heterogeneous_feature(model, X, options)
    return {name: _configure(name, model, feature, question, options) for name in names}


def _configure(
    name: str, model: Any, feature: Hashable | None, question: Any, options: Mapping[str, Any]
) -> Granite:
    """One framework by its name."""
    if name == "granite":
        return Granite(model, question, **options)
    if name == "transformation_trees":
        # Its regions depend on the rows alone: the question is only what is reported in them.
        return published.transformation_trees(model, feature, question, **options)
    make = getattr(published, name)
    if name in OF_ONE_FEATURE:
        return make(model, feature, **options)  # type: ignore[no-any-return]
    return make(model, **options)  # type: ignore[no-any-return]


def most_heterogeneous_feature(model: Any, X: Any, options: Mapping[str, Any]) -> str:
    """The feature whose ICE curves lie farthest from the PDP; the first of equal ones.

    Parameters
    ----------
    model, X
        As in `compare`.
    options : mapping
        Of `Granite`; those about the prediction are taken.
    """
    settings = _picked(options, PREDICTION_OPTIONS)
    ice = explanations()["ice"].explain(model, X, **settings)
    pdp = explanations()["pdp"].explain(model, X, **settings)
    gaps = np.square(ice.values - pdp.values).mean(axis=0)  # (features,)
    is_largest = gaps >= (1 - TIE) * gaps.max()
    return ice.sets[int(np.argmax(is_largest))][0]


def stability(
    granite: Granite, X: Any, y: Any, test: Any, resamples: int = 3, random_state: int = 0
) -> float:
    """Mean adjusted Rand index between the regions of a fit and of its refits on parts of the rows.

    Parameters
    ----------
    granite : Granite
        Fitted.
    X, y : table, array
        Its rows.
    test : table
        Rows whose regions are compared.
    resamples : int
        Refits; 0: the result is nan.
    random_state : int
    """
    if resamples == 0:
        return float("nan")
    table = read_table(X, missing="allow")
    regions = granite.apply(test)
    generator = np.random.default_rng(random_state)
    n_refit = max(1, int(REFIT_SHARE * table.n_rows))
    agreements = []
    for _ in range(resamples):
        rows = np.sort(generator.choice(table.n_rows, size=n_refit, replace=False))
        target = None
        if y is not None:
            target = np.asarray(y)[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraniteWarning)  # said once already, by the fit itself
            refit = clone(granite).fit(table.take(rows).native, target)
            agreements.append(adjusted_rand_score(regions, refit.apply(test)))
    return float(np.mean(agreements))


def remaining(fit_of_question: Granite, partition: Partition, X: Any, y: Any) -> float:
    """Share of the disagreement on other rows that some regions leave.

    Parameters
    ----------
    fit_of_question : Granite
        Fitted, with the question.
    partition : Partition
        The regions.
    X, y : table, array
        The rows.
    """
    rows, _ = fitted_view(fit_of_question).other_rows(X, y)
    fitted = replace(rows.fitted, partition=partition, confidence=None)
    regions = partition.apply(rows.route.table)
    return evaluate_rows(replace(rows, fitted=fitted), regions).remaining
