"""Sensitivity: variances of masked predictions, and Jansen's total variance."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import granite_xai as gx
from granite_xai import InputError

X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 2.0], [5.0, 3.0]])


def model(X):
    return X[:, 0] * X[:, 1] + 1e6


def explain(interaction, total, masking="marginal"):
    behavior = gx.Sensitivity(total=total)
    return gx.Explainer(masking, behavior, interaction).explain(model, X).values


def test_a_pure_effect_is_the_variance_of_the_mean_prediction_given_the_column():
    np.testing.assert_allclose(
        explain("pure", "difference")[0], np.var(X[:, 0] * X[:, 1].mean()), rtol=1e-9
    )


def test_a_full_effect_is_what_hiding_the_column_takes_from_the_variance():
    expected = np.var(model(X)) - np.var(X[:, 0].mean() * X[:, 1])
    np.testing.assert_allclose(explain("full", "difference")[0], expected, rtol=1e-9)


def test_jansens_total_is_the_mean_variance_when_the_column_is_redrawn():
    redrawn = np.array([[x0 * x1 for x0 in X[:, 0]] for x1 in X[:, 1]])
    expected = np.mean(np.var(redrawn, axis=1))
    np.testing.assert_allclose(explain("full", "jansen")[0], expected, rtol=1e-9)


def test_both_totals_are_equal_for_independent_columns():
    grid = np.array(list(product([0.0, 1.0, 3.0], [0.0, 2.0])))
    totals = [
        gx.Explainer("marginal", gx.Sensitivity(total=total), "full").explain(model, grid).values
        for total in ("difference", "jansen")
    ]
    np.testing.assert_allclose(totals[0], totals[1], rtol=1e-9)


def test_jansens_total_needs_columns_that_are_redrawn():
    with pytest.raises(InputError, match="full effects of features and groups") as refused:
        explain("full", "jansen", masking="baseline")
    assert refused.value.code == "P03"
    with pytest.raises(InputError, match="full effects of features and groups"):
        gx.Explainer("marginal", gx.Sensitivity("jansen"), "full", "interaction").explain(model, X)


def test_an_unknown_total_is_refused():
    with pytest.raises(InputError, match="jansen") as refused:
        gx.Sensitivity(total="sobol")
    assert refused.value.code == "P01"
