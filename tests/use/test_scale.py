"""The size of predictions: within 1e±70 it changes no region and no share; beyond, predictions are refused (N06)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import granite_xai as gx
from granite_xai import InputError
from strategies import paper

RNG = np.random.default_rng(3)
X = np.column_stack([RNG.normal(size=(90, 2)), RNG.integers(0, 3, size=90)])


def function(Z):
    return Z[:, 0] * np.where(Z[:, 1] > 0.2, 1.5, -1.0) + 0.3 * Z[:, 2] * Z[:, 0] + Z[:, 1]


Y = function(X) + 0.3 * RNG.normal(size=90)
WITHIN = [1e-69, 1e-40, 1e39, 1e69]
BEYOND = [1e-300, 1e-170, 1e-72, 1e71, 1e170, 1e300]


def fitted(factor, question="ice-pdp", **options):
    """A fit to predictions (and y) times a factor, with the codes of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        options = {"confidence_level": None} | options
        g = paper(lambda Z: factor * function(Z), question, **options).fit(X, factor * Y)
    return g, [str(entry.message)[:3] for entry in caught if "C10" not in str(entry.message)]


def rules(g):
    return [str(region.rule) for region in g.partition_]


@pytest.fixture(scope="module", params=gx.questions())
def ordinary(request):
    return fitted(1.0, request.param)[0]


@pytest.mark.parametrize("factor", WITHIN)
def test_regions_and_shares_do_not_depend_on_the_size_of_the_predictions(ordinary, factor):
    question = ordinary.question
    g, codes = fitted(factor, question)
    local = gx.questions()[question].behavior.key == "local"
    assert codes == []
    assert len(g.partition_) > 1
    assert rules(g) == rules(ordinary)
    assert g.remaining_ == pytest.approx(ordinary.remaining_, abs=1e-10)
    assert g.fidelity_ == pytest.approx(ordinary.fidelity_, abs=1e-10)
    assert [r.disagreement for r in g.partition_] == pytest.approx(
        [r.disagreement for r in ordinary.partition_]
    )
    expected = factor ** (2 if local else 4) * ordinary.disagreement_
    assert g.disagreement_ == pytest.approx(expected, rel=1e-9, abs=0.0)
    assert g.predict(X) / factor == pytest.approx(ordinary.predict(X))
    assert g.predict(X[:9]) / factor == pytest.approx(ordinary.predict(X[:9]))
    found = g.evaluate(X, factor * Y)
    known = ordinary.evaluate(X, Y)
    assert found.remaining == pytest.approx(known.remaining, abs=1e-10)
    assert found.global_disagreement == pytest.approx(g.disagreement_, rel=1e-9, abs=0.0)
    values = ordinary.explain(X, Y).values * factor ** (1 if local else 2)
    np.testing.assert_allclose(
        g.explain(X, factor * Y).values, values, rtol=1e-8, atol=1e-10 * np.max(np.abs(values))
    )


@pytest.mark.parametrize("factor", [1e-69, 1e69])
@pytest.mark.parametrize(
    "options",
    [
        {"resources": gx.Resources(max_grid=8)},
        {"partitioner": gx.partitioners.Clusters(gx.partitioners.Ice("x0"), n_clusters=2)},
        {"partitioner": gx.partitioners.RepidTree()},
        {"question": gx.question("ice-pdp", loss="absolute")},
        {"question": gx.question("pfi-risk", risk_loss="absolute")},
        {"question": ["ice-pdp", "sobol", "pfi-risk"]},
        {"question": gx.Objective("ice-pdp", normalize="variance")},
        {"influence": "interaction"},
    ],
    ids=str,
)
def test_whatever_the_options_regions_do_not_depend_on_the_size(options, factor):
    known = fitted(1.0, **options)[0]
    found = fitted(factor, **options)[0]
    assert rules(found) == rules(known)
    assert found.remaining_ == pytest.approx(known.remaining_, abs=1e-10)
    assert found.evaluate(X, factor * Y).remaining == pytest.approx(
        known.evaluate(X, Y).remaining, abs=1e-10
    )


@pytest.mark.parametrize("factor", [1e-69, 1e-9, 1e-6, 1e6, 1e9, 1e68])
def test_chance_is_in_the_square_of_the_unit_of_the_predictions(factor):
    """Prices in a small currency are no more by chance than the same prices in a large one."""
    rows = np.random.default_rng(0).normal(size=(200, 3))

    def found(factor):
        g = gx.Granite(
            lambda Z: factor * (Z[:, 0] * np.sign(Z[:, 1]) + Z[:, 2] * Z[:, 0] + 5), max_depth=1
        )
        return g.fit(rows).diagnostics_["chance"]["ice-pdp"]

    plain, scaled = found(1.0), found(factor)
    for name in ("disagreement", "chance", "bar", "corrected"):
        assert scaled[name] / factor**2 == pytest.approx(plain[name], rel=1e-9)


def test_estimates_do_not_depend_on_the_size_either():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    others = np.random.default_rng(1).normal(size=(300, 2))

    def estimated(factor):
        g = paper(lambda Z: factor * Z[:, 0] * np.sign(Z[:, 1]), confidence_level=0.95)
        return g.fit(rows).evaluate(others).estimate

    known = estimated(1.0)
    for factor in (1e-69, 1e69):
        found = estimated(factor)
        for name in ("remaining", "low", "high", "chance", "fidelity", "global_fidelity"):
            assert getattr(found, name) == pytest.approx(getattr(known, name), abs=1e-9)
        for name in ("disagreement", "disagreement_high"):
            assert getattr(found, name) == pytest.approx(
                factor**2 * getattr(known, name), rel=1e-8, abs=0.0
            )


@pytest.mark.parametrize("factor", BEYOND)
@pytest.mark.parametrize("question", ["ice-pdp", "sobol", "pfi-risk", "shap-pdp"])
def test_predictions_beyond_are_refused_with_their_size(question, factor):
    with pytest.raises(InputError, match=r"\d\.\d+e[+-]\d+") as caught:
        paper(lambda Z: factor * function(Z), question).fit(X, factor * Y)
    assert caught.value.code == "N06"
    assert caught.value.argument == "model"
    assert caught.value.hint == "Rescale the predictions."


@pytest.mark.parametrize("factor", [1e-72, 1e72])
def test_the_leaves_of_trees_are_refused_as_well(factor):
    model = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, Y)
    for tree in model.estimators_:
        tree.tree_.value[...] *= factor
    with pytest.raises(InputError, match="N06"):
        paper(model).fit(X)


@pytest.mark.parametrize("factor", [1e-72, 1e72])
@pytest.mark.parametrize("name", ["shap", "sobol-total"])
def test_an_explanation_alone_is_refused_as_well(name, factor):
    with pytest.raises(InputError, match="N06"):
        gx.explanations()[name].explain(lambda Z: factor * function(Z), X)


def test_a_target_that_is_too_large_is_named():
    with pytest.raises(InputError, match="N06.*y reaches"):
        paper(function, "pfi-risk").fit(X, 1e72 * Y)


def test_zeros_and_tiny_values_among_others_pass():
    def rare(Z):
        return np.where(Z[:, 1] > 1.0, Z[:, 0], np.where(Z[:, 2] > 1, 0.0, 1e-200))

    g = paper(rare).fit(X)
    known = paper(lambda Z: np.where(Z[:, 1] > 1.0, Z[:, 0], 0.0)).fit(X)
    assert rules(g) == rules(known)
    assert g.disagreement_ == pytest.approx(known.disagreement_)
    assert paper(lambda Z: 0.0 * Z[:, 0]).fit(X).disagreement_ == 0.0


def test_new_rows_may_all_have_tiny_predictions():
    """A classifier is nearly sure of a few rows: that is no reason to refuse them."""

    def sure(Z):
        return Z[:, 0] * np.where(Z[:, 1] > 0, 1.0, 1e-90)

    g = paper(sure).fit(X)
    few = X[X[:, 1] < 0][:5]
    assert g.evaluate(few).disagreement == pytest.approx(0.0, abs=1e-30)
