"""Better trees than greedy ones: sharper cuts, a look two levels ahead, and second thoughts about upper thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute.compiled import available
from granite_xai.search.candidates import Candidate, best_of, cut_codes, cuts_of, ordered
from granite_xai.search.pairs import PairTables, Plan, TwoLevels
from granite_xai.tables import Table

SHARPENED = 3
"""Columns whose best cut is sharpened."""
BETWEEN = 256
"""Values between two neighbouring cuts that are tried at once; of more, first so many, then those around the best."""
AHEAD = {True: 9, False: 5}
"""Cuts of each column in tables over pairs, with and without compiled loops."""
MOST_PAIRS = 2**31
"""Pairs of rows, times pairs of columns, times sets, that a look ahead may cost; of wide tables the best columns."""
FINE, COARSE = 19, 9
"""Cuts of a column in second thoughts."""
PASSES = 4
"""Second thoughts, at most."""


def by_column(options: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates of each column; those of a column are neighbours."""
    return [list(group) for _, group in groupby(options, key=attrgetter("family"))]


def thinned(options: Sequence[Candidate], most: int) -> list[Candidate]:
    """At most so many of the candidates, evenly."""
    if len(options) <= most:
        return list(options)
    return [options[(2 * k + 1) * len(options) // (2 * most)] for k in range(most)]


@dataclass(frozen=True, slots=True, eq=False)
class Cutter:
    """Cuts of one column in the rows of a node."""

    table: Table
    least: int

    def cuts(self, rows: IntArray, like: Candidate, most: int) -> list[Candidate]:
        """At most about so many cuts of the column of a candidate; groups of levels are those it was chosen from."""
        column = self.table.columns[like.column]
        counts = self._counts(rows, like)
        family = like.family
        if column.kind not in ("nominal", "boolean"):
            family = ordered(column, counts, cut_codes(counts[1:], most + 1))
        family = family.enough(counts, self.least)
        return thinned([Candidate(family, number) for number in range(len(family.inner))], 2 * most)

    def between(self, rows: IntArray, options: Sequence[Candidate], best: Candidate, most: int) -> list[Candidate]:
        """At most so many cuts strictly between the neighbours of the best one of a column's cuts; none: all known."""
        column = self.table.columns[best.column]
        if column.kind in ("nominal", "boolean") or best.code < 0:
            return []
        counts = self._counts(rows, best)
        tried, at, present = {option.code for option in options}, best.code, np.flatnonzero(counts[1:])
        low = max((code for code in tried if code < at), default=-1)
        high = min((code for code in tried if code > at), default=present[-1])
        codes = present[(present > low) & (present < high)]
        family = ordered(column, counts, codes).enough(counts, self.least)
        found = [Candidate(family, number) for number in range(len(family.inner))]
        return thinned([option for option in found if option.code not in tried], most)

    def _counts(self, rows: IntArray, like: Candidate) -> IntArray:
        column = self.table.columns[like.column]
        return np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)


def sharpened(
    cutter: Cutter,
    rows: IntArray,
    options: Sequence[Candidate],
    scores: FloatArray,
    score: Callable[[Sequence[Candidate]], FloatArray],
) -> list[Candidate]:
    """The best cut of each of the best columns, among all values between the neighbours of its best quantile."""
    places = [list(group) for _, group in groupby(range(len(options)), key=lambda k: options[k].column)]
    leading = sorted(places, key=lambda group: float(np.min(scores[group])))[:SHARPENED]
    found = []
    for group in leading:
        known = [options[k] for k in group]
        best = known[best_of(scores[group])]
        while finer := cutter.between(rows, known, best, BETWEEN):
            best = finer[best_of(score(finer))]
            known += finer
        if best not in (options[k] for k in group):
            found.append(best)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """Plans by tables over pairs of cuts, for the objective: shares plus alpha for each region."""

    tables: PairTables
    cutter: Cutter
    alpha: float

    def first(self, rows: IntArray, options: Sequence[Candidate], scores: FloatArray) -> Candidate:
        """The first cut of the best tree of two levels over a coarse grid."""
        most = AHEAD[available()]
        groups = by_column(options)
        n_sets, room = len(self.tables.gaps), MOST_PAIRS // len(rows) ** 2
        wide = int(np.sqrt(2 * max(room // n_sets, 1)))
        if len(groups) > wide:
            ends = np.cumsum([len(group) for group in groups])
            least = [float(np.min(part)) for part in np.split(scores, ends[:-1])]
            groups = [groups[k] for k in sorted(np.argsort(least, kind="stable")[: max(wide, 2)])]
        coarse = [thinned(group, most) for group in groups]
        plans = TwoLevels(self.tables, rows, coarse, self.alpha, self.cutter.least).best()[:SHARPENED]
        sharp = [self._recut(rows, plan, fine=True) for _, plan in plans]
        _, best = min([*sharp, *plans[:1]], key=itemgetter(0))
        return (best or plans[0][1]).candidate

    def again(self, plan: Plan, rows: IntArray) -> Plan:
        """The same columns with the best thresholds that can be found for them."""
        return self._recut(rows, plan, fine=True)[1] or plan

    def _recut(self, rows: IntArray, plan: Plan, fine: bool) -> tuple[float, Plan | None]:
        """The cost of the columns of a plan with other thresholds, and the plan; None: a region is better."""
        options = self.cutter.cuts(rows, plan.candidate, FINE if fine else COARSE)
        if not options:
            return np.inf, None
        if plan.height <= 2:
            return self._two_levels(rows, plan, options, fine)
        column = self.cutter.table.columns[plan.candidate.column]
        if not fine:
            return self._below(rows, plan, plan.candidate, column.codes[rows], fine)
        known = [plan.candidate, *thinned(options, COARSE)]
        best: tuple[float, Plan | None] = (np.inf, None)
        at = plan.candidate
        tried = known
        while tried:
            costs = [self._below(rows, plan, option, column.codes[rows], False) for option in tried]
            place = int(np.argmin([cost for cost, _ in costs]))
            if costs[place][0] < best[0] - 1e-10:
                best, at = costs[place], tried[place]
            tried = self.cutter.between(rows, known, at, COARSE) if at.column == plan.candidate.column else []
            known = known + tried
        return self._below(rows, plan, at, column.codes[rows], True)

    def _below(
        self, rows: IntArray, plan: Plan, option: Candidate, codes: IntArray, fine: bool
    ) -> tuple[float, Plan | None]:
        """A plan with this cut at its top and everything below cut again."""
        inside = option.inside(codes)
        if min(inside.sum(), (~inside).sum()) < self.cutter.least:
            return np.inf, None
        cut = cuts_of([option], self.cutter.table, rows)
        leaves = self.tables.sides(rows, cut)[0][0][:, 0] + self.alpha
        total, parts = 0.0, []
        for side, below, leaf in zip((inside, ~inside), (plan.left, plan.right), leaves.tolist(), strict=True):
            cost, part = (np.inf, None) if below is None else self._recut(rows[side], below, fine)
            parts.append(part if cost < leaf else None)
            total += min(cost, leaf)
        return total, Plan(option, *parts)

    def _two_levels(
        self, rows: IntArray, plan: Plan, options: list[Candidate], fine: bool
    ) -> tuple[float, Plan | None]:
        """The best thresholds of two levels with their columns: a grid, and then all values around its best."""
        below = (plan.left, plan.right)
        most = FINE if fine else COARSE
        axes = [options, *([] if side is None else self.cutter.cuts(rows, side.candidate, most) for side in below)]
        known = [list(axis) for axis in axes]
        best, chosen = np.inf, [options[0], None, None]
        while axes[0]:
            cost, found = self._grid(rows, axes)
            if cost < best - 1e-10:
                best, chosen = cost, found
            if not fine:
                break
            finer = [
                [] if at is None else self.cutter.between(rows, seen, at, most)
                for seen, at in zip(known, chosen, strict=True)
            ]
            if not any(finer):
                break
            # What has no finer cuts stays where it is.
            axes = [new or ([] if at is None else [at]) for new, at in zip(finer, chosen, strict=True)]
            known = [seen + new for seen, new in zip(known, finer, strict=True)]
        top, *ends = chosen
        return best, None if top is None else Plan(top, *(None if end is None else Plan(end) for end in ends))

    def _grid(self, rows: IntArray, axes: Sequence[list[Candidate]]) -> tuple[float, list[Candidate | None]]:
        """The best cut at the top and on both sides; None: this side is a region."""
        top, *cuts = ([] if not axis else cuts_of(axis, self.cutter.table, rows) for axis in axes)
        after: list[IntArray | None] = [None, None]
        second = [side for side in (0, 1) if cuts[side]]
        single, tables = self.tables.sides(rows, top, [(top[0], cuts[side][0]) for side in second])
        costs = [side + self.alpha for side in single[0]]
        chosen: list[Candidate | None] = [None, None]
        for side, table in zip(second, tables, strict=True):
            both = table.side(side, True, self.cutter.least) + 2 * self.alpha
            least = both.min(axis=1)
            after[side] = np.where(least < costs[side] - 1e-12, both.argmin(axis=1), -1)
            costs[side] = np.minimum(costs[side], least)
        place = best_of(costs[0] + costs[1])
        for side in (0, 1):
            numbers = after[side]
            if numbers is not None and numbers[place] >= 0:
                chosen[side] = axes[side + 1][int(numbers[place])]
        return float(costs[0][place] + costs[1][place]), [axes[0][place], *chosen]
