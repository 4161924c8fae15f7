"""The rows of a call, in the words in which an error names them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from granite_xai.base.text import count_text, listing
from granite_xai.base.typing import IntArray
from granite_xai.tables import Table

SHOWN = 5  # rows, columns or values that a message names


@dataclass(frozen=True)
class SentRows:
    """Where the rows of a call come from.

    Parameters
    ----------
    count : int
        Number of rows.
    base : Table, optional
        Their table; None: a container whose rows have no labels.
    base_rows : array of shape (count,), optional
        Positions in the base; None: its first rows.
    donor : Table, optional
        Where ``columns`` are taken from.
    donor_rows : array of shape (count,), optional
    columns : tuple of int
        Positions of the columns that are replaced.
    """

    count: int
    base: Table | None = None
    base_rows: IntArray | None = None
    donor: Table | None = None
    donor_rows: IntArray | None = None
    columns: tuple[int, ...] = ()

    def part(self, positions: slice | IntArray) -> SentRows:
        """The rows at some positions of these."""
        base_rows = _rows_or_first(self.base_rows, self.count)[positions]
        donor_rows = self.donor_rows
        if donor_rows is not None:
            donor_rows = donor_rows[positions]
        return replace(self, count=len(base_rows), base_rows=base_rows, donor_rows=donor_rows)

    @property
    def n_columns(self) -> int:
        """Columns of a row; 0 where the table is not known."""
        return 0 if self.base is None else self.base.n_columns

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the replaced columns."""
        if self.donor is None:
            return ()
        return tuple(self.donor.names[column] for column in self.columns)

    def labels(self) -> list[Any]:
        """What the user calls the first few rows."""
        return _labels(self.base, self.base_rows, self.count)

    def text(self) -> str:
        """The first few rows, or the recombinations that made them."""
        if not self.columns or self.donor_rows is None:
            noun = "row" if self.count == 1 else "rows"
            return count_text(self.count, noun, self.labels())
        column_noun = "column" if len(self.columns) == 1 else "columns"
        where = f"on {column_noun} {listing(self.names, SHOWN)}"
        donor_labels = _labels(self.donor, self.donor_rows, self.count)
        pairs = [
            f"row {donor!r} {where}, row {base!r} elsewhere"
            for base, donor in zip(self.labels(), donor_labels, strict=True)
        ]
        if self.count > SHOWN:
            pairs.append("…")
        noun = "recombined row" if self.count == 1 else "recombined rows"
        return f"{self.count} {noun} ({'; '.join(pairs)})"


def _rows_or_first(rows: IntArray | None, count: int) -> IntArray:
    """Positions of rows; None: the first of a table."""
    if rows is None:
        return np.arange(count)
    return rows


def _labels(table: Table | None, rows: IntArray | None, count: int) -> list[Any]:
    """What the user calls the first few rows of a table; positions where there is none."""
    positions = _rows_or_first(rows, count)[:SHOWN]
    if table is None:
        return list(positions.tolist())
    return list(table.row_labels(positions))
