"""Places of labels: beside their curve, inside the chart, on no other label, on few curves."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.report import label_places
from granite_xai.report.chart_frame import Frame, Margins
from granite_xai.report.label_places import STEP, free_place, points_along
from granite_xai.report.text_boxes import text_box

FRAME = Frame((358.0, 220.0), Margins(40.0, 10.0, 10.0, 30.0), (0.0, 1.0), (0.0, 1.0))
WIDTH = 60.0


def zigzags(seed, count):
    """Curves that cross each other."""
    rng = np.random.default_rng(seed)
    x = np.linspace(45.0, 340.0, 9)
    return [
        list(zip(x.tolist(), rng.uniform(20, 180, 9).tolist(), strict=True)) for _ in range(count)
    ]


def cost_by_definition(place, drop, points, all_points):
    """What makes a place worse, point by point."""
    x, base = place
    near = points_along(points)
    others = [point for point in all_points if point not in {*points, *near}]
    box = text_box(x, base, WIDTH)
    covered = sum(box.holds(point) for point in all_points)
    crowd = min((abs(px - x - WIDTH / 2) / 3 + abs(py - base) for px, py in others), default=np.inf)
    away = min(abs(px - x - label_places.BADGE_RADIUS) / 2 + abs(py - base + 4) for px, py in near)
    return (
        10 * covered
        + 0.2 * abs(drop)
        - 0.05 * min(crowd, 60)
        + 0.01 * base
        + 0.3 * max(away - 30, 0)
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_place_by_the_definition_is_taken(seed):
    curves = zigzags(seed, count=1 + seed % 4)
    all_points = [point for curve in curves for point in points_along(curve)]
    points = curves[0]
    costs = {}
    for x, y in points:
        for drop in label_places.DROPS:
            for share in label_places.SHARES_BEFORE:
                left = min(max(x - share * WIDTH, FRAME.left + 2), FRAME.width - WIDTH)
                if FRAME.top - 2 <= y + drop <= FRAME.bottom - 4:
                    place = (left, y + drop)
                    costs[place] = cost_by_definition(place, drop, points, all_points)
    assert costs[free_place(FRAME, points, WIDTH, all_points, [])] == min(costs.values())


def test_no_label_stands_on_another_and_all_stay_inside():
    curves = zigzags(7, count=5)
    all_points = [point for curve in curves for point in points_along(curve)]
    taken = []
    for points in curves:
        place = free_place(FRAME, points, WIDTH, all_points, taken)
        box = text_box(*place, WIDTH)
        assert not any(box.overlaps(other) for other in taken)
        assert FRAME.left <= box.left
        assert box.right <= FRAME.width
        taken.append(box)


def test_there_is_no_place_where_every_one_is_taken():
    everything = text_box(0.0, 0.0, 1.0)._replace(left=-1e6, top=-1e6, right=1e6, bottom=1e6)
    points = zigzags(1, count=1)[0]
    assert free_place(FRAME, points, WIDTH, points_along(points), [everything]) is None


def test_places_along_a_curve_are_at_most_a_step_apart():
    points = zigzags(2, count=1)[0]
    places = np.array(points_along(points))
    assert np.abs(np.diff(places, axis=0)).max() <= 1.5 * STEP
    assert set(points) <= set(points_along(points))
