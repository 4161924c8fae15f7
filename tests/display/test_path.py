"""PathDisplay: what trees of fewer regions remove, and what it costs to know."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import granite_xai as gx
from granite_xai.display.path import PathDisplay
from granite_xai.inference.path import Path, PathStep

PATH = Path(
    (
        PathStep(alpha=0.0, regions=4, left=0.1, left_out=0.2),
        PathStep(alpha=0.05, regions=2, left=0.2, left_out=0.26),
        PathStep(alpha=0.4, regions=1, left=1.0, left_out=1.0),
    )
)


def test_what_it_costs_is_said_before_it_begins_where_bars_are_shown(toy, capsys):
    g = gx.Granite(toy.model, max_depth=1, resources=gx.Resources(progress=True)).fit(toy.X)
    capsys.readouterr()
    gx.PathDisplay.from_estimator(g)
    assert "The rows are searched again for the path" in capsys.readouterr().err
    gx.PathDisplay.from_estimator(g)  # known by now
    assert capsys.readouterr().err == ""


def test_lines_show_what_is_removed_and_the_ring_the_smallest_good_tree():
    display = PathDisplay(PATH).plot()
    search, left_out, limit, ring = display.ax_.lines
    np.testing.assert_allclose(search.get_ydata(), [90, 80, 0], atol=1e-12)
    np.testing.assert_allclose(left_out.get_ydata(), [80, 74, 0], atol=1e-12)
    assert limit.get_ydata()[0] == pytest.approx(0.9 * 80)
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (2, pytest.approx(74))
    assert display.ax_.get_ylabel() == "Heterogeneity removed, %"
    assert display.headline_.startswith(
        "2 regions (alpha = 0.05): the smallest tree that keeps 90%"
    )


def test_an_unfitted_estimator_has_no_path():
    with pytest.raises(NotFittedError):
        PathDisplay.from_estimator(gx.Granite(len))
