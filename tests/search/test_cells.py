"""Sums over the parts that cuts make, against loops over rows."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.search.candidates import cuts_of
from granite_xai.search.cells import (
    LEFT,
    RIGHT,
    CellMembership,
    Quarters,
    Sides,
    quarter_batches,
    side_batches,
)

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
    batches = [
        Sides([first, first]),
        Sides([second]),
        Quarters([(first, second)]),
        Quarters([(second, first), (second, first)], RIGHT),
        Quarters([(first, first)], LEFT),
    ]
    membership = CellMembership(batches)
    found = membership.by_part(membership.by_cell(products, bins, n_bins))
    assert found.shape == (sum(batch.n_parts for batch in batches), n_bins * 3)
    ends = np.cumsum([batch.n_parts for batch in batches])
    for batch, sums in zip(batches, np.split(found, ends[:-1]), strict=True):
        for cuts, numbers in zip(cuts_of_tables(batch), tables_of(batch), strict=True):
            for place in np.ndindex(numbers.shape):
                inside = members(cuts, getattr(batch, "upper_side", None), place)
                for bin_number in range(n_bins):
                    in_bin = inside if bins is None else inside & (bins == bin_number)
                    of_bin = sums[numbers[place]].reshape(n_bins, 3)[bin_number]
                    np.testing.assert_allclose(of_bin, products[in_bin].sum(axis=0), atol=1e-12)


def cuts_of_tables(batch):
    """The columns of each table of a batch."""
    return [(cut,) for cut in batch.cuts] if isinstance(batch, Sides) else batch.pairs


def tables_of(batch):
    """Numbers of the parts of a batch where its tables have them."""
    return batch.tables(np.arange(batch.n_parts))


def members(cuts, upper_side, place):
    """Rows of the part that stands at this place of the table of one column or two."""
    quarter, *numbers = place
    if len(cuts) == 1:
        return goes(cuts[0], numbers[0], quarter)
    upper = quarter // 2 if upper_side is None else upper_side
    lower = quarter % 2
    return goes(cuts[0], numbers[0], upper) & goes(cuts[1], numbers[1], lower)


@pytest.mark.parametrize("most_parts", [1, 100, 10**6])
def test_pairs_are_batched_with_others_of_the_same_tables_of_classes(most_parts):
    first, second = two_cuts()
    pairs = [(first, second), (first, first), (first, second), (second, first)]
    batches = quarter_batches(pairs, most_parts)
    positions = [position for _, some in batches for position in some]
    assert sorted(positions) == [0, 1, 2, 3]
    for batch, some in batches:
        assert [pairs[position] for position in some] == list(batch.pairs)
        assert len(some) == 1 or batch.n_parts <= most_parts
    assert len(batches) == (3 if most_parts == 10**6 else 4)
    alone = side_batches([first, second, first], most_parts)
    assert [some for _, some in alone] == ([[0], [2], [1]] if most_parts == 1 else [[0, 2], [1]])
