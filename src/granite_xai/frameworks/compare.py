"""All frameworks side by side on one model and one table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from granite_xai.base.errors import GraniteWarning, InputError
from granite_xai.base.options import choose, whole_number
from granite_xai.catalog import explanations
from granite_xai.disagreement import Objective
from granite_xai.estimator import Granite, fitted_view
from granite_xai.frameworks.published import cohex, fd_trees, gadget, repid, transformation_trees, vine
from granite_xai.new_rows import evaluate_rows
from granite_xai.regions.partition import Partition
from granite_xai.tables import frame, read_table

SHARE = 0.8
"""Part of the rows that a refit sees."""


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
    """Fit every framework and measure its regions with the same questions on other rows.

    Parameters
    ----------
    model : object
    X, y : table, array
        Fitting rows; y for questions about risk.
    test : tuple (X, y) or table
        Rows that the regions are measured on.
    questions : sequence, as in `Granite`
        Whose disagreement is measured, over all columns, whatever the framework itself looked at.
    frameworks : sequence of names, or mapping from names to unfitted `Granite` objects, optional
        None: granite, vine, cohex, repid, gadget, fd_trees and transformation_trees.
    feature : label, optional
        The column of frameworks for one column. None: that with the largest gap between ICE and PDP.
    resamples : int
        Refits on four fifths of the rows, for stability; 0: none.
    random_state : int
    **options
        Of every `Granite` made here.

    Returns
    -------
    frame
        framework, feature, regions, rules, "remaining …" for each question, fidelity (of the regional additive
        surrogate on the test rows), stability (mean adjusted Rand index on the test rows between the regions and those
        of the refits), seconds (of the fit).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.uniform(-1, 1, (120, 3)), rng.uniform(-1, 1, (80, 3))
    >>> model = lambda X: X[:, 0] * np.sign(X[:, 2])
    >>> found = compare(model, X, test=Z, frameworks=["granite", "repid"], resamples=0)
    >>> found["regions"].tolist()
    [2, 2]
    """
    whole_number("resamples", resamples, at_least=0)
    if not questions or isinstance(questions, str):
        raise InputError("questions is not a list of questions.", code="P01", argument="questions")
    rulers = [Granite(model, question, max_depth=0, **_reading(options)).fit(X, y) for question in questions]
    chosen = _chosen(model, X, questions[0], frameworks, feature, options)
    lines = [_line(name, g, X, y, test, rulers, resamples, random_state) for name, g in chosen.items()]
    return frame({key: [line[key] for line in lines] for key in lines[0]}, like=read_table(X, missing="allow"))


def _line(
    name: str, granite: Granite, X: Any, y: Any, test: Any, rulers: Sequence[Granite], resamples: int, random_state: int
) -> dict[str, Any]:
    """One framework, fitted and measured on other rows."""
    other_X, other_y = test if isinstance(test, tuple) and len(test) == 2 else (test, None)
    begin = time.perf_counter()
    granite.fit(X, y)
    seconds = time.perf_counter() - begin
    line = _described(name, granite)
    line |= {f"remaining {question_label(r)}": remaining(r, granite.partition_, other_X, other_y) for r in rulers}
    line["fidelity"] = held_out_fidelity(granite, other_X)
    line["stability"] = stability(granite, X, y, other_X, resamples, random_state)
    return line | {"seconds": seconds}


def _described(name: str, granite: Granite) -> dict[str, Any]:
    features = "all" if granite.features is None else ", ".join(map(str, granite.features))
    rules = " | ".join(map(str, granite.partition_.rules))
    return {"framework": name, "feature": features, "regions": len(granite.partition_), "rules": rules}


def _chosen(
    model: Any, X: Any, question: Any, frameworks: Any, feature: Hashable | None, options: Mapping[str, Any]
) -> dict[str, Granite]:
    """The frameworks to compare, unfitted, by name."""
    if isinstance(frameworks, Mapping):
        return dict(frameworks)
    makers: dict[str, Callable[[], Granite]] = {
        "granite": lambda: Granite(model, question, **options),
        "vine": lambda: vine(model, feature, **options),
        "cohex": lambda: cohex(model, **options),
        "repid": lambda: repid(model, feature, **options),
        "gadget": lambda: gadget(model, **options),
        "fd_trees": lambda: fd_trees(model, **options),
        # Its regions depend on the rows alone: the question is only what is reported in them.
        "transformation_trees": lambda: transformation_trees(model, feature, question, **options),
    }
    names = (
        makers
        if frameworks is None
        else [choose("frameworks", n, {known: known for known in makers}) for n in frameworks]
    )
    if not names:
        raise InputError("frameworks is empty.", code="P01", argument="frameworks", hint="Name at least one.")
    if feature is None and {"vine", "repid", "transformation_trees"} & set(names):
        feature = busiest_column(model, X, options)
    return {name: makers[name]() for name in names}


def _reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say how model and table are read, and what that may cost."""
    names = ("output", "response", "missing", "kinds", "max_samples", "n_jobs", "random_state", "resources")
    return {name: options[name] for name in names if name in options}


def busiest_column(model: Any, X: Any, options: Mapping[str, Any]) -> str:
    """The column whose full and pure local effects differ most."""
    chosen = {name: options[name] for name in ("output", "response", "resources") if name in options}
    sides = [explanations()[name].explain(model, X, **chosen) for name in ("ice", "pdp")]
    gaps = np.square(sides[0].values - sides[1].values).mean(axis=0)
    return sides[0].sets[int(np.argmax(gaps))][0]


def stability(granite: Granite, X: Any, y: Any, test: Any, resamples: int = 3, random_state: int = 0) -> float:
    """Mean adjusted Rand index between a fit and its refits on parts of the rows, on other rows.

    1: the same regions; 0: no more alike than chance. NaN without resamples.

    >>> X = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    >>> stability(Granite(lambda X: X[:, 0]).fit(X), X, None, X)
    1.0
    """
    if resamples == 0:
        return float("nan")
    rng = np.random.default_rng(random_state)
    table, known = read_table(X, missing="allow"), granite.apply(test)
    found = []
    for _ in range(resamples):
        rows = np.sort(rng.choice(table.n_rows, size=max(1, int(SHARE * table.n_rows)), replace=False))
        part = None if y is None else np.asarray(y)[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraniteWarning)  # said once already, by the fit itself
            again = clone(granite).fit(table.take(rows).native, part)
            found.append(adjusted_rand_score(known, again.apply(test)))
    return float(np.mean(found))


def question_label(granite: Granite) -> str:
    """What a fit asked, in a word."""
    question = granite.question
    objective = question if isinstance(question, Objective) else Objective(question)
    return " + ".join(asked.label for asked, _ in objective.weighted())


def remaining(ruler: Granite, partition: Partition, X: Any, y: Any) -> float:
    """Share of the disagreement on other rows that some regions leave."""
    fitted, table, target, _, resources = fitted_view(ruler).other_rows(X, y)
    moved = replace(fitted, partition=partition)
    return evaluate_rows(moved, table, target, partition.apply(table), resources).remaining


def held_out_fidelity(granite: Granite, X: Any) -> float:
    """Share of the prediction's variance on other rows that the regional additive surrogate explains."""
    fitted = fitted_view(granite)
    predictions = fitted.result.predictor.on_rows(fitted.read(X))
    variance = float(predictions.var())
    if variance == 0.0:
        return 1.0
    return 1.0 - float(np.square(predictions - granite.predict(X)).mean()) / variance
