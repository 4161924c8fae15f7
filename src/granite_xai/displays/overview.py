"""OverviewDisplay: the effect of every feature on every row, region by region, at a glance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from granite_xai.algebra.catalog import title
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Individual
from granite_xai.base.numbers import amount, count
from granite_xai.base.options import whole_number
from granite_xai.base.text import drawable, wrapped
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.displays.shown import local_sides, shown_scopes, title_of
from granite_xai.document.chart import GREY, level_counts, value_ranks
from granite_xai.document.figure import (
    SMALL,
    Axes,
    Drawn,
    Palette,
    drawn_labels,
    framed,
    grid_of,
    set_title,
    sheet,
    tidy,
)
from granite_xai.results.values import Scope, Values, chosen_question
from granite_xai.tables import Column, Table

MOST_FEATURES = 20
MOST_NAMES = (
    6  # levels of a feature without an order that have a line of their own; rarer ones share one
)
NAME_HEIGHT = 0.62  # of the line of a level, in lines of a feature
FILLED = 0.8  # share of a line that its dots fill where they are densest
BINS = 120  # from the smallest to the largest effect, in which dots are counted
STEP = 0.11  # at most, between two dots of equal effect
ROUNDING = 1e-9  # share of the largest mean size that is none
MIXED = 0.618034  # places of dots of equal effect follow multiples of it: they mix all values


@dataclass(eq=False)
class OverviewDisplay(Drawn):
    """A first look: one line a feature, one dot a row, one panel a region.

    A dot lies to the right where the feature raises the prediction of the row, compared with the
    average of its region; dots pile up where many rows have about the same effect. Its colour is
    the value of the feature, from low to high; missing values are grey. Features without an order
    have a line for each of their levels, at the same place in every panel. The features with the
    largest mean size of effect come first; these sizes stand at the right of each panel. Make it
    with `from_estimator`.

    Attributes are those of `EffectDisplay`; ``axes_`` holds one Axes a region.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=60)
    >>> g = gx.Granite(toy.model).fit(toy.X)
    >>> display = OverviewDisplay.from_estimator(g, toy.X, max_features=2)
    >>> display.features
    ('x4', 'x1')
    >>> list(display.frame())
    ['feature', 'region', 'rule', 'row', 'x', 'level', 'effect']
    """

    columns: tuple[Column, ...] = field(repr=False)
    effects: FloatArray = field(repr=False)  # (rows, features): each row in its region
    scopes: tuple[Scope, ...] = field(repr=False)
    explanation: str
    prediction: str
    left_out: int
    table: Table = field(repr=False)

    @property
    def features(self) -> tuple[str, ...]:
        """The features shown, the most important one first."""
        return tuple(column.name for column in self.columns)

    @classmethod
    def from_estimator(
        cls,
        g: Any,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[Hashable] | None = None,
        explanation: str | Explainer | None = None,
        question: str | None = None,
        max_features: int = MOST_FEATURES,
        max_samples: int | None = None,
        sample_weight: Any = None,
    ) -> OverviewDisplay:
        """Compute the effects of each row in its region.

        Parameters
        ----------
        g, X, question, max_samples, sample_weight
            As in `EffectDisplay.from_estimator`.
        y : array, optional
            Not used: effects need no target.
        features : columns, optional
            None: the ``max_features`` with the largest mean absolute effect.
        explanation : name of ``gx.explanations()`` or local Explainer, optional
            None: the first side of the question where it is an effect of single features,
            otherwise "ice".
        max_features : int
            Features, at most; how many are left out is written below them.
        """
        whole_number("max_features", max_features, at_least=1)
        (side,) = local_sides(chosen_question(g, question), explanation)[:1]
        shown = Values.of_rows(g, X, None, [side], max_samples, sample_weight)
        explained = shown.explained([side.with_influence(Individual(features))])
        table = shown.table
        effects = np.zeros((table.n_rows, len(explained.sets)))
        for in_scope in explained.scopes[1:] or explained.scopes:  # a single region is all rows
            effects[in_scope.scope.rows] = in_scope.parts[0].values
        order = np.argsort(-np.abs(effects).mean(axis=0), kind="stable")
        strongest = order[:max_features]
        names = [explained.sets[place][0] for place in strongest]
        scopes = shown_scopes(shown)
        return cls(
            columns=tuple(table.columns[table.names.index(name)] for name in names),
            effects=effects[:, strongest],
            scopes=scopes[1:] or scopes,
            explanation=explained.names[0],
            prediction=shown.fitted.model.label,
            left_out=len(order) - len(strongest),
            table=table,
        )

    def plot(self, ax: Any = None) -> OverviewDisplay:
        """Draw one panel a region; ``ax`` as in `EffectDisplay.plot`."""
        from matplotlib.cm import ScalarMappable

        grid = grid_of(ax, len(self.scopes), 2.4, 4)
        lines = [_lines(column) for column in self.columns]
        units = sum(NAME_HEIGHT * len(levels) or 1.0 for levels, _ in lines)
        inches = 0.42 if units <= 15 else 0.34  # of a line
        width = 5.2 if grid[1] == 1 else 2.5 * grid[1]
        size = (width + 2.2, (inches * units + 1.0) * grid[0] + 0.9)
        drawn = sheet(ax, range(len(self.scopes)), grid, size)
        palette = drawn.palette
        colors = _value_colors(palette)
        low, high = min(self.effects.min(), 0.0), max(self.effects.max(), 0.0)
        span = float(high - low) or 1.0
        what = "prediction" if self.prediction == "predict" else drawable(self.prediction)
        for place, (panel, scope) in enumerate(zip(drawn.axes, self.scopes, strict=True)):
            self._draw_panel(panel, scope, lines, (low, high), palette, colors)
            panel.set_xlim(low - 0.04 * span, high + 0.22 * span)
            panel.tick_params(axis="y", length=0, labelleft=place % drawn.columns == 0)
            if place + drawn.columns >= len(self.scopes):
                panel.set_xlabel(wrapped(f"effect on the {what}", 44, 2), fontsize=SMALL + 1)
        if any(column.is_ordered for column in self.columns):
            bar = drawn.figure.colorbar(
                ScalarMappable(cmap=colors), ax=list(drawn.axes), shrink=0.6, pad=0.02, aspect=30
            )
            bar.set_ticks([0.0, 1.0], labels=["low", "high"])
            bar.ax.tick_params(labelsize=SMALL, length=0)
            bar.set_label("value of the feature", fontsize=SMALL + 1, labelpad=-8)
            bar.outline.set_visible(False)
        headline = (
            f"What each feature does to the prediction of each row ({title(self.explanation)})"
        )
        if self.left_out:
            headline += f"; {count(self.left_out, 'more feature')} not shown"
        return self._keep(drawn, ax, drawable(headline))

    def _draw_panel(
        self,
        ax: Axes,
        scope: Scope,
        lines: Sequence[tuple[list[str], IntArray]],
        limits: tuple[float, float],
        palette: Palette,
        colors: Any,
    ) -> None:
        """The lines of all features; those of levels are lower than others."""
        tidy(ax)
        ax.spines["left"].set_visible(False)
        ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
        ax.locator_params(axis="x", nbins=5)
        aside: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "ha": "right"}
        dot: dict[str, Any] = {"linewidths": 0, "zorder": 3, "alpha": 0.85}
        dot["s"] = float(np.clip(9000 / max(len(scope.rows), 1), 2.0, 12.0))
        sizes = np.abs(self.effects[scope.rows]).mean(axis=0)
        largest = np.abs(self.effects[:, 0]).mean()
        long_names = drawn_labels(self.features, 30)
        short_names = drawn_labels(self.features, 16)
        ticks, labels, top = [], [], 0.0
        for number, (levels, line_of_row) in enumerate(lines):
            effects = self.effects[:, number]
            ranks = value_ranks(self.columns[number])
            names = drawn_labels(levels, 16)
            names[:1] = [f"{short_names[number]}: {name}" for name in names[:1]]
            height = NAME_HEIGHT if names else 1.0
            start = top
            for line, name in enumerate(names or [wrapped(long_names[number], 24, 2)]):
                middle = top + height / 2
                ticks.append(middle)
                labels.append(name)
                rows = scope.rows[line_of_row[scope.rows] == line]
                y = middle - height * spread(effects[rows], limits)
                is_ranked = np.isfinite(ranks[rows]) & (not levels)
                look = {**dot, "rasterized": len(rows) > 2000}
                grey, ranked = rows[~is_ranked], rows[is_ranked]
                if len(grey):
                    ax.scatter(effects[grey], y[~is_ranked], color=GREY, **look)
                if len(ranked):
                    look |= {"c": ranks[ranked], "cmap": colors, "vmin": 0, "vmax": 1}
                    ax.scatter(effects[ranked], y[is_ranked], **look)
                top += height
            ax.axhline(top, color=palette.pale, linewidth=0.5, zorder=0)
            text = amount(sizes[number] if sizes[number] > ROUNDING * largest else 0.0)
            ax.text(1.0, (start + top) / 2, text, fontsize=SMALL, va="center", **aside)
        ax.set_yticks(ticks, labels, fontsize=SMALL)
        ax.set_ylim(top + 0.1, -0.55)
        ax.text(1.0, -0.1, "mean size", fontsize=SMALL - 1, color=GREY, va="bottom", **aside)
        set_title(ax, title_of(scope))

    def frame(self) -> Any:
        """Everything drawn, one line a dot: in the library of X.

        Columns: feature, region, rule, row (position among the rows used), x (null where the value
        is no number), level (null for numbers), effect.
        """
        lines = []
        for number, column in enumerate(self.columns):
            is_number = column.kind == "numeric"
            values = (
                column.levels.tolist() if is_number else [str(level) for level in column.levels]
            )
            values.append(None)  # missing: the code -1
            for scope in self.scopes:
                for row in scope.rows.tolist():
                    value = values[column.codes[row]]
                    cells = (value, None) if is_number else (None, value)
                    head = (column.name, scope.region, scope.rule, row)
                    lines.append((*head, *cells, float(self.effects[row, number])))
        return framed("feature region rule row x level effect", lines, self.table)


def _lines(column: Column) -> tuple[list[str], IntArray]:
    """Names of the lines of a feature, and the line of each row.

    Values with an order have one line without a name; of others levels have one each, and rarer ones share one.
    """
    if column.is_ordered:
        return [], np.zeros(len(column.codes), dtype=np.intp)
    counts = level_counts(column)
    common = np.sort(np.argsort(-counts[1:], kind="stable")[:MOST_NAMES])
    names = [str(column.levels[code]) for code in common]
    line_of_level = np.full(1 + len(column.levels), len(common))
    line_of_level[1 + common] = np.arange(len(common))
    n_rare = len(column.levels) - len(common)
    if n_rare:
        names.append(count(n_rare, "rare level"))
    if counts[0]:
        line_of_level[0] = len(names)
        names.append("missing")
    return names, line_of_level[column.codes + 1]


def _value_colors(palette: Palette) -> Any:
    """From low to high values: colours that differ in lightness, without the end that the paper has."""
    import matplotlib as mpl
    from matplotlib.colors import ListedColormap

    is_dark = sum(palette.paper[:3]) < 1.5
    first, last = (0.28, 1.0) if is_dark else (0.0, 0.84)
    return ListedColormap(mpl.colormaps["plasma"](np.linspace(first, last, 256)))


def spread(effects: FloatArray, limits: tuple[float, float]) -> FloatArray:
    """How far each dot lies from the middle of its line, so that the pile is as high as dots are dense.

    Parameters
    ----------
    effects : array of shape (n,)
    limits : (float, float)
        The smallest and the largest effect of the picture.

    Returns
    -------
    array of shape (n,)
        Between -1/2 and 1/2 of the height of the line.

    Examples
    --------
    >>> spread(np.array([1.0, 1.0, 1.0, 5.0]), (0.0, 5.0)).round(2).tolist()
    [-0.11, 0.0, 0.11, 0.0]
    """
    low, high = limits
    share = (effects - low) / ((high - low) or 1.0)
    bins = np.clip((share * BINS).astype(np.intp), 0, BINS - 1)
    counts = np.bincount(bins, minlength=BINS).astype(np.float64)
    near = np.convolve(counts, [0.25, 0.5, 0.25], mode="same")
    density = np.sqrt(np.maximum(near, counts / 2))
    heights = FILLED * density / max(density.max(initial=0.0), 1.0)
    heights = np.minimum(heights, STEP * (counts - 1))  # few dots: none beside its neighbour
    order = np.argsort(bins, kind="stable")
    starts = np.cumsum(counts) - counts
    ranks = np.empty(len(effects))
    ranks[order] = np.arange(len(effects)) - starts[bins[order]]
    inside = np.maximum(counts[bins] - 1, 1)
    places = np.where(inside < 12, ranks / inside, (ranks * MIXED + 0.5) % 1.0) - 0.5
    return np.where(counts[bins] > 1, places * heights[bins], 0.0)
