"""GroupsDisplay: how much heterogeneity each merge of features removes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from granite_xai.base.text import drawable, wrapped
from granite_xai.display.figures import Drawn, sheet, tidy
from granite_xai.display.palette import BLUE, GREY


class ProposedGroups(Protocol):
    """What is drawn of a `GroupProposal`; studies stand above the displays."""

    @property
    def merges(self) -> Sequence[Any]:
        """Features that were merged, the share that is left, and its interval."""

    @property
    def reason(self) -> str:
        """Why no further features were merged."""

    def frame(self) -> Any:
        """The merges as a table."""


@dataclass(eq=False)
class GroupsDisplay(Drawn):
    """What the merges of a `GroupProposal` remove of the heterogeneity, with intervals.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=200)
    >>> display = GroupsDisplay.from_proposal(gx.propose_groups(toy.model, toy.X))
    >>> list(display.frame())
    ['features', 'left', 'low', 'high']
    """

    proposal: ProposedGroups = field(repr=False)

    @classmethod
    def from_proposal(cls, proposal: ProposedGroups) -> GroupsDisplay:
        """Draw what `propose_groups` returned."""
        return cls(proposal)

    def plot(self, ax: Any = None) -> GroupsDisplay:
        """Draw a line for each merge, in a new figure where no Axes are given."""
        merges = self.proposal.merges
        drawn = sheet(ax, [0], (1, 1), (5.6, 1.2 + 0.45 * len(merges)))
        axes = drawn.axes[0]
        tidy(axes)
        for place, merge in enumerate(merges):
            axes.barh(place, 100 * merge.removed, height=0.6, color=BLUE)
            interval = [100 * (1 - merge.high), 100 * (1 - merge.low)]  # nan is not drawn
            axes.plot(interval, [place, place], color=GREY)
        names = [wrapped(drawable(" + ".join(merge.features)), 30, 2) for merge in merges]
        axes.set(
            yticks=range(len(merges)),
            yticklabels=names,
            xlim=(0, 100),
            xlabel="Heterogeneity removed, %",
        )
        axes.invert_yaxis()
        return self._keep(drawn, ax, self.proposal.reason)

    def frame(self) -> Any:
        """What is drawn: see ``GroupProposal.frame``."""
        return self.proposal.frame()
