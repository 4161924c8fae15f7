"""PathDisplay: what is left of the disagreement with ever fewer regions. GroupsDisplay: with ever larger groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from granite_xai.base.wording import drawable, number, wrapped
from granite_xai.chance.path import KEPT, Path
from granite_xai.display.figures import BLUE, GREY, ORANGE, SMALL, Drawn, sheet, tidy
from granite_xai.estimator import fitted_view
from granite_xai.fitting import path_of
from granite_xai.groups import GroupProposal


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
        for name, label, color in (("left", "fitting rows", BLUE), ("left_out", "left-out rows", ORANGE)):
            left = [100 * getattr(step, name) for step in path.steps]
            axes.plot(regions, left, "o-", color=color, label=label, markersize=4)
        axes.axhline(100 * path.line, color=GREY, linewidth=0.8, linestyle=":", label=f"keeps {100 * KEPT:.0f} %")
        axes.plot(at.regions, 100 * at.left_out, "o", markersize=11, markerfacecolor="none", color=ORANGE)
        axes.set(xticks=regions, xlabel="Regions", ylabel="Disagreement left, %")
        axes.legend(fontsize=SMALL, frameon=False)
        chosen = f"{at.regions} regions (alpha = {number(at.alpha)})" if at.regions > 1 else "One region"
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
            axes.plot([100 * low, 100 * high], [place, place], color=GREY)  # nothing where it is not known
        names = [wrapped(drawable(" + ".join(columns)), 30, 2) for columns, *_ in merges]
        axes.set(yticks=range(len(merges)), yticklabels=names, xlim=(0, 100), xlabel="Disagreement left, %")
        axes.invert_yaxis()
        return self._keep(drawn, ax, self.proposal.reason)

    def frame(self) -> Any:
        """What is drawn: see ``GroupProposal.frame``."""
        return self.proposal.frame()
