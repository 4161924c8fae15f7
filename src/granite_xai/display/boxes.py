"""A tree drawn as boxes: where they stand, what they say, how thick the edges are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from granite_xai.display.style import BLACK, GREY, ORANGE, SMALL
from granite_xai.display.words import percent, rows_of, safe, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from granite_xai.regions.rule import Rule

WIDTH, HEIGHT = 1.75, 1.6
"""Inches that one leaf takes, and one level of the tree."""


@dataclass(slots=True, eq=False)
class Box:
    """One node.

    Parameters
    ----------
    number, parent : int
    region : int or None
        Its region, if it is not split.
    condition : str
        What its rows have in common with none of its sibling's.
    rule : all conditions
    n_samples, fraction : rows
    disagreement, after : share of the disagreement on all rows here, and what the splits below leave
    children : numbers
    x, y : its place
    """

    number: int
    parent: int | None
    region: int | None
    condition: str
    rule: Rule
    n_samples: int
    fraction: float
    disagreement: float
    after: float
    children: list[int] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0


def placed(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """Leaves side by side, every other node above the middle of its children."""
    leaves = 0
    for box in boxes:
        box.y = 0.0 if box.parent is None else boxes[box.parent].y - 1.0
        if not box.children:
            box.x = float(leaves)
            leaves += 1
    for box in reversed(boxes):
        if box.children:
            places = [boxes[child].x for child in box.children]
            box.x = (places[0] + places[-1]) / 2
    return tuple(boxes)


def tree_size(boxes: Sequence[Box]) -> tuple[float, float]:
    """Size of a figure in which nothing overlaps."""
    leaves = sum(not box.children for box in boxes)
    return max(6.0, WIDTH * leaves + 0.3), HEIGHT * (1 - min(box.y for box in boxes)) + 0.5


def draw_tree(ax: Axes, boxes: Sequence[Box], where: str) -> None:
    """Edges as thick as the disagreement that is left below them, conditions on them, boxes over their ends."""
    ax.set_axis_off()
    ax.set_xlim(-0.6, max(box.x for box in boxes) + 0.6)
    ax.set_ylim(min(box.y for box in boxes) - 0.45, 0.45)
    for box in boxes:
        if box.parent is not None:
            _edge(ax, boxes[box.parent], box)
    for box in boxes:
        _box(ax, box)
    note = f"disagreement: share of that on all rows, before → after the splits below; {where}"
    ax.text(0.0, 0.0, note, transform=ax.transAxes, fontsize=SMALL, color=GREY, va="top")


def _edge(ax: Axes, parent: Box, child: Box) -> None:
    share = child.disagreement if child.disagreement == child.disagreement else 0.0
    ax.plot(
        [parent.x, child.x], [parent.y, child.y], color=GREY, linewidth=0.8 + 6 * min(share, 1.0), alpha=0.6, zorder=1
    )
    # Conditions of both children stand on one line, nearer to the child, where the edges are apart.
    x, y = child.x + 0.26 * (parent.x - child.x), child.y + 0.45
    ax.text(
        x,
        y,
        wrapped(safe(child.condition), 24, 3),
        ha="center",
        va="center",
        fontsize=SMALL + 0.5,
        color=BLACK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.2},
        zorder=2,
    )


def _box(ax: Axes, box: Box) -> None:
    leaf = not box.children
    ax.text(
        box.x,
        box.y,
        box_text(box),
        ha="center",
        va="center",
        fontsize=SMALL + 0.5,
        color=BLACK,
        linespacing=1.35,
        bbox={
            "boxstyle": "round,pad=0.45",
            "facecolor": "#FFF4E8" if leaf else "white",
            "edgecolor": ORANGE if leaf else GREY,
            "linewidth": 1.2,
        },
        zorder=3,
    )


def box_text(box: Box) -> str:
    """What a box says: rows, and the disagreement before and after the splits below it."""
    rows = f"{rows_of(box.n_samples)} · {percent(box.fraction)}" if box.fraction == box.fraction else ""
    if box.children:
        head = "all rows\n" if box.parent is None else ""
        change = f"disagreement {percent(box.disagreement)} → {percent(box.after)}"
        return head + "\n".join(line for line in (rows, change if box.after == box.after else "") if line)
    left = f"disagreement {percent(box.disagreement)}" if box.disagreement == box.disagreement else ""
    name = f"Region {box.region}" if box.parent is not None else "all rows"
    return "\n".join(line for line in (name, rows, left) if line)
