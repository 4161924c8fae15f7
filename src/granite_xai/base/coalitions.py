"""Sets of features: their unions, subsets and complements."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, combinations

from granite_xai.base.typing import Coalition, Players


def union(players: Iterable[Coalition]) -> Coalition:
    """All columns of the players."""
    return frozenset(chain.from_iterable(players))


def subsets(players: Players) -> Iterable[tuple[Coalition, ...]]:
    """Every subset of the players, small ones first."""
    return chain.from_iterable(combinations(players, size) for size in range(len(players) + 1))


def without(players: Players, members: Players) -> tuple[Coalition, ...]:
    """The players that are not among the members."""
    return tuple(player for player in players if player not in members)
