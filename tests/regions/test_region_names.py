"""Names that users give to regions."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.base.errors import InputError
from granite_xai.regions.region_names import check_region_names


def test_names_are_sorted_by_region_and_have_no_blanks_at_their_ends():
    names = check_region_names({np.int64(2): " night ", 0: "day", 1: "  "}, n_regions=3)
    assert list(names.items()) == [(0, "day"), (2, "night")]
    assert all(type(number) is int for number in names)


@pytest.mark.parametrize(
    ("names", "code", "message"),
    [
        ({3: "night"}, "P02", "regions are numbered 0 to 2"),
        ({-1: "night"}, "P02", "there is no region -1"),
        ({True: "night"}, "P02", "there is no region True"),
        ({"0": "night"}, "P02", "there is no region '0'"),
        ({0: 7}, "P02", "the name of region 0 is 7, not a text"),
        ({0: "night", 2: "night "}, "P03", "two regions would be called 'night'"),
    ],
)
def test_names_that_cannot_be_given(names, code, message):
    with pytest.raises(InputError, match=message) as caught:
        check_region_names(names, n_regions=3)
    assert caught.value.code == code
