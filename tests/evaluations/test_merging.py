"""Values are merged by Ward's criterion."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.evaluations.merging import merge_any_pairs, merge_neighbours
from hypothesis import given, strategies as st

from strategies import examples


def ward(curves, mass, n_cells, floor, neighbours):
    """Ward's criterion by a loop: join the two cells that cost least, until so many are left."""
    cells = [[k] for k in range(len(mass))]

    def mean(cell):
        return sum(mass[k] * curves[k] for k in cell) / sum(mass[k] for k in cell)

    def price(one, two):
        first, second = sum(mass[k] for k in one), sum(mass[k] for k in two)
        return first * second / (first + second) * (np.sum((mean(one) - mean(two)) ** 2) + floor)

    while len(cells) > n_cells:
        pairs = [
            (i, j)
            for i in range(len(cells))
            for j in range(i + 1, len(cells))
            if j == i + 1 or not neighbours
        ]
        i, j = min(pairs, key=lambda pair: price(cells[pair[0]], cells[pair[1]]))
        cells[i] = sorted(cells[i] + cells[j])
        del cells[j]
        cells.sort(key=min)
    found = np.empty(len(mass), dtype=int)
    for number, cell in enumerate(cells):
        found[cell] = number
    return found


@pytest.mark.parametrize("neighbours", [True, False])
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 14), cells=st.integers(1, 14))
@examples(60)
def test_values_are_merged_by_wards_criterion(neighbours, seed, n, cells):
    generator = np.random.default_rng(seed)
    curves = generator.normal(size=(n, 3))
    mass = generator.uniform(0.5, 3.0, size=n)
    floor = float(generator.choice([0.0, 0.1]))
    merge = merge_neighbours if neighbours else merge_any_pairs
    found = merge(curves, mass, cells, floor)
    np.testing.assert_array_equal(found, ward(curves, mass, cells, floor, neighbours))


@pytest.mark.parametrize("merge", [merge_neighbours, merge_any_pairs])
def test_merging_leaves_its_input_alone(merge):
    curves, mass = np.random.default_rng(0).normal(size=(9, 2)), np.ones(9)
    before = curves.copy()
    merge(curves, mass, 3, 0.0)
    np.testing.assert_array_equal(curves, before)
    np.testing.assert_array_equal(mass, 1.0)
