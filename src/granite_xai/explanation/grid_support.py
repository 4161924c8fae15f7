"""Which effects are defined on a grid: a column is replaced by a few of its values (C22).

They are those that read of a column nothing but its own matrix: the effect of a set reads the set and its complement,
and no other coalition that shows or hides a replaced column alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from granite_xai.base.coalitions import union
from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition, Terms
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.tables import Table


def supports_grid(effect: ResolvedExplainer, table: Table) -> bool:
    """Whether a pilot may choose a few values for every column, whichever these columns are.

    This is stricter than `require_grid_support`: a pilot chooses values for effects of single columns. Those of groups
    are exact, or on a grid of quantiles where the user asks for one.

    Parameters
    ----------
    effect : ResolvedExplainer
    table : Table
    """
    if effect.changes():
        return True  # accumulated effects read no matrix of values
    if effect.pairwise:
        return False
    everything = frozenset(range(table.n_columns))
    for members, terms in zip(effect.layout.sets, effect.terms, strict=True):
        columns = union(members)
        if len(columns) > 1 or _other_coalitions(columns, terms, everything):
            return False
    return True


def require_grid_support(effect: ResolvedExplainer, table: Table, on_grid: Collection[int]) -> None:
    """Refuse a grid where the effect of a set reads more than the set and its complement.

    Parameters
    ----------
    effect : ResolvedExplainer
    table : Table
    on_grid : collection of int
        Positions of the columns that are replaced.

    Raises
    ------
    InputError
        P03, with the columns.
    """
    everything = frozenset(range(table.n_columns))
    replaced = frozenset(on_grid)
    is_pairwise = effect.pairwise
    for members, terms in zip(effect.layout.sets, effect.terms, strict=True):
        columns = union(members)
        others = _other_coalitions(columns, terms, everything)
        singled_out = _shown_or_hidden_alone(others, everything)
        reads_more = bool(others) or is_pairwise
        if (replaced & columns and reads_more) or replaced & singled_out:
            raise _no_grid(table, columns, (columns | singled_out) & replaced)


def _shown_or_hidden_alone(coalitions: Iterable[Coalition], everything: Coalition) -> Coalition:
    """Columns that one of these coalitions shows alone, or hides alone."""
    columns: set[int] = set()
    for coalition in coalitions:
        for side in (coalition, everything - coalition):
            if len(side) == 1:
                columns |= side
    return frozenset(columns)


def _other_coalitions(columns: Coalition, terms: Terms, everything: Coalition) -> set[Coalition]:
    """Coalitions that the effect of a set reads beside the set, its complement, everything and nothing."""
    coalitions = {term for term in terms if isinstance(term, frozenset)}
    return coalitions - {frozenset(), columns, everything - columns, everything}


def _no_grid(table: Table, columns: Coalition, replaced: Coalition) -> InputError:
    names = ", ".join(table.names[position] for position in sorted(columns))
    return InputError(
        "Resources(max_grid=) is defined for pure and full effects of single features and of groups: "
        f"the effect of {names} reads other features one by one.",
        code="P03",
        argument="max_grid",
        columns=tuple(table.names[position] for position in sorted(replaced)),
        hint="For partial effects, interactions and 'coe' leave max_grid at None and lower max_samples.",
    )
