"""Better trees than greedy ones: sharper cuts, a look two levels ahead, second thoughts, and the best two levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isqrt
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import percent
from granite_xai.compute.compiled import available
from granite_xai.search.candidates import Candidate, best_of, cut_codes, cuts_of, ordered
from granite_xai.search.pairs import PairTables, Plan, TwoLevels, one_side
from granite_xai.tables import Table

SHARPENED = 3  # columns whose best cut is sharpened
BETWEEN = 256  # values between two cuts that are tried at once; of more, first so many, then those around the best
AHEAD = {
    True: 9,
    False: 5,
}  # cuts of each column in tables over pairs, with and without compiled loops
MOST_PAIRS = (
    2**31
)  # pairs of rows, of columns, and sets, multiplied, for a look ahead; of wide tables the best columns
FINE, COARSE = 19, 9  # cuts of a column in second thoughts
PASSES = 4  # second thoughts, at most
PAIR_BYTES = 64  # that each pair of cuts of two columns takes
Score = Callable[[list[Candidate]], FloatArray]
Costed = tuple[float, Plan | None]


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
        """That cut and about so many others of its column; groups of levels are those it was chosen from."""
        column, counts, family = (
            self.table.columns[like.column],
            self._counts(rows, like),
            like.family,
        )
        if column.kind not in ("nominal", "boolean"):
            family = ordered(
                column,
                counts,
                np.unique(np.maximum([*cut_codes(counts[1:], most + 1), like.code], 0)),
            )
        return thinned(family.enough(counts, self.least), 2 * most)

    def between(
        self, rows: IntArray, options: Sequence[Candidate], best: Candidate, most: int
    ) -> list[Candidate]:
        """At most so many cuts strictly between the neighbours of the best one of a column's cuts; none: all known."""
        column = self.table.columns[best.column]
        if column.kind in ("nominal", "boolean") or best.code < 0:
            return []
        counts, tried = self._counts(rows, best), {option.code for option in options}
        present, low = (
            np.flatnonzero(counts[1:]),
            max((code for code in tried if code < best.code), default=-1),
        )
        high = min((code for code in tried if code > best.code), default=present[-1])
        found = ordered(column, counts, present[(present > low) & (present < high)]).enough(
            counts, self.least
        )
        return thinned([option for option in found if option.code not in tried], most)

    def _counts(self, rows: IntArray, like: Candidate) -> IntArray:
        column = self.table.columns[like.column]
        return np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)

    def sharpened(
        self, rows: IntArray, options: list[Candidate], scores: FloatArray, score: Score
    ) -> list[Candidate]:
        """The best cut of each of the best columns, among all values between the neighbours of its best quantile."""
        places = [
            list(group)
            for _, group in groupby(range(len(options)), key=lambda k: options[k].column)
        ]
        found = []
        for group in sorted(places, key=lambda group: float(np.min(scores[group])))[:SHARPENED]:
            known = [options[k] for k in group]
            first = best = known[best_of(scores[group])]
            while finer := self.between(rows, known, best, BETWEEN):
                best = finer[best_of(score(finer))]
                known += finer
            found += [] if best is first else [best]
        return found


class Optimum(NamedTuple):
    """The best tree of up to two levels over some cuts of each column, and what it costs."""

    cost: float
    plan: Plan
    cuts: int  # of a column, at most
    all_cuts: bool  # whether these are all cuts of the node

    def certificate(self, found: float, kept: str, corrected: bool) -> dict[str, Any]:
        """What is proven of all trees of two levels, and which tree was kept."""
        where = (
            "the root's cuts"
            if self.all_cuts
            else f"at most {self.cuts} of the root's cuts a column"
        )
        text = f"No tree of depth 2 over {where} leaves less than {percent(self.cost)} (shares of the disagreement "
        both = "that the fitting rows show, not corrected for chance", "without what chance adds"
        text += f"{both[corrected]}, plus the price of each region)."
        if found < self.cost - 1e-10:
            text += f" The tree that was kept ({kept}) draws other cuts or is deeper, and leaves {percent(found)}."
        if found > self.cost + 1e-10:
            text += f" The tree that was kept ({kept}) leaves {percent(found)}, no more by the replicates of this fit."
        return {
            "depth": 2,
            "objective": self.cost,
            "cuts": self.cuts,
            "found": found,
            "kept": kept,
            "text": text,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """Plans by tables over pairs of cuts, for the objective: shares plus alpha for each region."""

    tables: PairTables
    cutter: Cutter
    alpha: float

    def first(self, rows: IntArray, options: Sequence[Candidate], scores: FloatArray) -> Candidate:
        """The first cut of the best tree of two levels over a coarse grid."""
        groups = by_column(options)
        wide = max(2, isqrt(2 * max(MOST_PAIRS // len(rows) ** 2 // len(self.tables.gaps), 1)))
        if len(groups) > wide:
            ends = np.cumsum([len(group) for group in groups])
            least = [float(np.min(part)) for part in np.split(scores, ends[:-1])]
            groups = [groups[k] for k in sorted(np.argsort(least, kind="stable")[:wide])]
        plans = self._best(rows, groups, AHEAD[available()])[:SHARPENED]
        trees = [*(self.recut(rows, plan) for _, plan in plans), *plans[:1]]
        return (min(trees, key=lambda found: round(found[0], 12))[1] or plans[0][1]).candidate

    def optimum(self, rows: IntArray, options: Sequence[Candidate], memory: int) -> Optimum:
        """The best over all cuts of a node; over fewer, which it says, without compiled loops or so much memory."""
        groups = by_column(options)
        room, longest = (
            isqrt(memory // (PAIR_BYTES * len(groups) * (len(groups) + 1) // 2)),
            max(map(len, groups)),
        )
        most = max(2, min(longest, room, longest if available() else AHEAD[False]))
        return Optimum(*self._best(rows, groups, most)[0], most, most >= longest)

    def _best(
        self, rows: IntArray, groups: Sequence[Sequence[Candidate]], most: int
    ) -> list[tuple[float, Plan]]:
        return TwoLevels(
            self.tables, rows, [thinned(group, most) for group in groups], self.alpha
        ).best()

    def cost(self, rows: IntArray, plan: Plan) -> float:
        """What a plan leaves as it is, and the price of its regions."""
        both = zip(self._halves(rows, plan.candidate), plan[1:], strict=True)
        return sum(
            leaf if below is None else self.cost(side, below) for (side, leaf), below in both
        )

    def recut(self, rows: IntArray, plan: Plan, fine: bool = True) -> Costed:
        """The cost of the columns of a plan with other thresholds, and the plan; None: a region is better."""
        at = plan.candidate
        options = self.cutter.cuts(rows, at, FINE if fine else COARSE)
        if not options:
            return np.inf, None
        if plan.height <= 2:
            return self._two_levels(rows, plan, options, fine)
        if not fine:
            return self._below(rows, plan, at, fine)
        known = tried = [at, *thinned(options, COARSE)]
        best = np.inf
        while tried:
            place = int(
                np.argmin(costs := [self._below(rows, plan, option, False)[0] for option in tried])
            )
            if costs[place] < best - 1e-10:
                best, at = costs[place], tried[place]
            tried = self.cutter.between(rows, known, at, COARSE)
            known = known + tried
        return self._below(rows, plan, at, True)

    def _halves(self, rows: IntArray, option: Candidate) -> list[tuple[IntArray, float]]:
        """The rows on both sides of a cut, and what they cost as regions; infinite: too few."""
        inside = option.inside(self.cutter.table.columns[option.column].codes[rows])
        one, two = (
            self.tables.sides(rows, cuts_of([option], self.cutter.table, rows))[0][0][:, 0]
            + self.alpha
        )
        return [(rows[inside], float(one)), (rows[~inside], float(two))]

    def _below(self, rows: IntArray, plan: Plan, option: Candidate, fine: bool) -> Costed:
        """A plan with this cut at its top and everything below cut again."""
        total, parts = 0.0, []
        for (side, leaf), below in zip(self._halves(rows, option), plan[1:], strict=True):
            cost, part = (np.inf, None) if below is None else self.recut(side, below, fine)
            parts.append(part if cost < leaf else None)
            total += min(cost, leaf)
        return total, Plan(option, *parts)

    def _two_levels(
        self, rows: IntArray, plan: Plan, options: list[Candidate], fine: bool
    ) -> Costed:
        """The best thresholds of two levels with their columns: a grid, and then all values around its best."""
        most, below = FINE if fine else COARSE, (plan.left, plan.right)
        axes = [
            options,
            *(
                [] if side is None else self.cutter.cuts(rows, side.candidate, most)
                for side in below
            ),
        ]
        known, best, chosen = axes, np.inf, [options[0], None, None]
        while any(axes):
            # What has no finer cuts stays where it is.
            axes = [
                new or ([] if at is None else [at]) for new, at in zip(axes, chosen, strict=True)
            ]
            cost, found = self._grid(rows, axes)
            if cost < best - 1e-10:
                best, chosen = cost, found
            if not fine:
                break
            both = zip(known, chosen, strict=True)
            axes = [
                [] if at is None else self.cutter.between(rows, seen, at, most) for seen, at in both
            ]
            known = [seen + new for seen, new in zip(known, axes, strict=True)]
        top, *ends = chosen
        return best, None if top is None else Plan(
            top, *(None if end is None else Plan(end) for end in ends)
        )

    def _grid(
        self, rows: IntArray, axes: Sequence[list[Candidate]]
    ) -> tuple[float, list[Candidate | None]]:
        """The best cut at the top and on both sides; None: this side is a region."""
        top, *cuts = (cuts_of(axis, self.cutter.table, rows) for axis in axes)
        second = [side for side in (0, 1) if cuts[side]]
        (single,), tables = self.tables.sides(
            rows, top, [(top[0], cuts[side][0]) for side in second]
        )
        costs, after = single + self.alpha, np.full(single.shape, -1)
        for side, table in zip(second, tables, strict=True):
            both = one_side(table, side, True) + 2 * self.alpha
            least = both.min(axis=1)
            after[side] = np.where(least < costs[side] - 1e-12, both.argmin(axis=1), -1)
            costs[side] = np.minimum(costs[side], least)
        place = best_of(costs.sum(axis=0))
        ends = [
            axes[side + 1][k] if k >= 0 else None for side, k in enumerate(after[:, place].tolist())
        ]
        return float(costs[:, place].sum()), [axes[0][place], *ends]


def refused() -> InputError:
    """The refusal of questions whose gaps are no means over pairs of rows (P03)."""
    which = 'such as "ice-pdp", "shap-pdp", "ice-shap" and "coe", with a squared or absolute loss.'
    text = f'search="optimal" serves local questions whose maskings are marginal or one baseline, {which}'
    return InputError(
        text,
        code="P03",
        argument="search",
        hint='Pass search="refined" or "greedy" for this question.',
    )
