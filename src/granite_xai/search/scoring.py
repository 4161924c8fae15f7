"""Scoring: what both sides of every candidate of a node leave, in blocks that fit the memory limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import map_blocks, resolve_jobs
from granite_xai.compute.selection import primitives_for
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.disagreement.objective import ScaledObjective
from granite_xai.engine.splits import CUT_BYTES, Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.search.candidates import Candidate, cuts_of
from granite_xai.search.problem import Problem
from granite_xai.tables import Table

BLOCK, ON_DEVICE = (
    2**21,
    2**24,
)  # candidates times rows scored together: each block reads all pairs; on a device
WIDE = 30  # columns, and sets, from which scoring in stages is worth it
FIRST = 4  # sets of the first stage
SHARE = 8  # one block of candidates takes at most one part in so many of the memory limit
Scores = tuple[
    FloatArray, FloatArray
]  # disagreements (K, 2, Q) and mass (K, 2) of both sides of some candidates


def leading(
    problem: Problem,
    rows: IntArray,
    options: list[Candidate],
    evaluations: Evaluations,
    least: int,
    count: int,
) -> Scores:
    """The same as `scored`, but infinite for columns that are certainly none of the best ``count``; for wide tables."""
    # Sets come in stages, in the order of their share; the best columns so far are completed, and columns that already
    # leave more than these are dropped, since no set leaves less than 0.
    columns = np.array([option.column for option in options])
    alive = np.unique(columns).tolist()
    staged = all(isinstance(each, ResolvedQuestion) for each in problem.shares.comparisons)
    if (
        max(WIDE, count + 1) > len(alive) or not staged or evaluations.primitives
    ):  # a device is fastest with all
        return scored(problem, rows, options, evaluations, least)
    order = _by_share(problem, evaluations)
    reaches = np.cumsum([share for share, *_ in order])
    found, mass = (
        np.zeros((len(options), 2, len(problem.shares.comparisons))),
        np.zeros((len(options), 2)),
    )
    done = dict.fromkeys(alive, 0)  # sets that each column has been scored for

    def complete(some: Sequence[int], stop: int) -> dict[int, float]:
        """Score some columns for the sets up to here, and say what the best candidate of each leaves."""
        for start in sorted({done[column] for column in some if done[column] < stop}):
            chosen = np.flatnonzero(
                np.isin(columns, [column for column in some if done[column] == start])
            )
            some_sets = _of_sets(problem, [entry[1:] for entry in order[start:stop]])
            more, mass[chosen] = scored(
                some_sets, rows, [options[k] for k in chosen], evaluations, least
            )
            found[chosen] += more
        done.update({column: max(stop, done[column]) for column in some})
        scores = problem.shares.of(found, mass).sum(axis=1)
        return {column: float(np.min(scores[columns == column])) for column in some}

    stop = FIRST
    while True:
        reached = complete(alive, stop)
        best = sorted(alive, key=lambda column: (reached[column], column))[:count]
        bound = max(complete(best, len(order)).values()) + 1e-9
        alive = [column for column in alive if column in best or reached[column] <= bound]
        if stop >= len(order):
            break
        # A column that helps nobody leaves what the sets hold in the node: far enough to drop these.
        stop = min(
            len(order),
            max(stop + FIRST, stop * 5 // 4, int(np.searchsorted(reaches, 1.01 * bound)) + 1),
        )
    found[~np.isin(columns, alive)] = np.where(
        problem.shares.factors > 0, np.inf, 0.0
    )  # 0 times infinity is no share
    return found, mass


def _of_sets(problem: Problem, sets: Sequence[tuple[int, int]]) -> Problem:
    """The problem with only some sets of its questions, each a number of a question and of one of its sets."""
    shares = problem.shares
    own = [
        [number for question, number in sets if question == k]
        for k in range(len(shares.comparisons))
    ]
    both: Any = zip(shares.comparisons, own, strict=True)
    return replace(
        problem,
        shares=replace(shares, comparisons=tuple(replace(q, chosen=some) for q, some in both)),
    )


def _by_share(problem: Problem, evaluations: Evaluations) -> list[tuple[float, int, int]]:
    """What each set of each question leaves on the rows of the node, the most first: share, question, set."""
    shares, whole, found = (
        problem.shares,
        Splits.whole(evaluations.weights, evaluations.primitives),
        [],
    )
    for k, question in enumerate(cast("tuple[ResolvedQuestion, ...]", shares.comparisons)):
        one = replace(shares, factors=shares.factors[[k]])
        for number, gap in enumerate(question.gap_values(evaluations, whole)):
            losses, by_row = question.loss(gap)[0], question.first.behavior.per_row
            mean = np.average(losses, weights=evaluations.weights) if by_row else losses[0]
            found.append((float(one.of(np.array([mean]), whole.mass[0, 0])), k, number))
    return sorted(found, key=lambda entry: -entry[0])


def scored(
    problem: Problem, rows: IntArray, options: list[Candidate], evaluations: Evaluations, least: int
) -> Scores:
    """What both sides of every candidate leave; ``least`` candidates, or more, go together."""
    limit = problem.resources.memory_limit
    if evaluations.primitives is not None:  # a device counts its own memory
        limit = evaluations.primitives.free or limit
    one = problem.shares.split_bytes(evaluations)
    cut = CUT_BYTES * len(rows)
    # A quarter of the limit for the arrays of all blocks in work; blocks are the same for any number of jobs.
    most = max((BLOCK if evaluations.primitives is None else ON_DEVICE) // len(rows), least)
    blocks = list(_blocks(options, one, cut, limit // SHARE, most))
    largest = max(
        cut * len({option.family for option in block}) + one * len(block) for block in blocks
    )
    jobs = min(resolve_jobs(problem.n_jobs), max(1, limit // 4 // largest))
    # Of few blocks the sets are divided among the threads.
    few_blocks = len(blocks) == 1 or len(blocks) < 2 * jobs
    inner = jobs if few_blocks and evaluations.primitives is None else 1
    found = map_blocks(
        partial(_score, problem.shares, problem.table, rows, evaluations, inner),
        blocks,
        jobs // inner,
    )
    return np.concatenate([part for part, _ in found]), np.concatenate([mass for _, mass in found])


def _blocks(
    options: list[Candidate], one: int, cut: int, affordable: int, most: int
) -> Iterator[list[Candidate]]:
    """Neighbouring candidates that are scored together: at most so many, as memory affords."""
    # The cuts of a column share their sums, so they stay together where they can; bytes of ``one`` split and of a cut.
    block, room = list[Candidate](), affordable
    for option in options:
        needed = one + cut * (not block or block[-1].family is not option.family)
        if block and (len(block) == most or needed > room):
            yield block
            block, room, needed = [], affordable, one + cut
        block.append(option)
        room -= needed
    yield block


def _score(
    shares: ScaledObjective,
    table: Table,
    rows: IntArray,
    known: Evaluations,
    jobs: int,
    block: list[Candidate],
) -> Scores:
    """Disagreements and mass of both sides of some candidates."""
    primitives = known.primitives or primitives_for(table.n_rows**2)  # as for the root
    splits = Splits.along(cuts_of(block, table, rows), known.weights, primitives)
    return shares.disagreements(known, splits, jobs), splits.mass
