"""Theorem 2: for independent columns the squared local gap of full and pure is their gap in sensitivity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite_xai import Conditional, Explainer, Marginal
from paper.games import Array, Lookup, factorial
from strategies import paper

DESIGNS = [(2, 2), (3, 2, 2), (4, 3, 5), (2, 3, 2, 3), (2, 2, 2, 2, 2)]


def local_disagreement(masking: Any, model: Any, X: Array, rows: Any = None) -> float:
    full, pure = (
        Explainer(masking, "local", key).explain(model, X, rows=rows).values
        for key in ("full", "pure")
    )
    return float(np.sum(np.mean((full - pure) ** 2, axis=0)))


def sensitivity_gap(masking: Any, model: Any, X: Array, rows: Any = None) -> float:
    """The signed sum of ``full_i - pure_i``; ``Var F - Var F_{-i}`` as in the paper."""
    full, pure = (
        Explainer(masking, "sensitivity", key).explain(model, X, rows=rows).values
        for key in ("full", "pure")
    )
    return float(np.sum(full - pure))


@pytest.mark.parametrize("masking", [Marginal(), Conditional("exact")], ids=repr)
@pytest.mark.parametrize("levels", DESIGNS, ids=str)
def test_on_a_full_factorial_design_local_and_sensitivity_gaps_are_equal(
    levels: tuple[int, ...], masking: Any
) -> None:
    X, model = factorial(levels), Lookup(levels, seed=len(levels))
    expected = sensitivity_gap(masking, model, X)
    assert local_disagreement(masking, model, X) == pytest.approx(expected, rel=1e-12)
    assert expected > 0.1


@pytest.mark.parametrize("levels", DESIGNS[2:], ids=str)
def test_theorem_2_holds_in_box_regions_of_a_full_factorial_design(levels: tuple[int, ...]) -> None:
    X, model = factorial(levels), Lookup(levels, seed=7)
    boxes = [X[:, 0] >= 1, (X[:, 0] <= 0) & (X[:, 1] >= 1), (X[:, -1] >= 1) & (X[:, 1] <= 1)]
    for rows in map(np.flatnonzero, boxes):
        expected = sensitivity_gap("marginal", model, X, rows)
        # In a box of one level a column has no effect, so the scale is that of the values, not of the gap.
        assert local_disagreement("marginal", model, X, rows) == pytest.approx(
            expected, rel=1e-12, abs=1e-13
        )


@pytest.mark.parametrize("levels", DESIGNS, ids=str)
def test_the_estimator_reports_the_same_number(levels: tuple[int, ...]) -> None:
    X, model = factorial(levels), Lookup(levels, seed=1)
    fitted = paper(model, "ice-pdp", max_depth=0).fit(X)
    assert fitted.disagreement_ == pytest.approx(sensitivity_gap("marginal", model, X), rel=1e-12)


def test_theorem_2_holds_in_each_region_of_a_fitted_tree() -> None:
    """Splits cut boxes, so the theorem holds in every region of a tree."""
    levels = (4, 4, 3)
    X, model = factorial(levels), Lookup(levels, seed=2)
    fitted = paper(model, "ice-pdp", min_samples_leaf=4, alpha=0.0).fit(X)
    assert len(fitted.partition_) > 2
    for region in fitted.partition_:
        rows = np.flatnonzero(region.rule.contains(X))
        expected = (
            sensitivity_gap("marginal", model, X, rows) * region.fraction / fitted.disagreement_
        )
        assert region.disagreement == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_row_weights_of_a_product_form_keep_the_columns_independent() -> None:
    """Weights ``w(x) = product of w_i(x_i)`` are a product distribution: whole weights are repeated rows."""
    levels = (3, 2, 2)
    X, model = factorial(levels), Lookup(levels, seed=4)
    weights = np.array([1, 2, 4])[X[:, 0].astype(int)] * np.array([3, 1])[X[:, 1].astype(int)]
    repeated = np.repeat(X, weights, axis=0)
    fitted = paper(model, "ice-pdp", max_depth=0).fit(X, sample_weight=weights)
    assert fitted.disagreement_ == pytest.approx(
        sensitivity_gap("marginal", model, repeated), rel=1e-12
    )
