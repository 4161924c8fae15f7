"""A chart as plain data: the axis of a feature, and the marks above it.

Pages paint it as SVG, displays on Axes of matplotlib. Both have the same places, ticks and colours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from granite_xai.base.numbers import column_number, share, with_minus
from granite_xai.base.text import MISSING, distinct_labels
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.tables import LABELLED, Column, Table

FEW_VALUES = 4  # that are points with room around them, and all have a tick
MOST_DOTS = 12  # values of an ordered feature that are dots; more of them are a line
MOST_LABELS = 12  # without an order that have a place of their own; rarer ones share one
MOST_PLACES = 32  # along a line
BARS = 30  # that show where the rows lie along a line
HALF_BAR = 0.35  # half the width of the bar of one value, in steps between values
MISSING_GAP = 0.08  # of the axis, between the last value and missing values
SKEWED = 20  # times the median, from which on positive values get a logarithmic axis
FAR_QUANTILE = 0.99  # beyond which values are not drawn where they would take half the axis
NEARLY = 1 - 1e-12  # shares that are summed up may end below 1
SLACK = 1e-9  # share of a step by which rounding may miss a round number
ERRORS = 2.0  # standard errors on both sides of a line
LARGEST_LOG = 709.0  # of a float
TINY = 1e-300  # instead of a sum of 0 that is divided by
BLUE = "#0072B2"
ORANGE = "#D55E00"
BLACK = "#222222"
GREY = "#8C8C8C"
PALE = "#D9D9D9"
CASES = (BLUE, ORANGE, "#009E73", "#CC79A7", GREY)  # models or tables that are compared
EVERYONE = (
    "#8d9298",
    "#7d848b",
)  # all rows, and regions beyond the palette: on white, on dark paper


# The axis of a feature ---------------------------------------------------------------------------------


class Tick(NamedTuple):
    """A place along an axis with its text, which may be cut."""

    place: float
    text: str
    full_text: str


class FeatureAxis:
    """Where the values of a feature stand, and what is written there; the same in every panel.

    Numbers stand at their value and dates at their day, names of levels side by side. Missing values stand last.

    Parameters
    ----------
    column : Column
        The feature on all rows.
    name : str
        What it is called; empty: the name of the column.
    counts : array of shape (1 + n_levels,), optional
        Rows of each level, missing first. None: those of the column.
    effects : array of shape (1 + n_levels,), optional
        By which levels without an order are sorted, the highest first. None: as the column has them.
    most_places : int
        Along a line.
    also : array of int, optional
        Codes of numbers and dates that have a place, too.

    Attributes
    ----------
    style : "points", "dots" or "line"
        Points of up to four values, dots on a thin line of up to twelve, or a line.
    labelled, ordered : bool
        Whether names stand along it; whether a line may join neighbours.
    groups : list of arrays
        Codes of the levels at each place, mostly a single one; -1 for missing, which stands last.
    x, texts : list
        The places and what they are called.
    has_missing, log : bool
    limits : (float, float)
        Ends of the axis without missing values.
    missing_place : float
    note : str
        What is unusual about the axis.

    Examples
    --------
    >>> import pandas as pd
    >>> from granite_xai.tables import read_table
    >>> table = read_table(pd.DataFrame({"weather": ["dry", "wet", None, "dry"]}), missing="allow")
    >>> axis = FeatureAxis(table.columns[0])
    >>> axis.x, axis.texts
    ([0.0, 1.0, 2.0], ['dry', 'wet', 'missing (25%)'])
    """

    def __init__(
        self,
        column: Column,
        name: str = "",
        counts: FloatArray | None = None,
        effects: FloatArray | None = None,
        most_places: int = MOST_PLACES,
        also: IntArray | None = None,
    ) -> None:
        self.column = column
        self.name = name or column.name
        self.counts = level_counts(column) if counts is None else counts
        self.labelled = column.kind in LABELLED
        self.ordered = column.is_ordered
        self.log = False
        self.note = "days" if column.levels.dtype.kind == "m" else ""
        self.groups = self._groups(self.counts[1:], effects, most_places, also)
        self._numbers = _days_or_numbers(column.levels, column.kind)
        if self.style == "line" and column.kind == "numeric":
            self._unskew(self.counts[1:])
        if self.labelled:
            for place, group in enumerate(self.groups):
                self._numbers[group] = place
        self.x = [float(self._numbers[group[0]]) for group in self.groups]
        self.texts = [self._text(group) for group in self.groups]
        self._set_ends()
        self.has_missing = bool(self.counts[0] > 0)
        if self.has_missing:
            self.groups.append(np.array([-1]))
            self.x.append(self.missing_place)
            self.texts.append(f"{MISSING} ({share(float(self.counts[0] / self.counts.sum()))})")

    @classmethod
    def of(cls, table: Table, position: int, most_places: int = MOST_PLACES) -> FeatureAxis:
        """The axis of a feature; its name stays different from the others when it is cut."""
        name = distinct_labels(table.names, 40)[position]
        return cls(table.columns[position], name, most_places=most_places)

    @property
    def style(self) -> Literal["points", "dots", "line"]:
        """How a curve along it is drawn."""
        n_levels = len(self.column.levels)
        if n_levels <= FEW_VALUES:
            return "points"
        if n_levels <= MOST_DOTS or self.labelled:
            return "dots"
        return "line"

    @property
    def n_present(self) -> int:
        """Places without that of missing values."""
        return len(self.x) - self.has_missing

    def _groups(
        self,
        counts: FloatArray,
        effects: FloatArray | None,
        most_places: int,
        also: IntArray | None,
    ) -> list[IntArray]:
        """Codes of the levels at each place."""
        n_levels = len(counts)
        if self.ordered:
            codes = spread_out(counts, most_places)
            if self.labelled:  # neighbours share a place
                return np.split(np.arange(n_levels), codes[1:])
            codes = codes if also is None else np.union1d(codes, also)
            return [np.array([code]) for code in codes]
        common = np.sort(np.argsort(-counts, kind="stable")[:MOST_LABELS])
        rare = np.setdiff1d(np.arange(n_levels), common)
        if effects is not None:
            common = common[np.argsort(-effects[1:][common], kind="stable")]
        groups = [np.array([code]) for code in common]
        return [*groups, rare] if len(rare) else groups

    def _unskew(self, counts: FloatArray) -> None:
        """Where the largest values leave no room: a logarithmic axis, or no last hundredth."""
        values = self._numbers
        share_up_to = np.cumsum(counts) / max(counts.sum(), TINY)
        smallest, median, far, largest = values[
            np.searchsorted(share_up_to, (0.0, 0.5, FAR_QUANTILE, NEARLY))
        ]
        if smallest > 0 and largest > SKEWED * median:
            self.log = True
            self.note = "logarithmic axis"
        elif largest - smallest > 2 * (far - smallest) > 0:
            self._numbers = np.where(values <= far, values, np.nan)
            self.groups = [group for group in self.groups if values[group[0]] <= far]
            self.note = f"up to the 99th percentile; the largest value is {column_number(largest)}"

    def _text(self, group: IntArray) -> str:
        levels = self.column.levels
        if len(group) > 1 and not self.ordered:
            return f"{len(group)} rare levels"
        if len(group) > 1:
            return f"{levels[group[0]]} – {levels[group[-1]]}"
        level = levels[group[0]]
        if self.column.kind == "numeric":
            return column_number(float(level))
        if levels.dtype.kind == "M":
            return str(level.astype("M8[D]"))
        return str(level)

    def _set_ends(self) -> None:
        """Ends of the axis and the place of missing values; names and single values have half a step around them."""
        first, last = (min(self.x), max(self.x)) if self.x else (0.0, 0.0)
        if self.labelled or self.style == "points":
            steps = 1.0 if self.labelled else (last - first) / max(len(self.x) - 1, 1)
            room = steps / 2 or 0.5
            self.limits = first - room, last + room
            self.missing_place = last + 2 * room
            self._end_behind_missing = last + 3 * room
        else:
            start, end = self.scaled(first), self.scaled(last)
            missing = end + MISSING_GAP * (end - start)
            self.limits = first, last
            self.missing_place = float(self.unscaled(missing))
            self._end_behind_missing = float(
                self.unscaled(missing + MISSING_GAP / 2 * (missing - start))
            )

    @property
    def drawn_limits(self) -> tuple[float, float]:
        """Ends of the axis, with room for missing values where there are some."""
        low, high = self.limits
        return low, self._end_behind_missing if self.has_missing else high

    def scaled(self, place: Any) -> Any:
        """Places on the scale of the axis: their logarithms, or as they are."""
        return np.log(place) if self.log else place

    def unscaled(self, place: Any) -> Any:
        """The places of numbers on the scale of the axis."""
        return np.exp(np.minimum(place, LARGEST_LOG)) if self.log else place

    def places(self, levels: Any) -> FloatArray:
        """The place of some levels of the feature, (n,); nan: it is not drawn.

        Parameters
        ----------
        levels : array of shape (n,)
            Of other rows, or of some of these.
        """
        if self.labelled:
            place_of = dict(zip(self.column.levels.tolist(), self._numbers.tolist(), strict=True))
            places = [place_of.get(level, np.nan) for level in levels.tolist()]
            return np.array(places, dtype=np.float64)
        numbers = _days_or_numbers(levels, self.column.kind)
        if np.isnan(self._numbers).any():  # the largest values are left out
            numbers = np.where(numbers <= self.limits[1], numbers, np.nan)
        return numbers

    def places_of(self, column: Column) -> FloatArray:
        """The place of each level of a column, (1 + n_levels,), missing first."""
        return np.append(self.missing_place, self.places(column.levels))

    def of_rows(self, column: Column) -> FloatArray:
        """The place of each row, on which ``column`` is the feature (nan: it is not drawn)."""
        return self.places_of(column)[column.codes + 1]

    def names(self, levels: Any) -> list[str | None]:
        """What some levels are called in a frame; None for numbers, the place of rare names."""
        if self.column.kind == "numeric":
            return [None] * len(levels)
        if not self.labelled:
            return [str(level) for level in levels]
        text_of = dict(zip(self.x, self.texts, strict=True))
        places = self.places(levels).tolist()
        return [text_of.get(place, str(level)) for place, level in zip(places, levels, strict=True)]

    def counts_of(self, column: Column) -> FloatArray:
        """Rows of each level of the axis, missing first, (1 + n_levels,), where ``column`` is the feature."""
        number = {level: i + 1 for i, level in enumerate(self.column.levels.tolist())}
        numbers = np.array([0, *(number.get(level, -1) for level in column.levels.tolist())])
        codes = numbers[column.codes + 1]
        return np.bincount(codes[codes >= 0], minlength=len(number) + 1).astype(np.float64)

    def at_places(self, values: FloatArray) -> FloatArray:
        """Values at the places, means over their levels by rows, (n_places, ...).

        Parameters
        ----------
        values : array of shape (1 + n_levels, ...)
            Of each level, missing first.
        """
        means = []
        for group in self.groups:
            counts = self.counts[group + 1]
            means.append(counts / max(counts.sum(), TINY) @ values[group + 1])
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
        reached = []
        for group in self.groups:
            occurs = bool(counts[group + 1].any())
            if self.ordered and len(present) and group[0] >= 0:
                occurs = bool(present[0] <= group[-1] and group[0] <= present[-1])
            reached.append(occurs)
        return reached

    def bars(self, counts: FloatArray | None = None) -> Mark:
        """Bars that show where rows lie: one a place, or equally wide ones along a line; their shares of the rows.

        Parameters
        ----------
        counts : array of shape (1 + n_levels,), optional
            Rows of each level, missing first; None: all rows.
        """
        counts = self.counts if counts is None else counts
        x = self.scaled(np.array(self.x))
        every_level_has_a_place = self.n_present == len(self.counts) - 1
        if self.style != "line" or every_level_has_a_place:
            rows = np.array([counts[group + 1].sum() for group in self.groups], dtype=np.float64)
            steps = np.diff(np.sort(x[: self.n_present]))
            half = HALF_BAR * (float(steps.min()) if len(steps) else 1.0)
            left, right = x - half, x + half
        else:
            low, high = self.scaled(np.array(self.limits))
            drawn = np.isfinite(self._numbers)
            places = np.clip(self.scaled(self._numbers[drawn]), low, high)
            rows, edges = np.histogram(places, BARS, (low, high), weights=counts[1:][drawn])
            left, right = edges[:-1], edges[1:]
            if self.has_missing:
                half = (right[0] - left[0]) / 2
                left, right = np.append(left, x[-1] - half), np.append(right, x[-1] + half)
                rows = np.append(rows, counts[0])
        shares = rows / max(counts.sum(), 1.0)
        return Mark("bars", "rows", self.unscaled(left), shares, end=self.unscaled(right))

    def ticks(self, letters: float, few: bool = False) -> list[Tick]:
        """Ticks with texts that fit side by side.

        Parameters
        ----------
        letters : float
            That fit along the axis.
        few : bool
            A small chart, with room for two or three of them.
        """
        texts = self.texts
        if self.column.kind == "numeric":
            texts = [with_minus(text) for text in texts]
        named = [Tick(place, text, text) for place, text in zip(self.x, texts, strict=True)]
        missing = [named.pop()._replace(text=MISSING)] if self.has_missing else []
        room = max(2, int(letters / NUMBER_LETTERS))
        if self.labelled or self.n_present <= min(room, FEW_VALUES):
            return _ticks_of_names([*named, *missing], letters)
        low, end = self.limits
        if missing:  # its text needs room
            taken = max(MISSING_LETTERS / max(letters, 1) - MISSING_GAP, 0.0)
            end = self.unscaled((1 - taken) * self.scaled(end) + taken * self.scaled(low))
        if self.column.levels.dtype.kind == "M":
            ticks = date_ticks(*self.limits, max(letters / (1 + few), LEAST_DATE_LETTERS))
        else:
            most = 2 if few else max(3, min(6, room))
            numbers = round_ticks(*self.limits, most)
            if self.log:
                powers = _powers(*self.limits)
                numbers = powers[:: math.ceil(len(powers) / room)]
            if len(numbers) < 2:
                numbers = round_ticks(*self.limits, 4)
            texts = [with_minus(_round_number(number)) for number in numbers]
            ticks = [Tick(number, text, text) for number, text in zip(numbers, texts, strict=True)]
        return [*(tick for tick in ticks if tick.place <= end), *missing]


def level_counts(column: Column) -> FloatArray:
    """Rows of each level, missing first, (1 + n_levels,); without rows each level counts as one."""
    if not len(column.codes):
        return np.append(0.0, np.ones(len(column.levels)))
    counts = np.bincount(column.codes + 1, minlength=len(column.levels) + 1)
    return counts.astype(np.float64)


def spread_out(counts: FloatArray, points: int) -> IntArray:
    """Codes of the levels to draw: all of few ones, otherwise quantiles of the rows, with both ends.

    Parameters
    ----------
    counts : array of shape (n_levels,)
    points : int
        Quantiles.
    """
    n_levels = len(counts)
    if n_levels <= points:
        return np.arange(n_levels)
    rows_up_to = np.cumsum(counts)
    wanted_rows = np.linspace(0, rows_up_to[-1], points) * NEARLY
    quantiles = np.clip(np.searchsorted(rows_up_to, wanted_rows), 0, n_levels - 1)
    return np.unique([0, *quantiles.tolist(), n_levels - 1])


def _days_or_numbers(levels: Any, kind: str) -> FloatArray:
    """Levels as numbers, (n_levels,): dates and durations in days; the number of a name."""
    if kind in LABELLED:
        return np.arange(len(levels), dtype=np.float64)
    if kind == "date":
        origin = np.datetime64(0, "s") if levels.dtype.kind == "M" else np.timedelta64(0, "s")
        return np.asarray((levels - origin) / np.timedelta64(1, "D"), dtype=np.float64)
    return np.asarray(levels, dtype=np.float64)


# Ticks -------------------------------------------------------------------------------------------------

NUMBER_LETTERS = 8  # that the room of a number holds
FEWEST_NAME_LETTERS = 4
MISSING_LETTERS = 9
LEAST_DATE_LETTERS = 14.0  # of a small chart
DATE_UNITS = (
    ("m", 1 / 1440, 14, (1, 5, 15, 30)),
    ("h", 1 / 24, 14, (1, 3, 6, 12)),
    ("D", 1.0, 13, (1, 2, 7, 14)),
    ("M", 30.44, 10, (1, 2, 3, 6)),
    ("Y", 365.2425, 7, (1, 2, 5, 10, 20, 50)),
)
"""Unit, days, letters with the gap between two of them, and how many units are between two ticks."""


def _ticks_of_names(ticks: list[Tick], letters: float) -> list[Tick]:
    """As many names as fit, cut to the room that each has, and never where they differ."""
    n_fitting = max(2, int(letters / FEWEST_NAME_LETTERS))
    step = math.ceil(len(ticks) / n_fitting)
    each = max(4, int(letters * step / len(ticks)) - 1)
    texts = distinct_labels([tick.text for tick in ticks], each)
    named = [tick._replace(text=text) for tick, text in zip(ticks, texts, strict=True)]
    return named[::step]


def round_ticks(low: float, high: float, steps: int = 5) -> list[float]:
    """Round numbers inside a range: multiples of 1, 2 or 5 times a power of ten.

    Parameters
    ----------
    low, high : float
    steps : int
        Between them, at most. Where the range is empty or endless, the only number is ``low``.

    Examples
    --------
    >>> round_ticks(0.0, 23.0)
    [0.0, 5.0, 10.0, 15.0, 20.0]
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


def _round_number(number: float) -> str:
    """A round number without an exponent, up to ten millions."""
    return f"{number:.9g}" if 1 <= abs(number) <= 1e7 else column_number(number)


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten, and three times these where there are few, inside a range."""
    factors = (1.0, 3.0) if high < 300 * low else (1.0,)
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    numbers = [factor * 10.0**exponent for exponent in exponents for factor in factors]
    return [number for number in numbers if low * (1 - SLACK) <= number <= high * (1 + SLACK)]


def date_ticks(low: float, high: float, letters: float) -> list[Tick]:
    """As many round dates as fit inside a range of days since 1970, from minutes to years.

    Examples
    --------
    >>> [tick.text for tick in date_ticks(18262.0, 19000.0, 20)]
    ['2020', '2021', '2022']
    """
    fitting = (
        (unit, step)
        for unit, days, n_letters, steps in DATE_UNITS
        for step in steps
        if (high - low) / (days * step) * n_letters <= letters
    )
    unit, step = next(fitting, ("Y", 100))
    ends = [np.datetime64(round(86400 * place), "s").astype(f"M8[{unit}]") for place in (low, high)]
    first_text = str(ends[0]).replace("T", " ")
    origin = 1970 if unit == "Y" else 0
    first, last = (int(end.astype(np.int64)) + origin for end in ends)
    numbers = np.arange(math.ceil(first / step) * step, last + 1, step) - origin
    ticks = []
    for date in numbers.astype(f"M8[{unit}]"):
        second = date.astype("M8[s]")
        place = float(second.astype(np.int64)) / 86400
        text = str(date) if unit in "YMD" else str(second)[5:16].replace("T", " ")
        if low - SLACK <= place <= high + SLACK:
            ticks.append(Tick(place, text, text))
    return ticks or [Tick(low, first_text, first_text)]


# Marks -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """One thing drawn along an axis.

    Parameters
    ----------
    shape : "line", "curve", "points", "band" or "bars"
        A thick line with the band of its interval, a thin curve of one row, points, the band in which the curves of
        most rows lie, or bars.
    name : str
        What it is of: an explanation, a case, the rows.
    x, y : arrays of shape (n,)
        NaN where it has no value.
    texts : sequence of str or None
        What the places are called, "missing" where a value is missing; None for numbers.
    errors : array of shape (n,), optional
        Standard errors of y; the band is two of them on both sides.
    low, high : arrays of shape (n,), optional
        Ends of its band, or of the bars of its points, where errors are not what they are made of.
    end : array of shape (n,), optional
        Right ends of bars.
    joined : bool
        Whether a line joins the places; missing values always stand alone.
    regions : tuple of int or None
        Whose colour it has, and with which it is shown; None: all rows.
    color : str
        Empty: that of its regions.
    dashed : bool
        Whether it is there to be compared with another one.
    label, mark : str
        What stands at its end, and where there is little room.
    is_outer : array of shape (n,), optional
        Where it lies beyond the range that sentences state: thin there. None: nowhere.
    is_passed : array of shape (n,), optional
        Which places its line passes over, because no row has them. None: none.
    """

    shape: Literal["line", "curve", "points", "band", "bars"]
    name: str
    x: FloatArray
    y: FloatArray
    texts: Sequence[str | None] = ()
    errors: FloatArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None
    end: FloatArray | None = None
    joined: bool = True
    regions: tuple[int, ...] | None = None
    color: str = ""
    dashed: bool = False
    label: str = ""
    mark: str = ""
    is_outer: BoolArray | None = None
    is_passed: BoolArray | None = None

    @property
    def middles(self) -> FloatArray:
        """Half way between the ends of bars."""
        return self.x if self.end is None else (self.x + self.end) / 2

    @property
    def interval(self) -> tuple[FloatArray | None, FloatArray | None]:
        """Ends of the band; None: it has none."""
        if self.errors is None:
            return self.low, self.high
        return self.y - ERRORS * self.errors, self.y + ERRORS * self.errors


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Marks above the axis of a feature; pages paint it as SVG, displays on Axes.

    Parameters
    ----------
    axis : FeatureAxis
    marks : tuple of Mark
    title : str
        On a page that of its vertical axis.
    note : str
        What stands in its corner.
    """

    axis: FeatureAxis
    marks: tuple[Mark, ...]
    title: str = ""
    note: str = ""


def limits_of(charts: Sequence[Chart]) -> tuple[float, float]:
    """The lowest and the highest value of the marks of some charts but bars; (0, 1) where there are none."""
    ends = [np.zeros(0)]
    for chart in charts:
        for mark in chart.marks:
            if mark.shape != "bars":
                ends += [values for values in (mark.y, *mark.interval) if values is not None]
    heights = np.concatenate(ends)
    heights = heights[np.isfinite(heights)]
    if not len(heights):
        return 0.0, 1.0
    return float(heights.min()), float(heights.max())


def value_ranks(column: Column) -> FloatArray:
    """Where the value of each row stands among those of all rows: 0 lowest, 1 highest, nan missing.

    Equal values have the same rank, in the middle of their rows. Of values without an order two have one, more none.
    """
    counts = level_counts(column)[1:]
    middles = np.cumsum(counts) - counts / 2
    if len(middles) > 1:
        middles = (middles - middles[0]) / (middles[-1] - middles[0])
    if not column.is_ordered and len(counts) > 2:
        middles = np.full(len(counts), np.nan)
    return np.append(middles, np.nan)[column.codes]
