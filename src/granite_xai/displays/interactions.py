"""InteractionDisplay: which features act together, as a network, a heat map, or the surface of a pair."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from granite_xai.algebra.behavior import Behavior, Local, Sensitivity
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Individual, Interactions
from granite_xai.algebra.interaction import INTERACTIONS, Interaction
from granite_xai.algebra.masking import Marginal, Masking
from granite_xai.base.errors import InputError
from granite_xai.base.limits import require_evaluations
from granite_xai.base.numbers import amount
from granite_xai.base.options import choose, whole_number
from granite_xai.base.text import wrapped
from granite_xai.base.typing import FloatArray
from granite_xai.curves.grids import ice_curves
from granite_xai.displays.effects import LevelsShown
from granite_xai.displays.shown import shown_scopes, title_of
from granite_xai.document.chart import BLUE, GREY, ORANGE, FeatureAxis
from granite_xai.document.figure import (
    SMALL,
    Axes,
    Drawn,
    Palette,
    drawn_labels,
    dress,
    framed,
    grid_of,
    key,
    most_columns,
    set_title,
    sheet,
)
from granite_xai.results.values import MEASURES, Scope, Values, chosen_question
from granite_xai.tables import Table, read_table, recombine

KINDS = {"network": "network", "heatmap": "heatmap"}
PANELS = {"network": (3.3, 3.2, 4), "heatmap": (3.0, 3.3, 4), "surface": (2.7, 2.9, 5)}
"""Inches of a panel, and how many stand side by side."""

LONGEST_NAME = 20  # letters of a name beside a heat map
MOST_NUMBERED = 10  # features of a heat map whose cells have numbers; more would not be legible
WIDEST_LINE = 9.0  # points, of the strongest pair
LARGEST_DISC = 900.0  # square points, of the strongest feature
LINE_ALPHA = 0.55
ROUNDING = 1e-12  # share of the largest prediction below which an effect is none
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """What a pair of features does only together in one scope, at the values that occur there, (up, across).

    Delta(g, h) = F_ij(g, h) - F_i(g) - F_j(h) + mean F,   each F_T the mean over the rows of the scope
    """

    across: LevelsShown
    up: LevelsShown
    values: FloatArray


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
    axes_of_pair: tuple[FeatureAxis, ...] = field(repr=False)
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
        explainer = chosen_question(g, question).question.second
        masking = explainer.masking if explainer.masking.hides else Marginal()
        behavior = explainer.behavior
        if isinstance(behavior, Sensitivity):
            behavior = Sensitivity("difference")
        whole_number("max_features", max_features, at_least=1)
        operator = choose("interaction", interaction, INTERACTIONS)
        sides = [Explainer(masking, behavior)] if pair is None else []
        shown = Values.of_rows(g, X, y, sides, max_samples, sample_weight, by_pairs=True)
        table = shown.table
        if pair is not None:
            return cls._of_pair(shown, pair, points)
        if features is not None:
            names = [table.names[table.resolve(label, "features")] for label in features]
        elif len(table.names) <= max_features:
            names = list(table.names)
        else:  # a full influence contains what a feature does with others
            whole = shown.explained([Explainer(masking, behavior, "full")], most=1).scopes[0]
            strongest = np.argsort(-np.abs(whole.size_of(0)), kind="stable")[:max_features]
            names = [table.names[position] for position in sorted(strongest.tolist())]
        return cls(
            names=tuple(names),
            scopes=shown_scopes(shown),
            matrices=_influences(shown, masking, behavior, operator, names),
            surfaces=(),
            axes_of_pair=(),
            behavior=behavior.key,
            table=table,
        )

    @classmethod
    def _of_pair(cls, shown: Values, pair: Sequence[Hashable], points: int) -> InteractionDisplay:
        """The surfaces of two features."""
        table = shown.table
        positions = [table.resolve(label, "pair") for label in pair]
        if len(positions) != 2 or positions[0] == positions[1]:
            raise InputError(
                f"pair={pair!r} is not two features.",
                code="P02",
                argument="pair",
                hint='Pass pair=("hr", "temp").',
            )
        across, up = (FeatureAxis.of(table, position, points) for position in positions)
        surfaces = [_surface_of(shown, scope, across, up, points) for scope in shown.scopes]
        return cls(
            names=tuple(table.names[position] for position in positions),
            scopes=shown_scopes(shown),
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
        width, height, most = PANELS[kind]
        grid = grid_of(len(self.scopes), most_columns(ax, width - 0.8, most))
        names_inches = 0.0
        if kind == "heatmap":
            names_inches = 0.08 * min(LONGEST_NAME, max(map(len, self.names)))
        size = (
            max(5.2, width * grid[1]) + 0.8 + names_inches,
            height * grid[0] + 0.9 + names_inches,
        )
        drawn = sheet(ax, range(len(self.scopes)), grid, size)
        for panel, scope in zip(drawn.axes, self.scopes, strict=True):
            set_title(panel, title_of(scope))
        measure = MEASURES[self.behavior]
        legend: list[Any] = []
        colors = None
        if kind == "network":
            labels = [wrapped(label, 14, 4) for label in drawn_labels(self.names, 32)]
            for panel, matrix in zip(drawn.axes, self.matrices, strict=True):
                _draw_network(panel, labels, matrix, *self._largest, drawn.palette)
            legend = self._legend()
            headline = f"What features do alone (discs) and only together (lines): {measure}"
        elif kind == "heatmap":
            colors = self._draw_heatmaps(drawn.axes, drawn.columns, drawn.palette)
            headline = "What features do alone (diagonal) and only together (below it)"
        else:
            colors = self._draw_surfaces(drawn.axes, drawn.columns, drawn.palette)
            names = " and ".join(drawn_labels(self.names, 40))
            headline = f"What {names} do to the prediction only together"
            measure = "interaction effect"
        if colors is not None:
            bar = drawn.figure.colorbar(colors, ax=list(drawn.axes), shrink=0.8, pad=0.02)
            bar.set_label(measure, fontsize=SMALL + 1)
            bar.ax.tick_params(labelsize=SMALL)
        return self._keep(drawn, ax, headline, legend)

    @property
    def _largest(self) -> tuple[float, float]:
        """The largest influence of a feature alone and of a pair in any scope; 1 where all are 0."""
        sizes = np.abs(self.matrices)
        alone = np.eye(len(self.names), dtype=bool)
        return (
            float(sizes[:, alone].max()) or 1.0,
            float(sizes[:, ~alone].max(initial=0.0)) or 1.0,
        )

    def _legend(self) -> list[Any]:
        alone, together = self._largest
        line: dict[str, Any] = {"linewidth": WIDEST_LINE / 2}
        disc = {"linestyle": "none", "marker": "o", "markersize": 11}
        legend = [
            key(f"feature alone: up to {amount(alone)}", color=BLUE, **disc),
            key(f"pair together: up to {amount(together)}", color=BLUE, alpha=LINE_ALPHA, **line),
        ]
        if (self.matrices < 0).any():
            legend.append(key("negative: they overlap", color=ORANGE, alpha=0.7, **line))
        return legend

    def _draw_heatmaps(self, axes: Sequence[Axes], columns: int, palette: Palette) -> Any:
        """One heat map a panel, with the same colours in all of them, which a colour bar explains."""
        from matplotlib.colors import FuncNorm

        names = drawn_labels(self.names, LONGEST_NAME)
        is_shown = np.tri(len(names), dtype=bool)
        largest = max(self._largest)
        signed = self.behavior != Local.key  # the mean size of a local effect is never negative
        for place, (ax, matrix) in enumerate(zip(axes, self.matrices, strict=True)):
            # Pairs are mostly much weaker than features alone: colour grows with the root of an
            # influence, and the numbers say how large it is.
            norm = FuncNorm(
                (_signed_root, _signed_square), vmin=-largest if signed else 0.0, vmax=largest
            )
            ax.imshow(
                np.where(is_shown, matrix, np.nan),
                cmap="PuOr" if signed else "Blues",
                norm=norm,
                aspect="equal",
            )
            ax.set_xticks(range(len(names)), names, rotation=90, fontsize=SMALL)
            ax.set_yticks(range(len(names)), names, fontsize=SMALL)
            is_in_last_line = place + columns >= len(axes)
            ax.tick_params(length=0, labelleft=place % columns == 0, labelbottom=is_in_last_line)
            ax.spines[:].set_visible(False)
            if len(names) > MOST_NUMBERED:
                continue
            for line, column in np.argwhere(is_shown).tolist():
                value = matrix[line, column]
                color = "white" if abs(value) > 0.4 * largest else "#222222"
                text = cell_text(value, largest)
                ax.text(column, line, text, ha="center", va="center", fontsize=5.5, color=color)
        return axes[0].images[0]

    def _draw_surfaces(self, axes: Sequence[Axes], columns: int, palette: Palette) -> Any:
        """Coloured cells around each pair of values, with the same colours in every panel."""
        largest = max(float(np.abs(s.values).max(initial=0.0)) for s in self.surfaces) or 1.0
        across, up = self.axes_of_pair
        for place, (ax, surface) in enumerate(zip(axes, self.surfaces, strict=True)):
            x, y, values = _cells(surface, across, up)
            ax.pcolormesh(x, y, values, cmap="PuOr", vmin=-largest, vmax=largest, rasterized=True)
            dress(ax, across)
            dress(ax, up, upright=True)
            ax.set_facecolor(palette.pale)
            ax.tick_params(labelsize=SMALL, labelleft=place % columns == 0)
            ax.spines[:].set_color(GREY)
            if place % columns:
                ax.set_ylabel("")
        return axes[0].collections[0]

    def frame(self) -> Any:
        """Everything drawn: in the library of X.

        For influences one line a feature (first equals second) and pair: region (null: all rows), rule, first, second,
        value. For a surface one line a cell: region, rule, x, x_level, y, y_level, value.
        """
        lines: list[tuple[Any, ...]] = []
        if self.surfaces:
            for scope, surface in zip(self.scopes, self.surfaces, strict=True):
                across = list(zip(surface.across.x.tolist(), surface.across.texts, strict=True))
                up = list(zip(surface.up.x.tolist(), surface.up.texts, strict=True))
                for (line, column), value in np.ndenumerate(surface.values):
                    place = (*across[column], *up[line])
                    lines.append((scope.region, scope.rule, *place, float(value)))
            return framed("region rule x x_level y y_level value", lines, self.table)
        numbers = range(len(self.names))
        singles = [(number, number) for number in numbers]
        for scope, matrix in zip(self.scopes, self.matrices, strict=True):
            for first, second in [*singles, *combinations(numbers, 2)]:
                names = (self.names[first], self.names[second])
                lines.append((scope.region, scope.rule, *names, float(matrix[first, second])))
        return framed("region rule first second value", lines, self.table)


def _influences(
    shown: Values,
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
    for in_scope in shown.explained(explainers).scopes:
        matrix = np.diag(in_scope.size_of(0))
        if pairs:
            first, second = np.array(pairs).T
            matrix[first, second] = matrix[second, first] = in_scope.size_of(1)
        matrices.append(matrix)
    return np.stack(matrices)


def _draw_network(
    ax: Axes,
    labels: Sequence[str],
    matrix: FloatArray,
    alone: float,
    together: float,
    palette: Palette,
) -> None:
    """Features as discs whose area, pairs as lines whose width is proportional to the influence.

    ``alone`` has the largest disc, ``together`` the widest line. Features stand on a circle, from the top clockwise.
    """
    ax.set_axis_off()
    ax.set_aspect("equal")
    n_features = len(labels)
    angles = np.pi / 2 - 2 * np.pi * np.arange(n_features) / n_features
    places = np.column_stack([np.cos(angles), np.sin(angles)])  # (features, 2)
    colors = np.where(matrix >= 0, BLUE, ORANGE)
    for first, second in combinations(range(n_features), 2):
        ax.plot(
            *places[[first, second]].T,
            color=str(colors[first, second]),
            linewidth=WIDEST_LINE * abs(matrix[first, second]) / together,
            alpha=LINE_ALPHA,
            solid_capstyle="round",
            zorder=1,
        )
    areas = LARGEST_DISC * np.abs(np.diag(matrix)) / alone
    disc: dict[str, Any] = {"edgecolor": palette.paper, "linewidth": 0.8, "zorder": 2}
    ax.scatter(places[:, 0], places[:, 1], s=areas, color=np.diag(colors).tolist(), **disc)
    ax.scatter(places[:, 0], places[:, 1], s=8, color=palette.ink, zorder=3)
    for (x, y), area, label in zip(places, areas, labels, strict=True):
        distance = np.sqrt(area / np.pi) + 4.0  # points from the centre of the disc
        across, up = "center", "center"
        if abs(x) >= 0.25:
            across = "left" if x > 0 else "right"
        if abs(y) > 0.9:
            up = "bottom" if y > 0 else "top"
        ax.annotate(
            label,
            (x, y),
            xytext=(distance * x, distance * y),
            textcoords="offset points",
            ha=across,
            va=up,
            fontsize=SMALL,
            zorder=4,
        )
    n_letters = max(len(line) for label in labels for line in label.split("\n"))
    n_breaks = max(label.count("\n") for label in labels)
    half_width, half_height = 1.3 + 0.08 * n_letters, 1.45 + 0.22 * n_breaks
    ax.set(xlim=(-half_width, half_width), ylim=(-half_height, half_height))


def _signed_root(values: FloatArray) -> FloatArray:
    return np.sign(values) * np.sqrt(np.abs(values))


def _signed_square(values: FloatArray) -> FloatArray:
    return np.sign(values) * np.square(values)


def cell_text(value: float, largest: float) -> str:
    """A number short enough for a cell; nothing where it is too small to matter beside the largest of all.

    Examples
    --------
    >>> cell_text(1234.0, 2000.0), cell_text(-123.4, 200.0), cell_text(0.001, 1.0)
    ('1.2k', '-123', '')
    """
    if abs(value) < 0.01 * largest:
        return ""
    size, letter = next((unit for unit in UNITS if abs(value) >= unit[0]), UNITS[-1])
    number = value / size
    return f"{number:.2g}{letter}" if abs(number) < 100 else f"{number:.0f}{letter}"


def _surface_of(
    shown: Values, scope: Scope, across: FeatureAxis, up: FeatureAxis, points: int
) -> Surface:
    """Ask the model for the surface of two features, averaged over the rows of a scope."""
    table = shown.table.take(scope.rows)
    model = shown.fitted.model
    first = LevelsShown.of(across, table, points)
    second = LevelsShown.of(up, table, points)
    n_first, n_second = len(first.codes), len(second.codes)
    n_asked_of_row = n_first * n_second + n_first + n_second
    require_evaluations(shown.fitted.settings.resources, table.n_rows * n_asked_of_row)
    of_first = ice_curves(model, table, first.grid).mean(axis=0)  # F_i
    of_second = ice_curves(model, table, second.grid).mean(axis=0)  # F_j
    # Rows that carry every pair of values, those of the first feature fastest.
    carriers = recombine(
        first.grid.rows,
        np.tile(np.arange(n_first), n_second),
        second.grid.rows,
        np.repeat(np.arange(n_second), n_first),
        [second.grid.column],
    )
    pairs = read_table(carriers, kinds=table.kinds, missing="allow")
    rows = np.repeat(np.arange(table.n_rows), pairs.n_rows)
    donors = np.tile(np.arange(pairs.n_rows), table.n_rows)
    columns = [first.grid.column, second.grid.column]
    predictions = model.recombined(table, rows, pairs, donors, columns)
    joint = predictions.reshape(table.n_rows, n_second, n_first).mean(axis=0)  # F_ij
    mean = float(model.on_rows(table).mean())
    values = joint - of_first[None, :] - of_second[:, None] + mean
    values[np.abs(values) < ROUNDING * np.abs(joint).max(initial=0.0)] = 0.0
    return Surface(first, second, second.shares.T @ values @ first.shares)


def _cells(
    surface: Surface, across: FeatureAxis, up: FeatureAxis
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Edges of the cells across and up, and their values; nan: a name that the scope lacks."""
    x, y = surface.across.x, surface.up.x
    if across.labelled:
        x = np.arange(x[0], x[-1] + 1.0)
    if up.labelled:
        y = np.arange(y[0], y[-1] + 1.0)
    values = np.full((len(y), len(x)), np.nan)
    lines, columns = np.searchsorted(y, surface.up.x), np.searchsorted(x, surface.across.x)
    values[np.ix_(lines, columns)] = surface.values
    return _edges(x, across), _edges(y, up), values


def _edges(places: FloatArray, axis: FeatureAxis) -> FloatArray:
    """Edges of cells: half way to the neighbours, on the scale of the axis."""
    scaled = axis.scaled(places)
    if len(scaled) == 1:
        return np.asarray(axis.unscaled(np.array([scaled[0] - 0.5, scaled[0] + 0.5])))
    middles = (scaled[:-1] + scaled[1:]) / 2
    edges = np.concatenate([[2 * scaled[0] - middles[0]], middles, [2 * scaled[-1] - middles[-1]]])
    return np.asarray(axis.unscaled(edges))
