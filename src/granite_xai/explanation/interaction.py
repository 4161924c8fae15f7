"""Interaction: how much of what S does together with other columns is credited to S.

Every operator is a fixed linear combination of values of the game. ``players`` are disjoint coalitions (columns, or
groups merged), ``members`` those of the set S: k for an interaction of order k. With the discrete derivative

    Delta(S, T) = sum over L within S of (-1)^(|S|-|L|) nu(T + L)

pure is ``Delta(S, nothing)``, full is ``Delta(S, all others)`` and partial a weighted mean over all T.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial
from typing import ClassVar

from granite_xai.base.coalitions import subsets, union, without
from granite_xai.base.typing import Coalition, Players as Players, Term, Terms
from granite_xai.base.validation import unknown


def add_terms(parts: Iterable[tuple[float, Terms]]) -> dict[Term, float]:
    """A weighted sum of linear combinations, without terms that cancel."""
    total: dict[Term, float] = {}
    for weight, terms in parts:
        for term, coefficient in terms.items():
            total[term] = total.get(term, 0.0) + weight * coefficient
    return {term: coefficient for term, coefficient in total.items() if coefficient != 0.0}


def derivative(members: Players, given: Coalition) -> Terms:
    """The discrete derivative ``Delta(S, T)`` as a linear combination of coalitions."""
    return {given | union(part): (-1.0) ** (len(members) - len(part)) for part in subsets(members)}


@dataclass(frozen=True, slots=True)
class Pure:
    """What S does alone: ``nu(S) - nu(nothing)``, for interactions ``Delta(S, nothing)``.

    Examples
    --------
    >>> Pure().terms([frozenset({0}), frozenset({1})], [frozenset({1})])
    {frozenset(): -1.0, frozenset({1}): 1.0}
    """

    key: ClassVar[str] = "pure"

    def terms(self, players: Players, members: Players) -> Terms:
        """The values this effect of S is made of."""
        return derivative(members, frozenset())


@dataclass(frozen=True, slots=True)
class Full:
    """What is lost when S alone is hidden: ``nu(D) - nu(D without S)``, for interactions ``Delta(S, D without S)``.

    Examples
    --------
    >>> Full().terms([frozenset({0}), frozenset({1})], [frozenset({1})])
    {frozenset({0}): -1.0, frozenset({0, 1}): 1.0}
    """

    key: ClassVar[str] = "full"

    def terms(self, players: Players, members: Players) -> Terms:
        """The values this effect of S is made of."""
        return derivative(members, union(without(players, members)))


def _faithful(p: int, k: int, t: int) -> float:
    scale = factorial(2 * k - 1) / factorial(k - 1) ** 2
    return scale * factorial(p - t - 1) * factorial(t + k - 1) / factorial(p + k - 1)


INDICES: dict[str, Callable[[int, int, int], float]] = {
    "shapley-taylor": lambda p, k, t: k / (p * comb(p - 1, t)),
    "sii": lambda p, k, t: 1 / ((p - k + 1) * comb(p - k, t)),
    "k-sii": lambda p, k, t: 1 / ((p - k + 1) * comb(p - k, t)),
    "fsii": _faithful,
    "banzhaf": lambda p, k, t: 0.5 ** (p - k),
}
"""Weight of ``Delta(S, T)`` from the number of players p, of members k and of players in T. For one member all are the
Shapley value, but for Banzhaf's, which weighs all coalitions alike and need not add up. At the top order k-SII equals
SII."""


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

    def terms(self, players: Players, members: Players) -> Terms:
        """The values this effect of S is made of: every coalition of players."""
        weight, sizes = INDICES[self.index], (len(players), len(members))
        rest = subsets(without(players, members))
        return add_terms(
            (weight(*sizes, len(given)), derivative(members, union(given))) for given in rest
        )

    def sampled(self, order: Players, members: Players) -> Terms:
        """The same effect from one order of arrival: ``Delta(S, players before its first member)``."""
        return derivative(members, union(order[: min(map(order.index, members))]))


@dataclass(frozen=True, slots=True)
class Whole:
    """The prediction itself, ``nu(D)``."""

    key: ClassVar[str] = "whole"

    def terms(self, players: Players, members: Players) -> Terms:
        """The values this effect is made of."""
        return {union(players): 1.0}


@dataclass(frozen=True, slots=True)
class Additive:
    """The additive surrogate G: ``nu(nothing)`` plus all pure effects up to an order."""

    order: int = 1
    key: ClassVar[str] = "additive"

    def terms(self, players: Players, members: Players) -> Terms:
        """The values this effect is made of."""
        effects = (part for size in range(self.order + 1) for part in combinations(players, size))
        return add_terms((1.0, derivative(part, frozenset())) for part in effects)


Interaction = Pure | Partial | Full | Whole | Additive
INTERACTIONS: dict[str, Interaction] = {"pure": Pure(), "partial": Partial(), "full": Full()}
