"""Groups of rows put into rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.partitioners.description import description_accuracy, local_explainer
from strategies import examples


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 3), st.sampled_from([0.5, 1.0, 2.5])),
        min_size=1,
        max_size=9,
    )
)
@examples(60)
def test_accuracy_is_the_share_of_rows_with_the_label_of_their_region(cells):
    regions, labels, weights = (np.array(part) for part in zip(*cells, strict=True))
    right = 0.0
    for region in set(regions.tolist()):
        inside = [(label, weight) for place, label, weight in cells if place == region]
        right += max(math.fsum(w for label, w in inside if label == one) for one, _ in inside)
    assert description_accuracy(regions, labels, weights) == pytest.approx(right / weights.sum())


def test_an_explanation_of_all_rows_cannot_tell_rows_apart():
    assert local_explainer("shap", "on").behavior.per_row
    with pytest.raises(gx.InputError, match="on has risk behavior"):
        local_explainer("pfi", "on")
