"""Conditional masking where features depend: true importances, conditional means, what is chosen and said."""

from __future__ import annotations

import re

import numpy as np
import pytest

import granite_xai as gx
from use.normal_pairs import first_column, normal_pair

# y is a column of X, so that its importance is known.
pytestmark = pytest.mark.filterwarnings(
    "ignore::granite_xai.BinWarning", "ignore:T10:granite_xai.DataWarning"
)

BINS = gx.Conditional(sampler="bins")


PAPER = {"search": "greedy", "confidence_level": None, "max_depth": 1}


def importance(masking, X: np.ndarray) -> float:
    """Conditional importance of x0 for F = y = x0, averaged loss."""
    risk = gx.Risk("squared", average="loss")
    way = gx.Explainer(masking, risk, "full", gx.Individual(["x0"]))
    return float(way.explain(first_column, X, X[:, 0]).values[0])


def too_wide(raised) -> list[str]:
    """Warnings that bins are too wide."""
    return [str(one.message) for one in raised if "D49" in str(one.message)]


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8, 0.9, 0.95, 0.99])
def test_the_importance_of_a_column_shrinks_with_what_the_other_tells_of_it(rho):
    """E (x0 - x0')² given x1 is 2 (1 - ρ²); bins say three times as much at ρ = 0.99."""
    X = normal_pair(rho)
    stated = 2 * (1 - rho**2) * X[:, 0].var()
    assert importance("conditional", X) == pytest.approx(stated, rel=0.06, abs=0.008)
    if rho == 0.99:
        assert importance(BINS, X) > 2.5 * stated


@pytest.mark.parametrize("average", ["prediction", "loss"])
@pytest.mark.parametrize("rho", [0.9, 0.99])
def test_importances_of_a_linear_model_have_their_true_values(rho, average):
    """F = y = Σ b x: hiding x_i replaces it by its mean given the others, or by a draw beside them.

    The squared error is b² Var(x_i | others) by the mean, and twice as much by a draw.
    """
    X = np.column_stack([normal_pair(rho, 1500), np.random.default_rng(5).normal(size=1500)])
    slopes = np.array([1.5, -1.0, 0.5])
    way = gx.Explainer("conditional", gx.Risk("squared", average=average), "full")
    values = way.explain(lambda X: X @ slopes, X, X @ slopes).values
    draws = 1.0 if average == "prediction" else 2.0
    stated = draws * np.square(slopes) * np.array([1 - rho**2, 1 - rho**2, 1.0])
    assert values == pytest.approx(stated, rel=0.12)


@pytest.mark.parametrize("rho", [0.9, 0.99])
def test_a_fit_without_a_confidence_level_has_the_true_importance(rho):
    X = normal_pair(rho)
    question = gx.question("cfi-pfi", risk_loss="squared", average="loss")
    granite = gx.Granite(first_column, question, max_depth=0, confidence_level=None)
    granite.fit(X, X[:, 0])
    stated = 2 * (1 - rho**2) * X[:, 0].var()
    assert granite.diagnostics_["conditional"]["sampler"] == "copula"
    found = granite.explain(X, X[:, 0]).of("cfi")[0]
    assert found == pytest.approx(stated, rel=0.06, abs=0.008)


@pytest.mark.parametrize("rho", [0.9, 0.99])
def test_a_masked_model_is_the_conditional_mean_of_normal_columns(rho):
    """E[x0 | x1] = ρ x1."""
    X = normal_pair(rho, seed=1)
    way = gx.Explainer("conditional", "local", "pure", gx.Individual(["x1"]))
    values = way.explain(first_column, X).values[:, 0]
    stated = rho * (X[:, 1] - X[:, 1].mean())
    assert np.sqrt(np.mean(np.square(values - stated))) < 0.08


def test_the_total_variance_of_a_column_is_what_the_other_leaves_of_it():
    """E Var(x0 | x1) = 1 - ρ²."""
    X = normal_pair(0.95, seed=2)
    way = gx.Explainer("conditional", gx.Sensitivity("jansen"), "full", gx.Individual(["x0"]))
    assert way.explain(first_column, X).values[0] == pytest.approx(1 - 0.95**2, rel=0.1)


@pytest.mark.parametrize("question", ["cfi-pfi", "mplot-pdp", "csobol-sobol"])
def test_a_fit_with_a_confidence_level_says_what_it_chose(question):
    X = normal_pair(0.95, 400)
    granite = gx.Granite(first_column, question, max_depth=1, random_state=0).fit(X, X[:, 0])
    by_bins = gx.question(question, conditional=gx.Conditional(sampler="bins"))
    bins = gx.Granite(first_column, by_bins, max_depth=1, random_state=0).fit(X, X[:, 0])
    note = granite.diagnostics_["conditional"]
    assert note["sampler"] == "copula"
    assert "better than bins" in note["reason"]
    assert any("Gaussian copula" in text for text in granite.diagnostics_["warnings"])
    assert "conditional" not in bins.diagnostics_
    # It costs no further model rows.
    assert granite.diagnostics_["model"]["rows"] == bins.diagnostics_["model"]["rows"]


@pytest.mark.filterwarnings("always::granite_xai.BinWarning")
def test_D49_the_paper_s_algorithm_has_bins_and_says_where_they_are_too_wide():
    """Beside x1 a share 1 - ρ² of the variance of x0 is left."""
    X = normal_pair(0.99)
    with pytest.warns(gx.BinWarning, match="D49") as raised:
        granite = gx.Granite(first_column, "cfi-pfi", **PAPER).fit(X, X[:, 0])
    assert "conditional" not in granite.diagnostics_
    (text,) = too_wide(raised)
    assert text in granite.diagnostics_["warnings"]
    by_bins, by_copula = (float(figure) for figure in re.findall(r"(\d+\.\d)%", text))
    assert by_copula == pytest.approx(100 * (1 - 0.99**2), rel=0.15)
    factor = importance(BINS, X) / importance("conditional", X)
    assert by_bins / by_copula == pytest.approx(factor, rel=0.15)
    assert "sampler='copula'" in text


@pytest.mark.filterwarnings("always::granite_xai.BinWarning")
@pytest.mark.parametrize(
    ("masking", "interaction", "words"),
    [
        (BINS, "full", "beside the other features they leave x"),
        (BINS, "pure", "effects given x"),
        # Several features are shown and several hidden: the default falls back to bins.
        ("conditional", "partial", "beside the other features they leave x"),
    ],
)
def test_D49_an_explanation_by_bins_says_where_they_are_too_wide(masking, interaction, words):
    X = np.column_stack([normal_pair(0.95, 400), np.random.default_rng(5).normal(size=(400, 2))])
    way = gx.Explainer(masking, "local", interaction)
    with pytest.warns(gx.BinWarning, match="D49") as raised:
        way.explain(first_column, X)
    (text,) = too_wide(raised)
    assert words in text
    assert "x2" not in text
    assert "x3" not in text


@pytest.mark.filterwarnings("error::granite_xai.BinWarning")
@pytest.mark.parametrize("masking", ["conditional", BINS, gx.Conditional("exact")])
@pytest.mark.parametrize("interaction", ["full", "pure", "partial"])
def test_nothing_is_said_of_bins_where_features_depend_weakly(masking, interaction):
    X = np.column_stack([normal_pair(0.4, 400), np.random.default_rng(5).normal(size=(400, 2))])
    gx.Explainer(masking, "local", interaction).explain(first_column, X)


@pytest.mark.filterwarnings("error::granite_xai.BinWarning")
@pytest.mark.parametrize("masking", ["conditional", gx.Conditional(sampler="copula")])
def test_nothing_is_said_of_bins_where_a_copula_stands_for_them(masking):
    X = normal_pair(0.99, 400)
    gx.Explainer(masking, "local", "full").explain(first_column, X)


def test_a_loaded_fit_explains_and_evaluates_as_before(tmp_path):
    X = normal_pair(0.95, 400)
    granite = gx.Granite(first_column, "cfi-pfi", max_depth=1, random_state=0).fit(X, X[:, 0])
    other = normal_pair(0.95, 200, seed=5)
    gx.save(granite, tmp_path / "fit.json")
    loaded = gx.load(tmp_path / "fit.json", model=first_column)
    for fit in (granite, loaded):
        assert fit.evaluate(other, other[:, 0]).remaining == pytest.approx(
            granite.evaluate(other, other[:, 0]).remaining
        )


@pytest.mark.parametrize("question", ["cfi-pfi", "mplot-pdp"])
@pytest.mark.parametrize("options", [PAPER, {"confidence_level": None, "max_depth": 1}])
def test_a_loaded_fit_without_a_confidence_level_has_its_masking(question, options, tmp_path):
    X = normal_pair(0.95, 400)
    granite = gx.Granite(first_column, question, **options).fit(X, X[:, 0])
    gx.save(granite, tmp_path / "fit.json")
    loaded = gx.load(tmp_path / "fit.json", model=first_column)
    other = normal_pair(0.95, 200, seed=5)
    one, two = (fit.evaluate(other, other[:, 0]).remaining for fit in (granite, loaded))
    assert one == two


def test_the_rows_of_an_explanation_may_stand_in_any_order():
    """About the correlation from which a copula is taken."""
    chosen = []
    for seed in range(6):
        X = normal_pair(0.55, 400, seed)
        moved = np.random.default_rng(seed).permutation(len(X))
        one, two = importance("conditional", X), importance("conditional", X[moved])
        assert one == pytest.approx(two, rel=1e-9)
        chosen.append(one != pytest.approx(importance(BINS, X), rel=1e-9))
    assert 0 < sum(chosen) < 6


def test_row_order_does_not_matter():
    X = normal_pair(0.93, 400)
    shuffled = X[np.random.default_rng(1).permutation(len(X))]
    fits = [
        gx.Granite(first_column, "mplot-pdp", max_depth=1, random_state=0).fit(rows)
        for rows in (X, shuffled)
    ]
    one, two = (fit.diagnostics_["conditional"]["errors"] for fit in fits)
    assert one == two


COPULA = gx.Conditional(sampler="copula")


@pytest.mark.filterwarnings(
    "ignore:D49:granite_xai.BinWarning", "ignore:T10:granite_xai.DataWarning"
)
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.99])
def test_the_importance_of_a_column_shrinks_with_what_the_other_tells_of_it_copula(rho):
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
def test_the_total_variance_of_a_column_is_what_the_other_leaves_of_it_copula(rho):
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
