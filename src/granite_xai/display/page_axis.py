"""The axis of one feature on a page: at which values it is drawn, where, and under which names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.numbers import column_number, share, with_minus
from granite_xai.base.text import MISSING, shortened
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.display.axis import FEW_VALUES, places_of, round_ticks
from granite_xai.tables import LABELLED, Column

MOST_DOTS = 12  # values drawn as dots; more of an ordered feature are a line
MOST_LABELS = 12  # levels without an order that are drawn one by one; rare ones are put together
PAGE_BARS = 30  # bars that show where the rows lie
LETTER_WIDTH = 6.6  # of a text below an axis, in units of the drawing
NUMBER_LETTERS = 8  # that the room of a number holds
DATE_LETTERS = 13
FEWEST_NAME_LETTERS = 4
SKEWED = 20  # times the median, from which on positive values get a logarithmic axis
FAR_QUANTILE = 0.99  # beyond which values are not drawn where they would take half the axis
NEARLY = 1 - 1e-12  # shares that are summed up may end below 1
TINY = 1e-300  # instead of a sum of 0 that is divided by


class Tick(NamedTuple):
    """A place along an axis with its text, which may be cut."""

    place: float
    text: str
    full_text: str


class Bars(NamedTuple):
    """Middles of bars along an axis, and the rows of each."""

    middles: list[float]
    rows: list[int]


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
        Codes of the levels at each place, mostly a single one; -1 for missing, which stands last.
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
        is_named = column.kind in LABELLED
        self.style = _style(len(column.levels), is_named)
        present = counts[1:]
        if column.is_ordered:
            self.groups = [np.array([code]) for code in _spread_out(present, points)]
        else:
            self.groups = _common_labels(effects[1:], present)
        if self.style == "line" and column.kind == "numeric":
            self._unskew(present)
        if is_named:
            self.x = [float(place) for place in range(len(self.groups))]
        else:
            codes = [group[0] for group in self.groups]
            self.x = places_of(column)[codes].tolist()
        self.texts = [_text(column, group) for group in self.groups]
        self.has_missing = bool(counts[0] > 0)
        if self.has_missing:
            self._add_missing(is_named)

    def _unskew(self, counts: FloatArray) -> None:
        """Where the largest values leave no room: a logarithmic axis, or no last hundredth."""
        values = self.column.levels.astype(np.float64)
        share_up_to = np.cumsum(counts) / max(counts.sum(), TINY)

        def quantile(share: float) -> float:
            return float(values[np.searchsorted(share_up_to, share)])

        smallest = quantile(0.0)
        largest = quantile(NEARLY)
        far = quantile(FAR_QUANTILE)
        if smallest > 0 and largest > SKEWED * quantile(0.5):
            self.log = True
            self.note = "logarithmic axis"
        elif largest - smallest > 2 * (far - smallest) > 0:
            self.groups = [group for group in self.groups if values[group[0]] <= far]
            self.note = f"up to the 99th percentile; the largest value is {column_number(largest)}"

    def _add_missing(self, is_named: bool) -> None:
        """Append the place of missing values."""
        last = max(self.x, default=0.0)
        if self.log:
            place = last * 1.35
        elif is_named or not self.x:
            place = float(len(self.x))
        else:
            place = last + (0.08 * (last - min(self.x)) or 1.0)
        missing = share(float(self.counts[0] / self.counts.sum()))
        self.groups.append(np.array([-1]))
        self.x.append(place)
        self.texts.append(f"{MISSING} ({missing})")

    def means_at_places(self, values: FloatArray, line_of_level: IntArray) -> FloatArray:
        """Values at the places: means over their levels, by rows.

        Parameters
        ----------
        values : array of shape (n_lines, ...)
        line_of_level : array of shape (1 + n_levels,)
            Line of each level among the values, missing first.

        Returns
        -------
        array of shape (n_places, ...)
        """
        means = []
        for group in self.groups:
            counts = self.counts[group + 1]
            shares = counts / max(counts.sum(), TINY)
            means.append(shares @ values[line_of_level[group + 1]])
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
        if not self.column.is_ordered or not len(present):
            return [bool(counts[group + 1].any()) for group in self.groups]
        reached = []
        for group in self.groups:
            code = group[0]
            if code < 0:
                reached.append(bool(counts[0]))
            else:
                reached.append(bool(present[0] <= code <= present[-1]))
        return reached

    def bars(self, counts: FloatArray) -> Bars:
        """Bars that show where some rows lie: one a place, or equally wide ones along a line.

        Parameters
        ----------
        counts : array of shape (1 + n_levels,)
            Rows of each level, missing first.
        """
        n_present = len(self.x) - self.has_missing
        every_level_has_a_place = n_present == len(self.counts) - 1
        if self.style != "line" or every_level_has_a_place:
            rows = [int(counts[group + 1].sum()) for group in self.groups]
            return Bars(middles=list(self.x), rows=rows)
        first = self._scaled(self.x[0])
        last = self._scaled(self.x[n_present - 1])
        edges = np.linspace(first, last, PAGE_BARS + 1)
        places = np.array([self._scaled(place) for place in places_of(self.column)])
        rows_of_bars = np.histogram(places, bins=edges, weights=counts[1:])[0]
        halfway = (edges[1:] + edges[:-1]) / 2
        middles = (np.exp(halfway) if self.log else halfway).tolist()
        rows = [int(n_rows) for n_rows in rows_of_bars]
        if self.has_missing:
            middles.append(self.x[-1])
            rows.append(int(counts[0]))
        return Bars(middles=middles, rows=rows)

    def _scaled(self, place: float) -> float:
        return math.log(place) if self.log else float(place)


def _style(n_levels: int, is_named: bool) -> str:
    if n_levels <= FEW_VALUES:
        return "points"
    if n_levels <= MOST_DOTS or is_named:
        return "dots"
    return "line"


def _common_labels(effects: FloatArray, counts: FloatArray) -> list[IntArray]:
    """Codes of labels by their effect, the highest first; rare ones of many together at the end.

    Parameters
    ----------
    effects, counts : arrays of shape (n_levels,)
    """
    common = np.sort(np.argsort(-counts, kind="stable")[:MOST_LABELS])
    by_effect = common[np.argsort(-effects[common], kind="stable")]
    groups = [np.array([code]) for code in by_effect]
    if len(counts) > MOST_LABELS:
        rare = np.setdiff1d(np.arange(len(counts)), common)
        groups.append(rare)
    return groups


def _spread_out(counts: FloatArray, points: int) -> list[int]:
    """Codes of the levels to draw: all of few ones, otherwise quantiles of the rows, with both ends.

    Parameters
    ----------
    counts : array of shape (n_levels,)
    points : int
        Quantiles.
    """
    last = len(counts) - 1
    if len(counts) <= points:
        return list(range(len(counts)))
    rows_up_to = np.cumsum(counts)
    wanted_rows = np.linspace(0, rows_up_to[-1], points) * NEARLY
    quantiles = np.clip(np.searchsorted(rows_up_to, wanted_rows), 0, last)
    codes: list[int] = np.unique([*quantiles.tolist(), 0, last]).tolist()
    return codes


def _text(column: Column, group: IntArray) -> str:
    """What stands below a place."""
    if len(group) > 1:
        return f"{len(group)} rare levels"
    level = column.levels[group[0]]
    if column.kind == "numeric":
        return column_number(float(level))
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
    ticks = [
        Tick(place, text, text) for place, text in zip(effect["x"], effect["texts"], strict=True)
    ]
    room = max(2, int(width / (NUMBER_LETTERS * LETTER_WIDTH)))
    n_present = len(ticks) - effect["gone"]
    if effect["named"] or n_present <= min(room, 3):
        return _ticks_of_names(ticks, width)
    present = ticks[:n_present]
    missing = ticks[n_present:]
    if effect["kind"] == "date" and not effect["log"]:
        return [*_ticks_of_dates(present, width), *missing]
    low = present[0].place
    high = present[-1].place
    numbers = _powers(low, high) if effect["log"] else _round_numbers(low, high, room, small)
    if missing:
        gap = 0.4 if small else 0.06  # of the axis, that the text of missing values takes
        end = missing[0].place - gap * (high - low)
        numbers = [number for number in numbers if number < end]
    number_ticks = [Tick(number, with_minus(column_number(number)), "") for number in numbers]
    return [*number_ticks, *(tick._replace(text=MISSING) for tick in missing)]


def _ticks_of_names(ticks: list[Tick], width: float) -> list[Tick]:
    """As many names as fit, cut to the room that each has."""
    n_fitting = max(2, int(width / (FEWEST_NAME_LETTERS * LETTER_WIDTH)))
    step = math.ceil(len(ticks) / n_fitting)
    letters = max(3, int(width * step / len(ticks) / LETTER_WIDTH) - 1)
    return [tick._replace(text=shortened(tick.text, letters)) for tick in ticks[::step]]


def _ticks_of_dates(ticks: list[Tick], width: float) -> list[Tick]:
    """As many dates as fit."""
    n_fitting = max(2, int(width / (DATE_LETTERS * LETTER_WIDTH)))
    step = max(1, math.ceil(len(ticks) / n_fitting))
    return ticks[::step]


def _round_numbers(low: float, high: float, room: int, small: bool) -> list[float]:
    """Round numbers in a range, at least two where there are some."""
    most_numbers = 2 if small else max(3, min(6, room))
    numbers = round_ticks(low, high, most_numbers)
    if len(numbers) < 2:
        return round_ticks(low, high, 4)
    return numbers


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten, and three times these where there are few, inside a range."""
    has_few_powers = high < 300 * low
    numbers = []
    for exponent in range(-9, 16):
        power = 10.0**exponent
        numbers.append(power)
        if has_few_powers:
            numbers.append(3 * power)
    return [number for number in numbers if low <= number <= high]
