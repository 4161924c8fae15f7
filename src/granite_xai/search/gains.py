"""Whether a node that shows no more than chance still holds a split that is beyond chance.

A node's disagreement sums over all sets, and a few that truly disagree may drown in the noise of the
others. So the best cut is searched on one half of the rows, and what it gains is tested on the other
half, both ways. By chance alone the gain is that of gaps which only move with the
sample: it is computed again under random weights of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.inference.by_sums import (
    bar_of_clusters,
    independent_observations,
    regional_gaps,
    replicated_means,
    small_sample_factor,
)
from granite_xai.inference.confidence import rank_of_bar
from granite_xai.moments.conditional_statistics import ConditionalAgainstMarginalMean
from granite_xai.moments.statistics import FullAgainstPure, RegionalStatistics
from granite_xai.moments.triangles import quadratic_form
from granite_xai.search.candidates import Candidate, candidates, cuts_of
from granite_xai.search.problem import Problem
from granite_xai.search.product_blocks import SetShare
from granite_xai.search.settings import RootSettings
from granite_xai.search.tables import RegionTables

REPLICATES = 400  # random weights under which a gain is computed again
# Rows or clusters of a node, at least: a half of fewer hardly tells how far gains vary.
FEWEST_OBSERVATIONS = 10
# Regions of the smallest size that a node has room for, at least: two in each half.
REGIONS_OF_NODE = 4
HALVES_STREAM = 31  # of random numbers
REPLICATES_STREAM = 37


def has_room_for_test(n_rows: int, min_samples_leaf: int) -> bool:
    """Whether each half of a node of so many rows can be cut into two regions."""
    return n_rows >= REGIONS_OF_NODE * min_samples_leaf


def split_beyond_chance(
    problem: Problem,
    tables: RegionTables,
    rows: IntArray,
    options: Sequence[Candidate],
    error: float,
) -> bool:
    """Whether the best cut of one half of a node's rows gains more on the other than chance would.

    Parameters
    ----------
    problem : Problem
    tables : RegionTables
        With the rows that a cut of one half leaves on each side, at least.
    rows : array
        Rows of the node.
    options : sequence of Candidate
        Cuts of the node.
    error : float
        Probability to find such a split where there is none.
    """
    clusters = problem.clusters[rows]
    cluster_numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    n_clusters = int(cluster_numbers.max()) + 1
    if n_clusters < FEWEST_OBSERVATIONS:
        return False
    generator = np.random.default_rng([problem.seed, HALVES_STREAM])
    is_in_first = (generator.permutation(n_clusters) < n_clusters // 2)[cluster_numbers]
    first = rows[is_in_first]
    second = rows[~is_in_first]
    if _gains_on_other_half(problem, tables, first, second, options, error / 2):
        return True
    return _gains_on_other_half(problem, tables, second, first, options, error / 2)


def _gains_on_other_half(
    problem: Problem,
    tables: RegionTables,
    search_rows: IntArray,
    test_rows: IntArray,
    options: Sequence[Candidate],
    error: float,
) -> bool:
    """Whether the best cut of some rows gains more on others than chance would."""
    by_column = tables.of_node(search_rows).sides(cuts_of(options, problem.table, search_rows))
    remaining = np.concatenate([sides.sum(axis=0) for sides in by_column])
    if not np.isfinite(remaining.min()):
        return False
    cut = options[int(np.argmin(remaining))]
    goes_left = cut.goes_left(problem.table, test_rows)
    if min(np.count_nonzero(goes_left), np.count_nonzero(~goes_left)) < 2:
        return False
    cluster_numbers = np.unique(problem.clusters[test_rows], return_inverse=True)[1].reshape(-1)
    n_observations = int(cluster_numbers.max()) + 1
    n_clusters = None  # every row stands for itself
    if n_observations < len(test_rows):
        n_clusters = n_observations
    generator = np.random.default_rng([problem.seed, REPLICATES_STREAM])
    by_cluster = generator.exponential(size=(REPLICATES, n_observations))
    replicates = _TestReplicates(tables, test_rows, by_cluster[:, cluster_numbers], n_clusters)
    whole = replicates.share_of(np.ones_like(goes_left))
    left = replicates.share_of(goes_left)
    right = replicates.share_of(~goes_left)
    gain = whole.shown - left.shown - right.shown
    gain_by_chance = whole.by_chance - left.by_chance - right.by_chance
    position = _bar_position(error)
    bar = float(np.partition(gain_by_chance, position)[position])
    return gain > bar_of_clusters(bar, 1.0 - error, n_clusters)


def _bar_position(error: float) -> int:
    """Which of the sorted replicates, counted from 0, a gain exceeds by chance with this probability at most."""
    return min(rank_of_bar(REPLICATES, 1.0 - error), REPLICATES) - 1


class _ReplicatedShare(NamedTuple):
    """What some rows show as one region."""

    shown: float
    by_chance: FloatArray  # (n_replicates,) what they would show if every true gap were 0


class _TestReplicates(NamedTuple):
    """Random weights of the rows on which a gain is tested."""

    tables: RegionTables
    rows: IntArray
    multipliers: FloatArray  # (n_replicates, n_rows)
    n_clusters: int | None  # None: every row stands for itself

    def share_of(self, is_inside: BoolArray) -> _ReplicatedShare:
        """Share of the disagreement that some of these rows show as one region."""
        rows = self.rows[is_inside]
        multipliers = self.multipliers[:, is_inside]
        shown = 0.0
        by_chance = np.zeros(len(multipliers))
        for set_share in self.tables.sets:
            in_part = set_share.take(rows)
            mass = 1.0
            if self.tables.by_mass:
                mass = in_part.statistics.weights.sum() / self.tables.total_mass
            of_set = _replicated_disagreement(in_part, multipliers, self.n_clusters)
            shown += set_share.factor * mass * of_set.shown
            by_chance += set_share.factor * mass * of_set.by_chance
        return _ReplicatedShare(shown, by_chance)


def _replicated_disagreement(
    set_share: SetShare, multipliers: FloatArray, n_clusters: int | None
) -> _ReplicatedShare:
    """The same of one set, in units of its question."""
    statistics = set_share.statistics
    if isinstance(statistics, ConditionalAgainstMarginalMean):
        return _ReplicatedShare(*replicated_means([statistics], multipliers, n_clusters))
    n_observations = independent_observations(np.array(statistics.n_rows), n_clusters)
    kappa = small_sample_factor(n_observations)
    if isinstance(statistics, FullAgainstPure):
        vectors = statistics.vectors()
        weights = statistics.weights
        lines = multipliers * weights
        means = (lines @ vectors) / lines.sum(axis=1, keepdims=True)
        moves = statistics.times_k((means - weights @ vectors / weights.sum()).T)
        moments = (statistics.products().sum(axis=0) / weights.sum())[:, None]
        squares = quadratic_form(moments, moves)  # (replicates,)
        return _ReplicatedShare(statistics.mean_squared_gap_of_rows(), float(kappa) * squares)
    if not isinstance(statistics, RegionalStatistics):
        raise TypeError(f"{type(statistics).__name__} has neither gaps of rows nor of regions")
    gaps = regional_gaps([statistics], multipliers)[:, 0]
    moves = np.sqrt(kappa) * (gaps[1:] - gaps[0])
    shown = float(set_share.loss(gaps[:1])[0])
    return _ReplicatedShare(shown, set_share.loss(moves))


def gains_of_questions(
    problem: Problem, settings: RootSettings, open_questions: BoolArray
) -> BoolArray:
    """For some questions whether a split of all rows gains more than chance; the others: no.

    Parameters
    ----------
    problem : Problem
    settings : RootSettings
        The tree of the options.
    open_questions : array of bool
        The questions that are asked; they share the error.
    """
    has_gain = np.zeros(len(open_questions), dtype=np.bool_)
    if not has_room_for_test(problem.table.n_rows, settings.min_samples_leaf):
        return has_gain
    rows = np.arange(problem.table.n_rows, dtype=np.intp)
    options = candidates(
        problem.table,
        rows,
        Deferred(lambda: problem.evaluations),
        settings.columns(problem.table),
        max_candidates=settings.max_candidates,
        min_samples=settings.min_samples_leaf,
        cuts=settings.cuts,
    )
    error = problem.gain_error / int(np.count_nonzero(open_questions))
    for number in np.flatnonzero(open_questions).tolist():
        statistics = problem.statistics[number]
        question = problem.shares.comparisons[number]
        if statistics is None or not isinstance(question, ResolvedQuestion) or not options:
            continue
        tables = RegionTables(
            sets=tuple(
                SetShare(of_set.shortened(), question.loss, 1.0, number) for of_set in statistics
            ),
            total_mass=problem.shares.total,
            by_mass=problem.shares.by_mass,
            min_samples=settings.min_samples_leaf,
        )
        has_gain[number] = split_beyond_chance(problem, tables, rows, options, error)
    return has_gain
