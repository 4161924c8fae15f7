"""All features at once: importances, average effect against heterogeneity, effects of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.display.overview import value_ranks
from granite_xai.explanation.catalog import title
from granite_xai.fitting.causes import cause
from granite_xai.inference.node_figures import tree_places
from granite_xai.report.source import ReportSource, rounded, set_labels
from granite_xai.results.fit_values import FitValues
from granite_xai.results.scopes import Scope

OVERVIEW_FEATURES = 12  # lines of the overview
ACROSS = 96  # cells of the overview from left to right
UPWARDS = 9  # and from low to high values
TRIMMED = 0.004  # share of effects on each side that lie at the edge of the overview
FEW_PAIRS = 250_000  # rows times squared features up to which other questions are read off, too
ROUNDING = 1e-12  # of the largest importance; gaps are squares of it


def sides_named(question: Disagreement) -> dict[str, str]:
    """A question and its explanations by name."""
    return {
        "question": question.label,
        "first": title(question.first.name, "first"),
        "second": title(question.second.name, "second"),
    }


def importance(values: FitValues, resolved: ResolvedQuestion) -> dict[str, Any]:
    """Both sides of a question, a number for each set and scope."""
    by_scope = [values.question(resolved, scope) for scope in values.scopes]
    sizes = _without_rounding(np.stack([found.sizes for found in by_scope]), ROUNDING)
    gaps = _without_rounding(np.stack([found.gaps for found in by_scope]), ROUNDING**2 * 1e4)
    scopes = []
    for scope, both, gap in zip(values.scopes, sizes, gaps, strict=True):
        first, second = both
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
        **sides_named(resolved.question),
        "measure": measure,
        "sets": set_labels(resolved),
        "order": np.argsort(-largest, kind="stable").tolist(),
        "scopes": scopes,
    }


def _without_rounding(cells: FloatArray, share: float) -> FloatArray:
    """What is nothing beside the largest is set to 0."""
    largest = np.nan_to_num(np.abs(cells), posinf=0.0).max(initial=0.0)
    return np.where(np.abs(cells) < share * largest, 0.0, cells)


def triage(source: ReportSource, importances: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How strong each feature's average effect is, and how far single rows stray from it.

    The average effect is that of the curves. How far rows stray is from held-out rows where there
    are some (`NodeFigures`), otherwise from the search rows.

    Returns
    -------
    list of dicts
        set; shows and hides (average effect and heterogeneity on all rows); within (both inside
        the regions); nodes (both at each node, by its identifier). By heterogeneity.
    """
    scopes = importances["scopes"]
    strays = _strays(source, scopes)
    masses = np.array([region.n_samples for region in source.fitted.partition], dtype=np.float64)
    features = []
    for i, name in enumerate(importances["sets"]):
        averages = {scope["region"]: abs(scope["second"][i] or 0.0) for scope in scopes}
        stray = {node: by_set[i] for node, by_set in strays.items()}
        by_region = np.array([averages[region] for region in averages if region is not None])
        within = [averages[None], stray["all"]]
        nodes = {}
        if len(by_region):
            average = float(np.sqrt(np.average(np.square(by_region), weights=masses)))
            within = [average, stray["within"]]
            for key, below in _regions_of_nodes(source).items():
                squares = np.square(by_region[below])
                average = float(np.sqrt(np.average(squares, weights=masses[below])))
                nodes[key] = [average, stray.get(key, 0.0)]
        features.append(
            {
                "set": name,
                "shows": averages[None],
                "hides": stray["all"],
                "within": within,
                "nodes": nodes,
            }
        )
    return sorted(features, key=lambda each: -max(each["hides"], 1e-3 * each["shows"]))


def _regions_of_nodes(source: ReportSource) -> dict[str, list[int]]:
    """The regions below each node but the root, by its identifier."""
    below: dict[str, list[int]] = {}
    for number, place in enumerate(tree_places(source.fitted.partition)):
        if place.region >= 0:
            below[f"region-{place.region}"] = [place.region]
        elif number > 0:
            below[f"node-{number}"] = list(place.regions)
    return below


def _strays(source: ReportSource, scopes: Any) -> dict[str, list[float]]:
    """Heterogeneity by feature: on all rows, inside the regions, and in each region."""
    measure = source.measure
    figures = source.figures
    if source.fitted.below_noise_floor:
        count = len(scopes[0]["gap"])
        nothing = [0.0] * count
        names = [f"region-{k}" for k in range(len(source.fitted.partition))]
        return dict.fromkeys(["all", "within", *names], nothing)
    strays = {}
    if figures is None:
        strays["all"] = [measure.root(gap or 0.0) for gap in scopes[0]["gap"]]
        inside = np.zeros(len(scopes[0]["gap"]))
        for scope in scopes[1:]:
            region = source.fitted.partition[scope["region"]]
            gaps = [gap or 0.0 for gap in scope["gap"]]
            strays[f"region-{scope['region']}"] = [measure.root(gap) for gap in gaps]
            inside += region.n_samples / source.n_rows * np.array(gaps)
        strays["within"] = [measure.root(float(gap)) for gap in inside]
        return strays
    strays["all"] = [measure.root(gap) for gap in figures.root.by_set]
    inside = np.nan_to_num(figures.by_set_inside_regions())
    strays["within"] = [measure.root(float(gap)) for gap in inside]
    for node in figures.nodes[1:]:
        gaps = np.nan_to_num(np.array(node.by_set)).tolist()
        key = f"node-{node.node}" if node.region < 0 else f"region-{node.region}"
        strays[key] = [measure.root(gap) for gap in gaps]
    return strays


def overview(values: FitValues) -> dict[str, Any] | None:
    """Effects of all features on all rows, in cells: None for questions without such effects.

    Returns
    -------
    dict
        limits of the effects, across and upwards (numbers of cells), features with their cells
        (region, column, line, rows) by mean absolute effect, whether effects lie beyond the
        limits, and how many features are left out.
    """
    resolved = values.fitted.comparisons[0]
    is_local = resolved.first.behavior.key == "local"
    sets = resolved.first.layout.sets
    if not is_local or any(len(members) != 1 for members in sets):
        return None
    positions = [sorted(next(iter(members))) for members in sets]
    if any(len(columns) != 1 for columns in positions):
        return None
    effects = np.zeros((values.table.n_rows, len(sets)))
    for scope in values.regions:
        effects[scope.rows] = values.question(resolved, scope).sides[0]
    strongest = np.argsort(-np.abs(effects).mean(axis=0), kind="stable")[:OVERVIEW_FEATURES]
    shown = effects[:, strongest]
    limits = _limits(shown)
    if limits is None:
        return None
    names = set_labels(resolved)
    features = []
    for i in strongest.tolist():
        ranks = value_ranks(values.table.columns[positions[i][0]])
        cells = _cells(effects[:, i], ranks, values.regions, limits)
        features.append({"set": names[i], "cells": cells})
    return {
        "limits": rounded(limits, 3),
        "across": ACROSS,
        "upwards": UPWARDS,
        "features": features,
        "beyond": bool((shown < limits[0]).any() or (shown > limits[1]).any()),
        "left_out": len(sets) - len(features),
    }


def _limits(effects: FloatArray) -> tuple[float, float] | None:
    """Where almost all effects lie, with 0; None where there are none."""
    low = min(float(np.quantile(effects, TRIMMED)), 0.0)
    high = max(float(np.quantile(effects, 1.0 - TRIMMED)), 0.0)
    return (low, high) if high > low else None


def _cells(
    effects: FloatArray, ranks: FloatArray, regions: list[Scope], limits: tuple[float, float]
) -> list[list[int | None]]:
    """Cells that hold rows: region, column, line and number of rows."""
    low, high = limits
    share = np.clip((effects - low) / (high - low), 0.0, 1.0)
    columns = np.minimum((share * ACROSS).astype(np.intp), ACROSS - 1)
    known = np.nan_to_num(ranks, nan=0.5)
    lines = np.minimum((known * UPWARDS).astype(np.intp), UPWARDS - 1)
    cells: list[list[int | None]] = []
    for scope in regions:
        places = columns[scope.rows] * UPWARDS + lines[scope.rows]
        filled, counts = np.unique(places, return_counts=True)
        region = scope.region if len(regions) > 1 else None
        for place, count in zip(filled.tolist(), counts.tolist(), strict=True):
            column, line = divmod(place, UPWARDS)
            cells.append([region, column, line, count])
    return cells


def disagreement_map(values: FitValues) -> dict[str, Any]:
    """Share of each feature in the heterogeneity of each question, and what regions leave.

    Questions that nobody asked are added where there are regions to judge and they cost little.
    """
    table = values.table
    questions = list(values.fitted.comparisons)
    has_regions = len(values.regions) > 1
    if has_regions and table.n_rows * table.n_columns**2 <= FEW_PAIRS:
        questions += list(values.further_questions())
    sets = set_labels(values.fitted.comparisons[0])
    lines: dict[str, dict[str, Any]] = {}
    for resolved in questions:
        question = resolved.question
        if len(resolved.first.layout.sets) < 2 or question.label in lines:
            continue
        gaps = values.gaps(resolved)
        if gaps is None or set_labels(resolved) != sets:
            continue
        before, after = gaps
        total = float(before.sum())
        lines[question.label] = {
            **sides_named(question),
            "cause": cause(question),
            "behavior": question.behavior.key,
            "disagreement": total,
            "remaining": float(after.sum()) / (total or 1.0),
            "shares": rounded(before / (total or 1.0)),
            "sets": sets,
        }
    return {"sets": sets, "questions": list(lines.values())}
