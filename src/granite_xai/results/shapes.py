"""What a curve does: the simplest shape that describes nearly all of it, and no turn that its errors do not bear.

A shape is a claim. It is made of the curve at the levels that rows have, each weighed by its rows; a peak, a valley or
a kink is told only where it stands out from the errors of the curve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.numbers import column_number, with_minus
from granite_xai.base.text import plain, shortened
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.curves import as_numbers
from granite_xai.curves.shared import SharedCurve
from granite_xai.regions import word_list
from granite_xai.tables import Column

DESCRIBED = 0.9  # share of a curve's variance that its shape describes
ERRORS = 2.0  # standard errors that a range or a turn has to exceed
TURN = 0.1  # share of the curve's range that a turn has to exceed
LEVEL = 0.2  # share of the range by which a part may change that is called level
FEWEST = 0.05  # share of the rows on either side of a turn
ALIKE = 0.9  # correlation from which two curves do the same, whatever their shapes are called
MOST_PLACES = 40  # of a curve; more levels are joined to places with about equally many rows
MOST_LABELS = 3  # that are named as highest or as lowest
LONGEST_LABEL = 40
RANGE_FROM = 0.05  # share of the rows below and above which curves are not compared

VERBS: dict[str, str | tuple[str, str]] = {
    "constant": ("is that of {feature} = {0}", "is that of {0} alone"),
    "flat": ("hardly depends on {feature}", "hardly varies"),
    "rises": ("rises with {feature}", "rises"),
    "falls": ("falls with {feature}", "falls"),
    "level, rises": "is level to {about}{feature} {0}, then rises",
    "level, falls": "is level to {about}{feature} {0}, then falls",
    "rises, level": "rises to {about}{feature} {0}, then levels off",
    "falls, level": "falls to {about}{feature} {0}, then levels off",
    "peak": "peaks at {about}{feature} {0}",
    "valley": "is lowest at {about}{feature} {0}",
    "high": "is highest from {about}{feature} {0} to {1}",
    "low": "is lowest from {about}{feature} {0} to {1}",
    "two peaks": "peaks at {about}{feature} {0} and {1}",
    "higher": ("is higher for {feature} = {0} than for {1}", "is higher for {0} than for {1}"),
    "labels": (
        "is highest for {feature} = {0}, lowest for {1}",
        "is highest for {0}, lowest for {1}",
    ),
    "varies": ("varies along {feature}, by up to {range}", "varies by up to {range}"),
    "effect": ("changes with {feature}, by up to {range}", "changes by up to {range}"),
}
"""What the output does, with the feature named and where it has been named; values without ``=`` follow its name."""

FAMILY = {
    "level, rises": "rises",
    "rises, level": "rises",
    "level, falls": "falls",
    "falls, level": "falls",
    "peak": "high",
    "valley": "low",
    "higher": "labels",
}
"""Kinds that do the same thing in other words."""


@dataclass(frozen=True)
class Shape:
    """What a curve does.

    Attributes
    ----------
    kind : str
        A key of `VERBS`.
    places : tuple of str
        The values that it names.
    levels : tuple of int
        The same as positions among the levels of the column; of spans both ends.
    is_about : bool
        Whether these values are not known exactly.
    size, error : float
        Of the smallest turn that it tells (without turns the range), and the standard error of that difference at most.
    """

    kind: str
    places: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()
    is_about: bool = False
    size: float = math.nan
    error: float = math.nan

    def words(self, feature: str, range_text: str = "") -> str:
        """What the output does; the feature is empty where it has been named.

        Examples
        --------
        >>> Shape("two peaks", ("8", "17")).words("hr"), Shape("rises").words("")
        ('peaks at hr 8 and 17', 'rises')
        """
        templates = VERBS[self.kind]
        if isinstance(templates, tuple):
            template = templates[0] if feature else templates[1]
        else:
            template = templates if feature else templates.replace("{feature} ", "")
        about = "about " if self.is_about else ""
        return template.format(*self.places, about=about, feature=feature, range=range_text)


class _Points(NamedTuple):
    """A curve at places from left to right, or at labels.

    Attributes
    ----------
    x, y : arrays of shape (places,)
    weights : array of shape (places,)
        Shares of the rows, together 1.
    errors : array of shape (places,)
        Standard errors of y.
    levels : array of shape (places,)
        The level in the middle of each place.
    are_joined : bool
        Whether places stand for several levels.
    column : Column
    range : float
        Of the curve.
    """

    x: FloatArray
    y: FloatArray
    weights: FloatArray
    errors: FloatArray
    levels: IntArray
    are_joined: bool
    column: Column
    range: float

    def error_between(self, first: int, second: int) -> float:
        """Standard error of the difference between two places, at most: whatever their correlation is."""
        return float(self.errors[first] + self.errors[second])

    def is_clear(self, size: float, error: float) -> bool:
        """Whether a difference is more than a small part of the curve, and than its error."""
        return size > max(TURN * self.range, ERRORS * error)

    def has_rows_beside(self, first: int, last: int) -> bool:
        """Whether enough rows lie before some places, and enough behind them."""
        before = self.weights[:first].sum()
        behind = self.weights[last + 1 :].sum()
        return bool(min(before, behind) >= FEWEST)

    def shape(
        self, kind: str, places: Sequence[int], size: float, error: float, is_about: bool = False
    ) -> Shape:
        """A shape that names some places; ``is_about``: these are not known exactly."""
        levels = tuple(int(self.levels[place]) for place in places)
        texts = tuple(place_text(self.column, level) for level in levels)
        is_rounded = self.column.kind == "numeric" and not _is_whole(self.column)
        return Shape(kind, texts, levels, is_about or is_rounded, size, error)


def shape_of(curve: SharedCurve, flat: float = 0.0) -> Shape:
    """Say what a curve does.

    Parameters
    ----------
    curve : SharedCurve
    flat : float
        The range up to which a curve is flat beside others of the fit: a twentieth of the largest.
    """
    if curve.column is None:
        return Shape("effect", size=curve.range)
    points = _points(curve, curve.column)
    if len(points.y) == 0:
        return Shape("flat")
    if len(points.y) == 1:
        return points.shape("constant", [0], 0.0, 0.0)
    highest, lowest = int(np.argmax(points.y)), int(np.argmin(points.y))
    error = points.error_between(highest, lowest)
    if curve.range <= max(flat, ERRORS * error) or curve.range == 0:
        return Shape("flat", size=curve.range, error=error)
    if len(points.y) == 2:
        return points.shape("higher", [highest, lowest], curve.range, error)
    if curve.column.is_ordered:
        shape = _monotone(points) or _turning(points)
    else:
        shape = _labels(points)
    return shape or Shape("varies", size=curve.range, error=error)


def _points(curve: SharedCurve, column: Column) -> _Points:
    """The levels that have rows; of very many, places that stand for several."""
    levels = np.flatnonzero(curve.shares[1:] > 0)
    weights = curve.shares[1:][levels]
    x = np.arange(len(levels), dtype=np.float64)
    if column.kind in ("numeric", "date"):
        x = as_numbers(column.levels, column)[levels]
    points = _Points(
        x=x,
        y=curve.effects[1:][levels],
        weights=weights / max(weights.sum(), np.finfo(float).tiny),
        errors=np.nan_to_num(curve.errors[1:][levels]),
        levels=levels,
        are_joined=False,
        column=column,
        range=curve.range,
    )
    if len(levels) <= MOST_PLACES or not column.is_ordered:
        return points
    middles = np.cumsum(points.weights) - points.weights / 2
    place = np.minimum((middles * MOST_PLACES).astype(np.intp), MOST_PLACES - 1)
    place = np.unique(place, return_inverse=True)[1]
    mass = np.asarray(np.bincount(place, points.weights), dtype=np.float64)
    middle = np.searchsorted(middles, np.cumsum(mass) - mass / 2).clip(max=len(levels) - 1)
    return points._replace(
        x=np.bincount(place, points.weights * points.x) / mass,
        y=np.bincount(place, points.weights * points.y) / mass,
        weights=mass,
        errors=np.bincount(place, points.weights * points.errors) / mass,
        levels=levels[middle],
        are_joined=True,
    )


def place_text(column: Column, level: int) -> str:
    """A value of a column as a sentence names it: numbers to a hundredth or a tenth of what the column spans.

    Parameters
    ----------
    column : Column
    level : int
        Its place among the levels of the column.
    """
    value = column.levels[level]
    if column.kind != "numeric" or _is_whole(column):
        return level_text(column, value)
    low, high = np.quantile(column.values[~column.missing], [0.05, 0.95])
    if not high > low:
        return level_text(column, value)
    digits = 1 - math.floor(math.log10(high - low))
    return level_text(column, round(float(value), digits) + 0.0)


def level_text(column: Column, level: Any) -> str:
    """A value of a column as a person would write it.

    Parameters
    ----------
    column : Column
    level : object
        A present value of it.
    """
    if column.kind == "numeric":
        return with_minus(column_number(float(level)))
    return shortened(plain(level), LONGEST_LABEL)


def _is_whole(column: Column) -> bool:
    return bool(np.all(column.levels.astype(np.float64) % 1 == 0))


# Labels -----------------------------------------------------------------------------------------------


def _labels(points: _Points) -> Shape | None:
    """The labels that are highest and lowest, with those that errors do not tell from them; few rows name none."""
    order = np.argsort(-points.y, kind="stable")
    order = order[points.weights[order] >= FEWEST]
    if len(order) < 2:
        return Shape("varies", size=points.range)
    ends: list[list[int]] = []
    for end, *others in (order.tolist(), order[::-1].tolist()):
        alike = [end]
        for place in others:
            gap = abs(points.y[place] - points.y[end])
            if not points.is_clear(gap, points.error_between(place, end)):
                alike.append(place)
        ends.append(alike)
    high, low = ends
    size = float(points.y[high].min() - points.y[low].max())
    error = max(points.error_between(first, second) for first in high for second in low)
    is_told = set(high).isdisjoint(low) and points.is_clear(size, error)
    if not is_told or max(len(high), len(low)) > MOST_LABELS:
        return Shape("varies", size=points.range, error=error)
    named = points.shape("labels", [*high, *low], size, error)
    texts = word_list(named.places[: len(high)]), word_list(named.places[len(high) :])
    return replace(named, places=texts)


# Ordered values ---------------------------------------------------------------------------------------


def _errors_of_rising_fits(y: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted squared error of the best fit that never falls to places ``first`` to ``last``, (places, places).

    Neighbours that would fall are pooled; every start is one pass.
    """
    n_places = len(y)
    errors = np.zeros((n_places, n_places))
    for first in range(n_places):
        blocks: list[tuple[float, float, float]] = []  # weight, mean, squared error within
        for last in range(first, n_places):
            weight, mean, error = float(weights[last]), float(y[last]), 0.0
            while blocks and blocks[-1][1] >= mean:
                other_weight, other_mean, other_error = blocks.pop()
                total = weight + other_weight
                between = weight * other_weight / total * (mean - other_mean) ** 2
                mean = (weight * mean + other_weight * other_mean) / total
                error, weight = error + other_error + between, total
            blocks.append((weight, mean, error))
            errors[first, last] = sum(block[2] for block in blocks)
    return errors


def _monotone(points: _Points) -> Shape | None:
    """A curve that rises or falls: along a line, with a level part at one end, or anyhow; None: it does neither."""
    x, y, weights = points.x, points.y, points.weights
    last = len(y) - 1
    rising = float(np.sign(_covariance(x, y, weights))) or 1.0
    verb = "rises" if rising > 0 else "falls"
    monotone = Shape(verb, size=points.range, error=points.error_between(0, last))
    if _correlation(x, y, weights) ** 2 >= DESCRIBED:
        return monotone
    fits: list[tuple[float, str, int]] = []
    for kink in range(1, last):
        beyond = np.maximum(x - x[kink], 0.0)
        before = np.minimum(x - x[kink], 0.0)
        fits.append((_correlation(beyond, y, weights) ** 2, f"level, {verb}", kink))
        fits.append((_correlation(before, y, weights) ** 2, f"{verb}, level", kink))
    for described, kind, kink in sorted(fits, reverse=True):
        if described < DESCRIBED:
            break
        level_part = slice(0, kink + 1) if kind.startswith("level") else slice(kink, last + 1)
        is_level = np.ptp(y[level_part]) <= LEVEL * np.ptp(y)
        # How far the kink lies off the line between both ends.
        along = (x[kink] - x[0]) / (x[last] - x[0])
        size = float(abs(y[kink] - (1 - along) * y[0] - along * y[last]))
        errors = points.errors
        error = float(errors[kink] + (1 - along) * errors[0] + along * errors[last])
        if is_level and points.has_rows_beside(kink, kink) and points.is_clear(size, error):
            return points.shape(kind, [kink], size, error, is_about=True)
    missed = float(_errors_of_rising_fits(rising * y, weights)[0, last])
    return monotone if missed <= _missable(points) else None


def _missable(points: _Points) -> float:
    """Squared error up to which a fit describes the curve."""
    return (1 - DESCRIBED) * _covariance(points.y, points.y, points.weights)


def _turning(points: _Points) -> Shape | None:
    """A curve with one peak, one valley or two peaks; None: it has none that can be told."""
    rising = _errors_of_rising_fits(points.y, points.weights)
    falling = _errors_of_rising_fits(-points.y, points.weights)
    return (
        _one_turn(points, 1.0, ("peak", "high"), rising, falling)
        or _one_turn(points, -1.0, ("valley", "low"), falling, rising)
        or _two_peaks(points, rising, falling)
    )


def _one_turn(
    points: _Points, sign: float, kinds: tuple[str, str], first: FloatArray, then: FloatArray
) -> Shape | None:
    """A peak, or with the sign -1 a valley: at a place, or along a span."""
    last = len(points.y) - 1
    missed = min(first[0, turn] + then[turn + 1, last] for turn in range(last))
    turn = int(np.argmax(sign * points.y))
    step = _smallest_step(points, sign, [0, turn, last])
    if missed > _missable(points) or step is None:
        return None
    start, end = _span(points, sign, turn, TURN * points.range)
    if not points.has_rows_beside(start, end):
        return None
    if start == end:
        return points.shape(kinds[0], [turn], *step, points.are_joined)
    return points.shape(kinds[1], [start, end], *step, points.are_joined)


def _two_peaks(points: _Points, rising: FloatArray, falling: FloatArray) -> Shape | None:
    """A curve that goes up, down, up and down."""
    y = points.y
    last = len(y) - 1
    # The best place of each turn, given the valley between both peaks.
    fits = []
    for place in range(1, last - 1):
        left = min(rising[0, turn] + falling[turn + 1, place] for turn in range(place))
        right = min(
            rising[place + 1, turn] + falling[turn + 1, last] for turn in range(place + 1, last)
        )
        fits.append((left + right, place))
    missed, valley = min(fits, default=(math.inf, 0))
    if missed > _missable(points):
        return None
    peaks = [int(np.argmax(y[:valley])), valley + 1 + int(np.argmax(y[valley + 1 :]))]
    valley = peaks[0] + int(np.argmin(y[peaks[0] : peaks[1]]))
    step = _smallest_step(points, 1.0, [0, peaks[0], valley, peaks[1], last])
    if step is None:
        return None
    are_spans = any(_span(points, 1.0, peak, 0.0) != (peak, peak) for peak in peaks)
    return points.shape("two peaks", peaks, *step, points.are_joined or are_spans)


def _smallest_step(
    points: _Points, sign: float, places: Sequence[int]
) -> tuple[float, float] | None:
    """The smallest step between an end and the turns that follow, and its error; None where one cannot be told."""
    steps = []
    for shoulder, turn in pairwise(places):
        step = sign * float(points.y[turn] - points.y[shoulder])
        steps.append((step, points.error_between(shoulder, turn)))
        sign = -sign
    are_clear = all(points.is_clear(step, error) for step, error in steps)
    have_rows = all(points.has_rows_beside(turn, turn) for turn in places[1:-1])
    return min(steps) if are_clear and have_rows else None


def _span(points: _Points, sign: float, turn: int, tolerance: float) -> tuple[int, int]:
    """First and last place around a turn that lie nearly as high, or that errors do not tell from it."""

    def is_near(place: int) -> bool:
        gap = sign * float(points.y[turn] - points.y[place])
        return gap <= max(tolerance, ERRORS * points.error_between(turn, place))

    start = end = turn
    while start > 0 and is_near(start - 1):
        start -= 1
    while end < len(points.y) - 1 and is_near(end + 1):
        end += 1
    return start, end


def _covariance(first: FloatArray, second: FloatArray, weights: FloatArray) -> float:
    return float(weights @ ((first - weights @ first) * (second - weights @ second)))


def _correlation(first: FloatArray, second: FloatArray, weights: FloatArray) -> float:
    """0 where one of them does not vary."""
    variances = _covariance(first, first, weights) * _covariance(second, second, weights)
    return _covariance(first, second, weights) / math.sqrt(variances) if variances > 0 else 0.0


# Two curves -------------------------------------------------------------------------------------------


def shapes_differ(first: SharedCurve, second: SharedCurve, shapes: tuple[Shape, Shape]) -> bool:
    """Whether two curves of a feature do different things, not the same more or less strongly.

    Parameters
    ----------
    first, second : SharedCurve
    shapes : (Shape, Shape)
    """
    kinds = [FAMILY.get(shape.kind, shape.kind) for shape in shapes]
    if {"flat", "constant", "varies", "effect"}.intersection(kinds):
        return False
    levels = 1 + common_levels(first, second)
    weights = first.shares[levels] + second.shares[levels]
    weights = weights / max(weights.sum(), np.finfo(float).tiny)
    if _correlation(first.effects[levels], second.effects[levels], weights) >= ALIKE:
        return False
    if kinds[0] != kinds[1]:
        return True
    if kinds[0] in ("high", "low"):
        left, right = sorted(shapes, key=lambda shape: min(shape.levels))
        return max(left.levels) < min(right.levels)
    return kinds[0] == "labels" and shapes[0].levels[:1] != shapes[1].levels[:1]


def common_levels(first: SharedCurve, second: SharedCurve) -> IntArray:
    """The levels at which two curves of a feature can be compared.

    Labels that both have; numbers and dates between the 5% and the 95% points of the rows of both.

    Parameters
    ----------
    first, second : SharedCurve
    """
    if first.column is None or second.column is None:
        return np.zeros(0, dtype=np.intp)
    is_common = np.ones(len(first.column.levels), dtype=bool)
    for curve in (first, second):
        shares = curve.shares[1:]
        if first.column.is_ordered:
            below = np.cumsum(shares) / max(float(shares.sum()), np.finfo(float).tiny)
            is_common &= (below >= RANGE_FROM) & (below - shares <= 1 - RANGE_FROM)
        else:
            is_common &= shares > 0
    return np.flatnonzero(is_common)


def distance_apart(first: SharedCurve, second: SharedCurve) -> float:
    """How far two curves of a feature lie apart: the range of their difference at the levels that both have.

    Where they have fewer than two levels in common, the difference of their ranges.

    Parameters
    ----------
    first, second : SharedCurve
    """
    levels = 1 + common_levels(first, second)
    if len(levels) < 2:
        return abs(first.range - second.range)
    return float(np.ptp(first.effects[levels] - second.effects[levels]))
