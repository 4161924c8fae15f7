"""Whether a node that shows no more than chance still holds a split that is beyond chance.

A node's disagreement sums over all sets, and a few that truly disagree may drown in the noise of the
others. So the best cut is searched on one half of the rows, and what it gains is tested on the other
half, both ways. By chance alone the gain is that of gaps which only move with the
sample: it is computed again under random weights of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.inference.by_sums import (
    bar_of_clusters,
    observations,
    regional_gaps,
    replicated_means,
    small_cells,
)
from granite_xai.moments.statistics import (
    ConditionalAgainstMarginalMean,
    FullAgainstPure,
    RegionalStatistics,
)
from granite_xai.moments.triangles import quadratic_form
from granite_xai.search.candidates import Candidate, candidates, cuts_of
from granite_xai.search.problem import Problem
from granite_xai.search.settings import RootSettings
from granite_xai.search.tables import RegionTables, SetShare

REPLICATES = 400  # random weights under which a gain is computed again
FEWEST_OBSERVATIONS = (
    10  # rows or clusters of a node: a half of fewer hardly tells how far gains vary
)
HALVES_STREAM, REPLICATES_STREAM = 31, 37  # of random numbers


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
    rows : array
        Rows of the node.
    options : sequence of Candidate
        Cuts of the node.
    error : float
        Probability to find such a split where there is none.
    """
    clusters = problem.clusters[rows]
    numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    n_clusters = int(numbers.max()) + 1
    if n_clusters < FEWEST_OBSERVATIONS:
        return False
    generator = np.random.default_rng([problem.seed, HALVES_STREAM])
    in_first = (generator.permutation(n_clusters) < n_clusters // 2)[numbers]
    halves = (rows[in_first], rows[~in_first])
    return any(
        _gains(problem, tables, search_rows, test_rows, options, error / 2)
        for search_rows, test_rows in (halves, halves[::-1])
    )


def _gains(
    problem: Problem,
    tables: RegionTables,
    search_rows: IntArray,
    test_rows: IntArray,
    options: Sequence[Candidate],
    error: float,
) -> bool:
    """Whether the best cut of some rows gains more on others than chance would."""
    sides = tables.of_node(search_rows).sides(cuts_of(options, problem.table, search_rows))
    scores = np.concatenate([own.sum(axis=0) for own in sides])
    if not np.isfinite(scores.min()):
        return False
    cut = options[int(np.argmin(scores))]
    goes_left = cut.inside(problem.table.columns[cut.column].codes[test_rows])
    parts = (test_rows, test_rows[goes_left], test_rows[~goes_left])
    if min(map(len, parts)) < 2:
        return False
    numbers = np.unique(problem.clusters[test_rows], return_inverse=True)[1].reshape(-1)
    n_observations = int(numbers.max()) + 1
    n_clusters = n_observations if n_observations < len(test_rows) else None
    generator = np.random.default_rng([problem.seed, REPLICATES_STREAM])
    by_cluster = generator.exponential(size=(REPLICATES, n_observations))
    multipliers = by_cluster[:, numbers]
    selections = (np.ones_like(goes_left), goes_left, ~goes_left)
    gain = 0.0
    by_chance = np.zeros(REPLICATES)
    for sign, part, selection in zip((1.0, -1.0, -1.0), parts, selections, strict=True):
        shown, moved = _replicated_share(tables, part, multipliers[:, selection], n_clusters)
        gain += sign * shown
        by_chance += sign * moved
    place = min(ceil((1.0 - error) * (REPLICATES + 1)), REPLICATES) - 1
    bar = float(np.partition(by_chance, place)[place])
    return gain > bar_of_clusters(bar, 1.0 - error, n_clusters)


def _replicated_share(
    tables: RegionTables, rows: IntArray, multipliers: FloatArray, n_clusters: int | None
) -> tuple[float, FloatArray]:
    """Share that some rows show as one region, and what replicates show if every true gap is 0."""
    shown = 0.0
    by_chance = np.zeros(len(multipliers))
    for set_share in tables.sets:
        in_part = set_share.take(rows)
        mass = 1.0
        if tables.by_mass:
            mass = in_part.statistics.weights.sum() / tables.total_mass
        disagreement, moves = _replicated(in_part, multipliers, n_clusters)
        shown += set_share.factor * mass * disagreement
        by_chance += set_share.factor * mass * moves
    return shown, by_chance


def _replicated(
    set_share: SetShare, multipliers: FloatArray, n_clusters: int | None
) -> tuple[float, FloatArray]:
    """Disagreement of one set, and that of the moves of its gaps under each replicate."""
    statistics = set_share.statistics
    if isinstance(statistics, FullAgainstPure):
        vectors = statistics.vectors()
        weights = statistics.weights
        lines = multipliers * weights
        means = (lines @ vectors) / lines.sum(axis=1, keepdims=True)
        moves = statistics.times_k((means - weights @ vectors / weights.sum()).T)
        moments = (statistics.products().sum(axis=0) / weights.sum())[:, None]
        stretch = float(small_cells(observations(np.array(len(vectors)), n_clusters)))
        squares = quadratic_form(moments, moves)  # (replicates,)
        return statistics.mean_squared_gap_of_rows(), stretch * squares
    if isinstance(statistics, ConditionalAgainstMarginalMean):
        return replicated_means([statistics], multipliers, n_clusters)
    if not isinstance(statistics, RegionalStatistics):
        raise TypeError(f"{type(statistics).__name__} has neither gaps of rows nor of regions")
    gaps = regional_gaps([statistics], multipliers)[:, 0]
    n_observations = observations(np.array(statistics.n_rows), n_clusters)
    moves = np.sqrt(small_cells(n_observations)) * (gaps[1:] - gaps[0])
    return float(set_share.loss(gaps[:1])[0]), set_share.loss(moves)


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
    rows = np.arange(problem.table.n_rows, dtype=np.intp)
    options = candidates(
        problem.table,
        rows,
        Deferred(lambda: problem.evaluations),
        settings.columns(problem.table),
        settings.max_candidates,
        settings.min_samples_leaf,
        settings.cuts,
    )
    error = problem.gain_error / int(np.count_nonzero(open_questions))
    for number in np.flatnonzero(open_questions).tolist():
        statistics = problem.statistics[number]
        question = problem.shares.comparisons[number]
        if statistics is None or not isinstance(question, ResolvedQuestion) or not options:
            continue
        tables = RegionTables(
            sets=tuple(SetShare(own.shortened(), question.loss, 1.0, number) for own in statistics),
            total_mass=problem.shares.total,
            by_mass=problem.shares.by_mass,
            min_samples=settings.min_samples_leaf // 2,
        )
        has_gain[number] = split_beyond_chance(problem, tables, rows, options, error)
    return has_gain
