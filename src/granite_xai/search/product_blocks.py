"""Products of rows whose sums tell what the parts of a node leave, sets side by side.

Sums over the rows of a region tell its disagreement (room ``moments``). Sets of a question whose sums
have the same form are worked on together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from granite_xai.base.typing import BoolArray, Elementwise, FloatArray, IntArray
from granite_xai.moments.statistics import FullAgainstPure, Statistics
from granite_xai.search.cells import CellMembership

NUMBERS_AT_ONCE = 2**18  # sums that are worked on together: products times parts, for the cache


@dataclass(frozen=True, eq=False)
class SetShare:
    """One set of one question in the objective."""

    statistics: Statistics
    loss: Elementwise  # of its gap
    factor: float  # of the question in the objective
    question: int  # number of the question

    def take(self, rows: IntArray) -> SetShare:
        """Only some of the rows."""
        return replace(self, statistics=self.statistics.take(rows))


@dataclass(frozen=True, eq=False)
class SetStack:
    """Sets of one question whose sums have the same form, side by side.

    Parameters
    ----------
    representative : SetShare
        One of them; of its statistics only the kind, the rank and the number of bins are read.
    n_sets : int
    n_products : int
        Of each set.
    n_bins : int
        A set with bins stands alone.
    """

    representative: SetShare
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
        statistics = self.representative.statistics
        if not isinstance(statistics, FullAgainstPure):
            return np.full(self.n_sets, np.inf)
        by_set = sums.reshape(self.n_sets, self.n_products).T[:, None]  # (n_products, 1, n_sets)
        return self.representative.factor * statistics.mean_squared_pair_gap(by_set)

    def remaining(self, sums: FloatArray) -> FloatArray:
        """What the sets leave together in parts of a node, (n_parts,).

        Parameters
        ----------
        sums : array of shape (n_bins * width, n_parts)
        """
        statistics = self.representative.statistics
        by_product = sums.reshape(self.n_sets * self.n_bins, self.n_products, -1)
        by_product = by_product.swapaxes(0, 1)
        if statistics.bins is None:
            by_product = by_product[:, None]  # (n_products, 1, n_sets, n_parts)
        disagreement = statistics.disagreement(by_product, self.representative.loss)
        if statistics.bins is None:
            disagreement = disagreement.sum(axis=0)
        return np.asarray(self.representative.factor * disagreement)


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
        by_stack = []
        start = 0
        for stack in self.stacks:
            end = start + stack.width
            by_stack.append(stack.pair_gaps(sums[start:end]))
            start = end
        return by_stack

    def with_sets(self, is_wanted: Sequence[BoolArray]) -> ProductBlock | None:
        """Only some of the sets; None: there is none of them.

        Parameters
        ----------
        is_wanted : sequence of arrays of shape (n_sets,)
            For each stack which of its sets are wanted.
        """
        if all(sets_of_stack.all() for sets_of_stack in is_wanted):
            return self
        stacks = []
        columns = []
        for stack, sets_of_stack in zip(self.stacks, is_wanted, strict=True):
            columns.append(np.repeat(sets_of_stack, stack.n_products))
            if sets_of_stack.any():
                stacks.append(replace(stack, n_sets=int(np.count_nonzero(sets_of_stack))))
        if not stacks:
            return None
        products = self.products[:, np.concatenate(columns)]
        return replace(self, stacks=tuple(stacks), products=products)

    def pieces(self, most_products: int) -> Iterator[tuple[list[SetStack], int]]:
        """Neighbouring sets with at most so many products, unless one set has more.

        Yields their stacks, and the number of their first product.
        """
        stacks: list[SetStack] = []  # of the piece that is being filled
        n_products = 0
        start = 0
        for stack in self.stacks:
            n_waiting = stack.n_sets
            while n_waiting > 0:
                room = most_products - n_products
                n_sets = min(n_waiting, room // stack.n_products)
                if n_sets <= 0 and stacks:
                    yield stacks, start
                    start += n_products
                    stacks = []
                    n_products = 0
                    continue
                n_sets = max(n_sets, 1)
                stacks.append(replace(stack, n_sets=n_sets))
                n_products += n_sets * stack.n_products
                n_waiting -= n_sets
        yield stacks, start

    def remaining(
        self, membership: CellMembership, is_enough: BoolArray
    ) -> Iterator[tuple[int, FloatArray]]:
        """For each stack the number of its question, and what its sets leave in parts.

        Parameters
        ----------
        membership : CellMembership
        is_enough : array of shape (n_parts,)
            Parts that have enough rows; only these are looked at.
        """
        n_bins = self.stacks[0].n_bins  # with bins there is one set, and one piece
        by_cell = membership.by_cell(self.products, self.bins, n_bins)
        most_products = NUMBERS_AT_ONCE // (n_bins * membership.n_parts)
        for stacks, first in self.pieces(most_products):
            width = n_bins * sum(stack.width for stack in stacks)
            sums = membership.by_part(by_cell[:, first : first + width])
            if not is_enough.all():
                sums = sums[is_enough]
            sums = np.ascontiguousarray(sums.T)  # parts last: numbers of a kind lie side by side
            start = 0
            for stack in stacks:
                end = start + n_bins * stack.width
                remaining = stack.remaining(sums[start:end])
                yield stack.representative.question, remaining
                start = end


def product_blocks(sets: Sequence[SetShare]) -> list[ProductBlock]:
    """Sets without bins side by side in one block, the others in blocks of their own."""
    blocks = []
    stacks: list[SetStack] = []
    products: list[FloatArray] = []
    for group in _sets_of_same_form(sets):
        representative = group[0]
        products_of_sets = [set_share.statistics.products() for set_share in group]
        stack = SetStack(
            representative=representative,
            n_sets=len(group),
            n_products=products_of_sets[0].shape[1],
            n_bins=representative.statistics.n_bins,
        )
        bins = representative.statistics.bins
        if bins is None:
            stacks.append(stack)
            products.extend(products_of_sets)
        else:
            blocks.append(ProductBlock((stack,), products_of_sets[0], bins))
    if stacks:
        blocks.append(ProductBlock(tuple(stacks), np.hstack(products), None))
    return blocks


def _sets_of_same_form(sets: Sequence[SetShare]) -> list[list[SetShare]]:
    """Sets of one question whose sums have the same form; a set with bins is alone."""
    groups: dict[object, list[SetShare]] = {}
    for number, set_share in enumerate(sets):
        statistics = set_share.statistics
        number_if_alone = None if statistics.bins is None else number
        key = (type(statistics), statistics.rank, set_share.question, number_if_alone)
        groups.setdefault(key, []).append(set_share)
    return list(groups.values())
