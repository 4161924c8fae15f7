"""PathDisplay: says what it costs before it begins."""

from __future__ import annotations

import granite_xai as gx


def test_what_it_costs_is_said_before_it_begins_where_bars_are_shown(toy, capsys):
    g = gx.Granite(toy.model, max_depth=1, resources=gx.Resources(progress=True)).fit(toy.X)
    capsys.readouterr()
    gx.PathDisplay.from_estimator(g)
    assert "The rows are searched again for the path" in capsys.readouterr().err
    gx.PathDisplay.from_estimator(g)  # known by now
    assert capsys.readouterr().err == ""
