"""What the model is asked: what explanations need to know, the matrices ``E_S`` that answer it, and what they cost.

The algebra says what it needs (`Needs`); its maskings say what they learned of the fitting rows
(`Learned`). Whoever asks the model answers with `Evaluations`: matrices for the coalitions, and a
fact for everything learned, under the same key.

A coalition T is read from ``E_T`` or from E of the other columns: since one is the other turned round,
one matrix serves both, and the one with fewer values is asked. The empty and the full coalition are
read from the predictions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from math import isqrt
from typing import Any, ClassVar, NamedTuple, Protocol

from granite_xai.base.errors import InputError, ResourceError
from granite_xai.base.limits import FIXED, Resources, bytes_text
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.values import (
    Cells,
    Values,
    combined_values,
    every_value,
    few_values,
    stand_ins,
)
from granite_xai.tables import Table

MOST_CHECKED_ROWS = 200  # rows on which exact gaps are compared with those at quantiles
END_VALUES = 2  # of a column at quantiles: the smallest and the largest
COARSE_GRID = 16  # values of a column that are recommended where memory is short
COARSEST_GRID = 32  # values that a column has at least where a pilot may choose them
NUMBER_BYTES = 8
# A cell of the table: value and code as they were read; value, code and the user's container for the
# rows that are used; and how trees see it.
CELL_BYTES = 2 * 8 + 3 * 8 + 4
MEMBER_BYTES = 80  # of a column in a set of columns
FREE_SET_BYTES = 2**24  # bytes of sets of columns that any fit may make before it is refused
ROW_NUMBERS = (
    16  # kept of each row besides matrices: predictions, weights, target, regions, work on them
)
FACT_NUMBERS = 16  # kept of each row and fact: bins, ratios, references, predictions along a column
# Of the memory limit, five eighths are for what stays (table, evaluations), the rest for what is worked on.
STAYING, OF = 5, 8

Weighted = Mapping[Coalition, float]
"""A linear combination of the masked models of some coalitions of visible columns."""


class Recombined(NamedTuple):
    """Rows that the model is asked about: those of a table with some columns from another one.

    Parameters
    ----------
    base, donor : Table
    base_rows, donor_rows : arrays of shape (n_asked,)
        Which row of the base, and which of the donor, each asked row is made of.
    columns : sequence of int
        The columns that come from the donor.
    """

    base: Table
    base_rows: IntArray
    donor: Table
    donor_rows: IntArray
    columns: Sequence[int]


class Learned(Protocol):
    """What a masking learned of the fitting rows about one masked model.

    Attributes
    ----------
    follows_values : bool
        Whether it says what holds at the row's value of the visible columns: where the model says it, it
        follows the values that stand for a column in that column's own gap (C22).
    """

    follows_values: ClassVar[bool]

    def asks(self, table: Table) -> Recombined | None:
        """What the model is asked beside `Needs.coalitions` about the rows of a table; None: nothing."""

    def fact(self, table: Table, predictions: FloatArray | None) -> Any:
        """What is known of the rows of a table, an object with ``take(places)``.

        Parameters
        ----------
        table : Table
            Any rows with the columns of the fit.
        predictions : array of shape (n_asked,), optional
            The answers to `asks`, less the mean prediction of the rows.
        """


@dataclass(frozen=True)
class Summed:
    """An effect of a set on row n against the single reference row m, summed over coalitions.

    ``Phi[n, m] = sum over T of terms[T] * F(row n on T, row m elsewhere)``

    Parameters
    ----------
    terms : mapping of coalition to float
    draws : tuple of mappings of coalition to float
        Where coalitions are drawn: those of each draw, of which `terms` are the mean.
    players : tuple of coalitions
        Not empty: Shapley values, which the paths of a tree ensemble give too; `terms` may then be
        empty and the model must be such an ensemble.
    place : int
        Whose value, among the players.
    """

    terms: Weighted
    draws: tuple[Weighted, ...] = ()
    players: tuple[Coalition, ...] = ()
    place: int = 0


@dataclass(frozen=True)
class Needs:
    """What some effects read of the model.

    Parameters
    ----------
    coalitions : set of coalitions
        Visible columns T whose ``F(row n on T, row m elsewhere)`` is read for all n and m: E of T or
        of the other columns, whichever is cheaper.
    compared : set of coalitions
        The sets whose effects are compared: their own matrix serves their own gap (C22).
    facts : set of keys (masking, coalition)
        What maskings learn: its `Learned` gives the fact under the same key.
    attributions : mapping of key to Summed
        Effects for all pairs of rows; each is a fact (`evaluations.Attribution`) under its key.
    """

    coalitions: frozenset[Coalition] = frozenset()
    compared: frozenset[Coalition] = frozenset()
    facts: frozenset[tuple[Any, Any]] = frozenset()
    attributions: Mapping[Hashable, Summed] = field(default_factory=dict)

    def __or__(self, other: Needs) -> Needs:
        """What both need."""
        return Needs(
            coalitions=self.coalitions | other.coalitions,
            compared=self.compared | other.compared,
            facts=self.facts | other.facts,
            attributions={**self.attributions, **other.attributions},
        )


# Which matrices are asked ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked about the rows of a table.

    Parameters
    ----------
    needs : Needs
    matrices : mapping of coalition S to Values
        ``E_S`` that are kept.
    summed : mapping of coalition S to Values
        ``E_S`` that are only summed up into attributions.
    learned : mapping of key to Learned
        What maskings learned of the fitting rows.
    n_rows : int
    n_asked_beside : int
        Rows that what was learned asks about.
    at_quantiles : bool
        Whether quantiles stand for columns, rather than values that a pilot chose.
    """

    needs: Needs
    matrices: Mapping[Coalition, Values]
    summed: Mapping[Coalition, Values]
    learned: Mapping[Any, Learned] = field(default_factory=dict)
    n_rows: int = 0
    n_asked_beside: int = 0
    at_quantiles: bool = False

    @property
    def n_recombined(self) -> int:
        """Rows that the matrices consist of."""
        both = [*self.matrices.values(), *self.summed.values()]
        return self.n_rows * sum(len(values) for values in both)

    @property
    def combines_values(self) -> bool:
        """Whether values of several columns are combined that no row may have together."""
        return any(values.donors is not None for values in self.matrices.values())

    @property
    def columns_of_few_values(self) -> list[Coalition]:
        """Sets of columns of which some values stand for the others."""
        return [columns for columns, values in self.matrices.items() if values.stand_for_others]

    @property
    def n_checked_rows(self) -> int:
        """Rows whose exact gaps are compared with those at quantiles."""
        if not self.at_quantiles or not self.columns_of_few_values:
            return 0
        return n_checked_rows(self.n_rows, [len(values) for values in self.matrices.values()])

    def n_model_rows(self, is_read: bool = False) -> int:
        """Rows that are sent to the model.

        Parameters
        ----------
        is_read : bool
            Whether recombined rows are answered by the model's own trees.
        """
        total = self.n_rows + self.n_asked_beside
        if is_read:
            return total
        total += self.n_recombined
        if self.at_quantiles:
            total += END_VALUES * self.n_rows * len(self.columns_of_few_values)
            total += self.n_checked_rows**2 * len(self.matrices)
        return total


def n_checked_rows(n_rows: int, n_values: Sequence[int]) -> int:
    """So many rows that asking about all of their values costs no more than the request itself.

    Parameters
    ----------
    n_rows : int
    n_values : sequence of int
        Of each matrix.
    """
    affordable = isqrt(n_rows * sum(n_values) // len(n_values))
    return min(MOST_CHECKED_ROWS, n_rows, affordable)


def request(
    needs: Needs,
    table: Table,
    *,
    values: int | Mapping[int, Cells] | None = None,
    model_cells: IntArray | None = None,
    learned: Mapping[Any, Learned] | None = None,
    combined: Mapping[Coalition, Mapping[int, Cells]] | None = None,
) -> Request:
    """What some effects ask of the model about a table, together, each matrix once.

    Parameters
    ----------
    needs : Needs
    table : Table
    values : int, mapping of column to Cells, or None
        Values that stand for a column (C22): so many quantiles, or those of a pilot; None: all.
    model_cells : array of shape (n_rows, n_columns), optional
        Values with the same number are one to the model.
    learned : mapping of key to Learned, optional
    combined : mapping of coalition S to mapping of column to Cells
        Sets of several columns whose gap is read at all combinations of a few values: from these also
        every part of S, and the columns outside it.
    """
    learned = learned or {}
    everything = Coalition(range(table.n_columns))
    few = stand_ins(table, values)
    matrices: dict[Coalition, Values] = {}
    # A compared column of few values has its matrix also under a baseline, which reads none: its gap
    # reads the predictions of the moved rows from it.
    singles_compared = {Coalition([position]) for position in few} & needs.compared
    to_ask = set(needs.coalitions | singles_compared) - {Coalition(), everything}
    for position, stand_in in few.items():
        single = Coalition([position])
        complement = everything - single
        if single not in to_ask and complement not in to_ask:
            continue
        matrices[single] = few_values(table.columns[position], stand_in)
        if len(complement) == 1:  # of two columns both are read
            to_ask.add(complement)
        elif complement not in needs.compared:
            to_ask.discard(complement)
    for columns, cells in (combined or {}).items():
        values_of_columns = {}
        for position in sorted(columns):
            column = table.columns[position]
            values_of_columns[position] = few_values(column, cells[position].stand_ins(column))
        matrices[columns] = combined_values(table, values_of_columns)
        parts = parts_of(columns)
        read_there = parts | {everything - part for part in parts}
        to_ask -= {part for part in read_there if len(part) > 1}
    answered = set(matrices)
    _add_cheaper_sides(matrices, to_ask, answered, table, model_cells)
    to_sum = set[Coalition]()
    for attribution in needs.attributions.values():
        to_sum |= attribution.terms.keys()
    summed: dict[Coalition, Values] = {}
    to_sum -= {Coalition(), everything}
    _add_cheaper_sides(summed, to_sum, answered, table, model_cells)
    n_asked_beside = 0
    for of_key in learned.values():
        asked = of_key.asks(table)
        if asked is not None:
            n_asked_beside += len(asked.base_rows)
    return Request(
        needs=needs,
        matrices=matrices,
        summed=summed,
        learned=learned,
        n_rows=table.n_rows,
        n_asked_beside=n_asked_beside,
        at_quantiles=isinstance(values, int),
    )


def _add_cheaper_sides(
    matrices: dict[Coalition, Values],
    coalitions: Iterable[Coalition],
    answered: set[Coalition],
    table: Table,
    model_cells: IntArray | None,
) -> None:
    """Ask about coalitions or about the other columns, whichever have fewer values, and read both from there.

    Parameters
    ----------
    matrices : dict of coalition to Values
        Takes what is asked.
    coalitions : iterable of coalitions
    answered : set of coalitions
        Those that need not be asked; takes what is read.
    table, model_cells
        As in `request`.
    """
    everything = Coalition(range(table.n_columns))
    # Each column has at least so many values. Numbers of cells begin with 0 or 1.
    fewest_values = [len(column.levels) for column in table.columns]
    if model_cells is not None:
        fewest_values = model_cells.max(axis=0).tolist()
    # Small sets first, then by their columns: the order does not depend on hashes.
    for coalition in sorted(coalitions, key=lambda columns: (len(columns), sorted(columns))):
        if coalition in answered:
            continue
        complement = everything - coalition
        side = coalition
        values = every_value(table, coalition, model_cells)
        # Mostly there is no need to count the values of the others: they have at least so many.
        fewest = max(fewest_values[position] for position in complement)
        if complement not in matrices and len(values) > fewest:
            of_complement = every_value(table, complement, model_cells)
            if len(of_complement) < len(values):
                side = complement
                values = of_complement
        matrices[side] = values
        answered |= {coalition, complement}


def reads_single_columns(reads: Mapping[Coalition, AbstractSet[Coalition]], n_columns: int) -> bool:
    """Whether a few values can stand for every column: effects of single columns, shown or hidden.

    Parameters
    ----------
    reads : mapping of set to coalitions
        What the gap of each set reads.
    n_columns : int
    """
    if n_columns == 1:
        return False
    everything = Coalition(range(n_columns))
    for members, coalitions in reads.items():
        if len(members) > 1 or _others(members, coalitions, everything):
            return False
    return True


def parts_of(columns: Coalition) -> set[Coalition]:
    """All sets of some of the columns, themselves among them."""
    parts = set[Coalition]()
    for size in range(1, len(columns) + 1):
        parts.update(map(Coalition, combinations(sorted(columns), size)))
    return parts


def reads_parts_of_sets(
    reads: Mapping[Coalition, AbstractSet[Coalition]], pairs: AbstractSet[Coalition], n_columns: int
) -> bool:
    """Whether every gap reads some columns of its own set, shown or hidden: interactions.

    Parameters
    ----------
    reads : mapping of set to coalitions
        What the gap of each set reads.
    pairs : set of coalitions
        Those that are read for all pairs of rows.
    n_columns : int
    """
    everything = Coalition(range(n_columns))
    for members, coalitions in reads.items():
        parts = parts_of(members)
        of_parts = parts | {everything - part for part in parts}
        read = set(coalitions) - {Coalition(), everything}
        is_interaction = any(len(part) < len(members) and part in read for part in parts)
        if not is_interaction or not read <= of_parts & pairs:
            return False
    return True


def require_few_values(
    reads: Mapping[Coalition, AbstractSet[Coalition]], table: Table, columns: AbstractSet[int]
) -> None:
    """Refuse quantiles where the gap of a set reads more than the set and the other columns (C22).

    Parameters
    ----------
    reads : mapping of set to coalitions
        What the gap of each set reads.
    table : Table
    columns : set of int
        Those of which quantiles stand for the other values.

    Raises
    ------
    InputError
        P03, with the columns.
    """
    everything = Coalition(range(table.n_columns))
    for members, coalitions in reads.items():
        others = _others(members, coalitions, everything)
        alone = set[int]()  # columns that are shown, or hidden, by themselves
        for coalition in others:
            for side in (coalition, everything - coalition):
                if len(side) == 1:
                    alone |= side
        if (columns & members and others) or columns & alone:
            names = ", ".join(table.names[position] for position in sorted(members))
            moved = sorted((members | alone) & columns)
            raise InputError(
                "Resources(max_grid=) is defined for pure and full effects of single features and of "
                f"groups: the effect of {names} reads other features one by one.",
                code="P03",
                argument="max_grid",
                columns=tuple(table.names[position] for position in moved),
                hint="For partial effects, interactions and 'coe' leave max_grid at None and lower "
                "max_samples.",
            )


def _others(
    members: Coalition, coalitions: AbstractSet[Coalition], everything: Coalition
) -> set[Coalition]:
    return set(coalitions) - {Coalition(), members, everything - members, everything}


# Memory and model rows (D33) ----------------------------------------------------------------------


def bytes_kept(request: Request, n_outputs: int) -> int:
    """Memory of the predictions that stay: matrices, and attributions of all pairs of rows."""
    n_values = sum(len(values) for values in request.matrices.values())
    lines = n_values + len(request.needs.attributions) * request.n_rows
    return NUMBER_BYTES * n_outputs * request.n_rows * lines


def least_limit(request: Request, table: Table, n_outputs: int, n_rows: int) -> int:
    """The smallest ``memory_limit`` that is enough for a request about so many of its rows."""
    return _limit_for(*_bytes_taken(request, table, n_outputs, n_rows))


def _bytes_taken(request: Request, table: Table, n_outputs: int, n_rows: int) -> tuple[int, int]:
    """Memory of the predictions that stay at once, and of the table with all else that is kept of its rows."""
    kept = [min(len(values), n_rows) for values in request.matrices.values()]
    summed = [min(len(values), n_rows) for values in request.summed.values()]
    # Nodes cut their rows out of matrices with few values: about half of these is there twice while a
    # tree grows.
    cut_out = sum(count for count in kept if 4 * count < n_rows) // 2
    attributed = len(request.needs.attributions) * n_rows
    lines = sum(kept) + cut_out + attributed + max(summed, default=0)
    of_evaluations = NUMBER_BYTES * n_outputs * n_rows * lines
    # What is learned counts before it is learned: the limit that a plan names is enough for the fit.
    vectors = ROW_NUMBERS + (FACT_NUMBERS + 1) * len(request.needs.facts) + len(kept) + len(summed)
    members = sum(len(columns) for columns in (*request.matrices, *request.summed))
    of_table = FIXED + CELL_BYTES * n_rows * table.n_columns
    of_table += NUMBER_BYTES * vectors * n_rows + MEMBER_BYTES * members
    return of_evaluations, of_table


def _limit_for(of_evaluations: int, of_table: int) -> int:
    return -(-OF * (of_evaluations + of_table) // STAYING)  # rounded up


def require_room(
    request: Request,
    table: Table,
    resources: Resources,
    n_outputs: int = 1,
    coarse: Callable[[], Request | None] | None = None,
) -> None:
    """Refuse a request that needs more memory than allowed, with what would fit.

    Parameters
    ----------
    request : Request
    table : Table
    resources : Resources
    n_outputs : int
    coarse : callable, optional
        Makes the same request at `COARSE_GRID` values of each column; None where that is not defined.

    Raises
    ------
    ResourceError
        D33, with the numbers and the remedies.
    """
    of_evaluations, of_table = _bytes_taken(request, table, n_outputs, request.n_rows)
    if _limit_for(of_evaluations, of_table) <= resources.memory_limit:
        return
    remedies = []
    n_fitting = bisect_right(
        range(request.n_rows),
        resources.memory_limit,
        key=lambda n_rows: least_limit(request, table, n_outputs, n_rows),
    )
    if n_fitting > 1:
        remedies.append(f"fewer rows (max_samples={n_fitting - 1})")
    on_grid = None if coarse is None else coarse()
    if on_grid is not None:
        needed_on_grid = least_limit(on_grid, table, n_outputs, on_grid.n_rows)
        if needed_on_grid <= resources.memory_limit:
            remedies.append(f"a grid (Resources(max_grid={COARSE_GRID}))")
    raise _too_little_memory(
        n_rows=request.n_rows,
        of_evaluations=of_evaluations,
        of_table=of_table,
        remedies=remedies,
        resources=resources,
    )


def require_table_room(table: Table, resources: Resources) -> None:
    """Refuse a wide table that no fit could hold, before every set of columns is named (D33).

    Parameters
    ----------
    table : Table
    resources : Resources
    """
    n_columns = table.n_columns
    # Every fit names, for each column, the set of the others.
    n_members = n_columns * (n_columns - 1)
    if MEMBER_BYTES * n_members < FREE_SET_BYTES:
        return
    if resources.max_grid == "auto":
        most_values = COARSEST_GRID
    else:
        most_values = resources.grid or table.n_rows
    # For every column the model is asked at each of its values, or for all others at theirs: these are
    # at least as many as the richest of the others has. So it takes the values of every column but the
    # richest, and for that one at least those of the second richest.
    values = sorted(min(len(column.levels), most_values) for column in table.columns)
    of_evaluations = NUMBER_BYTES * table.n_rows * (sum(values[:-1]) + values[-2])
    of_table = FIXED + CELL_BYTES * table.n_rows * n_columns + 3 * MEMBER_BYTES * n_members
    if _limit_for(of_evaluations, of_table) > resources.memory_limit:
        raise _too_little_memory(
            n_rows=table.n_rows,
            of_evaluations=of_evaluations,
            of_table=of_table,
            remedies=["fewer features (features=)"],
            resources=resources,
        )


def _too_little_memory(
    *,
    n_rows: int,
    of_evaluations: int,
    of_table: int,
    remedies: list[str],
    resources: Resources,
) -> ResourceError:
    needed = _limit_for(of_evaluations, of_table)
    hint = f"a higher limit (Resources(memory_limit={needed}))"
    if remedies:
        hint = ", ".join([*remedies, f"or {hint}"])
    return ResourceError(
        f"{n_rows:,} rows need {bytes_text(needed)}; memory_limit allows "
        f"{bytes_text(resources.memory_limit)}. Evaluations of the model take "
        f"{bytes_text(of_evaluations)}, the table and the plan {bytes_text(of_table)}. "
        f"Remedies: {hint}.",
        code="D33",
        argument="resources",
        hint=hint,
    )
