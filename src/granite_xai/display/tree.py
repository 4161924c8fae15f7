"""PartitionDisplay: the tree of regions, with rules, rows, and the disagreement before and after each split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.base.wording import ALL_ROWS, coarse, drawable, rows_of, wrapped
from granite_xai.catalog import title
from granite_xai.display.figures import Drawn, frame_of, sheet
from granite_xai.display.style import BLACK, BOX, GREY, ORANGE, SMALL
from granite_xai.estimator import fitted_view
from granite_xai.regions.nodes import Leaf, Node
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule
from granite_xai.scopes import RowsToShow, side_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from granite_xai.tables import Table

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
    column : the column that it is split by, if it is
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
    column: str = ""
    children: list[int] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0


@dataclass(eq=False)
class PartitionDisplay(Drawn):
    """The tree of regions: what is asked at each split, how many rows go where, and what disagreement is left.

    Shares of disagreement refer to all rows before any split. Make it with `from_estimator`.

    Attributes
    ----------
    figure_ : Figure
    ax_ : Axes
    axes_ : array of the one Axes

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=60)
    >>> g = gx.Granite(toy.model, "ice-pdp").fit(toy.X)
    >>> display = PartitionDisplay.from_estimator(g)
    >>> display.frame()[["node", "parent", "condition", "n_samples"]].fillna(-1).astype({"parent": int})
       node  parent condition  n_samples
    0     0      -1  all rows         60
    1     1       0    x2 ≤ 0         28
    2     2       0    x2 > 0         32
    """

    boxes: tuple[Box, ...] = field(repr=False)
    explanations: str
    source: str
    table: Table = field(repr=False)

    @classmethod
    def from_estimator(
        cls, g: Any, X: Any = None, y: Any = None, *, max_samples: int | None = None
    ) -> PartitionDisplay:
        """Read the tree.

        Parameters
        ----------
        g : Granite
            Fitted.
        X : table, optional
            Rows that are counted and measured at every node. None: the fitting rows, without asking the model again.
        y : array, optional
            The target of X; needed for risk.
        max_samples : int, optional
            Rows of X used, at most. None: as many as the fit used.
        """
        fitted = fitted_view(g).result
        questions = [resolved.question for resolved in fitted.comparisons]
        boxes = boxes_of(fitted.partition)
        if X is not None:
            sides = [side for question in questions for side in (question.first, question.second)]
            _measure(boxes, RowsToShow.of(g, X, y, sides, max_samples))
        pairs = (side_names((question.first, question.second)) for question in questions)
        return cls(
            _placed(boxes),
            " · ".join(" and ".join(drawable(title(name)) for name in names) for names in pairs),
            "the fitting rows" if X is None else "these rows",
            fitted.table,
        )

    def plot(self, ax: Any = None) -> PartitionDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : Axes, optional
            Where. None: a new figure.
        """
        drawn = sheet(ax, 1, (1, 1), _tree_size(self.boxes), [0])
        _draw_tree(drawn.axes[0], self.boxes, f"measured on {self.source}")
        drawn.headline(self._headline())
        self._keep(drawn, None)
        return self

    def _headline(self) -> str:
        leaves = [box for box in self.boxes if not box.children]
        if len(leaves) == 1:
            agreed = leaves[0].disagreement == 0
            return f"{self.explanations}: one region. " + (
                "The explanations agree." if agreed else "No split was kept."
            )
        left = coarse(self.boxes[0].after)
        return f"{self.explanations}: {len(leaves)} regions keep {left} of the disagreement"

    def frame(self) -> Any:
        """Everything drawn, one line a node: in the library of the fitting rows.

        Columns: node, parent (null: the root), region (null: a node that is split), condition (on the edge), rule (all
        conditions), n_samples, fraction, disagreement (before), after (what the splits below leave).
        """
        keys = ("node", "parent", "region", "condition", "rule", "n_samples", "fraction", "disagreement", "after")
        lines = (
            (b.number, b.parent, b.region, b.condition, str(b.rule), b.n_samples, b.fraction, b.disagreement, b.after)
            for b in self.boxes
        )
        return frame_of(keys, lines, self.table)


def boxes_of(partition: Partition) -> list[Box]:
    """The nodes of a tree from top to bottom, left before right; rules without a tree all hang from the root."""
    if partition.root is None:
        regions = partition.regions
        rows, left = sum(r.n_samples for r in regions), float(np.sum([r.disagreement for r in regions]))
        root = Box(0, None, None, ALL_ROWS, Rule(), rows, 1.0, 1.0 if left == left else left, left)
        boxes = [root]
        for region in regions:
            share = region.disagreement
            rule, rows = region.rule, region.n_samples
            box = Box(len(boxes), 0, region.index, str(rule), rule, rows, region.fraction, share, share)
            boxes.append(box)
            root.children.append(box.number)
        return boxes
    found: list[Box] = []
    _grow(found, partition.root, None, ALL_ROWS, Rule())
    for number, box in enumerate(box for box in found if not box.children):
        box.region = number
    return found


def _grow(found: list[Box], node: Node, parent: int | None, condition: str, rule: Rule) -> Box:
    box = Box(len(found), parent, None, condition, rule, node.n_samples, node.fraction, node.disagreement, 0.0)
    found.append(box)
    if isinstance(node, Leaf):
        box.after = node.disagreement
        return box
    box.column = node.column
    for child, side in zip(node.children, (node.left, node.right), strict=True):
        below = _grow(found, child, box.number, side.text(node.column), rule.and_(node.column, side))
        box.children.append(below.number)
        box.after += below.after
    return box


def _measure(boxes: list[Box], shown: RowsToShow) -> None:
    """Count and measure the nodes on other rows."""
    measure = shown.disagreement()
    members: dict[int, IntArray] = {}
    for box in reversed(boxes):  # children stand after their parent
        own = [np.flatnonzero(shown.regions == box.region)] if not box.children else [members[c] for c in box.children]
        rows = members[box.number] = np.sort(np.concatenate(own))
        box.n_samples, box.fraction = len(rows), len(rows) / shown.table.n_rows
        box.disagreement = measure(rows) if len(rows) else 0.0
        box.after = sum(boxes[c].after for c in box.children) if box.children else box.disagreement
    total = boxes[0].disagreement
    for box in boxes:
        box.disagreement, box.after = ((v / total if total > 0 else 0.0) for v in (box.disagreement, box.after))


def _placed(boxes: Sequence[Box]) -> tuple[Box, ...]:
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


def _tree_size(boxes: Sequence[Box]) -> tuple[float, float]:
    """Size of a figure in which nothing overlaps."""
    leaves = sum(not box.children for box in boxes)
    return max(6.0, WIDTH * leaves + 0.3), HEIGHT * (1 - min(box.y for box in boxes)) + 0.5


def _draw_tree(ax: Axes, boxes: Sequence[Box], where: str) -> None:
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
    frame = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
    _write(ax, x, y, wrapped(drawable(child.condition), 24, 3), bbox=frame, zorder=2)


def _box(ax: Axes, box: Box) -> None:
    fill, edge = (BOX, ORANGE) if not box.children else ("white", GREY)
    frame = {"boxstyle": "round,pad=0.45", "facecolor": fill, "edgecolor": edge, "linewidth": 1.2}
    _write(ax, box.x, box.y, _box_text(box), linespacing=1.35, bbox=frame, zorder=3)


def _write(ax: Axes, x: float, y: float, text: str, **look: Any) -> None:
    ax.text(x, y, text, ha="center", va="center", fontsize=SMALL + 0.5, color=BLACK, **look)


def _box_text(box: Box) -> str:
    """What a box says: rows, and the disagreement before and after the splits below it."""
    rows = f"{rows_of(box.n_samples)} · {coarse(box.fraction)}" if box.fraction == box.fraction else ""
    if box.children:
        head = f"{ALL_ROWS}\n" if box.parent is None else ""
        change = f"disagreement {coarse(box.disagreement)} → {coarse(box.after)}"
        return head + "\n".join(line for line in (rows, change if box.after == box.after else "") if line)
    left = f"disagreement {coarse(box.disagreement)}" if box.disagreement == box.disagreement else ""
    name = f"Region {box.region}" if box.parent is not None else ALL_ROWS
    return "\n".join(line for line in (name, rows, left) if line)
