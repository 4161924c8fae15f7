"""EffectDisplay: how single columns move the prediction, on all rows and in each region."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.options import whole_number
from granite_xai.display.figures import Sheet, grid_of, sheet
from granite_xai.display.panel import draw_panel, handles
from granite_xai.display.panels import MOST_CURVES, Panel, cells_of, panels_of, sides_shown, strip_of, strongest
from granite_xai.display.places import Places
from granite_xai.display.rows import Reader, chosen_comparison, see
from granite_xai.display.words import familiar, shown, told_apart
from granite_xai.estimator import fitted_view
from granite_xai.explainer import Explainer
from granite_xai.influence import Individual
from granite_xai.tables import frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from granite_xai.tables import Table


@dataclass(eq=False)
class EffectDisplay:
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
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

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
        max_samples : int, optional
            Rows used, at most. None: as many as the fit used.
        """
        comparison = chosen_comparison(fitted_view(g).result, question)
        sides = sides_shown((comparison.question.first, comparison.question.second), explanations)
        whole_number("max_curves", max_curves, at_least=0, at_most=MOST_CURVES)
        whole_number("max_features", max_features, at_least=1)
        seen = see(g, X, None, sides, max_samples)
        chosen = None if features is None else [seen.table.names[seen.table.resolve(f, "features")] for f in features]
        sides = tuple(side.with_influence(Individual(chosen)) for side in sides)
        reader = Reader(seen, sides)
        readings = [reader.read(area) for area in seen.areas]
        columns = reader.effects[0].layout.labels
        order = range(len(columns)) if features is not None else strongest(readings[0], comparison.loss, max_features)
        panels = []
        for place in order:
            position = seen.table.names.index(columns[place][0])
            places = Places.of(seen.table, position)
            strips = [strip_of(reader, reading, places, points, max_curves) for reading in readings]
            panels.append(panels_of(reader, sides, strips, place, comparison.loss))
        return cls(tuple(panels), tuple(reader.names), seen.fitted.predictor.label, seen.table)

    def plot(self, ax: Any = None) -> EffectDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            Where: its place is divided among the panels, or one Axes a panel. None: a new figure.
        """
        areas = len(self.panels[0])
        lines, columns = grid_of(areas)
        grid = (lines * len(self.panels), columns)
        places = [k * lines * columns + i for k in range(len(self.panels)) for i in range(areas)]
        size = (max(5.2, 2.6 * columns + 0.6), 2.9 * grid[0] + 0.9)
        drawn = sheet(ax, len(places), grid, size, places)
        for k, panels in enumerate(self.panels):
            self._line(drawn, panels, drawn.axes[k * areas : (k + 1) * areas])
        drawn.headline(self._headline())
        drawn.legend(handles(self.names, self.panels[0][0].lines))
        drawn.settle()
        self.figure_, self.axes_ = drawn.figure, np.array(drawn.axes, dtype=object).reshape(len(self.panels), areas)
        self.ax_ = self.axes_[0, 0] if ax is None or not hasattr(ax, "figure") else ax
        return self

    def _line(self, drawn: Sheet, panels: Sequence[Panel], axes: Sequence[Axes]) -> None:
        values = [line.y for panel in panels for line in panel.lines if line.shape != "bars"]
        every = np.concatenate(values) if values else np.zeros(1)
        low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
        span = high - low if high > low else 1.0
        short = told_apart(self.table.names, 24)
        for i, (panel, ax) in enumerate(zip(panels, axes, strict=True)):
            draw_panel(ax, panel, self.names)
            ax.set_ylim(low - 0.22 * span, high + 0.16 * span)
            first = i % drawn.columns == 0
            ax.tick_params(labelleft=first and len(values) > 0, left=len(values) > 0)
            if first:
                what = "prediction" if self.prediction == "predict" else shown(self.prediction, 40)
                name = short[panel.places.column.position]
                ax.set_ylabel(f"effect of {name}\non the {what}", fontsize=8.5)

    def _headline(self) -> str:
        names = " and ".join(familiar(name) for name in self.names)
        count = len(self.panels[0]) - 1
        where = f"on all rows and in {count} regions" if count else "on all rows; there is one region"
        moral = ": where the lines agree, either explanation will do" if len(self.names) > 1 else ""
        return f"{names[:1].upper()}{names[1:]} {where}{moral}"

    def frame(self) -> Any:
        """Everything drawn, one line a point: in the library of X.

        Columns: region (null: all rows), rule, feature, explanation ("rows": the bars that show the data;
        "disagreement": the share in the panel's corner), shape, curve (number of a thin line), x (place on the axis),
        x_end (bars), level (name on the axis; null for numbers), value.
        """
        keys = ("region", "rule", "feature", "explanation", "shape", "curve", "x", "x_end", "level", "value")
        data: dict[str, list[Any]] = {key: [] for key in keys}
        for panel in (panel for panels in self.panels for panel in panels):
            for cells in cells_of(panel):
                where = (panel.area.region, panel.area.rule, panel.places.column.name)
                for key, cell in zip(keys, (*where, *cells), strict=True):
                    data[key].append(cell)
        return frame(data, like=self.table)
