"""Tables over pairs of cuts: what each of the four parts would leave if a node were cut along two columns.

Where the gap of a row is a mean over the rows of its region of a fixed matrix, sums over the cells of a grid of two
columns give the gaps of every rectangle of the grid, so that all trees of two levels can be compared at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from itertools import combinations_with_replacement
from operator import add
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.chance.replicates import ChanceRule
from granite_xai.compute import in_threads, one_blas_thread, resolve_jobs
from granite_xai.compute.compiled import available, compiled, primitives_for
from granite_xai.compute.kernels import quarter_sums
from granite_xai.compute.primitives import (
    ABSOLUTE,
    SQUARE,
    Array,
    ArrayNamespace,
    Families,
    Numpy,
    Pairs,
)
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Cut, Splits
from granite_xai.interaction import union
from granite_xai.search.candidates import Candidate, best_of, cuts_of
from granite_xai.search.problem import Problem

TILE = 2**16  # pairs of rows looked at together: few enough for the cache
KEPT = 8  # the matrices of gaps that are kept take two parts in so many of the memory limit
STAGES = (
    4,
    8,
    16,
    32,
    64,
    128,
    256,
    512,
)  # sets, by share, after which pairs of cuts that cannot be best are dropped
Known = dict[
    tuple[int, int], FloatArray
]  # by pair of columns, what their quarters leave; infinite: of no use


class Plan(NamedTuple):
    """A tree of cuts: the candidate at the top, and what follows on both sides; None: nothing."""

    candidate: Candidate
    left: Plan | None = None
    right: Plan | None = None

    @property
    def height(self) -> int:
        """Splits on the longest way down."""
        return 1 + max(0 if side is None else side.height for side in (self.left, self.right))


class _Side:
    """A cut of some rows, and the whole of them as a last one."""

    def __init__(self, cut: Cut, primitives: ArrayNamespace) -> None:
        self.left, self.classes = cut.left.astype(np.float64), cut.classes
        self.members = primitives.flags(np.ascontiguousarray(cut.left[:, cut.classes]))  # (k, n)
        self.families = Families([np.vstack([cut.left, np.ones_like(cut.left[:1])])])
        self.table = primitives.array(self.families.left[0])  # (k + 1, classes)


class _Grid:
    """Two cuts of some rows: the cell of each row, and one over the mass of each quarter."""

    def __init__(
        self, one: _Side, two: _Side, weights: FloatArray, primitives: ArrayNamespace
    ) -> None:
        self.sides, self.shape = (one, two), (one.left.shape[1], two.left.shape[1])
        self.cells = one.classes * self.shape[1] + two.classes
        self.order = primitives.order(
            self.cells[None], Families([np.zeros((0, np.prod(self.shape)), dtype=np.bool_)])
        )
        mass = self.quarters(weights)
        some = mass > 0.5 * weights.min()  # less than the lightest row is round-off of nothing
        self.scale = np.divide(1.0, mass, out=np.zeros_like(mass), where=some)

    def quarters(self, weights: FloatArray | None) -> FloatArray:
        """Rows or mass of every quarter, (4, k, l)."""
        table = np.bincount(self.cells, weights, minlength=self.shape[0] * self.shape[1]).reshape(
            self.shape
        )
        first, second = (side.left for side in self.sides)
        return np.stack(
            [(a @ table) @ b.T for a in (first, 1.0 - first) for b in (second, 1.0 - second)]
        )


@dataclass(frozen=True, eq=False)
class _PairGap:
    """The gap of one set as a matrix of references and rows: in a region that of a row is the mean of its column."""

    factor: float  # of the question
    mode: int  # of its loss
    parts: Sequence[Callable[[IntArray, IntArray], Array]]  # of references and rows
    weights: FloatArray
    primitives: ArrayNamespace  # where its parts are made
    kept: bool  # whether there is room for the whole matrix
    last: dict[bytes, list[Array]] = field(
        default_factory=dict
    )  # its blocks for the rows asked for last

    @cached_property
    def matrix(self) -> Array:
        """All references, times their weights, and all rows."""
        return self._made(every := np.arange(len(self.weights)), every)

    def blocks(self, rows: IntArray, tiles: list[slice], P: ArrayNamespace) -> Iterable[Array]:
        """Some references and the same rows, a few at a time."""
        if not self.kept:
            return (self._made(rows, rows[tile]) for tile in tiles)
        if (key := rows.tobytes()) not in self.last:
            self.last.clear()
            at = Pairs(rows, rows)
            self.last[key] = [
                P.pair_block(self.matrix, at, at.at(tile), 1.0, 0.0) for tile in tiles
            ]
        return self.last[key]

    def _made(self, references: IntArray, rows: IntArray) -> Array:
        weights = self.primitives.array(self.weights[references][:, None])
        return reduce(add, (part(references, rows) for part in self.parts)) * weights

    def squares(self, references: IntArray, rows: IntArray) -> Array:
        """Its squares, without the weights of references."""
        return self.factor * reduce(add, (part(references, rows) for part in self.parts)) ** 2


@dataclass(frozen=True, eq=False)
class PairTables:
    """The objective of a problem by pairs of cuts."""

    problem: Problem
    least: int  # rows of a region, at least
    gaps: tuple[_PairGap, ...]  # of each set that disagrees
    spread: _PairGap | None = (
        None  # the squares of all of them, where shares are without what chance adds
    )

    @classmethod
    def of(cls, problem: Problem, least: int, corrected: bool = False) -> PairTables | None:
        """The tables of a problem, sets of larger share first; None where a gap is no mean over pairs of rows."""
        known, found = problem.evaluations, []
        splits = Splits.whole(known.weights, known.primitives)
        rule, P = problem.chance if corrected and _closed_form(problem) else None, splits.primitives
        factors = problem.shares.factors if rule is None else rule.factors
        for question, factor in zip(problem.shares.comparisons, factors.tolist(), strict=True):
            if not isinstance(question, ResolvedQuestion) or not in_pairs(question):
                return None
            mode, sets = question.measure.mode or SQUARE, question.first.layout.sets
            for members, gap, values in zip(
                sets, question.gaps, question.gap_values(known, splits), strict=True
            ):
                own = known.outputs[question.output].on_grid(union(members))
                parts = [
                    partial(masking.masked(own, splits).pair_block, terms)
                    for masking, terms in gap.items()
                ]
                found.append(
                    (factor * (known.weights @ question.loss(values[0])), factor, mode, parts)
                )
        found = sorted((entry for entry in found if entry[0] > 0), key=lambda entry: -entry[0])
        room = (P.free or problem.resources.memory_limit) // KEPT // (8 * known.n_rows**2)
        gaps = tuple(
            _PairGap(*entry[1:], known.weights, P, number < room)
            for number, entry in enumerate(found)
        )
        spread = _PairGap(
            1.0, ABSOLUTE, [gap.squares for gap in gaps], known.weights, P, len(gaps) < room
        )
        return cls(problem, least, gaps, None if rule is None else spread)

    def tables(
        self, rows: IntArray, pairs: Sequence[tuple[Cut, Cut]], sets: slice = slice(None)
    ) -> list[FloatArray]:
        """What some sets leave in the quarters of some pairs of cuts, (4, k, l); infinite in those too small."""
        # Left and left, left and right, right and left, right and right.
        known, device, gaps = (
            self.problem.evaluations,
            self.problem.evaluations.primitives,
            self.gaps[sets],
        )
        weights, P = known.weights[rows], device or primitives_for(len(rows) ** 2)
        sides = {id(cut): _Side(cut, P) for pair in pairs for cut in pair}
        grids = [_Grid(sides[id(one)], sides[id(two)], weights, P) for one, two in pairs]
        with one_blas_thread():
            summed = partial(_of_sets, rows, weights, grids, P)
            tasks = (
                [list(gaps)]
                if device and len({gap.mode for gap in gaps}) == 1
                else [[gap] for gap in gaps]
            )
            found = in_threads(summed, tasks, 1 if device else resolve_jobs(self.problem.n_jobs))
        # A mean over n rows varies by chance as the mean square about it, over n - 1.
        squares = [0.0] * len(grids) if self.spread is None or sets.start else summed([self.spread])
        shares, total = self.problem.shares, []
        for number, (grid, square) in enumerate(zip(grids, squares, strict=True)):
            sums, rows_in = np.sum([each[number] for each in found], axis=0), grid.quarters(None)
            sums = (
                sums if self.spread is None else sums + (sums - square) / np.maximum(rows_in - 1, 1)
            )
            scaled = sums / shares.total if shares.by_mass else sums * grid.scale
            total.append(np.where(rows_in < self.least, np.inf, scaled))
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


def _closed_form(problem: Problem) -> bool:
    """Whether what replicates add on average is known: squares of plain means over rows that stand for themselves."""
    if problem.chance is None or np.ptp(problem.evaluations.weights) > 0:
        return False
    alone = len(np.unique(problem.chance.replicates.factors[0])) == problem.table.n_rows
    return alone and all(each.measure.mode == SQUARE for each in problem.chance.questions)


def _of_sets(
    rows: IntArray, weights: FloatArray, grids: list[_Grid], P: ArrayNamespace, gaps: list[_PairGap]
) -> list[FloatArray]:
    """Sums of the losses of some sets, of one kind, over the quarters of every grid; on a device of many at once."""
    on_host, count, n = isinstance(P, Numpy), len(gaps), len(rows)
    found, step = (
        [np.zeros_like(grid.scale) for grid in grids],
        max(1, (TILE if on_host else P.cells // 16) // n),
    )
    tiles = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    for tile, *blocks in zip(tiles, *(gap.blocks(rows, tiles, P) for gap in gaps), strict=True):
        own = np.concatenate([gap.factor * weights[tile] for gap in gaps])
        block = blocks[0] if count == 1 else P.concat(blocks, axis=1)
        for grid, out in zip(grids, found, strict=True):
            by_cell = P.xp.reshape(P.segment_sum(block, grid.order), (*grid.shape, -1))
            inside = [P.concat([side.members[:, tile]] * count, axis=1) for side in grid.sides]
            if on_host and available():
                added = (side.families.additions for side in grid.sides)
                compiled(quarter_sums)(gaps[0].mode, by_cell, *added, *inside, grid.scale, own, out)
            else:
                out += _quarter_sums(P, gaps[0].mode, by_cell, grid, inside, P.array(own))
    return found


def _quarter_sums(
    P: ArrayNamespace, mode: int, by_cell: Array, grid: _Grid, inside: list[Array], weights: Array
) -> FloatArray:
    """The same as the compiled loop: the loss of each row's mean over its own quarter, weighted, (4, k, l)."""
    (first, second), xp, (_, width, count) = (
        (side.table for side in grid.sides),
        P.xp,
        by_cell.shape,
    )
    sums = second @ xp.reshape(first @ xp.reshape(by_cell, (-1, width * count)), (-1, width, count))
    both, above, every, total = (
        sums[:-1, :-1, :],
        sums[:-1, -1:, :],
        sums[-1:, :-1, :],
        sums[-1:, -1:, :],
    )
    parts = (both, above - both, every - both, total - above - every + both)
    here, there = inside[0][:, None, :], inside[1][None, :, :]
    members, found = (here & there, here & ~there, ~here & there, ~here & ~there), []
    for member, part, scale in zip(members, parts, grid.scale, strict=True):
        gap = xp.where(member, part, xp.zeros_like(part)) * P.array(scale)[:, :, None]
        found.append((gap**2 if mode == SQUARE else xp.abs(gap)) @ weights)
    return P.host(xp.stack(found))


def one_side(quarters: FloatArray, side: int, first: bool) -> FloatArray:
    """What both parts of one side leave, (k, l); the ``first`` column is cut first."""
    return np.asarray(
        np.sum(quarters[2 * side : 2 * side + 2] if first else quarters[side::2], axis=0)
    )


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

    def best(self) -> list[tuple[float, Plan]]:
        """For each column the best tree that cuts it first, with its cost; the least cost comes first."""
        # Costs are shares plus the price of each region. Exact: a pair of cuts is dropped only when what the first sets
        # leave exceeds the best tree known so far.
        table = self.tables.problem.table
        cuts = [cuts_of(each, table, self.rows)[0] for each in self.options]
        single, _ = self.tables.sides(self.rows, cuts)
        bound = min(float(np.min(sides.sum(axis=0))) + 2 * self.alpha for sides in single)
        pairs = combinations_with_replacement(range(len(cuts)), 2)
        known: Known = {pair: np.zeros((4, *(len(cuts[i].left) for i in pair))) for pair in pairs}
        count = len(self.tables.gaps)
        stops = [*(stop for stop in STAGES if stop < count), count]
        for start, stop in zip([0, *stops], stops, strict=False):
            alive = {
                pair: np.any(np.isfinite(quarters), axis=0) for pair, quarters in known.items()
            }
            live = {
                pair: (np.flatnonzero(some.any(1)), np.flatnonzero(some.any(0)))
                for pair, some in alive.items()
            }
            live = {pair: lines for pair, lines in live.items() if len(lines[0])}
            parts = [(cuts[a].at(r), cuts[b].at(c)) for (a, b), (r, c) in live.items()]
            found = self.tables.tables(self.rows, parts, slice(start, stop))
            for (pair, (r, c)), quarters in zip(live.items(), found, strict=True):
                known[pair][:, r[:, None], c] += quarters
            sides = self._sides(single, known)
            if stop < count:
                self._drop(known, sides, bound + 1e-10)
        while (
            (rule := self.tables.problem.chance)
            and self.tables.spread
            and self._undone(single, sides, rule)
        ):
            pass
        plans = (self._plan(column, each) for column, each in enumerate(sides))
        return sorted(
            plans, key=lambda found: round(found[0], 12)
        )  # two columns in either order leave the same

    def _undone(
        self, single: Sequence[FloatArray], sides: Sequence[_Sides], rule: ChanceRule
    ) -> bool:
        """Whether the best tree splits parts that show only chance, or less than a region's price; regions then."""
        problem, numbers = (
            self.tables.problem,
            [best_of(each.cost.sum(axis=0), 1e-12) for each in sides],
        )
        column = min(
            range(len(sides)), key=lambda i: round(float(sides[i].cost[:, numbers[i]].sum()), 12)
        )
        (cost, after), number, undone = sides[column], numbers[column], False
        left = (option := self.options[column][number]).inside(
            problem.table.columns[option.column].codes[self.rows]
        )
        for k in np.flatnonzero(after[0, :, number] >= 0).tolist():
            rows, alone = self.rows[left == (k == 0)], single[column][k, number]
            shown = rule.of(problem.evaluations.restrict(rows), rows, problem.n_jobs)
            if alone < self.alpha or problem.only_chance(shown):
                cost[k, number], after[:, k, number], undone = alone + self.alpha, -1, True
        return undone

    def _plan(self, column: int, sides: _Sides) -> tuple[float, Plan]:
        number = best_of(costs := sides.cost.sum(axis=0), 1e-12)
        below = [
            Plan(self.options[i][k]) if i >= 0 else None
            for i, k in sides.after[:, :, number].T.tolist()
        ]
        return float(costs[number]), Plan(self.options[column][number], *below)

    def _sides(self, single: Sequence[FloatArray], known: Known) -> list[_Sides]:
        """The least cost of each side of every cut: a region, or two by the best second cut."""
        found = [
            _Sides(sides + self.alpha, np.full((2, 2, sides.shape[1]), -1)) for sides in single
        ]
        for _, root, child, side, costs in self._costs(known):
            cost, after = found[root]
            best, least = np.argmin(costs, axis=1), np.min(costs, axis=1)
            better = least < cost[side] - 1e-12
            cost[side][better], after[0, side, better], after[1, side, better] = (
                least[better],
                child,
                best[better],
            )
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
        useful = {
            pair: np.zeros(quarters.shape[1:], dtype=np.bool_) for pair, quarters in known.items()
        }
        for pair, root, _, side, costs in self._costs(known):
            fits = costs + sides[root].cost[1 - side][:, None] <= bound
            useful[pair] |= fits if root == pair[0] else fits.T
        for pair, some in useful.items():
            known[pair][:, ~some] = np.inf
