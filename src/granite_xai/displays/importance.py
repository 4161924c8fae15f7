"""ImportanceDisplay: how much each feature matters, by both explanations of a question."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from granite_xai.algebra.catalog import title
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Individual
from granite_xai.base.errors import InputError
from granite_xai.base.numbers import count
from granite_xai.base.options import choose, whole_number
from granite_xai.base.text import drawable, wrapped
from granite_xai.base.typing import FloatArray
from granite_xai.displays.shown import shown_scopes, title_of
from granite_xai.document.chart import GREY
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
from granite_xai.results.values import (
    EFFECTS,
    MEASURES,
    Scope,
    Values,
    chosen_question,
    shown_names,
    sides_shown,
)
from granite_xai.tables import Table

KINDS = {"paired": "paired", "layered": "layered"}
BARS_HEIGHT = 0.76  # share of a line that its bars fill


@dataclass(eq=False)
class ImportanceDisplay(Drawn):
    """Importance of features, groups or pairs, by each explanation of a question.

    For sensitivity and risk the value itself; for local effects the mean of its size over the
    rows. Where the two bars of a feature are equally long, the explanations agree. Make it with
    `from_estimator`.

    Attributes are those of `EffectDisplay`; ``axes_`` holds all rows first, then each region (or
    all in one).

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=60)
    >>> g = gx.Granite(toy.model, "sobol").fit(toy.X)
    >>> display = ImportanceDisplay.from_estimator(g, toy.X)
    >>> bars = display.frame()
    >>> list(bars)
    ['region', 'rule', 'set', 'explanation', 'value', 'standard_error']
    >>> bars["explanation"].unique().tolist()
    ['sobol-total', 'sobol-closed']
    """

    scopes: tuple[Scope, ...] = field(repr=False)
    sets: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    values: FloatArray = field(repr=False)  # (scopes, explanations, sets)
    errors: FloatArray = field(repr=False)  # nan: not known
    measure: str
    table: Table = field(repr=False)

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
        max_features: int = 10,
        max_samples: int | None = None,
        sample_weight: Any = None,
    ) -> ImportanceDisplay:
        """Compute the importances.

        Parameters
        ----------
        g, X, question, max_samples, sample_weight
            As in `EffectDisplay.from_estimator`.
        y : array, optional
            The target; needed for risk.
        features : columns, optional
            None: the sets of the question, the ``max_features`` most important ones.
        explanations : names of ``gx.explanations()`` or Explainers, optional
            None: both sides of the question ("ice" and "pdp" where it compares whole predictions).
        max_features : int
            Bars a panel, at most.
        """
        whole_number("max_features", max_features, at_least=1)
        compared = chosen_question(g, question).question
        sides = sides_shown((compared.first, compared.second), explanations, _is_effect)
        behavior = _common_behavior(sides)
        if features is not None:
            sides = tuple(side.with_influence(Individual(features)) for side in sides)
        shown = Values.of_rows(g, X, y, sides, max_samples, sample_weight)
        explained = shown.explained(sides)
        values = np.stack([in_scope.sizes for in_scope in explained.scopes])
        errors = np.stack([in_scope.errors for in_scope in explained.scopes])
        order = np.argsort(-np.abs(values[0]).max(axis=0), kind="stable")[:max_features]
        return cls(
            scopes=shown_scopes(shown),
            sets=tuple(explained.sets[place] for place in order),
            names=explained.names,
            values=values[:, :, order],
            errors=errors[:, :, order],
            measure=MEASURES[behavior] + " by knowing the feature" * (behavior == "risk"),
            table=shown.table,
        )

    def plot(self, ax: Any = None, *, kind: str = "paired") -> ImportanceDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            As in `EffectDisplay.plot`.
        kind : "paired" or "layered"
            A panel for each region, or the paper's ranking: the bars of all regions start at zero
            and shorter ones lie before longer ones.
        """
        layered = choose("kind", kind, KINDS) == "layered" and len(self.scopes) > 1
        panels = 2 if layered else len(self.scopes)
        names = [" and ".join(members) for members in self.sets]
        labels = [wrapped(label, 26, 3) for label in drawn_labels(names)]
        grid = grid_of(ax, panels, 2.0)
        line = 0.36 + 0.08 * max(label.count("\n") for label in labels)
        height = max(2.2, line * len(self.sets) + 1.3) * grid[0] + 0.8
        size = (max(6.0, (4.2 if layered else 2.5) * grid[1] + 1.6), height)
        drawn = sheet(ax, range(panels), grid, size)
        palette = drawn.palette
        regions = self.scopes[1:] if layered else ()
        for place, panel in enumerate(drawn.axes):
            self._dress(panel, labels, palette)
            panel.tick_params(labelleft=place % drawn.columns == 0)  # names only on the left
            if place >= panels - drawn.columns:
                panel.set_xlabel(self.measure, fontsize=SMALL + 1)
            if layered and place:
                self._draw_layers(panel, palette)
                set_title(panel, f"{count(len(regions), 'region')}, one color each")
            else:
                self._draw_pairs(panel, place, palette)
                set_title(panel, title_of(self.scopes[place]))
        headline = f"Importance by {shown_names(self.names)}, on all rows"
        if len(self.scopes) > 1:
            headline += f" and in {count(len(self.scopes) - 1, 'region')}"
        if len(self.names) > 1:
            headline += ": bars of equal length mean agreement"
        return self._keep(drawn, ax, headline, self._legend(regions, palette))

    def _dress(self, ax: Axes, labels: Sequence[str], palette: Palette) -> None:
        """One line a set, and one scale for all panels."""
        tidy(ax)
        ax.axvline(0.0, color=palette.ink, linewidth=0.8, zorder=5)
        ax.spines["left"].set_visible(False)
        ax.locator_params(axis="x", nbins=4)
        ax.set_yticks(range(len(labels)), labels, fontsize=SMALL)
        ax.set_ylim(len(labels) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        for line in range(1, len(labels)):
            ax.axhline(line - 0.5, color=palette.pale, linewidth=0.5, zorder=0)
        errors = np.nan_to_num(self.errors)
        low = min(0.0, float((self.values - errors).min()))
        high = max(0.0, float((self.values + errors).max()))
        pad = 0.05 * (high - low or 1.0)
        ax.set_xlim(low - pad if low < 0 else low, high + pad)

    def _positions(self) -> tuple[FloatArray, float]:
        """Middle of each bar, (explanations, sets), the first explanation on top, and a bar's height."""
        sides, sets = self.values.shape[1:]
        height = BARS_HEIGHT / sides
        offsets = (np.arange(sides) - (sides - 1) / 2) * height
        return np.add.outer(offsets, np.arange(sets, dtype=np.float64)), height

    def _draw_pairs(self, ax: Axes, scope: int, palette: Palette) -> None:
        """One bar for each explanation and set of a scope."""
        middles, height = self._positions()
        for side, lengths in enumerate(self.values[scope]):
            error = np.nan_to_num(self.errors[scope, side])
            ax.barh(
                middles[side],
                lengths,
                height=height,
                color=_side_color(side, palette),
                xerr=error if error.any() else None,
                error_kw={"elinewidth": 0.8, "capsize": 2, "ecolor": palette.pale},
                zorder=3,
            )

    def _draw_layers(self, ax: Axes, palette: Palette) -> None:
        """Bars of all regions from zero, shorter ones before longer ones."""
        middles, height = self._positions()
        values = self.values[1:]
        regions = self.scopes[1:]
        for side, i in np.ndindex(*middles.shape):
            lengths = values[:, side, i]
            longest_first = np.argsort(-np.abs(lengths), kind="stable").tolist()
            for rank, k in enumerate(longest_first):
                ax.barh(
                    middles[side, i],
                    lengths[k],
                    height=height * 0.92,
                    zorder=3 + rank / (len(regions) + 1),
                    edgecolor=palette.paper,
                    linewidth=0.6,
                    **palette.area(regions[k].region or 0),
                )

    def _legend(self, regions: Sequence[Scope], palette: Palette) -> list[Any]:
        """What is said about the explanations, and about regions that have colours."""
        from matplotlib.patches import Patch

        places: Sequence[str] = [""] * len(self.names)
        if len(self.names) == 2:
            places = [" (upper bar)", " (lower bar)"]
        handles = []
        for i, (name, place) in enumerate(zip(self.names, places, strict=True)):
            label = drawable(title(name)) + place
            handles.append(Patch(facecolor=_side_color(i, palette), label=label))
        for scope in regions:
            label = wrapped(f"region {scope.region}: {drawable(scope.label)}", 44, 2)
            look = palette.area(scope.region or 0)
            handles.append(Patch(edgecolor=GREY, linewidth=0.4, label=label, **look))
        return handles

    def frame(self) -> Any:
        """Everything drawn, one line a bar: in the library of X.

        Columns: region (null: all rows), rule, set, explanation, value, standard_error (null where
        it is not known).
        """
        lines = []
        for (k, side, i), bar in np.ndenumerate(self.values):
            scope = self.scopes[k]
            error = float(self.errors[k, side, i])
            cells = (
                scope.region,
                scope.rule,
                ":".join(self.sets[i]),
                self.names[side],
                float(bar),
                None if np.isnan(error) else error,
            )
            lines.append(cells)
        return framed("region rule set explanation value standard_error", lines, self.table)


def _is_effect(side: Explainer) -> bool:
    """Whether an explanation is what features add, not a whole prediction."""
    return side.interaction.key in EFFECTS


def _common_behavior(sides: Sequence[Explainer]) -> str:
    """What all explanations measure; an error where they have no common scale."""
    behaviors = sorted({side.behavior.key for side in sides})
    if len(behaviors) == 1 and all(_is_effect(side) for side in sides):
        return behaviors[0]
    kinds = " and ".join(behaviors)
    raise InputError(
        f"these explanations have no common scale: they measure {kinds}, or whole predictions.",
        code="P03",
        argument="explanations",
        hint="Choose explanations of the same behavior, such as 'pfi' and 'cfi'.",
    )


def _side_color(side: int, palette: Palette) -> str:
    return (palette.ink, GREY)[side % 2]
