"""Who is in a region, and what is special there, against all other rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.formats import OutputUnit, share
from granite_xai.base.text import plain, shortened
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.base.wording import value
from granite_xai.fitting.fit_result import FitResult
from granite_xai.surrogate.curves import Curve
from granite_xai.tables import Column

CLEAR = 0.15
"""Distance of distributions from which a trait is told."""

FLAT = 0.1
"""Share of a curve's way at one of its ends that counts as flat."""

SLIGHT = 0.05
"""Share of the largest effect below which another is not told."""

MONOTONE = 0.9
"""Share of a curve's way that leads in one direction if it is said to rise or fall."""

FEWEST_VALUES = 4
"""Values from which on a curve has a direction."""

NEGLIGIBLE_RISK = 1e-20
"""Share of a squared prediction below which an error elsewhere is rounding."""

ROUNDING = 1e-12
TINY = 1e-300

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

LONGEST_LABEL = 40


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


class EffectInWords(NamedTuple):
    """What a column does in the region: the size of its effect here and elsewhere, and a sentence."""

    column: str
    size: float
    elsewhere: float
    words: str


class RegionProfile(NamedTuple):
    """A region against all other rows; what is not known is NaN.

    Attributes
    ----------
    region : int
    traits : tuple of Trait
        All columns, the most unlike first; none where there is one region.
    prediction, target, risk : (float, float)
        Means here and elsewhere.
    effects : tuple of EffectInWords
        The strongest, those first that are least like elsewhere.
    output : OutputUnit
        How values of the output are written.
    """

    region: int
    traits: tuple[Trait, ...]
    prediction: tuple[float, float]
    target: tuple[float, float]
    risk: tuple[float, float]
    effects: tuple[EffectInWords, ...]
    output: OutputUnit

    def sentences(self, most: int = 3) -> list[str]:
        """The profile in words; what every region could say of itself is left out.

        Parameters
        ----------
        most : int
            Traits and effects that are told.
        """
        sentences = [*self._traits_sentence(most), *self._means_sentence()]
        return sentences + [effect.words for effect in self.effects[:most]]

    def _traits_sentence(self, most: int) -> list[str]:
        clear = [t for t in self.traits if not t.in_rule and t.distance >= CLEAR]
        if not clear:
            return []
        texts = [f"{plain(t.column)} {t.here}, elsewhere {t.elsewhere}" for t in clear[:most]]
        sentence = f"Besides its rule: {'; '.join(texts)}."
        if any(t.is_number for t in clear[:most]):
            sentence += " Of numbers: the median, in brackets the 10% and 90% quantiles."
        return [sentence]

    def _means_sentence(self) -> list[str]:
        texts = []
        for name, (here, elsewhere) in (
            ("mean prediction", self.prediction),
            ("mean target", self.target),
        ):
            if not np.isnan(here + elsewhere):
                level = self.output.level
                texts.append(f"{name} {level(here)}, elsewhere {level(elsewhere)}")
        risk_here, risk_elsewhere = self.risk
        negligible = NEGLIGIBLE_RISK * np.square(np.max(np.abs(self.prediction)))
        if not np.isnan(risk_here) and risk_elsewhere > negligible:
            texts.append(f"the model's error is {_times(risk_here / risk_elsewhere)} elsewhere")
        if not texts:
            return []
        sentence = ", ".join(texts)
        return [f"{sentence[0].upper()}{sentence[1:]}."]


def profiles(
    fitted: FitResult,
    predictions: FloatArray | None = None,
    target: FloatArray | None = None,
    losses: FloatArray | None = None,
    output: OutputUnit | None = None,
) -> list[RegionProfile]:
    """The profile of every region.

    Parameters
    ----------
    fitted : FitResult
    predictions, target, losses : arrays of shape (n_rows,), optional
        Of the fitting rows, where they are known.
    output : OutputUnit, optional
        How values of the output are written; None: as numbers without a unit.
    """
    output = output or OutputUnit()
    n_regions = len(fitted.partition)
    weights = fitted.weights
    masses = np.bincount(fitted.regions, weights=weights, minlength=n_regions).astype(np.float64)
    shapes = []
    for region, surrogate in enumerate(fitted.additive.value.surrogate.regions):
        shapes.append([Shape.of(fitted, region, curve) for curve in surrogate.curves])
    found = []
    for region in range(n_regions):
        inside = fitted.regions == region
        found.append(
            RegionProfile(
                region=region,
                traits=_traits(fitted, region, inside) if n_regions > 1 else (),
                prediction=_means(predictions, inside, weights),
                target=_means(target, inside, weights),
                risk=_means(losses, inside, weights),
                effects=tuple(_effects_in_words(shapes, region, masses, output)),
                output=output,
            )
        )
    return found


def _means(cells: FloatArray | None, inside: BoolArray, weights: FloatArray) -> tuple[float, float]:
    """Mean of some cells in a region and elsewhere; NaN where nothing is known, or no row is there."""
    means = []
    for rows in (inside, ~inside):
        mean = np.nan
        if cells is not None and rows.any():
            mean = float(np.average(cells[rows], weights=weights[rows]))
        means.append(mean)
    return means[0], means[1]


def _traits(fitted: FitResult, region: int, inside: BoolArray) -> tuple[Trait, ...]:
    """All columns, those first whose values in the region are least like elsewhere."""
    columns_of_rule = {name for name, _ in fitted.partition[region].rule.conditions}
    traits = []
    for column in fitted.table.columns:
        here = _shares_of_levels(column, inside, fitted.weights)
        elsewhere = _shares_of_levels(column, ~inside, fitted.weights)
        traits.append(
            Trait(
                column=column.name,
                distance=_distance(column, here, elsewhere),
                here=_typical(column, here[1:]),
                elsewhere=_typical(column, elsewhere[1:]),
                in_rule=column.name in columns_of_rule,
                is_number=_is_number(column),
            )
        )
    return tuple(sorted(traits, key=lambda trait: -trait.distance))


def _shares_of_levels(column: Column, rows: BoolArray, weights: FloatArray) -> FloatArray:
    """Share of some rows at each level, that of missing values first, (1 + levels,)."""
    n_levels = 1 + len(column.levels)
    masses = np.bincount(column.codes[rows] + 1, weights=weights[rows], minlength=n_levels)
    return np.asarray(masses / weights[rows].sum())


def _distance(column: Column, here: FloatArray, elsewhere: FloatArray) -> float:
    """Distance of two distributions over the levels of a column, from 0 to 1."""
    gaps = here - elsewhere
    if column.is_ordered:
        return float(np.abs(np.cumsum(gaps)).max())
    return float(np.abs(gaps).sum() / 2)


def _is_number(column: Column) -> bool:
    return column.kind in ("numeric", "date")


def _typical(column: Column, shares: FloatArray) -> str:
    """The middle of the present values and where eight of ten lie; of labels the most frequent one with its share."""
    if not shares.any():
        return "missing"
    if not _is_number(column):
        top = int(np.argmax(shares))
        frequency = share(float(shares[top] / shares.sum()))
        return f"{level_text(column, column.levels[top])} ({frequency})"
    cumulated = np.cumsum(shares) / shares.sum()

    def quantile(level: float) -> str:
        place = int(np.searchsorted(cumulated, level - ROUNDING))
        return level_text(column, column.levels[min(place, len(cumulated) - 1)])

    low = quantile(0.1)
    high = quantile(0.9)
    if low == high:
        return quantile(0.5)
    return f"{quantile(0.5)} ({low} to {high})"


def level_text(column: Column, level: Any) -> str:
    """A value of a column as a person would write it."""
    if column.kind == "numeric":
        return value(float(level))
    return shortened(plain(level), LONGEST_LABEL)


class Shape(NamedTuple):
    """A curve where rows of its region are.

    Attributes
    ----------
    column : Column
    levels : list of str
        That rows of the region carry.
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
    def of(cls, fitted: FitResult, region: int, curve: Curve) -> Shape:
        """The curve of a column in a region."""
        column = fitted.table.columns[curve.column.position]
        inside = fitted.regions == region
        n_levels = len(column.levels)
        masses = np.bincount(
            column.codes[inside] + 1, weights=fitted.weights[inside], minlength=1 + n_levels
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
        """Where it is high and low, whether it rises or falls, and where it is flat."""
        if not self.levels:
            return "no value is known"
        highest = self.levels[int(np.argmax(self.effects))]
        lowest = self.levels[int(np.argmin(self.effects))]
        extremes = f"highest at {highest}, lowest at {lowest}"
        if not self.column.is_ordered or len(self.levels) < FEWEST_VALUES:
            return extremes
        steps = np.diff(self.effects)
        way = np.cumsum(np.abs(steps))  # up to the end of each step
        change = steps.sum()
        direction = extremes
        if abs(change) > MONOTONE * way[-1]:
            direction = "it rises" if change > 0 else "it falls"
        begins = int(np.searchsorted(way, FLAT * way[-1]))
        ends = int(np.searchsorted(way, (1 - FLAT) * way[-1])) + 1
        if begins > len(steps) // 3:
            return f"{direction}, hardly below {self.levels[begins]}"
        if ends < len(steps) * 2 // 3:
            return f"{direction}, hardly above {self.levels[ends]}"
        return direction


def _effects_in_words(
    shapes: Sequence[Sequence[Shape]], region: int, masses: FloatArray, output: OutputUnit
) -> list[EffectInWords]:
    """The strongest columns, those first whose effect is least like that in the other regions.

    Parameters
    ----------
    shapes : sequence of sequences of Shape
        Of each region, the curve of each column.
    region : int
    masses : array of shape (n_regions,)
        Weight of the rows of each region.
    output : OutputUnit
    """
    sizes = np.array([[shape.size for shape in of_region] for of_region in shapes])
    here = sizes[region]  # (columns,)
    is_other = np.arange(len(shapes)) != region
    elsewhere = np.full_like(here, np.nan)
    if is_other.any():
        elsewhere = np.average(sizes[is_other], axis=0, weights=masses[is_other])
    ratios = here / np.where(elsewhere > 0, elsewhere, here + TINY)
    unlikeness = here * (1 + np.abs(np.log(ratios + TINY)).clip(0, 2))
    largest = np.nanmax([here, elsewhere], initial=0.0)
    effects = []
    for column in np.argsort(-unlikeness, kind="stable"):
        if here[column] <= SLIGHT * largest:
            continue
        shape = shapes[region][column]
        words_elsewhere = {
            of_region[column].words for k, of_region in enumerate(shapes) if k != region
        }
        name = plain(shape.column.name)
        sentence = f"{name} moves the prediction by {output.effect(float(np.ptp(shape.effects)))}"
        if elsewhere[column] > 0:
            sentence += f", {_times(ratios[column])} elsewhere"
        sentence += f": {shape.words}"
        is_turned_round = {shape.words, *words_elsewhere} == {"it rises", "it falls"}
        if is_turned_round and len(words_elsewhere) == 1:
            sentence += f" (elsewhere {words_elsewhere.pop()})"
        effects.append(
            EffectInWords(
                column=shape.column.name,
                size=shape.size,
                elsewhere=float(elsewhere[column]),
                words=f"{sentence}.",
            )
        )
    return effects


def _times(ratio: float) -> str:
    """A ratio as people say it."""
    for named_ratio, word in NAMED_RATIOS.items():
        if abs(ratio / named_ratio - 1) < SAME_RATIO:
            return f"{word}as much as"
    if ratio < min(NAMED_RATIOS):
        return "less than a tenth as much as"
    return f"{ratio:.2g} times as much as"
