"""Scoring: what both sides of every candidate of a node leave, in blocks that fit the memory limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import map_blocks, resolve_jobs
from granite_xai.disagreement import ResolvedQuestion, ScaledObjective
from granite_xai.engine.splits import CUT_BYTES, Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.search.candidates import Candidate, cuts_of
from granite_xai.search.problem import Problem
from granite_xai.tables import Table

BLOCK = 2**19
"""Candidates times rows scored together on the processor, where enough blocks shall be left for several jobs."""
ON_DEVICE = 2**24
"""The same on a device."""
WIDE = 30
"""Columns, and sets, from which scoring in stages is worth it."""
FIRST = 4
"""Sets of the first stage."""
SLACK = 1e-9
SHARE = 8
"""One block of candidates takes at most one part in so many of the memory limit."""


def leading(
    problem: Problem, rows: IntArray, options: list[Candidate], evaluations: Evaluations, least: int, count: int
) -> tuple[FloatArray, FloatArray]:
    """The same as `scored`, but infinite for columns that are certainly none of the best ``count``; for wide tables.

    Sets come in stages, in the order of their share; the best columns so far are completed, and columns that already
    leave more than these are dropped, since no set leaves less than 0.
    """
    columns = np.array([option.column for option in options])
    alive = np.unique(columns).tolist()
    if len(alive) < WIDE or not all(isinstance(each, ResolvedQuestion) for each in problem.shares.comparisons):
        return scored(problem, rows, options, evaluations, least)
    order = _by_share(problem, evaluations)
    reaches = np.cumsum([share for share, *_ in order])
    found, mass = np.zeros((len(options), 2, len(problem.shares.comparisons))), np.zeros((len(options), 2))
    done = dict.fromkeys(alive, 0)  # sets that each column has been scored for

    def complete(some: Sequence[int], stop: int) -> dict[int, float]:
        """Score some columns for the sets up to here, and say what the best candidate of each leaves."""
        for start in sorted({done[column] for column in some if done[column] < stop}):
            chosen = np.flatnonzero(np.isin(columns, [column for column in some if done[column] == start]))
            sets = [[number for _, q, number in order[start:stop] if q == k] for k in range(found.shape[2])]
            more, mass[chosen] = scored(problem, rows, [options[k] for k in chosen], evaluations, least, sets)
            found[chosen] += more
        done.update({column: max(stop, done[column]) for column in some})
        scores = problem.shares.of(found, mass).sum(axis=1)
        return {column: float(np.min(scores[columns == column])) for column in some}

    stop = FIRST
    while True:
        reached = complete(alive, stop)
        best = sorted(alive, key=lambda column: (reached[column], column))[:count]
        bound = max(complete(best, len(order)).values()) + SLACK
        alive = [column for column in alive if column in best or reached[column] <= bound]
        if stop >= len(order):
            break
        # A column that helps nobody leaves what the sets hold in the node: far enough to drop these.
        stop = min(len(order), max(stop + FIRST, stop * 5 // 4, int(np.searchsorted(reaches, 1.01 * bound)) + 1))
    found[~np.isin(columns, alive)] = np.inf
    return found, mass


def _by_share(problem: Problem, evaluations: Evaluations) -> list[tuple[float, int, int]]:
    """What each set of each question leaves on the rows of the node, the most first: share, question, set."""
    whole, shares = Splits.whole(evaluations.weights, evaluations.primitives), problem.shares
    found = []
    for k, question in enumerate(shares.comparisons):
        for number in range(len(question.gaps) if isinstance(question, ResolvedQuestion) else 0):
            unit = np.zeros(len(shares.comparisons))
            unit[k] = question.regional(evaluations, whole, [number])[0, 0]
            found.append((float(shares.of(unit, whole.mass[0, 0])), k, number))
    return sorted(found, key=lambda entry: -entry[0])


def scored(
    problem: Problem,
    rows: IntArray,
    options: list[Candidate],
    evaluations: Evaluations,
    least: int,
    sets: Sequence[Sequence[int]] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Disagreements (K, 2, Q) and mass (K, 2) of both sides of every candidate; ``least`` of them go together."""
    limit = problem.resources.memory_limit
    one = problem.shares.split_bytes(evaluations)
    # A quarter of the limit for the arrays of all blocks in work; blocks are the same for any number of jobs.
    cells = BLOCK if evaluations.primitives is None else ON_DEVICE
    blocks = list(_blocks(options, len(rows), one, limit // SHARE, max(cells // len(rows), least)))
    cut = CUT_BYTES * len(rows)
    largest = max(cut * len({option.column for option in block}) + one * len(block) for block in blocks)
    jobs = min(resolve_jobs(problem.n_jobs), max(1, limit // 4 // largest))

    score = partial(_score, problem.shares, problem.table, rows, evaluations, sets)
    found = map_blocks(score, blocks, jobs)
    return np.concatenate([part for part, _ in found]), np.concatenate([mass for _, mass in found])


def _blocks(
    options: list[Candidate], n_rows: int, split_bytes: int, affordable: int, most: int
) -> Iterator[list[Candidate]]:
    """Neighbouring candidates that are scored together: at most so many, as memory affords.

    The cuts of a column share their sums, so they stay together where they can.
    """
    block: list[Candidate] = []
    room = affordable
    for option in options:
        needed = split_bytes + CUT_BYTES * n_rows * (not block or block[-1].column != option.column)
        if block and (len(block) == most or needed > room):
            yield block
            block, room, needed = [], affordable, split_bytes + CUT_BYTES * n_rows
        block.append(option)
        room -= needed
    yield block


def _score(
    shares: ScaledObjective,
    table: Table,
    rows: IntArray,
    evaluations: Evaluations,
    sets: Sequence[Sequence[int]] | None,
    block: list[Candidate],
) -> tuple[FloatArray, FloatArray]:
    """Disagreements and mass of both sides of some candidates; a plain function, so that it can go to a process."""
    splits = Splits.along(cuts_of(block, table, rows), evaluations.weights, evaluations.primitives)
    return shares.disagreements(evaluations, splits, sets), splits.mass
