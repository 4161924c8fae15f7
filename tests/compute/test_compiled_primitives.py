"""Compiled primitives: any number of parts, any layout. That they equal NumPy's is in `test_primitives`."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.compute.compiled import available
from granite_xai.compute.compiled_primitives import COMPILED
from granite_xai.compute.primitives import MOMENTS, NUMPY, Pairs, as_part

pytestmark = pytest.mark.skipif(not available(), reason="could not import 'numba'")


@pytest.mark.parametrize("n_parts", range(5))
def test_side_sums_take_any_number_of_parts(n_parts):
    chance = np.random.default_rng(n_parts)
    inside = chance.random((6, 3)) < 0.5
    parts = [as_part(NUMPY, chance.normal(size=(6, 3))) for _ in range(n_parts)]
    of_row = chance.normal(size=6)
    weights = chance.random((6, 1))
    sums = [
        primitives.side_sums(MOMENTS, of_row, None, parts, inside, weights, np.zeros((2, 2, 3)))
        for primitives in (NUMPY, COMPILED)
    ]
    np.testing.assert_allclose(sums[1], sums[0], atol=1e-13)


def test_a_matrix_of_any_layout_is_read_right():
    E = np.arange(12.0).reshape(3, 4)
    rows = Pairs(lines=np.array([0, 2]), columns=np.array([1, 3]))
    plain = COMPILED.pair_block(E, rows, rows, 1.0, 1.0)
    turned = COMPILED.pair_block(np.asfortranarray(E), rows, rows, 1.0, 1.0)
    assert plain.tolist() == turned.tolist() == [[2.0, 12.0], [12.0, 22.0]]
