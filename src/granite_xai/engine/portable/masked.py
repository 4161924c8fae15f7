"""The masked model in each row's own region by plain products (design of `granite_xai.engine.masked`, one library up).

With ``W`` the weighted membership of the inner sides:

    shown S    W E_S'                      (K, U), one value for each distinct value of S
    hidden S   (W onehot(code_S)) E_S      (K, n)

The outer side is the total minus the inner one, and the inner side is the lighter one: so no small sum is left over
from the difference of two large ones. Conditional masking does the same among the rows of each bin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from granite_xai.base.typing import BoolArray, Coalition, FloatArray, IntArray, PairwiseShapley
from granite_xai.engine.portable.arithmetic import Arithmetic, Array
from granite_xai.engine.portable.matrices import Moved, carriers, transposed
from granite_xai.evaluations.evaluations import Bins, Evaluations
from granite_xai.masking.masking import Baseline, Masking

MANY_BINS = 64
"""Bins up to which each has a product of its own; more are one product with the pairs of other bins set to 0."""

Scales = tuple[Array, Array]


class Sides:
    """A batch of splits where the products are computed: the lighter side of each is the inner one."""

    def __init__(self, arithmetic: Arithmetic, inside: BoolArray, weights: FloatArray) -> None:
        xp = arithmetic.xp
        self.arithmetic = arithmetic
        self.flipped = inside @ weights > 0.5 * weights.sum()
        lighter = inside ^ self.flipped[:, None]
        self.lightest = float(weights.min())
        self.inside = arithmetic.flags(lighter)
        self.weights = arithmetic.array(weights)[None]
        self.inner = xp.where(self.inside, self.weights, arithmetic.array(0.0))
        wide = arithmetic.array(weights, arithmetic.wide)
        inner = xp.sum(xp.where(self.inside, wide[None], arithmetic.array(0.0, arithmetic.wide)), axis=1)
        self.mass = xp.stack([inner, xp.sum(wide) - inner], axis=1)
        self.scales = self.over(self.mass[:, :1], self.mass[:, 1:])

    def over(self, inner: Array, outer: Array) -> Scales:
        """One over the mass of both sides; 1 for a side without rows, which is never read."""
        xp, one = self.arithmetic.xp, self.arithmetic.array(1.0, self.arithmetic.wide)
        # What is left after subtracting may be round-off: less than the lightest row is nothing.
        enough = 0.5 * self.lightest
        return 1.0 / xp.where(inner > enough, inner, one), 1.0 / xp.where(outer > enough, outer, one)

    def own(self, sums: Array, total: Array, scales: Scales) -> Array:
        """The mean of each row's own side (K, n), from sums over the inner rows and over all; in float64."""
        return self.arithmetic.xp.where(self.inside, sums * scales[0], (total - sums) * scales[1])

    def means(self, values: Array) -> Array:
        """Weighted mean of (K, n) values on each side, (K, 2), summed in float64; 0 on an empty side."""
        xp, wide = self.arithmetic.xp, self.arithmetic.wide
        weighted = values * self.weights
        zero = self.arithmetic.array(0.0)
        parts = [xp.where(self.inside, weighted, zero), xp.where(self.inside, zero, weighted)]
        sums = xp.stack([xp.sum(part, axis=1, dtype=wide) for part in parts], axis=1)
        return sums * xp.stack([scale[:, 0] for scale in self.scales], axis=1)

    def variances(self, values: Array) -> Array:
        """Weighted variance of (K, n) values on each side, (K, 2), in two passes."""
        centre = self.arithmetic.cast(self.means(values))
        return self.means((values - self.arithmetic.xp.where(self.inside, centre[:, :1], centre[:, 1:])) ** 2)


@dataclass(frozen=True, eq=False)
class Masked:
    """``F_T`` at every row of a node, for one masking operator."""

    masking: Masking
    moved: Moved
    evaluations: Evaluations
    rows: IntArray
    sides: Sides

    @property
    def arithmetic(self) -> Arithmetic:
        """Where and in what numbers."""
        return self.sides.arithmetic

    @cached_property
    def predictions(self) -> Array:
        """``F`` at the rows, centred, (1, n)."""
        return self.arithmetic.array(self.evaluations.predictions)[None]

    def __call__(self, coalition: Coalition) -> Array:
        """Shape (K, n), or (1, n) where it does not depend on the split."""
        evaluations = self.evaluations
        if coalition == evaluations.everything:
            return self.predictions
        if isinstance(self.masking, Baseline):
            return self.arithmetic.array(evaluations.fixed[self.masking, coalition])[None]
        if not coalition:
            sums = self.arithmetic.product(self.sides.inner, self.predictions.T)
            total = self.arithmetic.product(self.sides.weights, self.predictions.T)
            return self.arithmetic.cast(self.sides.own(sums, total, self.sides.scales))
        store, shown = evaluations.places[coalition]
        values, codes = self.moved.matrix(store, evaluations, self.rows)
        own = self.shown(coalition, values, codes) if shown else self.hidden(coalition, values, codes)
        return self.arithmetic.cast(own)

    def attribution(self, term: PairwiseShapley) -> Array:
        """Mean of the pairwise attributions of each row against the references."""
        phi = self.moved.attributions(term, self.evaluations, self.rows)
        return self.arithmetic.cast(self.shown(frozenset(), phi, np.arange(len(self.rows))))

    def total_variance(self, hidden: Coalition) -> Array:
        """Mean over the rows of each side of the variance when the hidden columns are redrawn, (K, 2)."""
        xp, evaluations = self.arithmetic.xp, self.evaluations
        coalition = evaluations.everything - hidden
        values, codes = self._redrawn(hidden, coalition)
        deviations = values - self.predictions
        means = self.hidden(coalition, deviations, codes)
        spread = self.hidden(coalition, deviations**2, codes) - means**2
        zero = self.arithmetic.array(0.0, self.arithmetic.wide)
        return self.sides.means(self.arithmetic.cast(xp.where(spread > 0, spread, zero)))

    def _redrawn(self, hidden: Coalition, coalition: Coalition) -> tuple[Array, IntArray]:
        if not coalition:
            return self.predictions.T, np.arange(len(self.rows))
        store, shown = self.evaluations.places[hidden]
        matrix = self.moved.matrix(store, self.evaluations, self.rows)
        return matrix if shown else transposed(matrix, self.arithmetic)

    def shown(self, coalition: Coalition, values: Array, codes: IntArray) -> Array:
        """Means over the references of each row's own line, looked up in a table over the values; in float64."""
        xp, sides, bins = self.arithmetic.xp, self.sides, self._bins(coalition)
        scales, at = sides.scales, self.arithmetic.numbers(codes)
        if bins is not None:  # a reference counts for a value only where both lie in one bin
            by_value = bins.numbers[carriers(codes)]
            values = xp.where(self._together(by_value, bins.numbers), values, self.arithmetic.array(0.0))
            scales = self._scales(bins, by_value)
        sums = self.arithmetic.product(sides.inner, values.T)
        rest = self.arithmetic.product(sides.weights, values.T) - sums
        tables = (sums * scales[0], rest * scales[1])
        return xp.where(sides.inside, *(xp.take(self.arithmetic.cast(table), at, axis=1) for table in tables))

    def hidden(self, coalition: Coalition, values: Array, codes: IntArray) -> Array:
        """Means of each row's column over the lines of the reference rows; in float64."""
        sides, bins = self.sides, self._bins(coalition)
        if bins is None:
            return sides.own(*self._sums(values, codes), sides.scales)
        scales = self._scales(bins, bins.numbers)
        if len(bins.blocks) > MANY_BINS:
            return sides.own(*self._sums(values, codes, self._together(bins.numbers, bins.numbers)), scales)
        parts = [self._sums_of(values, codes, block) for block in bins.blocks]
        back = self.arithmetic.numbers(bins.places)
        sums, total = (
            self.arithmetic.xp.take(self.arithmetic.join(part), back, axis=1) for part in zip(*parts, strict=True)
        )
        return sides.own(sums, total, scales)

    def pairwise(self, coalition: Coalition, losses: Array) -> Array:
        """Means over the references m of ``losses[m, n]``, every pair of rows of a bin; in float64."""
        return self.hidden(coalition, losses, np.arange(len(self.rows)))

    def _sums(self, values: Array, codes: IntArray, together: Array = None) -> tuple[Array, Array]:
        """Sums of the lines of the inner rows and of all rows, (K, n) and (1, n)."""
        xp, product = self.arithmetic.xp, self.arithmetic.product
        at = self.arithmetic.numbers(codes)
        if together is None and 2 * values.shape[0] < len(codes):
            kinds = self.arithmetic.numbers(np.arange(values.shape[0]))
            onehot = self.arithmetic.cast(at[:, None] == kinds[None])
            lines, weights = values, [product(side, onehot) for side in (self.sides.inner, self.sides.weights)]
        else:
            lines, weights = xp.take(values, at, axis=0), [self.sides.inner, self.sides.weights]
            lines = lines if together is None else xp.where(together, lines, self.arithmetic.array(0.0))
        return product(self.arithmetic.cast(weights[0]), lines), product(self.arithmetic.cast(weights[1]), lines)

    def _sums_of(self, values: Array, codes: IntArray, block: IntArray) -> tuple[Array, Array]:
        """The same among the rows of one bin."""
        xp, rows = self.arithmetic.xp, self.arithmetic.numbers(block)
        lines = xp.take(xp.take(values, rows, axis=1), self.arithmetic.numbers(codes[block]), axis=0)
        inner, every = xp.take(self.sides.inner, rows, axis=1), xp.take(self.sides.weights, rows, axis=1)
        return self.arithmetic.product(inner, lines), self.arithmetic.product(every, lines)

    def _scales(self, bins: Bins, numbers: IntArray) -> Scales:
        """One over the mass of each side in the bins with these numbers."""
        kinds = self.arithmetic.numbers(np.arange(len(bins.blocks)))
        onehot = self.arithmetic.cast(self.arithmetic.numbers(bins.numbers)[:, None] == kinds[None])
        inner = self.arithmetic.product(self.sides.inner, onehot)
        outer = self.arithmetic.product(self.sides.weights, onehot) - inner
        at, xp = self.arithmetic.numbers(numbers), self.arithmetic.xp
        one, other = self.sides.over(inner, outer)
        return xp.take(one, at, axis=1), xp.take(other, at, axis=1)

    def _together(self, numbers: IntArray, others: IntArray) -> Array:
        """Whether bins are the same, (values, rows)."""
        return self.arithmetic.numbers(numbers)[:, None] == self.arithmetic.numbers(others)[None]

    def _bins(self, coalition: Coalition) -> Bins | None:
        return self.evaluations.bins.get((self.masking, coalition))
