"""Effects of all features on all rows, in cells."""

from __future__ import annotations

import numpy as np

import granite_xai as gx
from granite_xai.report.overview_part import ACROSS, MOST_FEATURES, UPWARDS
from report.cases import interacting


def test_cells_count_every_row_once(report, X):
    told = report.story["overview"]
    regions = report.granite.apply(X)
    for feature in told["features"]:
        for region in range(len(report.granite.partition_)):
            rows = sum(count for number, _, _, count in feature["cells"] if number == region)
            assert rows == np.sum(regions == region)
        assert all(0 <= column < ACROSS for _, column, _, _ in feature["cells"])
        assert all(0 <= line < UPWARDS for _, _, line, _ in feature["cells"])


def test_a_rising_effect_leads_from_low_values_left_to_high_values_right(X):
    told = gx.explain(lambda X: np.asarray(X)[:, 0], X[:60], max_depth=0).story["overview"]
    assert told["features"][0]["set"] == "a"
    cells = told["features"][0]["cells"]
    assert {region for region, *_ in cells} == {None}
    columns = [column for _, column, _, _ in cells]
    lines = [line for _, _, line, _ in cells]
    assert np.corrcoef(columns, lines)[0, 1] > 0.9


def test_of_many_features_the_strongest_are_shown():
    X = np.random.default_rng(0).normal(size=(30, MOST_FEATURES + 3))
    weights = np.arange(1.0, MOST_FEATURES + 4)
    told = gx.explain(lambda X: np.asarray(X) @ weights, X, max_depth=0).story["overview"]
    assert len(told["features"]) == MOST_FEATURES
    assert told["left_out"] == 3


def test_questions_without_effects_of_single_features_on_rows_have_no_overview(X):
    assert gx.explain(interacting, X[:40], question="sobol", max_depth=0).story["overview"] is None
    pairs = gx.explain(interacting, X[:40], influence="interaction", max_depth=0)
    assert pairs.story["overview"] is None


def test_a_constant_model_has_no_overview(X):
    assert gx.explain(lambda X: np.ones(len(X)), X[:40]).story["overview"] is None
