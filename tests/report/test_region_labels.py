"""Labels of regions beside their curves."""

from __future__ import annotations

from granite_xai.report.region_labels import LABEL_LETTERS, chart_label, chart_labels


def test_a_curve_is_labelled_by_what_its_axis_does_not_show():
    conditions = [["", "hr", "7–23"], ["", "workingday", "= 1"], ["20 <", "temp", "≤ 30"]]
    region = {"name": "", "words": "hr 7–23, …", "conditions": conditions}
    assert chart_label(region, "hr") == "workingday = 1, 20 < temp ≤ 30"
    assert chart_label({**region, "name": "rush hour"}, "hr") == "rush hour"
    assert chart_label({**region, "conditions": conditions[:1]}, "hr") == "hr 7–23, …"


def test_no_two_curves_have_the_same_label():
    def region(*conditions):
        return {"name": "", "words": "…", "conditions": [["", *each] for each in conditions]}

    large = ("worst radius", "> 16.6")
    small = ("worst radius", "≤ 16.6")
    few = ("worst concave points", "≤ 0.135")
    many = ("worst concave points", "> 0.135")
    regions = [region(small, few), region(small, many), region(large)]
    assert chart_labels(regions, "worst concave points") == [
        "worst concave points ≤ 0.135",
        "worst concave points > 0.135",
        "worst radius > 16.6",
    ]
    last = ("a feature with quite a long name", "= 1")
    assert chart_labels([region(small, last), region(large, last)], "hr") == [
        "worst radius ≤ 16.6",
        "worst radius > 16.6",
    ]


def test_of_a_long_rule_the_last_conditions_are_the_label():
    conditions = [["", f"feature number {k}", "> 1"] for k in range(5)]
    region = {"name": "", "words": "…", "conditions": conditions}
    label = chart_label(region, "hr")
    assert label.endswith("feature number 4 > 1")
    assert len(label) <= LABEL_LETTERS
