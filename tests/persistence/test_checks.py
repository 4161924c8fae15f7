"""Checks that parts of a loaded file share."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.persistence.checks import are_numbers, has_rows
from granite_xai.tables import outline_from_dict, outline_to_dict, read_table


def test_a_table_has_rows_and_its_outline_has_none():
    table = read_table(np.eye(3), missing="error")
    assert has_rows(table)
    assert not has_rows(outline_from_dict(outline_to_dict(table, with_values=True), "table"))


@pytest.mark.parametrize(
    ("values", "is_right"),
    [
        ([1.0, 2.0], True),
        ([1.0], False),
        ([1.0, 2.0, 3.0], False),
        ([[1.0, 2.0]], False),
        ([1.0, np.nan], False),
        ([1.0, np.inf], False),
    ],
    ids=["two", "too few", "too many", "another shape", "not a number", "infinite"],
)
def test_numbers_are_as_many_as_wanted_and_finite(values, is_right):
    assert are_numbers(np.array(values), 2) is is_right
