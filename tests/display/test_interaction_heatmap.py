"""Heat maps of influences."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.display.interaction_heatmap import cell_text


def test_a_heat_map_shows_pairs_below_the_diagonal(bike):
    display = gx.InteractionDisplay.from_estimator(
        bike, bike.rows, features=["hr", "temp", "yr"]
    ).plot(kind="heatmap")
    drawn = display.axes_[0].images[0].get_array()
    pairs = display.frame()
    everywhere = pairs[pairs["region"].isna()].set_index(["first", "second"])["value"]
    assert drawn[1, 0] == pytest.approx(everywhere["hr", "temp"])
    assert drawn[0, 0] == pytest.approx(everywhere["hr", "hr"])
    assert np.isnan(drawn.filled(np.nan)[0, 1])


@pytest.mark.parametrize(
    ("value", "top", "text"),
    [
        (1234.0, 2000.0, "1.2k"),
        (0.001, 1.0, ""),
        (0.123, 1.0, "0.12"),
        (-123.4, 200.0, "-123"),
        (2.5e8, 3e8, "250M"),
    ],
)
def test_a_number_in_a_cell_is_short(value, top, text):
    assert cell_text(value, top) == text


def test_numbers_are_written_where_there_is_room_for_them(bike):
    display = gx.InteractionDisplay.from_estimator(bike, bike.rows, features=["hr", "temp"])
    (panel, *_) = display.plot(kind="heatmap").axes_
    texts = {tuple(text.get_position()): text.get_text() for text in panel.texts}
    assert set(texts) == {(0, 0), (0, 1), (1, 1)}
    values = display.matrices[0]
    largest = np.abs(display.matrices).max()
    assert texts[0, 1] == cell_text(values[1, 0], largest)
