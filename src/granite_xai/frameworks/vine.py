"""VINE (Britton, 2019): clusters of ICE curves, put into rules."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from granite_xai.algebra.explainer import Explainer
from granite_xai.base.limits import Resources
from granite_xai.base.options import choose, real_number, whole_number
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.curves.curves import GRIDS, ice_curves, make_grid, require_numeric
from granite_xai.estimator import Granite
from granite_xai.frameworks.alike import (
    centred,
    configured,
    local_explainer,
    local_question,
    local_values,
    one_group,
    original_settings,
    put_into_rules,
)
from granite_xai.search.problem import Partitioner, PartitionResult, Problem
from granite_xai.tables import Table

METHODS = ("ward", "k-means", "birch")
KEPT_DIGITS = 9
"""Digits of vectors in units of their spread: what differs by noise alone is one vector."""

LIKE_CUTS = 0.1
"""Part of a feature's range up to which two cuts of it are alike."""

FEWEST_RIGHT = 50
"""A cluster is kept where its cut is right for more than this percent of the rows, rounded."""

LEAST_DISTANCE = 0.2
"""Mean distance from the mean curve, in parts of its largest value, that a kept cluster has."""


def vine(
    model: Any,
    feature: Hashable,
    *,
    exact: bool = False,
    n_clusters: int = 5,
    method: str = "ward",
    points: int = 20,
    grid: str = "quantile",
    **options: Any,
) -> Granite:
    """Cluster the slopes of one feature's ICE curves and put the clusters into rules.

    Full and pure local effects of the feature (d-ICE and d-PDP) agree in each cluster. Curves are read on a quantile
    grid, centred by their own mean; their first differences are clustered. The regions are the leaves of one tree, so
    that they are disjoint, where the original gives each cluster a rule of its own and rules overlap.

    Parameters
    ----------
    exact : bool
        Also the original's second stage: ``cluster_rules_`` holds a rule, its accuracy and rows for each cluster once
        those with like rules are merged, and whether it is kept. Numeric features only.
    n_clusters, method : int, "ward", "k-means" or "birch"
        Clusters, at most, and how they are found.
    points, grid : int, "quantile" or "equidistant"
        Grid points, at most, and where they lie.
    **options
        Of `Granite`; those of its tree say how clusters are described.

    Examples
    --------
    >>> X = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=(90, 2))
    >>> g = vine(lambda X: X[:, 0] * (X[:, 1] > 0), "x0").fit(X)
    >>> len(g.partition_), g.description_accuracy_
    (2, 1.0)
    """
    curves = Ice(feature, points, grid, differences=True)
    clusters = Clusters(on=curves, method=method, n_clusters=n_clusters, merge=exact)
    settings: dict[str, Any] = {"partitioner": clusters}
    if exact:
        settings |= original_settings(points)
    return configured(model, "ice-pdp", settings, options, feature)


@dataclass(frozen=True, slots=True)
class Ice:
    """How ICE curves of one column are read, as vectors for a partitioner.

    Parameters
    ----------
    feature : label
        The column.
    points : int
        Places on the grid, at most.
    grid : "quantile" or "equidistant"
    center : bool
        Whether each curve is centred by its own mean.
    differences : bool
        Whether first differences along the grid are read instead of the curve (d-ICE, not divided by the spacing).

    Examples
    --------
    >>> Ice("temp", differences=True).points
    20
    """

    feature: Hashable
    points: int = 20
    grid: str = "quantile"
    center: bool = True
    differences: bool = False

    def __post_init__(self) -> None:
        whole_number("points", self.points, at_least=2)
        choose("grid", self.grid, GRIDS)

    def vectors(self, problem: Problem) -> FloatArray:
        """One curve a row, shape (n, G)."""
        position = problem.table.resolve(self.feature, "feature")
        grid = make_grid(problem.table, position, self.points, self.grid)
        curves = ice_curves(problem.plan.model, problem.table, grid, problem.resources)
        if self.center:
            curves = centred(curves)
        if self.differences and curves.shape[1] > 1:
            return np.diff(curves, axis=1)
        return curves


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

    def extra_effects(self, table: Table, resources: Resources, seed: int) -> tuple[Any, ...]:
        """The local effects that are read of the model; curves are asked for later."""
        if not isinstance(self.on, Ice):
            explainer = local_explainer(self.on, "on")
            return (local_question(explainer, table, resources, seed),)
        table.resolve(self.on.feature, "feature")
        if self.merge:
            require_numeric(table.columns, "the original form (exact=True)")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """Cluster, and describe the clusters."""
        if problem.below_noise_floor:
            return one_group(problem)
        if isinstance(self.on, Ice):
            vectors = self.on.vectors(problem)
        else:
            (question,) = self.extra_effects(problem.table, problem.resources, problem.seed)
            vectors = local_values(question.first, problem.sample.outputs[0])[..., 0].T
        if self.merge and isinstance(self.on, Ice):
            return self._merged_partition(problem, self.on, vectors)
        return put_into_rules(problem, self.labels(vectors, problem.seed))

    def labels(self, vectors: FloatArray, seed: int = 0) -> IntArray:
        """Cluster of each vector, numbered by first appearance.

        Parameters
        ----------
        vectors : array of shape (n, n_entries)
        seed : int
        """
        return np.asarray(pd.factorize(self._cluster(vectors, seed))[0], dtype=np.intp)

    def _cluster(self, vectors: FloatArray, seed: int) -> IntArray:
        """Cluster of each vector, by the numbers of scikit-learn."""
        from sklearn.cluster import AgglomerativeClustering, Birch, KMeans

        # Around their mean, in units of their total standard deviation.
        total_deviation = np.sqrt(vectors.var(axis=0).sum()) or np.inf  # 0: all vectors are one
        vectors = np.round((vectors - vectors.mean(axis=0)) / total_deviation, KEPT_DIGITS)
        n_clusters = min(self.n_clusters, len(np.unique(vectors, axis=0)))
        if n_clusters < 2:
            return np.zeros(len(vectors), dtype=np.intp)
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

    def _merged_partition(self, problem: Problem, ice: Ice, vectors: FloatArray) -> PartitionResult:
        """The second stage: clusters with like cuts are joined, and regions describe those that are kept."""
        table = problem.table
        first_labels = self._cluster(vectors, problem.seed)
        cuts = [best_cut(table, first_labels == label) for label in range(first_labels.max() + 1)]
        ranges = [float(np.ptp(column.values)) for column in table.columns]
        joined_labels = np.array(join_like_cuts(cuts, ranges))[first_labels]
        # `labels` numbers the joined clusters without gaps; `first_of_joined` are the clusters that others joined.
        first_of_joined, labels = np.unique(joined_labels, return_inverse=True)
        curves = replace(ice, differences=False).vectors(problem)
        rules = [
            judge_cluster(cuts[first_label], labels == label, table, curves)
            for label, first_label in enumerate(first_of_joined)
        ]
        # Regions describe the kept clusters, numbered from 0, and all others together, which come last.
        is_kept = np.array([rule["kept"] for rule in rules])
        new_numbers = np.where(is_kept, np.cumsum(is_kept) - 1, is_kept.sum())
        result = put_into_rules(problem, new_numbers[labels])
        return replace(
            result,
            extra_attributes={**result.extra_attributes, "cluster_rules_": rules},
            row_attributes={"clusters_": labels},
        )


class OneCut(NamedTuple):
    """The cut of one feature that tells a cluster best from the others."""

    column: int
    threshold: float
    below: bool  # whether the cluster lies at or below the threshold


def best_cut(table: Table, members: BoolArray) -> OneCut:
    """Find the cut of a cluster: a tree of one split, by entropy, where both sides weigh the same.

    Parameters
    ----------
    table : Table
        Of numeric features.
    members : array of shape (n,)
        Which rows the cluster holds.
    """
    from sklearn.tree import DecisionTreeClassifier

    values = np.column_stack([column.values for column in table.columns]).astype(np.float64)
    tree = DecisionTreeClassifier(
        criterion="entropy", max_depth=1, class_weight="balanced", random_state=0
    )
    nodes = tree.fit(values, members).tree_
    if nodes.node_count == 1:  # nothing tells the cluster from the others: all rows are below
        return OneCut(column=0, threshold=np.inf, below=True)
    left_child = 1
    return OneCut(
        column=int(nodes.feature[0]),
        threshold=float(nodes.threshold[0]),
        below=bool(np.argmax(nodes.value[left_child]) == 1),
    )


def join_like_cuts(cuts: Sequence[OneCut], ranges: Sequence[float]) -> list[int]:
    """Join clusters whose cuts are alike: for each cluster the first one that it joins, itself or an earlier one.

    Parameters
    ----------
    cuts : sequence of OneCut
        One for each cluster.
    ranges : sequence of float
        Largest minus smallest value of each feature.
    """
    joined = list(range(len(cuts)))
    for first, second in combinations(range(len(cuts)), 2):
        are_free = joined[first] == first and joined[second] == second
        cut = cuts[first]
        other = cuts[second]
        same_side = cut.column == other.column and cut.below == other.below
        # As in the original, the difference has no absolute value.
        difference = round(cut.threshold, 2) - round(other.threshold, 2)
        if are_free and same_side and difference <= LIKE_CUTS * ranges[cut.column]:
            joined[second] = first
    return joined


def judge_cluster(
    cut: OneCut, members: BoolArray, table: Table, curves: FloatArray
) -> dict[str, Any]:
    """Decide whether a cluster is kept: its cut is right, and its curves differ from all others.

    Parameters
    ----------
    cut : OneCut
        Of the cluster.
    members : array of shape (n,)
        Which rows it holds.
    table : Table
    curves : array of shape (n, points)
        ICE curves of all rows.

    Returns
    -------
    dict
        The cut as a rule, its accuracy, the rows of the cluster, and whether it is kept.
    """
    column = table.columns[cut.column]
    satisfies_rule = (column.values <= cut.threshold) == cut.below
    accuracy = float(np.mean(satisfies_rule == members))
    mean_curve = curves.mean(axis=0)
    distances = np.abs(curves[members].mean(axis=0) - mean_curve)
    distance = distances.mean() / (np.abs(mean_curve).max() or np.inf)
    sign = "≤" if cut.below else ">"
    return {
        "rule": f"{column.name} {sign} {cut.threshold:g}",
        "accuracy": accuracy,
        "n_samples": int(members.sum()),
        "kept": round(100 * accuracy) > FEWEST_RIGHT and bool(distance >= LEAST_DISTANCE),
    }
