"""Twenty fits of different kinds say the same whatever they run on (page 11.1)."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from same_fits import CASES, erratic, said, step
from strategies import quiet


def assert_same(found, wanted):
    """The same regions; figures to 1e-9."""
    assert said(found)[0] == said(wanted)[0]
    np.testing.assert_allclose(said(found)[1], said(wanted)[1], rtol=1e-9, atol=1e-9)


@pytest.fixture
def without_extras(monkeypatch):
    """As where the extras for speed are not installed."""
    for name in ("numba", "treelite"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("name", CASES)
def test_threads_and_the_order_of_rows_change_nothing(name):
    case = CASES[name]()
    with quiet():
        plain = case.fit()
        threaded = case.fit(n_jobs=2)
        permuted = case.fit(order=np.random.default_rng(3).permutation(len(case.X)))
    assert_same(threaded, plain)
    assert_same(permuted, plain)


@pytest.mark.parametrize("name", CASES)
def test_extras_change_nothing(name, request):
    case = CASES[name]()
    with quiet():
        with_extras = case.fit()
        request.getfixturevalue("without_extras")
        plain = case.fit()
    assert_same(plain, with_extras)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case().model is step])
def test_a_slow_and_erratic_model_of_equal_answers_changes_nothing(name):
    case = CASES[name]()
    with quiet():
        assert_same(case.fit(model=erratic), case.fit())


def test_the_twenty_fits_find_regions_and_differ():
    """Otherwise equal answers would say little."""
    with quiet():
        rules = [tuple(said(case().fit())[0]) for case in CASES.values()]
    assert sum(len(each) > 1 for each in rules) >= 12
    assert len(set(rules)) >= 6
