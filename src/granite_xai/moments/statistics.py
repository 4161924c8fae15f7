"""For each kind of question the sums over a region's rows from which its disagreement follows.

Each class describes one set of one question. It says which *products* of a row's numbers are summed
up, and how the disagreement, or the gap between both explanations, is read off their sums. Sums add
up over rows: those of the cells of a grid of cuts tell the disagreement of every region that is made
of cells (method page, "Sums over rows"). The letters a, b, e, U, w are those of `factors`.

Sums have the shape (..., n_bins, n_products); questions without conditional masking have one bin.
The last product is the row's weight, so that the last sum is the mass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.moments.factors import Factors


def packed(vectors: FloatArray) -> FloatArray:
    """Products of all pairs of coordinates, the upper triangle in rows: (n, size) to (n, pairs)."""
    n_rows, size = vectors.shape
    products = np.empty((n_rows, triangle_size(size)))
    start = 0
    for place in range(size):
        end = start + size - place
        np.multiply(vectors[:, place, None], vectors[:, place:], out=products[:, start:end])
        start = end
    return products


def unpacked(triangles: FloatArray, size: int) -> FloatArray:
    """Symmetric matrices from their upper triangles: (..., pairs) to (..., size, size)."""
    first, second = np.triu_indices(size)
    matrices = np.empty((*triangles.shape[:-1], size, size))
    matrices[..., first, second] = triangles
    matrices[..., second, first] = triangles
    return matrices


@cache
def _triangle(size: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Places of the entries of an upper triangle, and how often each stands in the whole matrix."""
    first, second = np.triu_indices(size)
    return first, second, np.where(first == second, 1.0, 2.0)


def quadratic_form(triangles: FloatArray, vectors: FloatArray) -> FloatArray:
    """``v' M v`` of many symmetric matrices given by their upper triangles."""
    first, second, twice_off_diagonal = _triangle(vectors.shape[-1])
    return np.asarray(
        np.einsum(
            "...p,...p->...",
            triangles,
            vectors[..., first] * vectors[..., second] * twice_off_diagonal,
        )
    )


def trace_of_product(first: FloatArray, second: FloatArray) -> FloatArray:
    """``trace(A B)`` of many matrices."""
    return np.asarray(np.einsum("...ij,...ji->...", first, second))


def triangle_size(size: int) -> int:
    """Entries of the upper triangle of a square matrix."""
    return size * (size + 1) // 2


def divided(sums: FloatArray, mass: FloatArray) -> FloatArray:
    """Means from sums (..., n) and mass (...); 0 where there are no rows."""
    safe = np.where(mass > 0.0, mass, 1.0)
    return np.where(mass[..., None] > 0.0, sums / safe[..., None], 0.0)


def covariance(mean_products: FloatArray, size: int) -> FloatArray:
    """Covariances of ``size`` numbers from the mean packed products of these numbers and 1."""
    second_moments = unpacked(mean_products, size + 1)
    means = second_moments[..., :-1, -1]
    return second_moments[..., :-1, :-1] - means[..., :, None] * means[..., None, :]


@dataclass(frozen=True, eq=False)
class Statistics(ABC):
    """One set of one question on the rows of a fit.

    Parameters
    ----------
    factors : Factors
        The predictions of the set.
    weights : array of shape (n_rows,)
    target : array of shape (n_rows,), optional
        y minus the offset of the predictions, for questions about risk.
    bins : array of shape (n_rows,), optional
        Bin of each row, for conditional masking: sums are formed within bins.
    """

    factors: Factors
    weights: FloatArray
    target: FloatArray | None = None
    bins: IntArray | None = None

    @property
    def n_rows(self) -> int:
        """Rows that this is about."""
        return len(self.weights)

    @property
    def rank(self) -> int:
        """Directions of the interaction."""
        return int(self.factors.row_factors.shape[1])

    @property
    def n_bins(self) -> int:
        """Bins; one where rows have none."""
        return 1 if self.bins is None else int(self.bins.max()) + 1

    @property
    def bin_numbers(self) -> IntArray:
        """Bin of each row; 0 where rows have none."""
        return np.zeros(self.n_rows, dtype=np.intp) if self.bins is None else self.bins

    def shortened(self) -> Self:
        """The same with only the directions that a search reads."""
        return type(self)(self.factors.shortened(), self.weights, self.target, self.bins)

    def take(self, rows: IntArray) -> Self:
        """The same for some of the rows; bins keep their numbers."""
        return type(self)(
            self.factors.take(rows),
            self.weights[rows],
            None if self.target is None else self.target[rows],
            None if self.bins is None else self.bins[rows],
        )

    def products(self) -> FloatArray:
        """What is summed up of each row, times its weight: (n_rows, n_products)."""
        products = self.unweighted_products()
        if not np.all(self.weights == 1.0):
            products *= self.weights[:, None]
        return products

    @abstractmethod
    def unweighted_products(self) -> FloatArray:
        """What is summed up of each row, the last of them 1."""

    @abstractmethod
    def gap_or_loss(self, sums: FloatArray) -> FloatArray:
        """From sums (..., n_bins, n_products) to one number a region.

        The mean squared gap of the rows, for a local question; otherwise the region's gap.
        """


class LocalStatistics(Statistics):
    """Questions with a gap at every row, and a squared loss."""


class RegionalStatistics(Statistics):
    """Questions with one gap a region, and any loss."""


class FullAgainstPure(LocalStatistics):
    """ICE against PDP: ``gap[n] = e[n] - U[n] · mean(w) - mean(U) · w[n] + mean(e)``.

    With ``z = (e, U, w, 1)`` the gap is ``t · z[n]``, ``t = (1, -mean(w), -mean(U), mean(e))``, and
    the mean square is ``t' S t`` with the mean S of ``z z'``.
    """

    def vectors(self) -> FloatArray:
        """``z`` of every row, of shape (n_rows, 2 * rank + 2)."""
        factors = self.factors
        ones = np.ones(self.n_rows)
        return np.column_stack(
            [factors.interaction, factors.row_factors, factors.value_factors, ones]
        )

    def mean_squared_gap(self) -> float:
        """The disagreement of all rows as one region, without forming products."""
        vectors = self.vectors()
        shares = self.weights / self.weights.sum()
        gaps = vectors @ swapped(shares @ vectors, self.rank)
        return float(shares @ gaps**2)

    def unweighted_products(self) -> FloatArray:
        """What is summed up of each row."""
        return packed(self.vectors())

    def gap_or_loss(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        size = 2 * self.rank + 2
        means = divided(sums[..., 0, :], sums[..., 0, -1])
        of_z = means[..., last_of_packed(size)]
        return quadratic_form(means, swapped(of_z, self.rank))


@cache
def last_of_packed(size: int) -> IntArray:
    """Where the products of each coordinate with the last one, which is 1, stand when packed."""
    _, second = np.triu_indices(size)
    return np.flatnonzero(second == size - 1)


@cache
def _swap(rank: int) -> tuple[IntArray, FloatArray]:
    """Where each coordinate goes when multiplied by K, and its sign."""
    order = np.concatenate([[2 * rank + 1], np.arange(rank) + 1 + rank, np.arange(rank) + 1, [0]])
    signs = np.concatenate([[1.0], -np.ones(2 * rank), [1.0]])
    return order, signs


def swapped(vectors: FloatArray, rank: int) -> FloatArray:
    """Multiply by K: exchange e with 1, and U with w under a minus sign (last axis)."""
    order, signs = _swap(rank)
    return np.asarray(signs * vectors[..., order])


class VarianceDifference(RegionalStatistics):
    """Sensitivity by difference: ``Var F - Var F_{S hidden} - Var F_{S shown}`` (C5).

    ``F_{S hidden}`` is ``(a, U) · (1, mean(w))`` up to a constant, ``F_{S shown}`` is
    ``(b, w) · (1, mean(U))``.
    """

    def unweighted_products(self) -> FloatArray:
        """What is summed up of each row."""
        factors = self.factors
        ones = np.ones(self.n_rows)
        hidden = np.column_stack([factors.row_part, factors.row_factors, ones])
        shown = np.column_stack([factors.value_part, factors.value_factors, ones])
        prediction = factors.row_part + factors.value_part + factors.interaction
        own = np.column_stack([prediction, ones])
        return np.column_stack([packed(own), packed(hidden), packed(shown)])

    def gap_or_loss(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        size = self.rank + 1
        means = divided(sums[..., 0, :], sums[..., 0, -1])
        own, hidden, shown = split_last_axis(
            means, triangle_size(2), triangle_size(size + 1), triangle_size(size + 1)
        )
        row_means = unpacked(hidden, size + 1)[..., 1:-1, -1]  # mean of U
        value_means = unpacked(shown, size + 1)[..., 1:-1, -1]  # mean of w
        variance = covariance(own, 1)[..., 0, 0]
        variance_hidden = variance_along(covariance(hidden, size), value_means)
        variance_shown = variance_along(covariance(shown, size), row_means)
        return variance - variance_hidden - variance_shown


def split_last_axis(values: FloatArray, *sizes: int) -> list[FloatArray]:
    """Neighbouring parts of the last axis, of the given sizes."""
    return np.split(values, np.cumsum(sizes)[:-1], axis=-1)


def variance_along(covariances: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Variance of the first number plus a combination of the others."""
    ones = np.ones((*coefficients.shape[:-1], 1))
    combination = np.concatenate([ones, coefficients], axis=-1)
    return np.asarray(np.einsum("...i,...ij,...j->...", combination, covariances, combination))


class TotalAgainstFirstOrder(RegionalStatistics):
    """Jansen's total variance against the first order index: ``trace(Cov w · Cov U)`` (C5)."""

    def unweighted_products(self) -> FloatArray:
        """What is summed up of each row."""
        factors = self.factors
        ones = np.ones(self.n_rows)
        by_row = np.column_stack([factors.row_factors, ones])
        by_value = np.column_stack([factors.value_factors, ones])
        return np.column_stack([packed(by_row), packed(by_value)])

    def gap_or_loss(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        size = triangle_size(self.rank + 1)
        means = divided(sums[..., 0, :], sums[..., 0, -1])
        by_row, by_value = split_last_axis(means, size, size)
        return trace_of_product(covariance(by_row, self.rank), covariance(by_value, self.rank))


class SquaredRisk(RegionalStatistics):
    """Permutation importance against pure importance, squared error.

    ``[mean (F_{S hidden} - y)² - mean (F - y)²] - [mean (mean F - y)² - mean (F_{S shown} - y)²]``
    """

    def unweighted_products(self) -> FloatArray:
        """What is summed up of each row."""
        factors = self.factors
        target = required(self.target)
        ones = np.ones(self.n_rows)
        prediction = factors.row_part + factors.value_part + factors.interaction
        hidden = np.column_stack([factors.row_part - target, factors.row_factors, ones])
        shown = np.column_stack([factors.value_part - target, factors.value_factors, ones])
        own = np.column_stack([(prediction - target) ** 2, prediction, target**2, target])
        return np.column_stack([own, packed(hidden), packed(shown)])

    def gap_or_loss(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        size = self.rank + 2
        means = divided(sums[..., 0, :], sums[..., 0, -1])
        own, hidden, shown = split_last_axis(means, 4, triangle_size(size), triangle_size(size))
        error, prediction, target_square, target = np.moveaxis(own, -1, 0)
        last = last_of_packed(size)
        row_part = hidden[..., last[0]] + target  # mean of a
        value_part = shown[..., last[0]] + target  # mean of b
        hidden_error = quadratic_form(
            hidden,
            with_ends(shown[..., last[1:-1]], value_part),  # (1, mean w, mean b)
        )
        shown_error = quadratic_form(
            shown,
            with_ends(hidden[..., last[1:-1]], row_part),  # (1, mean U, mean a)
        )
        constant_error = prediction**2 - 2.0 * prediction * target + target_square
        return np.asarray((hidden_error - error) - (constant_error - shown_error))


def required(target: FloatArray | None) -> FloatArray:
    """The target, which questions about risk have."""
    if target is None:
        raise ValueError("a question about risk has no target")
    return target


def with_ends(coefficients: FloatArray, constant: FloatArray) -> FloatArray:
    """Coefficients with a 1 before them and a constant behind."""
    ones = np.ones((*coefficients.shape[:-1], 1))
    return np.concatenate([ones, coefficients, constant[..., None]], axis=-1)


class ConditionalAgainstMarginalMean(LocalStatistics):
    """M-plot against PDP: ``gap[n] = d[bin of n] · (1, w[n])``.

    ``d`` is how far the mean of ``(a, U)`` over the rows of a bin is from that over the region. The
    mean square is the sum over bins of ``d' (sum of (1, w)(1, w)') d`` over the mass.
    """

    def unweighted_products(self) -> FloatArray:
        """What is summed up of each row."""
        factors = self.factors
        ones = np.ones(self.n_rows)
        by_value = np.column_stack([factors.value_factors, ones])
        return np.column_stack([factors.row_part, factors.row_factors, packed(by_value)])

    def gap_or_loss(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        by_row, by_value = split_last_axis(sums, self.rank + 1, triangle_size(self.rank + 1))
        mass = by_value[..., -1]  # (..., bins)
        differences = self.differences(by_row, mass)
        squares = quadratic_form(by_value, differences).sum(axis=-1)
        total = mass.sum(axis=-1)
        return np.where(total > 0.0, squares / np.where(total > 0.0, total, 1.0), 0.0)

    def differences(self, by_row: FloatArray, mass: FloatArray) -> FloatArray:
        """``d`` of each bin in the order (U, a) that fits ``(w, 1)``, (..., bins, rank + 1)."""
        in_bin = divided(by_row, mass)
        in_region = divided(by_row.sum(axis=-2), mass.sum(axis=-1))[..., None, :]
        far = in_bin - in_region
        return np.concatenate([far[..., 1:], far[..., :1]], axis=-1)


class ConditionalAgainstMarginalRisk(RegionalStatistics):
    """Conditional against marginal permutation importance, squared error.

    ``mean (F_{S hidden, in bins} - y)² - mean (F_{S hidden} - y)²``; the bins are those of all other
    columns, and within one ``F_{S hidden}`` is ``(a, U, 1) · (1, mean(w), mean(b))`` of the bin.
    """

    def unweighted_products(self) -> FloatArray:
        """What is summed up of each row."""
        factors = self.factors
        target = required(self.target)
        ones = np.ones(self.n_rows)
        hidden = np.column_stack([factors.row_part - target, factors.row_factors, ones])
        return np.column_stack([factors.value_factors, factors.value_part, packed(hidden)])

    def gap_or_loss(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        size = self.rank + 2
        by_value, hidden = split_last_axis(sums, self.rank + 1, triangle_size(size))
        mass = hidden[..., -1]
        total = mass.sum(axis=-1)
        in_bin = divided(by_value, mass)
        in_region = divided(by_value.sum(axis=-2), total)
        by_bin = quadratic_form(hidden, with_ends(in_bin[..., :-1], in_bin[..., -1])).sum(axis=-1)
        marginal = quadratic_form(
            hidden.sum(axis=-2), with_ends(in_region[..., :-1], in_region[..., -1])
        )
        return np.where(total > 0.0, (by_bin - marginal) / np.where(total > 0.0, total, 1.0), 0.0)


class ConditionalAgainstMarginalTotal(RegionalStatistics):
    """Jansen's total variance within bins of the other columns against that in the whole region.

    Of rows that share a bin it is ``Var b + 2 mean(U) · Cov(b, w) + trace(Cov w · mean(U U'))``.
    """

    def unweighted_products(self) -> FloatArray:
        """What is summed up of each row."""
        factors = self.factors
        ones = np.ones(self.n_rows)
        by_value = np.column_stack([factors.value_part, factors.value_factors, ones])
        by_row = np.column_stack([factors.row_factors, ones])
        return np.column_stack([packed(by_value), packed(by_row)])

    def gap_or_loss(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        mass = sums[..., -1]
        total = mass.sum(axis=-1)
        in_bins = (self._total_variance(sums) * mass).sum(axis=-1)
        conditional = np.where(total > 0.0, in_bins / np.where(total > 0.0, total, 1.0), 0.0)
        return conditional - self._total_variance(sums.sum(axis=-2))

    def _total_variance(self, sums: FloatArray) -> FloatArray:
        means = divided(sums, sums[..., -1])
        by_value, by_row = split_last_axis(
            means, triangle_size(self.rank + 2), triangle_size(self.rank + 1)
        )
        of_values = covariance(by_value, self.rank + 1)
        of_rows = unpacked(by_row, self.rank + 1)
        row_means = of_rows[..., :-1, -1]
        covariances = of_values[..., 1:, 1:]
        own_variance = of_values[..., 0, 0]
        mixed = np.sum(row_means * of_values[..., 0, 1:], axis=-1)
        interaction = trace_of_product(covariances, of_rows[..., :-1, :-1])
        return np.asarray(own_variance + 2.0 * mixed + interaction)
