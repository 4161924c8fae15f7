"""Tables over pairs of cuts: what each of the four parts would leave if a node were cut along two columns.

Where the gap of a row is a mean over the rows of its region of a fixed matrix, sums over the cells of a grid of two
columns give the gaps of every rectangle of the grid, so that all trees of two levels can be compared at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations_with_replacement
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute import in_threads, one_blas_thread, resolve_jobs
from granite_xai.compute.compiled import available, compiled, primitives_for
from granite_xai.compute.kernels import quarter_sums
from granite_xai.compute.primitives import SQUARE, Families
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.engine.masked import PairGap
from granite_xai.engine.splits import Cut, Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.interaction import union
from granite_xai.search.candidates import Candidate, cuts_of
from granite_xai.search.problem import Problem

TILE = 2**16
"""Pairs of rows looked at together: few enough for the cache."""
GROUP = 2**10
"""Cells of the grids whose sums are formed together."""
STAGES = (4, 8, 16, 32, 64, 128, 256, 512)
"""Sets, in the order of their share, after which pairs of cuts that cannot be best any more are dropped."""


class Plan(NamedTuple):
    """A tree of cuts: the candidate at the top, and what follows on both sides; None: nothing."""

    candidate: Candidate
    left: Plan | None = None
    right: Plan | None = None

    @property
    def height(self) -> int:
        """Splits on the longest way down."""
        return 1 + max(0 if side is None else side.height for side in (self.left, self.right))


class Quarters(NamedTuple):
    """Of all pairs of cuts of two columns, (4, k, l): what is left in each of the four parts, and its rows.

    Left and left, left and right, right and left, right and right.
    """

    shares: FloatArray
    counts: FloatArray

    def side(self, side: int, first: bool, least: int) -> FloatArray:
        """What both parts of one side leave, infinite where one is too small; the ``first`` column is cut first."""
        parts = (2 * side, 2 * side + 1) if first else (side, side + 2)
        enough = np.min(self.counts[list(parts)], axis=0) >= least
        return np.where(enough, self.shares[parts[0]] + self.shares[parts[1]], np.inf)


@dataclass(frozen=True, eq=False)
class _Grid:
    """Two cuts of some rows: the cell of each row, and the rows and mass of each quarter."""

    one: Cut
    two: Cut
    weights: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.one.left.shape[1], self.two.left.shape[1]

    @cached_property
    def cells(self) -> IntArray:
        return self.one.classes * self.shape[1] + self.two.classes

    @cached_property
    def families(self) -> tuple[Families, Families]:
        """The cuts of both columns, and the whole as a last one."""
        first, second = (Families([np.vstack([cut.left, np.ones_like(cut.left[:1])])]) for cut in (self.one, self.two))
        return first, second

    def quarters(self, weights: FloatArray | None) -> FloatArray:
        """Rows or mass of every quarter, (4, k, l)."""
        table = np.bincount(self.cells, weights, minlength=self.shape[0] * self.shape[1]).reshape(self.shape)
        first, second = (cut.left.astype(np.float64) for cut in (self.one, self.two))
        parts = [(a @ table) @ b.T for a in (first, 1.0 - first) for b in (second, 1.0 - second)]
        return np.stack(parts)

    @cached_property
    def mass(self) -> FloatArray:
        return self.quarters(self.weights)

    @cached_property
    def scale(self) -> FloatArray:
        """One over the mass of every quarter; what is less than the lightest row is round-off of nothing."""
        some = self.mass > 0.5 * self.weights.min()
        return np.divide(1.0, self.mass, out=np.zeros_like(self.mass), where=some)


@dataclass(frozen=True, eq=False)
class PairTables:
    """The objective of a problem by pairs of cuts."""

    problem: Problem
    gaps: tuple[tuple[float, int, PairGap], ...]  # factor of the question, mode of its loss, and the gap of each set

    @classmethod
    def of(cls, problem: Problem) -> PairTables | None:
        """The tables of a problem, sets of larger share first; None where a gap is no mean over pairs of rows."""
        known, found = problem.evaluations, []
        splits = Splits.whole(known.weights)
        for question, factor in zip(problem.shares.comparisons, problem.shares.factors.tolist(), strict=True):
            if not isinstance(question, ResolvedQuestion) or not in_pairs(question):
                return None
            sizes = [known.weights @ question.loss(values[0]) for values in question.gap_values(known, splits)]
            gaps, mode = pair_gaps(question, known, splits), question.measure.mode or SQUARE
            found += [(factor * size, (factor, mode, gap)) for size, gap in zip(sizes, gaps, strict=True)]
        found = sorted((entry for entry in found if entry[0] > 0), key=lambda entry: -entry[0])
        return cls(problem, tuple(entry for _, entry in found))

    def tables(self, rows: IntArray, pairs: Sequence[tuple[Cut, Cut]], sets: slice = slice(None)) -> list[Quarters]:
        """What some sets leave in the quarters of some pairs of cuts."""
        weights = self.problem.evaluations.weights[rows]
        grids = [_Grid(one, two, weights) for one, two in pairs]
        with one_blas_thread():
            add = partial(self._of_set, rows, grids, list(_groups(grids)))
            found = in_threads(add, self.gaps[sets], resolve_jobs(self.problem.n_jobs))
        shares, total = self.problem.shares, []
        for number, grid in enumerate(grids):
            sums: FloatArray = np.sum([each[number] for each in found], axis=0)
            scaled = sums / shares.total if shares.by_mass else sums * grid.scale
            total.append(Quarters(scaled, grid.quarters(None)))
        return total

    def _of_set(
        self, rows: IntArray, grids: list[_Grid], groups: list[list[int]], gap: tuple[float, int, PairGap]
    ) -> list[FloatArray]:
        """Sums of one set's losses over the quarters of every grid."""
        factor, mode, block_of = gap
        weights, found = self.problem.evaluations.weights[rows], [np.zeros_like(grid.mass) for grid in grids]
        P, step = primitives_for(len(rows) ** 2), max(1, TILE // len(rows))
        empty = [Families([np.zeros((0, np.prod(grids[i].shape)), dtype=np.bool_) for i in group]) for group in groups]
        orders = [
            P.order(np.stack([grids[i].cells for i in group]) + families.starts[:-1, None], families)
            for group, families in zip(groups, empty, strict=True)
        ]
        for start in range(0, len(rows), step):
            tile = slice(start, start + step)
            block = block_of(rows, rows[tile]) * weights[:, None]
            for group, families, order in zip(groups, empty, orders, strict=True):
                sums = P.segment_sum(block, order)
                for i, first in zip(group, families.starts, strict=False):
                    grid, (A, B), c = grids[i], grids[i].shape, block.shape[1]
                    cells = np.ascontiguousarray(sums[first : first + A * B])
                    one = P.left_sums(cells.reshape(A, B * c), grid.families[0]).reshape(B, -1)
                    both = P.left_sums(one, grid.families[1]).reshape(c, len(grid.one.left) + 1, -1)
                    here, there = (cut.left.T[cut.classes[tile]] for cut in (grid.one, grid.two))
                    _add(mode, both, here, there, grid.scale, factor * weights[tile], found[i])
        return found

    def sides(
        self, rows: IntArray, cuts: Sequence[Cut], pairs: Sequence[tuple[Cut, Cut]] = ()
    ) -> tuple[list[FloatArray], list[Quarters]]:
        """What all sets leave on both sides of the cuts of each column, (2, k); and in the quarters of some pairs."""
        everyone = Cut(-1, np.zeros(len(rows), dtype=np.intp), np.ones((1, 1), dtype=np.bool_))
        found = self.tables(rows, [*((cut, everyone) for cut in cuts), *pairs])
        return [table.shares[::2, :, 0] for table in found[: len(cuts)]], found[len(cuts) :]


def in_pairs(question: ResolvedQuestion) -> bool:
    """Whether gaps are means over pairs of rows, so that tables over pairs of cuts know them."""
    linear = question.first.behavior.is_linear and question.measure.mode is not None
    return linear and all(masking.in_pairs for masking in question.gaps[0])


def pair_gaps(question: ResolvedQuestion, evaluations: Evaluations, splits: Splits) -> Iterator[PairGap]:
    """The gap of each set as a mean over pairs of rows."""
    for members, gap in zip(question.first.layout.sets, question.gaps, strict=True):
        known = evaluations.on_grid(union(members))
        parts = tuple((masking.masked(known, splits), terms) for masking, terms in gap.items())
        yield PairGap(parts, splits.primitives)


def _groups(grids: Sequence[_Grid]) -> list[list[int]]:
    """Neighbouring grids whose sums are formed together."""
    groups: list[list[int]] = []
    room = 0
    for number, grid in enumerate(grids):
        cells = int(np.prod(grid.shape))
        if not groups or room < cells:
            groups.append([])
            room = GROUP
        groups[-1].append(number)
        room -= cells
    return groups


def _add(
    mode: int,
    sums: FloatArray,
    here: BoolArray,
    there: BoolArray,
    scale: FloatArray,
    weights: FloatArray,
    out: FloatArray,
) -> None:
    """Add the loss of each row's mean over its own quarter, weighted, to out (4, k, l).

    From sums over what both cuts send left, (c, k + 1, l + 1), the last of each being all rows.
    """
    if available():
        kernel = compiled(quarter_sums)
        kernel(mode, *(np.ascontiguousarray(part) for part in (sums, here, there)), scale, weights, out)
        return
    both, above, every, total = sums[:, :-1, :-1], sums[:, :-1, -1:], sums[:, -1:, :-1], sums[:, -1:, -1:]
    parts = (both, above - both, every - both, total - above - every + both)
    first, second = (here[:, :, None], ~here[:, :, None]), (there[:, None, :], ~there[:, None, :])
    for quarter, part in enumerate(parts):
        gaps = part * scale[quarter]
        loss = np.square(gaps) if mode == SQUARE else np.abs(gaps)
        members = first[quarter // 2] & second[quarter % 2]
        out[quarter] += np.einsum("i,ikl->kl", weights, np.where(members, loss, 0.0))


class _Sides(NamedTuple):
    """For every cut of a column the least cost of both its sides, (2, k), and the second cut that reaches it.

    Numbers of the column and the cut, (2, 2, k); -1: no second cut.
    """

    cost: FloatArray
    after: IntArray


@dataclass(frozen=True, eq=False)
class TwoLevels:
    """All trees of up to two levels over some candidates of each column."""

    tables: PairTables
    rows: IntArray
    options: Sequence[Sequence[Candidate]]  # by column
    alpha: float
    least: int

    def best(self, bound: float = np.inf) -> list[tuple[float, Plan]]:
        """For each column the best tree that cuts it first, with its cost: shares plus the price of each region.

        The tree of the least cost comes first.

        Exact: a pair of cuts is dropped only when what the first sets leave exceeds the best tree known so far.
        """
        table = self.tables.problem.table
        cuts = [cuts_of(each, table, self.rows)[0] for each in self.options]
        single, _ = self.tables.sides(self.rows, cuts)
        bound = min(bound, *(float(np.min(sides.sum(axis=0))) + 2 * self.alpha for sides in single))
        pairs = list(combinations_with_replacement(range(len(cuts)), 2))
        known = {pair: Quarters(*np.zeros((2, 4, *(len(cuts[i].left) for i in pair)))) for pair in pairs}
        alive = {pair: np.ones(table.shares.shape[1:], dtype=np.bool_) for pair, table in known.items()}
        count = len(self.tables.gaps)
        stops = [stop for stop in STAGES if stop < count] + [count]
        for start, stop in zip([0, *stops], stops, strict=False):
            live = {pair: (np.flatnonzero(some.any(1)), np.flatnonzero(some.any(0))) for pair, some in alive.items()}
            live = {pair: lines for pair, lines in live.items() if len(lines[0])}
            parts = [(_some(cuts[a], r), _some(cuts[b], c)) for (a, b), (r, c) in live.items()]
            found = self.tables.tables(self.rows, parts, slice(start, stop))
            for (pair, (r, c)), quarters in zip(live.items(), found, strict=True):
                known[pair].shares[:, r[:, None], c] += quarters.shares
                known[pair].counts[:, r[:, None], c] = quarters.counts
            sides = self._sides(single, known, alive)
            if stop < count:
                self._drop(known, alive, sides, bound + 1e-10)
        return sorted((self._plan(column, each) for column, each in enumerate(sides)), key=itemgetter(0))

    def _plan(self, column: int, sides: _Sides) -> tuple[float, Plan]:
        costs = sides.cost.sum(axis=0)
        number = int(np.argmin(costs))
        below = [Plan(self.options[i][k]) if i >= 0 else None for i, k in sides.after[:, :, number].T.tolist()]
        return float(costs[number]), Plan(self.options[column][number], *below)

    def _sides(
        self,
        single: Sequence[FloatArray],
        known: dict[tuple[int, int], Quarters],
        alive: dict[tuple[int, int], BoolArray],
    ) -> list[_Sides]:
        """The least cost of each side of every cut: a region, or two by the best second cut."""
        found = [_Sides(sides + self.alpha, np.full((2, 2, sides.shape[1]), -1)) for sides in single]
        for (a, b), quarters in known.items():
            for root, child in dict.fromkeys([(a, b), (b, a)]):
                for side in (0, 1):
                    costs = np.where(alive[a, b], quarters.side(side, root == a, self.least), np.inf) + 2 * self.alpha
                    costs = costs if root == a else costs.T
                    best = np.argmin(costs, axis=1)
                    least = costs[np.arange(len(best)), best]
                    better = least < found[root].cost[side] - 1e-12
                    found[root].cost[side][better] = least[better]
                    found[root].after[0, side, better], found[root].after[1, side, better] = child, best[better]
        return found

    def _drop(
        self,
        known: dict[tuple[int, int], Quarters],
        alive: dict[tuple[int, int], BoolArray],
        sides: Sequence[_Sides],
        bound: float,
    ) -> None:
        """Drop the pairs of cuts that no tree within the bound can use: sets still to come leave no less than 0."""
        for (a, b), quarters in known.items():
            useful = np.zeros_like(alive[a, b])
            for root in dict.fromkeys((a, b)):
                for side in (0, 1):
                    costs = quarters.side(side, root == a, self.least) + 2 * self.alpha
                    other = sides[root].cost[1 - side]
                    useful |= costs + (other[:, None] if root == a else other[None, :]) <= bound
            alive[a, b] &= useful


def _some(cut: Cut, lines: IntArray) -> Cut:
    return Cut.of(cut.column, cut.left[lines], cut.classes)
