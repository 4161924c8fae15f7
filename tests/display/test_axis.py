"""Axes of features."""

from __future__ import annotations

from granite_xai.display.axis import round_ticks


def test_ticks_are_round_numbers_inside_the_range():
    assert round_ticks(0.0, 23.0) == [0.0, 5.0, 10.0, 15.0, 20.0]
