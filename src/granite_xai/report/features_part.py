"""How much each feature matters, as the story tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.base.typing import FloatArray
from granite_xai.inference.nodes import NodeFigures, tree_places
from granite_xai.report.measure import Measure
from granite_xai.report.questions_part import question_names
from granite_xai.report.source import ReportSource, rounded, set_labels
from granite_xai.results.values import Values

SIZE_ROUNDING = 1e-12  # share of the largest importance below which another one is rounding
GAP_ROUNDING = 1e-20  # the same for gaps, which are squares of differences of importances
FAINT = 1e-3  # share of the average effect by which features without heterogeneity are ranked

StraysByNode = dict[str, list[float]]
"""Heterogeneity of each set of features: "all" (all rows), "within" (inside the regions), and by
the identifier of a node of the tree ("region-2", "node-1")."""


def importance(values: Values, resolved: ResolvedQuestion) -> dict[str, Any]:
    """Both sides of a question, a number for each set and scope.

    Returns
    -------
    dict
        Names of the question, ``measure`` (what the numbers are), ``sets``, ``order`` of the sets
        by size on all rows, and ``scopes``: all rows (region None) and the regions, each with
        ``first``, ``second`` and ``gap`` by set.
    """
    by_scope = values.of_question(resolved).scopes
    # (scopes, sides, sets) and (scopes, sets)
    sizes = _without_rounding(
        np.stack([entry.root_mean_squares for entry in by_scope]), SIZE_ROUNDING
    )
    gaps = _without_rounding(np.stack([entry.gaps for entry in by_scope]), GAP_ROUNDING)
    scopes = []
    for scope, (first, second), gap in zip(values.scopes, sizes, gaps, strict=True):
        scopes.append(
            {
                "region": scope.region,
                "first": rounded(first),
                "second": rounded(second),
                "gap": rounded(gap),
            }
        )
    measure = "importance"
    if resolved.first.behavior.per_row:
        measure = "typical size of the effect (root mean square)"
    largest = np.abs(np.nan_to_num(sizes[0])).max(axis=0)
    return {
        **question_names(resolved.question),
        "measure": measure,
        "sets": set_labels(resolved),
        "order": np.argsort(-largest, kind="stable").tolist(),
        "scopes": scopes,
    }


def _without_rounding(numbers: FloatArray, share: float) -> FloatArray:
    """Numbers of which those below a share of the largest are 0."""
    largest = np.nan_to_num(np.abs(numbers), posinf=0.0).max(initial=0.0)
    return np.where(np.abs(numbers) < share * largest, 0.0, numbers)


def triage(source: ReportSource, importances: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How strong each feature's average effect is, and how far single rows stray from it.

    The average effect is that of the curves. How far rows stray is from held-out rows where there
    are some (`NodeFigures`), otherwise from the search rows.

    Parameters
    ----------
    source : ReportSource
    importances : mapping
        What `importance` tells of the first question.

    Returns
    -------
    list of dicts
        ``set``; ``shows`` and ``hides`` (average effect and heterogeneity on all rows);
        ``within`` (both inside the regions); ``nodes`` (both at each node, by its identifier).
        Those of the largest heterogeneity first.
    """
    scopes = importances["scopes"]
    strays = _strays(source, scopes)
    n_rows = np.array([region.n_samples for region in source.fitted.partition], dtype=np.float64)
    regions_below = _regions_below_nodes(source)
    features = []
    for i, name in enumerate(importances["sets"]):
        # The second explanation of a question stands for the average effect, as PDP beside ICE.
        on_all_rows, *in_regions = [abs(scope["second"][i] or 0.0) for scope in scopes]
        stray = {key: by_set[i] for key, by_set in strays.items()}
        within = [on_all_rows, stray["all"]]
        nodes = {}
        if in_regions:
            averages = np.array(in_regions)
            within = [_root_mean_square(averages, n_rows), stray["within"]]
            for key, regions in regions_below.items():
                average = _root_mean_square(averages[regions], n_rows[regions])
                nodes[key] = [average, stray.get(key, 0.0)]
        features.append(
            {
                "set": name,
                "shows": on_all_rows,
                "hides": stray["all"],
                "within": within,
                "nodes": nodes,
            }
        )
    return sorted(features, key=_rank)


def _rank(feature: Mapping[str, Any]) -> float:
    """A key that sorts features by heterogeneity, and those without by their average effect."""
    size: float = max(feature["hides"], FAINT * feature["shows"])
    return -size


def _root_mean_square(averages: FloatArray, n_rows: FloatArray) -> float:
    """Of average effects in some regions, weighted by their rows."""
    return float(np.sqrt(np.average(np.square(averages), weights=n_rows)))


def _regions_below_nodes(source: ReportSource) -> dict[str, list[int]]:
    """The regions below each node but the root, by its identifier."""
    below: dict[str, list[int]] = {}
    for number, place in enumerate(tree_places(source.fitted.partition)):
        if place.region >= 0:
            below[f"region-{place.region}"] = [place.region]
        elif number > 0:
            below[f"node-{number}"] = list(place.regions)
    return below


def _strays(source: ReportSource, scopes: Sequence[Mapping[str, Any]]) -> StraysByNode:
    """How far rows stray along each set of features, in all scopes."""
    if source.fitted.below_noise_floor:
        nothing = [0.0] * len(scopes[0]["gap"])
        regions = [f"region-{number}" for number in range(len(source.fitted.partition))]
        return dict.fromkeys(["all", "within", *regions], nothing)
    if source.figures is not None:
        return _strays_of_nodes(source.figures, source.measure)
    return _strays_of_search_rows(source, scopes)


def _strays_of_nodes(figures: NodeFigures, measure: Measure) -> StraysByNode:
    """From the figures of the nodes."""
    strays = {
        "all": _roots(figures.root.by_set, measure),
        "within": _roots(np.nan_to_num(figures.by_set_inside_regions()), measure),
    }
    for node in figures.nodes[1:]:
        is_leaf = node.region >= 0
        key = f"region-{node.region}" if is_leaf else f"node-{node.node}"
        strays[key] = _roots(np.nan_to_num(np.array(node.by_set)), measure)
    return strays


def _strays_of_search_rows(
    source: ReportSource, scopes: Sequence[Mapping[str, Any]]
) -> StraysByNode:
    """From the gaps of all rows and of the regions; inner nodes are not known."""
    on_all_rows, *in_regions = scopes
    gaps = _known_gaps(on_all_rows)
    strays = {"all": _roots(gaps, source.measure)}
    inside = np.zeros(len(gaps))
    for scope in in_regions:
        region = source.fitted.partition[scope["region"]]
        gaps = _known_gaps(scope)
        inside += region.n_samples / source.n_rows * gaps
        strays[f"region-{region.index}"] = _roots(gaps, source.measure)
    strays["within"] = _roots(inside, source.measure)
    return strays


def _known_gaps(scope: Mapping[str, Any]) -> FloatArray:
    """The gap of each set; 0 where it is not known."""
    return np.array([gap or 0.0 for gap in scope["gap"]])


def _roots(gaps: FloatArray | Sequence[float], measure: Measure) -> list[float]:
    return [measure.root(float(gap)) for gap in gaps]
