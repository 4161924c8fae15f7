"""Packed upper triangles against plain matrices."""

from __future__ import annotations

import numpy as np
from granite_xai.moments.triangles import (
    covariance,
    packed_products,
    quadratic_form,
    trace_of_product,
    triangle_size,
    unpacked,
    with_last,
)
from hypothesis import given, strategies as st

from strategies import examples


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
@examples(40)
def test_packed_products_are_those_of_matrices(size, seed):
    """Products, quadratic forms, traces and covariances against plain matrices."""
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(4, size))
    weights = generator.uniform(0.5, 2.0, size=4)
    products = packed_products(vectors)
    assert products.shape == (4, triangle_size(size))
    matrices = unpacked(products.T, size)
    plain = [np.outer(vector, vector) for vector in vectors]
    np.testing.assert_allclose(np.moveaxis(matrices, -1, 0), plain)
    others = generator.normal(size=(4, size))
    wanted = [v @ m @ v for v, m in zip(others, plain, strict=True)]
    np.testing.assert_allclose(quadratic_form(products.T, others.T), wanted, rtol=1e-10)
    np.testing.assert_allclose(
        trace_of_product(matrices, matrices), [np.trace(m @ m) for m in plain], rtol=1e-10
    )
    with_one = np.column_stack([vectors, np.ones(4)])
    means = weights @ packed_products(with_one) / weights.sum()
    np.testing.assert_allclose(
        covariance(means, size),
        np.cov(vectors.T, aweights=weights, ddof=0).reshape(size, size),
        atol=1e-12,
    )
    np.testing.assert_allclose(packed_products(with_one)[:, with_last(size + 1)], with_one)


def test_quadratic_forms_of_some_matrices_and_more_vectors():
    """The axes that follow are broadcast: two matrices, each with three vectors."""
    generator = np.random.default_rng(1)
    triangles = generator.normal(size=(triangle_size(4), 2, 1))
    vectors = generator.normal(size=(4, 2, 3))
    found = quadratic_form(triangles, vectors)
    assert found.shape == (2, 3)
    matrices = unpacked(triangles, 4)
    for k in range(2):
        for l in range(3):
            v = vectors[:, k, l]
            np.testing.assert_allclose(found[k, l], v @ matrices[:, :, k, 0] @ v)
