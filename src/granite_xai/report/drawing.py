"""Figures of a page as SVG: plain shapes with classes, colored by the page's style; text is escaped here."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Any

from granite_xai.base.text import shortened, visible
from granite_xai.base.wording import number
from granite_xai.display.axis import round_ticks
from granite_xai.display.page_axis import page_ticks
from granite_xai.display.palette import REGIONS

Limits = tuple[float, float]
Point = tuple[float, float]
NARROW = 358  # width of the figures that a phone shows


class Frame:
    """A figure's size, the edges of its plot, and where values lie in it; beyond their limits: at the edge."""

    def __init__(
        self, size: Point, margins: tuple[float, ...], x: Limits, y: Limits, log: bool = False
    ) -> None:
        self.width, self.left, self.right = size[0], margins[0], size[0] - margins[1]
        self.top, self.bottom = margins[2], size[1] - margins[3]
        self.x = _scale(x, (self.left, self.right), math.log if log else float)
        self.y = _scale(y, (self.bottom, self.top))


def _scale(
    limits: Limits, ends: Limits, move: Callable[[float], float] = float
) -> Callable[[float], float]:
    low, span = move(limits[0]), move(limits[1]) - move(limits[0]) or 1.0
    return lambda v: min(
        max(ends[0] + (move(v) - low) / span * (ends[1] - ends[0]), min(ends)), max(ends)
    )


def short(place: float) -> str:
    """A coordinate in tenths."""
    return f"{place:.1f}".removesuffix(".0")


def tag(name: str, look: str, text: str = "", **attributes: Any) -> str:
    """One element; underscores in names of attributes are dashes."""
    told = {
        k.replace("_", "-"): short(v) if isinstance(v, float) else v for k, v in attributes.items()
    }
    cells = "".join(
        f' {k}="{html.escape(str(visible(str(v))))}"' for k, v in told.items() if v is not None
    )
    return f'<{name} class="{look}"{cells}>{html.escape(str(visible(text)))}</{name}>'


def svg(size: Point, label: str, shapes: Sequence[str], look: str = "", **attributes: Any) -> str:
    """A figure with its name for those who do not see it."""
    box = f"0 0 {short(size[0])} {short(size[1])}"
    opened = tag(
        "svg", f"chart {look}".strip(), role="img", aria_label=label, viewBox=box, **attributes
    )
    return opened.removesuffix("</svg>") + "".join(shapes) + "</svg>"


def path(points: Sequence[Point | None]) -> str:
    """A path through points, broken where there is none."""
    both = zip((None, *points), points, strict=False)
    return "".join(
        f"{'L' if before else 'M'}{short(at[0])} {short(at[1])}"
        for before, at in both
        if at is not None
    )


def _line(look: str, *points: Point | None, **attributes: Any) -> str:
    return tag("path", look, d=path(points), **attributes)


def _points(
    frame: Frame, xs: Sequence[float], ys: Sequence[float | None], dodge: float = 0.0
) -> list[Point | None]:
    return [
        None if y is None else (frame.x(x) + dodge, frame.y(y))
        for x, y in zip(xs, ys, strict=False)
    ]


def _ring(look: str, bars: Sequence[tuple[float, float, float]]) -> str:
    """The area between upper and lower ends along an axis."""
    return tag(
        "path",
        look,
        d=path([(x, a) for x, a, _ in bars] + [(x, b) for x, _, b in reversed(bars)]) + "Z",
    )


def color(region: int | None) -> str:
    """The class that colors a region; those beyond the palette share the ink."""
    return "rall" if region is None else f"r{region}" if region < len(REGIONS) else "rx"


def as_drawn(effect: dict[str, Any], z: float, centred: bool = False) -> dict[str, Any]:
    """An effect with half the width of its intervals, so many errors; around the mean of each scope if centred."""
    panels, what = [], "Effect" if centred else "Prediction"
    for panel in effect["panels"]:
        less, errors = (
            (panel["centre"], panel["effect_error"]) if centred else (0.0, panel["error"])
        )
        told: dict[str, Any] = {
            key: [y if y is None else y - less for y in panel[key]] for key in ("mean", "curve")
        }
        told["away"] = [e if e is None else z * e for e in errors or [None] * len(panel["mean"])]
        told |= {"centre": panel["centre"] - less, "lines": [] if centred else panel["lines"]}
        panels.append({**panel, **told})
    return {**effect, "panels": panels, "what": what, "line": effect["style"] == "line"}


def limits_of(effects: Sequence[dict[str, Any]]) -> Limits:
    """The range that holds the curves of some columns; from 0 where that is near."""
    panels = [panel for effect in effects for panel in effect["panels"]]
    both = [pair for panel in panels for pair in zip(panel["mean"], panel["away"], strict=True)]
    known = [y + sign * (away or 0.0) for y, away in both if y is not None for sign in (-1, 1)]
    known += [y for panel in panels for line in panel["lines"] for y in line["y"] if y is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    pad = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return (0.0 if 0 <= low < 0.4 * high else low - pad), high + pad


def _frame(
    effect: dict[str, Any], size: Point, margins: tuple[float, ...], limits: Limits
) -> Frame:
    """The frame of one column; points need room around them."""
    first, last, steps = effect["x"][0], effect["x"][-1], max(len(effect["x"]) - 1, 1)
    room = (
        0.5 * (last - first or 1.0) / steps
        if effect["named"] or effect["style"] == "points"
        else 0.0
    )
    return Frame(size, margins, (first - room, last + room), limits, effect["log"])


def _placed(taken: list[tuple[float, ...]], wide: float, choices: Sequence[Point]) -> Point:
    """The first of some places for a text, or of those above and below, that is free; texts stand on 12 units each."""
    far = ((x, y + 12 * ((k + 1) // 2) * (-1) ** k) for k in range(40) for x, y in choices)
    far = ((x, y) for x, y in far if y >= 22)
    free = (
        (x, y)
        for x, y in far
        if not any(x < b and a < x + wide and abs(y - c) < 12 for a, b, c in taken)
    )
    x, y = next(free, choices[0])
    taken.append((x, x + wide, y))
    return x, y


def _axes(
    frame: Frame, effect: dict[str, Any], ys: Sequence[float], y_title: str = ""
) -> list[str]:
    """Rungs, ticks and titles; a small figure has no title."""
    made = [_line("ax", (frame.left, frame.bottom), (frame.right, frame.bottom))]
    for y in ys:
        made.append(_line("grid", (frame.left, frame.y(y)), (frame.right, frame.y(y))))
        made.append(
            tag("text", "", number(y), x=frame.left - 5, y=frame.y(y) + 4, text_anchor="end")
        )
    for place, text, full in page_ticks(effect, frame.right - frame.left, not y_title):
        x, hint = frame.x(place), tag("title", "", full) if full and full != text else ""
        x, anchor = (x + 6, "end") if x + 3.2 * len(text) > frame.width else (x, "middle")
        written = tag("text", "", text, x=x, y=frame.bottom + 21, text_anchor=anchor)
        made.append(written.removesuffix("</text>") + f"{hint}</text>")
    if y_title:
        name = shortened(effect["set"], 44) + (f" ({effect['note']})" if effect["note"] else "")
        made.append(tag("text", "t", name, x=frame.right, y=frame.bottom + 38, text_anchor="end"))
        made.append(tag("text", "t", y_title, x=0.0, y=11.0))
    return made


def _rug(frame: Frame, effect: dict[str, Any], rows: Sequence[int], look: str) -> str:
    """Bars below the axis: where the rows lie."""
    most, wide, base = (
        max(rows, default=0),
        max(1.5, min(6.0, (frame.right - frame.left) / 45)),
        frame.bottom + 1,
    )
    bars = [
        (frame.x(x) - wide / 2, max(8.0 * n / most, 0.8))
        for x, n in zip(effect["bars"], rows, strict=True)
        if n
    ]
    drawn = (
        f"M{short(x)} {short(base)}h{short(wide)}v{short(tall)}h-{short(wide)}z" for x, tall in bars
    )
    return tag("path", f"rug {look}", d="".join(drawn)) if bars else ""


def _curve(
    frame: Frame, effect: dict[str, Any], panel: dict[str, Any], dodge: float = 0.0
) -> list[str]:
    """One scope's curve with the interval of its mean: a line, points on a thin line, or points side by side."""
    look, points = color(panel["region"]), _points(frame, effect["x"], panel["mean"], dodge)
    rows = list(zip(effect["x"], panel["mean"], panel["away"], strict=True))
    rows = rows[: len(rows) - (effect["gone"] and effect["line"])]
    ends = [
        (frame.x(x) + dodge, frame.y(y + e), frame.y(y - e))
        for x, y, e in rows
        if None not in (y, e)
    ]
    joined, made = points[: len(points) - effect["gone"]], []
    if effect["line"] and panel["values"] > 1:
        made += [_ring(f"ci {look}", ends)] if ends else []
        made.append(_line(f"{'gl' if panel['region'] is None else 'ln'} {look}", *joined))
        points = points[len(joined) :]
    else:
        if effect["kind"] not in ("nominal", "boolean") and len(joined) > 1:
            made.append(_line(f"conn {look}", *joined))
        made.append(
            _line(
                f"err {look}", *(end for x, a, b in ends if a < b for end in ((x, a), (x, b), None))
            )
        )
    size = 3.8 if effect["style"] == "points" else 2.8
    return made + [
        tag("circle", f"pt {look}", cx=p[0], cy=p[1], r=size) for p in points if p is not None
    ]


def _labels(frame: Frame, curves: Sequence[tuple[dict[str, Any], list[Point]]]) -> list[str]:
    """R0, R1, … beside the ends of the lines if all end near the edge, else above their peaks; never on another."""
    known = [(panel, points) for panel, points in curves if points]
    near = all(
        points[-1][0] > frame.right - 0.1 * (frame.right - frame.left) for _, points in known
    )
    taken: list[tuple[float, ...]] = []
    made = []
    for panel, points in sorted(known, key=lambda each: each[1][-1][1], reverse=near):
        x, y = points[-1] if near else min(points, key=lambda point: point[1])
        name, look = ("all", "h") if panel["region"] is None else (f"R{panel['region']}", "h b")
        wide = 7.0 * len(name)
        x, y = _placed(taken, wide, [(x + 8, y + 4) if near else (x - wide / 2, y - 8)])
        x = min(max(x, frame.left + 2), frame.width - wide)
        made.append(tag("text", look, name, x=x, y=y, data_r=panel["region"]))
    return made


def overlay(
    effect: dict[str, Any],
    nodes: Sequence[dict[str, Any]],
    limits: Limits,
    size: Point,
    y_title: str,
) -> str:
    """All regions' curves together, that of all rows behind; nodes between add theirs, hidden until one is chosen."""
    panels, frame = effect["panels"], _frame(effect, size, (46, 34, 24, 44), limits)
    rungs = round_ticks(*limits, 4)
    made = _axes(frame, effect, rungs if len(rungs) > 2 else round_ticks(*limits, 6), y_title)
    made += [_rug(frame, effect, panels[0]["rows"], "rall")] + (
        [] if panels[1:] else _ice(frame, effect, panels[0])
    )
    apart = min(12.0, 0.6 * (frame.right - frame.left) / len(effect["x"]) / len(panels))
    drawn: list[tuple[dict[str, Any], list[Point]]] = []
    for k, panel in enumerate(panels):
        if k and panel["values"] < 2 and effect["line"]:
            continue
        dodge = (k - (len(panels) - 1) / 2) * apart if effect["style"] == "points" else 0.0
        shapes = "".join(_curve(frame, effect, panel, dodge))
        made.append(f'<g class="k" data-r="{"all" if k == 0 else panel["region"]}">{shapes}</g>')
        drawn.append(
            (panel, [p for p in _points(frame, effect["x"], panel["mean"], dodge) if p is not None])
        )
    for node in nodes:
        mean = [
            _joint(panels, node["regions"], i) for i in range(len(effect["x"]) - effect["gone"])
        ]
        made.append(_line("nodec", *_points(frame, effect["x"], mean), data_node=node["id"]))
    made += _labels(frame, drawn) if len(panels) > 1 else []
    made.append(_line("cross", (0, frame.top), (0, frame.bottom)))
    label = f"{effect['what']} along {effect['set']} on all rows and in each region; the numbers are in the table below"
    across = " ".join(short(frame.x(x)) for x in effect["x"])
    return svg(size, label, made, "narrow" if size[0] == NARROW else "wide", data_x=across)


def _joint(panels: Sequence[dict[str, Any]], regions: Sequence[int], i: int) -> float | None:
    """The curve of several regions together: the mean of theirs, by their rows, where one of them reaches."""
    parts = [panels[r + 1] for r in regions]
    rows = [max(sum(p["rows"]), 1) for p in parts]
    mean = float(sum(n * p["curve"][i] for n, p in zip(rows, parts, strict=True)) / sum(rows))
    return None if all(p["mean"][i] is None for p in parts) else mean


def _ice(frame: Frame, effect: dict[str, Any], panel: dict[str, Any]) -> list[str]:
    """Where most of the rows' own curves run."""
    look = f"ice {color(panel['region'])}"
    bars = zip(effect["x"], panel["high"] or (), panel["low"] or (), strict=False)
    ends = [(frame.x(x), frame.y(a), frame.y(b)) for x, a, b in bars if a is not None]
    if effect["line"]:
        return [_ring(look, ends[: len(ends) - (effect["gone"] and panel["mean"][-1] is not None)])]
    return [_ring(look, [(x - 4, a, b), (x + 4, a, b)]) for x, a, b in ends]


def small(effect: dict[str, Any], k: int, limits: Limits) -> str:
    """One scope alone: where its rows' own curves run, its mean, and the curve of all rows behind."""
    panel, whole, size = effect["panels"][k], effect["panels"][0], (150.0, 118.0)
    frame, look = _frame(effect, size, (30, 8, 6, 28), limits), color(panel["region"])
    made = [*_axes(frame, effect, round_ticks(*limits, 2)), *_ice(frame, effect, panel)]
    made.append(_line("base", *((x, frame.y(panel["centre"])) for x in (frame.left, frame.right))))
    if k:
        made += _curve(frame, effect, {**whole, "away": [None] * len(effect["x"])})
    made += _curve(frame, effect, panel)
    made += [
        _line(f"side side{n}", *_points(frame, each["x"], each["y"]))
        for n, each in enumerate(panel["lines"])
    ]
    where = "on all rows" if panel["region"] is None else f"in region {panel['region']}"
    return svg(
        size,
        f"Prediction along {effect['set']} {where}",
        [*made, _rug(frame, effect, panel["rows"], look)],
    )


def scatter(
    columns: Sequence[dict[str, Any]], titles: tuple[str, str], width: float, nodes: Any
) -> str:
    """What the curve of each column shows against what it hides, on root axes: hollow on all rows, solid in regions."""
    most = max([each[key] for each in columns for key in ("shows", "hides")], default=0.0) or 1.0
    size, top = (width, width * 0.78), math.sqrt(most * 1.1)
    frame = Frame(size, (44, 66, 26, 46), (0.0, top), (0.0, top))

    def place(shows: float, hides: float) -> Point:
        return frame.x(math.sqrt(shows)), frame.y(math.sqrt(hides))

    made = [_line("ax", (frame.left, frame.bottom), (frame.right, frame.top))]
    for t in dict.fromkeys([0.0, *round_ticks(0.0, most / 8, 2)[:2], *round_ticks(0.0, most, 4)]):
        x, y = place(t, t)
        made.append(
            _line(
                "grid", (frame.left, y), (frame.right, y), None, (x, frame.top), (x, frame.bottom)
            )
        )
        made.append(tag("text", "", number(t), x=frame.left - 5, y=y + 4, text_anchor="end"))
        made.append(tag("text", "", number(t), x=x, y=frame.bottom + 17, text_anchor="middle"))
    made.append(tag("text", "t", titles[1], x=0.0, y=12.0))
    made.append(tag("text", "t", titles[0], x=frame.right, y=size[1] - 6, text_anchor="end"))
    spots = [place(each["shows"], each["hides"]) for each in columns]
    taken: list[tuple[float, ...]] = [(x - 5, x + 5, y + 4) for x, y in spots]
    taken += [(x - 5, x + 5, y + 4) for x, y in (place(*each["within"]) for each in columns)]
    names = []
    for each, (x, y) in zip(columns, spots, strict=True):
        for key, sizes, where in _dots(each, nodes):
            a, b = place(*sizes)
            shape = _line("arr", (x, y), (a, b)) + tag("circle", f"in {where}", cx=a, cy=b, r=3.6)
            made.append(
                f'<g class="{"k" if key == "all" else "k nodec"}" data-node="{key}">{shape}</g>'
            )
        made.append(tag("circle", "out", cx=x, cy=y, r=4.2))
        name = shortened(each["set"], 14, 4)
        wide = 7.0 * len(name)
        around = [
            (x + 7, y + 4),
            (x - 7 - wide, y + 4),
            (x - wide / 2, y - 9),
            (x - wide / 2, y + 18),
        ]
        x, y = _placed(
            taken, wide, [(a, b) for a, b in around if frame.left + 3 <= a <= width - wide - 2]
        )
        names.append(tag("text", "h m", name, x=x, y=y))
    label = "Columns by what one curve shows and what it hides; the numbers are in the table below"
    return svg(size, label, [*made, *names], "narrow" if width == NARROW else "wide")


def _dots(each: dict[str, Any], nodes: Sequence[dict[str, Any]]) -> list[tuple[str, Any, str]]:
    """The solid dots of a column: inside all regions, and inside each node that can be chosen."""
    found: list[tuple[str, Any, str]] = [("all", each["within"], "rink")] if each["nodes"] else []
    for node in nodes if each["nodes"] else ():
        parts = [each["nodes"][str(r)] for r in node["regions"]]
        mean = [math.sqrt(sum(p[i] ** 2 for p in parts) / len(parts)) for i in (0, 1)]
        if node["id"] != "all":
            found.append(
                (node["id"], mean, "rink" if node["region"] is None else color(node["region"]))
            )
    return found
