"""Conditional masking: what a fit chooses, and what follows from it."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from explanation.masking.normal_pairs import first_column, normal_pair
from granite_xai.base.diagnostics import Diagnostics
from granite_xai.explanation.masking.fitted import fit_maskings
from granite_xai.tables import read_table

GUARDED = gx.Conditional().beyond_chance()
EVERYTHING = frozenset({0, 1})
pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")


def importance(masking, X: np.ndarray) -> float:
    """Conditional importance of x0 for F = y = x0, averaged loss."""
    risk = gx.Risk("squared", average="loss")
    way = gx.Explainer(masking, risk, "full", gx.Individual(["x0"]))
    return float(way.explain(first_column, X, X[:, 0]).values[0])


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8, 0.9, 0.95, 0.99])
def test_the_importance_of_a_column_shrinks_with_what_the_other_tells_of_it(rho):
    """E (x0 - x0')² given x1 is 2 (1 - ρ²); bins say three times as much at ρ = 0.99."""
    X = normal_pair(rho)
    stated = 2 * (1 - rho**2) * X[:, 0].var()
    assert importance(GUARDED, X) == pytest.approx(stated, rel=0.06, abs=0.008)
    if rho == 0.99:
        assert importance("conditional", X) > 2.5 * stated


@pytest.mark.parametrize("rho", [0.9, 0.99])
def test_a_masked_model_is_the_conditional_mean_of_normal_columns(rho):
    """E[x0 | x1] = ρ x1."""
    X = normal_pair(rho, seed=1)
    way = gx.Explainer(GUARDED, "local", "pure", gx.Individual(["x1"]))
    values = way.explain(first_column, X).values[:, 0]
    stated = rho * (X[:, 1] - X[:, 1].mean())
    assert np.sqrt(np.mean(np.square(values - stated))) < 0.08


def test_the_total_variance_of_a_column_is_what_the_other_leaves_of_it():
    """E Var(x0 | x1) = 1 - ρ²."""
    X = normal_pair(0.95, seed=2)
    way = gx.Explainer(GUARDED, gx.Sensitivity("jansen"), "full", gx.Individual(["x0"]))
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


def test_a_fit_as_in_the_paper_has_bins():
    X = normal_pair(0.95, 200)
    granite = gx.Granite(first_column, "mplot-pdp", confidence_level=None, max_depth=1).fit(X)
    assert "conditional" not in granite.diagnostics_


def test_an_optimal_tree_needs_sums_and_keeps_bins():
    X = normal_pair(0.95, 400)
    granite = gx.Granite(
        first_column, "mplot-pdp", search="optimal", max_depth=1, random_state=0
    ).fit(X)
    assert "conditional" not in granite.diagnostics_


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


def test_row_order_does_not_matter():
    X = normal_pair(0.93, 400)
    shuffled = X[np.random.default_rng(1).permutation(len(X))]
    fits = [
        gx.Granite(first_column, "mplot-pdp", max_depth=1, random_state=0).fit(rows)
        for rows in (X, shuffled)
    ]
    one, two = (fit.diagnostics_["conditional"]["errors"] for fit in fits)
    assert one == two


def test_the_choice_is_noted_where_somebody_asks():
    record = Diagnostics()
    table = read_table(normal_pair(0.95, 300), missing="allow")
    readings = [(GUARDED, frozenset({0})), (GUARDED, frozenset({1})), (GUARDED, EVERYTHING)]
    fitted = fit_maskings(readings, (), table, np.ones(300), 0, record)
    assert record.as_dict()["conditional"]["sampler"] == "copula"
    assert fitted.bins == {}
    densities = fitted.densities_of(readings, table)
    assert densities.keys() == set(readings[:2])


def test_a_loaded_optimal_tree_has_its_bins(tmp_path):
    X = normal_pair(0.95, 400)
    granite = gx.Granite(
        first_column, "mplot-pdp", search="optimal", max_depth=1, random_state=0
    ).fit(X)
    gx.save(granite, tmp_path / "fit.json")
    loaded = gx.load(tmp_path / "fit.json", model=first_column)
    other = normal_pair(0.95, 200, seed=5)
    assert loaded.evaluate(other).remaining == granite.evaluate(other).remaining
