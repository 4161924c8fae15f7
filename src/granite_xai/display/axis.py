"""The axis of one column: where its values lie, what is cut, and how they are written, in pictures and on a page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from granite_xai.base.text import distinct_labels, shortened, wrapped
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import MISSING, percent, value
from granite_xai.display.figures import GREY, SMALL, Axes
from granite_xai.results.scopes import Scope
from granite_xai.surrogate.curves import Grid, carriers, grid_codes
from granite_xai.tables import Column, Table
from granite_xai.tables.columns import LABELLED

MOST_LEVELS = 20  # of a nominal column that are drawn: the most frequent ones
BARS = 20  # that show where the rows of an ordered column lie
FEW_VALUES = 4  # a column with so few numbers has a tick at each
DOTS, FOLDED = (
    12,
    12,
)  # values drawn as dots, and levels without an order drawn one by one (rare ones fold), at most
LETTER, PAGE_BARS = (
    6.6,
    30,
)  # width of a letter below an axis, and bars there that show where the rows lie

Tick = tuple[float, str, str]


class Axis:
    """Positions along the axis of one column, on all rows of the display: every panel of it has the same axis."""

    def __init__(self, column: Column, name: str) -> None:
        self.column, self.name = column, name
        self.labelled = (
            column.kind in LABELLED
        )  # whether the axis carries names of levels instead of numbers
        self.ordered = column.kind not in (
            "nominal",
            "boolean",
        )  # whether a line may join neighbouring values
        counts = np.bincount(column.codes + 1, minlength=len(column.levels) + 1)[1:]
        # Codes of the levels that have a place: all, or the most frequent ones of a nominal column.
        self.drawn = np.sort(
            np.argsort(-counts, kind="stable")[: MOST_LEVELS if self.labelled else None]
        )
        places, low, high = self.numbers(column.levels), -0.5, max(len(self.drawn), 1) - 0.5
        if not self.labelled and len(places):
            low, high = float(places.min()), float(places.max())
        low, high = (low, high) if low < high else (low - 0.5, high + 0.5)
        self.limits = low, high  # the first and last place of present values, never equal
        self.missing_place = float(len(self.drawn)) if self.labelled else high + 0.1 * (high - low)

    @classmethod
    def of(cls, table: Table, position: int) -> Axis:
        """The axis of a column; its name stays different from those of the other columns when it is cut."""
        return cls(table.columns[position], distinct_labels(table.names)[position])

    def numbers(self, values: Any) -> FloatArray:
        """Present values as places: numbers, days for dates, the rank of a level; NaN for a level without a place."""
        if self.labelled:
            rank = {
                level: float(i) for i, level in enumerate(self.column.levels[self.drawn].tolist())
            }
            return np.array([rank.get(value, np.nan) for value in list(values)], dtype=np.float64)
        if self.column.kind == "date":
            origin = (
                np.datetime64(0, "s")
                if self.column.levels.dtype.kind == "M"
                else np.timedelta64(0, "s")
            )
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
            middles, half = (
                np.arange(len(self.drawn) + bool(self.column.missing.any()), dtype=np.float64),
                0.35,
            )
            counts = (places[:, None] == middles).sum(axis=0)
        else:
            counts, edges = np.histogram(places[~column.missing], BARS, self.limits)
            middles, half = (edges[:-1] + edges[1:]) / 2, (edges[1] - edges[0]) / 2
            if column.missing.any():
                middles, counts = (
                    np.append(middles, self.missing_place),
                    np.append(counts, column.missing.sum()),
                )
        return middles - half, middles + half, counts / max(len(places), 1)

    @property
    def ticks(self) -> tuple[list[float], list[str]] | None:
        """Places and texts of the ticks, where they are not left to the drawing library."""
        gone = bool(self.column.missing.any())
        if self.labelled:
            names = distinct_labels(
                [str(level) for level in self.column.levels[self.drawn].tolist()], 16
            )
            names += [MISSING] if gone else []
            return [float(place) for place in range(len(names))], names
        if self.column.kind != "numeric" or (not gone and len(self.column.levels) > FEW_VALUES):
            return None
        (low, high), places = self.limits, self.column.levels.tolist()
        if gone:  # round numbers that leave room for the tick of missing values
            places = [
                tick
                for tick in round_ticks(low, high, 4)
                if self.missing_place - tick > 0.25 * (high - low)
            ]
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
        if self.column.levels.dtype.kind == "M":
            axis.axis_date()
        elif ticks is not None:
            axis.set_ticks(*ticks)
            if self.labelled and not upright:  # names are turned where they would not fit
                many, letters = len(ticks[1]), sum(map(len, ticks[1]))
                turn = 90 if many > 8 else 45 if letters + 2 * many > 34 else 0
                for tick in ax.get_xticklabels():
                    tick.set(rotation=turn, ha="right" if turn == 45 else "center")
                    tick.set_fontsize(SMALL if many <= 12 else SMALL - 1.5)
                    tick.set_rotation_mode("anchor" if turn == 45 else "default")
        if gone and not self.labelled and not upright:
            ax.axvline((high + self.missing_place) / 2, color=GREY, linewidth=0.6, linestyle=":")
        shown, every, duration = (
            len(self.drawn),
            len(self.column.levels),
            self.column.levels.dtype.kind == "m",
        )
        note = (
            " (days)"
            if duration
            else f" ({shown} most frequent of {every} levels)"
            if shown < every
            else ""
        )
        axis.set_label_text(wrapped(self.name + note, 26 if upright else 34, 4), fontsize=SMALL + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One thing drawn in a panel: a thin curve of one row, a thick line, points, or bars with their right ends."""

    shape: Literal["curve", "line", "points", "bars"]
    explanation: str  # "rows" for the bars, which show the data
    x: FloatArray
    y: FloatArray
    levels: Sequence[str | None]  # names of places on an axis of levels or dates
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

    def cells(self) -> list[tuple[Any, ...]]:
        """Cells of the frame: explanation, shape, curve, x, x_end, level, value, standard_error."""
        cells: list[tuple[Any, ...]] = []
        numbers = itertools.count()
        for line in self.lines:
            nothing = [None] * len(line.x)
            ends, errors = (
                nothing if each is None else each.tolist() for each in (line.end, line.errors)
            )
            curve = next(numbers) if line.shape == "curve" else None
            places = zip(line.x.tolist(), ends, line.levels, line.y.tolist(), errors, strict=True)
            cells += [(line.explanation, line.shape, curve, *place) for place in places]
        if self.disagreement == self.disagreement:
            cells.append(("disagreement", "text", None, None, None, None, self.disagreement, None))
        return cells


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


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers inside a range."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    raw = span / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * (1 - 1e-9))
    first, digits = math.ceil(low / step - 1e-9), 12 - math.floor(math.log10(step))
    return [round(i * step, digits) + 0.0 for i in range(first, math.floor(high / step + 1e-9) + 1)]


class PageAxis:
    """How a page shows a column: at which of its levels (at most ``points``), where, under which names, and drawn how.

    ``effects`` and ``counts`` are those of all rows, by level, missing first.
    """

    def __init__(
        self, column: Column, effects: FloatArray, counts: FloatArray, points: int
    ) -> None:
        levels, known, named = len(column.levels), counts[1:], column.kind in LABELLED
        groups = [np.array([code]) for code in _spread_out(known, points)]
        if column.kind in ("nominal", "boolean"):
            common = np.sort(
                np.argsort(-known, kind="stable")[: FOLDED if levels > FOLDED else levels]
            )
            groups = [
                np.array([code]) for code in common[np.argsort(-effects[1:][common], kind="stable")]
            ]
            groups += [np.setdiff1d(np.arange(levels), common)] if levels > FOLDED else []
        # Points of up to four values, dots on a thin line of up to twelve, or a line.
        self.style = (
            "points" if levels <= FEW_VALUES else "dots" if levels <= DOTS or named else "line"
        )
        skewed = self.style == "line" and column.kind == "numeric"
        groups, self.log, self.note = (
            _unskewed(column, known, groups) if skewed else (groups, False, "")
        )
        places = (
            [float(k) for k in range(len(groups))]
            if named
            else places_of(column)[[g[0] for g in groups]].tolist()
        )
        texts = [_text(column, group) for group in groups]
        self.gone = bool(counts[0] > 0)  # whether the last place is that of missing values
        if self.gone:
            share = percent(float(counts[0] / counts.sum()), 0)
            step = 1.0 if named or not places else 0.08 * (max(places) - min(places)) or 1.0
            far = max(places, default=0.0) * 1.35 if self.log else max(places, default=-1.0) + step
            groups, places, texts = (
                [*groups, np.array([-1])],
                [*places, far],
                [*texts, f"{MISSING} ({share})"],
            )
        self.column, self.counts, self.x, self.texts = column, counts, places, texts
        self.groups = groups  # levels at each place: their number, -1 for missing

    def at(self, values: FloatArray, lines: IntArray) -> FloatArray:
        """Values at the places: means over their levels, which stand at these lines (missing first)."""
        shares = [
            self.counts[group + 1] / max(self.counts[group + 1].sum(), 1e-300)
            for group in self.groups
        ]
        return np.array(
            [s @ values[lines[g + 1]] for s, g in zip(shares, self.groups, strict=True)],
            dtype=np.float64,
        )

    def reaches(self, counts: FloatArray) -> list[bool]:
        """Whether some rows reach each place: it lies between their smallest and largest value, or is their level."""
        present = np.flatnonzero(counts[1:])
        if self.column.kind in ("nominal", "boolean") or not len(present):
            return [bool(counts[group + 1].any()) for group in self.groups]
        return [
            bool(counts[0]) if g[0] < 0 else bool(present[0] <= g[0] <= present[-1])
            for g in self.groups
        ]

    def bars(self, counts: FloatArray) -> tuple[list[float], list[int]]:
        """Middles of the bars that show where some rows lie, and the rows of each."""
        last = len(self.x) - self.gone
        if self.style != "line" or last == len(self.counts) - 1:  # every level has a place
            return list(self.x), [int(counts[group + 1].sum()) for group in self.groups]
        move, back = (np.log, np.exp) if self.log else (np.asarray, np.asarray)
        first, end = move(np.array(self.x[:last]))[[0, -1]].tolist()
        edges = np.linspace(first, end, PAGE_BARS + 1)
        found = np.histogram(move(places_of(self.column)), bins=edges, weights=counts[1:])[0]
        middles, rows = back((edges[1:] + edges[:-1]) / 2).tolist(), [int(each) for each in found]
        return [*middles, *self.x[last:]], [*rows, *([int(counts[0])] if self.gone else [])]


def places_of(column: Column) -> FloatArray:
    """Where the levels of a column stand: numbers at their value, dates in days, names at their rank."""
    return Axis(column, column.name).numbers(column.levels)


def _spread_out(counts: FloatArray, points: int) -> list[int]:
    """Levels to draw: all of few ones, otherwise quantiles of the rows and a few even steps, with both ends."""
    if len(counts) <= points:
        return list(range(len(counts)))
    below = np.cumsum(counts)
    wanted = np.searchsorted(below, np.linspace(0, below[-1], points) * (1 - 1e-12))
    return np.unique([*np.clip(wanted, 0, len(counts) - 1).tolist(), 0, len(counts) - 1]).tolist()  # type: ignore[no-any-return]


def _unskewed(
    column: Column, counts: FloatArray, groups: list[IntArray]
) -> tuple[list[IntArray], bool, str]:
    """A column whose largest values leave no room for the others: logarithmic, or without the last hundredth."""
    values, below = column.levels.astype(np.float64), np.cumsum(counts) / max(counts.sum(), 1e-300)
    low, middle, far, most = (
        float(values[np.searchsorted(below, q)]) for q in (0.0, 0.5, 0.99, 1 - 1e-12)
    )
    if low > 0 and most > 20 * middle:
        return groups, True, "logarithmic axis"
    if most - low > 2 * (far - low) > 0:
        kept = [group for group in groups if values[group[0]] <= far]
        return kept, False, f"up to the 99th percentile; the largest value is {value(most)}"
    return groups, False, ""


def _text(column: Column, group: IntArray) -> str:
    if len(group) > 1:
        return f"{len(group)} rare levels"
    level = column.levels[group[0]]
    if column.kind == "numeric":
        return value(float(level))
    return (
        str(level.astype("M8[D]"))
        if np.issubdtype(column.levels.dtype, np.datetime64)
        else str(level)
    )


def page_ticks(effect: Mapping[str, Any], width: float, small: bool = False) -> list[Tick]:
    """Place, text and full text of the ticks below a column of a page, so many units wide."""
    every: list[Tick] = list(zip(effect["x"], effect["texts"], effect["texts"], strict=True))
    last, own = every[-1:] if effect["gone"] else [], every[:-1] if effect["gone"] else every
    room = max(2, int(width / (8 * LETTER)))
    if effect["named"] or len(own) <= min(room, 3):
        step = math.ceil(len(every) / max(2, int(width / (4 * LETTER))))
        letters = max(3, int(width * step / len(every) / LETTER) - 1)
        return [(place, shortened(text, letters), text) for place, text, _ in every[::step]]
    low, high = own[0][0], own[-1][0]
    if effect["log"]:
        powers = [
            m * 10.0**e for e in range(-9, 16) for m in ((1, 3) if high < 300 * low else (1,))
        ]
        numbers = [power for power in powers if low <= power <= high]
    elif effect["kind"] == "date":
        return [*own[:: max(1, math.ceil(len(own) / max(2, int(width / (13 * LETTER)))))], *last]
    else:
        numbers = round_ticks(low, high, 2 if small else max(3, min(6, room)))
        numbers = numbers if len(numbers) > 1 else round_ticks(low, high, 4)
    limit = last[0][0] - (0.4 if small else 0.06) * (high - low) if last else math.inf
    return [
        *((place, value(place), "") for place in numbers if place < limit),
        *((p, MISSING, t) for p, t, _ in last),
    ]
