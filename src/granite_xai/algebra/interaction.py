"""Interaction: how much of what S does together with other columns is credited to S.

Every operator is a fixed linear combination of values of the game. ``players`` are disjoint coalitions
(columns, or groups merged), ``members`` those of the set S: k for an interaction of order k. With the
discrete derivative

    Delta(S, T) = sum over L within S of (-1)^(|S|-|L|) nu(T + L)

pure is ``Delta(S, nothing)``, full is ``Delta(S, all others)`` and partial a weighted mean over all T
(docs/method.rst, "What is compared" and C20).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial
from typing import ClassVar, TypeVar

from granite_xai.base.options import unknown
from granite_xai.base.typing import Coalition, Players, subsets, union, without

Key = TypeVar("Key")
Weighted = Mapping[Coalition, float]
"""A linear combination of values of coalitions."""


def weighted_sum(summands: Iterable[tuple[float, Mapping[Key, float]]]) -> dict[Key, float]:
    """A sum of linear combinations, each with its factor, without what cancels."""
    total: dict[Key, float] = {}
    for factor, terms in summands:
        for term, coefficient in terms.items():
            total[term] = total.get(term, 0.0) + factor * coefficient
    return {term: coefficient for term, coefficient in total.items() if coefficient != 0.0}


def derivative(members: Players, present: Coalition) -> dict[Coalition, float]:
    """The discrete derivative ``Delta(S, T)`` as a linear combination of coalitions.

    Parameters
    ----------
    members : sequence of coalitions
        The players of S.
    present : coalition
        T, the columns that are visible all the while.
    """
    terms = {}
    for joining in subsets(members):
        sign = (-1.0) ** (len(members) - len(joining))
        terms[present | union(joining)] = sign
    return terms


@dataclass(frozen=True, slots=True)
class Pure:
    """What S does alone: ``nu(S) - nu(nothing)``, for interactions ``Delta(S, nothing)``.

    Examples
    --------
    >>> Pure().terms([frozenset({0}), frozenset({1})], [frozenset({1})])
    {frozenset(): -1.0, frozenset({1}): 1.0}
    """

    key: ClassVar[str] = "pure"

    def terms(self, players: Players, members: Players) -> Weighted:
        """The values this effect of S is made of."""
        return derivative(members, present=frozenset())


@dataclass(frozen=True, slots=True)
class Full:
    """What is lost when S alone is hidden: ``nu(D) - nu(D without S)``, for interactions ``Delta(S, D without S)``.

    Examples
    --------
    >>> Full().terms([frozenset({0}), frozenset({1})], [frozenset({1})])
    {frozenset({0}): -1.0, frozenset({0, 1}): 1.0}
    """

    key: ClassVar[str] = "full"

    def terms(self, players: Players, members: Players) -> Weighted:
        """The values this effect of S is made of."""
        return derivative(members, present=union(without(players, members)))


def _faithful_weight(p: int, k: int, t: int) -> float:
    scale = factorial(2 * k - 1) / factorial(k - 1) ** 2
    return scale * factorial(p - t - 1) * factorial(t + k - 1) / factorial(p + k - 1)


# Weight of ``Delta(S, T)`` by the number of players p, of members k of S, and of players t in T (C20). For one member
# all but Banzhaf's are the Shapley value. At the top order k-SII equals SII. Banzhaf's is the same for all T: effects
# need not add up.
INDICES: dict[str, Callable[[int, int, int], float]] = {
    "shapley-taylor": lambda p, k, t: k / (p * comb(p - 1, t)),
    "sii": lambda p, k, t: 1 / ((p - k + 1) * comb(p - k, t)),
    "k-sii": lambda p, k, t: 1 / ((p - k + 1) * comb(p - k, t)),
    "fsii": _faithful_weight,
    "banzhaf": lambda p, k, t: 0.5 ** (p - k),
}


@dataclass(frozen=True, slots=True)
class Partial:
    """A fair share of every interaction S takes part in: the Shapley value, for interactions an index of order k.

    Parameters
    ----------
    index : str
        ``"shapley-taylor"`` (default), ``"sii"``, ``"k-sii"`` or ``"fsii"``, which differ only for interactions, or
        ``"banzhaf"``: the mean over all coalitions of others, also for single columns.

    Examples
    --------
    >>> terms = Partial().terms([frozenset({0}), frozenset({1})], [frozenset({0})])
    >>> terms[frozenset({0})], terms[frozenset()]
    (0.5, -0.5)
    """

    index: str = "shapley-taylor"
    key: ClassVar[str] = "partial"

    def __post_init__(self) -> None:
        if self.index not in INDICES:
            raise unknown("index", self.index, INDICES)

    @property
    def is_shapley(self) -> bool:
        """Whether the effect of one player is its Shapley value."""
        return self.index != "banzhaf"

    def terms(self, players: Players, members: Players) -> Weighted:
        """The values this effect of S is made of: every coalition of players."""
        weight_of_size = INDICES[self.index]
        return weighted_sum(
            (
                weight_of_size(len(players), len(members), len(others)),
                derivative(members, present=union(others)),
            )
            for others in subsets(without(players, members))
        )

    def sampled(self, order: Players, members: Players) -> Weighted:
        """The same effect from one order of arrival: ``Delta(S, players before its first member)`` (C19).

        Parameters
        ----------
        order : sequence of coalitions
            All players, as they arrive.
        members : sequence of coalitions
            The players of S.
        """
        first_arrival = min(order.index(member) for member in members)
        return derivative(members, present=union(order[:first_arrival]))


@dataclass(frozen=True, slots=True)
class Whole:
    """The prediction itself, ``nu(D)``: one side of the question ``coe``."""

    key: ClassVar[str] = "whole"

    def terms(self, players: Players, members: Players) -> Weighted:
        """The values this effect is made of."""
        return {union(players): 1.0}


@dataclass(frozen=True, slots=True)
class Additive:
    """The additive surrogate G: ``nu(nothing)`` plus all pure effects up to an order.

    See docs/method.rst, "What a description is".
    """

    order: int = 1
    key: ClassVar[str] = "additive"

    def terms(self, players: Players, members: Players) -> Weighted:
        """The values this effect is made of."""
        sets: list[Players] = []
        for size in range(self.order + 1):
            sets += combinations(players, size)
        return weighted_sum((1.0, derivative(subset, present=frozenset())) for subset in sets)


Interaction = Pure | Partial | Full | Whole | Additive
INTERACTIONS: dict[str, Interaction] = {"pure": Pure(), "partial": Partial(), "full": Full()}
