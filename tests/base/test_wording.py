"""Words that are said twice: one example each."""

from __future__ import annotations

import pytest

from granite_xai.base import wording
from granite_xai.base.errors import listing, rows_text, unknown
from granite_xai.disagreement.catalog import TITLES, explanations, title

SAID = [
    (wording.percent, (0.3071,), "30.7 %"),
    (wording.percent, (0.0001,), "< 0.1 %"),
    (wording.percent, (None,), "–"),
    (wording.percent, (0.99999,), "> 99.9 %"),
    (wording.percent, (-0.2,), "-20.0 %"),
    (wording.coarse, (0.123,), "12 %"),
    (wording.coarse, (0.0001,), "< 1 %"),
    (wording.coarse, (0.034,), "3 %"),
    (wording.number, (12345.678,), "12,346"),
    (wording.number, (0.00123456,), "0.001235"),
    (wording.number, (1e-9,), "1e-09"),
    (wording.number, (3,), "3"),
    (wording.number, (None,), "–"),
    (wording.value, (2011.0,), "2011"),
    (wording.value, (0.125,), "0.125"),
    (wording.value, (1e-9,), "1e-09"),
    (wording.count, (1, "region"), "1 region"),
    (wording.count, (3, "region"), "3 regions"),
    (wording.rows_of, (1234,), "1,234 rows"),
    (wording.rows_of, (7,), "7 rows (few)"),
    (wording.quoted, ("a`b\x1b", "`"), r"`a\`b\x1b`"),
    (wording.plain, ("a\x1b[31m\nb",), r"a\x1b[31m\nb"),
    (wording.plain, ("a\\b",), "a\\b"),
    (wording.drawable, ("a_$x^2$\u202e",), r"a_\$x^2\$\u202e"),
    (wording.shortened, ("abcdef", 4), "abc…"),
    (wording.shortened, ("abcdef", 5, 2), "ab…ef"),
    (
        wording.told_apart,
        (["income_before_tax", "income_before_fees", "age"], 9),
        ["inco…_tax", "inco…fees", "age"],
    ),
    (wording.wrapped, ("workingday ≤ 0 and hr > 6", 16, 2), "workingday ≤ 0\nand hr > 6"),
    (wording.aligned, ([["a", "1"], ["bb", "10"]],), "a    1\nbb  10"),
    (rows_text, ([3, 18, 42, 77, 90, 91],), "rows 3, 18, 42, 77, 90, …"),
    (rows_text, (["a"], 1), "row 'a'"),
    (listing, (["a", "b", "c"], 2), "'a', 'b', … (3 in all)"),
    (title, ("pdp",), "PDP"),
    (title, ("mine",), "mine"),
    (title, (None, "first"), "the first explanation"),
]


@pytest.mark.parametrize(("say", "what", "wanted"), SAID)
def test_what_is_said(say, what, wanted):
    assert say(*what) == wanted


def test_an_unknown_name_is_answered_with_the_closest_one():
    found = str(unknown("features", "tmp", ["temp", "hr"], code="P04", what="Columns"))
    assert found == "P04: features='tmp' is not known. Columns: 'temp', 'hr'. Did you mean 'temp'?"


def test_every_named_explanation_has_a_title():
    assert set(explanations()) == set(TITLES)


def test_amounts_for_headlines_and_signs():
    said = {
        126.4: "126",
        1260.0: "1,260",
        39.2: "39",
        7.249: "7.2",
        0.2: "0.20",
        0.0: "0",
        None: "–",
    }
    assert {amount: wording.brief(amount) for amount in said} == said
    assert [wording.signed(3.0), wording.signed(-0.5)] == ["+3", "−0.5"]


def test_a_listed_dictionary_shows_itself_as_a_table():
    assert (
        repr(wording.Listed({"a": 1.5}, ("name", "half"), lambda entry: (entry / 2,)))
        == "name  half\na     0.75"
    )
