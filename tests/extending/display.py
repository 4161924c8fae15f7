"""A display: what each region has of the rows, and what it has of the disagreement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import granite_xai as gx


@dataclass(eq=False)
class ShareDisplay:
    """Two bars a region: its share of the rows, and of the disagreement that is left on them."""

    shares: Any = field(repr=False)
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, g: gx.Granite, X: Any, y: Any = None) -> ShareDisplay:
        """Compute once, from public frames alone."""
        measured = g.evaluate(X, y)
        lines = measured.frame()
        left = lines["disagreement"] / (measured.disagreement or 1.0)
        return cls(lines[["region", "rule", "fraction"]].assign(left=left))

    def frame(self) -> Any:
        """Exactly what is drawn."""
        return self.shares

    def plot(self, ax: Any = None) -> ShareDisplay:
        """Draw; never show, so that the caller decides."""
        import matplotlib.pyplot as plt

        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self.shares.plot.barh(x="rule", y=["fraction", "left"], ax=self.ax_, xlabel="share")
        return self
