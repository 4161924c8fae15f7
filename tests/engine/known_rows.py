"""Evaluations of a few rows with random predictions, and what they mean pair by pair."""

from __future__ import annotations

import numpy as np

from granite_xai.evaluations.coordinates import Coordinates
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.matrix import Matrix

CHANCE = np.random.default_rng(12)
N = 14
ALL = frozenset({0, 1, 2})
FEW = frozenset({1})  # two values: read from tables
MANY = frozenset({2})  # as many values as rows: read pair by pair
SIDES = CHANCE.random((4, N)) < 0.5  # (K, n)
SIDES[3] = True


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
        coordinates=Coordinates(
            ranks=CHANCE.permutation(N)[None] / N, levels=CHANCE.integers(0, 2, (1, N))
        ),
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
