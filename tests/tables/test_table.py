"""A table: distinct rows against a plain loop, columns by label, parts of tables."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import InputError
from granite_xai.tables import read_table

CELLS = {
    "numeric": st.sampled_from([-1.0, -0.0, 0.0, 2.5, np.nan, 5e-324]),
    "nominal": st.sampled_from(["a", "b", "c", None]),
    "boolean": st.sampled_from([True, False, None]),
    "date": st.sampled_from([pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01"), pd.NaT]),
}


@st.composite
def frames(draw):
    n = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    cells = [draw(st.lists(CELLS[kind], min_size=n, max_size=n)) for kind in kinds]
    series = [
        pd.Series(c, dtype="datetime64[us]" if k == "date" else object)
        for c, k in zip(cells, kinds, strict=True)
    ]
    return pd.DataFrame(dict(enumerate(series)))


def key(cell):
    """Missing first, then the value; -0.0 equals 0.0 for Python too."""
    return (0, 0) if pd.isna(cell) else (1, cell)


@given(frames(), st.data())
def test_distinct_rows_equal_a_plain_loop(X, data):
    columns = data.draw(st.lists(st.integers(0, X.shape[1] - 1), unique=True))
    rows = [tuple(key(X.iloc[n, j]) for j in columns) for n in range(len(X))]
    values = sorted(set(rows))
    codes, first = read_table(X, missing="allow").distinct(columns)
    assert codes.tolist() == [values.index(row) for row in rows]
    assert first.tolist() == [rows.index(value) for value in values]
    assert codes.dtype == first.dtype == np.intp


@given(frames(), st.data())
def test_a_part_of_a_table_is_the_table_of_the_part(X, data):
    rows = data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=15))
    fresh, ranked = read_table(X, missing="allow"), read_table(X, missing="allow")
    ranked.distinct(range(X.shape[1]))  # ranks are known before the part is taken
    for part in (fresh.take(rows), ranked.take(rows)):
        for whole, column in zip(fresh.columns, part.columns, strict=True):
            np.testing.assert_array_equal(column.values, whole.values[rows])
            present = sorted({int(code) for code in whole.codes[rows]} - {-1})
            assert column.levels.tolist() == whole.levels[present].tolist()
            known = [None if code < 0 else column.levels[code] for code in column.codes]
            assert known == [None if code < 0 else whole.levels[code] for code in whole.codes[rows]]
        pd.testing.assert_frame_equal(part.native, X.take(rows))


def test_distinct_of_one_column_follows_its_levels():
    table = read_table(np.array([[2.0], [np.nan], [1.0], [2.0]]), missing="allow")
    assert table.distinct([0])[0].tolist() == [2, 0, 1, 2]
    assert table.distinct([0])[1].tolist() == [1, 2, 0]


def test_distinct_of_a_coalition_is_in_ascending_order_and_of_none_is_one_value():
    table = read_table(np.array([[1, 0], [0, 1], [0, 0]]), missing="error")
    assert (
        table.distinct(frozenset({1, 0}))[0].tolist()
        == table.distinct([0, 1])[0].tolist()
        == [2, 1, 0]
    )
    assert table.distinct([1, 0])[0].tolist() == [1, 2, 0]
    assert table.distinct([])[0].tolist() == [0, 0, 0]
    assert table.distinct([])[1].tolist() == [0]


def test_distinct_of_many_columns_of_many_values_does_not_overflow():
    X = np.random.default_rng(0).normal(size=(300, 40))
    codes, first = read_table(X, missing="error").distinct(range(40))
    assert codes[first].tolist() == list(range(300))
    assert np.argsort(X[:, 0]).tolist() == first.tolist()


def test_P04_an_unknown_column_is_answered_with_the_names():
    table = read_table(pd.DataFrame({"temp": [1.0], "hr": [2.0]}), missing="error")
    assert [table.resolve(label, "features") for label in ("hr", 1, np.int64(0))] == [1, 1, 0]
    for label in ("tmp", 2, -1, True, None, 0.0, ("temp",), ["temp"]):
        with pytest.raises(InputError, match=r"P04: features=.*Features: 'temp', 'hr'") as caught:
            table.resolve(label, "features")
        assert caught.value.argument == "features"
    with pytest.raises(InputError, match="Did you mean 'temp'"):
        table.resolve("tmp", "features")
    assert read_table([[1.0, 2.0]], missing="error").resolve("x1", "features") == 1


def test_a_label_wins_over_a_position():
    table = read_table(pd.DataFrame({1: [1.0], 0: [2.0]}), missing="error")
    assert table.resolve(0, "features") == 1


def test_tables_are_immutable_and_can_be_pickled():
    table = read_table(pd.DataFrame({"a": [2.0, 1.0], "b": ["x", None]}), missing="allow")
    copy = pickle.loads(pickle.dumps(table))
    assert copy.names == ("a", "b")
    assert copy.columns[1].codes.tolist() == table.columns[1].codes.tolist() == [0, -1]
    with pytest.raises(AttributeError):
        table.columns = ()
    for column in table.columns:
        for array in (column.values, column.levels, column.codes):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[0]
