"""Values of explanations on all rows and in every region."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.fitting.fitted import fitted_view
from granite_xai.results.shown_values import RowsToShow, search_rows

RNG = np.random.default_rng(23)
X = RNG.normal(size=(150, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def g():
    return gx.Granite(step, max_depth=1, max_samples=100).fit(X)


def test_search_rows_are_shown_of_a_table_of_the_same_size(g):
    view = fitted_view(g)
    table = view.read(X)
    expected = sorted(g.diagnostics_["rows"]["search"])
    assert search_rows(view, table, np.ones(150)).tolist() == expected
    assert search_rows(view, table, np.zeros(150)) is None
    assert search_rows(view, view.read(X[:100]), np.ones(100)) is None


def test_values_of_a_local_effect_have_their_mean_size(g):
    shown = RowsToShow.of(g, X, None, (), None)
    explanations = gx.explanations()
    values = shown.values([explanations["ice"], explanations["pdp"]])
    assert values.names == ("ice", "pdp")
    assert len(values.regions) == 3
    for region in values.regions:
        for side, part in enumerate(region.parts):
            expected = np.average(np.abs(part.values), axis=0, weights=region.weights)
            assert region.size_of(side) == pytest.approx(expected)
    assert values.regions[0].predictions == pytest.approx(step(shown.table.native))


def test_the_disagreement_of_regions_adds_up_to_less_than_that_of_all_rows(g):
    shown = RowsToShow.of(g, X, None, (), None)
    disagreement = shown.disagreement()
    every_row = np.arange(shown.table.n_rows)
    in_regions = sum(disagreement(scope.rows) for scope in shown.scopes[1:])
    assert disagreement(every_row) == pytest.approx(1.0, abs=0.2)
    assert in_regions < 0.2 * disagreement(every_row)
