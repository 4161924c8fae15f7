"""EffectDisplay: how single columns move the prediction, on all rows and in each region."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import distinct_labels, drawable, shortened
from granite_xai.base.typing import AleColumn, Elementwise, FloatArray, IntArray
from granite_xai.base.validation import whole_number
from granite_xai.base.wording import MISSING, coarse
from granite_xai.disagreement.catalog import title
from granite_xai.display import figures
from granite_xai.display.axis import Axis, Line, Panel, ShownLevels, shown_levels
from granite_xai.display.figures import (
    PALE,
    SMALL,
    Axes,
    Drawn,
    framed,
    grid_of,
    region_color,
    set_title,
    sheet,
    tidy,
)
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.influence import Individual
from granite_xai.explanation.masking.accumulated import AleIntervals
from granite_xai.explanation.result import Part
from granite_xai.results.scopes import (
    EFFECTS,
    RegionValues,
    RowsToShow,
    ShownValues,
    chosen_question,
    shown_names,
    sides_shown,
)
from granite_xai.surrogate.curves import dependence_bins, ice_curves
from granite_xai.tables import Column, Table

MOST_CURVES = 50  # of single rows in a panel (S15)
MEANING = {
    "curve": "{}: one line a row",
    "line": "{}",
    "points": "{}: one point a row; line: their mean",
}
AVERAGE = {
    "pdp": "PDP: average over the rows",
    "mplot": "M-plot: average over rows with a similar value",
}
AVERAGE |= {
    "ale": "ALE: average changes, added up",
    "local-change": "local changes: one row across its interval",
}


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """One column in one scope: what its lines are made of."""

    shown: RowsToShow
    values: RegionValues
    table: Table
    axis: Axis
    points: int
    max_curves: int

    @property
    def column(self) -> Column:
        """The column on the rows of the scope."""
        return self.table.columns[self.axis.column.position]

    def drawn(self, most: int) -> IntArray:
        """Some rows, drawn once for all panels of the scope: they carry no label."""
        count, draw = self.table.n_rows, np.random.default_rng(self.shown.seed)
        return np.sort(draw.choice(count, size=min(most, count), replace=False))


@dataclass(eq=False)
class EffectDisplay(Drawn):
    """Effects of single columns: the explanations that are compared, on all rows and beside it in each region.

    Full effects (ICE) are thin lines, one a row; pure effects (PDP, M-plot, ALE) one thick line; partial effects (SHAP)
    points with their mean. All are counted as the question counts them, so that the distance between the lines is the
    disagreement. Grey bars show where the rows lie. Make it with `from_estimator`.

    Attributes
    ----------
    figure_ : Figure
    axes_ : array of Axes
        One line a column, one entry for all rows and for each region.
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
            Rows that are explained, and the reference in their region.
        y : array, optional
            Not used: effects need no target.
        features : columns, optional
            None: the ``max_features`` columns on which the explanations disagree most.
        explanations : names of ``gx.explanations()`` or local Explainers, optional
            None: both sides of the question where they are effects of single columns, otherwise "ice" and "pdp".
        question : str, optional
            Which one, for an estimator with several; None: the first.
        max_features, max_curves, points : int
            Columns shown, curves of single rows in a panel (at most 50) and places along a curve, at most.
        sample_weight : array, optional
            Weights of the rows; those of weight 0 are left out.
        max_samples : int, optional
            Rows used, at most. None: as many as the fit used, for Shapley values no more than 500.
        """
        resolved = chosen_question(g, question)
        sides = drawable_sides((resolved.question.first, resolved.question.second), explanations)
        whole_number("max_curves", max_curves, at_least=0, at_most=MOST_CURVES)
        whole_number("max_features", max_features, at_least=1)
        shown = RowsToShow.of(g, X, None, sides, max_samples, sample_weight)
        table = shown.table
        chosen = (
            None
            if features is None
            else [table.names[table.resolve(f, "features")] for f in features]
        )
        sides = tuple(side.with_influence(Individual(chosen)) for side in sides)
        found = shown.values(sides)
        order = list(range(len(found.sets)))
        if features is None:
            parts = found.regions[
                0
            ].parts  # those that disagree most; with one explanation the largest effects
            gaps = (
                resolved.loss(parts[0].values - parts[1].values)
                if parts[1:]
                else np.square(parts[0].values)
            )
            order = np.argsort(-gaps.mean(axis=0), kind="stable")[:max_features].tolist()
        tables, panels = [table.take(values.scope.rows) for values in found.regions], []
        for place in order:
            axis = Axis.of(table, table.names.index(found.sets[place][0]))
            both = zip(found.regions, tables, strict=True)
            strips = [Strip(shown, values, part, axis, points, max_curves) for values, part in both]
            panels.append(panels_of(found, sides, strips, place, resolved.loss))
        return cls(tuple(panels), found.names, shown.fitted.predictor.label, table)

    def plot(self, ax: Any = None) -> EffectDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            Where: its place is divided among the panels, or one Axes a panel. None: a new figure.
        """
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        scopes = len(self.panels[0])
        lines, columns = grid_of(scopes)
        grid = (lines * len(self.panels), columns)
        places = [k * lines * columns + i for k in range(len(self.panels)) for i in range(scopes)]
        drawn = sheet(ax, places, grid, (max(5.2, 2.6 * columns + 0.6), 2.9 * grid[0] + 0.9))
        for k, panels in enumerate(self.panels):
            self._line(panels, drawn.axes[k * scopes : (k + 1) * scopes], columns)
        where = (
            f"on all rows and in {scopes - 1} regions"
            if scopes > 1
            else "on all rows; there is one region"
        )
        moral = ": where the lines agree, either explanation will do" if len(self.names) > 1 else ""
        headline = f"{(names := shown_names(self.names))[:1].upper()}{names[1:]} {where}{moral}"
        legend: list[Any] = []
        for name in self.names:
            own = (line for line in self.panels[0][0].lines if line.explanation == name)
            line = next(own, Line("line", name, np.zeros(0), np.zeros(0), ()))
            label = AVERAGE.get(name) or MEANING[line.shape].format(drawable(title(name)))
            width = 1.2 if line.shape == "curve" else 2.6
            look = {
                **_look(line, self.names, False),
                "label": label,
                "alpha": 0.8,
                "linewidth": width,
            }
            legend.append(Line2D([], [], **look))
        legend.append(Patch(color=PALE, label="where the rows lie"))
        return self._keep(drawn, ax, headline, legend, (len(self.panels), scopes))

    def _line(self, panels: Sequence[Panel], axes: Sequence[Axes], columns: int) -> None:
        """The panels of one column, all on one scale."""
        lines = [line for panel in panels for line in panel.lines if line.shape != "bars"]
        every = [value for line in lines for value in line.y.tolist()]
        low, high = min(every, default=0.0), max(every, default=float(len(lines) > 0))
        span = high - low if high > low else 1.0
        name = distinct_labels(self.table.names, 24)[panels[0].axis.column.position]
        what = (
            "prediction"
            if self.prediction == "predict"
            else drawable(shortened(self.prediction, 40))
        )
        for i, (panel, ax) in enumerate(zip(panels, axes, strict=True)):
            draw_panel(ax, panel, self.names)
            ax.set_ylim(low - 0.22 * span, high + 0.16 * span)
            ax.tick_params(labelleft=i % columns == 0 and len(lines) > 0, left=len(lines) > 0)
            if i % columns == 0:
                ax.set_ylabel(f"effect of {name}\non the {what}", fontsize=SMALL + 1)

    def frame(self) -> Any:
        """Everything drawn, one line a point: in the library of X.

        Columns: region (null: all rows), rule, feature, explanation ("rows": the bars that show the data;
        "disagreement": the share in the panel's corner), shape, curve (number of a thin line), x (place on the axis),
        x_end (bars), level (name on the axis; null for numbers), value, standard_error (over the rows; bands are two of
        them on both sides).
        """
        keys = "region rule feature explanation shape curve x x_end level value standard_error"
        every = ((p.scope, p.axis.column.name, p.cells()) for panels in self.panels for p in panels)
        lines = (
            (scope.region, scope.rule, name, *line)
            for scope, name, cells in every
            for line in cells
        )
        return framed(keys, lines, self.table)


def draw_panel(ax: Axes, panel: Panel, names: Sequence[str]) -> None:
    """Draw what a panel holds."""
    tidy(ax)
    ax.axhline(0.0, color=PALE, linewidth=0.8, zorder=0)
    for line in panel.lines:
        if (
            line.end is not None
        ):  # shares of rows along the lower edge; the tallest takes an eighth of the height
            heights = line.y / max(float(line.y.max(initial=0.0)), 1e-300) * 0.12
            look: dict[str, Any] = {
                "color": PALE,
                "edgecolor": "white",
                "linewidth": 0.4,
                "zorder": 1,
            }
            look |= {"align": "edge", "label": "_rows", "transform": ax.get_xaxis_transform()}
            ax.bar(line.x, heights, width=line.end - line.x, **look)
            continue
        gone = np.array([level == MISSING for level in line.levels], dtype=bool)
        for part, alone in ((~gone, not line.joined), (gone, True)):
            if part.any():
                color, single = region_color(panel.scope.region), bool(alone or part.sum() == 1)
                if (
                    line.errors is not None and line.errors.any()
                ):  # two standard errors on both sides
                    ends = (line.y[part] + sign * 2.0 * line.errors[part] for sign in (-1, 1))
                    faint = {"alpha": 0.5} if single else {"alpha": 0.18, "linewidth": 0}
                    look = {"color": color, "zorder": 2, **faint}
                    (ax.vlines if single else ax.fill_between)(line.x[part], *ends, **look)
                ax.plot(
                    line.x[part], line.y[part], **{**_look(line, names, single), "color": color}
                )
    panel.axis.dress(ax)
    corner: dict[str, Any] = {"transform": ax.transAxes, "fontsize": SMALL}
    if len(panel.lines) == 1:
        ax.text(
            0.5, 0.5, "nominal: no order to move along", ha="center", color=figures.GREY, **corner
        )
    set_title(ax, panel.scope)
    if (
        share := panel.disagreement
    ) == share:  # of next to nothing on all rows, any share is a large one
        text = f"disagreement per row {coarse(share) if share < 10 else 'over 1,000 %'}"
        ax.text(0.98, 0.985, text, ha="right", va="top", color=figures.BLACK, **corner)


def _look(line: Line, names: Sequence[str], alone: bool) -> dict[str, Any]:
    """Of two lines the first is dashed, color is the region's; places that stand alone are marked instead of joined."""
    dashed = line.shape == "line" and names[:-1] and line.explanation == names[0]
    label = f"_{line.shape} {line.explanation}"
    common: dict[str, Any] = {
        "color": figures.BLACK,
        "label": label,
        "linestyle": "--" if dashed else "-",
    }
    if line.shape == "points":
        return {
            **common,
            "linestyle": "none",
            "marker": "o",
            "markersize": 2.6,
            "alpha": 0.45,
            "zorder": 2,
        }
    if alone:
        marker = (
            {"marker": "_", "markersize": 9}
            if line.shape == "curve"
            else {"marker": "o", "markersize": 6.5}
        )
        common |= {"linestyle": "none", **marker}
    if line.shape == "curve":
        return {**common, "linewidth": 0.6, "alpha": 0.35, "zorder": 2}
    return {
        **common,
        "linewidth": 2.6,
        "zorder": 3,
        "markeredgecolor": "white",
        "markeredgewidth": 0.8,
    }


def pure_line(strip: Strip, part: Part, place: int, *, marginal: bool) -> list[Line]:
    """An effect that depends on the column alone: its value at some of the observed values."""
    column = strip.column
    shown = shown_levels(strip.axis, strip.table, strip.points)
    errors = np.zeros(len(column.levels) + 1)
    errors[column.codes] = part.errors[:, place]
    if marginal and column.position in strip.values.on_grid:
        effects = _exact_means(strip, shown)
    else:
        by_code = np.zeros(len(column.levels) + 1)
        by_code[column.codes] = part.values[:, place]
        effects = by_code[shown.codes]
    line = Line(
        "line",
        part.name,
        shown.x,
        effects,
        shown.texts,
        joined=strip.axis.ordered,
        errors=errors[shown.codes],
    )
    return [line]


def _exact_means(strip: Strip, shown: ShownLevels) -> FloatArray:
    """The partial dependence at the levels shown; a few values of the column would make steps of it."""
    values = strip.values
    shares = values.weights / values.weights.sum()
    predictor = strip.shown.fitted.predictor
    curves = ice_curves(predictor, strip.table, shown.grid, strip.shown.rows.resources)
    return np.asarray(shares @ curves - shares @ values.predictions)


def full_curves(strip: Strip, part: Part, place: int) -> list[Line]:
    """The prediction of single rows along the column, each counted from where its own effect is."""
    rows, at = strip.drawn(strip.max_curves), shown_levels(strip.axis, strip.table, strip.points)
    if not len(rows) or not len(at.x):
        return []
    predictor, resources = strip.shown.fitted.predictor, strip.shown.rows.resources
    curves = ice_curves(predictor, strip.table.take(rows), at.grid, resources)
    own = strip.values.on_grid.get(strip.column.position, strip.values.predictions)
    shifted = curves - (own[rows] - part.values[rows, place])[:, None]
    return [
        Line("curve", part.name, at.x, curve, at.texts, joined=strip.axis.ordered)
        for curve in shifted
    ]


def partial_points(strip: Strip, part: Part, place: int) -> list[Line]:
    """Effects of single rows against the column's value, and their mean at each value (tenth, where there are many)."""
    rows = strip.drawn(4 * MOST_CURVES)
    column, effects = strip.column, part.values[:, place]
    x = strip.axis.of_rows(column)
    placed = rows[np.isfinite(x[rows])]
    levels = strip.axis.texts(column.values[placed])
    levels = [
        MISSING if column.missing[row] else level for row, level in zip(placed, levels, strict=True)
    ]
    # Tenths would flatten peaks that a line through few values shows, and look like disagreement.
    fine = len(column.levels) <= strip.points
    bins = np.unique(column.codes if fine else dependence_bins(column), return_inverse=True)[
        1
    ].reshape(-1)
    counts = np.bincount(bins)
    middles, means = (np.bincount(bins, weights=values) / counts for values in (x, effects))
    kept = np.flatnonzero(np.isfinite(middles))
    kept = kept[np.argsort(middles[kept], kind="stable")]
    names = (
        dict(zip(bins.tolist(), map(str, column.values), strict=True))
        if strip.axis.labelled
        else {}
    )
    names |= dict.fromkeys(bins[column.missing].tolist(), MISSING)
    at = [names.get(k) for k in kept.tolist()]
    points = Line("points", part.name, x[placed], effects[placed], levels, joined=False)
    return [
        points,
        Line("line", part.name, middles[kept], means[kept], at, joined=strip.axis.ordered),
    ]


def accumulated_lines(
    strip: Strip, part: Part, place: int, steps: AleIntervals | None, averaged: bool
) -> list[Line]:
    """ALE: the running sum of mean changes; a single row's change starts where the sum is."""
    if steps is None:
        return []
    (positions, intervals), changes = steps.within(strip.column), part.values[:, place]
    edges = steps.fitted.levels[positions]
    ends, texts = strip.axis.numbers(edges), strip.axis.texts(edges)
    counts = np.bincount(intervals, minlength=len(ends))[1:]
    means = np.bincount(intervals, weights=changes, minlength=len(ends))[1:] / np.maximum(counts, 1)
    curve = np.append(0.0, np.cumsum(means))
    curve -= float((curve[:-1] + curve[1:]) / 2 @ counts) / max(counts.sum(), 1)
    if averaged:
        walked = np.flatnonzero(counts)
        span = slice(walked[0], walked[-1] + 2) if len(walked) else slice(0, 0)
        squares = np.bincount(
            intervals, weights=np.square(part.errors[:, place]), minlength=len(ends)
        )[1:]
        # Intervals hold different rows: the variances of their mean changes add up along the curve.
        errors = np.sqrt(np.append(0.0, np.cumsum(squares / np.maximum(counts, 1))))
        return [Line("line", part.name, ends[span], curve[span], texts[span], errors=errors[span])]
    found = []
    for row in strip.drawn(strip.max_curves).tolist():
        if intervals[row] > 0:
            span = slice(intervals[row] - 1, intervals[row] + 1)
            moved = curve[span.start] + np.array([0.0, changes[row]])
            found.append(Line("curve", part.name, ends[span], moved, texts[span]))
    return found


def drawable_sides(own: tuple[Explainer, Explainer], asked: Any) -> tuple[Explainer, ...]:
    """The explanations shown: those asked for, the question's where it is about effects of columns, or ICE and PDP."""

    def fits(side: Explainer) -> bool:
        return side.behavior.key == "local" and side.interaction.key in EFFECTS

    sides = sides_shown(own, asked, lambda side: side.influence.key == "individual" and fits(side))
    if wrong := [side.name or "an explanation" for side in sides if not fits(side)]:
        text = f"{wrong[0]!r} is no effect of single columns on single predictions."
        hint = "Choose local ones such as 'ice', 'pdp', 'mplot', 'ale' or 'shap'."
        raise InputError(text, code="P03", argument="explanations", hint=hint)
    return sides


def panels_of(
    found: ShownValues,
    sides: Sequence[Explainer],
    strips: Sequence[Strip],
    place: int,
    loss: Elementwise,
) -> tuple[Panel, ...]:
    """All panels of one column."""
    gaps = [np.nan] * len(strips)
    if len(sides) == 2:
        pairs = ([part.values[:, place] for part in strip.values.parts] for strip in strips)
        gaps = [float(loss(one - two).mean()) for one, two in pairs]
    panels = []
    for strip, gap in zip(strips, gaps, strict=True):
        both = zip(sides, strip.values.parts, strict=True)
        lines = [line for side, part in both for line in _lines(found, side, strip, part, place)]
        share = gap / gaps[0] if gaps[0] > 0 else (0.0 if len(sides) == 2 and lines else np.nan)
        left, right, shares = strip.axis.bars(strip.column)
        bars = Line("bars", "rows", left, shares, [None] * len(left), end=right)
        panels.append(Panel(strip.values.scope, strip.axis, (bars, *lines), float(share)))
    return tuple(panels)


def _lines(found: ShownValues, side: Explainer, strip: Strip, part: Part, place: int) -> list[Line]:
    if side.masking.key == "accumulated":
        steps = found.intervals.get(
            AleColumn(strip.axis.column.position, getattr(side.masking, "intervals", 0))
        )
        return accumulated_lines(strip, part, place, steps, side.interaction.key == "pure")
    if side.interaction.key == "pure":
        return pure_line(strip, part, place, marginal=side.masking.key == "marginal")
    makers = {"full": full_curves, "partial": partial_points}
    return makers[side.interaction.key](strip, part, place)
