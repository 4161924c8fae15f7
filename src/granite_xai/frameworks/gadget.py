"""GADGET (Herbinger et al., 2024): a tree that separates the local effects of several columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from granite_xai.base.options import choose
from granite_xai.estimator import Granite
from granite_xai.search.original import RepidTree

EFFECTS = {"pd": "ice-pdp", "ale": "ale", "shap": "shap-pdp"}
"""The question behind each kind of effect."""


def gadget(
    model: Any,
    features: Sequence[Hashable] | None = None,
    effect: str = "pd",
    *,
    exact: bool = False,
    recalculate: bool = False,
    points: int = 20,
    min_improvement: float = 0.1,
    **options: Any,
) -> Granite:
    """Regions in which local effects of some columns agree with their regional mean.

    Parameters
    ----------
    model : object
    features : sequence of labels, optional
        Columns whose effects are compared; None: all.
    effect : "pd", "ale" or "shap"
        ICE and PDP, changes across intervals and ALE, or SHAP values and PDP.
    exact : bool
        The original's loss and search, numeric columns only: ICE curves on an equidistant grid, shortened with the
        region; changes across ten quantile intervals; SHAP values around their mean in tenths of the column. Averaged
        over grid points, not over the rows' own values. Random redraws of effects next to a split, and cuts scored on
        other rows than they are applied to, are not copied.
    recalculate : bool
        Exact SHAP only: whether SHAP values are computed again inside each region.
    points, min_improvement : int, float
        Of the exact form: grid points, and the least improvement.
    **options
        Of `Granite`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (80, 3))
    >>> X[:, 2] = np.sign(X[:, 2])
    >>> g = gadget(lambda X: 3 * X[:, 0] * X[:, 2], ["x0"], "ale", exact=True).fit(X)
    >>> [str(rule) for rule in g.partition_.rules]
    ['x2 ≤ 0', 'x2 > 0']
    """
    question = choose("effect", effect, EFFECTS)
    settings: dict[str, Any] = {"features": features}
    if exact:
        tree = RepidTree(features, effect, points, recalculate=recalculate, min_improvement=min_improvement)
        settings |= {"partitioner": tree, "min_samples_leaf": 10}
    return Granite(model, options.pop("question", question), **{**settings, **options})
