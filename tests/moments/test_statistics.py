"""What the sums of a region's rows say, against the definition of each question for that region."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.masking import Conditional
from granite_xai.moments.factors import Factors
from granite_xai.moments.statistics import FullAgainstPure
from hypothesis import given, strategies as st

import granite_xai as gx
import oracle as o
from granite_xai.base.coalitions import union
from problems import gap_or_mean_square, looped_sums, problem_of
from strategies import asked_by_name, cases, examples, influences, regions

SERVED = (
    "ice-pdp",
    "variance",
    "sobol",
    "pfi-risk",
    "mplot-pdp",
    "cfi-pfi",
    "csobol-sobol",
)
CONDITIONAL = ("mplot-pdp", "cfi-pfi", "csobol-sobol")


def tolerance(case, oracle_problem):
    """1e-8 of the spread of the predictions, squared; squares of errors round by their own size."""
    values = [
        value
        for T in o.subsets(range(case.d))
        for line in oracle_problem.R(T).values()
        for value in line.values()
    ]
    spread = max(values) - min(values)
    furthest = max(map(abs, values)) + max(map(abs, case.y))
    return 1e-8 * spread**2 + 1e-13 * furthest**2 + 1e-300


def wanted_of(asked, oracle_problem, S, rows):
    """The mean squared gap of the rows, or the region's gap."""
    gap = o.gaps(o.replace(asked, features=(S,)), oracle_problem, rows)[S]
    if not isinstance(gap, dict):
        return gap
    return o.mean([gap[n] ** 2 for n in rows], oracle_problem.weights_of(rows))


@st.composite
def asked_questions(draw, case, name, grid):
    """A question of a name that follows from sums: for the package and for the oracle."""
    options, words = {}, {}
    if name in CONDITIONAL:
        bins = draw(st.sampled_from(["tree", "exact"]))
        options["conditional"], words["bins"] = Conditional(bins), bins
    if name in ("pfi-risk", "cfi-pfi"):
        options["risk_loss"] = words["loss"] = "squared"
    kind = "individual" if grid else draw(st.sampled_from(["individual", "joint"]))
    influence, about, sets = draw(influences(case, kind))
    question = gx.question(name, **options).with_influence(influence)
    asked = asked_by_name(name, "squared", {**words, **about}, sets)
    return question, o.replace(asked, max_grid=grid)


@pytest.mark.parametrize("name", SERVED)
@given(data=st.data())
@examples(40)
def test_the_sums_of_any_rows_say_what_the_definition_says(name, data):
    """Weights, bins, missing values, mixed tables, grids, groups: single rows and no rows among the regions."""
    case = data.draw(
        cases(min_rows=2, max_rows=12, min_columns=2, max_columns=3, weighted=None, missing=None)
    )
    grid = data.draw(st.sampled_from([None, None, 2, 3]))
    question, asked = data.draw(asked_questions(case, name, grid))
    resources = gx.Resources(max_grid=grid) if grid else gx.Resources()
    problem = problem_of(
        case.model,
        case.X,
        question,
        y=np.array(case.y),
        sample_weight=case.weights,
        resources=resources,
    )
    (statistics,) = problem.statistics
    (resolved,) = problem.shares.comparisons
    if statistics is None:  # a group of all columns
        assert any(len(S) == case.d for S in asked.features)
        return
    oracle_problem = case.problem()
    kept = oracle_problem.rows  # rows without weight are left out of a fit
    some = [row for row in data.draw(regions(case)) if row in kept]
    allowed = tolerance(case, oracle_problem)
    for members, own in zip(resolved.first.layout.sets, statistics, strict=True):
        assert gap_or_mean_square(own, looped_sums(own, [])) == 0.0
        for rows in (kept, some):
            if rows:
                places = [kept.index(row) for row in rows]
                found = float(gap_or_mean_square(own, looped_sums(own, places)))
                wanted = wanted_of(asked, oracle_problem, union(members), rows)
                assert found == pytest.approx(wanted, rel=1e-8, abs=allowed)
                again = own.take(np.array(places))
                sums = looped_sums(again, range(len(places)))
                assert gap_or_mean_square(again, sums) == pytest.approx(found, abs=1e-12 + allowed)


@pytest.mark.parametrize("name", SERVED)
def test_each_output_has_sums_of_its_own(name):
    """Two outputs of very different size: each against the oracle of its own model, also on a grid."""
    generator = np.random.default_rng(8)
    X = generator.integers(-2, 3, size=(20, 3)) / 2.0
    y = generator.normal(size=(20, 2))

    def outputs(X):
        X = np.asarray(X, dtype=float)
        return np.column_stack(
            [X[:, 0] * X[:, 1] + X[:, 2], 1e3 * (X[:, 1] + np.exp(X[:, 2] * X[:, 0]))]
        )

    for grid in (None, 3):
        problem = problem_of(
            outputs, X, name, y=y, output="all", resources=gx.Resources(max_grid=grid)
        )
        assert len(problem.statistics) == 2
        for number, (statistics, question) in enumerate(
            zip(problem.statistics, problem.shares.comparisons, strict=True)
        ):
            output = question.output
            assert output == number

            def model(rows, output=output):
                return outputs(rows)[:, output].tolist()

            oracle_problem = o.Problem(model, X, y[:, output])
            asked = o.question(name, max_grid=grid)
            rows = list(range(2, 17))
            for column, own in enumerate(statistics):
                found = float(gap_or_mean_square(own, looped_sums(own, rows)))
                wanted = wanted_of(asked, oracle_problem, frozenset({column}), rows)
                assert found == pytest.approx(wanted, rel=1e-8, abs=1e-10 * 10 ** (6 * output))


@pytest.mark.parametrize("name", SERVED)
def test_sums_of_many_regions_are_read_at_once(name):
    """The last axes are regions: the same numbers as one by one."""
    generator = np.random.default_rng(1)
    X = generator.integers(-2, 3, size=(30, 3)) / 2.0
    problem = problem_of(
        lambda X: X[:, 0] * X[:, 1] + X[:, 2], X, name, y=generator.normal(size=30)
    )
    for own in problem.statistics[0]:
        parts = [looped_sums(own, range(start, 30, 4)) for start in range(6)]
        together = gap_or_mean_square(own, np.stack(parts, axis=-1).reshape(*parts[0].shape, 2, 3))
        alone = [float(gap_or_mean_square(own, part)) for part in parts]
        np.testing.assert_allclose(together.reshape(-1), alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SERVED)
def test_what_a_search_reads_is_near_what_all_directions_say(name):
    """The interaction at a row's own value is never shortened; of the rest 99 % are read."""
    generator = np.random.default_rng(2)
    X = generator.uniform(-1, 1, size=(60, 3))
    problem = problem_of(
        lambda X: np.exp(2 * X[:, 0] * X[:, 1]) + X[:, 2] * X[:, 0], X, name, y=X.sum(axis=1)
    )
    for own in problem.statistics[0]:
        short = own.shortened()
        assert type(short) is type(own)
        assert short.rank == own.factors.search_rank <= own.rank
        exact = float(gap_or_mean_square(own, looped_sums(own, range(60))))
        near = float(gap_or_mean_square(short, looped_sums(short, range(60))))
        scale = max(float(np.mean(own.factors.interaction**2)), abs(exact))
        assert near == pytest.approx(exact, abs=0.1 * scale)


def test_the_gap_of_two_rows_is_a_product_with_the_exchange():
    """K exchanges e with 1 and U with w; twice is nothing; ``z' K z_m`` is the gap of row n against row m."""
    generator = np.random.default_rng(0)
    e, one = generator.normal(size=5), np.ones(5)
    U, w = generator.normal(size=(2, 5, 3))
    z = np.column_stack([e, U, w, one])
    factors = Factors(one, one, e, U, w, search_rank=3, repetition_rank=2)
    statistics = FullAgainstPure(factors, one)
    np.testing.assert_array_equal(statistics.vectors(), z)
    np.testing.assert_array_equal(statistics.times_k(statistics.times_k(z.T)), z.T)
    gaps = np.zeros((5, 5))
    for n in range(5):
        for m in range(5):
            gaps[n, m] = e[n] - U[n] @ w[m] - U[m] @ w[n] + e[m]
    np.testing.assert_allclose(z @ statistics.times_k(z.T), gaps, atol=1e-12)
    mean_square = np.mean(gaps.mean(axis=1) ** 2)
    assert statistics.mean_squared_gap_of_rows() == pytest.approx(mean_square)
    sums = looped_sums(statistics, range(5))
    assert statistics.mean_squared_pair_gap(sums) == pytest.approx(np.mean(gaps**2))
