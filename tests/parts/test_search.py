"""The tree of a fit is that of a loop over all cuts; what stops it and what it notes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

import granite_xai as gx
import oracle as o
from granite_xai.regions import Interval, Leaf
from strategies import (
    DAY,
    EPOCH,
    LABELS,
    LEVELS,
    Case,
    Function,
    Term,
    cases,
    examples,
    floor_bounds,
    paper,
    questions,
    quiet,
    rounding,
)

ALPHAS = (0.01, 0.0, 0.05, 0.2)


STOPS = {
    "nothing to explain": "nothing to explain",
    "share below alpha": "below alpha",
    "maximum depth": "maximum depth",
    "too few samples": "too few samples",
    "no candidates": "no split leaves enough rows",
    "pruned": "split undone",
}


def same_split(case: Case, node: Any, wanted: o.Node) -> None:
    """Column, threshold or levels, and the side of missing values are those of the oracle's candidate."""
    split = wanted.split
    j = split.column
    assert node.column == (f"c{j}" if case.framed else f"x{j}")
    if split.missing is not None:
        assert node.left.missing == (split.missing == "left")
        assert node.right.missing == (split.missing == "right")
    if split.value == -np.inf or split.levels == ():
        assert (node.left, node.right) == (Interval.without_values(missing=True), Interval())
    elif split.levels is not None:
        levels = [False, True] if case.kinds[j] == "boolean" else list(LEVELS)  # unseen ones too
        seen = case.problem().present(j, wanted.rows)
        goes = node.left.contains(np.array(levels, dtype=object))
        assert goes.tolist() == [o.goes_left(wanted, level, seen) for level in levels]
    elif case.kinds[j] == "ordinal":
        assert node.left.high == LABELS[split.value]
    elif case.kinds[j] == "date":
        high = (node.left.high.astype("datetime64[s]") - EPOCH).astype(int) / DAY
        above = min(
            v for v in case.problem().levels(j, wanted.rows) if v > split.value
        )  # the next one in the node
        assert split.value <= high < above
    else:
        assert node.left.high == split.threshold


@dataclass
class Measure:
    """How far rounding can move the share of a node, or the reason to stop there."""

    case: Case
    problem: o.Problem
    objective: o.Objective
    scale: o.Scale

    @cached_property
    def at_root(self) -> list[float]:
        """What rounding can do to the disagreement of each question on all rows."""
        return [rounding(self.case, self.problem, asked) for asked in self.objective.questions]

    def left(self, rows: o.Rows) -> float:
        """The share ``mass R / R(X)`` that is told of a node, whatever the objective decides by."""
        parts = [
            (asked, weight / o.disagreement(asked, self.problem))
            for asked, weight, *_ in self._asked()
        ]
        return self.problem.mass(rows) * sum(
            part * o.disagreement(asked, self.problem, rows) for asked, part in parts
        )

    def slack(self, rows: o.Rows) -> float:
        """Of that share: R of this very node is off, and so is the R(X) by which it is divided."""
        total = 1e-10
        for asked, weight, _, whole in self._asked():
            here, R = (
                rounding(self.case, self.problem, asked, rows),
                o.disagreement(asked, self.problem, rows),
            )
            divisor = o.disagreement(asked, self.problem)
            total += weight * self.problem.mass(rows) * (here + whole * R / divisor) / divisor
        return total

    def undecided(self, rows: o.Rows) -> bool:
        """Whether rounding decides if a question is at its noise floor here."""
        apart = [
            abs(o.disagreement(asked, self.problem, rows) - low)
            <= rounding(self.case, self.problem, asked, rows)
            for asked, weight, low in zip(
                self.objective.questions, self.scale.weights, self.scale.floors, strict=True
            )
            if weight
        ]
        return any(apart)

    def _asked(self) -> list[tuple[o.Question, float, float, float]]:
        parts = zip(
            self.objective.questions,
            self.scale.weights,
            self.scale.divisors,
            self.at_root,
            strict=True,
        )
        return [part for part in parts if part[1] and part[2]]


def same_tree(case: Case, node: Any, wanted: o.Node, problem: o.Problem, measure: Measure) -> None:
    """Node by node: rows, mass, share, split or the reason to stop."""
    slack = measure.slack(wanted.rows)
    assert node.n_samples == len(wanted.rows)
    assert node.fraction == pytest.approx(problem.mass(wanted.rows), rel=1e-12)
    assert abs(node.disagreement - measure.left(wanted.rows)) <= slack, (
        node.disagreement,
        measure.left(wanted.rows),
    )
    if isinstance(node, Leaf):
        assert wanted.split is None, f"a leaf ({node.stop_reason}) where the oracle has\n{wanted}"
        # With R within rounding of its noise floor, either side of the floor is right.
        known = "nothing to explain" not in (
            node.stop_reason,
            wanted.stop,
        ) or not measure.undecided(wanted.rows)
        if "below alpha" in (
            node.stop_reason,
            STOPS[wanted.stop],
        ):  # and so is either side of alpha
            known = known and min(abs(node.disagreement - alpha) for alpha in ALPHAS) > slack
        assert node.stop_reason == STOPS[wanted.stop] or not known
        return
    assert wanted.split is not None, f"a split of {node.column} where the oracle stops: {wanted}"
    same_split(case, node, wanted)
    for child, other in zip(node.children, (wanted.left, wanted.right), strict=True):
        same_tree(case, child, other, problem, measure)


def check(
    case: Case,
    question: Any,
    asked: Any,
    options: dict[str, Any],
    grown: dict[str, Any],
    floors_too: bool = True,
) -> None:
    """Fit in both ways and compare everything; noise floors only where both have evaluated the same rows."""
    granite = paper(case.model, question, **options)
    with quiet():
        granite.fit(case.X, np.array(case.y), case.weights)
    problem = case.problem()
    delta = case.delta(problem)
    fit = o.grow(asked, problem, delta=delta, **grown)
    if problem.unclear:
        assume(False)  # rounding decides the order of the levels
    objective = o.as_objective(asked)
    floors = zip(
        granite.diagnostics_["noise_floor"].values(),
        fit.scale.floors,
        objective.questions,
        strict=True,
    )
    same_rows = floors_too and all(question.features is None for question in objective.questions)
    for found, wanted, question in (
        floors if same_rows else ()
    ):  # a question about some columns asks about these only
        # From differences of neighbouring predictions: ulps count, and most of all in losses of them.
        rel = 0.3 if question.first.behavior == "risk" else 1e-4
        low, high = floor_bounds(problem, question, delta)
        assert low <= wanted <= high
        assert found == pytest.approx(min(max(found, low), high), rel=rel, abs=0.0)
    measure = Measure(case, problem, objective, fit.scale)
    same_tree(case, granite.partition_.root, fit.root, problem, measure)
    assert granite.disagreement_ == pytest.approx(
        fit.disagreement, rel=1e-10, abs=max(measure.at_root)
    )
    slack = sum(measure.slack(leaf.rows) for leaf in fit.root.leaves())
    assert granite.remaining_ == pytest.approx(
        sum(measure.left(rows) for rows in fit.regions()), abs=slack
    )
    member = {n: k for k, rows in enumerate(fit.regions()) for n in rows}
    # Rows without weight took no part: a date between two of the node's, or a gap in a column that has no other, is
    # not theirs to place.
    everyone = "date" not in case.kinds and not case.has_missing
    chosen = range(case.n) if everyone else problem.rows
    asked_rows = case.with_rows([case.rows[n] for n in chosen], [case.y[n] for n in chosen])
    with quiet():
        applied = granite.apply(asked_rows.X)
    assert [k for n, k in zip(chosen, applied, strict=True) if n in member] == list(
        map(member.get, problem.rows)
    )
    assert applied.tolist() == o.apply(fit.root, problem, asked_rows.rows)


@st.composite
def growth(draw, case: Case):
    """Options of the tree, for both."""
    shared = {
        "max_depth": draw(st.sampled_from([2, 3, 2, 3, 1, 0])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2, 3])),
        "alpha": draw(st.sampled_from(ALPHAS)),
        "max_candidates": draw(st.sampled_from([40, 5, 3, 2])),
        "beam": draw(st.sampled_from([1, 2, 3])),
    }
    some = st.lists(st.integers(0, case.d - 1), min_size=1, unique=True)
    chosen = draw(st.sampled_from([st.none(), st.none(), some]).flatmap(lambda choice: choice))
    return {**shared, "split_features": chosen}


@pytest.mark.parametrize("name", [*o.NAMED, "coe", "ale"])
@given(data=st.data())
@examples(25)
def test_the_tree_of_a_named_question_is_that_of_the_loop(name, data):
    """Regions, thresholds, shares and reasons to stop for every named question, on mixed columns with weights."""
    case = data.draw(cases(min_rows=5, max_rows=10, min_columns=2, max_columns=3, weighted=None))
    question, asked, _ = data.draw(
        questions(case, name, data.draw(st.sampled_from(["squared", "absolute"])))
    )
    options = data.draw(growth(case))
    check(case, question, asked, options, options)


@given(data=st.data())
@examples(60)
def test_missing_values_and_levels_are_split_as_the_loop_does(data):
    """Mixed columns with missing values and many levels."""
    case = data.draw(
        cases(
            min_rows=6,
            max_rows=10,
            min_columns=2,
            max_columns=3,
            mixed=True,
            missing=True,
            weighted=None,
            levels=8,
        )
    )
    name = data.draw(st.sampled_from(["ice-pdp", "coe", "pfi-risk"]))
    question, asked, _ = data.draw(questions(case, name))
    options = data.draw(growth(case))
    check(case, question, asked, {**options, "missing": "allow"}, options)


@given(data=st.data())
@examples(60)
def test_combined_objectives_are_decided_in_shares(data):
    """Several questions with weights, either weighting, either normalisation, any beam."""
    case = data.draw(cases(min_rows=5, max_rows=8, min_columns=2, max_columns=3, weighted=None))
    chosen = data.draw(
        st.lists(st.sampled_from([*o.NAMED, "coe", "ale"]), min_size=2, max_size=3, unique=True)
    )
    drawn = [data.draw(questions(case, name)) for name in chosen]
    weights = data.draw(
        st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(chosen), max_size=len(chosen))
    )
    style = {
        "weighting": data.draw(st.sampled_from(["mass", "uniform"])),
        "normalize": data.draw(st.sampled_from(["root", "variance"])),
    }
    asked = o.Objective(tuple(question for _, question, _ in drawn), tuple(weights), **style)
    pairs = {question: weight for (question, _, _), weight in zip(drawn, weights, strict=True)}
    assume(len(pairs) == len(drawn))  # "sobol" by difference is "variance"
    options = data.draw(growth(case))
    check(case, gx.Objective(pairs, **style), asked, options, options)


@given(data=st.data())
@examples(30)
def test_names_and_features_reach_the_tree(data):
    """Questions by name with Granite's own influence, groups and features."""
    case = data.draw(cases(min_rows=5, max_rows=9, min_columns=3, max_columns=3))
    name = data.draw(st.sampled_from(["ice-pdp", "shap-pdp", "coe", "pfi-risk"]))
    influence = data.draw(st.sampled_from(["individual", "joint", "interaction"]))
    options = data.draw(growth(case))
    own: dict[str, Any] = {"influence": influence}
    words: dict[str, Any] = {"influence": influence}
    if influence == "joint":
        own["groups"] = {"both": [0, 1]}
        words["groups"] = ((0, 1),)
        own["features"], sets = ["both"], [frozenset({0, 1})]
    elif influence == "interaction":
        own["features"], sets = [(1, 0)], [frozenset({0, 1})]
    else:
        own["features"], sets = [1], [frozenset({1})]
    asked = o.question(name, features=None if name == "coe" else sets, **words)
    check(case, name, asked, {**options, **own}, options)


@pytest.mark.parametrize("beam", [2, 3])
@given(data=st.data())
@examples(30)
def test_beams_follow_the_best_columns(beam, data):
    """Several columns, depth enough for the second best first cut to win, and a price that decides between subtrees."""
    case = data.draw(cases(min_rows=8, max_rows=11, min_columns=3, max_columns=3, weighted=None))
    name = data.draw(st.sampled_from(["ice-pdp", "coe", "pfi-risk"]))
    options = {
        "max_depth": 2,
        "min_samples_leaf": 1,
        "alpha": 0.02,
        "max_candidates": 4,
        "beam": beam,
    }
    check(case, name, o.question(name), options, options)


@pytest.mark.parametrize(
    "name", ["mplot-pdp", "cshap-shap", "csobol-sobol", "cfi-pfi", "cice-mplot"]
)
@given(seed=st.integers(0, 10**6))
@examples(2)
def test_trees_behind_the_bins_reach_the_search(name, seed):
    """With forty rows and more the regression trees behind the bins split, and the search still equals the loop."""
    generator = np.random.default_rng(seed)
    X = generator.integers(-4, 5, size=(42, 3)) / 2
    X[:, 2] = X[:, 0] + generator.integers(-1, 2, size=42) / 2
    terms = (Term("product", 1.0, (1, 2)), Term("step", 2.0, (0,)))
    function = Function(("numeric",) * 3, (0.0,) * 3, terms)
    case = Case(
        tuple(map(tuple, X.tolist())),
        function,
        tuple(np.round(generator.normal(size=42), 2).tolist()),
    )
    options = {"max_depth": 2, "min_samples_leaf": 8, "alpha": 0.02, "max_candidates": 4}
    check(case, name, o.question(name), options, options)


def test_candidates_are_counted_where_the_search_begins():
    """Three values leave two cuts, four leave three, a constant none; nodes further down are not counted."""
    X = np.array([[a, b, 1.0] for a in (0.0, 1.0, 2.0) for b in (0.0, 1.0, 2.0, 3.0)] * 2)
    granite = paper(lambda X: X[:, 0] * X[:, 1], max_depth=2, min_samples_leaf=1, alpha=0.0).fit(X)
    assert len(granite.partition_) > 2
    assert granite.diagnostics_["candidates"] == {"x0": 2, "x1": 3, "x2": 0}


def test_a_node_that_disagrees_ten_thousand_times_as_much_as_all_rows():
    """Its share, 10395.84, is known to fewer decimals than one of 1: rounding is relative to the node's own gaps."""
    rows = ((-2.75, "a"), (-2.5, "b"), (1.25, "a"), (-2.25, "a"), (-0.25, "d"))
    terms = (Term("product", 1.0, (0, 1)), Term("product", 1.0, (1,)), Term("product", -2.0, (1,)))
    function = Function(("numeric", "nominal"), (0.0, 0.0), terms)
    case = Case(rows, function, (-1.0, 0.5, 0.0, -1.0, 0.0), (2.5, 2.5, 0.0, 2.5, 0.0), framed=True)
    options = {"max_depth": 2, "min_samples_leaf": 1, "alpha": 0.01, "split_features": [0]}
    check(case, "pfi-risk", o.question("pfi-risk"), options, options)


def test_the_noise_floor_of_a_risk_where_the_mean_prediction_is_the_target():
    """The slope of the loss is 0 there: one unit in the last place of the mean makes the floor half as large again."""
    rows = tuple((0.0, 1.0) if place == "0" else (1.0, 0.0) for place in "01001010")
    case = Case(
        rows,
        Function(("numeric",) * 2, (0.0, 0.0), (Term("step", 0.05, (0, 1)),), offset=2.3),
        (2.3,) * 8,
        (0.25, 2.5, 0.25, 2.5, 2.5, 0.25, 1.0, 1.0),
    )
    check(case, "pfi-risk", o.question("pfi-risk"), {"max_depth": 0}, {"max_depth": 0})


@pytest.mark.parametrize("option", [{"beam": 2}, {"min_improvement": 0.1}, {"cuts": "values"}])
def test_options_of_the_greedy_search_are_refused_elsewhere(option):
    """Rather than ignored."""
    with pytest.raises(gx.InputError, match="P03.*greedy"):
        gx.partitioners.Tree(**option)
    gx.partitioners.Tree(search="greedy", **option)


PLAIN = {"confidence_level": None}


def fitted(model, X, question="ice-pdp", y=None, weights=None, **options):
    with quiet():
        return gx.Granite(model, question, **{**PLAIN, **options}).fit(X, y, sample_weight=weights)


def test_a_planted_step_is_cut_where_it_is():
    """Quantiles stop at 39 cuts; the refined search tries every value between the best one's neighbours."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 3))
    g = gx.Granite(lambda X: X[:, 0] * np.where(X[:, 1] > 0.1234, 1, -1), features=["x0"]).fit(X)
    below = X[X[:, 1] <= 0.1234, 1].max()
    above = X[X[:, 1] > 0.1234, 1].min()
    first_rule = str(next(iter(g.partition_)).rule)
    assert below <= float(first_rule.split()[-1]) < above
    assert g.remaining_ < 1e-12


def three_way(X):
    return X[:, 0] * np.sign(X[:, 1]) * np.sign(X[:, 2])


@pytest.mark.parametrize("options", [{}, {"split_features": ["x1", "x2", "x3", "x4"]}])
def test_interactions_of_three_columns_are_seen(options):
    """One split of x1 or x2 alone gains nothing: only two together do."""
    X = np.random.default_rng(1).uniform(-1, 1, size=(300, 5))
    greedy, refined = (
        fitted(three_way, X, features=["x0"], min_samples_leaf=10, search=search, **options)
        for search in ("greedy", "refined")
    )
    assert greedy.remaining_ > 0.03
    assert refined.remaining_ < 1e-10


@pytest.mark.parametrize("search", ["greedy", "refined"])
def test_a_node_that_shows_only_chance_is_not_split(search):
    """On each side of x2 = 0 the other columns are independent: what M-plot and PDP differ by there is chance."""
    X = np.random.default_rng(0).normal(size=(600, 3))
    X[:, :2] += 2 * np.sign(X[:, [2]])
    options = {"question": "mplot-pdp", "search": search, "alpha": 0.0, "holdout": False}
    with quiet():
        g = gx.Granite(lambda X: X[:, 0] + X[:, 1], **options).fit(X)
        world = gx.Granite(lambda X: X[:, 0] + X[:, 1], **options, **PLAIN).fit(X)
    reasons = [region.stop_reason for region in g.partition_]
    assert reasons.count("no more than chance") == 2
    assert len(reasons) <= 3
    assert len(world.partition_) > 4


@pytest.mark.parametrize("weighting", ["mass", "uniform"])
@pytest.mark.parametrize("min_improvement", [0.0, 0.1, 0.9])
def test_C2_what_a_split_must_gain_does_not_depend_on_what_the_objective_is_divided_by(
    min_improvement, weighting
):
    """Of one question the objective is the same up to a factor, and so is every gain."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    tree = gx.partitioners.Tree(
        search="greedy", alpha=0.0, min_improvement=min_improvement, min_samples_leaf=10
    )

    def model(X):
        return X[:, 0] * np.sign(X[:, 1]) + 0.5 * X[:, 0] * X[:, 2] + 3 * X[:, 2]

    rules = {}
    for normalize in ("root", "variance"):
        objective = gx.Objective("ice-pdp", normalize=normalize, weighting=weighting)
        g = gx.Granite(model, objective, partitioner=tree, **PLAIN).fit(X)
        rules[normalize] = [str(rule) for rule in g.partition_.rules]
    assert rules["root"] == rules["variance"]
    if min_improvement == 0.0:
        assert len(rules["root"]) > 2


def weakly_dependent(seed, n=300):
    """Two of eight columns depend on each other, through the sign of a third."""
    X = np.random.default_rng(seed).normal(size=(n, 8))
    X[:, :2] += 0.5 * np.sign(X[:, [2]])
    return X


@pytest.mark.parametrize("seed", [1, 3])
def test_two_of_eight_columns_that_depend_through_a_third_are_divided_by_it(seed):
    """The noise of eight columns hides most of what two of them show; the cut at x2 brings it out."""
    options = {"holdout": False, "max_depth": 1}
    with quiet():
        g = gx.Granite(lambda X: X.sum(axis=1), "mplot-pdp", **options).fit(weakly_dependent(seed))
    assert {region.rule.conditions[0][0] for region in g.partition_} == {"x2"}


def test_a_wide_table_with_a_question_that_shows_only_chance_is_divided_by_the_other():
    """Columns that are dropped leave infinitely much of what counts, and nothing of what does not."""
    X = np.random.default_rng(0).normal(size=(120, 40))
    options = {"search": "greedy", "max_samples": None, "holdout": False}
    with quiet():
        both, one = (
            gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), question, **options).fit(X)
            for question in (["ice-pdp", "mplot-pdp"], "ice-pdp")
        )
    assert both.partition_.rules == one.partition_.rules
    assert len(one.partition_) > 1


def test_a_rule_says_where_missing_values_go_if_the_fit_allows_them():
    """Only the other column has any: they would go with the larger side."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    X.loc[:9, "a"] = np.nan

    def model(X):
        return X["a"].fillna(0.5).to_numpy() * np.sign(X["b"].fillna(0.0).to_numpy())

    options = {"search": "greedy", "confidence_level": None, "max_depth": 1, "missing": "allow"}
    g = gx.Granite(model, split_features=["b"], min_samples_leaf=5, **options).fit(X)
    assert len(g.partition_) == 2
    larger = max(g.partition_, key=lambda region: region.n_samples)
    assert [region for region in g.partition_ if "missing" in str(region.rule)] == [larger]


X = np.random.default_rng(4).normal(size=(240, 3))


@pytest.mark.parametrize("questions", [["sobol"], ["sobol", "ice-pdp"]])
def test_without_a_confidence_level_nothing_is_chance(questions):
    """A model that varies only beside the rows has no variance to measure disagreements by."""
    rows = np.array([[0.0, -1.0], [1.0, 0.0], [-1.0, -1.0], [0.0, 1.5]])
    objective = gx.Objective(dict.fromkeys(questions, 1.0), normalize="variance")
    options = {"search": "greedy", "confidence_level": None, "min_samples_leaf": 1}
    corner = lambda X: 100.0 + ((X[:, 0] > 0.5) & (X[:, 1] > 0.5))  # noqa: E731
    g = gx.Granite(corner, objective, **options).fit(rows)
    (region,) = g.partition_
    assert (region.stop_reason, region.disagreement) == ("nothing to explain", 0.0)
    assert g.remaining_ == 0.0
    assert max(g.disagreements_.values()) > 0.0
    assert g.disagreement_ == (0.0 if len(questions) > 1 else g.disagreements_["sobol"])


@pytest.mark.parametrize(
    ("of_tree", "others"),
    [
        ({"min_samples_leaf": 60, "max_candidates": 5, "split_features": ["x1", "x2"]}, {}),
        ({"search": "refined"}, {"search": "greedy", "confidence_level": None}),
    ],
)
def test_a_tree_that_is_given_as_partitioner_is_read_everywhere(of_tree, others):
    """Regions and what is noted of their splits are those of the same options of the estimator."""
    given = gx.Granite(three_way, partitioner=gx.partitioners.Tree(**of_tree), **others).fit(X)
    as_options = gx.Granite(three_way, **{**others, **of_tree}).fit(X)
    assert [str(rule) for rule in given.partition_.rules] == [
        str(rule) for rule in as_options.partition_.rules
    ]
    assert given.diagnostics_["candidates"] == as_options.diagnostics_["candidates"]
