"""Values of an explanation in one region, with their standard errors."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx

X = np.random.default_rng(0).normal(size=(60, 3))


def model(X):
    return X[:, 0] * X[:, 1] + 5.0


@pytest.mark.parametrize(
    ("behavior", "shape"), [("local", (60, 3)), ("sensitivity", (3,))], ids=["rows", "region"]
)
def test_values_and_errors_are_one_a_row_or_one_a_region(behavior, shape):
    (part,) = gx.Explainer("marginal", behavior, "pure").explain(model, X).parts
    assert part.values.shape == part.errors.shape == shape
    assert part.base.shape == (shape[0] if behavior == "local" else 1,)
    assert (part.rows is None) == (part.size_errors is None) == (behavior == "sensitivity")


def test_local_effects_are_counted_from_the_mean_prediction():
    (part,) = gx.Explainer("marginal", "local", "pure").explain(model, X).parts
    np.testing.assert_allclose(part.base, model(X).mean())
    np.testing.assert_allclose(part.values.mean(axis=0)[2], 0.0, atol=1e-12)


def test_effects_are_not_counted_from_anything_where_values_are_variances():
    (part,) = gx.Explainer("marginal", "sensitivity", "full").explain(model, X).parts
    assert part.base.tolist() == [0.0]


@pytest.mark.parametrize("behavior", ["local", "sensitivity"])
def test_errors_tell_how_values_vary_with_the_sample(behavior):
    """Of a mean over four times the rows they are about half as large."""
    generator = np.random.default_rng(1)
    errors = []
    for n in (100, 400):
        rows = generator.normal(size=(n, 2))
        explainer = gx.Explainer("marginal", behavior, "pure")
        explanation = explainer.explain(lambda X: X[:, 0] * (X[:, 1] + 3.0), rows)
        errors.append(np.median(explanation.parts[0].errors[..., 0]))
    assert 0.3 < errors[1] / errors[0] < 0.75


def test_sampled_effects_have_errors_of_their_draws():
    wide = np.random.default_rng(2).normal(size=(25, 13))

    def product(X):
        return X[:, 0] * X[:, 1] * X[:, 2]

    (part,) = gx.Explainer("marginal", "local", "partial").explain(product, wide).parts
    assert part.estimated
    assert np.all(part.errors[:, :3] > 0)
    (exact,) = gx.Explainer("marginal", "local", "partial").explain(product, wide[:, :3]).parts
    assert not exact.estimated
