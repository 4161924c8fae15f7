"""Importance of a feature inside the regions of a fit (conditional subgroups)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import whole_number
from granite_xai.base.typing import IntArray
from granite_xai.estimator import Granite
from granite_xai.explanation.result import Part
from granite_xai.frameworks.published import questions_of
from granite_xai.tables import read_table

BAND = (0.05, 0.95)
"""Quantiles over resampled rows that bound an importance."""


@dataclass(frozen=True, slots=True)
class Band:
    """An importance, and the 5% and 95% quantiles of its values on resampled rows."""

    value: float
    low: float
    high: float


def subgroup_importance(
    granite: Granite, X: Any, y: Any, *, repeats: int = 20, random_state: int = 0
) -> Band:
    """Conditional importance of a feature: marginal importance inside regions, weighted by their rows.

    Every row is combined with every other one of its region, so that nothing is left to a random permutation; the
    band is about the rows. With ``gx.question("cfi-pfi", average="loss")`` this is permutation importance in the
    subgroups (cs-PFI) in expectation, and no row is combined with itself; a loss of averaged predictions, as the
    named questions have, averages over all rows of the region.

    Parameters
    ----------
    granite : Granite
        Fitted for one feature and a question with "pfi" on one side, say by `transformation_trees`.
    X, y : table, array
        Rows to measure on, other than those of the fit.
    repeats : int
        Resamples of these rows for the band.

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
    table = read_table(X, missing="allow")
    target = np.asarray(y)
    generator = np.random.default_rng(random_state)
    resampled = []
    for _ in range(repeats):
        rows = generator.integers(table.n_rows, size=table.n_rows)
        resampled.append(_importance(granite, table.take(rows).native, target[rows], rows))
    low, high = np.quantile(resampled, BAND).tolist()
    value = _importance(granite, X, y, np.arange(table.n_rows))
    return Band(value=value, low=low, high=high)


def _importance(granite: Granite, X: Any, y: Any, original_rows: IntArray) -> float:
    """Mean over regions of the importance in them, weighted by their rows.

    Parameters
    ----------
    granite : Granite
    X, y : table, array
    original_rows : array of shape (n,)
        Which of the user's rows each row is; resampled rows repeat some.
    """
    importances = _importances_by_region(granite, X, y)
    regions = granite.apply(X)
    n_rows = np.bincount(regions)
    total = 0.0
    for part in importances:
        correction = 1.0
        if _averages_losses(granite):
            correction = _without_own_pairs(original_rows[regions == part.region])
        total += n_rows[part.region] * part.values[0] * correction
    return float(total / n_rows.sum())


def _importances_by_region(granite: Granite, X: Any, y: Any) -> list[Part]:
    """Permutation importance of one feature in each region; an error where the question has none."""
    importances = [part for part in granite.explain(X, y).parts if part.name == "pfi"]
    is_of_one_feature = all(part.rows is None and len(part.values) == 1 for part in importances)
    if not importances or not is_of_one_feature:
        raise InputError(
            "the question holds no permutation importance of one feature.",
            code="P03",
            argument="granite",
            hint='Fit transformation_trees(model, feature, "cfi-pfi").',
        )
    return importances


def _averages_losses(granite: Granite) -> bool:
    """Whether a question of a fit takes losses first, and then their mean over pairs of rows."""
    behaviors = [question.behavior for question in questions_of(granite)]
    return any(getattr(behavior, "average", None) == "loss" for behavior in behaviors)


def _without_own_pairs(original_rows: IntArray) -> float:
    """The factor that turns a mean over all pairs of rows into one without the pairs of a row with itself.

    A row that is combined with itself stays as it is, so that its loss does not change: these pairs add nothing to the
    sum, and only their number is taken out.

    Parameters
    ----------
    original_rows : array of shape (n,)
        Which of the user's rows each row of a region is: rows that repeat one are the same row.
    """
    n_pairs = len(original_rows) ** 2
    n_own_pairs = int(np.square(np.bincount(original_rows)).sum())
    if n_own_pairs == n_pairs:
        return 1.0
    return n_pairs / (n_pairs - n_own_pairs)
