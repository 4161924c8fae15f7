"""The predictions of one set, factored: what belongs to the row, to the value, and to both.

``E[u, n]`` is the prediction for row n with the columns of a set S at their value u (method page,
"What the model is asked"). Centred both ways, with the shares ``p(u)`` of the values and the weights
of the rows,

    E[u, n] = a[n] + b[u] + U[n] · V[u],

where ``a`` is the mean over the values, ``b`` what is left on average over the rows, and the rest,
the interaction, usually has few dimensions. With ``w[n] = V[own value of n]`` every masked model of
a region is linear in means over its rows (method page, "Sums over rows"):

    F(x_n)         = a[n] + b[n] + e[n],       e[n] the interaction at the row's own value
    S hidden       = a[n] + mean(b) + U[n] · mean(w)
    S alone shown  = mean(a) + b[n] + mean(U) · w[n]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.matrix import Matrix

LOSSLESS = 1e-15  # share of the interaction's squares that factors called exact may lose
ROUNDING = 2.0**-48  # of the largest prediction: 16 steps of double precision
ROUNDING_OF_SINGLE = 2.0**-19  # 16 steps of single precision
KEPT_BY_SEARCH = 0.99  # share of the interaction's squares that a search must see
MOST_SEARCHED = 6  # directions that a search reads, at most, but for nearly equal ones
KEPT_BY_REPETITION = 0.95  # the same of a search that is repeated on some of the rows
MOST_REPEATED = 3  # directions that such a search reads, at most
NEARLY_EQUAL = 0.9  # a rank never parts two directions whose strengths are closer than this ratio
LINES_READ = 8  # values that tell the precision of a model
MOST_DIRECTIONS = 512  # values up to which all directions are computed
SKETCH = 64  # directions that are looked for among more values than that
SKETCH_PASSES = 4  # times that the sketch is multiplied by the matrix and its transpose


@dataclass(frozen=True, eq=False)
class Factors:
    """One set on the rows of a fit.

    Parameters
    ----------
    row_part : array of shape (n_rows,)
        ``a``: mean prediction of the row over the values of the set.
    value_part : array of shape (n_rows,)
        ``b`` at the row's own value.
    interaction : array of shape (n_rows,)
        ``e``: the interaction at the row's own value, not factored.
    row_factors, value_factors : arrays of shape (n_rows, rank)
        ``U`` of the row, and ``w``, which is ``V`` at the row's own value; strongest direction first.
    search_rank : int
        Directions that a search reads.
    repetition_rank : int
        Directions that a search reads that is repeated on some of the rows.
    """

    row_part: FloatArray
    value_part: FloatArray
    interaction: FloatArray
    row_factors: FloatArray
    value_factors: FloatArray
    search_rank: int
    repetition_rank: int

    def shortened(self, few_directions: bool = False) -> Factors:
        """Only the directions that a search reads; few: one that is repeated on some of the rows."""
        rank = self.search_rank
        if few_directions:
            rank = self.repetition_rank
        return replace(
            self,
            row_factors=np.ascontiguousarray(self.row_factors[:, :rank]),
            value_factors=np.ascontiguousarray(self.value_factors[:, :rank]),
        )

    def take(self, rows: IntArray) -> Factors:
        """Only some of the rows."""
        return replace(
            self,
            row_part=self.row_part[rows],
            value_part=self.value_part[rows],
            interaction=self.interaction[rows],
            row_factors=self.row_factors[rows],
            value_factors=self.value_factors[rows],
        )


def factor(
    matrix: Matrix,
    weights: FloatArray,
    offset: float = 0.0,
) -> Factors:
    """Factor the predictions of one set.

    Parameters
    ----------
    matrix : Matrix
        ``E`` with one line for each value and one column for each row.
    weights : array of shape (n_rows,)
        Weights of the rows.
    offset : float
        What was subtracted from the predictions; tells how large they were when they were rounded.
    """
    predictions = matrix.values  # (values, rows)
    n_values = int(predictions.shape[0])
    value_shares = np.bincount(matrix.codes, weights=weights, minlength=n_values) / weights.sum()
    row_shares = weights / weights.sum()

    row_part = (value_shares[None, :] @ predictions)[0]  # (rows,)
    centred = predictions - row_part[None, :]
    value_part = (centred @ row_shares[:, None])[:, 0]  # (values,)
    interaction = centred - value_part[:, None]

    # Principal directions in the metric of shares: values and rows that weigh more count for more.
    metric = np.sqrt(value_shares)
    weighted = interaction * metric[:, None] * np.sqrt(row_shares)[None, :]
    strengths, directions = _principal(weighted)
    largest = abs(offset) + float(np.max(np.abs(predictions)))
    first_lines = predictions[: min(LINES_READ, n_values), :]
    rounding = ROUNDING * largest
    if _is_single_precision(first_lines + offset, largest):
        rounding = ROUNDING_OF_SINGLE * largest
    rank = _exact_rank(strengths, rounding)
    directions = directions[:, :rank]

    row_factors = interaction.T @ (directions * metric[:, None])
    scale = np.divide(1.0, metric, out=np.zeros_like(metric), where=metric > 0)
    value_factors = (directions * scale[:, None])[matrix.codes]
    own_interaction = interaction[matrix.codes, np.arange(len(matrix.codes))]
    return Factors(
        row_part=row_part,
        value_part=value_part[matrix.codes],
        interaction=own_interaction,
        row_factors=row_factors,
        value_factors=value_factors,
        search_rank=_rank_of_share(strengths[:rank], KEPT_BY_SEARCH, MOST_SEARCHED),
        repetition_rank=_rank_of_share(strengths[:rank], KEPT_BY_REPETITION, MOST_REPEATED),
    )


def _principal(weighted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Squared strengths, largest first, and directions (values, rank) of a matrix (values, rows)."""
    if weighted.shape[0] <= MOST_DIRECTIONS:
        strengths, directions = np.linalg.eigh(weighted @ weighted.T)
        return np.maximum(strengths[::-1], 0.0), directions[:, ::-1]
    # Many values: a few directions by repeated multiplication, from a start that is always the same.
    transposed = weighted.T
    start = np.random.default_rng(0).normal(size=(int(weighted.shape[0]), SKETCH))
    for _ in range(SKETCH_PASSES):
        basis, _ = np.linalg.qr(start)
        start = weighted @ (transposed @ basis)
    basis, _ = np.linalg.qr(start)
    projected = transposed @ basis  # (rows, sketch)
    strengths, turn = np.linalg.eigh(projected.T @ projected)
    return np.maximum(strengths[::-1], 0.0), basis @ turn[:, ::-1]


def _is_single_precision(predictions: FloatArray, largest: float) -> bool:
    """Whether a model answers in single precision: not whole numbers, and rounded to such."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = predictions.astype(np.float32).astype(np.float64)
    # An offset was taken off and added again, which leaves rounding of its own.
    tolerance = 2.0**-50 * largest
    is_whole = np.abs(predictions - np.round(predictions)) <= tolerance
    return bool(np.all(np.abs(predictions - rounded) <= tolerance) and not np.all(is_whole))


def _exact_rank(strengths: FloatArray, rounding: float) -> int:
    """Directions without which next to nothing is lost.

    Strengths are mean squares; those of an additive model are the squares of its rounding.
    """
    negligible = max(LOSSLESS * float(strengths.sum()), rounding**2)
    return int(np.count_nonzero(strengths > negligible))


def _rank_of_share(strengths: FloatArray, share: float, most: int) -> int:
    """Directions with a share of the squares, about so many at most; never one of two nearly equal."""
    total = strengths.sum()
    if total == 0.0:
        return 0
    explained = np.cumsum(strengths) / total
    rank = min(1 + int(np.count_nonzero(explained < share)), most)
    while rank < len(strengths) and strengths[rank] > NEARLY_EQUAL * strengths[rank - 1]:
        rank += 1
    return min(rank, len(strengths))
