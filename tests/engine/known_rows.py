"""Evaluations of a few rows with random predictions, and what they mean pair by pair."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from granite_xai.evaluations.matrix import Matrix

from granite_xai.evaluations.evaluations import Evaluations

CHANCE = np.random.default_rng(12)
N = 14
ALL = frozenset({0, 1, 2})
FEW = frozenset({1})  # two values: read from tables
MANY = frozenset({2})  # as many values as rows: read pair by pair
SIDES = CHANCE.random((4, N)) < 0.5  # (K, n)
SIDES[3] = True
BINS = np.array([0, 0, 1, 1, 2, 2, 2] * 2)


def known_rows() -> Evaluations:
    matrices = {
        FEW: Matrix(values=CHANCE.normal(size=(2, N)), codes=np.arange(N) % 2),
        MANY: Matrix(values=CHANCE.normal(size=(N, N)), codes=np.arange(N)[::-1].copy()),
    }
    return Evaluations(
        predictions=CHANCE.normal(size=N),
        weights=CHANCE.uniform(0.5, 2.0, N),
        offset=0.0,
        y=None,
        stored_as={
            FEW: (FEW, True),
            ALL - FEW: (FEW, False),
            MANY: (MANY, True),
            ALL - MANY: (MANY, False),
        },
        matrices=matrices,
        bins={},
        against={},
        attributions={},
        errors={},
        ale={},
        everything=ALL,
    )


KNOWN = known_rows()


def hybrid(visible: frozenset[int], n: int, m: int) -> float:
    """The prediction of row n with everything but the visible columns taken from row m."""
    if visible == ALL:
        return float(KNOWN.predictions[n])
    if not visible:
        return float(KNOWN.predictions[m])
    store, shown = KNOWN.stored_as[visible]
    matrix = KNOWN.matrices[store]
    shows, other = (n, m) if shown else (m, n)
    return float(matrix.values[matrix.codes[shows], other])


def side_of(inside: np.ndarray, n: int) -> list[int]:
    """The rows of the side of a split that holds a row."""
    return [m for m in range(N) if inside[m] == inside[n]]


def references(n: int, k: int, binned: bool) -> list[int]:
    """Rows of the side that holds row n, and of its bin."""
    return [m for m in side_of(SIDES[k], n) if not binned or BINS[m] == BINS[n]]


def mean_over(function: Callable[[int], float], n: int, k: int, binned: bool) -> float:
    """The weighted mean of a function over the references of a row in a split."""
    rows = references(n, k, binned)
    return float(np.average([function(m) for m in rows], weights=KNOWN.weights[rows]))
