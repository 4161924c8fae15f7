"""How a page shows a column: at which of its values, where they stand, how they are drawn, and what the axis says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import MISSING, percent, shortened, value
from granite_xai.display.axis import FEW_VALUES, Axis, round_ticks
from granite_xai.tables import Column
from granite_xai.tables.columns import LABELLED

DOTS, FOLDED = 12, 12  # values drawn as dots, and levels without an order drawn one by one (rare ones fold), at most
LETTER, PAGE_BARS = 6.6, 30  # width of a letter below an axis, and bars there that show where the rows lie

Tick = tuple[float, str, str]


@dataclass(frozen=True, slots=True, eq=False)
class PageAxis:
    """How a page shows a column: at which of its levels, where, under which names, and drawn how."""

    column: Column
    style: str  # "points" (up to four values), "dots" on a thin line (up to twelve) or "line"
    groups: tuple[IntArray, ...]  # levels at each place: their number, -1 for missing, which stands last
    counts: FloatArray  # rows of each level, missing first
    x: tuple[float, ...]
    texts: tuple[str, ...]
    log: bool = False
    note: str = ""

    @property
    def gone(self) -> bool:
        """Whether the last place is that of missing values."""
        return bool(len(self.groups[-1]) == 1 and self.groups[-1][0] == -1)

    def at(self, values: FloatArray, lines: IntArray) -> FloatArray:
        """Values at the places: means over their levels, which stand at these lines (missing first)."""
        shares = [self.counts[group + 1] / max(self.counts[group + 1].sum(), 1e-300) for group in self.groups]
        return np.array([s @ values[lines[g + 1]] for s, g in zip(shares, self.groups, strict=True)], dtype=np.float64)

    def reaches(self, counts: FloatArray) -> list[bool]:
        """Whether some rows reach each place: it lies between their smallest and largest value, or is their level."""
        present = np.flatnonzero(counts[1:])
        if self.column.kind in ("nominal", "boolean") or not len(present):
            return [bool(counts[group + 1].any()) for group in self.groups]
        return [bool(counts[0]) if g[0] < 0 else bool(present[0] <= g[0] <= present[-1]) for g in self.groups]

    def bars(self, counts: FloatArray) -> tuple[list[float], list[int]]:
        """Middles of the bars that show where some rows lie, and the rows of each."""
        last = len(self.x) - self.gone
        if self.style != "line" or last == len(self.counts) - 1:  # every level has a place
            return list(self.x), [int(counts[group + 1].sum()) for group in self.groups]
        move, back = (np.log, np.exp) if self.log else (np.asarray, np.asarray)
        first, end = move(np.array(self.x[:last]))[[0, -1]].tolist()
        edges = np.linspace(first, end, PAGE_BARS + 1)
        found = np.histogram(move(places_of(self.column)), bins=edges, weights=counts[1:])[0]
        middles, rows = back((edges[1:] + edges[:-1]) / 2).tolist(), [int(each) for each in found]
        return [*middles, *self.x[last:]], [*rows, *([int(counts[0])] if self.gone else [])]


def page_axis(column: Column, effects: FloatArray, counts: FloatArray, points: int) -> PageAxis:
    """The axis of a column on a page; ``effects`` and ``counts`` are those of all rows, by level, missing first."""
    levels, known, named = len(column.levels), counts[1:], column.kind in LABELLED
    groups = [np.array([code]) for code in _spread_out(known, points)]
    if column.kind in ("nominal", "boolean"):
        common = np.sort(np.argsort(-known, kind="stable")[: FOLDED if levels > FOLDED else levels])
        groups = [np.array([code]) for code in common[np.argsort(-effects[1:][common], kind="stable")]]
        groups += [np.setdiff1d(np.arange(levels), common)] if levels > FOLDED else []
    style = "points" if levels <= FEW_VALUES else "dots" if levels <= DOTS or named else "line"
    skewed = style == "line" and column.kind == "numeric"
    groups, log, note = _unskewed(column, known, groups) if skewed else (groups, False, "")
    places = [float(k) for k in range(len(groups))] if named else places_of(column)[[g[0] for g in groups]].tolist()
    texts = [_text(column, group) for group in groups]
    if counts[0] > 0:
        share = percent(float(counts[0] / counts.sum()), 0)
        step = 1.0 if named or not places else 0.08 * (max(places) - min(places)) or 1.0
        far = max(places, default=0.0) * 1.35 if log else max(places, default=-1.0) + step
        groups, places, texts = [*groups, np.array([-1])], [*places, far], [*texts, f"{MISSING} ({share})"]
    return PageAxis(column, style, tuple(groups), counts, tuple(places), tuple(texts), log, note)


def places_of(column: Column) -> FloatArray:
    """Where the levels of a column stand: numbers at their value, dates in days, names at their rank."""
    return Axis(column, column.name).numbers(column.levels)


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


def _text(column: Column, group: IntArray) -> str:
    if len(group) > 1:
        return f"{len(group)} rare levels"
    level = column.levels[group[0]]
    if column.kind == "numeric":
        return value(float(level))
    return str(level.astype("M8[D]")) if np.issubdtype(column.levels.dtype, np.datetime64) else str(level)


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
