"""Curves of single features in each scope, as the story tells them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.catalog import title
from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.base.text import plain
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.curves import RegionSurrogate
from granite_xai.curves.grids import dependence_bins
from granite_xai.document.chart import FeatureAxis
from granite_xai.report.source import ReportSource, rounded, set_labels
from granite_xai.results.ice_bands import Band, ice_bands
from granite_xai.results.values import Values
from granite_xai.tables import Column

MOST_SHOWN = 10  # features with a chart of their own; those of region cards come on top
ROUNDING = 1e-12  # share of the mean prediction below which an effect is rounding


class ScopeCurves(NamedTuple):
    """All rows (region None) or one region, with its curves."""

    region: int | None
    surrogate: RegionSurrogate


class LocalEffects(NamedTuple):
    """Effects of one feature on single rows."""

    rows: IntArray
    effects: FloatArray


class OtherExplanation(NamedTuple):
    """What a local explanation other than ICE and PDP says about one feature.

    Attributes
    ----------
    name : str
    by_scope : list of LocalEffects
        All rows first, then the regions.
    """

    name: str
    by_scope: list[LocalEffects]


def effects(
    source: ReportSource,
    features: Sequence[Mapping[str, Any]],
    cards: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Curves of single features, the leading one first.

    Parameters
    ----------
    source : ReportSource
    features : sequence of mappings
        How far rows stray along each feature, as `features_part.triage` has it.
    cards : sequence of mappings
        Regions, with the features that their small charts show.

    Returns
    -------
    list of dicts
        One a feature:

        - ``set`` (its name), ``kind``, ``style`` ("points", "dots" or "line"), ``log``, ``note``,
          ``named`` (whether its values are names), ``x`` and ``texts`` of the places along its
          axis, ``gone`` (whether the last place is that of missing values), ``bars`` (middles of
          the bars that show where rows lie);
        - ``panels``: its curves on all rows and in each region, see `_panel`;
        - ``leading``: it opens the report; ``shown``: it has a chart of its own, not only in cards.
    """
    scopes = scopes_of(source)
    columns = {curve.column.name: curve.column for curve in scopes[0].surrogate.curves}
    ranked = _features_with_effect(source, scopes)
    leading = _leading_feature(source, scopes, ranked, features)
    charted = [name for name in ranked if name != leading]
    if leading is not None:
        charted.insert(0, leading)
    charted = charted[:MOST_SHOWN]
    in_cards = _features_of_cards(cards)
    only_in_cards = [name for name in ranked if name in in_cards and name not in charted]
    explanations: dict[str, list[OtherExplanation]] = {}
    if source.values is not None:
        explanations = _other_explanations(source.values)
    entries = []
    for name in [*charted, *only_in_cards]:
        column = source.fitted.table.columns[columns[name].position]
        entry = _effect(source, scopes, column, explanations.get(name, []))
        entry["leading"] = name == leading
        entry["shown"] = name in charted
        entries.append(entry)
    return entries


def _features_of_cards(cards: Sequence[Mapping[str, Any]]) -> set[str]:
    names: set[str] = set()
    for card in cards:
        names.update(feature["set"] for feature in card["features"])
    return names


def scopes_of(source: ReportSource) -> list[ScopeCurves]:
    """All rows and, where there are several, each region.

    A file of an older version has no curves of all rows: they are then averaged over the regions.
    """
    surrogates = source.fitted.curves.value
    parts = surrogates.surrogate.regions
    on_all_rows = surrogates.everywhere
    if on_all_rows is None:
        on_all_rows = _averaged(source, parts)
    scopes = [ScopeCurves(None, on_all_rows)]
    if len(parts) > 1:
        for region, part in enumerate(parts):
            scopes.append(ScopeCurves(region, part))
    return scopes


def _averaged(source: ReportSource, parts: Sequence[RegionSurrogate]) -> RegionSurrogate:
    """The curves of all rows: means of those of the regions, by their shares of the rows."""
    shares = np.array([region.n_samples / source.n_rows for region in source.fitted.partition])
    means = np.array([part.mean for part in parts])
    mean = float(shares @ means)
    curves = []
    for same_feature in zip(*(part.curves for part in parts), strict=True):
        effects = np.stack([curve.effects for curve in same_feature])  # (regions, levels)
        around_mean = shares @ (effects + (means - mean)[:, None])
        curves.append(replace(same_feature[0], effects=around_mean))
    no_rows = parts[0].rows[:0]
    return RegionSurrogate(mean, tuple(curves), no_rows)


def _level_counts(source: ReportSource, column: Column, region: int | None = None) -> FloatArray:
    """Rows of each level in a scope, missing first, shape (1 + n_levels,).

    A loaded object has no rows: then each level counts as one.
    """
    codes = column.codes
    if region is not None:
        codes = codes[source.fitted.regions == region]
    if not len(codes):
        return np.append(0.0, np.ones(len(column.levels)))
    return np.bincount(codes + 1, minlength=len(column.levels) + 1).astype(np.float64)


def _features_with_effect(source: ReportSource, scopes: Sequence[ScopeCurves]) -> list[str]:
    """Features whose curves are not flat, those with the largest effects first."""
    sizes = {}
    for number, curve in enumerate(scopes[0].surrogate.curves):
        sizes[curve.column.name] = _size_of_curves(source, scopes, number)
    names = [name for name, size in sizes.items() if size > 0]
    return sorted(names, key=lambda name: -sizes[name])


def _size_of_curves(
    source: ReportSource, scopes: Sequence[ScopeCurves], curve_number: int
) -> float:
    """Root of the summed mean squares of a feature's curves in all scopes; 0 if that is rounding."""
    total = 0.0
    largest_mean = 0.0
    for region, surrogate in scopes:
        curve = surrogate.curves[curve_number]
        column = source.fitted.table.columns[curve.column.position]
        counts = _level_counts(source, column, region)
        # Scaled, since squares of very large predictions are no numbers.
        largest = float(np.max(np.abs(curve.effects))) or 1.0
        mean_square = counts @ np.square(curve.effects / largest) / max(counts.sum(), 1.0)
        total = float(np.hypot(total, largest * np.sqrt(mean_square)))
        largest_mean = max(largest_mean, abs(surrogate.mean))
    if total <= ROUNDING * largest_mean:
        return 0.0
    return total


def _leading_feature(
    source: ReportSource,
    scopes: Sequence[ScopeCurves],
    ranked: Sequence[str],
    features: Sequence[Mapping[str, Any]],
) -> str | None:
    """The feature of the finding, or that along which rows stray most and regions still vary.

    None where no feature has an effect.
    """
    main_feature = source.finding.main_feature
    if main_feature in ranked:
        return main_feature
    strays = {feature["set"]: feature["hides"] for feature in features}
    columns = {column.name: column for column in source.fitted.table.columns}
    varying = [name for name in ranked if _varies(source, scopes, columns[name])]
    return max(varying or ranked, key=lambda name: strays.get(name, 0.0), default=None)


def _varies(source: ReportSource, scopes: Sequence[ScopeCurves], column: Column) -> bool:
    """Whether a feature takes several values in two regions, or on all rows if these are one."""
    varies = []
    for scope in scopes:
        counts = _level_counts(source, column, scope.region)
        varies.append(bool(np.count_nonzero(counts) > 1))
    on_all_rows, *in_regions = varies
    if not in_regions:
        return on_all_rows
    return sum(in_regions) > 1


def _effect(
    source: ReportSource,
    scopes: Sequence[ScopeCurves],
    column: Column,
    explanations: Sequence[OtherExplanation],
) -> dict[str, Any]:
    """One feature, as `effects` describes it."""
    counts = _level_counts(source, column)
    on_all_rows = scopes[0].surrogate.curves
    positions = [curve.column.position for curve in on_all_rows]
    curve_number = positions.index(column.position)
    axis = FeatureAxis(column, "", counts, on_all_rows[curve_number].effects)
    bands: list[Band | None] = [None] * len(scopes)
    if source.values is not None:
        bands = list(ice_bands(source.values, column.position, axis.at_places))
    panels = []
    for number, (scope, band) in enumerate(zip(scopes, bands, strict=True)):
        effects = scope.surrogate.curves[curve_number].effects
        panel = _panel(source, axis, scope, effects, band)
        panel["lines"] = [
            _line(column, explanation.name, explanation.by_scope[number], scope.surrogate.mean)
            for explanation in explanations
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
        "bars": axis.bars(counts).middles.tolist(),
        "panels": panels,
    }


def _panel(
    source: ReportSource,
    axis: FeatureAxis,
    scope: ScopeCurves,
    effects: FloatArray,
    band: Band | None,
) -> dict[str, Any]:
    """One feature in one scope.

    Parameters
    ----------
    source : ReportSource
    axis : FeatureAxis
    scope : ScopeCurves
    effects : array of shape (1 + n_levels,)
        The curve of the feature around the mean of the scope, missing first.
    band : Band, optional
        Where the rows' own curves run.

    Returns
    -------
    dict
        ``region``; ``centre`` (mean prediction); ``values`` (how many different ones occur);
        ``rows`` of each bar; ``curve`` at all places of the axis, and ``mean``, the same where the
        rows of the scope reach; ``low``, ``high``, ``error`` and ``effect_error`` of the band.
    """
    mean = float(scope.surrogate.mean)
    counts = _level_counts(source, axis.column, scope.region)
    curve = axis.at_places(effects) + scope.surrogate.mean
    is_reached = axis.reaches(counts)
    panel: dict[str, Any] = {
        "region": scope.region,
        "centre": mean,
        "values": int(np.count_nonzero(counts)),
        "rows": axis.bars(counts).rows.astype(int).tolist(),
        "curve": rounded(curve),
        "mean": rounded(np.where(is_reached, curve, np.nan)),
    }
    for key in Band._fields:
        panel[key] = None
        if band is not None:
            panel[key] = rounded(np.where(is_reached, getattr(band, key), np.nan))
    return panel


def _other_explanations(values: Values) -> dict[str, list[OtherExplanation]]:
    """Local explanations other than ICE and PDP that the questions compare, by feature."""
    by_feature: dict[str, list[OtherExplanation]] = {}
    for resolved in values.fitted.questions:
        is_local = resolved.first.behavior.key == "local"
        if not is_local or len(resolved.first.layout.sets) < 2:
            continue
        for side, name in _sides_beside_ice_and_pdp(resolved):
            scopes = values.of_question(resolved).scopes
            for i, label in enumerate(set_labels(resolved)):
                by_scope = [
                    LocalEffects(in_scope.scope.rows, in_scope.parts[side].values[:, i])
                    for in_scope in scopes
                ]
                by_feature.setdefault(label, []).append(OtherExplanation(name, by_scope))
    return by_feature


def _sides_beside_ice_and_pdp(resolved: ResolvedQuestion) -> Iterator[tuple[int, str]]:
    """Number (0 or 1) and name of the explanations of a question that are neither ICE nor PDP."""
    question = resolved.question
    if question.first.name not in ("ice", "pdp"):
        yield 0, title(question.first.name, "first")
    if question.second.name not in ("ice", "pdp"):
        yield 1, title(question.second.name, "second")


def _line(column: Column, name: str, local: LocalEffects, mean: float) -> dict[str, Any]:
    """Mean of local effects in the tenths of an ordered feature, around the mean prediction."""
    if not column.is_ordered:
        return {"name": name, "x": [], "y": []}
    part = column.take(local.rows)
    bins = dependence_bins(part)  # from 1; 0: missing
    places = FeatureAxis(column).of_rows(part)
    xs = []
    ys = []
    for number in np.unique(bins[bins > 0]).tolist():
        in_bin = bins == number
        xs.append(places[in_bin].mean())
        ys.append(local.effects[in_bin].mean() + mean)
    return {"name": name, "x": rounded(xs), "y": rounded(ys)}
