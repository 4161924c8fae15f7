"""EffectDisplay: how single features change the prediction, on all rows and in each region."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from granite_xai.algebra.catalog import title
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Individual
from granite_xai.base.numbers import share
from granite_xai.base.options import whole_number
from granite_xai.base.text import MISSING, drawable, shortened
from granite_xai.base.typing import BoolArray, Elementwise, FloatArray
from granite_xai.display.axis import Axis
from granite_xai.display.effect_lines import MOST_CURVES, FeatureInScope, Line, Panel, lines_of
from granite_xai.display.figures import (
    SMALL,
    Axes,
    Drawn,
    drawn_labels,
    framed,
    grid_of,
    set_title,
    sheet,
    tidy,
)
from granite_xai.display.sides import local_sides
from granite_xai.document.chart import BLACK, GREY, PALE, region_color
from granite_xai.results.values import Explained, Values, chosen_question, shown_names
from granite_xai.tables import Table

MEANING = {
    "curve": "{}: one line a row",
    "line": "{}",
    "points": "{}: one point a row; line: their mean",
}
AVERAGE = {
    "pdp": "PDP: average over the rows",
    "mplot": "M-plot: average over rows with a similar value",
    "ale": "ALE: average changes, added up",
    "local-change": "local changes: one row across its interval",
}
LARGE_SHARE = 10.0  # of next to nothing on all rows, any share is a large one
BARS_HEIGHT = 0.12  # share of a panel that the tallest bar of rows takes
ERRORS = 2.0  # standard errors on both sides of a line


@dataclass(eq=False)
class EffectDisplay(Drawn):
    """Effects of single features: what is compared, on all rows and beside it in each region.

    Full effects (ICE) are thin lines, one a row; pure effects (PDP, M-plot, ALE) one thick line;
    partial effects (SHAP) points with their mean. All are counted as the question counts them, so
    that the distance between the lines is the heterogeneity. Grey bars show where the rows lie.
    Make it with `from_estimator`.

    Attributes
    ----------
    figure_ : Figure
    axes_ : array of Axes
        One line a feature, one entry for all rows and for each region.
    ax_ : Axes
        The one that was given, otherwise the first.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=60)
    >>> g = gx.Granite(toy.model, "ice-pdp").fit(toy.X)
    >>> display = EffectDisplay.from_estimator(g, toy.X, features=["x1"])
    >>> lines = display.frame()
    >>> sorted(lines["explanation"].unique())
    ['disagreement', 'ice', 'pdp', 'rows']
    >>> lines.query("explanation == 'disagreement'")["value"].round(3).tolist()
    [1.0, 0.0, 0.0]
    """

    panels: tuple[tuple[Panel, ...], ...] = field(repr=False)
    names: tuple[str, ...]
    prediction: str
    table: Table = field(repr=False)

    @classmethod
    def from_estimator(
        cls,
        g: Any,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[Hashable] | None = None,
        explanations: Sequence[str | Explainer] | str | None = None,
        question: str | None = None,
        max_features: int = 2,
        max_curves: int = MOST_CURVES,
        points: int = 40,
        max_samples: int | None = None,
        sample_weight: Any = None,
    ) -> EffectDisplay:
        """Compute the effects.

        Parameters
        ----------
        g : Granite
            Fitted.
        X : table
            Rows that are explained, and the reference in their region. Of the table of the fit,
            the search rows are used.
        y : array, optional
            Not used: effects need no target.
        features : columns, optional
            None: the ``max_features`` features on which the explanations differ most.
        explanations : names of ``gx.explanations()`` or local Explainers, optional
            None: both sides of the question where they are effects of single features, otherwise
            "ice" and "pdp".
        question : str, optional
            Which one, for an estimator with several; None: the first.
        max_features, max_curves, points : int
            Features shown, curves of single rows in a panel (at most 50) and places along a curve,
            at most.
        sample_weight : array, optional
            Weights of the rows; those of weight 0 are left out.
        max_samples : int, optional
            Rows used, at most. None: as many as the fit used, for Shapley values no more than 500.
        """
        resolved = chosen_question(g, question)
        sides = local_sides((resolved.question.first, resolved.question.second), explanations)
        whole_number("max_curves", max_curves, at_least=0, at_most=MOST_CURVES)
        whole_number("max_features", max_features, at_least=1)
        rows_to_show = Values.of_rows(g, X, None, sides, max_samples, sample_weight)
        table = rows_to_show.table
        chosen = None
        if features is not None:
            chosen = [table.names[table.resolve(label, "features")] for label in features]
        sides = tuple(side.with_influence(Individual(chosen)) for side in sides)
        values = rows_to_show.explained(sides)
        places = list(range(len(values.sets)))
        if features is None:
            places = _strongest(values, resolved.loss)[:max_features]
        tables = [table.take(scope_values.scope.rows) for scope_values in values.scopes]
        panels = []
        for place in places:
            name = values.sets[place][0]
            axis = Axis.of(table, table.names.index(name))
            in_scopes = [
                FeatureInScope(rows_to_show, scope_values, rows, axis, points, max_curves)
                for scope_values, rows in zip(values.scopes, tables, strict=True)
            ]
            panels.append(_panels(values, sides, in_scopes, place, resolved.loss))
        return cls(
            panels=tuple(panels),
            names=values.names,
            prediction=rows_to_show.fitted.model.label,
            table=table,
        )

    def plot(self, ax: Any = None) -> EffectDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            Where: its place is divided among the panels, or one Axes a panel. None: a new figure.
        """
        features = len(self.panels)
        scopes = len(self.panels[0])
        lines, columns = grid_of(scopes)
        grid = (lines * features, columns)
        places: list[int] = []
        for number in range(features):
            first = number * lines * columns
            places += range(first, first + scopes)
        size = (max(5.2, 2.6 * columns + 0.6), 2.9 * grid[0] + 0.9)
        drawn = sheet(ax, places, grid, size)
        for k, panels in enumerate(self.panels):
            self._draw_feature(panels, drawn.axes[k * scopes : (k + 1) * scopes], columns)
        return self._keep(drawn, ax, self._headline(scopes - 1), self._legend(), (features, scopes))

    def _headline(self, regions: int) -> str:
        labels = drawn_labels(self.table.names, 24)
        features = [labels[panels[0].axis.column.position] for panels in self.panels]
        features_text = f"{len(features)} features"
        if len(features) < 3:
            features_text = " and ".join(features)
        where = "on all rows; one region"
        if regions:
            where = f"on all rows and in {regions} regions"
        return f"{shown_names(self.names)} of {features_text}, {where}"

    def _legend(self) -> list[Any]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles: list[Any] = []
        for name in self.names:
            nothing = Line("line", name, np.zeros(0), np.zeros(0), ())
            lines = [line for line in self.panels[0][0].lines if line.explanation == name]
            line = next(iter(lines), nothing)
            look = _look(line, self.names, unjoined=False)
            look["label"] = AVERAGE.get(name) or MEANING[line.shape].format(drawable(title(name)))
            look["alpha"] = 0.8
            look["linewidth"] = 1.2 if line.shape == "curve" else 2.6
            handles.append(Line2D([], [], **look))
        return [*handles, Patch(color=PALE, label="where the rows lie")]

    def _draw_feature(self, panels: Sequence[Panel], axes: Sequence[Axes], columns: int) -> None:
        """The panels of one feature, all on one scale."""
        lines: list[Line] = []
        heights: list[float] = []
        for panel in panels:
            for line in panel.lines:
                if line.shape != "bars":
                    lines.append(line)
                    heights += line.y.tolist()
        low = min(heights, default=0.0)
        high = max(heights, default=float(len(lines) > 0))
        span = 1.0
        if high > low:
            span = high - low
        name = drawn_labels(self.table.names, 24)[panels[0].axis.column.position]
        what = "prediction"
        if self.prediction != "predict":
            what = drawable(shortened(self.prediction, 40))
        for i, (panel, ax) in enumerate(zip(panels, axes, strict=True)):
            is_first = i % columns == 0
            _draw_panel(ax, panel, self.names)
            ax.set_ylim(low - 0.22 * span, high + 0.16 * span)
            ax.tick_params(labelleft=is_first and len(lines) > 0, left=len(lines) > 0)
            if is_first:
                ax.set_ylabel(f"effect of {name}\non the {what}", fontsize=SMALL + 1)

    def frame(self) -> Any:
        """Everything drawn, one line a point: in the library of X.

        Columns: region (null: all rows), rule, feature, explanation ("rows": the bars that show the
        data; "disagreement": the share in the panel's corner), shape, curve (number of a thin
        line), x (place on the axis), x_end (bars), level (name on the axis; null for numbers),
        value, standard_error (over the rows; bands are two of them on both sides).
        """
        keys = "region rule feature explanation shape curve x x_end level value standard_error"
        lines = []
        for panels in self.panels:
            for panel in panels:
                head = (panel.scope.region, panel.scope.rule, panel.axis.column.name)
                lines += [(*head, *cells) for cells in panel.cells()]
        return framed(keys, lines, self.table)


def _strongest(values: Explained, loss: Elementwise) -> list[int]:
    """Features on which two explanations differ most; of one explanation the largest effects."""
    parts = values.scopes[0].parts
    if len(parts) > 1:
        sizes = loss(parts[0].values - parts[1].values).mean(axis=0)
    else:
        sizes = np.square(parts[0].values).mean(axis=0)
    order: list[int] = np.argsort(-sizes, kind="stable").tolist()
    return order


def _panels(
    values: Explained,
    sides: Sequence[Explainer],
    in_scopes: Sequence[FeatureInScope],
    place: int,
    loss: Elementwise,
) -> tuple[Panel, ...]:
    """All panels of one feature, with what is left of the disagreement of two explanations.

    Parameters
    ----------
    values : Explained
        Of the explanations in every scope.
    sides : sequence of Explainer
        The explanations.
    in_scopes : sequence of FeatureInScope
        The feature on all rows, then in each region.
    place : int
        Place of the feature among the sets of the values.
    loss : callable
        Of the question, for differences of two explanations.
    """
    gaps = [np.nan] * len(in_scopes)
    if len(sides) == 2:
        gaps = [_mean_gap(feature, place, loss) for feature in in_scopes]
    panels = []
    for feature, gap in zip(in_scopes, gaps, strict=True):
        lines = []
        for side, part in zip(sides, feature.values.parts, strict=True):
            lines += lines_of(values, side, feature, part, place)
        if gaps[0] > 0:
            remaining = gap / gaps[0]
        elif len(sides) == 2 and lines:  # both agree on all rows
            remaining = 0.0
        else:  # there is nothing to compare
            remaining = np.nan
        panels.append(
            Panel(
                scope=feature.values.scope,
                axis=feature.axis,
                lines=(feature.bars(), *lines),
                disagreement=float(remaining),
            )
        )
    return tuple(panels)


def _mean_gap(feature: FeatureInScope, place: int, loss: Elementwise) -> float:
    """Mean loss between two explanations of a feature in a scope."""
    first, second = feature.values.parts
    return float(loss(first.values[:, place] - second.values[:, place]).mean())


def _draw_panel(ax: Axes, panel: Panel, names: Sequence[str]) -> None:
    """Draw what a panel holds."""
    tidy(ax)
    ax.axhline(0.0, color=PALE, linewidth=0.8, zorder=0)
    color = region_color(panel.scope.region)
    for line in panel.lines:
        if line.end is not None:
            _draw_bars(ax, line, line.end)
            continue
        missing = np.array([level == MISSING for level in line.levels], dtype=bool)
        _draw_part(ax, line, ~missing, names, color, unjoined=not line.joined)
        _draw_part(ax, line, missing, names, color, unjoined=True)
    panel.axis.dress(ax)
    set_title(ax, panel.scope)
    corner: dict[str, Any] = {"transform": ax.transAxes, "fontsize": SMALL}
    has_bars_only = len(panel.lines) == 1  # ALE has no lines along a feature without order
    if has_bars_only:
        text = "nominal: no order to move along"
        ax.text(0.5, 0.5, text, ha="center", color=GREY, **corner)
    remaining = panel.disagreement
    if panel.scope.region is not None and not np.isnan(remaining):
        amount = f"over {share(LARGE_SHARE)}"
        if remaining < LARGE_SHARE:
            amount = share(remaining)
        text = f"heterogeneity {amount} of overall"
        ax.text(0.98, 0.985, text, ha="right", va="top", color=BLACK, **corner)


def _draw_bars(ax: Axes, line: Line, right: FloatArray) -> None:
    """Shares of rows along the lower edge."""
    tallest = max(float(line.y.max(initial=0.0)), 1e-300)
    ax.bar(
        line.x,
        line.y / tallest * BARS_HEIGHT,
        width=right - line.x,
        align="edge",
        color=PALE,
        edgecolor="white",
        linewidth=0.4,
        zorder=1,
        label="_rows",
        transform=ax.get_xaxis_transform(),
    )


def _draw_part(
    ax: Axes, line: Line, part: BoolArray, names: Sequence[str], color: str, *, unjoined: bool
) -> None:
    """The places of a line that are joined, or those that stand alone, with their errors."""
    if not part.any():
        return
    unjoined = unjoined or bool(part.sum() == 1)
    x = line.x[part]
    y = line.y[part]
    if line.errors is not None and line.errors.any():
        half_width = ERRORS * line.errors[part]
        low = y - half_width
        high = y + half_width
        if unjoined:
            ax.vlines(x, low, high, color=color, zorder=2, alpha=0.5)
        else:
            ax.fill_between(x, low, high, color=color, zorder=2, alpha=0.18, linewidth=0)
    look = _look(line, names, unjoined=unjoined)
    look["color"] = color
    ax.plot(x, y, **look)


def _look(line: Line, names: Sequence[str], *, unjoined: bool) -> dict[str, Any]:
    """Arguments of ``ax.plot`` for a line.

    Of two lines the first is dashed; places that are not joined are marked.
    """
    is_dashed = line.shape == "line" and len(names) > 1 and line.explanation == names[0]
    look: dict[str, Any] = {
        "color": BLACK,
        "label": f"_{line.shape} {line.explanation}",
        "linestyle": "--" if is_dashed else "-",
    }
    if unjoined or line.shape == "points":
        look["linestyle"] = "none"
    if line.shape == "points":
        return {**look, "marker": "o", "markersize": 2.6, "alpha": 0.45, "zorder": 2}
    if line.shape == "curve":
        if unjoined:
            look |= {"marker": "_", "markersize": 9}
        return {**look, "linewidth": 0.6, "alpha": 0.35, "zorder": 2}
    if unjoined:
        look |= {"marker": "o", "markersize": 6.5}
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.8}
    return {**look, **edge, "linewidth": 2.6, "zorder": 3}
