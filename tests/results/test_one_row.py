"""One row as a user gives it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.base.errors import ModelError
from granite_xai.results.one_row import naming_new_levels, one_row
from granite_xai.tables import read_table

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
TABLE = read_table(FRAME, missing="error")


@pytest.mark.parametrize("given", [{"a": 2.0, "b": "y"}, [2.0, "y"], FRAME.iloc[1]])
def test_cells_become_a_table_of_one_row(given):
    row = one_row(TABLE, given)
    assert row["a"].tolist() == [2.0]
    assert row["b"].tolist() == ["y"]


@pytest.mark.parametrize("given", [[], (), np.array([]), np.array(3.0)])
def test_what_has_no_cells_is_refused(given):
    g = gx.Granite(lambda X: X[:, 0] * X[:, 1], max_depth=0)
    g.fit(np.random.default_rng(0).normal(size=(40, 2)))
    with pytest.raises(gx.InputError):
        g.explain_row(given)


def test_a_table_stays_as_it_is():
    rows = FRAME.iloc[[0]]
    assert one_row(TABLE, rows) is rows


def refuse():
    raise ModelError("no.", code="M01", argument="model", hint="")


def test_a_level_that_is_new_is_named_where_the_model_refuses():
    with pytest.warns(gx.DataWarning, match="D15"):
        row = read_table(FRAME.assign(b="z"), missing="error", like=TABLE)
    with (
        pytest.raises(gx.ModelError, match="D15: x column 'b'.* is 'z'"),
        naming_new_levels(row, TABLE),
    ):
        refuse()


def test_another_refusal_of_the_model_stays_its_own():
    with pytest.raises(gx.ModelError, match="M01"), naming_new_levels(TABLE, TABLE):
        refuse()
