"""Rows in files: the same table before and after."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from granite_xai.base.errors import FormatError, InputError
from granite_xai.tables import read_table, rows_from_dict, rows_to_dict

FRAME = pd.DataFrame({"a": [1.5, 2.5, 1.5], "b": ["u", "v", "u"]})


@pytest.mark.parametrize("native", [FRAME, pl.from_pandas(FRAME), np.eye(3)], ids=type)
def test_rows_come_back_equal(native):
    table = read_table(native, missing="error")
    copy = rows_from_dict(json.loads(json.dumps(rows_to_dict(table))), table, "rows")
    assert copy.container.library == table.container.library
    for column, copied in zip(table.columns, copy.columns, strict=True):
        assert copied.values.tolist() == column.values.tolist()
        assert copied.values.dtype == column.values.dtype


def test_F08_a_column_that_would_not_come_back_equal_is_named():
    table = read_table(FRAME.assign(p=np.array([1, 2, 3], dtype=np.longdouble)), missing="error")
    with pytest.raises(InputError, match=r"F08: X column 'p' \(index 2\) has dtype") as caught:
        rows_to_dict(table)
    assert caught.value.columns == ("p",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.pop(), "rows has 1 columns, not 2"),
        (lambda data: data[0].update(cells=[1.5]), "with different numbers of them"),
        (lambda data: data[0].update(dtype="V8"), r"rows\[0\]\.dtype is 'V8'"),
    ],
)
def test_F04_rows_that_are_wrong_are_named_by_their_place(change, words):
    table = read_table(FRAME, missing="error")
    data = rows_to_dict(table)
    change(data)
    with pytest.raises(FormatError, match=words):
        rows_from_dict(data, table, "rows")
