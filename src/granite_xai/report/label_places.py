"""Where the label of a curve stands: beside it, on no other label and on few points of curves.

A label is the number of a region in a disc, its badge, and mostly its rule. Among the places that
cover no other label, the one of the lowest cost is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.report.chart_frame import Frame
from granite_xai.report.svg import Point
from granite_xai.report.text_boxes import Box, text_box

STEP = 8.0  # between places along a curve that labels shall not cover
DROPS = (-9.0, 19.0, -20.0, 30.0)  # from a point of the curve down to the baseline of its label
SHARES_BEFORE = (0.5, 0.2, 0.8)  # of a label that stand left of the point
BADGE_RADIUS = 8.0  # of the disc that a label begins with
BADGE_HEIGHT = 4.0  # of its centre above the baseline
NEAR_BADGE = 30.0  # from a curve to the badge of its label: no further is as good

# What makes a place worse; only the proportions matter.
COVERED_COST = 10.0  # a place of a curve that the label covers
DROP_COST = 0.2  # a unit of distance from its own curve
CROWD_COST = 0.05  # a unit less to the nearest other curve, up to FAR_ENOUGH
FAR_ENOUGH = 60.0
LOW_COST = 0.01  # a unit further down: curves are apart where they are high
FAR_BADGE_COST = 0.3  # a unit of the badge beyond NEAR_BADGE


def points_along(points: Sequence[Point]) -> list[Point]:
    """Places along a curve, about ``STEP`` from each other at most."""
    places = list(points[:1])
    for (x0, y0), (x1, y1) in pairwise(points):
        longest_side = max(abs(x1 - x0), abs(y1 - y0))
        n_steps = max(1, round(longest_side / STEP))
        for step in range(1, n_steps + 1):
            share = step / n_steps
            places.append((x0 + share * (x1 - x0), y0 + share * (y1 - y0)))
    return places


def free_place(
    frame: Frame,
    points: Sequence[Point],
    width: float,
    all_points: Sequence[Point],
    taken: Sequence[Box],
) -> Point | None:
    """The best place of a label beside its curve.

    Places above and below every point of the curve are tried.

    Parameters
    ----------
    frame : Frame
        Of the chart; labels stay inside.
    points : sequence of points
        Of the curve.
    width : float
        Of the label.
    all_points : sequence of points
        Along all curves of the chart, this one among them.
    taken : sequence of boxes
        Of the labels that have their place.

    Returns
    -------
    point or None
        Left end and baseline of the label. None: every place would cover another label.
    """
    places, drops = _places_beside(frame, points, width)
    is_free = _are_free(places, width, frame, taken)
    if not is_free.any():
        return None
    places = places[is_free]
    drops = drops[is_free]
    along_curve = points_along(points)
    of_curve = {*points, *along_curve}
    middles = places + np.array([width / 2, 0.0])
    badges = places + np.array([BADGE_RADIUS, -BADGE_HEIGHT])
    to_other_curves = _distance_to_others(middles, of_curve, all_points)
    badge_to_curve = _nearest(np.array(along_curve), badges, across=2.0)
    cost = COVERED_COST * _covered(places, width, np.array(all_points))
    cost = cost + DROP_COST * np.abs(drops)
    cost = cost - CROWD_COST * np.minimum(to_other_curves, FAR_ENOUGH)
    cost = cost + LOW_COST * places[:, 1]
    cost = cost + FAR_BADGE_COST * np.maximum(badge_to_curve - NEAR_BADGE, 0.0)
    left, baseline = places[int(np.argmin(cost))].tolist()
    return left, baseline


def _places_beside(
    frame: Frame, points: Sequence[Point], width: float
) -> tuple[FloatArray, FloatArray]:
    """Labels above and below the points of a curve.

    Returns
    -------
    places : array of shape (n_places, 2)
        Left end and baseline of each label.
    drops : array of shape (n_places,)
        How far each baseline is below its point.
    """
    x, y = np.array(points).T
    lefts = x[:, None] - np.multiply(SHARES_BEFORE, width)  # (points, shares)
    lefts = np.minimum(np.maximum(lefts, frame.left + 2), frame.width - width)
    bases = y[:, None] + np.array(DROPS)  # (points, drops)
    shape = (len(points), len(DROPS), len(SHARES_BEFORE))
    places = np.stack(
        [
            np.broadcast_to(lefts[:, None, :], shape).ravel(),
            np.broadcast_to(bases[:, :, None], shape).ravel(),
        ],
        axis=1,
    )
    drops = np.broadcast_to(np.array(DROPS)[:, None], shape).ravel()
    return places, drops


def _are_free(places: FloatArray, width: float, frame: Frame, taken: Sequence[Box]) -> BoolArray:
    """Which places lie in the frame and cover no other label."""
    bases = places[:, 1]
    is_free = (frame.top - 2 <= bases) & (bases <= frame.bottom - 4)
    for k in np.flatnonzero(is_free):
        box = text_box(places[k, 0], places[k, 1], width)
        is_free[k] = not box.overlaps_any(taken)
    return is_free


def _covered(places: FloatArray, width: float, all_points: FloatArray) -> FloatArray:
    """How many points each label would cover."""
    at_origin = text_box(0.0, 0.0, width)
    across = all_points[:, 0] - places[:, :1]  # (places, points)
    down = all_points[:, 1] - places[:, 1:]
    is_inside = (at_origin.left < across) & (across < at_origin.right)
    is_inside &= (at_origin.top < down) & (down < at_origin.bottom)
    return np.asarray(is_inside.sum(axis=1), dtype=np.float64)


def _distance_to_others(
    places: FloatArray, of_curve: set[Point], all_points: Sequence[Point]
) -> FloatArray:
    """Distance from each place to the nearest point of another curve."""
    other_points = [point for point in all_points if point not in of_curve]
    if not other_points:
        return np.full(len(places), np.inf)
    return _nearest(np.array(other_points), places, across=3.0)


def _nearest(points: FloatArray, places: FloatArray, across: float) -> FloatArray:
    """Distance from each place to the nearest point, where so many units across count as one."""
    sideways = np.abs(points[:, 0] - places[:, :1]) / across  # (places, points)
    upwards = np.abs(points[:, 1] - places[:, 1:])
    return np.asarray((sideways + upwards).min(axis=1))
