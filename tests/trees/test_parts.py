"""What models that are sums of parts have in common."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.trees.links import identity, opposite
from granite_xai.trees.parts import SumOfParts


@pytest.mark.parametrize(
    ("link", "is_sum"), [(identity, True), (opposite, True), (lambda sums: np.exp(sums[0]), False)]
)
def test_attributions_add_up_only_without_a_link(link, is_sum):
    assert SumOfParts(link=link, n_leaves=1, n_sums=1, reach=1.0).is_sum is is_sum
