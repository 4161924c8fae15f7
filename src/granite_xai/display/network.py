"""InteractionDisplay: which columns act together, as a network, a heat map, or the surface of one pair.

Delta(g, h) = F_ij(g, h) - F_i(g) - F_j(h) + mean F,   each F_T the mean over the rows of the scope
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import distinct_labels, drawable, shortened, wrapped
from granite_xai.base.typing import FloatArray
from granite_xai.base.validation import choose, whole_number
from granite_xai.compute import require_evaluations
from granite_xai.display.axis import Axis, shown_levels
from granite_xai.display.figures import SMALL, Drawn, framed, grid_of, set_title, sheet
from granite_xai.display.palette import BLACK, BLUE, GREY, ORANGE
from granite_xai.explanation.behavior import Behavior, Local, Sensitivity
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.influence import Individual, Interactions
from granite_xai.explanation.interaction import INTERACTIONS, Interaction
from granite_xai.explanation.masking import Marginal, Masking
from granite_xai.results.scopes import MEASURES, RowsToShow, Scope, chosen_question
from granite_xai.surrogate.ice import ice_curves
from granite_xai.tables import Table, read_table, recombine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEAT_LABEL = 20  # characters of a name beside a heat map
WIDEST, LARGEST = 9.0, 900.0  # points of the strongest edge, square points of the strongest node
KINDS = {"network": "network", "heatmap": "heatmap"}


class Surface:
    """The pure interaction of two columns in one scope, (y, x): on a grid of its own values, averaged over its rows."""

    def __init__(
        self, shown: RowsToShow, scope: Scope, across: Axis, up: Axis, points: int
    ) -> None:
        table, predictor = shown.table.take(scope.rows), shown.fitted.predictor
        self.across, self.up = (shown_levels(axis, table, points) for axis in (across, up))
        wide, high = len(self.across.x), len(self.up.x)
        require_evaluations(shown.rows.resources, table.n_rows * (wide * high + wide + high))
        first, second = (
            ice_curves(predictor, table, side.grid).mean(axis=0) for side in (self.across, self.up)
        )
        # Rows that carry every pair of values, the first column fastest.
        pairs = np.tile(np.arange(wide), high), np.repeat(np.arange(high), wide)
        native = recombine(
            self.across.grid.rows, pairs[0], self.up.grid.rows, pairs[1], [up.column.position]
        )
        both = read_table(native, kinds=table.kinds, missing="allow")
        rows, donors = (
            np.repeat(np.arange(table.n_rows), both.n_rows),
            np.tile(np.arange(both.n_rows), table.n_rows),
        )
        columns = [across.column.position, up.column.position]
        joint = (
            predictor.recombined(table, rows, both, donors, columns)
            .reshape(table.n_rows, high, wide)
            .mean(axis=0)
        )
        mean = float(predictor.on_rows(table).mean())
        self.values: FloatArray = joint - first[None, :] - second[:, None] + mean

    def cells(self) -> list[tuple[Any, ...]]:
        """Place and name across and up, and the value."""
        across, up = (
            list(zip(side.x.tolist(), side.texts, strict=True)) for side in (self.across, self.up)
        )
        return [(*across[i], *up[j], value) for (j, i), value in np.ndenumerate(self.values)]


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
    surfaces: tuple[Surface, ...] = field(repr=False)
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
        behavior = (
            Sensitivity("difference") if isinstance(side.behavior, Sensitivity) else side.behavior
        )
        whole_number("max_features", max_features, at_least=1)
        operator = choose("interaction", interaction, INTERACTIONS)
        sides = [Explainer(masking, behavior)] if pair is None else []
        shown = RowsToShow.of(g, X, y, sides, max_samples, sample_weight, by_pairs=True)
        table = shown.table
        if pair is not None:
            places = [table.resolve(label, "pair") for label in pair]
            if len(places) != 2 or places[0] == places[1]:
                text, hint = f"pair={pair!r} is not two columns.", 'Pass pair=("hr", "temp").'
                raise InputError(text, code="P02", argument="pair", hint=hint)
            axes = tuple(Axis.of(table, i) for i in places)
            surfaces = tuple(
                Surface(shown, scope, axes[0], axes[1], points) for scope in shown.scopes
            )
            both = tuple(table.names[i] for i in places), shown.scopes, np.zeros((0, 2, 2))
            return cls(*both, surfaces, axes, Local.key, table)
        asked = [table.names[table.resolve(label, "features")] for label in features or ()]
        names = _strongest(shown, masking, behavior, max_features) if features is None else asked
        matrices = _influences(shown, masking, behavior, operator, names)
        return cls(tuple(names), shown.scopes, matrices, (), (), behavior.key, table)

    def plot(self, ax: Any = None, *, kind: str = "network") -> InteractionDisplay:
        """Draw the panels (``ax`` as in `EffectDisplay.plot`), "network" or "heatmap"; a pair is always a surface."""
        kind = "surface" if self.surfaces else choose("kind", kind, KINDS)
        grid = grid_of(len(self.scopes), 5 if kind == "surface" else 4)
        size = {"network": (3.3, 3.2), "heatmap": (3.0, 3.3), "surface": (2.7, 2.9)}[kind]
        label = 0.08 * min(HEAT_LABEL, max(map(len, self.names))) if kind == "heatmap" else 0.0
        inches = (max(5.2, size[0] * grid[1]) + 0.8 + label, size[1] * grid[0] + 0.9 + label)
        drawn = sheet(ax, range(len(self.scopes)), grid, inches)
        for each, scope in zip(drawn.axes, self.scopes, strict=True):
            set_title(each, scope)
        painters = {"network": self._network, "heatmap": self._heatmap, "surface": self._surface}
        headline, legend, colors = painters[kind](drawn.axes, drawn.columns)
        if colors is not None:
            bar = drawn.figure.colorbar(colors, ax=list(drawn.axes), shrink=0.8, pad=0.02)
            bar.set_label(
                "interaction effect" if kind == "surface" else MEASURES[self.behavior],
                fontsize=SMALL + 1,
            )
            bar.ax.tick_params(labelsize=SMALL)
        return self._keep(drawn, ax, headline, legend)

    def _network(self, axes: Sequence[Axes], columns: int) -> tuple[str, list[Any], Any]:
        from matplotlib.lines import Line2D

        for ax, matrix in zip(axes, self.matrices, strict=True):
            draw_network(ax, self.names, matrix, self._tops)
        alone, together = (f"{top:,.0f}" if top >= 1000 else f"{top:.3g}" for top in self._tops)
        disc: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 11, "color": BLUE}
        legend = [Line2D([], [], label=f"column alone: up to {alone}", **disc)]
        looks = [(f"pair together: up to {together}", 0.55, BLUE)]
        if self.behavior != Local.key and (self.matrices < 0).any():
            looks.append(("negative: they overlap", 0.7, ORANGE))
        legend += [
            Line2D([], [], linewidth=WIDEST / 2, label=text, alpha=a, color=c)
            for text, a, c in looks
        ]
        return (
            f"What columns do alone (discs) and only together (lines): {MEASURES[self.behavior]}",
            legend,
            None,
        )

    @property
    def _tops(self) -> tuple[float, float]:
        """The largest first- and second-order influence of any scope."""
        sizes, alone = np.abs(self.matrices), np.eye(len(self.names), dtype=bool)
        return float(sizes[:, alone].max()) or 1.0, float(sizes[:, ~alone].max(initial=0.0)) or 1.0

    def _heatmap(self, axes: Sequence[Axes], columns: int) -> tuple[str, list[Any], Any]:
        """First-order influences on the diagonal, pairs below it."""
        from matplotlib.colors import FuncNorm

        # Pairs are mostly much weaker than columns alone: color grows with the root, the numbers say how much it is.
        root, square = (
            (lambda v: np.sign(v) * np.sqrt(np.abs(v))),
            (lambda v: np.sign(v) * np.square(v)),
        )
        top, signed, count = max(self._tops), self.behavior != Local.key, len(self.names)
        lower, labels = np.tri(count, dtype=bool), distinct_labels(list(self.names), HEAT_LABEL)
        for i, (ax, matrix) in enumerate(zip(axes, self.matrices, strict=True)):
            norm = FuncNorm((root, square), vmin=-top if signed else 0.0, vmax=top)
            ax.imshow(
                np.where(lower, matrix, np.nan),
                cmap="PuOr" if signed else "Blues",
                norm=norm,
                aspect="equal",
            )
            ax.set_xticks(range(count), labels, rotation=90, fontsize=SMALL)
            ax.set_yticks(range(count), labels, fontsize=SMALL)
            ax.tick_params(
                length=0, labelleft=i % columns == 0, labelbottom=i + columns >= len(axes)
            )
            ax.spines[:].set_visible(False)
            for y, x in np.argwhere(lower).tolist() if count <= 10 else ():
                color = "white" if abs(matrix[y, x]) > 0.4 * top else BLACK
                ax.text(
                    x,
                    y,
                    cell_text(matrix[y, x], top),
                    ha="center",
                    va="center",
                    fontsize=5.5,
                    color=color,
                )
        return (
            "What columns do alone (diagonal) and only together (below it)",
            [],
            axes[0].images[0],
        )

    def _surface(self, axes: Sequence[Axes], columns: int) -> tuple[str, list[Any], Any]:
        """Colored cells around each pair of values; the same colors in every panel."""
        top = max(float(np.abs(each.values).max(initial=0.0)) for each in self.surfaces) or 1.0
        across, up = self.axes_of_pair
        for i, (ax, each) in enumerate(zip(axes, self.surfaces, strict=True)):
            x, y = cell_edges(each.across.x, across.labelled), cell_edges(each.up.x, up.labelled)
            ax.pcolormesh(x, y, each.values, cmap="PuOr", vmin=-top, vmax=top, rasterized=True)
            across.dress(ax)
            up.dress(ax, upright=True)
            ax.set_facecolor("#F4F4F4")
            ax.tick_params(labelsize=SMALL, labelleft=i % columns == 0)
            ax.spines[:].set_color(GREY)
            if i % columns:
                ax.set_ylabel("")
        names = " and ".join(drawable(shortened(name, 40)) for name in self.names)
        return f"What {names} do to the prediction only together", [], axes[0].collections[0]

    def frame(self) -> Any:
        """Everything drawn: in the library of X.

        For influences one line a column (first equals second) and pair: region (null: all rows), rule, first, second,
        value. For a surface one line a cell: region, rule, x, x_level, y, y_level, value.
        """
        keys = (
            "region rule x x_level y y_level value"
            if self.surfaces
            else "region rule first second value"
        )
        pairs = [(i, i) for i in range(len(self.names))] + list(
            combinations(range(len(self.names)), 2)
        )
        alone = [
            [(self.names[i], self.names[j], matrix[i, j]) for i, j in pairs]
            for matrix in self.matrices
        ]
        told = zip(self.scopes, [each.cells() for each in self.surfaces] or alone, strict=True)
        lines = (
            (s.region, s.rule, *head, float(value)) for s, cells in told for *head, value in cells
        )
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
    shown: RowsToShow,
    masking: Masking,
    behavior: Behavior,
    interaction: Interaction,
    columns: Sequence[str],
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


def draw_network(
    ax: Axes, names: Sequence[str], matrix: FloatArray, tops: tuple[float, float]
) -> None:
    """Columns as discs of an area, pairs as edges of a width that is proportional to the influence."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / max(
        len(names), 1
    )  # on a circle, from the top clockwise
    places, colors = (
        np.column_stack([np.cos(angles), np.sin(angles)]),
        np.where(matrix >= 0, BLUE, ORANGE),
    )
    for i, j in combinations(range(len(names)), 2):
        look = {"color": str(colors[i, j]), "linewidth": WIDEST * abs(matrix[i, j]) / tops[1]}
        ax.plot(*places[[i, j]].T, alpha=0.55, solid_capstyle="round", zorder=1, **look)
    areas, (across, up) = LARGEST * np.abs(np.diag(matrix)) / tops[0], places.T
    ax.scatter(
        across,
        up,
        s=areas,
        color=np.diag(colors).tolist(),
        edgecolor="white",
        linewidth=0.8,
        zorder=2,
    )
    ax.scatter(across, up, s=8, color=BLACK, zorder=3)
    labels = [wrapped(name, 14, 4) for name in distinct_labels(list(names), 32)]
    for (x, y), radius, name in zip(places, np.sqrt(areas / np.pi) + 4.0, labels, strict=True):
        side = "center" if abs(x) < 0.25 else "left" if x > 0 else "right"
        level = "bottom" if y > 0.9 else "top" if y < -0.9 else "center"
        place: dict[str, Any] = {"xytext": (radius * x, radius * y), "textcoords": "offset points"}
        ax.annotate(name, (x, y), **place, ha=side, va=level, fontsize=SMALL, zorder=4)
    across = 1.3 + 0.08 * max(len(line) for name in labels for line in name.split("\n"))
    up = 1.45 + 0.22 * max(name.count("\n") for name in labels)
    ax.set(xlim=(-across, across), ylim=(-up, up))


def cell_text(value: float, top: float) -> str:
    """A number short enough for a cell; nothing where it is too small to matter."""
    if abs(value) < 0.01 * top:
        return ""
    units = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
    size, letter = next((unit for unit in units if abs(value) >= unit[0]), units[-1])
    return (
        f"{value / size:.2g}{letter}" if abs(value) < 100 * size else f"{value / size:.0f}{letter}"
    )


def cell_edges(places: FloatArray, labelled: bool) -> FloatArray:
    """Edges of the cells around some places: half way to the neighbours."""
    if (
        labelled or len(places) == 1
    ):  # levels that a scope lacks leave a gap; a cell never reaches over it
        return np.append(places - 0.5, places[-1] + 0.5)
    middles = (places[:-1] + places[1:]) / 2
    return np.concatenate([[2 * places[0] - middles[0]], middles, [2 * places[-1] - middles[-1]]])
