"""EffectDisplay: how single features change the prediction; ComparisonDisplay: the same of several models."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from granite_xai.algebra.accumulated import Intervals
from granite_xai.algebra.catalog import title
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.explanation import Part
from granite_xai.algebra.influence import Individual
from granite_xai.base.numbers import share
from granite_xai.base.options import whole_number
from granite_xai.base.text import MISSING, drawable, shortened
from granite_xai.base.typing import Coalition, Elementwise, FloatArray, IntArray
from granite_xai.curves.curves import Grid, carriers, dependence_bins, grid_codes, ice_curves
from granite_xai.displays.shown import local_sides, shown_scopes, title_of, titled
from granite_xai.document.chart import (
    CASES,
    MOST_LABELS,
    Chart,
    FeatureAxis,
    Mark,
    level_counts,
)
from granite_xai.document.figure import (
    SMALL,
    Drawn,
    Palette,
    drawn_labels,
    framed,
    grid_of,
    key,
    look_of,
    paint_line,
    sheet,
)
from granite_xai.results.values import InScope, Scope, Values, chosen_question, shown_names
from granite_xai.tables import Column, Table

MOST_CURVES = 50  # of single rows in a panel (S15)
NARROWEST = 1.8  # inches of a panel beside others
LARGE_SHARE = 10.0  # of next to nothing on all rows, any share is a large one
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


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One feature in one scope."""

    scope: Scope
    axis: FeatureAxis
    marks: tuple[Mark, ...]
    disagreement: float  # share of that on all rows which is left here; nan: none to tell

    @property
    def chart(self) -> Chart:
        """As it is drawn."""
        note = ""
        if len(self.marks) == 1:  # bars alone: ALE has no lines along a feature without order
            note = "nominal: no order to move along"
        elif self.scope.region is not None and not math.isnan(self.disagreement):
            is_large = self.disagreement >= LARGE_SHARE
            amount = f"over {share(LARGE_SHARE)}" if is_large else share(self.disagreement)
            note = f"heterogeneity {amount} of overall"
        return Chart(self.axis, self.marks, title_of(self.scope), note)

    def cells(self) -> Iterator[tuple[Any, ...]]:
        """Cells of the frame: explanation, shape, curve, x, x_end, level, value, standard_error."""
        curves = [mark for mark in self.marks if mark.shape == "curve"]
        for mark in self.marks:
            number = curves.index(mark) if mark in curves else None
            unknown = [None] * len(mark.x)
            ends = unknown if mark.end is None else mark.end.tolist()
            errors = unknown if mark.errors is None else mark.errors.tolist()
            texts = mark.texts or unknown
            for point in zip(mark.x.tolist(), ends, texts, mark.y.tolist(), errors, strict=True):
                yield (mark.name, mark.shape, number, *point)
        if not math.isnan(self.disagreement):
            yield ("disagreement", "text", None, None, None, None, self.disagreement, None)


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
        whole_number("max_curves", max_curves, at_least=0, at_most=MOST_CURVES)
        whole_number("max_features", max_features, at_least=1)
        resolved = chosen_question(g, question)
        sides = local_sides(resolved, explanations)
        shown = Values.of_rows(g, X, None, sides, max_samples, sample_weight)
        sides = tuple(side.with_influence(Individual(features)) for side in sides)
        explained = shown.explained(sides)
        table = shown.table
        places = list(range(len(explained.sets)))
        if features is None:
            places = _strongest(explained.scopes[0], resolved.loss)[:max_features]
        scopes = [
            (scope, in_scope, table.take(scope.rows))
            for scope, in_scope in zip(shown_scopes(shown), explained.scopes, strict=True)
        ]
        panels = []
        for place in places:
            axis = FeatureAxis.of(table, table.names.index(explained.sets[place][0]), points)
            moved = Coalition([axis.column.position])
            overall = math.nan
            of_feature = []
            for scope, in_scope, rows in scopes:
                feature = _FeatureInScope(shown, in_scope, rows, axis, points, max_curves, place)
                column = rows.columns[axis.column.position]
                marks = [axis.bars(axis.counts_of(column))]
                for number, side in enumerate(sides):
                    steps = explained.intervals.get((side.masking, moved))
                    dashed = len(sides) > 1 and number == 0  # of two lines
                    marks += feature.marks(side, in_scope.parts[number], steps, dashed)
                remaining = math.nan
                if len(sides) == 2:
                    first, second = (part.values[:, place] for part in in_scope.parts)
                    gap = float(resolved.loss(first - second).mean())
                    overall = gap if scope.region is None else overall
                    if overall > 0:
                        remaining = gap / overall
                    elif len(marks) > 1:
                        remaining = 0.0
                of_feature.append(Panel(scope, axis, tuple(marks), remaining))
            panels.append(tuple(of_feature))
        return cls(
            panels=tuple(panels),
            names=explained.names,
            prediction=shown.fitted.model.label,
            table=table,
        )

    def plot(self, ax: Any = None) -> EffectDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            Where: its place is divided among the panels, or one Axes a panel. None: a new figure.
        """
        n_features = len(self.panels)
        n_scopes = len(self.panels[0])
        lines, columns = grid_of(ax, n_scopes, NARROWEST)
        grid = (lines * n_features, columns)
        places = [
            line * lines * columns + scope
            for line in range(n_features)
            for scope in range(n_scopes)
        ]
        size = (max(5.2, 2.6 * columns + 0.6), 2.9 * grid[0] + 0.9)
        drawn = sheet(ax, places, grid, size)
        names = drawn_labels(self.table.names, 24)
        what = "prediction"
        if self.prediction != "predict":
            what = drawable(shortened(self.prediction, 40))
        features = []
        for line, panels in enumerate(self.panels):
            features.append(names[panels[0].axis.column.position])
            axes = drawn.axes[line * n_scopes : (line + 1) * n_scopes]
            paint_line(axes, [panel.chart for panel in panels], columns, (0.22, 0.16))
            has_lines = any(len(panel.marks) > 1 for panel in panels)
            for place, panel in enumerate(axes):
                if not has_lines:
                    panel.tick_params(labelleft=False, left=False)
                if place % columns == 0:
                    label = f"effect of {features[-1]}\non the {what}"
                    panel.set_ylabel(label, fontsize=SMALL + 1)
        of_what = " and ".join(features) if n_features < 3 else f"{n_features} features"
        where = "on all rows; one region"
        if n_scopes > 1:
            where = f"on all rows and in {n_scopes - 1} regions"
        headline = f"{shown_names(self.names)} of {of_what}, {where}"
        return self._keep(drawn, ax, headline, self._legend(drawn.palette), (n_features, n_scopes))

    def _legend(self, palette: Palette) -> list[Any]:
        from matplotlib.patches import Patch

        handles: list[Any] = []
        for name in self.names:
            marks = [mark for mark in self.panels[0][0].marks if mark.name == name]
            mark = marks[0] if marks else Mark("line", name, np.zeros(0), np.zeros(0))
            look = look_of(mark, palette, joined=True)
            look |= {"alpha": 0.8, "linewidth": 1.2 if mark.shape == "curve" else 2.6}
            label = AVERAGE.get(name) or MEANING[mark.shape].format(drawable(title(name)))
            handles.append(key(label, **look))
        return [*handles, Patch(color=palette.pale, label="where the rows lie")]

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


def _strongest(in_scope: InScope, loss: Elementwise) -> list[int]:
    """Features on which two explanations differ most; of one explanation the largest effects."""
    parts = in_scope.parts
    if len(parts) > 1:
        sizes = loss(parts[0].values - parts[1].values).mean(axis=0)
    else:
        sizes = np.square(parts[0].values).mean(axis=0)
    order: list[int] = np.argsort(-sizes, kind="stable").tolist()
    return order


# What one explanation says about one feature in one scope ----------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class LevelsShown:
    """Levels at which a panel reads a feature, and the places along its axis that they make up, missing last."""

    codes: IntArray  # -1: missing
    x: FloatArray  # (places,)
    texts: list[str | None]
    shares: FloatArray  # (codes, places): of the rows of a place, that have the level
    grid: Grid  # rows that carry the levels

    @classmethod
    def of(cls, axis: FeatureAxis, table: Table, points: int) -> LevelsShown:
        """The levels of some rows: quantiles of numbers, names; of many rare names the most frequent ones.

        Parameters
        ----------
        axis : FeatureAxis
        table : Table
            The rows of the panel.
        points : int
            Levels of an ordered feature, at most.
        """
        column = table.columns[axis.column.position]
        counts = level_counts(column)
        if axis.labelled:
            common = np.argsort(-counts[1:], kind="stable")[: MOST_LABELS + points]
            codes = np.sort(common)
        else:
            codes = grid_codes(column, points) if len(column.levels) else np.zeros(0, dtype=np.intp)
        if counts[0]:
            codes = np.append(codes, -1)
        places = axis.places_of(column)
        codes = codes[np.isfinite(places[codes + 1])]
        x, first, group = np.unique(places[codes + 1], return_index=True, return_inverse=True)
        texts = [MISSING, *axis.names(column.levels)]
        shares = np.zeros((len(codes), len(x)))
        shares[np.arange(len(codes)), group] = counts[codes + 1]
        shares /= shares.sum(axis=0)
        rows = table.take(carriers(column, codes))
        grid = Grid(column.position, codes.astype(np.float64), rows)
        return cls(codes, x, [texts[codes[i] + 1] for i in first], shares, grid)


@dataclass(frozen=True, eq=False)
class _FeatureInScope:
    """One feature in one scope: what its marks are made of.

    Parameters
    ----------
    shown : Values
        All rows that the display shows.
    in_scope : InScope
        What the explanations say in the scope.
    table : Table
        The rows of the scope.
    axis : FeatureAxis
        Of the feature.
    points, max_curves : int
        Places along a curve and curves of single rows, at most.
    place : int
        Of the feature among the sets of the explanations.
    """

    shown: Values
    in_scope: InScope
    table: Table
    axis: FeatureAxis
    points: int
    max_curves: int
    place: int

    @property
    def column(self) -> Column:
        """The feature on the rows of the scope."""
        return self.table.columns[self.axis.column.position]

    @cached_property
    def levels(self) -> LevelsShown:
        """The levels at which lines are drawn."""
        return LevelsShown.of(self.axis, self.table, self.points)

    @property
    def regions(self) -> tuple[int, ...] | None:
        """Whose colour the marks have."""
        region = self.in_scope.scope.region
        return None if region is None else (region,)

    def marks(
        self, side: Explainer, part: Part, steps: Intervals | None, dashed: bool
    ) -> list[Mark]:
        """The marks of one explanation.

        Parameters
        ----------
        side : Explainer
        part : Part
            Its values in the scope.
        steps : Intervals, optional
            Of accumulated effects.
        dashed : bool
            How a line is drawn.
        """
        is_pure = side.interaction.key == "pure"
        if side.masking.key == "accumulated":
            if steps is None:
                return []
            return self._accumulated(part, steps, dashed=dashed, is_pure=is_pure)
        if is_pure:
            return [self._pure_line(part, dashed, marginal=side.masking.key == "marginal")]
        if side.interaction.key == "full":
            return self._full_curves(part)
        return self._partial_points(part, dashed)

    def _sample_rows(self, size: int) -> IntArray:
        """Some rows at random, the same in all panels of the scope: they carry no label."""
        n_rows = self.table.n_rows
        generator = np.random.default_rng(self.shown.fitted.settings.seed)
        return np.sort(generator.choice(n_rows, size=min(size, n_rows), replace=False))

    def _ice_curves(self, table: Table) -> FloatArray:
        """Predictions of the model for rows at the places, (rows, places)."""
        fitted = self.shown.fitted
        curves = ice_curves(fitted.model, table, self.levels.grid, fitted.settings.resources)
        return curves @ self.levels.shares

    def _pure_line(self, part: Part, dashed: bool, *, marginal: bool) -> Mark:
        """An effect that depends on the feature alone: its value at some of the observed values.

        The values of the fit are those of its rows: rows with the same level have the same effect. A partial
        dependence that the fit read at a few values of the feature (``on_grid``, C22) is computed anew at the levels
        shown: the few would make steps.
        """
        column = self.column
        levels = self.levels
        # That of missing values, whose code is -1, is the last entry.
        by_code = np.zeros((2, len(column.levels) + 1))
        by_code[:, column.codes] = part.values[:, self.place], part.errors[:, self.place]
        effects, errors = by_code[:, levels.codes] @ levels.shares
        if marginal and column.position in self.in_scope.on_grid:
            shares = self.in_scope.weights / self.in_scope.weights.sum()
            effects = shares @ self._ice_curves(self.table) - shares @ self.in_scope.predictions
        return Mark(
            "line",
            part.name,
            levels.x,
            effects,
            levels.texts,
            errors=errors,
            joined=self.axis.ordered,
            regions=self.regions,
            dashed=dashed,
        )

    def _full_curves(self, part: Part) -> list[Mark]:
        """The prediction of single rows along the feature, each counted from where its own effect is."""
        rows = self._sample_rows(self.max_curves)
        levels = self.levels
        if not len(rows) or not len(levels.x):
            return []
        # At the row's own value its curve has the prediction of the row, and is to have its effect:
        # effect along the curve = prediction along the curve - (prediction of the row - effect of the row).
        in_scope = self.in_scope
        predictions = in_scope.on_grid.get(self.column.position, in_scope.predictions)
        shifts = predictions[rows] - part.values[rows, self.place]
        look: dict[str, Any] = {"joined": self.axis.ordered, "regions": self.regions}
        return [
            Mark("curve", part.name, levels.x, curve, levels.texts, **look)
            for curve in self._ice_curves(self.table.take(rows)) - shifts[:, None]
        ]

    def _partial_points(self, part: Part, dashed: bool) -> list[Mark]:
        """Effects of single rows against the value of the feature, and their mean along it.

        The mean at each value, or in each tenth of the rows where there are many values.
        """
        axis, column = self.axis, self.column
        effects = part.values[:, self.place]
        x = axis.of_rows(column)
        names = [MISSING, *axis.names(column.levels)]
        rows = self._sample_rows(4 * MOST_CURVES)
        drawn = rows[np.isfinite(x[rows])]
        texts = [names[code + 1] for code in column.codes[drawn]]
        look: dict[str, Any] = {"regions": self.regions}
        points = Mark("points", part.name, x[drawn], effects[drawn], texts, joined=False, **look)
        groups = x if axis.labelled else column.codes
        # Tenths would flatten peaks that a line through few values shows, and look like disagreement.
        if not axis.labelled and len(column.levels) > self.points:
            groups = dependence_bins(column)
        placed = np.flatnonzero(np.isfinite(x))
        _, first, bins = np.unique(groups[placed], return_index=True, return_inverse=True)
        counts = np.bincount(bins)
        middles = np.bincount(bins, weights=x[placed]) / counts
        means = np.bincount(bins, weights=effects[placed]) / counts
        if not axis.labelled:  # a tenth of the rows has no name
            names[1:] = [None] * len(column.levels)
        order = np.argsort(middles, kind="stable")
        texts = [names[column.codes[placed[first[i]]] + 1] for i in order]
        look |= {"joined": axis.ordered, "dashed": dashed}
        return [points, Mark("line", part.name, middles[order], means[order], texts, **look)]

    def _accumulated(
        self, part: Part, steps: Intervals, *, dashed: bool, is_pure: bool
    ) -> list[Mark]:
        """ALE as one line where rows are; or the change of single rows across their interval.

        The latter start where the running sum is.
        """
        positions, intervals = steps.within(self.column)  # intervals of rows count from 1; 0: none
        edges = steps.fitted.levels[positions]
        x, texts = self.axis.places(edges), self.axis.names(edges)
        n_edges = len(edges)
        changes = part.values[:, self.place]
        counts = np.bincount(intervals, minlength=n_edges)[1:]
        sums = np.bincount(intervals, weights=changes, minlength=n_edges)[1:]
        curve = np.append(0.0, np.cumsum(sums / np.maximum(counts, 1)))
        middles = (curve[:-1] + curve[1:]) / 2
        curve -= float(middles @ counts) / max(counts.sum(), 1)
        look: dict[str, Any] = {"regions": self.regions}
        if not is_pure:
            marks = []
            for row in self._sample_rows(self.max_curves).tolist():
                end = int(intervals[row])
                if end > 0:
                    span = slice(end - 1, end + 1)
                    changed = curve[end - 1] + np.array([0.0, changes[row]])
                    marks.append(Mark("curve", part.name, x[span], changed, texts[span], **look))
            return marks
        filled = np.flatnonzero(counts)  # intervals that hold rows
        span = slice(filled[0], filled[-1] + 2) if len(filled) else slice(0, 0)
        # The error of a row is that of the mean change of its interval: their mean square is its variance. Intervals
        # hold different rows: these variances add up along the curve.
        squares = np.square(part.errors[:, self.place])
        sums = np.bincount(intervals, weights=squares, minlength=n_edges)[1:]
        errors = np.sqrt(np.append(0.0, np.cumsum(sums / np.maximum(counts, 1))))
        look |= {"errors": errors[span], "dashed": dashed}
        return [Mark("line", part.name, x[span], curve[span], texts[span], **look)]


# Several models ----------------------------------------------------------------------------------------


@dataclass(eq=False)
class ComparisonDisplay(Drawn):
    """Average effects (PDP) of the strongest features by each case, with pointwise intervals.

    One line of panels a feature, one panel a region. Make it with `from_comparison`.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=120)
    >>> found = gx.compare({"old": toy.model, "new": lambda X: 2 * toy.model(X)}, toy.X)
    >>> display = ComparisonDisplay.from_comparison(found, max_features=1)
    >>> list(display.frame())
    ['set', 'region', 'rule', 'case', 'x', 'level', 'mean', 'low', 'high']
    """

    comparison: Any = field(repr=False)
    positions: tuple[int, ...]

    @classmethod
    def from_comparison(
        cls,
        comparison: Any,
        *,
        features: Sequence[Hashable] | None = None,
        max_features: int = 3,
    ) -> ComparisonDisplay:
        """Choose the features.

        Parameters
        ----------
        comparison : Comparison
            What ``gx.compare`` found.
        features : columns, optional
            None: the ``max_features`` strongest of the first case.
        max_features : int
        """
        max_features = whole_number("max_features", max_features, at_least=1)
        if features is None:
            return cls(comparison, tuple(comparison.columns[:max_features]))
        table = comparison.cases[0].values.table
        return cls(comparison, tuple(table.resolve(label, "features") for label in features))

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the curves; ``ax`` as in `EffectDisplay.plot`."""
        comparison = self.comparison
        case = comparison.cases[0]
        scopes = [titled(scope, comparison.partition, case.values.table) for scope in case.scopes]
        columns = len(scopes)
        grid = (len(self.positions), columns)
        size = (max(6.0, 2.4 * columns + 0.6), 2.3 * grid[0] + 0.8)
        drawn = sheet(ax, range(grid[0] * columns), grid, size)
        for line, position in enumerate(self.positions):
            axis = FeatureAxis.of(case.values.table, position)
            marks = self._marks(position)
            charts = []
            for region, scope in enumerate(scopes):
                own = tuple(mark for other, mark in marks if other.region == region)
                charts.append(Chart(axis, own, title_of(scope) if line == 0 else ""))
            paint_line(drawn.axes[line * columns : (line + 1) * columns], charts, columns)
        handles = [
            key(label, color=CASES[number % len(CASES)])
            for number, label in enumerate(drawn_labels(comparison.names, 40))
        ]
        return self._keep(drawn, ax, "Average effects by case, in the same regions", handles)

    def _marks(self, position: int) -> list[tuple[Scope, Mark]]:
        """Region and mark of each case."""
        axis = FeatureAxis.of(self.comparison.cases[0].values.table, position)
        names = list(self.comparison.names)
        marks = []
        for curve in self.comparison.curves(position):
            mark = Mark(
                "line",
                curve.case,
                axis.places(curve.levels),
                curve.mean,
                axis.names(curve.levels),
                low=curve.low,
                high=curve.high,
                joined=axis.ordered,
                color=CASES[names.index(curve.case) % len(CASES)],
            )
            marks.append((curve.scope, mark))
        return marks

    def frame(self) -> Any:
        """Everything drawn, one line a point.

        Columns: set, region, rule, case, x, level (null for numbers), mean, low, high.
        """
        table = self.comparison.cases[0].values.table
        lines = []
        for position in self.positions:
            for scope, mark in self._marks(position):
                head = (table.names[position], scope.region, scope.rule, mark.name)
                points = zip(mark.x.tolist(), mark.texts, mark.y, mark.low, mark.high, strict=True)  # type: ignore[arg-type]
                lines += [(*head, *point) for point in points]
        return framed("set region rule case x level mean low high", lines, table)
