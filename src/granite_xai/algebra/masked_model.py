"""Masked models: one formula for all but accumulated effects.

A masked model is something read at the row times something averaged over the region,

    F_T[n, k] = row_part[n] · sum over m of W[m, k] region_part[m]  /  sum over m of W[m, k],

where m runs over all rows or over those of n's bin (conditional masking). Where rows are weighed by
density ratios (copula), the same product of the ratios divides. The prediction for row n against the
single row m is ``row_part[n] · region_part[m]``:

    F itself                  row_part = F, region_part = 1
    no column visible         row_part = 1, region_part = F
    S shown (PDP, M-plot)     row_part[n] = indicator of n's value of S, region_part[m] = E_S[m, ·]
    S hidden (ICE, full)      row_part[n] = E_S[n, ·],  region_part[m] = indicator of m's value of S
    references b (baseline)   row_part[n] = F(x_T, b),  region_part = one over their number
    Shapley values            row_part = Phi, region_part = the identity

With about as many values as rows, one number for each pair of rows is less work: ``region_part`` is then
the identity and is left out. Masked models that are averaged alike add up before they are averaged
(`combined`), and sums over the right of a cut are totals less sums over the left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from granite_xai.algebra.region_weights import EVERY_ROW, AlongSigns, RegionWeights, SignedLines
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
    row_part : array of shape (n, r)
        Read at the row; one number for each pair of rows, (n, n), where there is no `region_part`.
    region_part : array of shape (n, r), optional
        Averaged over the region; None: the identity.
    bins : array of shape (n,), optional
        Averages are over the rows of the same bin.
    ratios : array in the shape of the predictions, optional
        Weight of each single prediction.
    is_shown : bool
        Whether the predictions stand in `region_part`, and `row_part` says which of them are read;
        otherwise they stand in `row_part`, and the lines of `region_part` are shares that add up to 1.
    """

    row_part: FloatArray
    region_part: FloatArray | None = None
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
            elif masked.is_shown and masked.region_part is not None:
                sums.append(replace(masked, region_part=factor * masked.region_part))
            else:
                sums.append(replace(masked, row_part=factor * masked.row_part))
        for group in groups.values():
            pairs: FloatArray | None = None
            row_parts, region_parts = [], []
            for factor, masked in group:
                if masked.region_part is not None:
                    row_parts.append(factor * masked.row_part)
                    region_parts.append(masked.region_part)
                elif pairs is None:
                    pairs = factor * masked.row_part
                else:
                    pairs += factor * masked.row_part
            bins_of_group = group[0][1].bins
            if pairs is not None:
                sums.append(cls(pairs, bins=bins_of_group))
            if row_parts:
                sums.append(cls(np.hstack(row_parts), np.hstack(region_parts), bins_of_group))
        return sums

    def take(self, places: IntArray) -> MaskedModel:
        """The same of some of the rows."""
        region_part = None if self.region_part is None else self.region_part[places]
        of_rows = np.ix_(places, places) if region_part is None else places
        return replace(
            self,
            row_part=self.row_part[of_rows],
            region_part=region_part,
            bins=None if self.bins is None else self.bins[places],
            ratios=None if self.ratios is None else self.ratios[of_rows],
        )

    def of_pairs(self) -> FloatArray:
        """The prediction for each row against each single one, (n, n)."""
        if self.region_part is None:
            return self.row_part
        return self.row_part @ self.region_part.T

    def values(self, regions: RegionWeights) -> FloatArray:
        """The masked model at each row, in the region that the row is in, (n, K)."""
        if self.bins is None:
            return self._means(regions)
        values = np.empty(regions.weights.shape)
        for places in places_of_bins(self.bins):
            within = replace(self.take(places), bins=None)
            if within.region_part is not None and within.ratios is None:
                # Without what no row of the bin reads.
                is_read = within.row_part.any(axis=0) & within.region_part.any(axis=0)
                within = MaskedModel(within.row_part[:, is_read], within.region_part[:, is_read])
            values[places] = within._means(regions.take(places))
        return values

    def along_signs(self, signed: SignedLines) -> AlongSigns:
        """The masked model on all lines of weights along signs, where all rows count by their weight (`adds_up`)."""
        if self.region_part is None:
            return AlongSigns(self.row_part, signed.shares, signed.moves, signed)
        weighted = (self.region_part * signed.shares[:, None]).T
        return AlongSigns(self.row_part, weighted.sum(axis=1), weighted @ signed.signs, signed)

    def means_of_each(self, function: OfEach, regions: RegionWeights) -> FloatArray:
        """The same mean of a function of each single prediction, (n, K)."""
        every_row = np.arange(len(self.row_part))
        if not self.is_shown or self.region_part is None:
            return replace(self, row_part=function(self.row_part, every_row)).values(regions)
        # What a row makes of the predictions of others is its own: there are as many as pairs of rows.
        values = np.empty(regions.weights.shape)
        for places in [every_row] if self.bins is None else places_of_bins(self.bins):
            of_bin = regions.take(places)
            step = max(1, PAIRS_AT_ONCE // len(places))
            for start in range(0, len(places), step):
                part = slice(start, start + step)
                own_entries = self.row_part[places[part]]
                predictions = own_entries @ self.region_part[places].T
                ratios = None
                if self.ratios is not None:
                    ratios = own_entries @ self.ratios[places].T
                pairs = MaskedModel(function(predictions, places[part]), ratios=ratios)
                values[places[part]] = pairs._means(of_bin, part)
        return values

    def cell_sizes(self) -> IntArray | None:
        """How many rows the mean at each row rests on, (n,); None: all rows of its region.

        Of weighed rows the effective number, ``(sum of weights)² / sum of squares``.
        """
        if self.bins is not None:
            return np.asarray(np.bincount(self.bins)[self.bins])
        if self.ratios is None:
            return None
        ratios = self.ratios
        if self.is_shown:
            sums = self.row_part @ ratios.sum(axis=0)
            squares = self.row_part @ np.square(ratios).sum(axis=0)
        else:
            rows_of_entry = np.ones(len(ratios))
            if self.region_part is not None:
                rows_of_entry = self.region_part.sum(axis=0)
            sums = ratios @ rows_of_entry
            squares = np.square(ratios) @ rows_of_entry
        return np.asarray(np.maximum(np.rint(sums**2 / squares), 1), dtype=np.intp)

    def _means(self, regions: RegionWeights, rows: slice = EVERY_ROW) -> FloatArray:
        """The formula for rows that share one bin.

        Parameters
        ----------
        regions : RegionWeights
            Of the rows that are averaged.
        rows : slice
            Which of them read.
        """

        def own_means(row_part: FloatArray, region_part: FloatArray | None) -> FloatArray:
            if region_part is None:
                return regions.own_means(regions.sums(row_part.T), rows)
            return regions.own_means(row_part @ regions.sums(region_part), rows)

        if self.ratios is None:
            return own_means(self.row_part, self.region_part)
        if self.is_shown and self.region_part is not None:
            weighted = own_means(self.row_part, self.region_part * self.ratios)
            return weighted / own_means(self.row_part, self.ratios)
        weighted = own_means(self.row_part * self.ratios, self.region_part)
        return weighted / own_means(self.ratios, self.region_part)


def places_of_bins(bins: IntArray) -> list[IntArray]:
    """The rows of each bin."""
    order = np.argsort(bins, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(bins[order])) + 1)


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
