"""InteractionDisplay: which columns act together, as a network, a heat map, or the surface of one pair."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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

    Attributes are those of `EffectDisplay`; ``axes_`` holds all rows first, then each region.

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
        g, X, max_samples, sample_weight
            As in `EffectDisplay.from_estimator`.
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
        """
        side = chosen_question(g, question).question.second  # as far as pairs are defined for it
        masking = side.masking if side.masking.hides else Marginal()
        behavior = Sensitivity("difference") if isinstance(side.behavior, Sensitivity) else side.behavior
        whole_number("max_features", max_features, at_least=1)
        operator = choose("interaction", interaction, INTERACTIONS)
        sides = [Explainer(masking, behavior)] if pair is None else []
        table = (shown := RowsToShow.of(g, X, y, sides, max_samples, sample_weight)).table
        if pair is not None:
            places = [table.resolve(label, "pair") for label in pair]
            if len(places) != 2 or places[0] == places[1]:
                text, hint = f"pair={pair!r} is not two columns.", 'Pass pair=("hr", "temp").'
                raise InputError(text, code="P02", argument="pair", hint=hint)
            axes = tuple(Axis.of(table, i) for i in places)
            surfaces = tuple(graphs.surface(shown, scope, axes[0], axes[1], points) for scope in shown.scopes)
            both = tuple(table.names[i] for i in places), shown.scopes, np.zeros((0, 2, 2))
            return cls(*both, surfaces, axes, Local.key, table)
        asked = [table.names[table.resolve(label, "features")] for label in features or ()]
        names = _strongest(shown, masking, behavior, max_features) if features is None else asked
        matrices = _influences(shown, masking, behavior, operator, names)
        return cls(tuple(names), shown.scopes, matrices, (), (), behavior.key, table)

    def plot(self, ax: Any = None, *, kind: str = "network") -> InteractionDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            As in `EffectDisplay.plot`.
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

    def _network(self, drawn: Sheet) -> tuple[str, list[Any]]:
        for ax, matrix in zip(drawn.axes, self.matrices, strict=True):
            graphs.draw_network(ax, self.names, matrix, self._tops)
        headline = f"What columns do alone (discs) and only together (lines): {MEASURES[self.behavior]}"
        negative = self.behavior != Local.key and bool((self.matrices < 0).any())
        return headline, graphs.network_handles(self._tops, negative)

    @property
    def _tops(self) -> tuple[float, float]:
        """The largest first- and second-order influence of any scope."""
        sizes, alone = np.abs(self.matrices), np.eye(len(self.names), dtype=bool)
        return float(sizes[:, alone].max()) or 1.0, float(sizes[:, ~alone].max(initial=0.0)) or 1.0

    def _heatmap(self, drawn: Sheet) -> tuple[str, list[Any]]:
        for i, (ax, matrix) in enumerate(zip(drawn.axes, self.matrices, strict=True)):
            graphs.draw_heatmap(ax, self.names, matrix, max(self._tops), self.behavior != Local.key)
            ax.tick_params(labelleft=i % drawn.columns == 0, labelbottom=i + drawn.columns >= len(drawn.axes))
        self._colors(drawn, drawn.axes[0].images[0], MEASURES[self.behavior])
        return "What columns do alone (diagonal) and only together (below it)", []

    def _surface(self, drawn: Sheet) -> tuple[str, list[Any]]:
        top = max(float(np.abs(each.values).max(initial=0.0)) for each in self.surfaces) or 1.0
        for i, (ax, each) in enumerate(zip(drawn.axes, self.surfaces, strict=True)):
            graphs.draw_surface(ax, each, self.axes_of_pair[0], self.axes_of_pair[1], top)
            ax.tick_params(labelleft=i % drawn.columns == 0)
            if i % drawn.columns:
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
        pairs = [(i, i) for i in range(len(self.names))] + list(combinations(range(len(self.names)), 2))
        alone = [[(self.names[i], self.names[j], matrix[i, j]) for i, j in pairs] for matrix in self.matrices]
        told = zip(self.scopes, [each.cells() for each in self.surfaces] or alone, strict=True)
        lines = ((s.region, s.rule, *head, float(value)) for s, cells in told for *head, value in cells)
        return framed(keys, lines, self.table)


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
