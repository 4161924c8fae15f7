"""The axis of one feature on a page: at which values it is drawn, where, and under which names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.formats import with_minus
from granite_xai.base.text import shortened
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import MISSING, percent, value
from granite_xai.display.axis import FEW_VALUES, places_of, round_ticks
from granite_xai.tables import Column
from granite_xai.tables.columns import LABELLED

MOST_DOTS = 12  # values drawn as dots; more of an ordered feature are a line
MOST_LABELS = 12  # levels without an order that are drawn one by one; rare ones are put together
PAGE_BARS = 30  # bars that show where the rows lie
LETTER = 6.6  # width of a letter below an axis, in units of the drawing
SKEWED = 20  # times the median, from which on positive values get a logarithmic axis

Tick = tuple[float, str, str]  # place, text, full text


class PageAxis:
    """How a page shows a feature.

    Parameters
    ----------
    column : Column
    effects, counts : arrays of shape (1 + n_levels,)
        Effect and number of rows of each level on all rows, missing first.
    points : int
        Places, at most.

    Attributes
    ----------
    style : "points", "dots" or "line"
        Points of up to four values, dots on a thin line of up to twelve, or a line.
    x, texts : list
        The places and their names.
    groups : list of arrays
        Levels at each place by their code; -1 for missing, which stands last.
    has_missing, log : bool
    note : str
        What is unusual about the axis.
    """

    def __init__(
        self, column: Column, effects: FloatArray, counts: FloatArray, points: int
    ) -> None:
        self.column = column
        self.counts = counts
        self.log = False
        self.note = ""
        named = column.kind in LABELLED
        if len(column.levels) <= FEW_VALUES:
            self.style = "points"
        elif len(column.levels) <= MOST_DOTS or named:
            self.style = "dots"
        else:
            self.style = "line"
        present = counts[1:]
        if column.kind in ("nominal", "boolean"):
            self.groups = _common_labels(effects[1:], present)
        else:
            self.groups = [np.array([code]) for code in _spread_out(present, points)]
        if self.style == "line" and column.kind == "numeric":
            self._unskew(present)
        if named:
            self.x = [float(place) for place in range(len(self.groups))]
        else:
            first_codes = [group[0] for group in self.groups]
            self.x = places_of(column)[first_codes].tolist()
        self.texts = [_text(column, group) for group in self.groups]
        self.has_missing = bool(counts[0] > 0)
        if self.has_missing:
            self._add_missing(named)

    def _unskew(self, counts: FloatArray) -> None:
        """Where the largest values leave no room: a logarithmic axis, or no last hundredth."""
        values = self.column.levels.astype(np.float64)
        below = np.cumsum(counts) / max(counts.sum(), 1e-300)
        low, median, far, most = (
            float(values[np.searchsorted(below, share)]) for share in (0.0, 0.5, 0.99, 1 - 1e-12)
        )
        if low > 0 and most > SKEWED * median:
            self.log = True
            self.note = "logarithmic axis"
        elif most - low > 2 * (far - low) > 0:
            self.groups = [group for group in self.groups if values[group[0]] <= far]
            self.note = f"up to the 99th percentile; the largest value is {value(most)}"

    def _add_missing(self, named: bool) -> None:
        share = percent(float(self.counts[0] / self.counts.sum()), 0)
        last = max(self.x, default=0.0)
        if self.log:
            place = last * 1.35
        elif named or not self.x:
            place = float(len(self.x))
        else:
            place = last + (0.08 * (last - min(self.x)) or 1.0)
        self.groups.append(np.array([-1]))
        self.x.append(place)
        self.texts.append(f"{MISSING} ({share})")

    def at(self, values: FloatArray, lines: IntArray) -> FloatArray:
        """Values at the places: means over their levels.

        Parameters
        ----------
        values : array of shape (n_lines, ...)
        lines : array of shape (1 + n_levels,)
            Line of each level among the values, missing first.
        """
        means = []
        for group in self.groups:
            counts = self.counts[group + 1]
            shares = counts / max(counts.sum(), 1e-300)
            means.append(shares @ values[lines[group + 1]])
        return np.array(means, dtype=np.float64)

    def reaches(self, counts: FloatArray) -> list[bool]:
        """Whether some rows reach each place.

        Ordered values reach from the smallest to the largest, labels where they occur.

        Parameters
        ----------
        counts : array of shape (1 + n_levels,)
            Rows of each level, missing first.
        """
        present = np.flatnonzero(counts[1:])
        if self.column.kind in ("nominal", "boolean") or not len(present):
            return [bool(counts[group + 1].any()) for group in self.groups]
        reached = []
        for group in self.groups:
            if group[0] < 0:
                reached.append(bool(counts[0]))
            else:
                reached.append(bool(present[0] <= group[0] <= present[-1]))
        return reached

    def bars(self, counts: FloatArray) -> Bars:
        """Bars that show where some rows lie."""
        n_places = len(self.x) - self.has_missing
        every_level_has_a_place = n_places == len(self.counts) - 1
        if self.style != "line" or every_level_has_a_place:
            rows = [int(counts[group + 1].sum()) for group in self.groups]
            return Bars(middles=list(self.x), rows=rows)
        edges = np.linspace(
            self._scaled(self.x[0]), self._scaled(self.x[n_places - 1]), PAGE_BARS + 1
        )
        places = np.array([self._scaled(place) for place in places_of(self.column)])
        found = np.histogram(places, bins=edges, weights=counts[1:])[0]
        halfway = (edges[1:] + edges[:-1]) / 2
        middles = (np.exp(halfway) if self.log else halfway).tolist()
        rows = [int(n) for n in found]
        if self.has_missing:
            middles.append(self.x[-1])
            rows.append(int(counts[0]))
        return Bars(middles=middles, rows=rows)

    def _scaled(self, place: float) -> float:
        return math.log(place) if self.log else float(place)


class Bars(NamedTuple):
    """Middles of bars along an axis, and the rows of each."""

    middles: list[float]
    rows: list[int]


def _common_labels(effects: FloatArray, counts: FloatArray) -> list[IntArray]:
    """Labels by their effect, the highest first; rare ones of many together at the end."""
    levels = len(counts)
    common = np.sort(np.argsort(-counts, kind="stable")[:MOST_LABELS])
    by_effect = common[np.argsort(-effects[common], kind="stable")]
    groups = [np.array([code]) for code in by_effect]
    if levels > MOST_LABELS:
        groups.append(np.setdiff1d(np.arange(levels), common))
    return groups


def _spread_out(counts: FloatArray, points: int) -> list[int]:
    """Levels to draw: all of few ones, otherwise quantiles of the rows, with both ends."""
    last = len(counts) - 1
    if len(counts) <= points:
        return list(range(len(counts)))
    below = np.cumsum(counts)
    wanted = np.searchsorted(below, np.linspace(0, below[-1], points) * (1 - 1e-12))
    codes: list[int] = np.unique([*np.clip(wanted, 0, last).tolist(), 0, last]).tolist()
    return codes


def _text(column: Column, group: IntArray) -> str:
    if len(group) > 1:
        return f"{len(group)} rare levels"
    level = column.levels[group[0]]
    if column.kind == "numeric":
        return value(float(level))
    if np.issubdtype(column.levels.dtype, np.datetime64):
        return str(level.astype("M8[D]"))
    return str(level)


def page_ticks(effect: Mapping[str, Any], width: float, small: bool = False) -> list[Tick]:
    """The ticks below a feature of a page.

    Parameters
    ----------
    effect : mapping
        With x, texts, named, gone (a last place of missing values), log and kind.
    width : float
        Units of the drawing.
    small : bool
        A figure with room for two or three ticks only.
    """
    every: list[Tick] = list(zip(effect["x"], effect["texts"], effect["texts"], strict=True))
    missing = every[-1:] if effect["gone"] else []
    present = every[: len(every) - len(missing)]
    room = max(2, int(width / (8 * LETTER)))
    if effect["named"] or len(present) <= min(room, 3):
        return _ticks_of_names(every, width)
    low, high = present[0][0], present[-1][0]
    if effect["log"]:
        numbers = _powers(low, high)
    elif effect["kind"] == "date":
        fitting = max(2, int(width / (13 * LETTER)))
        return [*present[:: max(1, math.ceil(len(present) / fitting))], *missing]
    else:
        most = 2 if small else max(3, min(6, room))
        numbers = round_ticks(low, high, most)
        if len(numbers) < 2:
            numbers = round_ticks(low, high, 4)
    end = math.inf
    if missing:
        end = missing[0][0] - (0.4 if small else 0.06) * (high - low)
    ticks = [(place, with_minus(value(place)), "") for place in numbers if place < end]
    return [*ticks, *((place, MISSING, full) for place, full, _ in missing)]


def _ticks_of_names(every: list[Tick], width: float) -> list[Tick]:
    """As many names as fit, cut to the room that each has."""
    fitting = max(2, int(width / (4 * LETTER)))
    step = math.ceil(len(every) / fitting)
    letters = max(3, int(width * step / len(every) / LETTER) - 1)
    return [(place, shortened(text, letters), text) for place, text, _ in every[::step]]


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten, and three times these where there are few, inside a range."""
    factors = (1, 3) if high < 300 * low else (1,)
    powers = [factor * 10.0**exponent for exponent in range(-9, 16) for factor in factors]
    return [power for power in powers if low <= power <= high]
