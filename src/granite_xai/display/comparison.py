"""ComparisonDisplay: average effects in the same regions, of several models or tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from granite_xai.base.options import whole_number
from granite_xai.base.text import drawable, shortened
from granite_xai.display.axis import Axis
from granite_xai.display.figures import SMALL, Axes, Drawn, framed, set_title, sheet, tidy
from granite_xai.document.chart import CASES, GREY
from granite_xai.regions import Partition


class ComparedCases(Protocol):
    """What is shown of a `Comparison`."""

    @property
    def partition(self) -> Partition:
        """The regions."""

    @property
    def cases(self) -> Sequence[Any]:
        """The cases, each with its values and its scopes."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the cases."""

    @property
    def columns(self) -> Sequence[int]:
        """Positions of the features, the strongest first."""

    def curves(self, position: int) -> Iterator[Any]:
        """The average effect of a feature by each case in each region."""


@dataclass(eq=False)
class ComparisonDisplay(Drawn):
    """Average effects (PDP) of the strongest features by each case, with pointwise intervals.

    One line of panels a feature, one panel a region. Make it with `from_comparison`.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=120)
    >>> found = gx.compare({"old": toy.model, "new": lambda X: 2 * toy.model(X)}, toy.X)
    >>> display = ComparisonDisplay.from_comparison(found, max_features=1)
    >>> list(display.frame())
    ['set', 'region', 'rule', 'case', 'x', 'level', 'mean', 'low', 'high']
    """

    comparison: ComparedCases = field(repr=False)
    positions: tuple[int, ...]

    @classmethod
    def from_comparison(
        cls,
        comparison: ComparedCases,
        *,
        features: Sequence[Hashable] | None = None,
        max_features: int = 3,
    ) -> ComparisonDisplay:
        """Choose the features.

        Parameters
        ----------
        comparison : Comparison
            What ``gx.compare`` found.
        features : columns, optional
            None: the ``max_features`` strongest of the first case.
        max_features : int
        """
        max_features = whole_number("max_features", max_features, at_least=1)
        if features is None:
            return cls(comparison, tuple(comparison.columns[:max_features]))
        table = comparison.cases[0].values.table
        return cls(comparison, tuple(table.resolve(label, "features") for label in features))

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the curves; ``ax`` as in `EffectDisplay.plot`."""
        from matplotlib.lines import Line2D

        comparison = self.comparison
        regions = len(comparison.partition)
        lines = len(self.positions)
        size = (max(6.0, 2.4 * regions + 0.6), 2.3 * lines + 0.8)
        drawn = sheet(ax, range(lines * regions), (lines, regions), size)
        colors = {name: CASES[i % len(CASES)] for i, name in enumerate(comparison.names)}
        for line, position in enumerate(self.positions):
            self._draw_line(drawn.axes[line * regions : (line + 1) * regions], position, colors)
        for region, panel in enumerate(drawn.axes[:regions]):
            set_title(panel, comparison.cases[0].scopes[region], 26)
        handles = [
            Line2D([], [], color=color, label=drawable(shortened(name, 40)))
            for name, color in colors.items()
        ]
        return self._keep(drawn, ax, "Average effects by case, in the same regions", handles)

    def _draw_line(self, panels: Sequence[Axes], position: int, colors: dict[str, str]) -> None:
        """One feature in all regions, on one scale."""
        axis = Axis.of(self.comparison.cases[0].values.table, position)
        curves = list(self.comparison.curves(position))
        low = min(float(curve.low.min()) for curve in curves)
        high = max(float(curve.high.max()) for curve in curves)
        pad = 0.05 * (high - low or 1.0)
        for region, panel in enumerate(panels):
            tidy(panel)
            panel.axhline(0.0, color=GREY, linewidth=0.4)
            for curve in curves:
                if curve.scope.region == region:
                    _draw_case(panel, axis, curve, colors[curve.case])
            axis.dress(panel)
            panel.set_ylim(low - pad, high + pad)
            panel.tick_params(labelleft=region == 0, labelsize=SMALL)

    def frame(self) -> Any:
        """Everything drawn, one line a point.

        Columns: set, region, rule, case, x, level (null for numbers), mean, low, high.
        """
        table = self.comparison.cases[0].values.table
        lines = []
        for position in self.positions:
            axis = Axis.of(table, position)
            for curve in self.comparison.curves(position):
                head = (axis.column.name, curve.scope.region, curve.scope.rule, curve.case)
                points = zip(
                    axis.numbers(curve.levels).tolist(),
                    axis.texts(curve.levels),
                    curve.mean.tolist(),
                    curve.low.tolist(),
                    curve.high.tolist(),
                    strict=True,
                )
                lines += [(*head, *point) for point in points]
        return framed("set region rule case x level mean low high", lines, table)


def _draw_case(panel: Axes, axis: Axis, curve: Any, color: str) -> None:
    """A line in its band where values have an order, otherwise points with bars."""
    x = axis.numbers(curve.levels)
    if axis.ordered:
        panel.errorbar(x, curve.mean, None, fmt="-", color=color, ms=4)
        panel.fill_between(x, curve.low, curve.high, color=color, alpha=0.18, linewidth=0)
    else:
        panel.errorbar(x, curve.mean, curve.high - curve.mean, fmt="o", color=color, ms=4)
