"""Importance of a feature inside the regions of a fit: conditional subgroups (cs-PFI), with a band."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import granite_xai as gx


class Band(NamedTuple):
    """An importance, and the 5% and 95% quantiles of its values on resampled rows."""

    value: float
    low: float
    high: float


def subgroup_importance(
    granite: gx.Granite, X: Any, y: Any, *, repeats: int = 20, random_state: int = 0
) -> Band:
    """Conditional importance of a feature: marginal importance inside regions, weighted by their rows.

    Every row is combined with every other one of its region, so that nothing is left to a random permutation; the
    band is about the rows. ``granite`` was fitted for one feature and ``gx.question("pfi-risk", average="loss")``,
    say by `gx.frameworks.transformation_trees`; X and y are other rows.
    """
    X = np.asarray(X)
    y = np.asarray(y)
    generator = np.random.default_rng(random_state)
    resampled = []
    for _ in range(repeats):
        rows = generator.integers(len(X), size=len(X))
        resampled.append(_importance(granite, X[rows], y[rows], rows))
    low, high = np.quantile(resampled, (0.05, 0.95)).tolist()
    return Band(_importance(granite, X, y, np.arange(len(X))), low, high)


def _importance(granite: gx.Granite, X: Any, y: Any, original_rows: Any) -> float:
    """Mean over regions of the importance in them; a row that is combined with itself does not count."""
    regions = granite.apply(X)
    total = 0.0
    for part in granite.explain(X, y).parts:
        if part.name == "pfi":
            inside = regions == part.region
            n_pairs = inside.sum() ** 2
            n_own_pairs = np.square(np.bincount(original_rows[inside])).sum()
            without_own_pairs = n_pairs / (n_pairs - n_own_pairs) if n_pairs > n_own_pairs else 1.0
            total += inside.mean() * part.values[0] * without_own_pairs
    return float(total)
