"""Costs that are the same."""

from __future__ import annotations

import numpy as np
from granite_xai.search.ties import ROUNDING, TIE, first_of_best, rounded
from hypothesis import given, strategies as st

from granite_xai.inference import path


@given(
    scores=st.lists(
        st.sampled_from([0.0, 0.5, 0.5 + 4e-11, 0.5 + 3e-10, 1.0]), min_size=1, max_size=6
    )
)
def test_C15_of_scores_within_the_tolerance_the_first_counts(scores):
    assert first_of_best(np.array(scores)) == next(
        k for k, score in enumerate(scores) if score - min(scores) < 1e-10
    )


def test_the_order_of_sums_is_no_difference():
    numbers = [0.1, 0.2, 0.3]
    assert sum(numbers) != sum(reversed(numbers))
    assert rounded(sum(numbers)) == rounded(sum(reversed(numbers)))
    assert rounded(0.5) != rounded(0.5 + 2 * ROUNDING)
    assert first_of_best(np.array([0.5 + 2 * ROUNDING, 0.5]), ROUNDING) == 1
    assert first_of_best(np.array([0.5 + 2 * ROUNDING, 0.5])) == 0


def test_pruning_and_the_path_have_the_same_ties():
    """C3: the trees of ``path_`` are those that the search prunes to."""
    assert TIE == path.TIE == 1e-10
