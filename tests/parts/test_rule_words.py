"""Rules in words, of tables with values of all kinds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from granite_xai.regions import (
    Interval,
    Levels,
    Rule,
    rule_conditions,
    rule_in_sentence,
    rule_words,
    vocabulary,
    word_list,
)
from granite_xai.regions.words import (
    condition_words,
    label_text,
    separating_text,
    shorter_listing,
)
from granite_xai.tables import read_table

rng = np.random.default_rng(0)
N = 300
FRAME = pd.DataFrame(
    {
        "workingday": rng.integers(0, 2, N),
        "hr": np.arange(N) % 24,
        "year": 2011 + np.arange(N) % 3,
        "temp": np.round(rng.normal(20, 8, N), 2),
        "worst texture": rng.uniform(12, 50, N),
        "shift": np.arange(N) % 40 - 5,
        "hours": np.where(np.arange(N) % 7, np.arange(N) % 90, np.nan),
        "marital": np.array(["Married", "Single", "Divorced"])[np.arange(N) % 3],
        "sex": np.array(["Female", "Male"])[np.arange(N) % 2],
        "member": np.arange(N) % 2 == 0,
        "education": pd.Categorical(
            np.array(["HS", "Bachelors", "Masters", "PhD"])[np.arange(N) % 4],
            categories=["HS", "Bachelors", "Masters", "PhD"],
            ordered=True,
        ),
        "day": pd.date_range("2024-01-01", periods=N),
    }
)
TABLE = read_table(FRAME, missing="allow")


def words(rule):
    rule = Rule.parse(rule) if isinstance(rule, str) else rule
    return rule_words(rule, vocabulary([rule], TABLE))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("workingday ≤ 0", "workingday = 0"),
        ("workingday > 0", "workingday = 1"),
        ("hr ≤ 6", "hr 0–6"),
        ("hr > 6", "hr 7–23"),
        ("6 < hr ≤ 9", "hr 7–9"),
        ("6 < hr ≤ 7", "hr = 7"),
        ("year > 2011", "year 2012–2013"),
        ("shift ≤ 3", "shift ≤ 3"),
        ("shift ≤ -2", "shift ≤ −2"),
        ("hours > 54", "hours > 54"),
        ("hours > 54 or missing", "hours > 54 or missing"),
        ("20 < hours ≤ 54", "20 < hours ≤ 54"),
        ("hours is missing", "hours missing"),
        ("hours is present", "hours present"),
        ("marital is Married", "marital = Married"),
        ("marital is not Married", "marital ≠ Married"),
        ("marital in {Single, Divorced}", "marital ≠ Married"),
        ("sex is not Female", "sex = Male"),
        ("sex is Female or missing", "sex = Female"),  # no row of the table is without one
        ("member is True", "member = True"),
        ("day > 2024-02-01", "day > 2024-02-01"),
        ("hr > 6 and workingday ≤ 0", "hr 7–23, workingday = 0"),
        ("all rows", "all rows"),
    ],
)
def test_rules(rule, said):
    assert words(rule) == said


def test_ordered_labels():
    order = ("HS", "Bachelors", "Masters", "PhD")
    assert words(Rule((("education", Interval("Bachelors", None, order)),))) == (
        "education: Masters or PhD"
    )
    assert words(Rule((("education", Interval("HS", None, order)),))) == (
        "education: Bachelors to PhD"
    )
    assert words(Rule((("education", Interval(None, "HS", order)),))) == "education = HS"


def test_long_lists_are_cut():
    labels = Levels({f"l{i}" for i in range(9)})
    assert rule_words(Rule((("city", labels),))) == "city: l0, l1, l2 or 6 more"
    others = Levels({"a", "b"}, others=True)
    assert rule_words(Rule((("city", others),))) == "city: not a or b"


def test_bounds_are_rounded_as_far_as_they_separate():
    values = np.unique(FRAME["worst texture"].to_numpy())
    for place in range(0, len(values) - 1, 7):
        bound = (values[place] + values[place + 1]) / 2
        text = separating_text(float(bound), values)
        assert values[place] <= float(text) < values[place + 1]
        digits = len(text.partition(".")[2])
        if digits:  # one digit less would put a value on the wrong side
            shorter = round(float(bound), digits - 1)
            assert not values[place] <= shorter < values[place + 1]


def test_in_sentences():
    rule = Rule.parse("hr ≤ 6 and temp > 20 and workingday ≤ 0")
    assert rule_in_sentence(rule, vocabulary([rule], TABLE)) == (
        "hr is 0–6, temp > 20 and workingday = 0"
    )
    masters = Rule((("education", Levels({"Masters", "PhD"})),))
    assert rule_in_sentence(masters) == "education is Masters or PhD"
    assert rule_in_sentence(Rule.parse("hours is missing")) == "hours is missing"


def test_where_missing_values_would_go_is_said_if_there_are_some():
    assert words("hr ≤ 6 or missing") == "hr 0–6"
    assert words("hours ≤ 54 or missing") == "hours ≤ 54 or missing"
    assert rule_words(Rule.parse("hr ≤ 6 or missing")) == "hr ≤ 6 or missing"  # nothing is known


def test_without_a_table_the_rule_is_said_as_it_stands():
    assert rule_words(Rule.parse("hr ≤ 6.5 and sex is not Female")) == "hr ≤ 6.5, sex ≠ Female"


def test_nothing_in_a_name_acts_on_a_terminal():
    rule = Rule((("a\x1b[31m", Interval(None, 1.0)), ("b", Levels({"x\ny"}))))
    assert "\x1b" not in rule_words(rule)
    assert "\n" not in rule_words(rule)


def test_conditions_by_feature():
    assert rule_conditions(Rule.parse("20 < t ≤ 30"))[0].text == "20 < t ≤ 30"
    assert rule_conditions(Rule.parse("t > -0.5"))[0].text == "t > −0.5"


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (Levels(set(), others=True), "education present"),
        (Levels(set(), others=True, missing=True), "education present or missing"),
        (Interval("PhD", None, ("HS", "PhD")), "education impossible"),
        (Interval("PhD", None, ("HS", "PhD"), missing=True), "education missing"),
    ],
)
def test_conditions_that_name_no_label(condition, said):
    assert rule_words(Rule((("education", condition),))) == said


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
    assert condition_words("w", Levels(ALL[:4])).text == "w: a, b, c or d"
    assert condition_words("w", Levels(ALL)).text == "w: a, b, c or 2 more"
    assert label_text("x" * 50) == "x" * 29 + "…"


def test_lists_of_words():
    assert word_list(["a"]) == "a"
    assert word_list(["a", "b", "c"]) == "a, b and c"
