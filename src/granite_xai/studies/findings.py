"""Which figures of regions differ between cases by more than sampling noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.inference.noise import FEWEST_OBSERVATIONS
from granite_xai.regions import Partition
from granite_xai.studies.case_figures import REGION_MEASURES, Case

LEVEL = 0.95
"""Confidence level of all intervals of a comparison."""

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
        The figure and its 95% interval, by Student's quantile for the rows or clusters of the region. Regions of
        fewer than five have none: their spread is hardly known. The share of a region is told by all rows.
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
    n_tests = np.array([column.n_tests for column in columns])
    for case in cases:
        half_widths = _half_widths(case)  # (regions, figures)
        difference_half_widths = _difference_half_widths(case, reference, same_rows)
        strict_half_widths = _difference_half_widths(case, reference, same_rows, n_tests)
        differences = case.figures - reference.figures
        for region, scope in enumerate(case.scopes):
            for column, (measure, set_name, _) in enumerate(columns):
                value = float(case.figures[region, column])
                half_width = float(half_widths[region, column])
                difference = float(differences[region, column])
                difference_half_width = float(difference_half_widths[region, column])
                strict_half_width = float(strict_half_widths[region, column])
                is_beyond_rounding = abs(difference) > ROUNDING * abs(value)
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
                    # A half-width that is not known (nan) is never exceeded.
                    changed=is_beyond_rounding and abs(difference) > strict_half_width,
                )


def _columns_of_figures(case: Case, n_regions: int) -> list[_FigureColumn]:
    """What each column of the figures holds: the measures of a region, then an importance a set."""
    columns = [_FigureColumn(measure, set=None, n_tests=n_regions) for measure in REGION_MEASURES]
    labels = case.values.fitted.layout.labels
    for names in labels:
        n_tests = n_regions * len(labels)
        columns.append(_FigureColumn(measure="importance", set=":".join(names), n_tests=n_tests))
    return columns


def _half_widths(case: Case, n_tests: IntArray | int = 1) -> FloatArray:
    """Half the interval of every figure of a case, (regions, figures); nan where there is none.

    Parameters
    ----------
    case : Case
    n_tests : int or array of shape (figures,)
        Intervals that shall hold together.
    """
    return _quantiles(case.n_observations, n_tests) * _root_mean_square(case.moves)


def _difference_half_widths(
    case: Case, reference: Case, same_rows: bool, n_tests: IntArray | int = 1
) -> FloatArray:
    """The same of the difference from another case; parameters as of `find_differences`."""
    if same_rows:
        quantiles = _quantiles(case.n_observations, n_tests)
        return quantiles * _root_mean_square(case.moves - reference.moves)
    # Variances of independent samples add up, each in units of its own quantile.
    return np.hypot(_half_widths(case, n_tests), _half_widths(reference, n_tests))


def _quantiles(n_observations: IntArray, n_tests: IntArray | int) -> FloatArray:
    """Standard errors on both sides of figures from so many rows or clusters; nan for too few.

    Student's t: few rows hardly tell how far a figure varies.

    Parameters
    ----------
    n_observations : array of shape (regions, figures)
    n_tests : int or array of shape (figures,)
        Intervals that shall hold together (Bonferroni).
    """
    tail = (1 - LEVEL) / 2 / n_tests
    degrees = np.maximum(n_observations - 1, 1)
    return np.where(n_observations < FEWEST_OBSERVATIONS, np.nan, stdtrit(degrees, 1 - tail))


def _root_mean_square(moves: FloatArray) -> FloatArray:
    """Standard errors from the moves with each sign vector, over the first axis."""
    return np.asarray(np.sqrt(np.square(moves).mean(axis=0)))
