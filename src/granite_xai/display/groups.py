"""GroupsDisplay: what is left after each merge of features."""

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
        """Features that were merged, what is left, and its interval."""

    @property
    def reason(self) -> str:
        """Why no further features were merged."""

    def frame(self) -> Any:
        """The merges as a table."""


@dataclass(eq=False)
class GroupsDisplay(Drawn):
    """What is left of the heterogeneity after each merge of a `GroupProposal`, with its interval.

    Examples
    --------
    >>> import granite_xai as gx
    >>> merges = ((("a", "b"), 0.25, 0.2, 0.3),)
    >>> proposal = gx.GroupProposal({"a + b": ("a", "b")}, merges, "No further columns.")
    >>> GroupsDisplay.from_proposal(proposal).frame()["left"].tolist()
    [0.25]
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
        for place, (_, left, low, high) in enumerate(merges):
            axes.barh(place, 100 * left, height=0.6, color=BLUE)
            axes.plot([100 * low, 100 * high], [place, place], color=GREY)  # nothing if not known
        names = [wrapped(drawable(" + ".join(columns)), 30, 2) for columns, *_ in merges]
        axes.set(
            yticks=range(len(merges)),
            yticklabels=names,
            xlim=(0, 100),
            xlabel="Heterogeneity left, %",
        )
        axes.invert_yaxis()
        return self._keep(drawn, ax, self.proposal.reason)

    def frame(self) -> Any:
        """What is drawn: see ``GroupProposal.frame``."""
        return self.proposal.frame()
