"""What sampling noise adds to ICE against PDP, in closed form, against sums of matrices and simulations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from granite_xai.inference.confidence import Confidence
from granite_xai.moments.chance import (
    SumOfSquares,
    disagreement_by_chance,
    mean_moves,
)
from granite_xai.moments.factors import Factors
from granite_xai.moments.stacked import StackedGaps
from granite_xai.moments.statistics import FullAgainstPure
from hypothesis import given, strategies as st
from scipy.stats import chi2

from problems import problem_of, random_model, random_table
from strategies import examples


def chance_level(statistics, clusters):
    """What noise adds to one set on average."""
    return disagreement_by_chance(StackedGaps.of([statistics]), clusters).mean


def chance_bar(sets, clusters, levels):
    """What noise alone does not exceed, at some levels."""
    by_chance = disagreement_by_chance(StackedGaps.of(sets), clusters)
    return [by_chance.quantile(level) for level in levels]


def mean_covariance(vectors, weights, clusters):
    """Covariance of a mean of rows."""
    moves = mean_moves(vectors, weights, clusters)
    return moves.T @ moves


def squares_quantile(variances, level):
    """Quantile of a sum of squares with these variances."""
    unit = float(variances.max())
    first, second, third = (float(np.sum((variances / (unit or 1.0)) ** k)) for k in (1, 2, 3))
    return SumOfSquares(unit, first, second, third).quantile(level)


def drawn_statistics(generator, n=30, rank=2, weighted=False):
    """Any numbers will do: the algebra does not ask where they come from."""
    factors = Factors(
        row_part=np.zeros(n),
        value_part=np.zeros(n),
        interaction=generator.normal(size=n),
        row_factors=generator.normal(size=(n, rank)),
        value_factors=generator.normal(size=(n, rank)),
        search_rank=rank,
        repetition_rank=rank,
    )
    weights = generator.choice([0.5, 1.0, 3.0], size=n) if weighted else np.ones(n)
    return FullAgainstPure(factors, weights)


def gap_pairs(statistics):
    """The gap of row n against row m, pair by pair; the gap of row n is its mean over m."""
    f = statistics.factors
    n_rows = statistics.n_rows
    pairs = np.empty((n_rows, n_rows))
    for n in range(n_rows):
        for m in range(n_rows):
            pairs[n, m] = (
                f.interaction[n]
                - f.row_factors[n] @ f.value_factors[m]
                - f.row_factors[m] @ f.value_factors[n]
                + f.interaction[m]
            )
    return pairs


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
@examples(60)
def test_the_chance_level_is_the_variance_of_the_gaps_as_weighted_means(seed, weighted, clustered):
    """Each gap is a weighted mean over rows; its variance by the usual formula, or by clusters."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 25))
    statistics = drawn_statistics(
        generator, n, rank=int(generator.integers(0, 4)), weighted=weighted
    )
    clusters = generator.integers(0, max(2, n // 2), size=n) if clustered else None
    groups = np.arange(n) if clusters is None else clusters
    shares = statistics.weights / statistics.weights.sum()
    pairs = gap_pairs(statistics)
    gaps = pairs @ shares
    variance = np.zeros(n)  # of each row's gap
    count = len(set(groups.tolist()))
    for group in set(groups.tolist()):
        move = (pairs[:, groups == group] - gaps[:, None]) @ shares[groups == group]
        variance += move**2 * count / max(count - 1, 1)
    assert chance_level(statistics, clusters) == pytest.approx(shares @ variance, abs=1e-9)


@pytest.mark.parametrize("kind", ["unweighted", "weighted", "clustered"])
def test_the_chance_level_is_what_replicates_add_on_average(kind):
    """Replicates weigh rows at random; many of them, on the predictions themselves, tell the level."""
    generator = np.random.default_rng(5)
    n = 120
    X = random_table(generator, n)
    weights = generator.choice([0.5, 1.0, 2.0], size=n) if kind == "weighted" else None
    clusters = np.arange(n) // 3 if kind == "clustered" else np.arange(n)
    problem = problem_of(random_model(generator), X, sample_weight=weights)
    ((question,), (statistics,)) = problem.shares.comparisons, problem.statistics
    replicates = Confidence(0.95, 4000, 0).replicates(clusters)
    shown, level, bar, corrected = replicates._figures_of_row_gaps(
        question, problem.evaluations, np.arange(n), None
    )
    given_clusters = clusters if kind == "clustered" else None
    found = sum(chance_level(own, given_clusters) for own in statistics)
    # Replicates know of rows, not of clusters, how much of a variance they show: (m - 1) / (m + 1).
    if kind == "clustered":
        level *= (41 / 39) / (121 / 119)
    assert found == pytest.approx(level, rel=0.05)
    (found_bar,) = chance_bar(statistics, given_clusters, [replicates.bar_level])
    assert found_bar == pytest.approx(bar, rel=0.12)
    assert corrected < shown


@pytest.mark.parametrize("factor", [1e-60, 1e-8, 1e-3, 1e5, 1e9, 1e60])
def test_the_bar_is_in_the_square_of_the_unit_of_the_predictions(factor):
    """Interactions are in the unit of the predictions, what values weigh is not."""
    plain = drawn_statistics(np.random.default_rng(4))
    factors = replace(
        plain.factors,
        interaction=factor * plain.factors.interaction,
        row_factors=factor * plain.factors.row_factors,
    )
    scaled = FullAgainstPure(factors, plain.weights)
    clusters = np.arange(30) // 3
    for one, other in zip(
        chance_bar([scaled], clusters, [0.5, 0.95]),
        chance_bar([plain], clusters, [0.5, 0.95]),
        strict=True,
    ):
        assert one / factor**2 == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("kind", ["unweighted", "weighted", "clustered"])
def test_corrected_disagreement_is_right_on_average_over_samples(kind):
    """The model is x0 * x1 and R is 1: samples of 16 show more by the level, on average over many samples.

    The gap of a row against itself is 0, which no correction knows of: 2 / n of R is missing.
    """
    generator = np.random.default_rng(2)
    n = 16
    errors, levels = [], []
    for _ in range(1500):
        X = generator.normal(size=(n, 2))
        weights = np.ones(n)
        clusters = None
        if kind == "weighted":
            weights = generator.choice([0.7, 1.3], size=n)
        if kind == "clustered":
            X, weights = np.repeat(X, 2, axis=0), np.ones(2 * n)
            clusters = np.repeat(np.arange(n), 2)
        # E[u, n] is x0 of the value times x1 of the row; not centred, which changes no gap.
        nothing = np.zeros(len(X))
        factors = Factors(
            nothing,
            nothing,
            X[:, 0] * X[:, 1],
            X[:, 1:],
            X[:, :1],
            search_rank=1,
            repetition_rank=1,
        )
        statistics = FullAgainstPure(factors, weights)
        level = chance_level(statistics, clusters)
        errors.append(statistics.mean_squared_gap_of_rows() - level - (1.0 - 2.0 / n))
        levels.append(level)
    error = np.std(errors) / np.sqrt(len(errors))
    assert abs(np.mean(errors)) < 3 * error + (0.02 if kind == "weighted" else 0.0)
    assert np.mean(levels) > 6 * error  # the test would notice a level that is left out


def test_moves_of_whole_clusters_are_added_before_they_are_squared():
    """Two equal rows as a cluster vary twice as much as two rows of their own; weights count by their share."""
    values = np.array([[0.0], [1.0], [5.0]])
    alone = mean_covariance(values, np.ones(3), None)
    assert alone[0, 0] == pytest.approx(np.var([0.0, 1.0, 5.0], ddof=1) / 3)
    twice = np.repeat(values, 2, axis=0)
    clusters = np.array([7, 7, 2, 2, 5, 5])
    assert mean_covariance(twice, np.ones(6), clusters)[0, 0] == pytest.approx(alone[0, 0])
    weighted = mean_covariance(values, np.array([2.0, 2.0, 2.0]), np.array([3, 1, 2]))
    assert weighted[0, 0] == pytest.approx(alone[0, 0])


@pytest.mark.parametrize("n_sets", [1, 3])
@pytest.mark.parametrize("clustered", [False, True])
def test_the_bar_is_a_quantile_of_sums_of_squares(n_sets, clustered):
    """Means of z drawn from the normal distribution of its covariance, all sets at once: they vary together."""
    generator = np.random.default_rng(n_sets)
    sets = [drawn_statistics(generator, 50, rank=2) for _ in range(n_sets)]
    if n_sets > 1:  # two sets that move alike
        sets[1] = FullAgainstPure(sets[0].factors, sets[0].weights)
    clusters = np.arange(50) // 2 if clustered else None
    stacked = np.column_stack([own.vectors() for own in sets])
    covariance = mean_covariance(stacked, np.ones(50), clusters)
    drawn = generator.multivariate_normal(
        np.zeros(len(covariance)), covariance, size=40_000, method="eigh"
    )
    total = np.zeros(40_000)
    for number, own in enumerate(sets):
        moved = drawn[:, 6 * number : 6 * number + 6]
        turned = own.times_k(own.vectors().T)
        total += np.mean((moved @ turned) ** 2, axis=1)
    levels = [0.5, 0.9, 0.95, 0.99]
    found = chance_bar(sets, clusters, levels)
    np.testing.assert_allclose(found, np.quantile(total, levels), rtol=0.05)
    assert sum(chance_level(own, clusters) for own in sets) == pytest.approx(total.mean(), rel=0.03)


@pytest.mark.parametrize("n_clusters", [4, 18, 19, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_traces_are_sums_of_powers_of_the_eigenvalues(n_clusters, weighted):
    """Of more and of fewer clusters than numbers in z; K S K V is formed from single rows here."""
    generator = np.random.default_rng(n_clusters)
    sets = [drawn_statistics(generator, 40, rank) for rank in (1, 2, 3)]
    weights = generator.choice([0.5, 1.0, 3.0], size=40) if weighted else np.ones(40)
    sets = [FullAgainstPure(own.factors, weights) for own in sets]
    clusters = np.arange(40) % n_clusters
    shares = weights / weights.sum()
    sizes = [4, 6, 8]
    moments = np.zeros((18, 18))
    for own, end, size in zip(sets, np.cumsum(sizes), sizes, strict=True):
        for share, vector in zip(shares, own.vectors(), strict=True):
            turned = own.times_k(vector)
            moments[end - size : end, end - size : end] += share * np.outer(turned, turned)
    stacked = np.column_stack([own.vectors() for own in sets])
    mean = shares @ stacked
    covariance = np.zeros((18, 18))
    for number in range(n_clusters):
        inside = clusters == number
        move = shares[inside] @ (stacked[inside] - mean)
        covariance += np.outer(move, move) * n_clusters / (n_clusters - 1)
    variances = np.linalg.eigvals(moments @ covariance).real
    found = disagreement_by_chance(StackedGaps.of(sets), clusters)
    assert found.mean == pytest.approx(variances.sum())
    assert found.unit**2 * found.second == pytest.approx(np.sum(variances**2))
    assert found.unit**3 * found.third == pytest.approx(np.sum(variances**3))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.975])
def test_the_quantile_is_exact_for_one_and_for_equal_variances(level):
    assert squares_quantile(np.array([2.5]), level) == pytest.approx(2.5 * chi2.ppf(level, 1))
    equal = np.full(4, 0.3)
    assert squares_quantile(equal, level) == pytest.approx(0.3 * chi2.ppf(level, 4))
    assert squares_quantile(np.append(equal, np.zeros(5)), level) == pytest.approx(
        0.3 * chi2.ppf(level, 4)
    )
    assert squares_quantile(np.zeros(3), level) == 0.0


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=8), st.integers(0, 2**32 - 1))
@examples(20)
def test_the_quantile_of_other_variances_is_near(variances, seed):
    """Pearson's approximation against a simulation, within a few percent of the bar at 95 %."""
    generator = np.random.default_rng(seed)
    variances = np.array(variances)
    drawn = generator.normal(size=(20_000, len(variances))) ** 2 @ variances
    assert squares_quantile(variances, 0.95) == pytest.approx(np.quantile(drawn, 0.95), rel=0.05)


def test_the_skewness_counts():
    """One large and many small variances: two moments alone would be a tenth too low at 99 %."""
    variances = np.append(1.0, np.full(20, 0.1))
    drawn = np.random.default_rng(0).normal(size=(50_000, 21)) ** 2 @ variances
    assert squares_quantile(variances, 0.99) == pytest.approx(np.quantile(drawn, 0.99), rel=0.03)


def test_tiny_variances_have_their_quantile():
    """Cubes of variances of 1e-110 are no numbers any more."""
    found = squares_quantile(np.array([1e-110, 1e-110]), 0.95)
    assert 1e110 * found == pytest.approx(chi2.ppf(0.95, 2))


def test_noise_exceeds_its_bar_as_often_as_the_level_says():
    """Rows whose own interaction is 0, and independent factors with mean 0: every true gap is 0."""
    above = 0
    for seed in range(300):
        generator = np.random.default_rng(seed)
        U, w = generator.normal(size=(2, 80, 1))
        nothing = np.zeros(80)
        statistics = FullAgainstPure(
            Factors(nothing, nothing, nothing, U, w, search_rank=1, repetition_rank=1), np.ones(80)
        )
        above += statistics.mean_squared_gap_of_rows() > chance_bar([statistics], None, [0.8])[0]
    assert 42 <= above <= 78  # 60 expected, 7 a standard deviation


def test_the_bar_of_a_fit_is_that_of_its_level():
    """Any level, and no draws: the seed does not change it."""
    generator = np.random.default_rng(0)
    X = random_table(generator, 100)
    model = random_model(generator)
    bars = []
    for level, seed in [(0.95, 0), (0.95, 1), (0.8, 0)]:
        problem = problem_of(
            model,
            X,
            confidence_level=level,
            random_state=seed,
            max_samples=None,
            holdout=False,
        )
        bars.append(float(problem.chance.root.bar[0]))
    assert bars[0] == bars[1] > bars[2]


@pytest.mark.parametrize("n_rows", [2, 3, 7])
def test_the_covariance_of_a_mean_is_that_of_the_rows_divided_by_their_number(n_rows):
    vectors = np.random.default_rng(n_rows).normal(size=(n_rows, 3))
    expected = np.cov(vectors, rowvar=False) / n_rows
    np.testing.assert_allclose(mean_covariance(vectors, np.ones(n_rows), None), expected)


def test_the_covariance_of_a_mean_of_two_clusters_is_that_of_their_sums():
    vectors = np.random.default_rng(0).normal(size=(6, 2))
    clusters = np.array([0, 0, 0, 1, 1, 1])
    means = vectors.reshape(2, 3, 2).mean(axis=1)
    expected = np.cov(means, rowvar=False) / 2
    np.testing.assert_allclose(mean_covariance(vectors, np.ones(6), clusters), expected)
