"""The rows of a call, in the words in which an error names them."""

from __future__ import annotations

from dataclasses import dataclass
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

    def at(self, part: slice | IntArray) -> SentRows:
        """The rows at some positions of these."""
        base_rows = np.arange(self.count) if self.base_rows is None else self.base_rows
        base_rows = base_rows[part]
        return SentRows(
            count=len(base_rows),
            base=self.base,
            base_rows=base_rows,
            donor=self.donor,
            donor_rows=None if self.donor_rows is None else self.donor_rows[part],
            columns=self.columns,
        )

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
            return count_text(self.count, "row" if self.count == 1 else "rows", self.labels())
        where = f"on column{'s' if len(self.columns) > 1 else ''} {listing(self.names, SHOWN)}"
        donor_labels = _labels(self.donor, self.donor_rows, self.count)
        pairs = [
            f"row {donor!r} {where}, row {base!r} elsewhere"
            for base, donor in zip(self.labels(), donor_labels, strict=True)
        ]
        more = "; …" if self.count > SHOWN else ""
        plural = "" if self.count == 1 else "s"
        return f"{self.count} recombined row{plural} ({'; '.join(pairs)}{more})"


def _labels(table: Table | None, rows: IntArray | None, count: int) -> list[Any]:
    positions = (np.arange(count) if rows is None else rows)[:SHOWN]
    if table is None:
        return list(positions.tolist())
    return list(table.row_labels(positions))
