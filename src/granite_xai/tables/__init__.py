"""Tables: what the user passed, read once; rows with what belongs to them."""

from granite_xai.tables.cells import KINDS, LABELLED, MISSING_CODE, Kind, UnreadableError, as_kind
from granite_xai.tables.containers import ArrayContainer, Container, FrameContainer, Outline
from granite_xai.tables.lazy import (
    DRAWN_BY_NUMBER,
    MOST_ROWS,
    collect_rows,
    draw_positions,
    is_lazy,
)
from granite_xai.tables.reading import open_table, read_table, require_present, row_like
from granite_xai.tables.rows import (
    MOST_HELD_OUT,
    Rows,
    fixed_row_order,
    row_order_by_ranks,
    same_rows_in_any_order,
)
from granite_xai.tables.table import (
    Column,
    Table,
    distinct_rows,
    frame,
    recombine,
    require_rows,
    sorted_labels,
)

__all__ = [
    "DRAWN_BY_NUMBER",
    "KINDS",
    "LABELLED",
    "MISSING_CODE",
    "MOST_HELD_OUT",
    "MOST_ROWS",
    "ArrayContainer",
    "Column",
    "Container",
    "FrameContainer",
    "Kind",
    "Outline",
    "Rows",
    "Table",
    "UnreadableError",
    "as_kind",
    "collect_rows",
    "distinct_rows",
    "draw_positions",
    "fixed_row_order",
    "frame",
    "is_lazy",
    "open_table",
    "read_table",
    "recombine",
    "require_present",
    "require_rows",
    "row_like",
    "row_order_by_ranks",
    "same_rows_in_any_order",
    "sorted_labels",
]
