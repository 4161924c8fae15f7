"""Conditional means that rest on too few rows to be averages (method page, C10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from granite_xai.base.errors import BinWarning, Diagnostics
from granite_xai.base.numbers import count
from granite_xai.base.text import listing
from granite_xai.base.typing import Coalition, IntArray
from granite_xai.evaluations.evaluations import Evaluations

FEWEST_ROWS = 5
"""Rows of a region below which a conditional mean over them is called thin."""

FEW_MEANS = 0.01
"""Share of the thin means of a feature up to which they need no warning: outermost rows always have few neighbours."""

NAMED_FEATURES = 5
"""Features that a warning names, at most."""


def note_bins(
    record: Diagnostics,
    evaluations: Evaluations,
    regions: Sequence[IntArray],
    names: Sequence[str],
    single_bins_are_meant: bool,
) -> None:
    """Count conditional means that rest on few rows, and regions that share one bin; warn once at most.

    Parameters
    ----------
    record : Diagnostics
        Gets the counts as ``thin_bins``.
    evaluations : Evaluations
    regions : sequence of arrays
        Positions of the rows of each region.
    names : sequence of str
        Of all features.
    single_bins_are_meant : bool
        Whether a column has one bin because it shows no dependence beyond chance, which needs no warning.
    """
    thin_bins: Counter[str] = Counter()  # by feature, in all regions
    regions_in_one_bin: Counter[str] = Counter()
    for (_, visible), bins in evaluations.bins.items():
        if bins.single and single_bins_are_meant:
            continue
        feature = _feature_label(visible, names)
        for rows in regions:
            _, rows_of_bins = np.unique(bins.numbers[rows], return_counts=True)
            thin_bins[feature] += int(np.count_nonzero(rows_of_bins < FEWEST_ROWS))
            if len(rows_of_bins) == 1:
                regions_in_one_bin[feature] += 1
    thin_means = _count_thin_means(evaluations, regions, names)
    note = {"cells": thin_bins.total(), "single_bin": regions_in_one_bin.total()}
    if evaluations.densities:  # a copula weighs the rows instead of bins
        note["weighted_rows"] = thin_means.total()
    record.note("thin_bins", note)
    many_thin_means = _worth_a_warning(thin_means, evaluations, regions)
    clauses = _clauses(thin_bins, regions_in_one_bin, many_thin_means)
    if clauses:
        record.warn(f"C10: conditional masking {'; '.join(clauses)}.", BinWarning)


def _clauses(
    thin_bins: Counter[str], regions_in_one_bin: Counter[str], thin_means: Counter[str]
) -> list[str]:
    """What a warning says, each with the features it is about, most affected first."""
    clauses = []
    if thin_bins.total():
        n_bins = count(thin_bins.total(), "bin")
        features = _listed_features(thin_bins)
        clauses.append(f"has {n_bins} with fewer than {FEWEST_ROWS} rows of a region ({features})")
    if regions_in_one_bin.total():
        clauses.append(
            f"has {_times(regions_in_one_bin.total())} a region whose rows share one bin, where conditional equals "
            f"marginal by construction ({_listed_features(regions_in_one_bin)})"
        )
    if thin_means.total():
        clauses.append(
            f"by a copula leaves a row of a region {_times(thin_means.total())} fewer than {FEWEST_ROWS} rows to "
            f"average over, by the effective number of its weights ({_listed_features(thin_means)})"
        )
    return clauses


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def _listed_features(counts: Counter[str]) -> str:
    """The features that are affected, most of all first; of those alike, by name."""
    most_first = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    affected = [name for name, number in most_first if number]
    word = "feature" if len(affected) == 1 else "features"
    return f"{word} {listing(affected, NAMED_FEATURES)}"


def _feature_label(visible: Coalition, names: Sequence[str]) -> str:
    """The features of a conditional mean: those shown, or those hidden, whichever are fewer."""
    hidden = frozenset(range(len(names))) - visible
    smaller = visible if len(visible) <= len(hidden) else hidden
    return " + ".join(names[position] for position in sorted(smaller))


def _count_thin_means(
    evaluations: Evaluations, regions: Sequence[IntArray], names: Sequence[str]
) -> Counter[str]:
    """For each feature how often a row's mean by a copula rests on few rows of its region.

    Rows are counted by the effective number of their weights.
    """
    thin_means: Counter[str] = Counter()
    for (_, visible), densities in evaluations.densities.items():
        feature = names[densities.column]
        for rows in regions:
            inside = densities.restrict(rows)
            effective_rows = inside.effective_rows(shown=visible == {densities.column})
            thin_means[feature] += int(np.count_nonzero(effective_rows < FEWEST_ROWS))
    return thin_means


def _worth_a_warning(
    thin_means: Counter[str], evaluations: Evaluations, regions: Sequence[IntArray]
) -> Counter[str]:
    """Only features of which more than one mean in a hundred rests on few rows."""
    n_rows = sum(len(rows) for rows in regions)
    n_densities = max(len(evaluations.densities), 1)
    n_features = max(len(thin_means), 1)
    n_means_of_feature = n_rows * n_densities / n_features
    most_without_warning = FEW_MEANS * n_means_of_feature
    many = {name: number for name, number in thin_means.items() if number > most_without_warning}
    return Counter(many)
