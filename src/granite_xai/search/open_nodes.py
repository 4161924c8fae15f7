"""A node while its tree grows: before its fate is known, the cut that it gets, and its finished subtree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.regions.nodes import Node
from granite_xai.search.candidates import Candidate
from granite_xai.search.lookahead import CutTree


@dataclass(frozen=True, slots=True, eq=False)
class OpenNode:
    """A node before its fate is known.

    Parameters
    ----------
    rows : array
        Positions among the fitting rows.
    mass : float
        Their weight.
    evaluations : Deferred
        What is known of the model on these rows; cut out of the parent's when first read.
    depth : int
    shown : float
        Share of the disagreement on all rows that these rows show.
    share : float
        The same as the objective counts it, without what sampling noise adds; decides.
    is_silent : bool
        Whether every question is at its noise floor here.
    required_gain : float
        What a split must gain at least (REPID, GADGET).
    only_chance : bool
        Whether these rows show no more than chance.
    """

    rows: IntArray
    mass: float
    evaluations: Deferred[Evaluations]
    depth: int
    shown: float
    share: float
    is_silent: bool
    required_gain: float = 0.0
    only_chance: bool = False


class Choice(NamedTuple):
    """A cut that is followed: how much it lowers the share, and what it leaves on both sides."""

    candidate: Candidate
    gain: float
    disagreements: FloatArray  # (2, questions)
    mass: FloatArray  # (2,)


class Grown(NamedTuple):
    """A finished subtree: its node, what remains in its leaves, how many there are, its cuts."""

    node: Node
    remaining: float
    leaves: int
    cuts: CutTree | None = None

    def cost(self, alpha: float) -> float:
        """What remains, and the price of the regions (C3)."""
        return self.remaining + alpha * self.leaves
