"""Labels listed in a sentence."""

from __future__ import annotations

import pytest

from granite_xai.regions.conditions import Levels
from granite_xai.regions.label_listing import alternatives, label_text, shorter_listing, word_list

ALL = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("levels", "others", "labels", "negated"),
    [
        ({"a", "b"}, False, ["a", "b"], False),
        ({"a", "b"}, True, ["a", "b"], True),
        ({"a", "b", "c", "e"}, False, ["d"], True),
        ({"a", "b", "c", "e"}, True, ["d"], False),
        ({"c", "unseen"}, False, ["c", "unseen"], False),
        ({"unseen", "a", "b", "c", "d"}, True, ["a", "b", "c", "d", "unseen"], True),
        (set(ALL), False, ALL, False),
    ],
)
def test_the_shorter_listing(levels, others, labels, negated):
    assert shorter_listing(Levels(levels, others=others), ALL) == (labels, negated)


def test_of_two_listings_of_one_length_the_labels_that_belong_are_listed():
    assert shorter_listing(Levels({"a"}, others=True), ["a", "b"]) == (["b"], False)


def test_missing_labels_are_not_listed():
    assert shorter_listing(Levels({"a", "b"}), ["a", "b", "c", None]) == (["c"], True)


def test_long_lists_and_long_labels_are_cut():
    assert alternatives(ALL[:4]) == "a, b, c or d"
    assert alternatives(ALL) == "a, b, c or 2 more"
    assert label_text("x" * 50) == "x" * 29 + "…"


def test_lists_of_words():
    assert word_list(["a"]) == "a"
    assert word_list(["a", "b", "c"]) == "a, b and c"
