"""ImportanceDisplay: how much each column matters, by both explanations of a question, everywhere and by region."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import distinct_labels, drawable, wrapped
from granite_xai.base.typing import FloatArray
from granite_xai.base.validation import choose, whole_number
from granite_xai.base.wording import count
from granite_xai.disagreement.catalog import title
from granite_xai.display.figures import (
    PALE,
    SIDES,
    SMALL,
    Drawn,
    framed,
    grid_of,
    region_style,
    set_title,
    sheet,
    tidy,
)
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.influence import Individual
from granite_xai.results.scopes import (
    EFFECTS,
    MEASURES,
    RowsToShow,
    Scope,
    chosen_question,
    shown_names,
    sides_shown,
)
from granite_xai.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = {"paired": "paired", "layered": "layered"}
THICK = 0.76  # share of a line that its bars fill


@dataclass(eq=False)
class ImportanceDisplay(Drawn):
    """Importance of columns, groups or pairs, by each explanation of a question, on all rows and in each region.

    For sensitivity and risk the value itself; for local effects the mean of its size over the rows. Where the two bars
    of a column are equally long, the explanations agree. Make it with `from_estimator`.

    Attributes are those of `EffectDisplay`; ``axes_`` holds all rows first, then each region (or all in one).

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
    values: FloatArray = field(repr=False)
    errors: FloatArray = field(repr=False)
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
        own = chosen_question(g, question).question
        whole_number("max_features", max_features, at_least=1)
        sides = sides_shown(
            (own.first, own.second), explanations, lambda side: side.interaction.key in EFFECTS
        )
        behaviors = sorted({side.behavior.key for side in sides})
        if len(behaviors) > 1 or any(side.interaction.key not in EFFECTS for side in sides):
            kinds = " and ".join(behaviors)
            text = f"these explanations have no common scale: they measure {kinds}, or whole predictions."
            hint = "Choose explanations of the same behavior, such as 'pfi' and 'cfi'."
            raise InputError(text, code="P03", argument="explanations", hint=hint)
        if features is not None:
            sides = tuple(side.with_influence(Individual(list(features))) for side in sides)
        shown = RowsToShow.of(g, X, y, sides, max_samples, sample_weight)
        found = shown.values(sides)
        values, errors = (
            np.stack([getattr(r, key) for r in found.regions]) for key in ("sizes", "errors")
        )
        order = np.argsort(-np.abs(values[0]).max(axis=0), kind="stable")[:max_features]
        measure = MEASURES[behaviors[0]] + (
            " by knowing the column" if behaviors[0] == "risk" else ""
        )
        bars = values[:, :, order], errors[:, :, order]
        return cls(
            shown.scopes,
            tuple(found.sets[i] for i in order),
            found.names,
            *bars,
            measure,
            shown.table,
        )

    def plot(self, ax: Any = None, *, kind: str = "paired") -> ImportanceDisplay:
        """Draw the bars (``ax`` as in `EffectDisplay.plot`): "paired", a panel for each region, or "layered".

        That is the paper's ranking: the bars of all regions start at zero and shorter ones lie before longer ones.
        """
        layered = choose("kind", kind, KINDS) == "layered" and len(self.scopes) > 1
        panels = 2 if layered else len(self.scopes)
        grid, taller = (
            grid_of(panels),
            0.08 * max(label.count("\n") for label in set_labels(self.sets)),
        )
        height = max(2.2, (0.36 + taller) * len(self.sets) + 1.3)
        size = (max(6.0, (4.2 if layered else 2.5) * grid[1] + 1.6), height * grid[0] + 0.8)
        drawn = sheet(ax, range(panels), grid, size)
        regions = [scope for scope in self.scopes if scope.region is not None] if layered else []
        known = np.nan_to_num(self.errors)  # one scale for all panels; names only on the left
        low, high = (
            min(0.0, float((self.values - known).min())),
            max(0.0, float((self.values + known).max())),
        )
        span = high - low or 1.0
        for i, each in enumerate(drawn.axes):
            _dress(each, self.sets)
            each.set_xlim(low - (0.05 * span if low < 0 else 0.0), high + 0.05 * span)
            each.tick_params(labelleft=i % drawn.columns == 0)
            if i >= panels - drawn.columns:
                each.set_xlabel(self.measure, fontsize=SMALL + 1)
            if layered and i:
                draw_layers(each, self.values[1:], regions)
                each.set_title(
                    f"{count(len(regions), 'region')}, one color each",
                    fontsize=SMALL + 1,
                    loc="left",
                )
            else:
                draw_pairs(each, self.values[i], self.errors[i])
                set_title(each, self.scopes[i], 34)
        where = f" and in {count(len(self.scopes) - 1, 'region')}" if len(self.scopes) > 1 else ""
        moral = ": bars of equal length mean agreement" if len(self.names) > 1 else ""
        headline = f"Importance by {shown_names(self.names)}, on all rows{where}{moral}"
        return self._keep(drawn, ax, headline, handles(self.names, regions))

    def frame(self) -> Any:
        """Everything drawn, one line a bar: in the library of X.

        Columns: region (null: all rows), rule, set, explanation, value, standard_error (null where it is not known).
        """
        scopes = [(scope.region, scope.rule) for scope in self.scopes]
        errors = np.where(np.isnan(self.errors), None, self.errors)  # type: ignore[call-overload]
        every, sets = np.ndenumerate(self.values), [":".join(names) for names in self.sets]
        lines = (
            (*scopes[k], sets[i], self.names[s], float(value), errors[k, s, i])
            for (k, s, i), value in every
        )
        return framed("region rule set explanation value standard_error", lines, self.table)


def _positions(sides: int, count: int) -> tuple[FloatArray, float]:
    """Middle of each explanation's bar in each line, the first explanation on top, and a bar's height."""
    height = THICK / sides
    return np.add.outer(
        (np.arange(sides) - (sides - 1) / 2) * height, np.arange(count, dtype=np.float64)
    ), height


def set_labels(sets: Sequence[tuple[str, ...]], width: int = 26) -> list[str]:
    """Names of sets as labels of a vertical axis."""
    return [
        wrapped(name, width, 3) for name in distinct_labels([" × ".join(names) for names in sets])
    ]


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


def draw_pairs(ax: Axes, values: FloatArray, errors: FloatArray) -> None:
    """One bar for each explanation and set; ``values`` has shape (explanations, sets)."""
    middles, height = _positions(*values.shape)
    look: dict[str, Any] = {
        "height": height,
        "error_kw": {"elinewidth": 0.8, "capsize": 2},
        "zorder": 3,
    }
    for side, (places, lengths, error) in enumerate(
        zip(middles, values, np.nan_to_num(errors), strict=True)
    ):
        ax.barh(
            places,
            lengths,
            color=SIDES[side % len(SIDES)],
            xerr=error if error.any() else None,
            **look,
        )


def draw_layers(ax: Axes, values: FloatArray, regions: Sequence[Scope]) -> None:
    """Bars of all regions from zero, shorter ones before longer ones; ``values``: (regions, explanations, sets)."""
    middles, height = _positions(*values.shape[1:])
    for side, i in np.ndindex(*values.shape[1:]):
        lengths = values[:, side, i]
        for rank, k in enumerate(np.argsort(-np.abs(lengths), kind="stable").tolist()):
            look = {"edgecolor": "white", "linewidth": 0.6, **region_style(regions[k].region or 0)}
            order = 3 + rank / (len(regions) + 1)
            ax.barh(middles[side, i], lengths[k], height=height * 0.92, zorder=order, **look)


def handles(names: Sequence[str], regions: Sequence[Scope]) -> list[Any]:
    """What the legend says about the explanations, and about regions that have colors."""
    from matplotlib.patches import Patch

    where = (" (upper bar)", " (lower bar)") if len(names) == 2 else ("",) * len(names)
    labels = [drawable(title(name)) + place for name, place in zip(names, where, strict=True)]
    found = [Patch(facecolor=SIDES[i % len(SIDES)], label=label) for i, label in enumerate(labels)]
    rules = [f"region {scope.region}: {wrapped(drawable(scope.rule), 40, 2)}" for scope in regions]
    styles = [
        {"edgecolor": SIDES[1], "linewidth": 0.4, **region_style(scope.region or 0)}
        for scope in regions
    ]
    return found + [Patch(label=rule, **style) for rule, style in zip(rules, styles, strict=True)]
