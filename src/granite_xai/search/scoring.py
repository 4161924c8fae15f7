"""Scoring: what both sides of every candidate of a node leave, in blocks that fit the memory limit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import map_blocks, resolve_jobs
from granite_xai.disagreement import ScaledObjective
from granite_xai.engine.splits import CUT_BYTES, Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.search.candidates import Candidate, cuts_of
from granite_xai.search.problem import Problem
from granite_xai.tables import Table

BLOCK = 2**19
"""Candidates times rows scored together on the processor, where enough blocks shall be left for several jobs."""
ON_DEVICE = 2**24
"""The same on a device."""
SHARE = 8
"""One block of candidates takes at most one part in so many of the memory limit."""


def scored(
    problem: Problem, rows: IntArray, options: list[Candidate], evaluations: Evaluations, least: int
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

    score = partial(_score, problem.shares, problem.table, rows, evaluations)
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
    shares: ScaledObjective, table: Table, rows: IntArray, evaluations: Evaluations, block: list[Candidate]
) -> tuple[FloatArray, FloatArray]:
    """Disagreements and mass of both sides of some candidates; a plain function, so that it can go to a process."""
    splits = Splits.along(cuts_of(block, table, rows), evaluations.weights, evaluations.primitives)
    return shares.disagreements(evaluations, splits), splits.mass
