"""ComparisonDisplay: the average effects of all cases of a comparison, side by side in every region."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from granite_xai.base.options import whole_number
from granite_xai.base.wording import drawable, shortened
from granite_xai.comparison import CaseCurve, Comparison
from granite_xai.display.axis import Axis
from granite_xai.display.figures import BLACK, BLUE, ORANGE, PALE, SMALL, Drawn, framed, set_title, sheet, tidy

COLORS = (BLUE, ORANGE, "#009E73", "#CC79A7", BLACK)


@dataclass(eq=False)
class ComparisonDisplay(Drawn):
    """Average effects (PDP) of the strongest columns by each case, with pointwise intervals: a panel for each region.

    Make it with `from_comparison`.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=120)
    >>> found = gx.compare({"old": toy.model, "new": lambda X: 2 * toy.model(X)}, toy.X)
    >>> display = ComparisonDisplay.from_comparison(found, max_features=1)
    >>> list(display.frame())
    ['set', 'region', 'rule', 'case', 'x', 'level', 'mean', 'low', 'high']
    """

    comparison: Comparison = field(repr=False)
    positions: tuple[int, ...]

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, features: Sequence[Hashable] | None = None, max_features: int = 3
    ) -> ComparisonDisplay:
        """Choose the columns.

        Parameters
        ----------
        comparison : Comparison
            What ``gx.compare`` found.
        features : columns, optional
            None: the ``max_features`` strongest ones of the first case.
        max_features : int
            Columns drawn, at most.
        """
        whole_number("max_features", max_features, at_least=1)
        values = comparison.cases[0].values
        if features is not None:
            return cls(comparison, tuple(values.table.resolve(label, "features") for label in features))
        return cls(comparison, tuple(comparison.columns[:max_features]))

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the curves: a line of panels for each column.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            Where: its place is divided among the panels, or one Axes a panel. None: a new figure.
        """
        from matplotlib.lines import Line2D

        regions = len(self.comparison.partition)
        grid = len(self.positions), regions
        drawn = sheet(ax, range(grid[0] * grid[1]), grid, (max(6.0, 2.4 * regions + 0.6), 2.3 * grid[0] + 0.8))
        for line, position in enumerate(self.positions):
            axes = drawn.axes[line * regions : (line + 1) * regions]
            axis = Axis.of(self.comparison.cases[0].values.table, position)
            found = self.comparison.curves(position)
            low, high = min(float(c.low.min()) for _, _, c in found), max(float(c.high.max()) for _, _, c in found)
            pad = 0.05 * (high - low or 1.0)
            for k, each in enumerate(axes):
                tidy(each)
                each.axhline(0.0, color=PALE, linewidth=0.8)
                for i, case in enumerate(self.comparison.cases):
                    own = [curve for one, scope, curve in found if one is case and scope.region == k]
                    for curve in own:
                        self._draw(each, axis, self._levels(i, position, curve), curve, COLORS[i % len(COLORS)])
                axis.dress(each)
                each.set_ylim(low - pad, high + pad)
                each.tick_params(labelleft=k == 0)
                if line == 0:
                    set_title(each, self.comparison.cases[0].scopes[k], 26)
        named = zip(COLORS, self.comparison.names, strict=False)
        handles = [Line2D([], [], color=color, label=drawable(shortened(name, 40))) for color, name in named]
        self._keep(drawn, ax, "Average effects by case, in the same regions", handles)
        return self

    def _levels(self, case: int, position: int, curve: CaseCurve) -> Any:
        return self.comparison.cases[case].values.table.columns[position].levels[curve.codes]

    def _draw(self, ax: Any, axis: Axis, levels: Any, curve: CaseCurve, color: str) -> None:
        x = axis.numbers(levels)
        if axis.ordered:
            ax.fill_between(x, curve.low, curve.high, color=color, alpha=0.18, linewidth=0)
            ax.plot(x, curve.mean, color=color, linewidth=1.5)
        else:
            ax.errorbar(x, curve.mean, [curve.mean - curve.low, curve.high - curve.mean], fmt="o", color=color, ms=4)
        ax.tick_params(labelsize=SMALL)

    def frame(self) -> Any:
        """Everything drawn, one line a point: set, region, rule, case, x, level (null for numbers), mean, low, high."""
        table = self.comparison.cases[0].values.table
        lines = [line for position in self.positions for line in self._lines(position, Axis.of(table, position))]
        return framed("set region rule case x level mean low high", lines, table)

    def _lines(self, position: int, axis: Axis) -> list[tuple[Any, ...]]:
        found = []
        for case, scope, curve in self.comparison.curves(position):
            levels = case.values.table.columns[position].levels[curve.codes]
            head = (axis.column.name, scope.region, scope.rule, case.name)
            cells = zip(axis.numbers(levels), axis.texts(levels), curve.mean, curve.low, curve.high, strict=True)
            found += [(*head, float(x), text, *map(float, figures)) for x, text, *figures in cells]
        return found
