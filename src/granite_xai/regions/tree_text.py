"""Regions as text, where no fit is known: the tree, or a list of rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from granite_xai.base.formats import share
from granite_xai.base.text import aligned, shortened
from granite_xai.base.wording import ALL_ROWS
from granite_xai.regions.nodes import Leaf, Node, Region
from granite_xai.regions.words import Vocabulary, condition_words, rule_words

Line = tuple[str, ...]


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
    headings = ("", "rows", "share", "heterogeneity")
    writer = _TreeWriter(names, vocabulary)
    return aligned([headings, *writer.lines(root, ALL_ROWS)])


class _TreeWriter:
    """The lines of a tree, parents first; leaves are numbered as they come.

    Parameters
    ----------
    names, vocabulary
        As in `tree_text`.
    """

    def __init__(self, names: Mapping[int, str], vocabulary: Vocabulary) -> None:
        self.names = names
        self.vocabulary = vocabulary
        self.numbers = count()

    def lines(self, node: Node, words: str, branch: str = "", indent: str = "") -> Iterator[Line]:
        """A node and those below it.

        Parameters
        ----------
        node : Leaf or Split
        words : str
            The condition that leads to the node.
        branch : str
            What stands before its words.
        indent : str
            What stands before the branches of its children.
        """
        if isinstance(node, Leaf):
            label = region_label(next(self.numbers), words, self.names)
            yield (branch + label, *_figures(node))
            return
        yield (branch + words, *_figures(node))
        column_words = self.vocabulary.get(node.column)
        left, right = node.children
        left_words = condition_words(node.column, node.left, column_words).text
        right_words = condition_words(node.column, node.right, column_words).text
        yield from self.lines(left, left_words, branch=f"{indent}├─ ", indent=f"{indent}│  ")
        yield from self.lines(right, right_words, branch=f"{indent}└─ ", indent=f"{indent}   ")


def region_label(number: int, words: str, names: Mapping[int, str]) -> str:
    """A region by its number, its name if it has one, and its rule.

    Examples
    --------
    >>> region_label(0, "hr 0–6", {0: "night"})
    '0  night (hr 0–6)'
    """
    text = f"{names[number]} ({words})" if number in names else words
    return f"{number}  {shortened(text)}"


def list_text(regions: Sequence[Region], vocabulary: Vocabulary) -> str:
    """Regions that have no tree, one line a region; with figures where some are known.

    Parameters
    ----------
    regions : sequence of Region
    vocabulary : mapping of feature to ColumnWords
    """
    names = {region.index: region.name for region in regions if region.name}
    labels = [
        region_label(region.index, rule_words(region.rule, vocabulary), names) for region in regions
    ]
    if all(math.isnan(region.fraction) for region in regions):
        return aligned([("region",), *((label,) for label in labels)])
    lines: list[Line] = [("region", "rows", "share", "heterogeneity")]
    for region, label in zip(regions, labels, strict=True):
        lines.append((label, *_figures(region)))
    return aligned(lines)


def _figures(node: Node | Region) -> Line:
    return (f"{node.n_samples:,}", share(node.fraction), share(node.disagreement))
