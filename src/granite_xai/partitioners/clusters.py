"""Groups of rows put into rules by a shallow tree: like explanations or curves; one column free of the others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.base.validation import choose, real_number, whole_number
from granite_xai.compute import Resources
from granite_xai.evaluations.vectors import Vectors
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.masking.bins import interval_edges
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.partitioners.scatter import FLOOR, describe, local_explainer, scattered
from granite_xai.search.problem import Partitioner, PartitionResult, Problem, local_values, measured
from granite_xai.surrogate.grids import require_numeric
from granite_xai.surrogate.ice import Ice
from granite_xai.tables import Column, Table
from granite_xai.trees.routes import Route


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
    n_clusters, threshold : int, float
        Clusters, at most; of Birch the radius of a subcluster, in units of the vectors' total standard deviation.
    merge : bool
        VINE's second stage, for ICE curves and numeric columns: each cluster gets the one cut that tells it best from
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
        choose("method", self.method, {name: name for name in ("ward", "k-means", "birch")})
        whole_number("n_clusters", self.n_clusters, at_least=1)
        real_number("threshold", self.threshold, above=0)
        if not isinstance(self.on, Ice):
            local_explainer(self.on, "on")

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """The local effects that are read of the model; curves are asked for later."""
        if isinstance(self.on, Ice):
            route.table.resolve(self.on.feature, "feature")
            if self.merge:
                require_numeric(route.table.columns, "the original form (exact=True)")
            return ()
        return (local_explainer(self.on, "on").effect(route, resources, seed),)

    def partition(self, problem: Problem) -> PartitionResult:
        """Cluster, and describe the clusters."""
        if not self.merge or problem.below_noise_floor or not isinstance(self.on, Ice):
            return describe(problem, lambda: self.labels(self.vectors(problem), problem.seed))
        vectors, table = self.vectors(problem), problem.table
        labels = self._clustered(
            vectors, min(self.n_clusters, len(np.unique(vectors, axis=0))), problem.seed
        )
        cuts = [one_cut(table, labels == label) for label in range(labels.max() + 1)]
        labels = np.array(merged(cuts, [float(np.ptp(column.values)) for column in table.columns]))[
            labels
        ]
        curves = replace(self, on=replace(self.on, differences=False)).vectors(problem)
        found = [_kept(cuts[label], labels == label, table, curves) for label in np.unique(labels)]
        shown = [
            label for label, rule in zip(np.unique(labels), found, strict=True) if rule["kept"]
        ]
        result = describe(
            problem,
            lambda: np.searchsorted(shown, np.where(np.isin(labels, shown), labels, np.inf)),
        )
        return replace(
            result,
            extra_attributes={**result.extra_attributes, "cluster_rules_": found},
            row_attributes={"clusters_": np.unique(labels, return_inverse=True)[1].reshape(-1)},
        )

    def vectors(self, problem: Problem) -> FloatArray:
        """What is clustered, one vector a row."""
        if isinstance(self.on, Ice):
            return self.on.vectors(problem.predictor, problem.table, problem.resources)
        (effect,) = self.extra_effects(problem.route, problem.resources, problem.seed)
        return local_values(effect, problem.evaluations)[:, 0].T

    def labels(self, vectors: FloatArray, seed: int = 0) -> IntArray:
        """Cluster of each vector, numbered by first appearance."""
        # In units of their spread, rounded: what differs by noise alone is one vector.
        scale = float(np.sqrt(vectors.var(axis=0).sum())) or np.inf
        scaled = np.round((vectors - vectors.mean(axis=0)) / scale, 9)
        wanted = min(self.n_clusters, len(np.unique(scaled, axis=0)))
        if wanted < 2:
            return np.zeros(len(vectors), dtype=np.intp)
        first, found = np.unique(
            self._clustered(scaled, wanted, seed), return_index=True, return_inverse=True
        )[1:]
        return np.asarray(np.argsort(np.argsort(first))[found.reshape(-1)], dtype=np.intp)

    def _clustered(self, vectors: FloatArray, wanted: int, seed: int) -> IntArray:
        from sklearn.cluster import AgglomerativeClustering, Birch, KMeans

        ward = AgglomerativeClustering(n_clusters=wanted, linkage="ward")
        if self.method != "birch":
            means = KMeans(n_clusters=wanted, n_init=10, random_state=seed)
            return np.asarray((ward if self.method == "ward" else means).fit_predict(vectors))
        # Birch's subclusters, joined by Ward's method when there are more of them than wanted.
        fitted = Birch(threshold=self.threshold, n_clusters=None).fit(vectors)
        labels, centres = fitted.labels_, fitted.subcluster_centers_
        return np.asarray(labels if len(centres) <= wanted else ward.fit_predict(centres)[labels])


class OneCut(NamedTuple):
    """The cut of one column that tells a cluster best from the others."""

    column: int
    threshold: float
    below: bool  # whether the cluster lies at or below it


def one_cut(table: Table, members: BoolArray) -> OneCut:
    """A tree of one split, by entropy, where cluster and others weigh the same."""
    from sklearn.tree import DecisionTreeClassifier

    values = np.column_stack([column.values for column in table.columns]).astype(np.float64)
    tree = DecisionTreeClassifier(
        criterion="entropy", max_depth=1, class_weight="balanced", random_state=0
    )
    found = tree.fit(values, members).tree_
    if found.node_count == 1:
        return OneCut(0, np.inf, True)
    return OneCut(
        int(found.feature[0]), float(found.threshold[0]), bool(np.argmax(found.value[1]) == 1)
    )


def merged(cuts: Sequence[OneCut], ranges: Sequence[float]) -> list[int]:
    """The cluster that each joins: the first with a like cut. The original's test has no absolute value."""
    joined = list(range(len(cuts)))
    for i, j in combinations(joined, 2):
        one, two = cuts[i], cuts[j]
        apart = round(one.threshold, 2) - round(two.threshold, 2)
        if (
            (joined[i], joined[j]) == (i, j)
            and one[::2] == two[::2]
            and apart <= 0.1 * ranges[one.column]
        ):
            joined[j] = i
    return joined


def _kept(cut: OneCut, members: BoolArray, table: Table, curves: FloatArray) -> dict[str, Any]:
    """A cluster's rule, how often it is right, its rows, and whether it is kept."""
    column, everyone = table.columns[cut.column], curves.mean(axis=0)
    right = float(np.mean(((column.values <= cut.threshold) == cut.below) == members))
    apart = np.abs(curves[members].mean(axis=0) - everyone).mean() / (
        np.abs(everyone).max() or np.inf
    )
    rule = f"{column.name} {'≤' if cut.below else '>'} {cut.threshold:g}"
    kept = round(100 * right) > 50 and bool(apart >= 0.2)
    return {"rule": rule, "accuracy": right, "n_samples": int(members.sum()), "kept": kept}


@dataclass(frozen=True, slots=True)
class Subgroups(Partitioner):
    """A tree that models one column from the others; inside its leaves the column hardly depends on them.

    The model is not asked: only the rows decide. How deep the tree is, how small its leaves and what a leaf costs (as
    a share of the column's scatter) are options of the estimator.

    Parameters
    ----------
    feature : label
        The column.
    by : "distribution" or "mean"
        Whether a split separates the column's whole distribution (indicators of its tenths; any monotone transform
        gives the same regions) or its mean (CART).

    Examples
    --------
    >>> Subgroups("temp").by
    'distribution'
    """

    feature: Hashable
    by: str = "distribution"
    ignores_noise_floor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("by", self.by, {name: name for name in ("distribution", "mean")})

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """Nothing is read of the model; an unknown column is refused before any work."""
        route.table.resolve(self.feature, "feature")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """Leaves of the tree, with the disagreement of the question in them."""
        table, place = problem.table, problem.table.resolve(self.feature, "feature")
        dependent, _ = scattered(
            problem, [Vectors(described(table.columns[place], self.by))], FLOOR
        )
        others = [table.names[i] for i in problem.tree.columns(table) if i != place]
        node = replace(problem.tree, split_features=others, search="greedy").grown(dependent)
        return PartitionResult(measured(node, problem))


def described(column: Column, by: str) -> FloatArray:
    """A column as vectors: indicators of its levels, or of lying below each tenth; or its standardised values."""
    missing = (column.codes < 0).astype(np.float64)[:, None]
    if column.kind in ("nominal", "boolean"):
        indicators: FloatArray = (column.codes[:, None] == np.arange(len(column.levels))).astype(
            np.float64
        )
    elif by == "distribution":
        indicators = (column.codes[:, None] <= interval_edges(column)[:-1]).astype(np.float64)
    else:
        raw = column.values if column.kind == "numeric" else column.codes.astype(np.float64)
        present = column.codes >= 0
        center, spread = (raw[present].mean(), raw[present].std()) if present.any() else (0.0, 1.0)
        indicators = np.where(present, (raw - center) / (spread or 1.0), 0.0)[:, None]
    return np.hstack([indicators, missing]) if missing.any() else indicators
