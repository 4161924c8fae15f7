"""Regions as text, where no fit is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from granite_xai.base.formats import share
from granite_xai.base.text import aligned, shortened
from granite_xai.base.wording import ALL_ROWS
from granite_xai.regions.nodes import Leaf, Node, Region
from granite_xai.regions.words import Vocabulary, condition_words, rule_words

FIGURE_HEADINGS = ("rows", "share", "heterogeneity")


class DrawnNode(NamedTuple):
    """A node with what stands before its figures.

    Attributes
    ----------
    node : Leaf or Split
    branch : str
        The lines of the tree before its words.
    depth : int
        Splits above it.
    region : int or None
        Number of the region; None for nodes that are split.
    words : str
        The condition that leads to it.
    """

    node: Node
    branch: str
    depth: int
    region: int | None
    words: str


def draw_tree(root: Node, vocabulary: Vocabulary) -> list[DrawnNode]:
    """The nodes of a tree with their branches, parents first.

    Parameters
    ----------
    root : Leaf or Split
    vocabulary : mapping of feature to ColumnWords
        What the words of conditions need to know.
    """
    drawn: list[DrawnNode] = []
    n_leaves = 0

    def draw(node: Node, words: str, branch: str, indent: str, depth: int) -> None:
        """Append a node and those below it; ``indent`` stands before the branches of its children."""
        nonlocal n_leaves
        if isinstance(node, Leaf):
            drawn.append(DrawnNode(node, branch, depth, region=n_leaves, words=words))
            n_leaves += 1
            return
        drawn.append(DrawnNode(node, branch, depth, region=None, words=words))
        column_words = vocabulary.get(node.column)
        left, right = node.children
        left_words = condition_words(node.column, node.left, column_words).text
        right_words = condition_words(node.column, node.right, column_words).text
        draw(left, left_words, f"{indent}├─ ", f"{indent}│  ", depth + 1)
        draw(right, right_words, f"{indent}└─ ", f"{indent}   ", depth + 1)

    draw(root, ALL_ROWS, branch="", indent="", depth=0)
    return drawn


def tree_text(root: Node, names: Mapping[int, str], vocabulary: Vocabulary) -> str:
    """A tree, one line a node.

    Parameters
    ----------
    root : Leaf or Split
    names : mapping of region to name
        Those that the user gave.
    vocabulary : mapping of feature to ColumnWords
        What the words of conditions need to know.

    Returns
    -------
    str
        With rows, their share, and the heterogeneity of each node as a share of that of all rows.
    """
    lines = [("", *FIGURE_HEADINGS)]
    for drawn in draw_tree(root, vocabulary):
        label = drawn.words
        if drawn.region is not None:
            label = region_label(drawn.region, drawn.words, names)
        lines.append((drawn.branch + label, *_figures(drawn.node)))
    return aligned(lines)


def region_label(number: int, words: str, names: Mapping[int, str]) -> str:
    """A region by its number, its name if it has one, and its rule.

    Parameters
    ----------
    number : int
    words : str
        Its rule, or the last condition of it.
    names : mapping of region to name
        Those that the user gave.

    Examples
    --------
    >>> region_label(0, "hr 0–6", {0: "night"})
    '0  night (hr 0–6)'
    """
    if number in names:
        words = f"{names[number]} ({words})"
    return f"{number}  {shortened(words)}"


def list_text(regions: Sequence[Region], vocabulary: Vocabulary) -> str:
    """Regions that have no tree, one line a region; with figures where some are known.

    Parameters
    ----------
    regions : sequence of Region
    vocabulary : mapping of feature to ColumnWords
        What the words of rules need to know.
    """
    names = {region.index: region.name for region in regions if region.name}
    figures_are_known = not all(math.isnan(region.fraction) for region in regions)
    lines: list[tuple[str, ...]] = [("region",)]
    if figures_are_known:
        lines = [("region", *FIGURE_HEADINGS)]
    for region in regions:
        label = region_label(region.index, rule_words(region.rule, vocabulary), names)
        if figures_are_known:
            lines.append((label, *_figures(region)))
        else:
            lines.append((label,))
    return aligned(lines)


def _figures(node: Node | Region) -> tuple[str, str, str]:
    """Rows, their share and the heterogeneity."""
    return (f"{node.n_samples:,}", share(node.fraction), share(node.disagreement))
