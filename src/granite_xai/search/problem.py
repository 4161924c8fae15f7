"""Problem: what a partitioner is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from granite_xai.base.errors import Diagnostics
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.disagreement.objective import ScaledObjective
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.chance_rule import ChanceRule
from granite_xai.inference.replicates import Chance
from granite_xai.moments.statistics import Statistics
from granite_xai.trees.ensembles import Route, Routed


def no_progress(n_rows: float) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem(Routed):
    """What a partitioner works on: the rows, what is known of the model on them, and what shall become small.

    Parameters
    ----------
    route : Route
        The fitting rows and the model, and how it is asked about them.
    evaluations : Evaluations
        What it answered.
    shares : ScaledObjective
        The objective.
    roots : array of shape (n_questions,)
        The disagreement of each of its questions on all rows.
    missing : bool
        Whether the fit allowed missing values.
    resources : Resources
    n_jobs : int, optional
        Threads.
    diagnostics : Diagnostics
        Where notes for the user go.
    tree : Tree
        The tree that is searched, or that of the options: how deep rules may be, how small regions.
    error : float
        Noise of one prediction.
    seed : int
        For whatever is drawn.
    chance : ChanceRule, optional
        What chance alone would show; None: the sample is taken for the world.
    statistics : tuple
        For each question the statistics of its sets, where it follows from sums over rows, else None.
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    gain_error : float
        Probability to find a split by a test of gains where there is none; 0: gains are not tested.
    is_repetition : bool
        Whether it is the search of a fit repeated on some of its rows, to judge its tree: only the
        regions are wanted, and tables read fewer directions.
    report_progress : callable
        Takes how many more rows have gone through a level of the tree.
    """

    route: Route
    evaluations: Evaluations
    shares: ScaledObjective
    roots: FloatArray
    missing: bool
    resources: Resources
    n_jobs: int | None
    diagnostics: Diagnostics
    tree: Any
    error: float = 0.0
    seed: int = 0
    chance: ChanceRule | None = None
    statistics: tuple[list[Statistics] | None, ...] = ()
    clusters: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    gain_error: float = 0.0
    is_repetition: bool = False
    report_progress: Callable[[float], None] = no_progress

    @property
    def below_noise_floor(self) -> bool:
        """Whether no question is above its noise floor on all rows: there is nothing to explain."""
        return not np.any(self.shares.factors)

    def measure(self, members: FloatArray) -> FloatArray:
        """Share of the disagreement in each of some regions, given by the (K, n) membership of their rows."""
        evaluations = self.evaluations
        splits = Splits.of(members.astype(np.bool_), evaluations.weights)
        disagreements = self.shares.disagreements(evaluations, splits)
        return self.shares.remaining(disagreements, splits.mass)[:, 0]

    def only_chance(self, chance: Chance) -> bool:
        """Whether no question that counts shows more than chance, given what chance says of a region."""
        is_counted = self.shares.factors > 0.0
        return not np.any(chance.exceeded(self.shares.floors) & is_counted)

    def share(self, rows: IntArray) -> float:
        """Share of the disagreement on all rows in a region of some of them, without what chance adds."""
        shares = self.shares
        inside = self.evaluations.restrict(rows)
        whole = Splits.whole(inside.weights)
        if self.chance is None:
            disagreements = shares.disagreements(inside, whole)
            return float(shares.of(disagreements, whole.mass)[0, 0])
        corrected = self.chance.chance_in(inside, rows, self.n_jobs).corrected
        corrected_shares = replace(shares, factors=self.chance.factors)
        return float(corrected_shares.of(corrected, whole.mass[0, 0]))
