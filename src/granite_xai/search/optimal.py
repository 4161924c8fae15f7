"""The best tree of two levels over all cuts of a node, and what that proves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import IntArray
from granite_xai.base.wording import percent
from granite_xai.search.candidates import Candidate, cuts_of
from granite_xai.search.cells import LEFT, RIGHT
from granite_xai.search.finer import by_column, thinned
from granite_xai.search.lookahead import NO_CUT, CutTree, SideCosts, TwoLevels
from granite_xai.search.problem import Problem
from granite_xai.search.tables import RegionTables
from granite_xai.search.ties import TIE, rounded

PAIR_BYTES = 64  # that each pair of cuts of two columns takes
MEMORY_PART = 8  # tables of pairs take at most one part in so many of the memory limit


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best tree of up to two levels over some cuts of each column, and what it costs."""

    cost: float
    tree: CutTree
    n_cuts: int  # of a column, at most
    all_cuts: bool  # whether these are all cuts of the node
    all_directions: bool  # whether costs are exact, not by the strongest directions of interactions

    def certificate(self, found: float, kept: str, corrected: bool) -> dict[str, Any]:
        """What is proven of all trees of two levels, and which tree was kept.

        Parameters
        ----------
        found : float
            Cost of the tree that was kept.
        kept : str
            The search that found it.
        corrected : bool
            Whether costs are without what sampling noise adds.
        """
        where = "the root's cuts"
        if not self.all_cuts:
            where = f"at most {self.n_cuts} of the root's cuts a feature"
        basis = "that the fitting rows show, not corrected for chance"
        if corrected:
            basis = "without what chance adds"
        if not self.all_directions:
            basis += ", by the strongest directions of each interaction"
        text = (
            f"No tree of depth 2 over {where} leaves less than {percent(self.cost)} (shares of the "
            f"disagreement {basis}, plus the price of each region)."
        )
        if found < self.cost - TIE:
            text += (
                f" The tree that was kept ({kept}) draws other cuts or is deeper, "
                f"and leaves {percent(found)}."
            )
        if found > self.cost + TIE:
            text += (
                f" The tree that was kept ({kept}) leaves {percent(found)}, "
                "no more by the replicates of this fit."
            )
        return {
            "depth": 2,
            "objective": self.cost,
            "cuts": self.n_cuts,
            "found": found,
            "kept": kept,
            "text": text,
        }


def best_two_levels(
    problem: Problem,
    tables: RegionTables,
    rows: IntArray,
    options: Sequence[Candidate],
    alpha: float,
) -> Optimum:
    """The best tree over all cuts of a node; over fewer, which it says, where memory is short.

    Parameters
    ----------
    problem : Problem
    tables : RegionTables
    rows : array
        Rows of the node.
    options : sequence of Candidate
        All cuts of the node.
    alpha : float
        Price of a region.
    """
    groups = by_column(options)
    longest = max(map(len, groups))
    n_pairs = len(groups) * (len(groups) + 1) // 2
    affordable = isqrt(problem.resources.memory_limit // MEMORY_PART // (PAIR_BYTES * n_pairs))
    n_cuts = max(2, min(longest, affordable))
    groups = [thinned(group, n_cuts) for group in groups]
    levels = TwoLevels(
        tables=tables.of_node(rows),
        cuts=[cuts_of(group, problem.table, rows)[0] for group in groups],
        options=groups,
        alpha=alpha,
    )
    costs = levels.side_costs()
    has_changed = True
    while has_changed:  # where costs have changed another tree may be the best
        has_changed = _turn_chance_splits_into_leaves(problem, tables, rows, levels, costs)
    cost, tree = levels.trees(costs)[0]
    return Optimum(
        cost=cost,
        tree=tree,
        n_cuts=n_cuts,
        all_cuts=n_cuts >= longest,
        all_directions=tables.all_directions,
    )


def _turn_chance_splits_into_leaves(
    problem: Problem,
    tables: RegionTables,
    rows: IntArray,
    levels: TwoLevels,
    costs: Sequence[SideCosts],
) -> bool:
    """Make regions of the parts that the best tree divides though they show only chance.

    A part is not divided either if it holds less than the price of a region. Returns whether any
    was turned.
    """
    if problem.chance is None or not tables.corrected:
        return False
    totals = [rounded(of_column.least_total()) for of_column in costs]
    column = int(np.argmin(totals))
    chosen = costs[column]
    number = chosen.best()
    cut = levels.options[column][number]
    goes_left = cut.goes_left(problem.table, rows)
    node = tables.of_node(rows)
    remaining = node.sides([levels.cuts[column]])[0][:, number]  # (2,) of both sides as regions
    has_turned = False
    for side in (LEFT, RIGHT):
        if chosen.column[side, number] == NO_CUT:
            continue
        side_rows = rows[goes_left == (side == LEFT)]
        chance = problem.chance.chance_in(
            problem.evaluations.restrict(side_rows), side_rows, problem.n_jobs
        )
        if remaining[side] < levels.alpha or problem.only_chance(chance):
            chosen.cost[side, number] = remaining[side] + levels.alpha
            chosen.column[side, number] = NO_CUT
            has_turned = True
    return has_turned


def refused() -> InputError:
    """The refusal of questions whose disagreement does not follow from sums over rows (P03)."""
    text = (
        'search="optimal" serves questions whose disagreement follows from sums over rows: "ice-pdp" '
        'and "mplot-pdp" with a squared loss, "sobol", "variance", "csobol-sobol", and "pfi-risk" '
        'and "cfi-pfi" with squared errors, about single features or groups.'
    )
    hint = 'Pass search="refined" or "greedy" for this question.'
    return InputError(text, code="P03", argument="search", hint=hint)
