"""OutputDisplay: an effect over all outputs of a fit, along time or horizons, or one panel a class."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from granite_xai.base.errors import InputError
from granite_xai.base.limits import require_evaluations
from granite_xai.base.numbers import with_minus
from granite_xai.base.options import whole_number
from granite_xai.base.text import drawable
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.curves import carriers, grid_codes
from granite_xai.displays.shown import title_of, titled
from granite_xai.document.chart import Chart, FeatureAxis, Mark
from granite_xai.document.figure import (
    SMALL,
    Drawn,
    drawn_labels,
    framed,
    grid_of,
    key,
    look_of,
    paint_line,
    sheet,
)
from granite_xai.fitting.fit_result import FittedGranite, fitted_view
from granite_xai.models.targets import read_weights
from granite_xai.results.values import Scope, scopes_of
from granite_xai.tables import Column, Table, read_table

# Shape and dash of the lines of a low, a middle and a high value over ordered outputs.
LOOKS: tuple[tuple[Literal["line", "curve"], bool], ...] = (
    ("line", True),
    ("curve", False),
    ("line", False),
)
FEW = len(LOOKS)
NARROWEST = 1.8  # inches of a panel beside others
MIDDLE = {
    "linewidth": 1.1,
    "alpha": 0.9,
}  # look of the line between that of a low and that of a high value
MOST_ROWS = 500  # if not told


class ShownFeature(NamedTuple):
    """Predictions with a feature at some of its values, averaged over the rows of each scope."""

    axis: FeatureAxis
    x: FloatArray  # (values,)
    texts: list[str]
    means: FloatArray  # (scopes, outputs, values); nan where the scope has no such value

    @property
    def spread(self) -> float:
        """How far the means of an output lie apart, in the region and output where that is most."""
        means = self.means[1:] if len(self.means) > 1 else self.means
        known = means[~np.isnan(means).all(axis=2)]  # a region may lack every value
        return float(np.max(np.nanmax(known, axis=1) - np.nanmin(known, axis=1), initial=0.0))


@dataclass(eq=False)
class OutputDisplay(Drawn):
    """What a feature does to each output, on all rows and in each region.

    Outputs that are ordered (`granite_xai.survival`, or the axis of `granite_xai.outputs`) lie along the axis, with a
    line for each of a few values of the feature: low, middle and high ones that the region has. Classes and other
    outputs have a panel each, with a line for each region along the feature. Lines are average predictions where
    every row has the value (PDP).
    Make it with `from_estimator`.

    Attributes
    ----------
    figure_ : Figure
    axes_ : array of Axes
        One line a feature, one entry for each panel.
    ax_ : Axes
        The one that was given, otherwise the first.

    Examples
    --------
    >>> import granite_xai as gx
    >>> import numpy as np
    >>> toy = gx.datasets.make_toy(n=100)
    >>> forecast = lambda X: np.outer(toy.model(X), [1.0, 0.5])
    >>> model = gx.outputs(forecast, [1, 24], axis="horizon")
    >>> g = gx.Granite(model, output="all").fit(toy.X)
    >>> lines = gx.OutputDisplay.from_estimator(g, toy.X, features=["x1"]).frame()
    >>> lines.loc[lines["region"] == 0, ["value", "horizon", "mean"]].round(1).iloc[:2].values.tolist()
    [['-1.25', 1.0, 4.0], ['-1.25', 24.0, 2.0]]
    """

    features: tuple[ShownFeature, ...] = field(repr=False)
    names: tuple[Any, ...]
    axis: FeatureAxis | None = field(repr=False)
    scopes: tuple[Scope, ...] = field(repr=False)
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
        max_features: int = 1,
        points: int = 20,
        max_samples: int = MOST_ROWS,
        sample_weight: Any = None,
    ) -> OutputDisplay:
        """Ask the model about the rows with each feature at a few of its values.

        Parameters
        ----------
        g : Granite
            Fitted with ``output="all"``.
        X : table
        y : array, optional
            Not used: effects need no target.
        features : columns, optional
            None: the ``max_features`` features that move some output most.
        max_features, points : int
            Features shown, and places along the feature of outputs without an order, at most.
        max_samples : int
            Rows used, at most.
        sample_weight : array, optional
            Weights of the rows.

        Raises
        ------
        InputError
            P03: the fit explains one output.
        """
        view = fitted_view(g, several=True)
        result = view.result
        if not result.outputs:
            raise InputError(
                "this shows several outputs, and the fit explains one.",
                code="P03",
                argument="g",
                hint='Fit with output="all", or use EffectDisplay.',
            )
        whole_number("max_features", max_features, at_least=1)
        whole_number("points", points, at_least=2)
        table = view.read(X)
        weights = read_weights(sample_weight, table)
        rows = view.draw_rows(weights, whole_number("max_samples", max_samples, at_least=1))
        shown = _Shown(view, table.take(rows), weights[rows])
        axis = _axis_of_outputs(result.model, tuple(result.outputs))
        positions = [table.resolve(label, "features") for label in features or ()]
        of_features = [shown.feature(position) for position in positions or table.explained]
        if not positions:
            of_features.sort(key=lambda feature: -feature.spread)
            of_features = of_features[:max_features]
        if axis is None:
            of_features = [
                shown.feature(feature.axis.column.position, points) for feature in of_features
            ]
        return cls(
            features=tuple(of_features),
            names=tuple(result.outputs),
            axis=axis,
            scopes=tuple(titled(scope, result.partition, shown.table) for scope in shown.scopes),
            prediction="probability" if result.model.is_probability else "prediction",
            table=shown.table,
        )

    def plot(self, ax: Any = None) -> OutputDisplay:
        """Draw the panels; ``ax`` as in `EffectDisplay.plot`."""
        rows_of_charts = [self._charts(feature) for feature in self.features]
        n_panels = len(rows_of_charts[0])
        lines, columns = grid_of(ax, n_panels, NARROWEST)
        places = [
            number * lines * columns + panel
            for number in range(len(self.features))
            for panel in range(n_panels)
        ]
        grid = (lines * len(self.features), columns)
        drawn = sheet(ax, places, grid, (max(5.2, 2.6 * columns + 0.6), 2.7 * grid[0] + 0.9))
        names = drawn_labels(self.table.names, 24)
        handles = []
        for number, (feature, charts) in enumerate(zip(self.features, rows_of_charts, strict=True)):
            axes = drawn.axes[number * n_panels : (number + 1) * n_panels]
            name = names[feature.axis.column.position]
            paint_line(axes, charts, columns)
            for panel in axes[::columns]:
                panel.set_ylabel(f"mean {self.prediction}", fontsize=SMALL + 1)
            for panel in axes:
                for line in panel.lines:
                    if str(line.get_label()).startswith("_curve"):
                        line.set(**MIDDLE)
                below = name if self.axis is None else drawable(self.axis.name)
                panel.set_xlabel(below, fontsize=SMALL + 1)
            marks = charts[0].marks
            for mark in marks:
                label = drawable(with_minus(mark.name))
                color = drawn.palette.ink
                if self.axis is None:
                    color = drawn.palette.region(mark.regions[0] if mark.regions else None)
                else:
                    label = f"{name} = {label}"
                if number == 0 or self.axis is not None:
                    look = look_of(mark, drawn.palette, joined=True)
                    look |= MIDDLE if mark.shape == "curve" else {}
                    look |= {"color": color}
                    handles.append(key(label, **look))
        of_what = " and ".join(names[feature.axis.column.position] for feature in self.features)
        over = f"{len(self.names)} outputs" if self.axis is None else drawable(self.axis.name)
        headline = f"Effect of {of_what} over {over}"
        if len(self.scopes) > 1:
            headline += f", on all rows and in {len(self.scopes) - 1} regions"
        return self._keep(drawn, ax, headline, handles, (len(self.features), n_panels))

    def _charts(self, feature: ShownFeature) -> list[Chart]:
        """One for each scope along ordered outputs, otherwise one for each output along the feature."""
        if self.axis is None:
            return [self._chart_of_output(feature, number) for number in range(len(self.names))]
        x = np.array(self.axis.x)
        looks = LOOKS if len(feature.texts) == len(LOOKS) else (LOOKS[0], LOOKS[-1])
        charts = []
        for scope, of_scope in zip(self.scopes, feature.means, strict=True):
            marks = []
            for text, (shape, dashed), y in zip(feature.texts, looks, of_scope.T, strict=False):
                marks.append(Mark(shape, text, x, y, dashed=dashed, regions=_colour(scope)))
            charts.append(Chart(self.axis, tuple(marks), title_of(scope)))
        return charts

    def _chart_of_output(self, feature: ShownFeature, number: int) -> Chart:
        marks = []
        for scope, of_scope in zip(self.scopes, feature.means, strict=True):
            mark = Mark(
                "line",
                title_of(scope).replace("\n", " · "),
                feature.x,
                of_scope[number],
                joined=feature.axis.ordered,
                dashed=scope.region is None,
                regions=_colour(scope),
            )
            marks.append(mark)
        return Chart(feature.axis, tuple(marks), drawable(str(self.names[number])))

    def frame(self) -> Any:
        """Everything drawn, one line a point: in the library of X.

        Columns: region (null: all rows), rule, feature, value, output, the axis of the outputs (its name; "place"
        without one), mean.
        """
        heading = "place" if self.axis is None else self.axis.name.replace(" ", "_")
        return framed(f"region rule feature value output {heading} mean", self._lines(), self.table)

    def _lines(self) -> Iterator[tuple[Any, ...]]:
        places = range(len(self.names)) if self.axis is None else self.axis.x
        for feature in self.features:
            for scope, of_scope in zip(self.scopes, feature.means, strict=True):
                head = (scope.region, scope.rule, feature.axis.column.name)
                for text, of_value in zip(feature.texts, of_scope.T, strict=True):
                    points = zip(self.names, places, of_value.tolist(), strict=True)
                    for name, place, mean in points:
                        if not np.isnan(mean):
                            yield (*head, text, str(name), float(place), mean)


def _colour(scope: Scope) -> tuple[int, ...] | None:
    return None if scope.region is None else (scope.region,)


def _axis_of_outputs(model: Any, names: Sequence[Any]) -> FeatureAxis | None:
    """The axis along which outputs are ordered, drawn as that of a feature; None: they have no order."""
    if model.axis is None:
        return None
    values: Any = np.array(model.axis.places)
    if not model.is_survival and all(isinstance(name, str) for name in names):
        values = pd.Categorical(names, categories=list(names), ordered=True)
    table = read_table(pd.DataFrame({model.axis.name: values}), missing="error")
    return FeatureAxis(table.columns[0], most_places=len(names))


class _Shown:
    """Some rows in the regions of a fit, about which the model is asked."""

    def __init__(self, view: FittedGranite, table: Table, weights: FloatArray) -> None:
        self.result = view.result
        self.table = table
        self.weights = weights
        self.scopes = scopes_of(view.result.partition, view.regions(table))

    def feature(self, position: int, points: int | None = None) -> ShownFeature:
        """A feature at a few values, low, middle and high, or at so many points along it."""
        column = self.table.columns[position]
        axis = FeatureAxis.of(self.table, position, points or FEW)
        codes = _few_codes(column) if points is None else grid_codes(column, points)
        x = axis.places(column.levels[codes])
        codes = codes[np.isfinite(x)]
        order = np.argsort(axis.places(column.levels[codes]), kind="stable")
        codes = codes[order]
        texts = [str(level) for level in column.levels[codes]]
        if column.kind == "numeric":
            texts = [f"{float(level):.3g}" for level in column.levels[codes]]
        return ShownFeature(
            axis=axis,
            x=axis.places(column.levels[codes]),
            texts=texts,
            means=self._means(position, codes),
        )

    def _means(self, position: int, codes: IntArray) -> FloatArray:
        """Mean prediction where every row has a value, (scopes, outputs, values)."""
        model = self.result.model
        n_rows = self.table.n_rows
        require_evaluations(self.result.settings.resources, n_rows * len(codes))
        column = self.table.columns[position]
        donors = self.table.take(carriers(column, codes))
        rows = np.tile(np.arange(n_rows), len(codes))
        places = np.repeat(np.arange(len(codes)), n_rows)
        on_scale = model.recombined_outputs(self.table, rows, donors, places, [position])
        predictions = np.stack(
            [
                output.scale.back(values).reshape(len(codes), n_rows)
                for output, values in zip(model.outputs.values(), on_scale, strict=True)
            ]
        )
        means = []
        for scope in self.scopes:
            weights = self.weights[scope.rows]
            of_scope = np.average(predictions[:, :, scope.rows], axis=2, weights=weights)
            present = np.unique(column.codes[scope.rows])
            occurs = np.isin(codes, present)
            if column.is_ordered:
                occurs = (codes >= present.min()) & (codes <= present.max())
            means.append(np.where(occurs, of_scope, np.nan))
        return np.stack(means)


def _few_codes(column: Column) -> IntArray:
    """Levels near the 10th, 50th and 90th percentile of an ordered feature; the most frequent ones of others."""
    n_levels = len(column.levels)
    if n_levels <= FEW:
        return np.arange(n_levels, dtype=np.intp)
    if column.is_ordered:
        present = np.sort(column.codes[column.codes >= 0])
        return np.unique(present[(np.array([0.1, 0.5, 0.9]) * (len(present) - 1)).astype(np.intp)])
    counts = np.bincount(column.codes[column.codes >= 0], minlength=n_levels)
    return np.sort(np.argsort(-counts, kind="stable")[:FEW])
