"""Influence: whose effect is asked for.

The players of the game are the columns, or groups of columns. The sets whose effects are compared are single players,
or (for interactions) sets of k columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition
from granite_xai.tables import Table


@dataclass(frozen=True, slots=True)
class PlayersAndSets:
    """The players of the game and the sets whose effects are compared.

    Parameters
    ----------
    players : tuple of coalitions
        Disjoint sets of columns that cover all columns.
    sets : tuple of tuples of coalitions
        The members (players) of each compared set.
    labels : tuple of tuples of str
        The names of each set's members: columns, or one group.
    passing : coalition
        The player, if any, of all columns that only pass through to the model.
    """

    players: tuple[Coalition, ...]
    sets: tuple[tuple[Coalition, ...], ...]
    labels: tuple[tuple[str, ...], ...]
    passing: Coalition = frozenset()

    @property
    def explained(self) -> tuple[Coalition, ...]:
        """The players that have effects."""
        return tuple(player for player in self.players if player != self.passing)

    @property
    def order(self) -> int:
        """Members of a compared set: 1 for individual and joint effects."""
        return max(len(members) for members in self.sets)


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
        if self.features is None:
            compared = list(table.explained)
        else:
            compared = _positions(table, self.features)
        return _layout_of_columns(table, [(position,) for position in compared])


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
        hint = "Pass groups={name: [features]}."
        items: Iterable[Any]
        if isinstance(self.groups, Mapping):
            if not self.groups:
                raise _group_error("groups is empty.", hint)
            items = self.groups.items()
        elif isinstance(self.groups, tuple) and all(isinstance(g, tuple) for g in self.groups):
            items = self.groups  # as this field holds them
        else:
            raise _group_error(f"groups={self.groups!r} is not a mapping.", hint)
        groups = tuple((str(name), _as_tuple(columns) or ()) for name, columns in items)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "features", _as_tuple(self.features))

    def layout(self, table: Table) -> PlayersAndSets:
        """Groups and ungrouped columns as players; all of them (or ``features``) as sets."""
        groups = self._groups(table)
        in_groups: Coalition = frozenset().union(*groups.values())
        ungrouped: dict[str, Coalition] = {}
        for position, name in enumerate(table.names):
            if position not in in_groups and position not in table.passing:
                ungrouped[name] = frozenset({position})
        players = (*groups.values(), *ungrouped.values(), *_passing_player(table))
        by_name = ungrouped | groups  # a group's name wins over a column's
        if self.features is None:
            ordered_names = [*groups, *ungrouped]
        else:
            ordered_names = [self._player_name(table, by_name, label) for label in self.features]
        names = tuple(dict.fromkeys(ordered_names))
        return PlayersAndSets(
            players=players,
            sets=tuple((by_name[name],) for name in names),
            labels=tuple((name,) for name in names),
            passing=table.passing,
        )

    def _groups(self, table: Table) -> dict[str, Coalition]:
        """The columns of each group, by its name."""
        groups: dict[str, Coalition] = {}
        group_of_column: dict[int, str] = {}
        for group, labels in self.groups:
            if not labels:
                raise _group_error(
                    f"group {group!r} has no features.", "Give each group at least one feature."
                )
            positions = []
            for label in labels:
                try:
                    position = table.resolve(label, "groups")
                except InputError as error:
                    raise _group_error(
                        f"group {group!r} names feature {label!r}, which X does not have.",
                        f"Features: {', '.join(table.names)}.",
                        columns=(str(label),),
                    ) from error
                if position in group_of_column:
                    column = table.names[position]
                    raise _group_error(
                        f"feature {column!r} (index {position}) is in group {group_of_column[position]!r} and in group "
                        f"{group!r}.",
                        "Groups may not overlap: name each feature once.",
                        columns=(column,),
                    )
                group_of_column[position] = group
                positions.append(position)
            groups[group] = frozenset(positions)
        return groups

    @staticmethod
    def _player_name(table: Table, players: Mapping[str, Coalition], label: Hashable) -> str:
        """The name of the player that a label means: a group, or an ungrouped column."""
        if isinstance(label, str) and label in players:
            return label
        position = table.resolve(label, "features")
        name = table.names[position]
        if players.get(name) != frozenset({position}):
            raise _group_error(
                f"features names {name!r} (index {position}), which belongs to a group.",
                f"Name the group instead; players: {', '.join(players)}.",
                columns=(name,),
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
            raise InputError(
                f"order={self.order!r} is not a whole number of at least 2.",
                code="P02",
                argument="order",
                hint="2 compares pairs, 3 triples; for single features use influence='individual'.",
            )
        if self.sets is None:
            return
        if isinstance(self.sets, str) or any(isinstance(labels, str | int) for labels in self.sets):
            raise _order_error(self.order, self.sets)
        object.__setattr__(self, "sets", tuple(tuple(labels) for labels in self.sets))

    def layout(self, table: Table) -> PlayersAndSets:
        """Columns as players; sets of ``order`` columns as sets."""
        if self.order > len(table.explained):
            raise InputError(
                f"an interaction of order {self.order} needs {self.order} features; X has {len(table.explained)}.",
                code="P03",
                argument="influence",
                hint="Lower the order.",
            )
        if self.sets is None:
            return _layout_of_columns(table, list(combinations(table.explained, self.order)))
        compared = [tuple(sorted(_positions(table, labels))) for labels in self.sets]
        if not compared:
            raise _nothing_compared(table)
        if any(len(positions) != self.order for positions in compared):
            raise _order_error(self.order, self.sets)
        return _layout_of_columns(table, list(dict.fromkeys(compared)))


Influence = Individual | Joint | Interactions


def _as_tuple(labels: Sequence[Hashable] | None) -> tuple[Hashable, ...] | None:
    """Labels as a tuple; one label alone becomes a tuple of one."""
    if labels is None:
        return None
    if isinstance(labels, str | int):
        return (labels,)
    return tuple(labels)


def _positions(table: Table, labels: Sequence[Hashable]) -> list[int]:
    """Positions of some columns, each once."""
    if not len(labels):
        raise _nothing_compared(table)
    return list(dict.fromkeys(table.resolve(label, "features") for label in labels))


def _layout_of_columns(table: Table, sets: Sequence[tuple[int, ...]]) -> PlayersAndSets:
    """Columns as players; sets of columns, by their positions, as sets."""
    singles = [frozenset({position}) for position in table.explained]
    members = []
    labels = []
    for positions in sets:
        members.append(tuple(frozenset({position}) for position in positions))
        labels.append(tuple(table.names[position] for position in positions))
    return PlayersAndSets(
        players=(*singles, *_passing_player(table)),
        sets=tuple(members),
        labels=tuple(labels),
        passing=table.passing,
    )


def _passing_player(table: Table) -> tuple[Coalition, ...]:
    """The one player of all columns that only pass through to the model, if there are any."""
    return (table.passing,) if table.passing else ()


def _nothing_compared(table: Table) -> InputError:
    return InputError(
        "features is empty.",
        code="P04",
        argument="features",
        hint=f"Name at least one of {', '.join(table.names)}, or pass None for all.",
    )


def _group_error(message: str, hint: str, columns: tuple[str, ...] = ()) -> InputError:
    return InputError(message, code="D41", argument="groups", columns=columns, hint=hint)


def _order_error(order: int, sets: object) -> InputError:
    example = ", ".join(repr(letter) for letter in "abcdefgh"[:order])
    return InputError(
        f"features={sets!r} must hold tuples of {order} different features for interactions of order {order}.",
        code="P04",
        argument="features",
        hint=f"For features {example} pass features=[({example})].",
    )
