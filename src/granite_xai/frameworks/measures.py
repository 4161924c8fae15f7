"""How good regions are, whoever found them: disagreement, fidelity, stability on other rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from granite_xai.base.errors import GraniteWarning
from granite_xai.estimator import Granite, fitted_view
from granite_xai.new_rows import evaluate_rows
from granite_xai.objective import Objective
from granite_xai.regions.partition import Partition
from granite_xai.tables import read_table

SHARE = 0.8
"""Part of the rows that a refit sees."""


def stability(granite: Granite, X: Any, y: Any, test: Any, resamples: int = 3, random_state: int = 0) -> float:
    """Mean adjusted Rand index between a fit and its refits on parts of the rows, on other rows.

    1: the same regions; 0: no more alike than chance. NaN without resamples.

    Parameters
    ----------
    granite : Granite
        Fitted on X, y.
    X, y : table, array
    test : table
        Rows whose regions are compared.
    resamples : int
        Refits on four fifths of the rows.
    random_state : int

    Examples
    --------
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
