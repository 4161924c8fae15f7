"""Where the label of a curve stands: beside it, on no other label and on few points of curves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.report.svg import Box, Frame, Point, text_box

STEP = 8.0  # between places along a curve that labels shall not cover
DROPS = (-9.0, 19.0, -20.0, 30.0)  # of a label below a point of its curve
SHARES_BEFORE = (0.5, 0.2, 0.8)  # of a label that stand left of the point
BADGE = 8.0  # radius of the number of a region, which a label begins with
NEAR_BADGE = 30.0  # from a curve to the badge of its label: no further is as good

# What makes a place worse; the cheapest place is taken.
COVERED_COST = 10.0  # a place of a curve that the label covers
DROP_COST = 0.2  # a unit of distance from its own curve
CROWD_COST = 0.05  # a unit less to the nearest other curve, up to FAR_ENOUGH
FAR_ENOUGH = 60.0
LOW_COST = 0.01  # a unit further down: curves are apart where they are high
FAR_BADGE_COST = 0.3  # a unit of the badge beyond NEAR_BADGE


def along(points: Sequence[Point]) -> list[Point]:
    """Places along a curve, not far from each other."""
    places = list(points[:1])
    for (x0, y0), (x1, y1) in pairwise(points):
        steps = max(1, round(max(abs(x1 - x0), abs(y1 - y0)) / STEP))
        for k in range(1, steps + 1):
            share = k / steps
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
    x, base = places.T
    near = along(points)
    middles = places + np.array([width / 2, 0.0])
    crowd = _distance_to_others(middles, {*points, *near}, all_points)
    badges = places + np.array([BADGE, -4.0])
    away = _nearest(np.array(near), badges, across=2.0)
    cost = COVERED_COST * _covered(places, width, np.array(all_points))
    cost = cost + DROP_COST * np.abs(drops[is_free])
    cost = cost - CROWD_COST * np.minimum(crowd, FAR_ENOUGH) + LOW_COST * base
    cost = cost + FAR_BADGE_COST * np.maximum(away - NEAR_BADGE, 0.0)
    best = int(np.argmin(cost))
    return float(x[best]), float(base[best])


def _places_beside(
    frame: Frame, points: Sequence[Point], width: float
) -> tuple[FloatArray, FloatArray]:
    """Left ends and baselines (places, 2) of labels beside the points of a curve, and their drops (places,)."""
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
        is_free[k] = not any(box.overlaps(other) for other in taken)
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
    places: FloatArray, own: set[Point], all_points: Sequence[Point]
) -> FloatArray:
    """Distance from each place to the nearest point of another curve."""
    others = [point for point in all_points if point not in own]
    if not others:
        return np.full(len(places), np.inf)
    return _nearest(np.array(others), places, across=3.0)


def _nearest(points: FloatArray, places: FloatArray, across: float) -> FloatArray:
    """Distance from each place to the nearest point, where so many units across count as one."""
    sideways = np.abs(points[:, 0] - places[:, :1]) / across  # (places, points)
    upwards = np.abs(points[:, 1] - places[:, 1:])
    return np.asarray((sideways + upwards).min(axis=1))
