"""The nodes of a tree of regions, and how rows find their leaf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from granite_xai.base.errors import InputError, column_text, count_text
from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.regions.conditions import Condition
from granite_xai.regions.ends import is_missing
from granite_xai.regions.pairs import complementary
from granite_xai.regions.rule import Rule, find_column, satisfied
from granite_xai.tables import Table


@dataclass(frozen=True)
class Leaf:
    """A region: its rows, their share of all rows, the disagreement left, and why it was not split.

    Parameters
    ----------
    n_samples : int
        Fitting rows in the region.
    fraction : float
        Their share of all fitting rows.
    disagreement : float
        The region's share of the disagreement over all rows.
    stop_reason : str
        Why the tree ends here.

    Examples
    --------
    >>> Leaf(40, 0.4, 0.1, "below alpha").n_samples
    40
    """

    n_samples: int
    fraction: float
    disagreement: float
    stop_reason: str = ""


@dataclass(frozen=True)
class Split:
    """A node that divides its rows by a condition on one column and its complement.

    Parameters
    ----------
    column : str
        Name of the column.
    left, right : condition
        Rows of the two children; every present value satisfies exactly one of them.
    children : pair of nodes
    n_samples, fraction, disagreement
        As for a `Leaf`, before the split.

    Examples
    --------
    >>> from granite_xai.regions.pairs import cut
    >>> node = Split("hr", *cut(6.0), (Leaf(60, 0.6, 0.0), Leaf(40, 0.4, 0.1)), 100, 1.0, 1.0)
    >>> node.right.text(node.column)
    'hr > 6'
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
            texts = f"{self.left.text(self.column)!r} and {self.right.text(self.column)!r}"
            hint = "Make the pair with cut, grouping or missing_or_present."
            raise InputError(f"{texts} do not divide the values.", code="P03", columns=[self.column], hint=hint)


Node = Leaf | Split


@dataclass(frozen=True)
class Region:
    """One part of a partition.

    Parameters
    ----------
    index : int
        Its number, from left to right in the tree.
    rule : Rule
        Which rows belong.
    n_samples : int
        Fitting rows in it.
    fraction : float
        Their share of all fitting rows.
    disagreement : float
        Its share of the disagreement over all rows; all regions add up to what remains.
    stop_reason : str
        Why it was not split.

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


def leaves(node: Node, rule: Rule = Rule()) -> Iterator[tuple[Rule, Leaf]]:  # noqa: B008
    """List the leaves from left to right, each with its rule.

    Examples
    --------
    >>> [str(rule) for rule, leaf in leaves(Leaf(10, 1.0, 1.0))]
    ['all rows']
    """
    if isinstance(node, Leaf):
        yield rule, node
        return
    for child, condition in zip(node.children, (node.left, node.right), strict=True):
        yield from leaves(child, rule.and_(node.column, condition))


def find_leaves(root: Node, table: Table, names: Sequence[str] = ()) -> IntArray:
    """Number the leaf that each row reaches, from left to right.

    Examples
    --------
    >>> from granite_xai.regions.rule import as_table
    >>> find_leaves(Leaf(10, 1.0, 1.0), as_table([[1.0], [2.0]]))
    array([0, 0])
    """
    found = np.zeros(table.n_rows, dtype=np.intp)
    waiting: list[tuple[Node, IntArray]] = [(root, np.arange(table.n_rows))]
    number = 0
    while waiting:
        node, rows = waiting.pop()
        if isinstance(node, Leaf):
            found[rows] = number
            number += 1
        else:
            left = _goes_left(node, table, rows, names)
            # The left child comes off the list first, so that numbers run from left to right.
            waiting += [(node.children[1], rows[~left]), (node.children[0], rows[left])]
    return found


def _goes_left(node: Split, table: Table, rows: IntArray, names: Sequence[str]) -> BoolArray:
    column = find_column(table, node.column, names)
    left, right = (satisfied(condition, column)[rows] for condition in (node.left, node.right))
    homeless = rows[~(left | right)]
    if len(homeless):
        gone = bool(is_missing(column.values[homeless]).any())
        what = "missing values" if gone else "labels outside the order of the fit"
        where = column_text(column.name, column.position)
        words = f"X {where} has {count_text(len(homeless), what, table.row_labels(homeless))}."
        hint = "No fitting row had one, so no region holds it: impute or drop these rows."
        raise InputError(
            words,
            code="D01" if gone else "D15",
            argument="X",
            columns=[column.name],
            rows=table.row_labels(homeless[:5]),
            hint=hint,
        )
    return left
