"""Tables over pairs of cuts: what each of the four parts would leave if a node were cut along two columns.

Where the gap of a row is a mean over the rows of its region of a fixed matrix, sums over the cells of a grid of two
columns give the gaps of every rectangle of the grid, so that all trees of two levels can be compared at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations_with_replacement
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute import in_threads, one_blas_thread, resolve_jobs
from granite_xai.compute.compiled import available, compiled, primitives_for
from granite_xai.compute.kernels import quarter_sums
from granite_xai.compute.primitives import SQUARE, ArrayNamespace, Families
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Cut, Splits
from granite_xai.interaction import union
from granite_xai.search.candidates import Candidate, cuts_of
from granite_xai.search.problem import Problem

TILE = 2**16  # pairs of rows looked at together: few enough for the cache
STAGES = (4, 8, 16, 32, 64, 128, 256, 512)  # sets, by share, after which pairs of cuts that cannot be best are dropped
# The gap of one set for some references and rows, (references, rows); in a region it is the mean over its rows.
PairGap = Sequence[Callable[[IntArray, IntArray], FloatArray]]
Known = dict[tuple[int, int], FloatArray]  # by pair of columns, what their quarters leave; infinite: of no use


class Plan(NamedTuple):
    """A tree of cuts: the candidate at the top, and what follows on both sides; None: nothing."""

    candidate: Candidate
    left: Plan | None = None
    right: Plan | None = None

    @property
    def height(self) -> int:
        """Splits on the longest way down."""
        return 1 + max(0 if side is None else side.height for side in (self.left, self.right))


class _Grid:
    """Two cuts of some rows: the cell of each row, and one over the mass of each quarter."""

    def __init__(self, one: Cut, two: Cut, weights: FloatArray, primitives: ArrayNamespace) -> None:
        self.cuts, self.shape = (one, two), (one.left.shape[1], two.left.shape[1])
        self.cells = one.classes * self.shape[1] + two.classes
        # The cuts of both columns, and the whole as a last one.
        self.families = [Families([np.vstack([cut.left, np.ones_like(cut.left[:1])])]) for cut in self.cuts]
        self.order = primitives.order(self.cells[None], Families([np.zeros((0, np.prod(self.shape)), dtype=np.bool_)]))
        mass = self.quarters(weights)
        some = mass > 0.5 * weights.min()  # less than the lightest row is round-off of nothing
        self.scale = np.divide(1.0, mass, out=np.zeros_like(mass), where=some)

    def quarters(self, weights: FloatArray | None) -> FloatArray:
        """Rows or mass of every quarter, (4, k, l)."""
        table = np.bincount(self.cells, weights, minlength=self.shape[0] * self.shape[1]).reshape(self.shape)
        first, second = (cut.left.astype(np.float64) for cut in self.cuts)
        return np.stack([(a @ table) @ b.T for a in (first, 1.0 - first) for b in (second, 1.0 - second)])


@dataclass(frozen=True, eq=False)
class PairTables:
    """The objective of a problem by pairs of cuts."""

    problem: Problem
    least: int  # rows of a region, at least
    gaps: tuple[tuple[float, int, PairGap], ...]  # factor of the question, mode of its loss, and the gap of each set

    @classmethod
    def of(cls, problem: Problem, least: int) -> PairTables | None:
        """The tables of a problem, sets of larger share first; None where a gap is no mean over pairs of rows."""
        known, found = problem.evaluations, []
        splits = Splits.whole(known.weights, known.primitives)
        for question, factor in zip(problem.shares.comparisons, problem.shares.factors.tolist(), strict=True):
            if not isinstance(question, ResolvedQuestion) or not in_pairs(question):
                return None
            mode, sets = question.measure.mode or SQUARE, question.first.layout.sets
            for members, gap, values in zip(sets, question.gaps, question.gap_values(known, splits), strict=True):
                own = known.outputs[question.output].on_grid(union(members))
                parts = [partial(masking.masked(own, splits).pair_block, terms) for masking, terms in gap.items()]
                found.append((factor * (known.weights @ question.loss(values[0])), (factor, mode, parts)))
        found = sorted((entry for entry in found if entry[0] > 0), key=lambda entry: -entry[0])
        return cls(problem, least, tuple(entry for _, entry in found))

    def tables(self, rows: IntArray, pairs: Sequence[tuple[Cut, Cut]], sets: slice = slice(None)) -> list[FloatArray]:
        """What some sets leave in the quarters of some pairs of cuts, (4, k, l); infinite in those too small."""
        # Left and left, left and right, right and left, right and right.
        weights, P = self.problem.evaluations.weights[rows], primitives_for(len(rows) ** 2)
        grids = [_Grid(one, two, weights, P) for one, two in pairs]
        with one_blas_thread():
            add = partial(_of_set, rows, weights, grids, P)
            found = in_threads(add, self.gaps[sets], resolve_jobs(self.problem.n_jobs))
        shares, total = self.problem.shares, []
        for number, grid in enumerate(grids):
            sums: FloatArray = np.sum([each[number] for each in found], axis=0)
            scaled = sums / shares.total if shares.by_mass else sums * grid.scale
            total.append(np.where(grid.quarters(None) < self.least, np.inf, scaled))
        return total

    def sides(
        self, rows: IntArray, cuts: Sequence[Cut], pairs: Sequence[tuple[Cut, Cut]] = ()
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """What all sets leave on both sides of the cuts of each column, (2, k); and in the quarters of some pairs."""
        everyone = Cut(-1, np.zeros(len(rows), dtype=np.intp), np.ones((1, 1), dtype=np.bool_))
        found = self.tables(rows, [*((cut, everyone) for cut in cuts), *pairs])
        return [table[::2, :, 0] for table in found[: len(cuts)]], found[len(cuts) :]


def in_pairs(question: ResolvedQuestion) -> bool:
    """Whether gaps are means over pairs of rows, so that tables over pairs of cuts know them."""
    linear = question.first.behavior.is_linear and question.measure.mode is not None
    return linear and all(masking.in_pairs for masking in question.gaps[0])


def _of_set(
    rows: IntArray, weights: FloatArray, grids: list[_Grid], P: ArrayNamespace, gap: tuple[float, int, PairGap]
) -> list[FloatArray]:
    """Sums of one set's losses over the quarters of every grid."""
    factor, mode, parts = gap
    found, step = [np.zeros_like(grid.scale) for grid in grids], max(1, TILE // len(rows))
    for start in range(0, len(rows), step):
        tile = slice(start, start + step)
        block = reduce(np.add, (part(rows, rows[tile]) for part in parts)) * weights[:, None]
        for grid, out in zip(grids, found, strict=True):
            (A, B), c = grid.shape, block.shape[1]
            one = P.left_sums(P.segment_sum(block, grid.order).reshape(A, B * c), grid.families[0]).reshape(B, -1)
            both = P.left_sums(one, grid.families[1]).reshape(c, len(grid.cuts[0].left) + 1, -1)
            inside = [cut.left.T[cut.classes[tile]] for cut in grid.cuts]
            _add(mode, both, inside, grid.scale, factor * weights[tile], out)
    return found


def _add(
    mode: int, sums: FloatArray, inside: list[BoolArray], scale: FloatArray, weights: FloatArray, out: FloatArray
) -> None:
    """Add the loss of each row's mean over its own quarter, weighted, to out (4, k, l)."""
    # From sums over what both cuts send left, (c, k + 1, l + 1), the last of each being all rows.
    if available():
        compiled(quarter_sums)(mode, *map(np.ascontiguousarray, (sums, *inside)), scale, weights, out)
        return
    both, above, every, total = sums[:, :-1, :-1], sums[:, :-1, -1:], sums[:, -1:, :-1], sums[:, -1:, -1:]
    parts = (both, above - both, every - both, total - above - every + both)
    here, there = inside[0][:, :, None], inside[1][:, None, :]
    members = (here & there, here & ~there, ~here & there, ~here & ~there)
    for quarter, part in enumerate(parts):
        gaps = np.where(members[quarter], part * scale[quarter], 0.0)
        out[quarter] += np.einsum("i,ikl->kl", weights, np.square(gaps) if mode == SQUARE else np.abs(gaps))


def one_side(quarters: FloatArray, side: int, first: bool) -> FloatArray:
    """What both parts of one side leave, (k, l); the ``first`` column is cut first."""
    return np.asarray(np.sum(quarters[2 * side : 2 * side + 2] if first else quarters[side::2], axis=0))


class _Sides(NamedTuple):
    """For every cut of a column the least cost of both its sides, and the second cut that reaches it."""

    cost: FloatArray  # (2, k)
    after: IntArray  # (2, 2, k): numbers of the column and of the cut; -1: no second cut


@dataclass(frozen=True, eq=False)
class TwoLevels:
    """All trees of up to two levels over some candidates of each column."""

    tables: PairTables
    rows: IntArray
    options: Sequence[Sequence[Candidate]]  # by column
    alpha: float

    def best(self, bound: float = np.inf) -> list[tuple[float, Plan]]:
        """For each column the best tree that cuts it first, with its cost; the least cost comes first."""
        # Costs are shares plus the price of each region. Exact: a pair of cuts is dropped only when what the first sets
        # leave exceeds the best tree known so far.
        table = self.tables.problem.table
        cuts = [cuts_of(each, table, self.rows)[0] for each in self.options]
        single, _ = self.tables.sides(self.rows, cuts)
        bound = min(bound, *(float(np.min(sides.sum(axis=0))) + 2 * self.alpha for sides in single))
        pairs = combinations_with_replacement(range(len(cuts)), 2)
        known: Known = {pair: np.zeros((4, *(len(cuts[i].left) for i in pair))) for pair in pairs}
        count = len(self.tables.gaps)
        stops = [*(stop for stop in STAGES if stop < count), count]
        for start, stop in zip([0, *stops], stops, strict=False):
            alive = {pair: np.any(np.isfinite(quarters), axis=0) for pair, quarters in known.items()}
            live = {pair: (np.flatnonzero(some.any(1)), np.flatnonzero(some.any(0))) for pair, some in alive.items()}
            live = {pair: lines for pair, lines in live.items() if len(lines[0])}
            parts = [(cuts[a].at(r), cuts[b].at(c)) for (a, b), (r, c) in live.items()]
            found = self.tables.tables(self.rows, parts, slice(start, stop))
            for (pair, (r, c)), quarters in zip(live.items(), found, strict=True):
                known[pair][:, r[:, None], c] += quarters
            sides = self._sides(single, known)
            if stop < count:
                self._drop(known, sides, bound + 1e-10)
        return sorted((self._plan(column, each) for column, each in enumerate(sides)), key=itemgetter(0))

    def _plan(self, column: int, sides: _Sides) -> tuple[float, Plan]:
        number = int(np.argmin(costs := sides.cost.sum(axis=0)))
        below = [Plan(self.options[i][k]) if i >= 0 else None for i, k in sides.after[:, :, number].T.tolist()]
        return float(costs[number]), Plan(self.options[column][number], *below)

    def _sides(self, single: Sequence[FloatArray], known: Known) -> list[_Sides]:
        """The least cost of each side of every cut: a region, or two by the best second cut."""
        found = [_Sides(sides + self.alpha, np.full((2, 2, sides.shape[1]), -1)) for sides in single]
        for _, root, child, side, costs in self._costs(known):
            cost, after = found[root]
            best, least = np.argmin(costs, axis=1), np.min(costs, axis=1)
            better = least < cost[side] - 1e-12
            cost[side][better], after[0, side, better], after[1, side, better] = least[better], child, best[better]
        return found

    def _costs(self, known: Known) -> Iterator[tuple[tuple[int, int], int, int, int, FloatArray]]:
        """Pair of columns, the one above and the one below, side, and the cost of every cut above with every below."""
        for (a, b), quarters in known.items():
            for root, child in dict.fromkeys([(a, b), (b, a)]):
                for side in (0, 1):
                    costs = one_side(quarters, side, root == a) + 2 * self.alpha
                    yield (a, b), root, child, side, costs if root == a else costs.T

    def _drop(self, known: Known, sides: Sequence[_Sides], bound: float) -> None:
        """Drop the pairs of cuts that no tree within the bound can use: sets still to come leave no less than 0."""
        useful = {pair: np.zeros(quarters.shape[1:], dtype=np.bool_) for pair, quarters in known.items()}
        for pair, root, _, side, costs in self._costs(known):
            fits = costs + sides[root].cost[1 - side][:, None] <= bound
            useful[pair] |= fits if root == pair[0] else fits.T
        for pair, some in useful.items():
            known[pair][:, ~some] = np.inf
