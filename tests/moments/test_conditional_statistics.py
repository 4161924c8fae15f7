"""Sums within bins say what the definitions say."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.moments.conditional_statistics import (
    ConditionalAgainstMarginalMean,
    ConditionalAgainstMarginalRisk,
    ConditionalAgainstMarginalTotal,
)

import granite_xai as gx
import oracle as o
from problems import gap_or_mean_square, looped_sums, problem_of

KINDS = {
    "mplot-pdp": ConditionalAgainstMarginalMean,
    "cfi-pfi": ConditionalAgainstMarginalRisk,
    "csobol-sobol": ConditionalAgainstMarginalTotal,
}


def wanted_of(asked, oracle_problem, S, rows):
    """The mean squared gap of the rows, or the region's gap."""
    gap = o.gaps(o.replace(asked, features=(S,)), oracle_problem, rows)[S]
    if not isinstance(gap, dict):
        return gap
    return o.mean([gap[n] ** 2 for n in rows], oracle_problem.weights_of(rows))


@pytest.mark.parametrize(
    ("name", "bins"),
    [
        ("mplot-pdp", "tree"),
        ("mplot-pdp", "exact"),
        ("cfi-pfi", "exact"),
        ("csobol-sobol", "exact"),
    ],
)
def test_bins_that_part_the_rows_count(name, bins):
    """Enough rows that values and quantiles make bins: the gap is not zero, in a part of the rows either."""
    generator = np.random.default_rng(3)
    decimals = 1 if bins == "tree" else 0
    X = np.round(generator.normal(size=(45, 3)), decimals)
    X[:, 2] = X[:, 0] + np.round(generator.normal(size=45), decimals)
    weights = generator.choice([0.5, 1.0, 3.0], size=45)
    y = generator.normal(size=45)
    question = gx.question(name, conditional=gx.Conditional(bins, sampler="bins"))
    problem = problem_of(
        lambda X: X[:, 0] + X[:, 1] * X[:, 2], X, question, y=y, sample_weight=weights
    )
    oracle_problem = o.Problem(lambda rows: [r[0] + r[1] * r[2] for r in rows], X, y, weights)
    (statistics,) = problem.statistics
    assert {type(own) for own in statistics} == {KINDS[name]}
    assert max(own.n_bins for own in statistics) > 1
    largest = 0.0
    for rows in (list(range(45)), list(range(5, 40, 2))):
        for column, own in enumerate(statistics):
            found = float(gap_or_mean_square(own, looped_sums(own, rows)))
            wanted = wanted_of(
                o.question(name, bins=bins), oracle_problem, frozenset({column}), rows
            )
            assert found == pytest.approx(wanted, rel=1e-8, abs=1e-12)
            largest = max(largest, abs(wanted))
    assert largest > 0.01
