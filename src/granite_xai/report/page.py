"""The story as one self-contained page: no request, no style or script but its own; figures as plain shapes."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from granite_xai.base.wording import LONGEST, number, percent, plain, shortened, value, visible
from granite_xai.display.axis import page_ticks, round_ticks

_TEMPLATES = Path(__file__).with_name("templates")
WIDTH, HEIGHT = 340, 210
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 8, 34
COLORS = {
    "ink": ("#1b2430", "#e7ebf1"),
    "soft": ("#566172", "#a4afbe"),
    "line": ("#d5dae2", "#3a4452"),
    "paper": ("#fff", "#12171e"),
    "card": ("#f6f7fa", "#1b222c"),
    "accent": ("#0b5cad", "#6db3f8"),
    "first": ("#c4560a", "#f59a56"),
    "second": ("#0b5cad", "#6db3f8"),
    "good": ("#1d7a4a", "#5fcf95"),
    "band": ("#0b5cad2e", "#6db3f833"),
    "ice": ("#0b5cad55", "#6db3f855"),
    "heat": ("196,86,10", "245,154,86"),
}
"""Colors by their use, on light and on dark paper."""

Scale = Callable[[float], float]


def render(story: dict[str, Any], page: str = "page.html") -> str:
    """Fill the templates of a page with a story."""
    light, dark = (";".join(f"--{use}:{pair[k]}" for use, pair in COLORS.items()) for k in (0, 1))
    variables = f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    style, script = variables + _asset("style.css"), _asset("script.js")
    sources = f"style-src {_hash(style)}; script-src {_hash(script)}"
    template, largest = environment().get_template(page), reach(story["effects"])
    drawn = [{"effect": effect, "charts": effect_charts(effect, largest)} for effect in story["effects"]]
    filled: str = template.render(
        story=story,
        style=style,
        script=script,
        policy=f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'",
        drawn=drawn,
        bars=[importance_rows(importance, 30) for importance in story["importances"]],
    )
    return filled


@cache
def environment() -> Any:
    """The templates, with the filters that they use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    made.filters.update(percent=percent, number=number, value=value, cut=_cut, plain=plain, heat=heat)
    return made


def _cut(text: str, width: int = LONGEST) -> str:
    return shortened(str(visible(text)), width)


@cache
def _asset(name: str) -> Any:
    """Style and script are ours, and are put into the page as they are; the policy holds their hashes."""
    from markupsafe import Markup

    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(str(text).encode()).digest()).decode()}'"


def path(x: Sequence[float], y: Sequence[float | None], right: Scale, up: Scale) -> str:
    """An SVG path through points.

    >>> path([0, 1], [2, 3], lambda x: 10 * x, lambda y: y)
    'M0 2L10 3'
    """
    points = [(right(a), up(b)) for a, b in zip(x, y, strict=True) if b is not None]
    return "M" + "L".join(f"{_short(a)} {_short(b)}" for a, b in points) if points else ""


def _thin(x: Sequence[float], y: Sequence[float | None], right: Scale, up: Scale) -> str:
    """A path in whole numbers of half a unit, each counted from the last: single curves are most of the file."""
    points = [(round(2 * right(a)), round(2 * up(b))) for a, b in zip(x, y, strict=True) if b is not None]
    steps = (f"{c - a}{d - b:+d}" for (a, b), (c, d) in pairwise(points))
    return f"M{points[0][0]} {points[0][1]}l" + " ".join(steps) if len(points) > 1 else ""


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def reach(effects: Sequence[dict[str, Any]]) -> float:
    """The largest effect of all columns: what is next to nothing beside it shall not look large."""
    panels = (panel for effect in effects for panel in effect["panels"])
    return max((abs(y) for panel in panels for y in _heights(panel) if y is not None), default=1.0)


def effect_charts(effect: dict[str, Any], largest: float) -> list[dict[str, Any]]:
    """One chart for each scope of a column, all on the same axes."""
    panels, labels = effect["panels"], effect["labels"]
    xs = [x for panel in panels for x in panel["x"]]
    ys = [y for panel in panels for y in _heights(panel) if y is not None]
    low, high = _padded(min(ys, default=0.0), max(ys, default=1.0), 0.02 * largest)
    left, right = (min(xs, default=0.0), max(xs, default=1.0))
    if labels is not None:
        left, right = left - 0.5, right + 0.5
    across = _scale(left, right, LEFT, WIDTH - RIGHT)
    up = _scale(low, high, HEIGHT - BOTTOM, TOP)
    marks = page_ticks(effect, left, right, WIDTH - LEFT - RIGHT)
    axes: dict[str, Any] = {
        "y_ticks": [{"at": _short(up(t)), "text": number(t)} for t in round_ticks(low, high, 4)],
        "x_ticks": [{"at": _short(across(t)), "text": text, "full": full} for t, text, full in marks],
        "zero": _short(up(0.0)) if low <= 0 <= high else None,
    }
    whole = panels[0] if panels and panels[0]["region"] is None else None
    axes["nominal"] = effect["kind"] in ("nominal", "boolean")
    return [_chart(panel, whole, across, up, labels is not None) | axes for panel in panels]


def _heights(panel: dict[str, Any]) -> list[float | None]:
    """What the axis must hold: band and lines; single curves may run out of it and are cut."""
    values = [*panel["mean"], *(panel["low"] or ()), *(panel["high"] or ())]
    return values + [y for line in panel["lines"] for y in line["y"]]


def _chart(panel: dict[str, Any], whole: Any, across: Scale, up: Scale, stepped: bool) -> dict[str, Any]:
    x = panel["x"]
    band = ""
    if panel["low"] is not None:
        back = path(x[::-1], panel["low"][::-1], across, up)
        band = path(x, panel["high"], across, up) + back.replace("M", "L", 1) + "Z"
    return {
        "region": panel["region"],
        "curves": "".join(_thin(x, curve, across, up) for curve in panel["curves"]),
        "n_curves": len(panel["curves"]),
        "band": band,
        "bars": _bars(panel, across, up) if stepped and panel["low"] is not None else [],
        "mean": path(x, panel["mean"], across, up),
        "dots": [(_short(across(a)), _short(up(b))) for a, b in zip(x, panel["mean"], strict=True)],
        "stepped": stepped,
        "whole": path(whole["x"], whole["mean"], across, up) if whole is not None and whole is not panel else "",
        "lines": [{"name": line["name"], "path": path(line["x"], line["y"], across, up)} for line in panel["lines"]],
    }


def _bars(panel: dict[str, Any], across: Scale, up: Scale) -> list[tuple[str, str, str]]:
    """For labels without an order: the band as one bar each."""
    rows = zip(panel["x"], panel["low"], panel["high"], strict=True)
    return [(_short(across(x)), _short(up(high)), _short(up(low))) for x, low, high in rows]


def _padded(low: float, high: float, least: float) -> tuple[float, float]:
    pad = max(0.04 * (high - low), least - (high - low) / 2) or 1.0
    return low - pad, high + pad


def _scale(low: float, high: float, start: float, stop: float) -> Scale:
    span = high - low or 1.0
    return lambda value: start + (value - low) / span * (stop - start)


def importance_rows(importance: dict[str, Any], most: int) -> list[dict[str, Any]]:
    """Paired bars for each scope: widths in percent of the largest bar of all scopes."""
    cells = [abs(v) for s in importance["scopes"] for side in ("first", "second") for v in s[side] if v is not None]
    largest = max(cells, default=0.0) or 1.0
    return [
        {"region": scope["region"], "bars": [_pair(importance, scope, i, largest) for i in importance["order"][:most]]}
        for scope in importance["scopes"]
    ]


def _pair(importance: dict[str, Any], scope: dict[str, Any], i: int, largest: float) -> dict[str, Any]:
    return {
        "name": importance["sets"][i],
        **{side: scope[side][i] for side in ("first", "second")},
        **{f"{side}_width": _short(100 * abs(scope[side][i] or 0.0) / largest) for side in ("first", "second")},
    }


def heat(share: float | None) -> int:
    """One of ten shades for a share.

    >>> heat(0.0), heat(0.3), heat(1.0)
    (0, 5, 9)
    """
    return 0 if not share or share < 0 else min(9, math.ceil(9 * math.sqrt(min(share, 1.0))))
