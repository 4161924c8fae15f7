"""What the dtypes of a table are called, and a row in dtypes that have such names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from granite_xai.tables.containers import ArrayContainer, Container, FrameContainer


def dtypes_of(container: Any) -> list[Any]:
    """What the dtypes of a table are called: of an array one, of a frame one for each column."""
    if container.library == "numpy":
        return [container.matrix.dtype.str]
    names: list[Any] = []
    for position in range(len(container.labels)):
        series = container.series(position)
        if container.library != "pandas":
            dtype = series.dtype
            parts = {"name": type(dtype).__name__}
            for part in ("time_unit", "time_zone", "categories"):
                if hasattr(dtype, part):
                    parts[part] = getattr(dtype, part)
            names.append(parts)
        elif isinstance(series.to_native().dtype, pd.CategoricalDtype):
            dtype = series.to_native().dtype
            names.append({"categories": np.asarray(dtype.categories), "ordered": dtype.ordered})
        else:
            names.append(str(series.to_native().dtype))
    return names


def empty_row(like: Container, dtypes: Sequence[Any]) -> Container:
    """A table of one row, whose cells mean nothing, in a library and in dtypes that `dtypes_of` gave."""
    labels = list(like.labels)
    if like.library == "numpy":
        return ArrayContainer(np.zeros((1, len(labels)), dtype=np.dtype(dtypes[0])))
    if like.library == "pandas":
        columns = [_pandas_cell(dtype) for dtype in dtypes]
        frame = pd.concat(columns, axis=1)
        frame.columns = pd.Index(labels)
        return FrameContainer(frame, "pandas", has_range_index=True)
    schema: dict[str, Any] = {}
    for label, parts in zip(labels, dtypes, strict=True):
        dtype = getattr(nw, parts.pop("name"))
        schema[label] = dtype(**parts) if parts else dtype
    data = {label: [None] for label in labels}
    backend: Any = like.library
    row = nw.from_dict(data, schema, backend=backend).to_native()
    if like.library == "pyarrow":
        row = _with_signed_indices(row)
    return FrameContainer(row, like.library)


def _with_signed_indices(row: Any) -> Any:
    """A pyarrow row of nulls whose labels are numbered as pandas reads them, in every version of pyarrow."""
    import pyarrow as pa

    for position, column in enumerate(row.schema):
        if pa.types.is_dictionary(column.type):
            labels = pa.nulls(row.num_rows, pa.dictionary(pa.int32(), column.type.value_type))
            row = row.set_column(position, column.name, labels)
    return row


def _pandas_cell(dtype: Any) -> Any:
    """A column of one cell that means nothing."""
    if isinstance(dtype, dict):
        categories = pd.Index(dtype["categories"])
        return pd.Series(pd.Categorical([None], categories, ordered=dtype["ordered"]))
    # No time zone of dateutil: its name may be that of a file.
    if re.fullmatch(r"(?!.*dateutil)[\w\[\], /+-]{1,60}", dtype) is None:
        raise ValueError(f"{dtype[:60]!r} is no dtype that is known")
    return pd.Series([0]).astype(pd.api.types.pandas_dtype(dtype))
