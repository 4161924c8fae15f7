"""What the parts of a node would leave if it were cut once, or along two columns at once.

Sums over the parts of all cuts are cheap (`cells`), and tell what each part leaves (`product_blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import in_threads, resolve_jobs
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Cut
from granite_xai.search.cells import (
    CellMembership,
    PartBatch,
    Quarters,
    Sides,
    quarter_batches,
    side_batches,
)
from granite_xai.search.problem import Problem
from granite_xai.search.product_blocks import ProductBlock, SetShare, product_blocks

PARTS_AT_ONCE = 2600  # parts that are worked on together
NODES_KEPT = 4  # nodes that are kept for the next question about the same rows, whatever their size
BYTES_KEPT = 2**25  # memory up to which more nodes are kept
NEGLIGIBLE = 1e-3  # share of all squared gaps between two rows below which a set decides nothing


@dataclass(frozen=True, eq=False)
class RegionTables:
    """The objective of a problem in the parts of its nodes.

    Parameters
    ----------
    sets : tuple of SetShare
        All sets of all questions that count, with the directions that a search reads.
    total_mass : float
        Mass of all rows of the fit.
    by_mass : bool
        Whether a region counts by its share of the mass.
    min_samples : int
        Rows of a region, at least; smaller parts are infinitely bad.
    n_jobs : int, optional
        Threads, over the parts.
    """

    sets: tuple[SetShare, ...]
    total_mass: float
    by_mass: bool
    min_samples: int
    n_jobs: int | None = None
    _recent: dict[bytes, NodeTables] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def blocks(self) -> list[ProductBlock]:
        """What is summed up, on all rows."""
        return product_blocks(self.sets)

    @property
    def weights(self) -> FloatArray:
        """Weights of all rows."""
        return self.sets[0].statistics.weights

    def for_every(self, step: int) -> RegionTables:
        """The same for nodes of which only every so manieth row is read."""
        thinner = replace(
            self,
            min_samples=max(1, self.min_samples // step),
            total_mass=self.total_mass / step,
        )
        vars(thinner)["blocks"] = self.blocks
        return thinner

    def of_node(self, rows: IntArray) -> NodeTables:
        """The tables of the rows of a node; sets that show next to nothing in any part are left out."""
        key = rows.tobytes()
        if key not in self._recent:
            self._recent[key] = self._new_tables(rows)
            n_bytes = sum(node.n_bytes for node in self._recent.values())
            while len(self._recent) > NODES_KEPT and n_bytes > BYTES_KEPT:
                n_bytes -= self._recent.pop(next(iter(self._recent))).n_bytes
        return self._recent[key]

    def _new_tables(self, rows: IntArray) -> NodeTables:
        if not self.sets:
            return NodeTables(self, (), np.ones(len(rows)))
        blocks = self.blocks
        if len(rows) < len(self.weights):
            blocks = [block.take(rows) for block in blocks]
        pair_gaps = [block.pair_gaps() for block in blocks]
        all_gaps = np.concatenate(list(chain.from_iterable(pair_gaps)))
        negligible = NEGLIGIBLE * all_gaps[np.isfinite(all_gaps)].sum()
        deciding = []
        for block, gaps_of_stacks in zip(blocks, pair_gaps, strict=True):
            smaller = block.with_sets([gaps > negligible for gaps in gaps_of_stacks])
            if smaller is not None:
                deciding.append(smaller)
        return NodeTables(self, tuple(deciding), self.weights[rows])


@dataclass(frozen=True, eq=False)
class NodeTables:
    """What the parts of one node leave, in shares of the disagreement on all rows.

    Parameters
    ----------
    settings : RegionTables
    blocks : tuple of ProductBlock
        Of the rows of the node.
    weights : array of shape (n_rows,)
    """

    settings: RegionTables
    blocks: tuple[ProductBlock, ...]
    weights: FloatArray

    @property
    def n_bytes(self) -> int:
        """Memory of the products."""
        return sum(block.products.nbytes for block in self.blocks)

    def sides(self, cuts: Sequence[Cut]) -> list[FloatArray]:
        """What both sides of the cuts of each column leave: (2, n_cuts) a column."""
        return self._in_order(side_batches(cuts, PARTS_AT_ONCE))

    def quarters(self, pairs: Sequence[tuple[Cut, Cut]]) -> list[FloatArray]:
        """What the four parts of every pair of cuts leave: (4, k, l) for each pair of columns."""
        return self._in_order(quarter_batches(pairs, PARTS_AT_ONCE))

    def _in_order(self, batches: Sequence[tuple[PartBatch, list[int]]]) -> list[FloatArray]:
        """The tables of all batches by the positions that these come with."""
        tables = self._tables([batch for batch, _ in batches])
        positions = chain.from_iterable(of_batch for _, of_batch in batches)
        by_position = dict(zip(positions, tables, strict=True))
        return [by_position[position] for position in range(len(tables))]

    def grid(
        self, upper: Cut, divided: Sequence[tuple[int, Cut]]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """What both sides of some cuts leave, as they are and divided by lower cuts.

        Parameters
        ----------
        upper : Cut
        divided : sequence of tuples
            A side of the upper cuts, and the lower cuts that divide it.

        Returns
        -------
        tuple
            (2, n_upper), and for each divided side (n_upper, n_lower).
        """
        batches: list[PartBatch] = [Sides([upper])]
        batches += [Quarters([(upper, lower)], side) for side, lower in divided]
        undivided, *quarters = self._tables(batches)
        return undivided, [table.sum(axis=0) for table in quarters]

    def _tables(self, batches: Sequence[PartBatch]) -> list[FloatArray]:
        """What the parts of all batches leave, as tables."""
        groups = list(_cache_sized(batches))
        by_group = in_threads(self._remaining, groups, resolve_jobs(self.settings.n_jobs))
        tables = []
        for group, remaining in zip(groups, by_group, strict=True):
            start = 0
            for batch in group:
                tables.extend(batch.tables(remaining[start : start + batch.n_parts]))
                start += batch.n_parts
        return tables

    def _remaining(self, batches: Sequence[PartBatch]) -> FloatArray:
        """What each part of some batches leaves, (n_parts,); infinite where it has too few rows."""
        settings = self.settings
        membership = CellMembership(batches)
        ones_and_weights = np.column_stack([np.ones(len(self.weights)), self.weights])
        counts, mass = membership.by_part(membership.by_cell(ones_and_weights)).T
        is_enough = counts >= settings.min_samples
        by_question: dict[int, FloatArray] = {}
        for block in self.blocks:
            by_stack = block.remaining(membership, is_enough)
            for question, remaining in by_stack:
                by_question[question] = by_question.get(question, 0.0) + remaining
        total = np.zeros(np.count_nonzero(is_enough))
        for remaining in by_question.values():
            total += remaining
        if settings.by_mass:
            total *= mass[is_enough] / settings.total_mass
        every_part = np.full(len(counts), np.inf)
        every_part[is_enough] = total
        return every_part


def _cache_sized(batches: Sequence[PartBatch]) -> Iterator[list[PartBatch]]:
    """Neighbouring batches that are worked on together."""
    group: list[PartBatch] = []
    n_parts = 0
    for batch in batches:
        if group and n_parts + batch.n_parts > PARTS_AT_ONCE:
            yield group
            group = []
            n_parts = 0
        group.append(batch)
        n_parts += batch.n_parts
    if group:
        yield group


def region_tables(problem: Problem, min_samples: int) -> RegionTables | None:
    """The tables of a problem; None where a question that counts does not follow from sums.

    Parameters
    ----------
    problem : Problem
    min_samples : int
        Rows of a region, at least.
    """
    if len(problem.statistics) != len(problem.shares.comparisons):
        return None  # measures of a partitioner of its own
    sets: list[SetShare] = []
    shares = problem.shares
    counted = zip(shares.comparisons, problem.statistics, shares.factors.tolist(), strict=True)
    for number, (question, statistics, factor) in enumerate(counted):
        if factor == 0.0:
            continue
        if statistics is None or not isinstance(question, ResolvedQuestion):
            return None
        for of_set in statistics:
            shortened = of_set.shortened(few_directions=problem.is_repetition)
            sets.append(SetShare(shortened, question.loss, factor, number))
    return RegionTables(
        sets=tuple(sets),
        total_mass=shares.total,
        by_mass=shares.by_mass,
        min_samples=min_samples,
        n_jobs=problem.n_jobs,
    )
