"""Predictions of pairs of rows, read from a matrix ``E_S``."""

from __future__ import annotations

from granite_xai.base.typing import FloatArray
from granite_xai.compute import primitives
from granite_xai.compute.primitives import Pairs
from granite_xai.evaluations.matrix import Matrix


def hybrid_predictions(
    matrix: Matrix,
    references: Pairs,
    rows: Pairs,
    *,
    is_shown: bool,
    coefficient: float = 1.0,
) -> FloatArray:
    """Predictions of rows with hidden columns of references, times a coefficient, (references, rows).

    Parameters
    ----------
    matrix : Matrix
        ``E_S``.
    references, rows : Pairs
        Where these are in the matrix.
    is_shown : bool
        Whether S is what the rows show, or what they hide and take from the references.
    coefficient : float
    """
    if is_shown:
        return primitives.pair_block(matrix.values, references, rows, hidden=0.0, shown=coefficient)
    return primitives.pair_block(matrix.values, references, rows, hidden=coefficient, shown=0.0)
