"""ImportanceDisplay: how much each feature matters, by both explanations of a question."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.algebra.catalog import title
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Individual
from granite_xai.base.errors import InputError
from granite_xai.base.numbers import count
from granite_xai.base.options import choose, whole_number
from granite_xai.base.text import drawable, wrapped
from granite_xai.base.typing import FloatArray
from granite_xai.display.figures import (
    SMALL,
    Drawn,
    drawn_labels,
    framed,
    grid_of,
    scope_label,
    set_title,
    sheet,
    tidy,
)
from granite_xai.document.chart import ON_WHITE, PALE, SIDES
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = {"paired": "paired", "layered": "layered"}
PATTERNS = ("", "///", "...", "xxx")  # of areas: they repeat the colours with a pattern
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
        resolved = chosen_question(g, question)
        question_sides = (resolved.question.first, resolved.question.second)
        sides = sides_shown(question_sides, explanations, _is_effect)
        behavior = _common_behavior(sides)
        if features is not None:
            sides = tuple(side.with_influence(Individual(list(features))) for side in sides)
        rows_to_show = Values.of_rows(g, X, y, sides, max_samples, sample_weight)
        by_scope = rows_to_show.explained(sides)
        values = np.stack([scope.sizes for scope in by_scope.scopes])
        errors = np.stack([scope.errors for scope in by_scope.scopes])
        order = np.argsort(-np.abs(values[0]).max(axis=0), kind="stable")[:max_features]
        measure = MEASURES[behavior]
        if behavior == "risk":
            measure += " by knowing the feature"
        return cls(
            scopes=rows_to_show.scopes,
            sets=tuple(by_scope.sets[i] for i in order),
            names=by_scope.names,
            values=values[:, :, order],
            errors=errors[:, :, order],
            measure=measure,
            table=rows_to_show.table,
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
        grid = grid_of(panels)
        drawn = sheet(ax, range(panels), grid, self._size(grid, layered))
        regions: list[Scope] = []
        if layered:
            regions = [scope for scope in self.scopes if scope.region is not None]
        low, high = self._limits()
        for i, panel in enumerate(drawn.axes):
            _dress(panel, self.sets)
            panel.set_xlim(low, high)
            panel.tick_params(labelleft=i % drawn.columns == 0)  # names only on the left
            if i >= panels - drawn.columns:
                panel.set_xlabel(self.measure, fontsize=SMALL + 1)
            if layered and i:
                _draw_layers(panel, self.values[1:], regions)
                heading = f"{count(len(regions), 'region')}, one color each"
                panel.set_title(heading, fontsize=SMALL + 1, loc="left")
            else:
                _draw_pairs(panel, self.values[i], self.errors[i])
                set_title(panel, self.scopes[i], 34)
        headline = f"Importance by {shown_names(self.names)}, on all rows"
        if len(self.scopes) > 1:
            headline += f" and in {count(len(self.scopes) - 1, 'region')}"
        if len(self.names) > 1:
            headline += ": bars of equal length mean agreement"
        return self._keep(drawn, ax, headline, _handles(self.names, regions))

    def _size(self, grid: tuple[int, int], layered: bool) -> tuple[float, float]:
        """Inches of the figure."""
        broken_lines = max(label.count("\n") for label in set_labels(self.sets))
        line = 0.36 + 0.08 * broken_lines
        height = max(2.2, line * len(self.sets) + 1.3)
        width = 4.2 if layered else 2.5
        return max(6.0, width * grid[1] + 1.6), height * grid[0] + 0.8

    def _limits(self) -> tuple[float, float]:
        """One scale for all panels."""
        errors = np.nan_to_num(self.errors)
        low = min(0.0, float((self.values - errors).min()))
        high = max(0.0, float((self.values + errors).max()))
        pad = 0.05 * (high - low or 1.0)
        if low < 0:
            low -= pad
        return low, high + pad

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


def set_labels(sets: Sequence[tuple[str, ...]], width: int = 26) -> list[str]:
    """Names of sets as labels of a vertical axis."""
    names = [" × ".join(members) for members in sets]
    return [wrapped(name, width, 3) for name in drawn_labels(names)]


def _dress(ax: Axes, sets: Sequence[tuple[str, ...]]) -> None:
    tidy(ax)
    ax.axvline(0.0, color=SIDES[0], linewidth=0.8, zorder=5)
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=4)
    ax.set_yticks(range(len(sets)), set_labels(sets), fontsize=SMALL)
    ax.set_ylim(len(sets) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for line in range(1, len(sets)):
        ax.axhline(line - 0.5, color=PALE, linewidth=0.5, zorder=0)


def _positions(sides: int, sets: int) -> tuple[FloatArray, float]:
    """Middle of each bar, (sides, sets), the first explanation on top, and a bar's height."""
    height = BARS_HEIGHT / sides
    offsets = (np.arange(sides) - (sides - 1) / 2) * height
    return np.add.outer(offsets, np.arange(sets, dtype=np.float64)), height


def _draw_pairs(ax: Axes, values: FloatArray, errors: FloatArray) -> None:
    """One bar for each explanation and set; ``values`` has shape (explanations, sets)."""
    middles, height = _positions(*values.shape)
    for side, lengths in enumerate(values):
        error = np.nan_to_num(errors[side])
        ax.barh(
            middles[side],
            lengths,
            height=height,
            color=SIDES[side % len(SIDES)],
            xerr=error if error.any() else None,
            error_kw={"elinewidth": 0.8, "capsize": 2},
            zorder=3,
        )


def _draw_layers(ax: Axes, values: FloatArray, regions: Sequence[Scope]) -> None:
    """Bars of all regions from zero, shorter ones before longer ones.

    ``values`` has shape (regions, explanations, sets).
    """
    middles, height = _positions(*values.shape[1:])
    for side, i in np.ndindex(*values.shape[1:]):
        lengths = values[:, side, i]
        longest_first = np.argsort(-np.abs(lengths), kind="stable").tolist()
        for rank, k in enumerate(longest_first):
            ax.barh(
                middles[side, i],
                lengths[k],
                height=height * 0.92,
                zorder=3 + rank / (len(regions) + 1),
                edgecolor="white",
                linewidth=0.6,
                **region_style(regions[k].region or 0),
            )


def region_style(region: int) -> dict[str, Any]:
    """Colour and pattern of a region that is drawn as an area."""
    turn, place = divmod(region, len(ON_WHITE))
    return {"facecolor": ON_WHITE[place], "hatch": PATTERNS[turn % len(PATTERNS)]}


def _handles(names: Sequence[str], regions: Sequence[Scope]) -> list[Any]:
    """What the legend says about the explanations, and about regions that have colours."""
    from matplotlib.patches import Patch

    places: Sequence[str] = [""] * len(names)
    if len(names) == 2:
        places = [" (upper bar)", " (lower bar)"]
    handles = []
    for i, (name, place) in enumerate(zip(names, places, strict=True)):
        color = SIDES[i % len(SIDES)]
        handles.append(Patch(facecolor=color, label=drawable(title(name)) + place))
    for scope in regions:
        style = region_style(scope.region or 0)
        label = wrapped(scope_label(scope), 44, 2)
        handles.append(Patch(edgecolor=SIDES[1], linewidth=0.4, label=label, **style))
    return handles
