"""Labels beside the curves of a chart."""

from __future__ import annotations

import re

from granite_xai.report.chart_frame import Frame, Margins
from granite_xai.report.curve_labels import MOST_RULES, LabelledCurve, curve_labels
from granite_xai.report.text_boxes import LETTER_WIDTH, text_box


def frame_of(width=400.0, height=300.0):
    margins = Margins(left=40, right=30, top=24, bottom=44)
    return Frame((width, height), margins, x=(0.0, 1.0), y=(0.0, 1.0))


def flat(region, height, left=60.0, right=340.0):
    return LabelledCurve(region, [(left, height), ((left + right) / 2, height), (right, height)])


def places(shapes):
    """Place of the first text of each label."""
    found = [
        re.search(r'<text class="h[^"]*" x="([\d.]+)" y="([\d.]+)"', shape) for shape in shapes
    ]
    return [(float(match[1]), float(match[2])) for match in found]


def test_a_label_stands_beside_its_own_curve():
    curves = [flat(None, 60.0), flat(0, 150.0), flat(1, 240.0)]
    shapes = curve_labels(frame_of(), curves, ["first rule", "second rule"], is_joined=True)
    numbers = [re.search(r'data-r="(\w+)"', shape)[1] for shape in shapes]
    assert numbers == ["1", "0", "all"]
    for (_, y), height in zip(places(shapes), (240.0, 150.0, 60.0), strict=True):
        assert abs(y - height) <= 30.0


def test_labels_cover_neither_each_other_nor_a_curve():
    curves = [flat(None, 100.0), flat(0, 104.0), flat(1, 112.0)]
    shapes = curve_labels(frame_of(), curves, ["one", "two"], is_joined=True)
    boxes = [text_box(x, y, 3 * LETTER_WIDTH) for x, y in places(shapes)]
    for number, box in enumerate(boxes):
        assert not box.overlaps_any(boxes[number + 1 :])
        assert not any(box.holds((x, 104.0)) for x in range(60, 340, 8))


def test_many_regions_have_numbers_only():
    rules = [f"rule {number}" for number in range(MOST_RULES + 1)]
    many = [flat(None, 40.0)] + [flat(k, 60.0 + 25.0 * k) for k in range(MOST_RULES + 1)]
    assert "rule" not in "".join(curve_labels(frame_of(), many, rules, is_joined=True))
    few = many[:-1]
    assert "rule 0" in "".join(curve_labels(frame_of(), few, rules, is_joined=True))


def test_a_curve_without_room_or_points_has_no_label():
    assert curve_labels(frame_of(), [LabelledCurve(0, [])], ["rule"], is_joined=True) == []
    # So low a chart has no place for a baseline above or below the curve.
    assert curve_labels(frame_of(height=72.0), [flat(0, 26.0)], ["rule"], is_joined=True) == []


def test_a_label_is_not_drawn_over_a_line_between_two_points():
    """The line crosses the middle, where neither end has a point."""
    steep = LabelledCurve(0, [(60.0, 250.0), (340.0, 40.0)])
    level = LabelledCurve(1, [(60.0, 40.0), (340.0, 250.0)])
    shapes = curve_labels(frame_of(), [steep, level], ["a rule", "another"], is_joined=True)
    along = [(60.0 + 280.0 * k / 40, 250.0 - 210.0 * k / 40) for k in range(41)]
    for x, y in places(shapes):
        box = text_box(x - 8.0, y, 10 * LETTER_WIDTH)
        assert sum(box.holds(point) for point in along) <= 2
