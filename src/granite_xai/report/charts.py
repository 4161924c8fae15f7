"""The figures of the page: curves along features, and the effects of all features on all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from granite_xai.algebra.catalog import title
from granite_xai.base.document import Table
from granite_xai.base.text import plain, shortened
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.shared import SharedCurve
from granite_xai.document.chart import FeatureAxis, level_counts
from granite_xai.document.svg import (
    N_SHADES,
    DrawnCurve,
    Limits,
    Point,
    Strip,
    paint_curves,
    paint_overview,
)
from granite_xai.inference.nodes import tree_places
from granite_xai.regions import Rule, rule_words
from granite_xai.report.facts import Source, node_rule
from granite_xai.tables import Column

NARROW = 358.0  # width of the figures that a phone shows
SIZES: Mapping[str, Mapping[str, Point]] = {
    "whole": {"wide": (932.0, 330.0), "narrow": (NARROW, 290.0)},
    "half": {"wide": (452.0, 240.0), "narrow": (NARROW, 250.0)},
    "third": {"": (300.0, 190.0)},
}
"""Of a figure that takes the whole width of the page or a part of it, by the screens that show it."""

PAD = 0.06  # share of the range of the curves that is left free above and below them
NEAR_ZERO = 0.25  # share of the highest value: an axis whose lowest value is smaller begins at 0
LABEL_LETTERS = 40
MOST_STRIPS = 12  # features of the overview
TRIMMED = 0.004  # share of effects on each side that lie at the edge of the overview
DEFAULT_LEVEL = 0.95  # of intervals, where the fit estimated nothing


@dataclass(frozen=True)
class Figure:
    """A figure of the page with its numbers.

    Parameters
    ----------
    name : str
    caption : str
    charts : sequence of str
        SVG, one for each size of the screen.
    values : Table, optional
        Its numbers, which are read by keys.
    width : "whole", "half" or "third"
        Of the page, that it takes.
    has_outer : bool
        Whether a curve goes on beyond the range that sentences state.
    hint : str
        What a pointer does there.
    """

    name: str
    caption: str
    charts: Sequence[str]
    values: Table | None = None
    width: str = "whole"
    has_outer: bool = False
    hint: str = ""


# Curves along a feature --------------------------------------------------------------------------------


class FeatureChart:
    """The curves of one feature: that of all rows, then every other one that is told.

    Parameters
    ----------
    source : Source
    label : str
        Of the feature.
    is_effect : bool
        Whether it shows effects, counted from the mean; otherwise predictions.
    others : mapping of region (None: all rows) to arrays of shape (n_rows,), optional
        Effects of the feature on single rows by another explanation, whose mean is drawn beside the curve that each
        region has.
    """

    def __init__(
        self,
        source: Source,
        label: str,
        is_effect: bool = False,
        others: Mapping[int | None, FloatArray] | None = None,
    ) -> None:
        self.source = source
        self.label = label
        self.is_effect = is_effect
        everywhere = next(c for c in source.curves.everywhere if c.label == label)
        if everywhere.column is None:
            raise ValueError(f"{label} has no curve")
        self.everywhere = everywhere
        told = [curve for curve in source.curves.of(label) if curve.node != 0]
        if others is not None:
            told = [_in_region(source, label, region) for region in others if region is not None]
        self.shared = [everywhere, *(curve for curve in told if self._varies(curve))]
        self.axis = FeatureAxis(
            everywhere.column,
            counts=everywhere.shares * everywhere.n_rows,
            effects=everywhere.effects,
            also=np.concatenate([_told_levels(curve) for curve in self.shared]),
        )
        estimate = source.fitted.estimate
        level = DEFAULT_LEVEL if estimate is None else estimate.confidence_level
        self._errors_in_half = NormalDist().inv_cdf(0.5 + level / 2)
        labels = curve_labels(source, self.shared[1:], label)
        marks = ["·".join(map(str, curve.regions)) for curve in self.shared[1:]]
        self.labels = ["all rows" if labels else "", *labels]
        marks = ["all" if labels else "", *marks]
        self.curves = [
            self._drawn(curve, text, mark)
            for curve, text, mark in zip(self.shared, self.labels, marks, strict=True)
        ]
        if others is not None:
            self.curves = [self._beside(curve, others) for curve in self.curves]

    def _varies(self, curve: SharedCurve) -> bool:
        """Whether the feature takes several values in the node's rows; otherwise the split has settled it."""
        return int(np.count_nonzero(curve.shares)) > 1

    def _drawn(self, curve: SharedCurve, label: str, mark: str) -> DrawnCurve:
        """A curve at the places of the axis that rows of its node reach."""
        axis = self.axis
        is_reached = axis.reaches(curve.shares)
        centre = 0.0 if self.is_effect else curve.mean

        def at_places(values: FloatArray) -> FloatArray:
            return np.where(is_reached, axis.at_places(values), np.nan)

        # Between the ends of the range a line passes over what no row has where it would leave the range.
        reached = curve.reached
        ends = np.flatnonzero(reached[1:])
        is_outer = np.ones(len(axis.x), dtype=np.bool_)
        is_passed = np.zeros(len(axis.x), dtype=np.bool_)
        inside = curve.effects[reached]
        for place, group in enumerate(axis.groups):
            is_outer[place] = not reached[group + 1].any()
            between = len(ends) and ends[0] <= group[0] <= ends[-1]
            if axis.ordered and is_outer[place] and between:
                is_outer[place] = False
                effects = curve.effects[group + 1]
                is_passed[place] = bool(
                    effects.max() > inside.max() or effects.min() < inside.min()
                )
        return DrawnCurve(
            y=centre + at_places(curve.effects),
            half_widths=self._errors_in_half * at_places(curve.errors),
            low=centre + at_places(curve.low),
            high=centre + at_places(curve.high),
            regions=None if curve.node == 0 else curve.regions,
            label=label,
            mark=mark,
            is_outer=is_outer,
            is_passed=is_passed,
        )

    def _beside(self, curve: DrawnCurve, others: Mapping[int | None, FloatArray]) -> DrawnCurve:
        """A curve with the mean of another explanation in the tenths of its rows."""
        region = None if curve.regions is None else curve.regions[0]
        values = self.source.values
        if values is None or not self.axis.ordered:
            return curve
        rows = np.arange(values.table.n_rows)
        mean = self.everywhere.mean
        if region is not None:
            rows = np.flatnonzero(values.regions == region)
            mean = self.source.curves.means[region]
        column = values.table.columns[self.axis.column.position]
        places = self.axis.of_rows(column)[rows]
        order = np.argsort(places, kind="stable")
        order = order[np.isfinite(places[order]) & (column.codes[rows[order]] >= 0)]
        tenths = np.array_split(order, min(10, max(len(order), 1)))
        x = [places[tenth].mean() for tenth in tenths]
        y = [mean + others[region][tenth].mean() for tenth in tenths]
        dashed = np.interp(self.axis.x, x, y, left=np.nan, right=np.nan)
        return curve._replace(dashed=dashed)

    @property
    def has_band(self) -> bool:
        """Whether the band of the rows' own curves is always drawn: there is one curve only."""
        return len(self.curves) == 1 and not self.is_effect

    def limits(self) -> Limits:
        """The vertical range that holds its curves; from 0 where that is near."""
        ends = []
        for curve in self.curves:
            ends += [curve.y - np.nan_to_num(curve.half_widths), curve.y]
            ends += [curve.y + np.nan_to_num(curve.half_widths)]
            if curve.dashed is not None:
                ends.append(curve.dashed)
            if self.has_band:
                ends += [curve.low, curve.high]
        heights = np.concatenate(ends)
        heights = heights[np.isfinite(heights)]
        low, high = (heights.min(), heights.max()) if len(heights) else (0.0, 1.0)
        pad = PAD * (high - low) or abs(high) * 0.1 or 1.0
        if not self.is_effect and 0 <= low < NEAR_ZERO * high:
            return 0.0, float(high + pad)
        return float(low - pad), float(high + pad)

    def figure(self, caption: str, width: str = "whole", limits: Limits | None = None) -> Figure:
        """The figure, in every size that screens need.

        Parameters
        ----------
        caption : str
        width : "whole", "half" or "third"
            Of the page.
        limits : (float, float), optional
            Of the vertical axis; None: its own.
        """
        output = self.source.finding.output
        write: Callable[[float], str] = self._level_text
        y_title = f"{output.name} ({output.unit.unit})" if output.unit.unit else output.name
        if self.is_effect:
            write = self._effect_text
            y_title = f"effect ({output.unit.noun})" if output.unit.noun else "effect"
        charts = [
            paint_curves(
                self.axis,
                self.curves,
                limits or self.limits(),
                size=size,
                title=y_title,
                write=write,
                css_class=look,
                band_of_all=self.has_band,
            )
            for look, size in SIZES[width].items()
        ]
        heads = ["all rows", *(f"region {'·'.join(map(str, c.regions))}" for c in self.shared[1:])]
        rows = []
        for place, text in enumerate(self.axis.texts):
            heights = [float(curve.y[place]) for curve in self.curves]
            rows.append([text, *("" if np.isnan(y) else write(y) for y in heights)])
        values = Table([self.label, *heads], rows)
        has_outer = any(
            bool(np.any(curve.is_outer & np.isfinite(curve.y)))
            for curve in self.curves
            if curve.is_outer is not None
        )
        return Figure(self.label, caption, charts, values, width, has_outer)

    def _level_text(self, value: float) -> str:
        return self.source.finding.output.unit.level(value, bare=True)

    def _effect_text(self, value: float) -> str:
        return self.source.finding.output.unit.signed_effect(value, bare=True)


def _told_levels(curve: SharedCurve) -> IntArray:
    """Codes of the levels between which its range is taken, and of those that are highest and lowest there."""
    codes = np.flatnonzero(curve.reached[1:])
    if not len(codes):
        return codes
    effects = curve.effects[1:][codes]
    return codes[[0, int(effects.argmin()), int(effects.argmax()), -1]]


def _in_region(source: Source, label: str, region: int) -> SharedCurve:
    """The curve of a feature in a region, as that of this region alone."""
    curve = next(c for c in source.curves.in_region(region) if c.label == label)
    nodes = tree_places(source.fitted.partition)
    node = next(number for number, place in enumerate(nodes) if place.region == region)
    mean = float(source.curves.means[region])
    return replace(curve, node=node, regions=(region,), mean=mean)


def both_explanations(source: Source) -> Figure | None:
    """The main feature by both explanations of a question, in every region, where one is neither ICE nor PDP."""
    resolved = source.fitted.questions[0]
    question = resolved.question
    names = [side.name for side in (question.first, question.second)]
    sides = [number for number, name in enumerate(names) if name not in ("ice", "pdp")]
    if source.values is None or not sides or resolved.first.behavior.key != "local":
        return None
    explained = source.values.of_question(resolved)
    drawn = [curve.label for curve in source.curves.everywhere if curve.column is not None]
    labels = [names[0] if len(names) == 1 else "" for names in explained.sets]
    gaps = explained.scopes[0].gaps
    largest = sorted(range(len(labels)), key=lambda number: -gaps[number])
    number = next((number for number in largest if labels[number] in drawn), None)
    if number is None:
        return None
    others = {
        in_scope.scope.region: in_scope.parts[sides[0]].values[:, number]
        for in_scope in explained.scopes
    }
    chart = FeatureChart(source, labels[number], others=others)
    other = title(names[sides[0]], "first")
    return chart.figure(f"Lines: average prediction (PDP). Dotted: {other}, in tenths of the rows.")


def curve_labels(source: Source, curves: Sequence[SharedCurve], feature: str) -> list[str]:
    """What stands at the ends of curves: names of regions, or rules without what all of them share.

    What the axis shows itself, conditions on its own feature, is left out where something else remains.
    """
    rules = [node_rule(source, curve.node) for curve in curves]
    shared = (
        set(rules[0].conditions).intersection(*(rule.conditions for rule in rules))
        if rules
        else set()
    )
    labels = []
    for curve, rule in zip(curves, rules, strict=True):
        name = source.fitted.partition[curve.regions[0]].name
        if name and len(curve.regions) == 1:
            labels.append(shortened(name, LABEL_LETTERS))
            continue
        own = [condition for condition in rule.conditions if condition not in shared]
        off_axis = [condition for condition in own if condition[0] != feature]
        kept = Rule(tuple(off_axis or own or rule.conditions))
        labels.append(rule_words(kept, source.finding.vocabulary))
    return [
        label if labels.count(label) == 1 else rule_words(rule, source.finding.vocabulary)
        for label, rule in zip(labels, rules, strict=True)
    ]


# All features and rows ---------------------------------------------------------------------------------


def overview_figure(source: Source) -> Figure | None:
    """Effects of the strongest features on single rows, on all rows and in each region.

    None where the question has no effects of single features on single rows, or where all are 0.
    """
    values = source.values
    resolved = source.fitted.questions[0]
    sets = resolved.first.layout.sets
    is_of_columns = all(len(players) == 1 and len(next(iter(players))) == 1 for players in sets)
    if values is None or resolved.first.behavior.key != "local" or not is_of_columns:
        return None
    explained = values.of_question(resolved)
    on_all_rows = explained.scopes[0]
    sizes = on_all_rows.size_of(0)
    strongest = np.argsort(-sizes, kind="stable")[:MOST_STRIPS].tolist()
    effects = [in_scope.parts[0].values[:, strongest] for in_scope in explained.scopes]
    low = min(float(np.quantile(part, TRIMMED)) for part in effects)
    high = max(float(np.quantile(part, 1.0 - TRIMMED)) for part in effects)
    limits = (min(low, 0.0), max(high, 0.0))
    if limits[0] == limits[1]:
        return None
    unit = source.finding.output.unit
    strips = []
    for number, position in enumerate(strongest):
        column = values.table.columns[min(next(iter(sets[position])))]
        shades = _shades(column)
        of_scope = {}
        shades_of_scope = {}
        for in_scope, part in zip(explained.scopes, effects, strict=True):
            region = in_scope.scope.region
            name = "all" if region is None else str(region)
            of_scope[name] = part[:, number]
            shades_of_scope[name] = shades[in_scope.scope.rows]
        size = unit.effect(float(sizes[position]), bare=True)
        strips.append(Strip(explained.sets[position][0], size, of_scope, shades_of_scope))
    noun = f" ({unit.noun})" if unit.noun else ""

    def write(value: float) -> str:
        return unit.signed_effect(value, bare=True)

    charts = [
        paint_overview(
            strips,
            limits,
            width=width,
            title=f"effect on {source.finding.output.name}{noun}",
            write=write,
            css_class=look,
        )
        for look, width in (("wide", 932.0), ("narrow", NARROW))
    ]
    left_out = np.argsort(-sizes, kind="stable")[MOST_STRIPS:].tolist()
    caption = ""
    if left_out:
        others = f"{len(left_out)} more are"
        if len(left_out) == 1:
            others = f"{shortened(plain(explained.sets[left_out[0]][0]))} is"
        caption = f"The {len(strips)} features with the largest effects; {others} not shown."
    return Figure("effects on single rows", caption, charts)


def _shades(column: Column) -> IntArray:
    """Where each row's value stands among those of all rows, from 0 to 4; -1: missing, or without an order."""
    counts = level_counts(column)
    counts[0] = 0.0
    if column.is_ordered or len(column.levels) == 2:
        ranks = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1.0)
        if len(column.levels) == 2:
            ranks = np.array([0.0, 0.0, 1.0])
        by_level = np.minimum((N_SHADES * ranks).astype(np.intp), N_SHADES - 1)
    else:
        by_level = np.full(len(counts), -1)
    by_level[0] = -1
    return np.asarray(by_level[column.codes + 1], dtype=np.intp)
