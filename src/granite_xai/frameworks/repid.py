"""REPID (Herbinger et al., 2022): a tree that separates one column's ICE curves."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from granite_xai.estimator import Granite
from granite_xai.frameworks.asked import about
from granite_xai.search.original import RepidTree
from granite_xai.search.tree import AllExcept


def repid(
    model: Any,
    feature: Hashable,
    *,
    exact: bool = False,
    points: int = 20,
    min_improvement: float = 0.1,
    **options: Any,
) -> Granite:
    """Regions of the other columns in which full and pure local effects of one column agree.

    Parameters
    ----------
    model : object
    feature : label
        The column of interest; rules do not use it.
    exact : bool
        The original's loss and search: centred ICE curves on an equidistant grid, every ``min_samples_leaf``-th value
        as a cut, a split only if it improves enough. Numeric columns only. The original scores a cut with one row on
        the other side than it applies it; this is not copied.
    points, min_improvement : int, float
        Of the exact form: grid points, and the least improvement.
    **options
        Of `Granite`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (80, 3))
    >>> g = repid(lambda X: X[:, 0] * np.sign(X[:, 2]), "x0", exact=True).fit(X)
    >>> {name for rule in g.partition_.rules for name, _ in rule.conditions}
    {'x2'}
    """
    settings: dict[str, Any] = {"features": [feature], "split_features": AllExcept(feature)}
    if exact:
        tree = RepidTree([feature], "pd", points, trim=False, min_improvement=min_improvement)
        settings |= {"partitioner": tree, "min_samples_leaf": 10}
    return Granite(model, about(options.pop("question", "ice-pdp"), [feature]), **{**settings, **options})
