"""The printed tree: every region with its rows and the disagreement left in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from granite_xai.base.wording import ALL_ROWS, aligned, percent, quoted, shortened
from granite_xai.regions.nodes import Leaf, Node, Region, leaves

Line = tuple[str, ...]
HEADINGS = ("", "region", "rows", "of all rows", "disagreement", "left after splits", "not split because")


def tree_text(root: Node) -> str:
    """Print a tree, one line a node.

    Examples
    --------
    >>> print(tree_text(Leaf(100, 1.0, 0.0, "nothing to explain")))
              region  rows  of all rows  disagreement  left after splits  not split because
    all rows       0   100      100.0 %         0.0 %                     nothing to explain
    <BLANKLINE>
    1 region. The explanations agree: there is nothing to split.
    """
    lines = _numbered(_walk(root, ALL_ROWS, "", ""))
    return _table([HEADINGS, *lines]) + "\n\n" + _summary(root)


def list_text(regions: Sequence[Region]) -> str:
    """Print regions that have no tree, one line a region.

    Examples
    --------
    >>> from granite_xai.regions.rule import Rule
    >>> print(list_text([Region(0, Rule.parse("x ≤ 1"), 0, float("nan"), float("nan"), "given")]))
    region  rule
         0  x ≤ 1
    """
    if all(math.isnan(region.fraction) for region in regions):
        return _table([("region", "rule"), *((str(r.index), shortened(str(r.rule))) for r in regions)])
    headings = ("region", "rows", "of all rows", "disagreement", "rule")
    body = [
        (str(r.index), str(r.n_samples), _percent(r.fraction), _percent(r.disagreement), shortened(str(r.rule)))
        for r in regions
    ]
    return _table([headings, *body])


def _walk(node: Node, label: str, lead: str, below: str) -> Iterator[Line]:
    """List a node and those below it: text, rows and shares; a leaf is told by its empty sixth place."""
    figures = (f"{node.n_samples}", _percent(node.fraction), _percent(node.disagreement))
    if isinstance(node, Leaf):
        yield (lead + label, "leaf", *figures, "", quoted(node.stop_reason, ""))
        return
    yield (lead + label, "", *figures, _percent(_left(node)), "")
    for child, condition, last in zip(node.children, (node.left, node.right), (False, True), strict=True):
        branch, rest = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _walk(child, shortened(condition.text(node.column)), below + branch, below + rest)


def _numbered(lines: Iterator[Line]) -> Iterator[Line]:
    number = 0
    for line in lines:
        yield (line[0], str(number), *line[2:]) if line[1] == "leaf" else line
        number += line[1] == "leaf"


def _left(node: Node) -> float:
    return math.fsum(leaf.disagreement for _, leaf in leaves(node))


def _summary(root: Node) -> str:
    count = sum(1 for _ in leaves(root))
    if count == 1:
        agreed = root.disagreement == 0
        return "1 region. " + ("The explanations agree: there is nothing to split." if agreed else "No split was kept.")
    return (
        f"{count} regions keep {_percent(_left(root))} of the disagreement between the explanations.\n"
        "Disagreement is given as a share of that over all rows."
    )


def _percent(share: float) -> str:
    """A share of the tree, in which nothing but zero is zero."""
    return percent(share, rounding=0.0)


def _table(lines: Sequence[Line]) -> str:
    """Align columns: text to the left, numbers to the right."""
    return aligned(lines, {i for i, heading in enumerate(lines[0]) if heading in ("", "rule", "not split because")})
