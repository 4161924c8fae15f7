"""Regions as text, where no fit is known: the tree, or a list of rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from granite_xai.base.formats import share
from granite_xai.base.text import aligned, shortened
from granite_xai.base.wording import ALL_ROWS
from granite_xai.regions.nodes import Leaf, Node, Region
from granite_xai.regions.words import Vocabulary, condition_words, rule_words

Line = tuple[str, ...]


def tree_text(root: Node, names: Mapping[int, str], known: Vocabulary) -> str:
    """A tree, one line a node.

    Parameters
    ----------
    root : Leaf or Split
    names : mapping of region to name
        Those that the user gave.
    known : mapping
        What the words of conditions need to know.

    Returns
    -------
    str
        With rows, their share, and the heterogeneity of each node as a share of that of all rows.
    """
    headings = ("", "rows", "share", "heterogeneity")
    numbers = iter(range(sum(1 for _ in _leaves(root))))
    lines = list(_walk(root, ALL_ROWS, "", "", numbers, names, known))
    return aligned([headings, *lines])


def _leaves(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
        return
    for child in node.children:
        yield from _leaves(child)


def _walk(
    node: Node,
    words: str,
    branch: str,
    below: str,
    numbers: Iterator[int],
    names: Mapping[int, str],
    known: Vocabulary,
) -> Iterator[Line]:
    """A node and those below it, parents first; leaves take the next number."""
    figures = (f"{node.n_samples:,}", share(node.fraction), share(node.disagreement))
    if isinstance(node, Leaf):
        number = next(numbers)
        label = region_label(number, words, names)
        yield (f"{branch}{label}", *figures)
        return
    yield (f"{branch}{words}", *figures)
    left, right = node.children
    sides = ((left, node.left, "├─ ", "│  "), (right, node.right, "└─ ", "   "))
    for child, condition, sign, rest in sides:
        said = condition_words(node.column, condition, known.get(node.column)).text
        yield from _walk(child, said, below + sign, below + rest, numbers, names, known)


def region_label(number: int, words: str, names: Mapping[int, str]) -> str:
    """A region by its number, its name if it has one, and its rule.

    Examples
    --------
    >>> region_label(0, "hr 0–6", {0: "night"})
    '0  night (hr 0–6)'
    """
    text = f"{names[number]} ({words})" if number in names else words
    return f"{number}  {shortened(text)}"


def list_text(regions: Sequence[Region], known: Vocabulary) -> str:
    """Regions that have no tree, one line a region; those of which only the rule is known, with that."""
    names = {region.index: region.name for region in regions if region.name}
    figures_known = not all(math.isnan(region.fraction) for region in regions)
    lines: list[Line] = []
    for region in regions:
        label = region_label(region.index, rule_words(region.rule, known), names)
        figures = (f"{region.n_samples:,}", share(region.fraction), share(region.disagreement))
        lines.append((label, *figures) if figures_known else (label,))
    headings = ("region", "rows", "share", "heterogeneity") if figures_known else ("region",)
    return aligned([headings, *lines])
