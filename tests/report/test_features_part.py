"""Importances, and how far rows stray along each feature."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.fitting.fitted import fitted_view
from report.cases import interacting


def test_features_stray_as_the_figures_of_the_nodes_say(report):
    figures = fitted_view(report.granite).result.nodes[0]
    told = {each["set"]: each for each in report.story["triage"]}
    for names, gap, inside in zip(
        figures.sets, figures.root.by_set, figures.by_set_inside_regions(), strict=True
    ):
        assert told[names[0]]["hides"] == pytest.approx(np.sqrt(max(gap, 0.0)))
        assert told[names[0]]["within"][1] == pytest.approx(np.sqrt(max(inside, 0.0)))
    assert {key for key in told["a"]["nodes"] if key.startswith("region")} == {
        f"region-{k}" for k in range(len(report.granite.partition_))
    }


@pytest.mark.parametrize(("max_grid", "off"), [(None, 1e-4), ("auto", 0.02)])
def test_importances_are_those_of_the_explanations(X, max_grid, off):
    """Exactly at all values; at sixteen values of each column to two in a hundred."""
    resources = gx.Resources(max_grid=max_grid)
    report = gx.explain(interacting, X, interacting(X), search="greedy", resources=resources)
    values = gx.explanations()["pdp"].explain(interacting, X).values
    told = report.story["importances"][0]["scopes"][0]["second"]
    assert told == pytest.approx(np.sqrt(np.square(values).mean(axis=0)), rel=off)


def test_features_are_ranked_by_heterogeneity_then_by_average_effect(report):
    ranks = [max(each["hides"], 1e-3 * each["shows"]) for each in report.story["triage"]]
    assert ranks == sorted(ranks, reverse=True)
    assert report.story["triage"][0]["set"] == "a"


def test_the_average_effect_of_a_node_is_the_root_mean_square_of_its_regions(report):
    """At the children of the root, which together hold all regions, and in all regions."""
    feature = report.story["triage"][0]
    regions = report.story["regions"]
    rows = np.array([region["n_samples"] for region in regions])
    averages = np.array([feature["nodes"][f"region-{k}"][0] for k in range(len(regions))])
    expected = np.sqrt(np.average(averages**2, weights=rows))
    assert feature["within"][0] == pytest.approx(expected)
    for node in report.story["tree"]["children"]:
        below = node["regions"]
        expected = np.sqrt(np.average(averages[below] ** 2, weights=rows[below]))
        assert feature["nodes"][node["id"]][0] == pytest.approx(expected)


def test_where_only_rounding_is_left_no_row_strays(X):
    told = gx.explain(lambda X: 3.0 * np.asarray(X)[:, 0], X[:40])
    assert [each["hides"] for each in told.story["triage"]] == [0.0] * 4
