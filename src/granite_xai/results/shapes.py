"""The shape of a curve in words: `rises to about 21, then levels off`, `peaks at 8 and 17`.

A curve gives the average prediction along one feature. Its shape is what a reader would say of the
picture: almost flat, rising or falling (an isotonic fit describes most of it), or
where it is highest or lowest.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.regions import word_list
from granite_xai.results.feature_curve import FeatureCurve
from granite_xai.results.monotone import direction_of, fit_weights, isotonic

Kind = Literal[
    "unknown", "constant", "flat", "rises", "falls", "peaks", "hump", "valley", "wavy", "labels"
]

FLAT = 0.05  # share of the largest range below which a curve is nearly flat
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
"""Verbs of `Shape.template`. Only its ends are looked at: names and labels stand between them."""

NO_SPAN = (-1, -1)
"""Span of a curve that is not said to be highest or lowest anywhere."""


class Shape(NamedTuple):
    """What a curve does.

    Attributes
    ----------
    kind : str
        Curves of one kind differ in strength, of two kinds in what they do.
    predicate : str
        What the curve does, where its feature has been named: ``peaks at 8 and 17``.
    template : str
        What the output does, with ``{feature}`` for the name of the feature:
        ``peaks at {feature} 8 and 17``.
    span : (int, int)
        First and last value (by index) where the curve is highest (or lowest), or `NO_SPAN`.
    """

    kind: Kind
    predicate: str
    template: str
    span: tuple[int, int] = NO_SPAN

    def of_output(self, feature: str) -> str:
        """What the output does along the feature: ``peaks at hr 8 and 17``."""
        return self.template.replace("{feature}", feature)

    def of_predictions(self, feature: str) -> str:
        """What predictions do along the feature: ``peak at hr 8 and 17``."""
        predicate = self.template
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
    >>> shape_of(FeatureCurve("hr", labels, commuting, np.full(24, 1 / 24), hours)).predicate
    'peaks at 8 and 17'
    >>> years = FeatureCurve("yr", ["0", "1"], np.array([145.0, 228.0]), np.array([0.5, 0.5]))
    >>> shape_of(years).predicate
    'is higher at 1 than at 0'
    """
    n_values = len(curve.predictions)
    if n_values == 0:
        return Shape("unknown", "has no known value", "is not known along {feature}")
    if n_values == 1:
        only = curve.labels[0]
        return Shape("constant", f"is always {only}", f"is that of {{feature}} = {only}")
    if curve.range <= FLAT * largest_range or curve.range == 0.0:
        return Shape("flat", "is nearly flat", "hardly depends on {feature}")
    if n_values == 2:
        return _shape_of_two_values(curve)
    if not curve.ordered:
        return _shape_of_unordered_values(curve)
    direction = direction_of(curve)
    if direction is not None:
        return _monotone_shape(curve, direction)
    return _shape_with_extremes(curve)


def _shape_of_two_values(curve: FeatureCurve) -> Shape:
    first, second = curve.labels
    kind: Kind
    if curve.predictions[1] > curve.predictions[0]:
        kind = "rises"
        higher = second
        lower = first
    else:
        kind = "falls"
        higher = first
        lower = second
    preposition = "at" if curve.ordered else "for"
    return Shape(
        kind=kind,
        predicate=f"is higher {preposition} {higher} than {preposition} {lower}",
        template=f"is higher for {{feature}} = {higher} than for {{feature}} = {lower}",
    )


def _shape_of_unordered_values(curve: FeatureCurve) -> Shape:
    highest = int(np.argmax(curve.predictions))
    lowest = int(np.argmin(curve.predictions))
    highest_label = curve.labels[highest]
    lowest_label = curve.labels[lowest]
    return Shape(
        kind="labels",
        predicate=f"is highest for {highest_label}, lowest for {lowest_label}",
        template=f"is highest for {{feature}} = {highest_label}, lowest for {lowest_label}",
        span=(highest, highest),
    )


def _monotone_shape(curve: FeatureCurve, direction: int) -> Shape:
    """A curve that rises or falls: throughout, or with a level part at one end or at both."""
    verb: Kind = "rises" if direction > 0 else "falls"
    fit = isotonic(direction * curve.predictions, fit_weights(curve))
    share_of_change = (fit - fit[0]) / (fit[-1] - fit[0])  # up to each value, ascending
    start = int(np.flatnonzero(share_of_change <= LEVEL)[-1])  # of the steep part
    end = int(np.flatnonzero(share_of_change >= 1 - LEVEL)[0])
    axis = curve.axis
    is_level_before = axis[start] >= LONG and curve.weights[:start].sum() >= FEW
    is_level_after = 1 - axis[end] >= LONG and curve.weights[end + 1 :].sum() >= FEW
    start_text = curve.value_text(start)
    end_text = curve.value_text(end)
    if is_level_before and is_level_after and start_text == end_text:
        return Shape(verb, f"{verb} at {start_text}", f"{verb} at {{feature}} {start_text}")
    if is_level_before and is_level_after:
        span_text = f"{start_text} and {curve.short_value_text(end)}"
        return Shape(verb, f"{verb} between {span_text}", f"{verb} between {{feature}} {span_text}")
    if is_level_after:
        ending = f"to {end_text}, then levels off"
        return Shape(verb, f"{verb} {ending}", f"{verb} with {{feature}} {ending}")
    if is_level_before:
        ending = f"{start_text}, then {verb}"
        return Shape(verb, f"is level to {ending}", f"is level to {{feature}} {ending}")
    return Shape(verb, f"{verb} throughout", f"{verb} with {{feature}}")


def _shape_with_extremes(curve: FeatureCurve) -> Shape:
    """A curve that neither rises nor falls: its peaks, or where it is highest or lowest."""
    peaks = _prominent_peaks(curve.predictions, _needed_prominence(curve))
    valleys = _prominent_peaks(-curve.predictions, _needed_prominence(curve))
    ends = {0, len(curve.predictions) - 1}
    has_inner_peak = not ends.issuperset(peaks)
    up_and_down = Shape("wavy", "goes up and down", "goes up and down along {feature}")
    if len(peaks) > MOST_PEAKS:
        return up_and_down
    if len(peaks) > 1 and has_inner_peak:
        peaks_text = _peaks_text(curve, peaks)
        return Shape("peaks", f"peaks at {peaks_text}", f"peaks at {{feature}} {peaks_text}")
    if len(peaks) == 1:
        return _shape_around_highest(curve)
    if len(valleys) == 1:
        return _shape_around_lowest(curve)
    return up_and_down


def _peaks_text(curve: FeatureCurve, peaks: list[int]) -> str:
    """The values at which a curve peaks; those that read the same are named once."""
    texts: list[str] = []
    for peak in peaks:
        text = curve.short_value_text(peak)
        if text not in texts:
            texts.append(text)
    texts[0] = curve.value_text(peaks[0])
    return word_list(texts)


def _needed_prominence(curve: FeatureCurve) -> FloatArray:
    """How far a curve must fall beside a peak: a quarter of its range, and beyond the interval."""
    needed = np.full(len(curve.predictions), PROMINENT * curve.range)
    if curve.errors is None:
        return needed
    return np.asarray(np.maximum(needed, 2 * NORMAL_95 * np.nan_to_num(curve.errors)))


def _prominent_peaks(values: FloatArray, needed: FloatArray) -> list[int]:
    """Indices of the peaks, from which a curve falls far enough on both sides.

    It walks along the curve and remembers the highest value since the last valley, and the lowest
    one since the last peak. A peak is known once the curve has fallen far enough below it, a valley
    once the curve has risen far enough above it. At an end of the axis one side is enough: a maximum
    near an end that stands out on the other side only counts as a peak at that end (index 0 or the
    last), wherever near it the maximum is.

    Parameters
    ----------
    values : array of shape (n_values,)
    needed : array of shape (n_values,)
        How far the curve must fall beside a peak there.
    """
    last = len(values) - 1
    peaks: list[int] = []
    highest = 0  # index, since the last valley
    lowest = 0  # index, since the last peak
    is_climbing = True
    for index in range(1, last + 1):
        if is_climbing and values[index] > values[highest]:
            highest = index
        elif is_climbing and values[highest] - values[index] > needed[highest]:
            rose_before = values[highest] - values[: highest + 1].min() > needed[highest]
            if peaks or rose_before:
                peaks.append(highest)
            else:
                peaks.append(0)
            lowest = index
            is_climbing = False
        elif not is_climbing and values[index] < values[lowest]:
            lowest = index
        elif not is_climbing and values[index] - values[lowest] > needed[index]:
            highest = index
            is_climbing = True
    if is_climbing and values[highest] - values[lowest] > needed[highest]:
        peaks.append(last)
    return peaks


def _shape_around_highest(curve: FeatureCurve) -> Shape:
    first, last = _nearly_extreme(curve.predictions, LEVEL * curve.range)
    opening = "is highest"
    if first == last:
        opening = "peaks"
    return _shape_of_span("hump", curve, (first, last), opening)


def _shape_around_lowest(curve: FeatureCurve) -> Shape:
    span = _nearly_extreme(-curve.predictions, LEVEL * curve.range)
    return _shape_of_span("valley", curve, span, "is lowest")


def _nearly_extreme(values: FloatArray, tolerance: float) -> tuple[int, int]:
    """First and last index around the largest value where values are almost as large."""
    largest = int(np.argmax(values))
    is_near = values[largest] - values <= tolerance
    first = largest
    while first > 0 and is_near[first - 1]:
        first -= 1
    last = largest
    while last < len(values) - 1 and is_near[last + 1]:
        last += 1
    return first, last


def _shape_of_span(kind: Kind, curve: FeatureCurve, span: tuple[int, int], opening: str) -> Shape:
    """``is highest from 9 to 15``, or ``is highest at 12`` where both ends read the same."""
    first, last = span
    preposition = "from"
    span_text = f"{curve.value_text(first)} to {curve.short_value_text(last)}"
    if curve.short_value_text(first) == curve.short_value_text(last):
        preposition = "at"
        span_text = curve.value_text(first)
    return Shape(
        kind=kind,
        predicate=f"{opening} {preposition} {span_text}",
        template=f"{opening} {preposition} {{feature}} {span_text}",
        span=span,
    )


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
    shapeless = {"unknown", "constant", "flat"}
    if first.kind in shapeless or second.kind in shapeless:
        return False
    if _correlation(first_curve, second_curve) >= ALIKE:
        return False
    if first.kind != second.kind:
        return True
    if first.kind in ("hump", "valley"):
        return first.span[1] < second.span[0] or second.span[1] < first.span[0]
    if first.kind == "labels":
        # Turned round: each is highest where the other is lowest.
        highest_of_first, _ = first.span
        highest_of_second, _ = second.span
        lowest_of_first = int(np.argmin(first_curve.predictions))
        lowest_of_second = int(np.argmin(second_curve.predictions))
        return highest_of_first == lowest_of_second and highest_of_second == lowest_of_first
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
