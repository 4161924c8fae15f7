"""Clusters: rows with like explanations or like curves, put into rules by a shallow tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from granite_xai.base.options import choose, real_number, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.compute.units import by_power_of_two
from granite_xai.curves import Ice
from granite_xai.engine.splits import Splits
from granite_xai.explainer import Explainer
from granite_xai.resolved import ResolvedExplainer
from granite_xai.search.describe import describe, local_explainer
from granite_xai.search.problem import Partitioner, PartitionResult, Problem, local_values
from granite_xai.trees.routes import Route

METHODS = ("ward", "k-means", "birch")


@dataclass(frozen=True, slots=True)
class Clusters(Partitioner):
    """Cluster the rows by their explanations, then describe the clusters by a tree.

    The regions are the leaves of the tree, so that they are disjoint rules; ``clusters_`` are the labels of the
    fitting rows and ``description_accuracy_`` says how well the rules reproduce them.

    Parameters
    ----------
    on : name of ``gx.explanations()``, Explainer or Ice
        What makes rows alike: local effects of all columns, or ICE curves of one.
    method : "ward", "k-means" or "birch"
    n_clusters : int
        Clusters, at most.
    threshold : float
        Birch only: radius of a subcluster, in units of the vectors' total standard deviation.

    Examples
    --------
    >>> Clusters("shap", "k-means", 3).n_clusters
    3
    """

    on: str | Explainer | Ice = "shap"
    method: str = "ward"
    n_clusters: int = 5
    threshold: float = 0.1
    ignores_noise_floor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("method", self.method, {name: name for name in METHODS})
        whole_number("n_clusters", self.n_clusters, at_least=1)
        real_number("threshold", self.threshold, above=0)
        if not isinstance(self.on, Ice):
            local_explainer(self.on, "on")

    def extra_effects(self, route: Route, resources: Resources, seed: int) -> tuple[ResolvedExplainer, ...]:
        """The local effects that are read of the model; curves are asked for later."""
        if isinstance(self.on, Ice):
            route.table.resolve(self.on.feature, "feature")
            return ()
        return (local_explainer(self.on, "on").effect(route, resources, seed),)

    def partition(self, problem: Problem) -> PartitionResult:
        """Cluster, and describe the clusters."""
        return describe(problem, lambda: self.labels(self.vectors(problem), problem.seed))

    def vectors(self, problem: Problem) -> FloatArray:
        """What is clustered, one vector a row."""
        if isinstance(self.on, Ice):
            vectors = self.on.vectors(problem.predictor, problem.table, problem.resources)
            return by_power_of_two(vectors, -problem.evaluations.exponent)
        (effect,) = self.extra_effects(problem.route, problem.resources, problem.seed)
        return local_values(effect, problem.evaluations, Splits.whole(problem.evaluations.weights))[:, 0].T

    def labels(self, vectors: FloatArray, seed: int = 0) -> IntArray:
        """Cluster of each vector, numbered by first appearance.

        Examples
        --------
        >>> Clusters(n_clusters=2).labels(np.array([[0.0], [5.0], [0.1], [5.1]]))
        array([0, 1, 0, 1])
        """
        # In units of their spread, rounded: what differs by noise alone is one vector.
        scale = float(np.sqrt(vectors.var(axis=0).sum())) or np.inf
        scaled = np.round((vectors - vectors.mean(axis=0)) / scale, 9)
        wanted = min(self.n_clusters, len(np.unique(scaled, axis=0)))
        if wanted < 2:
            return np.zeros(len(vectors), dtype=np.intp)
        first, found = np.unique(self._clustered(scaled, wanted, seed), return_index=True, return_inverse=True)[1:]
        return np.asarray(np.argsort(np.argsort(first))[found.reshape(-1)], dtype=np.intp)

    def _clustered(self, vectors: FloatArray, wanted: int, seed: int) -> IntArray:
        from sklearn.cluster import AgglomerativeClustering, Birch, KMeans

        ward = AgglomerativeClustering(n_clusters=wanted, linkage="ward")
        if self.method == "ward":
            return np.asarray(ward.fit_predict(vectors))
        if self.method == "k-means":
            return np.asarray(KMeans(n_clusters=wanted, n_init=10, random_state=seed).fit_predict(vectors))
        # Birch's subclusters, joined by Ward's method when there are more of them than wanted.
        fitted = Birch(threshold=self.threshold, n_clusters=None).fit(vectors)
        labels, centres = fitted.labels_, fitted.subcluster_centers_
        return np.asarray(labels if len(centres) <= wanted else ward.fit_predict(centres)[labels])
