"""Influence: whose effect is asked for: columns, groups of columns, or their interactions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition
from granite_xai.tables import Table


@dataclass(frozen=True, slots=True)
class PlayersAndSets:
    """The players of the game and the sets whose effects are compared."""

    players: tuple[Coalition, ...]  # disjoint coalitions that cover all columns
    sets: tuple[tuple[Coalition, ...], ...]  # the members (players) of each compared set
    labels: tuple[tuple[str, ...], ...]  # the names of each set's parts (columns, or one group)
    passing: Coalition = (
        frozenset()
    )  # the player, if any, of all columns that only pass through to the model

    @property
    def explained(self) -> tuple[Coalition, ...]:
        """The players that have effects."""
        return tuple(player for player in self.players if player != self.passing)

    @property
    def order(self) -> int:
        """Members of a compared set: 1 for individual and joint effects."""
        return max(map(len, self.sets))


@dataclass(frozen=True, slots=True)
class Individual:
    """The effect of each column.

    Parameters
    ----------
    features : sequence of labels, optional
        The columns compared; None: all.

    Examples
    --------
    >>> Individual(["hr", "temp"]).features
    ('hr', 'temp')
    """

    features: Sequence[Hashable] | None = None
    key: ClassVar[str] = "individual"

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", _as_tuple(self.features))

    def layout(self, table: Table) -> PlayersAndSets:
        """Columns as players; the chosen columns as sets."""
        chosen = table.explained if self.features is None else _positions(table, self.features)
        return _columns_layout(table, [(i,) for i in chosen])


@dataclass(frozen=True, slots=True)
class Joint:
    """The effect of each group of columns; a column in no group is a player of its own.

    Parameters
    ----------
    groups : mapping of name to columns
        ``()``: none yet, so that every column is a player of its own.
    features : sequence of group names or columns, optional
        The players compared; None: all, so that grouping the columns of one category leaves the others as they are. A
        group's name wins over a column's.

    Examples
    --------
    >>> Joint({"body": ["bmi", "bp"]}).groups
    (('body', ('bmi', 'bp')),)
    """

    groups: Any
    features: Sequence[Hashable] | None = None
    key: ClassVar[str] = "joint"

    def __post_init__(self) -> None:
        named = isinstance(self.groups, Mapping)
        if not named and not (
            isinstance(self.groups, tuple) and all(isinstance(g, tuple) for g in self.groups)
        ):
            raise _group_error(
                f"groups={self.groups!r} is not a mapping.", "Pass groups={name: [columns]}."
            )
        items = self.groups.items() if named else self.groups
        groups = tuple((str(name), _as_tuple(columns) or ()) for name, columns in items)
        if named and not groups:
            raise _group_error("groups is empty.", "Pass groups={name: [columns]}.")
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "features", _as_tuple(self.features))

    def layout(self, table: Table) -> PlayersAndSets:
        """Groups and ungrouped columns as players; all of them (or ``features``) as sets."""
        players = self._groups(table)
        grouped: Coalition = frozenset().union(*players.values())
        singles = {
            name: frozenset({i})
            for i, name in enumerate(table.names)
            if i not in grouped | table.passing
        }
        everyone = players | {
            name: single for name, single in singles.items() if name not in players
        }
        named = (
            everyone
            if self.features is None
            else [self._named(table, everyone, f) for f in self.features]
        )
        chosen = {name: everyone[name] for name in named}
        both = (*players.values(), *singles.values(), *filter(None, [table.passing]))
        sets, labels = tuple((own,) for own in chosen.values()), tuple((name,) for name in chosen)
        return PlayersAndSets(both, sets, labels, table.passing)

    def _groups(self, table: Table) -> dict[str, Coalition]:
        players, owner = dict[str, Coalition](), dict[int, str]()
        for name, columns in self.groups:
            positions = [_member(table, name, column) for column in columns]
            if not positions:
                raise _group_error(
                    f"group {name!r} has no columns.", "Give each group at least one column."
                )
            for i in positions:
                if i in owner:
                    text = f"column {table.names[i]!r} (index {i}) is in group {owner[i]!r} and in group {name!r}."
                    raise _group_error(
                        text, "Groups may not overlap: name each column once.", (table.names[i],)
                    )
                owner[i] = name
            players[name] = frozenset(positions)
        return players

    @staticmethod
    def _named(table: Table, players: Mapping[str, Coalition], label: Hashable) -> str:
        if isinstance(label, str) and label in players:
            return label
        position = table.resolve(label, "features")
        name = table.names[position]
        if players.get(name) != frozenset({position}):
            text = f"features names column {name!r} (index {position}), which belongs to a group."
            raise _group_error(
                text, f"Name the group instead; players: {', '.join(players)}.", (name,)
            )
        return name


@dataclass(frozen=True, slots=True)
class Interactions:
    """The interaction of each set of exactly ``order`` columns.

    Parameters
    ----------
    order : int
        2 for pairs (the disagreement then measures orders three and above), 3 for triples.
    sets : sequence of tuples of labels, optional
        The sets compared; None: all.

    Examples
    --------
    >>> Interactions(order=2, sets=[("hr", "temp")]).sets
    (('hr', 'temp'),)
    """

    order: int = 2
    sets: Sequence[Sequence[Hashable]] | None = None
    key: ClassVar[str] = "interaction"

    def __post_init__(self) -> None:
        if isinstance(self.order, bool) or not isinstance(self.order, int) or self.order < 2:
            hint = "2 compares pairs, 3 triples; for single columns use influence='individual'."
            text = f"order={self.order!r} is not a whole number of at least 2."
            raise InputError(text, code="P02", argument="order", hint=hint)
        if self.sets is not None:
            if isinstance(self.sets, str) or any(
                isinstance(columns, str | int) for columns in self.sets
            ):
                raise _order_error(self.order, self.sets)
            object.__setattr__(self, "sets", tuple(tuple(columns) for columns in self.sets))

    def layout(self, table: Table) -> PlayersAndSets:
        """Columns as players; sets of ``order`` columns as sets."""
        if self.order > len(table.explained):
            text = f"an interaction of order {self.order} needs {self.order} columns; X has {len(table.explained)}."
            raise InputError(text, code="P03", argument="influence", hint="Lower the order.")
        if self.sets is None:
            return _columns_layout(table, list(combinations(table.explained, self.order)))
        chosen = list(
            dict.fromkeys(tuple(sorted(_positions(table, columns))) for columns in self.sets)
        )
        if not chosen:
            raise _nothing_compared(table)
        if any(len(columns) != self.order for columns in chosen):
            raise _order_error(self.order, self.sets)
        return _columns_layout(table, chosen)


Influence = Individual | Joint | Interactions


def _as_tuple(labels: Sequence[Hashable] | None) -> tuple[Hashable, ...] | None:
    return None if labels is None else (labels,) if isinstance(labels, str | int) else tuple(labels)


def _positions(table: Table, labels: Sequence[Hashable]) -> list[int]:
    if not len(labels):
        raise _nothing_compared(table)
    return list(dict.fromkeys(table.resolve(label, "features") for label in labels))


def _member(table: Table, group: str, label: Hashable) -> int:
    try:
        return table.resolve(label, "groups")
    except InputError as error:
        text = f"group {group!r} names column {label!r}, which X does not have."
        raise _group_error(text, f"Columns: {', '.join(table.names)}.", (str(label),)) from error


def _nothing_compared(table: Table) -> InputError:
    hint = f"Name at least one of {', '.join(table.names)}, or pass None for all."
    return InputError("features is empty.", code="P04", argument="features", hint=hint)


def _columns_layout(table: Table, sets: Sequence[tuple[int, ...]]) -> PlayersAndSets:
    players = (*(frozenset({i}) for i in table.explained), *filter(None, [table.passing]))
    members = tuple(tuple(frozenset({i}) for i in columns) for columns in sets)
    labels = tuple(tuple(table.names[i] for i in columns) for columns in sets)
    return PlayersAndSets(players, members, labels, table.passing)


def _group_error(message: str, hint: str, columns: tuple[str, ...] = ()) -> InputError:
    return InputError(message, code="D41", argument="groups", columns=columns, hint=hint)


def _order_error(order: int, sets: object) -> InputError:
    example = ", ".join(repr(letter) for letter in "abcdefgh"[:order])
    text = f"features={sets!r} must hold tuples of {order} different columns for interactions of order {order}."
    hint = f"For columns {example} pass features=[({example})]."
    return InputError(text, code="P04", argument="features", hint=hint)
