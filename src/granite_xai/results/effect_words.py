"""What columns do in a region beside what they do elsewhere, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.formats import OutputUnit
from granite_xai.base.text import plain
from granite_xai.base.typing import FloatArray
from granite_xai.fitting.fit_result import FitResult
from granite_xai.results.level_text import level_text
from granite_xai.surrogate.curves import Curve
from granite_xai.tables import Column

FLAT = 0.1
"""Share of the ups and downs of a curve at one of its ends that counts as flat."""

SLIGHT = 0.05
"""Share of the largest effect below which another is not mentioned."""

MONOTONE = 0.9
"""Share of the ups and downs of a curve that must lead in one direction if it is said to rise or fall."""

FEWEST_VALUES = 4
"""Values from which on a curve has a direction."""

LARGEST_LOGARITHM = 2.0
"""Of a ratio of effects: larger ones do not make an effect more unlike."""

TINY = 1e-300
"""Keeps logarithms and ratios finite where an effect is 0."""

NAMED_RATIOS = {
    1.0: "",
    2.0: "twice ",
    0.5: "half ",
    3.0: "three times ",
    1 / 3: "a third ",
    0.25: "a quarter ",
    0.2: "a fifth ",
    0.1: "a tenth ",
}
"""Ratios that have a word of their own."""

SAME_RATIO = 0.12
"""How far a ratio may be from one that has a word."""

RISES = "it rises"
FALLS = "it falls"


class EffectInWords(NamedTuple):
    """What a column does in the region."""

    column: str
    size: float  # of its effect here
    elsewhere: float  # size of its effect in the other regions
    words: str  # a sentence


class CurveInRegion(NamedTuple):
    """The curve of a column where rows of a region are.

    Attributes
    ----------
    column : Column
    levels : list of str
        That rows of the region have.
    effects : array of shape (n_levels,)
        There.
    size : float
        Standard deviation of the effect over the rows.
    """

    column: Column
    levels: list[str]
    effects: FloatArray
    size: float

    @classmethod
    def of(cls, fitted: FitResult, region: int, curve: Curve) -> CurveInRegion:
        """The curve of a column in a region.

        Parameters
        ----------
        fitted : FitResult
        region : int
        curve : Curve
            Of the surrogate of this region; its first effect is that of missing values.
        """
        column = fitted.table.columns[curve.column.position]
        inside = fitted.regions == region
        codes = column.codes[inside] + 1  # 0 for a missing value
        masses = np.bincount(
            codes, weights=fitted.weights[inside], minlength=1 + len(column.levels)
        )[1:]
        occurring = np.flatnonzero(masses)
        effects = curve.effects[1:][occurring]
        shares = masses[occurring] / (masses.sum() or 1.0)
        variance = shares @ np.square(effects - shares @ effects)
        return cls(
            column=column,
            levels=[level_text(column, level) for level in column.levels[occurring]],
            effects=effects,
            size=float(np.sqrt(variance)),
        )

    @property
    def words(self) -> str:
        """Whether it rises or falls, or else where it is high and low; and where it is flat."""
        if not self.levels:
            return "no value is known"
        highest = self.levels[int(np.argmax(self.effects))]
        lowest = self.levels[int(np.argmin(self.effects))]
        words = f"highest at {highest}, lowest at {lowest}"
        if not self.column.is_ordered or len(self.levels) < FEWEST_VALUES:
            return words
        steps = np.diff(self.effects)  # step k leads from level k to level k + 1
        path = np.cumsum(np.abs(steps))  # length of all ups and downs to the end of each step
        change = steps.sum()
        if change > MONOTONE * path[-1]:
            words = RISES
        elif -change > MONOTONE * path[-1]:
            words = FALLS
        # Nine tenths of the ups and downs lie above the first of these levels, and below the second.
        flat_below = int(np.searchsorted(path, FLAT * path[-1]))
        flat_above = int(np.searchsorted(path, (1 - FLAT) * path[-1])) + 1
        if flat_below > len(steps) // 3:
            return f"{words}, hardly below {self.levels[flat_below]}"
        if flat_above < len(steps) * 2 // 3:
            return f"{words}, hardly above {self.levels[flat_above]}"
        return words


def curves_by_region(fitted: FitResult) -> list[list[CurveInRegion]]:
    """The curves of all columns in each region."""
    by_region = []
    for region, surrogate in enumerate(fitted.additive.value.surrogate.regions):
        by_region.append([CurveInRegion.of(fitted, region, curve) for curve in surrogate.curves])
    return by_region


def effects_in_words(
    curves: Sequence[Sequence[CurveInRegion]], region: int, masses: FloatArray, output: OutputUnit
) -> list[EffectInWords]:
    """The strongest columns, those first whose effect is least like that in the other regions.

    Parameters
    ----------
    curves : sequence of sequences of CurveInRegion
        As `curves_by_region` returns them.
    region : int
    masses : array of shape (n_regions,)
        Weight of the rows of each region.
    output : OutputUnit
        How values of the output are written.
    """
    sizes = np.array([[curve.size for curve in of_region] for of_region in curves])
    here = sizes[region]  # (n_columns,)
    is_other = np.arange(len(curves)) != region
    elsewhere = np.full_like(here, np.nan)
    if is_other.any():
        elsewhere = np.average(sizes[is_other], axis=0, weights=masses[is_other])
    # About 1 where there is no effect elsewhere to compare with.
    ratios = here / np.where(elsewhere > 0, elsewhere, here + TINY)
    logarithms = np.abs(np.log(ratios + TINY)).clip(0, LARGEST_LOGARITHM)
    unlikeness = here * (1 + logarithms)
    largest = np.nanmax([here, elsewhere], initial=0.0)
    effects = []
    for column in np.argsort(-unlikeness, kind="stable"):
        if here[column] <= SLIGHT * largest:
            continue
        curve = curves[region][column]
        sentence = _opening(curve, output)
        if elsewhere[column] > 0:
            sentence += f", {ratio_words(ratios[column])} elsewhere"
        sentence += f": {curve.words}{_opposite_elsewhere(curves, region, column)}."
        effects.append(
            EffectInWords(
                column=curve.column.name,
                size=curve.size,
                elsewhere=float(elsewhere[column]),
                words=sentence,
            )
        )
    return effects


def _opening(curve: CurveInRegion, output: OutputUnit) -> str:
    moved = output.effect(float(np.ptp(curve.effects)))
    return f"{plain(curve.column.name)} moves the prediction by {moved}"


def _opposite_elsewhere(curves: Sequence[Sequence[CurveInRegion]], region: int, column: int) -> str:
    """What is said of a curve that rises here and falls in all other regions, or the reverse."""
    here = curves[region][column].words
    elsewhere = set()
    for number, of_region in enumerate(curves):
        if number != region:
            elsewhere.add(of_region[column].words)
    if here == RISES and elsewhere == {FALLS}:
        return f" (elsewhere {FALLS})"
    if here == FALLS and elsewhere == {RISES}:
        return f" (elsewhere {RISES})"
    return ""


def ratio_words(ratio: float) -> str:
    """A ratio as people say it.

    Examples
    --------
    >>> ratio_words(2.04), ratio_words(0.02), ratio_words(7.3)
    ('twice as much as', 'less than a tenth as much as', '7.3 times as much as')
    """
    for named_ratio, word in NAMED_RATIOS.items():
        if abs(ratio / named_ratio - 1) < SAME_RATIO:
            return f"{word}as much as"
    if ratio < min(NAMED_RATIOS):
        return "less than a tenth as much as"
    return f"{ratio:.2g} times as much as"
