"""Room that labels take."""

from __future__ import annotations

from granite_xai.report.text_boxes import Box, places_around, text_box


def test_lines_of_text_overlap_where_they_share_room():
    first = text_box(0.0, 20.0, 50.0)
    assert first.overlaps(text_box(49.0, 22.0, 10.0))
    assert not first.overlaps(text_box(51.0, 20.0, 10.0))
    assert not first.overlaps(text_box(0.0, 40.0, 50.0))


def test_boxes_that_only_touch_do_not_overlap():
    box = Box(0.0, 0.0, 10.0, 10.0)
    assert not box.overlaps(Box(10.0, 0.0, 20.0, 10.0))
    assert not box.overlaps(Box(0.0, 10.0, 10.0, 20.0))
    assert box.overlaps_any([Box(50.0, 50.0, 60.0, 60.0), Box(9.0, 9.0, 11.0, 11.0)])
    assert not box.overlaps_any([])


def test_a_box_holds_points_inside_and_lies_in_a_larger_one():
    box = Box(0.0, 0.0, 10.0, 20.0)
    assert box.holds((5.0, 15.0))
    assert not box.holds((15.0, 5.0))
    assert not box.holds((10.0, 5.0))
    assert box.is_inside(box)
    assert box.is_inside(Box(-1.0, -1.0, 11.0, 21.0))
    assert not box.is_inside(Box(0.0, 0.0, 10.0, 19.0))


def test_texts_around_a_dot_leave_it_free():
    dot = Box(48.0, 48.0, 52.0, 52.0)
    starts = places_around((50.0, 50.0), width=30.0)
    assert len(set(starts)) == 8
    assert starts[0][0] > 50.0  # right of it first
    assert not any(text_box(*start, 30.0).overlaps(dot) for start in starts)
