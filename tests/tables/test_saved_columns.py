"""Tables in files: dtypes, categories and missing cells come back."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from granite_xai.tables import (
    outline_from_dict,
    outline_to_dict,
    read_table,
    rows_from_dict,
    rows_to_dict,
)

TYPED = pd.DataFrame(
    {
        "int8": np.array([1, -2, 3], dtype="i1"),
        "uint64": np.array([2**53, 1, 0], dtype="u8"),
        "float32": np.array([0.1, np.nan, 2.5], dtype="f4"),
        "bool": [True, False, True],
        "text": ["a", None, "ü"],
        "object": pd.Series(["a", np.nan, "b"], dtype=object),
        "Int64": pd.array([1, None, 3], dtype="Int64"),
        "Float32": pd.array([1.5, None, 3], dtype="Float32"),
        "boolean": pd.array([True, None, False], dtype="boolean"),
        "arrow": pd.array([1, None, 3], dtype="int64[pyarrow]"),
        "category": pd.Categorical(["x", None, "y"], categories=["y", "x", "never"]),
        "numbers": pd.Categorical([3, 1, 3], categories=[3, 2, 1], ordered=True),
        "date": pd.to_datetime(["2020-01-01 00:00:00.5", None, "2021-05-05 06:07:08.123456"]),
        "zone": pd.to_datetime(["2020-01-01", None, "2021-05-05"], utc=True).tz_convert(
            "Europe/Berlin"
        ),
        "duration": pd.to_timedelta(["1 day", None, "2 h"]),
    }
)


def through_a_file(read):
    data = {"table": outline_to_dict(read, with_values=True), "rows": rows_to_dict(read)}
    data = json.loads(json.dumps(data, allow_nan=False))
    return rows_from_dict(data["rows"], outline_from_dict(data["table"], "table"), "rows")


@pytest.mark.parametrize("name", TYPED.columns)
def test_pandas_columns_keep_dtype_categories_and_missing_cells(name):
    X = TYPED[[name]]
    pd.testing.assert_frame_equal(through_a_file(read_table(X, missing="allow")).native, X)


@pytest.mark.parametrize("dtype", ["f2", ">f8", "i2", "u1", "?", "U3", "O", "M8[D]", "m8[ns]"])
def test_arrays_keep_their_dtype(dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    found = through_a_file(read_table(X, missing="allow")).native
    np.testing.assert_array_equal(found, X)
    assert (
        found.dtype == X.dtype.newbyteorder("=") or found.dtype.kind == "U"
    )  # as wide as its longest text
