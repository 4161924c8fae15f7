"""Whether a column may be replaced by a few of its values: the effect of a set must read no other columns (C22)."""

from __future__ import annotations

from collections.abc import Collection

from granite_xai.base.coalitions import union
from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition, Terms
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.tables import Table


def takes_values(effect: ResolvedExplainer, table: Table) -> bool:
    """Whether any column may be replaced by a few of its values.

    Parameters
    ----------
    effect : ResolvedExplainer
    table : Table
    """
    if effect.changes():
        return True  # accumulated effects read no matrix of values
    if effect.pairwise or effect.needed().sampled:
        return False
    everything = frozenset(range(table.n_columns))
    for members, terms in zip(effect.layout.sets, effect.terms, strict=True):
        columns = union(members)
        if len(columns) > 1 or _other_coalitions(columns, terms, everything):
            return False
    return True


def require_own_values(effect: ResolvedExplainer, table: Table, on_grid: Collection[int]) -> None:
    """Refuse a grid where the effect of a set reads more than the set and its complement.

    Parameters
    ----------
    effect : ResolvedExplainer
    table : Table
    on_grid : collection of int
        Positions of the columns that are replaced.
    """
    everything = frozenset(range(table.n_columns))
    replaced = frozenset(on_grid)
    for members, terms in zip(effect.layout.sets, effect.terms, strict=True):
        columns = union(members)
        others = _other_coalitions(columns, terms, everything)
        singles: set[int] = set()  # columns that other coalitions show or hide alone
        for coalition in others:
            for side in (coalition, everything - coalition):
                if len(side) == 1:
                    singles |= side
        reads_more = bool(others) or effect.pairwise
        if (replaced & columns and reads_more) or replaced & singles:
            _refuse_grid(table, columns, (columns | singles) & replaced)


def _other_coalitions(columns: Coalition, terms: Terms, everything: Coalition) -> set[Coalition]:
    """Coalitions that the effect of a set reads beside the set, its complement, everything and nothing."""
    coalitions = {term for term in terms if isinstance(term, frozenset)}
    return coalitions - {frozenset(), columns, everything - columns, everything}


def _refuse_grid(table: Table, columns: Coalition, replaced: Coalition) -> None:
    names = ", ".join(table.names[i] for i in sorted(columns))
    raise InputError(
        "Resources(max_grid=) is defined for pure and full effects of single features and of groups: "
        f"the effect of {names} reads other features one by one.",
        code="P03",
        argument="max_grid",
        columns=tuple(table.names[i] for i in sorted(replaced)),
        hint="For partial effects, interactions and 'coe' leave max_grid at None and lower max_samples.",
    )
