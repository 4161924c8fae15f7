"""Better trees: tables over pairs of cuts, and a search that is never worse than the greedy one."""

from itertools import pairwise

import numpy as np
import pytest
from granite_xai.search.pairs import PairTables, TwoLevels
from granite_xai.search.refine import by_column
from hypothesis import settings

import granite_xai as gx
from granite_xai.search import pairs as pairs_module, refine, scoring
from granite_xai.search.candidates import candidates, cuts_of
from granite_xai.search.scoring import leading, scored

PLAIN = {"confidence_level": None}
SERVED = ("ice-pdp", "shap-pdp", "ice-shap", "coe")


class Spy:
    """Keeps the problem that a fit poses."""

    def partition(self, problem):
        self.problem = problem
        return gx.partitioners.GivenRules([gx.Rule()]).partition(problem)


def random_table(rng, n=60):
    """Continuous, few-valued and (in two of three tables) further columns."""
    return np.column_stack(
        [rng.normal(size=n), rng.integers(0, 3, n), rng.uniform(-1, 1, n), rng.integers(0, 6, n)]
    )


def random_model(rng):
    """Steps, products and curves of four columns, three-way terms among them."""
    c, t = rng.normal(size=6), rng.normal(scale=0.5, size=4)

    def model(X):
        signs = np.where(t < X, 1.0, -1.0)
        return (
            c[0] * X[:, 0] * signs[:, 1]
            + c[1] * X[:, 2] * signs[:, 0] * signs[:, 3]
            + c[2] * signs[:, 0] * signs[:, 1] * signs[:, 2]
            + c[3] * X[:, 3] * X[:, 2]
            + c[4] * np.sin(2 * X[:, 0])
        )

    return model


def problem_of(model, X, question="ice-pdp", **options):
    spy, weight = Spy(), options.pop("sample_weight", None)
    gx.Granite(model, question, partitioner=spy, **PLAIN, **options).fit(X, sample_weight=weight)
    return spy.problem


def options_of(problem, rows, most=6, least=2):
    columns, known = range(problem.table.n_columns), problem.evaluations.restrict(rows)
    return by_column(candidates(problem.table, rows, known, columns, most, least, "quantiles"))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("question", SERVED)
def test_every_quarter_leaves_what_its_rows_leave(question, compiled, monkeypatch):
    """The table of two columns against the disagreement of the four regions themselves, with weights, in a node."""
    monkeypatch.setattr(pairs_module, "available", lambda: compiled)
    rng = np.random.default_rng(4)
    X, weights = random_table(rng), rng.integers(1, 4, 60) * 0.5
    loss = (
        gx.question(question, loss="absolute") if question == "ice-pdp" and compiled else question
    )
    problem = problem_of(random_model(rng), X, {loss: 2, "coe": 1}, sample_weight=weights)
    tables, rows = PairTables.of(problem, 3), np.flatnonzero(X[:, 2] > -0.5)
    groups = options_of(problem, rows)
    for one, two in [(0, 1), (2, 3), (0, 0)]:
        cuts = [cuts_of(groups[i], problem.table, rows)[0] for i in (one, two)]
        (found,) = tables.tables(rows, [(cuts[0], cuts[1])])
        for k, first in enumerate(groups[one]):
            for j, second in enumerate(groups[two]):
                left = [
                    each.inside(problem.table.columns[each.column].codes)
                    for each in (first, second)
                ]
                for quarter in range(4):
                    sides = [
                        side if not part else ~side
                        for side, part in zip(left, divmod(quarter, 2), strict=True)
                    ]
                    members = np.zeros(60, dtype=bool)
                    members[rows] = (sides[0] & sides[1])[rows]
                    enough = members.sum() >= 3
                    expected = problem.measure(members[None].astype(float))[0] if enough else np.inf
                    assert found[quarter, k, j] == pytest.approx(expected, abs=1e-12)


def test_two_levels_equal_the_search_of_all_of_them():
    """The best tree of two levels, by pairs dropped early, against every tree of two levels."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = random_table(rng)
        problem = problem_of(random_model(rng), X)
        rows, alpha = np.arange(60), 0.02
        groups = options_of(problem, rows, most=5, least=5)
        best = TwoLevels(PairTables.of(problem, 5), rows, groups, alpha).best()
        assert all(one[0] <= two[0] for one, two in pairwise(best))
        assert best[0][0] == pytest.approx(exhaustive(problem, groups, alpha, 5), abs=1e-12)


def exhaustive(problem, groups, alpha, least):
    """The least cost of a tree of two levels over some candidates, by trying all of them."""
    every = [option for group in groups for option in group]
    inside = np.array(
        [option.inside(problem.table.columns[option.column].codes) for option in every]
    )

    def side(members):
        found = [problem.measure(members[None].astype(float))[0] + alpha]
        for cut in inside:
            parts = np.array([members & cut, members & ~cut])
            if parts.sum(axis=1).min() >= least:
                found.append(problem.measure(parts.astype(float)).sum() + 2 * alpha)
        return min(found)

    return min(side(cut) + side(~cut) for cut in inside)


def cost(g):
    return g.remaining_ + g.alpha * len(g.partition_)


PROBLEMS = 500 if settings.default.max_examples > 100 else 8  # in the deep profile, and by default
QUESTIONS = ("ice-pdp", "coe", "pfi-risk", "variance", "mplot-pdp", "shap-pdp")


@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_refined_is_never_worse_than_greedy(seed):
    """Shares plus the price of the regions on the fitting rows, for questions with and without tables."""
    rng = np.random.default_rng(seed)
    X, model = random_table(rng, n=int(rng.integers(40, 90))), random_model(rng)
    y = model(X) + rng.normal(size=len(X))
    options = {
        "alpha": float(rng.choice([0.0, 0.01, 0.05])),
        "max_depth": int(rng.integers(1, 5)),
        "min_samples_leaf": int(rng.choice([1, 3, 10])),
        "max_candidates": int(rng.choice([4, 10, 40])),
    }
    for question in QUESTIONS if seed % 8 == 0 else QUESTIONS[:2]:
        greedy, refined = (
            gx.Granite(model, question, search=search, **PLAIN, **options).fit(X, y)
            for search in ("greedy", "refined")
        )
        assert cost(refined) <= cost(greedy) + 1e-9
        assert min(region.n_samples for region in refined.partition_) >= min(
            options["min_samples_leaf"], len(X)
        )
        again = gx.Granite(
            model, question, partitioner=gx.partitioners.GivenRules(refined.partition_), **PLAIN
        ).fit(X, y)
        assert again.remaining_ == pytest.approx(refined.remaining_, abs=1e-10)


@pytest.mark.parametrize("question", SERVED)
def test_optimal_is_the_best_tree_of_two_levels_and_says_so(question):
    """The certificate against every tree of two levels over the root's cuts; the tree that is kept costs no more."""
    rng = np.random.default_rng(7)
    X, model = random_table(rng), random_model(rng)
    options = {"max_depth": 2, "min_samples_leaf": 5, "max_candidates": 5, "alpha": 0.02}
    g = gx.Granite(model, question, search="optimal", **PLAIN, **options).fit(X)
    problem = problem_of(model, X, question)
    found, least = (
        g.diagnostics_["certificate"],
        exhaustive(problem, options_of(problem, np.arange(60), 5, 5), 0.02, 5),
    )
    assert found["objective"] == pytest.approx(least, abs=1e-12)
    assert cost(g) == pytest.approx(found["found"])
    assert found["found"] <= found["objective"] + 1e-9
    assert found["text"].startswith("No tree of depth 2 over the root's cuts leaves less than")


def test_a_tree_that_costs_less_than_all_over_the_cuts_of_the_root_is_kept_and_named():
    """Children draw their own quantiles, and second thoughts try every value."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    model = random_steps(np.random.default_rng(0))
    greedy, g = (
        gx.Granite(model, search=s, max_depth=2, max_candidates=4, **PLAIN).fit(X)
        for s in ("greedy", "optimal")
    )
    found = g.diagnostics_["certificate"]
    assert cost(g) <= cost(greedy) + 1e-9
    assert found["found"] < found["objective"] - 0.01
    assert found["kept"] == "second thoughts"
    assert "The tree that was kept (second thoughts) draws other cuts" in found["text"]


def test_the_last_of_three_levels_takes_its_best_single_cut():
    """A pair of cuts would begin with one that pays only with the second, for which there is no level left."""
    rng = np.random.default_rng(7)
    X, model = random_table(rng, 80), random_model(rng)
    options = {"max_candidates": 4, "min_samples_leaf": 5, **PLAIN}
    g = gx.Granite(model, search="optimal", max_depth=3, alpha=0.005, **options).fit(X)
    assert g.diagnostics_["certificate"]["kept"] == "optimal"
    lower = [
        (node, gx.Rule().and_(one.column, side).and_(two.column, end))
        for one in [g.partition_.root]
        for two, side in zip(one.children, (one.left, one.right), strict=True)
        for node, end in zip(two.children, (two.left, two.right), strict=True)
    ]
    for node, rule in lower:
        own = X[rule.contains(X, ["x0", "x1", "x2", "x3"])]
        alone = (
            gx.Granite(model, search="greedy", max_depth=1, alpha=0, **options)
            .fit(own)
            .partition_.root
        )
        assert (node.column, node.n_samples) == (alone.column, alone.n_samples)


def test_of_equally_good_trees_the_greedy_one_is_kept():
    """One cut of three values ends all disagreement: no search finds better."""
    x0 = np.random.default_rng(0).uniform(-1, 1, 120)
    g = gx.Granite(
        lambda X: X[:, 0] * np.sign(X[:, 1] - 1),
        search="optimal",
        features=["x0"],
        max_depth=2,
        **PLAIN,
    )
    found = g.fit(np.column_stack([x0, np.arange(120) % 3])).diagnostics_["certificate"]
    assert len(g.partition_) == 3
    assert found["found"] == pytest.approx(3 * g.alpha) == found["objective"]
    assert found["kept"] == "greedy"


def test_without_compiled_loops_fewer_cuts_are_looked_at_and_the_certificate_says_so(monkeypatch):
    """The least over five cuts of each column, against every tree over them; a step is still found."""
    for module in (pairs_module, refine):
        monkeypatch.setattr(module, "available", lambda: False)
    rng = np.random.default_rng(7)
    X, model = random_table(rng), random_model(rng)
    options = {"max_depth": 2, "min_samples_leaf": 5, "max_candidates": 10, "alpha": 0.02}
    found = (
        gx.Granite(model, search="optimal", **PLAIN, **options).fit(X).diagnostics_["certificate"]
    )
    problem = problem_of(model, X)
    some = [refine.thinned(group, 5) for group in options_of(problem, np.arange(60), 10, 5)]
    assert [len(group) for group in some] == [5, 2, 5, 5]
    assert found["cuts"] == 5
    assert found["objective"] == pytest.approx(exhaustive(problem, some, 0.02, 5), abs=1e-12)
    assert "at most 5 of the root's cuts a column" in found["text"]
    g = gx.Granite(
        lambda X: X[:, 0] * np.sign(X[:, 1] - 1) * np.sign(X[:, 2]),
        features=["x0"],
        **PLAIN,
        **options,
    )
    assert (
        g.set_params(search="refined").fit(X).remaining_
        < g.set_params(search="greedy").fit(X).remaining_
    )


def random_steps(rng):
    t = rng.uniform(-1, 1, size=3)
    return lambda X: (
        X[:, 0] * np.where(X[:, 1] > t[0], np.where(X[:, 1] > t[1], 3.0, 1.0), X[:, 0] > t[2])
    )


@pytest.mark.parametrize("question", ["mplot-pdp", "pfi-risk", "variance", "ale"])
def test_optimal_names_the_questions_it_serves(question):
    """Before any model call."""
    rng = np.random.default_rng(0)
    X, calls = random_table(rng), []
    with pytest.raises(gx.InputError, match="P03.*ice-pdp.*coe"):
        gx.Granite(
            lambda X: calls.append(len(X)) or X[:, 0], question, search="optimal", **PLAIN
        ).fit(X, X[:, 0])
    assert sum(calls) <= 1


@pytest.mark.parametrize("option", [{"beam": 2}, {"min_improvement": 0.1}, {"cuts": "values"}])
def test_options_of_the_greedy_search_are_refused_elsewhere(option):
    """Rather than ignored."""
    with pytest.raises(gx.InputError, match="P03.*greedy"):
        gx.partitioners.Tree(**option)
    gx.partitioners.Tree(search="greedy", **option)


def test_a_planted_step_is_cut_where_it_is():
    """Quantiles stop at 39 cuts; the refined search tries every value between the best one's neighbours."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 3))
    g = gx.Granite(lambda X: X[:, 0] * np.where(X[:, 1] > 0.1234, 1, -1), features=["x0"]).fit(X)
    below, above = X[X[:, 1] <= 0.1234, 1].max(), X[X[:, 1] > 0.1234, 1].min()
    (at,) = [float(str(region.rule).split()[-1]) for region in list(g.partition_)[:1]]
    assert below <= at < above
    assert g.remaining_ < 1e-12


@pytest.mark.parametrize("asked", [{}, {"split_features": ["x1", "x2", "x3", "x4"]}])
def test_interactions_of_three_columns_are_seen(asked):
    """One split of x1 or x2 alone gains nothing: only two together do."""
    X = np.random.default_rng(1).uniform(-1, 1, size=(300, 5))
    options = {"features": ["x0"], "min_samples_leaf": 10, **asked}
    fits = [
        gx.Granite(
            lambda X: X[:, 0] * np.sign(X[:, 1]) * np.sign(X[:, 2]),
            search=search,
            **PLAIN,
            **options,
        ).fit(X)
        for search in ("greedy", "refined", "optimal")
    ]
    assert fits[0].remaining_ > 0.03
    assert fits[1].remaining_ < 1e-10
    assert fits[2].remaining_ < 1e-10


@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
def test_without_tables_three_columns_are_followed():
    """The interaction of x1 and x2 shows in no single cut; one of them is among the three best, and then the other."""
    X = np.random.default_rng(1).uniform(-1, 1, size=(200, 4))
    options = {"features": ["x0"], "max_depth": 2, "min_samples_leaf": 10, **PLAIN}
    greedy, refined = (
        gx.Granite(
            lambda X: X[:, 0] * np.sign(X[:, 1] * X[:, 2]), "mplot-pdp", search=search, **options
        ).fit(X)
        for search in ("greedy", "refined")
    )
    assert refined.remaining_ < 0.05 < 0.15 < greedy.remaining_
    assert {column for rule in refined.partition_.rules for column, _ in rule.conditions} == {
        "x1",
        "x2",
    }


def test_of_many_columns_the_look_ahead_takes_those_with_the_best_single_cuts(monkeypatch):
    monkeypatch.setattr(refine, "MOST_PAIRS", 1)  # room for two columns
    rng = np.random.default_rng(3)
    problem, rows = problem_of(random_model(rng), random_table(rng)), np.arange(60)
    ahead = refine.Ahead(PairTables.of(problem, 2), refine.Cutter(problem.table, 2), 0.01)
    options = [option for group in options_of(problem, rows) for option in group]
    for best in [(0, 1), (1, 3), (2, 3)]:
        scores = np.array(
            [0.5 if option.column in best and option.code > 0 else 1.0 for option in options]
        )
        assert ahead.first(rows, options, scores).column in best


def test_around_a_cut_all_cuts_of_few_values_are_looked_at():
    """The lowest one too: three values have two cuts, at the codes 0 and 1."""
    rng = np.random.default_rng(3)
    problem, rows = problem_of(random_model(rng), random_table(rng)), np.arange(60)
    for like in options_of(problem, rows)[1]:
        assert [cut.code for cut in refine.Cutter(problem.table, 2).cuts(rows, like, 4)] == [0, 1]


def test_the_best_cuts_of_three_columns_are_sharpened():
    """Scores by the distance from a step: the best of all values between the neighbours of the best quantile."""
    X = np.random.default_rng(2).uniform(-1, 1, size=(80, 5))
    problem = problem_of(lambda X: X[:, 0] * X[:, 1], X)
    rows, steps = np.arange(80), np.array([0.3, -0.2, 0.1, 0.4, -0.5])

    def score(options):  # columns further to the left leave less
        return np.array(
            [
                c.column
                + abs(
                    X[c.inside(problem.table.columns[c.column].codes), c.column].max()
                    - steps[c.column]
                )
                for c in options
            ]
        )

    known = [option for group in options_of(problem, rows, 4) for option in group]
    found = refine.Cutter(problem.table, 2).sharpened(rows, known, score(known), score)
    assert [option.column for option in found] == [0, 1, 2]
    for option in found:
        nearest = np.abs(np.sort(X[:, option.column])[1:-2] - steps[option.column]).min()
        assert score([option])[0] - option.column == pytest.approx(nearest)


def test_the_look_ahead_sees_every_column_of_a_wide_table(monkeypatch):
    """Scores in stages leave columns out that are none of the best; the look ahead chooses among more of them."""
    monkeypatch.setattr(refine, "MOST_PAIRS", 2**24)  # 13 of 30 columns
    generator = np.random.default_rng(1)
    X, inner, outer = (
        generator.normal(size=(80, 30)),
        generator.normal(size=(30, 6)) / 3,
        generator.normal(size=6),
    )
    found = []
    for wide in (30, 1000):
        monkeypatch.setattr(scoring, "WIDE", wide)
        options = {"max_depth": 2, "alpha": 0.001, "min_samples_leaf": 10, **PLAIN}
        g = gx.Granite(lambda X: np.tanh(X @ inner) @ outer, search="refined", **options)
        found.append([str(rule) for rule in g.fit(X).partition_.rules])
    assert found[0] == found[1]


WITH_CHANCE = {
    "max_samples": None,
    "holdout": False,
    "max_depth": 2,
    "min_samples_leaf": 5,
    "max_candidates": 5,
}


def pair_matrices(model, X):
    """By column, the matrix whose means over a region are the gaps of its rows, asked of the model cell by cell."""
    found = []
    for i in range(X.shape[1]):
        swapped = np.array(
            [
                model(np.column_stack([X[:, :i], np.full(len(X), row[i]), X[:, i + 1 :]]))
                for row in X
            ]
        )
        found.append(swapped - model(X) + (swapped - model(X)).T)
    return np.stack(found)


def without_chance(matrices, rows):
    """Summed squares of the gaps of some rows, less the usual estimate of the variance of each mean."""
    inside = matrices[:, rows[:, None], rows]
    return np.sum(inside.mean(axis=1) ** 2 - inside.var(axis=1, ddof=1) / len(rows))


def test_what_chance_adds_to_means_is_what_many_replicates_add():
    """The tables of the optimal search against the mean of 4,000 replicates, and against the variance of means."""
    rng = np.random.default_rng(4)
    X, model, spy = random_table(rng, 90), random_model(rng), Spy()
    gx.Granite(model, partitioner=spy, n_resamples=4000, max_samples=None, holdout=False).fit(X)
    problem, matrices = spy.problem, pair_matrices(model, X)
    tables, plain = PairTables.of(problem, 3, corrected=True), PairTables.of(problem, 3)
    rows = np.flatnonzero(X[:, 2] > -0.5)
    first, second = options_of(problem, rows)[:2]
    cuts = [cuts_of(each, problem.table, rows)[0] for each in (first, second)]
    (found,), (shown,) = (each.tables(rows, [tuple(cuts)]) for each in (tables, plain))
    some = sum(
        tables.tables(rows, [tuple(cuts)], part)[0] for part in (slice(0, 2), slice(2, None))
    )
    for k, j in np.argwhere(np.isfinite(found[0])).tolist():
        inside = [
            each.inside(problem.table.columns[each.column].codes[rows])
            for each in (first[k], second[j])
        ]
        part = rows[inside[0] & inside[1]]
        expected = without_chance(matrices, part) * problem.chance.factors[0] / len(X)
        assert found[0, k, j] == pytest.approx(expected, abs=1e-12)
        assert some[0, k, j] == pytest.approx(expected, abs=1e-12)
        assert found[0, k, j] == pytest.approx(
            problem.share(part), abs=0.05 * (shown[0, k, j] - expected) + 1e-9
        )


def test_the_certificate_is_the_least_of_all_trees_without_what_chance_adds():
    """Every tree of two levels, its parts divided only where they show more than chance and than a region costs."""
    barred = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, model, alpha, spy = random_table(rng), random_model(rng), 0.002, Spy()
        g = gx.Granite(model, search="optimal", alpha=alpha, **WITH_CHANCE).fit(X)
        gx.Granite(model, partitioner=spy, alpha=alpha, **WITH_CHANCE).fit(X)
        problem, matrices = spy.problem, pair_matrices(model, X)
        every = [option for group in options_of(problem, np.arange(60), 5, 5) for option in group]
        cuts = [option.inside(problem.table.columns[option.column].codes) for option in every]

        def share(members, problem=problem, matrices=matrices):
            return (
                without_chance(matrices, np.flatnonzero(members)) * problem.chance.factors[0] / 60
            )

        def side(members, problem=problem, cuts=cuts, alpha=alpha, share=share):
            rows, alone = np.flatnonzero(members), share(members)
            chance = problem.chance.of(problem.evaluations.restrict(rows), rows, None)
            whole = alone < alpha or not chance.exceeded(problem.shares.floors).any()
            both = [(members & cut, members & ~cut) for cut in cuts]
            both = [pair for pair in both if min(pair[0].sum(), pair[1].sum()) >= 5]
            split = [share(one) + share(two) + 2 * alpha for one, two in both]
            return min([alone + alpha, *([] if whole else split)]), whole and min(
                split, default=1
            ) < alone + alpha

        sides = [[side(cut), side(~cut)] for cut in cuts]
        least = min(one[0] + two[0] for one, two in sides)
        barred += any(each[1] for both in sides for each in both)
        found = g.diagnostics_["certificate"]
        assert found["objective"] == pytest.approx(least, abs=1e-12)
        assert "without what chance adds" in found["text"]
        assert found["found"] <= found["objective"] + 0.01
    assert barred


def test_the_certificate_says_when_it_does_not_correct_for_chance():
    """Weights, clusters and other losses have no closed form; the same tree is not said to leave less by chance."""
    rng = np.random.default_rng(7)
    X, model = random_table(rng, 200), random_model(rng)
    for question, given in [
        ("ice-pdp", {"sample_weight": rng.integers(1, 3, 200) * 1.0}),
        ("ice-pdp", {"clusters": np.arange(200) // 2}),
        (gx.question("ice-pdp", loss="absolute"), {}),
    ]:
        g = gx.Granite(model, question, search="optimal", **WITH_CHANCE).fit(X, **given)
        found = g.diagnostics_["certificate"]
        assert "not corrected for chance" in found["text"]
        assert found["found"] == pytest.approx(cost(g), abs=1e-10)
        assert ("draws other cuts" in found["text"]) == (
            found["found"] < found["objective"] - 1e-10
        )


def test_scoring_in_stages_finds_the_best_columns_of_a_wide_table():
    """Forty columns, two questions, weights: what is not dropped equals the full scores, and holds the best three."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 40))
    size = rng.exponential(size=38)
    problem = problem_of(
        lambda X: (X[:, :38] * size * np.sign(X[:, 1:39])).sum(axis=1),
        X,
        {"ice-pdp": 2, "coe": 1},
        sample_weight=rng.integers(1, 4, 80) * 0.5,
    )
    rows = np.flatnonzero(X[:, 0] > -1)
    options = [option for group in options_of(problem, rows, 8, 5) for option in group]
    inside = problem.evaluations.restrict(rows)
    full, mass = scored(problem, rows, options, inside, 8)
    some, its_mass = leading(problem, rows, options, inside, 8, 3)
    kept = np.isfinite(some).all(axis=(1, 2))
    columns = np.array([option.column for option in options])
    least = {
        i: problem.shares.of(full, mass).sum(axis=1)[columns == i].min()
        for i in set(columns.tolist())
    }
    assert 0 < kept.sum() < len(options)
    assert set(sorted(least, key=least.get)[:3]) <= set(columns[kept].tolist())
    np.testing.assert_allclose(some[kept], full[kept], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(its_mass[kept], mass[kept])


@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
def test_a_wide_table_with_a_question_that_shows_only_chance_is_divided_by_the_other():
    """Columns that are dropped leave infinitely much of what counts, and nothing of what does not."""
    X = np.random.default_rng(0).normal(size=(120, 40))
    options = {"search": "greedy", "max_samples": None, "holdout": False}
    both, one = (
        gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), question, **options).fit(X)
        for question in (["ice-pdp", "mplot-pdp"], "ice-pdp")
    )
    assert both.partition_.rules == one.partition_.rules
    assert len(one.partition_) > 1
