"""Nodes of a tree while it grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.regions import Node
from granite_xai.search.candidates import Candidate
from granite_xai.search.lookahead import CutTree


@dataclass(frozen=True, slots=True, eq=False)
class OpenNode:
    """A node before it is known whether it is divided.

    Parameters
    ----------
    rows : array
        Positions among the fitting rows.
    mass : float
        Their weight.
    evaluations : Deferred
        What is known of the model on these rows; cut out of the parent's when first read.
    depth : int
    shown_share : float
        Share of the disagreement on all rows that these rows show.
    shown_objective : float
        What the objective makes of these rows as they are; cuts lower it. It is the share, unless regions
        count alike or disagreements are measured by the variance (C1).
    counted_share : float
        The objective without what sampling noise adds; decides.
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
    shown_share: float
    shown_objective: float
    counted_share: float
    is_silent: bool
    required_gain: float = 0.0
    only_chance: bool = False

    @property
    def key(self) -> bytes:
        """The same for nodes of the same rows, however they were reached."""
        return self.rows.tobytes()


class Choice(NamedTuple):
    """A cut of a node that is followed."""

    candidate: Candidate
    gain: float  # how much it lowers the objective that the node shows
    disagreements: FloatArray  # (2, n_questions) on both sides
    mass: FloatArray  # (2,) of both sides


class Grown(NamedTuple):
    """A finished subtree."""

    node: Node
    remaining: float  # share that its leaves leave, as the objective counts it
    n_leaves: int
    cuts: CutTree | None = None  # None: it is a leaf

    def cost(self, alpha: float) -> float:
        """What remains, and the price of the regions (C3)."""
        return self.remaining + alpha * self.n_leaves
