"""The nodes of a tree of regions, and how rows find their leaf."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.formats import share
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.text import column_text, count_text
from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.base.wording import rows_of
from granite_xai.regions.conditions import Condition, complementary
from granite_xai.regions.rule import Rule, find_column, satisfied
from granite_xai.regions.values import is_missing
from granite_xai.tables import Table


@dataclass(frozen=True)
class Leaf:
    """A leaf: fitting rows, their share of all, its share of the disagreement over all, why the tree ends here."""

    n_samples: int
    fraction: float
    disagreement: float
    stop_reason: str = ""


@dataclass(frozen=True)
class Split:
    """A node that divides its rows by a condition on a column and its complement; figures as for a `Leaf`."""

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
            raise InputError(
                f"{texts} do not divide the values.", code="P03", columns=[self.column], hint=hint
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
        # Figures that are not known (NaN) are alike, from Python 3.13 on too.
        return isinstance(other, Region) and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self.rule)

    @property
    def _compared(self) -> tuple[object, ...]:
        return astuple(replace(self, name=""))

    def __repr__(self) -> str:
        named = f" ({self.name})" if self.name else ""
        known = "" if math.isnan(self.fraction) else f"; {rows_of(self.n_samples)}"
        return f"<Region {self.index}{named}: {self.rule}{known}>"

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
    """List the leaves from left to right, each with its rule."""
    if isinstance(node, Leaf):
        yield rule, node
        return
    for child, condition in zip(node.children, (node.left, node.right), strict=True):
        yield from leaves(child, rule.and_(node.column, condition))


def find_leaves(root: Node, table: Table, names: Sequence[str] = ()) -> IntArray:
    """Number the leaf that each row reaches, from left to right."""
    found, numbers = np.zeros(table.n_rows, dtype=np.intp), itertools.count()

    def descend(node: Node, rows: IntArray) -> None:
        if isinstance(node, Leaf):
            found[rows] = next(numbers)
            return
        left = _goes_left(node, table, rows, names)
        for child, side in zip(node.children, (left, ~left), strict=True):
            descend(child, rows[side])

    descend(root, np.arange(table.n_rows))
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
        code, labels = "D01" if gone else "D15", table.row_labels(homeless[:5])
        raise InputError(
            words, code=code, argument="X", columns=[column.name], rows=labels, hint=hint
        )
    return left
