"""One formula for every masked model: something read at the row times something averaged over the
region.

    F_T[n, k] = left[n] · (sum of W[m, k] right[m]) / (sum of W[m, k]),   m all rows or n's bin

PDP, ICE, the mean, M-plots and both conditional forms are choices of ``left`` and ``right``.
Where ``right`` would be the identity it is left out, and ``left`` holds one number for each pair
of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granite_xai.core.evaluations.evaluations import Coalition, Evaluations


@dataclass(frozen=True)
class RegionWeights:
    """K weighings of the same n rows: the left sides of K cuts, beside all rows, or K lines of
    weights.

    Parameters
    ----------
    weights : array of shape (n, K)
        Of the rows on the left, or of all rows.
    total : array of shape (n,), optional
        Weight of each row on either side of a cut; None: there is only one side.
    """

    weights: np.ndarray
    total: np.ndarray | None = None

    @classmethod
    def whole(cls, weights: np.ndarray) -> RegionWeights:
        """All rows as one region."""
        return cls(weights[:, None])

    @classmethod
    def sides(cls, goes_left: np.ndarray, weights: np.ndarray) -> RegionWeights:
        """Both sides of cuts, given by which rows go left, (n, K)."""
        return cls(goes_left * weights[:, None], weights)

    def take(self, places: np.ndarray) -> RegionWeights:
        """The same for some of the rows."""
        return RegionWeights(
            self.weights[places], None if self.total is None else self.total[places]
        )

    def mass(self) -> np.ndarray:
        """Weight of each region, (sides, K)."""
        on_left = self.weights.sum(axis=0)
        if self.total is None:
            return on_left[None]
        return np.stack([on_left, self.total.sum() - on_left])

    def means(self, values: np.ndarray) -> np.ndarray:
        """Mean over the rows of each region, (sides, K), of numbers (n, K) that each row has on
        its own side.
        """
        on_left = np.einsum("nk,nk->k", self.weights, values)
        if self.total is None:
            return on_left[None] / self.mass()
        return np.stack([on_left, self.total @ values - on_left]) / self.mass()

    def at_rows(self, on_left: np.ndarray, on_right: np.ndarray) -> np.ndarray:
        """From numbers of both sides, (n, K) or (K,), those of the side that each row is on, (n,
        K).
        """
        if self.total is None:
            return on_left
        return np.where(self.weights > 0, on_left, on_right)


class MaskedModel(NamedTuple):
    """A masked model, or a combination of masked models, ready to be averaged over any region."""

    left: np.ndarray  # (n, r), or (n, n) for each pair of rows
    right: np.ndarray | None  # (n, r); None: the identity
    bins: np.ndarray | None = None  # (n,)

    def values(self, regions: RegionWeights) -> np.ndarray:
        """The masked model at each row, in the region that the row is in, (n, K)."""
        if self.bins is None:
            return self._means(regions)
        values = np.empty(regions.weights.shape)
        for places in places_of_bins(self.bins):
            values[places] = self._within(places)._means(regions.take(places))
        return values

    def _means(self, regions: RegionWeights) -> np.ndarray:
        """The formula, for rows that share one bin."""
        on_left = self._read(regions.weights)  # (n, K)
        mass = regions.mass()
        if regions.total is None:
            return on_left / mass[0]
        # What is on the right is the total without what is on the left: one product
        # serves both sides.
        everywhere = self._read(regions.total[:, None])  # (n, 1)
        return regions.at_rows(on_left, everywhere - on_left) / regions.at_rows(*mass)

    def _read(self, weights: np.ndarray) -> np.ndarray:
        """``left`` times the weighted sums of ``right``, (n, K), under weights (n, K)."""
        sums = weights if self.right is None else self.right.T @ weights
        return self.left @ sums

    def _within(self, places: np.ndarray) -> MaskedModel:
        """The same for the rows of one bin."""
        if self.right is None:
            return MaskedModel(self.left[np.ix_(places, places)], None)
        right = self.right[places]
        is_read = right.any(axis=0)
        return MaskedModel(self.left[np.ix_(places, is_read)], right[:, is_read])


def places_of_bins(bins: np.ndarray) -> list[np.ndarray]:
    """The rows of each bin."""
    order = np.argsort(bins, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(bins[order])) + 1)


def combined(weighted: list[tuple[float, MaskedModel]]) -> list[MaskedModel]:
    """The sum of some readouts, as few as possible: those that share their bins become one.

    Numbers of pairs are added up; other numbers stand side by side.
    """
    groups: dict[tuple, list[tuple[float, MaskedModel]]] = {}
    for coefficient, readout in weighted:
        groups.setdefault((id(readout.bins), readout.right is None), []).append(
            (coefficient, readout)
        )
    sums = []
    for (_, has_pairs), group in groups.items():
        lefts = [coefficient * readout.left for coefficient, readout in group]
        bins = group[0][1].bins
        if has_pairs:
            sums.append(MaskedModel(sum(lefts), None, bins))
        else:
            sums.append(
                MaskedModel(
                    np.hstack(lefts), np.hstack([readout.right for _, readout in group]), bins
                )
            )
    return sums


def masked_model(
    evaluations: Evaluations, visible: Coalition, f: np.ndarray, bins: np.ndarray | None
) -> MaskedModel:
    """``F_T`` with the columns outside T averaged over the region.

    Parameters
    ----------
    evaluations : Evaluations
    visible : coalition T
    f : array of shape (n,)
        Predictions of the rows as they are.
    bins : array of shape (n,), optional
        Conditional masking: hidden columns are averaged over the rows of the same bin.
    """
    ones = np.ones((len(f), 1))
    if visible == evaluations.everything:
        return MaskedModel(f[:, None], ones)
    if not visible:
        return MaskedModel(ones, f[:, None])
    is_shown = visible in evaluations.matrices
    matrix = evaluations.matrices[visible if is_shown else evaluations.everything - visible]
    n, n_values = matrix.values.shape
    if 2 * n_values > n:  # many values: one number for each pair of rows is less work
        pairs = matrix.values[:, matrix.codes]
        return MaskedModel(np.ascontiguousarray(pairs.T) if is_shown else pairs, None, bins)
    own_value = np.eye(n_values)[matrix.codes]  # (n, U)
    if is_shown:
        return MaskedModel(own_value, matrix.values, bins)
    return MaskedModel(matrix.values, own_value, bins)
