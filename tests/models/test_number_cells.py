"""Cells as numbers: truth values, missing cells, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from granite_xai.base.errors import InputError
from granite_xai.models.kinds import number_matrix


def test_truth_values_are_0_and_1_and_missing_cells_are_nan():
    frame = pd.DataFrame({"a": [1.5, None], "b": [True, False]})
    np.testing.assert_array_equal(number_matrix(frame, "it"), [[1.5, 1.0], [np.nan, 0.0]])


def test_an_array_of_numbers_keeps_its_type():
    assert number_matrix(np.ones((2, 3), dtype=np.float32), "it").dtype == np.float32


def test_M14_a_column_of_text_is_named_with_its_reader():
    with pytest.raises(InputError, match="the net takes numbers") as caught:
        number_matrix(pd.DataFrame({"a": [1.0], "t": ["x"]}), "the net")
    assert caught.value.code == "M14"
    assert caught.value.columns == ("t",)
