"""One row against its region; the same regions under several models or tables; what is left with ever fewer regions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from granite_xai.base.text import distinct_labels, drawable, shortened, wrapped
from granite_xai.base.validation import whole_number
from granite_xai.base.wording import count, number, percent, signed
from granite_xai.disagreement.catalog import title
from granite_xai.display.axis import Axis
from granite_xai.display.figures import (
    BLUE,
    GREY,
    ORANGE,
    SMALL,
    Axes,
    Drawn,
    framed,
    grid_of,
    set_title,
    sheet,
    tidy,
)
from granite_xai.fitting.inputs import path_of
from granite_xai.fitting.new_rows import fitted_view
from granite_xai.inference.path import KEPT, Path
from granite_xai.results.row import RowExplanation
from granite_xai.studies.comparison import Comparison
from granite_xai.studies.groups import GroupProposal
from granite_xai.surrogate.curves import Curve

MOST_BARS = 10
COLORS = (BLUE, ORANGE, "#009E73", "#CC79A7", GREY)


@dataclass(eq=False)
class RowDisplay(Drawn):
    """A waterfall from the mean of the region to the prediction of a row, and the row on the region's curves.

    Make it with `from_estimator`, or from what ``explain_row`` found.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=60)
    >>> g = gx.Granite(toy.model).fit(toy.X)
    >>> display = RowDisplay.from_estimator(g, toy.X.iloc[[3]])
    >>> display.frame()["set"].tolist()
    ['x1', 'x2', 'x3', 'x4', 'together']
    """

    explanation: RowExplanation
    max_features: int = field(default=5)

    @classmethod
    def from_estimator(cls, g: Any, x: Any, *, max_features: int = 5) -> RowDisplay:
        """Explain a row, given as for ``explain_row``; beside the waterfall are at most ``max_features`` curves."""
        return cls(g.explain_row(x), whole_number("max_features", max_features, at_least=0))

    def plot(self, ax: Any = None) -> RowDisplay:
        """Draw the waterfall and the curves; ``ax`` as in `EffectDisplay.plot`."""
        found = self.explanation
        every = ((i, found.curves[i]) for i in found.order.tolist())
        chosen = [(i, curve) for i, curve in every if curve is not None][: self.max_features]
        grid, bars = grid_of(1 + len(chosen), 3), min(len(found.sets), MOST_BARS) + 3
        size = (max(6.0, 3.6 * grid[1]), max(3.0, 0.3 * bars + 1.2) * grid[0])
        drawn = sheet(ax, range(1 + len(chosen)), grid, size)
        _waterfall(drawn.axes[0], found)
        for each, (i, curve) in zip(drawn.axes[1:], chosen, strict=True):
            _here(each, found, i, curve)
        limits = [
            each.get_ylim() for each in drawn.axes[1:]
        ]  # one scale: what is next to nothing shall not look large
        for each in drawn.axes[1:]:
            each.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        told = f"Row {drawable(shortened(str(found.row), 30))}, region {found.region} ({drawable(found.rule)})"
        numbers = f"{number(found.prediction)} against a mean of {number(found.mean)}"
        return self._keep(drawn, ax, f"{wrapped(told, 110, 2)}: {numbers}")

    def frame(self) -> Any:
        """Everything in the waterfall; see `RowExplanation.frame`."""
        return self.explanation.frame()


def _waterfall(ax: Axes, found: RowExplanation) -> None:
    """One bar a set from where the last one ended, the strongest first; then the others, and what all do together."""
    tidy(ax)
    ax.use_sticky_edges = False
    shown, others = found.order[:MOST_BARS], found.order[MOST_BARS:]
    texts = distinct_labels([found.sets[i] for i in shown], 18)
    names = [
        f"{name} = {drawable(shortened(found.values[i], 14))}"
        for name, i in zip(texts, shown, strict=True)
    ]
    names += [count(len(others), "other")] * bool(len(others)) + ["only together"]
    further = [found.contributions[others].sum()] * bool(len(others))
    sizes = [float(size) for size in (*found.contributions[shown], *further, found.rest)]
    starts = found.mean + np.cumsum([0.0, *sizes[:-1]])
    for k, (start, length) in enumerate(zip(starts.tolist(), sizes, strict=True)):
        ax.barh(k, length, left=start, height=0.7, color=(ORANGE if length < 0 else BLUE), zorder=3)
        ax.plot([start + length] * 2, [k, k + 1], color=GREY, linewidth=0.7, zorder=2)
        text: dict[str, Any] = {"fontsize": SMALL, "va": "center", "zorder": 4}
        ax.annotate(
            signed(length),
            (max(start, start + length), k),
            xytext=(3, 0),
            textcoords="offset points",
            **text,
        )
    ax.axvline(found.mean, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
    ax.axvline(found.prediction, color=GREY, linewidth=0.8, zorder=1)
    ax.set_yticks(range(len(names)), names, fontsize=SMALL)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.margins(x=0.16)
    told = f"From the mean (dotted) to the prediction, {title(found.explanation)}"
    ax.set_title(told, fontsize=SMALL + 1, loc="left")


def _here(ax: Axes, found: RowExplanation, i: int, curve: Curve) -> None:
    """The region's curve of one column, at the levels that rows of the region carry, and the row on it."""
    position, levels = curve.column.position, curve.column.levels
    axis, kept = (
        Axis.of(found.references, position),
        np.isin(levels, found.references.columns[position].levels),
    )
    tidy(ax)
    ax.axhline(0.0, color=GREY, linewidth=0.4)
    line = "-" if axis.ordered else "o"
    ax.plot(
        axis.numbers(levels[kept]),
        curve.effects[1:][kept],
        line,
        color=GREY,
        markersize=4,
        linewidth=1.4,
    )
    place = axis.of_rows(found.table.columns[position])
    ax.plot(
        place,
        [found.contributions[i]],
        "o",
        color=ORANGE,
        markersize=8,
        markeredgecolor="white",
        zorder=5,
    )
    axis.dress(ax)
    stand, same = (
        found.percentiles[i],
        f"{percent(found.shares[i], 0)} of the region's rows have the same",
    )
    told = f"{axis.name} = {drawable(shortened(found.values[i], 20))}: {signed(found.contributions[i])}"
    where = f"{percent(stand, 0)} of the region's rows lie below" if stand == stand else same
    ax.set_title(f"{told}\n{where}", fontsize=SMALL + 1, loc="left")


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
        cls,
        comparison: Comparison,
        *,
        features: Sequence[Hashable] | None = None,
        max_features: int = 3,
    ) -> ComparisonDisplay:
        """Draw some columns of what ``gx.compare`` found; None: the ``max_features`` strongest of the first case."""
        strongest = comparison.columns[: whole_number("max_features", max_features, at_least=1)]
        table = comparison.cases[0].values.table
        asked = strongest if features is None else (table.resolve(f, "features") for f in features)
        return cls(comparison, tuple(asked))

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the curves, a line of panels for each column; ``ax`` as in `EffectDisplay.plot`."""
        from matplotlib.lines import Line2D

        found, regions = self.comparison, len(self.comparison.partition)
        grid = len(self.positions), regions
        drawn = sheet(
            ax, range(grid[0] * regions), grid, (max(6.0, 2.4 * regions + 0.6), 2.3 * grid[0] + 0.8)
        )
        colors = {name: COLORS[i % len(COLORS)] for i, name in enumerate(found.names)}
        for line, position in enumerate(self.positions):
            axis, curves = (
                Axis.of(found.cases[0].values.table, position),
                list(found.curves(position)),
            )
            ends = [float(end) for curve in curves for end in (curve.low.min(), curve.high.max())]
            pad = 0.05 * (max(ends) - min(ends) or 1.0)
            for k, panel in enumerate(drawn.axes[line * regions : (line + 1) * regions]):
                tidy(panel)
                panel.axhline(0.0, color=GREY, linewidth=0.4)
                for curve in curves:
                    if curve.scope.region == k:
                        x, color = axis.numbers(curve.levels), colors[curve.case]
                        half, mark = (None, "-") if axis.ordered else (curve.high - curve.mean, "o")
                        panel.errorbar(x, curve.mean, half, fmt=mark, color=color, ms=4)
                        if axis.ordered:
                            panel.fill_between(
                                x, curve.low, curve.high, color=color, alpha=0.18, linewidth=0
                            )
                axis.dress(panel)
                panel.set_ylim(min(ends) - pad, max(ends) + pad)
                panel.tick_params(labelleft=k == 0)
                if line == 0:
                    set_title(panel, found.cases[0].scopes[k], 26)
        handles = [
            Line2D([], [], color=color, label=drawable(shortened(name, 40)))
            for name, color in colors.items()
        ]
        return self._keep(drawn, ax, "Average effects by case, in the same regions", handles)

    def frame(self) -> Any:
        """Everything drawn, one line a point: set, region, rule, case, x, level (null for numbers), mean, low, high."""
        table, lines = self.comparison.cases[0].values.table, []
        for position in self.positions:
            axis = Axis.of(table, position)
            for curve in self.comparison.curves(position):
                head = (axis.column.name, curve.scope.region, curve.scope.rule, curve.case)
                points = zip(
                    axis.numbers(curve.levels), axis.texts(curve.levels), *curve[3:], strict=True
                )
                lines += [
                    (*head, float(x), text, *map(float, figures)) for x, text, *figures in points
                ]
        return framed("set region rule case x level mean low high", lines, table)


@dataclass(eq=False)
class PathDisplay(Drawn):
    """What is left by the number of regions, on the fitting rows and on rows that were left out of the search.

    The dotted line is what a tree may leave that keeps 90 % of what the largest removes; the smallest such tree, which
    ``alpha="auto"`` takes, has a ring. Make it with `from_estimator`.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=100)
    >>> g = gx.Granite(toy.model, "ice-pdp", max_depth=1).fit(toy.X)
    >>> PathDisplay.from_estimator(g).frame()["regions"].tolist()
    [2, 1]
    """

    path: Path = field(repr=False)

    @classmethod
    def from_estimator(cls, g: Any) -> PathDisplay:
        """Read ``g.path_`` of a Granite fitted in this process; it is made when it is first read."""
        fitted_view(g)
        return cls(path_of(g))

    def plot(self, ax: Any = None) -> PathDisplay:
        """Draw both lines, in a new figure where no Axes are given."""
        path, drawn = self.path, sheet(ax, [0], (1, 1), (5.6, 3.6))
        tidy(axes := drawn.axes[0])
        regions, at = [step.regions for step in path.steps], path.chosen
        for name, label, color in (
            ("left", "fitting rows", BLUE),
            ("left_out", "left-out rows", ORANGE),
        ):
            left = [100 * getattr(step, name) for step in path.steps]
            axes.plot(regions, left, "o-", color=color, label=label, markersize=4)
        axes.axhline(
            100 * path.line,
            color=GREY,
            linewidth=0.8,
            linestyle=":",
            label=f"keeps {100 * KEPT:.0f} %",
        )
        axes.plot(
            at.regions, 100 * at.left_out, "o", markersize=11, markerfacecolor="none", color=ORANGE
        )
        axes.set(xticks=regions, xlabel="Regions", ylabel="Disagreement left, %")
        axes.legend(fontsize=SMALL, frameon=False)
        chosen = (
            f"{at.regions} regions (alpha = {number(at.alpha)})" if at.regions > 1 else "One region"
        )
        return self._keep(drawn, ax, f"{chosen}: the smallest tree that keeps {100 * KEPT:.0f} %")

    def frame(self) -> Any:
        """What is drawn: see ``Granite.path_``."""
        return self.path.frame()


@dataclass(eq=False)
class GroupsDisplay(Drawn):
    """What is left of the disagreement after each merge of a `GroupProposal`, with its interval.

    Examples
    --------
    >>> import granite_xai as gx
    >>> proposal = gx.GroupProposal({"a + b": ("a", "b")}, ((("a", "b"), 0.25, 0.2, 0.3),), "No further columns.")
    >>> GroupsDisplay.from_proposal(proposal).frame()["left"].tolist()
    [0.25]
    """

    proposal: GroupProposal = field(repr=False)

    @classmethod
    def from_proposal(cls, proposal: GroupProposal) -> GroupsDisplay:
        """Draw what `propose_groups` returned."""
        return cls(proposal)

    def plot(self, ax: Any = None) -> GroupsDisplay:
        """Draw a line for each merge, in a new figure where no Axes are given."""
        merges = self.proposal.merges
        tidy(axes := (drawn := sheet(ax, [0], (1, 1), (5.6, 1.2 + 0.45 * len(merges)))).axes[0])
        for place, (_, left, low, high) in enumerate(merges):
            axes.barh(place, 100 * left, height=0.6, color=BLUE)
            axes.plot(
                [100 * low, 100 * high], [place, place], color=GREY
            )  # nothing where it is not known
        names = [wrapped(drawable(" + ".join(columns)), 30, 2) for columns, *_ in merges]
        axes.set(
            yticks=range(len(merges)),
            yticklabels=names,
            xlim=(0, 100),
            xlabel="Disagreement left, %",
        )
        axes.invert_yaxis()
        return self._keep(drawn, ax, self.proposal.reason)

    def frame(self) -> Any:
        """What is drawn: see ``GroupProposal.frame``."""
        return self.proposal.frame()
