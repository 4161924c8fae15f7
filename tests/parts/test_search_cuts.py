"""Cuts of columns of every kind: which rows go left, which cuts are tried, and what their rules say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from granite_xai.regions import complementary, satisfied
from granite_xai.search.cuts import (
    TIE,
    Axis,
    Cut,
    Cuts,
    evenly,
    first_of_best,
    quantile_codes,
    thresholds_at,
    value_codes,
)
from granite_xai.search.levels import groups_at
from granite_xai.search.thresholds import conditions
from granite_xai.tables import read_table
from parts.by_hand import evaluations_of
from strategies import cases, examples, regions

codes_of_rows = st.lists(st.integers(-1, 6), min_size=2, max_size=30).map(np.array)


def all_cuts(column, places):
    """The cuts that a search tries."""
    codes = column.codes[places]
    if column.kind in ("nominal", "boolean"):
        return groups_at(column, places, (), max_candidates=8)
    return thresholds_at(column.position, value_codes(codes, 8), codes)


@given(codes_of_rows, st.integers(2, 12))
def test_quantile_cuts_are_those_of_the_sorted_rows(codes, max_candidates):
    """``v = sorted[(n - 1) k // B]``, or every value but the largest where there are few (C11)."""
    present = np.sort(codes[codes >= 0])
    distinct = np.unique(present)
    expected = distinct[:-1]
    if len(distinct) >= max_candidates:
        n = len(present)
        chosen = {present[(n - 1) * k // max_candidates] for k in range(1, max_candidates)}
        expected = np.array(sorted(chosen - {present[-1]}))
    if len(present):
        assert quantile_codes(codes, max_candidates).tolist() == expected.tolist()


@given(codes_of_rows, st.integers(1, 4))
def test_cuts_send_rows_left_one_by_one_and_leave_enough_on_both_sides(codes, min_samples):
    options = thresholds_at(0, value_codes(codes, 9), codes)
    cuts = Cuts.of(options, codes, min_samples)
    left = cuts.goes_left()
    for number, cut in enumerate(cuts.options):
        assert left[:, number].tolist() == cut.goes_left(codes).tolist()
    n_left = {option: int(option.goes_left(codes).sum()) for option in options}
    enough = [
        option
        for option in options
        if min(n_left[option], len(codes) - n_left[option]) >= min_samples
    ]
    assert list(cuts.options) == enough
    assert cuts.is_nested == (codes.min() >= 0)


def test_missing_values_stand_alone_then_left_then_right():
    """The order that breaks ties (C14, C15)."""
    codes = np.array([-1, -1, 0, 1, 2])
    assert thresholds_at(3, np.array([0, 1]), codes) == [
        Cut(3, missing_left=True),
        Cut(3, 0, missing_left=True),
        Cut(3, 1, missing_left=True),
        Cut(3, 0),
        Cut(3, 1),
    ]
    alone = thresholds_at(3, np.array([], dtype=int), np.array([-1, 0]))
    assert alone == [Cut(3, missing_left=True)]
    assert alone[0].goes_left(codes).tolist() == [True, True, False, False, False]


@given(data=st.data())
@examples(150)
def test_the_words_of_a_cut_send_the_rows_of_any_node_where_the_cut_sends_them(data):
    """A cut that was found on all rows, applied to some of them: missing values may be alone on either side."""
    case = data.draw(cases(min_rows=2, max_rows=12, max_columns=3, missing=None, levels=8))
    table = read_table(case.X, missing="allow")
    places = np.array(data.draw(regions(case, min_size=2)))
    for column in table.columns:
        for cut in all_cuts(column, np.arange(case.n)):
            inside = cut.goes_left(column.codes[places])
            if inside.any() and not inside.all():
                left, right = conditions(column, cut, places, missing=True)
                assert complementary(left, right)
                assert satisfied(left, column)[places].tolist() == inside.tolist()
                assert satisfied(right, column)[places].tolist() == (~inside).tolist()


def test_as_many_groups_of_levels_as_candidates_are_all_tried():
    """Four levels have seven groupings, and 2³ = 8 candidates pay for all; one against the rest and a line are five."""
    labels = pd.Categorical(list("abcd") * 6)
    frame = pd.DataFrame({"kind": labels, "x": np.arange(24.0)})
    column = read_table(frame, missing="error").columns[0]
    slopes = np.array([1.0, -2.0, 3.0, 0.5])
    x = np.column_stack([labels.codes, frame["x"]]).astype(float)
    outputs = (evaluations_of(lambda x: x[:, 1] * slopes[x[:, 0].astype(int)], x),)
    places = np.arange(24)
    assert len(groups_at(column, places, outputs, 8)) == 7
    tried = [cut.group for cut in groups_at(column, places, outputs, 7)]
    # By slope: b, d, a, c. Beginnings of that line, or what they leave.
    assert tried == [(0,), (1,), (2,), (3,), (0, 2)]


def test_levels_that_act_alike_stand_side_by_side_whatever_the_unit():
    slopes = np.array([3.0, 1.0, -2.0, 2.0, -1.0, 0.0, 4.0, -3.0])
    rows = [(letter, value) for letter in range(8) for value in (-1.0, 0.0, 2.0)]
    x = np.array(rows)
    frame = pd.DataFrame({"kind": pd.Categorical([list("abcdefgh")[int(k)] for k, _ in rows])})
    frame["x"] = x[:, 1]
    column = read_table(frame, missing="error").columns[0]
    by_slope = np.argsort(slopes).tolist()
    for factor in (1e-12, 1.0, 1e12):
        outputs = (
            evaluations_of(lambda x, f=factor: f * x[:, 1] * slopes[x[:, 0].astype(int)], x),
        )
        groups = [cut.group for cut in groups_at(column, np.arange(24), outputs, 20)]
        assert len(groups) == 8 + 5
        for end in range(2, 7):
            beginning = tuple(sorted(by_slope[:end]))
            rest = tuple(sorted(by_slope[end:]))
            assert beginning in groups or rest in groups


def test_rare_levels_share_a_group():
    """The hundred most frequent levels have their own cuts; the others go left or right together (D11)."""
    counts = np.where(np.arange(120) % 6 == 0, 1, 3)
    labels = np.repeat([f"level {number:03}" for number in range(120)], counts)
    column = read_table(pd.DataFrame({"kind": labels}), missing="error").columns[0]
    cuts = groups_at(column, np.arange(len(labels)), (), 40)
    rare = set(np.flatnonzero(counts == 1).tolist())
    assert any(set(cut.group) == rare for cut in cuts)
    for cut in cuts:
        assert rare <= set(cut.group) or not rare & set(cut.group)


def test_of_costs_within_a_tie_the_first_is_best():
    assert first_of_best(np.array([1.0, 0.5 + TIE / 2, 0.5])) == 1
    assert first_of_best(np.array([1.0, 0.5 + 3 * TIE, 0.5])) == 2


def test_evenly_keeps_the_middle_of_equal_parts():
    cuts = [Cut(0, last) for last in range(10)]
    assert [cut.last for cut in evenly(cuts, 2)] == [2, 7]
    assert evenly(cuts, 10) == cuts


@pytest.mark.parametrize("best", [0, 3, 47, 130, 199])
@pytest.mark.parametrize("has_missing", [False, True])
def test_a_cut_is_sharpened_to_the_best_value_next_to_it(best, has_missing):
    """Costs fall towards one value and rise behind it: the best of all values is found from quantiles."""
    codes = np.arange(-1 if has_missing else 0, 201)
    cuts = Cuts.of(thresholds_at(0, quantile_codes(codes, 9), codes), codes)

    def score(cuts):
        cost = np.array([abs(cut.last - best) + 500 * cut.missing_left for cut in cuts.options])
        return cost.astype(float)

    found = Axis.starting_with(cuts, codes, 1).sharpest(score(cuts), score)
    assert found.cut == Cut(0, best)
    assert found.remaining == 0.0


def test_groups_have_nothing_between_them():
    codes = np.array([0, 0, 1, 2, 2])
    cuts = Cuts.of([Cut(0, group=(0,)), Cut(0, group=(1,))], codes)
    found = Axis.starting_with(cuts, codes, 1).sharpest(np.array([2.0, 1.0]), lambda cuts: None)
    assert found.cut == Cut(0, group=(1,))
