"""For each kind of marginal question the sums over a region's rows from which its disagreement follows.

Each class describes one set of one question. It says which *products* of a row's numbers are summed
up, and how the disagreement, or the gap between both explanations, is read off their sums. Sums add
up over rows: those of the cells of a grid of cuts tell the disagreement of every region that is made
of cells (method page, "Sums over rows"). The letters a, b, e, U, w are those of `factors`.

Sums have the shape (n_products, n_bins, ...), any regions along the axes that follow; questions
without conditional masking have one bin. The last product is the row's weight, so that the last sum
is the mass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from granite_xai.base.typing import Elementwise, FloatArray, IntArray
from granite_xai.moments.factors import Factors
from granite_xai.moments.triangles import (
    covariance,
    packed_products,
    quadratic_form,
    trace_of_product,
    triangle_size,
    unpacked,
    with_last,
)


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
        if self.bins is None:
            return 1
        return int(self.bins.max()) + 1

    @property
    def bin_numbers(self) -> IntArray:
        """Bin of each row; 0 where rows have none."""
        if self.bins is None:
            return np.zeros(self.n_rows, dtype=np.intp)
        return self.bins

    def shortened(self, few_directions: bool = False) -> Self:
        """The same with only the directions that a search reads; few: a repeated one."""
        return replace(self, factors=self.factors.shortened(few_directions))

    def take(self, rows: IntArray) -> Self:
        """The same for some of the rows; bins keep their numbers."""
        return type(self)(
            factors=self.factors.take(rows),
            weights=self.weights[rows],
            target=None if self.target is None else self.target[rows],
            bins=None if self.bins is None else self.bins[rows],
        )

    def products(self) -> FloatArray:
        """What is summed up of each row, times its weight: (n_rows, n_products)."""
        products = self.unweighted_products()
        if not np.all(self.weights == 1.0):
            products *= self.weights[:, None]
        return products

    @abstractmethod
    def unweighted_products(self) -> FloatArray:
        """What is summed up of each row, the last of them 1: (n_rows, n_products)."""

    @abstractmethod
    def disagreement(self, sums: FloatArray, loss: Elementwise) -> FloatArray:
        """The disagreement of regions.

        Only the rank of these statistics is read, so that sums of several sets of the same rank may
        stand side by side.

        Parameters
        ----------
        sums : array of shape (n_products, n_bins, ...)
        loss : callable
            Loss of the question.

        Returns
        -------
        array of shape (...)
        """


class LocalStatistics(Statistics):
    """Questions with a gap at every row, and a squared loss."""

    @abstractmethod
    def mean_squared_gap(self, sums: FloatArray) -> FloatArray:
        """Mean over the rows of regions, from sums (n_products, n_bins, ...)."""

    def disagreement(self, sums: FloatArray, loss: Elementwise) -> FloatArray:
        """The mean squared gap: the loss is the square."""
        return self.mean_squared_gap(sums)


class RegionalStatistics(Statistics):
    """Questions with one gap a region, and any loss."""

    @abstractmethod
    def gap(self, sums: FloatArray) -> FloatArray:
        """The gap of regions, from sums (n_products, n_bins, ...)."""

    def disagreement(self, sums: FloatArray, loss: Elementwise) -> FloatArray:
        """The loss of the gap."""
        return loss(self.gap(sums))


def means(sums: FloatArray, mass: FloatArray) -> FloatArray:
    """Sums (n, ...) over mass (...); 0 where there are no rows."""
    has_rows = mass > 0.0
    if has_rows.all():
        return np.asarray(sums / mass)
    return np.where(has_rows, sums / np.where(has_rows, mass, 1.0), 0.0)


def split_products(sums: FloatArray, *sizes: int) -> list[FloatArray]:
    """Neighbouring parts of the first axis, of the given sizes."""
    return np.split(sums, np.cumsum(sizes)[:-1], axis=0)


def required_target(target: FloatArray | None) -> FloatArray:
    """The target, which questions about risk have."""
    if target is None:
        raise ValueError("a question about risk has no target")
    return target


def with_ends(coefficients: FloatArray, constant: FloatArray) -> FloatArray:
    """Coefficients (n, ...) with a 1 before them and a constant (...) behind."""
    ones = np.ones((1, *coefficients.shape[1:]))
    return np.concatenate([ones, coefficients, constant[None]])


class FullAgainstPure(LocalStatistics):
    """ICE against PDP: ``gap[n] = e[n] - U[n] · mean(w) - mean(U) · w[n] + mean(e)``.

    With ``z = (e, U, w, 1)`` the gap is ``z[n]' K mean(z)``, where K exchanges e with 1, and U with w
    under a minus sign: ``K mean(z) = (1, -mean(w), -mean(U), mean(e))``. The mean square is
    ``mean(z)' K S K mean(z)`` with the mean S of ``z z'``.
    """

    def vectors(self) -> FloatArray:
        """``z`` of every row, of shape (n_rows, 2 * rank + 2)."""
        factors = self.factors
        ones = np.ones(self.n_rows)
        return np.column_stack(
            [factors.interaction, factors.row_factors, factors.value_factors, ones]
        )

    def times_k(self, vectors: FloatArray) -> FloatArray:
        """``K v`` of many vectors, along the first axis: (2 * rank + 2, ...)."""
        rank = self.rank
        turned = np.empty_like(vectors)
        turned[0] = vectors[-1]
        turned[1 : 1 + rank] = -vectors[1 + rank : -1]
        turned[1 + rank : -1] = -vectors[1 : 1 + rank]
        turned[-1] = vectors[0]
        return turned

    def mean_squared_gap_of_rows(self) -> float:
        """The disagreement of all rows as one region, without forming products."""
        factors = self.factors
        shares = self.weights / self.weights.sum()
        row_means = shares @ factors.row_factors
        value_means = shares @ factors.value_factors
        gaps = factors.interaction + shares @ factors.interaction
        gaps = gaps - factors.row_factors @ value_means - factors.value_factors @ row_means
        return float(shares @ np.square(gaps))

    def unweighted_products(self) -> FloatArray:
        """All pairs of ``z``."""
        return packed_products(self.vectors())

    def mean_squared_gap(self, sums: FloatArray) -> FloatArray:
        """``mean(z)' K S K mean(z)``."""
        sums = sums[:, 0]
        mass = sums[-1]
        mean_vectors = means(sums[with_last(2 * self.rank + 2)], mass)
        return means(quadratic_form(sums, self.times_k(mean_vectors)), mass)

    def mean_squared_pair_gap(self, sums: FloatArray) -> FloatArray:
        """Mean square of the gap of one row of a region against another: ``trace(K S K S)``.

        The gap of a row in a region is a mean of its gaps against the rows there, so that these
        limit what any part of the region shows.
        """
        moments = unpacked(means(sums[:, 0], sums[-1, 0]), 2 * self.rank + 2)
        turned = self.times_k(moments)  # K S
        return trace_of_product(turned, turned)


class VarianceDifference(RegionalStatistics):
    """Sensitivity by difference: ``Var F - Var F_{S hidden} - Var F_{S shown}`` (C5).

    ``F_{S hidden}`` is ``(a, U) · (1, mean(w))`` up to a constant, ``F_{S shown}`` is
    ``(b, w) · (1, mean(U))``.
    """

    def unweighted_products(self) -> FloatArray:
        """Pairs of (F, 1), of (a, U, 1) and of (b, w, 1)."""
        factors = self.factors
        ones = np.ones(self.n_rows)
        hidden = np.column_stack([factors.row_part, factors.row_factors, ones])
        shown = np.column_stack([factors.value_part, factors.value_factors, ones])
        prediction = factors.row_part + factors.value_part + factors.interaction
        unmasked = np.column_stack([prediction, ones])
        return np.column_stack(
            [packed_products(unmasked), packed_products(hidden), packed_products(shown)]
        )

    def gap(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        size = self.rank + 2
        unmasked, hidden, shown = split_products(
            means(sums[:, 0], sums[-1, 0]),
            triangle_size(2),
            triangle_size(size),
            triangle_size(size),
        )
        row_means = hidden[with_last(size)][1:-1]  # mean of U
        value_means = shown[with_last(size)][1:-1]  # mean of w
        variance = covariance(unmasked, 1)[0, 0]
        variance_hidden = variance_along(covariance(hidden, size - 1), value_means)
        variance_shown = variance_along(covariance(shown, size - 1), row_means)
        return np.asarray(variance - variance_hidden - variance_shown)


def variance_along(covariances: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Variance of the first number plus a combination of the others.

    Covariances (size, size, ...), coefficients (size - 1, ...).
    """
    ones = np.ones((1, *coefficients.shape[1:]))
    combination = np.concatenate([ones, coefficients])
    projected = np.einsum("ij...,j...->i...", covariances, combination)
    return np.asarray(np.einsum("i...,i...->...", projected, combination))


class TotalAgainstFirstOrder(RegionalStatistics):
    """Jansen's total variance against the first order index: ``trace(Cov w · Cov U)`` (C5)."""

    def unweighted_products(self) -> FloatArray:
        """Pairs of (U, 1) and of (w, 1)."""
        factors = self.factors
        ones = np.ones(self.n_rows)
        by_row = np.column_stack([factors.row_factors, ones])
        by_value = np.column_stack([factors.value_factors, ones])
        return np.column_stack([packed_products(by_row), packed_products(by_value)])

    def gap(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        size = triangle_size(self.rank + 1)
        by_row, by_value = split_products(means(sums[:, 0], sums[-1, 0]), size, size)
        return trace_of_product(covariance(by_row, self.rank), covariance(by_value, self.rank))


class SquaredRisk(RegionalStatistics):
    """Permutation importance against pure importance, squared error.

    ``[mean (F_{S hidden} - y)² - mean (F - y)²] - [mean (mean F - y)² - mean (F_{S shown} - y)²]``
    """

    def unweighted_products(self) -> FloatArray:
        """Errors of F, F, y², y; pairs of (a - y, U, 1) and of (b - y, w, 1)."""
        factors = self.factors
        target = required_target(self.target)
        ones = np.ones(self.n_rows)
        prediction = factors.row_part + factors.value_part + factors.interaction
        hidden = np.column_stack([factors.row_part - target, factors.row_factors, ones])
        shown = np.column_stack([factors.value_part - target, factors.value_factors, ones])
        unmasked = np.column_stack([(prediction - target) ** 2, prediction, target**2, target])
        return np.column_stack([unmasked, packed_products(hidden), packed_products(shown)])

    def gap(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        size = self.rank + 2
        unmasked, hidden, shown = split_products(
            means(sums[:, 0], sums[-1, 0]), 4, triangle_size(size), triangle_size(size)
        )
        error, prediction, target_square, target = unmasked
        hidden_means = hidden[with_last(size)]  # of (a - y, U, 1)
        shown_means = shown[with_last(size)]  # of (b - y, w, 1)
        row_part = hidden_means[0] + target  # mean of a
        value_part = shown_means[0] + target  # mean of b
        hidden_error = quadratic_form(hidden, with_ends(shown_means[1:-1], value_part))
        shown_error = quadratic_form(shown, with_ends(hidden_means[1:-1], row_part))
        constant_error = prediction**2 - 2.0 * prediction * target + target_square
        return np.asarray((hidden_error - error) - (constant_error - shown_error))
