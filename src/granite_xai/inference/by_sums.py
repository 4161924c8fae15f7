"""What chance says of questions that follow from sums over rows; the predictions are not read.

"ICE against PDP" has a closed form (`moments.chance`). The others are computed again under the
random weights of replicates, from sums of the same products under these weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.moments.chance import chance_bar, chance_level
from granite_xai.moments.statistics import (
    ConditionalAgainstMarginalMean,
    FullAgainstPure,
    Statistics,
    quadratic_form,
    split_last_axis,
    triangle_size,
)


def weighted_sums(statistics: Statistics, lines: FloatArray) -> FloatArray:
    """Sums of the products under several lines of factors of the weights.

    Parameters
    ----------
    statistics : Statistics
        Of n rows.
    lines : array of shape (n_lines, n_rows)

    Returns
    -------
    array of shape (n_lines, n_bins, n_products)
    """
    products = statistics.products()
    if statistics.bins is None:
        return np.asarray((lines @ products)[:, None, :])
    found = np.zeros((len(lines), statistics.n_bins, products.shape[1]))
    for number in np.unique(statistics.bins):
        inside = np.flatnonzero(statistics.bins == number)
        found[:, number] = lines[:, inside] @ products[inside]
    return found


def closed_form(
    sets: Sequence[FullAgainstPure], clusters: IntArray | None, level: float
) -> tuple[float, float, float, float]:
    """Disagreement of "ICE against PDP", its chance level, its chance bar, and it corrected."""
    shown = sum(each.mean_squared_gap() for each in sets)
    # Sampling noise is a small part of what is shown: the directions that a search reads tell it.
    interacting = [
        FullAgainstPure(each.factors.shortened(), each.weights) for each in sets if each.rank > 0
    ]
    by_chance = sum(chance_level(each, clusters) for each in interacting)
    bar = 0.0
    if interacting:
        (bar,) = chance_bar(interacting, clusters, [level])
    return shown, by_chance, bar, shown - by_chance


def replicated_means(
    sets: Sequence[ConditionalAgainstMarginalMean], factors: FloatArray
) -> tuple[float, FloatArray]:
    """Disagreement of "M-plot against PDP", and what each replicate moves it by if nothing is true.

    Parameters
    ----------
    sets : sequence of ConditionalAgainstMarginalMean
    factors : array of shape (n_replicates, n_rows)
        Random factors of the weights.
    """
    shown = 0.0
    by_chance = np.zeros(len(factors))
    lines = np.vstack([np.ones(factors.shape[1]), factors])
    for each in sets:
        if each.bins is None:  # conditional on nothing: equal to marginal
            continue
        sums = weighted_sums(each, lines)
        shown += float(each.gap_or_loss(sums[:1])[0])
        by_row, by_value = split_last_axis(sums, each.rank + 1, triangle_size(each.rank + 1))
        mass = by_value[..., -1]
        differences = each.differences(by_row, mass)
        counts = np.bincount(each.bins, minlength=each.n_bins)
        moves = (differences[1:] - differences[0]) * np.sqrt(small_cells(counts))[:, None]
        squares = quadratic_form(by_value[0], moves)  # (replicates, bins)
        by_chance += squares[:, counts > 0].sum(axis=1) / mass[0].sum()
    return shown, by_chance


def regional_gaps(sets: Sequence[Statistics], factors: FloatArray) -> FloatArray:
    """The gap of each set as it is, then under each replicate: (1 + n_replicates, n_sets)."""
    lines = np.vstack([np.ones(factors.shape[1]), factors])
    return np.stack([each.gap_or_loss(weighted_sums(each, lines)) for each in sets], axis=1)


def small_cells(count: IntArray) -> FloatArray:
    """``kappa``: one over the share of a mean's variance that exponential weights show.

    Of a cell of m rows they show (m - 1) / (m + 1).
    """
    return np.where(count > 1, (count + 1) / np.maximum(count - 1, 1), 3.0)
