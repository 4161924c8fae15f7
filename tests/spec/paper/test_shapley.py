"""Partial effects: the axioms of the Shapley value, and what sampling keeps of them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import granite_xai as gx
from granite_xai import (
    Baseline,
    Conditional,
    Interactions,
    Joint,
    Local,
    Marginal,
    Risk,
    Sensitivity,
)
from paper.games import Array, close, effects, shapley, value_game

MASKINGS = [Marginal(), Conditional("exact"), Conditional(), Baseline("median")]
BEHAVIORS = [
    Local(),
    Sensitivity(),
    Risk("squared"),
    Risk("absolute"),
    Risk("squared", average="loss"),
]


def model(X: Any) -> Array:
    x = np.asarray(X, dtype=float)
    return x[:, 0] * x[:, 1] + np.sin(x[:, 1] * x[:, 2]) + x[:, 0] * x[:, 2] * x[:, 3]


def other(X: Any) -> Array:
    x = np.asarray(X, dtype=float)
    return np.exp(x[:, 3]) * x[:, 1] - x[:, 0] ** 2


def data(n: int = 40, d: int = 4, seed: int = 0) -> Array:
    draw = np.random.default_rng(seed)
    return draw.integers(-2, 3, size=(n, d)) / 2 + draw.integers(0, 2, size=(n, 1))


X = data()
Y = model(X) + np.random.default_rng(1).normal(size=len(X))


@pytest.mark.parametrize("behavior", BEHAVIORS, ids=repr)
@pytest.mark.parametrize("masking", MASKINGS, ids=repr)
def test_partial_effects_add_up_to_what_all_columns_achieve(masking: Any, behavior: Any) -> None:
    explanation = gx.Explainer(masking, behavior, "partial").explain(model, X, Y)
    everyone = gx.Explainer(masking, behavior, "pure", Joint({"all": range(4)})).explain(
        model, X, Y
    )
    assert close(explanation.values.sum(axis=-1), everyone.values[..., 0], 20.0)
    assert explanation.parts[0].base == pytest.approx(everyone.parts[0].base, rel=1e-12)
    assert not any(part.estimated for part in explanation.parts)


@pytest.mark.parametrize("masking", MASKINGS, ids=repr)
def test_local_partial_effects_lead_from_the_mean_to_the_prediction(masking: Any) -> None:
    explanation = gx.Explainer(masking, "local", "partial").explain(model, X, rows=np.arange(5, 30))
    total = explanation.values.sum(axis=1) + explanation.parts[0].base
    assert close(total, model(X[5:30]), 20.0)


@pytest.mark.parametrize("behavior", [Local(), Sensitivity(), Risk("squared")], ids=repr)
@pytest.mark.parametrize("masking", MASKINGS, ids=repr)
def test_partial_effects_are_the_shapley_values_of_the_game(masking: Any, behavior: Any) -> None:
    nu = value_game(masking, behavior, model, X[:25], Y[:25])
    expected = np.stack([shapley(nu, i) for i in range(4)], axis=-1)
    assert close(effects(masking, behavior, "partial", model, X[:25], Y[:25]), expected, 20.0)


@pytest.mark.parametrize(
    "masking", [Marginal(), Conditional("exact"), Baseline("median")], ids=repr
)
@pytest.mark.parametrize("behavior", [Local(), Sensitivity()], ids=repr)
def test_columns_that_play_the_same_part_get_the_same_effect(masking: Any, behavior: Any) -> None:
    """Equal columns in a model that is symmetric in them."""
    twins = np.column_stack([X[:, 0], X[:, 0], X[:, 2]])
    phi = effects(
        masking,
        behavior,
        "partial",
        lambda X: X[:, 0] * X[:, 1] * X[:, 2] + X[:, 0] + X[:, 1],
        twins,
    )
    assert close(phi[..., 0], phi[..., 1], 10.0)


@pytest.mark.parametrize("masking", MASKINGS, ids=repr)
@pytest.mark.parametrize("interaction", ["pure", "partial", "full"])
def test_local_effects_are_linear_in_the_model(masking: Any, interaction: str) -> None:
    mixed = effects(masking, "local", interaction, lambda X: 3 * model(X) - 0.5 * other(X) + 7, X)
    parts = [effects(masking, "local", interaction, F, X) for F in (model, other)]
    assert close(mixed, 3 * parts[0] - 0.5 * parts[1], 100.0)


@pytest.mark.parametrize("behavior", [Local(), Sensitivity(), Risk("squared")], ids=repr)
@pytest.mark.parametrize("masking", [Marginal(), Baseline("median")], ids=repr)
def test_a_column_the_model_does_not_use_gets_nothing(masking: Any, behavior: Any) -> None:
    phi = effects(masking, behavior, "partial", lambda X: X[:, 0] * X[:, 1] + X[:, 2], X, Y)
    assert close(phi[..., 3], 0.0, 10.0)


def test_under_conditional_masking_a_dependent_column_rightly_gets_a_share() -> None:
    twins = np.column_stack([X[:, 0], X[:, 0]])
    phi = effects(Conditional("exact"), "local", "partial", lambda X: X[:, 0], twins)
    assert close(phi[:, 1], phi[:, 0])
    assert np.max(np.abs(phi[:, 1])) > 0.1


def test_pairwise_attributions_are_antisymmetric() -> None:
    """Row n against the single reference m is minus row m against n, as a region of both shows by its means."""
    for n, m in ((0, 1), (2, 9), (30, 4)):
        phi = effects("marginal", "local", "partial", model, X, rows=[n, m])
        # A row against itself has no effect, so each mean over both references is half of Phi[n, m].
        assert close(phi[0], -phi[1], 10.0)


def test_a_region_averages_the_attributions_of_its_references() -> None:
    rows = np.arange(6)
    phi = effects("marginal", "local", "partial", model, X, rows=rows)
    pairwise = np.zeros((6, 6, 4))
    for n, m in combinations(rows, 2):
        pairwise[n, m], pairwise[m, n] = 2 * effects(
            "marginal", "local", "partial", model, X, rows=[n, m]
        )
    assert close(phi, pairwise.mean(axis=1), 10.0)


@pytest.mark.parametrize("behavior", BEHAVIORS, ids=repr)
@pytest.mark.parametrize("interaction", ["pure", "partial", "full"])
def test_conditional_is_marginal_when_all_rows_share_one_bin(
    interaction: str, behavior: Any
) -> None:
    class OneBin:
        def fit(self, X: Any, rest: Any) -> None: ...

        def apply(self, X: Any) -> Array:
            return np.zeros(len(X))

    conditional = effects(Conditional(OneBin()), behavior, interaction, model, X, Y)
    assert close(conditional, effects("marginal", behavior, interaction, model, X, Y), 10.0)


# ------------------------------------------------------------------------------------------------ sampled effects

WIDE = data(n=12, d=14, seed=3)


def wide(X: Any) -> Array:
    x = np.asarray(X, dtype=float)
    return x @ np.linspace(-1, 1, 14) + x[:, 0] * x[:, 5] + x[:, 2] * x[:, 3] * x[:, 13]


def exact_wide() -> Array:
    """Shapley values in closed form: products of k columns against single references share by inclusion."""
    phi = np.zeros((len(WIDE), 14))
    for n, m in np.ndindex(len(WIDE), len(WIDE)):
        a, b = WIDE[n], WIDE[m]
        phi[n] += np.linspace(-1, 1, 14) * (a - b)
        for S in ((0, 5), (2, 3, 13)):
            phi[n, list(S)] += product_shapley(a[list(S)], b[list(S)])
    return phi / len(WIDE)


def product_shapley(a: Array, b: Array) -> Array:
    k = len(a)
    nu = {
        frozenset(i for i in range(k) if bits >> i & 1): float(
            np.prod([a[i] if bits >> i & 1 else b[i] for i in range(k)])
        )
        for bits in range(2**k)
    }
    return np.array([shapley(nu, i) for i in range(k)])


def test_sampled_partial_effects_add_up_exactly() -> None:
    explanation = gx.Explainer("marginal", "local", "partial").explain(wide, WIDE)
    total = explanation.values.sum(axis=1) + explanation.parts[0].base
    assert close(total, wide(WIDE), 20.0)
    assert explanation.frame()["standard_error"].max() > 0


@pytest.mark.slow
@pytest.mark.parametrize("behavior", [Sensitivity(), Risk("squared")], ids=repr)
def test_sampled_global_effects_add_up_exactly(behavior: Any) -> None:
    y = wide(WIDE) + 1
    phi = effects("marginal", behavior, "partial", wide, WIDE, y)
    everyone = effects(
        "marginal", behavior, "pure", wide, WIDE, y, influence=Joint({"all": range(14)})
    )
    assert close(phi.sum(), everyone[0], 100.0)


@pytest.mark.slow
def test_sampled_standard_errors_cover_the_exact_values() -> None:
    """Antithetic pairs are exact for pairs of columns; the triple product carries the error."""
    exact = exact_wide()
    inside, total = 0, 0
    for seed in range(5):
        explanation = gx.Explainer("marginal", "local", "partial").explain(
            wide, WIDE, random_state=seed
        )
        errors = np.asarray(explanation.frame()["standard_error"]).reshape(-1)
        values = np.asarray(explanation.frame()["value"]).reshape(-1)
        truth = _like_frame(explanation, exact)
        noisy = errors > 1e-9
        assert np.allclose(values[~noisy], truth[~noisy], atol=1e-9)
        inside += int(np.sum(np.abs(values - truth)[noisy] <= 2 * errors[noisy]))
        total += int(noisy.sum())
    assert total > 50
    assert 0.85 < inside / total <= 1.0


def _like_frame(explanation: gx.Explanation, exact: Array) -> Array:
    table = explanation.frame()
    column = {name: i for i, (name,) in enumerate(explanation.sets)}
    return np.array(
        [
            exact[int(row), column[name]]
            for row, name in zip(table["row"], table["set"], strict=True)
        ]
    )


def test_a_small_budget_turns_exact_effects_into_samples_that_still_add_up() -> None:
    X = data(n=30, d=8, seed=5)

    def eight(X: Any) -> Array:
        x = np.asarray(X, dtype=float)
        return np.prod(x[:, :3], axis=1) + x[:, 4] * x[:, 7]

    budget = gx.Resources(max_evaluations=60_000)
    sampled = gx.Explainer("marginal", "local", "partial").explain(eight, X, resources=budget)
    exact = gx.Explainer("marginal", "local", "partial").explain(eight, X)
    assert not exact.parts[0].estimated
    assert sampled.parts[0].estimated
    assert np.all(np.asarray(sampled.frame()["standard_error"]) > 0)
    assert close(sampled.values.sum(axis=1), exact.values.sum(axis=1), 10.0)


def test_too_small_a_budget_is_refused_with_the_numbers() -> None:
    with pytest.raises(gx.ResourceError, match="pairs"):
        gx.Explainer("marginal", "local", "partial").explain(
            wide, WIDE, resources=gx.Resources(max_evaluations=500)
        )


def test_interaction_indices_of_two_columns_are_their_only_interaction() -> None:
    """With two players every index is Delta({0, 1})."""
    pair = data(n=20, d=2)
    F = lambda X: X[:, 0] * np.exp(X[:, 1])  # noqa: E731
    pure = effects("marginal", "local", "pure", F, pair, influence=Interactions(2))
    for key in ("partial", "full"):
        assert close(
            effects("marginal", "local", key, F, pair, influence=Interactions(2)), pure, 10.0
        )


def test_pointwise_risk_leads_each_row_from_its_own_loss_without_columns_to_its_own_loss() -> None:
    """Row by row the empty coalition has a value of its own: ``-L(mean F, y_n)``."""
    pytest.importorskip("shapiq")
    explanation = gx.Explainer("marginal", Risk("squared", pointwise=True), "partial").explain(
        model, X, Y
    )
    for row in (0, 7):
        handed = explanation.to_shapiq(row=row)
        assert handed.baseline_value == pytest.approx(-((model(X).mean() - Y[row]) ** 2))
        total = handed.baseline_value + sum(handed[(i,)] for i in range(4))
        assert total == pytest.approx(-((model(X)[row] - Y[row]) ** 2))


def test_a_region_of_a_few_rows_costs_what_these_rows_cost() -> None:
    """Effects are exact where the region's own rows can be paid for, however many rows the table has."""
    X = np.random.default_rng(4).normal(size=(300, 5))
    model = lambda X: X[:, 0] * X[:, 1] * X[:, 2] + X[:, 3] * X[:, 4]  # noqa: E731
    rows, limits = np.arange(20), gx.Resources(max_evaluations=2**5 * 20**2)
    shap = gx.Explainer(interaction="partial")
    found = shap.explain(model, X, rows=rows, resources=limits)
    assert not found.parts[0].estimated
    np.testing.assert_allclose(found.values, shap.explain(model, X[rows]).values, atol=1e-12)
