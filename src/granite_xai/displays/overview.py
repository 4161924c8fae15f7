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
from granite_xai.document.chart import GREY, FeatureAxis, level_counts
from granite_xai.document.figure import (
    SMALL,
    Axes,
    Drawn,
    Palette,
    drawn_labels,
    framed,
    grid_of,
    most_columns,
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


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """One feature: the effect on each row, its line, and the colour of its value.

    Parameters
    ----------
    column : Column
    effects : array of shape (n_rows,)
    lines : array of shape (n_rows,)
        Numbers of the line of each row: 0, or that of its level where values have no order.
    names : tuple of str
        Of the lines of levels; none where there is one line.
    ranks : array of shape (n_rows,)
        Of the value, from 0, the lowest, to 1; nan: missing, or a value without an order.
    """

    column: Column
    effects: FloatArray
    lines: IntArray
    names: tuple[str, ...]
    ranks: FloatArray

    @classmethod
    def of(cls, column: Column, effects: FloatArray) -> Strip:
        """That of a feature with the effects on all rows."""
        if column.is_ordered:
            return cls(column, effects, np.zeros(len(effects), np.intp), (), value_ranks(column))
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
        unknown = np.full(len(effects), np.nan)
        return cls(column, effects, line_of_level[column.codes + 1], tuple(names), unknown)

    @property
    def size(self) -> float:
        """Mean absolute effect, by which features are ordered."""
        return float(np.abs(self.effects).mean())

    @property
    def heights(self) -> list[float]:
        """Of its lines."""
        return [NAME_HEIGHT] * len(self.names) or [1.0]


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

    strips: tuple[Strip, ...] = field(repr=False)
    scopes: tuple[Scope, ...] = field(repr=False)
    explanation: str
    prediction: str
    left_out: int
    table: Table = field(repr=False)

    @property
    def features(self) -> tuple[str, ...]:
        """The features shown, the most important one first."""
        return tuple(strip.column.name for strip in self.strips)

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
        resolved = chosen_question(g, question)
        sides = (resolved.question.first, resolved.question.second)
        side = local_sides(sides, explanation)[0]
        shown = Values.of_rows(g, X, None, [side], max_samples, sample_weight)
        table = shown.table
        chosen = None
        if features is not None:
            chosen = [table.names[table.resolve(label, "features")] for label in features]
        explained = shown.explained([side.with_influence(Individual(chosen))])
        effects = np.zeros((table.n_rows, len(explained.sets)))
        for in_scope in explained.scopes[1:] or explained.scopes:  # a single region is all rows
            effects[in_scope.scope.rows] = in_scope.parts[0].values
        strips = [
            Strip.of(table.columns[table.names.index(names[0])], effects[:, i])
            for i, names in enumerate(explained.sets)
        ]
        strips.sort(key=lambda strip: -strip.size)
        scopes = shown_scopes(shown)
        return cls(
            strips=tuple(strips[:max_features]),
            scopes=scopes[1:] or scopes,
            explanation=explained.names[0],
            prediction=shown.fitted.model.label,
            left_out=max(len(strips) - max_features, 0),
            table=table,
        )

    def plot(self, ax: Any = None) -> OverviewDisplay:
        """Draw one panel a region; ``ax`` as in `EffectDisplay.plot`."""
        from matplotlib.cm import ScalarMappable

        grid = grid_of(len(self.scopes), most_columns(ax, 2.4, 4))
        units = sum(sum(strip.heights) for strip in self.strips)
        line = 0.42 if units <= 15 else 0.34  # inches
        width = 5.2 if grid[1] == 1 else 2.5 * grid[1]
        size = (width + 2.2, (line * units + 1.0) * grid[0] + 0.9)
        drawn = sheet(ax, range(len(self.scopes)), grid, size)
        palette = drawn.palette
        colors = _value_colors(palette)
        every = np.concatenate([strip.effects for strip in self.strips])
        low, high = float(min(every.min(), 0.0)), float(max(every.max(), 0.0))
        pad = 0.04 * (high - low or 1.0)
        what = "prediction" if self.prediction == "predict" else drawable(self.prediction)
        for i, (panel, scope) in enumerate(zip(drawn.axes, self.scopes, strict=True)):
            self._draw_panel(panel, scope, (low, high), palette, colors)
            panel.set_xlim(low - pad, high + 0.22 * (high - low or 1.0))
            panel.tick_params(axis="y", length=0, labelleft=i % drawn.columns == 0)
            if i + drawn.columns >= len(self.scopes):
                panel.set_xlabel(wrapped(f"effect on the {what}", 44, 2), fontsize=SMALL + 1)
        if any(np.isfinite(strip.ranks).any() for strip in self.strips):
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
        limits: tuple[float, float],
        palette: Palette,
        colors: Any,
    ) -> None:
        tidy(ax)
        ax.spines["left"].set_visible(False)
        ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
        ax.locator_params(axis="x", nbins=5)
        names = drawn_labels(self.features, 30)
        short_names = drawn_labels(self.features, 16)
        ticks, labels, top = [], [], 0.0
        size = float(np.clip(9000 / max(len(scope.rows), 1), 2.0, 12.0))
        for name, short, strip in zip(names, short_names, self.strips, strict=True):
            levels = drawn_labels(strip.names, 16)
            heads = [f"{short}: {level}" for level in levels[:1]] + levels[1:]
            start = top
            for line, (height, label) in enumerate(
                zip(strip.heights, heads or [wrapped(name, 24, 2)], strict=True)
            ):
                ticks.append(top + height / 2)
                labels.append(label)
                rows = scope.rows[strip.lines[scope.rows] == line]
                y = top + height / 2 - height * spread(strip.effects[rows], limits)
                self._draw_dots(ax, strip, rows, y, size, colors)
                top += height
            ax.axhline(top, color=palette.pale, linewidth=0.5, zorder=0)
            own = float(np.abs(strip.effects[scope.rows]).mean())
            text = amount(own if own > ROUNDING * self.strips[0].size else 0.0)
            side: dict[str, Any] = {
                "transform": ax.get_yaxis_transform(),
                "ha": "right",
                "va": "center",
            }
            ax.text(1.0, (start + top) / 2, text, fontsize=SMALL, **side)
        ax.set_yticks(ticks, labels, fontsize=SMALL)
        ax.set_ylim(top + 0.1, -0.55)
        ax.text(
            1.0, -0.1, "mean size", fontsize=SMALL - 1, color=GREY, ha="right", va="bottom",
            transform=ax.get_yaxis_transform(),
        )  # fmt: skip
        set_title(ax, title_of(scope))

    def _draw_dots(
        self, ax: Axes, strip: Strip, rows: IntArray, y: FloatArray, size: float, colors: Any
    ) -> None:
        """The rows of one line, the colours of their values mixed; missing and unordered ones grey."""
        ranks = strip.ranks[rows]
        known = np.isfinite(ranks)
        look: dict[str, Any] = {"s": size, "linewidths": 0, "zorder": 3, "alpha": 0.85}
        look["rasterized"] = len(rows) > 2000
        effects = strip.effects[rows]
        if not known.all():
            ax.scatter(effects[~known], y[~known], color=GREY, **look)
        if known.any():
            place = ranks[known]
            ax.scatter(effects[known], y[known], c=place, cmap=colors, vmin=0, vmax=1, **look)

    def frame(self) -> Any:
        """Everything drawn, one line a dot: in the library of X.

        Columns: feature, region, rule, row (position among the rows used), x (null where the value
        is no number), level (null for numbers), effect.
        """
        lines = []
        for strip in self.strips:
            column = strip.column
            numbers = FeatureAxis(column).names(column.levels)
            for scope in self.scopes:
                for row in scope.rows.tolist():
                    code = int(column.codes[row])
                    x, level = None, None
                    if code >= 0 and column.kind == "numeric":
                        x = float(column.levels[code])
                    elif code >= 0:
                        level = numbers[code] if column.kind == "date" else str(column.levels[code])
                    head = (column.name, scope.region, scope.rule, row)
                    lines.append((*head, x, level, float(strip.effects[row])))
        return framed("feature region rule row x level effect", lines, self.table)


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


def value_ranks(column: Column) -> FloatArray:
    """Where the value of each row stands among those of all rows: 0 lowest, 1 highest, nan missing.

    Equal values have the same rank, in the middle of their rows.
    """
    counts = level_counts(column)[1:]
    middles = np.cumsum(counts) - counts / 2
    if len(middles) > 1:
        middles = (middles - middles[0]) / (middles[-1] - middles[0])
    return np.append(middles, np.nan)[column.codes]
