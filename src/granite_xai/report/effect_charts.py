"""Charts of one feature: all regions together, one scope alone, and a region against all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from granite_xai.base.formats import amount
from granite_xai.base.text import shortened, visible
from granite_xai.display.axis import round_ticks
from granite_xai.display.page_axis import page_ticks
from granite_xai.report.label_places import BADGE, along, free_place
from granite_xai.report.svg import (
    LETTER,
    Box,
    Frame,
    Limits,
    Margins,
    Point,
    area,
    color,
    group,
    line,
    short,
    svg,
    tag,
    text_box,
)

Effect = dict[str, Any]  # of the story, as `as_drawn` prepares it
Panel = dict[str, Any]
Number = Callable[[float], str]

MOST_RULES = 6  # curves that are labelled by their rules; more have numbers only
SMALL_SIZE = (150.0, 118.0)


def as_drawn(effect: Effect, z: float, centred: bool = False) -> Effect:
    """An effect with half the width of its intervals, so many errors.

    Parameters
    ----------
    effect : dict
        Of the story.
    z : float
        Errors in half an interval.
    centred : bool
        Whether curves are drawn around the mean of each scope.
    """
    panels = [_centred(panel, z) if centred else _as_it_is(panel, z) for panel in effect["panels"]]
    what = "Effect" if centred else "Prediction"
    return {**effect, "panels": panels, "what": what, "line": effect["style"] == "line"}


def _as_it_is(panel: Panel, z: float) -> Panel:
    return {**panel, "away": _half_widths(panel, panel["error"], z)}


def _centred(panel: Panel, z: float) -> Panel:
    centre = panel["centre"]
    drawn = {**panel, "away": _half_widths(panel, panel["effect_error"], z)}
    for key in ("mean", "curve", "low", "high"):
        if panel[key] is not None:
            drawn[key] = [None if y is None else y - centre for y in panel[key]]
    drawn["centre"] = 0.0
    drawn["lines"] = []
    return drawn


def _half_widths(panel: Panel, errors: Any, z: float) -> list[float | None]:
    if not errors:
        return [None] * len(panel["mean"])
    return [None if error is None else z * error for error in errors]


def limits_of(effects: Sequence[Effect]) -> Limits:
    """The range that holds the curves of some features; from 0 where that is near.

    A chart of all rows alone shows where their own curves run, which the range then holds, too.
    """
    heights: list[float] = []
    for effect in effects:
        if len(effect["panels"]) == 1:
            alone = effect["panels"][0]
            heights += [y for y in (*(alone["low"] or ()), *(alone["high"] or ())) if y is not None]
        for panel in effect["panels"]:
            for y, away in zip(panel["mean"], panel["away"], strict=True):
                if y is not None:
                    heights += [y - (away or 0.0), y + (away or 0.0)]
            for other in panel["lines"]:
                heights += [y for y in other["y"] if y is not None]
    low = min(heights, default=0.0)
    high = max(heights, default=1.0)
    pad = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    from_zero = 0 <= low < 0.4 * high
    return (0.0 if from_zero else low - pad), high + pad


def _frame(effect: Effect, size: Point, margins: Margins, limits: Limits) -> Frame:
    """The frame of one feature; points need room around them."""
    first, last = effect["x"][0], effect["x"][-1]
    room = 0.0
    if effect["named"] or effect["style"] == "points":
        steps = max(len(effect["x"]) - 1, 1)
        room = 0.5 * (last - first or 1.0) / steps
    return Frame(size, margins, (first - room, last + room), limits, effect["log"])


def overlay(
    effect: Effect,
    nodes: Sequence[dict[str, Any]],
    limits: Limits,
    size: Point,
    y_title: str,
    labels: Sequence[str] = (),
    number: Number = amount,
    look: str = "",
) -> str:
    """All regions' curves together, that of all rows behind.

    Parameters
    ----------
    effect : dict
    nodes : sequence of dicts
        Nodes between the root and the regions: their curves are hidden until one is chosen.
    limits : (float, float)
        Of the vertical axis.
    size : (float, float)
    y_title : str
    labels : sequence of str
        What stands beside the curve of each region; none: numbers alone.
    number : callable
        Writes a number of the vertical axis.
    look : str
        Class of the figure: "wide" or "narrow" screens; empty: all.
    """
    panels = effect["panels"]
    frame = _frame(effect, size, Margins(left=46, right=30, top=24, bottom=44), limits)
    shapes = _axes(frame, effect, _rungs(limits), number, y_title)
    shapes.append(_rug(frame, effect, panels[0]["rows"], "rall"))
    if len(panels) == 1:
        shapes += _ice(frame, effect, panels[0])
    apart = min(12.0, 0.6 * (frame.right - frame.left) / len(effect["x"]) / len(panels))
    curves: list[tuple[Panel, list[Point]]] = []
    for k, panel in enumerate(panels):
        if k and panel["values"] < 2 and effect["line"]:
            continue
        dodge = 0.0
        if effect["style"] == "points":
            dodge = (k - (len(panels) - 1) / 2) * apart
        chosen = "all" if k == 0 else panel["region"]
        shapes.append(group("k", _curve(frame, effect, panel, dodge), data_r=chosen))
        points = _points(frame, effect["x"], panel["mean"], dodge)
        curves.append((panel, [point for point in points if point is not None]))
    present = len(effect["x"]) - effect["gone"]
    for node in nodes:
        mean = [_joint(panels, node["regions"], i) for i in range(present)]
        shapes.append(line("nodec", *_points(frame, effect["x"], mean), data_node=node["id"]))
    if len(panels) > 1:
        is_joined = effect["kind"] not in ("nominal", "boolean")
        shapes += _curve_labels(frame, curves, labels, is_joined)
    shapes.append(line("cross", (0, frame.top), (0, frame.bottom)))
    name = f"{effect['what']} along {effect['set']} on all rows and in each region; "
    return svg(
        size,
        name + "the numbers are in the table below",
        shapes,
        look,
        data_x=" ".join(short(frame.x(x)) for x in effect["x"]),
    )


def small(effect: Effect, k: int, limits: Limits, number: Number = amount) -> str:
    """One scope alone: where its rows' own curves run, its mean, and the curve of all rows."""
    panel = effect["panels"][k]
    frame = _frame(effect, SMALL_SIZE, Margins(left=38, right=8, top=6, bottom=28), limits)
    shapes = _axes(frame, effect, round_ticks(*limits, 2), number)
    shapes += _ice(frame, effect, panel)
    if k:
        shapes += _curve(frame, effect, _without_intervals(effect["panels"][0]))
    shapes += _curve(frame, effect, panel)
    for place, other in enumerate(panel["lines"]):
        shapes.append(line(f"side side{place}", *_points(frame, other["x"], other["y"])))
    shapes.append(_rug(frame, effect, panel["rows"], color(panel["region"])))
    where = "on all rows" if panel["region"] is None else f"in region {panel['region']}"
    return svg(SMALL_SIZE, f"Prediction along {effect['set']} {where}", shapes)


def against_all(effect: Effect, region: int, limits: Limits, number: Number = amount) -> str:
    """A region in its colour and all rows in grey, at the values of the region and beyond."""
    panel = effect["panels"][region + 1]
    size = (150.0, 104.0)
    frame = _frame(effect, size, Margins(left=38, right=8, top=6, bottom=22), limits)
    shapes = _axes(frame, effect, round_ticks(*limits, 2), number, tick_drop=15)
    shapes += _curve(frame, effect, _without_intervals(effect["panels"][0]))
    shapes += _curve(frame, effect, _without_intervals(panel))
    return svg(size, f"{effect['set']}: region {region} in colour, all rows in grey", shapes)


def _without_intervals(panel: Panel) -> Panel:
    return {**panel, "away": [None] * len(panel["mean"])}


def _rungs(limits: Limits) -> list[float]:
    """At least three round numbers."""
    rungs = round_ticks(*limits, 4)
    return rungs if len(rungs) > 2 else round_ticks(*limits, 6)


def _points(
    frame: Frame, xs: Sequence[float], ys: Sequence[float | None], dodge: float = 0.0
) -> list[Point | None]:
    return [
        None if y is None else (frame.x(x) + dodge, frame.y(y))
        for x, y in zip(xs, ys, strict=False)
    ]


def _axes(
    frame: Frame,
    effect: Effect,
    rungs: Sequence[float],
    number: Number,
    y_title: str = "",
    tick_drop: float = 21,
) -> list[str]:
    """Rungs, ticks and titles; a small figure has no title."""
    shapes = [line("ax", (frame.left, frame.bottom), (frame.right, frame.bottom))]
    for rung in rungs:
        height = frame.y(rung)
        shapes.append(line("grid", (frame.left, height), (frame.right, height)))
        shapes.append(
            tag("text", "", number(rung), x=frame.left - 5, y=height + 4, text_anchor="end")
        )
    for place, text, full in page_ticks(effect, frame.right - frame.left, not y_title):
        x = frame.x(place)
        anchor = "middle"
        if x + LETTER / 2 * len(text) > frame.width:
            x = x + 6
            anchor = "end"
        hint = tag("title", "", full) if full and full != text else ""
        written = tag("text", "", text, x=x, y=frame.bottom + tick_drop, text_anchor=anchor)
        shapes.append(written.removesuffix("</text>") + f"{hint}</text>")
    if y_title:
        note = f" ({effect['note']})" if effect["note"] else ""
        name = shortened(str(visible(effect["set"])), 44) + note
        shapes.append(tag("text", "t", name, x=frame.right, y=frame.bottom + 38, text_anchor="end"))
        shapes.append(tag("text", "t", y_title, x=0.0, y=11.0))
    return shapes


def _rug(frame: Frame, effect: Effect, rows: Sequence[int], look: str) -> str:
    """Bars below the axis: where the rows lie."""
    most = max(rows, default=0)
    width = max(1.5, min(6.0, (frame.right - frame.left) / 45))
    base = short(frame.bottom + 1)
    steps = []
    for x, count in zip(effect["bars"], rows, strict=True):
        if count:
            left = short(frame.x(x) - width / 2)
            height = short(max(8.0 * count / most, 0.8))
            steps.append(f"M{left} {base}h{short(width)}v{height}h-{short(width)}z")
    return tag("path", f"rug {look}", d="".join(steps)) if steps else ""


def _curve(frame: Frame, effect: Effect, panel: Panel, dodge: float = 0.0) -> list[str]:
    """One scope's curve with the interval of its mean.

    A line, points on a thin line, or points side by side; missing values are a point.
    """
    look = color(panel["region"])
    points = _points(frame, effect["x"], panel["mean"], dodge)
    present = len(points) - effect["gone"]
    joined = points[:present]
    shapes = []
    if effect["line"] and panel["values"] > 1:
        ends = _interval_ends(frame, effect, panel, dodge, present)
        if ends:
            shapes.append(area(f"ci {look}", ends))
        is_everyone = panel["region"] is None
        shapes.append(line(f"{'gl' if is_everyone else 'ln'} {look}", *joined))
        points = points[present:]
    else:
        has_order = effect["kind"] not in ("nominal", "boolean")
        if has_order and len(joined) > 1:
            shapes.append(line(f"conn {look}", *joined))
        bars: list[Point | None] = []
        for x, upper, lower in _interval_ends(frame, effect, panel, dodge, len(points)):
            if upper < lower:
                bars += [(x, upper), (x, lower), None]
        if bars:
            shapes.append(line(f"err {look}", *bars))
    stands_alone = effect["style"] == "points" or effect["kind"] == "nominal"
    radius = 3.8 if stands_alone and frame.width > SMALL_SIZE[0] else 2.8
    present_points = [point for point in points if point is not None]
    return shapes + [tag("circle", f"pt {look}", cx=x, cy=y, r=radius) for x, y in present_points]


def _interval_ends(
    frame: Frame, effect: Effect, panel: Panel, dodge: float, count: int
) -> list[tuple[float, float, float]]:
    """Place, upper and lower end of the interval at the first so many places that have one."""
    ends = []
    cells = zip(effect["x"], panel["mean"], panel["away"], strict=True)
    for x, y, away in list(cells)[:count]:
        if y is not None and away is not None:
            ends.append((frame.x(x) + dodge, frame.y(y + away), frame.y(y - away)))
    return ends


def _ice(frame: Frame, effect: Effect, panel: Panel) -> list[str]:
    """Where most of the rows' own curves run."""
    look = f"ice {color(panel['region'])}"
    ends = []
    for x, high, low in zip(effect["x"], panel["high"] or (), panel["low"] or (), strict=False):
        if high is not None:
            ends.append((frame.x(x), frame.y(high), frame.y(low)))
    if effect["line"]:
        has_missing = effect["gone"] and panel["mean"][-1] is not None
        return [area(look, ends[:-1] if has_missing else ends)] if ends else []
    return [area(look, [(x - 4, high, low), (x + 4, high, low)]) for x, high, low in ends]


def _joint(panels: Sequence[Panel], regions: Sequence[int], i: int) -> float | None:
    """The curve of several regions together: the mean of theirs by rows, where one reaches."""
    parts = [panels[region + 1] for region in regions]
    if all(part["mean"][i] is None for part in parts):
        return None
    rows = [max(sum(part["rows"]), 1) for part in parts]
    total = sum(n * part["curve"][i] for n, part in zip(rows, parts, strict=True))
    return float(total / sum(rows))


def _curve_labels(
    frame: Frame,
    curves: Sequence[tuple[Panel, list[Point]]],
    labels: Sequence[str],
    is_joined: bool,
) -> list[str]:
    """Number and rule of each region beside its curve, on no other label and few curves."""
    drawn = [(panel, points) for panel, points in curves if points]
    every = [point for _, points in drawn for point in (along(points) if is_joined else points)]
    by_rule = bool(labels) and len(drawn) - 1 <= MOST_RULES
    taken: list[Box] = []
    shapes = []
    for panel, points in reversed(drawn):  # all rows last: it gives way
        region = panel["region"]
        text = ""
        if region is None:
            text = "all rows"
        elif by_rule:
            text = labels[region]
        badge = 0.0 if region is None else 2 * BADGE + 3
        width = badge + (LETTER if region is None else LETTER + 0.5) * len(text)
        place = free_place(frame, points, width, every, taken)
        if place is None:
            continue
        x, y = place
        taken.append(text_box(x, y, width))
        parts = []
        if region is not None:
            parts.append(tag("circle", f"badge {color(region)}", cx=x + BADGE, cy=y - 4, r=BADGE))
            parts.append(tag("text", "h b", str(region), x=x + BADGE, y=y, text_anchor="middle"))
        if text:
            look = "h" if region is None else "h b"
            parts.append(tag("text", look, text, x=x + badge, y=y))
        shapes.append(group("k lab", parts, data_r="all" if region is None else region))
    return shapes
