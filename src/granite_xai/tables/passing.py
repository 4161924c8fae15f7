"""Columns that only pass through to the model, neither explained nor split (D11)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from granite_xai.base.text import listing
from granite_xai.tables.cells import Cells
from granite_xai.tables.table import Table

FEW_TEXTS = 20  # so many different texts are levels however few the rows
SHOWN = 5  # names that a notice lists


class PassingColumns(NamedTuple):
    """A table whose passing columns are marked, and what is said about them."""

    table: Table
    notices: list[str]


def mark_passing(
    table: Table,
    cells: Sequence[Cells],
    requested: Collection[int],
    used: Collection[str] | None,
    argument: str,
) -> PassingColumns:
    """Mark the columns that the model does not use, and those whose texts are mostly different.

    Parameters
    ----------
    table : Table
    cells : sequence of Cells
        As the columns were read.
    requested : collection of int
        Positions of columns that are explained in any case.
    used : collection of str or None
        Names of the columns that the model uses; None: all.
    argument : str
        Name of the table in notices.
    """
    not_used = set()
    texts = set()
    most_levels = max(FEW_TEXTS, table.n_rows / 2)
    for column in table.columns:
        position = column.position
        if position in requested:
            continue
        if used is not None and column.name not in used:
            not_used.add(position)
        elif cells[position].text and len(column.levels) > most_levels:
            texts.add(position)
    passing = not_used | texts
    if len(passing) == table.n_columns:  # nothing would be left to explain
        return PassingColumns(table, [])
    columns = list(table.columns)
    for position in passing:
        columns[position] = replace(columns[position], passes=True)
    notices = []
    if not_used:
        notices.append(_notice("the model does not use", not_used, table, argument))
    if texts:
        reason = "more than half of the cells are different texts in"
        notices.append(_notice(reason, texts, table, argument))
    return PassingColumns(replace(table, columns=tuple(columns)), notices)


def _notice(reason: str, positions: Collection[int], table: Table, argument: str) -> str:
    names = listing([table.names[position] for position in sorted(positions)], SHOWN)
    return (
        f"D11: {reason} {names} of {argument}: passed on to the model as it is, neither "
        "explained nor split. To explain it, name it in features or kinds."
    )
