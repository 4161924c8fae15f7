"""The tree of regions: its nodes, the one walk through it, and which leaf a row reaches."""

from __future__ import annotations

import itertools
import math
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

    @property
    def n_leaves(self) -> int:
        """Number of leaves below the node, or of the one that it is."""
        return 1


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

    @property
    def n_leaves(self) -> int:
        """Number of leaves below the node."""
        return sum(child.n_leaves for child in self.children)


Node = Leaf | Split


@dataclass(frozen=True, slots=True)
class UntakenCut:
    """The best further cut of a region.

    Attributes
    ----------
    column : str
        Empty where no cut leaves enough rows on both sides, or none is known.
    cut : str
        The condition of its left side.
    gain : float
        What it would take away, as a share of the disagreement on all rows.
    """

    column: str = ""
    cut: str = ""
    gain: float = math.nan


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a fit knows of its splits beside the tree.

    Attributes
    ----------
    described : tuple of float
        Share of the model described without splits, with the first one, with the first two, ...
    untaken_cuts : tuple of UntakenCut
        Of each region.
    """

    described: tuple[float, ...] = ()
    untaken_cuts: tuple[UntakenCut, ...] = ()


class Place(NamedTuple):
    """A node with its place in the tree.

    Attributes
    ----------
    node : Leaf or Split
    number : int
        Of the node; parents come before their children, the left child first.
    parent : Place or None
        None for the root.
    regions : range
        Numbers of the regions that it has, or is.
    region : int or None
        Number of the region; None for nodes that are divided.
    rule : Rule
        Which rows reach the node.
    edge : Rule
        Which rows of the parent do: one condition, or the rule of a region without a tree.
    """

    node: Node
    number: int
    parent: Place | None
    regions: range
    region: int | None
    rule: Rule
    edge: Rule

    @property
    def depth(self) -> int:
        """Splits above the node."""
        return 0 if self.parent is None else self.parent.depth + 1


def walk(root: Node) -> Iterator[Place]:
    """Walk through a tree, parents first and from left to right."""
    numbers = itertools.count()

    def descend(
        node: Node, parent: Place | None, first_region: int, rule: Rule, edge: Rule
    ) -> Iterator[Place]:
        regions = range(first_region, first_region + node.n_leaves)
        region = first_region if isinstance(node, Leaf) else None
        place = Place(node, next(numbers), parent, regions, region, rule, edge)
        yield place
        if isinstance(node, Split):
            for child, side in zip(node.children, (node.left, node.right), strict=True):
                edge = Rule(((node.column, side),))
                yield from descend(child, place, first_region, rule.and_(node.column, side), edge)
                first_region += child.n_leaves

    yield from descend(root, None, 0, Rule(), Rule())


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
