"""What is drawn of an explanation along one column: a line a row, one line, or points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves import dependence_bins, ice_curves
from granite_xai.display.places import MISSING, Places, grid_in
from granite_xai.display.rows import Reading, Seen
from granite_xai.explanation import Part

if TYPE_CHECKING:
    from granite_xai.masking.accumulated import AleIntervals
    from granite_xai.tables import Column, Table

Shape = Literal["curve", "line", "points", "bars"]


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One thing drawn in a panel.

    Parameters
    ----------
    shape : "curve" (thin, of one row), "line" (thick), "points" or "bars"
    explanation : name of the explanation; "rows" for the bars that show the data
    x, y : places and values
    levels : name of each place on an axis of levels or dates; None for numbers
    end : (bars) right ends
    joined : whether neighbouring places are joined
    """

    shape: Shape
    explanation: str
    x: FloatArray
    y: FloatArray
    levels: Sequence[str | None]
    end: FloatArray | None = None
    joined: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """One column in one area: what its lines are made of."""

    seen: Seen
    reading: Reading
    table: Table
    places: Places
    points: int
    max_curves: int
    max_points: int

    @property
    def column(self) -> Column:
        """The column on the rows of the area."""
        return self.table.columns[self.places.column.position]

    def drawn(self, most: int) -> IntArray:
        """Some rows, drawn once for all panels of the area: they carry no label."""
        count = self.table.n_rows
        if count <= most:
            return np.arange(count)
        return np.sort(np.random.default_rng(self.seen.seed).choice(count, size=most, replace=False))


def rows_bars(strip: Strip) -> Line:
    """Where the rows lie."""
    left, right, shares = strip.places.bars(strip.column)
    return Line("bars", "rows", left, shares, [None] * len(left), end=right)


def pure_line(strip: Strip, part: Part, place: int) -> list[Line]:
    """An effect that depends on the column alone: its value at some of the observed values."""
    column = strip.column
    grid, x, levels = grid_in(strip.places, strip.table, strip.points)
    shown = grid.rows.columns[column.position]
    by_code = np.zeros(len(column.levels) + 1)
    by_code[column.codes] = part.values[:, place]
    known = {level: code for code, level in enumerate(column.levels.tolist())}
    codes = [-1 if gone else known[level] for level, gone in zip(shown.values.tolist(), shown.missing, strict=True)]
    return [Line("line", part.name, x, by_code[codes], levels, joined=strip.places.ordered)]


def full_curves(strip: Strip, part: Part, place: int) -> list[Line]:
    """The prediction of single rows along the column, each counted from where its own effect is."""
    rows = strip.drawn(strip.max_curves)
    grid, x, levels = grid_in(strip.places, strip.table, strip.points)
    if not len(rows) or not len(x):
        return []
    chosen = strip.table.take(rows)
    curves = ice_curves(strip.seen.fitted.predictor, chosen, grid, strip.seen.resources)
    own = strip.reading.evaluations.predictions[rows] + strip.reading.evaluations.pivot
    shifted = curves - (own - part.values[rows, place])[:, None]
    return [Line("curve", part.name, x, curve, levels, joined=strip.places.ordered) for curve in shifted]


def partial_points(strip: Strip, part: Part, place: int) -> list[Line]:
    """Effects of single rows against the column's value, and their mean at each value (tenth, where there are many)."""
    rows = strip.drawn(strip.max_points)
    column, effects = strip.column, part.values[:, place]
    x = strip.places.of_rows(column)
    seen = rows[np.isfinite(x[rows])]
    levels = strip.places.texts(column.values[seen])
    levels = [MISSING if column.missing[row] else level for row, level in zip(seen, levels, strict=True)]
    # Tenths would flatten peaks that a line through few values shows, and look like disagreement.
    fine = len(column.levels) <= strip.points
    bins = np.unique(column.codes if fine else dependence_bins(column), return_inverse=True)[1].reshape(-1)
    counts = np.bincount(bins)
    middles, means = (np.bincount(bins, weights=values) / counts for values in (x, effects))
    kept = np.flatnonzero(np.isfinite(middles))
    kept = kept[np.argsort(middles[kept], kind="stable")]
    gone = set(bins[column.missing].tolist())
    names = [MISSING if k in gone else None for k in kept.tolist()]
    if strip.places.labelled:
        by_bin = {int(b): str(value) for b, value in zip(bins, column.values, strict=True)}
        names = [name or by_bin[k] for name, k in zip(names, kept.tolist(), strict=True)]
    return [
        Line("points", part.name, x[seen], effects[seen], levels, joined=False),
        Line("line", part.name, middles[kept], means[kept], names, joined=strip.places.ordered),
    ]


def accumulated_lines(strip: Strip, part: Part, place: int, steps: AleIntervals | None, averaged: bool) -> list[Line]:
    """ALE: the running sum of mean changes; a single row's change starts where the sum is."""
    if steps is None:
        return []
    intervals = steps.intervals(strip.column)
    changes = part.values[:, place]
    ends = strip.places.numbers(steps.fitted.levels[steps.edges])
    counts = np.bincount(intervals, minlength=len(ends))[1:]
    means = np.bincount(intervals, weights=changes, minlength=len(ends))[1:] / np.maximum(counts, 1)
    curve = np.append(0.0, np.cumsum(means))
    curve -= float((curve[:-1] + curve[1:]) / 2 @ counts) / max(counts.sum(), 1)
    texts = strip.places.texts(steps.fitted.levels[steps.edges])
    if averaged:
        walked = np.flatnonzero(counts)
        span = slice(walked[0], walked[-1] + 2) if len(walked) else slice(0, 0)
        return [Line("line", part.name, ends[span], curve[span], texts[span])]
    rows = [row for row in strip.drawn(strip.max_curves).tolist() if intervals[row] > 0]
    return [
        Line(
            "curve",
            part.name,
            ends[intervals[row] - 1 : intervals[row] + 1],
            curve[intervals[row] - 1] + np.array([0.0, changes[row]]),
            texts[intervals[row] - 1 : intervals[row] + 1],
        )
        for row in rows
    ]
