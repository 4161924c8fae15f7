"""How values are written beside a table.

Columns are written as their positions, operators as the names of their classes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any, NamedTuple

from granite_xai import partitioners
from granite_xai.base.deferred import Deferred
from granite_xai.base.files import NAN_AS_NULL, Form, Structure, require
from granite_xai.base.typing import AleColumn, Coalition
from granite_xai.compute import Resources
from granite_xai.disagreement.disagreement import Disagreement
from granite_xai.disagreement.objective import Objective
from granite_xai.explanation.behavior import BEHAVIORS
from granite_xai.explanation.explainer import INFLUENCES, Explainer
from granite_xai.explanation.interaction import INTERACTIONS
from granite_xai.explanation.masking import MASKINGS, bins
from granite_xai.inference.described_share import DescribedShare, DescribedShares
from granite_xai.partitioners.original import NumericTree
from granite_xai.regions import Partition
from granite_xai.tables import Column, Table, rows_from_dict, rows_to_dict

THE_TABLE = "the table of this file"


def structure(table: Table | None = None, *, by_row: bool = True) -> Structure:
    """How the values of a file are written, and read again.

    Parameters
    ----------
    table : Table, optional
        The table that columns and rows are of.
    by_row : bool, default=True
        Whether the file holds values with one entry a row of it.
    """
    forms: dict[Any, Form] = {
        float: NAN_AS_NULL,
        Partition: Form(write=_write_partition, read=_read_partition),
        Deferred[DescribedShares]: Form(write=_write_described, read=_read_described),
    }
    if table is not None:
        forms |= _BesideTable(table).forms()
    classes = {kind.__name__: kind for kind in _classes()}
    return Structure(classes=classes, forms=forms, by_row=by_row)


def _classes() -> Iterator[type]:
    """The classes that a file may name: operators, and what stands beside them in their modules."""
    yield from (Explainer, Disagreement, Objective, Resources, NumericTree)
    for name in partitioners.__all__:
        if name not in ("PartitionResult", "Problem"):
            yield getattr(partitioners, name)
    modules = {bins.__name__}
    operators: list[dict[str, Any]] = [MASKINGS, BEHAVIORS, INTERACTIONS, INFLUENCES]
    for named in operators:
        modules |= {type(operator).__module__ for operator in named.values()}
    for module in sorted(modules):
        yield from _dataclasses_of(module)


def _dataclasses_of(module: str) -> Iterator[type]:
    """The dataclasses that a module defines."""
    for value in vars(sys.modules[module]).values():
        is_class = isinstance(value, type) and is_dataclass(value)
        if is_class and value.__module__ == module:
            yield value


def _write_partition(partition: Partition, place: str) -> Any:
    return partition.to_dict()


def _read_partition(data: Any, place: str) -> Partition:
    return Partition.from_dict(data)


_FIGURES = Structure(forms={float: NAN_AS_NULL})


def _write_described(shares: Deferred[DescribedShares], place: str) -> Any:
    return _FIGURES.write(shares.value, DescribedShares, place)


def _read_described(data: Any, place: str) -> Deferred[DescribedShares]:
    """Share of the model that curves describe; earlier versions wrote both without intervals."""
    if isinstance(data, dict):
        shares = _FIGURES.read(data, DescribedShares, place)
    else:
        in_regions, overall = _FIGURES.read(data, tuple[float, float], place)
        shares = DescribedShares(
            in_regions=DescribedShare(in_regions), overall=DescribedShare(overall)
        )
    return Deferred(lambda: shares, now=True)


class _BesideTable(NamedTuple):
    """The forms of what belongs to a table."""

    table: Table

    def forms(self) -> dict[Any, Form]:
        return {
            Column: Form(write=lambda column, _: column.position, read=self.read_column),
            Coalition: Form(write=_write_coalition, read=self.read_coalition),
            AleColumn: Form(write=_write_ale_column, read=self.read_ale_column),
            Table: Form(write=self.write_rows, read=self.read_rows),
        }

    def read_column(self, data: Any, place: str) -> Column:
        n_columns = self.table.n_columns
        is_position = type(data) is int and 0 <= data < n_columns
        what = f"is {str(data)[:60]!r}, not the position of one of {n_columns} columns"
        require(is_position, place, what)
        column: Column = self.table.columns[data]
        return column

    def read_ale_column(self, data: Any, place: str) -> AleColumn:
        """A column, or a column and its number of intervals."""
        parts = data if isinstance(data, list) and len(data) == 2 else [data]
        ale_column = AleColumn(*parts)
        are_numbers = all(type(number) is int for number in ale_column)
        has_column = are_numbers and ale_column.column in range(self.table.n_columns)
        what = f"is {str(data)[:60]!r}, not a column and a number of intervals"
        require(has_column, place, what)
        return ale_column

    def read_coalition(self, data: Any, place: str) -> Coalition:
        """Columns in ascending order, as one text: ``"0 4"``."""
        n_columns = self.table.n_columns
        by_text = {str(position): position for position in range(n_columns)}
        texts = data.split(" ") if isinstance(data, str) and data else []
        positions = [by_text.get(text, -1) for text in texts]
        is_ascending = -1 not in positions and sorted(set(positions)) == positions
        what = f"is {str(data)[:60]!r}, which is no set of {n_columns} columns"
        require(isinstance(data, str) and is_ascending, place, what)
        return frozenset(positions)

    def write_rows(self, rows: Table, place: str) -> Any:
        return THE_TABLE if rows is self.table else rows_to_dict(rows)

    def read_rows(self, data: Any, place: str) -> Table:
        if isinstance(data, str) and data == THE_TABLE:
            return self.table
        return rows_from_dict(data, self.table, place)


def _write_coalition(coalition: Coalition, place: str) -> str:
    return " ".join(map(str, sorted(coalition)))


def _write_ale_column(ale_column: AleColumn, place: str) -> Any:
    """Its position, with the number of intervals where that is not the usual one."""
    if ale_column == AleColumn(ale_column.column):
        return ale_column.column
    return list(ale_column)
