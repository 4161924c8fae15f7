"""Agreement with other packages and with closed forms, wherever they compute the same thing."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

import granite_xai as gx
from granite_xai import Baseline, Conditional, Individual, Interactions, Marginal, Partial, Risk
from paper.games import Array, Values, effects, value_game


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array]:
    draw = np.random.default_rng(2)
    X = draw.integers(0, 6, size=(60, 4)) / 2 + draw.integers(0, 2, size=(60, 1))
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 2]) * X[:, 3] + draw.normal(size=60) / 4


@pytest.fixture(scope="module")
def boosted(data: tuple[Array, Array]) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(n_estimators=20, max_depth=3, random_state=0).fit(*data)


# ------------------------------------------------------------------------------------------------ scikit-learn


@pytest.mark.parametrize("column", range(4))
def test_pdp_and_ice_are_those_of_scikit_learn(
    column: int, data: tuple[Array, Array], boosted: Any
) -> None:
    from sklearn.inspection import partial_dependence

    X, _ = data
    theirs = partial_dependence(
        boosted, X, [column], method="brute", kind="both", percentiles=(0, 1), grid_resolution=100
    )
    grid = theirs["grid_values"][0]
    place = np.searchsorted(grid, X[:, column])
    pdp = theirs["average"][0] - boosted.predict(X).mean()
    hidden = theirs["individual"][0] @ np.bincount(place) / len(X)
    pure, full = (
        effects("marginal", "local", key, boosted, X)[:, column] for key in ("pure", "full")
    )
    assert np.allclose(pure, pdp[place], atol=1e-12)
    assert np.allclose(full, boosted.predict(X) - hidden, atol=1e-12)


def test_partial_dependence_of_a_probability_is_that_of_scikit_learn(
    data: tuple[Array, Array],
) -> None:
    from sklearn.inspection import partial_dependence

    X, y = data
    model = RandomForestClassifier(n_estimators=10, max_depth=3, random_state=0).fit(
        X, y > np.median(y)
    )
    theirs = partial_dependence(
        model,
        X,
        [1],
        method="brute",
        response_method="predict_proba",
        percentiles=(0, 1),
        grid_resolution=100,
    )
    place = np.searchsorted(theirs["grid_values"][0], X[:, 1])
    average = theirs["average"][0] - model.predict_proba(X)[:, 1].mean()
    assert np.allclose(
        effects("marginal", "local", "pure", model, X)[:, 1], average[place], atol=1e-12
    )


@pytest.mark.parametrize(
    ("loss", "scoring"),
    [("squared", "neg_mean_squared_error"), ("absolute", "neg_mean_absolute_error")],
)
def test_permutation_importance_of_scikit_learn_has_our_pfi_as_its_mean(
    loss: str, scoring: str, data: tuple[Array, Array], boosted: Any
) -> None:
    """A random permutation puts every row's value in every place equally often: our mean over all pairs."""
    from sklearn.inspection import permutation_importance

    X, y = data
    ours = effects("marginal", Risk(loss, average="loss"), "full", boosted, X, y)
    theirs = permutation_importance(boosted, X, y, scoring=scoring, n_repeats=150, random_state=0)
    standard_error = theirs.importances_std / np.sqrt(150)
    assert np.all(np.abs(theirs.importances_mean - ours) < 4.5 * standard_error)
    assert np.all(standard_error < 0.1 * ours.max())


# ------------------------------------------------------------------------------------------------ shapiq

INDICES = {
    "shapley-taylor": "STII",
    "sii": "SII",
    "k-sii": "k-SII",
    "fsii": "FSII",
    "banzhaf": "BII",
}


class RowGame:
    """One row's game in the form shapiq asks for: a matrix of coalitions in, values out."""

    def __init__(self, nu: Values, row: int | None) -> None:
        self.nu, self.row = nu, row

    def __call__(self, coalitions: Any) -> Array:
        keys = [
            frozenset(np.flatnonzero(coalition).tolist()) for coalition in np.atleast_2d(coalitions)
        ]
        return np.array(
            [float(self.nu[key] if self.row is None else self.nu[key][self.row]) for key in keys]
        )


@pytest.mark.parametrize("masking", [Marginal(), Conditional(), Baseline("median")], ids=repr)
@pytest.mark.parametrize("behavior", ["local", "sensitivity", "risk"])
def test_shapley_values_and_interactions_are_those_of_shapiq(
    masking: Any, behavior: str, data: tuple[Array, Array], boosted: Any
) -> None:
    shapiq = pytest.importorskip("shapiq")
    X, y = data
    nu = value_game(masking, behavior, boosted, X, y)
    ours = effects(masking, behavior, "partial", boosted, X, y)
    banzhaf = effects(masking, behavior, Partial("banzhaf"), boosted, X, y)
    pairs = {
        index: effects(masking, behavior, Partial(index), boosted, X, y, influence=Interactions(2))
        for index in INDICES
    }
    for row in (0, 17, 59) if behavior == "local" else (None,):
        computer = shapiq.ExactComputer(RowGame(nu, row), n_players=4)
        at = () if row is None else row
        values = computer("SV", 1)
        assert np.allclose(ours[at], [values[(i,)] for i in range(4)], atol=1e-10)
        mean_gain = computer("BV", 1)
        assert np.allclose(banzhaf[at], [mean_gain[(i,)] for i in range(4)], atol=1e-10)
        for index, name in INDICES.items():
            theirs = computer(name, 2)
            assert np.allclose(
                pairs[index][at], [theirs[pair] for pair in combinations(range(4), 2)], atol=1e-10
            ), name


def test_interactions_of_order_three_are_those_of_shapiq(
    data: tuple[Array, Array], boosted: Any
) -> None:
    shapiq = pytest.importorskip("shapiq")
    X, _ = data
    nu = value_game("marginal", "local", boosted, X)
    for index, name in INDICES.items():
        ours = effects("marginal", "local", Partial(index), boosted, X, influence=Interactions(3))
        theirs = shapiq.ExactComputer(RowGame(nu, 5), n_players=4)(name, 3)
        assert np.allclose(
            ours[5], [theirs[triple] for triple in combinations(range(4), 3)], atol=1e-10
        ), name


def test_an_explanation_can_be_handed_to_shapiq(data: tuple[Array, Array], boosted: Any) -> None:
    pytest.importorskip("shapiq")
    X, _ = data
    explanation = gx.Explainer("marginal", "local", "partial").explain(boosted, X)
    values = explanation.to_shapiq(row=3)
    assert np.allclose([values[(i,)] for i in range(4)], explanation.values[3], atol=1e-12)
    assert values.baseline_value == pytest.approx(boosted.predict(X).mean())


# ------------------------------------------------------------------------------------------------ shap


@pytest.mark.slow
def test_shap_values_are_those_of_shaps_exact_explainer(
    data: tuple[Array, Array], boosted: Any
) -> None:
    shap = pytest.importorskip("shap")
    X, _ = data
    theirs = shap.explainers.Exact(
        boosted.predict, shap.maskers.Independent(X, max_samples=len(X))
    )(X)
    explanation = gx.Explainer("marginal", "local", "partial").explain(boosted, X)
    assert np.allclose(explanation.values, theirs.values, atol=1e-8)
    assert np.allclose(explanation.to_shap().base_values, theirs.base_values, atol=1e-8)


def test_shap_values_are_those_of_shaps_interventional_tree_explainer(
    data: tuple[Array, Array], boosted: Any
) -> None:
    shap = pytest.importorskip("shap")
    X, _ = data
    explainer = shap.TreeExplainer(boosted, data=X, feature_perturbation="interventional")
    ours = effects("marginal", "local", "partial", boosted, X)
    assert np.allclose(ours, explainer.shap_values(X), atol=1e-5)  # shap sums in single precision


# ------------------------------------------------------------------------------------------------ closed forms


def midpoints(count: int) -> Array:
    return np.pi * (2 * (np.arange(count) + 0.5) / count - 1)


def test_sobol_indices_of_the_ishigami_function_are_those_in_closed_form() -> None:
    """``sin x1 + 7 sin^2 x2 + 0.1 x3^4 sin x1`` on a midpoint grid of 6 x 6 x 64."""
    X = np.stack(
        np.meshgrid(midpoints(6), midpoints(6), midpoints(64), indexing="ij"), axis=-1
    ).reshape(-1, 3)

    def ishigami(X: Array) -> Array:
        return np.sin(X[:, 0]) + 7 * np.sin(X[:, 1]) ** 2 + 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])

    named = gx.explanations()
    variance = np.var(ishigami(X))
    first = named["sobol-closed"].explain(ishigami, X).values / variance
    total = named["sobol-total"].explain(ishigami, X).values / variance
    assert first == pytest.approx([0.3139, 0.4424, 0.0], abs=1e-3)
    assert total == pytest.approx([0.5576, 0.4424, 0.2437], abs=1e-3)
    assert named["variance-full"].explain(ishigami, X).values / variance == pytest.approx(
        total, abs=1e-10
    )


@pytest.mark.filterwarnings(
    "ignore:D49:granite_xai.BinWarning", "ignore:T10:granite_xai.DataWarning"
)
@pytest.mark.parametrize("sampler", ["auto", "bins"])
@pytest.mark.parametrize(
    "rho", [0.9, *(pytest.param(rho, marks=pytest.mark.slow) for rho in (0.0, 0.5))]
)
def test_conditional_importance_of_a_gaussian_pair_is_that_in_closed_form(
    rho: float, sampler: str
) -> None:
    """``F = y = x1``: ``2 (1 - rho^2 + rho^2 v)`` under the mean loss, half of it under the loss of the mean.

    With bins v is the variance of x2 within its tenths. The default takes bins only where that is next to nothing.
    """
    n = 4000
    draw = np.random.default_rng(int(10 * rho))
    x2 = draw.normal(size=n)
    x1 = rho * x2 + np.sqrt(1 - rho**2) * draw.normal(size=n)
    X = np.column_stack([(x1 - x1.mean()) / x1.std(), (x2 - x2.mean()) / x2.std()])
    tenth = np.searchsorted(np.sort(X[:, 1])[np.arange(1, 11) * n // 10 - 1], X[:, 1])
    v = 0.0
    if sampler == "bins":
        v = np.mean([np.var(X[tenth == k, 1]) for k in range(10)])
    expected = 2 * (1 - rho**2 + rho**2 * v)
    for average, factor in (("loss", 1.0), ("prediction", 0.5)):
        explainer = gx.Explainer(
            gx.Conditional(sampler=sampler),
            Risk("squared", average=average),
            "full",
            Individual(["x0"]),
        )
        value = explainer.explain(lambda X: X[:, 0], X, X[:, 0]).values[0]
        assert value == pytest.approx(factor * expected, rel=0.05)
