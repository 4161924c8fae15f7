"""Rows that a file without data may hold."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from granite_xai.persistence.made_up_rows import made_up_codes, rows_of_levels, synthetic_rows
from granite_xai.tables import read_table
from persistence.saved_objects import table

READ = read_table(table(), missing="error")


def test_S15_synthetic_rows_are_made_of_levels():
    made = synthetic_rows(READ)
    for column, source in zip(made.columns, READ.columns, strict=True):
        assert set(column.levels.tolist()) <= set(source.levels.tolist())
    assert made.native.dtypes.tolist() == table().dtypes.tolist()


def test_S15_made_up_rows_of_a_region_have_its_levels_only():
    regions = (READ.columns[0].codes > 4).astype(np.intp)
    codes = made_up_codes(READ, regions, np.array([7, 3]))
    assert codes.shape == (10, READ.n_columns)
    for column in READ.columns:
        for region, rows in ((0, codes[:7]), (1, codes[7:])):
            present = set(column.codes[regions == region].tolist())
            assert set(rows[:, column.position].tolist()) <= present


def test_S15_made_up_rows_spread_over_all_levels_of_a_region():
    codes = made_up_codes(READ, np.zeros(READ.n_rows, dtype=np.intp), np.array([READ.n_rows]))
    for column in READ.columns:
        assert set(codes[:, column.position].tolist()) == set(column.codes.tolist())


def test_rows_of_levels_have_the_values_that_the_codes_mean():
    codes = np.stack([column.codes for column in READ.columns], axis=1)
    rebuilt = rows_of_levels(READ, synthetic_rows(READ), codes)
    pd.testing.assert_frame_equal(rebuilt.native.reset_index(drop=True), READ.native)


def test_a_code_of_minus_one_is_a_missing_value():
    frame = pd.DataFrame({"x": [1.0, np.nan, 3.0], "c": ["u", "v", None]})
    read = read_table(frame, missing="allow")
    rebuilt = rows_of_levels(read, synthetic_rows(read), np.array([[-1, 0], [1, -1]]))
    assert rebuilt.columns[0].missing.tolist() == [True, False]
    assert rebuilt.columns[1].missing.tolist() == [False, True]
    assert rebuilt.columns[0].values[1] == 3.0


def test_passing_columns_are_those_of_a_carrier():
    frame = table().assign(name=[f"row {i}" for i in range(60)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name for every row is not explained
        read = read_table(frame, missing="error", requested=())
    assert read.columns[-1].passes
    carriers = synthetic_rows(read)
    codes = np.zeros((3, read.n_columns), dtype=np.intp)
    names = rows_of_levels(read, carriers, codes).native["name"]
    assert set(names) <= set(carriers.native["name"])
