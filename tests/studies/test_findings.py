"""Which differences are called more than noise, and their intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.studies.case_figures import REGION_MEASURES, measure_case
from granite_xai.studies.cases import CaseInput
from granite_xai.studies.findings import find_differences
from studies.two_models import RULES, X, challenger, champion, finding, rows_of_regions, y


def test_the_interval_of_a_mean_is_the_known_one(comparison):
    """Random signs estimate the standard error of a mean: s/√n, here from 50 pairs."""
    for region, rows in enumerate(rows_of_regions()):
        line = finding(comparison, region, "mean prediction", "old")
        half_width = 1.96 * champion(X[rows]).std() / np.sqrt(rows.sum())
        assert line.high - line.value == pytest.approx(half_width, rel=0.35)
        assert line.value - line.low == pytest.approx(line.high - line.value)


def test_models_on_the_same_rows_are_compared_pair_by_pair(comparison):
    """The difference has a far smaller error than each of the means."""
    rows = X["b"] > 0
    line = finding(comparison, 1, "mean prediction", "new")
    differences = (challenger(X) - champion(X))[rows]
    half_width = 1.96 * differences.std() / np.sqrt(len(differences))
    assert line.difference == pytest.approx(differences.mean())
    assert line.difference_high - line.difference == pytest.approx(half_width, rel=0.35)
    same = finding(comparison, 0, "mean prediction", "new")
    interval = [same.difference, same.difference_low, same.difference_high]
    assert interval == pytest.approx([0.0] * 3, abs=1e-12)


def test_the_variances_of_two_tables_add_up():
    other = X.sample(frac=1.0, random_state=1).iloc[:200]
    compared = gx.compare(champion, {"then": X, "now": other}, partition=RULES)
    then = finding(compared, 1, "mean prediction", "then")
    now = finding(compared, 1, "mean prediction", "now")
    expected = np.hypot(then.high - then.value, now.high - now.value)
    assert now.difference_high - now.difference == pytest.approx(expected)


def test_only_what_was_changed_has_changed(comparison):
    changed = {(line.region, line.measure, line.set) for line in comparison.changed}
    assert (1, "importance", "c") in changed
    assert (1, "risk", None) in changed
    assert {region for region, *_ in changed} == {1}


def test_two_samples_of_one_population_seldom_differ():
    """Over all figures of 20 pairs of tables at most one in fifty is called a difference."""
    n_figures = 0
    n_changes = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        first = pd.DataFrame(rng.normal(size=(150, 3)), columns=["a", "b", "c"])
        second = pd.DataFrame(rng.normal(size=(150, 3)), columns=["a", "b", "c"])
        compared = gx.compare(champion, {"one": first, "two": second}, partition=RULES)
        figures = [line for line in compared.findings if line.case == "two"]
        n_figures += sum(not np.isnan(line.value) for line in figures)
        n_changes += len(compared.changed)
    assert n_figures == 20 * 2 * 6
    assert n_changes <= 5


def test_rows_that_moved_between_regions_are_noticed():
    moved = X.assign(b=X["b"] + 1.0)
    compared = gx.compare(champion, {"then": (X, y), "now": (moved, y)}, partition=RULES)
    changed = {(line.region, line.measure) for line in compared.changed}
    assert changed >= {(0, "fraction"), (1, "fraction")}
    assert finding(compared, 1, "fraction", "now").difference > 0.3


def test_more_figures_of_a_measure_make_each_of_them_stricter(comparison):
    """Bonferroni over regions (2) and, for importances, over sets (4) as well."""
    factors = {None: 2.2414 / 1.95996, "c": 2.7344 / 1.95996}  # quantiles of 0.05 / 2 k
    for line in comparison.findings:
        if line.case == "new" and line.set in factors:
            half_width = line.difference_high - line.difference
            margin = abs(line.difference) - factors[line.set] * half_width
            if abs(margin) > 1e-6:
                assert line.changed == (margin > 0)


def test_rows_of_one_cluster_are_one_observation():
    """Every row four times: with clusters the intervals are those of the single rows, else half.

    Without a confidence level rows stay in the order given, so that a cluster has the signs of its row.
    """
    few = X.iloc[:200]
    rows = np.repeat(np.arange(200), 4)
    repeated = few.iloc[rows].reset_index(drop=True)
    models = {"old": lambda X: champion(X) * np.asarray(X["b"]), "new": challenger}
    options = {"partition": RULES, "confidence_level": None}
    once = gx.compare(models, few, **options)
    together = gx.compare(models, repeated, clusters=rows, **options)
    apart = gx.compare(models, repeated, **options)
    for measure in ("mean prediction", "fraction"):
        single, clustered, independent = (
            finding(compared, 1, measure, "new") for compared in (once, together, apart)
        )
        width = single.high - single.low
        assert clustered.high - clustered.low == pytest.approx(width, rel=0.01)
        assert independent.high - independent.low == pytest.approx(width / 2, rel=0.35)


def test_clusters_of_one_of_two_tables_widen_its_intervals_only():
    rows = np.repeat(np.arange(200), 4)
    repeated = X.iloc[:200].iloc[rows].reset_index(drop=True)
    compared = gx.compare(
        champion, {"then": repeated, "now": repeated}, partition=RULES, clusters={"now": rows}
    )
    then = finding(compared, 1, "mean prediction", "then")
    now = finding(compared, 1, "mean prediction", "now")
    assert now.high - now.low > 1.5 * (then.high - then.low)


def table_with_small_region(rng, n_inside, n_rows=80, shift=0.0):
    """So many rows with b > 0, and all others below; c is shifted everywhere."""
    rows = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    rows["b"] = -rows["b"].abs()
    rows.loc[: n_inside - 1, "b"] = 1.0 + rng.random(n_inside)
    rows["c"] += shift
    return rows


def changes_in_small_region(n_inside, n_tables, shift=0.0):
    """In how many pairs of tables a figure of the small region is called changed."""
    n_changed = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        tables = {}
        for name in ("one", "two"):
            rows = table_with_small_region(rng, n_inside, shift=shift * (name == "two"))
            tables[name] = (rows, champion(rows) + rng.normal(size=len(rows)))
        compared = gx.compare(champion, tables, partition=RULES)
        n_changed += any(line.region == 1 for line in compared.changed)
    return n_changed


@pytest.mark.parametrize(("n_inside", "most"), [(2, 0), (3, 0), (6, 3)])
def test_small_regions_of_one_population_seldom_differ(n_inside, most):
    """Five rows hardly tell how far a figure varies: fewer make no claim, few more make it by Student's t."""
    assert changes_in_small_region(n_inside, 40) <= most


def test_differences_of_larger_regions_are_found():
    assert changes_in_small_region(40, 10, shift=2.5) >= 9


@pytest.mark.parametrize("n_inside", [4, 5, 8])
def test_intervals_of_small_regions_are_those_of_student(n_inside):
    rows = table_with_small_region(np.random.default_rng(0), n_inside)
    case = measure_case(CaseInput("a", champion, rows), RULES, {"max_samples": 1000})
    mean = REGION_MEASURES.index("mean prediction")
    errors = np.sqrt(np.mean(case.moves[:, 1, mean] ** 2))
    (line,) = [
        line
        for line in find_differences(RULES, [case], same_rows=True)
        if (line.region, line.measure) == (1, "mean prediction")
    ]
    half_width = line.high - line.value
    if n_inside < 5:
        assert np.isnan(half_width)
    else:
        quantile = {5: 2.776445, 8: 2.364624}[n_inside]  # of Student's t at 97.5 %
        assert half_width == pytest.approx(quantile * errors, rel=1e-6)
