"""REPID (Herbinger et al., 2022): regions in which the ICE curves of one feature run parallel."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np  # noqa: F401  # for the example

from granite_xai.estimator import Granite
from granite_xai.frameworks.alike import configured, original_settings
from granite_xai.frameworks.gadget import RepidTree
from granite_xai.search.problem import AllExcept


def repid(
    model: Any,
    feature: Hashable,
    *,
    exact: bool = False,
    points: int = 20,
    min_improvement: float = 0.1,
    **options: Any,
) -> Granite:
    """Regions of the other features in which full and pure local effects of one feature agree.

    Parameters
    ----------
    feature : label
        The feature of interest; rules do not use it.
    exact : bool
        The original's loss and search: centred ICE curves on an equidistant grid, every value as a cut (as in the
        authors' later package; the first code looks at every ``min_samples_leaf``-th, and scores a cut with one row on
        the other side than it applies it), a split only if it improves enough. Numeric features only.
    points, min_improvement : int, float
        Of the exact form: grid points, on which the question is asked too, and the least improvement.
    **options
        Of `Granite`.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (80, 3))
    >>> g = repid(lambda X: X[:, 0] * np.sign(X[:, 2]), "x0", exact=True).fit(X)
    >>> {name for rule in g.partition_.rules for name, _ in rule.conditions}
    {'x2'}
    """
    settings: dict[str, Any] = {"split_features": AllExcept(feature)}
    if exact:
        tree = RepidTree(
            features=[feature],
            effect="pd",
            points=points,
            trim=False,
            min_improvement=min_improvement,
        )
        settings |= {"partitioner": tree, "min_samples_leaf": 10}
        settings |= original_settings(points)
    return configured(model, "ice-pdp", settings, options, feature)
