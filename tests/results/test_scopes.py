"""Values of explanations on all rows and in every region."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.results.scopes import (
    RowsToShow,
    chosen_question,
    scopes_of,
    search_rows,
    side_names,
    sides_shown,
)

RNG = np.random.default_rng(23)
X = RNG.normal(size=(150, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def g():
    return gx.Granite(step, max_depth=1, max_samples=100).fit(X)


def test_all_rows_come_first_then_each_region(g):
    regions = g.apply(X)
    scopes = scopes_of(g.partition_, regions)
    assert [scope.region for scope in scopes] == [None, 0, 1]
    assert np.array_equal(scopes[2].rows, np.flatnonzero(regions == 1))
    assert scopes_of(g.partition_, np.zeros(150, dtype=np.intp))[-1].region == 0


def test_one_region_is_all_rows():
    g = gx.Granite(lambda X: X[:, 0]).fit(X)
    assert [scope.region for scope in scopes_of(g.partition_, g.apply(X))] == [None]


def test_search_rows_are_shown_of_a_table_of_the_same_size(g):
    view = fitted_view(g)
    table = view.read(X)
    expected = sorted(g.diagnostics_["rows"]["search"])
    assert search_rows(view, table, np.ones(150)).tolist() == expected
    assert search_rows(view, table, np.zeros(150)) is None
    assert search_rows(view, view.read(X[:100]), np.ones(100)) is None


def test_questions_are_chosen_by_their_label():
    g = gx.Granite(step, ["ice-pdp", "sobol"], max_depth=0).fit(X)
    assert chosen_question(g, None).question.label == "ice-pdp"
    assert chosen_question(g, "sobol").question.label == "sobol"
    with pytest.raises(gx.InputError, match="P01"):
        chosen_question(g, "shap-pdp")


def test_both_sides_are_shown_where_they_fit_otherwise_ice_and_pdp():
    explanations = gx.explanations()
    compared = (explanations["shap"], explanations["pdp"])
    assert sides_shown(compared, None, lambda _: True) == compared
    fallback = sides_shown(compared, None, lambda side: side is not compared[0])
    assert side_names(fallback) == ("ice", "pdp")
    assert side_names(sides_shown(compared, "ale", lambda _: False)) == ("ale",)
    with pytest.raises(gx.InputError, match="P01"):
        sides_shown(compared, [], lambda _: True)


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
