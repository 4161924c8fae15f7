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
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.curves import ice_curves
from granite_xai.displays.effects import LevelsShown
from granite_xai.displays.shown import shown_scopes, title_of
from granite_xai.document.chart import BLACK, BLUE, GREY, ORANGE, FeatureAxis
from granite_xai.document.figure import (
    SMALL,
    Drawn,
    Sheet,
    drawn_labels,
    dress,
    framed,
    grid_of,
    key,
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
        grid = grid_of(ax, len(self.scopes), width - 0.8, most)
        letters = min(LONGEST_NAME, max(map(len, self.names))) if kind == "heatmap" else 0
        size = (
            max(5.2, width * grid[1]) + 0.8 + 0.08 * letters,
            height * grid[0] + 0.9 + 0.08 * letters,
        )
        drawn = sheet(ax, range(len(self.scopes)), grid, size)
        for panel, scope in zip(drawn.axes, self.scopes, strict=True):
            set_title(panel, title_of(scope))
        measure = MEASURES[self.behavior]
        if kind == "network":
            legend = self._draw_networks(drawn)
            headline = f"What features do alone (discs) and only together (lines): {measure}"
            return self._keep(drawn, ax, headline, legend)
        if kind == "heatmap":
            colors = self._draw_heatmaps(drawn)
            headline = "What features do alone (diagonal) and only together (below it)"
        else:
            colors = self._draw_surfaces(drawn)
            measure = "interaction effect"
            names = " and ".join(drawn_labels(self.names, 40))
            headline = f"What {names} do to the prediction only together"
        bar = drawn.figure.colorbar(colors, ax=list(drawn.axes), shrink=0.8, pad=0.02)
        bar.set_label(measure, fontsize=SMALL + 1)
        bar.ax.tick_params(labelsize=SMALL)
        return self._keep(drawn, ax, headline)

    @property
    def _largest(self) -> tuple[float, float]:
        """The largest influence of a feature alone and of a pair in any scope; 1 where all are 0."""
        sizes = np.abs(self.matrices)
        alone = np.eye(len(self.names), dtype=bool)
        return float(sizes[:, alone].max()) or 1.0, float(sizes[:, ~alone].max(initial=0.0)) or 1.0

    def _draw_networks(self, drawn: Sheet) -> list[Any]:
        """Features as discs whose area, pairs as lines whose width is proportional to the influence; their legend.

        Features stand on a circle, from the top clockwise.
        """
        labels = [wrapped(label, 14, 4) for label in drawn_labels(self.names, 32)]
        n_letters = max(len(line) for line in "\n".join(labels).split("\n"))
        half_width = 1.3 + 0.08 * n_letters
        half_height = 1.45 + 0.22 * max(label.count("\n") for label in labels)
        alone, together = self._largest
        angles = np.pi / 2 - 2 * np.pi * np.arange(len(labels)) / len(labels)
        places = np.column_stack([np.cos(angles), np.sin(angles)])  # (features, 2)
        x, y = places.T
        disc: dict[str, Any] = {"edgecolor": drawn.palette.paper, "linewidth": 0.8, "zorder": 2}
        for ax, matrix in zip(drawn.axes, self.matrices, strict=True):
            ax.set_axis_off()
            ax.set_aspect("equal")
            ax.set(xlim=(-half_width, half_width), ylim=(-half_height, half_height))
            colors = np.where(matrix >= 0, BLUE, ORANGE)
            for pair in combinations(range(len(labels)), 2):
                look: dict[str, Any] = {"color": str(colors[pair]), "alpha": LINE_ALPHA}
                look["linewidth"] = WIDEST_LINE * abs(matrix[pair]) / together
                ax.plot(*places[list(pair)].T, solid_capstyle="round", zorder=1, **look)
            areas = LARGEST_DISC * np.abs(np.diag(matrix)) / alone
            ax.scatter(x, y, s=areas, color=np.diag(colors).tolist(), **disc)
            ax.scatter(x, y, s=8, color=drawn.palette.ink, zorder=3)
            for place, area, label in zip(places, areas, labels, strict=True):
                side = np.where(np.abs(place) < (0.25, 0.9), 0, np.sign(place)).astype(int)
                distance = np.sqrt(area / np.pi) + 4.0  # points from the centre of the disc
                ax.annotate(
                    label,
                    place,
                    xytext=distance * place,
                    textcoords="offset points",
                    ha=("center", "left", "right")[side[0]],
                    va=("center", "bottom", "top")[side[1]],
                    fontsize=SMALL,
                    zorder=4,
                )
        line: dict[str, Any] = {"linewidth": WIDEST_LINE / 2}
        dot = {"linestyle": "none", "marker": "o", "markersize": 11}
        legend = [
            key(f"feature alone: up to {amount(alone)}", color=BLUE, **dot),
            key(f"pair together: up to {amount(together)}", color=BLUE, alpha=LINE_ALPHA, **line),
        ]
        if (self.matrices < 0).any():
            legend.append(key("negative: they overlap", color=ORANGE, alpha=0.7, **line))
        return legend

    def _draw_heatmaps(self, drawn: Sheet) -> Any:
        """One heat map a panel, with the same colours in all of them, which a colour bar explains."""
        from matplotlib.colors import FuncNorm

        names = drawn_labels(self.names, LONGEST_NAME)
        is_shown = np.tri(len(names), dtype=bool)
        largest = max(self._largest)
        signed = self.behavior != Local.key  # the mean size of a local effect is never negative
        for place, (ax, matrix) in enumerate(zip(drawn.axes, self.matrices, strict=True)):
            # Pairs are mostly much weaker than features alone: colour grows with the root of an
            # influence, and the numbers say how large it is.
            roots = (_signed_root, _signed_square)
            ax.imshow(
                np.where(is_shown, matrix, np.nan),
                cmap="PuOr" if signed else "Blues",
                norm=FuncNorm(roots, vmin=-largest if signed else 0.0, vmax=largest),
                aspect="equal",
            )
            ax.set_xticks(range(len(names)), names, rotation=90, fontsize=SMALL)
            ax.set_yticks(range(len(names)), names, fontsize=SMALL)
            is_in_last_line = place + drawn.columns >= len(drawn.axes)
            is_first = place % drawn.columns == 0
            ax.tick_params(length=0, labelleft=is_first, labelbottom=is_in_last_line)
            ax.spines[:].set_visible(False)
            if len(names) > MOST_NUMBERED:
                continue
            for line, column in np.argwhere(is_shown).tolist():
                value = matrix[line, column]
                color = "white" if abs(value) > 0.4 * largest else BLACK
                look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 5.5}
                ax.text(column, line, cell_text(value, largest), color=color, **look)
        return drawn.axes[0].images[0]

    def _draw_surfaces(self, drawn: Sheet) -> Any:
        """Coloured cells around each pair of values, with the same colours in every panel."""
        largest = max(float(np.abs(s.values).max(initial=0.0)) for s in self.surfaces) or 1.0
        across, up = self.axes_of_pair
        look: dict[str, Any] = {"cmap": "PuOr", "vmin": -largest, "vmax": largest}
        for place, (ax, surface) in enumerate(zip(drawn.axes, self.surfaces, strict=True)):
            x, columns = _cells(surface.across.x, across)
            y, lines = _cells(surface.up.x, up)
            values = np.full((len(y) - 1, len(x) - 1), np.nan)  # nan: a name that the scope lacks
            values[np.ix_(lines, columns)] = surface.values
            ax.pcolormesh(x, y, values, rasterized=True, **look)
            dress(ax, across)
            dress(ax, up, upright=True)
            ax.set_facecolor(drawn.palette.pale)
            is_first = place % drawn.columns == 0
            ax.tick_params(labelsize=SMALL, labelleft=is_first)
            ax.yaxis.label.set_visible(is_first)
            ax.spines[:].set_color(GREY)
        return drawn.axes[0].collections[0]

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
        sizes = in_scope.size_of(1) if pairs else np.zeros(0)
        for (first, second), size in zip(pairs, sizes, strict=True):
            matrix[first, second] = matrix[second, first] = size
        matrices.append(matrix)
    return np.stack(matrices)


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


def _cells(places: FloatArray, axis: FeatureAxis) -> tuple[FloatArray, IntArray]:
    """Edges of cells, half way to the neighbours on the scale of the axis; the number of the cell of each place."""
    middles = np.arange(places[0], places[-1] + 1.0) if axis.labelled else places
    scaled = axis.scaled(middles)
    steps = np.diff(scaled) if len(scaled) > 1 else np.ones(1)
    edges = np.append(
        scaled[0] - steps[0] / 2, scaled + np.append(steps, steps[-1])[: len(scaled)] / 2
    )
    return axis.unscaled(edges), np.searchsorted(middles, places)
