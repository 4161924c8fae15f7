"""Rows that a file without data may hold: none of them is a row of the data.

Every column takes values that occur in it, in an order of its own. A few such rows are stored with their cells: they
are the *carriers* of the dtypes. All others are codes of levels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import IntArray
from granite_xai.tables import Column, Table, read_alike, recombine

N_CARRIERS = 8
MISSING_OF_KIND = {"O": None, "f": np.nan}


def synthetic_rows(table: Table) -> Table:
    """A few rows of levels that are spread over each column, every column in another order.

    Parameters
    ----------
    table : Table
        With its rows.

    Returns
    -------
    Table
        `N_CARRIERS` rows, in the dtypes of the table.
    """
    rows = np.arange(N_CARRIERS)
    synthetic = table.take(np.zeros(N_CARRIERS, dtype=np.intp))
    for column in table.columns:
        position = column.position
        places = (rows * (2 * position + 1) + position) % N_CARRIERS  # an order of its own
        codes = (2 * places + 1) * len(column.levels) // (2 * N_CARRIERS)
        donors = [
            int(np.argmax(column.codes == code)) for code in codes
        ]  # first rows that have them
        mixed = recombine(synthetic, rows, table, donors, [position])
        synthetic = read_alike(mixed, table)
    return synthetic


def made_up_codes(table: Table, regions: IntArray, counts: IntArray) -> IntArray:
    """Levels of made-up rows, which satisfy the rule of a region, since each of their cells does.

    Parameters
    ----------
    table : Table
        With its n rows.
    regions : array of shape (n,)
        Region of each row.
    counts : array of shape (n_regions,)
        How many rows are made up for each region.

    Returns
    -------
    array of int of shape (rows, columns)
        Codes of levels; -1 is missing.
    """
    generator = np.random.default_rng(0)
    blocks = []
    for region, count in enumerate(counts.tolist()):
        rows = np.flatnonzero(regions == region)
        block = np.zeros((count, table.n_columns), dtype=np.intp)
        for column in table.columns:
            present = np.unique(column.codes[rows])
            order = generator.permutation(count)
            if count and not column.passes:
                block[:, column.position] = present[order * len(present) // count]
        blocks.append(block)
    return np.concatenate(blocks)


def rows_of_levels(table: Table, carriers: Table, codes: IntArray) -> Table:
    """Rows that consist of levels of a table.

    Parameters
    ----------
    table : Table
        Whose levels are meant; it may be an outline.
    carriers : Table
        Rows that have the dtypes of the table, and fill its passing columns.
    codes : array of int of shape (rows, columns)
        As `made_up_codes` gives them.

    Returns
    -------
    Table
    """
    first_carrier = np.zeros(len(codes), dtype=np.intp)
    columns = []
    for column in table.columns:
        if column.passes:
            columns.append(carriers.columns[column.position].take(first_carrier))
        else:
            values = _values_at(column, codes[:, column.position])
            columns.append(replace(column, values=values))
    donor = Table(tuple(columns), carriers.container.adopt(columns))
    rows = np.arange(len(codes))
    mixed = recombine(carriers, rows % carriers.n_rows, donor, rows, table.explained)
    return read_alike(mixed, carriers)


def _values_at(column: Column, codes: IntArray) -> NDArray[Any]:
    """The values that some codes of a column stand for; -1 is missing."""
    dtype = column.levels.dtype
    missing_value = MISSING_OF_KIND.get(dtype.kind, "NaT")  # of dates and times
    levels_and_missing = np.append(column.levels, np.array([missing_value], dtype=dtype))
    return levels_and_missing[codes]
