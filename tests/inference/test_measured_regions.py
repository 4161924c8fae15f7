"""Questions on all rows and in every region: which rows, signs and clusters each figure is made of."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.signed_weights import signs
from granite_xai.inference.measured_regions import Sample, measure_regions
from granite_xai.inference.perturbed_figures import perturbed_figures

from problems import problem_of


def step(X):
    return X[:, 0] * np.sign(X[:, 1]) + 0.6 * X[:, 0] * X[:, 2]


def samples():
    """All rows, those of two regions, and a region without rows."""
    X = np.random.default_rng(0).normal(size=(80, 3)).round(1)
    problem = problem_of(step, X)
    questions = problem.shares.comparisons
    parts = [np.arange(80), np.flatnonzero(X[:, 1] <= 0), np.flatnonzero(X[:, 1] > 0)]
    whole, left, right = (
        Sample(questions, problem.evaluations.restrict(rows), rows) for rows in parts
    )
    return whole, [left, None, right]


def test_a_region_has_the_signs_of_its_own_rows_and_none_without_rows():
    everywhere, regions = samples()
    drawn = signs(np.arange(80), 0)
    (measured,) = measure_regions(everywhere, regions, drawn)
    assert measured.regions[1] is None
    for sample, figures in zip(
        [everywhere, *regions], [measured.whole, *measured.regions], strict=True
    ):
        if sample is not None:
            alone = perturbed_figures(
                sample.questions[0], sample.evaluations, drawn[:, sample.rows]
            )
            assert figures.corrected == alone.corrected
            assert figures.n_observations == len(sample.rows)


@pytest.mark.parametrize("size", [1, 4])
def test_observations_are_the_clusters_of_each_region(size):
    """Clusters of one row each are rows."""
    everywhere, regions = samples()
    clusters = np.arange(80) // size
    (measured,) = measure_regions(everywhere, regions, signs(clusters, 0), clusters)
    for sample, figures in zip(
        [everywhere, *regions], [measured.whole, *measured.regions], strict=True
    ):
        if sample is not None:
            assert figures.n_observations == len(set(clusters[sample.rows].tolist()))
