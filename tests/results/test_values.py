"""Values of explanations on all rows and in every region, of the rows of a fit and of others."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.results.values import (
    Values,
    chosen_question,
    scopes_of,
    shown_names,
    side_names,
    sides_shown,
)

RNG = np.random.default_rng(23)
X = RNG.normal(size=(240, 4))
Y = RNG.normal(size=240)


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


def pairs_model(X):
    return X[:, 0] * X[:, 1] + 0.3 * X[:, 1] * X[:, 2] + X[:, 3]


@pytest.fixture(scope="module")
def g():
    return gx.Granite(step, max_depth=1, max_samples=100).fit(X)


def values_of_fit(y=None, **options):
    return Values.of_fit(gx.Granite(pairs_model, **options).fit(X, y), X, y)


# Which explanations --------------------------------------------------------------------------------


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


def test_explanations_without_a_name_are_called_by_their_place():
    unnamed = gx.Explainer("marginal", "local", "pure")
    assert side_names([unnamed] * 4) == ("first", "second", "further", "further")
    assert shown_names(["ice", "pdp"]) == "ICE and PDP"


# Scopes --------------------------------------------------------------------------------------------


def test_all_rows_come_first_then_each_region_that_has_rows(g):
    regions = g.apply(X)
    scopes = scopes_of(g.partition_, regions)
    assert [scope.region for scope in scopes] == [None, 0, 1]
    assert np.array_equal(scopes[2].rows, np.flatnonzero(regions == 1))
    assert scopes_of(g.partition_, np.zeros(240, dtype=np.intp))[-1].region == 0


def test_one_region_is_all_rows():
    g = gx.Granite(lambda X: X[:, 0]).fit(X)
    assert [scope.region for scope in scopes_of(g.partition_, g.apply(X))] == [None]


def test_a_region_is_called_by_its_name_or_else_by_its_rule_in_words():
    partition = gx.Partition.from_rules(["x0 ≤ 1", "x0 > 1"]).rename({1: "high"})
    _, first, second = scopes_of(partition, np.array([0, 1, 1]))
    assert (first.label, second.label) == ("x0 ≤ 1", "high")
    assert second.rule == "x0 > 1"
    assert second.rows.tolist() == [1, 2]


# Rows of the fit -----------------------------------------------------------------------------------


def test_figures_of_rows_are_those_of_the_model():
    values = values_of_fit(y=Y, max_samples=None, holdout=False, max_depth=0)
    predictions, target, losses = values.by_row()
    positions = values.fitted.rows.positions
    assert predictions == pytest.approx(pairs_model(X)[positions])
    assert target == pytest.approx(Y[positions])
    assert losses == pytest.approx(np.square(predictions - target))


def test_without_a_target_there_are_no_losses():
    _, target, losses = values_of_fit(confidence_level=None, max_depth=1).by_row()
    assert target is None
    assert losses is None


def test_another_table_is_refused():
    g = gx.Granite(pairs_model, max_depth=0).fit(X, Y)
    with pytest.raises(gx.InputError, match="P03"):
        Values.of_fit(g, X + 1.0, Y)


def test_sides_are_those_at_the_rows_own_values_also_where_one_value_stands_for_a_cell():
    values = values_of_fit(max_depth=0, max_samples=None, holdout=False)
    on_all_rows = values.of_question(values.fitted.questions[0]).scopes[0]
    rows = values.table.native
    for column in range(4):
        hybrids = np.repeat(rows[None], len(rows), axis=0)
        hybrids[:, :, column] = rows[:, column][:, None]
        curve = pairs_model(hybrids.reshape(-1, 4)).reshape(len(rows), -1).mean(axis=1)
        pdp = curve - pairs_model(rows).mean()
        assert np.corrcoef(on_all_rows.parts[1].values[:, column], pdp)[0, 1] > 0.98


def test_what_the_fit_compared_is_not_asked_again():
    calls = []

    def model(X):
        calls.append(len(X))
        return pairs_model(X)

    values = Values.of_fit(gx.Granite(model, "ice-pdp", max_depth=1).fit(X))
    before = len(calls)
    explanations = gx.explanations()
    values.explained([explanations["ice"], explanations["pdp"]])
    assert len(calls) == before
    values.explained([explanations["shap"]])
    assert len(calls) > before


def test_both_ways_agree_and_gaps_add_up_to_the_disagreement_of_the_fit():
    g = gx.Granite(pairs_model, confidence_level=None, max_depth=1).fit(X)
    question = g._fitted.questions[0]
    of_fit = Values.of_fit(g).of_question(question)
    of_rows = Values.of_rows(g, X, None, (), None).of_question(question)
    for kept, asked in zip(of_fit.scopes, of_rows.scopes, strict=True):
        assert kept.gaps == pytest.approx(asked.gaps)
        assert kept.root_mean_squares == pytest.approx(asked.root_mean_squares)
    assert of_fit.scopes[0].gaps.sum() == pytest.approx(g.disagreement_)


# Rows that are shown -------------------------------------------------------------------------------


def test_search_rows_are_shown_of_a_table_of_the_same_size(g):
    shown = Values.of_rows(g, X, None, (), None)
    assert np.array_equal(shown.table.native, X[sorted(g.diagnostics_["rows"]["search"])])
    others = Values.of_rows(g, X[:200], None, (), None)
    assert len(others.rows) == 100
    few = Values.of_rows(g, X, None, (), None, sample_weight=np.arange(240) < 50)
    assert len(few.rows) == 50


def test_values_of_a_local_effect_have_their_mean_size(g):
    shown = Values.of_rows(g, X, None, (), None)
    explanations = gx.explanations()
    values = shown.explained([explanations["ice"], explanations["pdp"]])
    assert values.names == ("ice", "pdp")
    assert len(values.scopes) == 3
    for in_scope in values.scopes:
        for side, part in enumerate(in_scope.parts):
            expected = np.average(np.abs(part.values), axis=0, weights=in_scope.weights)
            assert in_scope.size_of(side) == pytest.approx(expected)
            squares = np.average(np.square(part.values), axis=0, weights=in_scope.weights)
            assert in_scope.root_mean_squares[side] == pytest.approx(np.sqrt(squares))
    assert values.scopes[0].predictions == pytest.approx(step(shown.table.native))


def test_the_disagreement_of_regions_adds_up_to_less_than_that_of_all_rows(g):
    shown = Values.of_rows(g, X, None, (), None)
    disagreement = shown.disagreement()
    every_row = np.arange(shown.table.n_rows)
    in_regions = sum(disagreement(scope.rows) for scope in shown.scopes[1:])
    assert disagreement(every_row) == pytest.approx(1.0, abs=0.2)
    assert in_regions < 0.2 * disagreement(every_row)
