"""The nodes of a tree of regions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.formats import share
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.text import LABELS_SHOWN, column_text, count_text
from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.base.wording import rows_of
from granite_xai.regions.condition_pairs import complementary
from granite_xai.regions.conditions import Condition
from granite_xai.regions.rule import Rule, find_column, satisfied
from granite_xai.regions.values import is_missing
from granite_xai.tables import Column, Table


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


@dataclass(frozen=True, repr=False)
class Region(Printable):
    """One part of a partition.

    Parameters
    ----------
    index : int
        Its number, from left to right in the tree.
    rule : Rule
        Which rows belong.
    n_samples, fraction : int, float
        Fitting rows in it, and their share of all.
    disagreement : float
        Its share of the disagreement over all rows; all regions add up to what remains.
    stop_reason : str
        Why it was not split.
    name : str
        What the user calls it; `Partition.rename` gives names. Regions of two names are equal.

    Examples
    --------
    >>> region = Region(0, Rule.parse("hr ≤ 6"), 60, 0.6, 0.01, "below alpha")
    >>> str(region.rule), region.disagreement
    ('hr ≤ 6', 0.01)
    """

    index: int
    rule: Rule
    n_samples: int
    fraction: float
    disagreement: float
    stop_reason: str
    name: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self.rule)

    @property
    def _compared(self) -> tuple[object, ...]:
        """All but the name; figures that are not known are alike."""
        return (
            self.index,
            self.rule,
            self.n_samples,
            _none_if_unknown(self.fraction),
            _none_if_unknown(self.disagreement),
            self.stop_reason,
        )

    def __repr__(self) -> str:
        text = f"Region {self.index}"
        if self.name:
            text += f" ({self.name})"
        text += f": {self.rule}"
        if not math.isnan(self.fraction):
            text += f"; {rows_of(self.n_samples)}"
        return f"<{text}>"

    def _summary(self) -> TextSummary:
        """Its line of the table of regions."""
        headings = ("region", "name", "rows", "share", "rule", "not split because")
        figures = (
            self.index,
            self.name,
            f"{self.n_samples:,}",
            share(self.fraction),
            self.rule,
            stop_reason_words(self.stop_reason),
        )
        return TextSummary(sentences=(), table=[headings, figures], left=(1, 4, 5))


def _none_if_unknown(figure: float) -> float | None:
    """NaN, which equals nothing, as None."""
    return None if math.isnan(figure) else figure


def number_regions(leaves: Iterable[tuple[Rule, Leaf]]) -> tuple[Region, ...]:
    """Regions from leaves with their rules, numbered in that order.

    Parameters
    ----------
    leaves : iterable of (Rule, Leaf)
    """
    regions = []
    for number, (rule, leaf) in enumerate(leaves):
        region = Region(
            index=number,
            rule=rule,
            n_samples=leaf.n_samples,
            fraction=leaf.fraction,
            disagreement=leaf.disagreement,
            stop_reason=leaf.stop_reason,
        )
        regions.append(region)
    return tuple(regions)


STOP_WORDS = {
    "below alpha": "little left to split",
    "no more than chance": "only sampling noise left",
    "split undone": "a further split did not hold up",
    "improvement too small": "a further split did not hold up",
    "maximum depth": "max_depth reached",
    "too few samples": "too few rows",
}
"""What is said of reasons to stop; others are said as they are."""


def stop_reason_words(reason: str) -> str:
    """Why a region was not split, in words.

    Examples
    --------
    >>> stop_reason_words("below alpha")
    'little left to split'
    """
    return STOP_WORDS.get(reason, reason)


def leaves(node: Node, rule: Rule = Rule()) -> Iterator[tuple[Rule, Leaf]]:  # noqa: B008
    """List the leaves from left to right, each with its rule.

    Parameters
    ----------
    node : Leaf or Split
    rule : Rule
        Of the node itself.
    """
    if isinstance(node, Leaf):
        yield rule, node
        return
    for child, condition in zip(node.children, (node.left, node.right), strict=True):
        yield from leaves(child, rule.and_(node.column, condition))


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
    without_side = rows[~(goes_left | goes_right)]
    if len(without_side):
        raise _no_side(table, column, without_side)
    return goes_left


def _no_side(table: Table, column: Column, rows: IntArray) -> InputError:
    """The error of rows whose value belongs to neither side of a split."""
    if is_missing(column.values[rows]).any():
        what = "missing values"
        code = "D01"
    else:
        what = "labels outside the order of the fit"
        code = "D15"
    column_words = column_text(column.name, column.position)
    cells = count_text(len(rows), what, table.row_labels(rows))
    return InputError(
        f"X {column_words} has {cells}.",
        code=code,
        argument="X",
        columns=[column.name],
        rows=table.row_labels(rows[:LABELS_SHOWN]),
        hint="No fitting row had one, so no region holds it: impute or drop these rows.",
    )
