"""Standard errors of sampled effects, by loops over rows and draws."""

from __future__ import annotations

import numpy as np
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.sampling_errors import SamplingErrors

CHANCE = np.random.default_rng(4)
N = 6
PREDICTIONS = CHANCE.normal(size=N)
WEIGHTS = CHANCE.uniform(0.5, 2.0, N)
CODES = np.array([0, 1, 1, 0, 2, 1])
VALUES = CHANCE.normal(size=(3, N))
ALL, S = frozenset({0, 1, 2}), frozenset({0})


def masked(visible, n):
    """F_T at row n: the weighted mean over references m."""
    if visible == ALL:
        return PREDICTIONS[n]
    if visible == frozenset():
        return np.average(PREDICTIONS, weights=WEIGHTS)
    hybrids = [VALUES[CODES[n], m] if visible == S else VALUES[CODES[m], n] for m in range(N)]
    return np.average(hybrids, weights=WEIGHTS)


def test_errors_are_the_spread_of_the_draws_over_the_root_of_their_number():
    errors = SamplingErrors(PREDICTIONS, WEIGHTS, ALL)
    errors.add(S, Matrix(values=VALUES, codes=CODES))
    draws = [{S: 1.0, frozenset(): -1.0}, {ALL: 0.5, ALL - S: -0.5}, {S: -2.0, ALL - S: 1.0}]
    found = errors.errors(iter(draws))
    for n in range(N):
        effects = [sum(a * masked(T, n) for T, a in terms.items()) for terms in draws]
        assert np.isclose(found[n], np.std(effects, ddof=1) / np.sqrt(3), rtol=1e-13)
