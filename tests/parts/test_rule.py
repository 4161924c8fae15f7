"""Rules and their conditions: membership, text, algebra and JSON are one thing (N09, I16, S04)."""

from __future__ import annotations

import json
import pickle
import re
from itertools import product, starmap

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import FormatError, InputError
from granite_xai.regions import (
    Interval,
    Levels,
    Rule,
    complementary,
    cut,
    grouping,
    instant,
    missing_or_present,
    nanoseconds,
)
from granite_xai.regions.values import name_text
from parts.random_rules import (
    HOSTILE,
    ORDER,
    conditions,
    dates,
    durations,
    finite,
    intervals,
    label_probe,
    level_sets,
    levels,
    numeric_probe,
    order_probe,
    rules,
    small,
    small_levels,
    special,
    truth_probe,
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


def same(one, two, probe):
    expected = one.contains(probe) & two.contains(probe)
    assert np.array_equal(one.intersect(two).contains(probe), expected)
    if one.intersect(two).is_empty:
        assert not expected.any()


@given(st.one_of(intervals(small), special), st.one_of(intervals(small), special))
def test_intersection_of_intervals_is_that_of_sets(one, two):
    same(one, two, numeric_probe)


@given(st.one_of(small_levels, special), st.one_of(small_levels, special))
def test_intersection_of_levels_is_that_of_sets(one, two):
    same(one, two, label_probe)


@given(intervals(st.sampled_from(ORDER), ORDER), intervals(st.sampled_from(ORDER), ORDER) | special)
def test_intersection_of_ordered_labels_is_that_of_sets(one, two):
    same(one, two, order_probe)


@given(intervals(dates), intervals(dates))
def test_intersection_of_dates_is_that_of_sets(one, two):
    ends = [v for c in (one, two) for v in (c.low, c.high) if isinstance(v, np.datetime64)]
    moved = [e.astype("datetime64[us]") + k for e in ends for k in (-1, 0, 1)]
    same(one, two, np.array([*moved, np.datetime64("NaT", "us")], dtype="datetime64[us]"))


def test_ends_in_units_that_numpy_cannot_compare():
    """106,752 days are more nanoseconds than 64 bits count: NumPy 2.4 says less than none, 2.5 raises."""
    short, long = np.timedelta64(5, "ns"), np.timedelta64(106752, "D")
    assert Interval(short, long).has_values
    assert not Interval(long, short).has_values
    assert Interval(None, short).intersect(Interval(None, long)) == Interval(None, short)
    assert Interval(short).intersect(Interval(long)) == Interval(long)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Interval(None, 0), "c ≤ 0"),
        (Interval(0.5, None), "c > 0.5"),
        (Interval(6.5, 20), "6.5 < c ≤ 20"),
        (Interval(None, 14.8, missing=True), "c ≤ 14.8 or missing"),
        (Interval.without_values(missing=True), "c is missing"),
        (Interval(), "c is present"),
        (Interval(None, 1.3e9), "c ≤ 1300000000"),
        (Interval(None, 1e-300), "c ≤ 1e-300"),
        (Interval(None, np.datetime64("2012-03-01")), "c ≤ 2012-03-01"),
        (Interval(np.datetime64("2012-03-01T06"), None), "c > 2012-03-01 06:00"),
        (Interval(None, np.timedelta64(7200, "s")), "c ≤ 2 hours"),
        (Interval("small", "large", ORDER), "small < c ≤ large"),
        (Interval(None, 2, (1, 2, 3)), "c ≤ 2"),
        (Levels({"mist", "clear"}), "c in {clear, mist}"),
        (Levels({"mist", "clear"}, others=True), "c not in {clear, mist}"),
        (Levels({False}), "c is False"),
        (Levels({"light rain"}, others=True, missing=True), 'c is not "light rain" or missing'),
        (Levels({10, 9}), "c in {9, 10}"),
        (Levels({"1", 1}), 'c in {1, "1"}'),
    ],
)
def test_conditions_read_as_a_person_would_write_them(condition, text):
    assert condition.text("c") == text
    assert Rule.parse(text) == Rule((("c", condition),))


def test_conditions_that_read_alike_are_equal():
    """The order of all labels and where labels outside it go are knowledge about the column, not about the interval."""
    plain, known = Interval(None, "small"), Interval(None, "small", ORDER, others=True)
    assert plain == known
    assert hash(plain) == hash(known)
    assert plain.text("size") == known.text("size")
    assert plain != Interval(None, "small", missing=True)


def test_text_without_known_order_is_an_error():
    with pytest.raises(InputError, match="order"):
        Rule.parse("s ≤ medium").contains(pd.DataFrame({"s": ["medium", "small"]}))
    with pytest.raises(InputError, match="number"):
        Rule.parse("s ≤ 3").contains(pd.DataFrame({"s": ["3", "4"]}))
    with pytest.raises(InputError):
        Rule.parse("s ≤ 3").contains(pd.DataFrame({"s": pd.to_datetime(["2012-01-01"])}))
    with pytest.raises(InputError):
        Rule.parse("s ≤ 2012-01-01").contains(pd.DataFrame({"s": [1.0]}))


def test_conditions_of_different_kinds_cannot_be_joined():
    for one, two in [
        (Interval(1), Levels({"a"})),
        (Interval(1), Interval(None, np.datetime64("2012"))),
        (Interval("a"), Interval("b")),
    ]:
        with pytest.raises(InputError):
            one.intersect(two)


INTERVAL = {
    "type": "interval",
    "low": None,
    "high": 1.0,
    "order": None,
    "others": False,
    "missing": False,
}


@pytest.mark.parametrize(
    "change",
    [
        {"high": float("nan")}, {"high": float("inf")}, {"high": [1]}, {"high": {}}, {"high": ["x"]}, {"missing": 1},
        {"high": ["2012-99-01"]}, {"high": 10**400}, {"order": ["a"]}, {"order": [None]}, {"others": None},
        {"type": "levels", "levels": [[1]]}, {"type": "levels", "levels": [float("nan")]}, {"type": "levels"},
        {"low": "a"}, {"high": ["NaT"]}, {"high": ["99999999999999999999-01-01"]}, {"type": 3},
    ],
)  # fmt: skip
def test_F05_a_hostile_condition_is_refused(change):
    data = {"conditions": [{"column": "x", "condition": {**INTERVAL, **change}}]}
    with pytest.raises(FormatError, match=r"conditions\[0\]"):
        Rule.from_dict(data)


@given(conditions, finite, level_sets)
def test_is_empty_means_that_nothing_belongs(condition, number, others):
    if condition.is_empty:
        assert not condition.contains(np.array([number, np.nan])).any()
    assert others.is_empty == (not others.levels and not others.others and not others.missing)


def test_conditions_are_written_as_a_person_would():
    assert Interval(6.5, 20).text("hr") == "6.5 < hr ≤ 20"
    assert Interval(high=1, missing=True).contains(np.array([0.0, 2.0, np.nan])).tolist() == [
        True,
        False,
        True,
    ]
    assert Levels({"mist", "clear"}).text("weathersit") == "weathersit in {clear, mist}"
    assert (
        Levels({"mist"}, others=True, missing=True).text("weathersit")
        == "weathersit is not mist or missing"
    )


def test_labels_never_seen_can_be_a_region_of_their_own():
    """Two cuts of an ordered column that leave no known label leave the unknown ones where the tree sends them."""
    above = Interval("tiny", None, ORDER, others=True)
    below = Interval(None, "tiny", ORDER, missing=True, others=True)
    both = above.intersect(below)
    values = np.array(["tiny", "large", "huge", None], dtype=object)
    assert both.contains(values).tolist() == [False, False, True, False]
    assert not both.is_empty
    assert both.intersect(Interval()).contains(values).tolist() == [False, False, True, False]
    assert both.intersect(Interval(None, "tiny", ORDER)).is_empty


def test_a_duration_and_ordered_labels_cannot_be_joined():
    """NumPy counts durations among the integers: they are no label of a column with numbers either."""
    for order in (ORDER, (1, 2, 3)):
        with pytest.raises(InputError, match="not one of the ordered labels"):
            Interval(high=np.timedelta64(3, "h")).intersect(Interval(None, order[1], order))


@pytest.mark.parametrize("missing", [None, "left", "right"])
@pytest.mark.parametrize("larger", ["left", "right"])
def test_pairs_divide_the_values(missing, larger):
    pairs = [
        (cut(1.0, missing=missing), numeric_probe),
        (
            cut("small", order=ORDER, missing=missing, larger=larger),
            np.array([*ORDER, "huge", None], dtype=object),
        ),
        (grouping({"a"}, {"b", "c"}, larger=larger, missing=missing), label_probe),
        (
            grouping({False}, {True}, larger=larger, missing=missing),
            np.array([False, True, None], dtype=object),
        ),
    ]
    for (left, right), probe in pairs:
        counts = left.contains(probe).astype(int) + right.contains(probe)
        assert complementary(left, right)
        assert (
            (counts[:-1] == 1).all()
            if probe is not numeric_probe
            else (counts[~np.isnan(probe)] == 1).all()
        )
        assert counts[-1] == (missing is not None)
        assert left.intersect(right).is_empty


def test_D15_labels_outside_the_order_go_with_the_larger_child():
    left, right = cut("small", order=ORDER, larger="left")
    values = np.array(["huge", "tiny", "large"], dtype=object)
    assert left.contains(values).tolist() == [True, True, False]
    assert right.contains(values).tolist() == [False, False, True]


def test_D15_absent_and_new_levels_go_with_the_larger_child():
    left, right = grouping({"a"}, {"b"}, larger="left")
    assert left.contains(label_probe).tolist() == [True, False, True, True, True, False]
    assert str(Rule((("w", left),))) == "w is not b"
    assert str(Rule((("w", right),))) == "w is b"


def test_missing_or_present_serves_any_kind():
    left, right = missing_or_present()
    assert left.contains(label_probe).tolist() == [False] * 5 + [True]
    assert right.contains(numeric_probe).tolist() == [True] * 13 + [False]


@given(st.one_of(small_levels, special), st.one_of(small_levels, special))
def test_complementary_pairs_of_levels_leave_no_value_out(left, right):
    if complementary(left, right):
        counts = left.contains(label_probe).astype(int) + right.contains(label_probe)
        assert (counts[:-1] == 1).all()
        assert counts[-1] <= 1


def test_complementary_pairs_of_truth_values_are_those_that_leave_none_out_and_none_twice():
    """Both values on one side each; what is no truth value on one side too, if any side speaks of others."""
    known = list(
        starmap(Levels, product([{False}, {True}, {False, True}], [False, True], [False, True]))
    )
    for left, right in product(known, repeat=2):
        counts = [
            int(a) + int(b)
            for a, b in zip(*(c.contains(truth_probe) for c in (left, right)), strict=True)
        ]
        new = counts[2] == 1 or not (left.others or right.others)
        assert complementary(left, right) == (counts[:2] == [1, 1] and new and counts[3] <= 1), (
            left,
            right,
        )


@given(st.one_of(intervals(small), special), st.one_of(intervals(small), special))
def test_complementary_pairs_of_intervals_leave_no_value_out(left, right):
    if complementary(left, right):
        counts = left.contains(numeric_probe).astype(int) + right.contains(numeric_probe)
        assert (counts[:-1] == 1).all()
        assert counts[-1] <= 1


def test_a_split_says_where_missing_values_and_new_levels_go():
    assert [side.text("temp") for side in cut(14.8, missing="left")] == [
        "temp ≤ 14.8 or missing",
        "temp > 14.8",
    ]
    assert [side.text("w") for side in grouping({"a"}, {"b", "c"}, larger="right")] == [
        "w is a",
        "w is not a",
    ]


def test_infinite_values_have_a_region():
    left, right = cut(0.0)
    values = np.array([-np.inf, np.inf])
    assert left.contains(values).tolist() == [True, False]
    assert right.contains(values).tolist() == [False, True]


def test_new_labels_go_to_one_side_only():
    below = Interval(None, "small", ORDER, others=True)
    above = Interval("small", None, ORDER)
    assert complementary(below, above)
    assert not complementary(below, Interval("small", None, ORDER, others=True))


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


@given(dates, dates)
def test_dates_compare_as_numpy_compares_them(value, end):
    values = np.array([value.astype("datetime64[us]")])
    assert Interval(None, end).contains(values)[0] == (values[0] <= end)
    assert Interval(end, None).contains(values)[0] == (values[0] > end)


@given(durations, durations)
def test_durations_compare_as_counts(value, end):

    def count(d):
        return int(d / np.timedelta64(1, "ns")) if np.datetime_data(d.dtype)[0] == "ns" else None

    values = np.array([value])
    if (
        abs(value / np.timedelta64(1, "D")) < 100_000
        and abs(end / np.timedelta64(1, "D")) < 100_000
    ):  # NumPy's range
        expected = (
            value <= end
            if count(value) is None or count(end) is None
            else count(value) <= count(end)
        )
        assert Interval(None, end).contains(values)[0] == expected


def test_ends_among_ordered_numbers_keep_their_digits():
    """2**53 + 1 is no float; as a label it is a whole number."""
    order = (2**53 + 1, 2**53, 1)
    rule = Rule((("size", Interval(None, 2**53 + 1, order)),))
    assert Rule.parse("size ≤ 9007199254740993", orders={"size": order}) == rule


def test_a_date_beyond_the_unit_of_the_column_compares_without_overflow():
    values = np.array(["2012-01-01", "NaT"], dtype="datetime64[ns]")
    assert Interval(None, np.datetime64("9999-01-01")).contains(values).tolist() == [True, False]
    assert Interval(np.datetime64("9999-01-01"), None).contains(values).tolist() == [False, False]
    assert Interval(np.datetime64("0001-01-01"), None, missing=True).contains(values).tolist() == [
        True,
        True,
    ]
    assert Interval(None, np.datetime64("0001-01-01")).contains(values).tolist() == [False, False]


@given(dates, st.sampled_from(["Y", "M", "D", "h"]), dates)
def test_a_time_within_a_coarser_tick_compares_exactly(value, unit, end):
    """A column of days against a bound at noon: the day itself began before."""
    tick = end.astype(f"datetime64[{unit}]")
    values = np.array([value.astype(f"datetime64[{unit}]"), tick, tick + 1])
    expected = values.astype("datetime64[us]") <= end.astype("datetime64[us]")
    assert np.array_equal(Interval(None, end).contains(values), expected)
    assert np.array_equal(Interval(end, None).contains(values), ~expected)


def test_numbers_truth_values_and_labels_of_equal_value_match():
    for column in ([0, 1], [0.0, 1.0], [False, True], pd.Categorical([0, 1])):
        frame = pd.DataFrame({"s": column})
        assert Rule.parse("s is 1").contains(frame).tolist() == [False, True]
        assert Rule.parse("s is True").contains(frame).tolist() == [False, True]
    assert Rule.parse("s ≤ 0").contains(pd.DataFrame({"s": [False, True]})).tolist() == [
        True,
        False,
    ]


def test_numbers_among_labels_are_values_and_only_nan_and_none_are_missing():
    cells = np.array([1.5, np.nan, None, "a", 0.0, np.float64(2)], dtype=object)
    assert Levels({1.5, "a"}).contains(cells).tolist() == [True, False, False, True, False, False]
    assert Levels({1.5}, others=True).contains(cells).tolist() == [
        False,
        False,
        False,
        True,
        True,
        True,
    ]
    assert Interval.without_values(missing=True).contains(cells).tolist() == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("end", [np.nan, np.inf, np.datetime64("NaT"), np.timedelta64(1, "M"), [1]])
def test_an_end_must_be_a_finite_number_or_a_date(end):
    with pytest.raises(InputError):
        Interval(None, end)


@given(st.one_of(dates, durations))
def test_a_date_or_duration_is_the_same_again_in_text_and_count(value):
    end = Interval(None, value).high
    assert nanoseconds(instant(type(value), nanoseconds(value))) == nanoseconds(value)
    assert nanoseconds(end) == nanoseconds(value)
    again = Rule.parse(str(Rule((("x", Interval(None, value)),))))
    assert again.conditions[0][1].high == end


@pytest.mark.parametrize(
    ("iso", "text"),
    [
        ("2012", "x ≤ 2012-01-01"),
        ("2012-03-01", "x ≤ 2012-03-01"),
        ("2012-03-01T06", "x ≤ 2012-03-01 06:00"),
        ("2012-03-01T06:00:30", "x ≤ 2012-03-01 06:00:30"),
    ],
)
def test_units_are_as_coarse_as_the_text_of_a_date(iso, text):
    """Whole days of a date without time, minutes of one with, and finer where needed."""
    assert Interval(None, np.datetime64(iso)).text("x") == text


@pytest.mark.parametrize(
    "value",
    [np.timedelta64(1, "M"), np.timedelta64(3), np.timedelta64(1, "ps"), np.datetime64("NaT")],
)
def test_what_has_no_length_in_nanoseconds_is_refused(value):
    with pytest.raises(InputError, match="known length"):
        nanoseconds(value)


@given(dates, st.sampled_from(["D", "h", "s", "us"]), st.integers(-2, 2))
def test_every_tick_of_a_column_compares_exactly(value, unit, step):
    tick = value.astype(f"datetime64[{unit}]") + step
    assert Interval(None, value).contains(np.array([tick]))[0] == (tick <= value)


def test_escapes_in_a_text_are_undone():
    rule = Rule.parse('`a\\nb\\x1b` is "\\u202e\\""')
    assert rule.conditions == (("a\nb\x1b", Levels({'\u202e"'})),)
    with pytest.raises(InputError, match="not an escape"):
        Rule.parse('x is "\\uZZZZ"')


def test_the_order_of_two_texts_is_not_guessed():
    assert Interval("a").intersect(Interval("a")) == Interval("a")
    with pytest.raises(InputError, match="order of a and b is not known"):
        Interval("a").intersect(Interval("b"))
