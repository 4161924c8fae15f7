"""RowDisplay: one row against its region."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from granite_xai.base.numbers import count, share, with_minus
from granite_xai.base.options import whole_number
from granite_xai.base.text import MISSING, distinct_labels, drawable, shortened
from granite_xai.curves.shared import SharedCurve
from granite_xai.document.chart import BLUE, GREY, ORANGE, Chart, FeatureAxis, Mark
from granite_xai.document.figure import (
    SMALL,
    Axes,
    Drawn,
    drawn_labels,
    grid_of,
    paint,
    set_title,
    sheet,
    tidy,
)
from granite_xai.results.row import RowExplanation
from granite_xai.tables import LABELLED, Column

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
        is_drawn = [curve is not None and curve.column is not None for curve in row.curves]
        chosen = [place for place in row.order.tolist() if is_drawn[place]][: self.max_features]
        grid = grid_of(ax, 1 + len(chosen), 2.2, 3)
        bars = min(len(row.sets), MOST_BARS) + 3
        size = (max(6.0, 3.6 * grid[1]), max(3.0, 0.3 * bars + 1.2) * grid[0] + 0.4)
        drawn = sheet(ax, range(1 + len(chosen)), grid, size)
        _draw_waterfall(drawn.axes[0], row)
        panels = drawn.axes[1:]
        for panel, place in zip(panels, chosen, strict=True):
            _draw_curve(panel, row, place)
        if share_scale and chosen:
            lows, highs = zip(*(panel.get_ylim() for panel in panels), strict=True)
            for panel in panels:
                panel.set_ylim(min(lows), max(highs))
        return self._keep(drawn, ax, drawable(row.sentences()[0]))

    def frame(self) -> Any:
        """Everything in the waterfall; see `RowExplanation.frame`."""
        return self.explanation.frame()


def _draw_waterfall(ax: Axes, row: RowExplanation) -> None:
    """One bar a set from where the last one ended, the strongest first; interactions at the end."""
    tidy(ax)
    ax.use_sticky_edges = False
    strongest = row.order[:MOST_BARS]
    weaker = row.order[MOST_BARS:]
    labels = drawn_labels(row.sets, 18)
    bars = [(f"{labels[i]} = {_value(row, i, 14)}", row.contributions[i]) for i in strongest]
    if len(weaker):
        bars.append((count(len(weaker), "other"), row.contributions[weaker].sum()))
    bars.append((TOGETHER, row.rest))
    end = row.mean
    for place, (_, length) in enumerate(bars):
        start = end
        end = start + length
        color = ORANGE if length < 0 else BLUE
        ax.barh(place, length, left=start, height=0.7, color=color, zorder=3)
        ax.plot([end, end], [place, place + 1], color=GREY, linewidth=0.7, zorder=2)
        ax.annotate(
            row.unit.signed_effect(float(length), bare=True),
            (max(start, end), place),
            xytext=(3, 0),
            textcoords="offset points",
            fontsize=SMALL,
            va="center",
            zorder=4,
        )
    ax.axvline(row.mean, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    ax.axvline(row.prediction, color=GREY, linewidth=0.8, zorder=1)
    ax.set_yticks(range(len(bars)), [name for name, _ in bars], fontsize=SMALL)
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.margins(x=0.16)
    ax.locator_params(axis="x", nbins=5)
    noun = row.unit.noun
    if row.unit.probability:
        noun = "bars in points"
        ax.xaxis.set_major_formatter("{x:.0%}")
    note = f" ({noun})" if noun else ""
    set_title(ax, f"From the mean of its region (dotted) to the prediction{note}")


def _value(row: RowExplanation, i: int, width: int) -> str:
    """What the row has there; a long name is cut where it is like others."""
    curve = row.curves[i]
    value = row.values[i]
    if curve is None or curve.column is None or curve.column.kind not in LABELLED:
        return drawable(shortened(with_minus(value), width))
    names = [value, *(str(level) for level in curve.column.levels if str(level) != value)]
    return drawable(distinct_labels(names, width)[0])


def _draw_curve(ax: Axes, row: RowExplanation, i: int) -> None:
    """The region's curve of one feature, at values that occur in the region, and the row on it."""
    curve = cast(SharedCurve, row.curves[i])
    fitted = cast(Column, curve.column)
    column = row.references.columns[fitted.position]
    name = distinct_labels(row.references.names, 30)[column.position]
    axis = FeatureAxis(column, name, most_places=len(column.levels))
    own = row.table.columns[column.position]
    occurs = np.append(True, np.isin(fitted.levels, column.levels))
    y = axis.at_places(curve.effects[occurs])
    texts = [MISSING if group[0] < 0 else None for group in axis.groups]
    joined = axis.ordered and len(y) > 2
    line = Mark("line", "region", np.array(axis.x), y, texts, joined=joined, color=GREY)
    place = np.clip(axis.of_rows(own), *axis.drawn_limits)
    dot = Mark("line", "row", place, row.contributions[i : i + 1], joined=False, color=ORANGE)
    value = _value(row, i, 20)
    if np.isnan(row.percentiles[i]) or len(y) <= 2:
        where = f"{share(row.shares[i])} of the region's rows have the same value"
    else:
        where = f"{share(row.percentiles[i])} of the region's rows lie below"
    adds = row.unit.signed_effect(float(row.contributions[i]), bare=True)
    heading = f"{drawable(axis.name)} = {value}: {adds}"
    paint(ax, Chart(axis, (line, dot), title=f"{heading}\n{where}"))
    ax.lines[-1].set(zorder=5, markersize=8)
    if row.unit.probability:  # as the numbers beside it
        ax.yaxis.set_major_formatter(lambda effect, _: with_minus(f"{100 * effect:.3g}"))
        ax.set_ylabel("points", fontsize=SMALL + 1)
    ax.margins(y=0.1)
