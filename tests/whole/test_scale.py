"""Predictions of any size: regions and shares are those of the same model in ordinary units (N10, N11)."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import granite_xai as gx
from granite_xai.base.errors import InputError
from granite_xai.estimator import fitted_view
from strategies import paper

RNG = np.random.default_rng(3)
X = np.column_stack([RNG.normal(size=(90, 2)), RNG.integers(0, 3, size=90)])


def function(Z):
    return Z[:, 0] * np.where(Z[:, 1] > 0.2, 1.5, -1.0) + 0.3 * Z[:, 2] * Z[:, 0] + Z[:, 1]


Y = function(X) + 0.3 * RNG.normal(size=90)


def fitted(factor, question="ice-pdp", model=function, **options):
    """A fit to predictions (and y) times a factor, with its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        options = {"confidence_level": None} | options
        g = paper(lambda Z: factor * model(Z), question, **options).fit(X, factor * Y)
    return g, [str(entry.message)[:3] for entry in caught if "C10" not in str(entry.message)]


def rules(g):
    return [str(region.rule) for region in g.partition_]


@pytest.fixture(scope="module", params=gx.questions())
def ordinary(request):
    return fitted(1.0, request.param)[0]


FACTORS = [
    1e-170,
    1e-100,
    1e170,
    *(pytest.param(factor, marks=pytest.mark.slow) for factor in (1e-300, 1e100, 1e300)),
]


@pytest.mark.parametrize("factor", FACTORS)
def test_regions_and_shares_do_not_depend_on_the_unit_of_the_predictions(ordinary, factor):
    question = ordinary.question
    g, codes = fitted(factor, question)
    local = gx.questions()[question].behavior.key == "local"
    assert len(g.partition_) > 1
    assert rules(g) == rules(ordinary)
    assert g.remaining_ == pytest.approx(ordinary.remaining_, abs=1e-10)
    assert g.fidelity_ == pytest.approx(ordinary.fidelity_, abs=1e-10)
    assert [r.disagreement for r in g.partition_] == pytest.approx(
        [r.disagreement for r in ordinary.partition_]
    )
    with np.errstate(over="ignore"):
        expected = np.float64(factor) ** (2 if local else 4) * ordinary.disagreement_
    assert g.disagreement_ == pytest.approx(expected, rel=1e-9, abs=0.0)
    assert codes == ([] if 0.0 < expected < np.inf else ["N11"])
    assert g.predict(X) / factor == pytest.approx(ordinary.predict(X))
    assert g.predict(X[:9], exact=True) / factor == pytest.approx(
        ordinary.predict(X[:9], exact=True)
    )
    found, known = g.evaluate(X, factor * Y), ordinary.evaluate(X, Y)
    assert found.remaining == pytest.approx(known.remaining, abs=1e-10)
    assert found.global_disagreement == pytest.approx(g.disagreement_, rel=1e-9, abs=0.0)
    assert list(found.frame()["remaining"]) == pytest.approx(
        list(known.frame()["remaining"]), nan_ok=True
    )
    with np.errstate(over="ignore"):
        values = ordinary.explain(X, Y).values * np.float64(factor) ** (1 if local else 2)
    np.testing.assert_allclose(
        g.explain(X, factor * Y).values, values, rtol=1e-8, atol=1e-10 * np.max(np.abs(values))
    )


@pytest.mark.parametrize("factor", [1e-60, 1e-20, 1.0, 1e30, 1e59])
def test_ordinary_predictions_are_taken_as_they_are(factor):
    g, _ = fitted(factor, "sobol")
    assert fitted_view(g).result.exponent == 0


@pytest.mark.parametrize("factor", [1e-170, 1e200])
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
def test_whatever_the_options_regions_do_not_depend_on_the_unit(options, factor):
    known, found = fitted(1.0, **options)[0], fitted(factor, **options)[0]
    assert rules(found) == rules(known)
    assert found.remaining_ == pytest.approx(known.remaining_, abs=1e-10)
    assert found.evaluate(X, factor * Y).remaining == pytest.approx(
        known.evaluate(X, Y).remaining, abs=1e-10
    )


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "sobol"])
def test_trees_with_tiny_leaves_are_read_as_any_others(question):
    model = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, Y)
    known = paper(model, question).fit(X)
    for tree in model.estimators_:
        tree.tree_.value[...] *= 1e-170
    with pytest.warns(gx.ModelWarning, match="N11"):
        g = paper(model, question).fit(X)
    assert g.diagnostics_["evaluations"]["path"].startswith("trees")
    assert rules(g) == rules(known)
    assert g.remaining_ == pytest.approx(known.remaining_, abs=1e-10)


def test_an_explanation_alone_is_in_the_models_own_units():
    for factor in (1e-170, 1e170):
        for name, degree in (("shap", 1), ("sobol-total", 2)):
            explainer = gx.explanations()[name]
            known = explainer.explain(function, X).values
            found = explainer.explain(lambda Z, factor=factor: factor * function(Z), X).values
            with np.errstate(over="ignore"):
                known = np.float64(factor) ** degree * known
            np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-12 * np.max(np.abs(known)))


@pytest.mark.parametrize("factor", [1e-170, 1e170])
def test_what_is_shown_and_kept_is_in_the_models_own_units(factor, tmp_path):
    g, known = fitted(factor)[0], fitted(1.0)[0]
    gx.save(g, tmp_path / "g.json", include_data=True)
    again = gx.load(tmp_path / "g.json", model=lambda Z: factor * function(Z))
    assert again.disagreement_ == g.disagreement_
    assert again.remaining_ == g.remaining_
    assert again.evaluate(X).remaining == pytest.approx(known.evaluate(X).remaining, abs=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told, expected = (
            gx.explain(lambda Z, by=by: by * function(Z), X, test=X).story for by in (factor, 1.0)
        )
    curve, other = (
        next(e for e in each["effects"] if e["set"] == "x0")["panels"][0]["mean"]
        for each in (told, expected)
    )
    assert np.array(curve, dtype=float) / factor == pytest.approx(
        np.array(other, dtype=float), abs=1e-3
    )


def test_estimates_do_not_depend_on_the_unit_either():
    rows = np.random.default_rng(0).normal(size=(400, 2))

    def estimated(factor):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "N11")
            g = paper(lambda Z: factor * Z[:, 0] * np.sign(Z[:, 1]), confidence_level=0.95).fit(
                rows
            )
        return g.evaluate(np.random.default_rng(1).normal(size=(300, 2))).estimate

    known = estimated(1.0)
    for factor in (1e-170, 1e-100, 1e170):
        found = estimated(factor)
        for name in ("remaining", "low", "high", "chance", "fidelity", "global_fidelity"):
            assert getattr(found, name) == pytest.approx(getattr(known, name), abs=1e-9)
        with np.errstate(over="ignore"):
            expected = np.float64(factor) ** 2 * np.array(
                [known.disagreement, known.disagreement_high]
            )
        told = [found.disagreement, found.disagreement_high]
        np.testing.assert_allclose(told, expected, rtol=1e-8)
        np.testing.assert_allclose(found.lines[0].corrected, expected[0], rtol=1e-8)


@pytest.mark.parametrize(
    "question",
    [
        gx.question("ice-pdp", loss=np.square),
        gx.question("pfi-risk", risk_loss=lambda p, y: (p - y) ** 2),
    ],
)
def test_losses_of_ones_own_need_not_scale_and_are_left_alone(question):
    with pytest.warns(gx.ModelWarning, match="N10: .* too small to be numbers"):
        g = paper(lambda Z: 1e-170 * function(Z), question).fit(X, 1e-170 * Y)
    assert g.disagreement_ == 0.0
    with pytest.raises(InputError, match="N06"), contextlib.suppress(RuntimeWarning):
        paper(lambda Z: 1e200 * function(Z), question).fit(X, 1e200 * Y)


def test_y_far_larger_than_predictions_sets_the_unit():
    """Their losses are then all y: what predictions add is rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g = paper(lambda Z: 1e-170 * function(Z), "pfi-risk").fit(X, Y)
    assert fitted_view(g).result.exponent == 0
    assert g.disagreement_ == 0.0
