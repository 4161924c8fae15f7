"""The oracle against closed forms: the theorems, the toy of the paper, and cases small enough to work out by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest

import oracle as o
from oracle import EMPTY, Objective, Problem, Setting, explain, question

MASKINGS = [
    Setting(masking="marginal"),
    Setting(masking="baseline", baseline="median"),
    Setting(masking="conditional", bins="exact"),
]


def tangled(rows):
    """Interactions of order two and three among the first three columns; the fourth enters alone."""
    return [
        r[0] + 2 * r[0] * r[1] - r[1] * r[2] + 3 * r[0] * r[1] * r[2] + sum(r[3:]) for r in rows
    ]


def additive(rows):
    return [3 * r[0] - r[1] ** 2 + math.sin(r[2]) for r in rows]


def product_of_two(rows):
    return [r[0] * r[1] for r in rows]


def random_rows(seed, n=10, d=3, levels=None):
    generator = np.random.default_rng(seed)
    X = (
        generator.normal(size=(n, d))
        if levels is None
        else generator.integers(0, levels, size=(n, d)).astype(float)
    )
    return X, generator


def random_game(seed, d):
    generator = np.random.default_rng(seed)
    worth = {T: float(generator.normal()) for T in o.subsets(range(d))}
    return lambda T: worth[frozenset(T)]


def close(a, b, tolerance=1e-10):
    return a == pytest.approx(b, rel=tolerance, abs=tolerance)


# ------------------------------------------------------------------------------------------------------ games


@pytest.mark.parametrize("d", [2, 3, 4])
def test_theorem_1_on_random_games(d):
    """Every interaction operator is a sum of pure interactions with weights 0, 1/|T|, 1."""
    weight = {
        "pure": lambda T: float(len(T) == 1),
        "partial": lambda T: 1 / len(T),
        "full": lambda T: 1.0,
    }
    nu, D = random_game(d, d), frozenset(range(d))
    for first, second, i in product(weight, weight, range(d)):
        S = frozenset({i})
        gap = o.influence_of(nu, D, S, Setting(interaction=first)) - o.influence_of(
            nu, D, S, Setting(interaction=second)
        )
        wanted = sum(
            (weight[first](T) - weight[second](T)) * o.derivative(nu, T)
            for T in o.subsets(D)
            if i in T
        )
        assert close(gap, wanted)


def test_moebius_transform_can_be_inverted():
    nu, D = random_game(1, 4), frozenset(range(4))
    for T in o.subsets(D):
        assert close(sum(o.derivative(nu, L) for L in o.subsets(T)), nu(T))


def test_shapley_value_is_the_mean_over_all_orders():
    nu = random_game(2, 4)
    everyone = [frozenset({i}) for i in range(4)]
    steps = [
        nu(order[: order.index(2) + 1]) - nu(order[: order.index(2)])
        for order in permutations(range(4))
    ]
    assert close(o.shapley(nu, everyone, frozenset({2})), np.mean(steps))


def test_interaction_indices_of_order_one_are_the_shapley_value():
    nu, D = random_game(3, 4), frozenset(range(4))
    wanted = o.shapley(nu, [frozenset({i}) for i in D], frozenset({1}))
    for index in ("stii", "sii", "fsii"):
        assert close(o.interaction_index(nu, D, frozenset({1}), index), wanted)


def test_shapley_taylor_of_order_two_adds_up():
    """Singles by their pure effect and pairs by the index share out nu(D) - nu(empty)."""
    nu, D = random_game(4, 4), frozenset(range(4))
    pairs = [o.interaction_index(nu, D, frozenset(S)) for S in combinations(range(4), 2)]
    assert close(sum(pairs) + sum(o.derivative(nu, frozenset({i})) for i in D), nu(D) - nu(EMPTY))


def test_shapley_interaction_index_weighs_supersets():
    """SII(S) = sum over T containing S of the pure interaction divided by |T| - |S| + 1."""
    nu, D, S = random_game(5, 4), frozenset(range(4)), frozenset({0, 3})
    wanted = sum(o.derivative(nu, T) / (len(T) - 1) for T in o.subsets(D) if S <= T)
    assert close(o.interaction_index(nu, D, S, "sii"), wanted)


def test_banzhaf_weighs_supersets_by_halves():
    """BII(S) = sum over T containing S of the pure interaction divided by 2^(|T| - |S|); for one column as well."""
    nu, D = random_game(5, 4), frozenset(range(4))
    for S in (frozenset({0, 3}), frozenset({1})):
        wanted = sum(o.derivative(nu, T) / 2 ** (len(T) - len(S)) for T in o.subsets(D) if S <= T)
        assert close(o.interaction_index(nu, D, S, "bii"), wanted)
    assert close(o.banzhaf(nu, [frozenset({i}) for i in D], frozenset({1})), wanted)


def test_faithful_shapley_is_the_weighted_least_squares_fit():
    """The best approximation by singles and pairs, exact at the empty set and at D."""
    nu, p = random_game(6, 4), 4
    D, terms = frozenset(range(p)), [L for L in o.subsets(range(p)) if len(L) <= 2]
    A, b, w = [], [], []
    for T in o.subsets(D):
        t = len(T)
        A.append([float(L <= T) for L in terms])
        b.append(nu(T))
        w.append(1e6 if t in (0, p) else (p - 1) / (math.comb(p, t) * t * (p - t)))
    root = np.sqrt(w)
    fit = np.linalg.lstsq(np.array(A) * root[:, None], np.array(b) * root, rcond=None)[0]
    for L, value in zip(terms, fit, strict=True):
        if len(L) == 2:
            assert o.interaction_index(nu, D, L, "fsii") == pytest.approx(value, abs=1e-5)


def test_joint_gap_is_the_sum_over_sets_that_cross_the_group():
    """Corollary, with T meeting S and not inside it; the printed index set leaves out the supersets of S."""
    nu, D, S = random_game(7, 4), frozenset(range(4)), frozenset({0, 1})
    gap = o.full(nu, D, S) - o.pure(nu, S)
    crossing = [T for T in o.subsets(D) if T & S and not T <= S]
    assert close(gap, sum(o.derivative(nu, T) for T in crossing))
    printed = [T for T in crossing if T & S != S]
    assert abs(gap - sum(o.derivative(nu, T) for T in printed)) > 0.1


def test_pair_gap_is_the_sum_over_larger_sets():
    nu, D, S = random_game(8, 4), frozenset(range(4)), frozenset({1, 2})
    gap = o.derivative(nu, S, D - S) - o.derivative(nu, S)
    assert close(gap, sum(o.derivative(nu, T) for T in o.subsets(D) if S < T))


# -------------------------------------------------------------------------------------------------- masking


def test_recombined_rows_of_the_complement_are_the_transpose():
    X, _ = random_rows(0, 6, 4)
    problem = Problem(tangled, X)
    for S in o.subsets(range(4)):
        R, C = problem.R(S), problem.R(problem.D - S)
        assert all(R[n][m] == C[m][n] for n in problem.rows for m in problem.rows)
        assert all(R[n][n] == problem.F()[n] for n in problem.rows)


def test_marginal_values_of_a_product():
    """F = x0 x1: shown x0 is x0 times the mean of x1, and the full effect x1 (x0 - mean of x0)."""
    X, _ = random_rows(1, 7, 2)
    rows, problem = [0, 2, 3, 6], Problem(product_of_two, X)
    center = X[rows].mean(axis=0)
    found = explain(problem, Setting(interaction="full"), rows)
    start = explain(problem, Setting(interaction="pure"), rows)
    for n in rows:
        assert close(o.masked(problem, Setting(), frozenset({0}), n, rows), X[n, 0] * center[1])
        assert close(found[frozenset({0})][n], X[n, 1] * (X[n, 0] - center[0]))
        assert close(
            start[frozenset({0})][n], X[n, 0] * center[1] - np.mean(X[rows, 0] * X[rows, 1])
        )


def test_baselines():
    X = [[0.0, "a"], [4.0, "b"], [1.0, "b"], [9.0, "a"]]
    problem = Problem(lambda rows: [r[0] for r in rows], X, kinds=["numeric", "nominal"])
    row = {
        how: o.baseline_row(problem, Setting(masking="baseline", baseline=how), problem.rows)
        for how in ("mean", "median")
    }
    assert row == {"mean": [3.5, "a"], "median": [1.0, "a"]}
    near = Setting(masking="baseline", baseline="region")
    assert o.baseline_row(problem, near, [0, 1, 2, 3]) == [
        0.0,
        "a",
    ]  # a quarter of a rank step against another level
    assert o.baseline_row(problem, near, [1, 2, 3]) == [4.0, "b"]
    assert (
        o.masked(problem, Setting(masking="baseline", baseline=[7.0, "b"]), EMPTY, 0, problem.rows)
        == 7.0
    )
    heavy = Problem(
        lambda rows: [r[0] for r in rows], X, weights=[1, 1, 1, 5], kinds=["numeric", "nominal"]
    )
    assert o.center(heavy, heavy.rows, "median") == [9.0, "a"]


def test_quantile_bins_of_one_column():
    """25 values 0..24: z_k is the smallest with at least k/10 of the rows at or below it."""
    problem = Problem(lambda rows: [0.0] * len(rows), [[float(v), float(v % 2)] for v in range(25)])
    assert o.edges(problem, 0) == [2, 4, 7, 9, 12, 14, 17, 19, 22, 24]
    assert [o.column_bin(problem, 0, v) for v in (-5.0, 2.0, 2.5, 4.0, 22.0, 99.0)] == [
        0,
        0,
        1,
        1,
        8,
        9,
    ]
    assert o.edges(problem, 1) == [0, 1]
    assert o.column_bin(problem, 1, math.nan) == "missing"


def test_tree_bins_follow_the_dependence_and_nothing_else():
    """x2 is a step of x0, x1 is noise: the bins of {x0, x1} separate the step; monotone transforms change nothing."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 3))
    X[:, 2] = X[:, 0] > 0
    setting, T = Setting(masking="conditional"), frozenset({0, 1})
    bins = o.bins_of(Problem(additive, X), setting, T)
    for b in set(bins.values()):
        assert len({X[n, 2] for n in bins if bins[n] == b}) == 1
    moved = np.column_stack([np.exp(X[:, 0]) + 1e9, X[:, 1] ** 3, X[:, 2] * 7])
    assert o.bins_of(Problem(additive, moved), setting, T) == bins


def test_conditional_equals_marginal_in_one_bin_and_on_factorial_rows():
    X, _ = random_rows(2, 12, 3)

    class OneBin:
        def fit(self, shown, rest):
            pass

        def apply(self, shown):
            return [0] * len(shown)

    factorial = np.array(list(product([0.0, 1.0, 3.0], [-1.0, 2.0], [0.0, 5.0])))
    for rows, bins in ((X, OneBin()), (factorial, "exact")):
        problem = Problem(tangled, rows)
        for T in o.subsets(range(3)):
            for n in problem.rows:
                conditional = o.masked(
                    problem, Setting(masking="conditional", bins=bins), T, n, problem.rows
                )
                assert close(conditional, o.masked(problem, Setting(), T, n, problem.rows))


# ------------------------------------------------------------------------------------------- behavior and theorems


@pytest.mark.parametrize("masking", MASKINGS, ids=lambda s: s.masking)
@pytest.mark.parametrize("behavior", ["local", "sensitivity", "risk"])
def test_partial_effects_add_up(masking, behavior):
    X, generator = random_rows(3, 9, 3, levels=3)
    problem = Problem(
        tangled, X, y=generator.normal(size=9), weights=generator.uniform(0.5, 2, size=9)
    )
    setting = Setting(masking.masking, behavior, "partial", baseline="median", bins="exact")
    rows = [0, 1, 2, 4, 5, 7, 8]
    nu = o.game(problem, setting, rows)
    total = o.combination([(1.0, value) for value in explain(problem, setting, rows).values()])
    wanted = o.full(nu, problem.D, problem.D)
    if behavior == "local":
        assert all(close(total[n], wanted[n]) for n in rows)
    else:
        assert close(total, wanted)


@pytest.mark.parametrize("rows", [None, "box"])
def test_theorem_2_on_a_factorial_design(rows):
    X = np.array(list(product([0.0, 1.0, 3.0], [-1.0, 2.0], [0.0, 4.0, 5.0])))
    problem = Problem(tangled, X)
    rows = None if rows is None else [n for n in problem.rows if X[n, 0] <= 1 and X[n, 2] > 0]
    R = o.disagreement(question("ice-pdp"), problem, rows)
    full, pure = (
        explain(problem, Setting(behavior="sensitivity", interaction=i), rows)
        for i in ("full", "pure")
    )
    assert R > 0.1
    assert sum(full[S] - pure[S] for S in full) == pytest.approx(R, rel=1e-12)
    jansen = explain(
        problem, Setting(behavior="sensitivity", interaction="full", total="jansen"), rows
    )
    assert all(jansen[S] == pytest.approx(full[S], rel=1e-12) for S in full)


def density(problem, rows, T, n):
    """P(rest = z | shown = x_n) / P(rest = z) for every row's rest, by counting."""

    def key(m, columns):
        return tuple(problem.X[m][j] for j in sorted(columns))

    rest = problem.D - T
    mates = [m for m in rows if key(m, T) == key(n, T)]
    inside = [sum(key(k, rest) == key(m, rest) for k in mates) / len(mates) for m in rows]
    overall = [sum(key(k, rest) == key(m, rest) for k in rows) / len(rows) for m in rows]
    return [a / b for a, b in zip(inside, overall, strict=True)]


def test_theorem_3_with_exact_bins():
    """Conditional minus marginal is the explanation of delta, for local, sensitivity and risk."""
    X, generator = random_rows(4, 14, 3, levels=2)
    problem = Problem(tangled, X, y=generator.normal(size=14))
    rows = [n for n in problem.rows if n != 5]
    ones = [1.0] * len(rows)

    def delta(T, n):
        w = density(problem, rows, T, n)
        return o.mean(
            [(w_m - 1) * problem.R(T)[n][m] for w_m, m in zip(w, rows, strict=True)], ones
        )

    for interaction, behavior in product(
        ["pure", "partial", "full"], ["local", "sensitivity", "risk"]
    ):
        conditional = Setting("conditional", behavior, interaction, bins="exact")
        one, two = (
            explain(problem, conditional, rows),
            explain(problem, Setting("marginal", behavior, interaction), rows),
        )

        def difference(T, behavior=behavior):
            d = [delta(frozenset(T), n) for n in rows]
            m = [o.masked(problem, Setting(), frozenset(T), n, rows) for n in rows]
            if behavior == "local":
                return dict(zip(rows, d, strict=True))
            if behavior == "sensitivity":
                covariance = o.mean([a * b for a, b in zip(m, d, strict=True)], ones) - o.mean(
                    m, ones
                ) * o.mean(d, ones)
                return o.variance(d, ones) + 2 * covariance
            return -o.mean(
                [b * b + 2 * (a - problem.y[n]) * b for a, b, n in zip(m, d, rows, strict=True)],
                ones,
            )

        for S in one:
            wanted = o.influence_of(difference, problem.D, S, conditional)
            found = o.combination([(1.0, one[S]), (-1.0, two[S])])
            if behavior == "local":
                assert all(close(found[n], wanted[n]) for n in rows)
            else:
                assert close(found, wanted)


def test_conditional_jansen_is_the_spread_among_rows_that_share_the_rest():
    """Exact bins: for every row, the variance of F over the rows with the same other columns."""
    X, _ = random_rows(20, 16, 3, levels=2)
    problem = Problem(tangled, X)
    setting = Setting("conditional", "sensitivity", "full", bins="exact", total="jansen")
    F = np.array(tangled(X))
    spread = [np.var(F[(X[:, 1] == X[n, 1]) & (X[:, 2] == X[n, 2])]) for n in range(16)]
    assert np.mean(spread) > 0.01
    assert close(explain(problem, setting)[frozenset({0})], np.mean(spread))


def test_classic_permutation_importance():
    """average="loss": the loss of every recombined row, averaged."""
    X, generator = random_rows(5, 6, 2)
    y = generator.normal(size=6)
    problem = Problem(product_of_two, X, y=y)
    found = explain(problem, Setting(behavior="risk", average="loss", loss="absolute"))
    hidden = np.mean([abs(X[m, 0] * X[n, 1] - y[n]) for n in range(6) for m in range(6)])
    assert close(found[frozenset({0})], hidden - np.mean(np.abs(X[:, 0] * X[:, 1] - y)))


def test_losses_of_the_risk():
    assert o.risk_loss("squared", 0.5, 2.0) == o.risk_loss("brier", 0.5, 2.0) == 2.25
    assert o.risk_loss("absolute", 0.5, 2.0) == 1.5
    assert close(o.risk_loss("log", 0.25, 1.0), math.log(4))
    assert close(o.risk_loss("log", 0.0, 1.0), -math.log(1e-15))
    assert o.risk_loss(lambda f, y: f - y, 3.0, 1.0) == 2.0


def test_pointwise_risk_averages_to_the_risk():
    X, generator = random_rows(6, 8, 3)
    problem = Problem(
        tangled, X, y=generator.normal(size=8), weights=generator.uniform(0.1, 1, size=8)
    )
    for interaction in ("pure", "partial", "full"):
        setting = Setting(behavior="risk", interaction=interaction)
        one = explain(problem, setting)
        rows = explain(problem, Setting(behavior="risk", interaction=interaction, pointwise=True))
        for S in one:
            assert close(one[S], o.mean([rows[S][n] for n in problem.rows], problem.w))


@pytest.mark.parametrize("name", [*o.NAMED, "coe", "ale"])
def test_integer_weights_are_repeated_rows_and_weight_0_is_no_row(name):
    """Every question, where bins do not count rows: exact ones; ale has at most ten distinct values here."""
    X, generator = random_rows(7, 8, 3, levels=3)
    y, weights = generator.normal(size=8), np.array([1, 2, 1, 0, 3, 1, 1, 2])
    asked = question(name, bins="exact")
    repeated = np.repeat(np.arange(8), weights)
    one = o.disagreement(asked, Problem(tangled, X, y, weights))
    two = o.disagreement(asked, Problem(tangled, X[repeated], y[repeated]))
    assert one > 1e-3
    assert close(one, two)


def test_symmetric_columns_get_equal_effects():
    """F and the rows are symmetric in x0, x1."""
    X = np.array([[0, 1, 2], [1, 0, 2], [2, 2, 0], [1, 3, 1], [3, 1, 1]], dtype=float)
    problem = Problem(
        lambda rows: [r[0] * r[1] * r[2] + r[0] + r[1] for r in rows], X, y=[1, 1, 0, 2, 2]
    )
    for masking, behavior, interaction in product(
        MASKINGS, ["sensitivity", "risk"], ["pure", "partial", "full"]
    ):
        setting = Setting(masking.masking, behavior, interaction, baseline="median", bins="exact")
        found = explain(problem, setting)
        assert close(found[frozenset({0})], found[frozenset({1})])


def test_an_unused_column_has_no_effect_under_marginal_and_baseline_masking():
    X, generator = random_rows(8, 8, 3)
    problem = Problem(product_of_two, X, y=generator.normal(size=8))
    unused = frozenset({2})
    for masking, interaction in product(["marginal", "baseline"], ["pure", "partial", "full"]):
        assert all(
            abs(v) < 1e-12
            for v in explain(problem, Setting(masking, "local", interaction))[unused].values()
        )
        assert abs(explain(problem, Setting(masking, "risk", interaction))[unused]) < 1e-12


def test_groups():
    """Singletons as groups are individual effects; a group of all columns leaves nothing to disagree about."""
    X, _ = random_rows(9, 8, 3)
    problem = Problem(tangled, X)
    for interaction in ("pure", "partial", "full"):
        one = explain(problem, Setting(interaction=interaction))
        two = explain(
            problem, Setting(interaction=interaction, influence="joint", groups=((2,), (0,)))
        )
        assert all(close(one[S][n], two[S][n]) for S in one for n in problem.rows)
    assert (
        o.disagreement(question("ice-pdp", influence="joint", groups=((0, 1, 2),)), problem) < 1e-25
    )
    merged = explain(problem, Setting(interaction="partial", influence="joint", groups=((0, 2),)))
    nu = o.game(problem, Setting(), problem.rows)
    for n in problem.rows:
        wanted = 0.5 * (nu({0, 2})[n] - nu(())[n] + nu(problem.D)[n] - nu({1})[n])
        assert close(merged[frozenset({0, 2})][n], wanted)


def test_pairs_measure_orders_three_and_above():
    X, _ = random_rows(10, 9, 3)
    second = Problem(lambda rows: [r[0] * r[1] + r[1] * r[2] ** 2 for r in rows], X)
    pairs = question("ice-pdp", influence="interaction", order=2)
    assert o.disagreement(pairs, second) < 1e-24
    assert o.disagreement(pairs, Problem(tangled, X)) > 0.1


@pytest.mark.parametrize("name", ["ice-pdp", "shap-pdp", "ice-shap", "coe", "ale", "sobol"])
def test_additive_models_leave_nothing_to_explain(name):
    X, _ = random_rows(11, 12, 3)
    fit = o.grow(question(name), Problem(additive, X), min_samples_leaf=2)
    assert fit.root.stop == "nothing to explain"
    assert (fit.disagreement, fit.remaining) == (0.0, 0.0)
    assert fit.scale.disagreements[0] < fit.scale.floors[0]


# ------------------------------------------------------------------------------------------ the toy of the paper


def toy_rows(step, reach=6.0):
    """x3, x4 of the toy on a grid of x4, weighted by the density of N(x3, 1)."""
    grid = np.arange(-round(reach / step), round(reach / step) + 1) * step
    rows = [(x3, x4) for x3 in (-1.0, 1.0) for x4 in grid]
    weights = [math.exp(-((x4 - x3) ** 2) / 2) for x3, x4 in rows]
    return rows, np.array(weights) / sum(weights)


def test_table_of_the_toy():
    """Effects of X1 and X4, over all rows and where x2 or x3 is fixed (with 2 x4 - 2 x3 for X4, full, conditional)."""
    pairs, weights = toy_rows(1.0, 5.0)
    X = [[x1, x2, *pair] for x1 in (-1.5, 1.5) for x2 in (-1.0, 1.0) for pair in pairs]
    problem = Problem(
        lambda rows: [3 * r[0] * r[1] + r[2] + 2 * r[3] for r in rows],
        X,
        weights=np.tile(weights, 4),
    )
    x1, x4 = frozenset({0}), frozenset({3})

    def effects(masking, interaction, rows=None):
        return explain(
            problem, Setting(masking, "local", interaction, bins="exact"), rows, [x1, x4]
        )

    whole = {(m, i): effects(m, i) for m in ("marginal", "conditional") for i in ("pure", "full")}
    for n, (a, b, c, e) in enumerate(X):
        for masking in ("marginal", "conditional"):
            assert close(whole[masking, "pure"][x1][n], 0.0, 1e-9)
            assert close(whole[masking, "full"][x1][n], 3 * a * b, 1e-9)
        assert close(whole["marginal", "pure"][x4][n], 2 * e, 1e-9)
        assert close(whole["marginal", "full"][x4][n], 2 * e, 1e-9)
        assert close(whole["conditional", "pure"][x4][n], 2 * e + math.tanh(e), 1e-9)
        assert whole["conditional", "full"][x4][n] == pytest.approx(2 * e - 2 * c, abs=1e-4)
    half = [n for n in problem.rows if X[n][1] == 1 and X[n][2] == -1]
    for masking, interaction in product(("marginal", "conditional"), ("pure", "full")):
        found = effects(masking, interaction, half)
        for n in half:
            assert close(found[x1][n], 3 * X[n][0], 1e-9)
            assert found[x4][n] == pytest.approx(2 * X[n][3] + 2, abs=1e-4)


def test_figure_1_in_closed_form():
    """Mean absolute values of X3, X4, which do not meet X1, X2; and of X1, X2 by E|X1| = sqrt(2/pi)."""
    rows, weights = toy_rows(0.1)
    problem = Problem(lambda rows: [r[0] + 2 * r[1] for r in rows], rows, weights=weights)

    def size(masking, interaction):
        found = explain(problem, Setting(masking, "local", interaction, bins="exact"))
        return [o.mean([abs(v) for v in found[frozenset({j})].values()], problem.w) for j in (0, 1)]

    assert size("marginal", "partial") == pytest.approx([1.0, 2.333], abs=2e-3)
    assert size("conditional", "partial") == pytest.approx([1.726, 2.101], abs=2e-3)
    assert size("conditional", "full") == pytest.approx([0.451, 1.596], abs=2e-3)
    signs = Problem(
        lambda rows: [3 * r[0] * r[1] for r in rows], list(product((-1.0, 1.0), (-1.0, 1.0)))
    )
    scale = math.sqrt(2 / math.pi)
    for interaction, wanted in (("partial", 1.197), ("full", 2.394)):
        found = explain(signs, Setting("marginal", "local", interaction))[frozenset({0})]
        assert scale * o.mean([abs(v) for v in found.values()], signs.w) == pytest.approx(
            wanted, abs=1e-3
        )


# ------------------------------------------------------------------------------------------------- candidates


@pytest.mark.parametrize(
    ("v", "v_next", "wanted"),
    [
        (1.0, 4.0, 2.0),  # 2 and 3 are equally near the midpoint: the smaller
        (6.0, 7.0, 6.0),  # an integer column: hr <= 6
        (-1.0, 2.0, 0.0),  # zero has the fewest digits
        (0.0, 1e-9, 0.0),
        (-3.0, 0.0, -2.0),
        (0.123, 0.127, 0.125),
        (1.26, 1.31, 1.3),
        (9.7, 10.4, 10.0),
        (0.001, 5.0, 3.0),
        (-10.4, -9.7, -10.0),
        (0.1, math.nextafter(0.1, 1), 0.1),
        (5e-324, 1e-323, 5e-324),
        (1.7e308, 1.75e308, 1.7e308),
        (1700000000.0, 1700000060.0, 1700000000.0),
        (1700000010.0, 1700000060.0, 1700000030.0),
    ],
)
def test_thresholds(v, v_next, wanted):
    assert o.threshold(v, v_next) == wanted


def test_thresholds_against_all_short_decimals():
    """All decimals of up to three digits, listed: the fewest digits inside, then the nearest, then the smaller."""
    written = {0.0: 0} | {
        sign * float(f"{m}e{e}"): len(str(m))
        for sign, e, m in product((-1, 1), range(-7, 4), range(1, 1000))
        if m % 10
    }
    generator = np.random.default_rng(0)
    for _ in range(60):
        v, v_next = sorted(
            float(x) for x in generator.normal(size=2) * 10.0 ** generator.integers(-2, 3)
        )
        inside = [t for t in written if v <= t < v_next]
        if inside:
            middle = (Fraction(v) + Fraction(v_next)) / 2
            assert o.threshold(v, v_next) == min(
                inside, key=lambda t: (written[t], abs(Fraction(t) - middle), t)
            )


def test_cuts_of_a_numeric_column():
    assert o.cut_values([3, 1, 2, 2, 5], 40) == [1, 2, 3]
    assert o.cut_values(list(range(10)), 4) == [2, 4, 6]  # positions 9k // 4
    assert o.cut_values([0, 1, 2, 3, 9, 9, 9, 9, 9, 9], 4) == [
        2
    ]  # equal cuts once, the largest value never
    problem = Problem(additive, [[float(v), 0.0, 0.0] for v in range(6)])
    assert [c.threshold for c in o.candidates(problem, min_samples_leaf=2)] == [1.0, 2.0, 3.0]


def test_groupings_of_a_nominal_column():
    X = [[level, 0.0] for level in "abcd" for _ in range(2)]
    problem = Problem(lambda rows: [0.0] * len(rows), X, kinds=["nominal", "numeric"])
    found = [c.levels for c in o.candidates(problem, min_samples_leaf=1)]
    single = [("a",), ("b",), ("c",), ("d",)]
    assert found == [*single, ("a", "b"), ("a", "c"), ("a", "d")]
    assert len(o.candidates(problem, min_samples_leaf=3)) == 3


def test_levels_are_ordered_by_their_pure_effects():
    """Eight levels, F = slope(level) x1: cuts run along the slopes, whatever the labels and level means."""
    slope = dict(zip("abcdefgh", [3, -1, 7, 0, 5, -4, 2, 9], strict=True))
    X = [[level, v] for level in slope for v in (-1.0, 0.5, 2.0)]
    problem = Problem(
        lambda rows: [slope[r[0]] * r[1] + 100 * (r[0] in "adf") for r in rows],
        X,
        kinds=["nominal", "numeric"],
    )
    wanted = sorted(slope, key=slope.get)
    assert "".join(o.order_levels(problem, 0, problem.rows)) in (
        "".join(wanted),
        "".join(wanted)[::-1],
    )
    assert len([c for c in o.candidates(problem, min_samples_leaf=1) if c.column == 0]) == 8 + 7 - 2


def test_missing_values_are_offered_on_both_sides():
    X = [[1.0], [2.0], [math.nan], [3.0], [None]]
    found = o.candidates(Problem(lambda rows: [0.0] * len(rows), X), min_samples_leaf=1)
    sides = [(c.value, c.missing, c.left) for c in found]
    assert sides == [
        (-math.inf, "left", (2, 4)),
        (1.0, "left", (0, 2, 4)),
        (2.0, "left", (0, 1, 2, 4)),
        (1.0, "right", (0,)),
        (2.0, "right", (0, 1)),
    ]


# ------------------------------------------------------------------------------------------------------- tree


def switch(rows):
    """The sign of x1's slope is that of x2."""
    return [(1 if r[1] > 0 else -1) * r[0] + 0.1 * r[2] for r in rows]


def test_a_planted_split_is_found_and_ends_the_search():
    X, _ = random_rows(12, 24, 3)
    problem = Problem(switch, X)
    fit = o.grow(question("ice-pdp"), problem, min_samples_leaf=3)
    assert fit.root.split.column == 1
    below, above = max(X[X[:, 1] <= 0, 1]), min(X[X[:, 1] > 0, 1])
    assert below <= fit.root.split.threshold < above
    assert len(fit.regions()) == 2
    assert fit.remaining < 1e-12
    assert [leaf.stop for leaf in fit.root.leaves()] == ["nothing to explain"] * 2
    assert o.apply(fit.root, problem, X) == [int(row[1] > 0) for row in X]


def test_growth_reaches_what_one_split_cannot_and_pruning_undoes_the_rest():
    """Exclusive or of two signs times x0: no first split helps, two levels of splits solve it."""
    X = np.array([[a, b, c] for a in (-1.0, 0.0, 2.0) for b in (-1.0, 1.0) for c in (-1.0, 1.0)])
    problem = Problem(lambda rows: [r[0] * r[1] * r[2] for r in rows], X)
    fit = o.grow(question("ice-pdp"), problem, min_samples_leaf=1, alpha=0.05, max_depth=2)
    assert sorted(len(rows) for rows in fit.regions()) == [3, 3, 3, 3]
    assert fit.remaining < 1e-12
    assert (
        o.grow(question("ice-pdp"), problem, min_samples_leaf=1, alpha=0.4, max_depth=2).root.stop
        == "pruned"
    )
    assert len(o.grow(question("ice-pdp"), problem, min_samples_leaf=1, max_depth=0).regions()) == 1


def test_ties_go_to_the_lowest_column_then_threshold():
    X, _ = random_rows(13, 12, 2)
    doubled = np.column_stack([X[:, 0], X[:, 1], X[:, 1]])
    fit = o.grow(
        question("ice-pdp"), Problem(switch_two, doubled), min_samples_leaf=2, split_features=[2, 1]
    )
    assert fit.root.split.column == 1


def switch_two(rows):
    return [(1 if r[1] > 0 else -1) * r[0] for r in rows]


def test_beam_is_never_worse_than_greedy():
    X, _ = random_rows(14, 14, 3)
    problem = Problem(tangled, X)
    one, two = (
        o.grow(question("ice-pdp"), problem, min_samples_leaf=2, max_depth=2, alpha=0.01, beam=b)
        for b in (1, 3)
    )
    cost = [fit.remaining + 0.01 * len(fit.regions()) for fit in (one, two)]
    assert cost[1] <= cost[0] + 1e-10


def test_shares_of_several_questions():
    """Questions are weighed in shares; one at its floor is left out; uniform weighting drops the mass."""
    X, generator = random_rows(15, 12, 3)
    problem = Problem(
        tangled, X, y=generator.normal(size=12), weights=generator.uniform(0.2, 2, size=12)
    )
    asked = (question("ice-pdp"), question("pfi-risk"))
    objective = Objective(asked, (1.0, 3.0))
    scale = o.scale_of(objective, problem)
    assert scale.weights == (0.25, 0.75)
    assert close(o.share(objective, scale, problem, problem.rows), 1.0)
    rows = [0, 3, 4, 8]
    ratio = [o.disagreement(q, problem, rows) / o.disagreement(q, problem) for q in asked]
    assert close(
        o.share(objective, scale, problem, rows),
        problem.mass(rows) * (0.25 * ratio[0] + 0.75 * ratio[1]),
    )
    uniform = Objective(asked, (1.0, 3.0), weighting="uniform")
    assert close(o.share(uniform, scale, problem, rows), 0.25 * ratio[0] + 0.75 * ratio[1])
    constant = Problem(additive, X, y=generator.normal(size=12))
    assert o.scale_of(objective, constant).weights == (0.0, 1.0)


def test_variance_normalisation_divides_by_the_variance_of_the_model():
    X, _ = random_rows(16, 10, 3)
    problem = Problem(tangled, X)
    objective = Objective((question("coe"),), normalize="variance")
    scale = o.scale_of(objective, problem)
    assert close(
        o.share(objective, scale, problem, problem.rows), 1 - o.fidelity(problem, [problem.rows])
    )


# ------------------------------------------------------------------------------------- surrogate and other rows


def test_remaining_disagreement_is_the_share_of_lost_fidelity():
    X, generator = random_rows(17, 16, 3)
    for options in ({}, {"influence": "joint", "groups": ((0, 1),)}):
        problem = Problem(tangled, X, weights=generator.uniform(0.2, 2, size=16))
        fit = o.grow(
            question("coe", **options), problem, min_samples_leaf=3, max_depth=2, alpha=0.01
        )
        setting = Setting(**options)
        assert len(fit.regions()) > 1
        lost = 1 - o.fidelity(problem, fit.regions(), setting)
        assert close(fit.remaining, lost / (1 - o.fidelity(problem, [problem.rows], setting)))


def test_surrogate_at_new_values():
    """Additive model: exact at seen values, linear between neighbours, constant beyond the ends."""
    X = [[0.0, 0.0], [1.0, 2.0], [3.0, 5.0]]
    problem = Problem(lambda rows: [r[0] ** 2 + r[1] for r in rows], X)
    at = [o.surrogate_at(problem, problem.rows, [x, 2.0]) for x in (1.0, 2.0, 3.0, 9.0)]
    assert at == pytest.approx([3.0, 7.0, 11.0, 11.0])
    assert o.surrogate_at(problem, problem.rows, [2.0, 2.0], exact=True) == pytest.approx(6.0)
    own = o.additive_model(problem, Setting(), problem.rows)
    assert [o.surrogate_at(problem, problem.rows, X[n]) for n in own] == pytest.approx(
        list(own.values())
    )


def test_evaluation_on_the_fitting_rows_repeats_the_fit():
    X, generator = random_rows(18, 18, 3)
    problem = Problem(tangled, X, y=generator.normal(size=18))
    for name in ("ice-pdp", "mplot-pdp", "coe", "sobol", "pfi-risk", "ale"):
        fit = o.grow(question(name), problem, min_samples_leaf=4, max_depth=2, alpha=0.01)
        again = Problem(tangled, X, problem.y, fitted=problem)
        found = o.evaluate(question(name), fit, again)
        assert close(found["remaining"], fit.remaining)
        assert close(found["global_disagreement"], fit.disagreement)
        assert [line["n_samples"] for line in found["regions"]] == [
            len(rows) for rows in fit.regions()
        ]
        if name == "ice-pdp":
            assert close(
                sum(line["global_disagreement"] for line in found["regions"]),
                found["global_disagreement"],
            )


def test_a_region_without_new_rows_contributes_nothing():
    X, _ = random_rows(12, 24, 3)
    problem = Problem(switch, X)
    fit = o.grow(question("ice-pdp"), problem, min_samples_leaf=3)
    new = Problem(switch, [row for row in X if row[1] > 0], fitted=problem)
    found = o.evaluate(question("ice-pdp"), fit, new)
    assert [line["n_samples"] for line in found["regions"]] == [0, len(new.rows)]
    assert found["regions"][0]["disagreement"] == 0.0
    assert found["regions"][0]["remaining"] is None


def test_what_a_node_has_not_seen_goes_with_the_larger_child():
    X = [["a", 1.0], ["a", -1.0], ["a", 3.0], ["b", 1.0], ["b", -1.0]]
    problem = Problem(
        lambda rows: [(2 if r[0] == "a" else -1) * r[1] for r in rows],
        X,
        kinds=["nominal", "numeric"],
    )
    fit = o.grow(question("ice-pdp"), problem, min_samples_leaf=2)
    assert fit.root.split.levels == ("a",)
    assert o.apply(fit.root, problem, [["a", 9.0], ["b", 9.0], ["new", 9.0], [None, 9.0]]) == [
        0,
        1,
        0,
        0,
    ]


def test_missing_rows_form_a_side():
    X = [[v, s] for v in (-1.0, 0.0, 2.0) for s in (math.nan, 1.0, 2.0)]
    problem = Problem(lambda rows: [r[0] if o.is_missing(r[1]) else -r[0] for r in rows], X)
    fit = o.grow(question("ice-pdp"), problem, min_samples_leaf=2)
    assert (fit.root.split.column, fit.root.split.value, fit.root.split.missing) == (
        1,
        -math.inf,
        "left",
    )
    assert fit.remaining < 1e-12
    assert o.apply(fit.root, problem, X) == [0, 1, 1] * 3


def test_max_grid_snaps_a_column_in_its_own_gap_only():
    """Grid positions ceil(N (g - 1/2) / G); additive models stay at zero; G at least the distinct values is exact."""
    X, _ = random_rows(19, 12, 3)
    problem = Problem(tangled, X)
    values = sorted(X[:, 0])
    assert [o.snap(problem, 0, v, 3) for v in values] == [
        values[k] for k in [1] * 4 + [5] * 4 + [9] * 4
    ]
    assert o.disagreement(question("ice-pdp", max_grid=4), Problem(additive, X)) < 1e-25
    assert o.disagreement(question("ice-pdp", max_grid=12), problem) == o.disagreement(
        question("ice-pdp"), problem
    )
    assert o.disagreement(question("ice-pdp", max_grid=4), problem) != o.disagreement(
        question("ice-pdp"), problem
    )


def test_ale_effects_of_a_product():
    """F = x0 x1, x0 in {0, 1, 3}: the step of the row's interval times x1, minus the mean in the interval."""
    X = [[0.0, 1.0], [1.0, 5.0], [3.0, 2.0], [3.0, 7.0], [1.0, 0.0]]
    gap = o.ale_gap(Problem(product_of_two, X), 0, range(5))
    assert gap == pytest.approx({0: -1.0, 1: 3.0, 2: -5.0, 3: 5.0, 4: -2.0})
    nominal = Problem(
        lambda rows: [r[1] for r in rows], [["a", 1.0], ["b", 2.0]], kinds=["nominal", "numeric"]
    )
    assert o.ale_gap(nominal, 0, range(2)) == {0: 0.0, 1: 0.0}


def test_noise_floor_by_hand():
    problem = Problem(product_of_two, [[1.0, 1.0], [2.0, 3.0]], y=[0.0, 4.0])
    assert o.noise(8.0) == 64 * 2.0**-52
    assert o.noise(1.0, [1.0, 2.0], [1.0, 2.5], [1.1, 2.0], [1.0, 2.0], [3.0, 3.0]) == 1.5
    assert close(o.floor(question("ice-pdp"), problem, 0.5), 2 * (4 * 0.5) ** 2)
    assert close(o.floor(question("coe", loss="absolute"), problem, 0.5), 2.0)
    spread = 2 * 2.5 * 0.5 + 0.25  # F = 1, 6
    assert close(o.floor(question("variance", loss="absolute"), problem, 0.5), 2 * 4 * spread)
    risk = (2 * 3.5 * 0.5 + 0.25 + 2 * 0.5 * 0.5 + 0.25) / 2  # F_empty = 3.5 against 0 and 4
    whole = (2 * 1 * 0.5 + 0.25 + 2 * 2 * 0.5 + 0.25) / 2
    assert close(
        o.floor(question("pfi-risk", loss="absolute"), problem, 0.5), 2 * 4 * max(risk, whole)
    )
    pairs = question("ice-pdp", influence="interaction", order=2, loss="absolute")
    assert close(o.floor(pairs, problem, 0.5), 8 * 0.5)
