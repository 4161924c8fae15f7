"""Rules: text, JSON, code and membership are one thing (N09, I16, S04)."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import FormatError, InputError
from granite_xai.regions.conditions import Interval, Levels
from granite_xai.regions.rule import Rule
from granite_xai.regions.values import (
    name_text,
)
from regions.random_rules import (
    HOSTILE,
    ORDER,
    intervals,
    levels,
    numeric_probe,
    rules,
    small,
    small_levels,
    special,
)
from strategies import paper


@given(rules)
def test_I16_text_reads_back_as_the_same_rule(rule):
    orders = {
        name: c.order
        for name, c in rule.conditions
        if isinstance(c, Interval) and c.order is not None
    }
    assert Rule.parse(str(rule), orders) == rule


@given(rules)
def test_S04_text_has_nothing_that_acts_on_a_terminal(rule):
    assert str(rule).isprintable()


@given(rules)
def test_json_reads_back_as_the_same_rule(rule):
    again = Rule.from_dict(json.loads(json.dumps(rule.to_dict(), allow_nan=False)))
    assert again == rule
    # what equality leaves out
    facts = [(getattr(c, "order", None), c.others) for _, c in rule.conditions]
    assert [(getattr(c, "order", None), c.others) for _, c in again.conditions] == facts
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert len({rule, again}) == 1


def test_D18_dates_with_a_time_zone_are_compared_and_written_in_utc():
    """Midnight in Berlin is still the day before in UTC, for the rows as for the text."""
    clocks = pd.to_datetime(["2012-03-01 00:30", "2012-03-01 01:30"]).tz_localize("Europe/Berlin")
    rule = Rule.parse("when ≤ 2012-03-01")
    assert rule.contains(pd.DataFrame({"when": clocks})).tolist() == [True, False]
    assert rule.contains(pd.DataFrame({"when": clocks.tz_localize(None)})).tolist() == [
        False,
        False,
    ]
    hours = pd.date_range("2012-03-01 00:30", periods=40, freq="h", tz="Europe/Berlin")
    X = pd.DataFrame({"when": hours, "x": np.arange(40) % 7 - 3.0})
    late = X["when"].iloc[20]
    granite = paper(
        lambda X: X["x"] * (X["when"] >= late), split_features=["when"], max_depth=1
    ).fit(X)
    assert [str(rule) for rule in granite.partition_.rules] == [
        "when ≤ 2012-03-01 19:00",
        "when > 2012-03-01 19:00",
    ]


def as_python(rule: Rule) -> str:
    """The text of a rule with plain names, turned into a Python expression by a few replacements."""
    clauses = []
    for clause in str(rule).split(" and ") if rule.conditions else []:
        text = clause.strip("()").replace("≤", "<=")
        name = re.search(r"\b[xw]\b", text).group(0)
        gone = f"absent({name})"
        missing = text.endswith(" or missing")
        text = text.removesuffix(" or missing")
        text = text.replace(f"{name} is missing", gone).replace(f"{name} is present", "True")
        text = re.sub(rf"{name} is impossible", "False", text)
        text = re.sub(r" is not (\w+)$", r" != \1", text)
        text = re.sub(r" is (\w+)$", r" == \1", text)
        text = re.sub(r"in \{(.*)\}$", r"in (\1,)", text).replace("(,)", "()")
        body = text if text == gone else f"(not {gone} and {text})"
        clauses.append(f"({body} or {gone})" if missing else body)
    return " and ".join(clauses) or "True"


@given(
    st.one_of(intervals(small), special),
    st.one_of(small_levels, special),
    st.lists(
        st.tuples(st.sampled_from([*numeric_probe[1:-2].tolist(), np.nan]), levels | st.just(None)),
        min_size=1,
    ),
)
def test_I16_the_rule_as_code_reproduces_membership(x, w, rows):
    rule = Rule((("x", x), ("w", w)))
    frame = pd.DataFrame(
        {"w": pd.Series([r[1] for r in rows], dtype=object), "x": [r[0] for r in rows]}
    )
    known = {label: label for label in "abcd"}
    known["absent"] = lambda v: v is None or v != v
    code = compile(as_python(rule), "rule", "eval")
    expected = [bool(eval(code, {**known, "x": a, "w": b})) for a, b in rows]
    assert rule.contains(frame).tolist() == expected
    assert Rule.parse(str(rule)).contains(frame).tolist() == expected


@pytest.mark.parametrize("name", HOSTILE)
def test_N09_a_rule_on_any_name_is_joined_by_values(name):
    rule = (
        Rule().and_(name, Interval(None, 3)).and_(name, Interval(1, None)).and_("x", Levels({name}))
    )
    assert Rule.parse(str(rule)) == rule
    if name != "x":
        assert rule.conditions[0] == (name, Interval(1, 3))
    assert name_text(name).isprintable()


def test_a_condition_with_missing_values_stands_in_parentheses():
    rule = Rule((("a", Interval(None, 1, missing=True)), ("b", Interval(2))))
    assert str(rule) == "(a ≤ 1 or missing) and b > 2"
    assert str(Rule(rule.conditions[:1])) == "a ≤ 1 or missing"  # nothing to tell apart from


def test_a_rule_is_empty_when_one_of_its_conditions_is():
    nothing, something = Interval(0.0, 0.0), Interval(high=1)
    assert Rule((("a", nothing), ("b", something))).is_empty
    assert Rule((("a", nothing),)).is_empty
    assert not Rule((("a", something), ("b", something))).is_empty
    assert not Rule().is_empty


def test_ordered_labels_follow_the_order_of_the_fit_not_the_codes_of_the_frame():
    frame = pd.DataFrame(
        {"s": pd.Categorical(["large", "tiny", None], categories=ORDER[::-1], ordered=True)}
    )
    assert Rule((("s", Interval(None, "medium", ORDER)),)).contains(frame).tolist() == [
        False,
        True,
        False,
    ]
    read = Rule.parse("s ≤ medium")
    assert read.contains(frame).tolist() == [True, False, False]  # no order of its own: the frame's


def test_labels_that_are_intervals_match_by_their_text():
    frame = pd.DataFrame({"age": pd.cut([1, 5, 9], [0, 3, 6, 10])})
    order = [str(v) for v in frame["age"].cat.categories]
    rule = Rule((("age", Interval(None, order[1], order)),))
    assert str(rule) == 'age ≤ "(3, 6]"'
    assert rule.contains(frame).tolist() == [True, True, False]


def test_an_unknown_column_is_named():
    with pytest.raises(InputError, match="'temp'.*'hr'"):
        Rule.parse("temp ≤ 3").contains(pd.DataFrame({"hr": [1.0]}))


def test_two_conditions_on_one_column_must_be_joined():
    with pytest.raises(InputError, match="two conditions"):
        Rule((("x", Interval(1)), ("x", Interval(2))))


@pytest.mark.parametrize(
    "data",
    [
        None, [], {}, {"conditions": None}, {"conditions": [1]}, {"conditions": [{"column": 1}]},
        {"conditions": [{"column": "x", "condition": {"type": "code"}}]},
    ],
)  # fmt: skip
def test_F04_a_broken_rule_names_the_place(data):
    with pytest.raises(FormatError, match="rule"):
        Rule.from_dict(data)
