"""The painter for pages: figures in SVG, as text.

All text is escaped here. Shapes carry classes, which ``report/templates/style.css`` colours and
``report/templates/script.js`` shows or hides:

- colour: ``r0``, ``r1``, … a region; ``rall`` all rows; ``rx`` regions beyond the palette; ``s0`` to ``s3`` inks and
  patterns of lines for curves that several regions share;
  ``v0`` to ``v4`` low to high values of a feature, ``vx`` values without an order;
- curves: ``ln`` of some regions, ``gl`` of all rows, ``ci`` their band of intervals, ``pt`` points, ``err`` bars of
  intervals, ``conn`` a thin line between points, ``out`` and ``hollow`` what lies beyond the range that sentences
  state, ``ice`` the band of the rows' own curves, ``side`` another explanation, ``rug`` bars that show where rows lie,
  ``dots`` many dots as one path;
- axes: ``ax`` an axis, ``grid`` a line across, ``cross`` the line under the pointer;
- text: ``t`` a title, ``h`` with a halo, ``b`` bold, ``m`` a name as code;
- choice of a node of the tree: ``k`` is dimmed unless one of its regions (``data-r``) is below the node, ``of`` is
  hidden unless all of the node's regions are chosen by it;
- size of the screen: ``wide``, ``narrow``.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.document import ON_WHITE
from granite_xai.base.text import distinct_labels, shortened, visible
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.document.chart import Chart, FeatureAxis, Mark, round_ticks

Point = tuple[float, float]  # from the left edge, from the top edge
Limits = tuple[float, float]
Span = tuple[float, float, float]  # place, upper and lower end

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
N_SHARED = 4  # inks and patterns of curves that several regions share
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


def area(css_class: str, spans: Sequence[Span]) -> str:
    """The area between two lines, given by its upper and lower end at each x, from left to right."""
    upper = [(x, top) for x, top, _ in spans]
    lower = [(x, bottom) for x, _, bottom in reversed(spans)]
    return element("path", css_class, d=f"{_path([*upper, *lower])}Z")


def dots(css_class: str, points: Sequence[Point]) -> str:
    """Many dots as one path; their size is the width of its round line."""
    commands = [f"M{coordinate(x)} {coordinate(y)}h0" for x, y in points]
    return element("path", f"dots {css_class}", d="".join(commands))


def region_class(region: int) -> str:
    """The class that colours a region; those beyond the palette share the grey of all rows."""
    return f"r{region}" if region < len(ON_WHITE) else "rx"


def curve_classes(of_curves: Sequence[Sequence[int] | None]) -> list[str]:
    """The classes that colour the curves of one figure: one colour is one region.

    Curves that several regions share have inks and patterns of their own.

    Parameters
    ----------
    of_curves : sequence of sequences of int
        Regions of each curve; None: all rows.

    Examples
    --------
    >>> curve_classes([None, (2,), (0, 1), (3, 4)])
    ['rall', 'r2', 's0', 's1']
    """
    classes = []
    n_shared = 0
    for regions in of_curves:
        if regions is None:
            classes.append("rall")
        elif len(regions) == 1:
            classes.append(region_class(regions[0]))
        else:
            classes.append(f"s{n_shared % N_SHARED}")
            n_shared += 1
    return classes


# Scales ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frame:
    """The plot of a figure, and where values lie in it; those beyond the limits lie at its edge.

    Parameters
    ----------
    size : (float, float)
        Width and height of the figure.
    left, right, top, bottom : float
        Edges of the plot.
    x_limits, y_limits : (float, float)
        Values at its edges: left and right, bottom and top.
    """

    size: Point
    left: float
    right: float
    top: float
    bottom: float
    x_limits: Limits
    y_limits: Limits

    def x(self, values: Any) -> Any:
        """Where values lie from left to right."""
        return np.interp(values, self.x_limits, (self.left, self.right))

    def y(self, values: Any) -> Any:
        """Where values lie from the bottom to the top."""
        return np.interp(values, self.y_limits, (self.bottom, self.top))


# Curves along a feature --------------------------------------------------------------------------------


def paint_curves(
    chart: Chart, limits: Limits, *, size: Point, write: Any, css_class: str = ""
) -> str:
    """Draw curves along a feature in one figure, with labels at their ends.

    Parameters
    ----------
    chart : Chart
        Its lines have the places of its axis. The band of the rows' own curves of some regions is shown when a node
        of the tree is chosen.
    limits : (float, float)
        Of the vertical axis.
    size : (float, float)
        Width and height.
    write : callable
        Writes a number of the vertical axis.
    css_class : str
        "wide" or "narrow": the screens that show this figure. Empty: all.
    """
    axis = chart.axis
    curves = [mark for mark in chart.marks if mark.shape == "line" and not mark.dashed]
    room = int(LABEL_SHARE * size[0] / LETTER_WIDTH)
    labels = [str(visible(curve.label)) for curve in curves]
    if size[0] < MARKED_WIDTH or (size[0] < WHOLE_WIDTH and max(map(len, labels)) > room):
        labels = [curve.mark for curve in curves]
    else:
        labels = distinct_labels(labels, room)
    longest = max(map(len, labels))
    right = LABEL_GAP + LETTER_WIDTH * longest + 4 if longest else 12.0
    ends = axis.scaled(axis.drawn_limits)
    frame = Frame(size, 46.0, size[0] - right, 24.0, size[1] - 44.0, ends, limits)
    shapes = [*_axes(frame, chart, write), _row_bars(frame, axis)]
    x = frame.x(axis.scaled(np.array(axis.x)))
    place_width = FILLED * (frame.right - frame.left) / max(len(x), 1)
    step = min(WIDEST_SHIFT, place_width / len(curves)) if axis.style == "points" else 0.0
    shown = [curve.regions for curve in curves]
    looks = curve_classes(shown)
    tails = []
    for mark in chart.marks:
        number = shown.index(mark.regions)
        look = looks[number]
        places = x + (number - (len(curves) - 1) / 2) * step
        shown_with = "all" if mark.regions is None else " ".join(map(str, mark.regions))
        if mark.shape == "band":
            band = _ice_band(frame, axis, places, mark, look)
            shapes.append(
                band if shown_with == "all" else group("of", [band], data_band=shown_with)
            )
            continue
        shapes.append(group("k", _curve(frame, axis, places, mark, look), data_r=shown_with))
        drawn = np.flatnonzero(np.isfinite(mark.y))
        if labels[number] and len(drawn) and not mark.dashed:
            end = (places[drawn[-1]], frame.y(mark.y[drawn[-1]]))
            tails.append(_Tail(end, labels[number], f"h b {look}", shown_with))
    shapes += _labels(frame, tails, NEAR_END if axis.style == "line" else 0.0)
    shapes.append(line("cross", (0, frame.top), (0, frame.bottom)))
    return figure(
        size,
        f"{chart.title} along {shortened(axis.column.name)}; the numbers are in the table below",
        shapes,
        css_class,
        data_x=" ".join(map(coordinate, x)),
    )


def _axes(frame: Frame, chart: Chart, write: Any) -> list[str]:
    """Both axes with their ticks and titles."""
    axis = chart.axis
    heights = round_ticks(*frame.y_limits, 4)
    if len(heights) < 3:
        heights = round_ticks(*frame.y_limits, 6)
    shapes = [line("ax", (frame.left, frame.bottom), (frame.right, frame.bottom))]
    for height in heights:
        y = frame.y(height)
        shapes.append(line("grid", (frame.left, y), (frame.right, y)))
        shapes.append(text_at(frame.left - 5, y + 4, write(height), text_anchor="end"))
    letters = (frame.right - frame.left) / LETTER_WIDTH
    for place, text, full_text in axis.ticks(letters, few=frame.size[0] < SMALL_WIDTH):
        half = LETTER_WIDTH / 2 * len(text)
        x = min(max(frame.x(axis.scaled(place)), half), frame.size[0] - half)
        hint = full_text if full_text != text else ""
        shapes.append(text_at(x, frame.bottom + 21, text, text_anchor="middle", hint=hint))
    name = shortened(str(visible(axis.column.name)), TITLE_LETTERS, TITLE_LETTERS // 3)
    note = f" ({axis.note})" if axis.note else ""
    shapes.append(text_at(frame.right, frame.bottom + 38, name + note, "t", text_anchor="end"))
    shapes.append(text_at(0.0, 11.0, chart.title, "t"))
    return shapes


def _row_bars(frame: Frame, axis: FeatureAxis) -> str:
    """Bars that hang from the axis and show where the rows lie; empty where there are none."""
    bars = axis.bars()
    most = bars.y.max(initial=0.0)
    width = max(1.5, min(6.0, (frame.right - frame.left) / 45))
    commands = []
    for middle, n_rows in zip(frame.x(axis.scaled(bars.middles)), bars.y, strict=True):
        if n_rows > 0:
            left = coordinate(middle - width / 2)
            height = coordinate(max(TALLEST_BAR * n_rows / most, LOWEST_BAR))
            across = coordinate(width)
            commands.append(f"M{left} {coordinate(frame.bottom + 1)}h{across}v{height}h-{across}z")
    return element("path", "rug rall", d="".join(commands)) if commands else ""


def _curve(frame: Frame, axis: FeatureAxis, x: FloatArray, mark: Mark, look: str) -> list[str]:
    """A line in the band of its intervals, or points with bars; missing values are a point of their own.

    Beyond the range that sentences state lines are thin and dashed, and points hollow.
    """
    points = [(a, b) if np.isfinite(b) else None for a, b in zip(x, frame.y(mark.y), strict=True)]
    if mark.dashed:
        return [line(f"side {look}", *points[: axis.n_present])]
    spans = _spans(frame, x, mark)
    nowhere = np.zeros(len(x), dtype=np.bool_)
    is_outer = nowhere if mark.is_outer is None else mark.is_outer
    is_passed = nowhere if mark.is_passed is None else mark.is_passed
    is_line = axis.style == "line"
    kind = "conn"
    if is_line:
        kind = "gl" if mark.regions is None else "ln"
    joined = np.flatnonzero(~is_passed[: axis.n_present])
    inner = joined[~is_outer[joined]]
    first, last = (inner[0], inner[-1]) if len(inner) else (axis.n_present, axis.n_present)
    parts = (
        ("out", "ci far", joined[joined <= first]),
        ("out", "ci far", joined[joined >= last]),
        (kind, "ci", inner),
    )
    bands = []
    lines = []
    for line_class, band_class, places in parts:
        band = [spans[place] for place in places if place in spans]
        if is_line and len(band) > 1:
            bands.append(area(f"{band_class} {look}", band))
        part = [points[place] for place in places]
        if axis.ordered and len(part) - part.count(None) > 1:
            lines.append(line(f"{line_class} {look}", *part))
    alone = []
    for place in range(axis.n_present if is_line else 0, len(x)):
        point = points[place]
        if place in spans:
            middle, top, bottom = spans[place]
            if top < bottom:
                alone.append(line(f"err {look}", (middle, top), (middle, bottom)))
        if point is not None:
            hollow = " hollow" if is_outer[place] else ""
            alone.append(element("circle", f"pt{hollow} {look}", cx=point[0], cy=point[1], r=3.4))
    return [*bands, *lines, *alone]


def _spans(frame: Frame, x: FloatArray, mark: Mark) -> dict[int, Span]:
    """The band of a mark at the places at which it has one."""
    spans = {}
    for place, (low, high) in enumerate(zip(*mark.interval, strict=True)):  # type: ignore[arg-type]
        if low <= high:
            spans[place] = (x[place], frame.y(high), frame.y(low))
    return spans


def _ice_band(frame: Frame, axis: FeatureAxis, x: FloatArray, mark: Mark, look: str) -> str:
    """Where the curves of most rows run: one area along a line, one at each point."""
    spans = [span for place, span in _spans(frame, x, mark).items() if place < axis.n_present]
    if axis.style == "line":
        return area(f"ice {look}", spans) if spans else ""
    parts = []
    for place, top, bottom in spans:
        sides = [(place - HALF_BAND, top, bottom), (place + HALF_BAND, top, bottom)]
        parts.append(area(f"ice {look}", sides))
    return "".join(parts)


class _Tail(NamedTuple):
    """The end of a curve, its label with the class of the text, and the regions that it is shown with."""

    end: Point
    text: str
    css_class: str
    shown_with: str


def _labels(frame: Frame, tails: Sequence[_Tail], near_end: float) -> list[str]:
    """Labels beside the ends of curves, one below the other; those of curves that end early stand above their end."""
    edge = frame.left + near_end * (frame.right - frame.left)
    at_edge = sorted((tail for tail in tails if tail.end[0] >= edge), key=lambda tail: tail.end[1])
    heights = spread_out([tail.end[1] for tail in at_edge], (frame.top, frame.bottom))
    shapes = []
    for tail, y in zip(at_edge, heights, strict=True):
        label = text_at(frame.right + LABEL_GAP, y + 4, tail.text, tail.css_class)
        shapes.append(group("k", [label], data_r=tail.shown_with))
    for tail in tails:
        x, y = tail.end
        if x < edge:
            fits = x + LETTER_WIDTH * len(tail.text) < frame.size[0]
            anchor = None if fits else "end"
            y = max(y - 8, frame.top)
            label = text_at(x, y, tail.text, tail.css_class, text_anchor=anchor)
            shapes.append(group("k", [label], data_r=tail.shown_with))
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
        places.append(max(height, places[-1] + LABEL_LINE if places else limits[0]))
    lowest = limits[1]
    for number in reversed(range(len(places))):
        places[number] = min(places[number], lowest)
        lowest = places[number] - LABEL_LINE
    return places


# Dots of single rows -----------------------------------------------------------------------------------

DOT = 3.4  # from one dot to the next
N_SHADES = 5  # of the values of a feature


def paint_overview(
    names: Sequence[str],
    sizes: Sequence[str],
    effects: Mapping[str, FloatArray],
    shades: Mapping[str, IntArray],
    limits: Limits,
    *,
    width: float,
    title: str,
    write: Any,
    css_class: str,
) -> str:
    """Draw a line a feature, with dots where the effects of rows lie, spread by density.

    Parameters
    ----------
    names, sizes : sequences of str
        What stands on the left and on the right of each line.
    effects, shades : mappings of a scope ("all", "0", "1", …) to arrays of shape (n_rows, n_features)
        Shades of values from 0 (low) to 4 (high); -1: without order, or missing.
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
    left = 14 + 7.2 * min(letters, max(map(len, names)))
    right = width - 8 - LETTER_WIDTH * max(map(len, sizes))
    n_lines = len(names)
    size = (width, height * n_lines + 62)
    frame = Frame(size, left, right, 20.0, size[1] - 42.0, limits, (-float(n_lines), 0.0))
    zero = frame.x(0.0)
    shapes = [line("ax", (zero, frame.top), (zero, frame.bottom))]
    for number in round_ticks(*limits, 3 if is_narrow else 5):
        place = frame.x(number)
        shapes.append(text_at(place, frame.bottom + 16, write(number), text_anchor="middle"))
    shapes.append(text_at(frame.right, frame.bottom + 33, title, "t", text_anchor="end"))
    shapes.append(text_at(width, 11.0, "mean size", text_anchor="end"))
    middles = frame.y(-0.5 - np.arange(n_lines))
    short_names = distinct_labels([str(visible(name)) for name in names], letters)
    for middle, name, short, written in zip(middles, names, short_names, sizes, strict=True):
        hint = name if name != short else ""
        shapes.append(text_at(left - 8, middle + 4, short, "m", text_anchor="end", hint=hint))
        shapes.append(text_at(width, middle + 4, written, text_anchor="end"))
        edge = middle + height / 2
        shapes.append(line("grid", (4.0, edge), (width, edge)))
    for scope, of_scope in effects.items():
        dots_by_shade: dict[int, list[Point]] = {shade: [] for shade in range(-1, N_SHADES)}
        for feature, middle in enumerate(middles):
            swarm = _swarm(frame, middle, of_scope[:, feature], shades[scope][:, feature], height)
            for shade, point in swarm:
                dots_by_shade[shade].append(point)
        drawn = [
            dots("vx" if shade < 0 else f"v{shade}", points)
            for shade, points in dots_by_shade.items()
            if points
        ]
        shapes.append(group("of on" if scope == "all" else "of", drawn, data_of=scope))
    label = f"Effects of {n_lines} features on single rows, the largest first"
    return figure(size, label, shapes, css_class)


def _swarm(
    frame: Frame, middle: float, effects: FloatArray, shades: IntArray, height: float
) -> Iterator[tuple[int, Point]]:
    """Shade and place of the dots of one feature: rows of about the same effect stand above each other.

    Where more of them are than there is room for, all heaps of the feature are thinned alike.
    """
    n_across = max(int((frame.right - frame.left) / DOT), 1)
    heaps = ((frame.x(effects) - frame.left) / DOT).astype(np.intp)
    heaps = np.minimum(heaps, n_across - 1)
    most = max(int(0.9 * height / DOT), 1)
    thinned = max(np.bincount(heaps).max() / most, 1.0)
    for heap in np.unique(heaps):
        inside = np.sort(shades[heaps == heap])
        n_dots = int(np.ceil(len(inside) / thinned))
        chosen = inside[np.linspace(0, len(inside) - 1, n_dots).round().astype(np.intp)]
        bottom = middle + (n_dots - 1) / 2 * DOT
        for number, shade in enumerate(chosen.tolist()):
            yield shade, (frame.left + (heap + 0.5) * DOT, bottom - number * DOT)
