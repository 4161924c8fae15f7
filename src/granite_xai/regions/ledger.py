"""The ledger of a tree: what each split added, and which cuts of its regions were tried and not made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from granite_xai.base.text import ALL_ROWS
from granite_xai.regions.tree import Node, Split, walk
from granite_xai.regions.words import stop_reason_words


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


class LedgerLine(NamedTuple):
    """One split, or one region with the best cut that was not made.

    Attributes
    ----------
    node : int
        Its number, parents first and left before right.
    region : int
        Number of the region; -1: a split.
    where : str
        Rule of the node.
    feature, cut : str
        What is split, and the condition of the left side; of a region the best cut that was tried.
    n_samples : int
        Search rows.
    described_before, described_after : float
        Share of the model described with the splits that stand above in the list, and with this one.
    removed : float
        What the split takes away, as a share of the disagreement on all rows; of a region what the cut would take away.
    found_again : float
        Share of the searches on half the rows that split the same feature here; NaN before ``g.stability()``.
    reason : str
        Why a region is not split further.
    """

    node: int
    region: int
    where: str
    feature: str
    cut: str
    n_samples: int
    described_before: float
    described_after: float
    removed: float
    found_again: float
    reason: str


def ledger_lines(root: Node, ledger: Ledger, found_again: Sequence[float]) -> list[LedgerLine]:
    """One line a node, parents first.

    Parameters
    ----------
    root : Node
    ledger : Ledger
        What is not known there is NaN.
    found_again : sequence of float
        Of each split; empty: not known.
    """
    lines = []
    n_splits = 0
    for place in walk(root):
        node = place.node
        before = after = again = math.nan
        if isinstance(node, Split):
            feature, cut, reason = node.column, node.left.text(node.column), ""
            removed = node.disagreement - sum(child.disagreement for child in node.children)
            if ledger.described:
                before, after = ledger.described[n_splits : n_splits + 2]
            if found_again:
                again = found_again[n_splits]
            n_splits += 1
        else:
            best = UntakenCut()
            if ledger.untaken_cuts and place.region is not None:
                best = ledger.untaken_cuts[place.region]
            feature, cut, removed = best.column, best.cut, best.gain
            reason = stop_reason_words(node.stop_reason)
        lines.append(
            LedgerLine(
                node=place.number,
                region=-1 if place.region is None else place.region,
                where=str(place.rule) or ALL_ROWS,
                feature=feature,
                cut=cut,
                n_samples=node.n_samples,
                described_before=before,
                described_after=after,
                removed=removed,
                found_again=again,
                reason=reason,
            )
        )
    return lines
