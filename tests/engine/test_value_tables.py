"""Tables of what is shown: one entry a value, or a value and bin, whichever way it is summed up."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine import value_tables
from granite_xai.engine.row_values import RowValues
from granite_xai.engine.splits import Splits
from granite_xai.engine.value_tables import ValueTables
from granite_xai.evaluations.row_bins import Bins

from engine.known_rows import BINS, FEW, KNOWN, MANY, SIDES, N, hybrid, mean_over

SPLITS = Splits.of(SIDES, KNOWN.weights)


def assert_means(part, visible, binned, factor=1.0):
    found = RowValues(SPLITS.zeros, parts=(part,)).array(SPLITS)
    for k in range(len(SIDES)):
        for n in range(N):
            wanted = factor * mean_over(lambda m, n=n: hybrid(visible, n, m), n, k, binned)
            assert found[n, k] == pytest.approx(wanted, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("block", [1, 2**20])
@pytest.mark.parametrize("visible", [FEW, MANY], ids=str)
def test_a_table_has_one_mean_for_each_value(visible, block):
    part = ValueTables(SPLITS, block).of_values(KNOWN.matrices[visible])
    assert len(part.left) == len(KNOWN.matrices[visible].values)
    assert_means(part, visible, binned=False)


@pytest.mark.parametrize("most_visited", [0, 64])
@pytest.mark.parametrize("block", [1, 2**20])
@pytest.mark.parametrize("visible", [FEW, MANY], ids=str)
def test_a_table_by_bin_has_one_mean_for_each_value_and_bin(
    visible, block, most_visited, monkeypatch
):
    """Bins one by one, or all pairs of rows and entries at once."""
    monkeypatch.setattr(value_tables, "MOST_VISITED_BINS", most_visited)
    matrix = KNOWN.matrices[visible]
    part = ValueTables(SPLITS, block).of_values_and_bins(matrix, Bins(BINS), 0.5)
    entries = {(code, number) for code, number in zip(matrix.codes, BINS, strict=True)}
    assert len(part.left) == len(entries)
    assert_means(part, visible, binned=True, factor=0.5)


def test_rows_of_a_node_are_read_through_their_columns():
    """Many values are not cut out: lines of all rows, of which the node reads its own."""
    rows = np.array([1, 4, 5, 9, 12])
    node = KNOWN.restrict(rows)
    assert node.matrices[MANY].column_of_row is not None
    splits = Splits.whole(node.weights)
    part = ValueTables(splits, 2**20).of_values(node.matrices[MANY])
    found = RowValues(splits.zeros, parts=(part,)).array(splits)[:, 0]
    for place, n in enumerate(rows):
        wanted = np.average([hybrid(MANY, n, m) for m in rows], weights=node.weights)
        assert found[place] == pytest.approx(wanted, rel=1e-12)
