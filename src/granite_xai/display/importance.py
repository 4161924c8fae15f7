"""ImportanceDisplay: how much each column matters, by both explanations of a question, everywhere and by region."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose, whole_number
from granite_xai.base.typing import FloatArray
from granite_xai.catalog import explanations as named_explanations
from granite_xai.display.bars import draw_layers, draw_pairs, layer_handles, pair_handles, set_labels
from granite_xai.display.figures import Sheet, grid_of, sheet
from granite_xai.display.panel import panel_title
from granite_xai.display.rows import Area, Reader, Reading, chosen_comparison, chosen_explainers, see
from granite_xai.display.words import familiar
from granite_xai.estimator import fitted_view
from granite_xai.explainer import Explainer
from granite_xai.explanation import Part
from granite_xai.influence import Individual
from granite_xai.tables import frame

if TYPE_CHECKING:
    from granite_xai.tables import Table

KINDS = {"paired": "paired", "layered": "layered"}
MEASURES = {
    "local": "mean size of the effect",
    "sensitivity": "variance of the prediction",
    "risk": "loss saved by knowing the column",
}


@dataclass(eq=False)
class ImportanceDisplay:
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

    areas: tuple[Area, ...] = field(repr=False)
    sets: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    values: FloatArray = field(repr=False)
    errors: FloatArray = field(repr=False)
    measure: str
    table: Table = field(repr=False)
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

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
        own = chosen_comparison(fitted_view(g).result, question).question
        whole_number("max_features", max_features, at_least=1)
        sides = _sides(own.first, own.second, explanations)
        if features is not None:
            sides = tuple(side.with_influence(Individual(list(features))) for side in sides)
        seen = see(g, X, y, sides, max_samples)
        reader = Reader(seen, sides)
        readings = [reader.read(area) for area in seen.areas]
        values, errors = (np.stack([_all(r, pick) for r in readings]) for pick in (_importance, _error))
        order = np.argsort(-np.abs(values[0]).max(axis=0), kind="stable")[:max_features]
        labels = reader.effects[0].layout.labels
        return cls(
            seen.areas,
            tuple(labels[i] for i in order),
            tuple(reader.names),
            values[:, :, order],
            errors[:, :, order],
            MEASURES[sides[0].behavior.key],
            seen.table,
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
        layered = choose("kind", kind, KINDS) == "layered" and len(self.areas) > 1
        count = 2 if layered else len(self.areas)
        grid = grid_of(count)
        lines = max(label.count("\n") for label in set_labels(self.sets))
        height = max(2.2, (0.36 + 0.08 * lines) * len(self.sets) + 1.3)
        size = (max(6.0, (4.2 if layered else 2.5) * grid[1] + 1.6), height * grid[0] + 0.8)
        drawn = sheet(ax, count, grid, size, range(count))
        for i, each in enumerate(drawn.axes):
            if layered and i:
                draw_layers(each, self.sets, self.values[1:], self._regions)
                each.set_title(f"{count_of(len(self.areas) - 1)}, one color each", fontsize=8.5, loc="left")
            else:
                draw_pairs(each, self.sets, self.values[i], self.errors[i])
                each.set_title(panel_title(self.areas[i], 34), fontsize=8.5, loc="left")
        self._limits(drawn)
        drawn.headline(self._headline())
        regions = layer_handles(self._regions, [a.rule for a in self.areas[1:]]) if layered else []
        drawn.legend([*pair_handles(self.names, layered), *regions])
        drawn.settle()
        self.figure_, self.axes_ = drawn.figure, np.array(drawn.axes, dtype=object)
        self.ax_ = drawn.axes[0] if ax is None or not hasattr(ax, "figure") else ax
        return self

    @property
    def _regions(self) -> list[int]:
        return [area.region for area in self.areas if area.region is not None]

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
        names = " and ".join(familiar(name) for name in self.names)
        where = f"on all rows and in {count_of(len(self.areas) - 1)}" if len(self.areas) > 1 else "on all rows"
        moral = ": bars of equal length mean agreement" if len(self.names) > 1 else ""
        return f"Importance by {names}, {where}{moral}"

    def frame(self) -> Any:
        """Everything drawn, one line a bar: in the library of X.

        Columns: region (null: all rows), rule, set, explanation, value, standard_error (null where it is not known).
        """
        keys = ("region", "rule", "set", "explanation", "value", "standard_error")
        data: dict[str, list[Any]] = {key: [] for key in keys}
        for (k, s, i), value in np.ndenumerate(self.values):
            error = float(self.errors[k, s, i])
            area = self.areas[k]
            cells = (area.region, area.rule, ":".join(self.sets[i]), self.names[s], float(value))
            for key, cell in zip(keys, (*cells, None if np.isnan(error) else error), strict=True):
                data[key].append(cell)
        return frame(data, like=self.table)


def count_of(regions: int) -> str:
    """Number of regions in words.

    Examples
    --------
    >>> count_of(1), count_of(3)
    ('1 region', '3 regions')
    """
    return f"{regions} region{'' if regions == 1 else 's'}"


def _sides(first: Explainer, second: Explainer, asked: Any) -> tuple[Explainer, ...]:
    if asked is not None:
        return _comparable(chosen_explainers(asked))
    if first.interaction.key in ("full", "partial", "pure"):
        return first, second
    named = named_explanations()
    return named["ice"], named["pdp"]


def _comparable(sides: tuple[Explainer, ...]) -> tuple[Explainer, ...]:
    behaviors = sorted({side.behavior.key for side in sides})
    if len(behaviors) == 1 and all(side.interaction.key in ("full", "partial", "pure") for side in sides):
        return sides
    raise InputError(
        f"these explanations have no common scale: they measure {' and '.join(behaviors)}, or whole predictions.",
        code="P03",
        argument="explanations",
        hint="Choose explanations of the same behavior, such as 'pfi' and 'cfi'.",
    )


def _all(reading: Reading, pick: Any) -> FloatArray:
    return np.stack([pick(part) for part in reading.parts])


def _importance(part: Part) -> FloatArray:
    return part.values if part.rows is None else np.abs(part.values).mean(axis=0)


def _error(part: Part) -> FloatArray:
    """Standard errors; those of a mean size are not known unless every effect is exact."""
    if part.rows is None:
        return part.errors
    return np.where(part.errors.any(axis=0), np.nan, 0.0)
