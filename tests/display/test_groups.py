"""GroupsDisplay: what each merge of features removes."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx


def integers(n=700, seed=0):
    return np.random.default_rng(seed).integers(-2, 3, size=(n, 5)).astype(float)


def two_groups(X):
    return X[:, 0] * X[:, 3] + 0.8 * X[:, 1] * X[:, 4] + X[:, 2]


@pytest.fixture(scope="module")
def proposal():
    return gx.propose_groups(two_groups, integers())


def test_a_proposal_is_drawn_merge_by_merge(proposal):
    display = gx.GroupsDisplay.from_proposal(proposal).plot()
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert widths == pytest.approx([100 * merge.removed for merge in proposal.merges])
    labels = [label.get_text().replace("\n", " ") for label in display.ax_.get_yticklabels()]
    assert labels == [" + ".join(merge.features) for merge in proposal.merges]
    ends = [line.get_xdata() for line in display.ax_.lines]
    expected = [[100 - 100 * merge.high, 100 - 100 * merge.low] for merge in proposal.merges]
    np.testing.assert_allclose(ends, expected)
    assert display.frame().equals(proposal.frame())


def test_a_proposal_without_groups_is_drawn_empty():
    nothing = gx.propose_groups(lambda X: X.sum(axis=1), integers(n=200))
    assert not gx.GroupsDisplay.from_proposal(nothing).plot().ax_.patches
