"""Products of rows in blocks: which sets stand together, and that blocks change no figure."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.search.candidates import cuts_of

from granite_xai.search import product_blocks as module, tables
from granite_xai.search.tables import region_tables
from problems import options_of, problem_of, random_model, random_table


def two_questions():
    generator = np.random.default_rng(2)
    X = random_table(generator)
    return X, problem_of(random_model(generator), X, ["ice-pdp", "mplot-pdp"])


@pytest.mark.parametrize("width", [1, 40, 10_000])
def test_sets_are_divided_into_blocks_without_a_difference(monkeypatch, width):
    """Few sets in a block or all: the same tables, also where some sets are left out."""
    X, problem = two_questions()
    rows = np.flatnonzero(X[:, 0] > -1)
    cuts = [cuts_of(group, problem.table, rows)[0] for group in options_of(problem, rows)]
    wanted = region_tables(problem, 3).of_node(rows).sides(cuts)
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", width)
    monkeypatch.setattr(tables, "PARTS_AT_ONCE", width)
    found = region_tables(problem, 3).of_node(rows).sides(cuts)
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_sets_with_bins_stand_alone_and_the_others_side_by_side():
    _, problem = two_questions()
    sets = region_tables(problem, 3).sets
    blocks = module.product_blocks(sets)
    with_bins = [block for block in blocks if block.bins is not None]
    (joint,) = (block for block in blocks if block.bins is None)
    n_with_bins = sum(entry.statistics.bins is not None for entry in sets)
    assert len(with_bins) == n_with_bins > 0
    assert sum(stack.n_sets for stack in joint.stacks) == len(sets) - n_with_bins
    assert joint.products.shape[1] == sum(stack.width for stack in joint.stacks)


def test_pieces_hold_all_products_in_their_order():
    _, problem = two_questions()
    (joint,) = (b for b in module.product_blocks(region_tables(problem, 3).sets) if b.bins is None)
    largest = max(stack.n_products for stack in joint.stacks)
    for most in (1, largest, 2 * largest, 10**6):
        n_products = 0
        n_sets_in_all = 0
        for stacks, first in joint.pieces(most):
            assert first == n_products
            n_products += sum(stack.width for stack in stacks)
            n_sets = sum(stack.n_sets for stack in stacks)
            n_sets_in_all += n_sets
            assert n_products - first <= most or n_sets == 1
        assert n_products == joint.products.shape[1]
        assert n_sets_in_all == sum(stack.n_sets for stack in joint.stacks)


def test_only_the_wanted_sets_stay():
    _, problem = two_questions()
    (joint,) = (b for b in module.product_blocks(region_tables(problem, 3).sets) if b.bins is None)
    all_gaps = joint.pair_gaps()
    is_wanted = [np.arange(len(gaps)) % 2 == 0 for gaps in all_gaps]
    fewer = joint.with_sets(is_wanted)
    for gaps, wanted, found in zip(all_gaps, is_wanted, fewer.pair_gaps(), strict=True):
        np.testing.assert_allclose(found, gaps[wanted])
    assert joint.with_sets([np.zeros(len(gaps), dtype=bool) for gaps in all_gaps]) is None
    assert joint.with_sets([np.ones(len(gaps), dtype=bool) for gaps in all_gaps]) is joint
