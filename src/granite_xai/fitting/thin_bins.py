"""Conditional means that rest on too few rows to be averages (method page, C10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import BinWarning
from granite_xai.base.text import listing
from granite_xai.base.typing import Coalition, IntArray
from granite_xai.evaluations.evaluations import Evaluations

THIN = 5  # rows below which a bin of a region is called thin
# Of the conditional means of a feature: outermost rows always have few neighbours, and so few are not worth a warning.
FEW_MEANS = 0.01
SHOWN = 5  # features that a warning names


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
    thin: Counter[str] = Counter()
    single: Counter[str] = Counter()
    for (_, visible), bins in evaluations.bins.items():
        if bins.single and single_bins_are_meant:
            continue
        feature = _feature(visible, names)
        for rows in regions:
            counts = np.unique(bins.numbers[rows], return_counts=True)[1]
            thin[feature] += int(np.count_nonzero(counts < THIN))
            single[feature] += len(counts) == 1
    few = _means_of_few_rows(evaluations, regions, names)
    counts_by_name = {"cells": thin.total(), "single_bin": single.total()}
    if evaluations.densities:  # a copula weighs the rows instead of bins
        counts_by_name["weighted_rows"] = few.total()
    record.note("thin_bins", counts_by_name)
    texts = _sentences(thin, single, _worth_a_warning(few, evaluations, regions))
    if texts:
        record.warn(f"C10: conditional masking {'; '.join(texts)}.", BinWarning)


def _sentences(thin: Counter[str], single: Counter[str], few: Counter[str]) -> list[str]:
    """What a warning says, each with the features it is about, most affected first."""
    texts = []
    if thin.total():
        n_bins = f"{thin.total():,} bins" if thin.total() > 1 else "1 bin"
        texts.append(f"has {n_bins} with fewer than {THIN} rows of a region ({_features(thin)})")
    if single.total():
        times = f"{single.total():,} times" if single.total() > 1 else "once"
        texts.append(
            f"has {times} a region whose rows share one bin, where conditional equals marginal by "
            f"construction ({_features(single)})"
        )
    if few.total():
        times = f"{few.total():,} times" if few.total() > 1 else "once"
        texts.append(
            f"by a copula leaves a row of a region {times} fewer than {THIN} rows to average over, "
            f"by the effective number of its weights ({_features(few)})"
        )
    return texts


def _features(counts: Counter[str]) -> str:
    affected = [name for name, count in counts.most_common() if count]
    word = "feature" if len(affected) == 1 else "features"
    return f"{word} {listing(affected, SHOWN)}"


def _feature(visible: Coalition, names: Sequence[str]) -> str:
    """The features of a conditional mean: those shown, or those hidden, whichever are fewer."""
    hidden = frozenset(range(len(names))) - visible
    smaller = visible if len(visible) <= len(hidden) else hidden
    return " + ".join(names[position] for position in sorted(smaller))


def _means_of_few_rows(
    evaluations: Evaluations, regions: Sequence[IntArray], names: Sequence[str]
) -> Counter[str]:
    """How often a row's conditional mean in its region rests on few rows, by the effective number of its weights."""
    few: Counter[str] = Counter()
    for (_, visible), densities in evaluations.densities.items():
        for rows in regions:
            inside = densities.restrict(rows)
            effective = inside.effective_rows(shown=visible == {densities.column})
            few[names[densities.column]] += int(np.count_nonzero(effective < THIN))
    return few


def _worth_a_warning(
    few: Counter[str], evaluations: Evaluations, regions: Sequence[IntArray]
) -> Counter[str]:
    """Only features of which more than one mean in a hundred rests on few rows."""
    n_rows = sum(len(rows) for rows in regions)
    n_readings = max(len(evaluations.densities), 1) / max(len(few), 1)  # of a feature
    least = FEW_MEANS * n_rows * n_readings
    return Counter({name: count for name, count in few.items() if count > least})
