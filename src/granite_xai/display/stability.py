"""StabilityDisplay: how often each split and each region of a fit comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from granite_xai.base.errors import InputError
from granite_xai.base.wording import drawable, percent, shortened
from granite_xai.chance.stability import RELIABLE, Stability
from granite_xai.display.figures import BLUE, GREY, ORANGE, SMALL, Drawn, sheet, tidy
from granite_xai.estimator import fitted_view


@dataclass(eq=False)
class StabilityDisplay(Drawn):
    """Two panels: the share of searches that split the same column, and how far each region is found again.

    Regions below 0.6 are drawn in orange: do not rely on them. Make it with `from_estimator`.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=100)
    >>> g = gx.Granite(toy.model, "ice-pdp").fit(toy.X)
    >>> found = g.stability(n_resamples=3)
    >>> StabilityDisplay.from_estimator(g).frame()["kind"].tolist()
    ['split', 'region', 'region']
    """

    stability: Stability = field(repr=False)

    @classmethod
    def from_estimator(cls, g: Any) -> StabilityDisplay:
        """Read the last ``g.stability()`` of a fitted Granite."""
        known = fitted_view(g).result.stability
        if known is None:
            raise InputError("there is no stability yet.", code="P03", argument="g", hint="Call g.stability() first.")
        return cls(known)

    def plot(self, ax: Any = None) -> StabilityDisplay:
        """Draw both panels; ``ax`` as in `EffectDisplay.plot`."""
        found = self.stability
        cuts = ["" if split.low != split.low else f"  cut {split.low:.4g}–{split.high:.4g}" for split in found.splits]
        splits = [(f"{s.rule}: {s.cut}", s.share, cut) for s, cut in zip(found.splits, cuts, strict=True)]
        regions = [(rule, overlap, "") for rule, overlap in zip(found.rules, found.overlaps, strict=True)]
        panels = {"Same column split there, share of searches": splits, "Region found again (mean overlap)": regions}
        drawn = sheet(ax, [0, 1], (1, 2), (9.0, 0.42 * max(map(len, panels.values())) + 1.6))
        for axes, (title, bars) in zip(drawn.axes, panels.items(), strict=True):
            tidy(axes)
            for place, (_, value, text) in enumerate(bars):
                axes.barh(place, value, color=ORANGE if value < RELIABLE else BLUE, height=0.6)
                axes.text(min(value, 0.98), place, f" {percent(value)}{text}", va="center", fontsize=SMALL)
            labels = [drawable(shortened(label, 44)) for label, _, _ in bars]
            axes.set_yticks(range(len(bars)), labels, fontsize=SMALL)
            axes.axvline(RELIABLE, color=GREY, linewidth=0.8, linestyle=":")
            axes.set(xlim=(0.0, 1.35), xticks=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
            axes.invert_yaxis()
            axes.set_title(title, fontsize=SMALL + 1, loc="left")
        score = f"{found.score:.2f} ({found.low:.2f}–{found.high:.2f}); 1 is the same regions"
        self._keep(drawn, ax, f"The regions of {found.searches} searches agree by {score}")
        return self

    def frame(self) -> Any:
        """What is drawn: see `Stability.frame`."""
        return self.stability.frame()
