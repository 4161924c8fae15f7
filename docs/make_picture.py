"""Pictures of the README, each with a record of what it shows.

python docs/make_picture.py            draws the pictures and writes their records
python docs/make_picture.py --check    says which pictures show something else than the programs draw now

A record (``NAME.txt`` beside ``NAME.png``) holds the texts of a figure and the range of the numbers that are drawn in
each panel. A picture whose record is no longer what its program draws is stale. Figures depend on the versions in
``outputs_made_with.txt``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx

IMAGES = Path(__file__).resolve().parent / "images"
DPI = 110


def bike_hour() -> Any:
    """How the effect of the hour on bike rentals differs between regions."""
    X, y = gx.datasets.load_bike_sharing()
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    g = gx.Granite(model, question="ice-pdp", max_depth=2).fit(X, y)
    return gx.EffectDisplay.from_estimator(g, X, features=["hr"]).plot().figure_


PICTURES: dict[str, Callable[[], Any]] = {"bike-hour": bike_hour}


def record(figure: Any) -> str:
    """What a figure shows: its texts, and in each panel how many lines there are and where they run."""
    lines = []
    if figure.get_suptitle():
        lines.append(figure.get_suptitle())
    for number, axes in enumerate(figure.axes):
        lines.append(f"panel {number}")
        texts = [axes.get_title(loc=place) for place in ("left", "center", "right")]
        texts += [axes.get_xlabel(), axes.get_ylabel()]
        texts += [text.get_text() for text in axes.texts]
        legend = axes.get_legend()
        if legend is not None:
            texts += [text.get_text() for text in legend.get_texts()]
        lines += [f"  {text!r}" for text in texts if text]
        lines.append(f"  {_drawn(axes)}")
    return "\n".join(lines) + "\n"


def _drawn(axes: Any) -> str:
    """Number and range of the lines of a panel."""
    heights = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    heights += [
        path.vertices[:, 1] for collection in axes.collections for path in collection.get_paths()
    ]
    known = np.concatenate(heights) if heights else np.zeros(0)
    known = known[np.isfinite(known)]
    if not len(known):
        return "nothing is drawn"
    ends = f"{known.min():.3g} to {known.max():.3g}, mean {known.mean():.3g}"
    return f"{len(heights)} lines and areas, {ends}"


def stale_pictures() -> list[str]:
    """Pictures that are missing, or that show something else than their programs draw now."""
    stale = []
    for name, draw in PICTURES.items():
        picture = IMAGES / f"{name}.png"
        known = IMAGES / f"{name}.txt"
        is_there = picture.exists() and known.exists()
        if not is_there or known.read_text(encoding="utf-8") != record(draw()):
            stale.append(picture.name)
    return stale


def main() -> int:
    """Draw all pictures, or check them."""
    if "--check" in sys.argv:
        stale = stale_pictures()
        print("\n".join(f"stale: {name}" for name in stale) or "every picture is up to date")
        return len(stale)
    for name, draw in PICTURES.items():
        figure = draw()
        figure.savefig(IMAGES / f"{name}.png", dpi=DPI)
        (IMAGES / f"{name}.txt").write_text(record(figure), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
