"""Who is in a region: columns whose values there are unlike those of the other rows, and how far the model is off."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.base.numbers import OutputUnit, amount, share
from granite_xai.base.text import MISSING, plain
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.fitting.fit_result import FitResult
from granite_xai.results.sentences import Fact, Sentence
from granite_xai.results.shapes import level_text
from granite_xai.tables import Column

CLEAR = 0.15  # distance of distributions from which a column is named
MOST_NAMED = 3  # columns
ROUNDING = 1e-12  # share of the rows that is rounding
NEGLIGIBLE_RISK = 1e-20  # share of a squared prediction below which an error elsewhere is rounding
QUANTILES = (0.5, 0.1, 0.9)


def profile(
    fitted: FitResult,
    region: int,
    predictions: FloatArray,
    target: FloatArray | None,
    losses: FloatArray | None,
    unit: OutputUnit,
) -> list[Sentence]:
    """Who is in a region, beside what its rule says.

    Parameters
    ----------
    fitted : FitResult
    region : int
    predictions : array of shape (n_rows,)
        Of the search rows.
    target, losses : arrays of shape (n_rows,), optional
    unit : OutputUnit
        How values of the output are written.
    """
    inside = fitted.regions == region
    if inside.all():
        return []
    said = []
    in_rule = {name for name, _ in fitted.partition[region].rule.conditions}
    traits = []
    for column in fitted.table.columns:
        here = _shares_of_levels(column, inside, fitted.weights)
        elsewhere = _shares_of_levels(column, ~inside, fitted.weights)
        distance = _distance(column, here, elsewhere)
        if column.name not in in_rule and distance >= CLEAR:
            traits.append((distance, column, here, elsewhere))
    traits = sorted(traits, key=lambda trait: -trait[0])[:MOST_NAMED]
    if traits:
        texts = [
            f"{plain(column.name)} {_typical(column, here)}, elsewhere {_typical(column, elsewhere)}"
            for _, column, here, elsewhere in traits
        ]
        text = f"Besides its rule: {'; '.join(texts)}."
        if any(_is_number(column) for _, column, _, _ in traits):
            text += " Of numbers: the median, in brackets the 10% and 90% quantiles."
        facts = [
            Fact("distance of distributions", distance, feature=column.name, regions=(region,))
            for distance, column, _, _ in traits
        ]
        said.append(Sentence(text, facts))
    if target is not None:
        mean, mean_elsewhere = _means(target, inside, fitted.weights)
        text = f"Mean target {unit.level(mean)}, elsewhere {unit.level(mean_elsewhere)}."
        said.append(Sentence(text, [Fact("mean target", mean, regions=(region,))]))
    if losses is not None:
        risk, risk_elsewhere = _means(losses, inside, fitted.weights)
        if risk_elsewhere > NEGLIGIBLE_RISK * float(np.square(np.max(np.abs(predictions)))):
            ratio = risk / risk_elsewhere
            measure = "log loss" if fitted.model.is_probability else "mean squared error"
            if fitted.model.is_survival:
                measure = "Brier score"
            text = f"The model's {measure} is {amount(ratio)} times that elsewhere."
            said.append(Sentence(text, [Fact("ratio of errors", ratio, regions=(region,))]))
    return said


def _means(values: FloatArray, inside: BoolArray, weights: FloatArray) -> tuple[float, float]:
    """Weighted mean over the rows of a region, and over all others."""
    here = float(np.average(values[inside], weights=weights[inside]))
    return here, float(np.average(values[~inside], weights=weights[~inside]))


def _shares_of_levels(column: Column, rows: BoolArray, weights: FloatArray) -> FloatArray:
    """Share of some rows at each level, that of missing values first, (1 + n_levels,)."""
    n_codes = 1 + len(column.levels)  # a missing value has the code -1
    masses = np.bincount(column.codes[rows] + 1, weights=weights[rows], minlength=n_codes)
    return np.asarray(masses / weights[rows].sum())


def _distance(column: Column, here: FloatArray, elsewhere: FloatArray) -> float:
    """Distance of two distributions from 0 to 1: that of Kolmogorov and Smirnov, of labels the total variation."""
    gaps = here - elsewhere
    if column.is_ordered:
        return float(np.abs(np.cumsum(gaps)).max())
    return float(np.abs(gaps).sum() / 2)


def _is_number(column: Column) -> bool:
    return column.kind in ("numeric", "date")


def _typical(column: Column, shares: FloatArray) -> str:
    """The middle of the present values and where eight of ten lie; of labels the most frequent one with its share."""
    present: Any = shares[1:]
    if not present.any():
        return MISSING
    cumulated = np.cumsum(present) / present.sum()
    if not _is_number(column):
        level = int(np.argmax(present))
        frequency = share(float(present[level] / present.sum()))
        return f"{level_text(column, column.levels[level])} ({frequency})"
    places = np.searchsorted(cumulated, np.array(QUANTILES) - ROUNDING)
    middle, low, high = (
        level_text(column, column.levels[min(place, len(present) - 1)]) for place in places.tolist()
    )
    return middle if low == high else f"{middle} ({low} to {high})"
