"""PartitionDisplay: the tree of regions, with rules, rows, and the disagreement before and after each split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.disagreement import Disagreement
from granite_xai.display.boxes import Box, draw_tree, placed, tree_size
from granite_xai.display.figures import sheet
from granite_xai.display.rows import Seen, fitted_of, see, side_names
from granite_xai.display.words import familiar, percent
from granite_xai.engine.splits import Splits
from granite_xai.fit import FitResult
from granite_xai.new_rows import observe
from granite_xai.objective import ScaledObjective
from granite_xai.regions.nodes import Leaf, Node
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule
from granite_xai.tables import frame

if TYPE_CHECKING:
    from granite_xai.tables import Table


@dataclass(eq=False)
class PartitionDisplay:
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
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

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
        fitted = fitted_of(g)
        boxes = _boxes(fitted.partition)
        if X is not None:
            sides = [side for c in fitted.comparisons for side in (c.question.first, c.question.second)]
            boxes = _measured(boxes, see(g, X, y, sides, max_samples))
        return cls(
            placed(boxes),
            " · ".join(_pair(comparison.question) for comparison in fitted.comparisons),
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
        drawn = sheet(ax, 1, (1, 1), tree_size(self.boxes), [0])
        draw_tree(drawn.axes[0], self.boxes, f"measured on {self.source}")
        drawn.headline(self._headline())
        drawn.settle()
        self.figure_, self.ax_, self.axes_ = drawn.figure, drawn.axes[0], np.array(drawn.axes, dtype=object)
        return self

    def _headline(self) -> str:
        leaves = [box for box in self.boxes if not box.children]
        if len(leaves) == 1:
            agreed = leaves[0].disagreement == 0
            return f"{self.explanations}: one region. " + (
                "The explanations agree." if agreed else "No split was kept."
            )
        left = percent(self.boxes[0].after)
        return f"{self.explanations}: {len(leaves)} regions keep {left} of the disagreement"

    def frame(self) -> Any:
        """Everything drawn, one line a node: in the library of the fitting rows.

        Columns: node, parent (null: the root), region (null: a node that is split), condition (on the edge), rule (all
        conditions), n_samples, fraction, disagreement (before), after (what the splits below leave).
        """
        data = {
            "node": [box.number for box in self.boxes],
            "parent": [box.parent for box in self.boxes],
            "region": [box.region for box in self.boxes],
            "condition": [box.condition for box in self.boxes],
            "rule": [str(box.rule) for box in self.boxes],
            "n_samples": [box.n_samples for box in self.boxes],
            "fraction": [box.fraction for box in self.boxes],
            "disagreement": [box.disagreement for box in self.boxes],
            "after": [box.after for box in self.boxes],
        }
        return frame(data, like=self.table)


def _pair(question: Disagreement) -> str:
    names = side_names((question.first, question.second))
    return " and ".join(familiar(name) for name in names)


def _boxes(partition: Partition) -> list[Box]:
    """The nodes of a tree from top to bottom, left before right; rules without a tree all hang from the root."""
    if partition.root is None:
        regions = partition.regions
        rows, left = sum(r.n_samples for r in regions), float(np.sum([r.disagreement for r in regions]))
        root = Box(0, None, None, "all rows", Rule(), rows, 1.0, 1.0 if left == left else left, left)
        boxes = [root]
        for region in regions:
            share = region.disagreement
            rule, rows = region.rule, region.n_samples
            box = Box(len(boxes), 0, region.index, str(rule), rule, rows, region.fraction, share, share)
            boxes.append(box)
            root.children.append(box.number)
        return boxes
    found: list[Box] = []
    _grow(found, partition.root, None, "all rows", Rule())
    for number, box in enumerate(box for box in found if not box.children):
        box.region = number
    return found


def _grow(found: list[Box], node: Node, parent: int | None, condition: str, rule: Rule) -> Box:
    box = Box(len(found), parent, None, condition, rule, node.n_samples, node.fraction, node.disagreement, 0.0)
    found.append(box)
    if isinstance(node, Leaf):
        box.after = node.disagreement
        return box
    for child, side in zip(node.children, (node.left, node.right), strict=True):
        below = _grow(found, child, box.number, side.text(node.column), rule.and_(node.column, side))
        box.children.append(below.number)
        box.after += below.after
    return box


def _measured(boxes: list[Box], seen: Seen) -> list[Box]:
    """The same tree, counted and measured on other rows."""
    measure = _measure(seen)
    members: dict[int, IntArray] = {}
    for box in reversed(boxes):  # children stand after their parent
        own = [np.flatnonzero(seen.regions == box.region)] if not box.children else [members[c] for c in box.children]
        rows = members[box.number] = np.sort(np.concatenate(own))
        box.n_samples, box.fraction = len(rows), len(rows) / seen.table.n_rows
        box.disagreement = measure(rows) if len(rows) else 0.0
        box.after = sum(boxes[c].after for c in box.children) if box.children else box.disagreement
    total = boxes[0].disagreement
    for box in boxes:
        box.disagreement, box.after = ((v / total if total > 0 else 0.0) for v in (box.disagreement, box.after))
    return boxes


def _measure(seen: Seen) -> Callable[[IntArray], float]:
    """Disagreement of some rows times their share; several questions weigh as in the fit."""
    fitted: FitResult = seen.fitted
    # Without the fit's centres: every node's baseline, if there is one, is a row of its own.
    everywhere = observe(replace(fitted, centres={}), seen.table, seen.y, None, seen.resources)
    roots = fitted.roots
    weights = np.where(roots > fitted.floors, fitted.question_weights, 0.0)
    factors = np.divide(weights, roots, out=np.zeros_like(roots), where=weights > 0)
    shares = ScaledObjective(everywhere.comparisons, factors, fitted.floors, float(seen.table.n_rows))

    def measure(rows: IntArray) -> float:
        inside = everywhere.evaluations.restrict(rows)
        splits = Splits.whole(inside.weights)
        return float(shares.of(shares.disagreements(inside, splits), splits.mass)[0, 0])

    return measure
