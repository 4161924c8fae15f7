"""Twenty fits of different kinds say the same whatever they run on (page 11.1)."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from same_fits import CASES, erratic, said, step
from strategies import quiet

ONE_REGION = {"mplot-pdp", "cfi-pfi", "csobol-sobol", "groups"}  # the others find several


@pytest.fixture
def hide_extras(monkeypatch):
    """Make the extras for speed as absent as where they are not installed."""

    def hide():
        for name in ("numba", "treelite"):
            monkeypatch.setitem(sys.modules, name, None)

    return hide


def assert_same(fit, wanted):
    """The same regions; figures to 1e-9."""
    assert said(fit)[0] == said(wanted)[0]
    np.testing.assert_allclose(said(fit)[1], said(wanted)[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_a_fit_says_the_same_whatever_it_runs_on(name, hide_extras):
    """On two threads and with rows in another order, for a late model of equal answers, without extras."""
    case = CASES[name]()
    permuted = np.random.default_rng(3).permutation(len(case.X))
    with quiet():
        plain = case.fit()
        assert_same(case.fit(n_jobs=2, order=permuted), plain)
        if case.model is step:
            assert_same(case.fit(model=erratic), plain)
        hide_extras()
        assert_same(case.fit(), plain)
    assert (len(plain.partition_) == 1) == (name in ONE_REGION)


def test_most_of_the_twenty_fits_find_regions():
    """Otherwise equal answers would say little."""
    assert len(CASES) - len(ONE_REGION) >= 12
