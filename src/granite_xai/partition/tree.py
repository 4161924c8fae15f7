"""Tree: regions by recursive splits that lower the disagreement, pruned on the way back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from granite_xai.engine.membership import Splits
from granite_xai.objective import Shares
from granite_xai.options import real_number, whole_number
from granite_xai.partition.candidates import Candidate, best_of, candidates, memberships
from granite_xai.partition.nodes import Leaf, Node, Split
from granite_xai.partition.splitting import conditions
from granite_xai.recombined.evaluations import Evaluations
from granite_xai.resources import Resources, map_blocks
from granite_xai.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from granite_xai.diagnostics import Diagnostics
    from granite_xai.frames import Table

TOLERANCE = 1e-10
BLOCK = 64
"""Candidates scored together: few enough for the cache, whatever the number of jobs."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a partitioner works on: the rows, what is known of the model on them, and what shall become small."""

    table: Table
    evaluations: Evaluations
    shares: Shares
    missing: bool
    resources: Resources
    n_jobs: int | None
    diagnostics: Diagnostics


@dataclass(frozen=True, slots=True)
class Tree:
    """The paper's Algorithm 1: greedy splits, then pruning with a price for each region.

    Parameters
    ----------
    max_depth : int
        Splits on the way to a region, at most.
    min_samples_leaf : int
        Rows of a region, at least.
    alpha : float
        Price of a region, in shares of the disagreement on all rows.
    max_candidates : int
        B: at most B - 1 thresholds for each column and node.
    beam : int
        Columns whose best split is followed at each node; the best pruned subtree is kept.
    split_features : sequence of labels, optional
        Columns that may be split; None: all.

    Examples
    --------
    >>> Tree(max_depth=2).alpha
    0.05
    """

    max_depth: int = 3
    min_samples_leaf: int = 20
    alpha: float = 0.05
    max_candidates: int = 40
    beam: int = 1
    split_features: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        whole_number("max_depth", self.max_depth, at_least=0)
        whole_number("min_samples_leaf", self.min_samples_leaf, at_least=1)
        real_number("alpha", self.alpha, at_least=0)
        whole_number("max_candidates", self.max_candidates, at_least=2)
        whole_number("beam", self.beam, at_least=1)

    def columns(self, table: Table) -> list[int]:
        """Positions of the columns that may be split."""
        if self.split_features is None:
            return list(range(table.n_columns))
        labels = [self.split_features] if isinstance(self.split_features, str) else self.split_features
        return sorted({table.resolve(label, "split_features") for label in labels})

    def partition(self, problem: Problem) -> Node:
        """Grow and prune the tree of a problem."""
        growth = _Growth(self, problem, self.columns(problem.table))
        rows = np.arange(problem.table.n_rows, dtype=np.intp)
        root = growth.measured(rows, problem.evaluations, 0)
        return growth.grow(root).node


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """A node before its fate is known."""

    rows: IntArray
    evaluations: Evaluations
    depth: int
    share: float
    silent: bool


@dataclass(frozen=True, slots=True)
class _Grown:
    """A finished subtree: its node, what remains in its leaves, how many there are."""

    node: Node
    remaining: float
    leaves: int


@dataclass(frozen=True, slots=True, eq=False)
class _Growth:
    settings: Tree
    problem: Problem
    columns: list[int]

    def measured(self, rows: IntArray, evaluations: Evaluations, depth: int) -> _Open:
        """A node with its own share, computed on its rows alone."""
        splits = Splits.whole(evaluations.weights)
        (disagreements,) = map_blocks(
            lambda _: self.problem.shares.disagreements(evaluations, splits), [0], self.problem.n_jobs
        )
        share = float(self.problem.shares.of(disagreements, splits.mass)[0, 0])
        return _Open(rows, evaluations, depth, share, self.problem.shares.silent(disagreements[0, 0]))

    def grow(self, node: _Open) -> _Grown:
        """The pruned subtree below a node."""
        reason = self._reason_to_stop(node)
        if reason:
            return self._leaf(node, reason)
        options = candidates(
            self.problem.table,
            node.rows,
            node.evaluations,
            columns=self.columns,
            max_candidates=self.settings.max_candidates,
            min_samples_leaf=self.settings.min_samples_leaf,
        )
        self._count(node, options)
        if not options:
            return self._leaf(node, "no split leaves enough rows")
        return self._pruned(node, [self._split(node, option) for option in self._followed(node, options)])

    def _reason_to_stop(self, node: _Open) -> str | None:
        settings = self.settings
        if node.silent:
            return "nothing to explain"
        if node.share < settings.alpha:
            return "below alpha"
        if node.depth >= settings.max_depth:
            return "maximum depth"
        return "too few samples" if len(node.rows) < 2 * settings.min_samples_leaf else None

    def _followed(self, node: _Open, options: list[Candidate]) -> list[Candidate]:
        """The best candidate of each of the best columns (C15, C21)."""
        scores = self.scores(node, options)
        ties = int(np.count_nonzero(scores <= scores.min() + TOLERANCE))
        if ties > 1:
            self.problem.diagnostics.count("ties")
        columns = np.array([option.column for option in options])
        left = np.ones(len(options), dtype=np.bool_)
        followed: list[Candidate] = []
        while left.any() and len(followed) < self.settings.beam:
            best = np.flatnonzero(left)[best_of(scores[left], TOLERANCE)]
            followed.append(options[best])
            left &= columns != columns[best]
        return followed

    def scores(self, node: _Open, options: list[Candidate]) -> FloatArray:
        """Summed share of both sides of every candidate."""
        n = len(node.rows)
        # Half of the limit for the arrays of one block; the evaluations have the other half.
        affordable = self.problem.resources.memory_limit // 2 // (8 * n * self.problem.shares.widest)
        step = int(np.clip(affordable, 1, BLOCK))
        blocks = [options[start : start + step] for start in range(0, len(options), step)]

        def score(block: list[Candidate]) -> FloatArray:
            inside = memberships(block, self.problem.table, node.rows)
            splits = Splits.of(inside, node.evaluations.weights)
            disagreements = self.problem.shares.disagreements(node.evaluations, splits)
            both = self.problem.shares.of(disagreements, splits.mass)
            return both[:, 0] + both[:, 1]

        return np.concatenate(map_blocks(score, blocks, self.problem.n_jobs))

    def _split(self, node: _Open, option: Candidate) -> _Grown:
        table = self.problem.table
        column = table.columns[option.column]
        inside = option.inside(column.codes[node.rows])
        grown = [self._child(node, side) for side in (inside, ~inside)]
        left, right = conditions(column, option, node.rows, self.problem.missing)
        return _Grown(
            Split(
                column.name,
                left,
                right,
                (grown[0].node, grown[1].node),
                len(node.rows),
                self._fraction(node),
                node.share,
            ),
            grown[0].remaining + grown[1].remaining,
            grown[0].leaves + grown[1].leaves,
        )

    def _child(self, node: _Open, side: BoolArray) -> _Grown:
        chosen = np.flatnonzero(side)
        return self.grow(self.measured(node.rows[chosen], node.evaluations.restrict(chosen), node.depth + 1))

    def _pruned(self, node: _Open, grown: list[_Grown]) -> _Grown:
        """The best subtree, or a leaf when its splits do not pay for their regions (C3)."""
        alpha = self.settings.alpha
        costs = np.array([tree.remaining + alpha * tree.leaves for tree in grown])
        best = best_of(costs, TOLERANCE)
        if node.share + alpha <= costs[best] + TOLERANCE:
            return self._leaf(node, "split undone")
        return grown[best]

    def _leaf(self, node: _Open, reason: str) -> _Grown:
        return _Grown(Leaf(len(node.rows), self._fraction(node), node.share, reason), node.share, 1)

    def _fraction(self, node: _Open) -> float:
        return float(node.evaluations.weights.sum() / self.problem.shares.total)

    def _count(self, node: _Open, options: list[Candidate]) -> None:
        if node.depth == 0:
            names = self.problem.table.names
            numbers = {names[i]: sum(option.column == i for option in options) for i in self.columns}
            self.problem.diagnostics.note("candidates", numbers)
