"""Lines of an effect display: what one explanation says about one feature in one scope."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from granite_xai.algebra.accumulated import Intervals
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.explanation import Part
from granite_xai.base.text import MISSING
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.curves.grids import dependence_bins, ice_curves
from granite_xai.display.axis import Axis, ShownLevels, shown_levels
from granite_xai.results.values import Explained, InScope, Scope, Values
from granite_xai.tables import Column, Table

MOST_CURVES = 50  # of single rows in a panel (S15)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One thing drawn in a panel: a thin curve of one row, a thick line, points, or bars."""

    shape: Literal["curve", "line", "points", "bars"]
    explanation: str  # "rows" for the bars, which show the data
    x: FloatArray
    y: FloatArray
    levels: Sequence[str | None]  # names of places on an axis of levels or dates
    end: FloatArray | None = None  # right ends of bars
    joined: bool = True
    errors: FloatArray | None = None  # standard errors of y over the rows; None: not known

    def points(self) -> Iterator[tuple[Any, ...]]:
        """x, right end, name, y and standard error of each point; None: it has none."""
        unknown = [None] * len(self.x)
        ends = unknown if self.end is None else self.end.tolist()
        errors = unknown if self.errors is None else self.errors.tolist()
        return zip(self.x.tolist(), ends, self.levels, self.y.tolist(), errors, strict=True)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One feature in one scope."""

    scope: Scope
    axis: Axis
    lines: tuple[Line, ...]
    disagreement: float  # share of that on all rows which is left here; nan: none to tell

    def cells(self) -> list[tuple[Any, ...]]:
        """Cells of the frame: explanation, shape, curve, x, x_end, level, value, standard_error."""
        cells: list[tuple[Any, ...]] = []
        n_curves = 0
        for line in self.lines:
            curve_number = None
            if line.shape == "curve":
                curve_number = n_curves
                n_curves += 1
            head = (line.explanation, line.shape, curve_number)
            cells += [(*head, *point) for point in line.points()]
        if not math.isnan(self.disagreement):
            cells.append(("disagreement", "text", None, None, None, None, self.disagreement, None))
        return cells


@dataclass(frozen=True, slots=True, eq=False)
class FeatureInScope:
    """One feature in one scope: what its lines are made of.

    Attributes
    ----------
    rows_to_show : Values
        All rows that the display shows.
    values : InScope
        Of the explanations in the scope.
    table : Table
        The rows of the scope.
    axis : Axis
        Of the feature.
    points : int
        Places along a curve, at most.
    max_curves : int
        Curves of single rows, at most.
    """

    rows_to_show: Values
    values: InScope
    table: Table
    axis: Axis
    points: int
    max_curves: int

    @property
    def column(self) -> Column:
        """The feature on the rows of the scope."""
        return self.table.columns[self.axis.column.position]

    def sample_rows(self, size: int) -> IntArray:
        """Some rows at random, the same in all panels of the scope: they carry no label."""
        n_rows = self.table.n_rows
        generator = np.random.default_rng(self.rows_to_show.fitted.settings.seed)
        return np.sort(generator.choice(n_rows, size=min(size, n_rows), replace=False))

    def ice_curves(self, table: Table, levels: ShownLevels) -> FloatArray:
        """Predictions of the model for rows at some levels, shape (rows, levels)."""
        predictor = self.rows_to_show.fitted.model
        return ice_curves(
            predictor, table, levels.grid, self.rows_to_show.fitted.settings.resources
        )

    def bars(self) -> Line:
        """Where the rows lie."""
        left, right, shares = self.axis.bars(self.column)
        return Line("bars", "rows", left, shares, [None] * len(left), end=right)


def lines_of(
    shown_values: Explained, side: Explainer, feature: FeatureInScope, part: Part, place: int
) -> list[Line]:
    """The lines of one explanation.

    Parameters
    ----------
    shown_values : Explained
        Values of all explanations in every scope.
    side : Explainer
    feature : FeatureInScope
        The feature and the scope.
    part : Part
        Values of the explanation in the scope.
    place : int
        Place of the feature among the sets of the part.
    """
    pure = side.interaction.key == "pure"
    if side.masking.key == "accumulated":
        moved = Coalition([feature.axis.column.position])
        steps = shown_values.intervals.get((side.masking, moved))
        if steps is None:
            return []
        if pure:
            return [_accumulated_curve(feature, part, place, steps)]
        return _accumulated_changes(feature, part, place, steps)
    if pure:
        return [_pure_line(feature, part, place, marginal=side.masking.key == "marginal")]
    if side.interaction.key == "full":
        return _full_curves(feature, part, place)
    return _partial_points(feature, part, place)


def _pure_line(feature: FeatureInScope, part: Part, place: int, *, marginal: bool) -> Line:
    """An effect that depends on the feature alone: its value at some of the observed values.

    The values of the fit are those of its rows: rows with the same level have the same effect. A partial dependence
    that the fit read at a few values of the feature (``on_grid``, C22) is computed anew at the levels shown.
    """
    column = feature.column
    levels = shown_levels(feature.axis, feature.table, feature.points)
    errors = np.zeros(
        len(column.levels) + 1
    )  # by code; that of missing values, -1, is the last entry
    errors[column.codes] = part.errors[:, place]
    if marginal and column.position in feature.values.on_grid:
        effects = _exact_means(feature, levels)
    else:
        by_code = np.zeros(len(column.levels) + 1)
        by_code[column.codes] = part.values[:, place]
        effects = by_code[levels.codes]
    return Line(
        "line",
        part.name,
        levels.x,
        effects,
        levels.texts,
        joined=feature.axis.ordered,
        errors=errors[levels.codes],
    )


def _exact_means(feature: FeatureInScope, levels: ShownLevels) -> FloatArray:
    """The partial dependence at the levels shown; the few values of the fit would make steps."""
    values = feature.values
    shares = values.weights / values.weights.sum()
    curves = feature.ice_curves(feature.table, levels)
    return np.asarray(shares @ curves - shares @ values.predictions)


def _full_curves(feature: FeatureInScope, part: Part, place: int) -> list[Line]:
    """The prediction of single rows along the feature, each counted from where its own effect is."""
    rows = feature.sample_rows(feature.max_curves)
    levels = shown_levels(feature.axis, feature.table, feature.points)
    if not len(rows) or not len(levels.x):
        return []
    values = feature.values
    curves = feature.ice_curves(feature.table.take(rows), levels)  # (rows, levels)
    # At the row's own value its curve has the prediction of the row, and is to have its effect:
    # effect along the curve = prediction along the curve - (prediction of the row - effect of the row).
    predictions = values.on_grid.get(feature.column.position, values.predictions)
    shifts = predictions[rows] - part.values[rows, place]
    shifted = curves - shifts[:, None]
    return [
        Line("curve", part.name, levels.x, curve, levels.texts, joined=feature.axis.ordered)
        for curve in shifted
    ]


def _partial_points(feature: FeatureInScope, part: Part, place: int) -> list[Line]:
    """Effects of single rows against the value of the feature, and their mean along it."""
    rows = feature.sample_rows(4 * MOST_CURVES)
    column = feature.column
    effects = part.values[:, place]
    x = feature.axis.of_rows(column)
    placed = rows[np.isfinite(x[rows])]
    texts = feature.axis.texts(column.values[placed])
    levels = []
    for row, text in zip(placed, texts, strict=True):
        levels.append(MISSING if column.missing[row] else text)
    points = Line("points", part.name, x[placed], effects[placed], levels, joined=False)
    return [points, _mean_line(feature, part.name, x, effects)]


def _mean_line(feature: FeatureInScope, name: str, x: FloatArray, effects: FloatArray) -> Line:
    """Mean effect at each value, or in each tenth of the rows where there are many values.

    Parameters
    ----------
    feature : FeatureInScope
    name : str
        Of the explanation.
    x, effects : arrays of shape (n_rows,)
        Place on the axis (nan: none) and effect of each row.
    """
    column = feature.column
    # Tenths would flatten peaks that a line through few values shows, and look like disagreement.
    by_value = len(column.levels) <= feature.points
    groups = column.codes if by_value else dependence_bins(column)
    bins = np.unique(groups, return_inverse=True)[1].reshape(-1)
    counts = np.bincount(bins)
    middles = np.bincount(bins, weights=x) / counts
    means = np.bincount(bins, weights=effects) / counts
    placed = np.flatnonzero(np.isfinite(middles))
    placed = placed[np.argsort(middles[placed], kind="stable")]
    name_of_bin: dict[int, str] = {}  # none for numbers
    if feature.axis.labelled:
        name_of_bin = dict(zip(bins.tolist(), map(str, column.values), strict=True))
    name_of_bin |= dict.fromkeys(bins[column.missing].tolist(), MISSING)
    levels = [name_of_bin.get(number) for number in placed.tolist()]
    return Line("line", name, middles[placed], means[placed], levels, joined=feature.axis.ordered)


@dataclass(frozen=True, slots=True, eq=False)
class _Accumulated:
    """The running sum of mean changes along the intervals of a feature (ALE)."""

    x: FloatArray  # edges of the intervals
    texts: list[str | None]
    curve: FloatArray  # at the edges, around its mean over the rows
    intervals: IntArray  # (rows,) from 1; 0: none
    counts: IntArray  # rows of each interval
    changes: FloatArray  # (rows,)


def _accumulated(feature: FeatureInScope, part: Part, place: int, steps: Intervals) -> _Accumulated:
    positions, intervals = steps.within(feature.column)
    edges = steps.fitted.levels[positions]
    changes = part.values[:, place]
    counts = np.bincount(intervals, minlength=len(edges))[1:]
    sums = np.bincount(intervals, weights=changes, minlength=len(edges))[1:]
    curve = np.append(0.0, np.cumsum(sums / np.maximum(counts, 1)))
    middles = (curve[:-1] + curve[1:]) / 2
    curve -= float(middles @ counts) / max(counts.sum(), 1)
    return _Accumulated(
        x=feature.axis.numbers(edges),
        texts=feature.axis.texts(edges),
        curve=curve,
        intervals=intervals,
        counts=counts,
        changes=changes,
    )


def _accumulated_curve(feature: FeatureInScope, part: Part, place: int, steps: Intervals) -> Line:
    """ALE as one line, where rows are."""
    ale = _accumulated(feature, part, place, steps)
    filled = np.flatnonzero(ale.counts)  # intervals that hold rows
    span = slice(0, 0)
    if len(filled):
        span = slice(filled[0], filled[-1] + 2)  # edges: one more than intervals
    squares = np.bincount(
        ale.intervals, weights=np.square(part.errors[:, place]), minlength=len(ale.x)
    )[1:]
    # The error of a row is that of the mean change of its interval: their mean square is its variance.
    variances = squares / np.maximum(ale.counts, 1)  # (intervals,)
    # Intervals hold different rows: these variances add up along the curve.
    errors = np.sqrt(np.append(0.0, np.cumsum(variances)))
    return Line(
        "line", part.name, ale.x[span], ale.curve[span], ale.texts[span], errors=errors[span]
    )


def _accumulated_changes(
    feature: FeatureInScope, part: Part, place: int, steps: Intervals
) -> list[Line]:
    """The change of a single row across its interval; it starts where the running sum is."""
    ale = _accumulated(feature, part, place, steps)
    lines = []
    for row in feature.sample_rows(feature.max_curves).tolist():
        end = int(ale.intervals[row])
        if end > 0:
            span = slice(end - 1, end + 1)
            changed = ale.curve[end - 1] + np.array([0.0, ale.changes[row]])
            lines.append(Line("curve", part.name, ale.x[span], changed, ale.texts[span]))
    return lines
