"""The axis of one feature in pictures: where its values lie, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.text import MISSING, wrapped
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.grids import Grid, carriers, grid_codes
from granite_xai.display.figures import SMALL, Axes, drawn_labels
from granite_xai.document.chart import GREY
from granite_xai.tables import LABELLED, Column, Table

MOST_LEVELS = 20  # of a nominal feature that are drawn: the most frequent ones
BARS = 20  # that show where the rows of an ordered feature lie
FEW_VALUES = 4  # a feature with so few numbers has a tick at each
HALF_BAR = 0.35  # half the width of the bar of a level
SLACK = 1e-9  # share of a step by which rounding may miss a round number


class Axis:
    """Positions along the axis of one feature; every panel of a display has the same axis.

    Attributes
    ----------
    labelled : bool
        Whether the axis carries names of levels instead of numbers.
    ordered : bool
        Whether a line may join neighbouring values.
    drawn : array of int
        Codes of the levels that have a place: all, or the most frequent ones of labels.
    limits : (float, float)
        The first and last place of present values, never equal.
    missing_place : float
    """

    def __init__(self, column: Column, name: str) -> None:
        self.column = column
        self.name = name
        self.labelled = column.kind in LABELLED
        self.ordered = column.is_ordered
        self.drawn = np.arange(len(column.levels))
        if self.labelled:
            counts = np.bincount(column.codes + 1, minlength=len(column.levels) + 1)[1:]
            most_frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
            self.drawn = np.sort(most_frequent)
        self.limits = self._limits()
        low, high = self.limits
        if self.labelled:
            self.missing_place = float(len(self.drawn))
        else:
            self.missing_place = high + 0.1 * (high - low)

    @classmethod
    def of(cls, table: Table, position: int) -> Axis:
        """The axis of a feature; its name stays different from the others when it is cut."""
        return cls(table.columns[position], drawn_labels(table.names)[position])

    def _limits(self) -> tuple[float, float]:
        places = self.numbers(self.column.levels)
        if self.labelled or not len(places):
            return -0.5, max(len(self.drawn), 1) - 0.5
        low = float(places.min())
        high = float(places.max())
        if low == high:
            return low - 0.5, high + 0.5
        return low, high

    def numbers(self, values: Any) -> FloatArray:
        """Present values as places: numbers, days for dates, the rank of a level (nan: none)."""
        if self.labelled:
            levels = self.column.levels[self.drawn].tolist()
            rank = {level: float(i) for i, level in enumerate(levels)}
            return np.array([rank.get(level, np.nan) for level in list(values)], dtype=np.float64)
        if self.column.kind == "date":
            is_instant = self.column.levels.dtype.kind == "M"
            origin = np.datetime64(0, "s") if is_instant else np.timedelta64(0, "s")
            return np.asarray((values - origin) / np.timedelta64(1, "D"), dtype=np.float64)
        return np.asarray(values, dtype=np.float64)

    def of_rows(self, column: Column) -> FloatArray:
        """The place of each row of a scope, on which ``column`` is the feature (nan: none)."""
        return np.append(self.numbers(column.levels), self.missing_place)[column.codes]

    def texts(self, values: Any) -> list[str | None]:
        """Names of levels and dates for the frame; None for numbers."""
        if self.column.kind == "numeric":
            return [None] * len(values)
        return [str(value) for value in list(values)]

    def bars(self, column: Column) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Left ends, right ends and shares of rows of the bars along the axis.

        Parameters
        ----------
        column : Column
            The feature on the rows of a scope.
        """
        places = self.of_rows(column)
        if self.labelled:
            n_places = len(self.drawn) + bool(self.column.missing.any())
            middles = np.arange(n_places, dtype=np.float64)
            half = HALF_BAR
            counts = (places[:, None] == middles).sum(axis=0)
        else:
            counts, edges = np.histogram(places[~column.missing], BARS, self.limits)
            middles = (edges[:-1] + edges[1:]) / 2
            half = (edges[1] - edges[0]) / 2
            if column.missing.any():
                middles = np.append(middles, self.missing_place)
                counts = np.append(counts, column.missing.sum())
        return middles - half, middles + half, counts / max(len(places), 1)

    @property
    def ticks(self) -> tuple[list[float], list[str]] | None:
        """Places and texts of the ticks, where they are not left to the drawing library."""
        has_missing = bool(self.column.missing.any())
        if self.labelled:
            levels = [str(level) for level in self.column.levels[self.drawn].tolist()]
            names = drawn_labels(levels, 16)
            if has_missing:
                names.append(MISSING)
            return [float(place) for place in range(len(names))], names
        has_few_values = len(self.column.levels) <= FEW_VALUES
        if self.column.kind != "numeric" or not (has_missing or has_few_values):
            return None
        places = self.column.levels.tolist()
        if not has_missing:
            return places, [f"{place:g}" for place in places]
        # Round numbers that leave room for the tick of missing values.
        low, high = self.limits
        end = self.missing_place - 0.25 * (high - low)
        places = [tick for tick in round_ticks(low, high, 4) if tick < end]
        texts = [f"{place:g}" for place in places]
        return [*places, self.missing_place], [*texts, MISSING]

    def dress(self, ax: Axes, upright: bool = False) -> None:
        """Ticks, limits and label of the horizontal axis, or (``upright``) of the vertical one."""
        axis: Any = ax.yaxis if upright else ax.xaxis
        low, end = self._drawn_limits()
        pad = 0.0
        if not self.labelled and not upright:
            pad = 0.03 * (end - low)
        set_limits = ax.set_ylim if upright else ax.set_xlim
        set_limits(low - pad, end + pad)
        ticks = self.ticks
        if self.column.levels.dtype.kind == "M":
            axis.axis_date()
        elif ticks is not None:
            axis.set_ticks(*ticks)
            if self.labelled and not upright:
                _turn_names(ax, ticks[1])
        has_missing = bool(self.column.missing.any())
        if has_missing and not self.labelled and not upright:
            border = (self.limits[1] + self.missing_place) / 2
            ax.axvline(border, color=GREY, linewidth=0.6, linestyle=":")
        letters = 26 if upright else 34
        label = wrapped(self.name + self._note(), letters, 4)
        axis.set_label_text(label, fontsize=SMALL + 1)

    def _drawn_limits(self) -> tuple[float, float]:
        """The limits, with the place of missing values where there are some."""
        low, high = self.limits
        if not self.column.missing.any():
            return low, high
        if self.labelled:
            return low, self.missing_place + 0.5
        return low, self.missing_place + 0.05 * (high - low)

    def _note(self) -> str:
        if self.column.levels.dtype.kind == "m":
            return " (days)"
        if len(self.drawn) < len(self.column.levels):
            return f" ({len(self.drawn)} most frequent of {len(self.column.levels)} levels)"
        return ""


def _turn_names(ax: Axes, names: Sequence[str]) -> None:
    """Names of levels are turned where they would not fit side by side."""
    n_letters = sum(map(len, names)) + 2 * len(names)
    degrees = 0
    if len(names) > 8:
        degrees = 90
    elif n_letters > 34:
        degrees = 45
    font_size = SMALL if len(names) <= 12 else SMALL - 1.5
    for tick in ax.get_xticklabels():
        tick.set(rotation=degrees, ha="right" if degrees == 45 else "center")
        tick.set_fontsize(font_size)
        tick.set_rotation_mode("anchor" if degrees == 45 else "default")


class ShownLevels(NamedTuple):
    """The levels of a feature that a panel shows, missing last."""

    codes: IntArray  # -1: missing
    x: FloatArray
    texts: list[str | None]
    grid: Grid  # rows that carry them


def shown_levels(axis: Axis, table: Table, points: int) -> ShownLevels:
    """The levels at which a panel shows a feature: those of its rows that have a place on the axis.

    Parameters
    ----------
    axis : Axis
        Of the feature; an axis of labels has places for the most frequent ones only.
    table : Table
        The rows of the panel.
    points : int
        Levels of an ordered feature, at most; they are spread over its rows.
    """
    column = table.columns[axis.column.position]
    codes = np.zeros(0, dtype=np.intp)
    if len(column.levels):
        codes = grid_codes(column, points)
    codes = codes[np.isfinite(axis.numbers(column.levels[codes]))]
    x = axis.numbers(column.levels[codes])
    texts = axis.texts(column.levels[codes])
    rows = carriers(column, codes)
    if column.missing.any():
        codes = np.append(codes, -1)
        x = np.append(x, axis.missing_place)
        texts = [*texts, MISSING]
        rows = np.append(rows, np.flatnonzero(column.missing)[0])
    return ShownLevels(codes, x, texts, Grid(column.position, x, table.take(rows)))


def round_ticks(low: float, high: float, steps: int = 5) -> list[float]:
    """Round numbers inside a range: multiples of 1, 2 or 5 times a power of ten.

    Parameters
    ----------
    low, high : float
    steps : int
        Between them, at most. Where the range is empty or endless, the only number is ``low``.
    """
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    smallest_step = span / steps
    power = 10.0 ** math.floor(math.log10(smallest_step))
    candidates = [power * factor for factor in (1, 2, 5, 10)]
    step = next(size for size in candidates if size >= smallest_step * (1 - SLACK))
    first = math.ceil(low / step - SLACK)
    last = math.floor(high / step + SLACK)
    digits = 12 - math.floor(math.log10(step))
    return [round(i * step, digits) + 0.0 for i in range(first, last + 1)]  # + 0.0: no -0.0


def places_of(column: Column) -> FloatArray:
    """Where the levels of a feature stand: numbers at their value, dates in days, names by rank."""
    return Axis(column, column.name).numbers(column.levels)
