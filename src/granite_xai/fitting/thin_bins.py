"""Bins of conditional masking that are too thin to average over (method page, C10)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import BinWarning
from granite_xai.base.typing import IntArray
from granite_xai.evaluations.evaluations import Evaluations

THIN = 5  # rows below which a bin of a region is called thin


def note_bins(
    record: Diagnostics,
    evaluations: Evaluations,
    regions: Sequence[IntArray],
    single_bins_are_meant: bool,
) -> None:
    """Count thin bins, rows that rest on few weighted rows, and regions that share one bin; warn once.

    Parameters
    ----------
    record : Diagnostics
        Gets the counts as ``thin_bins``.
    evaluations : Evaluations
    regions : sequence of arrays
        Positions of the rows of each region.
    single_bins_are_meant : bool
        Whether a column has one bin because it shows no dependence beyond chance, which needs no warning.
    """
    n_thin = 0
    n_single = 0
    for bins in evaluations.bins.values():
        if bins.single and single_bins_are_meant:
            continue
        for rows in regions:
            counts = np.unique(bins.numbers[rows], return_counts=True)[1]
            n_thin += int(np.count_nonzero(counts < THIN))
            n_single += len(counts) == 1
    n_few = _count_rows_that_rest_on_few(evaluations, regions)
    counts_by_name = {"cells": n_thin, "single_bin": n_single}
    if evaluations.densities:  # a copula weighs the rows instead of bins
        counts_by_name["weighted_rows"] = n_few
    record.note("thin_bins", counts_by_name)
    if n_few:
        record.warn(
            f"C10: {n_few} times the copula of conditional masking leaves a row of a region fewer than {THIN} rows to "
            "average over, by the effective number of its weights.",
            BinWarning,
        )
    if n_thin or n_single:
        record.warn(
            f"C10: conditional masking has {n_thin} bins with fewer than {THIN} rows of a region, and {n_single} times "
            "all rows of a region share one bin, where conditional equals marginal by construction.",
            BinWarning,
        )


def _count_rows_that_rest_on_few(evaluations: Evaluations, regions: Sequence[IntArray]) -> int:
    """How often a row's conditional mean in its region rests on few rows, by the effective number of its weights."""
    total = 0
    for (_, visible), densities in evaluations.densities.items():
        for rows in regions:
            inside = densities.restrict(rows)
            effective = inside.effective_rows(shown=visible == {densities.column})
            total += int(np.count_nonzero(effective < THIN))
    return total
