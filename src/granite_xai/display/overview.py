"""OverviewDisplay: the effect of every feature on every row, by region, at a glance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from granite_xai.algebra.catalog import title
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Individual
from granite_xai.base.numbers import count
from granite_xai.base.options import whole_number
from granite_xai.base.text import drawable, wrapped
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.display.figures import (
    SMALL,
    Axes,
    Drawn,
    drawn_labels,
    framed,
    scope_label,
    sheet,
    tidy,
)
from granite_xai.display.sides import local_sides
from granite_xai.document.chart import BLACK, GREY, PALE, region_color
from granite_xai.results.values import Scope, Values, chosen_question
from granite_xai.tables import Column, Table

MOST_FEATURES = 20
HEIGHT = 0.84  # share of a line that its dots fill
TALL_LINE = 0.62  # inches of a line
LOW_LINE = 0.42  # inches, where there are many features
MANY_FEATURES = 12


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """One feature: the effect on each row and how its value ranks among those of all rows."""

    column: Column
    effects: FloatArray  # (rows,)
    ranks: FloatArray  # (rows,) from 0, the lowest value, to 1; nan: missing

    @property
    def size(self) -> float:
        """Mean absolute effect, by which features are ordered."""
        return float(np.abs(self.effects).mean())


@dataclass(eq=False)
class OverviewDisplay(Drawn):
    """A first look: one line a feature, one dot a row, in the colour of the row's region.

    A dot lies to the right where the feature raises the prediction of the row, compared with the
    average of its region. Inside a line, low values of the feature lie below and high values
    above: dots that lean to the right mean that the prediction rises with the feature. The most
    important features come first. Make it with `from_estimator`.

    Attributes are those of `EffectDisplay`; ``axes_`` holds one Axes.

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
    regions: IntArray = field(repr=False)
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
            Lines, at most; how many features are left out is written below them.
        """
        whole_number("max_features", max_features, at_least=1)
        resolved = chosen_question(g, question)
        sides = (resolved.question.first, resolved.question.second)
        side = local_sides(sides, explanation)[0]
        rows_to_show = Values.of_rows(g, X, None, [side], max_samples, sample_weight)
        table = rows_to_show.table
        chosen = None
        if features is not None:
            chosen = [table.names[table.resolve(label, "features")] for label in features]
        values = rows_to_show.explained([side.with_influence(Individual(chosen))])
        regions = values.scopes[1:] or values.scopes  # a single region is all rows
        effects = np.zeros((table.n_rows, len(values.sets)))
        for region in regions:
            effects[region.scope.rows] = region.parts[0].values
        columns = [table.columns[table.names.index(names[0])] for names in values.sets]
        strips = [
            Strip(column=column, effects=effects[:, i], ranks=value_ranks(column))
            for i, column in enumerate(columns)
        ]
        strips.sort(key=lambda strip: -strip.size)
        strongest = strips[:max_features]
        return cls(
            strips=tuple(strongest),
            regions=rows_to_show.regions,
            scopes=tuple(region.scope for region in regions),
            explanation=values.names[0],
            prediction=rows_to_show.fitted.model.label,
            left_out=len(strips) - len(strongest),
            table=table,
        )

    def plot(self, ax: Any = None) -> OverviewDisplay:
        """Draw the lines, in a new figure or in the Axes ``ax``."""
        from matplotlib.lines import Line2D

        line_height = TALL_LINE if len(self.strips) <= MANY_FEATURES else LOW_LINE
        drawn = sheet(ax, [0], (1, 1), (8.0, line_height * len(self.strips) + 1.5))
        axes = drawn.axes[0]
        self._draw_lines(axes)
        handles = []
        if len(self.scopes) > 1:
            for scope in self.scopes:
                label = wrapped(scope_label(scope), 56, 2)
                color = region_color(scope.region)
                handles.append(
                    Line2D([], [], color=color, marker="o", linestyle="none", label=label)
                )
        name = drawable(title(self.explanation))
        headline = f"What each feature does to each row's prediction ({name})"
        return self._keep(drawn, ax, headline, handles)

    def _draw_lines(self, ax: Axes) -> None:
        tidy(ax)
        ax.spines["left"].set_visible(False)
        ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
        for line, strip in enumerate(self.strips):
            ax.axhline(line + 0.5, color=PALE, linewidth=0.5, zorder=0)
            self._draw_dots(ax, line, strip)
        names = drawn_labels(self.features, 32)
        ax.set_yticks(range(len(names)), [wrapped(name, 22, 2) for name in names], fontsize=SMALL)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(names) - 0.4, -0.6)
        what = "prediction" if self.prediction == "predict" else drawable(self.prediction)
        how = "in each line: low values of the feature below, high values above"
        left_out = f"; and {count(self.left_out, 'more feature')}" if self.left_out else ""
        ax.set_xlabel(f"effect on the {what}  ({how}{left_out})", fontsize=SMALL + 1)

    def _draw_dots(self, ax: Axes, line: int, strip: Strip) -> None:
        """All rows in the line of a feature, mixed, so that no region hides another.

        Missing values are hollow, in the middle of the line.
        """
        n_rows = len(self.regions)
        colors = np.full(n_rows, BLACK, dtype=object)
        if len(self.scopes) > 1:
            colors = np.array([region_color(int(region)) for region in self.regions], dtype=object)
        heights = line - HEIGHT * (np.nan_to_num(strip.ranks, nan=0.5) - 0.5)
        mixed = np.random.default_rng(0).permutation(n_rows)
        missing = np.isnan(strip.ranks)[mixed]
        solid = mixed[~missing]
        hollow = mixed[missing]
        size = float(np.clip(6000 / max(n_rows, 1), 3.0, 10.0))
        ax.scatter(
            strip.effects[solid],
            heights[solid],
            s=size,
            c=colors[solid].tolist(),
            alpha=0.8,
            linewidths=0,
            zorder=3,
        )
        ax.scatter(
            strip.effects[hollow],
            heights[hollow],
            s=1.6 * size,
            facecolors="none",
            edgecolors=colors[hollow].tolist(),
            linewidths=0.6,
            zorder=3,
        )

    def frame(self) -> Any:
        """Everything drawn, one line a dot: in the library of X.

        Columns: feature, region, rule, row (position among the rows used), x (null where the value
        is no number), level (null for numbers), effect.
        """
        keys = "feature region rule row x level effect"
        rules = {scope.region: scope.rule for scope in self.scopes}
        lines = []
        for strip in self.strips:
            for row, effect in enumerate(strip.effects.tolist()):
                region = int(self.regions[row]) if len(self.scopes) > 1 else None
                number, level = _value(strip.column, row)
                lines.append((strip.column.name, region, rules[region], row, number, level, effect))
        return framed(keys, lines, self.table)


def value_ranks(column: Column) -> FloatArray:
    """Where the value of each row stands among those of all rows: 0 lowest, 1 highest, nan missing.

    Rows with the same value are spread over the places of that value, in an arbitrary order.
    """
    n_rows = len(column.codes)
    mixed = np.random.default_rng(0).permutation(n_rows)
    order = mixed[np.argsort(column.codes[mixed], kind="stable")]
    present = order[column.codes[order] >= 0]
    ranks = np.full(n_rows, np.nan)
    ranks[present] = (np.arange(len(present)) + 0.5) / max(len(present), 1)
    return ranks


def _value(column: Column, row: int) -> tuple[float | None, str | None]:
    """A cell as a number, or as the name of its level."""
    code = int(column.codes[row])
    if code < 0:
        return None, None
    level = column.levels[code]
    if column.kind == "numeric":
        return float(level), None
    return None, str(level)
