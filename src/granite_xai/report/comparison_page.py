"""What the page of a comparison tells: differences in words, and the curves of all cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from granite_xai.base.formats import amount
from granite_xai.display.axis import Axis, round_ticks
from granite_xai.display.comparison import ComparedCases
from granite_xai.regions.words import rule_words, vocabulary
from granite_xai.report.chart_frame import Frame, Limits, Margins
from granite_xai.report.svg import area, circle, figure, line, text_at

MOST_FEATURES = 8
MOST_SENTENCES = 12
SIZE = (220.0, 150.0)  # of a chart
MARGINS = Margins(left=44, right=10, top=8, bottom=28)
CASE_COLORS = 4  # that the style of the page has; further cases repeat them
POINT_RADIUS = 3.4
MOST_TICKS = 4
FEW_TICKS = 3  # that leave room for longer texts
LETTERS = 5  # of a text below the axis
LETTERS_OF_FEW = 9


def comparison_story(compared: ComparedCases) -> dict[str, Any]:
    """Everything that the page of a comparison tells, in plain types.

    Parameters
    ----------
    compared : ComparedCases
        What ``gx.compare`` found.

    Returns
    -------
    dict
        ``title``; ``opening`` and ``further`` sentences; ``table`` (lines of texts, headings
        first); ``names`` of the cases; ``charts``, one entry a feature (`_charts_of_feature`).
    """
    opening, *further = compared.sentences(MOST_SENTENCES)
    positions = compared.columns[:MOST_FEATURES]
    return {
        "title": " and ".join(compared.names),
        "opening": opening,
        "further": further,
        "table": compared.lines(),
        "names": list(compared.names),
        "charts": [_charts_of_feature(compared, position) for position in positions],
    }


def _charts_of_feature(compared: ComparedCases, position: int) -> dict[str, Any]:
    """The name of a feature (``set``) and its charts, one a region, all on one scale."""
    table = compared.cases[0].values.table
    axis = Axis.of(table, position)
    curves = list(compared.curves(position))
    limits = _limits(curves)
    words = vocabulary(compared.partition.rules, table)
    regions = []
    for number, rule in enumerate(compared.partition.rules):
        in_region = [curve for curve in curves if curve.scope.region == number]
        if in_region:
            chart = _draw_cases(axis, in_region, compared.names, limits)
            regions.append({"region": number, "words": rule_words(rule, words), "svg": chart})
    return {"set": axis.column.name, "regions": regions}


def _limits(curves: Sequence[Any]) -> Limits:
    """The vertical range that holds curves with their intervals."""
    low = min(float(curve.low.min()) for curve in curves)
    high = max(float(curve.high.max()) for curve in curves)
    pad = 0.05 * (high - low or 1.0)
    return low - pad, high + pad


def _draw_cases(axis: Axis, curves: Sequence[Any], names: Sequence[str], limits: Limits) -> str:
    """The chart of a feature in one region, with a curve for each case."""
    frame = Frame(SIZE, MARGINS, axis.limits, limits)
    shapes = [line("ax", (frame.left, frame.bottom), (frame.right, frame.bottom))]
    for height in round_ticks(*limits, 3):
        shapes.append(frame.grid_line(height))
        text = amount(height)
        shapes.append(text_at(frame.left - 5, frame.y(height) + 4, text, anchor="end"))
    for place, text in _ticks(axis):
        shapes.append(text_at(frame.x(place), frame.bottom + 17, text, anchor="middle"))
    for curve in curves:
        number = list(names).index(curve.case) % CASE_COLORS
        shapes += _case_shapes(frame, axis, curve, f"case{number}")
    return figure(SIZE, f"Average effect of {axis.column.name} by case", shapes)


def _case_shapes(frame: Frame, axis: Axis, curve: Any, css_class: str) -> list[str]:
    """The curve of a case: a line in its band where values have an order, otherwise points."""
    xs = [frame.x(x) for x in axis.numbers(curve.levels).tolist()]
    uppers = [frame.y(y) for y in curve.high.tolist()]
    lowers = [frame.y(y) for y in curve.low.tolist()]
    means = [frame.y(y) for y in curve.mean.tolist()]
    spans = list(zip(xs, uppers, lowers, strict=True))
    points = list(zip(xs, means, strict=True))
    if axis.ordered:
        return [area("caseband", spans), line(f"caseline {css_class}", *points)]
    shapes = []
    for x, upper, lower in spans:
        shapes.append(line(f"caseline {css_class}", (x, upper), (x, lower)))
    shapes += [circle(f"casepoint {css_class}", point, POINT_RADIUS) for point in points]
    return shapes


def _ticks(axis: Axis) -> list[tuple[float, str]]:
    """A few places along an axis with their texts, cut to the room that they have."""
    axis_ticks = axis.ticks
    if axis_ticks is None:
        return [(place, f"{place:g}") for place in round_ticks(*axis.limits, MOST_TICKS)]
    places, texts = axis_ticks
    letters = LETTERS_OF_FEW if len(places) <= FEW_TICKS else LETTERS
    step = max(1, len(places) // MOST_TICKS)
    ticks = []
    for place, text in list(zip(places, texts, strict=True))[::step]:
        if len(text) > letters:
            text = f"{text[: letters - 1]}…"
        ticks.append((place, text))
    return ticks
