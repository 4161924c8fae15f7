"""Lines of an effect display: what one explanation says about one feature in one scope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import AleColumn, FloatArray, IntArray
from granite_xai.base.wording import MISSING
from granite_xai.display.axis import Axis, Line, ShownLevels, shown_levels
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.masking.accumulated import AleIntervals
from granite_xai.explanation.result import Part
from granite_xai.results.shown_values import RegionValues, RowsToShow, ShownValues
from granite_xai.surrogate.grids import dependence_bins
from granite_xai.surrogate.ice import ice_curves
from granite_xai.tables import Column, Table

MOST_CURVES = 50  # of single rows in a panel (S15)


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """One feature in one scope: what its lines are made of."""

    shown: RowsToShow
    values: RegionValues
    table: Table
    axis: Axis
    points: int
    max_curves: int

    @property
    def column(self) -> Column:
        """The feature on the rows of the scope."""
        return self.table.columns[self.axis.column.position]

    def drawn(self, most: int) -> IntArray:
        """Some rows, the same in all panels of the scope: they carry no label."""
        n_rows = self.table.n_rows
        generator = np.random.default_rng(self.shown.seed)
        return np.sort(generator.choice(n_rows, size=min(most, n_rows), replace=False))

    def bars(self) -> Line:
        """Where the rows lie."""
        left, right, shares = self.axis.bars(self.column)
        return Line("bars", "rows", left, shares, [None] * len(left), end=right)


def lines_of(
    found: ShownValues, side: Explainer, strip: Strip, part: Part, place: int
) -> list[Line]:
    """The lines of one explanation.

    Parameters
    ----------
    found : ShownValues
        Values of all explanations in every scope.
    side : Explainer
    strip : Strip
        The feature and the scope.
    part : Part
        Values of the explanation in the scope.
    place : int
        Place of the feature among the sets of the part.
    """
    pure = side.interaction.key == "pure"
    if side.masking.key == "accumulated":
        intervals = getattr(side.masking, "intervals", 0)
        steps = found.intervals.get(AleColumn(strip.axis.column.position, intervals))
        if steps is None:
            return []
        if pure:
            return [_accumulated_curve(strip, part, place, steps)]
        return _accumulated_changes(strip, part, place, steps)
    if pure:
        return [_pure_line(strip, part, place, marginal=side.masking.key == "marginal")]
    if side.interaction.key == "full":
        return _full_curves(strip, part, place)
    return _partial_points(strip, part, place)


def _pure_line(strip: Strip, part: Part, place: int, *, marginal: bool) -> Line:
    """An effect that depends on the feature alone: its value at some of the observed values."""
    column = strip.column
    shown = shown_levels(strip.axis, strip.table, strip.points)
    errors = np.zeros(len(column.levels) + 1)  # by code; missing, -1, is the last
    errors[column.codes] = part.errors[:, place]
    if marginal and column.position in strip.values.on_grid:
        effects = _exact_means(strip, shown)
    else:
        by_code = np.zeros(len(column.levels) + 1)
        by_code[column.codes] = part.values[:, place]
        effects = by_code[shown.codes]
    return Line(
        "line",
        part.name,
        shown.x,
        effects,
        shown.texts,
        joined=strip.axis.ordered,
        errors=errors[shown.codes],
    )


def _exact_means(strip: Strip, shown: ShownLevels) -> FloatArray:
    """The partial dependence at the levels shown; the few values of the fit would make steps."""
    values = strip.values
    shares = values.weights / values.weights.sum()
    predictor = strip.shown.fitted.predictor
    curves = ice_curves(predictor, strip.table, shown.grid, strip.shown.rows.resources)
    return np.asarray(shares @ curves - shares @ values.predictions)


def _full_curves(strip: Strip, part: Part, place: int) -> list[Line]:
    """The prediction of single rows along the feature, each counted from where its own effect is."""
    rows = strip.drawn(strip.max_curves)
    shown = shown_levels(strip.axis, strip.table, strip.points)
    if not len(rows) or not len(shown.x):
        return []
    predictor = strip.shown.fitted.predictor
    resources = strip.shown.rows.resources
    curves = ice_curves(predictor, strip.table.take(rows), shown.grid, resources)
    own = strip.values.on_grid.get(strip.column.position, strip.values.predictions)
    shifted = curves - (own[rows] - part.values[rows, place])[:, None]  # (rows, levels)
    return [
        Line("curve", part.name, shown.x, curve, shown.texts, joined=strip.axis.ordered)
        for curve in shifted
    ]


def _partial_points(strip: Strip, part: Part, place: int) -> list[Line]:
    """Effects of single rows against the value of the feature, and their mean along it."""
    rows = strip.drawn(4 * MOST_CURVES)
    column = strip.column
    effects = part.values[:, place]
    x = strip.axis.of_rows(column)
    placed = rows[np.isfinite(x[rows])]
    texts = strip.axis.texts(column.values[placed])
    levels = [
        MISSING if column.missing[row] else text for row, text in zip(placed, texts, strict=True)
    ]
    points = Line("points", part.name, x[placed], effects[placed], levels, joined=False)
    return [points, _mean_line(strip, part.name, x, effects)]


def _mean_line(strip: Strip, name: str, x: FloatArray, effects: FloatArray) -> Line:
    """Mean effect at each value, or in each tenth of the rows where there are many values."""
    column = strip.column
    # Tenths would flatten peaks that a line through few values shows, and look like disagreement.
    by_value = len(column.levels) <= strip.points
    groups = column.codes if by_value else dependence_bins(column)
    bins = np.unique(groups, return_inverse=True)[1].reshape(-1)
    counts = np.bincount(bins)
    middles = np.bincount(bins, weights=x) / counts
    means = np.bincount(bins, weights=effects) / counts
    kept = np.flatnonzero(np.isfinite(middles))
    kept = kept[np.argsort(middles[kept], kind="stable")]
    names: dict[int, str] = {}
    if strip.axis.labelled:
        names = dict(zip(bins.tolist(), map(str, column.values), strict=True))
    names |= dict.fromkeys(bins[column.missing].tolist(), MISSING)
    levels = [names.get(k) for k in kept.tolist()]
    return Line("line", name, middles[kept], means[kept], levels, joined=strip.axis.ordered)


@dataclass(frozen=True, slots=True, eq=False)
class _Accumulated:
    """The running sum of mean changes along the intervals of a feature (ALE)."""

    x: FloatArray  # edges of the intervals
    texts: list[str | None]
    curve: FloatArray  # at the edges, around its mean over the rows
    intervals: IntArray  # (rows,) from 1; 0: none
    counts: IntArray  # rows of each interval
    changes: FloatArray  # (rows,)


def _accumulated(strip: Strip, part: Part, place: int, steps: AleIntervals) -> _Accumulated:
    positions, intervals = steps.within(strip.column)
    edges = steps.fitted.levels[positions]
    changes = part.values[:, place]
    counts = np.bincount(intervals, minlength=len(edges))[1:]
    sums = np.bincount(intervals, weights=changes, minlength=len(edges))[1:]
    curve = np.append(0.0, np.cumsum(sums / np.maximum(counts, 1)))
    middles = (curve[:-1] + curve[1:]) / 2
    curve -= float(middles @ counts) / max(counts.sum(), 1)
    return _Accumulated(
        x=strip.axis.numbers(edges),
        texts=strip.axis.texts(edges),
        curve=curve,
        intervals=intervals,
        counts=counts,
        changes=changes,
    )


def _accumulated_curve(strip: Strip, part: Part, place: int, steps: AleIntervals) -> Line:
    """ALE as one line, where rows are."""
    ale = _accumulated(strip, part, place, steps)
    walked = np.flatnonzero(ale.counts)
    span = slice(walked[0], walked[-1] + 2) if len(walked) else slice(0, 0)
    squares = np.bincount(
        ale.intervals, weights=np.square(part.errors[:, place]), minlength=len(ale.x)
    )[1:]
    # Intervals hold different rows: the variances of their mean changes add up along the curve.
    errors = np.sqrt(np.append(0.0, np.cumsum(squares / np.maximum(ale.counts, 1))))
    return Line(
        "line", part.name, ale.x[span], ale.curve[span], ale.texts[span], errors=errors[span]
    )


def _accumulated_changes(strip: Strip, part: Part, place: int, steps: AleIntervals) -> list[Line]:
    """The change of a single row across its interval; it starts where the running sum is."""
    ale = _accumulated(strip, part, place, steps)
    lines = []
    for row in strip.drawn(strip.max_curves).tolist():
        end = int(ale.intervals[row])
        if end > 0:
            span = slice(end - 1, end + 1)
            changed = ale.curve[end - 1] + np.array([0.0, ale.changes[row]])
            lines.append(Line("curve", part.name, ale.x[span], changed, ale.texts[span]))
    return lines
