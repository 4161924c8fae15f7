"""InteractionDisplay: which features act together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granite_xai.algebra.behavior import Behavior, Local, Sensitivity
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Individual, Interactions
from granite_xai.algebra.interaction import INTERACTIONS, Interaction
from granite_xai.algebra.masking import Marginal, Masking
from granite_xai.base.errors import InputError
from granite_xai.base.options import choose, whole_number
from granite_xai.base.text import drawable, shortened
from granite_xai.base.typing import FloatArray
from granite_xai.display.axis import Axis
from granite_xai.display.figures import SMALL, Drawn, framed, grid_of, set_title, sheet
from granite_xai.display.interaction_heatmap import LONGEST_NAME, draw_heatmaps
from granite_xai.display.interaction_network import (
    LINE_ALPHA,
    WIDEST_LINE,
    LargestInfluences,
    draw_network,
)
from granite_xai.display.interaction_surface import Surface, draw_surfaces, surface_of
from granite_xai.document.chart import BLUE, ORANGE
from granite_xai.results.values import MEASURES, Scope, Values, chosen_question
from granite_xai.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Panel(NamedTuple):
    """The size of a panel in inches, and how many stand side by side."""

    width: float
    height: float
    most_columns: int


PANELS = {
    "network": _Panel(width=3.3, height=3.2, most_columns=4),
    "heatmap": _Panel(width=3.0, height=3.3, most_columns=4),
    "surface": _Panel(width=2.7, height=2.9, most_columns=5),
}
KINDS = {"network": "network", "heatmap": "heatmap"}


class _Surroundings(NamedTuple):
    """What belongs around the panels of a figure, once they are drawn."""

    headline: str
    legend: list[Any]
    colors: Any  # what a colour bar explains; None: there is no bar


@dataclass(eq=False)
class InteractionDisplay(Drawn):
    """First- and second-order influences of features, on all rows and in each region; or the surface of one pair.

    The diagonal (discs) is what a feature does alone, ``Delta(i)``; off the diagonal (lines) what two features do only
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
    matrices: FloatArray = field(repr=False)  # (scopes, features, features); none for a pair
    surfaces: tuple[Surface, ...] = field(repr=False)  # of a pair, one a scope
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
        g, X, sample_weight
            As in `EffectDisplay.from_estimator`.
        max_samples : int, optional
            Rows used, at most. None: as many as the fit used, but no more than 500.
        y : array, optional
            The target; needed for risk.
        features : sequence of labels, optional
            None: the ``max_features`` features with the largest full influence.
        pair : two labels, optional
            Show the surface of their pure interaction effect instead.
        interaction : "pure", "partial" or "full"
            How much of the higher orders a pair is credited with; "partial" is Shapley-Taylor.
        question : str, optional
            Whose masking and behavior count, for an estimator with several; None: the first.
        max_features, points : int
            Features shown, and places along each side of a surface, at most.
        """
        masking, behavior = _masking_and_behavior(chosen_question(g, question).question.second)
        whole_number("max_features", max_features, at_least=1)
        operator = choose("interaction", interaction, INTERACTIONS)
        sides = [Explainer(masking, behavior)] if pair is None else []
        rows = Values.of_rows(g, X, y, sides, max_samples, sample_weight, by_pairs=True)
        table = rows.table
        if pair is not None:
            return cls._of_pair(rows, pair, points)
        if features is None:
            names = _strongest_features(rows, masking, behavior, max_features)
        else:
            names = [table.names[table.resolve(label, "features")] for label in features]
        return cls(
            names=tuple(names),
            scopes=rows.scopes,
            matrices=_influences(rows, masking, behavior, operator, names),
            surfaces=(),
            axes_of_pair=(),
            behavior=behavior.key,
            table=table,
        )

    @classmethod
    def _of_pair(cls, rows: Values, pair: Sequence[Hashable], points: int) -> InteractionDisplay:
        """The surfaces of two features."""
        table = rows.table
        positions = [table.resolve(label, "pair") for label in pair]
        if len(positions) != 2 or positions[0] == positions[1]:
            raise InputError(
                f"pair={pair!r} is not two features.",
                code="P02",
                argument="pair",
                hint='Pass pair=("hr", "temp").',
            )
        across = Axis.of(table, positions[0])
        up = Axis.of(table, positions[1])
        surfaces = [surface_of(rows, scope, across, up, points) for scope in rows.scopes]
        return cls(
            names=tuple(table.names[position] for position in positions),
            scopes=rows.scopes,
            matrices=np.zeros((0, 2, 2)),
            surfaces=tuple(surfaces),
            axes_of_pair=(across, up),
            behavior=Local.key,
            table=table,
        )

    def plot(self, ax: Any = None, *, kind: str = "network") -> InteractionDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax
            As in `EffectDisplay.plot`.
        kind : "network" or "heatmap"
            A pair is always a surface.
        """
        kind = "surface" if self.surfaces else choose("kind", kind, KINDS)
        panel = PANELS[kind]
        lines, columns = grid_of(len(self.scopes), panel.most_columns)
        names_inches = 0.0
        if kind == "heatmap":
            n_letters = max(len(name) for name in self.names)
            names_inches = 0.08 * min(LONGEST_NAME, n_letters)
        width = max(5.2, panel.width * columns) + 0.8 + names_inches
        height = panel.height * lines + 0.9 + names_inches
        drawn = sheet(ax, range(len(self.scopes)), (lines, columns), (width, height))
        for axes, scope in zip(drawn.axes, self.scopes, strict=True):
            set_title(axes, scope)
        if kind == "network":
            surroundings = self._draw_networks(drawn.axes)
        elif kind == "heatmap":
            surroundings = self._draw_heatmaps(drawn.axes, drawn.columns)
        else:
            surroundings = self._draw_surfaces(drawn.axes, drawn.columns)
        if surroundings.colors is not None:
            bar = drawn.figure.colorbar(
                surroundings.colors, ax=list(drawn.axes), shrink=0.8, pad=0.02
            )
            measure = "interaction effect" if kind == "surface" else MEASURES[self.behavior]
            bar.set_label(measure, fontsize=SMALL + 1)
            bar.ax.tick_params(labelsize=SMALL)
        return self._keep(drawn, ax, surroundings.headline, surroundings.legend)

    @property
    def _largest(self) -> LargestInfluences:
        """The largest influences of any scope; 1 where all are 0."""
        sizes = np.abs(self.matrices)
        is_alone = np.eye(len(self.names), dtype=bool)
        return LargestInfluences(
            alone=float(sizes[:, is_alone].max()) or 1.0,
            together=float(sizes[:, ~is_alone].max(initial=0.0)) or 1.0,
        )

    @property
    def _is_signed(self) -> bool:
        """Whether influences may be negative; the mean size of a local effect never is."""
        return self.behavior != Local.key

    def _draw_networks(self, axes: Sequence[Axes]) -> _Surroundings:
        from matplotlib.lines import Line2D

        largest = self._largest
        for ax, matrix in zip(axes, self.matrices, strict=True):
            draw_network(ax, self.names, matrix, largest)
        legend = [
            Line2D(
                [],
                [],
                linestyle="none",
                marker="o",
                markersize=11,
                color=BLUE,
                label=f"feature alone: up to {_number_text(largest.alone)}",
            ),
            Line2D(
                [],
                [],
                linewidth=WIDEST_LINE / 2,
                color=BLUE,
                alpha=LINE_ALPHA,
                label=f"pair together: up to {_number_text(largest.together)}",
            ),
        ]
        if self._is_signed and (self.matrices < 0).any():
            overlapping = Line2D(
                [],
                [],
                linewidth=WIDEST_LINE / 2,
                color=ORANGE,
                alpha=0.7,
                label="negative: they overlap",
            )
            legend.append(overlapping)
        measure = MEASURES[self.behavior]
        return _Surroundings(
            headline=f"What features do alone (discs) and only together (lines): {measure}",
            legend=legend,
            colors=None,
        )

    def _draw_heatmaps(self, axes: Sequence[Axes], columns: int) -> _Surroundings:
        colors = draw_heatmaps(
            axes,
            self.names,
            self.matrices,
            largest=max(self._largest),
            signed=self._is_signed,
            columns=columns,
        )
        return _Surroundings(
            headline="What features do alone (diagonal) and only together (below it)",
            legend=[],
            colors=colors,
        )

    def _draw_surfaces(self, axes: Sequence[Axes], columns: int) -> _Surroundings:
        colors = draw_surfaces(axes, self.surfaces, self.axes_of_pair, columns)
        names = " and ".join(drawable(shortened(name, 40)) for name in self.names)
        return _Surroundings(
            headline=f"What {names} do to the prediction only together", legend=[], colors=colors
        )

    def frame(self) -> Any:
        """Everything drawn: in the library of X.

        For influences one line a feature (first equals second) and pair: region (null: all rows), rule, first, second,
        value. For a surface one line a cell: region, rule, x, x_level, y, y_level, value.
        """
        lines: list[tuple[Any, ...]] = []
        if self.surfaces:
            for scope, surface in zip(self.scopes, self.surfaces, strict=True):
                for *place, value in surface.cells():
                    lines.append((scope.region, scope.rule, *place, float(value)))
            return framed("region rule x x_level y y_level value", lines, self.table)
        numbers = range(len(self.names))
        singles = [(number, number) for number in numbers]
        for scope, matrix in zip(self.scopes, self.matrices, strict=True):
            for first, second in [*singles, *combinations(numbers, 2)]:
                names = (self.names[first], self.names[second])
                lines.append((scope.region, scope.rule, *names, float(matrix[first, second])))
        return framed("region rule first second value", lines, self.table)


def _number_text(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _masking_and_behavior(explainer: Explainer) -> tuple[Masking, Behavior]:
    """Those of an explanation, as far as pairs are defined for them."""
    masking = explainer.masking if explainer.masking.hides else Marginal()
    behavior = explainer.behavior
    if isinstance(behavior, Sensitivity):
        behavior = Sensitivity("difference")
    return masking, behavior


def _strongest_features(
    rows: Values, masking: Masking, behavior: Behavior, max_features: int
) -> list[str]:
    """Features with the largest full influence on all rows, which contains their interactions."""
    names = rows.table.names
    if len(names) <= max_features:
        return list(names)
    on_all_rows = rows.explained([Explainer(masking, behavior, "full")], most=1).scopes[0]
    strongest = np.argsort(-np.abs(on_all_rows.size_of(0)), kind="stable")[:max_features]
    return [names[position] for position in sorted(strongest.tolist())]


def _influences(
    rows: Values,
    masking: Masking,
    behavior: Behavior,
    interaction: Interaction,
    names: Sequence[str],
) -> FloatArray:
    """Influences of features alone (the diagonal) and of their pairs, (scopes, features, features)."""
    pairs = list(combinations(range(len(names)), 2))
    explainers = [Explainer(masking, behavior, "pure", Individual(list(names)))]
    if pairs:
        sets = Interactions(2, [(names[first], names[second]) for first, second in pairs])
        explainers.append(Explainer(masking, behavior, interaction, sets))
    matrices = []
    for values in rows.explained(explainers).scopes:
        matrix = np.diag(values.size_of(0))
        if pairs:
            for (first, second), value in zip(pairs, values.size_of(1), strict=True):
                matrix[first, second] = value
                matrix[second, first] = value
        matrices.append(matrix)
    return np.stack(matrices)
