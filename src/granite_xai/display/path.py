"""PathDisplay: what trees of fewer regions remove of the heterogeneity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from granite_xai.base.wording import duration, number
from granite_xai.compute import announce
from granite_xai.display.figures import SMALL, Drawn, sheet, tidy
from granite_xai.display.palette import BLUE, GREY, ORANGE
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.fitting.tree_path import path_of_fit
from granite_xai.inference.path import KEPT, Path

PATH_SEARCHES = (4, 15)  # times as long as the search of the fit that a path takes, about


@dataclass(eq=False)
class PathDisplay(Drawn):
    """What is removed by the number of regions, on the search rows and on rows left out of the search.

    The dotted line is 90% of what the largest tree removes on left-out rows; the smallest tree above
    it, which ``alpha="auto"`` takes, has a ring. Make it with `from_estimator`.

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
        """Read ``g.path_`` of a Granite fitted in this process.

        When it is read for the first time the rows are searched again, at each price of a region
        and with each fifth of the rows left out: several times the search of the fit, which is said
        before it begins, with a progress bar, and no further call of the model. A fit with
        ``alpha="auto"`` knows its path.
        """
        view = fitted_view(g)
        if view.result.path is None:
            announce(view.resources, _cost(view.diagnostics))
        return cls(path_of_fit(g))

    def plot(self, ax: Any = None) -> PathDisplay:
        """Draw both lines, in a new figure where no Axes are given."""
        path = self.path
        drawn = sheet(ax, [0], (1, 1), (5.6, 3.6))
        axes = drawn.axes[0]
        tidy(axes)
        regions = [step.regions for step in path.steps]
        searched = [100 * (1 - step.left) for step in path.steps]
        left_out = [100 * (1 - step.left_out) for step in path.steps]
        axes.plot(regions, searched, "o-", color=BLUE, label="search rows", markersize=4)
        axes.plot(regions, left_out, "o-", color=ORANGE, label="left-out rows", markersize=4)
        kept = f"{100 * KEPT:.0f}%"
        limit = 100 * (1 - path.line)
        axes.axhline(limit, color=GREY, linewidth=0.8, linestyle=":", label=f"keeps {kept}")
        chosen = path.chosen
        ring: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "color": ORANGE}
        axes.plot(chosen.regions, 100 * (1 - chosen.left_out), "o", **ring)
        axes.set(xticks=regions, xlabel="Regions", ylabel="Heterogeneity removed, %")
        axes.legend(fontsize=SMALL, frameon=False)
        name = "One region"
        if chosen.regions > 1:
            name = f"{chosen.regions} regions (alpha = {number(chosen.alpha)})"
        return self._keep(drawn, ax, f"{name}: the smallest tree that keeps {kept}")

    def frame(self) -> Any:
        """What is drawn: see ``Granite.path_``."""
        return self.path.frame()


def _cost(diagnostics: Mapping[str, Any]) -> str:
    """What searching for the path will take."""
    text = (
        "The rows are searched again for the path, at every number of regions and with every fifth "
        "of the rows left out"
    )
    seconds = diagnostics.get("seconds", {}).get("search")
    if seconds is None:
        return f"{text}."
    shortest, longest = (duration(times * seconds) for times in PATH_SEARCHES)
    return f"{text}: about {shortest} to {longest}."
