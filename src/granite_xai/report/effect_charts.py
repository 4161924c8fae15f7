"""Charts of one feature: all regions together, one scope alone, and a region against all rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from granite_xai.base.numbers import amount
from granite_xai.document.chart import round_ticks
from granite_xai.report.chart_frame import Frame, Limits, Margins
from granite_xai.report.curve_labels import LabelledCurve, curve_labels
from granite_xai.report.effect_shapes import (
    SMALL_WIDTH,
    Effect,
    NumberText,
    Panel,
    axes,
    curve,
    frame_of,
    ice_band,
    is_ordered,
    points_of,
    row_bars,
)
from granite_xai.report.svg import Point, coordinate, figure, group, line, region_class

SCOPE_SIZE = (SMALL_WIDTH, 118.0)  # of a chart of one scope
CARD_SIZE = (SMALL_WIDTH, 104.0)  # of a chart in the card of a region
PAD = 0.06  # share of the range of the curves that is left free above and below them
NEAR_ZERO = 0.4  # share of the highest value: an axis whose lowest value is smaller begins at 0
WIDEST_SHIFT = 12.0  # between points of neighbouring regions at one value of a feature
FILLED = 0.6  # share of the room of a value that the points of all regions take


def as_drawn(effect: Mapping[str, Any], z: float, centred: bool = False) -> Effect:
    """Prepare a feature of the story for its charts.

    Parameters
    ----------
    effect : mapping
        As `effects_part.effects` tells it.
    z : float
        Standard errors in half an interval.
    centred : bool
        Whether curves are drawn around the mean of each scope, as effects; otherwise as
        predictions.

    Returns
    -------
    Effect
        With ``quantity`` (what the curves are), ``is_line`` (whether they are lines), and
        ``half_widths`` (of the intervals) in each panel.
    """
    prepare = _as_effects if centred else _as_predictions
    return {
        **effect,
        "panels": [prepare(panel, z) for panel in effect["panels"]],
        "quantity": "Effect" if centred else "Prediction",
        "is_line": effect["style"] == "line",
    }


def _as_predictions(panel: Panel, z: float) -> Panel:
    return {**panel, "half_widths": _half_widths(panel, panel["error"], z)}


def _as_effects(panel: Panel, z: float) -> Panel:
    """A panel whose curves are counted from the mean of its scope.

    Without the lines of other explanations, which only `draw_scope` shows, as predictions.
    """
    centre = panel["centre"]
    drawn = {**panel, "half_widths": _half_widths(panel, panel["effect_error"], z)}
    for key in ("mean", "curve", "low", "high"):
        if panel[key] is not None:
            drawn[key] = [None if y is None else y - centre for y in panel[key]]
    drawn["centre"] = 0.0
    drawn["lines"] = []
    return drawn


def _half_widths(
    panel: Panel, errors: Sequence[float | None] | None, z: float
) -> list[float | None]:
    if not errors:
        return [None] * len(panel["mean"])
    return [None if error is None else z * error for error in errors]


def limits_of(effects: Sequence[Effect]) -> Limits:
    """The vertical range that holds the curves of some features; from 0 where that is near."""
    heights: list[float] = []
    for effect in effects:
        heights += _heights(effect)
    low = min(heights, default=0.0)
    high = max(heights, default=1.0)
    pad = PAD * (high - low) or abs(high) * 0.1 or 1.0
    if 0 <= low < NEAR_ZERO * high:
        return 0.0, high + pad
    return low - pad, high + pad


def _heights(effect: Effect) -> list[float]:
    """All values that the chart of a feature shows.

    Without regions it also shows where the rows' own curves run.
    """
    panels = effect["panels"]
    heights: list[float | None] = []
    if len(panels) == 1:
        heights += panels[0]["low"] or ()
        heights += panels[0]["high"] or ()
    for panel in panels:
        for mean, half_width in zip(panel["mean"], panel["half_widths"], strict=True):
            if mean is not None:
                heights += [mean - (half_width or 0.0), mean + (half_width or 0.0)]
        for other_line in panel["lines"]:
            heights += other_line["y"]
    return [height for height in heights if height is not None]


def draw_regions_together(
    effect: Effect,
    inner_nodes: Sequence[Mapping[str, Any]],
    limits: Limits,
    size: Point,
    y_title: str,
    rules: Sequence[str] = (),
    number_text: NumberText = amount,
    css_class: str = "",
) -> str:
    """Draw the curves of all regions in one chart, that of all rows behind.

    Parameters
    ----------
    effect : Effect
        As `as_drawn` prepares it.
    inner_nodes : sequence of mappings
        Nodes of the tree between the root and the regions (``id``, ``regions``): their curves are
        hidden until one is chosen.
    limits : (float, float)
        Of the vertical axis.
    size : (float, float)
        Width and height.
    y_title : str
        Of the vertical axis.
    rules : sequence of str
        What stands beside the curve of each region; none: numbers alone.
    number_text : callable
        Writes a number of the vertical axis.
    css_class : str
        "wide" or "narrow": the screens that show this figure. Empty: all.

    Returns
    -------
    str
        An SVG figure.
    """
    panels = effect["panels"]
    frame = frame_of(effect, size, Margins(left=46, right=30, top=24, bottom=44), limits)
    shapes = axes(frame, effect, _three_ticks(limits), number_text, y_title)
    shapes.append(row_bars(frame, effect, panels[0]["rows"], "rall"))
    if len(panels) == 1:
        shapes += ice_band(frame, effect, panels[0])
    labelled: list[LabelledCurve] = []
    for panel, shift in _shown_panels(frame, effect):
        region = panel["region"]
        shown_with = "all" if region is None else region
        shapes.append(group("k", curve(frame, effect, panel, shift), data_r=shown_with))
        points = points_of(frame, effect["x"], panel["mean"], shift)
        labelled.append(LabelledCurve(region, [point for point in points if point is not None]))
    for node in inner_nodes:
        points = points_of(frame, effect["x"], _curve_of_node(effect, node["regions"]))
        shapes.append(line("nodec", *points, data_node=node["id"]))
    if len(panels) > 1:
        shapes += curve_labels(frame, labelled, rules, is_joined=is_ordered(effect))
    shapes.append(line("cross", (0, frame.top), (0, frame.bottom)))
    title = f"{effect['quantity']} along {effect['set']} on all rows and in each region"
    return figure(
        size,
        f"{title}; the numbers are in the table below",
        shapes,
        css_class,
        data_x=" ".join(coordinate(frame.x(x)) for x in effect["x"]),
    )


def _shown_panels(frame: Frame, effect: Effect) -> Iterator[tuple[Panel, float]]:
    """Panels that have a curve in the chart of all regions, and how far it is moved.

    A region with a single value of the feature has no line.
    """
    for panel, shift in zip(effect["panels"], _shifts(frame, effect), strict=True):
        is_region = panel["region"] is not None
        if is_region and effect["is_line"] and panel["values"] < 2:
            continue
        yield panel, shift


def _shifts(frame: Frame, effect: Effect) -> list[float]:
    """How far the points of each panel are moved, so that those at one value stand side by side."""
    n_panels = len(effect["panels"])
    if effect["style"] != "points":
        return [0.0] * n_panels
    room = (frame.right - frame.left) / len(effect["x"])
    step = min(WIDEST_SHIFT, FILLED * room / n_panels)
    middle = (n_panels - 1) / 2
    return [(number - middle) * step for number in range(n_panels)]


def _three_ticks(limits: Limits) -> list[float]:
    """Round numbers of the vertical axis, at least three."""
    ticks = round_ticks(*limits, 4)
    if len(ticks) < 3:
        return round_ticks(*limits, 6)
    return ticks


def _curve_of_node(effect: Effect, regions: Sequence[int]) -> list[float | None]:
    """The curve of several regions together: the mean of theirs, weighted by rows.

    It has a value where one of theirs has rows. There the curves of all of them count
    (``curve``), also beyond their own rows, where ``mean`` ends.
    """
    panels = [effect["panels"][1 + region] for region in regions]
    weights = [max(sum(panel["rows"]), 1) for panel in panels]
    n_present = len(effect["x"]) - effect["gone"]
    heights: list[float | None] = []
    for place in range(n_present):
        if all(panel["mean"][place] is None for panel in panels):
            heights.append(None)
            continue
        values = [panel["curve"][place] for panel in panels]
        total = sum(weight * y for weight, y in zip(weights, values, strict=True))
        heights.append(float(total / sum(weights)))
    return heights


def draw_scope(
    effect: Effect, panel_number: int, limits: Limits, number_text: NumberText = amount
) -> str:
    """Draw one scope alone: its mean, where its rows' own curves run, and the curve of all rows.

    Parameters
    ----------
    effect : Effect
        As `as_drawn` prepares it.
    panel_number : int
        0: all rows; otherwise the number of the region plus 1.
    limits, number_text
        As in `draw_regions_together`.
    """
    panel = effect["panels"][panel_number]
    region = panel["region"]
    frame = frame_of(effect, SCOPE_SIZE, Margins(left=38, right=8, top=6, bottom=28), limits)
    shapes = axes(frame, effect, round_ticks(*limits, 2), number_text)
    shapes += ice_band(frame, effect, panel)
    if panel_number > 0:
        shapes += curve(frame, effect, effect["panels"][0], with_intervals=False)
    shapes += curve(frame, effect, panel)
    for number, other_line in enumerate(panel["lines"]):
        points = points_of(frame, other_line["x"], other_line["y"])
        shapes.append(line(f"side side{number}", *points))
    shapes.append(row_bars(frame, effect, panel["rows"], region_class(region)))
    where = "on all rows" if region is None else f"in region {region}"
    return figure(SCOPE_SIZE, f"Prediction along {effect['set']} {where}", shapes)


def draw_region_against_all_rows(
    effect: Effect, region: int, limits: Limits, number_text: NumberText = amount
) -> str:
    """Draw the curves of a region in its colour and of all rows in grey.

    Parameters
    ----------
    effect : Effect
        As `as_drawn` prepares it.
    region : int
    limits, number_text
        As in `draw_regions_together`.
    """
    all_rows = effect["panels"][0]
    panel = effect["panels"][1 + region]
    frame = frame_of(effect, CARD_SIZE, Margins(left=38, right=8, top=6, bottom=22), limits)
    shapes = axes(frame, effect, round_ticks(*limits, 2), number_text, tick_drop=15)
    shapes += curve(frame, effect, all_rows, with_intervals=False)
    shapes += curve(frame, effect, panel, with_intervals=False)
    label = f"{effect['set']}: region {region} in colour, all rows in grey"
    return figure(CARD_SIZE, label, shapes)
