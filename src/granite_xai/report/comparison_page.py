"""The page of a comparison: what changed, and the curves of all cases in every region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from granite_xai.base.formats import amount
from granite_xai.display.axis import Axis, round_ticks
from granite_xai.display.comparison import ComparedCases
from granite_xai.regions.words import rule_words, vocabulary
from granite_xai.report.svg import Frame, Limits, Margins, area, line, svg, tag

MOST_FEATURES = 8
MOST_SENTENCES = 12
SIZE = (220.0, 150.0)


def comparison_story(compared: ComparedCases) -> dict[str, Any]:
    """What the page of a comparison tells."""
    opening, *further = compared.sentences(MOST_SENTENCES)
    return {
        "title": " and ".join(compared.names),
        "opening": opening,
        "further": further,
        "table": compared.lines(),
        "names": list(compared.names),
        "charts": [_feature(compared, position) for position in compared.columns[:MOST_FEATURES]],
    }


def _feature(compared: ComparedCases, position: int) -> dict[str, Any]:
    """The charts of one feature, one a region, all on one scale."""
    table = compared.cases[0].values.table
    axis = Axis.of(table, position)
    curves = list(compared.curves(position))
    low = min(float(curve.low.min()) for curve in curves)
    high = max(float(curve.high.max()) for curve in curves)
    pad = 0.05 * (high - low or 1.0)
    words = vocabulary(compared.partition.rules, table)
    regions = []
    for number, rule in enumerate(compared.partition.rules):
        inside = [curve for curve in curves if curve.scope.region == number]
        if inside:
            chart = _chart(axis, inside, compared.names, (low - pad, high + pad))
            regions.append({"region": number, "words": rule_words(rule, words), "svg": chart})
    return {"set": axis.column.name, "regions": regions}


def _chart(axis: Axis, curves: Sequence[Any], names: Sequence[str], limits: Limits) -> str:
    frame = Frame(SIZE, Margins(left=44, right=10, top=8, bottom=28), axis.limits, limits)
    shapes = [line("ax", (frame.left, frame.bottom), (frame.right, frame.bottom))]
    for rung in round_ticks(*limits, 3):
        y = frame.y(rung)
        shapes.append(line("grid", (frame.left, y), (frame.right, y)))
        beside: dict[str, Any] = {"x": frame.left - 5, "y": y + 4, "text_anchor": "end"}
        shapes.append(tag("text", "", amount(rung), **beside))
    for place, text in _ticks(axis):
        below: dict[str, Any] = {
            "x": frame.x(place),
            "y": frame.bottom + 17,
            "text_anchor": "middle",
        }
        shapes.append(tag("text", "", text, **below))
    for curve in curves:
        look = f"case{list(names).index(curve.case) % 4}"
        places = [frame.x(x) for x in axis.numbers(curve.levels).tolist()]
        highs = [frame.y(y) for y in curve.high.tolist()]
        lows = [frame.y(y) for y in curve.low.tolist()]
        points = [(x, frame.y(y)) for x, y in zip(places, curve.mean.tolist(), strict=True)]
        if axis.ordered:
            shapes.append(area("caseband", list(zip(places, highs, lows, strict=True))))
            shapes.append(line(f"caseline {look}", *points))
        else:
            for x, high, low in zip(places, highs, lows, strict=True):
                shapes.append(line(f"caseline {look}", (x, high), (x, low)))
            shapes += [tag("circle", f"casepoint {look}", cx=x, cy=y, r=3.4) for x, y in points]
    return svg(SIZE, f"Average effect of {axis.column.name} by case", shapes)


def _ticks(axis: Axis) -> list[tuple[float, str]]:
    """A few places with their texts."""
    known = axis.ticks
    if known is None:
        return [(place, f"{place:g}") for place in round_ticks(*axis.limits, 4)]
    places, texts = known
    step = max(1, len(places) // 4)
    letters = 5 if len(places) > 3 else 9
    return [
        (place, text if len(text) <= letters else f"{text[: letters - 1]}…")
        for place, text in list(zip(places, texts, strict=True))[::step]
    ]
