"""The page of a comparison."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.report.comparison_page import comparison_story


def old(X):
    return np.asarray(X["x"]) * np.where(np.asarray(X["flag"]) > 0, 1.0, -1.0)


def new(X):
    return old(X) + (np.asarray(X["kind"]) == "a")


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=80),
            "flag": rng.integers(0, 2, 80),
            "kind": rng.choice(["a", "b", "a long name of a level"], 80),
        }
    )
    rules = gx.Partition.from_rules(["flag <= 0", "flag > 0"])
    return gx.compare({"old": old, "new": new}, X, partition=rules)


@pytest.fixture(scope="module")
def story(compared):
    return comparison_story(compared)


def charts_of(story, name):
    return next(entry["regions"] for entry in story["charts"] if entry["set"] == name)


def test_every_feature_has_a_chart_for_each_region(story):
    for entry in story["charts"]:
        assert [chart["region"] for chart in entry["regions"]] == [0, 1]
    assert [chart["words"] for chart in charts_of(story, "x")] == ["flag = 0", "flag = 1"]


def test_the_charts_of_a_feature_have_one_scale(story):
    numbers = [
        re.findall(r'text-anchor="end">([^<]+)<', chart["svg"]) for chart in charts_of(story, "x")
    ]
    assert numbers[0] == numbers[1]


def test_both_cases_are_drawn_as_lines_in_bands_or_as_points_with_bars(story):
    line = charts_of(story, "x")[0]["svg"]
    assert line.count("caseband") == 2
    assert {"caseline case0", "caseline case1"} <= set(re.findall(r'class="([\w ]+)"', line))
    points = charts_of(story, "kind")[0]["svg"]
    assert "caseband" not in points
    assert points.count("casepoint case0") == points.count("casepoint case1") == 3


def test_long_names_below_an_axis_are_cut(story):
    chart = charts_of(story, "kind")[0]["svg"]
    written = re.findall(r'text-anchor="middle">([^<]+)<', chart)
    assert {"a", "b", "a long n…"} == set(written)


def test_the_page_has_title_sentences_and_table(compared, story):
    assert story["title"] == "old and new"
    assert [story["opening"], *story["further"]] == compared.sentences(12)
    assert story["table"] == compared.lines()
    page = compared.html()
    assert page.count("<figure>") == sum(len(entry["regions"]) for entry in story["charts"])
