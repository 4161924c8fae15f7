"""Weights by a copula against Gaussian closed forms, and the bins beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from granite_xai.explanation.masking.copula import Margin
from scipy.stats import norm

import granite_xai as gx
from explanation.masking.normal_pairs import first_column, normal_pair
from granite_xai.evaluations.probe import PROBED_ROWS
from granite_xai.tables import read_table

COPULA = gx.Conditional(sampler="copula")


@pytest.mark.filterwarnings(
    "ignore:D49:granite_xai.BinWarning", "ignore:T10:granite_xai.DataWarning"
)
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.99])
def test_the_importance_of_a_column_shrinks_with_what_the_other_tells_of_it(rho):
    """F = y = x0: E (x0 - x0')² given x1 is 2 (1 - ρ²); bins are too wide for strong dependence."""
    X = normal_pair(rho, 1500)
    risk = gx.Risk("squared", average="loss")
    found = (
        gx.Explainer(COPULA, risk, "full", gx.Individual(["x0"]))
        .explain(first_column, X, X[:, 0])
        .values[0]
    )
    stated = 2 * (1 - rho**2) * X[:, 0].var()
    assert found == pytest.approx(stated, rel=0.08, abs=0.004)
    if rho == 0.99:
        bins = (
            gx.Explainer(gx.Conditional(sampler="bins"), risk, "full", gx.Individual(["x0"]))
            .explain(first_column, X, X[:, 0])
            .values[0]
        )
        assert bins > 2 * stated


@pytest.mark.parametrize("rho", [0.3, 0.9])
def test_the_total_variance_of_a_column_is_what_the_other_leaves_of_it(rho):
    """E Var(x0 | x1) = 1 - ρ²."""
    X = normal_pair(rho, 1200, 1)
    way = gx.Explainer(COPULA, gx.Sensitivity("jansen"), "full", gx.Individual(["x0"]))
    assert way.explain(first_column, X).values[0] == pytest.approx(1 - rho**2, rel=0.1)


def test_masked_models_are_conditional_means_of_normal_columns():
    """E[x0 | x1] = ρ x1; of the product x0 x1 it is ρ x1²."""
    X = normal_pair(0.8, 1500, 2)
    way = gx.Explainer(COPULA, "local", "pure", gx.Individual(["x1"]))
    for model, stated in (
        (first_column, 0.8 * X[:, 1]),
        (lambda X: X[:, 0] * X[:, 1], 0.8 * X[:, 1] ** 2),
    ):
        found = way.explain(model, X).values[:, 0]
        gap = found - (stated - stated.mean())
        assert np.sqrt(np.mean((gap - gap.mean()) ** 2)) < 0.08 * stated.std()


def tangled(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2])


def three(seed: int, n: int = 25) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[:, 2] += X[:, 0]
    return np.exp(X / 2)  # no column is normal


@pytest.mark.parametrize(
    "name", ["mplot-pdp", "cice-mplot", "cfi-pfi", "csobol-sobol", "cshap-shap"]
)
def test_every_question_with_conditional_masking_can_be_asked(name, tmp_path):
    """Fitted, measured on other rows, saved and loaded: the same numbers."""
    X, Z = three(5, 80), three(6, 40)
    question = gx.question(name, conditional=COPULA)
    g = gx.Granite(tangled, question, max_depth=1, min_samples_leaf=20).fit(X, tangled(X))
    assert g.disagreement_ > 0
    measured = g.evaluate(Z, tangled(Z)).disagreement
    again = gx.load(gx.save(g, tmp_path / "g.json"), model=tangled)
    assert again.evaluate(Z, tangled(Z)).disagreement == pytest.approx(measured, rel=1e-12)


def test_frames_keep_their_dtypes_and_booleans_are_ordered():
    chance = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "n": chance.integers(0, 5, 60),
            "flag": chance.random(60) < 0.5,
            "x": chance.normal(size=60),
        }
    )
    seen = []

    def model(X: pd.DataFrame) -> np.ndarray:
        seen.append(dict(X.dtypes.astype(str)))
        return X["n"].to_numpy() * X["flag"].to_numpy() + X["x"].to_numpy()

    g = gx.Granite(model, gx.question("mplot-pdp", conditional=COPULA), max_depth=1).fit(X)
    assert {tuple(kinds.values()) for kinds in seen} == {("int64", "bool", "float64")}
    gx.EffectDisplay.from_estimator(g, X).frame()


@pytest.mark.parametrize(
    ("X", "fault"),
    [
        (pd.DataFrame({"a": [1.0, 2.0, 3.0] * 9, "kind": list("xyz") * 9}), "'kind'.*no order"),
        (pd.DataFrame({"a": [1.0, None, 3.0] * 9, "b": np.arange(27.0)}), "'a'.*missing"),
    ],
)
def test_columns_without_ranks_are_refused(X, fault):
    with pytest.raises(gx.InputError, match=fault):
        gx.Granite(
            lambda X: np.ones(len(X)), gx.question("mplot-pdp", conditional=COPULA), missing="allow"
        ).fit(X)


def test_a_new_value_has_the_score_of_the_fitting_value_at_or_below_it():
    """Four values, a quarter of the rows each: the middles of their ranks are at 1/8, 3/8, 5/8 and 7/8."""
    cells = [[1.0], [2.0], [3.0], [4.0]], [[2.5], [3.0], [0.0], [9.0]]
    (fitted,), (new,) = (read_table(each, missing="error").columns for each in cells)
    found = Margin(fitted, np.arange(1, 5) / 4).scores(new)
    np.testing.assert_allclose(found, norm.ppf([3 / 8, 5 / 8, 1 / 8, 7 / 8]))


@pytest.mark.filterwarnings("ignore:C10:granite_xai.BinWarning")
def test_rows_sent_to_the_model_are_planned():
    """All but those of the probe, which the plan counts at their most."""
    X = three(1, 30)
    g = gx.Granite(
        tangled, gx.question("cfi-pfi", conditional=COPULA), max_depth=1, min_samples_leaf=10
    )
    planned = g.plan(X, tangled(X))["model_rows"]
    sent = g.fit(X, tangled(X)).diagnostics_["model"]["rows"]
    assert planned - PROBED_ROWS < sent <= planned


@pytest.mark.parametrize(
    "question",
    [
        gx.question("mplot-pdp", conditional=COPULA).with_influence(gx.Interactions(2)),
        gx.question("cshap-shap", conditional=COPULA),
    ],
    ids=["pairs", "Shapley values of four features"],
)
def test_P03_several_features_shown_and_several_hidden_are_refused(question):
    X = np.column_stack([three(0, 60), np.random.default_rng(1).normal(size=60)])
    with pytest.raises(
        gx.InputError, match="P03: .*weighs rows where one feature is shown"
    ) as caught:
        gx.Granite(tangled, question).fit(X)
    assert "Conditional()" in caught.value.hint
