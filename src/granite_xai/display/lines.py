"""What is drawn of explanations along one column, panel by panel: a line a row, one line, or points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import AleColumn, Elementwise, FloatArray, IntArray
from granite_xai.base.wording import MISSING
from granite_xai.curves import dependence_bins, ice_curves
from granite_xai.display.axis import Axis, shown_levels
from granite_xai.explainer import Explainer
from granite_xai.explanation import Part
from granite_xai.masking.accumulated import AleIntervals
from granite_xai.scopes import EFFECTS, RegionValues, RowsToShow, Scope, ShownValues, sides_shown
from granite_xai.tables import Column, Table

MOST_CURVES = 50
"""Curves of single rows in a panel (S15)."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One thing drawn in a panel: a thin curve of one row, a thick line, points, or bars with their right ends.

    Bars show the data, under the name "rows". Places on an axis of levels or dates have names, numbers None.
    """

    shape: Literal["curve", "line", "points", "bars"]
    explanation: str
    x: FloatArray
    y: FloatArray
    levels: Sequence[str | None]
    end: FloatArray | None = None
    joined: bool = True
    errors: FloatArray | None = None  # standard errors of y over the rows; None: not known


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One column in one scope, and the share of its disagreement on all rows that is left there (NaN: none to tell)."""

    scope: Scope
    axis: Axis
    lines: tuple[Line, ...]
    disagreement: float


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """One column in one scope: what its lines are made of."""

    shown: RowsToShow
    values: RegionValues
    table: Table
    axis: Axis
    points: int
    max_curves: int

    @property
    def column(self) -> Column:
        """The column on the rows of the scope."""
        return self.table.columns[self.axis.column.position]

    def drawn(self, most: int) -> IntArray:
        """Some rows, drawn once for all panels of the scope: they carry no label."""
        count = self.table.n_rows
        if count <= most:
            return np.arange(count)
        return np.sort(np.random.default_rng(self.shown.seed).choice(count, size=most, replace=False))


def pure_line(strip: Strip, part: Part, place: int) -> list[Line]:
    """An effect that depends on the column alone: its value at some of the observed values."""
    column, shown = strip.column, shown_levels(strip.axis, strip.table, strip.points)
    by_code, errors = np.zeros((2, len(column.levels) + 1))
    by_code[column.codes], errors[column.codes] = part.values[:, place], part.errors[:, place]
    values = (shown.x, by_code[shown.codes], shown.texts)
    return [Line("line", part.name, *values, joined=strip.axis.ordered, errors=errors[shown.codes])]


def full_curves(strip: Strip, part: Part, place: int) -> list[Line]:
    """The prediction of single rows along the column, each counted from where its own effect is."""
    rows = strip.drawn(strip.max_curves)
    at = shown_levels(strip.axis, strip.table, strip.points)
    if not len(rows) or not len(at.x):
        return []
    predictor, resources = strip.shown.fitted.predictor, strip.shown.rows.resources
    curves = ice_curves(predictor, strip.table.take(rows), at.grid, resources)
    shifted = curves - (strip.values.predictions[rows] - part.values[rows, place])[:, None]
    return [Line("curve", part.name, at.x, curve, at.texts, joined=strip.axis.ordered) for curve in shifted]


def partial_points(strip: Strip, part: Part, place: int) -> list[Line]:
    """Effects of single rows against the column's value, and their mean at each value (tenth, where there are many)."""
    rows = strip.drawn(4 * MOST_CURVES)
    column, effects = strip.column, part.values[:, place]
    x = strip.axis.of_rows(column)
    placed = rows[np.isfinite(x[rows])]
    levels = strip.axis.texts(column.values[placed])
    levels = [MISSING if column.missing[row] else level for row, level in zip(placed, levels, strict=True)]
    # Tenths would flatten peaks that a line through few values shows, and look like disagreement.
    fine = len(column.levels) <= strip.points
    bins = np.unique(column.codes if fine else dependence_bins(column), return_inverse=True)[1].reshape(-1)
    counts = np.bincount(bins)
    middles, means = (np.bincount(bins, weights=values) / counts for values in (x, effects))
    kept = np.flatnonzero(np.isfinite(middles))
    kept = kept[np.argsort(middles[kept], kind="stable")]
    names = dict(zip(bins.tolist(), map(str, column.values), strict=True)) if strip.axis.labelled else {}
    names |= dict.fromkeys(bins[column.missing].tolist(), MISSING)
    at = [names.get(k) for k in kept.tolist()]
    return [
        Line("points", part.name, x[placed], effects[placed], levels, joined=False),
        Line("line", part.name, middles[kept], means[kept], at, joined=strip.axis.ordered),
    ]


def accumulated_lines(strip: Strip, part: Part, place: int, steps: AleIntervals | None, averaged: bool) -> list[Line]:
    """ALE: the running sum of mean changes; a single row's change starts where the sum is."""
    if steps is None:
        return []
    (positions, intervals), changes = steps.within(strip.column), part.values[:, place]
    edges = steps.fitted.levels[positions]
    ends, texts = strip.axis.numbers(edges), strip.axis.texts(edges)
    counts = np.bincount(intervals, minlength=len(ends))[1:]
    means = np.bincount(intervals, weights=changes, minlength=len(ends))[1:] / np.maximum(counts, 1)
    curve = np.append(0.0, np.cumsum(means))
    curve -= float((curve[:-1] + curve[1:]) / 2 @ counts) / max(counts.sum(), 1)
    if averaged:
        walked = np.flatnonzero(counts)
        span = slice(walked[0], walked[-1] + 2) if len(walked) else slice(0, 0)
        squares = np.bincount(intervals, weights=np.square(part.errors[:, place]), minlength=len(ends))[1:]
        # Intervals hold different rows: the variances of their mean changes add up along the curve.
        errors = np.sqrt(np.append(0.0, np.cumsum(squares / np.maximum(counts, 1))))
        return [Line("line", part.name, ends[span], curve[span], texts[span], errors=errors[span])]
    found = []
    for row in strip.drawn(strip.max_curves).tolist():
        if intervals[row] > 0:
            span = slice(intervals[row] - 1, intervals[row] + 1)
            moved = curve[span.start] + np.array([0.0, changes[row]])
            found.append(Line("curve", part.name, ends[span], moved, texts[span]))
    return found


def drawable_sides(own: tuple[Explainer, Explainer], asked: Any) -> tuple[Explainer, ...]:
    """The explanations shown: those asked for, the question's where it is about effects of columns, or ICE and PDP."""

    def fits(side: Explainer) -> bool:
        return side.behavior.key == "local" and side.interaction.key in EFFECTS

    sides = sides_shown(own, asked, lambda side: side.influence.key == "individual" and fits(side))
    for side in sides:
        if not fits(side):
            raise InputError(
                f"{side.name or 'an explanation'!r} is no effect of single columns on single predictions.",
                code="P03",
                argument="explanations",
                hint="Choose local ones such as 'ice', 'pdp', 'mplot', 'ale' or 'shap'.",
            )
    return sides


def strongest(values: RegionValues, loss: Elementwise, most: int) -> list[int]:
    """Sets on which the explanations disagree most; with one explanation those of the largest effects."""
    first = values.parts[0].values
    gaps = loss(first - values.parts[1].values) if len(values.parts) > 1 else np.square(first)
    return np.argsort(-gaps.mean(axis=0), kind="stable")[:most].tolist()  # type: ignore[no-any-return]


def panels_of(
    found: ShownValues, sides: Sequence[Explainer], strips: Sequence[Strip], place: int, loss: Elementwise
) -> tuple[Panel, ...]:
    """All panels of one column."""
    gaps = [np.nan] * len(strips)
    if len(sides) == 2:
        both = ([part.values[:, place] for part in strip.values.parts] for strip in strips)
        gaps = [float(loss(one - two).mean()) for one, two in both]
    panels = []
    for strip, gap in zip(strips, gaps, strict=True):
        lines: list[Line] = []
        for side, part in zip(sides, strip.values.parts, strict=True):
            lines += _lines(found, side, strip, part, place)
        share = gap / gaps[0] if gaps[0] > 0 else (0.0 if len(sides) == 2 and lines else np.nan)
        left, right, shares = strip.axis.bars(strip.column)
        bars = Line("bars", "rows", left, shares, [None] * len(left), end=right)
        panels.append(Panel(strip.values.scope, strip.axis, (bars, *lines), float(share)))
    return tuple(panels)


def _lines(found: ShownValues, side: Explainer, strip: Strip, part: Part, place: int) -> list[Line]:
    if side.masking.key == "accumulated":
        steps = found.intervals.get(AleColumn(strip.axis.column.position, getattr(side.masking, "intervals", 0)))
        return accumulated_lines(strip, part, place, steps, side.interaction.key == "pure")
    makers = {"pure": pure_line, "full": full_curves, "partial": partial_points}
    return makers[side.interaction.key](strip, part, place)


def cells_of(panel: Panel) -> list[tuple[Any, ...]]:
    """Cells of the frame: explanation, shape, curve, x, x_end, level, value, standard_error."""
    cells: list[tuple[Any, ...]] = []
    number = 0
    for line in panel.lines:
        ends = [None] * len(line.x) if line.end is None else line.end.tolist()
        curve = number if line.shape == "curve" else None
        number += line.shape == "curve"
        errors = [None] * len(line.x) if line.errors is None else line.errors.tolist()
        places = zip(line.x.tolist(), ends, line.levels, line.y.tolist(), errors, strict=True)
        cells += [(line.explanation, line.shape, curve, *place) for place in places]
    if panel.disagreement == panel.disagreement:
        cells.append(("disagreement", "text", None, None, None, None, panel.disagreement, None))
    return cells
