"""The axis of one column: where its values lie, what is cut, and how they are written, in pictures and on pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import MISSING, number, shortened, told_apart, value, wrapped
from granite_xai.curves import Grid, carriers, grid_codes
from granite_xai.display.figures import GREY, SMALL
from granite_xai.tables import Column, Table
from granite_xai.tables.columns import LABELLED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LEVELS = 20
"""Levels of a nominal column that are drawn: the most frequent ones."""
BARS = 20
"""Bars that show where the rows of an ordered column lie."""
FEW_VALUES = 4
"""A column with so few numbers has a tick at each; on a page, where panels are wider, with one more."""
PAGE_LABELS, PAGE_LABEL = 8, 12
"""Names of levels below a panel of a page, and characters of each, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """Positions along the axis of one column, on all rows of the display: every panel of it has the same axis."""

    column: Column
    name: str

    @classmethod
    def of(cls, table: Table, position: int) -> Axis:
        """The axis of a column; its name stays different from those of the other columns when it is cut."""
        return cls(table.columns[position], told_apart(table.names)[position])

    @property
    def labelled(self) -> bool:
        """Whether the axis carries names of levels instead of numbers."""
        return self.column.kind in LABELLED

    @property
    def ordered(self) -> bool:
        """Whether neighbouring values may be joined by a line."""
        return self.column.kind not in ("nominal", "boolean")

    @property
    def drawn(self) -> IntArray:
        """Codes of the levels that have a place: all, or the most frequent ones of a nominal column."""
        codes = self.column.codes
        every = np.arange(len(self.column.levels))
        if not self.labelled or len(every) <= MOST_LEVELS:
            return every
        counts = np.bincount(codes[codes >= 0], minlength=len(every))
        return np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS])

    @property
    def missing_place(self) -> float:
        """Where missing values are drawn: beyond the last value."""
        if self.labelled:
            return float(len(self.drawn))
        low, high = self.limits
        return high + 0.1 * (high - low)

    @property
    def limits(self) -> tuple[float, float]:
        """The first and last place of present values, never equal."""
        places = self.numbers(self.column.levels)
        if self.labelled or not len(places):
            return -0.5, max(len(self.drawn), 1) - 0.5
        low, high = float(places.min()), float(places.max())
        return (low, high) if low < high else (low - 0.5, high + 0.5)

    def numbers(self, values: Any) -> FloatArray:
        """Present values as places: numbers, days for dates, the rank of a level; NaN for a level without a place."""
        if self.labelled:
            rank = {level: float(i) for i, level in enumerate(self.column.levels[self.drawn].tolist())}
            return np.array([rank.get(value, np.nan) for value in list(values)], dtype=np.float64)
        if self.column.kind == "date":
            moments = np.issubdtype(self.column.levels.dtype, np.datetime64)
            origin = np.datetime64(0, "s") if moments else np.timedelta64(0, "s")
            return np.asarray((values - origin) / np.timedelta64(1, "D"), dtype=np.float64)
        return np.asarray(values, dtype=np.float64)

    def of_rows(self, column: Column) -> FloatArray:
        """The place of each row."""
        return np.append(self.numbers(column.levels), self.missing_place)[column.codes]

    def texts(self, values: Any) -> list[str | None]:
        """Names of levels and dates for the frame; None for numbers."""
        return [None if self.column.kind == "numeric" else str(value) for value in list(values)]

    def bars(self, column: Column) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Left ends, right ends and shares of rows of the bars along the axis."""
        places = self.of_rows(column)
        if self.labelled:
            middles = np.arange(len(self.drawn) + bool(self.column.missing.any()), dtype=np.float64)
            left, right = middles - 0.35, middles + 0.35
        else:
            edges = np.linspace(*self.limits, BARS + 1, dtype=np.float64)
            left, right = edges[:-1], edges[1:]
        inside = (places[:, None] >= left) & ((places[:, None] < right) | (right == right[-1]))
        inside &= places[:, None] <= right
        if not self.labelled and column.missing.any():
            half = (right[0] - left[0]) / 2
            left, right = np.append(left, self.missing_place - half), np.append(right, self.missing_place + half)
            inside = np.column_stack([inside, column.missing])
        shares: FloatArray = inside.sum(axis=0) / max(len(places), 1)
        return left, right, shares

    @property
    def calendar(self) -> bool:
        """Whether values are dates, not durations."""
        return self.column.kind == "date" and bool(np.issubdtype(self.column.levels.dtype, np.datetime64))

    @property
    def ticks(self) -> tuple[list[float], list[str]] | None:
        """Places and texts of the ticks, where they are not left to the drawing library."""
        gone = bool(self.column.missing.any())
        if self.labelled:
            names = told_apart([str(level) for level in self.column.levels[self.drawn].tolist()], 16)
            names += [MISSING] if gone else []
            return [float(place) for place in range(len(names))], names
        if self.column.kind != "numeric" or (not gone and len(self.column.levels) > FEW_VALUES):
            return None
        places = self._numeric_ticks() if gone else self.column.levels.tolist()
        texts = [f"{place:g}" for place in places]
        return ([*places, self.missing_place], [*texts, MISSING]) if gone else (places, texts)

    def dress(self, ax: Axes, upright: bool = False) -> None:
        """Ticks, limits and label of the horizontal axis, or of the vertical one."""
        low, high = self.limits
        axis: Any = ax.yaxis if upright else ax.xaxis
        gone, ticks = bool(self.column.missing.any()), self.ticks
        end = self.missing_place + (0.5 if self.labelled else 0.05 * (high - low)) if gone else high
        pad = 0.0 if self.labelled or upright else 0.03 * (end - low)
        (ax.set_ylim if upright else ax.set_xlim)(low - pad, end + pad)
        if self.calendar:
            axis.axis_date()
        elif ticks is not None:
            axis.set_ticks(*ticks)
            if self.labelled and not upright:
                self._turn(ax, ticks[1])
        if gone and not self.labelled and not upright:
            ax.axvline((high + self.missing_place) / 2, color=GREY, linewidth=0.6, linestyle=":")
        axis.set_label_text(wrapped(self.label, 26 if upright else 34, 4), fontsize=SMALL + 1)

    @property
    def label(self) -> str:
        """Name of the axis."""
        if self.column.kind == "date" and not self.calendar:
            return f"{self.name} (days)"
        hidden = len(self.column.levels) - len(self.drawn)
        note = f" ({len(self.drawn)} most frequent of {len(self.column.levels)} levels)"
        return self.name + note if hidden else self.name

    def _turn(self, ax: Axes, names: list[str]) -> None:
        """Turn names of levels where they would not fit."""
        crowded = sum(map(len, names)) + 2 * len(names) > 34
        rotation = 90 if len(names) > 8 else 45 if crowded else 0
        for tick in ax.get_xticklabels():
            tick.set(rotation=rotation, ha="right" if rotation == 45 else "center")
            tick.set_fontsize(SMALL if len(names) <= 12 else SMALL - 1.5)
            tick.set_rotation_mode("anchor" if rotation == 45 else "default")

    def _numeric_ticks(self) -> list[float]:
        """Round numbers that leave room for the tick of missing values."""
        from matplotlib.ticker import MaxNLocator

        low, high = self.limits
        ticks = [float(tick) for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]
        return [tick for tick in ticks if self.missing_place - tick > 0.25 * (high - low)]


class ShownLevels(NamedTuple):
    """The levels of a column that a panel shows, missing last: codes (-1: missing), places, names, and their rows."""

    codes: IntArray
    x: FloatArray
    texts: list[str | None]
    grid: Grid


def shown_levels(axis: Axis, table: Table, points: int) -> ShownLevels:
    """Levels on the rows of a panel, at most so many of an ordered column, as far as they have a place."""
    column = table.columns[axis.column.position]
    codes = grid_codes(column, points) if len(column.levels) else np.zeros(0, dtype=np.intp)
    codes = codes[np.isfinite(axis.numbers(column.levels[codes]))]
    x, texts = axis.numbers(column.levels[codes]), axis.texts(column.levels[codes])
    rows = carriers(column, codes)
    if column.missing.any():
        codes, x, texts = np.append(codes, -1), np.append(x, axis.missing_place), [*texts, MISSING]
        rows = np.append(rows, np.flatnonzero(column.missing)[0])
    return ShownLevels(codes, x, texts, Grid(column.position, x, table.take(rows)))


def places_on_page(column: Column, codes: IntArray) -> list[float]:
    """Where levels stand on a page: numbers at their value, dates in days from the first, labels at their number."""
    levels = column.levels[codes]
    if column.kind == "numeric":
        return [float(value) for value in levels]
    if column.kind == "date":
        return [float((value - column.levels[0]) / np.timedelta64(1, "s")) / 86400 for value in levels]
    return [float(code) for code in codes]


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers inside a range.

    >>> round_ticks(0.0, 23.0)
    [0.0, 5.0, 10.0, 15.0, 20.0]
    """
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    raw = span / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    digits = 12 - math.floor(math.log10(step))
    return [round(i * step, digits) + 0.0 for i in range(first, math.floor(high / step + 1e-9) + 1)]


def page_ticks(effect: Mapping[str, Any], left: float, right: float, width: float) -> list[tuple[float, str, str]]:
    """Place, text and full text of the ticks below the panels of an effect on a page, so many units wide."""
    labels, panels = effect["labels"], effect["panels"]
    present = sorted({x for panel in panels for x in panel["x"]})
    if labels is None:
        dates = "origin" in effect
        few = len(present) <= FEW_VALUES + 1 and not dates
        places = present if few else round_ticks(left, right, 3 if dates else 5)
        return [(place, _date(effect["origin"], place) if dates else value(place), "") for place in places]
    shown = [int(x) for x in present]
    step = math.ceil(len(shown) / PAGE_LABELS)
    room = max(2, min(PAGE_LABEL, int(width / 7.2 / max(1, math.ceil(len(shown) / step)))))
    return [(float(i), shortened(labels[i], room), labels[i]) for i in shown[::step]]


def _date(origin: str, days: float) -> str:
    try:
        return str((np.datetime64(origin) + np.timedelta64(int(days * 86400), "s")).astype("M8[D]"))
    except ValueError:
        return f"{number(days)} d"
