"""One row given by hand."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from granite_xai.base.errors import InputError
from granite_xai.tables import read_table, row_like

DATA = {
    "i": [1, 2],
    "s": ["x", "y"],
    "t": pd.to_datetime(["2020-01-01", "2021-01-01"]).tz_localize("Asia/Tokyo"),
}
X = pd.DataFrame(DATA).assign(c=pd.Categorical(["p", "q"], ["q", "p"]))
CELLS = {"i": 7, "s": "y", "t": pd.Timestamp("2022-06-01", tz="Asia/Tokyo"), "c": "q"}


@pytest.mark.parametrize("make", [lambda x: x, pl.from_pandas])
def test_a_row_has_the_dtypes_of_the_table(make):
    table = read_table(make(X), missing="error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = [row_like(table, CELLS, "row"), row_like(table, list(CELLS.values()), "row")]
    for row in rows:
        assert list(row.native.dtypes) == list(table.native.dtypes)
        assert row.kinds == table.kinds
        assert [row.native[name][0] for name in CELLS] == list(CELLS.values())


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("make", [lambda x: x, pl.from_pandas, pa.Table.from_pandas])
def test_a_row_with_a_date_of_any_unit(make, unit):
    """Nanoseconds become plain integers in a NumPy list: polars and pyarrow refused the row as a number."""
    dates = pd.to_datetime(["2020-01-01", "2021-01-01"]).as_unit(unit)
    table = read_table(make(pd.DataFrame({"t": dates, "i": [1, 2]})), missing="error")
    row = row_like(table, [pd.Timestamp("2020-06-01 12:00").as_unit(unit), 7], "row")
    assert row.kinds == table.kinds
    assert row.columns[0].values[0] == np.datetime64("2020-06-01T12:00")


def test_a_cell_that_the_dtype_cannot_hold_is_not_rounded():
    row = row_like(read_table(X, missing="error"), CELLS | {"i": 1.5}, "row")
    assert row.native["i"].tolist() == [1.5]
    assert row.native["s"].tolist() == ["y"]


def test_columns_left_out_stay_only_in_a_single_row():
    table = read_table(np.array([[1.0, 2.0], [3.0, 4.0]]), missing="error")
    assert row_like(table.take([1]), {"x0": 9.0}, "row").native.tolist() == [[9.0, 4.0]]
    with pytest.raises(InputError, match="row has no cell for the columns 'x1'"):
        row_like(table, {"x0": 9.0}, "row")
    with pytest.raises(InputError, match="row has 3 cells, the table has 2 columns"):
        row_like(table, [1, 2, 3], "row")
    with pytest.raises(InputError, match="P04"):
        row_like(table, {"x7": 1}, "row")
    with pytest.raises(
        InputError, match=r"P03: row column 'x0' \(index 0\) .* cannot be read as numeric"
    ):
        row_like(table, {"x0": "text", "x1": 1}, "row")
