"""For each kind of conditional question the sums within bins from which its disagreement follows.

Bins are those of conditional masking. Shapes and letters are those of `statistics`.
"""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.moments.statistics import (
    LocalStatistics,
    RegionalStatistics,
    means,
    required_target,
    split_products,
    with_ends,
)
from granite_xai.moments.triangles import (
    covariance,
    packed_products,
    quadratic_form,
    trace_of_product,
    triangle_size,
    unpacked,
)


class ConditionalAgainstMarginalMean(LocalStatistics):
    """M-plot against PDP: ``gap[n] = d[bin of n] · (w[n], 1)``.

    ``d`` is how far the mean of ``(U, a)`` over the rows of a bin is from that over the region. The
    mean square is the sum over bins of ``d' (sum of (w, 1)(w, 1)') d`` over the mass.
    """

    def unweighted_products(self) -> FloatArray:
        """U, a; pairs of (w, 1)."""
        factors = self.factors
        ones = np.ones(self.n_rows)
        by_value = np.column_stack([factors.value_factors, ones])
        return np.column_stack([factors.row_factors, factors.row_part, packed_products(by_value)])

    def sums_by_row_and_value(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of (U, a), (rank + 1, n_bins, ...), and of the pairs of (w, 1)."""
        by_row, by_value = split_products(sums, self.rank + 1, triangle_size(self.rank + 1))
        return by_row, by_value

    def mean_squared_gap(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        _, by_value = self.sums_by_row_and_value(sums)
        squares = quadratic_form(by_value, self.differences(sums)).sum(axis=0)
        return means(squares, sums[-1].sum(axis=0))

    def differences(self, sums: FloatArray) -> FloatArray:
        """``d`` of each bin, (rank + 1, n_bins, ...)."""
        by_row, _ = self.sums_by_row_and_value(sums)
        mass = sums[-1]  # (n_bins, ...)
        in_bin = means(by_row, mass)
        in_region = means(by_row.sum(axis=1), mass.sum(axis=0))
        return in_bin - in_region[:, None]


class ConditionalAgainstMarginalRisk(RegionalStatistics):
    """Conditional against marginal permutation importance, squared error.

    ``mean (F_{S hidden, in bins} - y)² - mean (F_{S hidden} - y)²``; the bins are those of all other
    columns, and within one ``F_{S hidden}`` is ``(a, U, 1) · (1, mean(w), mean(b))`` of the bin.
    """

    def unweighted_products(self) -> FloatArray:
        """w, b; pairs of (a - y, U, 1)."""
        factors = self.factors
        target = required_target(self.target)
        ones = np.ones(self.n_rows)
        hidden = np.column_stack([factors.row_part - target, factors.row_factors, ones])
        return np.column_stack([factors.value_factors, factors.value_part, packed_products(hidden)])

    def gap(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        size = self.rank + 2
        by_value, hidden = split_products(sums, self.rank + 1, triangle_size(size))
        mass = sums[-1]  # (n_bins, ...)
        total = mass.sum(axis=0)
        in_bin = means(by_value, mass)
        in_region = means(by_value.sum(axis=1), total)
        conditional = quadratic_form(hidden, with_ends(in_bin[:-1], in_bin[-1])).sum(axis=0)
        marginal = quadratic_form(hidden.sum(axis=1), with_ends(in_region[:-1], in_region[-1]))
        return means(conditional - marginal, total)


class ConditionalAgainstMarginalTotal(RegionalStatistics):
    """Jansen's total variance within bins of the other columns against that in the whole region.

    Of rows that share a bin it is ``Var b + 2 mean(U) · Cov(b, w) + trace(Cov w · mean(U U'))``.
    """

    def unweighted_products(self) -> FloatArray:
        """Pairs of (b, w, 1) and of (U, 1)."""
        factors = self.factors
        ones = np.ones(self.n_rows)
        by_value = np.column_stack([factors.value_part, factors.value_factors, ones])
        by_row = np.column_stack([factors.row_factors, ones])
        return np.column_stack([packed_products(by_value), packed_products(by_row)])

    def gap(self, sums: FloatArray) -> FloatArray:
        """What the sums of a region tell."""
        mass = sums[-1]  # (n_bins, ...)
        in_bins = (self._total_variance(sums) * mass).sum(axis=0)
        marginal = self._total_variance(sums.sum(axis=1))
        return np.asarray(means(in_bins, mass.sum(axis=0)) - marginal)

    def _total_variance(self, sums: FloatArray) -> FloatArray:
        """Of rows that share a bin, from sums (n_products, ...)."""
        by_value, by_row = split_products(
            means(sums, sums[-1]), triangle_size(self.rank + 2), triangle_size(self.rank + 1)
        )
        of_values = covariance(by_value, self.rank + 1)
        of_rows = unpacked(by_row, self.rank + 1)
        row_means = of_rows[:-1, -1]
        value_variance = of_values[0, 0]
        mixed = np.sum(row_means * of_values[0, 1:], axis=0)
        interaction = trace_of_product(of_values[1:, 1:], of_rows[:-1, :-1])
        return np.asarray(value_variance + 2.0 * mixed + interaction)
