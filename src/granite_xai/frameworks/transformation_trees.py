"""Conditional subgroups (Molnar et al., 2023): a tree that models one column from the others."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from granite_xai.estimator import Granite
from granite_xai.frameworks.asked import about
from granite_xai.search.subgroups import Subgroups

QUESTIONS = ("cfi-pfi", "mplot-pdp")
"""What the authors bring together: importance (full, risk) and effects (pure, local)."""


def transformation_trees(
    model: Any, feature: Hashable, question: Any = "mplot-pdp", *, by: str = "distribution", **options: Any
) -> Granite:
    """Regions in which one column hardly depends on the others, so that conditional and marginal effects agree.

    Parameters
    ----------
    model : object
    feature : label
        The column.
    question : as in `Granite`
        What is reported in the regions, which depend on the rows alone: "mplot-pdp", or "cfi-pfi" (needs y).
    by : "distribution" or "mean"
        What a split separates: the column's distribution (transformation trees) or its mean (CART).
    **options
        Of `Granite`; alpha is a share of the column's scatter here.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x1 = rng.normal(size=200)
    >>> X = np.column_stack([np.where(x1 > 0, 3.0, -3.0) + rng.normal(size=200), x1])
    >>> g = transformation_trees(lambda X: X[:, 0] * X[:, 1], "x0", "ice-pdp").fit(X)
    >>> {name for rule in g.partition_.rules for name, _ in rule.conditions}
    {'x1'}
    """
    settings: dict[str, Any] = {"min_samples_leaf": 30, "alpha": 0.02, "features": [feature]}
    return Granite(model, about(question, [feature]), **{**settings, "partitioner": Subgroups(feature, by), **options})
