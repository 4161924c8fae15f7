"""The painter for pages: figures in SVG, as text.

All text is escaped here. Shapes carry classes, which ``report/templates/style.css`` colours and
``report/templates/script.js`` shows or hides:

- colour: ``r0``, ``r1``, … a region; ``rall`` all rows; ``rx`` regions beyond the palette; ``rink`` ink;
  ``v0`` to ``v4`` low to high values of a feature, ``vx`` values without an order;
- curves: ``ln`` of some regions, ``gl`` of all rows, ``ci`` their band of intervals, ``pt`` points, ``err`` bars of
  intervals, ``conn`` a thin line between points, ``ice`` the band of the rows' own curves, ``side`` another
  explanation, ``rug`` bars that show where rows lie, ``dots`` many dots as one path;
- axes: ``ax`` an axis, ``grid`` a line across, ``cross`` the line under the pointer;
- text: ``t`` a title, ``h`` with a halo, ``b`` bold, ``m`` a name as code;
- choice of a node of the tree: ``k`` is dimmed unless one of its regions (``data-r``) is below the node, ``of`` is
  hidden unless all of the node's regions are chosen by it;
- size of the screen: ``wide``, ``narrow``.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.text import distinct_labels, shortened, visible
from granite_xai.base.typing import FloatArray
from granite_xai.document.chart import REGIONS, FeatureAxis, round_ticks

Point = tuple[float, float]  # from the left edge, from the top edge
Limits = tuple[float, float]

LETTER_WIDTH = 6.4  # of a text in a figure
LABEL_LINE = 14.0  # from one label to the next one below it
LABEL_GAP = 7.0  # from the end of a curve to its label
NEAR_END = 0.82  # share of the plot from which on a curve ends at its right edge
MARKED_WIDTH = 400.0  # of figures that have room for numbers of regions only
WHOLE_WIDTH = 600.0  # of figures in which long labels are cut; smaller ones then have numbers, too
LABEL_SHARE = 0.3  # of a figure, that labels beside the plot may take
SMALL_WIDTH = 310.0  # of figures that have few ticks and small points
TALLEST_BAR = 8.0  # of the bars of rows
LOWEST_BAR = 0.8
HALF_BAND = 4.0  # half the width of the band around a single point
WIDEST_SHIFT = 12.0  # between points of neighbouring curves at one value of a feature
FILLED = 0.6  # share of the room of a value that the points of all curves take
TITLE_LETTERS = 44
LONGEST_HINT = 200


# Elements ----------------------------------------------------------------------------------------------


def coordinate(place: float) -> str:
    """A coordinate in tenths, without a trailing zero."""
    return f"{place:.1f}".removesuffix(".0")


def element(name: str, css_class: str, text: str = "", hint: str = "", **attributes: Any) -> str:
    """One element with its text.

    Parameters
    ----------
    name : str
    css_class : str
        Empty: none.
    text : str
        What stands in the element.
    hint : str
        What a pointer over it shows; empty: nothing.
    **attributes
        Underscores in their names become dashes. Those that are None are left out.

    Examples
    --------
    >>> element("text", "t", "a < b", x=1.0)
    '<text class="t" x="1">a &lt; b</text>'
    """
    title = f"<title>{_escaped(shortened(hint, LONGEST_HINT))}</title>" if hint else ""
    return f"{_opening_tag(name, css_class, attributes)}{_escaped(text)}{title}</{name}>"


def group(css_class: str, shapes: Sequence[str], **attributes: Any) -> str:
    """Several elements in one."""
    return f"{_opening_tag('g', css_class, attributes)}{''.join(shapes)}</g>"


def figure(
    size: Point, label: str, shapes: Sequence[str], css_class: str = "", **attributes: Any
) -> str:
    """A whole figure.

    Parameters
    ----------
    size : (float, float)
        Width and height.
    label : str
        What it shows, for those who do not see it.
    shapes : sequence of str
        Its elements.
    css_class : str
        Beside the class of all figures.
    **attributes
        As in `element`.
    """
    box = f"0 0 {coordinate(size[0])} {coordinate(size[1])}"
    look = f"chart {css_class}".strip()
    named = {"role": "img", "aria_label": label, "viewBox": box, **attributes}
    return f"{_opening_tag('svg', look, named)}{''.join(shapes)}</svg>"


def _opening_tag(name: str, css_class: str, attributes: dict[str, Any]) -> str:
    parts = [name]
    if css_class:
        parts.append(f'class="{css_class}"')
    for key, value in attributes.items():
        if value is None:
            continue
        text = coordinate(value) if isinstance(value, float) else str(value)
        parts.append(f'{key.replace("_", "-")}="{_escaped(text)}"')
    return f"<{' '.join(parts)}>"


def _escaped(text: str) -> str:
    return html.escape(str(visible(text)))


def text_at(x: float, y: float, text: str, css_class: str = "", **attributes: Any) -> str:
    """A line of text with its baseline at a height; ``text_anchor`` says which part of it stands at x."""
    return element("text", css_class, text, x=x, y=y, **attributes)


def line(css_class: str, *points: Point | None) -> str:
    """A line through points, broken at None."""
    return element("path", css_class, d=_path(points))


def _path(points: Sequence[Point | None]) -> str:
    commands = []
    letter = "M"
    for point in points:
        if point is None:
            letter = "M"
            continue
        commands.append(f"{letter}{coordinate(point[0])} {coordinate(point[1])}")
        letter = "L"
    return "".join(commands)


def area(css_class: str, spans: Sequence[tuple[float, float, float]]) -> str:
    """The area between two lines, given by its upper and lower end at each x, from left to right."""
    upper = [(x, top) for x, top, _ in spans]
    lower = [(x, bottom) for x, _, bottom in reversed(spans)]
    return element("path", css_class, d=f"{_path([*upper, *lower])}Z")


def dots(css_class: str, points: Sequence[Point]) -> str:
    """Many dots as one path; their size is the width of its round line."""
    commands = [f"M{coordinate(x)} {coordinate(y)}h0" for x, y in points]
    return element("path", f"dots {css_class}", d="".join(commands))


def region_class(regions: int | Sequence[int] | None) -> str:
    """The class that colours some regions, which is that of the first; None: all rows.

    Regions beyond the palette share the grey of all rows.
    """
    if regions is None:
        return "rall"
    first = regions if isinstance(regions, int) else regions[0]
    return f"r{first}" if first < len(REGIONS) else "rx"


# Scales ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frame:
    """The plot of a figure, and where values lie in it; those beyond the limits lie at its edge.

    Parameters
    ----------
    size : (float, float)
        Width and height of the figure.
    margins : (float, float, float, float)
        Room on the left, on the right, above and below.
    x, y : (float, float)
        Values at the edges of the plot: left and right, bottom and top.
    """

    size: Point
    margins: tuple[float, float, float, float]
    x_limits: Limits
    y_limits: Limits

    @property
    def left(self) -> float:
        """The left edge of the plot."""
        return self.margins[0]

    @property
    def right(self) -> float:
        """The right edge of the plot."""
        return self.size[0] - self.margins[1]

    @property
    def top(self) -> float:
        """The upper edge of the plot."""
        return self.margins[2]

    @property
    def bottom(self) -> float:
        """The lower edge of the plot."""
        return self.size[1] - self.margins[3]

    def x(self, value: float) -> float:
        """Where a value lies from left to right."""
        return _between(value, self.x_limits, (self.left, self.right))

    def y(self, value: float) -> float:
        """Where a value lies from the bottom to the top."""
        return _between(value, self.y_limits, (self.bottom, self.top))


def _between(value: float, limits: Limits, places: Limits) -> float:
    low, high = limits
    share = min(max((value - low) / (high - low or 1.0), 0.0), 1.0)
    return places[0] + share * (places[1] - places[0])


# Curves along a feature --------------------------------------------------------------------------------


class DrawnCurve(NamedTuple):
    """A curve at the places of an axis; nan where it has none.

    Attributes
    ----------
    y, half_widths, low, high : arrays of shape (n_places,)
        The curve, half its intervals, and where the curves of most rows run.
    regions : tuple of int or None
        That share it; None: all rows, drawn behind the others.
    label : str
        What stands at its end.
    mark : str
        The same where there is little room.
    """

    y: FloatArray
    half_widths: FloatArray
    low: FloatArray
    high: FloatArray
    regions: tuple[int, ...] | None
    label: str = ""
    mark: str = ""
    dashed: FloatArray | None = None


def paint_curves(
    axis: FeatureAxis,
    curves: Sequence[DrawnCurve],
    limits: Limits,
    *,
    size: Point,
    title: str,
    write: Any,
    css_class: str = "",
    band_of_all: bool = False,
) -> str:
    """Draw curves along a feature in one figure, with labels at their ends.

    Parameters
    ----------
    axis : FeatureAxis
    curves : sequence of DrawnCurve
        Those of all rows first.
    limits : (float, float)
        Of the vertical axis.
    size : (float, float)
        Width and height.
    title : str
        Of the vertical axis.
    write : callable
        Writes a number of it.
    css_class : str
        "wide" or "narrow": the screens that show this figure. Empty: all.
    band_of_all : bool
        Whether the band of the rows' own curves is drawn, not only when a node of the tree is chosen.
    """
    is_small = size[0] < SMALL_WIDTH
    room = int(LABEL_SHARE * size[0] / LETTER_WIDTH)
    labels = [str(visible(curve.label)) for curve in curves]
    if size[0] < MARKED_WIDTH or (size[0] < WHOLE_WIDTH and max(map(len, labels)) > room):
        labels = [curve.mark for curve in curves]
    else:
        labels = distinct_labels(labels, room)
    longest = max(map(len, labels))
    right = LABEL_GAP + LETTER_WIDTH * longest + 4 if longest else 12.0
    margins = (46.0, right, 24.0, 44.0)
    ends = axis.drawn_limits
    frame = Frame(size, margins, (axis.scaled(ends[0]), axis.scaled(ends[1])), limits)
    shapes = _axes(frame, axis, title, write, is_small)
    shapes.append(_row_bars(frame, axis))
    x = [frame.x(axis.scaled(place)) for place in axis.x]
    place_width = FILLED * (frame.right - frame.left) / max(len(x), 1)
    step = min(WIDEST_SHIFT, place_width / len(curves)) if axis.style == "points" else 0.0
    tails: list[tuple[Point, str, str]] = []
    for number, curve in enumerate(curves):
        shift = (number - (len(curves) - 1) / 2) * step
        places = [place + shift for place in x]
        shown_with = "all" if curve.regions is None else " ".join(map(str, curve.regions))
        look = region_class(curve.regions)
        band = _ice_band(frame, axis, places, curve, look)
        if band:
            shapes.append(band if band_of_all else group("of", [band], data_band=shown_with))
        shapes.append(group("k", _curve(frame, axis, places, curve, look), data_r=shown_with))
        known = [(at, frame.y(y)) for at, y in zip(places, curve.y, strict=True) if np.isfinite(y)]
        if known and labels[number]:
            tails.append((known[-1], labels[number], shown_with))
    shapes += _labels(frame, tails, NEAR_END if axis.style == "line" else 0.0)
    shapes.append(line("cross", (0, frame.top), (0, frame.bottom)))
    return figure(
        size,
        f"{title} along {shortened(axis.column.name)}; the numbers are in the table below",
        shapes,
        css_class,
        data_x=" ".join(map(coordinate, x)),
    )


def _axes(frame: Frame, axis: FeatureAxis, title: str, write: Any, is_small: bool) -> list[str]:
    """Both axes with their ticks and titles."""
    heights = round_ticks(*frame.y_limits, 4)
    if len(heights) < 3:
        heights = round_ticks(*frame.y_limits, 6)
    shapes = [line("ax", (frame.left, frame.bottom), (frame.right, frame.bottom))]
    for height in heights:
        y = frame.y(height)
        shapes.append(line("grid", (frame.left, y), (frame.right, y)))
        shapes.append(text_at(frame.left - 5, y + 4, write(height), text_anchor="end"))
    width = frame.right - frame.left
    for place, text, full_text in axis.ticks(width / LETTER_WIDTH, few=is_small):
        half = LETTER_WIDTH / 2 * len(text)
        x = min(max(frame.x(axis.scaled(place)), half), frame.size[0] - half)
        hint = full_text if full_text != text else ""
        shapes.append(text_at(x, frame.bottom + 21, text, text_anchor="middle", hint=hint))
    name = shortened(str(visible(axis.column.name)), TITLE_LETTERS, TITLE_LETTERS // 3)
    note = f" ({axis.note})" if axis.note else ""
    shapes.append(text_at(frame.right, frame.bottom + 38, name + note, "t", text_anchor="end"))
    shapes.append(text_at(0.0, 11.0, title, "t"))
    return shapes


def _row_bars(frame: Frame, axis: FeatureAxis) -> str:
    """Bars that hang from the axis and show where the rows lie; empty where there are none."""
    bars = axis.bars()
    most = bars.rows.max(initial=0.0)
    width = max(1.5, min(6.0, (frame.right - frame.left) / 45))
    commands = []
    for middle, n_rows in zip(axis.scaled(bars.middles), bars.rows, strict=True):
        if n_rows > 0:
            left = coordinate(frame.x(middle) - width / 2)
            height = coordinate(max(TALLEST_BAR * n_rows / most, LOWEST_BAR))
            across = coordinate(width)
            commands.append(f"M{left} {coordinate(frame.bottom + 1)}h{across}v{height}h-{across}z")
    return element("path", "rug rall", d="".join(commands)) if commands else ""


def _curve(
    frame: Frame, axis: FeatureAxis, x: Sequence[float], curve: DrawnCurve, look: str
) -> list[str]:
    """A line in the band of its intervals, or points with bars; missing values are a point of their own."""
    points = [
        (place, frame.y(y)) if np.isfinite(y) else None for place, y in zip(x, curve.y, strict=True)
    ]
    spans = []
    for place, y, half in zip(x, curve.y, curve.half_widths, strict=True):
        is_known = np.isfinite(y) and np.isfinite(half)
        spans.append((place, frame.y(y + half), frame.y(y - half)) if is_known else None)
    n_joined = axis.n_present if axis.style == "line" else 0
    shapes = []
    if n_joined:
        band = [span for span in spans[:n_joined] if span is not None]
        if band:
            shapes.append(area(f"ci {look}", band))
        shapes.append(line(f"{'gl' if curve.regions is None else 'ln'} {look}", *points[:n_joined]))
    elif axis.ordered:
        shapes.append(line(f"conn {look}", *points[: axis.n_present]))
    for span, point in list(zip(spans, points, strict=True))[n_joined:]:
        if span is not None and span[1] < span[2]:
            shapes.append(line(f"err {look}", (span[0], span[1]), (span[0], span[2])))
        if point is not None:
            shapes.append(element("circle", f"pt {look}", cx=point[0], cy=point[1], r=3.4))
    if curve.dashed is not None:
        other = zip(x, curve.dashed, strict=True)
        places = [(place, frame.y(y)) if np.isfinite(y) else None for place, y in other]
        shapes.append(line(f"side {look}", *places[: axis.n_present]))
    return shapes


def _ice_band(
    frame: Frame, axis: FeatureAxis, x: Sequence[float], curve: DrawnCurve, look: str
) -> str:
    """Where the curves of most rows run: one area along a line, one at each point."""
    spans = []
    for place, low, high in list(zip(x, curve.low, curve.high, strict=True))[: axis.n_present]:
        if np.isfinite(low) and np.isfinite(high):
            spans.append((place, frame.y(high), frame.y(low)))
    if axis.style == "line":
        return area(f"ice {look}", spans) if spans else ""
    parts = []
    for place, top, bottom in spans:
        sides = [(place - HALF_BAND, top, bottom), (place + HALF_BAND, top, bottom)]
        parts.append(area(f"ice {look}", sides))
    return "".join(parts)


def _labels(frame: Frame, tails: Sequence[tuple[Point, str, str]], near_end: float) -> list[str]:
    """Labels beside the ends of curves, one below the other; those of curves that end early stand above their end."""
    shapes = []
    edge = frame.left + near_end * (frame.right - frame.left)
    at_edge = sorted((tail for tail in tails if tail[0][0] >= edge), key=lambda tail: tail[0][1])
    heights = spread_out([point[1] for point, _, _ in at_edge], (frame.top, frame.bottom))
    for (_, text, shown_with), y in zip(at_edge, heights, strict=True):
        label = text_at(frame.right + LABEL_GAP, y + 4, text, "h b")
        shapes.append(group("k", [label], data_r=shown_with))
    for (x, y), text, shown_with in tails:
        if x < edge:
            fits = x + LETTER_WIDTH * len(text) < frame.size[0]
            anchor = None if fits else "end"
            label = text_at(x, max(y - 8, frame.top), text, "h b", text_anchor=anchor)
            shapes.append(group("k", [label], data_r=shown_with))
    return shapes


def spread_out(heights: Sequence[float], limits: Limits) -> list[float]:
    """Heights in rising order, moved so that neighbours have room for a line of text, inside limits.

    Examples
    --------
    >>> spread_out([10.0, 12.0, 60.0], (0.0, 100.0))
    [10.0, 24.0, 60.0]
    >>> spread_out([95.0, 99.0], (0.0, 100.0))
    [86.0, 100.0]
    """
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + LABEL_LINE) if places else max(height, limits[0]))
    lowest = limits[1]
    for number in reversed(range(len(places))):
        places[number] = min(places[number], lowest)
        lowest = places[number] - LABEL_LINE
    return places


# Dots of single rows -----------------------------------------------------------------------------------

DOT = 3.4  # from one dot to the next
N_SHADES = 5  # of the values of a feature


class Strip(NamedTuple):
    """One feature of an overview: what is written beside it, and the effects of rows by scope.

    Attributes
    ----------
    name, size : str
    effects, shades : by scope ("all", "0", "1", …), arrays of shape (n_rows,)
        Shades of values from 0 (low) to 4 (high); -1: without order, or missing.
    """

    name: str
    size: str
    effects: dict[str, FloatArray]
    shades: dict[str, Any]


def paint_overview(
    strips: Sequence[Strip], limits: Limits, *, width: float, title: str, write: Any, css_class: str
) -> str:
    """Draw a line a feature, with dots where the effects of rows lie, spread by density.

    Parameters
    ----------
    strips : sequence of Strip
    limits : (float, float)
        Effects at the left and the right edge.
    width : float
    title : str
        Of the horizontal axis.
    write : callable
        Writes an effect with its sign.
    css_class : str
        "wide" or "narrow".
    """
    is_narrow = css_class == "narrow"
    height = 22.0 if is_narrow else 30.0
    letters = 15 if is_narrow else 26
    left = 14 + 7.2 * min(letters, max((len(strip.name) for strip in strips), default=1))
    right = 8 + LETTER_WIDTH * max((len(strip.size) for strip in strips), default=1)
    size = (width, height * len(strips) + 62)
    frame = Frame(size, (left, right, 20.0, 42.0), limits, (len(strips), 0.0))
    zero = frame.x(0.0)
    shapes = [line("ax", (zero, frame.top), (zero, frame.bottom))]
    shapes += [
        text_at(frame.x(number), frame.bottom + 16, write(number), text_anchor="middle")
        for number in round_ticks(*limits, 3 if is_narrow else 5)
    ]
    shapes.append(text_at(frame.right, frame.bottom + 33, title, "t", text_anchor="end"))
    shapes.append(text_at(size[0], 11.0, "mean size", text_anchor="end"))
    names = distinct_labels([str(visible(strip.name)) for strip in strips], letters)
    for place, (strip, name) in enumerate(zip(strips, names, strict=True)):
        middle = frame.y(place + 0.5)
        edge = frame.y(place + 1.0)
        hint = strip.name if strip.name != name else ""
        shapes.append(text_at(left - 8, middle + 4, name, "m", text_anchor="end", hint=hint))
        shapes.append(text_at(size[0], middle + 4, strip.size, text_anchor="end"))
        shapes.append(line("grid", (4.0, edge), (size[0], edge)))
    for scope in strips[0].effects:
        of_scope = [
            _swarm(frame, place + 0.5, strip.effects[scope], strip.shades[scope], height)
            for place, strip in enumerate(strips)
        ]
        drawn = []
        for shade in range(-1, N_SHADES):
            points = [point for swarm in of_scope for point in swarm.get(shade, ())]
            if points:
                drawn.append(dots("vx" if shade < 0 else f"v{shade}", points))
        look = "of on" if scope == "all" else "of"
        shapes.append(group(look, drawn, data_of=scope))
    label = f"Effects of {len(strips)} features on single rows, the largest first"
    return figure(size, label, shapes, css_class)


def _swarm(
    frame: Frame, line_number: float, effects: FloatArray, shades: Any, height: float
) -> dict[int, list[Point]]:
    """Places of the dots of one feature by shade: rows of about the same effect stand above each other.

    Where more of them are than there is room for, all heaps of the feature are thinned alike.
    """
    n_across = max(int((frame.right - frame.left) / DOT), 1)
    heaps = np.array([(frame.x(effect) - frame.left) / DOT for effect in effects]).astype(np.intp)
    heaps = np.minimum(heaps, n_across - 1)
    tallest = np.bincount(heaps, minlength=1).max()
    most = max(int(0.9 * height / DOT), 1)
    thinned = max(tallest / most, 1.0)
    middle = frame.y(line_number)
    points: dict[int, list[Point]] = {}
    for heap in np.unique(heaps):
        inside = np.sort(shades[heaps == heap])
        n_dots = int(np.ceil(len(inside) / thinned))
        chosen = inside[np.linspace(0, len(inside) - 1, n_dots).round().astype(np.intp)]
        bottom = middle + (n_dots - 1) / 2 * DOT
        for number, shade in enumerate(chosen.tolist()):
            place = (frame.left + (heap + 0.5) * DOT, bottom - number * DOT)
            points.setdefault(int(shade), []).append(place)
    return points
