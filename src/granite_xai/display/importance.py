"""ImportanceDisplay: how much each column matters, by both explanations of a question, everywhere and by region."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose, whole_number
from granite_xai.base.typing import FloatArray
from granite_xai.base.wording import count, drawable, told_apart, wrapped
from granite_xai.catalog import explanations as named_explanations, title
from granite_xai.display.figures import MEASURES, Drawn, Sheet, frame_of, grid_of, panel_title, sheet, tidy
from granite_xai.display.style import BLACK, GREY, PALE, SIDES, SMALL, region_style
from granite_xai.explainer import Explainer
from granite_xai.influence import Individual
from granite_xai.scopes import EFFECTS, RowsToShow, Scope, chosen_explainers, chosen_question

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from granite_xai.tables import Table

KINDS = {"paired": "paired", "layered": "layered"}
THICK = 0.76
"""Share of a line that its bars fill."""


@dataclass(eq=False)
class ImportanceDisplay(Drawn):
    """Importance of columns, groups or pairs, by each explanation of a question, on all rows and in each region.

    For sensitivity and risk the value itself; for local effects the mean of its size over the rows. Where the two bars
    of a column are equally long, the explanations agree. Make it with `from_estimator`.

    Attributes
    ----------
    figure_ : Figure
    axes_ : array of Axes
        All rows first, then each region (or all regions in one, for ``kind="layered"``).
    ax_ : Axes
        The one that was given, otherwise the first.

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
    ) -> ImportanceDisplay:
        """Compute the importances.

        Parameters
        ----------
        g : Granite
            Fitted.
        X : table
            Rows that are explained, and the reference in their region.
        y : array, optional
            The target; needed for risk.
        features : columns, optional
            None: the sets of the question, the ``max_features`` most important ones.
        explanations : names of ``gx.explanations()`` or Explainers, optional
            None: both sides of the question ("ice" and "pdp" where it compares whole predictions).
        question : str, optional
            Which one, for an estimator with several; None: the first.
        max_features : int
            Bars a panel, at most.
        max_samples : int, optional
            Rows used, at most. None: as many as the fit used.
        """
        own = chosen_question(g, question).question
        whole_number("max_features", max_features, at_least=1)
        sides = _sides(own.first, own.second, explanations)
        if features is not None:
            sides = tuple(side.with_influence(Individual(list(features))) for side in sides)
        shown = RowsToShow.of(g, X, y, sides, max_samples)
        found = shown.values(sides)
        values = np.stack([region.sizes for region in found.regions])
        errors = np.stack([region.errors for region in found.regions])
        order = np.argsort(-np.abs(values[0]).max(axis=0), kind="stable")[:max_features]
        key = sides[0].behavior.key
        return cls(
            shown.scopes,
            tuple(found.sets[i] for i in order),
            found.names,
            values[:, :, order],
            errors[:, :, order],
            MEASURES[key] + (" by knowing the column" if key == "risk" else ""),
            shown.table,
        )

    def plot(self, ax: Any = None, *, kind: str = "paired") -> ImportanceDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            Where: its place is divided among the panels, or one Axes a panel. None: a new figure.
        kind : "paired" or "layered"
            A panel for each region, or the paper's layered ranking: one panel in which the bars of all regions start at
            zero and shorter ones lie before longer ones.
        """
        layered = choose("kind", kind, KINDS) == "layered" and len(self.scopes) > 1
        panels = 2 if layered else len(self.scopes)
        grid = grid_of(panels)
        lines = max(label.count("\n") for label in set_labels(self.sets))
        height = max(2.2, (0.36 + 0.08 * lines) * len(self.sets) + 1.3)
        size = (max(6.0, (4.2 if layered else 2.5) * grid[1] + 1.6), height * grid[0] + 0.8)
        drawn = sheet(ax, panels, grid, size, range(panels))
        for i, each in enumerate(drawn.axes):
            if layered and i:
                draw_layers(each, self.sets, self.values[1:], self._regions)
                each.set_title(f"{count(len(self.scopes) - 1, 'region')}, one color each", fontsize=8.5, loc="left")
            else:
                draw_pairs(each, self.sets, self.values[i], self.errors[i])
                each.set_title(panel_title(self.scopes[i], 34), fontsize=8.5, loc="left")
        self._limits(drawn)
        drawn.headline(self._headline())
        regions = layer_handles(self._regions, [scope.rule for scope in self.scopes[1:]]) if layered else []
        drawn.legend([*pair_handles(self.names), *regions])
        self._keep(drawn, ax)
        return self

    @property
    def _regions(self) -> list[int]:
        return [scope.region for scope in self.scopes if scope.region is not None]

    def _limits(self, drawn: Sheet) -> None:
        """One scale for all panels; names only on the left."""
        low = min(0.0, float((self.values - np.nan_to_num(self.errors)).min()))
        high = max(0.0, float((self.values + np.nan_to_num(self.errors)).max()))
        span = high - low or 1.0
        for i, ax in enumerate(drawn.axes):
            ax.set_xlim(low - (0.05 * span if low < 0 else 0.0), high + 0.05 * span)
            ax.tick_params(labelleft=drawn.first_of_line(i))
            if i >= len(drawn.axes) - drawn.columns:
                ax.set_xlabel(self.measure, fontsize=8.5)

    def _headline(self) -> str:
        names = " and ".join(drawable(title(name)) for name in self.names)
        where = f"on all rows and in {count(len(self.scopes) - 1, 'region')}" if len(self.scopes) > 1 else "on all rows"
        moral = ": bars of equal length mean agreement" if len(self.names) > 1 else ""
        return f"Importance by {names}, {where}{moral}"

    def frame(self) -> Any:
        """Everything drawn, one line a bar: in the library of X.

        Columns: region (null: all rows), rule, set, explanation, value, standard_error (null where it is not known).
        """
        keys = ("region", "rule", "set", "explanation", "value", "standard_error")
        scopes = [(scope.region, scope.rule) for scope in self.scopes]
        lines = (
            (*scopes[k], ":".join(self.sets[i]), self.names[s], float(value), _known(float(self.errors[k, s, i])))
            for (k, s, i), value in np.ndenumerate(self.values)
        )
        return frame_of(keys, lines, self.table)


def _sides(first: Explainer, second: Explainer, asked: Any) -> tuple[Explainer, ...]:
    if asked is not None:
        return _comparable(chosen_explainers(asked))
    if first.interaction.key in EFFECTS:
        return first, second
    return named_explanations()["ice"], named_explanations()["pdp"]


def _comparable(sides: tuple[Explainer, ...]) -> tuple[Explainer, ...]:
    behaviors = sorted({side.behavior.key for side in sides})
    if len(behaviors) == 1 and all(side.interaction.key in EFFECTS for side in sides):
        return sides
    raise InputError(
        f"these explanations have no common scale: they measure {' and '.join(behaviors)}, or whole predictions.",
        code="P03",
        argument="explanations",
        hint="Choose explanations of the same behavior, such as 'pfi' and 'cfi'.",
    )


def _known(error: float) -> float | None:
    return error if error == error else None


def _positions(sides: int, count: int) -> tuple[FloatArray, float]:
    """Middle of each explanation's bar in each line, the first explanation on top, and a bar's height."""
    height = THICK / sides
    offsets = (np.arange(sides, dtype=np.float64) - (sides - 1) / 2) * height
    middles: FloatArray = offsets[:, None] + np.arange(count)
    return middles, height


def set_labels(sets: Sequence[tuple[str, ...]], width: int = 26) -> list[str]:
    """Names of sets as labels of a vertical axis.

    >>> set_labels([("hr",), ("hr", "temp")])
    ['hr', 'hr × temp']
    """
    names = told_apart([" × ".join(names) for names in sets])
    return [wrapped(name, width, 3) for name in names]


def _dress(ax: Axes, sets: Sequence[tuple[str, ...]]) -> None:
    tidy(ax)
    ax.axvline(0.0, color=BLACK, linewidth=0.8, zorder=5)
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=4)
    ax.set_yticks(range(len(sets)), set_labels(sets), fontsize=SMALL)
    ax.set_ylim(len(sets) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for line in range(1, len(sets)):
        ax.axhline(line - 0.5, color=PALE, linewidth=0.5, zorder=0)


def draw_pairs(ax: Axes, sets: Sequence[tuple[str, ...]], values: FloatArray, errors: FloatArray) -> None:
    """One bar for each explanation and set; ``values`` has shape (explanations, sets)."""
    _dress(ax, sets)
    middles, height = _positions(*values.shape)
    for side, (places, lengths, error) in enumerate(zip(middles, values, errors, strict=True)):
        known = np.nan_to_num(error)
        ax.barh(
            places,
            lengths,
            height=height,
            color=SIDES[side % len(SIDES)],
            xerr=known if known.any() else None,
            error_kw={"elinewidth": 0.8, "capsize": 2},
            zorder=3,
        )


def draw_layers(ax: Axes, sets: Sequence[tuple[str, ...]], values: FloatArray, regions: Sequence[int]) -> None:
    """Bars of all regions from zero, shorter ones before longer ones; ``values``: (regions, explanations, sets)."""
    _dress(ax, sets)
    middles, height = _positions(*values.shape[1:])
    for side, i in np.ndindex(*values.shape[1:]):
        lengths = values[:, side, i]
        for rank, k in enumerate(np.argsort(-np.abs(lengths), kind="stable").tolist()):
            ax.barh(
                middles[side, i],
                lengths[k],
                height=height * 0.92,
                edgecolor="white",
                linewidth=0.6,
                zorder=3 + rank / (len(regions) + 1),
                **region_style(regions[k]),
            )


def pair_handles(names: Sequence[str]) -> list[Any]:
    """What the legend says about the explanations."""
    from matplotlib.patches import Patch

    where = {0: " (upper bar)", len(names) - 1: " (lower bar)"} if len(names) == 2 else {}
    return [
        Patch(facecolor=SIDES[i % len(SIDES)], label=drawable(title(name)) + where.get(i, ""))
        for i, name in enumerate(names)
    ]


def layer_handles(regions: Sequence[int], rules: Sequence[str]) -> list[Any]:
    """What the legend says about the regions."""
    from matplotlib.patches import Patch

    texts = [wrapped(drawable(rule), 40, 2) for rule in rules]
    return [
        Patch(edgecolor=GREY, linewidth=0.4, label=f"region {k}: {text}", **region_style(k))
        for k, text in zip(regions, texts, strict=True)
    ]
