"""Shapes of the charts of one feature."""

from __future__ import annotations

import re

from granite_xai.base.numbers import amount
from granite_xai.report.chart_frame import Margins
from granite_xai.report.effect_charts import as_drawn
from granite_xai.report.effect_shapes import (
    axes,
    curve,
    frame_of,
    ice_band,
    points_of,
    row_bars,
)
from report.cases import effect, panel

MARGINS = Margins(left=10, right=10, top=10, bottom=30)


def drawn_and_frame(one, **entries):
    drawn = as_drawn(effect([one], **entries), 2.0)
    return drawn, frame_of(drawn, (220.0, 140.0), MARGINS, (0.0, 10.0))


def test_points_alone_have_half_a_step_of_room_around_them():
    line, frame = drawn_and_frame(panel(None, [1.0, 2.0, 3.0]))
    assert [point[0] for point in points_of(frame, line["x"], [1.0, 2.0, 3.0])] == [
        10.0,
        110.0,
        210.0,
    ]
    points, frame = drawn_and_frame(panel(None, [1.0, 2.0]), style="points")
    assert [point[0] for point in points_of(frame, points["x"], [1.0, 2.0])] == [60.0, 160.0]


def test_a_curve_is_broken_where_it_has_no_value():
    _, frame = drawn_and_frame(panel(None, [1.0, 2.0, 3.0]))
    points = points_of(frame, [0.0, 1.0, 2.0], [0.0, None, 10.0], shift=5.0)
    assert points == [(15.0, 110.0), None, (215.0, 10.0)]


def test_a_line_has_a_band_and_a_point_of_missing_values():
    one = panel(0, [1.0, 2.0, 7.0], error=[0.5, 0.5, 0.5])
    drawn, frame = drawn_and_frame(one, gone=True)
    band, line, point = curve(frame, drawn, drawn["panels"][0])
    assert 'class="ci r0" d="M10 90L110 80L110 100L10 110Z"' in band
    assert 'class="ln r0" d="M10 100L110 90"' in line
    assert 'class="pt r0" cx="210" cy="40"' in point
    assert len(curve(frame, drawn, drawn["panels"][0], with_intervals=False)) == 2


def test_points_have_bars_and_a_thin_line_where_values_have_an_order():
    one = panel(0, [1.0, 2.0], error=[0.5, 0.0])
    drawn, frame = drawn_and_frame(one, style="dots")
    shapes = curve(frame, drawn, drawn["panels"][0])
    looks = [re.search(r'class="(\w+)', shape)[1] for shape in shapes]
    assert looks == ["conn", "err", "pt", "pt"]
    assert shapes[1].count("M") == 1  # an interval without a height is not drawn
    names, frame = drawn_and_frame(one, style="dots", kind="nominal", named=True)
    looks = [
        re.search(r'class="(\w+)', shape)[1] for shape in curve(frame, names, names["panels"][0])
    ]
    assert looks == ["err", "pt", "pt"]


def test_bars_are_as_long_as_their_rows_and_empty_ones_are_left_out():
    drawn, frame = drawn_and_frame(panel(None, [1.0, 2.0, 3.0]))
    bars = row_bars(frame, drawn, [10, 0, 5], "rall")
    assert re.findall(r"v([\d.]+)", bars) == ["8", "4"]
    assert row_bars(frame, drawn, [0, 0, 0], "rall") == ""


def test_the_band_of_rows_leaves_out_missing_values_of_a_line():
    one = panel(None, [1.0, 2.0, 3.0], low=[0.0, 1.0, 2.0], high=[2.0, 3.0, 4.0])
    drawn, frame = drawn_and_frame(one, gone=True)
    (band,) = ice_band(frame, drawn, drawn["panels"][0])
    assert 'd="M10 90L110 80L110 100L10 110Z"' in band
    dots, frame = drawn_and_frame(one, style="dots")
    assert len(ice_band(frame, dots, dots["panels"][0])) == 3
    without, frame = drawn_and_frame(panel(None, [1.0, 2.0]))
    assert ice_band(frame, without, without["panels"][0]) == []


def test_only_a_chart_with_a_title_names_its_feature():
    drawn, frame = drawn_and_frame(panel(None, [1.0, 2.0, 3.0]), note="logarithmic axis")
    assert ">hr (logarithmic axis)</text>" in "".join(axes(frame, drawn, [5.0], amount, "bikes"))
    small = "".join(axes(frame, drawn, [5.0], amount))
    assert ">hr" not in small
    assert ">5.0</text>" in small


def test_a_cut_name_is_shown_in_full_to_a_pointer():
    one = panel(None, [1.0, 2.0])
    texts = ["a very long name of a level", "b"]
    drawn, frame = drawn_and_frame(one, kind="nominal", named=True, style="points", texts=texts)
    shapes = "".join(axes(frame, drawn, [], amount))
    assert f"<title>{texts[0]}</title>" in shapes
    assert "<title>b</title>" not in shapes
