"""Importance inside regions: what is left of a column when it is redrawn among rows that are like in the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import whole_number
from granite_xai.estimator import Granite
from granite_xai.tables import read_table


@dataclass(frozen=True, slots=True)
class Band:
    """An importance, and the 5 % and 95 % quantiles of its values on resampled rows."""

    value: float
    low: float
    high: float


def subgroup_importance(granite: Granite, X: Any, y: Any, *, repeats: int = 20, random_state: int = 0) -> Band:
    """Conditional importance of a column: marginal importance inside regions, weighted by their rows.

    Every row is combined with every other one of its region, so that nothing is left to a random permutation; the
    band is about the rows. With ``gx.question("cfi-pfi", average="loss")`` this is permutation importance in the
    subgroups (cs-PFI) in expectation.

    Parameters
    ----------
    granite : Granite
        Fitted for one column and a question with "pfi" on one side, say by `transformation_trees`.
    X, y : table, array
        Rows to measure on, other than those of the fit.
    repeats : int
        Resamples of these rows for the band.
    random_state : int

    Examples
    --------
    >>> from granite_xai.frameworks import transformation_trees
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> g = transformation_trees(lambda X: 2 * X[:, 0], "x0", "pfi-risk").fit(X, 2 * X[:, 0])
    >>> band = subgroup_importance(g, X, 2 * X[:, 0], repeats=5)
    >>> band.low < band.value < band.high
    True
    """
    whole_number("repeats", repeats, at_least=1)
    table, target = read_table(X, missing="allow"), np.asarray(y)
    rng = np.random.default_rng(random_state)
    draws = [rng.integers(table.n_rows, size=table.n_rows) for _ in range(repeats)]
    values = [_weighted(granite, table.take(rows).native, target[rows]) for rows in draws]
    low, high = np.quantile(values, [0.05, 0.95])
    return Band(_weighted(granite, X, y), float(low), float(high))


def _weighted(granite: Granite, X: Any, y: Any) -> float:
    explanation = granite.explain(X, y)
    importances = [part for part in explanation.parts if part.name == "pfi"]
    if not importances or any(part.rows is not None or len(part.values) != 1 for part in importances):
        raise InputError(
            "the question holds no permutation importance of one column.",
            code="P03",
            argument="granite",
            hint='Fit transformation_trees(model, feature, "cfi-pfi").',
        )
    counts = np.bincount(granite.apply(X))
    return float(sum(counts[part.region] * part.values[0] for part in importances) / counts.sum())
