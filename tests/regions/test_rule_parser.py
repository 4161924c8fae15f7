"""Rules read from their text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import InputError
from granite_xai.regions.conditions import Interval, Levels
from granite_xai.regions.rule import Rule


def test_the_order_of_labels_that_are_numbers_is_never_guessed():
    """The text "3 < priority ≤ 1" needs the order 3, 2, 1."""
    rule = Rule((("priority", Interval(3, 1, (3, 2, 1))),))
    assert str(rule) == "3 < priority ≤ 1"
    assert Rule.parse(str(rule), {"priority": (3, 2, 1)}) == rule
    with pytest.raises(InputError):
        Rule.parse(str(rule))


@pytest.mark.parametrize(
    "text",
    ["", "x", "x ≤", "x < 3", "x >= 3", "x == 3", "≤ 3", "x ≤ 3 and", "x ≤ 3 or y > 2", "x in {a", "x in {a b}", "x is",
     "3 < x", "x ≤ 2012-13-45", "`x ≤ 3", "x ≤ 3 y > 2", "and > 3", "x ≤ 1e999", "(x ≤ 3", "x ≤ 3)", "x is or",
     "x ≤ 99999999999999999999 days", "1 < x ≤ 2012-01-01", "`\\xzz` ≤ 1", "x ≤ nan 3", "x ≤ 3.4.5"],
)  # fmt: skip
def test_text_that_is_no_rule_is_refused(text):
    with pytest.raises(InputError):
        Rule.parse(text)


@given(st.text(st.sampled_from(list('x≤<>=3. `"\\{},()-andoris\n')), max_size=14))
def test_any_text_is_a_rule_or_refused(text):
    try:
        rule = Rule.parse(text)
    except InputError:
        return
    assert Rule.parse(str(rule)) == rule


def test_a_column_may_have_several_conditions():
    assert str(Rule.parse("x > 1 and x ≤ 5 and x ≤ 3")) == "1 < x ≤ 3"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("x <= 3", Interval(None, 3.0)),
        ("-2.5 < x ≤ 1e3", Interval(-2.5, 1000.0)),
        ("x is present or missing", Interval(missing=True)),
        ("x is impossible", Interval(0.0, 0.0)),
        ("x is not True", Levels({True}, others=True)),
        ('x in {3, "3", a}', Levels({3, "3", "a"})),
        ("x not in {}", Levels(set(), others=True)),
        ("x > 2012-03-01 06:00", Interval(np.datetime64("2012-03-01T06:00"))),
        ("x ≤ 36 hours", Interval(None, np.timedelta64(36, "h"))),
    ],
)
def test_what_a_clause_says(text, condition):
    assert Rule.parse(text).conditions == (("x", condition),)
