"""Tree: regions by recursive splits that lower the disagreement, pruned on the way back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from granite_xai.base.options import real_number, unknown, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.chance.replicates import ChanceRule
from granite_xai.compute import map_blocks, resolve_jobs
from granite_xai.compute.compiled import device_faults, primitives_on
from granite_xai.disagreement import ScaledObjective
from granite_xai.engine.splits import CUT_BYTES, Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.regions.nodes import Leaf, Node, Split
from granite_xai.regions.partition import Partition
from granite_xai.search.candidates import CUTS, Candidate, best_of, candidates, cuts_of
from granite_xai.search.problem import Partitioner, PartitionResult, Problem
from granite_xai.search.splitting import conditions
from granite_xai.tables import Table

TOLERANCE = 1e-10
BLOCK = 2**19
"""Candidates times rows scored together on the processor, where enough blocks shall be left for several jobs."""
ON_DEVICE = 2**24
"""The same on a device."""
SHARE = 8
"""One block of candidates takes at most one part in so many of the memory limit."""


@dataclass(frozen=True, slots=True, init=False)
class AllExcept:
    """All columns but some, for ``split_features``.

    Parameters
    ----------
    *columns : labels
        The columns that rules may not use.

    Examples
    --------
    >>> AllExcept("temp").columns
    ('temp',)
    """

    columns: tuple[Hashable, ...]

    def __init__(self, *columns: Hashable) -> None:
        object.__setattr__(self, "columns", columns)


@dataclass(frozen=True, slots=True)
class Tree(Partitioner):
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
    split_features : sequence of labels or Without, optional
        Columns that may be split; None: all.
    min_improvement : float, optional
        A node is split only if this lowers the share by at least so much; below the first split, by at least so much
        times what the split before gained (REPID, GADGET). None: the price of a region alone decides.
    cuts : "quantiles" or "values"
        Thresholds of ordered columns: quantiles of the node's rows, or all of its values (REPID, GADGET).

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
    split_features: Sequence[Hashable] | AllExcept | None = None
    min_improvement: float | None = None
    cuts: str = "quantiles"

    def __post_init__(self) -> None:
        whole_number("max_depth", self.max_depth, at_least=0)
        whole_number("min_samples_leaf", self.min_samples_leaf, at_least=1)
        real_number("alpha", self.alpha, at_least=0)
        whole_number("max_candidates", self.max_candidates, at_least=2)
        whole_number("beam", self.beam, at_least=1)
        if self.min_improvement is not None:
            real_number("min_improvement", self.min_improvement, at_least=0)
        if self.cuts not in CUTS:
            raise unknown("cuts", self.cuts, CUTS)

    def columns(self, table: Table) -> list[int]:
        """Positions of the columns that may be split."""
        if self.split_features is None:
            return list(table.explained)
        if isinstance(self.split_features, AllExcept):
            left_out = {table.resolve(label, "split_features") for label in self.split_features.columns}
            return [position for position in table.explained if position not in left_out]
        labels = [self.split_features] if isinstance(self.split_features, str | int) else self.split_features
        return sorted({table.resolve(label, "split_features") for label in labels})

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions of a problem."""
        return PartitionResult(Partition(self.grown(problem), problem.table.names))

    def grown(self, problem: Problem) -> Node:
        """Grow and prune the tree of a problem."""
        growth = _Growth(self, problem, self.columns(problem.table))
        rows = np.arange(problem.table.n_rows, dtype=np.intp)
        primitives = primitives_on(problem.resources.device)
        with device_faults(primitives):
            return growth.grow(growth.root(rows, problem.evaluations.on(primitives))).node


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """A node before its fate is known; its evaluations are cut out of its parent's when it is to be split."""

    rows: IntArray
    weight: float
    evaluations: Callable[[], Evaluations]
    depth: int
    plug_in: float  # share of the disagreement on all rows that these rows show
    share: float  # the same without what chance adds; decides
    silent: bool
    required: float = 0.0
    by_chance: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """A candidate that is followed: how much it lowers the share, and what it leaves on both sides."""

    candidate: Candidate
    gain: float
    disagreements: FloatArray
    mass: FloatArray


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

    def root(self, rows: IntArray, evaluations: Evaluations) -> _Open:
        """All rows, with their share."""
        splits = Splits.whole(evaluations.weights, evaluations.primitives)
        (disagreements,) = map_blocks(
            lambda _: self.problem.shares.disagreements(evaluations, splits), [0], self.problem.n_jobs
        )
        return self._open(rows, float(splits.mass[0, 0]), lambda: evaluations, 0, disagreements[0, 0], 1.0)

    def _open(
        self,
        rows: IntArray,
        weight: float,
        evaluations: Callable[[], Evaluations],
        depth: int,
        disagreements: FloatArray,
        gained: float,
    ) -> _Open:
        shares, mass = self.problem.shares, np.array(weight)
        both = float(shares.left(disagreements, mass)), float(shares.of(disagreements, mass))
        required = (self.settings.min_improvement or 0.0) * gained
        node = _Open(rows, weight, evaluations, depth, *both, shares.silent(disagreements), required)
        return node if node.silent or self.problem.chance is None else self._corrected(node, self.problem.chance)

    def _corrected(self, node: _Open, rule: ChanceRule) -> _Open:
        """The node with its share corrected for chance; its evaluations are cut out for it."""
        shares, evaluations = self.problem.shares, node.evaluations()
        found = rule.of(evaluations, node.rows, self.problem.n_jobs)
        share = float(replace(shares, factors=rule.factors).of(found.corrected, np.array(node.weight)))
        by_chance = not np.any(found.exceeded(shares.floors) & (shares.factors > 0.0))
        return replace(node, evaluations=lambda: evaluations, share=share, by_chance=by_chance)

    def grow(self, node: _Open) -> _Grown:
        """The pruned subtree below a node."""
        reason = self._reason_to_stop(node)
        if reason:
            return self._leaf(node, reason)
        evaluations = node.evaluations()
        options = candidates(
            self.problem.table,
            node.rows,
            evaluations,
            columns=self.columns,
            max_candidates=self.settings.max_candidates,
            min_samples_leaf=self.settings.min_samples_leaf,
            cuts=self.settings.cuts,
        )
        if node.depth == 0:
            counts = {self.problem.table.names[i]: sum(option.column == i for option in options) for i in self.columns}
            self.problem.diagnostics.note("candidates", counts)
        if not options:
            return self._leaf(node, "no split leaves enough rows")
        followed = self._followed(node, options, evaluations)
        if self.settings.min_improvement is not None and max(choice.gain for choice in followed) < node.required:
            return self._leaf(node, "improvement too small")
        return self._pruned(node, [self._split(node, choice, evaluations) for choice in followed])

    def _reason_to_stop(self, node: _Open) -> str | None:
        settings = self.settings
        if node.silent:
            return "nothing to explain"
        if node.by_chance:
            return "no more than chance"
        if node.share < settings.alpha:
            return "below alpha"
        if node.depth >= settings.max_depth:
            return "maximum depth"
        return "too few samples" if len(node.rows) < 2 * settings.min_samples_leaf else None

    def _followed(self, node: _Open, options: list[Candidate], evaluations: Evaluations) -> list[_Choice]:
        """The best candidate of each of the best columns (C15, C21)."""
        disagreements, mass = self.scored(node, options, evaluations)
        both = self.problem.shares.of(disagreements, mass)
        scores = both[:, 0] + both[:, 1]
        ties = int(np.count_nonzero(scores <= scores.min() + TOLERANCE))
        if ties > 1:
            self.problem.diagnostics.count("ties")
        columns = np.array([option.column for option in options])
        left = np.ones(len(options), dtype=np.bool_)
        followed: list[_Choice] = []
        while left.any() and len(followed) < self.settings.beam:
            best = np.flatnonzero(left)[best_of(scores[left], TOLERANCE)]
            gain = node.plug_in - float(scores[best])
            followed.append(_Choice(options[best], gain, disagreements[best], mass[best]))
            left &= columns != columns[best]
        return followed

    def scored(self, node: _Open, options: list[Candidate], evaluations: Evaluations) -> tuple[FloatArray, FloatArray]:
        """Disagreements (K, 2, Q) and mass (K, 2) of both sides of every candidate."""
        limit = self.problem.resources.memory_limit
        one = self.problem.shares.split_bytes(evaluations)
        # A quarter of the limit for the arrays of all blocks in work; blocks are the same for any number of jobs.
        cells = BLOCK if evaluations.primitives is None else ON_DEVICE
        most = max(cells // len(node.rows), self.settings.max_candidates)
        blocks = list(_blocks(options, len(node.rows), one, limit // SHARE, most))
        cut = CUT_BYTES * len(node.rows)
        largest = max(cut * len({option.column for option in block}) + one * len(block) for block in blocks)
        jobs = min(resolve_jobs(self.problem.n_jobs), max(1, limit // 4 // largest))

        score = partial(_score, self.problem.shares, self.problem.table, node.rows, evaluations)
        found = map_blocks(score, blocks, jobs)
        return np.concatenate([part for part, _ in found]), np.concatenate([mass for _, mass in found])

    def _split(self, node: _Open, choice: _Choice, evaluations: Evaluations) -> _Grown:
        column = self.problem.table.columns[choice.candidate.column]
        inside = choice.candidate.inside(column.codes[node.rows])
        grown = []
        for k, side in enumerate((inside, ~inside)):
            # Cut out when this side is grown, and dropped with it: never both sides at once.
            cut_out = partial(evaluations.divide, inside, column.position, k == 0)
            weight, disagreements = float(choice.mass[k]), choice.disagreements[k]
            below = self._open(node.rows[side], weight, cut_out, node.depth + 1, disagreements, choice.gain)
            grown.append(self.grow(below))
        left, right = conditions(column, choice.candidate, node.rows, self.problem.missing)
        nodes = (grown[0].node, grown[1].node)
        split = Split(column.name, left, right, nodes, len(node.rows), self._fraction(node), node.plug_in)
        return _Grown(split, grown[0].remaining + grown[1].remaining, grown[0].leaves + grown[1].leaves)

    def _pruned(self, node: _Open, grown: list[_Grown]) -> _Grown:
        """The best subtree, or a leaf when its splits do not pay for their regions (C3)."""
        alpha = self.settings.alpha
        costs = np.array([tree.remaining + alpha * tree.leaves for tree in grown])
        best = best_of(costs, TOLERANCE)
        if node.share + alpha <= costs[best] + TOLERANCE:
            return self._leaf(node, "split undone")
        return grown[best]

    def _leaf(self, node: _Open, reason: str) -> _Grown:
        return _Grown(Leaf(len(node.rows), self._fraction(node), node.plug_in, reason), node.share, 1)

    def _fraction(self, node: _Open) -> float:
        return node.weight / self.problem.shares.total


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
