"""Columns whose values in a region are unlike those of the other rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite_xai.base.numbers import share
from granite_xai.base.text import MISSING, plain
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.fitting.fit_result import FitResult
from granite_xai.results.level_text import level_text
from granite_xai.tables import Column

ROUNDING = 1e-12
"""Share of the rows that is rounding."""

LOW_QUANTILE = 0.1
HIGH_QUANTILE = 0.9


class Trait(NamedTuple):
    """A column whose values in the region are unlike those of the other rows.

    Attributes
    ----------
    column : str
    distance : float
        Between both distributions, from 0 to 1: largest gap of cumulated shares; of labels half the sum of all gaps.
    here, elsewhere : str
        Typical values.
    in_rule : bool
        Whether the rule of the region is about this column.
    is_number : bool
        Whether typical values are a median with quantiles; otherwise the most frequent label.
    """

    column: str
    distance: float
    here: str
    elsewhere: str
    in_rule: bool
    is_number: bool

    @property
    def text(self) -> str:
        """The column with its typical values, as part of a sentence."""
        return f"{plain(self.column)} {self.here}, elsewhere {self.elsewhere}"


def traits_of(fitted: FitResult, region: int) -> tuple[Trait, ...]:
    """All columns, those first whose values in a region are least like elsewhere.

    Parameters
    ----------
    fitted : FitResult
        With several regions.
    region : int
    """
    inside = fitted.regions == region
    columns_of_rule = {name for name, _ in fitted.partition[region].rule.conditions}
    traits = []
    for column in fitted.table.columns:
        here = _shares_of_levels(column, inside, fitted.weights)
        elsewhere = _shares_of_levels(column, ~inside, fitted.weights)
        trait = Trait(
            column=column.name,
            distance=_distance(column, here, elsewhere),
            here=_typical_value(column, here[1:]),
            elsewhere=_typical_value(column, elsewhere[1:]),
            in_rule=column.name in columns_of_rule,
            is_number=_is_number(column),
        )
        traits.append(trait)
    return tuple(sorted(traits, key=lambda trait: -trait.distance))


def _shares_of_levels(column: Column, rows: BoolArray, weights: FloatArray) -> FloatArray:
    """Share of some rows at each level, that of missing values first, (1 + n_levels,)."""
    n_codes = 1 + len(column.levels)  # a missing value has the code -1
    masses = np.bincount(column.codes[rows] + 1, weights=weights[rows], minlength=n_codes)
    return np.asarray(masses / weights[rows].sum())


def _distance(column: Column, here: FloatArray, elsewhere: FloatArray) -> float:
    """Distance of two distributions over the levels of a column, from 0 to 1.

    Of ordered values that of Kolmogorov and Smirnov, of labels the total variation.
    """
    gaps = here - elsewhere
    if column.is_ordered:
        return float(np.abs(np.cumsum(gaps)).max())
    return float(np.abs(gaps).sum() / 2)


def _is_number(column: Column) -> bool:
    return column.kind in ("numeric", "date")


def _typical_value(column: Column, shares: FloatArray) -> str:
    """The middle of the present values and where eight of ten lie; of labels the most frequent one with its share.

    Parameters
    ----------
    column : Column
    shares : array of shape (n_levels,)
        Of the rows that have each level.
    """
    if not shares.any():
        return MISSING
    if not _is_number(column):
        most_frequent = int(np.argmax(shares))
        frequency = share(float(shares[most_frequent] / shares.sum()))
        return f"{level_text(column, column.levels[most_frequent])} ({frequency})"
    median = _quantile_text(column, shares, 0.5)
    low = _quantile_text(column, shares, LOW_QUANTILE)
    high = _quantile_text(column, shares, HIGH_QUANTILE)
    if low == high:
        return median
    return f"{median} ({low} to {high})"


def _quantile_text(column: Column, shares: FloatArray, quantile: float) -> str:
    """The first level up to which a share of the rows lies."""
    cumulated = np.cumsum(shares) / shares.sum()
    index = int(np.searchsorted(cumulated, quantile - ROUNDING))
    return level_text(column, column.levels[min(index, len(cumulated) - 1)])
