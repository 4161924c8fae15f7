"""Masked models: one formula for all but accumulated effects.

A masked model is something read at the row times something averaged over the region,

    F_T[n, k] = left[n] · sum over m of W[m, k] right[m]  /  sum over m of W[m, k],

where m runs over all rows or over those of n's bin (conditional masking). Where rows are weighed by
density ratios (copula), the same product of the ratios divides. The prediction for row n against the
single row m is ``left[n] · right[m]``:

    F itself                  left = F, right = 1
    no column visible         left = 1, right = F
    S shown (PDP, M-plot)     left[n] = indicator of n's value of S, right[m] = E_S[m, ·]
    S hidden (ICE, full)      left[n] = E_S[n, ·],  right[m] = indicator of m's value of S
    references b (baseline)   left[n] = F(x_T, b),  right = one over their number
    Shapley values            left = Phi, right = the identity

With about as many values as rows, one number for each pair of rows is less work: ``right`` is then the
identity and is left out. Masked models that are averaged alike add up before they are averaged
(`combined`), and sums over the right of a cut are totals less sums over the left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from granite_xai.algebra.region_weights import AlongSigns, RegionWeights, SignedLines
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations

PAIRS_AT_ONCE = 2**22  # pairs of rows whose predictions are in memory together

OfEach = Callable[[FloatArray, IntArray], FloatArray]
"""A function of single predictions, one line a row, and of the places of these rows."""


class Averaged(Protocol):
    """What effects are made of: numbers of rows that depend on the region."""

    @property
    def adds_up(self) -> bool:
        """Whether it becomes one with others of its kind before it is averaged (`combined`)."""

    def values(self, regions: RegionWeights) -> FloatArray:
        """At each row, in the region that the row is in, (n, K)."""

    def cell_sizes(self) -> IntArray | None:
        """How many rows the number of each row averages over, (n,); None: all of its region."""

    @classmethod
    def combined(cls, weighted: Sequence[tuple[float, Any]], /) -> Sequence[Averaged]:
        """The sum of some of one kind, each times a factor, as few as possible."""


@dataclass(frozen=True, eq=False)
class MaskedModel:
    """A masked model, or a sum of masked models, ready to be averaged over any region.

    Parameters
    ----------
    left : array of shape (n, r)
        Read at the row; one number for each pair of rows, (n, n), where there is no `right`.
    right : array of shape (n, r), optional
        Averaged over the region; None: the identity.
    bins : array of shape (n,), optional
        Averages are over the rows of the same bin.
    ratios : array in the shape of the predictions, optional
        Weight of each single prediction.
    is_shown : bool
        Whether the predictions stand in `right`, and `left` says which of them are read; otherwise
        they stand in `left`, and the lines of `right` are shares that add up to 1.
    """

    left: FloatArray
    right: FloatArray | None = None
    bins: IntArray | None = None
    ratios: FloatArray | None = None
    is_shown: bool = False

    @property
    def adds_up(self) -> bool:
        """Whether it becomes one with others: where all rows of the region count by their weight."""
        return self.bins is None and self.ratios is None

    @classmethod
    def of_rows(cls, values: FloatArray) -> MaskedModel:
        """Numbers of the rows, (n,), whatever the region."""
        return cls(values[:, None], np.ones((len(values), 1)))

    @classmethod
    def mean_of(cls, values: FloatArray) -> MaskedModel:
        """The mean of some numbers of the rows, (n,)."""
        return cls(np.ones((len(values), 1)), values[:, None], is_shown=True)

    @classmethod
    def combined(cls, weighted: Sequence[tuple[float, MaskedModel]], /) -> list[MaskedModel]:
        """The sum of some masked models: those that are averaged alike become one.

        Predictions of pairs of rows are added up; other numbers of rows stand side by side.
        """
        groups: dict[int | None, list[tuple[float, MaskedModel]]] = {}
        sums: list[MaskedModel] = []
        for factor, masked in weighted:
            if masked.ratios is None:
                bins = None if masked.bins is None else id(masked.bins)
                groups.setdefault(bins, []).append((factor, masked))
            elif masked.is_shown and masked.right is not None:
                sums.append(replace(masked, right=factor * masked.right))
            else:
                sums.append(replace(masked, left=factor * masked.left))
        for group in groups.values():
            sums += _sum_of(group)
        return sums

    def take(self, places: IntArray) -> MaskedModel:
        """The same of some of the rows."""
        if self.right is None:
            pairs = np.ix_(places, places)
            return replace(
                self,
                left=self.left[pairs],
                bins=None if self.bins is None else self.bins[places],
                ratios=None if self.ratios is None else self.ratios[pairs],
            )
        return replace(
            self,
            left=self.left[places],
            right=self.right[places],
            bins=None if self.bins is None else self.bins[places],
            ratios=None if self.ratios is None else self.ratios[places],
        )

    def of_pairs(self) -> FloatArray:
        """The prediction for each row against each single one, (n, n)."""
        return self.left if self.right is None else self.left @ self.right.T

    def values(self, regions: RegionWeights) -> FloatArray:
        """The masked model at each row, in the region that the row is in, (n, K)."""
        if self.bins is None:
            return self._means(regions)
        values = np.empty(regions.weights.shape)
        for places in places_of_bins(self.bins):
            values[places] = self._within(places)._means(regions.take(places))
        return values

    def along_signs(self, signed: SignedLines) -> AlongSigns | None:
        """The masked model on all lines of weights along signs; None where not all rows count by their weight."""
        if not self.adds_up:
            return None
        if self.right is None:
            return AlongSigns(self.left, signed.shares, signed.moves, signed)
        weighted = (self.right * signed.shares[:, None]).T
        return AlongSigns(self.left, weighted.sum(axis=1), weighted @ signed.signs, signed)

    def means_of_each(self, function: OfEach, regions: RegionWeights) -> FloatArray:
        """The same mean of a function of each single prediction, (n, K)."""
        every_row = np.arange(len(self.left))
        if not self.is_shown or self.right is None:
            return replace(self, left=function(self.left, every_row)).values(regions)
        # What a row makes of the predictions of others is its own: there are as many as pairs of rows.
        values = np.empty(regions.weights.shape)
        for places in [every_row] if self.bins is None else places_of_bins(self.bins):
            for part in _parts(len(places)):
                shown = self.right[places].T
                predictions = function(self.left[places[part]] @ shown, places[part])
                ratios = None
                if self.ratios is not None:
                    ratios = self.left[places[part]] @ self.ratios[places].T
                pairs = MaskedModel(predictions, ratios=ratios)
                own = regions.take(places[part])
                values[places[part]] = pairs._means(regions.take(places), own)
        return values

    def cell_sizes(self) -> IntArray | None:
        """How many rows the mean at each row rests on, (n,); None: all rows of its region.

        Of weighed rows the effective number, ``(sum of weights)² / sum of squares``.
        """
        if self.bins is not None:
            return np.asarray(np.bincount(self.bins)[self.bins])
        if self.ratios is None:
            return None
        if self.is_shown:
            sums = self.left @ self.ratios.sum(axis=0)
            squares = self.left @ np.square(self.ratios).sum(axis=0)
        else:
            rows_of_entry = (
                np.ones(len(self.left)) if self.right is None else self.right.sum(axis=0)
            )
            sums = self.ratios @ rows_of_entry
            squares = np.square(self.ratios) @ rows_of_entry
        return np.asarray(np.maximum(np.rint(sums**2 / squares), 1), dtype=np.intp)

    def _means(self, regions: RegionWeights, own: RegionWeights | None = None) -> FloatArray:
        """The formula for rows that share one bin.

        Parameters
        ----------
        regions : RegionWeights
            Of the rows that are averaged.
        own : RegionWeights, optional
            Of the rows that read; None: the same ones.
        """
        left, right = self.left, self.right
        if self.ratios is None:
            mass = np.where(regions.mass() > 0, regions.mass(), 1.0)
            if regions.total is None:
                return _read(left, right, regions.sums(_averaged(left, right)) / mass[0])
            on_left, everywhere = _sums(left, right, regions)
            if own is None and everywhere is not None:
                return regions.own_means(on_left, everywhere)
            reading = regions if own is None else own
            return _on_own_side((on_left, everywhere), reading) / reading.at_rows(*mass)
        own = regions if own is None else own
        if self.is_shown and right is not None:
            weighted = _sums(left, right * self.ratios, regions)
            ratios = _sums(left, self.ratios, regions)
        else:
            weighted = _sums(left * self.ratios, right, regions)
            ratios = _sums(self.ratios, right, regions)
        return _on_own_side(weighted, own) / _on_own_side(ratios, own)

    def _within(self, places: IntArray) -> MaskedModel:
        """The same for the rows of one bin, without what none of them reads."""
        within = replace(self.take(places), bins=None)
        if within.right is None or within.ratios is not None:
            return within
        is_read = within.left.any(axis=0) & within.right.any(axis=0)
        return replace(within, left=within.left[:, is_read], right=within.right[:, is_read])


def _sums(
    left: FloatArray, right: FloatArray | None, regions: RegionWeights
) -> tuple[FloatArray, FloatArray | None]:
    """``left`` times the weighted sums of ``right``: over the rows on the left, (n, K), and over all rows, (n, 1)."""
    averaged = _averaged(left, right)
    on_left = _read(left, right, regions.sums(averaged))
    if regions.total is None:
        return on_left, None
    return on_left, _read(left, right, averaged.T @ regions.total[:, None])


def _averaged(left: FloatArray, right: FloatArray | None) -> FloatArray:
    """What is averaged over rows, (n, r)."""
    return left.T if right is None else right


def _read(left: FloatArray, right: FloatArray | None, numbers: FloatArray) -> FloatArray:
    """Sums or means of what is averaged, (r, K), as each row reads them, (n, K)."""
    return numbers if right is None else left @ numbers


def _on_own_side(sums: tuple[FloatArray, FloatArray | None], regions: RegionWeights) -> FloatArray:
    on_left, everywhere = sums
    return on_left if everywhere is None else regions.at_rows(on_left, everywhere - on_left)


def _parts(n_rows: int) -> Iterator[slice]:
    """Some rows at a time, against all of them."""
    step = max(1, PAIRS_AT_ONCE // max(n_rows, 1))
    for start in range(0, n_rows, step):
        yield slice(start, start + step)


def places_of_bins(bins: IntArray) -> list[IntArray]:
    """The rows of each bin."""
    order = np.argsort(bins, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(bins[order])) + 1)


def _sum_of(group: Sequence[tuple[float, MaskedModel]]) -> list[MaskedModel]:
    """The sum of masked models with the same bins: those of pairs as pairs, the others side by side."""
    bins = group[0][1].bins
    of_pairs = [(factor, masked.left) for factor, masked in group if masked.right is None]
    sums = []
    if of_pairs:
        factor, left = of_pairs[0]
        pairs = factor * left
        for factor, left in of_pairs[1:]:
            if factor == -1.0:  # without one more array of this size
                pairs -= left
            else:
                pairs += left if factor == 1.0 else factor * left
        sums.append(MaskedModel(pairs, bins=bins))
    lefts, rights = [], []
    for factor, masked in group:
        if masked.right is not None:
            lefts.append(factor * masked.left)
            rights.append(masked.right)
    if lefts:
        sums.append(MaskedModel(np.hstack(lefts), np.hstack(rights), bins=bins))
    return sums


def averaged(
    evaluations: Evaluations, visible: Coalition, bins: IntArray | None = None
) -> MaskedModel:
    """``F_T`` with the columns outside T averaged over the rows of the region, or of the row's bin.

    Parameters
    ----------
    evaluations : Evaluations
    visible : coalition
        T, not everything.
    bins : array of shape (n,), optional
        Of the visible columns.
    """
    if not visible:
        return MaskedModel.mean_of(evaluations.f)
    matrix, is_shown = evaluations.reading(visible)
    n, n_values = matrix.values.shape
    if 2 * n_values > n:
        pairs = matrix.values[:, matrix.codes]  # row n with S as row m has it
        return MaskedModel(pairs.T if is_shown else pairs, bins=bins)
    own_value = np.zeros((n, n_values))
    own_value[np.arange(n), matrix.codes] = 1.0
    if is_shown:
        return MaskedModel(own_value, matrix.values, bins=bins, is_shown=True)
    return MaskedModel(matrix.values, own_value, bins=bins)
