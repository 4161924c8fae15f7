"""PartitionDisplay: the tree of regions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from granite_xai.base.numbers import rows_of, share
from granite_xai.base.text import ALL_ROWS, drawable, shortened, wrapped
from granite_xai.displays.shown import short_words
from granite_xai.document.chart import GREY
from granite_xai.document.figure import SMALL, Axes, Drawn, Palette, framed, inches_of, sheet
from granite_xai.fitting.fit_result import fitted_view
from granite_xai.regions import Partition, Rule
from granite_xai.results.values import Values, shown_names, side_names
from granite_xai.tables import Table

LEAST_WIDTH = 1.75  # inches that one leaf takes
HEIGHT = 1.6  # inches that one level of the tree takes
LETTER = 0.068  # inches of a letter in a box
CONDITION_WIDTH = 22  # letters of a line of a condition
ON_EDGE = 0.26  # where a condition stands on its edge, from the child (0) to the parent (1)
KEYS = "node parent region condition rule n_samples fraction disagreement after"


@dataclass(slots=True, eq=False)
class Box:
    """One node of the tree and its place."""

    node: int
    parent: int | None
    region: int | None  # None: a node that is split
    regions: range  # below it
    split: Rule  # the condition of the split above it; without a tree, the whole rule
    rule: Rule
    n_samples: int
    fraction: float
    disagreement: float  # share of that on all rows
    after: float  # what the splits below leave of it
    name: str  # that a region was given
    x: float  # a leaf stands at the number of its region, other nodes above the middle of their children
    y: float

    @property
    def condition(self) -> str:
        """That of the split above it, exact."""
        return ALL_ROWS if self.parent is None else str(self.split)

    @property
    def edge(self) -> Rule:
        """What stands on the edge above it: all that the rule says of the feature, which may have been split before."""
        columns = [column for column, _ in self.split.conditions]
        kept = [condition for condition in self.rule.conditions if condition[0] in columns]
        return Rule(tuple(kept)) if kept else self.rule

    @property
    def text(self) -> str:
        """What it says: its region, its rows, and the heterogeneity before and after its splits."""
        is_leaf = self.region is not None
        lines = []
        if self.parent is None:
            lines.append(ALL_ROWS)
        elif is_leaf:
            name = f": {shortened(drawable(self.name), CONDITION_WIDTH)}" if self.name else ""
            lines.append(f"Region {self.region}{name}")
        if not np.isnan(self.fraction):
            lines.append(f"{rows_of(self.n_samples)} · {share(self.fraction)}")
        if not np.isnan(self.after):
            change = "" if is_leaf else f" → {share(self.after)}"
            lines.append(f"heterogeneity {share(self.disagreement)}{change}")
        return "\n".join(lines)


@dataclass(eq=False)
class PartitionDisplay(Drawn):
    """The tree of regions: the question at each split, how many rows go where, and what is left.

    Shares of heterogeneity refer to all rows before any split. Make it with `from_estimator`;
    ``axes_`` holds one Axes.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=60)
    >>> g = gx.Granite(toy.model, "ice-pdp").fit(toy.X)
    >>> display = PartitionDisplay.from_estimator(g)
    >>> nodes = display.frame()[["node", "parent", "condition", "n_samples"]]
    >>> nodes.fillna(-1).astype({"parent": int})
       node  parent condition  n_samples
    0     0      -1  all rows         60
    1     1       0    x2 ≤ 0         28
    2     2       0    x2 > 0         32
    """

    boxes: tuple[Box, ...] = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)  # that stand on the edges above the boxes
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
            Rows that are counted and measured at every node. None: the search rows, without a
            further call of the model.
        y : array, optional
            The target of X; needed for risk.
        """
        fitted = fitted_view(g).result
        questions = [resolved.question for resolved in fitted.questions]
        pairs = [(question.first, question.second) for question in questions]
        partition = fitted.partition
        boxes = boxes_of(partition)
        source = "the search rows"
        if X is not None:
            sides = list(chain.from_iterable(pairs))
            _measure(boxes, Values.of_rows(g, X, y, sides, max_samples, sample_weight))
            source = "these rows"
        width = CONDITION_WIDTH - 4
        words = [short_words(box.edge, partition, fitted.table, width) for box in boxes]
        return cls(
            boxes=tuple(boxes),
            labels=tuple(wrapped(drawable(text), CONDITION_WIDTH, 3) for text in words),
            explanations=" · ".join(shown_names(side_names(pair)) for pair in pairs),
            source=source,
            table=fitted.table,
        )

    def plot(self, ax: Any = None) -> PartitionDisplay:
        """Draw the tree, in a new figure or in the Axes ``ax``."""
        leaves = [box for box in self.boxes if box.region is not None]
        levels = 1 - min(box.y for box in self.boxes)
        # Neither boxes nor conditions of neighbours touch; those of siblings stand nearer to each other than boxes do.
        conditions = "\n".join(self.labels).split("\n")
        texts = "\n".join(box.text for box in self.boxes).split("\n")
        on_edges = LETTER * max(map(len, conditions)) / (1.0 - ON_EDGE) + 0.15
        in_boxes = LETTER * max(map(len, texts)) + 0.35
        width = max(6.0, max(LEAST_WIDTH, on_edges, in_boxes) * len(leaves) + 0.3)
        drawn = sheet(ax, [0], (1, 1), (width, HEIGHT * levels + 0.5))
        axes = drawn.axes[0]
        self._draw(axes, drawn.palette)
        # A note below the tree, on as many lines as it needs.
        note = f"heterogeneity: share of that on all rows, before → after the splits below; measured on {self.source}"
        note = wrapped(note, int(inches_of(axes)[0] / 0.064), 3)
        look: dict[str, Any] = {"fontsize": SMALL, "color": GREY, "va": "top"}
        axes.text(0.0, 0.0, note, transform=axes.transAxes, **look)
        removed = share(1.0 - self.boxes[0].after)
        if len(leaves) > 1:
            finding = f"{len(leaves)} regions remove {removed} of the heterogeneity"
        elif leaves[0].disagreement:
            finding = "one region. No split was kept."
        else:
            finding = "one region. The explanations agree."
        return self._keep(drawn, ax, f"{self.explanations}: {finding}")

    def _draw(self, ax: Axes, palette: Palette) -> None:
        """Edges as thick as the heterogeneity below them, conditions on them, boxes over their ends."""
        ax.set_axis_off()
        ax.set(
            xlim=(-0.6, max(box.x for box in self.boxes) + 0.6),
            ylim=(min(box.y for box in self.boxes) - 0.45, 0.45),
        )
        centred: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "fontsize": SMALL + 0.5,
            "color": palette.ink,
        }
        for box, label in zip(self.boxes, self.labels, strict=True):
            if box.parent is not None:
                parent = self.boxes[box.parent]
                width = 0.8 + 6 * min(float(np.nan_to_num(box.disagreement)), 1.0)
                look: dict[str, Any] = {"color": GREY, "alpha": 0.6, "zorder": 1}
                ax.plot([parent.x, box.x], [parent.y, box.y], linewidth=width, **look)
                # Conditions of both children stand on one line, nearer to the child: there the edges are apart.
                x = box.x + ON_EDGE * (parent.x - box.x)
                behind = {"facecolor": palette.paper, "edgecolor": "none", "pad": 1.2}
                ax.text(x, box.y + 0.45, label, bbox=behind, zorder=2, **centred)
            is_leaf = box.region is not None
            frame = {
                "boxstyle": "round,pad=0.45",
                "facecolor": palette.paper,
                "edgecolor": palette.region(box.region) if is_leaf else GREY,
                "linewidth": 2.4 if is_leaf else 1.2,
            }
            ax.text(box.x, box.y, box.text, linespacing=1.35, bbox=frame, zorder=3, **centred)

    def frame(self) -> Any:
        """Everything drawn, one line a node: in the library of the search rows.

        Columns: node, parent (null: the root), region (null: a node that is split), condition (on
        the edge), rule (all conditions), n_samples, fraction, disagreement (before), after (what
        the splits below leave).
        """
        lines = []
        for box in self.boxes:
            cells = [getattr(box, name) for name in KEYS.split()]
            lines.append([str(cell) if isinstance(cell, Rule) else cell for cell in cells])
        return framed(KEYS, lines, self.table)


def boxes_of(partition: Partition) -> list[Box]:
    """The nodes of a tree from top to bottom, left before right.

    Regions that were given as rules, without a tree, all hang from the root.
    """
    boxes: list[Box] = []
    for place in partition.places:
        below = [partition[region] for region in place.regions]
        parent = None if place.parent is None else place.parent.number
        box = Box(
            node=place.number,
            parent=parent,
            region=place.region,
            regions=place.regions,
            split=place.edge,
            rule=place.rule,
            n_samples=sum(region.n_samples for region in below),
            fraction=math.fsum(region.fraction for region in below),
            disagreement=place.node.disagreement,
            after=sum(region.disagreement for region in below),
            name="" if place.region is None else below[0].name,
            x=float(place.regions.start),
            y=0.0 if parent is None else boxes[parent].y - 1.0,
        )
        boxes.append(box)
    for box in reversed(boxes):  # children stand after their parent
        if box.region is None:
            children = [other.x for other in boxes if other.parent == box.node]
            box.x = (children[0] + children[-1]) / 2
    return boxes


def _measure(boxes: list[Box], shown: Values) -> None:
    """Count and measure the nodes on other rows."""
    measure = shown.disagreement()
    for box in boxes:
        rows = np.flatnonzero(np.isin(shown.regions, box.regions))
        box.n_samples = len(rows)
        box.fraction = len(rows) / shown.table.n_rows
        box.disagreement = measure(rows) if len(rows) else 0.0
    total = boxes[0].disagreement
    for box in boxes:
        box.disagreement = box.disagreement / total if total > 0 else 0.0
    for box in boxes:
        leaves = (other for other in boxes if other.region in box.regions)
        box.after = sum(leaf.disagreement for leaf in leaves)
