"""Horizontal bars: in pairs, one for each explanation, or in layers, one for each region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.display.figures import tidy
from granite_xai.display.style import BLACK, GREY, PALE, SIDES, SMALL, region_style
from granite_xai.display.words import familiar, safe, told_apart, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

THICK = 0.76
"""Share of a line that its bars fill."""


def _positions(sides: int, count: int) -> tuple[FloatArray, float]:
    """Middle of each explanation's bar in each line, the first explanation on top, and a bar's height."""
    height = THICK / sides
    offsets = (np.arange(sides, dtype=np.float64) - (sides - 1) / 2) * height
    middles: FloatArray = offsets[:, None] + np.arange(count)
    return middles, height


def set_labels(sets: Sequence[tuple[str, ...]], width: int = 26) -> list[str]:
    """Names of sets as labels of a vertical axis.

    Examples
    --------
    >>> set_labels([("hr",), ("hr", "temp")])
    ['hr', 'hr × temp']
    """
    names = told_apart([" × ".join(names) for names in sets])
    return [wrapped(name, width, 3) for name in names]


def _dress(ax: Axes, sets: Sequence[tuple[str, ...]]) -> None:
    tidy(ax)
    ax.axvline(0.0, color=BLACK, linewidth=0.8, zorder=5)
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=4)
    ax.set_yticks(range(len(sets)), set_labels(sets), fontsize=SMALL)
    ax.set_ylim(len(sets) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for line in range(1, len(sets)):
        ax.axhline(line - 0.5, color=PALE, linewidth=0.5, zorder=0)


def draw_pairs(ax: Axes, sets: Sequence[tuple[str, ...]], values: FloatArray, errors: FloatArray) -> None:
    """One bar for each explanation and set; ``values`` has shape (explanations, sets)."""
    _dress(ax, sets)
    middles, height = _positions(*values.shape)
    for side, (places, lengths, error) in enumerate(zip(middles, values, errors, strict=True)):
        known = np.nan_to_num(error)
        ax.barh(
            places,
            lengths,
            height=height,
            color=SIDES[side % len(SIDES)],
            xerr=known if known.any() else None,
            error_kw={"elinewidth": 0.8, "capsize": 2},
            zorder=3,
        )


def draw_layers(ax: Axes, sets: Sequence[tuple[str, ...]], values: FloatArray, regions: Sequence[int]) -> None:
    """Bars of all regions from zero, shorter ones before longer ones; ``values``: (regions, explanations, sets)."""
    _dress(ax, sets)
    middles, height = _positions(*values.shape[1:])
    for side, i in np.ndindex(*values.shape[1:]):
        lengths = values[:, side, i]
        for rank, k in enumerate(np.argsort(-np.abs(lengths), kind="stable").tolist()):
            ax.barh(
                middles[side, i],
                lengths[k],
                height=height * 0.92,
                edgecolor="white",
                linewidth=0.6,
                zorder=3 + rank / (len(regions) + 1),
                **region_style(regions[k]),
            )


def pair_handles(names: Sequence[str], layered: bool) -> list[Any]:
    """What the legend says about the explanations."""
    from matplotlib.patches import Patch

    where = {0: " (upper bar)", len(names) - 1: " (lower bar)"} if len(names) == 2 else {}
    return [
        Patch(facecolor=SIDES[i % len(SIDES)], label=familiar(name) + where.get(i, "")) for i, name in enumerate(names)
    ]


def layer_handles(regions: Sequence[int], rules: Sequence[str]) -> list[Any]:
    """What the legend says about the regions."""
    from matplotlib.patches import Patch

    texts = [wrapped(safe(rule), 40, 2) for rule in rules]
    return [
        Patch(edgecolor=GREY, linewidth=0.4, label=f"region {k}: {text}", **region_style(k))
        for k, text in zip(regions, texts, strict=True)
    ]
