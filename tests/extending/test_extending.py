"""Every program of the page on extending runs, and does what the page says."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from extending.display import ShareDisplay
from extending.partitioner import Quarters
from extending.question import pfi_sage


@pytest.fixture(scope="module")
def toy() -> gx.datasets.Toy:
    return gx.datasets.make_toy(n=120)


def test_a_partitioner_of_ones_own_finds_its_regions(toy):
    g = gx.Granite(toy.model, "ice-pdp", partitioner=Quarters("x1")).fit(toy.X)
    assert len(g.partition_) == 4
    assert [region.n_samples for region in g.partition_] == [30, 30, 30, 30]
    assert np.isclose(sum(region.disagreement for region in g.partition_), g.remaining_)
    assert np.array_equal(np.bincount(g.apply(toy.X)), [30, 30, 30, 30])


def test_a_display_of_ones_own_shows_what_its_frame_holds(toy):
    g = gx.Granite(toy.model, "ice-pdp", partitioner=Quarters("x1")).fit(toy.X)
    display = ShareDisplay.from_estimator(g, toy.X).plot()
    frame = display.frame()
    assert np.isclose(frame["fraction"].sum(), 1.0)
    assert np.isclose(frame["left"].sum(), 1.0)
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert np.allclose(widths, [*frame["fraction"], *frame["left"]])
    display.figure_.clear()


def test_a_question_of_ones_own_is_asked_like_a_named_one(toy):
    y = toy.model(toy.X)
    g = gx.Granite(toy.model, pfi_sage, max_depth=1).fit(toy.X, y)
    assert list(g.disagreements_) == ["pfi-sage"]
    assert g.remaining_ < 1.0
