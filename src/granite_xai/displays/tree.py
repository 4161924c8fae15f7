"""PartitionDisplay: the tree of regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from granite_xai.base.numbers import rows_of, share
from granite_xai.base.text import ALL_ROWS, drawable, shortened, wrapped
from granite_xai.base.typing import IntArray
from granite_xai.displays.shown import short_words
from granite_xai.document.chart import GREY
from granite_xai.document.figure import SMALL, Axes, Drawn, Palette, framed, inches_of, sheet
from granite_xai.fitting.fitted import fitted_view
from granite_xai.regions import Node, Partition, Rule, Split, walk
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
    condition: str  # on the edge above it, exact: of the split, or the whole rule without a tree
    edge: Rule  # the same as a rule
    rule: Rule
    n_samples: int
    fraction: float
    disagreement: float  # share of that on all rows
    after: float  # what the splits below leave of it
    name: str = ""  # that a region was given
    children: list[int] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    @property
    def text(self) -> str:
        """What it says: its region, its rows, and the heterogeneity before and after its splits."""
        lines = []
        if self.parent is None:
            lines.append(ALL_ROWS)
        elif not self.children:
            name = f": {shortened(drawable(self.name), CONDITION_WIDTH)}" if self.name else ""
            lines.append(f"Region {self.region}{name}")
        if not np.isnan(self.fraction):
            lines.append(f"{rows_of(self.n_samples)} · {share(self.fraction)}")
        if not np.isnan(self.after):
            change = f" → {share(self.after)}" if self.children else ""
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
        boxes = boxes_of(fitted.partition)
        source = "the search rows"
        if X is not None:
            sides = list(chain.from_iterable(pairs))
            _measure(boxes, Values.of_rows(g, X, y, sides, max_samples, sample_weight))
            source = "these rows"
        _place(boxes)
        words = [
            short_words(box.edge, fitted.partition, fitted.table, CONDITION_WIDTH - 4)
            for box in boxes
        ]
        return cls(
            boxes=tuple(boxes),
            labels=tuple(wrapped(drawable(text), CONDITION_WIDTH, 3) for text in words),
            explanations=" · ".join(shown_names(side_names(pair)) for pair in pairs),
            source=source,
            table=fitted.table,
        )

    def plot(self, ax: Any = None) -> PartitionDisplay:
        """Draw the tree, in a new figure or in the Axes ``ax``."""
        leaves = [box for box in self.boxes if not box.children]
        levels = 1 - min(box.y for box in self.boxes)
        width = max(6.0, self._leaf_width * len(leaves) + 0.3)
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

    @property
    def _leaf_width(self) -> float:
        """Inches of a leaf, so that neither boxes nor conditions of neighbours touch.

        Conditions of two siblings stand nearer to each other than their boxes do.
        """
        conditions = "\n".join(self.labels).split("\n")
        texts = "\n".join(box.text for box in self.boxes).split("\n")
        on_edges = LETTER * max(map(len, conditions)) / (1.0 - ON_EDGE)
        in_boxes = LETTER * max(map(len, texts)) + 0.2
        return max(LEAST_WIDTH, on_edges + 0.15, in_boxes + 0.15)

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
            frame = {
                "boxstyle": "round,pad=0.45",
                "facecolor": palette.paper,
                "edgecolor": GREY if box.children else palette.region(box.region),
                "linewidth": 1.2 if box.children else 2.4,
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
    root = partition.root
    boxes = _boxes_of_rules(partition) if root is None else _boxes_of_tree(root)
    for box in boxes:
        if box.region is not None:
            box.name = partition[box.region].name
        if box.parent is not None:
            boxes[box.parent].children.append(box.node)
    return boxes


def _boxes_of_rules(partition: Partition) -> list[Box]:
    after = float(np.sum([region.disagreement for region in partition]))
    root = Box(
        node=0,
        parent=None,
        region=None,
        condition=ALL_ROWS,
        edge=Rule(),
        rule=Rule(),
        n_samples=sum(region.n_samples for region in partition),
        fraction=1.0,
        disagreement=after if np.isnan(after) else 1.0,
        after=after,
    )
    leaves = [
        Box(
            node=region.index + 1,
            parent=0,
            region=region.index,
            condition=str(region.rule),
            edge=region.rule,
            rule=region.rule,
            n_samples=region.n_samples,
            fraction=region.fraction,
            disagreement=region.disagreement,
            after=region.disagreement,
        )
        for region in partition
    ]
    return [root, *leaves]


def _boxes_of_tree(root: Node) -> list[Box]:
    """A box for each node, parents first; ``after`` is the sum over its leaves."""
    boxes: list[Box] = []
    for place in walk(root):
        node = place.node
        condition, edge = ALL_ROWS, Rule()
        if place.condition is not None:
            condition = place.condition.text(place.column)
            # Of the rule the condition on this feature: it may have been split before.
            own = dict(place.rule.conditions).get(place.column)
            edge = place.rule if own is None else Rule(((place.column, own),))
        box = Box(
            node=place.number,
            parent=None if place.parent is None else place.parent.number,
            region=place.region,
            condition=condition,
            edge=edge,
            rule=place.rule,
            n_samples=node.n_samples,
            fraction=node.fraction,
            disagreement=node.disagreement,
            after=0.0 if isinstance(node, Split) else node.disagreement,
        )
        boxes.append(box)
    for box in reversed(boxes):  # children stand after their parent
        if box.parent is not None:
            boxes[box.parent].after += box.after
    return boxes


def _measure(boxes: list[Box], shown: Values) -> None:
    """Count and measure the nodes on other rows."""
    measure = shown.disagreement()
    members: dict[int, IntArray] = {}
    for box in reversed(boxes):  # children stand after their parent
        rows = np.flatnonzero(shown.regions == box.region)
        if box.children:
            rows = np.sort(np.concatenate([members[child] for child in box.children]))
        members[box.node] = rows
        box.n_samples = len(rows)
        box.fraction = len(rows) / shown.table.n_rows
        box.disagreement = measure(rows) if len(rows) else 0.0
        box.after = box.disagreement
        if box.children:
            box.after = sum(boxes[child].after for child in box.children)
    total = boxes[0].disagreement
    for box in boxes:
        box.disagreement = box.disagreement / total if total > 0 else 0.0
        box.after = box.after / total if total > 0 else 0.0


def _place(boxes: Sequence[Box]) -> None:
    """Leaves side by side, every other node above the middle of its children."""
    leaves = [box.node for box in boxes if not box.children]
    for box in boxes:
        if box.parent is not None:
            box.y = boxes[box.parent].y - 1.0
    for box in reversed(boxes):  # children stand after their parent
        if box.children:
            box.x = (boxes[box.children[0]].x + boxes[box.children[-1]].x) / 2
        else:
            box.x = float(leaves.index(box.node))
