"""Figures of regions as columns, from constructed results."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from granite_xai.results.region_figures import region_columns

LINES = [
    SimpleNamespace(question="ice-pdp", region=-1, low=7.0, high=8.0),
    SimpleNamespace(question="ice-pdp", region=0, low=-1.0, high=4.0),
    SimpleNamespace(question="ice-pdp", region=1, low=9.0, high=16.0),
    SimpleNamespace(question="sobol", region=0, low=100.0, high=100.0),
]


def fitted(lines=None):
    estimate = None if lines is None else SimpleNamespace(lines=lines)
    return SimpleNamespace(partition=[None, None], estimate=estimate)


def figures(is_rooted=True, n_leaves=2):
    leaves = [SimpleNamespace(mean=5.0 + k, heterogeneity=2.0 + k) for k in range(n_leaves)]
    root = SimpleNamespace(heterogeneity=6.0)
    return SimpleNamespace(leaves=leaves, root=root, is_rooted=is_rooted)


def test_every_region_has_its_mean_and_its_heterogeneity_beside_that_of_all_rows():
    columns = region_columns(fitted(), figures())
    assert columns["mean_prediction"] == [5.0, 6.0]
    assert columns["heterogeneity_overall"] == [6.0, 6.0]
    assert columns["heterogeneity"] == [2.0, 3.0]
    assert all(math.isnan(low) for low in columns["heterogeneity_low"])


@pytest.mark.parametrize(
    ("is_rooted", "low", "high"),
    [(True, [0.0, 3.0], [2.0, 4.0]), (False, [-1.0, 9.0], [4.0, 16.0])],
)
def test_intervals_are_those_of_the_first_question_and_in_its_units(is_rooted, low, high):
    columns = region_columns(fitted(LINES), figures(is_rooted))
    assert columns["heterogeneity_low"] == low
    assert columns["heterogeneity_high"] == high


@pytest.mark.parametrize("unknown", [None, figures(n_leaves=3)])
def test_what_is_not_known_is_nan(unknown):
    columns = region_columns(fitted(), unknown)
    for cells in columns.values():
        assert len(cells) == 2
        assert all(math.isnan(cell) for cell in cells)
