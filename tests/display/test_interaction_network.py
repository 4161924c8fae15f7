"""Networks of influences."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from granite_xai.display.interaction_network import (
    LARGEST_DISC,
    WIDEST_LINE,
    LargestInfluences,
    draw_network,
)
from granite_xai.document.chart import BLUE, ORANGE


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_area_and_width_are_proportional_to_the_influence(ax):
    matrix = np.array([[2.0, 1.0, -0.5], [1.0, 4.0, 0.0], [-0.5, 0.0, 0.0]])
    draw_network(ax, ["a", "b", "c"], matrix, LargestInfluences(alone=4.0, together=2.0))
    widths = [line.get_linewidth() for line in ax.lines]
    assert widths == pytest.approx([WIDEST_LINE / 2, WIDEST_LINE / 4, 0.0])
    assert [line.get_color() for line in ax.lines] == [BLUE, ORANGE, BLUE]
    areas = ax.collections[0].get_sizes()
    assert areas == pytest.approx([LARGEST_DISC / 2, LARGEST_DISC, 0.0])
    assert [text.get_text() for text in ax.texts] == ["a", "b", "c"]


def test_features_stand_on_a_circle_from_the_top_clockwise(ax):
    draw_network(ax, list("abcd"), np.eye(4), LargestInfluences(alone=1.0, together=1.0))
    places = ax.collections[0].get_offsets()
    np.testing.assert_allclose(places, [[0, 1], [1, 0], [0, -1], [-1, 0]], atol=1e-12)
    aligned = [(text.get_ha(), text.get_va()) for text in ax.texts]
    assert aligned == [
        ("center", "bottom"),
        ("left", "center"),
        ("center", "top"),
        ("right", "center"),
    ]
