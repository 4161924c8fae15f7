"""Clusters: rows with like explanations or like ICE curves, put into rules by a shallow tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from granite_xai.base.options import choose, real_number, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.partitioners.description import describe_groups, local_explainer, one_group
from granite_xai.partitioners.vine import best_cut, join_like_cuts, judge_cluster
from granite_xai.search.local_effects import local_values
from granite_xai.search.partitioner import Partitioner, PartitionResult
from granite_xai.search.problem import Problem
from granite_xai.surrogate.grids import require_numeric
from granite_xai.surrogate.ice import Ice
from granite_xai.trees.ensembles import Route

METHODS = ("ward", "k-means", "birch")
KEPT_DIGITS = 9
"""Digits of vectors in units of their spread: what differs by noise alone is one vector."""


@dataclass(frozen=True, slots=True)
class Clusters(Partitioner):
    """Cluster the rows by their explanations, then describe the clusters by a tree.

    The regions are the leaves of the tree, so that they are disjoint rules; ``clusters_`` are the labels of the
    fitting rows and ``description_accuracy_`` says how well the rules reproduce them.

    Parameters
    ----------
    on : name of ``gx.explanations()``, Explainer or Ice
        What makes rows alike: local effects of all features, or ICE curves of one.
    method : "ward", "k-means" or "birch"
    n_clusters, threshold : int, float
        Clusters, at most; of Birch the radius of a subcluster, in units of the vectors' total standard deviation.
    merge : bool
        VINE's second stage, for ICE curves and numeric features: each cluster gets the one cut that tells it best from
        the others; clusters with like cuts become one; those whose cut is right for at most half of the rows, or whose
        mean curve is near that of all rows, are dropped. ``cluster_rules_`` lists them; regions describe those kept.

    Examples
    --------
    >>> Clusters("shap", "k-means", 3).n_clusters
    3
    """

    on: str | Explainer | Ice = "shap"
    method: str = "ward"
    n_clusters: int = 5
    threshold: float = 0.1
    merge: bool = False
    ignores_noise_floor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("method", self.method, {name: name for name in METHODS})
        whole_number("n_clusters", self.n_clusters, at_least=1)
        real_number("threshold", self.threshold, above=0)
        if not isinstance(self.on, Ice):
            local_explainer(self.on, "on")

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """The local effects that are read of the model; curves are asked for later."""
        if not isinstance(self.on, Ice):
            return (local_explainer(self.on, "on").effect(route, resources, seed),)
        route.table.resolve(self.on.feature, "feature")
        if self.merge:
            require_numeric(route.table.columns, "the original form (exact=True)")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """Cluster, and describe the clusters."""
        if problem.below_noise_floor:
            return describe_groups(problem, one_group(problem))
        if self.merge and isinstance(self.on, Ice):
            return self._merged_partition(problem, self.on)
        return describe_groups(problem, self.labels(self.vectors(problem), problem.seed))

    def _merged_partition(self, problem: Problem, ice: Ice) -> PartitionResult:
        """VINE: clusters with like cuts are joined, and regions describe those that are kept."""
        table = problem.table
        scaled = _in_units_of_spread(self.vectors(problem))
        n_clusters = min(self.n_clusters, len(np.unique(scaled, axis=0)))
        first_labels = self._cluster(scaled, n_clusters, problem.seed)
        cuts = [best_cut(table, first_labels == label) for label in range(first_labels.max() + 1)]
        ranges = [float(np.ptp(column.values)) for column in table.columns]
        joined_labels = np.array(join_like_cuts(cuts, ranges))[first_labels]
        # `labels` numbers the joined clusters without gaps; `first_of_joined` are the clusters that others joined.
        first_of_joined, labels = np.unique(joined_labels, return_inverse=True)
        labels = labels.reshape(-1)

        ice_themselves = replace(ice, differences=False)  # where their differences are clustered
        curves = ice_themselves.vectors(problem.predictor, table, problem.resources)
        rules = []
        for label, first_label in enumerate(first_of_joined):
            rules.append(judge_cluster(cuts[first_label], labels == label, table, curves))
        result = describe_groups(problem, _numbers_of_kept([rule.kept for rule in rules], labels))
        cluster_rules = [rule._asdict() for rule in rules]
        return replace(
            result,
            extra_attributes={**result.extra_attributes, "cluster_rules_": cluster_rules},
            row_attributes={"clusters_": labels},
        )

    def vectors(self, problem: Problem) -> FloatArray:
        """What is clustered, one vector a row, (n, n_entries)."""
        if isinstance(self.on, Ice):
            return self.on.vectors(problem.predictor, problem.table, problem.resources)
        (effect,) = self.extra_effects(problem.route, problem.resources, problem.seed)
        return local_values(effect, problem.evaluations)[:, 0].T

    def labels(self, vectors: FloatArray, seed: int = 0) -> IntArray:
        """Cluster of each vector, numbered by first appearance.

        Parameters
        ----------
        vectors : array of shape (n, n_entries)
        seed : int
        """
        scaled = _in_units_of_spread(vectors)
        n_clusters = min(self.n_clusters, len(np.unique(scaled, axis=0)))
        if n_clusters < 2:
            return np.zeros(len(vectors), dtype=np.intp)
        clusters = self._cluster(scaled, n_clusters, seed)
        _, first_rows, numbers = np.unique(clusters, return_index=True, return_inverse=True)
        places = np.argsort(np.argsort(first_rows))
        return np.asarray(places[numbers.reshape(-1)], dtype=np.intp)

    def _cluster(self, vectors: FloatArray, n_clusters: int, seed: int) -> IntArray:
        """Cluster of each vector, in units of their spread, by the numbers of scikit-learn."""
        from sklearn.cluster import AgglomerativeClustering, Birch, KMeans

        if self.method == "k-means":
            means = KMeans(n_clusters=n_clusters, n_init=10, random_state=seed)
            return np.asarray(means.fit_predict(vectors))
        ward = AgglomerativeClustering(n_clusters=n_clusters, linkage="ward")
        if self.method == "ward":
            return np.asarray(ward.fit_predict(vectors))
        # Birch's subclusters, joined by Ward's method where there are too many.
        birch = Birch(threshold=self.threshold, n_clusters=None).fit(vectors)
        subclusters = birch.labels_
        centres = birch.subcluster_centers_
        if len(centres) <= n_clusters:
            return np.asarray(subclusters)
        return np.asarray(ward.fit_predict(centres)[subclusters])


def _in_units_of_spread(vectors: FloatArray) -> FloatArray:
    """Vectors around their mean, in units of their total standard deviation, (n, n_entries)."""
    total_deviation = float(np.sqrt(vectors.var(axis=0).sum()))
    if total_deviation == 0.0:
        total_deviation = np.inf  # all vectors are one
    return np.asarray(np.round((vectors - vectors.mean(axis=0)) / total_deviation, KEPT_DIGITS))


def _numbers_of_kept(is_kept: Sequence[bool], labels: IntArray) -> IntArray:
    """Cluster of each row, where kept clusters are numbered from 0 and all others together come last."""
    n_kept = sum(is_kept)
    new_numbers = np.full(len(is_kept), n_kept, dtype=np.intp)
    new_numbers[np.flatnonzero(is_kept)] = np.arange(n_kept)
    return np.asarray(new_numbers[labels])
