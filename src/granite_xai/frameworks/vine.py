"""VINE (Britton, 2019): clusters of ICE curves with like slopes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from granite_xai.curves import Ice
from granite_xai.estimator import Granite
from granite_xai.frameworks.asked import about
from granite_xai.search.clusters import Clusters


def vine(
    model: Any, feature: Hashable, *, n_clusters: int = 5, method: str = "ward", points: int = 20, **options: Any
) -> Granite:
    """Cluster the slopes of one column's ICE curves and put the clusters into rules.

    Full and pure local effects of the column (d-ICE and d-PDP) agree in each cluster. Curves are read on a quantile
    grid, centred by their own mean; their first differences are clustered. The regions are the leaves of one tree, so
    that they are disjoint, where the original gives each cluster a rule of its own and rules overlap; its signed test
    for merging like rules is not copied.

    Parameters
    ----------
    model : object
    feature : label
        The column.
    n_clusters : int
        Clusters, at most.
    method : "ward", "k-means" or "birch"
    points : int
        Grid points, at most.
    **options
        Of `Granite`; those of its tree say how clusters are described.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=(90, 2))
    >>> g = vine(lambda X: X[:, 0] * (X[:, 1] > 0), "x0").fit(X)
    >>> len(g.partition_), g.description_accuracy_
    (2, 1.0)
    """
    curves = Ice(feature, points=points, differences=True)
    settings = {"features": [feature], "partitioner": Clusters(curves, method, n_clusters)}
    return Granite(model, about(options.pop("question", "ice-pdp"), [feature]), **{**settings, **options})
