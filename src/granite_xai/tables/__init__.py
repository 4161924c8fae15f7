"""Tables: the only room that knows pandas, polars or pyarrow."""

from granite_xai.tables.columns import Column, Kind
from granite_xai.tables.containers import Outline
from granite_xai.tables.reading import read_table
from granite_xai.tables.row_by_hand import row_like
from granite_xai.tables.rows import Rows
from granite_xai.tables.table import (
    Table,
    frame,
    nudged,
    recombine,
    require_rows,
)

__all__ = [
    "Column",
    "Kind",
    "Outline",
    "Rows",
    "Table",
    "frame",
    "nudged",
    "read_table",
    "recombine",
    "require_rows",
    "row_like",
]
