"""Bins by themselves: which rows share one, and what is no bin function."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.masking.bins import BinTree, CustomBins, ExactBins, common_bins

import granite_xai as gx
from granite_xai.tables import read_table


class Signs:
    """A user's own bins: by the sign of the first column it is given."""

    def apply(self, X):
        return np.sign(np.asarray(X)[:, 0])


@pytest.mark.parametrize(
    ("bins", "keys"),
    [
        (ExactBins((0, 2)), lambda rows: rows[:, [0, 2]].tolist()),
        (CustomBins((1,), Signs()), lambda rows: np.sign(rows[:, 1]).tolist()),
    ],
)
def test_rows_of_two_tables_share_a_bin_where_its_columns_say_so(bins, keys):
    """One number for each row of either table, equal exactly where what the bins read is equal."""
    generator = np.random.default_rng(0)
    new, fitted = (generator.integers(-1, 2, size=(n, 3)).astype(float) for n in (7, 12))
    own, theirs = common_bins(bins, *(read_table(rows, missing="error") for rows in (new, fitted)))
    assert (len(own), len(theirs)) == (7, 12)
    expected = [[one == two for two in keys(fitted)] for one in keys(new)]
    assert (own[:, None] == theirs[None]).tolist() == expected


@pytest.mark.parametrize("node", range(3))
def test_F05_a_tree_with_a_node_that_reads_no_column_is_refused(node):
    """One of three nodes is enough."""
    feature = np.where(np.arange(3) == node, -1, 0)
    with pytest.raises(ValueError, match="lack a feature"):
        BinTree(feature, np.zeros(3), np.array([1, -1, -1]), np.array([2, -1, -1]))


def test_values_that_stand_for_a_column_leave_every_row_in_its_bin():
    """Without interactions it does not matter at which value the others are averaged, only in which bin."""
    draw = np.random.default_rng(3)
    first = draw.normal(size=400)
    X = np.column_stack([first, first + draw.normal(size=400), draw.normal(size=400)])

    def additive(X):
        return X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] ** 2

    def disagreement(max_grid):
        g = gx.Granite(
            additive, "mplot-pdp", max_depth=0, resources=gx.Resources(max_grid=max_grid)
        )
        return g.fit(X).disagreement_

    assert disagreement("auto") == pytest.approx(disagreement(None), rel=1e-9)
