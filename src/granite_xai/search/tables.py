"""What the parts of a node would leave if it were cut once, or along two columns at once.

Sums over the rows of a region tell its disagreement (room ``moments``), and sums over the parts of
all cuts are cheap (`cells`). Sets of a question whose sums have the same form are worked on together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from granite_xai.base.typing import BoolArray, Elementwise, FloatArray, IntArray
from granite_xai.compute import in_threads, resolve_jobs
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Cut
from granite_xai.moments.chance import chance_by_region
from granite_xai.moments.statistics import FullAgainstPure, Statistics
from granite_xai.search.cells import (
    CellMembership,
    PartBatch,
    Quarters,
    Sides,
    quarter_batches,
    side_batches,
)
from granite_xai.search.problem import Problem

PARTS_AT_ONCE = 2600  # parts that are worked on together
NUMBERS_AT_ONCE = 2**18  # sums that are worked on together: products times parts, for the cache
NODES_KEPT = 4  # nodes that are kept for the next question about the same rows, whatever their size
BYTES_KEPT = 2**25  # memory up to which more nodes are kept
NEGLIGIBLE = 1e-3  # share of all squared gaps between two rows below which a set decides nothing


@dataclass(frozen=True, eq=False)
class SetShare:
    """One set of one question: its statistics, the loss of its gap, and its factor in the objective."""

    statistics: Statistics
    loss: Elementwise
    factor: float
    question: int  # number of the question

    def take(self, rows: IntArray) -> SetShare:
        """Only some of the rows."""
        return replace(self, statistics=self.statistics.take(rows))


@dataclass(frozen=True, eq=False)
class SetStack:
    """Sets of one question whose sums have the same form, side by side.

    Parameters
    ----------
    form : SetShare
        One of them; of its statistics only the kind, the rank and the number of bins are read.
    n_sets : int
    n_products : int
        Of each set.
    n_bins : int
        A set with bins stands alone.
    """

    form: SetShare
    n_sets: int
    n_products: int
    n_bins: int

    @property
    def width(self) -> int:
        """Numbers of a row that are summed up."""
        return self.n_sets * self.n_products

    def pair_gaps(self, sums: FloatArray) -> FloatArray:
        """Of each set its factor times the mean square of gaps between two rows, from sums (width,).

        These limit what the set shows in any part. The disagreement of the node itself does not:
        gaps may cancel there, and not in its parts. Infinite: the question has no such gaps.
        """
        statistics = self.form.statistics
        if not isinstance(statistics, FullAgainstPure):
            return np.full(self.n_sets, np.inf)
        by_set = sums.reshape(self.n_sets, self.n_products).T[:, None]  # (n_products, 1, n_sets)
        return self.form.factor * statistics.mean_squared_pair_gap(by_set)

    def leaves(self, sums: FloatArray, counts: FloatArray, corrected: bool) -> FloatArray:
        """What the sets leave together in parts of a node.

        Parameters
        ----------
        sums : array of shape (n_bins * width, n_parts)
        counts : array of shape (n_parts,)
            Rows of each part.
        corrected : bool
            Whether what sampling noise adds is taken off.
        """
        statistics = self.form.statistics
        by_product = sums.reshape(self.n_sets * self.n_bins, self.n_products, len(counts))
        by_product = np.moveaxis(by_product, 1, 0)
        if statistics.bins is None:
            by_product = by_product[:, None]  # (n_products, 1, n_sets, n_parts)
        disagreement = statistics.disagreement(by_product, self.form.loss)
        if corrected and isinstance(statistics, FullAgainstPure):
            disagreement = disagreement - chance_by_region(statistics, by_product, counts)
        if statistics.bins is None:
            disagreement = disagreement.sum(axis=0)
        return np.asarray(self.form.factor * disagreement)


@dataclass(frozen=True, eq=False)
class ProductBlock:
    """What is summed up of each row for some stacks.

    Parameters
    ----------
    stacks : tuple of SetStack
    products : array of shape (n_rows, width)
        The products of all stacks side by side.
    bins : array of shape (n_rows,), optional
        Bin of each row; a block with bins holds one set.
    """

    stacks: tuple[SetStack, ...]
    products: FloatArray
    bins: IntArray | None

    def take(self, rows: IntArray) -> ProductBlock:
        """Only some of the rows."""
        bins = None if self.bins is None else self.bins[rows]
        return replace(self, products=self.products[rows], bins=bins)

    def pair_gaps(self) -> list[FloatArray]:
        """Mean squares of the gaps between two rows: for each stack one number a set."""
        sums = self.products.sum(axis=0)
        ends = np.cumsum([stack.width for stack in self.stacks])
        return [
            stack.pair_gaps(of_stack)
            for stack, of_stack in zip(self.stacks, np.split(sums, ends[:-1]), strict=True)
        ]

    def only(self, kept: Sequence[BoolArray]) -> ProductBlock | None:
        """Only some of the sets, given for each stack; None: none of them."""
        if all(of_stack.all() for of_stack in kept):
            return self
        stacks = []
        columns = []
        for stack, of_stack in zip(self.stacks, kept, strict=True):
            columns.append(np.repeat(of_stack, stack.n_products))
            if of_stack.any():
                stacks.append(replace(stack, n_sets=int(np.count_nonzero(of_stack))))
        if not stacks:
            return None
        products = self.products[:, np.concatenate(columns)]
        return replace(self, stacks=tuple(stacks), products=products)

    def in_pieces(self, most_products: int) -> Iterator[ProductBlock]:
        """Blocks of neighbouring sets with at most so many products, unless one set has more."""
        if self.products.shape[1] <= most_products:
            yield self
            return
        stacks: list[SetStack] = []
        first = 0
        end = 0
        for stack in self.stacks:
            n_left = stack.n_sets
            while n_left > 0:
                n_sets = min(n_left, (most_products - (end - first)) // stack.n_products)
                if n_sets <= 0 and stacks:
                    yield replace(self, stacks=tuple(stacks), products=self.products[:, first:end])
                    stacks = []
                    first = end
                    continue
                n_sets = max(n_sets, 1)
                stacks.append(replace(stack, n_sets=n_sets))
                end += n_sets * stack.n_products
                n_left -= n_sets
        yield replace(self, stacks=tuple(stacks), products=self.products[:, first:end])

    def leaves(
        self, membership: CellMembership, is_enough: BoolArray, counts: FloatArray, corrected: bool
    ) -> Iterator[tuple[int, FloatArray]]:
        """For each stack the number of its question, and what its sets leave in parts.

        Parameters
        ----------
        membership : CellMembership
        is_enough : array of shape (n_parts,)
            Parts that are looked at.
        counts : array of shape (n_looked_at,)
            Their rows.
        corrected : bool
            Whether what sampling noise adds is taken off.
        """
        n_bins = self.stacks[0].n_bins
        most_products = NUMBERS_AT_ONCE // (n_bins * membership.n_parts)
        for piece in self.in_pieces(most_products):
            sums = membership.sums(piece.products, piece.bins, n_bins)
            if len(counts) < len(is_enough):
                sums = sums[is_enough]
            sums = np.ascontiguousarray(sums.T)  # parts last: numbers of a kind lie side by side
            start = 0
            for stack in piece.stacks:
                end = start + n_bins * stack.width
                yield stack.form.question, stack.leaves(sums[start:end], counts, corrected)
                start = end


def product_blocks(sets: Sequence[SetShare]) -> list[ProductBlock]:
    """Sets by question and form: those without bins in one block, the others in blocks of their own."""
    groups: dict[object, list[SetShare]] = {}
    for number, each in enumerate(sets):
        statistics = each.statistics
        alone = number if statistics.bins is not None else None
        key = (type(statistics), statistics.rank, each.question, alone)
        groups.setdefault(key, []).append(each)
    blocks = []
    stacks: list[SetStack] = []
    products: list[FloatArray] = []
    for group in groups.values():
        form = group[0]
        of_group = [each.statistics.products() for each in group]
        stack = SetStack(
            form=form,
            n_sets=len(group),
            n_products=of_group[0].shape[1],
            n_bins=form.statistics.n_bins,
        )
        if form.statistics.bins is None:
            stacks.append(stack)
            products.extend(of_group)
        else:
            blocks.append(ProductBlock((stack,), of_group[0], form.statistics.bins))
    if stacks:
        blocks.append(ProductBlock(tuple(stacks), np.hstack(products), None))
    return blocks


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
    corrected : bool
        Whether what sampling noise adds is taken off.
    all_directions : bool
        Whether the sets have all directions of their interactions, so that tables are exact.
    """

    sets: tuple[SetShare, ...]
    total_mass: float
    by_mass: bool
    min_samples: int
    n_jobs: int | None = None
    corrected: bool = False
    all_directions: bool = True
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
        all_gaps = np.concatenate([of_stack for of_block in pair_gaps for of_stack in of_block])
        least = NEGLIGIBLE * all_gaps[np.isfinite(all_gaps)].sum()
        kept = []
        for block, of_block in zip(blocks, pair_gaps, strict=True):
            smaller = block.only([of_stack > least for of_stack in of_block])
            if smaller is not None:
                kept.append(smaller)
        return NodeTables(self, tuple(kept), self.weights[rows])


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
        found = self._tables([batch for batch, _ in batches])
        positions = [position for _, some in batches for position in some]
        by_position = dict(zip(positions, found, strict=True))
        return [by_position[position] for position in range(len(found))]

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
        groups = list(_cache_sized(batches))
        by_group = in_threads(self._leaves, groups, resolve_jobs(self.settings.n_jobs))
        tables = []
        for group, leaves in zip(groups, by_group, strict=True):
            start = 0
            for batch in group:
                tables.extend(batch.tables(leaves[start : start + batch.n_parts]))
                start += batch.n_parts
        return tables

    def _leaves(self, batches: Sequence[PartBatch]) -> FloatArray:
        """What all parts of some batches leave; infinite where they have too few rows."""
        settings = self.settings
        membership = CellMembership(batches)
        ones_and_weights = np.column_stack([np.ones(len(self.weights)), self.weights])
        counts, mass = membership.sums(ones_and_weights).T
        is_enough = counts >= settings.min_samples
        by_question: dict[int, FloatArray] = {}
        enough_counts = counts[is_enough]
        for block in self.blocks:
            by_stack = block.leaves(membership, is_enough, enough_counts, settings.corrected)
            for question, leaves in by_stack:
                by_question[question] = by_question.get(question, 0.0) + leaves
        total = np.zeros(len(enough_counts))
        for leaves in by_question.values():
            # Corrected for noise a question leaves never less than nothing.
            total += np.maximum(leaves, 0.0) if settings.corrected else leaves
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


def region_tables(
    problem: Problem, min_samples: int, corrected: bool = False
) -> RegionTables | None:
    """The tables of a problem; None where a question that counts does not follow from sums.

    Parameters
    ----------
    problem : Problem
    min_samples : int
        Rows of a region, at least.
    corrected : bool
        Whether what sampling noise adds is taken off.
    """
    if len(problem.statistics) != len(problem.shares.comparisons):
        return None  # measures of a partitioner of its own
    sets: list[SetShare] = []
    all_directions = True
    shares = problem.shares
    factors = shares.factors
    if corrected and problem.chance is not None:
        factors = problem.chance.factors
    counted = zip(shares.comparisons, problem.statistics, factors.tolist(), strict=True)
    for number, (question, statistics, factor) in enumerate(counted):
        if factor == 0.0:
            continue
        if statistics is None or not isinstance(question, ResolvedQuestion):
            return None
        for own in statistics:
            shortened = own.shortened(few_directions=problem.is_repetition)
            sets.append(SetShare(shortened, question.loss, factor, number))
            all_directions &= own.rank == shortened.rank
    return RegionTables(
        sets=tuple(sets),
        total_mass=shares.total,
        by_mass=shares.by_mass,
        min_samples=min_samples,
        n_jobs=problem.n_jobs,
        corrected=corrected,
        all_directions=all_directions,
    )
