"""Curves of single features in each scope, as the story tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.text import plain
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.display.axis import places_of
from granite_xai.display.page_axis import PageAxis
from granite_xai.explanation.catalog import title
from granite_xai.report.source import ReportSource, rounded, set_labels
from granite_xai.results.fit_values import FitValues
from granite_xai.results.ice_bands import Band, ice_bands
from granite_xai.surrogate.additive import RegionSurrogate
from granite_xai.surrogate.grids import dependence_bins
from granite_xai.tables import Column

MOST_DRAWN = 10  # features with a chart of their own; those of region cards come on top
POINTS = 32  # places along a curve, at most
ROUNDING = 1e-12  # share of the mean prediction below which an effect is rounding


class ScopeCurves(NamedTuple):
    """All rows (None) or one region, with its curves."""

    region: int | None
    surrogate: RegionSurrogate


class OtherSide(NamedTuple):
    """A local explanation other than ICE and PDP: its values by scope, all rows first."""

    name: str
    by_scope: list[tuple[IntArray, FloatArray]]  # rows and their effects


def effects(
    source: ReportSource, sizes: Sequence[Mapping[str, Any]], cards: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Curves of single features, the main one first.

    Parameters
    ----------
    source : ReportSource
    sizes : sequence of dicts
        How far rows stray along each feature, as the story has them.
    cards : sequence of dicts
        Regions, with the features that their small charts show.

    Returns
    -------
    list of dicts
        ``leading``: it opens the report; ``shown``: it has a chart of its own, not only in cards.
    """
    scopes = scopes_of(source)
    table = source.fitted.table
    columns = {curve.column.name: curve.column.position for curve in scopes[0].surrogate.curves}
    reach = {name: _reach(source, scopes, place) for place, name in enumerate(columns)}
    ranked = sorted((name for name in reach if reach[name] > 0), key=lambda name: -reach[name])
    leading = _leading(source, scopes, ranked, sizes)
    shown = [*leading, *(name for name in ranked if name not in leading)][:MOST_DRAWN]
    in_cards = {feature["set"] for card in cards for feature in card["features"]}
    drawn = [*shown, *(name for name in ranked if name in in_cards and name not in shown)]
    sides = {} if source.values is None else _other_sides(source.values)
    return [
        {
            **_effect(source, scopes, table.columns[columns[name]], sides.get(name, [])),
            "leading": name in leading,
            "shown": name in shown,
        }
        for name in drawn
    ]


def scopes_of(source: ReportSource) -> list[ScopeCurves]:
    """All rows and each region; an older file knows the regions', whose mean is that of all."""
    surrogates = source.fitted.additive.value
    parts = surrogates.surrogate.regions
    inside = [ScopeCurves(region, part) for region, part in enumerate(parts)]
    if len(parts) == 1:
        inside = []
    if surrogates.everywhere is not None:
        return [ScopeCurves(None, surrogates.everywhere), *inside]
    shares = np.array([region.n_samples / source.n_rows for region in source.fitted.partition])
    means = np.array([part.mean for part in parts])
    mean = float(shares @ means)
    curves = []
    for same_feature in zip(*(part.curves for part in parts), strict=True):
        effects = np.stack([curve.effects for curve in same_feature])  # (regions, levels)
        around = shares @ (effects + (means - mean)[:, None])
        curves.append(replace(same_feature[0], effects=around))
    everyone = RegionSurrogate(mean, tuple(curves), parts[0].rows[:0])
    return [ScopeCurves(None, everyone), *inside]


def _counts(source: ReportSource, column: Column, region: int | None = None) -> FloatArray:
    """Rows of each level, missing first; of a loaded object, which has no rows, one each."""
    codes = column.codes
    if region is not None:
        codes = codes[source.fitted.regions == region]
    if not len(codes):
        return np.append(0.0, np.ones(len(column.levels)))
    return np.bincount(codes + 1, minlength=len(column.levels) + 1).astype(np.float64)


def _reach(source: ReportSource, scopes: Sequence[ScopeCurves], place: int) -> float:
    """Root mean square of a feature's curves in all scopes; less than rounding is nothing."""
    total = 0.0
    largest_mean = 0.0
    for region, surrogate in scopes:
        curve = surrogate.curves[place]
        counts = _counts(source, source.fitted.table.columns[curve.column.position], region)
        # Scaled, since squares of very large predictions are no numbers.
        largest = float(np.max(np.abs(curve.effects))) or 1.0
        square = counts @ np.square(curve.effects / largest) / max(counts.sum(), 1.0)
        total = float(np.hypot(total, largest * np.sqrt(square)))
        largest_mean = max(largest_mean, abs(surrogate.mean))
    return total if total > ROUNDING * largest_mean else 0.0


def _leading(
    source: ReportSource,
    scopes: Sequence[ScopeCurves],
    ranked: Sequence[str],
    sizes: Sequence[Mapping[str, Any]],
) -> list[str]:
    """The feature of the finding, or that along which rows stray most and regions still vary."""
    main = source.finding.main_feature
    if main in ranked:
        return [main]
    strays = {size["set"]: size["hides"] for size in sizes}
    columns = {column.name: column for column in source.fitted.table.columns}
    varying = [name for name in ranked if _varies(source, scopes, columns[name])]
    return sorted(varying or ranked, key=lambda name: -strays.get(name, 0.0))[:1]


def _varies(source: ReportSource, scopes: Sequence[ScopeCurves], column: Column) -> bool:
    """Whether a feature takes several values in two regions, or in the only one."""
    varying = [
        bool(np.count_nonzero(_counts(source, column, scope.region)) > 1) for scope in scopes
    ]
    return sum(varying[1:]) > 1 if len(varying) > 1 else varying[0]


def _effect(
    source: ReportSource,
    scopes: Sequence[ScopeCurves],
    column: Column,
    sides: Sequence[OtherSide],
) -> dict[str, Any]:
    counts = _counts(source, column)
    positions = [curve.column.position for curve in scopes[0].surrogate.curves]
    place = positions.index(column.position)
    axis = PageAxis(column, scopes[0].surrogate.curves[place].effects, counts, POINTS)
    bands: list[Band | None] = [None] * len(scopes)
    if source.values is not None:
        bands = list(ice_bands(source.values, column.position, axis.at))
    panels = []
    for k, (scope, band) in enumerate(zip(scopes, bands, strict=True)):
        panel = _panel(source, axis, scope, place, band)
        panel["lines"] = [
            {"name": side.name, **_line(column, side.by_scope[k], scope.surrogate.mean)}
            for side in sides
        ]
        panels.append(panel)
    return {
        "set": column.name,
        "kind": column.kind,
        "style": axis.style,
        "x": axis.x,
        "texts": [plain(text) for text in axis.texts],
        "log": axis.log,
        "gone": axis.has_missing,
        "note": axis.note,
        "named": column.kind not in ("numeric", "date"),
        "bars": axis.bars(counts).middles,
        "panels": panels,
    }


def _panel(
    source: ReportSource, axis: PageAxis, scope: ScopeCurves, place: int, band: Band | None
) -> dict[str, Any]:
    """One scope: its mean curve where rows reach, what its rows' own curves do, and its rows."""
    counts = _counts(source, axis.column, scope.region)
    effects = scope.surrogate.curves[place].effects
    curve = axis.at(effects, np.arange(len(effects))) + scope.surrogate.mean
    reached = axis.reaches(counts)
    panel: dict[str, Any] = {
        "region": scope.region,
        "centre": float(scope.surrogate.mean),
        "values": int(np.count_nonzero(counts)),
        "rows": axis.bars(counts).rows,
        "curve": rounded(curve),
        "mean": rounded(np.where(reached, curve, np.nan)),
    }
    for key in Band._fields:
        panel[key] = None
        if band is not None:
            panel[key] = rounded(np.where(reached, getattr(band, key), np.nan))
    return panel


def _other_sides(values: FitValues) -> dict[str, list[OtherSide]]:
    """Local explanations other than ICE and PDP that were asked about, by feature."""
    found: dict[str, list[OtherSide]] = {}
    for resolved in values.fitted.comparisons:
        is_local = resolved.first.behavior.key == "local"
        if not is_local or len(resolved.first.layout.sets) < 2:
            continue
        question = resolved.question
        for number, side in enumerate((question.first, question.second)):
            if side.name in ("ice", "pdp"):
                continue
            known = [(scope.rows, values.question(resolved, scope)) for scope in values.scopes]
            name = title(side.name, ("first", "second")[number])
            for i, label in enumerate(set_labels(resolved)):
                by_scope = [(rows, found_.sides[number][:, i]) for rows, found_ in known]
                found.setdefault(label, []).append(OtherSide(name, by_scope))
    return found


def _line(column: Column, local: tuple[IntArray, FloatArray], mean: float) -> dict[str, Any]:
    """Mean of local effects in the tenths of an ordered feature, around the mean prediction."""
    if column.kind in ("nominal", "boolean"):
        return {"x": [], "y": []}
    rows, effects = local
    part = column.take(rows)
    bins = np.where(part.codes < 0, 0, dependence_bins(part))
    places = places_of(column)[part.codes]
    members = [bins == b for b in np.unique(bins).tolist() if b > 0]
    return {
        "x": rounded([places[inside].mean() for inside in members]),
        "y": rounded([effects[inside].mean() + mean for inside in members]),
    }
