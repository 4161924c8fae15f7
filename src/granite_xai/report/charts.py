"""The figures of the page: curves along features, and the effects of all features on all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import cast

import numpy as np

from granite_xai.algebra.catalog import title
from granite_xai.base.document import Table
from granite_xai.base.text import plain, shortened
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.shared import SharedCurve
from granite_xai.document.chart import Chart, FeatureAxis, Mark, limits_of, value_ranks
from granite_xai.document.svg import N_SHADES, Limits, Point, paint_curves, paint_overview
from granite_xai.regions import Rule, rule_words
from granite_xai.report.facts import Source
from granite_xai.results.values import Values
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


@dataclass
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
        told = [curve for curve in source.curves.of(label) if curve.node != 0]
        if others is not None:
            told = [_in_region(source, label, region) for region in others if region is not None]
        # Where the feature takes one value only, the split has settled it.
        told = [curve for curve in told if np.count_nonzero(curve.shares) > 1]
        self.curves = [everywhere, *told]
        column = cast(Column, everywhere.column)
        axis = FeatureAxis(
            column,
            counts=everywhere.shares * everywhere.n_rows,
            effects=everywhere.effects,
            also=np.concatenate([_told_levels(curve) for curve in self.curves]),
        )
        noun = source.output.unit.noun if is_effect else source.output.unit.unit
        what = "effect" if is_effect else source.output.name
        marks: list[Mark] = []
        ends = ["all rows" if told else "", *curve_labels(source, told, label)]
        is_alone = not told and not is_effect
        for curve, end in zip(self.curves, ends, strict=True):
            marks += self._marks(curve, axis, end, with_band=curve.node != 0 or is_alone)
            if others is not None and axis.ordered:
                marks.append(self._beside(curve, axis, others))
        self.chart = Chart(axis, tuple(marks), f"{what} ({noun})" if noun else what)

    def _marks(
        self, curve: SharedCurve, axis: FeatureAxis, label: str, *, with_band: bool
    ) -> list[Mark]:
        """A curve with its intervals at the places that rows of its node reach, and the band of these rows' curves."""
        is_reached = axis.reaches(curve.shares)
        centre = 0.0 if self.is_effect else curve.mean

        def at_places(values: FloatArray) -> FloatArray:
            return np.where(is_reached, axis.at_places(values), np.nan)

        x = np.array(axis.x)
        y = centre + at_places(curve.effects)
        regions = None if curve.node == 0 else curve.regions
        marks = []
        if with_band:
            low, high = centre + at_places(curve.low), centre + at_places(curve.high)
            marks.append(Mark("band", self.label, x, y, low=low, high=high, regions=regions))
        # Between the ends of the range a line passes over what no row has where it would leave the range.
        reached = curve.reached
        ends = np.flatnonzero(reached[1:])
        inside = curve.effects[reached]
        is_outer = np.ones(len(x), dtype=np.bool_)
        is_passed = np.zeros(len(x), dtype=np.bool_)
        for place, group in enumerate(axis.groups):
            is_outer[place] = not reached[group + 1].any()
            if axis.ordered and is_outer[place] and len(ends) and ends[0] <= group[0] <= ends[-1]:
                effects = curve.effects[group + 1]
                is_outer[place] = False
                is_passed[place] = effects.max() > inside.max() or effects.min() < inside.min()
        estimate = self.source.fitted.estimate
        level = DEFAULT_LEVEL if estimate is None else estimate.confidence_level
        halves = NormalDist().inv_cdf(0.5 + level / 2) * at_places(curve.errors)
        short = "all" if regions is None else "·".join(map(str, regions))
        marks.append(
            Mark(
                "line",
                self.label,
                x,
                y,
                low=y - halves,
                high=y + halves,
                regions=regions,
                label=label,
                mark=short if label else "",
                is_outer=is_outer,
                is_passed=is_passed,
            )
        )
        return marks

    def _beside(
        self, curve: SharedCurve, axis: FeatureAxis, others: Mapping[int | None, FloatArray]
    ) -> Mark:
        """The mean of another explanation in the tenths of a curve's rows."""
        values = cast(Values, self.source.values)
        region = None if curve.node == 0 else curve.regions[0]
        rows = np.arange(values.table.n_rows)
        if region is not None:
            rows = np.flatnonzero(values.regions == region)
        column = values.table.columns[axis.column.position]
        places = axis.of_rows(column)[rows]
        order = np.argsort(places, kind="stable")
        order = order[np.isfinite(places[order]) & (column.codes[rows[order]] >= 0)]
        tenths = np.array_split(order, min(10, max(len(order), 1)))
        x = [places[tenth].mean() for tenth in tenths]
        y = [curve.mean + others[region][tenth].mean() for tenth in tenths]
        dashed = np.interp(axis.x, x, y, left=np.nan, right=np.nan)
        regions = None if region is None else curve.regions
        return Mark("line", "other", np.array(axis.x), dashed, regions=regions, dashed=True)

    @property
    def limits(self) -> Limits:
        """The vertical range that holds what is always seen of it; from 0 where that is near."""
        is_seen = [mark.shape != "band" or mark.regions is None for mark in self.chart.marks]
        seen = tuple(mark for mark, seen in zip(self.chart.marks, is_seen, strict=True) if seen)
        low, high = limits_of([replace(self.chart, marks=seen)])
        pad = PAD * (high - low) or abs(high) * 0.1 or 1.0
        if not self.is_effect and 0 <= low < NEAR_ZERO * high:
            return 0.0, high + pad
        return low - pad, high + pad

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
        unit = self.source.output.unit
        write: Callable[..., str] = unit.signed_effect if self.is_effect else unit.level
        write = partial(write, bare=True)
        charts = [
            paint_curves(self.chart, limits or self.limits, size=size, write=write, css_class=look)
            for look, size in SIZES[width].items()
        ]
        heads = [self.label, "all rows"]
        heads += [f"region {'·'.join(map(str, curve.regions))}" for curve in self.curves[1:]]
        lines = [mark for mark in self.chart.marks if mark.shape == "line" and not mark.dashed]
        rows = []
        for place, text in enumerate(self.chart.axis.texts):
            heights = [float(mark.y[place]) for mark in lines]
            rows.append([text, *("" if np.isnan(y) else write(y) for y in heights)])
        has_outer = any(np.any(mark.is_outer & np.isfinite(mark.y)) for mark in lines)
        return Figure(self.label, caption, charts, Table(heads, rows), width, has_outer)


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
    node = next(place.number for place in source.facts.places if place.region == region)
    mean = source.facts.figures.leaves[region].mean
    return replace(curve, node=node, regions=(region,), mean=mean)


def both_explanations(source: Source) -> Figure | None:
    """The main feature by both explanations of a question, in every region, where one is neither ICE nor PDP."""
    resolved = source.fitted.questions[0]
    names = [resolved.question.first.name, resolved.question.second.name]
    sides = [number for number, name in enumerate(names) if name not in ("ice", "pdp")]
    is_local = resolved.first.behavior.key == "local"
    # Curves are told as changes of the prediction: values on another scale do not stand beside them.
    if not source.explained or not sides or not is_local or source.output.unit.scale:
        return None
    explained = source.explained[0]
    for number in np.argsort(-explained.scopes[0].gaps, kind="stable"):
        if explained.sets[number] in [(label,) for label in source.drawn]:
            others = {
                in_scope.scope.region: in_scope.parts[sides[0]].values[:, number]
                for in_scope in explained.scopes
            }
            other = title(names[sides[0]], "first")
            caption = f"Lines: average prediction (PDP). Dotted: {other}, in tenths of the rows."
            return FeatureChart(source, explained.sets[number][0], others=others).figure(caption)
    return None


def curve_labels(source: Source, curves: Sequence[SharedCurve], feature: str) -> list[str]:
    """What stands at the ends of curves: names of regions, or rules without what all of them share.

    What the axis shows itself, conditions on its own feature, is left out where something else remains.
    """
    vocabulary = source.facts.vocabulary
    rules = [source.facts.places[curve.node].rule for curve in curves]
    labels = []
    for curve, rule in zip(curves, rules, strict=True):
        name = source.fitted.partition[curve.regions[0]].name
        if name and len(curve.regions) == 1:
            labels.append(shortened(name, LABEL_LETTERS))
            continue
        own = [
            condition
            for condition in rule.conditions
            if not all(condition in other.conditions for other in rules)
        ]
        off_axis = [condition for condition in own if condition[0] != feature]
        labels.append(rule_words(Rule(tuple(off_axis or own or rule.conditions)), vocabulary))
    return [
        label if labels.count(label) == 1 else rule_words(rule, vocabulary)
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
    explained = source.explained[0]
    sizes = explained.scopes[0].size_of(0)
    order = np.argsort(-sizes, kind="stable")
    strongest = order[:MOST_STRIPS]
    names = [explained.sets[position][0] for position in order]
    columns = [values.table.columns[min(next(iter(sets[position])))] for position in strongest]
    ranks = np.stack([value_ranks(column) for column in columns], axis=1)
    of_rows = np.minimum(np.floor(np.nan_to_num(N_SHADES * ranks, nan=-1)), N_SHADES - 1)
    effects = {}
    shades = {}
    for in_scope in explained.scopes:
        region = in_scope.scope.region
        scope = "all" if region is None else str(region)
        effects[scope] = in_scope.parts[0].values[:, strongest]
        shades[scope] = of_rows[in_scope.scope.rows].astype(np.intp)
    low = min(float(np.quantile(part, TRIMMED)) for part in effects.values())
    high = max(float(np.quantile(part, 1.0 - TRIMMED)) for part in effects.values())
    limits = (min(low, 0.0), max(high, 0.0))
    if limits[0] == limits[1]:
        return None
    unit = source.output.unit.on_scale
    noun = f" ({unit.noun})" if unit.noun else ""
    charts = [
        paint_overview(
            names[:MOST_STRIPS],
            [unit.effect(float(sizes[position]), bare=True) for position in strongest],
            effects,
            shades,
            limits,
            width=width,
            title=f"effect on {source.output.name}{noun}",
            write=partial(unit.signed_effect, bare=True),
            css_class=look,
        )
        for look, width in (("wide", 932.0), ("narrow", NARROW))
    ]
    caption = ""
    n_more = len(names) - MOST_STRIPS
    if n_more > 0:
        others = f"{n_more} more are" if n_more > 1 else f"{shortened(plain(names[-1]))} is"
        caption = f"The {MOST_STRIPS} features with the largest effects; {others} not shown."
    return Figure("effects on single rows", caption, charts)
