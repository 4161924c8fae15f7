"""Questions of a saved fit are resolved as they were."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.persistence.questions import Resolution, as_learned, resolve_again

X = np.random.default_rng(42).normal(size=(60, 3))


def product(X):
    return X[:, 0] * X[:, 1]


def fitted(**options):
    g = gx.Granite(product, max_depth=1, **options).fit(X)
    return g, fitted_view(g).result


def again(g, result, resolutions, seed=0):
    return resolve_again(g, resolutions, seed, result.predictor, result.table, "here")


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "mplot-pdp", ["ice-pdp", "sobol"]])
def test_the_same_terms_and_draws_come_back(question):
    g, result = fitted(question=question)
    resolutions = [Resolution.of(comparison) for comparison in result.comparisons]
    for one, two in zip(again(g, result, resolutions), result.comparisons, strict=True):
        assert one.first.terms == two.first.terms
        assert one.second.draws == two.second.draws
        assert one.question == two.question


@pytest.mark.parametrize("by_paths", [True, False])
def test_the_file_decides_whether_attributions_come_from_paths_of_trees(by_paths):
    rows = np.random.default_rng(0).normal(size=(30, 5))
    g = gx.Granite(product, "shap-pdp", max_depth=0).fit(rows)
    (question,) = again(g, fitted_view(g).result, [Resolution(by_paths, (0, 0))])
    assert question.first.by_paths is by_paths
    assert not question.second.by_paths


def test_F04_a_file_has_as_many_resolutions_as_questions():
    g, result = fitted()
    with pytest.raises(gx.FormatError, match="F04.*2 entries for 1 questions"):
        again(g, result, [Resolution(False, (0, 0))] * 2)


def test_F04_a_question_that_cannot_be_resolved_is_a_broken_file():
    g, result = fitted()
    g.set_params(question="nothing")
    with pytest.raises(gx.FormatError, match=r"F04.*here.parameters.question"):
        again(g, result, [Resolution(False, (0, 0))])


@pytest.mark.parametrize("pairs", [(1, 0), (0, -2), (10**9, 0)])
def test_numbers_of_pairs_that_no_fit_draws_are_refused(pairs):
    with pytest.raises(ValueError, match="no numbers of pairs"):
        Resolution(by_paths=False, pairs=pairs)


def test_F05_an_absurd_number_of_terms_is_refused_before_it_is_made():
    rows = np.random.default_rng(0).normal(size=(30, 40))
    g = gx.Granite(product, "shap-pdp", max_depth=0, features=[0], max_samples=20).fit(rows)
    result = fitted_view(g).result
    g.set_params(features=None)
    with pytest.raises(gx.FormatError, match="F05"):
        again(g, result, [Resolution(False, (0, 0))])


@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
@pytest.mark.parametrize("rho", [0.0, 0.95])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"confidence_level": None},
        {"search": "greedy", "confidence_level": None},
    ],
    ids=["default", "without a level", "paper"],
)
def test_what_the_file_learned_decides_on_the_masking(options, rho):
    rows = np.random.default_rng(7).normal(size=(200, 2))
    rows[:, 1] = rho * rows[:, 0] + np.sqrt(1 - rho**2) * rows[:, 1]
    g = gx.Granite(product, "mplot-pdp", max_depth=1, **options).fit(rows)
    result = fitted_view(g).result
    (question,) = again(g, result, [Resolution(by_paths=False, pairs=(0, 0))])
    masking = as_learned(question, result.reference).first.masking
    assert masking == result.comparisons[0].first.masking
    if options or not rho:
        return
    assert result.reference.copulas.keys() == {masking}
