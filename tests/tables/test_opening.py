"""Which library a table belongs to; what is no table ends in an error with the conversion to use."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from granite_xai.base.errors import InputError
from granite_xai.tables import open_table, read_table


def refused(X, code, *parts):
    with pytest.raises(InputError) as caught:
        open_table(X, "X")
    error = caught.value
    assert error.code == code, str(error)
    assert error.argument == "X"
    for part in parts:
        assert part in str(error), str(error)
    return error


CELLS = {"a": [1.5, 2.5], "b": [3.0, 4.0]}


@pytest.mark.parametrize(
    ("X", "library"),
    [
        (np.array([[1.5, 3.0], [2.5, 4.0]]), "numpy"),
        ([[1.5, 3.0], [2.5, 4.0]], "numpy"),
        (((1.5, 3.0), np.array([2.5, 4.0])), "numpy"),
        (pd.DataFrame(CELLS), "pandas"),
        (pl.DataFrame(CELLS), "polars"),
        (pa.table(CELLS), "pyarrow"),
    ],
)
def test_a_table_is_opened_in_its_own_library(X, library):
    container = open_table(X, "X")
    assert container.library == library
    assert container.names == (("x0", "x1") if library == "numpy" else ("a", "b"))
    assert container.n_rows == 2
    assert container.cells(0).values.tolist() == [1.5, 2.5]
    assert container.cells(1).values.tolist() == [3.0, 4.0]


def test_lists_of_numbers_become_an_array_and_mixed_lists_stay_objects():
    numbers = open_table([[1, 2.5], [3, 4]], "X").matrix
    assert numbers.dtype == np.float64
    mixed = open_table([[1, "a"], [2.5, "b"]], "X").matrix
    assert mixed.dtype == object
    assert mixed.tolist() == [[1, "a"], [2.5, "b"]]
    assert type(mixed[0, 0]) is int


def test_only_an_index_of_row_numbers_is_one_that_new_rows_get_anew():
    X = pd.DataFrame(CELLS)
    assert open_table(X, "X").has_range_index
    assert not open_table(X.set_axis([0, 1]), "X").has_range_index
    assert not open_table(pl.DataFrame(CELLS), "X").has_range_index


def test_ragged_rows_are_named_up_to_five():
    ragged = [[1, 2], *([[3]] * 7)]
    assert refused(ragged, "D25", "row 0 has 2 cells, row 1 has 1").rows == (1, 2, 3, 4, 5)


def test_the_argument_is_part_of_the_message_and_of_the_hint():
    with pytest.raises(InputError, match="reference is a dict.*pandas.DataFrame\\(reference\\)"):
        open_table({"a": [1]}, "reference")


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_D23_sparse_matrices(kind):
    refused(kind(np.eye(40, 3)), "D23", kind.__name__, "sparse", "960 bytes", ".toarray()")


@pytest.mark.parametrize(
    ("X", "parts"),
    [
        (
            np.ones(3),
            ["Expected 2D array, got 1D array instead", "shape (3,)", "Reshape your data"],
        ),
        ([1.0, 2.0], ["Expected 2D array, got 1D array instead", "Reshape your data"]),
        ([], ["Expected 2D array, got 1D array instead"]),
        (pd.Series([1.0]), ["Expected 2D array", "Reshape your data", "to_frame"]),
        (pl.Series([1.0]), ["Expected 2D array", "Reshape your data", "to_frame"]),
        (np.float64(3), ["float64"]),
        (np.array(3.0), ["got 0D array"]),
        (np.ones((2, 2, 2)), ["got 3D array", "reshape(len(X), -1)"]),
        (({} for _ in range(3)), ["generator", "list(X)"]),
        ({"a": [1]}, ["dict", "pandas.DataFrame(X)"]),
        ([{"a": 1}], ["list of dicts", "pandas.DataFrame(X)"]),
        (np.matrix([[1.0]]), ["numpy.matrix", "numpy.asarray(X)"]),
        (np.ma.masked_array([[1.0]], mask=[[True]]), ["masked", "filled"]),
        (np.zeros(2, dtype=[("a", float), ("b", int)]), ["structured", "DataFrame(X)"]),
        ([[1, 2], [3]], ["row 0 has 2 cells, row 1 has 1"]),
        ("text", ["builtins.str"]),
        (None, ["NoneType"]),
    ],
)
def test_D25_what_is_no_table(X, parts):
    error = refused(X, "D26" if isinstance(X, np.float64) else "D25", *parts)
    assert error.hint


class Tensor:
    shape = (2, 2)

    def __array__(self, dtype=None, copy=None):
        return np.ones((2, 2))


def test_D26_tables_of_other_libraries():
    refused(Tensor(), "D26", "Tensor", "pandas, polars or pyarrow")
    refused(pl.LazyFrame({"a": [1]}), "D26", "LazyFrame", "X.collect()")


class Holder:
    """scikit-learn's checks pass such an object: it is an array by its own word, and nothing else."""

    def __array__(self, dtype=None, copy=None):
        return np.ones((2, 3))


def test_a_plain_holder_of_an_array_is_read():
    assert read_table(Holder(), missing="error").n_columns == 3
