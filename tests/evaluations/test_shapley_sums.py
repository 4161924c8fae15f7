"""Pairwise effects, summed up matrix by matrix, against the sum over coalitions of single pairs."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.shapley_sums import ShapleySums

CHANCE = np.random.default_rng(8)
N = 5
PREDICTIONS = CHANCE.normal(size=N)
ALL, S, T = frozenset({0, 1, 2}), frozenset({0}), frozenset({1})
MATRICES = {
    S: Matrix(values=CHANCE.normal(size=(2, N)), codes=np.array([0, 1, 1, 0, 1])),
    T: Matrix(values=CHANCE.normal(size=(3, N)), codes=np.array([2, 0, 1, 1, 0])),
}
TERMS = {
    "first": {ALL: 0.3, frozenset(): -0.7, S: 0.5, ALL - S: -0.25},
    "second": {T: 1.5, ALL - T: 0.0, S: -1.0},
}


def hybrid(visible, n, m):
    """The prediction of row n with everything but the visible columns taken from row m."""
    if visible == ALL:
        return PREDICTIONS[n]
    if visible == frozenset():
        return PREDICTIONS[m]
    if visible in MATRICES:
        return MATRICES[visible].values[MATRICES[visible].codes[n], m]
    matrix = MATRICES[ALL - visible]
    return matrix.values[matrix.codes[m], n]


@pytest.mark.parametrize("block", [1, 10**6])
def test_effects_are_the_sums_over_coalitions(block):
    sums = ShapleySums(TERMS, PREDICTIONS, ALL, block)
    for columns, matrix in MATRICES.items():
        sums.add(columns, matrix)
    for name, terms in TERMS.items():
        for n in range(N):
            for m in range(N):
                wanted = sum(a * hybrid(visible, n, m) for visible, a in terms.items())
                assert np.isclose(sums.values[name][n, m], wanted, rtol=1e-13)
