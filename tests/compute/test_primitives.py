"""The sums of the engine, against products with the membership of rows."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.compute import primitives
from granite_xai.compute.primitives import ABSOLUTE, MOMENTS, SQUARE, Families, Pairs, Part, as_part


@pytest.mark.parametrize("seed", range(3))
def test_sums_over_segments_and_over_the_left_side_are_products_with_the_membership(seed):
    """Three columns: nested cuts, groups that are not nested, and one where nested cuts begin again."""
    chance = np.random.default_rng(seed)
    tables = [np.zeros((0, 1), bool), np.tri(4, 5, dtype=bool), chance.random((6, 4)) < 0.5]
    tables.append(
        np.concatenate([np.tri(3, 4, dtype=bool), np.tri(3, 4, dtype=bool) | (np.arange(4) == 3)])
    )
    families = Families(tables)
    segments = np.stack([chance.integers(0, size, size=37) for size in families.sizes])
    segments += families.starts[:-1, None]
    block = chance.normal(size=(37, 11))
    weights = chance.random(37)
    codes = chance.integers(0, 3, size=37)
    member = np.zeros((int(families.starts[-1]), 37))
    for line in segments:
        member[line, np.arange(37)] = 1.0
    by_segment = primitives.segment_sum(block, primitives.order(segments, families))
    np.testing.assert_allclose(by_segment, member @ block, atol=1e-12)
    inside = [
        table[:, line - start]
        for table, line, start in zip(families.left, segments, families.starts, strict=False)
    ]
    found = primitives.left_sums(by_segment, families)
    np.testing.assert_allclose(found, (np.concatenate(inside) @ block).T, atol=1e-12)
    carried = codes[:, None] == np.arange(3)
    found = primitives.segment_share(weights, codes, 3, segments, families)
    np.testing.assert_allclose(found, member @ (carried * weights[:, None]), atol=1e-12)
    lines = chance.random((37, 2))
    found = primitives.line_share(lines, codes, 3)
    np.testing.assert_allclose(found, carried.T @ lines, atol=1e-12)


@pytest.mark.parametrize("both", [(1.0, 0.0), (0.0, -2.0), (0.5, 1.5)])
@pytest.mark.parametrize("columns", [np.arange(9), np.array([3, 1, 8, 0, 2, 2, 5, 7, 4])])
def test_pairs_of_rows_are_read_in_both_orientations(both, columns):
    chance = np.random.default_rng(0)
    E, rows = chance.normal(size=(6, 9)), Pairs(chance.integers(0, 6, size=9), columns)
    references = Pairs(chance.integers(0, 6, size=5), chance.integers(0, 9, size=5))
    wanted = (
        both[0] * E[references.lines][:, rows.columns]
        + both[1] * E[rows.lines][:, references.columns].T
    )
    np.testing.assert_allclose(primitives.pair_block(E, references, rows, *both), wanted)


@pytest.mark.parametrize("mode", [SQUARE, ABSOLUTE, MOMENTS])
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("has_sides", [False, True])
def test_one_region_is_a_split_with_no_row_on_the_right(mode, count, has_sides):
    """With bins and without, entries by index and each row's own."""
    chance = np.random.default_rng(count)
    c, K, U, B = 13, 7, 4, 3
    all_left = np.ones((c, K), dtype=bool)
    parts = [
        Part(
            chance.normal(size=(U, K)),
            chance.normal(size=U),
            chance.random((B, 2, K)),
            chance.integers(0, U, c),
            chance.integers(0, B, c),
        ),
        as_part(chance.normal(size=(c, K))),
    ][:count]
    of_row = chance.normal(size=c)
    of_side = chance.normal(size=(2, K)) if has_sides else None
    weights = chance.random((c, K))
    values = primitives.region_values(of_row, of_side, parts, K)
    np.testing.assert_allclose(values, primitives.row_values(of_row, of_side, parts, all_left))
    zero = np.zeros((2, 2, K))
    wanted = primitives.side_sums(mode, of_row, of_side, parts, all_left, weights, zero)
    np.testing.assert_allclose(primitives.region_sums(mode, values, weights), wanted, atol=1e-12)
