"""What the parts of a node leave, by sums over rows, against the disagreement of those parts themselves."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.moments import factors
from granite_xai.search.candidates import cuts_of

import granite_xai as gx
from granite_xai.search import tables as module
from granite_xai.search.tables import region_tables
from problems import (
    MixedModel,
    gap_or_mean_square,
    goes_left,
    looped_sums,
    mixed_table,
    options_of,
    problem_of,
    random_model,
    random_table,
)

SERVED = ("ice-pdp", "variance", "sobol", "pfi-risk", "mplot-pdp", "cfi-pfi", "csobol-sobol")


@pytest.fixture
def exact(monkeypatch):
    """Searches read all directions and all sets: then tables are exact."""
    monkeypatch.setattr(factors, "KEPT_BY_SEARCH", 1.0)
    monkeypatch.setattr(module, "NEGLIGIBLE", -1.0)


def engine_shares(problem, members):
    """Share of the objective in each of some regions, (K, n) bool, by the engine."""
    splits = Splits.of(np.array(members), problem.evaluations.weights)
    disagreements = problem.shares.disagreements(problem.evaluations, splits)
    return problem.shares.of(disagreements, splits.mass)[:, 0]


def members_of(problem, rows, *sides):
    """Rows of a node on one side of each of some cuts."""
    inside = np.ones(len(rows), dtype=bool)
    for cut, is_left in sides:
        inside &= goes_left(problem, cut, rows) == is_left
    members = np.zeros(problem.table.n_rows, dtype=bool)
    members[rows[inside]] = True
    return members


def parts_of(problem, tables, rows, groups, pairs=()):
    """Rows of every side of every cut and of every quarter of every pair of cuts, and what tables say."""
    node = tables.of_node(rows)
    cuts = {number: cuts_of(group, problem.table, rows)[0] for number, group in groups.items()}
    members, found = [], []
    for group, sides in zip(groups.values(), node.sides(list(cuts.values())), strict=True):
        assert sides.shape == (2, len(group))
        for k, cut in enumerate(group):
            for side in range(2):
                members.append(members_of(problem, rows, (cut, side == 0)))
                found.append(sides[side, k])
    quarters = node.quarters([(cuts[first], cuts[second]) for first, second in pairs])
    for (first, second), table in zip(pairs, quarters, strict=True):
        assert table.shape == (4, len(groups[first]), len(groups[second]))
        for number, k, j in np.ndindex(table.shape):
            sides = (groups[first][k], number < 2), (groups[second][j], number % 2 == 0)
            members.append(members_of(problem, rows, *sides))
            found.append(table[number, k, j])
    return np.array(members), np.array(found)


def by_position(groups):
    return {group[0].column: group for group in groups}


def check_parts(problem, rows, min_samples, pairs, most=5):
    """All parts against the engine; smaller ones than allowed are infinite. Returns how many are not."""
    groups = by_position(options_of(problem, rows, most, 1))
    tables = region_tables(problem, min_samples)
    members, found = parts_of(problem, tables, rows, groups, pairs)
    is_small = members.sum(axis=1) < min_samples
    assert np.all(found[is_small] == np.inf)
    wanted = engine_shares(problem, members[~is_small])
    np.testing.assert_allclose(found[~is_small], wanted, rtol=1e-8, atol=1e-9)
    return len(wanted)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", SERVED)
def test_every_part_leaves_what_its_rows_leave(name):
    """Cuts of numbers, of groups of labels and of missing values; weights; two questions; in a node."""
    generator = np.random.default_rng(4)
    X = mixed_table(generator, 60)
    problem = problem_of(
        MixedModel(generator),
        X,
        {name: 2, "sobol" if name == "ice-pdp" else "ice-pdp": 1},
        y=generator.normal(size=60),
        sample_weight=generator.integers(1, 4, 60) * 0.5,
    )
    rows = np.flatnonzero(X["wave"].to_numpy() > -0.6)
    assert check_parts(problem, rows, 3, [(0, 1), (1, 3), (0, 0)]) > 100


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("weighting", ["mass", "uniform"])
@pytest.mark.parametrize("normalize", ["root", "variance"])
def test_parts_count_as_the_objective_says(weighting, normalize):
    generator = np.random.default_rng(6)
    objective = gx.Objective(
        {"ice-pdp": 1, gx.question("variance", loss="absolute"): 2},
        weighting=weighting,
        normalize=normalize,
    )
    problem = problem_of(
        random_model(generator),
        random_table(generator),
        objective,
        sample_weight=generator.choice([0.5, 2.0], size=60),
    )
    assert check_parts(problem, np.arange(5, 60), 1, [(0, 2), (1, 3)]) > 100


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("grid", [None, 5])
def test_parts_of_several_outputs_on_a_grid(grid):
    generator = np.random.default_rng(7)
    one, two = random_model(generator), random_model(generator)
    problem = problem_of(
        lambda X: np.column_stack([one(np.asarray(X)), 100 * two(np.asarray(X))]),
        random_table(generator),
        output="all",
        resources=gx.Resources(max_grid=grid),
    )
    assert check_parts(problem, np.arange(60), 4, [(0, 2)]) > 50


@pytest.mark.parametrize("name", SERVED)
def test_what_a_search_reads_is_near_what_the_parts_leave(name):
    """Without all directions: within 2 % of the node's disagreement, which is what a search allows for."""
    generator = np.random.default_rng(4)
    X = random_table(generator, 80)
    problem = problem_of(random_model(generator), X, name, y=generator.normal(size=80))
    rows = np.arange(80)
    groups = by_position(options_of(problem, rows, 8, 10))
    members, found = parts_of(problem, region_tables(problem, 10), rows, groups)
    np.testing.assert_allclose(found, engine_shares(problem, members), rtol=0.02, atol=0.02)


def cancelling_gaps():
    """Where x0 is not 0, x1 is: no row has a gap. In parts of the rows their means are not 0, and rows have."""
    generator = np.random.default_rng(1)
    signs = generator.choice([-1.0, 1.0], size=(40, 2))
    X = np.vstack([signs * [1, 0], signs * [0, 1], -signs * [1, 0], -signs * [0, 1]])
    others = generator.normal(size=(160, 2))
    return np.column_stack([X, others]), lambda X: X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]


def cancelling_correlations():
    """An additive model of columns that agree in one half of the rows and are opposed in the other."""
    v = np.random.default_rng(1).normal(size=20)
    x0 = np.tile([v, -v], 2).reshape(-1)
    x1 = x0 * np.repeat([1.0, -1.0], 40)
    even = np.tile(np.abs(v), 4)
    return np.column_stack([x0, x1, even, even + 0.1 * even**2]), lambda X: X.sum(axis=1)


@pytest.mark.parametrize(
    ("name", "case"), [("ice-pdp", cancelling_gaps), ("pfi-risk", cancelling_correlations)]
)
def test_a_set_that_shows_nothing_in_a_node_may_show_much_in_its_parts(name, case):
    """To leave it out would make cuts look free that are not."""
    X, model = case()
    problem = problem_of(model, X, name, y=np.zeros(len(X)))
    rows = np.arange(len(X))
    (statistics,) = problem.statistics
    gaps = [
        float(np.squeeze(gap_or_mean_square(own, looped_sums(own, rows)))) for own in statistics
    ]
    assert abs(gaps[0]) < 1e-4 * max(map(abs, gaps))
    groups = by_position(options_of(problem, rows, 10, 1, columns=[0, 1]))
    members, found = parts_of(problem, region_tables(problem, 1), rows, groups)
    np.testing.assert_allclose(found, engine_shares(problem, members), rtol=0.02, atol=0.002)


@pytest.mark.usefixtures("exact")
def test_a_divided_side_is_both_of_its_quarters():
    """One side of every upper cut divided by every lower one, against the table of all quarters."""
    generator = np.random.default_rng(2)
    problem = problem_of(MixedModel(generator), mixed_table(generator), "ice-pdp")
    rows = np.arange(3, 60)
    upper, lower = (cuts_of(g, problem.table, rows)[0] for g in options_of(problem, rows)[:2])
    node = region_tables(problem, 4).of_node(rows)
    (quarters,) = node.quarters([(upper, lower)])
    undivided, (left, right) = node.grid(upper, [(0, lower), (1, lower)])
    np.testing.assert_allclose(undivided, node.sides([upper])[0], rtol=1e-12)
    assert np.isfinite(left).any()
    np.testing.assert_allclose(left, quarters[0] + quarters[1], rtol=1e-12)
    np.testing.assert_allclose(right, quarters[2] + quarters[3], rtol=1e-12)


def test_a_question_without_sums_has_no_tables_unless_it_does_not_count():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = lambda X: X[:, 0] * X[:, 1] + X[:, 2]  # noqa: E731
    assert region_tables(problem_of(model, X, ["ice-pdp", "ale"]), 5) is None
    assert region_tables(problem_of(model, X, "shap-pdp"), 5) is None
    additive = problem_of(lambda X: X[:, 0] + X[:, 1] + X[:, 2], X, ["ice-pdp", "ale"])
    assert region_tables(additive, 5).sets == ()  # both are at their noise floor: nothing counts


def test_threads_change_nothing():
    generator = np.random.default_rng(2)
    X = random_table(generator)
    model = random_model(generator)
    rows = np.arange(60)
    found = []
    for jobs in (1, 2):
        problem = problem_of(model, X, n_jobs=jobs)
        cuts = [cuts_of(group, problem.table, rows)[0] for group in options_of(problem, rows)]
        found.append(region_tables(problem, 3).of_node(rows).sides(cuts))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)
