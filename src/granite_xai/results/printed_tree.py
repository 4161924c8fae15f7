"""The nodes of a fit as they are printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from granite_xai.base.text import ALL_ROWS
from granite_xai.inference.nodes import NodeFigure, NodeFigures
from granite_xai.regions import Partition, Vocabulary, draw_tree, rule_words


class TreeLine(NamedTuple):
    """One node of a printed tree.

    Attributes
    ----------
    branch : str
        What is drawn before it.
    depth : int
        Splits above it.
    region : int or None
        None for nodes that are split.
    words : str
        Its condition, or its rule where there is no tree.
    share : float
        Of the search rows.
    mean, stray : float
        Mean prediction, and how far rows stray: heterogeneity. NaN: not known.
    """

    branch: str
    depth: int
    region: int | None
    words: str
    share: float
    mean: float = math.nan
    stray: float = math.nan


def tree_lines(
    partition: Partition, figures: NodeFigures | None, vocabulary: Vocabulary
) -> list[TreeLine]:
    """The nodes of a fit as they are printed, parents first.

    Parameters
    ----------
    partition : Partition
    figures : NodeFigures or None
        Of the first question; None: only the shares of the search rows are known.
    vocabulary : mapping
        What the words of rules need to know.
    """
    lines = _lines_of_rules(partition, vocabulary)
    if partition.root is not None:
        lines = []
        for place, branch, words in draw_tree(partition.root, vocabulary):
            share = place.node.fraction
            lines.append(TreeLine(branch, place.depth, place.region, words, share))
    if figures is None or len(figures.nodes) != len(lines):
        return lines
    return _with_figures(lines, figures.nodes)


def _lines_of_rules(partition: Partition, vocabulary: Vocabulary) -> list[TreeLine]:
    """All rows, and below them every region with its whole rule."""
    lines = [TreeLine(branch="", depth=0, region=None, words=ALL_ROWS, share=1.0)]
    for region in partition:
        words = rule_words(region.rule, vocabulary)
        lines.append(
            TreeLine(branch="", depth=1, region=region.index, words=words, share=region.fraction)
        )
    return lines


def _with_figures(lines: Sequence[TreeLine], nodes: Sequence[NodeFigure]) -> list[TreeLine]:
    """Lines with the mean and the heterogeneity of their nodes."""
    completed = []
    for line, node in zip(lines, nodes, strict=True):
        completed.append(line._replace(mean=node.mean, stray=node.heterogeneity))
    return completed
