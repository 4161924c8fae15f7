"""The tree of regions: its nodes, the one walk through it, and which leaf a row reaches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import LABELS_SHOWN, column_text, count_text
from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.regions.rule import Condition, Rule, complementary, find_column, satisfied
from granite_xai.tables import Table


@dataclass(frozen=True)
class Leaf:
    """A node that is a region.

    Parameters
    ----------
    n_samples : int
        Fitting rows in it.
    fraction : float
        Their share of all fitting rows.
    disagreement : float
        Its share of the disagreement over all rows.
    stop_reason : str
        Why it was not split.
    """

    n_samples: int
    fraction: float
    disagreement: float
    stop_reason: str = ""


@dataclass(frozen=True)
class Split:
    """A node that divides its rows by a condition on a column and its complement.

    Parameters
    ----------
    column : str
    left, right : Condition
        Each value satisfies exactly one of them.
    children : tuple of two nodes
    n_samples, fraction, disagreement
        As for a `Leaf`.
    """

    column: str
    left: Condition
    right: Condition
    children: tuple[Node, Node]
    n_samples: int
    fraction: float
    disagreement: float

    def __post_init__(self) -> None:
        if not complementary(self.left, self.right):
            left = self.left.text(self.column)
            right = self.right.text(self.column)
            raise InputError(
                f"{left!r} and {right!r} do not divide the values.",
                code="P03",
                columns=[self.column],
                hint="Make the pair with cut, grouping or missing_or_present.",
            )


Node = Leaf | Split


class Place(NamedTuple):
    """A node with its place in the tree.

    Attributes
    ----------
    node : Leaf or Split
    number : int
        Of the node; parents come before their children, the left child first.
    parent : Place or None
        None for the root.
    region : int or None
        Number of the region; None for nodes that are split.
    rule : Rule
        Which rows reach the node.
    condition : Condition or None
        The one of the parent's column that leads here; None for the root.
    """

    node: Node
    number: int
    parent: Place | None
    region: int | None
    rule: Rule
    condition: Condition | None

    @property
    def depth(self) -> int:
        """Splits above the node."""
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def column(self) -> str:
        """The column of the condition that leads here; empty for the root."""
        split = None if self.parent is None else self.parent.node
        return split.column if isinstance(split, Split) else ""


def walk(root: Node, rule: Rule = Rule()) -> Iterator[Place]:  # noqa: B008
    """Walk through a tree, parents first and from left to right.

    Parameters
    ----------
    root : Leaf or Split
    rule : Rule
        Of the root.
    """
    numbers, regions = itertools.count(), itertools.count()

    def descend(
        node: Node, parent: Place | None, rule: Rule, condition: Condition | None
    ) -> Iterator[Place]:
        region = next(regions) if isinstance(node, Leaf) else None
        place = Place(node, next(numbers), parent, region, rule, condition)
        yield place
        if isinstance(node, Split):
            for child, side in zip(node.children, (node.left, node.right), strict=True):
                yield from descend(child, place, rule.and_(node.column, side), side)

    yield from descend(root, None, rule, None)


def leaves(root: Node) -> Iterator[tuple[Rule, Leaf]]:
    """List the leaves of a tree from left to right, each with its rule."""
    for place in walk(root):
        if isinstance(place.node, Leaf):
            yield place.rule, place.node


def find_leaves(root: Node, table: Table, names: Sequence[str] = ()) -> IntArray:
    """Number the leaf that each row reaches, from left to right.

    Parameters
    ----------
    root : Leaf or Split
    table : Table
    names : sequence of str
        Columns of the fit, for tables without names.

    Returns
    -------
    array of shape (n_rows,)

    Raises
    ------
    InputError
        Of values for which a split has no side.
    """
    leaf_of_row = np.zeros(table.n_rows, dtype=np.intp)
    numbers = itertools.count()

    def descend(node: Node, rows: IntArray) -> None:
        if isinstance(node, Leaf):
            leaf_of_row[rows] = next(numbers)
            return
        goes_left = _goes_left(node, table, rows, names)
        left, right = node.children
        descend(left, rows[goes_left])
        descend(right, rows[~goes_left])

    descend(root, np.arange(table.n_rows))
    return leaf_of_row


def _goes_left(node: Split, table: Table, rows: IntArray, names: Sequence[str]) -> BoolArray:
    """Which of some rows satisfy the left condition of a split; all others satisfy the right one."""
    column = find_column(table, node.column, names)
    goes_left = satisfied(node.left, column)[rows]
    goes_right = satisfied(node.right, column)[rows]
    homeless = rows[~(goes_left | goes_right)]
    if len(homeless) == 0:
        return goes_left
    are_missing = column.missing[homeless].any()
    what = "missing values" if are_missing else "labels outside the order of the fit"
    cells = count_text(len(homeless), what, table.row_labels(homeless))
    raise InputError(
        f"X {column_text(column.name, column.position)} has {cells}.",
        code="D01" if are_missing else "D15",
        argument="X",
        columns=[column.name],
        rows=table.row_labels(homeless[:LABELS_SHOWN]),
        hint="No fitting row had one, so no region holds it: impute or drop these rows.",
    )
