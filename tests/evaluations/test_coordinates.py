"""Where rows lie in their columns."""

from __future__ import annotations

import numpy as np
import pandas as pd

from granite_xai.evaluations.coordinates import Coordinates
from granite_xai.tables import read_table

FRAME = pd.DataFrame(
    {
        "x": [5.0, 1.0, np.nan, 1.0],
        "label": pd.Categorical(["b", "a", None, "b"], categories=["a", "b"]),
    }
)


def test_ordered_columns_have_mid_ranks_and_nominal_ones_their_codes():
    found = Coordinates.of(read_table(FRAME, missing="allow"))
    np.testing.assert_array_equal(found.ranks, [[3 / 4, 1.5 / 4, np.nan, 1.5 / 4]])
    np.testing.assert_array_equal(found.levels, [[1, 0, -1, 1]])


def test_units_do_not_matter():
    changed = FRAME.assign(x=np.exp(FRAME["x"]))
    first, second = (
        Coordinates.of(read_table(frame, missing="allow")) for frame in (FRAME, changed)
    )
    np.testing.assert_array_equal(first.ranks, second.ranks)


def test_some_rows_keep_their_coordinates():
    found = Coordinates.of(read_table(FRAME, missing="allow")).restrict(np.array([3, 0]))
    np.testing.assert_array_equal(found.ranks, [[1.5 / 4, 3 / 4]])
    np.testing.assert_array_equal(found.levels, [[1, 1]])
