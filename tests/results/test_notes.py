"""Notes on what to know before relying on regions."""

from __future__ import annotations

import math

import pytest

from granite_xai.fitting.stability import SplitStability, Stability
from granite_xai.regions import Leaf, Partition, Rule, Split, cut
from granite_xai.results.notes import doubts_of, notes_of, rival_note


def tree(n_left=200, n_right=300):
    left, right = cut(6.0)
    total = n_left + n_right
    leaves = (Leaf(n_left, n_left / total, 0.1), Leaf(n_right, n_right / total, 0.1))
    return Split("hr", left, right, leaves, total, 1.0, 1.0)


def partition(**sizes):
    return Partition(tree(**sizes), ("hr", "yr", "temp"))


def record(**changes):
    usual = {"gain": 0.5, "plateau": 0.0, "between": [], "second": None, "behind": None}
    return {**usual, **changes}


def notes(splits=(), warnings=(), **sizes):
    diagnostics = {"splits": list(splits), "warnings": list(warnings)}
    return list(notes_of(partition(**sizes), diagnostics, {}))


def test_clear_splits_of_many_rows_need_no_note():
    assert notes([record()]) == []


def test_few_of_many_rows_are_a_warning_and_no_note():
    assert notes([record()], ["M13: 6,250 of 327,346 rows were used."]) == []


def test_a_wide_plateau_names_the_cuts_that_would_do():
    (text,) = notes([record(plateau=0.2, between=["hr ≤ 16", "hr ≤ 6"])])
    assert text == (
        "the cut at hr 6 could lie elsewhere: any cut from 6 to 16 would do almost as well."
    )
    assert notes([record(plateau=0.05, between=["hr ≤ 16", "hr ≤ 6"])]) == []
    assert notes([record(plateau=0.2, between=["hr ≤ 6", "hr ≤ 6"])]) == []


def test_a_rival_that_is_behind_by_more_than_a_twentieth_is_none():
    assert notes([record(second="temp ≤ 0", behind=0.03)]) == []


def test_a_rival_is_named_with_its_place():
    everywhere = rival_note("yr", "temp", Rule(), {})
    assert (
        everywhere
        == "a split on yr would do almost as well as one on temp; other data might have picked it."
    )
    inside = rival_note("yr", "temp", Rule.parse("hr > 6"), {})
    assert inside.startswith("where hr")


@pytest.mark.parametrize(
    "other",
    [{"second": "temp ≤ 0", "behind": 0.02}, {"plateau": 0.2, "between": ["hr ≤ 3", "hr ≤ 9"]}],
)
def test_other_ways_to_split_are_told_only_of_splits_whose_parts_are_not_split_again(other):
    """A split that is followed by others was chosen with these: judged alone, another may look as good."""
    assert len(notes([record(**other)])) == 1
    left, right = cut(0.0)
    root = Split("yr", left, right, (tree(), Leaf(500, 0.5, 0.1)), 1000, 1.0, 1.0)
    followed = Partition(root, ("hr", "yr"))
    diagnostics = {"splits": [record(**other), record()], "warnings": []}
    assert list(notes_of(followed, diagnostics, {})) == []
    diagnostics = {"splits": [record(), record(**other)], "warnings": []}
    assert len(list(notes_of(followed, diagnostics, {}))) == 1


def doubts(stability=None, warnings=(), **sizes):
    return list(doubts_of(partition(**sizes), {"warnings": list(warnings)}, stability))


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"n_left": 60}, "region 0 has only 60 search rows: take it as a hint."),
        (
            {"n_left": 60, "n_right": 70},
            "regions 0 and 1 have fewer than 100 search rows each: take them as hints.",
        ),
    ],
)
def test_regions_of_few_rows_are_hints(sizes, text):
    assert doubts(**sizes) == [text]


def halves(share, instead=None):
    first = SplitStability(
        "all rows", "hr", "hr ≤ 6", share, instead, math.nan, math.nan, searches=8
    )
    return Stability(0.5, 0.4, 0.6, (first,), n_regions=2, searches=8)


def test_a_first_split_that_does_not_come_back_is_the_first_doubt():
    found = doubts(halves(0.0, "yr"), ["N01: the model jumps."], n_left=60)
    assert found == [
        (
            "the first split, on hr, came back in none of 8 searches on half the rows "
            "(otherwise most often yr): take the regions as tentative."
        ),
        "region 0 has only 60 search rows: take it as a hint.",
        "The model jumps.",
    ]
    assert "came back in 3 of 8 searches" in doubts(halves(0.375))[0]
    assert doubts(halves(0.5)) == []
