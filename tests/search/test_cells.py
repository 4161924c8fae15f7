"""Sums over the parts that cuts make, against loops over rows."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.search.candidates import cuts_of
from granite_xai.search.cells import LEFT, RIGHT, CellLayout, CellMembership
from problems import MixedModel, mixed_table, options_of, problem_of


def two_cuts():
    """Cuts of a column of numbers and of one of labels with missing values."""
    generator = np.random.default_rng(0)
    problem = problem_of(MixedModel(generator), mixed_table(generator), "ice-pdp")
    rows = np.arange(60)
    return [cuts_of(group, problem.table, rows)[0] for group in options_of(problem, rows)[:2]]


def goes(cut, number, side):
    """Rows on one side of one of the cuts of a column."""
    left = cut.left[number][cut.classes]
    return left if side == LEFT else ~left


@pytest.mark.parametrize("binned", [False, True])
def test_sums_over_parts_are_those_of_a_loop(binned):
    """Sides, quarters, and quarters on one side, of several layouts at once; within bins."""
    first, second = two_cuts()
    generator = np.random.default_rng(1)
    products = generator.normal(size=(60, 3))
    bins = generator.integers(0, 2, 60) if binned else None
    n_bins = 2 if binned else 1
    layouts = [
        CellLayout((first,)),
        CellLayout((first, second)),
        CellLayout((second, first), RIGHT),
    ]
    found = CellMembership(layouts).sums(products, bins, n_bins)
    assert found.shape == (sum(layout.n_parts for layout in layouts), n_bins * 3)
    ends = np.cumsum([layout.n_parts for layout in layouts])
    for layout, sums in zip(layouts, np.split(found, ends[:-1]), strict=True):
        numbers = layout.table(np.arange(layout.n_parts))
        for place in np.ndindex(numbers.shape):
            inside = members(layout, place)
            for bin_number in range(n_bins):
                in_bin = inside if bins is None else inside & (bins == bin_number)
                of_bin = sums[numbers[place]].reshape(n_bins, 3)[bin_number]
                np.testing.assert_allclose(of_bin, products[in_bin].sum(axis=0), atol=1e-12)


def members(layout, place):
    """Rows of the part that stands at this place of the table of a layout."""
    quarter, *numbers = place
    if len(layout.cuts) == 1:
        return goes(layout.cuts[0], numbers[0], quarter)
    upper = quarter // 2 if layout.upper_side is None else layout.upper_side
    lower = quarter % 2
    return goes(layout.cuts[0], numbers[0], upper) & goes(layout.cuts[1], numbers[1], lower)
