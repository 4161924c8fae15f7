"""The border to tables: names, kinds, levels, and recombined rows with their dtypes intact.

The only place that knows pandas, polars or pyarrow.
"""

from granite_xai.frames.columns import Column, Kind
from granite_xai.frames.read import read_table
from granite_xai.frames.recombine import frame, nudged, recombine
from granite_xai.frames.rows import row_like
from granite_xai.frames.table import Table

__all__ = ["Column", "Kind", "Table", "frame", "nudged", "read_table", "recombine", "row_like"]
