"""PartitionDisplay: the tree of regions. StabilityDisplay: how often each split and each region comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import drawable, shortened, wrapped
from granite_xai.base.typing import IntArray
from granite_xai.base.wording import ALL_ROWS, coarse, percent, rows_of
from granite_xai.display.figures import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    SMALL,
    Axes,
    Drawn,
    framed,
    region_color,
    sheet,
    tidy,
)
from granite_xai.fitting.new_rows import fitted_view
from granite_xai.inference.stability import RELIABLE, Stability
from granite_xai.regions.nodes import Node, Split
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule
from granite_xai.results.scopes import RowsToShow, shown_names, side_names
from granite_xai.tables import Table

WIDTH, HEIGHT = 1.75, 1.6  # inches that one leaf takes, and one level of the tree
COLUMNS = "node parent region condition rule n_samples fraction disagreement after"


@dataclass(slots=True, eq=False)
class Box:
    """One node: its region if it is not split, the condition that its sibling's rows lack, and its place."""

    node: int
    parent: int | None
    region: int | None
    condition: str
    rule: Rule
    n_samples: int
    fraction: float
    disagreement: float  # share of that on all rows
    after: float  # what the splits below leave of it
    column: str = ""
    children: list[int] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    @property
    def text(self) -> str:
        """What it says: rows, and the disagreement before and after the splits below it."""
        name = ALL_ROWS if self.parent is None else "" if self.children else f"Region {self.region}"
        rows = (
            f"{rows_of(self.n_samples)} · {coarse(self.fraction)}"
            if self.fraction == self.fraction
            else ""
        )
        change = f" → {coarse(self.after)}" if self.children else ""
        left = (
            f"disagreement {coarse(self.disagreement)}{change}" if self.after == self.after else ""
        )
        return "\n".join(line for line in (name, rows, left) if line)


@dataclass(eq=False)
class PartitionDisplay(Drawn):
    """The tree of regions: what is asked at each split, how many rows go where, and what disagreement is left.

    Shares of disagreement refer to all rows before any split. Make it with `from_estimator`; ``axes_`` holds one Axes.

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
        cls,
        g: Any,
        X: Any = None,
        y: Any = None,
        *,
        max_samples: int | None = None,
        sample_weight: Any = None,
    ) -> PartitionDisplay:
        """Read the tree.

        Parameters
        ----------
        g, max_samples, sample_weight
            As in `EffectDisplay.from_estimator`.
        X : table, optional
            Rows that are counted and measured at every node. None: the fitting rows, without asking the model again.
        y : array, optional
            The target of X; needed for risk.
        """
        fitted = fitted_view(g).result
        pairs = [(asked.question.first, asked.question.second) for asked in fitted.comparisons]
        boxes = boxes_of(fitted.partition)
        if X is not None:
            sides = [side for pair in pairs for side in pair]
            _measure(boxes, RowsToShow.of(g, X, y, sides, max_samples, sample_weight))
        _place(boxes)
        source = "the fitting rows" if X is None else "these rows"
        return cls(
            tuple(boxes),
            " · ".join(shown_names(side_names(pair)) for pair in pairs),
            source,
            fitted.table,
        )

    def plot(self, ax: Any = None) -> PartitionDisplay:
        """Draw the tree, in a new figure or in the Axes ``ax``."""
        leaves = [box for box in self.boxes if not box.children]
        size = (
            max(6.0, WIDTH * len(leaves) + 0.3),
            HEIGHT * (1 - min(box.y for box in self.boxes)) + 0.5,
        )
        drawn = sheet(ax, [0], (1, 1), size)
        note = (
            "disagreement: share of that on all rows, before → after the splits below; measured on"
        )
        _draw_tree(drawn.axes[0], self.boxes, f"{note} {self.source}")
        told = f"{len(leaves)} regions keep {coarse(self.boxes[0].after)} of the disagreement"
        if len(leaves) == 1:
            told = f"one region. {'The explanations agree' if not leaves[0].disagreement else 'No split was kept'}."
        return self._keep(drawn, None, f"{self.explanations}: {told}")

    def frame(self) -> Any:
        """Everything drawn, one line a node: in the library of the fitting rows.

        Columns: node, parent (null: the root), region (null: a node that is split), condition (on the edge), rule (all
        conditions), n_samples, fraction, disagreement (before), after (what the splits below leave).
        """
        told = ([getattr(box, key) for key in COLUMNS.split()] for box in self.boxes)
        lines = ([str(cell) if isinstance(cell, Rule) else cell for cell in line] for line in told)
        return framed(COLUMNS, lines, self.table)


def boxes_of(partition: Partition) -> list[Box]:
    """The nodes of a tree from top to bottom, left before right; rules without a tree all hang from the root."""
    found: list[Box] = []
    if partition.root is not None:
        _grow(found, partition.root, None, ALL_ROWS, Rule())
        for number, box in enumerate(box for box in found if not box.children):
            box.region = number
        return found
    rows, left = (
        sum(r.n_samples for r in partition),
        float(np.sum([r.disagreement for r in partition])),
    )
    root = Box(0, None, None, ALL_ROWS, Rule(), rows, 1.0, 1.0 if left == left else left, left)
    for r in partition:
        root.children.append(r.index + 1)
        shares = (r.n_samples, r.fraction, r.disagreement, r.disagreement)
        found.append(Box(r.index + 1, 0, r.index, str(r.rule), r.rule, *shares))
    return [root, *found]


def _grow(found: list[Box], node: Node, parent: int | None, condition: str, rule: Rule) -> Box:
    left = node.disagreement
    box = Box(len(found), parent, None, condition, rule, node.n_samples, node.fraction, left, left)
    found.append(box)
    if isinstance(node, Split):
        box.column, box.after = node.column, 0.0
        for child, side in zip(node.children, (node.left, node.right), strict=True):
            below = _grow(
                found, child, box.node, side.text(node.column), rule.and_(node.column, side)
            )
            box.children.append(below.node)
            box.after += below.after
    return box


def _measure(boxes: list[Box], shown: RowsToShow) -> None:
    """Count and measure the nodes on other rows."""
    measure = shown.disagreement()
    members: dict[int, IntArray] = {}
    for box in reversed(boxes):  # children stand after their parent
        own = (
            [np.flatnonzero(shown.regions == box.region)]
            if not box.children
            else [members[c] for c in box.children]
        )
        rows = members[box.node] = np.sort(np.concatenate(own))
        box.n_samples, box.fraction = len(rows), len(rows) / shown.table.n_rows
        box.disagreement = measure(rows) if len(rows) else 0.0
        box.after = sum(boxes[c].after for c in box.children) if box.children else box.disagreement
    total = boxes[0].disagreement
    for box in boxes:
        box.disagreement, box.after = (
            (v / total if total > 0 else 0.0) for v in (box.disagreement, box.after)
        )


def _place(boxes: Sequence[Box]) -> None:
    """Leaves side by side, every other node above the middle of its children, which stand after it."""
    leaves = [box.node for box in boxes if not box.children]
    for box in boxes:
        box.y = 0.0 if box.parent is None else boxes[box.parent].y - 1.0
    for box in reversed(boxes):
        ends = [boxes[child].x for child in box.children] or [float(leaves.index(box.node))]
        box.x = (ends[0] + ends[-1]) / 2


def _draw_tree(ax: Axes, boxes: Sequence[Box], note: str) -> None:
    """Edges as thick as the disagreement that is left below them, conditions on them, boxes over their ends."""
    ax.set_axis_off()
    ax.set(
        xlim=(-0.6, max(box.x for box in boxes) + 0.6),
        ylim=(min(box.y for box in boxes) - 0.45, 0.45),
    )
    centred: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "fontsize": SMALL + 0.5,
        "color": BLACK,
    }
    for box in boxes:
        if box.parent is not None:
            above, share = boxes[box.parent], min(np.nan_to_num(box.disagreement), 1.0)
            ax.plot(
                [above.x, box.x],
                [above.y, box.y],
                color=GREY,
                linewidth=0.8 + 6 * share,
                alpha=0.6,
                zorder=1,
            )
            # Conditions of both children stand on one line, nearer to the child, where the edges are apart.
            x, text = box.x + 0.26 * (above.x - box.x), wrapped(drawable(box.condition), 24, 3)
            behind = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
            ax.text(x, box.y + 0.45, text, bbox=behind, zorder=2, **centred)
        edge, width = (region_color(box.region), 2.4) if not box.children else (GREY, 1.2)
        frame = {
            "boxstyle": "round,pad=0.45",
            "facecolor": "white",
            "edgecolor": edge,
            "linewidth": width,
        }
        ax.text(box.x, box.y, box.text, linespacing=1.35, bbox=frame, zorder=3, **centred)
    ax.text(0.0, 0.0, note, transform=ax.transAxes, fontsize=SMALL, color=GREY, va="top")


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
            raise InputError(
                "there is no stability yet.",
                code="P03",
                argument="g",
                hint="Call g.stability() first.",
            )
        return cls(known)

    def plot(self, ax: Any = None) -> StabilityDisplay:
        """Draw both panels; ``ax`` as in `EffectDisplay.plot`."""
        found = self.stability
        cuts = [
            "" if split.low != split.low else f"  cut {split.low:.4g}–{split.high:.4g}"
            for split in found.splits
        ]
        splits = [
            (f"{s.rule}: {s.cut}", s.share, cut) for s, cut in zip(found.splits, cuts, strict=True)
        ]
        regions = [
            (rule, overlap, "") for rule, overlap in zip(found.rules, found.overlaps, strict=True)
        ]
        panels = {
            "Same column split there, share of searches": splits,
            "Region found again (mean overlap)": regions,
        }
        drawn = sheet(ax, [0, 1], (1, 2), (9.0, 0.42 * max(map(len, panels.values())) + 1.6))
        for axes, (title, bars) in zip(drawn.axes, panels.items(), strict=True):
            tidy(axes)
            for place, (_, value, text) in enumerate(bars):
                axes.barh(place, value, color=ORANGE if value < RELIABLE else BLUE, height=0.6)
                axes.text(
                    min(value, 0.98), place, f" {percent(value)}{text}", va="center", fontsize=SMALL
                )
            axes.set_yticks(
                range(len(bars)),
                [drawable(shortened(label, 44)) for label, _, _ in bars],
                fontsize=SMALL,
            )
            axes.axvline(RELIABLE, color=GREY, linewidth=0.8, linestyle=":")
            axes.set(xlim=(0.0, 1.35), xticks=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
            axes.invert_yaxis()
            axes.set_title(title, fontsize=SMALL + 1, loc="left")
        score = f"{found.score:.2f} ({found.low:.2f}–{found.high:.2f}); 1 is the same regions"
        return self._keep(drawn, ax, f"The regions of {found.searches} searches agree by {score}")

    def frame(self) -> Any:
        """What is drawn: see `Stability.frame`."""
        return self.stability.frame()
