"""Comparisons: which cases and regions, figures, what differs, curves, and how all of it is told."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import granite_xai as gx
from granite_xai.results.compare import REGION_MEASURES, CaseInput
from results.two_models import MODELS, RULES, X, challenger, champion, finding, rows_of_regions, y
from strategies import quiet


@pytest.fixture(scope="module")
def comparison():
    """Both models on the same rows, every value of a feature evaluated."""
    exact = gx.Resources(max_grid=None)
    return gx.compare(MODELS, X, y, partition=RULES, resources=exact)


def case_of(table, **options):
    """The champion measured on a table."""
    return gx.compare([champion, challenger], table, partition=RULES, **options).cases[0]


# What is compared ----------------------------------------------------------------------------------


def test_models_of_a_list_are_numbered_and_share_the_rows():
    models = [champion, challenger, champion, challenger]
    compared = gx.compare(models, X, y, partition=RULES)
    assert compared.names == ("first", "second", "model 3", "model 4")
    for case in compared.cases[1:]:
        assert case.values.table.same_rows(compared.cases[0].values.table)


def test_tables_have_their_own_target_and_clusters():
    tables = {"then": (X, y), "now": X}
    compared = gx.compare(champion, tables, partition=RULES, clusters={"now": np.arange(400) // 4})
    then, now = compared.cases
    assert (then.name, now.name) == ("then", "now")
    assert np.isfinite(then.figures[:, 2]).all()
    assert np.isnan(now.figures[:, 2]).all()
    assert len(set(then.values.rows.clusters)) == 400
    assert len(set(now.values.rows.clusters)) == 100


def test_what_cannot_be_compared_is_refused():
    tables = {"a": X, "b": X}
    refused = [
        ("one case", (champion, X, y), {}),
        ("one case", (champion, {"then": X}), {}),
        ("compare needs two", ([], tables), {}),
        ("several models on several tables", ([champion, challenger], tables), {}),
        ("clusters have no table", (champion, tables), {"clusters": np.arange(400)}),
        ("weights have no table", (champion, tables), {"sample_weight": np.ones(400)}),
        ("has no regions", ([champion, challenger], X), {"partition": 3}),
    ]
    for message, arguments, options in refused:
        with pytest.raises(gx.InputError, match=message):
            gx.compare(*arguments, **options)


def test_weights_go_with_their_rows():
    weights = np.arange(400.0)
    compared = gx.compare(
        champion, {"then": X, "now": X}, partition=RULES, sample_weight={"now": weights}
    )
    then, now = (case.values.rows for case in compared.cases)
    assert set(then.weights) == {1.0}
    assert now.weights.tolist() == weights[now.positions].tolist()
    half = CaseInput("a", champion, X, weights=weights).half(1)
    assert half.weights.tolist() == weights[1::2].tolist()


@pytest.mark.parametrize("container", [np.asarray, list, pl.Series])
def test_halves_hold_every_other_row(container):
    case = CaseInput(name="a", model=champion, X=X, y=container(np.arange(400)))
    first = case.half(0)
    second = case.half(1)
    assert list(first.y) == list(range(0, 400, 2))
    assert list(second.y) == list(range(1, 400, 2))
    assert first.X.equals(X.iloc[::2])
    assert second.clusters is None


@pytest.mark.parametrize("container", [list, tuple])
@pytest.mark.parametrize("clusters", [None, [0, 1, 0, 1]])
def test_halves_of_a_list_of_rows_keep_numbers_beside_text(container, clusters):
    rows = container([[1.0, "a"], [2.0, "b"], [3.0, "c"], [4.0, "d"]])
    case = CaseInput(name="a", model=champion, X=rows, clusters=clusters)
    assert list(case.half(0).X) == [[1.0, "a"], [3.0, "c"]]
    assert list(case.half(1).X) == [[2.0, "b"], [4.0, "d"]]


@pytest.mark.parametrize("container", [np.asarray, list])
def test_halves_do_not_part_a_cluster(container):
    names = container(["u", "v", "v", "w", "u", "w"])
    case = CaseInput(name="a", model=champion, X=np.arange(6)[:, None], clusters=names)
    first = case.half(0)
    second = case.half(1)
    assert sorted(first.clusters) == ["u", "u", "w", "w"]
    assert first.X.ravel().tolist() == [0, 3, 4, 5]
    assert second.X.ravel().tolist() == [1, 2]


def test_halves_of_a_pyarrow_table_do_not_part_a_cluster():
    table = pa.table({"a": np.arange(6)})
    names = pa.array(["u", "v", "v", "w", "u", "w"])
    case = CaseInput(name="a", model=champion, X=table, y=table["a"], clusters=names)
    first = case.half(0)
    assert first.X["a"].to_pylist() == first.y.to_pylist() == [0, 3, 4, 5]
    assert first.clusters.to_pylist() == ["u", "w", "u", "w"]


def test_regions_are_searched_on_rows_that_are_not_measured():
    compared = gx.compare([champion, challenger], X, y)
    assert compared.names == ("first", "second")
    assert len(compared.partition) > 1
    regions = range(len(compared.partition))
    measured = [finding(compared, region, "fraction", "first").n_samples for region in regions]
    assert sum(measured) == 200


def test_clusters_stay_together_when_rows_are_halved():
    rows = np.repeat(np.arange(200), 4)
    repeated = X.iloc[:200].iloc[rows].reset_index(drop=True)
    values = gx.compare(MODELS, repeated, clusters=rows).cases[0].values
    assert set(values.rows.clusters) == set(range(100))
    assert values.table.n_rows == 400


def test_a_fit_gives_its_regions_and_its_question():
    g = gx.Granite(champion, "sobol", max_depth=1).fit(X)
    compared = gx.compare({"old": g, "new": challenger}, X, y)
    assert compared.partition is g.partition_
    labels = {case.values.fitted.questions[0].label for case in compared.cases}
    assert labels == {"sobol"}
    assert gx.compare(MODELS, X, partition=g).partition is g.partition_


def test_options_of_a_call_overrule_those_of_a_fit():
    g = gx.Granite(champion, "sobol", max_depth=1).fit(X)
    compared = gx.compare({"old": g, "new": challenger}, X, question="ice-pdp", max_samples=50)
    for case in compared.cases:
        assert case.values.fitted.questions[0].label == "ice-pdp"
        assert case.values.table.n_rows == 50


# Figures of a region ------------------------------------------------------------------------------


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
    case = case_of(X)
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
    case = case_of(few)
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
    case = case_of(inside)
    assert len(case.scopes[0].rows) == 0
    assert case.figures[0, 0] == 0.0
    assert np.isnan(case.figures[0, 1:]).all()
    assert case.figures[1, 0] == 1.0


def test_without_a_target_there_is_no_risk():
    case = case_of(X)
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


# What differs --------------------------------------------------------------------------------------


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


def test_intervals_of_clusters_are_those_of_single_rows():
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
    compared = gx.compare([champion, challenger], rows, partition=RULES)
    case = compared.cases[0]
    mean = REGION_MEASURES.index("mean prediction")
    errors = np.sqrt(np.mean(case.moves[:, 1, mean] ** 2))
    line = finding(compared, 1, "mean prediction", "first")
    half_width = line.high - line.value
    if n_inside < 5:
        assert np.isnan(half_width)
    else:
        quantile = {5: 2.776445, 8: 2.364624}[n_inside]  # of Student's t at 97.5 %
        assert half_width == pytest.approx(quantile * errors, rel=1e-6)


# Curves --------------------------------------------------------------------------------------------


def curves_of(comparison, position):
    """The curves of a feature by case and region."""
    return {
        (curve.case, curve.scope.region): curve for curve in comparison.curves(position, points=400)
    }


def centred_pdp(model, rows, feature, levels):
    """Mean of the ICE curves of some rows, each around its own mean over the rows' values."""
    curves = np.array([model(rows.assign(**{feature: level})) for level in rows[feature]])
    at_levels = np.array([model(rows.assign(**{feature: level})) for level in levels])
    centred = at_levels - curves.mean(axis=0)  # (levels, rows)
    quantile = stats.t.ppf(0.975, len(rows) - 1)
    half_width = quantile * centred.std(axis=1) / np.sqrt(len(rows))
    return centred.mean(axis=1), half_width


@pytest.mark.parametrize("feature", ["a", "c"])
def test_a_curve_is_the_centred_partial_dependence_in_its_region(comparison, feature):
    curves = curves_of(comparison, list(X).index(feature))
    for name, model in (("old", champion), ("new", challenger)):
        for region, inside in enumerate(rows_of_regions()):
            curve = curves[name, region]
            mean, half_width = centred_pdp(model, X[inside], feature, curve.levels)
            np.testing.assert_allclose(curve.mean, mean, atol=1e-10)
            np.testing.assert_allclose(curve.high - curve.mean, half_width, atol=1e-6)
            np.testing.assert_allclose(curve.mean - curve.low, half_width, atol=1e-6)
            assert list(curve.levels) == sorted(set(X[feature][inside]))


def test_regions_share_a_curve_in_every_case_where_the_fit_that_found_them_does():
    g = gx.Granite(champion, max_depth=1, max_samples=None, holdout=False).fit(X)
    assert "c" in g.curves_.same
    assert "a" in g.curves_.differs
    compared = gx.compare({"old": g, "new": challenger}, X)
    for feature, is_shared in (("c", True), ("a", False)):
        curves = curves_of(compared, list(X).index(feature))
        for name in compared.names:
            first, second = (
                dict(zip(curves[name, region].levels, curves[name, region].mean, strict=True))
                for region in (0, 1)
            )
            both = sorted(first.keys() & second.keys())
            assert len(both) > 10
            gaps = [abs(first[level] - second[level]) for level in both]
            assert (max(gaps) < 1e-12) == is_shared


def test_an_ordered_feature_is_shown_at_a_few_of_its_values(comparison):
    curve = next(comparison.curves(0, points=7))
    values = sorted(set(X["a"][X["b"] <= 0]))
    assert len(curve.levels) == 7
    assert (curve.levels[0], curve.levels[-1]) == (values[0], values[-1])


def test_categories_are_shown_in_full(comparison):
    curve = next(comparison.curves(3, points=1))
    assert list(curve.levels) == ["u", "v"]


def test_a_missing_value_is_no_point_of_a_curve():
    holes = X.assign(c=X["c"].where(np.arange(400) % 5 > 0))

    def model(X):
        return np.asarray(X["a"]) + np.nan_to_num(np.asarray(X["c"], dtype=float), nan=3.0)

    compared = gx.compare(model, {"then": holes, "now": holes}, partition=RULES, missing="allow")
    for curve in compared.curves(2):
        assert not pd.isna(curve.levels).any()
        assert list(curve.levels) == sorted(set(curve.levels))


def test_curves_of_clusters_have_the_intervals_of_single_rows():
    """Every row four times: with clusters the interval of a curve is that of the single rows."""

    def steep(X):
        return champion(X) * np.asarray(X["b"])

    few = X.iloc[:200]
    rows = np.repeat(np.arange(200), 4)
    repeated = few.iloc[rows].reset_index(drop=True)
    options = {"partition": RULES, "confidence_level": None}
    once = next(gx.compare([steep, champion], few, **options).curves(0))
    together = gx.compare([steep, champion], repeated, clusters=rows, **options)
    clustered = next(together.curves(0))
    assert (once.high - once.low).max() > 0.05
    np.testing.assert_allclose(clustered.high - clustered.low, once.high - once.low, rtol=1e-6)


# As it is told -------------------------------------------------------------------------------------


def test_three_models_in_another_library():
    table = pl.from_pandas(X)
    models = {
        "a": lambda X: champion(X.to_pandas()),
        "b": lambda X: challenger(X.to_pandas()),
        "c": lambda X: champion(X.to_pandas()),
    }
    compared = gx.compare(models, table, y, partition=RULES)
    assert isinstance(compared.frame(), pl.DataFrame)
    assert not any(line.changed for line in compared.findings if line.case == "c")


def test_a_region_without_rows_has_no_figures():
    compared = gx.compare(champion, {"then": X, "now": X[X["b"] > 0]}, partition=RULES)
    empty = finding(compared, 0, "mean prediction", "now")
    assert empty.n_samples == 0
    assert np.isnan(empty.value)
    assert not empty.changed
    assert finding(compared, 0, "fraction", "now").value == 0.0
    assert compared.frame()["value"].isna().any()
    assert "–" in str(compared)
    assert gx.ComparisonDisplay.from_comparison(compared).frame()["case"].nunique() == 2


def test_changes_of_regions_come_before_importances_and_the_clearest_first(comparison):
    line = finding(comparison, 1, "risk", "new")._replace(changed=True)
    vague = line._replace(case="vague", difference=3.0, difference_high=5.0)
    clear = line._replace(case="clear", difference=-1.0, difference_high=-0.9)
    weak = line._replace(case="weak", set="a", difference=9.0, difference_high=9.0)
    strong = line._replace(case="strong", set="b", difference=-10.0, difference_high=90.0)
    unchanged = clear._replace(changed=False)
    findings = (weak, vague, unchanged, strong, clear)
    compared = gx.Comparison(comparison.partition, comparison.cases, findings)
    assert [line.case for line in compared.changed] == ["clear", "vague", "strong", "weak"]


def test_features_that_vary_are_listed_by_their_largest_importance(comparison):
    names = list(X)
    largest = dict.fromkeys(names, 0.0)
    for line in comparison.findings:
        if line.set is not None:
            largest[line.set] = max(largest[line.set], line.value)
    expected = sorted(range(4), key=lambda position: -largest[names[position]])
    assert comparison.columns == expected
    constant = X.assign(w="u")
    compared = gx.compare(MODELS, constant, partition=RULES)
    assert sorted(compared.columns) == [0, 1, 2]


def test_the_text_leads_with_the_differences(comparison):
    lines = str(comparison).splitlines()
    assert lines[0] == (
        "2 regions on 400 rows (old) and 400 rows (new), with 95% intervals that take the regions as fixed."
    )
    assert lines[1].startswith("Region 1 (b > 0): the ")
    text = " ".join(comparison.sentences())
    assert "Region 1 (b > 0): the importance of c is 1.4 in new, 0.4" in text
    assert repr(comparison).startswith("<Comparison of old, new: ")


def test_no_difference_is_said():
    same = gx.compare({"old": champion, "new": champion}, X, partition=RULES)
    assert "Nothing differs from old beyond sampling noise." in str(same)


def test_differences_beyond_the_limit_are_counted(comparison):
    n_further = len(comparison.changed) - 1
    *_, last = comparison.sentences(most=1)
    assert last.startswith(f"{n_further} further difference")
    *_, last = comparison.sentences(most=n_further + 1)
    assert last == "The rest is within sampling noise."


def test_the_table_marks_what_differs(comparison):
    text = str(comparison)
    headings, *lines = text[text.index("case ") :].splitlines()
    assert headings.split()[:2] == ["case", "rows"]
    assert "heterogeneity²" in headings
    assert [line.split()[:2] for line in lines] == [
        ["0", "old"],
        ["0", "new"],
        ["1", "old"],
        ["1", "new"],
    ]
    assert [("*" in line) for line in lines] == [False, False, False, True]


def test_the_display_shows_every_case(comparison):
    display = gx.ComparisonDisplay.from_comparison(comparison, features=["a", "w"]).plot()
    assert display.axes_.shape == (4,)
    assert len(display.frame()) > 8
    plt.close(display.figure_)


def test_names_of_cases_are_no_markup():
    hostile = gx.compare({"<script>": champion, "b": challenger}, X, partition=RULES)
    assert "<script>" not in hostile._repr_html_()
