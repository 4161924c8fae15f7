"""Columns: values, levels in their order, codes, parts and merged levels."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.tables import Column, sorted_labels


def labels(*cells, kind="nominal", **options):
    return Column("c", 0, kind, np.array(cells, dtype=object), **options)


def test_numbers_have_their_distinct_values_as_levels_and_missing_is_minus_one():
    column = Column("x", 0, "numeric", np.array([2.0, np.nan, -0.0, 2.0, 0.0]))
    assert column.levels.tolist() == [0.0, 2.0]
    assert not np.signbit(column.levels[0])
    assert column.codes.tolist() == [1, -1, 0, 1, 0]
    assert column.missing.tolist() == [False, True, False, False, False]


def test_labels_follow_the_declared_order_and_others_come_last():
    column = labels("low", "new", None, "high", kind="ordinal", order=("low", "mid", "high"))
    assert column.levels.tolist() == ["low", "high", "new"]
    assert column.codes.tolist() == [0, 2, -1, 1]
    declared = labels("b", "a", "c", declared=("c", "a"))
    assert declared.levels.tolist() == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("kind", "ordered"),
    [("numeric", True), ("ordinal", True), ("date", True), ("nominal", False), ("boolean", False)],
)
def test_kinds_with_an_order(kind, ordered):
    assert Column("c", 0, kind, np.zeros(1)).is_ordered == ordered


@pytest.mark.parametrize("is_read_before", [False, True])
def test_a_part_has_the_levels_of_its_rows(is_read_before):
    column = labels("b", "a", None, "c", "b")
    if is_read_before:  # then codes of the part follow from those of the whole
        assert len(column.levels) == 3
    part = column.take(np.array([4, 2, 3]))
    assert part.levels.tolist() == ["b", "c"]
    assert part.codes.tolist() == [0, -1, 1]


def test_merged_levels_share_the_label_of_their_first():
    column = labels("a", "b", "c", None, "d")
    merged = column.merged(np.array([0, 1, 1, 2]))
    assert merged.levels.tolist() == ["a", "b", "d"]
    assert merged.codes.tolist() == [0, 1, 1, -1, 2]
    assert column.merged(np.arange(4)) is column


def test_columns_are_never_written():
    column = Column("x", 0, "numeric", np.array([1.0, 2.0]))
    for array in (column.values, column.codes, column.levels, column.missing):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_labels_of_several_types_have_an_order_too():
    assert sorted_labels(["b", "a"]) == ["a", "b"]
    assert sorted_labels(["b", 2, "a", 1]) == [1, 2, "a", "b"]
