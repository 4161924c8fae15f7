"""Figures of a page as SVG: plain shapes with classes, colored by the page's style; text is escaped here."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from granite_xai.base.wording import brief, number, shortened, value, visible
from granite_xai.display.figures import REGIONS
from granite_xai.display.layout import page_ticks, round_ticks

Scale = Callable[[float], float]
Limits = tuple[float, float]
Point = tuple[float, float]
NARROW = 358
"""Width of the figures that a phone shows."""


class Frame(NamedTuple):
    """A figure's size, the margins around its plot, and where values lie in it."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x: Scale
    y: Scale

    @classmethod
    def of(cls, size: Point, margins: tuple[float, ...], x: Limits, y: Limits, log: bool = False) -> Frame:
        """A frame for values between limits; what lies beyond them is drawn at the edge."""
        (width, height), (left, right, top, bottom) = size, margins
        move = math.log if log else float
        return cls(
            *(width, height, left, width - right, top, height - bottom),
            _scale(move(x[0]), move(x[1]), left, width - right, move),
            _scale(*y, height - bottom, top, float),
        )


def _scale(low: float, high: float, start: float, stop: float, move: Scale) -> Scale:
    span, ends = high - low or 1.0, (min(start, stop), max(start, stop))
    return lambda v: min(max(start + (move(v) - low) / span * (stop - start), ends[0]), ends[1])


def short(place: float) -> str:
    """A coordinate in tenths."""
    return f"{place:.1f}".removesuffix(".0")


def tag(name: str, look: str, text: str = "", **attributes: Any) -> str:
    """One element; underscores in names of attributes are dashes.

    >>> tag("text", "b", "a < b", x=1.04, data_r=2)
    '<text class="b" x="1" data-r="2">a &lt; b</text>'
    """
    told = {k.replace("_", "-"): short(v) if isinstance(v, float) else v for k, v in attributes.items()}
    cells = "".join(f' {k}="{html.escape(str(visible(str(v))))}"' for k, v in told.items() if v is not None)
    return f'<{name} class="{look}"{cells}>{html.escape(str(visible(text)))}</{name}>'


def svg(size: Point, label: str, shapes: Sequence[str], look: str = "", **attributes: Any) -> str:
    """A figure with its name for those who do not see it."""
    box = f"0 0 {short(size[0])} {short(size[1])}"
    opened = tag("svg", f"chart {look}".strip(), role="img", aria_label=label, viewBox=box, **attributes)
    return opened.removesuffix("</svg>") + "".join(shapes) + "</svg>"


def path(points: Sequence[Point | None]) -> str:
    """A path through points, broken where there is none.

    >>> path([(0, 2), (10, 3), None, (5, 5)])
    'M0 2L10 3M5 5'
    """
    found, move = [], "M"
    for point in points:
        if point is not None:
            found.append(f"{move}{short(point[0])} {short(point[1])}")
        move = "M" if point is None else "L"
    return "".join(found)


def color(region: int | None) -> str:
    """The class that colors a region; those beyond the palette share the ink."""
    return "rall" if region is None else f"r{region}" if region < len(REGIONS) else "rx"


def _ends(effect: dict[str, Any]) -> Limits:
    """Where the horizontal axis begins and ends; points need room around them."""
    first, last, steps = effect["x"][0], effect["x"][-1], max(len(effect["x"]) - 1, 1)
    room = 0.5 * (last - first or 1.0) / steps if effect["named"] or effect["style"] == "points" else 0.0
    return first - room, last + room


def _placed(taken: list[tuple[float, ...]], wide: float, choices: Sequence[Point]) -> Point:
    """The first of some places for a text, or of those above and below, that is free; texts stand on 12 units each."""
    far = ((x, y + 12 * ((k + 1) // 2) * (-1) ** k) for k in range(40) for x, y in choices)
    far = ((x, y) for x, y in far if y >= 22)
    free = ((x, y) for x, y in far if not any(x < b and a < x + wide and abs(y - c) < 12 for a, b, c in taken))
    x, y = next(free, choices[0])
    taken.append((x, x + wide, y))
    return x, y


def limits_of(effects: Sequence[dict[str, Any]], centred: bool) -> Limits:
    """The range that holds the curves of some columns; from 0 where that is near."""
    known = [y for e in effects for p in e["panels"] for y in _heights(p, centred) if y is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    pad = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    if not centred and 0 <= low < 0.4 * high:
        return 0.0, high + pad
    return low - pad, high + pad


def _heights(panel: dict[str, Any], centred: bool) -> list[float | None]:
    less = panel["centre"] if centred else 0.0
    every = [panel["mean"], *([line["y"] for line in panel["lines"]] if not centred else [])]
    return [None if y is None else y - less for line in every for y in line]


def _rungs(limits: Limits) -> list[float]:
    """Round numbers for a vertical axis, three at least."""
    found = round_ticks(*limits, 4)
    return found if len(found) > 2 else round_ticks(*limits, 6)


def _axes(frame: Frame, effect: dict[str, Any], ys: Sequence[float], y_title: str, small: bool) -> list[str]:
    made = []
    for y in ys:
        made.append(tag("path", "grid", d=f"M{short(frame.left)} {short(frame.y(y))}H{short(frame.right)}"))
        made.append(tag("text", "", number(y), x=frame.left - 5, y=frame.y(y) + 4, text_anchor="end"))
    made.append(tag("path", "ax", d=f"M{short(frame.left)} {short(frame.bottom)}H{short(frame.right)}"))
    for place, text, full in page_ticks(effect, frame.right - frame.left, small):
        x = frame.x(place)
        edge = x + 3.2 * len(text) > frame.width
        made.append(
            tag("text", "", text, x=x + 6 if edge else x, y=frame.bottom + 21, text_anchor="end" if edge else "middle")
        )
        if full and full != text:
            made[-1] = made[-1].replace("</text>", tag("title", "", full) + "</text>")
    if not small:
        name = shortened(effect["set"], 44) + (f" ({effect['note']})" if effect["note"] else "")
        made.append(tag("text", "t", name, x=frame.right, y=frame.bottom + 38, text_anchor="end"))
        made.append(tag("text", "t", y_title, x=0.0, y=11.0))
    return made


def _rug(frame: Frame, effect: dict[str, Any], rows: Sequence[int], look: str) -> list[str]:
    """Bars below the axis: where the rows lie."""
    most, wide = max(rows, default=0), max(1.5, min(6.0, (frame.right - frame.left) / 45))
    if not most:
        return []
    bars = [(frame.x(x) - wide / 2, 8.0 * count / most) for x, count in zip(effect["bars"], rows, strict=True) if count]
    drawn = "".join(
        f"M{short(x)} {short(frame.bottom + 1)}h{short(wide)}v{short(max(h, 0.8))}h-{short(wide)}z" for x, h in bars
    )
    return [tag("path", f"rug {look}", d=drawn)]


def _curve(
    frame: Frame, effect: dict[str, Any], panel: dict[str, Any], less: float, dodge: float, z: float
) -> list[str]:
    """One scope's curve with the interval of its mean: a line, points on a thin line, or points side by side."""
    x = [frame.x(place) + dodge for place in effect["x"]]
    ends = panel["effect_error" if less else "error"] or [None] * len(x)
    rows = list(zip(x, panel["mean"], ends, strict=True))
    points = [None if y is None else (at, frame.y(y - less)) for at, y, _ in rows]
    look, made, alone = color(panel["region"]), [], []
    if effect["gone"]:
        points, alone = points[:-1], points[-1:]
    if effect["style"] == "line" and panel["values"] > 1:
        both = [
            (a, frame.y(y - less + z * e), frame.y(y - less - z * e))
            for a, y, e in rows[: len(points)]
            if e is not None and y is not None
        ]
        if both:
            ring = [(a, up) for a, up, _ in both] + [(a, down) for a, _, down in reversed(both)]
            made.append(tag("path", f"ci {look}", d=path(ring) + "Z"))
        made.append(tag("path", f"{'gl' if panel['region'] is None else 'ln'} {look}", d=path(points)))
        marked = alone
    else:
        if effect["kind"] not in ("nominal", "boolean") and len(points) > 1:
            made.append(tag("path", f"conn {look}", d=path(points)))
        bars = [
            f"M{short(a)} {short(frame.y(y - less + z * e))}V{short(frame.y(y - less - z * e))}"
            for a, y, e in rows
            if e and y is not None
        ]
        made += [tag("path", f"err {look}", d="".join(bars))] if bars else []
        marked = points + alone
    size = 3.8 if effect["style"] == "points" else 2.8
    return made + [tag("circle", f"pt {look}", cx=p[0], cy=p[1], r=size) for p in marked if p is not None]


def _labels(frame: Frame, curves: Sequence[tuple[dict[str, Any], list[Point]]]) -> list[str]:
    """R0, R1, … beside the ends of the lines if all end near the edge, else above their peaks; never on another."""
    known = [(panel, points) for panel, points in curves if points]
    near = all(points[-1][0] > frame.right - 0.1 * (frame.right - frame.left) for _, points in known)
    taken: list[tuple[float, ...]] = []
    made = []
    for panel, points in sorted(known, key=lambda each: each[1][-1][1], reverse=near):
        x, y = points[-1] if near else min(points, key=lambda point: point[1])
        name = "all rows" if panel["region"] is None else f"R{panel['region']}"
        wide = 7.0 * len(name)
        x, y = _placed(taken, wide, [(x + 8, y + 4) if near else (x - wide / 2, y - 8)])
        look = "h" if panel["region"] is None else "h b"
        made.append(
            tag("text", look, name, x=min(max(x, frame.left + 2), frame.width - wide), y=y, data_r=panel["region"])
        )
    return made


def overlay(
    effect: dict[str, Any],
    nodes: Sequence[dict[str, Any]],
    limits: Limits,
    size: Point,
    y_title: str,
    z: float,
    *,
    centred: bool = False,
) -> str:
    """All regions' curves together, that of all rows behind; nodes between add theirs, hidden until one is chosen."""
    panels, less = effect["panels"], [p["centre"] if centred else 0.0 for p in effect["panels"]]
    frame = Frame.of(size, (46, 34, 24, 44), _ends(effect), limits, effect["log"])
    made = _axes(frame, effect, _rungs(limits), y_title, False) + _rug(frame, effect, panels[0]["rows"], "rall")
    apart = min(12.0, 0.6 * (frame.right - frame.left) / len(effect["x"]) / max(len(panels), 1))
    drawn: list[tuple[dict[str, Any], list[Point]]] = []
    for k, panel in enumerate(panels):
        if k and panel["values"] < 2 and effect["style"] == "line":
            continue
        dodge = (k - (len(panels) - 1) / 2) * apart if effect["style"] == "points" else 0.0
        shapes = _curve(frame, effect, panel, less[k], dodge, z)
        made += [f'<g class="k" data-r="{"all" if k == 0 else panel["region"]}">', *shapes, "</g>"]
        points = [
            (frame.x(x) + dodge, frame.y(y - less[k]))
            for x, y in zip(effect["x"], panel["mean"], strict=True)
            if y is not None
        ]
        drawn.append((panel, points))
    for node in nodes:
        mean = [_joint(panels, node["regions"], i, centred) for i in range(len(effect["x"]) - effect["gone"])]
        line = path([None if y is None else (frame.x(x), frame.y(y)) for x, y in zip(effect["x"], mean, strict=False)])
        made.append(tag("path", "nodec", d=line, data_node=node["id"]))
    made += _labels(frame, drawn) if len(panels) > 1 else []
    made.append(tag("path", "cross", d=f"M0 {short(frame.top)}V{short(frame.bottom)}"))
    across = " ".join(short(frame.x(x)) for x in effect["x"])
    what = "Effect" if centred else "Prediction"
    label = f"{what} along {effect['set']} on all rows and in each region; the numbers are in the table below"
    return svg(size, label, made, "narrow" if size[0] == NARROW else "wide", data_x=across)


def _joint(panels: Sequence[dict[str, Any]], regions: Sequence[int], i: int, centred: bool) -> float | None:
    """The curve of several regions together: the mean of theirs, by their rows, where one of them reaches."""
    parts = [panels[r + 1] for r in regions]
    rows = [max(sum(p["rows"]), 1) for p in parts]
    if all(p["mean"][i] is None for p in parts):
        return None
    less = [p["centre"] if centred else 0.0 for p in parts]
    return float(sum(n * (p["curve"][i] - c) for n, p, c in zip(rows, parts, less, strict=True)) / sum(rows))


def small(effect: dict[str, Any], k: int, limits: Limits, z: float) -> str:
    """One scope alone: where its rows' own curves run, its mean, and the curve of all rows behind."""
    panel, whole, size = effect["panels"][k], effect["panels"][0], (150.0, 118.0)
    frame = Frame.of(size, (30, 8, 6, 28), _ends(effect), limits, effect["log"])
    made = _axes(frame, effect, round_ticks(*limits, 2), "", True)
    look, shown = color(panel["region"]), len(effect["x"]) - (effect["gone"] and effect["style"] == "line")
    if panel["low"] is not None:
        both = [
            (frame.x(x), frame.y(a), frame.y(b))
            for x, a, b in zip(*(each[:shown] for each in (effect["x"], panel["high"], panel["low"])), strict=True)
            if a is not None
        ]
        if effect["style"] == "line":
            outline = [(x, a) for x, a, _ in both] + [(x, b) for x, _, b in reversed(both)]
            made.append(tag("path", f"ice {look}", d=path(outline) + "Z" if both else ""))
        else:
            bars = "".join(f"M{short(x - 4)} {short(a)}h8V{short(b)}h-8z" for x, a, b in both)
            made.append(tag("path", f"ice {look}", d=bars))
    made.append(tag("path", "base", d=f"M{short(frame.left)} {short(frame.y(panel['centre']))}H{short(frame.right)}"))
    if k:
        made += _curve(frame, effect, {**whole, "error": None}, 0.0, 0.0, z)
    made += _curve(frame, effect, panel, 0.0, 0.0, z)
    for n, line in enumerate(panel["lines"]):
        points = [(frame.x(x), frame.y(y)) for x, y in zip(line["x"], line["y"], strict=True)]
        made.append(tag("path", f"side side{n}", d=path(points)))
    made += _rug(frame, effect, panel["rows"], look)
    where = "on all rows" if panel["region"] is None else f"in region {panel['region']}"
    return svg(size, f"Prediction along {effect['set']} {where}", made)


def scatter(
    columns: Sequence[dict[str, Any]], titles: tuple[str, str], width: float, nodes: Sequence[dict[str, Any]]
) -> str:
    """What the curve of each column shows against what it hides, on root axes: hollow on all rows, solid in regions."""
    most = max([each[key] for each in columns for key in ("shows", "hides")], default=0.0) or 1.0
    size = (width, width * 0.78)
    root = math.sqrt(most * 1.1)
    frame = Frame.of(size, (44, 66, 26, 46), (0.0, root), (0.0, root))
    made = []
    for t in {0.0: 0, **dict.fromkeys(round_ticks(0.0, most / 8, 2)[:2]), **dict.fromkeys(round_ticks(0.0, most, 4))}:
        x, y = frame.x(math.sqrt(t)), frame.y(math.sqrt(t))
        across = f"M{short(frame.left)} {short(y)}H{short(frame.right)}"
        made.append(tag("path", "grid", d=f"{across}M{short(x)} {short(frame.top)}V{short(frame.bottom)}"))
        made.append(tag("text", "", number(t), x=frame.left - 5, y=y + 4, text_anchor="end"))
        made.append(tag("text", "", number(t), x=x, y=frame.bottom + 17, text_anchor="middle"))
    made.append(
        tag("path", "ax", d=f"M{short(frame.left)} {short(frame.bottom)}L{short(frame.right)} {short(frame.top)}")
    )
    made.append(tag("text", "t", titles[1], x=0.0, y=12.0))
    made.append(tag("text", "t", titles[0], x=frame.right, y=size[1] - 6, text_anchor="end"))
    spots = [(frame.x(math.sqrt(each["shows"])), frame.y(math.sqrt(each["hides"]))) for each in columns]
    taken: list[tuple[float, ...]] = [(x - 5, x + 5, y + 4) for x, y in spots]
    names = []
    for each, (x, y) in zip(columns, spots, strict=True):
        for key, (shows, hides), where in _dots(each, nodes):
            a, b = frame.x(math.sqrt(shows)), frame.y(math.sqrt(hides))
            shape = tag("path", "arr", d=path([(x, y), (a, b)])) + tag("circle", f"in {where}", cx=a, cy=b, r=3.6)
            made.append(f'<g class="{"k" if key == "all" else "k nodec"}" data-node="{key}">{shape}</g>')
        made.append(tag("circle", "out", cx=x, cy=y, r=4.2))
        name = shortened(each["set"], 14)
        wide = 7.0 * len(name)
        x, y = _placed(
            taken, wide, [(x + 7, y + 4), (x - 7 - wide, y + 4), (x - wide / 2, y - 9), (x - wide / 2, y + 18)]
        )
        names.append(tag("text", "h m", name, x=min(max(x, frame.left + 3), width - wide - 2), y=y))
    label = "Columns by what one curve shows and what it hides; the numbers are in the table below"
    return svg(size, label, [*made, *names], "narrow" if width == NARROW else "wide")


def _dots(each: dict[str, Any], nodes: Sequence[dict[str, Any]]) -> list[tuple[str, Sequence[float], str]]:
    """The solid dots of a column: inside all regions, and inside each node that can be chosen."""
    found: list[tuple[str, Sequence[float], str]] = [("all", each["within"], "rink")] if each["nodes"] else []
    for node in nodes:
        parts = [each["nodes"][str(r)] for r in node["regions"]] if each["nodes"] else []
        if parts and node["id"] != "all":
            mean = [math.sqrt(sum(p[i] ** 2 for p in parts) / len(parts)) for i in (0, 1)]
            found.append((node["id"], mean, "rink" if node["region"] is None else color(node["region"])))
    return found


def stacked(steps: Sequence[dict[str, Any]], width: float) -> str:
    """The ledger as one bar: what each description adds, and the rest hatched."""
    ends = [min(max(step["explained"], 0.0), 1.0) for step in steps]
    made, at = [], 0.0
    for i, end in enumerate(ends):
        made.append(tag("rect", f"step{i}", x=at * width, y=0.0, width=max(end - at, 0.0) * width, height=26.0))
        at = max(at, end)
    marks = "".join(f"M{short(x)} 26l9 -26" for x in range(int(at * width), int(width), 6) if x + 9 <= width)
    made.append(tag("path", "hatch", d=marks))
    made.append(tag("rect", "outline", x=0.5, y=0.5, width=width - 1.0, height=25.0))
    label = "Explained variance: " + ", ".join(f"{value(round(100 * end, 1))} %" for end in ends)
    return svg((width, 26.0), label, made, "bar")


def certainty(marks: Sequence[tuple[str, float]], interval: Limits | None, unit: str) -> str:
    """Chance, what the regions leave and what one curve per column leaves, along one line."""
    most = max(x for _, x in marks) or 1.0
    frame = Frame.of((300.0, 56.0), (44, 40, 18, 22), (0.0, most), (0.0, 1.0))
    made = [tag("path", "ax", d=f"M{short(frame.left)} 34H{short(frame.right)}")]
    if interval is not None:
        made.append(tag("path", "wide-mark", d=f"M{short(frame.x(interval[0]))} 34H{short(frame.x(interval[1]))}"))
    near = len(marks) == 3 and frame.x(marks[1][1]) - frame.x(marks[0][1]) < 60
    for i, (name, x) in enumerate(marks):
        at, last = frame.x(x), i == len(marks) - 1
        anchor = "end" if last else ("end", "start")[i] if near else "middle"
        shift = 36.0 if last else (4.0, -4.0)[i] if near else 0.0
        made.append(tag("circle", "in rink" if i > 0 and not last else "out", cx=at, cy=34.0, r=4.5))
        made.append(tag("text", "", name, x=at + shift, y=18.0, text_anchor=anchor))
        made.append(tag("text", "t", brief(x), x=at + shift, y=52.0, text_anchor=anchor))
    return svg((300.0, 56.0), ", ".join(f"{name}: {brief(x)} {unit}" for name, x in marks), made)
