"""The panels of effects: which explanations are shown of which columns, and what each panel holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Elementwise
from granite_xai.catalog import explanations as named_explanations
from granite_xai.display.lines import Line, Strip, accumulated_lines, full_curves, partial_points, pure_line, rows_bars
from granite_xai.display.places import Places
from granite_xai.display.rows import Area, Reader, Reading, chosen_explainers
from granite_xai.explainer import Explainer

MOST_CURVES = 50
"""Curves of single rows in a panel (S15)."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One column in one area, ready to be drawn.

    Parameters
    ----------
    area : all rows, or a region
    places : the horizontal axis
    lines : what is drawn
    disagreement : mean loss between both explanations here, as a share of that on all rows; NaN if there is none
    """

    area: Area
    places: Places
    lines: tuple[Line, ...]
    disagreement: float


def sides_shown(
    own: tuple[Explainer, Explainer], asked: Sequence[str | Explainer] | str | None
) -> tuple[Explainer, ...]:
    """The explanations shown: those asked for, the question's where it is about effects of columns, or ICE and PDP."""
    if asked is not None:
        return tuple(_drawable(side) for side in chosen_explainers(asked))
    columns = all(side.influence.key == "individual" and side.behavior.key == "local" for side in own)
    if columns and all(side.interaction.key in ("full", "partial", "pure") for side in own):
        return own
    named = named_explanations()
    return named["ice"], named["pdp"]


def _drawable(side: Explainer) -> Explainer:
    if side.behavior.key == "local" and side.interaction.key in ("full", "partial", "pure"):
        return side
    raise InputError(
        f"{side.name or 'an explanation'!r} is no effect of single columns on single predictions.",
        code="P03",
        argument="explanations",
        hint="Choose local ones such as 'ice', 'pdp', 'mplot', 'ale' or 'shap'.",
    )


def strip_of(reader: Reader, reading: Reading, places: Places, points: int, max_curves: int) -> Strip:
    """One column in one area, before it is drawn."""
    table = reader.seen.table.take(reading.area.rows)
    return Strip(reader.seen, reading, table, places, points, max_curves, 4 * MOST_CURVES)


def strongest(reading: Reading, loss: Elementwise, most: int) -> list[int]:
    """Sets on which the explanations disagree most; with one explanation those of the largest effects."""
    first = reading.parts[0].values
    gaps = loss(first - reading.parts[1].values) if len(reading.parts) > 1 else np.square(first)
    return np.argsort(-gaps.mean(axis=0), kind="stable")[:most].tolist()  # type: ignore[no-any-return]


def panels_of(
    reader: Reader, sides: Sequence[Explainer], strips: Sequence[Strip], place: int, loss: Elementwise
) -> tuple[Panel, ...]:
    """All panels of one column."""
    gaps = [_gap(strip.reading, place, loss) for strip in strips]
    found = []
    for strip, gap in zip(strips, gaps, strict=True):
        lines = [rows_bars(strip)]
        for side, part in zip(sides, strip.reading.parts, strict=True):
            lines += _lines(reader, side, strip, part, place)
        drawn = any(line.shape != "bars" for line in lines)
        share = gap / gaps[0] if gaps[0] > 0 else (0.0 if len(sides) == 2 and drawn else np.nan)
        found.append(Panel(strip.reading.area, strip.places, tuple(lines), float(share)))
    return tuple(found)


def _gap(reading: Reading, place: int, loss: Elementwise) -> float:
    if len(reading.parts) != 2:
        return float("nan")
    one, two = (part.values[:, place] for part in reading.parts)
    return float(loss(one - two).mean())


def _lines(reader: Reader, side: Explainer, strip: Strip, part: Any, place: int) -> list[Line]:
    if side.masking.key == "accumulated":
        steps = reader.stand_in.reference.steps.get(strip.places.column.position)
        return accumulated_lines(strip, part, place, steps, side.interaction.key == "pure")
    makers = {"pure": pure_line, "full": full_curves, "partial": partial_points}
    return makers[side.interaction.key](strip, part, place)


def cells_of(panel: Panel) -> list[tuple[Any, ...]]:
    """Cells of the frame: explanation, shape, curve, x, x_end, level, value."""
    cells: list[tuple[Any, ...]] = []
    number = 0
    for line in panel.lines:
        ends = [None] * len(line.x) if line.end is None else line.end.tolist()
        curve = number if line.shape == "curve" else None
        number += line.shape == "curve"
        for x, end, level, value in zip(line.x.tolist(), ends, line.levels, line.y.tolist(), strict=True):
            cells.append((line.explanation, line.shape, curve, x, end, level, value))
    if panel.disagreement == panel.disagreement:
        cells.append(("disagreement", "text", None, None, None, None, panel.disagreement))
    return cells
