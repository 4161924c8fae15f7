"""Signed pairs: how figures vary with the sample, from weights ``1 + a s`` and ``1 - a s`` for random signs s."""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray

STEP = 0.1
"""How far the weights move."""
PAIRS = 50
"""Vectors of signs."""


def signs(clusters: IntArray, seed: int) -> FloatArray:
    """Vectors of random signs, one sign for each cluster of rows, (P, n)."""
    drawn = np.random.default_rng([seed, 11]).integers(0, 2, size=(PAIRS, int(clusters.max(initial=-1)) + 1))
    found: FloatArray = (2.0 * drawn.astype(np.float64) - 1.0)[:, clusters]
    return found


def signed_lines(drawn: FloatArray, weights: FloatArray) -> FloatArray:
    """The weights of the rows, then with the signs, then against them, (1 + 2 P, n)."""
    lines: FloatArray = np.vstack([np.ones(len(weights)), 1.0 + STEP * drawn, 1.0 - STEP * drawn]) * weights
    return lines


def slopes(values: FloatArray, cells: IntArray | int) -> FloatArray:
    """How far values (1 + 2 P, ...) lie from their limits, one move a pair; they average over cells of so many rows.

    A cell of one row does not move: it borrows the variance of the others.
    """
    half = 1 + (len(values) - 1) // 2
    counts = np.asarray(cells)
    found: FloatArray = (values[1:half] - values[half:]) / (2 * STEP) * np.sqrt(counts / np.maximum(counts - 1, 1))
    alone = counts == 1
    if alone.any() and not alone.all():
        found[:, alone] = np.sqrt(np.mean(counts[~alone] * np.square(found[:, ~alone]).mean(axis=0)))
    return found


def standard_errors(values: FloatArray, cells: IntArray | int) -> FloatArray:
    """Standard errors of values under signed pairs of weights.

    >>> drawn = signs(np.arange(400), 0)
    >>> X = np.random.default_rng(0).normal(size=400)
    >>> lines = signed_lines(drawn, np.ones(400))
    >>> bool(0.04 < standard_errors(lines @ X / lines.sum(axis=1), 400) < 0.06)  # that of a mean: 1/20
    True
    """
    found: FloatArray = np.sqrt(np.mean(np.square(slopes(values, cells)), axis=0))
    return found
