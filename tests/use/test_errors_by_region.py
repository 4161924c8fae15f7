"""Where the model errs: errors by region against their definition, and how often a region is told by chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression

import granite_xai as gx


def table(n, seed):
    rng = np.random.default_rng(seed)
    return rng, pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])


def step(frame):
    return frame["a"] * np.where(frame["b"] > 0, 1, -1) + frame["c"]


QUICK = {"max_depth": 1, "holdout": False, "max_samples": None}


def test_errors_of_each_region_are_those_of_its_rows():
    rng, X = table(700, 0)
    y = step(X) + rng.normal(size=700)
    weights = rng.uniform(0.5, 2.0, 700)
    g = gx.Granite(step, **QUICK).fit(X, y, sample_weight=weights)
    residuals = y - step(X)
    frame, regions = g.partition_.frame(), g.apply(X)
    for region in range(len(g.partition_)):
        inside = regions == region
        share = weights[inside] / weights[inside].sum()
        mean = share @ residuals[inside] ** 2
        assert frame["rmse"][region] == pytest.approx(np.sqrt(mean))
        assert frame["bias"][region] == pytest.approx(share @ residuals[inside])
        n = inside.sum()
        error = np.sqrt(n / (n - 1) * np.sum((share * (residuals[inside] ** 2 - mean)) ** 2))
        factor = np.exp(student.ppf(0.975, n - 1) * error / mean)
        assert frame["rmse_low"][region] == pytest.approx(np.sqrt(mean / factor))
        assert frame["rmse_high"][region] == pytest.approx(np.sqrt(mean * factor))
    assert g.errors_.overall == pytest.approx(np.sqrt(np.average(residuals**2, weights=weights)))
    assert g.errors_.rows == "fitting"


def test_clusters_widen_the_interval():
    rng, X = table(600, 1)
    clusters = np.arange(600) // 20
    y = step(X) + np.repeat(rng.normal(size=30), 20)
    by_rows = gx.Granite(step, **QUICK).fit(X, y).errors_.frame()
    by_clusters = gx.Granite(step, **QUICK).fit(X, y, clusters=clusters).errors_.frame()
    widths = [(each["rmse_high"] - each["rmse_low"]).mean() for each in (by_rows, by_clusters)]
    assert widths[1] > 2 * widths[0]


def test_a_noisy_region_is_told():
    told, ratios = 0, []
    for seed in range(20):
        rng, X = table(4000, seed)
        y = step(X) + rng.normal(size=4000) * np.where(X["b"] > 0, 3.0, 1.0)
        g = gx.Granite(step, max_depth=1, max_samples=600).fit(X, y)
        told += "times as large where b >" in str(g)
        ratios += [figure.ratio for figure in g.errors_.of_regions if figure.stands_out]
    assert told == 20
    assert np.all(np.abs(np.array(ratios) - 3.0) < 0.5)


def test_nothing_is_told_without_a_difference():
    told = 0
    for seed in range(60):
        rng, X = table(300, 100 + seed)
        g = gx.Granite(step, **QUICK).fit(X, step(X) + rng.normal(size=300))
        told += any(figure.stands_out for figure in g.errors_.of_regions)
    assert told <= 7  # 5 % of 60 are 3; more than 7 have a probability below .02


def test_probabilities_have_a_brier_score_and_classes_one_each():
    _, X = table(600, 3)
    labels = np.where(X["a"] > 0.5, "x", np.where(X["b"] > 0, "y", "z"))
    model = LogisticRegression().fit(X, labels)
    g = gx.Granite(model, output="x", **QUICK).fit(X, labels)
    score = np.mean(((labels == "x") - model.predict_proba(X)[:, 0]) ** 2)
    assert g.errors_.measure == "brier"
    assert g.errors_.overall == pytest.approx(score)
    several = gx.Granite(model, output="all", **QUICK).fit(X, labels)
    frame = several.errors_.frame()
    assert set(frame["output"]) == {"x", "y", "z"}
    assert several.of_output("x").errors_.overall == pytest.approx(score)


def test_a_risk_question_has_its_own_loss():
    rng, X = table(400, 4)
    y = step(X) + rng.normal(size=400)
    question = gx.question("pfi-risk", risk_loss="absolute")
    g = gx.Granite(step, question, **QUICK).fit(X, y)
    assert g.errors_.measure == "absolute"
    assert g.errors_.overall == pytest.approx(np.mean(np.abs(y - step(X))))


def test_rows_of_the_user_judge_the_errors():
    rng, X = table(500, 5)
    y = step(X)
    _, other = table(400, 6)
    other_y = step(other) + rng.normal(size=400)
    g = gx.Granite(step, max_depth=1, holdout=(other, other_y)).fit(X, y)
    assert g.errors_.rows == "given"
    assert g.errors_.overall == pytest.approx(np.sqrt(np.mean((other_y - step(other)) ** 2)))


def test_a_target_that_cannot_be_read_is_a_note():
    _, X = table(300, 7)
    g = gx.Granite(step, **QUICK).fit(X, np.array(["text"] * 300))
    assert g.errors_ is None
    assert "rmse" not in g.partition_.frame()
    assert "Errors by region are not known" in g.diagnostics_["errors"]
    assert "Errors by region are not known" in str(g)
    with pytest.raises(gx.InputError, match="T02"):
        gx.Granite(step, **QUICK).fit(X, np.zeros(299))


def test_a_target_changes_neither_regions_nor_figures():
    rng, X = table(700, 8)
    X = pd.concat([X, X.iloc[:50]], ignore_index=True)  # equal rows with other targets
    y = rng.normal(size=750)
    with_y, without = (gx.Granite(step, max_depth=2).fit(X, target) for target in (y, None))
    assert str(with_y.partition_.rules) == str(without.partition_.rules)
    assert with_y.remaining_ == without.remaining_
    order = rng.permutation(750)
    again = gx.Granite(step, max_depth=2).fit(X.iloc[order].reset_index(drop=True), y[order])
    assert again.errors_.frame().equals(with_y.errors_.frame()) or np.allclose(
        again.errors_.frame().select_dtypes("number"),
        with_y.errors_.frame().select_dtypes("number"),
        rtol=1e-12,
    )


def test_saved_loaded_and_reported(tmp_path):
    rng, X = table(700, 9)
    y = step(X) + rng.normal(size=700) * np.where(X["b"] > 0, 3.0, 1.0)
    g = gx.Granite(step, max_depth=1).fit(X, y)
    loaded = gx.load(gx.save(g, tmp_path / "g.json"))
    assert str(loaded) == str(g)
    pd.testing.assert_frame_equal(loaded.errors_.frame(), g.errors_.frame())
    assert "times as large" in g.report(X, y).html()


def test_the_rounding_of_a_model_that_is_the_target_is_no_error():
    _, X = table(600, 10)
    g = gx.Granite(step, **QUICK).fit(X, (3.0 * step(X)) / 3.0)
    assert g.errors_.overall == 0.0
    assert "RMSE" not in str(g)
    assert "times as large" not in str(g)


def test_the_worst_two_regions_are_named_and_others_counted():
    rng, X = table(4000, 10)
    rules = ["a <= -0.7", "a > -0.7 and a <= 0", "a > 0 and a <= 0.7", "a > 0.7"]
    noise = np.select([X["a"] <= -0.7, X["a"] <= 0, X["a"] <= 0.7], [4.0, 4.0, 4.0], 0.5)
    y = step(X) + rng.normal(size=4000) * noise
    partitioner = gx.partitioners.GivenRules(rules)
    text = str(gx.Granite(step, partitioner=partitioner, **QUICK).fit(X, y))
    (sentence,) = [line for line in text.splitlines() if line.startswith("Compared with the")]
    assert sentence.startswith("Compared with the other regions, the model's RMSE is 8.")
    assert sentence.count(" where ") == 2
    assert sentence.endswith("and larger in 1 more region.")


def test_a_region_is_compared_with_those_that_do_not_stand_out():
    rng, X = table(3000, 11)
    spread = np.where(X["b"] > 0, np.where(X["c"] > 0, 4.0, 3.0), 1.0)

    def model(frame):
        return frame["a"] * np.where(frame["b"] > 0, np.where(frame["c"] > 0, 2, -1), 1)

    y = model(X) + rng.normal(size=3000) * spread
    g = gx.Granite(model, max_depth=2).fit(X, y)
    ratios = sorted(figure.ratio for figure in g.errors_.of_regions if figure.stands_out)
    assert ratios == pytest.approx([3.0, 4.0], rel=0.1)


def test_errors_in_one_region_only_are_told():
    rng, X = table(800, 12)
    y = step(X) + rng.normal(size=800) * (X["b"] > 0)
    g = gx.Granite(step, split_features=["b"], **QUICK).fit(X, y)
    assert "is not 0 where" in str(g)


def test_a_figure_of_the_paper_has_the_rows_of_the_fit():
    _, X = table(300, 13)
    _, other = table(200, 14)
    g = gx.Granite(step, confidence_level=None, holdout=(other, step(other) + 1.0)).fit(X, step(X))
    assert g.errors_.rows == "fitting"
    assert g.errors_.overall == 0.0


def test_a_huge_ratio_is_not_spelled_out():
    rng, X = table(800, 15)
    y = step(X) + rng.normal(size=800) * np.where(X["b"] > 0, 1.0, 0.001)
    g = gx.Granite(step, split_features=["b"], **QUICK).fit(X, y)
    assert "RMSE is more than 10 times as large where b >" in str(g)
