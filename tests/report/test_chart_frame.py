"""Where values lie in a chart."""

from __future__ import annotations

import pytest

from granite_xai.report.chart_frame import Frame, Margins

MARGINS = Margins(left=10, right=20, top=5, bottom=15)


def test_values_lie_between_the_margins_and_heights_grow_upwards():
    frame = Frame((130.0, 70.0), MARGINS, x=(0.0, 10.0), y=(0.0, 1.0))
    assert [frame.x(value) for value in (0.0, 5.0, 10.0)] == [10.0, 60.0, 110.0]
    assert [frame.y(value) for value in (0.0, 0.5, 1.0)] == [55.0, 30.0, 5.0]


def test_values_beyond_the_limits_lie_at_the_edge():
    frame = Frame((130.0, 70.0), MARGINS, x=(0.0, 10.0), y=(0.0, 1.0))
    assert (frame.x(-3.0), frame.x(99.0)) == (10.0, 110.0)


def test_a_logarithmic_axis_has_powers_at_equal_distances():
    frame = Frame((130.0, 70.0), MARGINS, x=(1.0, 100.0), y=(0.0, 1.0), log=True)
    assert frame.x(10.0) == pytest.approx(60.0)


def test_one_value_lies_at_the_first_edge():
    frame = Frame((130.0, 70.0), MARGINS, x=(4.0, 4.0), y=(0.0, 1.0))
    assert frame.x(4.0) == 10.0


def test_a_grid_line_crosses_the_plot():
    frame = Frame((130.0, 70.0), MARGINS, x=(0.0, 10.0), y=(0.0, 1.0))
    assert frame.grid_line(0.5) == '<path class="grid" d="M10 30L110 30"></path>'
