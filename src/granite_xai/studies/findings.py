"""Which figures of regions differ between cases by more than sampling noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.regions.partition import Partition
from granite_xai.studies.case_figures import REGION_MEASURES, Case

LEVEL = 0.95
"""Confidence level of all intervals of a comparison."""

NORMAL = NormalDist().inv_cdf(0.5 + LEVEL / 2)
"""Standard errors on both sides of a figure."""

ROUNDING = 1e-9
"""Differences below this part of a figure are rounding."""


class Finding(NamedTuple):
    """One figure of one region by one case, and how it differs from the first case.

    Parameters
    ----------
    region : int
    rule : str
    measure : "fraction", "mean prediction", "risk", "disagreement" or "importance"
    set : str, optional
        The feature, or the features, whose importance this is.
    case : str
    n_samples : int
        Rows of the case in the region.
    value, low, high : float
        The figure and its 95% interval; a region with one row has none.
    difference, difference_low, difference_high : float
        The figure minus that of the first case, with its 95% interval.
    changed : bool
        The difference is more than sampling noise, all figures of its measure taken together
        (Bonferroni).
    """

    region: int
    rule: str
    measure: str
    set: str | None
    case: str
    n_samples: int
    value: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    changed: bool


class _FigureColumn(NamedTuple):
    """What a column of `Case.figures` holds."""

    measure: str
    set: str | None
    n_tests: int  # figures of the same measure, over all regions


def find_differences(
    partition: Partition, cases: Sequence[Case], same_rows: bool
) -> Iterator[Finding]:
    """State every figure of every region by every case, beside that of the first case.

    Parameters
    ----------
    partition : Partition
    cases : sequence of Case
        The first is what the others are compared with.
    same_rows : bool
        The cases are models on the same rows, so that their errors cancel in a difference; otherwise
        samples are independent, and the variances add.

    Yields
    ------
    Finding
        By case, region and measure.
    """
    columns = _columns_of_figures(cases[0], len(partition))
    reference = cases[0]
    for case in cases:
        if same_rows:
            moves = case.moves - reference.moves
        else:
            # Only their root mean square is read: that of independent samples, sqrt(se^2 + se_reference^2).
            moves = np.sqrt(case.moves**2 + reference.moves**2)
        half_widths = NORMAL * _root_mean_square(case.moves)  # (regions, figures)
        difference_half_widths = NORMAL * _root_mean_square(moves)
        differences = case.figures - reference.figures
        for region, scope in enumerate(case.scopes):
            for column, (measure, set_name, n_tests) in enumerate(columns):
                value = float(case.figures[region, column])
                half_width = float(half_widths[region, column])
                difference = float(differences[region, column])
                difference_half_width = float(difference_half_widths[region, column])
                strict_half_width = _bonferroni_factor(n_tests) * difference_half_width
                yield Finding(
                    region=region,
                    rule=scope.rule,
                    measure=measure,
                    set=set_name,
                    case=case.name,
                    n_samples=len(scope.rows),
                    value=value,
                    low=value - half_width,
                    high=value + half_width,
                    difference=difference,
                    difference_low=difference - difference_half_width,
                    difference_high=difference + difference_half_width,
                    changed=abs(difference) > max(strict_half_width, ROUNDING * abs(value)),
                )


def _columns_of_figures(case: Case, n_regions: int) -> list[_FigureColumn]:
    """What each column of the figures holds: the measures of a region, then an importance a set."""
    columns = [_FigureColumn(measure, set=None, n_tests=n_regions) for measure in REGION_MEASURES]
    labels = case.values.fitted.layout.labels
    for names in labels:
        n_tests = n_regions * len(labels)
        columns.append(_FigureColumn(measure="importance", set=":".join(names), n_tests=n_tests))
    return columns


def _root_mean_square(moves: FloatArray) -> FloatArray:
    """Standard errors from the moves with each sign vector, over the first axis."""
    return np.asarray(np.sqrt(np.square(moves).mean(axis=0)))


def _bonferroni_factor(n_tests: int) -> float:
    """How much wider intervals are if all of so many shall hold together."""
    tail = (1 - LEVEL) / 2
    return NormalDist().inv_cdf(1 - tail / n_tests) / NORMAL
