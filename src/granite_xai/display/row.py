"""RowDisplay: one row against its region."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from granite_xai.base.numbers import count, share
from granite_xai.base.options import whole_number
from granite_xai.base.text import drawable, shortened, wrapped
from granite_xai.curves.curves import Curve
from granite_xai.display.axis import Axis
from granite_xai.display.figures import SMALL, Axes, Drawn, drawn_labels, grid_of, sheet, tidy
from granite_xai.document.chart import BLUE, GREY, ORANGE
from granite_xai.results.row import RowExplanation

MOST_BARS = 10
TOGETHER = "interactions"


@dataclass(eq=False)
class RowDisplay(Drawn):
    """A waterfall from the mean of the region to the prediction of a row, beside the region's curves.

    Make it with `from_estimator`, or from what ``explain_row`` found.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=60)
    >>> g = gx.Granite(toy.model).fit(toy.X)
    >>> display = RowDisplay.from_estimator(g, toy.X.iloc[[3]])
    >>> display.frame()["set"].tolist()
    ['x1', 'x2', 'x3', 'x4', 'together']
    """

    explanation: RowExplanation
    max_features: int = field(default=5)

    @classmethod
    def from_estimator(cls, g: Any, x: Any, *, max_features: int = 5) -> RowDisplay:
        """Explain a row.

        Parameters
        ----------
        g : Granite
            Fitted.
        x : row
            As for ``explain_row``.
        max_features : int
            Curves beside the waterfall, at most.
        """
        return cls(g.explain_row(x), whole_number("max_features", max_features, at_least=0))

    def plot(self, ax: Any = None, *, share_scale: bool = False) -> RowDisplay:
        """Draw the waterfall and the curves.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            As in `EffectDisplay.plot`.
        share_scale : bool
            One scale for all curves, so that their heights can be compared; otherwise each curve
            fills its panel.
        """
        row = self.explanation
        curves = [(i, row.curves[i]) for i in row.order.tolist()]
        chosen = [(i, curve) for i, curve in curves if curve is not None][: self.max_features]
        panels = 1 + len(chosen)
        grid = grid_of(panels, 3)
        bars = min(len(row.sets), MOST_BARS) + 3
        size = (max(6.0, 3.6 * grid[1]), max(3.0, 0.3 * bars + 1.2) * grid[0])
        drawn = sheet(ax, range(panels), grid, size)
        _draw_waterfall(drawn.axes[0], row)
        for panel, (i, curve) in zip(drawn.axes[1:], chosen, strict=True):
            _draw_curve(panel, row, i, curve)
        if share_scale and chosen:
            limits = [panel.get_ylim() for panel in drawn.axes[1:]]
            for panel in drawn.axes[1:]:
                panel.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        return self._keep(drawn, ax, wrapped(drawable(row.sentences()[0]), 110, 2))

    def frame(self) -> Any:
        """Everything in the waterfall; see `RowExplanation.frame`."""
        return self.explanation.frame()


def _draw_waterfall(ax: Axes, row: RowExplanation) -> None:
    """One bar a set from where the last one ended, the strongest first; interactions at the end."""
    tidy(ax)
    ax.use_sticky_edges = False
    strongest = row.order[:MOST_BARS]
    weaker = row.order[MOST_BARS:]
    labels = drawn_labels([row.sets[i] for i in strongest], 18)
    names = [
        f"{label} = {drawable(shortened(row.values[i], 14))}"
        for label, i in zip(labels, strongest, strict=True)
    ]
    lengths = [float(length) for length in row.contributions[strongest]]
    if len(weaker):
        names.append(count(len(weaker), "other"))
        lengths.append(float(row.contributions[weaker].sum()))
    names.append(TOGETHER)
    lengths.append(float(row.rest))
    start = float(row.mean)
    for place, length in enumerate(lengths):
        end = start + length
        color = ORANGE if length < 0 else BLUE
        ax.barh(place, length, left=start, height=0.7, color=color, zorder=3)
        ax.plot([end, end], [place, place + 1], color=GREY, linewidth=0.7, zorder=2)
        ax.annotate(
            row.unit.signed_effect(length, bare=True),
            (max(start, end), place),
            xytext=(3, 0),
            textcoords="offset points",
            fontsize=SMALL,
            va="center",
            zorder=4,
        )
        start = end
    ax.axvline(row.mean, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    ax.axvline(row.prediction, color=GREY, linewidth=0.8, zorder=1)
    ax.set_yticks(range(len(names)), names, fontsize=SMALL)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.margins(x=0.16)
    noun = f" ({row.unit.noun})" if row.unit.noun else ""
    heading = f"From the mean of its region (dotted) to the prediction{noun}"
    ax.set_title(heading, fontsize=SMALL + 1, loc="left")


def _draw_curve(ax: Axes, row: RowExplanation, i: int, curve: Curve) -> None:
    """The region's curve of one feature, at values that occur in the region, and the row on it."""
    position = curve.column.position
    levels = curve.column.levels
    axis = Axis.of(row.references, position)
    occurs = np.isin(levels, row.references.columns[position].levels)
    tidy(ax)
    ax.axhline(0.0, color=GREY, linewidth=0.4)
    ax.plot(
        axis.numbers(levels[occurs]),
        (curve.effects[1:] - curve.centre)[occurs],
        "-" if axis.ordered else "o",
        color=GREY,
        markersize=4,
        linewidth=1.4,
    )
    ax.plot(
        axis.of_rows(row.table.columns[position]),
        [row.contributions[i]],
        "o",
        color=ORANGE,
        markersize=8,
        markeredgecolor="white",
        zorder=5,
    )
    axis.dress(ax)
    value = drawable(shortened(row.values[i], 20))
    percentile = row.percentiles[i]
    has_two_values = int(np.count_nonzero(occurs)) <= 2
    if np.isnan(percentile) or has_two_values:
        where = f"{share(row.shares[i])} of the region's rows have the same value"
    else:
        where = f"{share(percentile)} of the region's rows lie below"
    adds = row.unit.signed_effect(float(row.contributions[i]), bare=True)
    heading = f"{axis.name} = {value}: {adds}\n{where}"
    ax.set_title(heading, fontsize=SMALL + 1, loc="left")
