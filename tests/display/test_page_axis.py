"""Axes of features on a page."""

from __future__ import annotations

from granite_xai.display.page_axis import page_ticks


def test_names_have_a_tick_each():
    effect = {"x": [0.0, 1.0], "texts": ["no", "yes"], "named": True, "gone": False, "log": False}
    assert page_ticks(effect, 100) == [(0.0, "no", "no"), (1.0, "yes", "yes")]
