"""The rows of a call, as an error names them."""

import numpy as np
import pandas as pd

from granite_xai.models.model import SentRows
from granite_xai.tables import read_table

TABLE = read_table(
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}, index=["x", "y", "z"]),
    missing="error",
)


def test_rows_are_called_what_the_table_calls_them():
    rows = SentRows(3, TABLE, np.array([2, 0, 1]))
    assert rows.labels() == ["z", "x", "y"]
    assert rows.part(slice(1, 3)).labels() == ["x", "y"]


def test_a_recombined_row_names_both_rows_and_the_replaced_column():
    rows = SentRows(1, TABLE, np.array([0]), TABLE, np.array([2]), columns=(1,))
    assert rows.names == ("b",)
    assert rows.text() == "1 recombined row (row 'z' on column 'b', row 'x' elsewhere)"


def test_without_a_table_rows_are_counted_from_0():
    assert SentRows(2).labels() == [0, 1]
    assert SentRows(2).n_columns == 0
