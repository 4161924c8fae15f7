"""Shapes of constructed curves in words."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.results.feature_curve import FeatureCurve
from granite_xai.results.shapes import shape_of, shapes_differ


def curve(values, positions=None, **options):
    """A curve at 0, 1, 2, … with as many rows at each value."""
    values = np.asarray(values, dtype=float)
    positions = np.arange(float(len(values))) if positions is None else np.asarray(positions)
    options.setdefault("labels", [f"{position:g}" for position in positions])
    options.setdefault("weights", np.full(len(values), 1 / len(values)))
    return FeatureCurve("x", predictions=values, positions=positions, **options)


hours = np.arange(24.0)
rush_hours = 100 * np.exp(-np.square(hours - 8)) + 120 * np.exp(-np.square(hours - 17) / 2)
plateau = np.minimum(hours, 9.0)


@pytest.mark.parametrize(
    ("values", "predicate"),
    [
        (hours, "rises throughout"),
        (-hours, "falls throughout"),
        (plateau, "rises to 9, then levels off"),
        (-plateau[::-1], "is level to 14, then rises"),
        (plateau[::-1], "is level to 14, then falls"),
        (np.where(hours < 12, 0.0, 5.0), "rises between 11 and 12"),
        (rush_hours, "peaks at 8 and 17"),
        (-np.square(hours - 12.0), "is highest from 9 to 15"),
        (np.square(hours - 4.0) + 0 * hours, "is level to 10, then rises"),
        (np.square(hours - 11.5), "is lowest from 8 to 15"),
        (np.where(hours == 12, 1.0, 0.0), "peaks at 12"),
        (np.where(hours == 12, -1.0, 0.0), "is lowest at 12"),
        (np.cos(hours * np.pi / 3), "goes up and down"),
        ([1.0, 4.0], "is higher at 1 than at 0"),
        ([4.0, 1.0], "is higher at 0 than at 1"),
        ([4.0], "is always 0"),
        ([2.0, 2.0, 2.0], "is nearly flat"),
    ],
)
def test_predicates(values, predicate):
    assert shape_of(curve(values)).predicate == predicate


def test_small_wiggles_do_not_hide_a_rise():
    wiggling = hours + 2.0 * (hours % 2)
    assert shape_of(curve(wiggling)).predicate == "rises throughout"


def test_a_wiggle_on_a_hump_is_no_second_peak():
    hump = -np.square(hours - 12.0)
    hump[12] -= 0.2 * np.ptp(hump)
    assert shape_of(curve(hump)).kind == "hump"


def test_a_second_peak_within_its_interval_is_none():
    sure = np.full(24, 1.0)
    unsure = np.full(24, 40.0)
    assert shape_of(curve(rush_hours, errors=sure)).predicate == "peaks at 8 and 17"
    assert shape_of(curve(rush_hours, errors=unsure)).predicate != "peaks at 8 and 17"


def test_flat_depends_on_the_largest_range():
    assert shape_of(curve(hours), largest_range=23 / 0.04).predicate == "is nearly flat"
    assert shape_of(curve(hours), largest_range=23 / 0.06).predicate == "rises throughout"


def test_labels_have_no_order():
    options = {"labels": ["Craft", "Prof", "Sales"], "ordered": False}
    assert shape_of(curve([3.0, 9.0, 5.0], **options)).predicate == (
        "is highest for Prof, lowest for Craft"
    )
    two = {"labels": ["Female", "Male"], "ordered": False}
    assert shape_of(curve([3.0, 9.0], **two)).predicate == "is higher for Male than for Female"


def test_other_numbers_are_about_there():
    positions = np.linspace(0.82, 37.72, 24)
    found = shape_of(curve(plateau, positions, whole=False))
    assert found.predicate == "rises to about 15, then levels off"


def test_the_axis_counts_and_not_the_number_of_values():
    # Nine of ten values lie in the first tenth of the axis, where the curve rises.
    positions = np.append(np.linspace(0.0, 1.0, 18), [4.0, 10.0])
    values = np.append(np.linspace(0.0, 1.0, 18), [1.0, 1.0])
    found = shape_of(curve(values, positions, whole=False))
    assert found.predicate == "rises to about 0.94, then levels off"


def test_a_far_value_of_few_rows_is_no_level_part():
    positions = np.append(np.linspace(0.0, 1.0, 18), 10.0)
    weights = np.append(np.full(18, 0.99 / 18), 0.01)
    values = np.append(np.linspace(0.0, 1.0, 18), 1.0)
    assert shape_of(curve(values, positions, weights=weights)).predicate == "rises throughout"


def test_shapes_differ():
    rising, falling, stronger = curve(hours), curve(-hours), curve(3 * hours)
    early, late = curve(-np.square(hours - 4.0)), curve(-np.square(hours - 19.0))
    flat = curve(0 * hours)

    def differ(one, other):
        largest = max(one.range, other.range)
        return shapes_differ(shape_of(one, largest), one, shape_of(other, largest), other)

    assert differ(rising, falling)
    assert not differ(rising, stronger)
    assert not differ(rising, flat)
    middle, later = curve(-np.square(hours - 9.0)), curve(-np.square(hours - 16.0))
    assert differ(middle, later)
    assert not differ(middle, curve(-np.square(hours - 10.0)))
    assert shape_of(early).kind == "falls"
    assert shape_of(late).kind == "rises"


def test_peaks_that_read_the_same_are_one():
    two_peaks = [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    text = shape_of(
        curve(two_peaks, positions=[10.0, 15.01, 15.02, 15.03, 20.0, 25.0], whole=False)
    ).predicate
    assert text == "peaks at about 15"
