"""Predictions of pairs: what rows show and what they take from references."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.pairs import hybrid_predictions

from engine.known_rows import ALL, FEW, KNOWN, MANY, hybrid


@pytest.mark.parametrize("visible", [FEW, ALL - FEW, MANY, ALL - MANY], ids=str)
def test_rows_show_a_set_or_take_it_from_the_references(visible):
    matrix, is_shown = KNOWN.stored(visible)
    references = np.array([3, 0, 9])
    rows = np.array([5, 2])
    found = hybrid_predictions(
        matrix,
        matrix.pairs.at(references),
        matrix.pairs.at(rows),
        is_shown=is_shown,
        coefficient=-0.5,
    )
    wanted = [[-0.5 * hybrid(visible, n, m) for n in rows] for m in references]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
