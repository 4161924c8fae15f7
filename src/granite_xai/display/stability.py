"""StabilityDisplay: how often each split comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from granite_xai.base.formats import share
from granite_xai.base.text import drawable, shortened
from granite_xai.base.wording import duration
from granite_xai.compute import announce
from granite_xai.display.figures import SMALL, Axes, Drawn, sheet, tidy
from granite_xai.display.palette import BLUE, GREY, ORANGE
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.inference.stability import RELIABLE, SplitStability, Stability

HALF_SEARCH = 0.75  # of the time of a search that one of half the rows takes, about
RESAMPLES = 10  # random halves that are searched where none were searched before


class Bar(NamedTuple):
    """One line of a panel."""

    label: str
    share: float
    note: str


@dataclass(eq=False)
class StabilityDisplay(Drawn):
    """How many searches split the same feature.

    Splits below 60% are drawn in orange: other rows would have given others. Make it with `from_estimator`.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=100)
    >>> g = gx.Granite(toy.model, "ice-pdp").fit(toy.X)
    >>> found = g.stability(n_resamples=3)
    >>> StabilityDisplay.from_estimator(g).frame()["column"].tolist()
    ['x2']
    """

    stability: Stability = field(repr=False)

    @classmethod
    def from_estimator(cls, g: Any, *, n_resamples: int = RESAMPLES) -> StabilityDisplay:
        """Read the last ``g.stability()`` of a fitted Granite.

        Parameters
        ----------
        g : Granite
            Fitted.
        n_resamples : int
            Where there is none yet: random halves of the rows that are searched, each with its
            complement. That takes ``2 * n_resamples`` searches of half the rows, which is said
            before they begin, with a progress bar, and no further call of the model.
        """
        view = fitted_view(g)
        stability = view.result.stability
        if stability is None:
            announce(view.resources, _cost(n_resamples, view.diagnostics))
            stability = g.stability(n_resamples)
        return cls(stability)

    def plot(self, ax: Any = None) -> StabilityDisplay:
        """Draw a bar for each split; ``ax`` as in `EffectDisplay.plot`."""
        stability = self.stability
        splits = [
            Bar(label=split.label, share=split.share, note=_cuts(split))
            for split in stability.splits
        ]
        drawn = sheet(ax, [0], (1, 1), (6.0, 0.42 * len(splits) + 1.6))
        _draw_bars(drawn.axes[0], splits, "Same feature split there, share of searches")
        score = f"adjusted Rand index {stability.score:.2f} ({stability.low:.2f} to {stability.high:.2f})"
        heading = f"Regions of {stability.searches} searches: {score}; 1 means the same regions"
        return self._keep(drawn, ax, heading)

    def frame(self) -> Any:
        """What is drawn: see `Stability.frame`."""
        return self.stability.frame()


def _cuts(split: SplitStability) -> str:
    """Between which values nine of ten searches cut."""
    return f"  cut at {split.cuts}" if split.cuts else ""


def _cost(n_resamples: int, diagnostics: Mapping[str, Any]) -> str:
    """What searching halves of the rows will take."""
    searches = 2 * n_resamples
    text = f"The search is repeated {searches} times, on half the rows each"
    seconds = diagnostics.get("seconds", {}).get("search")
    if seconds is not None:
        text += f": about {duration(searches * HALF_SEARCH * seconds)}"
    return f"{text}. g.stability(n_resamples=...) beforehand chooses how often."


def _draw_bars(ax: Axes, bars: Sequence[Bar], heading: str) -> None:
    tidy(ax)
    for place, bar in enumerate(bars):
        color = ORANGE if bar.share < RELIABLE else BLUE
        ax.barh(place, bar.share, color=color, height=0.6)
        text = f" {share(bar.share)}{bar.note}"
        ax.text(min(bar.share, 0.98), place, text, va="center", fontsize=SMALL)
    labels = [drawable(shortened(bar.label, 44)) for bar in bars]
    ax.set_yticks(range(len(bars)), labels, fontsize=SMALL)
    ax.axvline(RELIABLE, color=GREY, linewidth=0.8, linestyle=":")
    ax.set(xlim=(0.0, 1.35), xticks=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    ax.invert_yaxis()
    ax.set_title(heading, fontsize=SMALL + 1, loc="left")
