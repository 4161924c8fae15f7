"""How many rows a weighted mean rests on."""

from __future__ import annotations

import numpy as np
from granite_xai.evaluations.densities import DensityRatios


def test_equal_ratios_rest_on_all_rows():
    even = DensityRatios(column=0, intervals=np.array([0, 1, 0, 1]), ratios=np.ones((2, 4)))
    assert even.effective_rows(shown=True).tolist() == [4, 4, 4, 4]
    assert even.effective_rows(shown=False).tolist() == [4, 4, 4, 4]


def test_ratios_of_0_and_1_are_bins():
    ratios = np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    bins = DensityRatios(column=0, intervals=np.array([0, 0, 0, 1]), ratios=ratios)
    assert bins.effective_rows(shown=True).tolist() == [3, 3, 3, 1]
    assert bins.effective_rows(shown=False).tolist() == [3, 3, 3, 1]


def test_restricting_keeps_the_intervals_and_ratios_of_the_rows():
    own = DensityRatios(
        column=2, intervals=np.array([1, 0, 1]), ratios=np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    )
    some = own.restrict(np.array([2, 0]))
    assert some.column == 2
    assert some.intervals.tolist() == [1, 1]
    assert some.ratios.tolist() == [[3.0, 1.0], [6.0, 4.0]]
