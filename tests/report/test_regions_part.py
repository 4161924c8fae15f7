"""The tree and the cards of the regions."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import granite_xai as gx
from granite_xai.fitting.fitted import fitted_view
from granite_xai.regions import Leaf, Partition, Split, cut
from granite_xai.report.regions_part import tree
from report.cases import interacting


def test_the_tree_has_the_figures_of_its_nodes(report):
    figures = fitted_view(report.granite).result.nodes[0]
    by_region = {leaf.region: leaf for leaf in figures.leaves}

    def check(node):
        if node["region"] is not None:
            leaf = by_region[node["region"]]
            assert (node["stray"], node["share"]) == (leaf.heterogeneity, leaf.share)
        for child in node["children"]:
            check(child)

    check(report.story["tree"])
    assert report.story["tree"]["stray"] == figures.root.heterogeneity
    assert report.story["tree"]["regions"] == list(range(len(report.granite.partition_)))


def test_a_region_has_one_mean_in_tree_card_curve_and_row(large):
    """All of them are of the search rows; how far rows stray is of held-out rows."""
    told, rows = large
    story = told.story
    leaves = story["tree"]["children"]
    row = told.granite.explain_row(rows.iloc[[0]])
    for card, leaf in zip(story["regions"], leaves, strict=True):
        number = card["region"]
        assert card["mean"] == leaf["mean"]
        assert card["share"] == leaf["share"]
        panel = story["effects"][0]["panels"][1 + number]
        assert panel["centre"] == pytest.approx(card["mean"])
        if number == row.region:
            assert row.mean == pytest.approx(card["mean"])
    assert story["measure"]["rows"] == "300 held-out rows"


def test_regions_of_few_rows_are_flagged(X):
    told = gx.explain(interacting, X.iloc[:60], min_samples_leaf=5, search="greedy")
    small = [region for region in told.story["regions"] if region["n_samples"] < 100]
    assert small
    assert all(region["small"] for region in small)
    assert "fewer than 100 search rows" in told.html()
    assert "It has few rows" in str(told).replace("\n", " ").replace("   ", " ")


def test_a_node_has_the_condition_that_led_to_it_and_the_regions_below(report):
    root = report.story["tree"]
    assert (root["id"], root["conditions"], root["region"]) == ("all", [], None)
    for child in root["children"]:
        ((_, feature, _),) = child["conditions"]
        assert feature == root["column"] == "b"
        is_leaf = not child["children"]
        assert child["id"].startswith("region-" if is_leaf else "node-")
        assert (child["region"] is not None) == is_leaf
    below = [region for child in root["children"] for region in child["regions"]]
    assert below == root["regions"]


def tree_of(partition):
    """The tree of a report of some regions."""
    fitted = SimpleNamespace(partition=partition)
    finding = SimpleNamespace(vocabulary={})
    return tree(SimpleNamespace(fitted=fitted, figures=None, finding=finding))


def test_a_node_has_the_condition_of_its_split_also_where_the_feature_was_split_before():
    leaf = Leaf(10, 0.25, 0.1)
    again = Split("a", *cut(1.0), (leaf, leaf), 20, 0.5, 0.2)
    inner = Split("b", *cut(2.0), (again, leaf), 30, 0.75, 0.3)
    root = tree_of(Partition(Split("a", *cut(3.0), (inner, leaf), 40, 1.0, 1.0)))
    split_again = root["children"][0]["children"][0]
    assert split_again["conditions"] == [["", "b", "≤ 2"]]
    assert [child["conditions"] for child in split_again["children"]] == [
        [["", "a", "≤ 1"]],
        [["1 <", "a", "≤ 3"]],
    ]


def test_regions_without_a_tree_have_all_conditions_of_their_rules():
    rules = ["a ≤ 0 and b ≤ 0", "a > 0 and b ≤ 0", "b > 0"]
    children = tree_of(Partition.from_rules(rules))["children"]
    assert [len(child["conditions"]) for child in children] == [2, 2, 1]


def test_a_card_shows_the_main_feature_first(report):
    for card in report.story["regions"]:
        names = [feature["set"] for feature in card["features"]]
        assert names[0] == report.story["main_feature"]
        assert len(names) == len(set(names)) <= 3
