"""Rows that judge the regions of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import IntArray
from granite_xai.disagreement.disagreement import both_sides
from granite_xai.engine.signed_weights import signs
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.new_rows import NewRows, Observation, rows_by_region
from granite_xai.inference.described_share import DescribedShares
from granite_xai.inference.estimate import Estimate
from granite_xai.inference.estimation import estimate
from granite_xai.inference.measured_regions import MeasuredQuestion, Sample, measure_regions
from granite_xai.inference.replicates import Chance


class RegionsOfSample(Sequence[Sample | None]):
    """The rows of each region, copied out of all rows each time they are asked for: never all regions at once.

    Parameters
    ----------
    everywhere : Sample
        All rows.
    regions : array of shape (n_rows,)
        Region of each row.
    n_regions : int
    """

    def __init__(self, everywhere: Sample, regions: IntArray, n_regions: int) -> None:
        self._everywhere = everywhere
        self._regions = regions
        self._n_regions = n_regions

    def __len__(self) -> int:
        return self._n_regions

    def __getitem__(self, region: Any) -> Any:
        """The rows of a region; None where there are none."""
        if not 0 <= region < self._n_regions:
            raise IndexError(region)
        inside = np.flatnonzero(self._regions == region)
        if len(inside) == 0:
            return None
        return Sample(
            questions=self._everywhere.questions,
            evaluations=self._everywhere.evaluations.restrict(inside),
            rows=self._everywhere.rows[inside],
        )


class JudgingRows(NamedTuple):
    """Rows that judge a partition: all of them, and those of each region."""

    everywhere: Sample
    by_region: Sequence[Sample | None]  # None: no row is there
    regions: IntArray  # (n_rows,) region of each row
    clusters: IntArray  # (n_rows,) number of the cluster of each row

    def measured(self, seed: int) -> list[MeasuredQuestion]:
        """Every question on all rows and in every region, under signed pairs of weights."""
        drawn_signs = signs(self.clusters, seed)
        return measure_regions(self.everywhere, self.by_region, drawn_signs, self.clusters)


def observe_regions(
    new_rows: NewRows, regions: IntArray, clusters: IntArray | None, observed: Observation
) -> JudgingRows:
    """Other rows and those of each region.

    Parameters
    ----------
    new_rows : NewRows
    regions : array of shape (n_rows,)
        Region of each row.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row is one.
    observed : Observation
        What the model answered about all rows.
    """
    questions = new_rows.fitted.comparisons
    every_row = np.arange(len(regions))
    by_region: list[Sample | None] = [None] * len(new_rows.fitted.partition)
    for region, rows in rows_by_region(regions):
        inside = new_rows.inside(rows, both_sides(questions), observed)
        by_region[region] = Sample(
            questions=inside.questions(questions),
            evaluations=inside.evaluations,
            rows=rows,
        )
    everywhere = Sample(
        questions=observed.questions(questions),
        evaluations=observed.evaluations,
        rows=every_row,
    )
    if clusters is None:
        clusters = every_row
    return JudgingRows(
        everywhere=everywhere, by_region=by_region, regions=regions, clusters=clusters
    )


def estimate_of(
    fitted: FitResult,
    judging: JudgingRows,
    measured: Sequence[MeasuredQuestion],
    kind: str,
    described: Deferred[DescribedShares],
    optimism: Sequence[float] | None = None,
    chance_of_rows: Chance | None = None,
) -> Estimate:
    """What some rows say of the regions of a fit that has a confidence level.

    Parameters
    ----------
    fitted : FitResult
    judging : JudgingRows
        The rows.
    measured : sequence of MeasuredQuestion
        The questions on these rows (`JudgingRows.measured`).
    kind : "held-out", "given", "cross-validated" or "fitting"
        Which rows these are.
    described : Deferred
        Share that curves describe.
    optimism : sequence of n_questions numbers, optional
        How much less the regions leave on these rows, which chose them, than on others.
    chance_of_rows : Chance, optional
        What chance says of all of these rows, where the fit has found that out.
    """
    if fitted.confidence is None:
        raise ValueError("there is no confidence level")
    return estimate(
        judging.everywhere,
        judging.by_region,
        measured,
        weights=fitted.question_weights,
        floors=fitted.floors,
        confidence=fitted.confidence,
        clusters=judging.clusters,
        rules=[str(rule) for rule in fitted.partition.rules],
        rows=kind,
        fidelities=described,
        optimism=optimism,
        root=chance_of_rows,
    )
