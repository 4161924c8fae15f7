"""A region against all other rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite_xai.base.numbers import OutputUnit
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.fitting.fit_result import FitResult
from granite_xai.results.traits import Trait, traits_of

CLEAR = 0.15
"""Distance of distributions from which a trait is named."""

NEGLIGIBLE_RISK = 1e-20
"""Share of a squared prediction below which an error elsewhere is rounding."""

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


class RegionProfile(NamedTuple):
    """A region against all other rows; what is not known is NaN.

    Attributes
    ----------
    region : int
    traits : tuple of Trait
        All columns, the most unlike first; none where there is one region.
    prediction, target, risk : (float, float)
        Means here and elsewhere.
    output : OutputUnit
        How values of the output are written.
    """

    region: int
    traits: tuple[Trait, ...]
    prediction: tuple[float, float]
    target: tuple[float, float]
    risk: tuple[float, float]
    output: OutputUnit

    def sentences(self, most: int = 3) -> list[str]:
        """The profile in words; what every region could say of itself is left out.

        Parameters
        ----------
        most : int
            Traits that are named.
        """
        sentences = [self._traits_sentence(most), self._means_sentence()]
        return [sentence for sentence in sentences if sentence]

    def _traits_sentence(self, most: int) -> str:
        """The clearest traits beside the rule; empty where there are none."""
        beside_rule = [trait for trait in self.traits if not trait.in_rule]
        clear = [trait for trait in beside_rule if trait.distance >= CLEAR][:most]
        if not clear:
            return ""
        texts = [trait.text for trait in clear]
        sentence = f"Besides its rule: {'; '.join(texts)}."
        if any(trait.is_number for trait in clear):
            sentence += " Of numbers: the median, in brackets the 10% and 90% quantiles."
        return sentence

    def _means_sentence(self) -> str:
        """Means here and elsewhere, as far as they are known."""
        texts = []
        named_means = {"mean prediction": self.prediction, "mean target": self.target}
        for name, (here, elsewhere) in named_means.items():
            if not np.isnan(here + elsewhere):
                level_here = self.output.level(here)
                level_elsewhere = self.output.level(elsewhere)
                texts.append(f"{name} {level_here}, elsewhere {level_elsewhere}")
        risk_here, risk_elsewhere = self.risk
        negligible = NEGLIGIBLE_RISK * np.square(np.max(np.abs(self.prediction)))
        if not np.isnan(risk_here) and risk_elsewhere > negligible:
            ratio = ratio_words(risk_here / risk_elsewhere)
            texts.append(f"the model's error is {ratio} elsewhere")
        if not texts:
            return ""
        sentence = ", ".join(texts)
        return f"{sentence[0].upper()}{sentence[1:]}."


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
    region_profiles = []
    for region in range(n_regions):
        inside = fitted.regions == region
        traits: tuple[Trait, ...] = ()
        if n_regions > 1:
            traits = traits_of(fitted, region)
        profile = RegionProfile(
            region=region,
            traits=traits,
            prediction=_means(predictions, inside, weights),
            target=_means(target, inside, weights),
            risk=_means(losses, inside, weights),
            output=output,
        )
        region_profiles.append(profile)
    return region_profiles


def _means(
    row_values: FloatArray | None, inside: BoolArray, weights: FloatArray
) -> tuple[float, float]:
    """Weighted mean over the rows of a region, and over all others."""
    return _mean(row_values, inside, weights), _mean(row_values, ~inside, weights)


def _mean(row_values: FloatArray | None, rows: BoolArray, weights: FloatArray) -> float:
    """Weighted mean over some rows; NaN where nothing is known, or no row is there."""
    if row_values is None or not rows.any():
        return np.nan
    return float(np.average(row_values[rows], weights=weights[rows]))


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
