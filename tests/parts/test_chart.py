"""The axis of a feature in charts: places, texts, ticks, bars; and the palette."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from granite_xai.document.chart import (
    MOST_LABELS,
    FeatureAxis,
    date_ticks,
)
from granite_xai.tables import read_table


def axis_of(values, effects=None, points=32):
    """The axis of a column, whose levels have the effects 0, 1, 2, … unless told otherwise."""
    column = read_table(pd.DataFrame({"a": values}), missing="allow").columns[0]
    counts = np.bincount(column.codes + 1, minlength=len(column.levels) + 1).astype(float)
    if effects is None:
        effects = np.arange(len(counts), dtype=float)
    return FeatureAxis(column, "", counts, np.asarray(effects), points), counts


def shares_of_rows(axis, counts):
    """Heights of the bars, as numbers of rows."""
    return (axis.bars(counts).y * counts.sum()).round(9).tolist()


def ticks_of(values, letters, few=False):
    return axis_of(values)[0].ticks(letters, few)


def test_names_have_a_tick_each():
    axis = FeatureAxis(read_table(pd.DataFrame({"a": ["no", "yes"]}), missing="allow").columns[0])
    assert axis.ticks(20) == [(0.0, "no", "no"), (1.0, "yes", "yes")]


def test_names_without_room_are_cut_where_they_are_alike_or_left_out():
    names = [f"level number {k}" for k in range(10)]
    ticks = ticks_of(names, 60)
    assert len({tick.text for tick in ticks}) == 10
    assert all(tick.text.endswith(tick.full_text[-1]) for tick in ticks)
    assert all(len(tick.text) < len(tick.full_text) for tick in ticks)
    assert [tick.place for tick in ticks_of(names, 9)] == [0.0, 5.0]


@pytest.mark.parametrize(
    ("few", "numbers"), [(False, [0, 20, 40, 60, 80, 100]), (True, [0, 50, 100])]
)
def test_numbers_have_round_ticks(few, numbers):
    assert [tick.place for tick in ticks_of(np.arange(101.0), 90, few)] == numbers


def test_large_numbers_are_written_out_and_negative_ones_have_a_minus_sign():
    texts = [tick.text for tick in ticks_of(np.linspace(-2e6, 2e6, 50), 90)]
    assert texts == ["−2000000", "−1000000", "0", "1000000", "2000000"]
    assert [tick.text for tick in ticks_of([-1.0, 0.0, 1.0], 90)] == ["−1", "0", "1"]


def test_missing_values_have_the_last_tick_and_the_room_beside_it():
    *numbers, last = ticks_of(np.append(np.arange(101.0), np.nan), 23, few=True)
    assert (last.text, last.place) == ("missing", 108.0)
    assert last.full_text.startswith("missing (")
    assert [tick.place for tick in numbers] == [0.0, 50.0]


def test_a_logarithmic_axis_has_powers_of_ten():
    ticks = ticks_of(np.geomspace(1.0, 1e4, 30), 90)
    assert [tick.place for tick in ticks] == [1.0, 10.0, 100.0, 1000.0, 10000.0]
    short = np.append(np.geomspace(1.0, 2.0, 60), np.geomspace(2.0, 50.0, 20))
    assert [tick.place for tick in ticks_of(short, 90)] == [1.0, 3.0, 10.0, 30.0]


@pytest.mark.parametrize(
    ("first", "days", "letters", "texts"),
    [
        ("2020-01-01", 800, 25, ["2020", "2021", "2022"]),
        ("2020-01-15", 100, 40, ["2020-02", "2020-03", "2020-04"]),
        ("2020-01-01", 1, 30, ["01-01 00:00", "01-01 12:00", "01-02 00:00"]),
        ("1950-01-01", 30_000, 30, ["1960", "1980", "2000", "2020"]),
    ],
)
def test_dates_are_round(first, days, letters, texts):
    low = float(np.datetime64(first).astype("M8[D]").astype(int))
    ticks = date_ticks(low, low + days, letters)
    assert [tick.text for tick in ticks] == texts
    assert all(low <= tick.place <= low + days for tick in ticks)


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
    assert shares_of_rows(axis, counts) == [3] * MOST_LABELS + [2]


def test_values_at_a_place_are_means_by_rows():
    names = [f"n{k:02}" for k in range(MOST_LABELS + 2)]
    values = [*names, *names[2:], *names[2:], names[1]]  # rare: n00 once, n01 twice
    axis, _ = axis_of(values)
    effects = np.append(0.0, np.arange(len(names)))
    assert axis.at_places(effects)[-1] == pytest.approx(2 / 3)


def test_missing_values_stand_last_with_their_share():
    axis, counts = axis_of([1.0, 2.0, 3.0, np.nan])
    assert axis.has_missing
    assert axis.x[-1] > 3.0
    assert axis.texts[-1].replace(" ", "") == "missing(25%)"
    assert shares_of_rows(axis, counts) == [1, 1, 1, 1]


def test_ordered_values_are_reached_between_the_ends_of_the_rows():
    axis, _ = axis_of([1.0, 2.0, 3.0, 4.0, 5.0, np.nan])
    counts = np.array([0.0, 0.0, 3.0, 0.0, 2.0, 0.0])
    assert axis.reaches(counts) == [False, True, True, True, False, False]
    labels, _ = axis_of(["a", "b", "c"], effects=[0.0, 3.0, 2.0, 1.0])
    assert labels.reaches(np.array([0.0, 1.0, 0.0, 1.0])) == [True, False, True]


def test_bars_along_a_line_hold_all_rows():
    axis, counts = axis_of(np.linspace(0.0, 1.0, 200), points=20)
    bars = axis.bars(counts)
    assert len(bars.y) == len(bars.middles) == 30
    assert sum(bars.y) == pytest.approx(1.0)


def test_names_keep_their_order_and_place_in_any_part_of_the_table():
    names = [f"n{k:02}" for k in range(MOST_LABELS + 2)]
    table = read_table(pd.DataFrame({"a": names + names[2:] + names[2:]}), missing="allow")
    axis = FeatureAxis(table.columns[0])
    assert axis.texts[:2] == ["n02", "n03"]
    part = table.columns[0].take(np.array([5, 0, 1]))
    assert axis.of_rows(part).tolist() == [3.0, MOST_LABELS, MOST_LABELS]
    assert axis.names(part.levels) == ["2 rare levels", "2 rare levels", "n05"]


def test_many_ordinal_levels_share_places_with_their_neighbours():
    names = [f"n{k:02}" for k in range(50)]
    values = pd.Series(pd.Categorical(names * 2, names, ordered=True))
    axis = FeatureAxis(read_table(pd.DataFrame({"a": values}), missing="allow").columns[0])
    assert len(axis.x) <= 32
    assert np.concatenate(axis.groups).tolist() == list(range(50))
    assert sum(axis.bars().y) == pytest.approx(1.0)


def test_bars_of_whole_numbers_do_not_lie_on_each_other():
    axis, _ = axis_of(np.repeat(np.arange(24.0), 3))
    bars = axis.bars()
    assert bars.y.tolist() == [1 / 24] * 24
    assert (bars.x[1:] > bars.end[:-1]).all()


@pytest.mark.parametrize("values", [[np.nan, np.nan, 1.0], [np.nan, 1.0, 2.0]])
def test_missing_values_stand_apart_from_few_values(values):
    axis, _ = axis_of(values)
    assert axis.missing_place >= max(axis.x[:-1]) + 1.0 - 1e-9
    assert axis.drawn_limits[1] > axis.missing_place


@pytest.mark.parametrize(
    "values",
    [
        np.ones(5),
        np.full(5, np.nan),
        np.append(np.ones(5), np.nan),
        np.append(np.exp(np.linspace(-15, 12, 200)), np.nan),
        np.geomspace(1e-300, 1e300, 50),
        np.array([None, None, "x"], dtype=object),
        pd.to_datetime(["2020-01-01", None, "2020-03-01"]),
        pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(40), unit="ms"),
        pd.to_timedelta(np.arange(40), unit="m"),
    ],
)
def test_any_feature_has_places_and_ticks_inside_its_axis(values):
    column = read_table(pd.DataFrame({"a": values}), missing="allow").columns[0]
    axis = FeatureAxis(column)
    low, high = axis.drawn_limits
    assert low < high
    assert axis.bars().y.sum() == pytest.approx(1.0)
    for letters in (10, 40, 90):
        ticks = axis.ticks(letters)
        assert ticks
        assert all(low <= tick.place <= high for tick in ticks)
        assert len(ticks) <= max(letters / 3, 4)
    assert len(axis.at_places(np.zeros(len(axis.counts)))) == len(axis.x)
