"""Symmetric matrices as packed upper triangles, many at a time.

Entries stand along the first axis, so that one entry of all matrices lies side by side in memory:
triangles have the shape (n_pairs, ...), vectors (size, ...), whole matrices (size, size, ...).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray


def triangle_size(size: int) -> int:
    """Entries of the upper triangle of a square matrix."""
    return size * (size + 1) // 2


def packed_products(vectors: FloatArray) -> FloatArray:
    """Products of all pairs of coordinates of each row, the upper triangle in rows.

    Parameters
    ----------
    vectors : array of shape (n_rows, size)

    Returns
    -------
    array of shape (n_rows, n_pairs)
    """
    n_rows, size = vectors.shape
    products = np.empty((n_rows, triangle_size(size)))
    start = 0
    for place in range(size):
        end = start + size - place
        np.multiply(vectors[:, place, None], vectors[:, place:], out=products[:, start:end])
        start = end
    return products


@cache
def with_last(size: int) -> IntArray:
    """Where the products of each coordinate with the last one stand when packed."""
    _, second = np.triu_indices(size)
    return np.flatnonzero(second == size - 1)


def unpacked(triangles: FloatArray, size: int) -> FloatArray:
    """Whole symmetric matrices: (n_pairs, ...) to (size, size, ...)."""
    first, second = np.triu_indices(size)
    matrices = np.empty((size, size, *triangles.shape[1:]))
    matrices[first, second] = triangles
    matrices[second, first] = triangles
    return matrices


def quadratic_form(triangles: FloatArray, vectors: FloatArray) -> FloatArray:
    """``v' M v`` of many symmetric matrices M and vectors v; their other axes are broadcast.

    Parameters
    ----------
    triangles : array of shape (n_pairs, ...)
    vectors : array of shape (size, ...)
    """
    size = len(vectors)
    total = np.zeros(np.broadcast_shapes(triangles.shape[1:], vectors.shape[1:]))
    halved = vectors.copy()  # at the places that have been a diagonal
    start = 0
    for place in range(size):
        # Row `place` of the triangle: its diagonal entry counts once, the others twice. So it counts
        # half here, and all of them twice at the end.
        end = start + size - place
        halved[place] *= 0.5
        along_row = np.einsum("k...,k...->...", triangles[start:end], halved[place:])
        along_row *= vectors[place]
        total += along_row
        start = end
    total *= 2.0
    return total


def trace_of_product(first: FloatArray, second: FloatArray) -> FloatArray:
    """``trace(A B)`` of many matrices (size, size, ...)."""
    return np.asarray(np.einsum("ij...,ji...->...", first, second))


def covariance(mean_products: FloatArray, size: int) -> FloatArray:
    """Covariances of ``size`` numbers from the mean packed products of these numbers and 1.

    From (n_pairs, ...) to (size, size, ...).
    """
    second_moments = unpacked(mean_products, size + 1)
    means = second_moments[:-1, -1]
    return second_moments[:-1, :-1] - means[:, None] * means[None, :]
