"""Disagreement on both sides of every candidate of a node, from the predictions.

Candidates are scored in blocks that fit the memory limit. Of wide tables columns are dropped early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import map_blocks, resolve_jobs
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.disagreement.objective import ScaledObjective
from granite_xai.engine.splits import CUT_BYTES, Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.search.candidates import Candidate, cuts_of
from granite_xai.search.problem import Problem
from granite_xai.tables import Table

BLOCK = 2**21  # candidates times rows scored together: each block reads all pairs of rows
WIDE = 30  # columns from which scoring in stages is worth it
FIRST = 4  # sets of the first stage, and those that each further stage adds at least
SHARE = 8  # one block of candidates takes at most one part in so many of the memory limit
DROPPED_BEYOND = 1e-9  # a column is dropped if it leaves so much more than the best: no rounding


class Scores(NamedTuple):
    """Both sides of K candidates."""

    disagreements: FloatArray  # (K, 2, n_questions)
    mass: FloatArray  # (K, 2)

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """Those of several lists of candidates, one after the other."""
        return cls(
            disagreements=np.concatenate([part.disagreements for part in parts]),
            mass=np.concatenate([part.mass for part in parts]),
        )

    def remaining(self, shares: ScaledObjective) -> FloatArray:
        """Share of the disagreement that both sides of each candidate leave together, (K,)."""
        return np.asarray(shares.of(self.disagreements, self.mass).sum(axis=1))


def score_candidates(
    problem: Problem,
    rows: IntArray,
    options: list[Candidate],
    evaluations: Evaluations,
    min_together: int,
) -> Scores:
    """Score every candidate of a node.

    Parameters
    ----------
    problem : Problem
    rows : array
        Rows of the node.
    options : list of Candidate
    evaluations : Evaluations
        Of these rows.
    min_together : int
        Candidates of a block, at least, unless memory is too short for them.
    """
    limit = problem.resources.memory_limit
    memory = _Memory(
        split_bytes=problem.shares.split_bytes(evaluations), cut_bytes=CUT_BYTES * len(rows)
    )
    max_together = max(BLOCK // len(rows), min_together)
    blocks = list(_blocks(options, memory, limit // SHARE, max_together))
    # A quarter of the limit for the arrays of all blocks in work; blocks are the same for any number of jobs.
    largest = max(memory.of_block(block) for block in blocks)
    jobs = min(resolve_jobs(problem.n_jobs), max(1, limit // 4 // largest))
    # Of few blocks the sets are divided among the threads.
    jobs_of_block = 1
    is_few_blocks = len(blocks) == 1 or len(blocks) < 2 * jobs
    if is_few_blocks:
        jobs_of_block = jobs
    score_block = partial(
        _score_block, problem.shares, problem.table, rows, evaluations, jobs_of_block
    )
    return Scores.joined(map_blocks(score_block, blocks, jobs // jobs_of_block))


class _Memory(NamedTuple):
    """Memory that scoring takes."""

    split_bytes: int  # of one candidate
    cut_bytes: int  # of the sums that candidates of one column share

    def of_block(self, block: Sequence[Candidate]) -> int:
        n_columns = len({option.family for option in block})
        return self.cut_bytes * n_columns + self.split_bytes * len(block)


def _blocks(
    options: list[Candidate], memory: _Memory, affordable: int, max_together: int
) -> Iterator[list[Candidate]]:
    """Neighbouring candidates that are scored together: at most so many, as memory affords.

    The cuts of a column share their sums, so they stay together where they can.
    """
    block: list[Candidate] = []
    bytes_left = affordable
    for option in options:
        needed = memory.split_bytes
        if not block or block[-1].family is not option.family:
            needed += memory.cut_bytes
        if block and (len(block) == max_together or needed > bytes_left):
            yield block
            block = []
            bytes_left = affordable
            needed = memory.split_bytes + memory.cut_bytes
        block.append(option)
        bytes_left -= needed
    yield block


def _score_block(
    shares: ScaledObjective,
    table: Table,
    rows: IntArray,
    evaluations: Evaluations,
    jobs: int,
    block: list[Candidate],
) -> Scores:
    splits = Splits.along(cuts_of(block, table, rows), evaluations.weights)
    return Scores(shares.disagreements(evaluations, splits, jobs), splits.mass)


def score_best_columns(
    problem: Problem,
    rows: IntArray,
    options: list[Candidate],
    evaluations: Evaluations,
    min_together: int,
    n_columns: int,
) -> Scores:
    """Score the candidates of a node as far as its best columns need.

    The same as `score_candidates`, but infinite for columns that are certainly none of the best: for
    wide tables.

    Parameters
    ----------
    problem, rows, options, evaluations, min_together
        As in `score_candidates`.
    n_columns : int
        Columns whose best candidate is wanted.
    """
    columns = {option.column for option in options}
    all_resolved = all(
        isinstance(question, ResolvedQuestion) for question in problem.shares.comparisons
    )
    is_wide = len(columns) >= max(WIDE, n_columns + 1)
    if not is_wide or not all_resolved:
        return score_candidates(problem, rows, options, evaluations, min_together)
    stages = _StagedScores(problem, rows, options, evaluations, min_together)
    return stages.of_best_columns(n_columns)


class _SetOfQuestion(NamedTuple):
    """One set of one question."""

    share: float  # of the objective that it has on the rows of the node
    question: int  # number of the question
    number: int  # of the set


@dataclass(eq=False)
class _StagedScores:
    """Scores that are completed set by set, for the columns that may still be among the best.

    Sets come in the order of their share. The best columns so far are completed, and columns that
    already leave more than these are dropped, since no set leaves less than 0.
    """

    problem: Problem
    rows: IntArray
    options: list[Candidate]
    evaluations: Evaluations
    min_together: int
    columns: IntArray = field(init=False)  # (K,) column of each candidate
    sets: list[_SetOfQuestion] = field(init=False)  # the largest share first
    scores: Scores = field(init=False)  # of the sets so far
    n_sets_of: dict[int, int] = field(init=False)  # sets that each column was scored for

    def __post_init__(self) -> None:
        self.columns = np.array([option.column for option in self.options])
        self.sets = _sets_by_share(self.problem, self.evaluations)
        n_questions = len(self.problem.shares.comparisons)
        self.scores = Scores(
            disagreements=np.zeros((len(self.options), 2, n_questions)),
            mass=np.zeros((len(self.options), 2)),
        )
        self.n_sets_of = dict.fromkeys(np.unique(self.columns).tolist(), 0)

    def of_best_columns(self, n_columns: int) -> Scores:
        """All sets of the best columns; infinite for columns that were dropped."""
        shares_so_far = np.cumsum([entry.share for entry in self.sets])
        candidates_left = list(self.n_sets_of)
        n_sets = FIRST
        while True:
            least = self._score_columns(candidates_left, n_sets)
            by_rank = sorted(candidates_left, key=lambda column: (least[column], column))
            best = by_rank[:n_columns]
            complete = self._score_columns(best, len(self.sets))
            bound = max(complete.values()) + DROPPED_BEYOND
            candidates_left = [
                column for column in candidates_left if column in best or least[column] <= bound
            ]
            if n_sets >= len(self.sets):
                break
            # A column that helps nobody leaves what the sets hold in the node: far enough to drop these.
            until_bound = int(np.searchsorted(shares_so_far, 1.01 * bound)) + 1
            n_sets = min(len(self.sets), max(n_sets + FIRST, n_sets * 5 // 4, until_bound))
        # 0 times infinity is no share: questions that do not count stay finite.
        unknown = np.where(self.problem.shares.factors > 0, np.inf, 0.0)
        self.scores.disagreements[~np.isin(self.columns, candidates_left)] = unknown
        return self.scores

    def _score_columns(self, columns: Sequence[int], n_sets: int) -> dict[int, float]:
        """Score some columns for the first so many sets, and tell what the best cut of each leaves."""
        starts = {self.n_sets_of[column] for column in columns if self.n_sets_of[column] < n_sets}
        for start in sorted(starts):
            begin_here = [column for column in columns if self.n_sets_of[column] == start]
            chosen = np.flatnonzero(np.isin(self.columns, begin_here))
            more = score_candidates(
                _with_sets(self.problem, self.sets[start:n_sets]),
                self.rows,
                [self.options[position] for position in chosen],
                self.evaluations,
                self.min_together,
            )
            self.scores.mass[chosen] = more.mass
            self.scores.disagreements[chosen] += more.disagreements
        for column in columns:
            self.n_sets_of[column] = max(n_sets, self.n_sets_of[column])
        remaining = self.scores.remaining(self.problem.shares)
        return {column: float(np.min(remaining[self.columns == column])) for column in columns}


def _with_sets(problem: Problem, sets: Sequence[_SetOfQuestion]) -> Problem:
    """The problem with only some sets of its questions."""
    shares = problem.shares
    comparisons: list[Any] = []
    for position, question in enumerate(shares.comparisons):
        chosen = [entry.number for entry in sets if entry.question == position]
        comparisons.append(replace(cast("ResolvedQuestion", question), chosen=chosen))
    return replace(problem, shares=replace(shares, comparisons=tuple(comparisons)))


def _sets_by_share(problem: Problem, evaluations: Evaluations) -> list[_SetOfQuestion]:
    """All sets of all questions, that with the largest share on the rows of the node first."""
    shares = problem.shares
    whole = Splits.whole(evaluations.weights)
    sets = []
    questions = cast("tuple[ResolvedQuestion, ...]", shares.comparisons)
    for position, question in enumerate(questions):
        of_question = replace(shares, factors=shares.factors[[position]])
        for number, gaps in enumerate(question.gap_values(evaluations, whole)):
            losses = question.loss(gaps)[0]
            if question.first.behavior.per_row:
                loss = np.average(losses, weights=evaluations.weights)
            else:
                loss = losses[0]
            share = float(of_question.of(np.array([loss]), whole.mass[0, 0]))
            sets.append(_SetOfQuestion(share, position, number))
    return sorted(sets, key=lambda entry: -entry.share)
