"""Axes of features on a page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from granite_xai.display.page_axis import MOST_LABELS, PageAxis, page_ticks
from granite_xai.tables import read_table


def axis_of(values, effects=None, points=32):
    """The axis of a column, whose levels have the effects 0, 1, 2, … unless told otherwise."""
    column = read_table(pd.DataFrame({"a": values}), missing="allow").columns[0]
    counts = np.bincount(column.codes + 1, minlength=len(column.levels) + 1).astype(float)
    if effects is None:
        effects = np.arange(len(counts), dtype=float)
    return PageAxis(column, np.asarray(effects), counts, points), counts


def ticks_of(width, small=False, **entries):
    effect = {"named": False, "gone": False, "log": False, "kind": "numeric", **entries}
    return page_ticks(effect, width, small)


def test_names_have_a_tick_each():
    effect = {"x": [0.0, 1.0], "texts": ["no", "yes"], "named": True, "gone": False, "log": False}
    assert page_ticks(effect, 100) == [(0.0, "no", "no"), (1.0, "yes", "yes")]


def test_names_without_room_are_cut_or_left_out():
    names = [f"level number {k}" for k in range(10)]
    x = [float(k) for k in range(10)]
    ticks = ticks_of(300, x=x, texts=names, named=True)
    assert len(ticks) == 10
    assert all(len(tick.text) < len(tick.full_text) for tick in ticks)
    few = ticks_of(60, x=x, texts=names, named=True)
    assert [tick.place for tick in few] == [0.0, 5.0]


@pytest.mark.parametrize(
    ("small", "numbers"), [(False, [0, 20, 40, 60, 80, 100]), (True, [0, 50, 100])]
)
def test_numbers_have_round_ticks(small, numbers):
    x = [float(k) for k in range(101)]
    ticks = ticks_of(600, small, x=x, texts=[str(k) for k in x])
    assert [tick.place for tick in ticks] == numbers


def test_missing_values_have_the_last_tick_and_the_room_beside_it():
    x = [*map(float, range(101)), 108.0]
    texts = [*map(str, range(101)), "missing (9%)"]
    *numbers, last = ticks_of(600, small=True, x=x, texts=texts, gone=True)
    assert last == (108.0, "missing", "missing (9%)")
    assert [tick.place for tick in numbers] == [0.0, 50.0]


def test_a_logarithmic_axis_has_powers_of_ten():
    x = np.geomspace(1.0, 1e4, 30).tolist()
    ticks = ticks_of(600, x=x, texts=[""] * 30, log=True)
    assert [tick.place for tick in ticks] == [1.0, 10.0, 100.0, 1000.0, 10000.0]
    short = np.geomspace(1.0, 50.0, 30).tolist()
    places = [tick.place for tick in ticks_of(600, x=short, texts=[""] * 30, log=True)]
    assert places == [1.0, 3.0, 10.0, 30.0]


def test_dates_that_fit_are_written():
    texts = [f"2020-01-{day:02}" for day in range(1, 31)]
    ticks = ticks_of(260, x=[float(k) for k in range(30)], texts=texts, kind="date")
    assert [tick.text for tick in ticks] == ["2020-01-01", "2020-01-11", "2020-01-21"]


@pytest.mark.parametrize(
    ("n_values", "style"), [(4, "points"), (5, "dots"), (12, "dots"), (13, "line")]
)
def test_many_values_are_a_line(n_values, style):
    axis, _ = axis_of(np.arange(n_values, dtype=float))
    assert axis.style == style
    assert axis.x == list(range(n_values))


def test_a_line_has_both_ends_and_places_where_rows_are():
    values = np.append(np.linspace(0.0, 1.0, 300), np.linspace(1.0, 1.5, 20))
    axis, _ = axis_of(values, points=10)
    assert (axis.x[0], axis.x[-1]) == (0.0, 1.5)
    assert len(axis.x) <= 11
    assert sum(x <= 1.0 for x in axis.x) >= 9


def test_skewed_values_have_a_logarithmic_axis_and_few_far_ones_are_not_drawn():
    skewed, _ = axis_of(np.geomspace(1.0, 1e5, 100))
    assert skewed.log
    assert skewed.note == "logarithmic axis"
    far, _ = axis_of(np.append(np.linspace(-1.0, 1.0, 300), 50.0))
    assert not far.log
    assert max(far.x) <= 1.0
    assert "the largest value is 50" in far.note


def test_labels_stand_by_their_effect_and_rare_ones_together():
    names = [f"n{k:02}" for k in range(MOST_LABELS + 2)]
    values = names + names[2:] + names[2:]  # the first two are rare
    axis, counts = axis_of(values)
    assert axis.texts[0] == names[-1]  # the highest effect
    assert axis.texts[-1] == "2 rare levels"
    assert axis.bars(counts).rows == [3] * MOST_LABELS + [2]


def test_values_at_a_place_are_means_by_rows():
    names = [f"n{k:02}" for k in range(MOST_LABELS + 2)]
    values = [*names, *names[2:], *names[2:], names[1]]  # rare: n00 once, n01 twice
    axis, counts = axis_of(values)
    effects = np.append(0.0, np.arange(len(names)))
    assert axis.means_at_places(effects, np.arange(len(counts)))[-1] == pytest.approx(2 / 3)


def test_missing_values_stand_last_with_their_share():
    axis, counts = axis_of([1.0, 2.0, 3.0, np.nan])
    assert axis.has_missing
    assert axis.x[-1] > 3.0
    assert axis.texts[-1].replace(" ", "") == "missing(25%)"
    assert axis.bars(counts).rows == [1, 1, 1, 1]


def test_ordered_values_are_reached_between_the_ends_of_the_rows():
    axis, _ = axis_of([1.0, 2.0, 3.0, 4.0, 5.0, np.nan])
    counts = np.array([0.0, 0.0, 3.0, 0.0, 2.0, 0.0])
    assert axis.reaches(counts) == [False, True, True, True, False, False]
    labels, _ = axis_of(["a", "b", "c"], effects=[0.0, 3.0, 2.0, 1.0])
    assert labels.reaches(np.array([0.0, 1.0, 0.0, 1.0])) == [True, False, True]


def test_bars_along_a_line_hold_all_rows():
    axis, counts = axis_of(np.linspace(0.0, 1.0, 200), points=20)
    bars = axis.bars(counts)
    assert len(bars.rows) == len(bars.middles) == 30
    assert sum(bars.rows) == 200
