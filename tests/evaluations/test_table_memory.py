"""Bytes of tables, and the refusal of those that are too wide."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.evaluations.table_memory import (
    CELL_BYTES,
    MEMBER_BYTES,
    require_room,
    table_bytes,
)

from granite_xai import Resources
from granite_xai.base.errors import ResourceError
from granite_xai.tables import read_table


def test_bytes_are_those_of_cells_vectors_and_sets():
    assert table_bytes(10, 3, 6) == 30 * CELL_BYTES + 6 * MEMBER_BYTES
    assert table_bytes(10, 3, 6, n_vectors=2) - table_bytes(10, 3, 6) == 2 * 10 * 8


def wide(n_columns):
    return read_table(np.random.default_rng(0).normal(size=(30, n_columns)), missing="error")


def test_D33_a_wide_table_is_refused_before_its_sets_are_named():
    table = wide(600)
    with pytest.raises(ResourceError) as caught:
        require_room(table, Resources(memory_limit=2**22))
    assert caught.value.code == "D33"
    assert "features=" in str(caught.value)
    require_room(table, Resources(memory_limit=2**32))


def test_a_narrow_table_is_never_refused_here():
    require_room(wide(20), Resources(memory_limit=2**20))
