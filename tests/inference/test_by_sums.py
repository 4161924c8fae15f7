"""Chance from sums over rows against chance from the predictions, with the same random weights."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.explanation.masking import Conditional
from granite_xai.inference.by_sums import (
    ClosedForm,
    bar_of_clusters,
    closed_form,
    regional_gaps,
    replicated_means,
    small_sample_factor,
    weighted_sums,
)
from granite_xai.inference.confidence import Confidence
from granite_xai.moments.chance import disagreement_by_chance
from granite_xai.moments.stacked import StackedGaps
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.inference import by_sums
from problems import MixedModel, looped_sums, mixed_table, problem_of, random_model, random_table
from strategies import cases, examples

REGIONAL = ("variance", "sobol", "pfi-risk", "cfi-pfi", "csobol-sobol")


def dependent_problem(name, seed=3, n=50, weighted=True, **options):
    """Columns that depend on each other, so that bins of some say something about others."""
    generator = np.random.default_rng(seed)
    X = random_table(generator, n)
    X[:, 2] = np.round(0.7 * X[:, 0] + 0.5 * X[:, 2], 1)
    weights = generator.choice([0.5, 1.0, 2.5], size=n) if weighted else None
    y = generator.normal(size=n)
    return problem_of(random_model(generator), X, name, y=y, sample_weight=weights, **options)


def of_rows(problem, rows):
    """Question, evaluations and statistics of a part of the rows."""
    (question,), (statistics,) = problem.shares.comparisons, problem.statistics
    return question, problem.evaluations.restrict(rows), [own.take(rows) for own in statistics]


@pytest.mark.parametrize("grid", [None, 4])
@pytest.mark.parametrize("bins", ["tree", "exact"])
@pytest.mark.parametrize("clustered", [False, True])
def test_replicates_of_m_plots_are_those_of_the_predictions(grid, bins, clustered):
    """Level, bar and corrected figure in a part of the rows: with weights, small bins, clusters, on a grid."""
    asked = gx.question("mplot-pdp", conditional=Conditional(bins))
    problem = dependent_problem(asked, resources=gx.Resources(max_grid=grid))
    clusters = np.arange(50) // 2 if clustered else np.arange(50)
    replicates = Confidence(0.8, 70, 1).replicates(clusters)  # two blocks of replicates
    for rows in (np.arange(50), np.arange(3, 40, 2)):
        question, evaluations, statistics = of_rows(problem, rows)
        wanted = replicates._figures_of_row_gaps(question, evaluations, rows, None)
        found = replicates._figures_by_sums(question, statistics, rows)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-12)
        assert wanted[1] > 0.0


@pytest.mark.parametrize("grid", [None, 4])
@pytest.mark.parametrize("name", REGIONAL)
def test_replicates_of_regional_gaps_are_those_of_the_predictions(name, grid):
    """Each set under each replicate; then the figures of any loss."""
    problem = dependent_problem(
        gx.question(name, loss="absolute"), resources=gx.Resources(max_grid=grid)
    )
    replicates = Confidence(0.8, 70, 1).replicates(np.arange(50))
    for rows in (np.arange(50), np.arange(3, 40, 2)):
        question, evaluations, statistics = of_rows(problem, rows)
        wanted = replicates._predicted_regional_gaps(question, evaluations, rows, None)
        found = regional_gaps(statistics, replicates.multipliers[:, rows])
        assert found.shape == wanted.shape == (71, 4)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10 * np.abs(wanted).max())
        np.testing.assert_allclose(
            replicates._figures_by_sums(question, statistics, rows),
            replicates._figures_of_regional_gaps(question, wanted, rows),
            rtol=1e-7,
            atol=1e-9 * np.abs(wanted).max(),
        )


@pytest.mark.parametrize("name", ["ice-pdp", "mplot-pdp", "pfi-risk"])
@given(data=st.data())
@examples(15)
def test_chance_by_sums_shows_what_the_predictions_show(name, data):
    """The plug-in figure of a region, for any small table: with missing values, labels, weights."""
    case = data.draw(
        cases(min_rows=3, max_rows=12, min_columns=2, max_columns=3, weighted=None, missing=None)
    )
    problem = problem_of(case.model, case.X, name, y=np.array(case.y), sample_weight=case.weights)
    n = problem.table.n_rows
    rows = np.arange(0, n, 2)
    question, evaluations, statistics = of_rows(problem, rows)
    replicates = Confidence(0.5, 5, 0).replicates(np.arange(n))
    found = replicates.chance([question], evaluations, rows, None, [statistics])
    wanted = question.regional(evaluations, Splits.whole(evaluations.weights))[0, 0]
    scale = (
        max(np.ptp(own.factors.interaction) for own in statistics) ** 2
        + np.ptp(evaluations.predictions) ** 2
    )
    assert found.plug_in[0] == pytest.approx(wanted, rel=1e-8, abs=1e-8 * scale + 1e-12)
    again = replicates.chance([question], evaluations, rows)  # statistics are made when not given
    np.testing.assert_allclose(again.plug_in, found.plug_in, rtol=1e-7, atol=1e-8 * scale + 1e-12)


def test_the_closed_form_stacks_sets():
    """The disagreement is exact; what chance adds to it reads the directions of a search, and is near."""
    problem = dependent_problem("ice-pdp")
    (statistics,) = problem.statistics
    shown, level, bar, corrected = closed_form(statistics, None, 0.9)
    assert shown == pytest.approx(float(problem.roots[0]), rel=1e-9)
    levels = [disagreement_by_chance(StackedGaps.of([own]), None).mean for own in statistics]
    assert level == pytest.approx(sum(levels), rel=0.03)
    assert corrected == pytest.approx(shown - level)
    short = [own.shortened() for own in statistics if own.rank]
    assert bar == pytest.approx(disagreement_by_chance(StackedGaps.of(short), None).quantile(0.9))
    interacting = [own for own in statistics if own.rank]
    full = disagreement_by_chance(StackedGaps.of(interacting), None).quantile(0.9)
    assert bar == pytest.approx(full, rel=0.03)


def test_sets_that_are_too_many_to_stand_side_by_side_tell_the_same(monkeypatch):
    (statistics,) = dependent_problem("ice-pdp").statistics
    some_rows = np.arange(0, 50, 2)
    side_by_side = ClosedForm.of(statistics)
    monkeypatch.setattr(by_sums, "MOST_NUMBERS", 0)
    one_by_one = ClosedForm.of(statistics)
    assert side_by_side.stacked is not None
    assert one_by_one.stacked is None
    for rows in (np.arange(50), some_rows):
        wanted = side_by_side.take(rows).figures(None, 0.95)
        assert one_by_one.take(rows).figures(None, 0.95) == pytest.approx(wanted, rel=1e-12)


def test_a_disagreement_that_is_known_is_not_computed_again(monkeypatch):
    """The figures of some rows: those of their own statistics, whoever computed their disagreement."""
    generator = np.random.default_rng(5)
    problem = problem_of(random_model(generator), random_table(generator), confidence_level=0.95)
    (statistics,) = problem.statistics
    rows = np.arange(0, 60, 3)
    wanted = closed_form([one_set.take(rows) for one_set in statistics], None, 0.95)
    of_rows = ClosedForm.of(statistics).take(rows)
    assert of_rows.figures(None, 0.95) == pytest.approx(wanted, rel=1e-9)
    monkeypatch.delattr(ClosedForm, "mean_squared_gap")
    known = of_rows.figures(None, 0.95, plug_in=2.0)
    assert known.plug_in == 2.0
    assert known.corrected == pytest.approx(2.0 - wanted.chance_level)
    assert known.bar == pytest.approx(wanted.bar)


def test_an_additive_model_has_no_bar():
    problem = problem_of(lambda X: X[:, 0] + X[:, 1], np.random.default_rng(0).normal(size=(30, 2)))
    assert closed_form(problem.statistics[0], None, 0.95) == pytest.approx((0, 0, 0, 0), abs=1e-20)


def test_a_column_with_one_bin_adds_nothing():
    """Conditional on nothing is marginal: the replicates of such a set are skipped."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    problem = problem_of(
        lambda X: X[:, 0] * X[:, 1], np.column_stack([X, np.ones(40)]), "mplot-pdp"
    )
    (statistics,) = problem.statistics
    assert statistics[2].bins is None
    factors = np.random.default_rng(1).exponential(size=(6, 40))
    both, alone = replicated_means(statistics, factors), replicated_means(statistics[:2], factors)
    assert both[0] == alone[0]
    np.testing.assert_array_equal(both[1], alone[1])
    assert replicated_means(statistics[2:], factors)[0] == 0.0


@pytest.mark.parametrize("name", ["ice-pdp", "mplot-pdp"])
def test_sums_under_weights_are_those_of_a_loop(name):
    """Line by line, bin by bin; bins that hold none of the rows stay empty."""
    generator = np.random.default_rng(5)
    problem = problem_of(MixedModel(generator), mixed_table(generator, 40), name)
    rows = np.arange(0, 40, 3)
    for own in [each.take(rows) for each in problem.statistics[0]]:
        lines = generator.exponential(size=(3, len(rows)))
        found = weighted_sums(own, lines)
        for line, sums in zip(lines, np.moveaxis(found, -1, 0), strict=True):
            again = type(own)(own.factors, own.weights * line, own.target, own.bins)
            np.testing.assert_allclose(sums, looped_sums(again, range(len(rows))), atol=1e-12)


def test_small_sample_factor_are_those_of_exponential_weights():
    np.testing.assert_allclose(
        small_sample_factor(np.array([0, 1, 2, 3, 99])), [3, 3, 3, 2, 100 / 98]
    )


def test_no_predictions_are_read_where_sums_are_known(monkeypatch):
    """Nor are sums formed for a question that has none."""
    problem = dependent_problem("ice-pdp")
    question, evaluations, statistics = of_rows(problem, np.arange(50))
    replicates = Confidence(0.8, 10, 1).replicates(np.arange(50))
    monkeypatch.setattr(type(question), "gap_values", None)
    found = replicates.chance([question], evaluations, np.arange(50), None, [statistics])
    assert found.plug_in[0] > 0.0
    monkeypatch.undo()
    monkeypatch.setattr(by_sums, "closed_form", None)
    found = replicates.chance([question], evaluations, np.arange(50), None, [None])
    assert found.plug_in[0] == pytest.approx(float(problem.roots[0]))


@pytest.mark.parametrize(("n_clusters", "ratio"), [(5, 3.4954), (20, 2.4334), (100, 2.2770)])
def test_few_clusters_raise_the_bar_by_the_square_of_students_quantile(n_clusters, ratio):
    """97.5 % on both sides: Student's quantiles of printed tables over that of the normal, 2.2414."""
    assert bar_of_clusters(3.0, 0.975, n_clusters) == pytest.approx(
        3.0 * (ratio / 2.2414) ** 2, rel=1e-3
    )


def test_one_cluster_exceeds_no_bar_and_rows_alone_keep_theirs():
    assert bar_of_clusters(0.0, 0.95, 1) == np.inf
    assert bar_of_clusters(3.0, 0.95, None) == 3.0


@pytest.mark.parametrize("name", ["mplot-pdp", "pfi-risk"])
def test_five_clusters_hardly_ever_show_regions_in_noise(name):
    """Of 30 samples of an additive model whose first column is alike inside clusters, at level 95 %."""
    with_regions = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        clusters = np.arange(150) % 5
        X = rng.normal(size=(150, 3))
        X[:, 0] += rng.normal(size=5)[clusters]
        y = X @ [1.0, 0.5, 0.25] + rng.normal(size=150)
        model = lambda X: X @ [1.0, 0.5, 0.25] + np.sin(2 * X[:, 0])  # noqa: E731
        g = gx.Granite(model, name, max_depth=1, n_jobs=1).fit(X, y, clusters=clusters)
        with_regions += len(g.partition_) > 1
    assert with_regions <= 3
