"""The figures of a region by one case, computed anew from its rows."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.studies.case_figures import REGION_MEASURES, measure_case
from granite_xai.studies.cases import CaseInput
from strategies import quiet
from studies.two_models import MODELS, RULES, X, challenger, champion, finding, rows_of_regions, y


def test_figures_are_those_of_the_rows_of_a_region(comparison):
    for region, rows in enumerate(rows_of_regions()):
        share = finding(comparison, region, "fraction", "new")
        mean = finding(comparison, region, "mean prediction", "new")
        risk = finding(comparison, region, "risk", "old")
        assert share.value == pytest.approx(rows.mean())
        assert mean.value == pytest.approx(challenger(X[rows]).mean())
        assert risk.value == pytest.approx(np.square(champion(X[rows]) - y[rows]).mean())


def test_heterogeneity_is_that_of_a_fit_on_the_rows_of_the_region(comparison):
    for region, rows in enumerate(rows_of_regions()):
        heterogeneity = finding(comparison, region, "disagreement", "old")
        alone = gx.Granite(champion, max_depth=0).fit(X[rows])
        assert heterogeneity.value == pytest.approx(alone.disagreement_, abs=1e-12)


def test_the_importance_of_a_local_effect_is_its_root_mean_square(comparison):
    for region, rows in enumerate(rows_of_regions()):
        importance = finding(comparison, region, "importance", "old", "c")
        effect = 0.5 * (X["c"][rows] - X["c"][rows].mean())
        assert importance.value == pytest.approx(np.sqrt(np.mean(effect**2)))


def test_values_that_a_pilot_chose_show_the_same_importance(comparison):
    """Sixteen values of each feature give the figures of all of them, within half a percent."""
    chosen = gx.compare(MODELS, X, y, partition=RULES)
    for line, exact in zip(chosen.findings, comparison.findings, strict=True):
        if line.measure == "importance" and exact.value > 0.01:
            assert line.value == pytest.approx(exact.value, rel=0.005)


@pytest.mark.parametrize("question", ["ice-pdp", "mplot-pdp", "cfi-pfi"])
def test_heterogeneity_is_corrected_for_noise_as_in_an_estimate(question):
    options = {"partitioner": gx.partitioners.GivenRules(["b ≤ 0", "b > 0"]), "holdout": False}
    with quiet():
        compared = gx.compare(MODELS, X, y, partition=RULES, question=question)
        fitted = gx.Granite(champion, question, **options).fit(X, y)
    estimate = fitted.estimate_.frame().set_index("region")
    for region in (0, 1):
        heterogeneity = finding(compared, region, "disagreement", "old").value
        assert heterogeneity == pytest.approx(
            estimate.loc[region, "corrected"], rel=1e-9, abs=1e-12
        )
    assert "with what sampling noise adds" not in str(compared)


def test_without_a_confidence_level_heterogeneity_is_as_measured():
    def steep(X):
        return champion(X) * np.asarray(X["b"])

    rows = X["b"] > 0
    models = [steep, champion]
    with_level = gx.compare(models, X, partition=RULES)
    without_level = gx.compare(models, X, partition=RULES, confidence_level=None)
    corrected = finding(with_level, 1, "disagreement", "first").value
    measured = finding(without_level, 1, "disagreement", "first").value
    alone = gx.Granite(steep, max_depth=0, confidence_level=None).fit(X[rows])
    assert measured == pytest.approx(alone.disagreement_)
    assert 0 < corrected < measured
    assert "with what sampling noise adds" in str(without_level)


def test_moves_are_those_of_the_mean_with_every_sign():
    """A mean under weights 1 ± 0.1 s differs by 0.2 times its slope along s."""
    case = measure_case(CaseInput("a", champion, X), RULES, {"max_samples": 1000})
    order = case.values.table
    predictions, _, _ = case.values.by_row()
    n_pairs, n_regions, n_figures = case.moves.shape
    assert (n_regions, n_figures) == (2, len(REGION_MEASURES) + 4)
    column = REGION_MEASURES.index("mean prediction")
    for region, scope in enumerate(case.scopes):
        errors = np.sqrt(np.mean(case.moves[:, region, column] ** 2))
        inside = predictions[scope.rows]
        expected = inside.std() / np.sqrt(len(inside))
        assert errors == pytest.approx(expected, rel=3 / np.sqrt(2 * n_pairs))
    assert order.n_rows == 400


@pytest.mark.parametrize("n_inside", [2, 3, 5])
def test_errors_of_a_small_region_are_those_of_its_own_rows(n_inside):
    """The mean of m rows has the variance s²/m, where s² has the divisor m - 1."""
    few = X[(X["b"] > 0) | (np.cumsum(X["b"] <= 0) <= n_inside)]
    case = measure_case(CaseInput("a", champion, few), RULES, {"max_samples": 1000})
    predictions, _, _ = case.values.by_row()
    inside = predictions[case.scopes[0].rows]
    assert len(inside) == n_inside
    moves = case.moves[:, 0, REGION_MEASURES.index("mean prediction")]
    expected = inside.std(ddof=1) / np.sqrt(n_inside)
    assert np.sqrt(np.mean(moves**2)) == pytest.approx(expected, rel=0.3)


def test_one_row_of_a_region_says_nothing_about_its_errors():
    one = X[(X["b"] > 0) | (np.cumsum(X["b"] <= 0) <= 1)]
    comparison = gx.compare(champion, {"all": X, "one": one}, partition=RULES)
    mean = finding(comparison, 0, "mean prediction", "one")
    assert mean.n_samples == 1
    assert np.isfinite(mean.value)
    assert np.isnan([mean.low, mean.high, mean.difference_low, mean.difference_high]).all()
    assert not mean.changed
    share = finding(comparison, 0, "fraction", "one")
    assert share.low < share.value < share.high
    assert share.changed


def test_a_region_without_rows_has_a_share_of_0_and_nothing_else():
    inside = X[X["b"] > 0]
    case = measure_case(CaseInput("a", champion, inside), RULES, {"max_samples": 1000})
    assert len(case.scopes[0].rows) == 0
    assert case.figures[0, 0] == 0.0
    assert np.isnan(case.figures[0, 1:]).all()
    assert case.figures[1, 0] == 1.0


def test_without_a_target_there_is_no_risk():
    case = measure_case(CaseInput("a", champion, X), RULES, {"max_samples": 1000})
    assert np.isnan(case.figures[:, REGION_MEASURES.index("risk")]).all()
    assert np.isfinite(np.delete(case.figures, REGION_MEASURES.index("risk"), axis=1)).all()


def test_a_cluster_of_equal_rows_counts_as_one_row():
    """Every row three times, with its copies in a cluster: noise is taken off as for the rows once.

    Signs are drawn for other rows, so that what noise adds is the same only on average, over seeds.
    """
    few = X.iloc[:40]
    rows = np.repeat(np.arange(40), 3)
    repeated = few.iloc[rows].reset_index(drop=True)

    def bent(X):
        return np.asarray(X["a"]) * np.asarray(X["b"]) * np.asarray(X["c"])

    def mean_heterogeneity(X, clusters=None):
        values = []
        for seed in range(6):
            options = {"resources": gx.Resources(max_grid=None), "random_state": seed}
            with quiet():
                compared = gx.compare(
                    [bent, champion], X, clusters=clusters, partition=RULES, **options
                )
            first_case = compared.findings[0].case
            values.append(finding(compared, 0, "disagreement", first_case).value)
        return np.mean(values)

    alone = mean_heterogeneity(few)
    together = mean_heterogeneity(repeated, rows)
    copied = mean_heterogeneity(repeated)
    assert copied > 1.004 * alone
    assert abs(together - alone) < 0.25 * (copied - alone)
