"""How a page shows a column: at which of its values, where they stand, how they are drawn, and what the axis says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import MISSING, percent, shortened, value
from granite_xai.display.axis import FEW_VALUES
from granite_xai.tables import Column
from granite_xai.tables.columns import LABELLED

DOTS, FOLDED = 12, 12
"""Values of a column that are drawn as dots, and levels without an order that are drawn one by one, at most."""
LETTER = 6.6
"""Width of a letter below an axis."""

Tick = tuple[float, str, str]


@dataclass(frozen=True, slots=True, eq=False)
class PageAxis:
    """How a page shows a column: at which of its levels, where, under which names, and drawn how.

    Up to four values are points, up to twelve points on a thin line, more a line. Levels without an order stand by the
    size of their effect, rare ones together; missing values are a point of their own, after all others.
    """

    style: str  # "points", "dots" or "line"
    groups: tuple[IntArray, ...]  # levels at each place: their number, -1 for missing
    counts: FloatArray  # rows of each level, missing first
    x: tuple[float, ...]
    texts: tuple[str, ...]
    log: bool = False
    note: str = ""

    @property
    def gone(self) -> bool:
        """Whether the last place is that of missing values."""
        return bool(len(self.groups[-1]) == 1 and self.groups[-1][0] == -1)

    @property
    def few(self) -> bool:
        """Whether every level has a place, so that rows are counted there."""
        return self.style != "line" or len(self.groups) - self.gone == len(self.counts) - 1

    def at(self, by_level: FloatArray) -> FloatArray:
        """Values at the places, from those of all levels (missing first, along the first axis)."""
        shares = [self.counts[group + 1] / max(self.counts[group + 1].sum(), 1e-300) for group in self.groups]
        return np.array([s @ by_level[g + 1] for s, g in zip(shares, self.groups, strict=True)], dtype=np.float64)


def page_axis(column: Column, effects: FloatArray, counts: FloatArray, points: int) -> PageAxis:
    """The axis of a column on a page; ``effects`` and ``counts`` are those of all rows, by level, missing first."""
    levels, known = len(column.levels), counts[1:]
    order = np.arange(levels)
    groups: list[IntArray]
    if column.kind in ("nominal", "boolean"):
        common = np.sort(np.argsort(-known, kind="stable")[: FOLDED if levels > FOLDED else levels])
        order = common[np.argsort(-effects[1:][common], kind="stable")]
        groups = [np.array([code]) for code in order]
        if levels > FOLDED:
            groups.append(np.setdiff1d(np.arange(levels), common))
    else:
        groups = [np.array([code]) for code in _spread_out(known, points)]
    style = "points" if levels <= FEW_VALUES else "dots" if levels <= DOTS or column.kind in LABELLED else "line"
    log, note = False, ""
    if style == "line" and column.kind == "numeric":
        groups, log, note = _unskewed(column, known, groups)
    places = [float(k) for k in range(len(groups))]
    if column.kind not in LABELLED:
        places = _places(column, np.concatenate(groups)) if groups else []
    texts = [_text(column, group) for group in groups]
    if counts[0] > 0:
        share = percent(float(counts[0] / counts.sum()), 0)
        step = 1.0 if column.kind in LABELLED or not places else 0.08 * (max(places) - min(places)) or 1.0
        far = max(places, default=0.0) * 1.35 if log else max(places, default=-1.0) + step
        groups, places, texts = [*groups, np.array([-1])], [*places, far], [*texts, f"{MISSING} ({share})"]
    return PageAxis(style, tuple(groups), counts, tuple(places), tuple(texts), log, note)


def _spread_out(counts: FloatArray, points: int) -> list[int]:
    """Levels to draw: all of few ones, otherwise quantiles of the rows and a few even steps, with both ends."""
    if len(counts) <= points:
        return list(range(len(counts)))
    below = np.cumsum(counts)
    wanted = np.searchsorted(below, np.linspace(0, below[-1], points) * (1 - 1e-12))
    return np.unique([*np.clip(wanted, 0, len(counts) - 1).tolist(), 0, len(counts) - 1]).tolist()  # type: ignore[no-any-return]


def _unskewed(column: Column, counts: FloatArray, groups: list[IntArray]) -> tuple[list[IntArray], bool, str]:
    """A column whose largest values leave no room for the others: logarithmic, or without the last hundredth."""
    values, below = column.levels.astype(np.float64), np.cumsum(counts) / max(counts.sum(), 1e-300)
    low, middle, far, most = (float(values[np.searchsorted(below, q)]) for q in (0.0, 0.5, 0.99, 1 - 1e-12))
    if low > 0 and most > 20 * middle:
        return groups, True, "logarithmic axis"
    if most - low > 2 * (far - low) > 0:
        kept = [group for group in groups if values[group[0]] <= far]
        return kept, False, f"up to the 99th percentile; the largest value is {value(most)}"
    return groups, False, ""


def _places(column: Column, codes: IntArray) -> list[float]:
    """Numbers at their value, dates in days from the first."""
    if column.kind == "numeric":
        return [float(level) for level in column.levels[codes]]
    return [float((level - column.levels[0]) / np.timedelta64(1, "s")) / 86400 for level in column.levels[codes]]


def _text(column: Column, group: IntArray) -> str:
    if len(group) > 1:
        return f"{len(group)} rare levels"
    level = column.levels[group[0]]
    if column.kind == "numeric":
        return value(float(level))
    return str(level.astype("M8[D]")) if np.issubdtype(column.levels.dtype, np.datetime64) else str(level)


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers inside a range.

    >>> round_ticks(0.0, 23.0)
    [0.0, 5.0, 10.0, 15.0, 20.0]
    """
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    raw = span / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    digits = 12 - math.floor(math.log10(step))
    return [round(i * step, digits) + 0.0 for i in range(first, math.floor(high / step + 1e-9) + 1)]


def page_ticks(effect: Mapping[str, Any], width: float, small: bool = False) -> list[Tick]:
    """Place, text and full text of the ticks below a column of a page, so many units wide.

    >>> page_ticks({"x": [0.0, 1.0], "texts": ["no", "yes"], "named": True, "gone": False, "log": False}, 100)
    [(0.0, 'no', 'no'), (1.0, 'yes', 'yes')]
    """
    every: list[Tick] = list(zip(effect["x"], effect["texts"], effect["texts"], strict=True))
    last, own = every[-1:] if effect["gone"] else [], every[:-1] if effect["gone"] else every
    room = max(2, int(width / (8 * LETTER)))
    if effect["named"] or len(own) <= min(room, 3):
        step = math.ceil(len(every) / max(2, int(width / (4 * LETTER))))
        letters = max(3, int(width * step / len(every) / LETTER) - 1)
        return [(place, shortened(text, letters), text) for place, text, _ in every[::step]]
    low, high = own[0][0], own[-1][0]
    if effect["log"]:
        powers = [m * 10.0**e for e in range(-9, 16) for m in ((1, 3) if high < 300 * low else (1,))]
        numbers = [power for power in powers if low <= power <= high]
    elif effect["kind"] == "date":
        shown = own[:: max(1, math.ceil(len(own) / max(2, int(width / (13 * LETTER)))))]
        return [*shown, *last]
    else:
        numbers = round_ticks(low, high, 2 if small else max(3, min(6, room)))
        numbers = numbers if len(numbers) > 1 else round_ticks(low, high, 4)
    limit = last[0][0] - (0.4 if small else 0.06) * (high - low) if last else math.inf
    return [*((place, value(place), "") for place in numbers if place < limit), *((p, MISSING, t) for p, t, _ in last)]
