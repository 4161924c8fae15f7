"""The cuts of a node, as sets of rows and in the order that breaks ties, against the definitions (C11, C13 to C15)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

import granite_xai as gx
import oracle as o
from granite_xai.base.deferred import Deferred
from granite_xai.compute import Resources
from granite_xai.explanation.behavior import Local
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.influence import Individual
from granite_xai.explanation.interaction import Pure
from granite_xai.explanation.masking import Marginal
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import resolve
from granite_xai.models import as_predictor
from granite_xai.regions.condition_pairs import complementary
from granite_xai.regions.rule import satisfied
from granite_xai.search.candidates import (
    CUTS,
    best_of,
    candidates,
    conditions,
    cut_codes,
    order_levels,
)
from granite_xai.tables import read_table
from granite_xai.trees.routes import Route
from strategies import Case, cases, examples, regions


def evaluations_of(case: Case, table):
    """What the package knows of the model on all rows: the effects of single columns."""
    predictor = as_predictor(case.model)
    effect = resolve(Marginal(), Local(), Pure(), Individual(), table, max_evaluations=10**6)
    weights = np.ones(case.n) if case.weights is None else np.array(case.weights)
    asked = request(table, [effect])
    return evaluate(
        Route(predictor, table),
        asked,
        FittedMaskings({}, {}, {}),
        weights=weights,
        y=None,
        resources=Resources(),
    )[0]


def check(case: Case, rows: list[int], B: int, leaf: int, chosen: list[int] | None = None) -> None:
    """The same candidates in the same order: columns and the rows that go left."""
    problem = case.problem()
    wanted = o.candidates(problem, rows, B, leaf, chosen)
    assume(not problem.unclear)
    assert wanted == sorted(wanted, key=lambda c: c.key)
    table, at = read_table(case.X, missing="allow"), np.array(rows)
    node = evaluations_of(case, table).restrict(at)
    columns = list(range(case.d)) if chosen is None else sorted(chosen)
    found = candidates(table, at, Deferred(lambda: node), columns, B, leaf, "quantiles")
    left = [tuple(at[c.inside(table.columns[c.column].codes[at])].tolist()) for c in found]
    assert [(c.column, rows) for c, rows in zip(found, left, strict=True)] == [
        (c.column, c.left) for c in wanted
    ]


@given(data=st.data())
@examples(250)
def test_cuts_are_those_of_the_definition_in_the_same_order(data):
    """Numbers, ordered labels, dates, levels and missing values, for any B and leaf minimum, in any node."""
    case = data.draw(cases(min_rows=2, max_rows=12, max_columns=3, missing=None, levels=8))
    rows = data.draw(regions(case, min_size=2))
    B = data.draw(st.sampled_from([2, 3, 4, 8, 40]))
    chosen = data.draw(st.none() | st.lists(st.integers(0, case.d - 1), min_size=1, unique=True))
    check(case, rows, B, data.draw(st.integers(1, 3)), chosen)


@given(data=st.data())
@examples(150)
def test_the_words_of_a_cut_send_the_rows_of_any_node_where_the_cut_sends_them(data):
    """A cut that was found on all rows, applied to some of them: missing values may be alone on either side."""
    case = data.draw(cases(min_rows=2, max_rows=12, max_columns=3, missing=None, levels=8))
    table, rows = (
        read_table(case.X, missing="allow"),
        np.array(data.draw(regions(case, min_size=2))),
    )
    everyone, columns = np.arange(case.n), list(range(case.d))
    known = Deferred(lambda: evaluations_of(case, table))
    for each in candidates(table, everyone, known, columns, 8, 1, "quantiles"):
        column = table.columns[each.column]
        inside = each.inside(column.codes[rows])
        if inside.any() and not inside.all():
            left, right = conditions(column, each, rows, missing=True)
            assert complementary(left, right)
            assert satisfied(left, column)[rows].tolist() == inside.tolist()
            assert satisfied(right, column)[rows].tolist() == (~inside).tolist()


@given(data=st.data())
@examples(60)
def test_many_levels_stand_along_their_pure_effects(data):
    """With eight levels and a small B the groups are one level against the rest, or cuts along the principal axis."""
    case = data.draw(
        cases(min_rows=6, max_rows=12, min_columns=2, max_columns=3, mixed=True, levels=8)
    )
    check(case, list(range(case.n)), data.draw(st.sampled_from([2, 3, 5])), 1)


@pytest.mark.parametrize("factor", [1e-12, 1.0, 1e12])
def test_N02_the_order_of_levels_does_not_depend_on_the_unit_of_the_model(factor):
    """Levels whose effects are alike stand side by side, however small all effects are."""
    letters, slopes = list("abcdefgh"), [3.0, 1.0, -2.0, 2.0, -1.0, 0.0, 4.0, -3.0]
    frame = pd.DataFrame(
        [(letter, float(x)) for letter in letters for x in (-1, 0, 2)], columns=["kind", "x"]
    )
    table = read_table(frame, missing="error")
    worth = dict(zip(letters, slopes, strict=True))
    predictor = as_predictor(lambda X: factor * X["x"].to_numpy() * X["kind"].map(worth).to_numpy())
    effect = resolve(Marginal(), Local(), Pure(), Individual(), table, max_evaluations=10**6)
    options = {"weights": np.ones(24), "y": None, "resources": Resources()}
    known = evaluate(
        Route(predictor, table), request(table, [effect]), FittedMaskings({}, {}, {}), **options
    )[0]
    line = order_levels(table.columns[0], np.arange(24), np.arange(8), known)
    walked = [slopes[place] for place in line]
    assert walked in (sorted(slopes), sorted(slopes, reverse=True))


@given(values=st.lists(st.integers(0, 60), min_size=1, max_size=80), B=st.integers(2, 45))
@examples(150)
def test_cuts_of_many_rows_are_quantiles_in_exact_arithmetic(values, B):
    """``x <= v`` with v at place (n - 1) k // B of the sorted values; all values but the largest where they are few."""
    counts = np.bincount(values, minlength=61)
    assert cut_codes(counts, B).tolist() == o.cut_values(values, B)


@given(values=st.lists(st.integers(0, 12), min_size=1, max_size=40))
@examples(50)
def test_the_originals_cut_at_every_value_but_the_largest(values):
    """REPID and GADGET in their authors' later package."""
    found = CUTS["values"](np.bincount(values, minlength=13), 3)
    assert found.tolist() == sorted(set(values))[:-1]


@given(
    scores=st.lists(
        st.sampled_from([0.0, 0.5, 0.5 + 4e-11, 0.5 + 3e-10, 1.0]), min_size=1, max_size=6
    )
)
def test_C15_of_scores_within_the_tolerance_the_first_counts(scores):
    assert best_of(np.array(scores)) == next(
        k for k, score in enumerate(scores) if score - min(scores) < 1e-10
    )


def test_as_many_groups_as_candidates_are_all_tried():
    """Four levels have seven groupings, and 2³ = 8 candidates pay for all; one against the rest and a line are five."""
    frame = pd.DataFrame({"kind": pd.Categorical(list("abcd") * 6), "x": np.arange(24.0)})
    table = read_table(frame, missing="error")
    for most, groupings in ((8, 7), (7, 5)):
        found = candidates(table, np.arange(24), known_of(table), [0], most, 1, "quantiles")
        assert len(found) == groupings


def known_of(table):
    """Effects of x that differ between the levels of kind."""
    predictor = as_predictor(lambda X: X["x"].to_numpy() * X["kind"].astype(str).map(SLOPES))
    effect = resolve(Marginal(), Local(), Pure(), Individual(), table, max_evaluations=10**6)
    options = {"weights": np.ones(table.n_rows), "y": None, "resources": Resources()}
    asked = request(table, [effect])
    maskings = FittedMaskings({}, {}, {})
    return Deferred(lambda: evaluate(Route(predictor, table), asked, maskings, **options)[0])


SLOPES = {"a": 1.0, "b": -2.0, "c": 3.0, "d": 0.5}


def test_the_unit_of_one_output_does_not_order_the_levels_for_all():
    """Levels that act alike stand side by side for outputs that each count by their own spread."""
    rng = np.random.default_rng(0)
    slopes = np.array([3.0, 1.0, -2.0, 2.0, -1.0, 0.0, 4.0, -3.0])
    others = rng.permutation(slopes)
    codes = np.repeat(np.arange(8), 30)
    X = pd.DataFrame({"kind": pd.Categorical(np.array(list("abcdefgh"))[codes])})
    X["x"] = rng.normal(size=240)

    def fit(unit):
        def model(X):
            places = X["kind"].cat.codes.to_numpy()
            first = X["x"].to_numpy() * slopes[places]
            second = X["x"].to_numpy() * others[places]
            return np.column_stack([first, unit * second])

        options = {"search": "greedy", "confidence_level": None, "max_candidates": 10}
        return gx.Granite(model, output="all", max_depth=2, **options).fit(X)

    plain = [str(rule) for rule in fit(1.0).partition_.rules]
    assert len(plain) > 2
    assert [str(rule) for rule in fit(1024.0).partition_.rules] == plain


def test_a_rule_says_where_missing_values_go_only_if_the_column_has_some():
    """The fit allows missing values, but only the other column has any."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    X.loc[:9, "a"] = np.nan

    def model(X):
        return X["a"].fillna(0.5).to_numpy() * np.sign(X["b"].fillna(0.0).to_numpy())

    options = {"search": "greedy", "confidence_level": None, "max_depth": 1, "missing": "allow"}
    g = gx.Granite(model, split_features=["b"], min_samples_leaf=5, **options).fit(X)
    assert len(g.partition_) == 2
    assert not any("missing" in str(rule) for rule in g.partition_.rules)
