"""Curves of single features: ICE and PDP, where rows are, and which feature leads."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from report.cases import Classifier, interacting, table


def test_effects_are_ice_and_pdp(report, X):
    """The mean curve over all rows is the partial dependence; eight of ten rows run inside the band around it."""
    effect = next(effect for effect in report.story["effects"] if effect["set"] == "a")
    panel = effect["panels"][0]
    ice = np.array([interacting(X.assign(a=value)) for value in effect["x"]])
    assert panel["mean"] == pytest.approx(ice.mean(axis=1), rel=1e-3, abs=1e-4)
    own = np.mean([interacting(X.assign(a=value)) for value in X["a"]], axis=0)
    moved = ice - own + own.mean()
    for quantile, key in ((0.1, "low"), (0.9, "high")):
        assert panel[key] == pytest.approx(
            np.quantile(moved, quantile, axis=1, method="inverted_cdf"), rel=1e-3, abs=1e-4
        )
    assert panel["error"] == pytest.approx(ice.std(axis=1) / np.sqrt(len(X)), rel=1e-3)


def test_curves_of_a_region_end_where_its_rows_end(report, X):
    for effect in report.story["effects"]:
        for panel in effect["panels"][1:]:
            rows = X[effect["set"]][report.granite.apply(X) == panel["region"]]
            drawn = [x for x, y in zip(effect["x"], panel["mean"], strict=True) if y is not None]
            assert rows.min() <= min(drawn)
            assert max(drawn) <= rows.max()
            assert sum(panel["rows"]) == len(rows)


def test_missing_values_and_categories_have_a_story():
    names = ["kind", "one", "two"]
    people = table(names, ["u", "v", "w"], rows=80)
    people.loc[::7, "two"] = np.nan
    model = Classifier(names)
    told = gx.explain(
        lambda X: model.predict_proba(X.fillna({"two": 0.0}))[:, 1], people, missing="allow"
    )
    effects = {effect["set"]: effect for effect in told.story["effects"]}
    assert {effect["kind"] for effect in effects.values()} == {"nominal", "numeric"}
    two, kind = effects["two"], effects["kind"]
    assert two["texts"][-1].replace(" %", "%") == "missing (15%)"
    assert two["panels"][0]["rows"][-1] == people["two"].isna().sum()
    means = kind["panels"][0]["mean"]
    assert means == sorted(means, reverse=True)


def test_the_feature_of_the_finding_leads_and_flat_features_have_no_curve(report, X):
    leading = [effect["set"] for effect in report.story["effects"] if effect["leading"]]
    assert leading == [report.story["effects"][0]["set"]] == [report.story["main_feature"]]
    flat = gx.explain(lambda X: np.asarray(X)[:, 0], X[:40]).story["effects"]
    assert [effect["set"] for effect in flat] == ["a"]


def test_curves_beyond_the_rows_of_a_region_are_known_but_not_shown(report):
    """Where a region has no rows its curve has no mean; elsewhere both are the same."""
    for effect in report.story["effects"]:
        for panel in effect["panels"]:
            assert None not in panel["curve"]
            for mean, curve in zip(panel["mean"], panel["curve"], strict=True):
                assert mean is None or mean == curve


def test_an_explanation_beside_ice_and_pdp_is_a_line_of_its_own(X):
    told = gx.explain(interacting, X[:60], question="shap-pdp", max_depth=1, search="greedy").story
    panel = told["effects"][0]["panels"][0]
    (line,) = panel["lines"]
    assert "SHAP" in line["name"]
    assert len(line["x"]) == len(line["y"]) > 1
    assert line["x"] == sorted(line["x"])
