"""InteractionDisplay: which columns act together, as a network, a heat map, or the surface of one pair."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose, whole_number
from granite_xai.base.typing import FloatArray
from granite_xai.base.wording import drawable, shortened
from granite_xai.behavior import Behavior, Local, Sensitivity
from granite_xai.display import graphs
from granite_xai.display.axis import Axis
from granite_xai.display.figures import SMALL, Drawn, Sheet, framed, grid_of, set_title, sheet
from granite_xai.explainer import Explainer
from granite_xai.influence import Individual, Interactions
from granite_xai.interaction import INTERACTIONS, Interaction
from granite_xai.masking import Marginal, Masking
from granite_xai.scopes import MEASURES, RowsToShow, Scope, chosen_question
from granite_xai.tables import Table

KINDS = {"network": "network", "heatmap": "heatmap"}


@dataclass(eq=False)
class InteractionDisplay(Drawn):
    """First- and second-order influences of columns, on all rows and in each region; or the surface of one pair.

    The diagonal (discs) is what a column does alone, ``Delta(i)``; off the diagonal (edges) what two columns do only
    together, ``Delta(ij)``, or their Shapley-Taylor interaction. Make it with `from_estimator`.

    Attributes
    ----------
    figure_ : Figure
    axes_ : array of Axes
        All rows first, then each region.
    ax_ : Axes
        The one that was given, otherwise the first.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=60)
    >>> g = gx.Granite(toy.model, "variance").fit(toy.X)
    >>> display = InteractionDisplay.from_estimator(g, toy.X)
    >>> pairs = display.frame().query("first != second and rule == 'all rows'")
    >>> pairs.loc[pairs["value"].idxmax(), ["first", "second"]].tolist()
    ['x1', 'x2']
    """

    names: tuple[str, ...]
    scopes: tuple[Scope, ...] = field(repr=False)
    matrices: FloatArray = field(repr=False)
    surfaces: tuple[graphs.Surface, ...] = field(repr=False)
    axes_of_pair: tuple[Axis, ...] = field(repr=False)
    behavior: str
    table: Table = field(repr=False)

    @classmethod
    def from_estimator(
        cls,
        g: Any,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[Hashable] | None = None,
        pair: tuple[Hashable, Hashable] | None = None,
        interaction: str = "pure",
        question: str | None = None,
        max_features: int = 10,
        points: int = 20,
        max_samples: int | None = None,
        sample_weight: Any = None,
    ) -> InteractionDisplay:
        """Compute the influences.

        Parameters
        ----------
        g : Granite
            Fitted.
        X : table
            Rows that are explained, and the reference in their region.
        y : array, optional
            The target; needed for risk.
        features : columns, optional
            None: the ``max_features`` columns with the largest full influence.
        pair : two columns, optional
            Show the surface of their pure interaction effect instead.
        interaction : "pure", "partial" or "full"
            How much of the higher orders a pair is credited with; "partial" is Shapley-Taylor.
        question : str, optional
            Whose masking and behavior count, for an estimator with several; None: the first.
        max_features, points : int
            Columns shown, and places along each side of a surface, at most.
        sample_weight : array, optional
            Weights of the rows; those of weight 0 are left out.
        max_samples : int, optional
            Rows used, at most. None: as many as the fit used.
        """
        side = chosen_question(g, question).question.second  # as far as pairs are defined for it
        masking = side.masking if side.masking.hides else Marginal()
        behavior = Sensitivity("difference") if isinstance(side.behavior, Sensitivity) else side.behavior
        whole_number("max_features", max_features, at_least=1)
        operator = choose("interaction", interaction, INTERACTIONS)
        shown = RowsToShow.of(
            g, X, y, [] if pair is not None else [Explainer(masking, behavior)], max_samples, sample_weight
        )
        table = shown.table
        if pair is not None:
            axes = tuple(Axis.of(table, i) for i in _positions(table, pair))
            surfaces = tuple(graphs.surface(shown, scope, axes[0], axes[1], points) for scope in shown.scopes)
            names = [axis.column.name for axis in axes]
            return cls(tuple(names), shown.scopes, np.zeros((0, 2, 2)), surfaces, axes, Local.key, table)
        if features is None:
            names = _strongest(shown, masking, behavior, max_features)
        else:
            names = [table.names[table.resolve(label, "features")] for label in features]
        matrices = _influences(shown, masking, behavior, operator, names)
        return cls(tuple(names), shown.scopes, matrices, (), (), behavior.key, table)

    def plot(self, ax: Any = None, *, kind: str = "network") -> InteractionDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            Where: its place is divided among the panels, or one Axes a panel. None: a new figure.
        kind : "network" or "heatmap"
            For influences; a pair is always a surface.
        """
        kind = "surface" if self.surfaces else choose("kind", kind, KINDS)
        grid = grid_of(len(self.scopes), 5 if kind == "surface" else 4)
        size = {"network": (3.3, 3.2), "heatmap": (3.0, 3.3), "surface": (2.7, 2.9)}[kind]
        label = 0.08 * min(graphs.HEAT_LABEL, max(map(len, self.names))) if kind == "heatmap" else 0.0
        inches = (max(5.2, size[0] * grid[1]) + 0.8 + label, size[1] * grid[0] + 0.9 + label)
        drawn = sheet(ax, range(len(self.scopes)), grid, inches)
        for each, scope in zip(drawn.axes, self.scopes, strict=True):
            set_title(each, scope)
        painters = {"network": self._network, "heatmap": self._heatmap, "surface": self._surface}
        self._keep(drawn, ax, *painters[kind](drawn))
        return self

    @property
    def _signed(self) -> bool:
        return self.behavior != Local.key

    def _network(self, drawn: Sheet) -> tuple[str, list[Any]]:
        for ax, matrix in zip(drawn.axes, self.matrices, strict=True):
            graphs.draw_network(ax, self.names, matrix, self._tops)
        headline = f"What columns do alone (discs) and only together (lines): {MEASURES[self.behavior]}"
        return headline, graphs.network_handles(self._tops, self._signed and bool((self.matrices < 0).any()))

    @property
    def _tops(self) -> tuple[float, float]:
        """The largest first- and second-order influence of any scope."""
        sizes = np.abs(self.matrices)
        alone = np.eye(len(self.names), dtype=bool)
        return float(sizes[:, alone].max()) or 1.0, float(sizes[:, ~alone].max(initial=0.0)) or 1.0

    def _heatmap(self, drawn: Sheet) -> tuple[str, list[Any]]:
        for i, (ax, matrix) in enumerate(zip(drawn.axes, self.matrices, strict=True)):
            graphs.draw_heatmap(ax, self.names, matrix, max(self._tops), self._signed)
            ax.tick_params(labelleft=drawn.first_of_line(i), labelbottom=i + drawn.columns >= len(drawn.axes))
        self._colors(drawn, drawn.axes[0].images[0], MEASURES[self.behavior])
        return "What columns do alone (diagonal) and only together (below it)", []

    def _surface(self, drawn: Sheet) -> tuple[str, list[Any]]:
        top = max(float(np.abs(each.values).max(initial=0.0)) for each in self.surfaces) or 1.0
        for i, (ax, each) in enumerate(zip(drawn.axes, self.surfaces, strict=True)):
            graphs.draw_surface(ax, each, self.axes_of_pair[0], self.axes_of_pair[1], top)
            ax.tick_params(labelleft=drawn.first_of_line(i))
            if not drawn.first_of_line(i):
                ax.set_ylabel("")
        names = " and ".join(drawable(shortened(name, 40)) for name in self.names)
        self._colors(drawn, drawn.axes[0].collections[0], "interaction effect")
        return f"What {names} do to the prediction only together", []

    def _colors(self, drawn: Sheet, image: Any, label: str) -> None:
        bar = drawn.figure.colorbar(image, ax=list(drawn.axes), shrink=0.8, pad=0.02)
        bar.set_label(label, fontsize=SMALL + 1)
        bar.ax.tick_params(labelsize=SMALL)

    def frame(self) -> Any:
        """Everything drawn: in the library of X.

        For influences one line a column (first equals second) and pair: region (null: all rows), rule, first, second,
        value. For a surface one line a cell: region, rule, x, x_level, y, y_level, value.
        """
        keys = "region rule x x_level y y_level value" if self.surfaces else "region rule first second value"
        cells = [self._cells(each) for each in self.surfaces] or [self._pairs(matrix) for matrix in self.matrices]
        told = zip(self.scopes, cells, strict=True)
        return framed(keys, ((scope.region, scope.rule, *line) for scope, lines in told for line in lines), self.table)

    def _pairs(self, matrix: FloatArray) -> Iterator[tuple[Any, ...]]:
        count = range(len(self.names))
        for i, j in [*((i, i) for i in count), *combinations(count, 2)]:
            yield self.names[i], self.names[j], float(matrix[i, j])

    def _cells(self, each: graphs.Surface) -> Iterator[tuple[Any, ...]]:
        for (j, i), value in np.ndenumerate(each.values):
            yield float(each.x[i]), each.x_levels[i], float(each.y[j]), each.y_levels[j], float(value)


def _positions(table: Table, pair: Any) -> tuple[int, int]:
    found = [table.resolve(label, "pair") for label in pair]
    if len(found) != 2 or found[0] == found[1]:
        raise InputError(
            f"pair={pair!r} is not two columns.", code="P02", argument="pair", hint='Pass pair=("hr", "temp").'
        )
    return found[0], found[1]


def _strongest(shown: RowsToShow, masking: Masking, behavior: Behavior, most: int) -> list[str]:
    """Columns with the largest full influence on all rows, which contains their interactions."""
    names = shown.table.names
    if len(names) <= most:
        return list(names)
    everywhere = shown.values([Explainer(masking, behavior, "full")], most=1).regions[0]
    order = np.argsort(-np.abs(everywhere.size_of(0)), kind="stable")[:most]
    return [names[i] for i in sorted(order.tolist())]


def _influences(
    shown: RowsToShow, masking: Masking, behavior: Behavior, interaction: Interaction, columns: Sequence[str]
) -> FloatArray:
    """First-order (pure, on the diagonal) and second-order influences of some columns: a matrix for each scope."""
    pairs = list(combinations(range(len(columns)), 2))
    sides = [Explainer(masking, behavior, "pure", Individual(list(columns)))]
    if pairs:
        sets = Interactions(2, [(columns[i], columns[j]) for i, j in pairs])
        sides.append(Explainer(masking, behavior, interaction, sets))
    regions = shown.values(sides).regions
    matrices = np.stack([np.diag(values.size_of(0)) for values in regions])
    for matrix, values in zip(matrices, regions, strict=True):
        for (i, j), value in zip(pairs, values.size_of(1) if pairs else (), strict=True):
            matrix[i, j] = matrix[j, i] = value
    return matrices
