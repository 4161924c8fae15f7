"""Predictions of a set, factored: what the parts are, and that they add up to the predictions again."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.evaluations.matrix import Matrix
from granite_xai.moments import factors as module
from granite_xai.moments.factors import NEARLY_EQUAL, factor
from hypothesis import given, strategies as st

from problems import problem_of
from strategies import examples


@st.composite
def matrices(draw):
    """Predictions (values, rows) of any rank, every value carried by a row, and weights of the rows."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(1, 40))
    n_values = draw(st.integers(1, n_rows))
    rank = draw(st.integers(0, 4))
    row_part = generator.normal(size=n_rows)
    value_part = 10.0 * generator.normal(size=n_values)
    left = generator.normal(size=(n_values, rank))
    right = generator.normal(size=(rank, n_rows))
    values = value_part[:, None] + row_part + left @ right
    if draw(st.booleans()):  # two values at which every row is predicted the same
        values[-1] = values[0]
    if draw(st.booleans()):
        values = np.full(values.shape, draw(st.sampled_from([0.0, 0.1, -1e6])))
    codes = np.append(np.arange(n_values), generator.integers(0, n_values, n_rows - n_values))
    generator.shuffle(codes)
    weights = np.ones(n_rows)
    if draw(st.booleans()):
        weights = generator.choice([0.25, 1.0, 2.5], size=n_rows)
    return Matrix(values, codes), weights


def rebuilt(factors):
    """``E`` at the value of row m (line) for row n (column)."""
    interaction = factors.value_factors @ factors.row_factors.T
    return factors.row_part[None, :] + factors.value_part[:, None] + interaction


def centred_by_loops(matrix, weights):
    """``a`` and ``b`` by their definitions, and what is left."""
    n_values, n_rows = matrix.values.shape
    total = sum(weights)
    a = np.zeros(n_rows)
    for n in range(n_rows):
        for m in range(n_rows):
            a[n] += weights[m] * matrix.values[matrix.codes[m], n] / total
    b = np.zeros(n_values)
    for u in range(n_values):
        for n in range(n_rows):
            b[u] += weights[n] * (matrix.values[u, n] - a[n]) / total
    return a, b, matrix.values - a[None, :] - b[:, None]


@given(matrices())
@examples(150)
def test_the_parts_are_those_of_the_definition_and_add_up_to_the_predictions(drawn):
    """Weights, values of several rows, equal lines, constants: nothing is lost at full rank."""
    matrix, weights = drawn
    factors = factor(matrix, weights)
    tolerance = 1e-8 * np.ptp(matrix.values) + 1e-14 * np.abs(matrix.values).max()
    a, b, interaction = centred_by_loops(matrix, weights)
    rows = np.arange(len(weights))
    wanted = {
        "row_part": a,
        "value_part": b[matrix.codes],
        "interaction": interaction[matrix.codes, rows],
    }
    for name, values in wanted.items():
        np.testing.assert_allclose(getattr(factors, name), values, rtol=0, atol=tolerance)
    np.testing.assert_allclose(
        rebuilt(factors), matrix.values[matrix.codes], rtol=0, atol=tolerance
    )
    assert factors.row_factors.shape == factors.value_factors.shape
    assert factors.search_rank <= factors.row_factors.shape[1] <= min(matrix.values.shape)


@given(matrices())
@examples(40)
def test_directions_come_by_their_strength(drawn):
    """The first r directions leave no more of the interaction than any others would: Eckart and Young."""
    matrix, weights = drawn
    factors = factor(matrix, weights)
    shares = weights / weights.sum()
    interaction = centred_by_loops(matrix, weights)[2][matrix.codes]  # (rows, rows)
    # Each row stands for its value: the shares of the rows that carry a value add up to its own.
    metric = np.sqrt(shares[:, None] * shares[None, :])
    strengths = np.linalg.svd(interaction * metric, compute_uv=False) ** 2
    for rank in range(factors.row_factors.shape[1] + 1):
        left_out = interaction - factors.value_factors[:, :rank] @ factors.row_factors[:, :rank].T
        lost = np.sum((left_out * metric) ** 2)
        assert lost == pytest.approx(strengths[rank:].sum(), abs=1e-9 * strengths.sum() + 1e-12)


@pytest.mark.parametrize(
    ("offset", "precision"), [(0.0, np.float64), (1e6, np.float64), (5.0, np.float32)]
)
def test_rounding_has_no_directions(offset, precision):
    """Otherwise sums would be of hundreds of numbers a row that mean nothing."""
    X = np.random.default_rng(0).normal(size=(40, 4))

    def model(X):
        values = X[:, 0] * np.sign(X[:, 1]) + np.sin(X[:, 2]) + 0.3 * X[:, 3] ** 2
        return (offset + values).astype(precision)

    (statistics,) = problem_of(model, X).statistics
    assert [own.rank for own in statistics] == [1, 1, 0, 0]


def test_weak_interactions_of_whole_numbers_are_kept():
    """Whole numbers fit into single precision, too, but are not rounded."""
    generator = np.random.default_rng(0)
    values = np.round(1e7 * generator.normal(size=20))[:, None] + np.zeros(20)
    values[:, 3] += generator.integers(-1, 2, size=20)
    assert factor(Matrix(values, np.arange(20)), np.ones(20)).row_factors.shape[1] == 1


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12).map(lambda s: sorted(s, reverse=True)),
    st.sampled_from([(0.99, 6), (0.95, 3), (0.5, 2)]),
)
@examples(200)
def test_a_search_reads_the_fewest_directions_that_hold_enough_and_part_no_equals(
    strengths, limits
):
    strengths = np.array(strengths)
    share, most = limits
    rank = module._rank_of_share(strengths, share, most)
    if strengths.sum() == 0.0:
        assert rank == 0
        return

    def is_allowed(count):
        kept = strengths[:count].sum() >= (share - 1e-12) * strengths.sum()
        enough = kept or count >= most
        parts_equals = (
            count < len(strengths) and strengths[count] > NEARLY_EQUAL * strengths[count - 1]
        )
        return enough and not parts_equals

    assert is_allowed(rank)
    # A rank that holds exactly enough may be one too many by rounding, never one too few.
    assert not any(is_allowed(count) for count in range(1, rank - 1))


def test_what_a_search_reads_does_not_turn_with_directions_of_equal_strength():
    """Three equal directions behind a strong one: two of them would hold 99 %, and could be any two."""
    generator = np.random.default_rng(3)
    n = 30
    signs = np.linalg.qr(np.column_stack([np.ones(n), generator.normal(size=(n, 4))]))[0][:, 1:]
    turned = np.linalg.qr(np.column_stack([np.ones(n), generator.normal(size=(n, 4))]))[0][:, 1:]
    strengths = np.array([1.0, 0.06, 0.06, 0.06])  # squares: 1, .0036 three times
    matrix = Matrix((turned * strengths) @ signs.T, np.arange(n))
    squares = strengths**2
    assert squares[:2].sum() / squares.sum() > module.KEPT_BY_SEARCH  # two would do
    moved = Matrix(matrix.values + 1e-9 * generator.normal(size=(n, n)), matrix.codes)
    found = [factor(each, np.ones(n)) for each in (matrix, moved)]
    assert [each.search_rank for each in found] == [4, 4]
    np.testing.assert_allclose(*(rebuilt(each.shortened()) for each in found), atol=1e-6)


def test_the_directions_of_many_values_are_those_of_a_sketch(monkeypatch):
    """Of few dimensions the sketch finds all, though it never forms the matrix of all pairs of values."""
    generator = np.random.default_rng(1)
    values = generator.normal(size=(60, 5)) * [5.0, 3.0, 1.0, 0.1, 0.01]
    matrix = Matrix(
        values @ generator.normal(size=(5, 80)) + generator.normal(size=80),
        np.append(np.arange(60), generator.integers(0, 60, 20)),
    )
    weights = generator.uniform(0.5, 2.0, size=80)
    exact = factor(matrix, weights)
    monkeypatch.setattr(module, "MOST_DIRECTIONS", 20)
    monkeypatch.setattr(module, "SKETCH", 10)
    sketched = factor(matrix, weights)
    assert sketched.search_rank == exact.search_rank
    assert sketched.row_factors.shape == exact.row_factors.shape == (80, 5)
    np.testing.assert_allclose(rebuilt(sketched), rebuilt(exact), atol=1e-9)
    np.testing.assert_allclose(rebuilt(sketched.shortened()), rebuilt(exact.shortened()), atol=1e-9)


def test_a_matrix_of_more_than_512_values_is_sketched():
    generator = np.random.default_rng(2)
    n = module.MOST_DIRECTIONS + 30
    x, sign = generator.normal(size=n), np.sign(generator.normal(size=n))
    factors = factor(Matrix(np.sort(x)[:, None] * sign + x, np.argsort(np.argsort(x))), np.ones(n))
    assert factors.row_factors.shape == (n, 1)
    wanted = x[:, None] * sign[None, :] + x[None, :]
    np.testing.assert_allclose(rebuilt(factors), wanted, atol=1e-9)


def test_factors_of_some_rows_are_theirs_and_a_search_reads_the_first_directions():
    generator = np.random.default_rng(5)
    matrix = Matrix(generator.normal(size=(9, 12)), generator.permutation(12) % 9)
    factors = factor(matrix, np.ones(12))
    rows = np.array([7, 2, 3])
    part = factors.take(rows)
    short = factors.shortened()
    for name in ("row_part", "value_part", "interaction", "row_factors", "value_factors"):
        np.testing.assert_array_equal(getattr(part, name), getattr(factors, name)[rows])
    assert short.row_factors.shape == (12, factors.search_rank)
    np.testing.assert_array_equal(
        short.value_factors, factors.value_factors[:, : factors.search_rank]
    )
    assert short.search_rank == part.search_rank == factors.search_rank
    shorter = factors.shortened(few_directions=True)
    assert shorter.row_factors.shape == (12, factors.repetition_rank)
    assert 0 < factors.repetition_rank < factors.search_rank
