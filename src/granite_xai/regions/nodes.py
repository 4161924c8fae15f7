"""The nodes of a tree of regions: how rows find their leaf, and how the tree is printed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.text import aligned, column_text, count_text, quoted, shortened
from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.base.wording import ALL_ROWS, percent, rows_of
from granite_xai.regions.conditions import Condition, complementary
from granite_xai.regions.rule import Rule, find_column, satisfied
from granite_xai.regions.values import is_missing
from granite_xai.tables import Table

Line = tuple[str, ...]
_percent = partial(percent, rounding=0.0)  # nothing but zero is zero
HEADINGS = (
    "",
    "region",
    "rows",
    "of all rows",
    "disagreement",
    "left after splits",
    "not split because",
)


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

    def __eq__(
        self, other: object
    ) -> bool:  # figures that are not known (NaN) are alike, from Python 3.13 on too
        return isinstance(other, Region) and astuple(self) == astuple(other)

    def __repr__(self) -> str:
        known = f"; {rows_of(self.n_samples)}, {_percent(self.disagreement)} of the disagreement"
        return f"<Region {self.index}: {self.rule}{'' if math.isnan(self.fraction) else known}>"

    def _summary(self) -> TextSummary:
        """Its line of the table of regions."""
        headings = ("region", "rows", "of all rows", "disagreement", "rule", "not split because")
        figures = (self.index, *_figures(self), self.rule, self.stop_reason)
        return TextSummary(sentences=(), table=[headings, figures], left=(4, 5))


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


def tree_text(root: Node, headline: str = "") -> str:
    """Print a tree, one line a node; where there is a headline, all else is about the rows that searched."""
    tree, count = (
        _table([HEADINGS, *_walk(root, ALL_ROWS, "", itertools.count())]),
        sum(1 for _ in leaves(root)),
    )
    before, where = (f"{headline}\n\n", "On the fitting rows: ") if headline else ("", "")
    kept = f"{count} regions keep {_percent(_left(root))} of the disagreement between the explanations."
    told = f"{kept}\nDisagreement is given as a share of that over all rows."
    if count == 1:
        agreed = "The explanations agree: there is nothing to split."
        told = f"1 region. {agreed if root.disagreement == 0 else 'No split was kept.'}"
    return f"{before}{tree}\n\n{where}{told}"


def list_text(regions: Sequence[Region]) -> str:
    """Print regions that have no tree, one line a region; those of which only the rule is known, with that."""
    known = not all(math.isnan(region.fraction) for region in regions)
    headings = ("region", *HEADINGS[2:5], "rule") if known else ("region", "rule")
    lines = (
        (str(r.index), *(_figures(r) if known else ()), shortened(str(r.rule))) for r in regions
    )
    return _table([headings, *lines])


def _walk(node: Node, label: str, below: str, numbers: Iterator[int]) -> Iterator[Line]:
    """List a node and those below it, parents first; leaves take the next number."""
    if isinstance(node, Leaf):
        yield (label, str(next(numbers)), *_figures(node), "", quoted(node.stop_reason, ""))
        return
    yield (label, "", *_figures(node), _percent(_left(node)), "")
    sides = zip(node.children, (node.left, node.right), ("├─ ", "└─ "), ("│  ", "   "), strict=True)
    for child, condition, branch, rest in sides:
        yield from _walk(
            child, below + branch + shortened(condition.text(node.column)), below + rest, numbers
        )


def _figures(part: Node | Region) -> Line:
    return str(part.n_samples), _percent(part.fraction), _percent(part.disagreement)


def _left(node: Node) -> float:
    return math.fsum(leaf.disagreement for _, leaf in leaves(node))


def _table(lines: Sequence[Line]) -> str:
    """Align columns: text to the left, numbers to the right."""
    return aligned(
        lines,
        {i for i, heading in enumerate(lines[0]) if heading in ("", "rule", "not split because")},
    )
