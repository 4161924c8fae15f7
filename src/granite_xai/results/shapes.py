"""The shape of a curve in words: `rises to about 21, then levels off`, `peaks at 8 and 17`.

A curve gives the average prediction along one feature. Its shape is what a reader would say of the
picture: almost flat, rising or falling (an isotonic fit describes most of it), or
where it is highest or lowest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from granite_xai.base.formats import amount
from granite_xai.base.typing import BoolArray, FloatArray

Kind = Literal[
    "unknown", "constant", "flat", "rises", "falls", "peaks", "hump", "valley", "wavy", "labels"
]

FLAT = 0.05  # share of the largest range below which a curve is nearly flat
MONOTONE = 0.85  # share of a curve's variance that an isotonic fit must describe
LEVEL = 0.1  # share of the range by which a curve may change where it is level
LONG = 0.3  # share of the axis that a level part must take to be mentioned
FEW = 0.15  # share of the rows below which it is none: a steady rise has a tenth in its last tenth
PROMINENT = 0.25  # share of the range by which a peak must stand out on both sides
MOST_PEAKS = 3  # more of them go up and down
ALIKE = 0.9  # correlation from which two curves do the same, whatever their shapes are called
NORMAL_95 = 1.96  # half width of a 95% interval, in standard errors

PLURAL_BEGINNINGS = {
    "is ": "are ",
    "rises ": "rise ",
    "falls ": "fall ",
    "peaks ": "peak ",
    "goes ": "go ",
    "hardly depends ": "hardly depend ",
}
PLURAL_ENDS = {
    ", then levels off": ", then level off",
    ", then rises": ", then rise",
    ", then falls": ", then fall",
}
"""Verbs of `Shape.of_output`. Only its ends are looked at: names and labels stand between them."""


@dataclass(frozen=True, eq=False)
class FeatureCurve:
    """A curve along the values of a feature that occur.

    Parameters
    ----------
    feature : str
    labels : sequence of str
        The values as text, in their order.
    predictions : array of shape (n_values,)
        Average prediction (or effect) at each of them.
    weights : array of shape (n_values,)
        Share of the rows that have each value.
    positions : array of shape (n_values,), optional
        The values as numbers; None: at equal distances.
    ordered : bool
        Whether the values have an order.
    whole : bool
        Whether values are written exactly: whole numbers, dates, labels. Others are ``about`` there.
    errors : array of shape (n_values,), optional
        Standard errors of the predictions around their mean.
    """

    feature: str
    labels: Sequence[str]
    predictions: FloatArray
    weights: FloatArray
    positions: FloatArray | None = None
    ordered: bool = True
    whole: bool = True
    errors: FloatArray | None = None

    @property
    def range(self) -> float:
        """Highest minus lowest point."""
        return float(np.ptp(self.predictions)) if len(self.predictions) else 0.0

    @property
    def axis(self) -> FloatArray:
        """Where the values lie, from 0 to 1."""
        count = len(self.predictions)
        places = np.arange(count) if self.positions is None else np.asarray(self.positions)
        length = float(np.ptp(places)) if count > 1 else 0.0
        if length == 0.0:
            return np.zeros(count)
        return np.asarray((places - places[0]) / length, dtype=np.float64)

    def place(self, index: int) -> str:
        """A value as it is named in a sentence."""
        return self.labels[index] if self.whole else f"about {self._rounded(index)}"

    def end_place(self, index: int) -> str:
        """The second of two values in a sentence: ``from about 0.2 to 0.5``."""
        return self.labels[index] if self.whole else self._rounded(index)

    def _rounded(self, index: int) -> str:
        if self.positions is None:
            return self.labels[index]
        value = float(self.positions[index])
        return amount(float(f"{value:.2g}"))

    def at(self, kept: BoolArray) -> FeatureCurve:
        """The curve at some of its values.

        Parameters
        ----------
        kept : array of bool, of shape (n_values,)
        """
        weights = self.weights[kept]
        total = weights.sum()
        return FeatureCurve(
            feature=self.feature,
            labels=[label for label, keep in zip(self.labels, kept, strict=True) if keep],
            predictions=self.predictions[kept],
            weights=weights / total if total > 0 else weights,
            positions=None if self.positions is None else self.positions[kept],
            ordered=self.ordered,
            whole=self.whole,
            errors=None if self.errors is None else self.errors[kept],
        )


class Shape(NamedTuple):
    """What a curve does.

    Attributes
    ----------
    kind : str
        Curves of one kind differ in strength, of two kinds in what they do.
    words : str
        A predicate, to be read after the name of the feature.
    of_output : str
        A predicate with ``{feature}`` in it, to be read after the name of the output.
    span : (int, int)
        First and last value (by index) where the curve is highest (or lowest); (-1, -1): no such place.
    """

    kind: Kind
    words: str
    of_output: str = ""
    span: tuple[int, int] = (-1, -1)

    def naming(self, feature: str) -> str:
        """What the output does along the feature: ``peaks at hr 8 and 17``."""
        return self.of_output.replace("{feature}", feature)

    def of_predictions(self, feature: str) -> str:
        """What predictions do along the feature: ``peak at hr 8 and 17``."""
        predicate = self.of_output
        for singular, plural in PLURAL_BEGINNINGS.items():
            if predicate.startswith(singular):
                predicate = plural + predicate.removeprefix(singular)
                break
        for singular, plural in PLURAL_ENDS.items():
            if predicate.endswith(singular):
                predicate = predicate.removesuffix(singular) + plural
        return predicate.replace("{feature}", feature)


def shape_of(curve: FeatureCurve, largest_range: float = 0.0) -> Shape:
    """Say what a curve does.

    Parameters
    ----------
    curve : FeatureCurve
    largest_range : float
        Of all curves of the same picture: a curve with less than a twentieth of it is nearly flat.

    Returns
    -------
    Shape

    Examples
    --------
    >>> import numpy as np
    >>> hours = np.arange(24.0)
    >>> commuting = np.exp(-np.square(hours - 8)) + np.exp(-np.square(hours - 17))
    >>> labels = [f"{hour:.0f}" for hour in hours]
    >>> shape_of(FeatureCurve("hr", labels, commuting, np.full(24, 1 / 24), hours)).words
    'peaks at 8 and 17'
    >>> shape_of(FeatureCurve("yr", ["0", "1"], np.array([145.0, 228.0]), np.array([0.5, 0.5]))).words
    'is higher at 1 than at 0'
    """
    count = len(curve.predictions)
    if count == 0:
        return Shape("unknown", "has no known value", "is not known along {feature}")
    if count == 1:
        only = curve.labels[0]
        return Shape("constant", f"is always {only}", f"is that of {{feature}} = {only}")
    if curve.range <= FLAT * largest_range or curve.range == 0.0:
        return Shape("flat", "is nearly flat", "hardly depends on {feature}")
    if count == 2:
        return _of_two_values(curve)
    if not curve.ordered:
        return _of_labels(curve)
    direction = _direction(curve)
    if direction is not None:
        return _monotone(curve, direction)
    return _with_extremes(curve)


def _of_two_values(curve: FeatureCurve) -> Shape:
    rises = bool(curve.predictions[1] > curve.predictions[0])
    preposition = "at" if curve.ordered else "for"
    higher = curve.labels[1 if rises else 0]
    lower = curve.labels[0 if rises else 1]
    return Shape(
        kind="rises" if rises else "falls",
        words=f"is higher {preposition} {higher} than {preposition} {lower}",
        of_output=f"is higher for {{feature}} = {higher} than for {{feature}} = {lower}",
    )


def _of_labels(curve: FeatureCurve) -> Shape:
    highest = int(np.argmax(curve.predictions))
    lowest = int(np.argmin(curve.predictions))
    highest_label = curve.labels[highest]
    lowest_label = curve.labels[lowest]
    return Shape(
        kind="labels",
        words=f"is highest for {highest_label}, lowest for {lowest_label}",
        of_output=f"is highest for {{feature}} = {highest_label}, lowest for {lowest_label}",
        span=(highest, highest),
    )


def isotonic(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The ascending values nearest to some values (pool adjacent violators).

    Parameters
    ----------
    values, weights : arrays of shape (n,)

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3)).tolist()
    [1.0, 2.5, 2.5]
    """
    means: list[float] = []
    masses: list[float] = []
    lengths: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean = value
        mass = weight
        length = 1
        while means and means[-1] >= mean:
            total = masses[-1] + mass
            mean = (means.pop() * masses[-1] + mean * mass) / total
            mass = total
            length += lengths.pop()
            masses.pop()
        means.append(mean)
        masses.append(mass)
        lengths.append(length)
    return np.repeat(means, lengths)


def _fit_weights(curve: FeatureCurve) -> FloatArray:
    """Weights of the values in an isotonic fit: half by rows, half by the length of the axis.

    By rows alone a wide stretch of the picture with few rows would not count, by length alone a
    single distant value would count most.
    """
    axis = curve.axis
    lengths = np.gradient(axis) if axis[-1] > 0 else np.full(len(axis), 1 / len(axis))
    rows = curve.weights / curve.weights.sum()
    return np.asarray(0.5 * lengths / lengths.sum() + 0.5 * rows)


def _direction(curve: FeatureCurve) -> int | None:
    """1: rises; -1: falls; None: no isotonic fit describes the curve."""
    weights = _fit_weights(curve)
    mean = weights @ curve.predictions
    variance = float(weights @ np.square(curve.predictions - mean))
    direction = None
    smallest_error = (1 - MONOTONE) * variance
    for sign in (1, -1):
        fit = sign * isotonic(sign * curve.predictions, weights)
        error = float(weights @ np.square(curve.predictions - fit))
        if error <= smallest_error:
            direction = sign
            smallest_error = error
    return direction


def _monotone(curve: FeatureCurve, direction: int) -> Shape:
    """A curve that rises or falls: throughout, or with a level part at one end or at both."""
    verb: Kind = "rises" if direction > 0 else "falls"
    fit = isotonic(direction * curve.predictions, _fit_weights(curve))
    done = (fit - fit[0]) / (fit[-1] - fit[0])  # share of the whole change, ascending
    axis = curve.axis
    starts = int(np.flatnonzero(done <= LEVEL)[-1])
    ends = int(np.flatnonzero(done >= 1 - LEVEL)[0])
    level_before = axis[starts] >= LONG and curve.weights[:starts].sum() >= FEW
    level_after = 1 - axis[ends] >= LONG and curve.weights[ends + 1 :].sum() >= FEW
    if level_before and level_after and curve.place(starts) == curve.place(ends):
        where = curve.place(starts)
        return Shape(verb, f"{verb} at {where}", f"{verb} at {{feature}} {where}")
    if level_before and level_after:
        where = f"{curve.place(starts)} and {curve.end_place(ends)}"
        return Shape(verb, f"{verb} between {where}", f"{verb} between {{feature}} {where}")
    if level_after:
        ending = f"to {curve.place(ends)}, then levels off"
        return Shape(verb, f"{verb} {ending}", f"{verb} with {{feature}} {ending}")
    if level_before:
        ending = f"{curve.place(starts)}, then {verb}"
        return Shape(verb, f"is level to {ending}", f"is level to {{feature}} {ending}")
    return Shape(verb, f"{verb} throughout", f"{verb} with {{feature}}")


def _with_extremes(curve: FeatureCurve) -> Shape:
    """A curve that neither rises nor falls: its peaks, or where it is highest or lowest."""
    peaks = _prominent_peaks(curve.predictions, _needed_prominence(curve))
    valleys = _prominent_peaks(-curve.predictions, _needed_prominence(curve))
    ends = (0, len(curve.predictions) - 1)
    has_inner_peak = any(peak not in ends for peak in peaks)
    up_and_down = Shape("wavy", "goes up and down", "goes up and down along {feature}")
    if len(peaks) > MOST_PEAKS:
        return up_and_down
    if len(peaks) > 1 and has_inner_peak:
        first_of_label = {curve.end_place(peak): peak for peak in reversed(peaks)}
        told = sorted(first_of_label.values())  # peaks that read the same are one
        places = [curve.place(told[0])]
        places += [curve.end_place(peak) for peak in told[1:]]
        where = _joined(places)
        return Shape("peaks", f"peaks at {where}", f"peaks at {{feature}} {where}")
    if len(peaks) == 1:
        return _around_extreme(curve, int(np.argmax(curve.predictions)), 1)
    if len(valleys) == 1:
        return _around_extreme(curve, int(np.argmin(curve.predictions)), -1)
    return up_and_down


def _needed_prominence(curve: FeatureCurve) -> FloatArray:
    """How far a curve must fall beside a peak: a quarter of its range, and beyond the interval."""
    needed = np.full(len(curve.predictions), PROMINENT * curve.range)
    if curve.errors is None:
        return needed
    return np.asarray(np.maximum(needed, 2 * NORMAL_95 * np.nan_to_num(curve.errors)))


def _prominent_peaks(values: FloatArray, needed: FloatArray) -> list[int]:
    """Places from which a curve falls far enough on both sides before it is higher again.

    At an end of the axis one side is enough; a peak that stands out towards the inside only counts
    as one at the end.
    """
    last = len(values) - 1
    peaks: list[int] = []
    highest = 0  # since the last valley
    lowest = 0  # since the last peak
    rising = True
    for place in range(1, last + 1):
        if rising and values[place] > values[highest]:
            highest = place
        elif rising and values[highest] - values[place] > needed[highest]:
            stands_out = values[highest] - values[: highest + 1].min() > needed[highest]
            peaks.append(highest if peaks or stands_out else 0)
            lowest = place
            rising = False
        elif not rising and values[place] < values[lowest]:
            lowest = place
        elif not rising and values[place] - values[lowest] > needed[place]:
            highest = place
            rising = True
    if rising and values[highest] - values[lowest] > needed[highest]:
        peaks.append(last)
    return peaks


def _around_extreme(curve: FeatureCurve, extreme: int, sign: int) -> Shape:
    """Where a curve is highest (or lowest): the places around its extreme that are almost as high."""
    near = sign * (curve.predictions[extreme] - curve.predictions) <= LEVEL * curve.range
    first = extreme
    while first > 0 and near[first - 1]:
        first -= 1
    last = extreme
    while last < len(near) - 1 and near[last + 1]:
        last += 1
    kind: Kind = "hump" if sign > 0 else "valley"
    superlative = "highest" if sign > 0 else "lowest"
    if first == last:
        opening = "peaks at" if sign > 0 else "is lowest at"
        where = curve.place(first)
    elif curve.end_place(first) == curve.end_place(last):
        opening = f"is {superlative} at"
        where = curve.place(first)
    else:
        opening = f"is {superlative} from"
        where = f"{curve.place(first)} to {curve.end_place(last)}"
    return Shape(
        kind=kind,
        words=f"{opening} {where}",
        of_output=f"{opening} {{feature}} {where}",
        span=(first, last),
    )


def _joined(texts: Sequence[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def shapes_differ(
    first: Shape, first_curve: FeatureCurve, second: Shape, second_curve: FeatureCurve
) -> bool:
    """Whether two curves of a feature do different things, not the same more or less strongly.

    Parameters
    ----------
    first, second : Shape
    first_curve, second_curve : FeatureCurve
        Along the same values.

    Returns
    -------
    bool
        True for two kinds of shape, and for two humps or valleys in different places, unless the
        curves are strongly correlated. A flat curve differs in strength only.
    """
    without_direction = {"unknown", "constant", "flat"}
    if first.kind in without_direction or second.kind in without_direction:
        return False
    if _correlation(first_curve, second_curve) >= ALIKE:
        return False
    if first.kind != second.kind:
        return True
    if first.kind in ("hump", "valley"):
        return first.span[1] < second.span[0] or second.span[1] < first.span[0]
    if first.kind == "labels":
        lowest_elsewhere = int(np.argmin(second_curve.predictions))
        lowest_here = int(np.argmin(first_curve.predictions))
        return first.span[0] == lowest_elsewhere and second.span[0] == lowest_here
    return False


def _correlation(first: FeatureCurve, second: FeatureCurve) -> float:
    """Of two curves along the same values, weighted by rows."""
    weights = first.weights
    first_centred = first.predictions - weights @ first.predictions
    second_centred = second.predictions - weights @ second.predictions
    size = float(np.sqrt((weights @ first_centred**2) * (weights @ second_centred**2)))
    if size == 0:
        return 0.0
    return float(weights @ (first_centred * second_centred)) / size
