"""The best trees of two levels, with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any, NamedTuple

from granite_xai.base.errors import InputError
from granite_xai.base.typing import IntArray
from granite_xai.base.wording import percent
from granite_xai.compute.compiled import available
from granite_xai.search.candidates import Candidate
from granite_xai.search.pairs import Plan, TwoLevels
from granite_xai.search.refine import AHEAD, Ahead, by_column, thinned

PAIR_BYTES = 64
"""Bytes that each pair of cuts of two columns takes."""


def refused() -> InputError:
    """The refusal of questions whose gaps are no means over pairs of rows (P03)."""
    return InputError(
        'search="optimal" serves local questions whose maskings are marginal or one baseline, such as "ice-pdp", '
        '"shap-pdp", "ice-shap" and "coe", with a squared or absolute loss.',
        code="P03",
        argument="search",
        hint='Pass search="refined" or "greedy" for this question.',
    )


class Optimum(NamedTuple):
    """The best tree of up to two levels over some cuts of each column, and what it costs."""

    cost: float
    plan: Plan
    cuts: int  # of a column, at most
    all_cuts: bool  # whether these are all cuts of the node


def best_of_two_levels(ahead: Ahead, rows: IntArray, options: Sequence[Candidate], memory: int) -> Optimum:
    """The optimum over all cuts of a node; over fewer, which it says, without compiled loops or so much memory."""
    groups = by_column(options)
    most = max(map(len, groups))
    room = isqrt(memory // (PAIR_BYTES * len(groups) * (len(groups) + 1) // 2))
    most = max(2, min(most, room, most if available() else AHEAD[False]))
    fewer = [thinned(group, most) for group in groups]
    cost, plan = TwoLevels(ahead.tables, rows, fewer, ahead.alpha, ahead.cutter.least).best()[0]
    return Optimum(cost, plan, most, fewer == groups)


def certificate(optimum: Optimum, found: float, kept: str) -> dict[str, Any]:
    """What is proven of all trees of two levels, and which tree was kept."""
    where = "the root's cuts" if optimum.all_cuts else f"at most {optimum.cuts} of the root's cuts a column"
    text = (
        f"No tree of depth 2 over {where} leaves less than {percent(optimum.cost)} "
        "(shares of the disagreement plus the price of each region)."
    )
    if found < optimum.cost - 1e-10:
        text += f" The tree that was kept ({kept}) draws other cuts or is deeper, and leaves {percent(found)}."
    return {"depth": 2, "objective": optimum.cost, "cuts": optimum.cuts, "found": found, "kept": kept, "text": text}
