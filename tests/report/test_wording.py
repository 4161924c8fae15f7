"""Sentences that only the report has."""

from __future__ import annotations

import pytest

from granite_xai.report.measure import Measure
from granite_xai.report.wording import (
    basis_text,
    benefit_heading,
    certainty_sentences,
    count_words,
    glossary,
    stability_sentence,
    stop_text,
)
from granite_xai.results.finding import Described


def test_a_reason_not_to_split_is_a_sentence():
    assert stop_text("split undone") == "A further split did not hold up on other rows."
    assert stop_text("something new") == "Something new."


def test_of_many_splits_a_sentence_tells_the_first_only():
    split = {"rule": "all rows", "feature": "hr", "times": 4, "instead": "temp"}
    assert stability_sentence([split] * 2, 6).count("4 split on hr again (otherwise temp)") == 2
    assert stability_sentence([split] * 4, 6) == (
        "Of 6 searches on half the rows, 4 split on hr first, as here (otherwise temp). "
        "The table has the splits below it."
    )


SHARES = {
    "overall": 0.5,
    "in_regions": 0.8,
    "low": 0.7,
    "high": 0.9,
    "confidence_level": 0.95,
    "n_rows": 1200,
}


def described(rows="held-out", **shares):
    return Described(**{**SHARES, "rows": rows, **shares})


@pytest.mark.parametrize(
    ("in_regions", "words"),
    [
        (0.95, "nearly the whole story"),
        (0.94, "most of the story"),
        (0.8, "most of the story"),
        (0.4, "curves miss 60%"),
    ],
)
def test_the_heading_says_how_much_curves_tell(in_regions, words):
    assert words in benefit_heading(described(in_regions=in_regions), 3)


def test_without_regions_the_heading_is_the_share():
    heading = benefit_heading(described(), 1)
    assert heading == "One curve per feature describes 50% of the model"


def test_shares_are_told_with_their_rows():
    assert basis_text(described("held-out")) == "1,200 held-out rows"
    assert basis_text(described("given")) == "1,200 rows"
    assert "left out in turn" in basis_text(described("cross-validated"))
    assert "also chose the regions" in basis_text(described("search"))


def test_small_numbers_are_words():
    assert [count_words(n) for n in (1, 10, 11)] == ["one", "ten", "11"]


def test_the_only_split_is_told_without_a_list():
    split = {"rule": "x > 1", "feature": "hr", "times": 6, "instead": ""}
    assert stability_sentence([split], 6) == (
        "Of 6 searches on half the rows, 6 split on hr where x > 1 again."
    )


def test_rows_for_testing_on_which_regions_remove_nothing_are_told_so():
    evaluation = {"n_rows": 1500, "remaining": 1.2, "explained": 0.5}
    (sentence,) = certainty_sentences({"stability": None, "evaluation": evaluation})
    assert "On the 1,500 rows given for testing the regions remove none of" in sentence
    (sentence,) = certainty_sentences(
        {"stability": None, "evaluation": {**evaluation, "remaining": 0.25}}
    )
    assert "remove 75% of" in sentence


def test_the_glossary_explains_differences_of_importances_where_there_are_some():
    per_row = Measure(per_row=True, is_rooted=True, probability=False, unit="")
    words = [entry["word"] for entry in glossary(per_row)]
    more = [entry["word"] for entry in glossary(per_row._replace(per_row=False))]
    assert [word for word in more if word not in words] == ["Difference"]
