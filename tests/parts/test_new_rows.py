"""Other rows are explained and measured as the definitions say."""

from __future__ import annotations

import warnings
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

import granite_xai as gx
import oracle as o
from granite_xai.base.errors import BinWarning
from strategies import (
    Case,
    cases,
    examples,
    interactions,
    maskings,
    paper,
    questions,
    quiet,
    rounding,
    scale_of,
)

GROWTH = {"min_samples_leaf": 1, "alpha": 0.01, "max_depth": 2}


def both(
    case: Case, question: Any, asked: Any, data: Any
) -> tuple[gx.Granite, o.Fit, Case, o.Problem]:
    """The fit of the package and of the oracle, and other rows for both."""
    granite = paper(case.model, question, **GROWTH)
    with quiet():
        granite.fit(case.X, np.array(case.y), case.weights)
    problem = case.problem()
    fit = o.grow(asked, problem, delta=case.delta(problem), **GROWTH)
    chosen = data.draw(st.lists(st.sampled_from(problem.rows), min_size=2, max_size=7))
    other = case.with_rows([case.rows[n] for n in chosen], [case.y[n] for n in chosen])
    return granite, fit, other, other.problem(problem)


def compare(case: Case, question: Any, asked: o.Question, data: Any) -> None:
    """Fit, evaluate on other rows, and compare every figure with the oracle's."""
    granite, fit, other, new = both(case, question, asked, data)
    with quiet():
        found = granite.evaluate(other.X, np.array(other.y))
    wanted = o.evaluate(asked, fit, new)
    if (
        wanted["global_disagreement"] <= fit.scale.floors[0]
    ):  # rounding of the fitting rows: nothing to explain (C4)
        wanted = silent(wanted)
    same_figures(found, wanted, rounding(case, case.problem(), asked))


def silent(wanted: dict[str, Any]) -> dict[str, Any]:
    """The same rows in the same regions, and 0 for every disagreement that there is."""
    told = ("disagreement", "global_disagreement")
    lines = [
        {**line, **{key: None if line[key] is None else 0.0 for key in told}}
        for line in wanted["regions"]
    ]
    return {**wanted, "regions": lines, **dict.fromkeys(told, 0.0)}


def same_figures(found: gx.Evaluation, wanted: dict[str, Any], error: float) -> None:
    """Totals and every line of the table."""
    slack = {"rel": 1e-10, "abs": error}
    assert found.disagreement == pytest.approx(wanted["disagreement"], **slack)
    assert found.global_disagreement == pytest.approx(wanted["global_disagreement"], **slack)
    for line, other_line in zip(found.frame().to_dict("records"), wanted["regions"], strict=True):
        assert line["region"] == other_line["region"]
        assert line["n_samples"] == other_line["n_samples"]
        assert line["fraction"] == pytest.approx(other_line["fraction"], rel=1e-12)
        assert line["disagreement"] == pytest.approx(other_line["disagreement"], **slack)
        if other_line["global_disagreement"] is None:
            assert pd.isna(line["global_disagreement"])
        else:
            assert line["global_disagreement"] == pytest.approx(
                other_line["global_disagreement"], **slack
            )


def in_shares(
    questions: tuple[o.Question, ...], weights: list[float], fit: o.Fit, new: o.Problem
) -> dict[str, Any]:
    """Several questions on other rows: each divided by its own disagreement there, those at their floor left out."""
    each = [o.evaluate(asked, fit, new) for asked in questions]
    roots = [one["global_disagreement"] for one in each]
    kept = [w if r > f else 0.0 for w, r, f in zip(weights, roots, fit.scale.floors, strict=True)]
    parts = [(w / sum(kept) / r, one) for w, r, one in zip(kept, roots, each, strict=True) if w]
    per_row = all(asked.per_row for asked in questions)
    lines = []
    for k in range(len(fit.root.leaves())):
        line = dict(each[0]["regions"][k])
        line["disagreement"] = sum(
            factor * one["regions"][k]["disagreement"] for factor, one in parts
        )
        outside = (
            [factor * one["regions"][k]["global_disagreement"] for factor, one in parts]
            if per_row
            else None
        )
        lines.append({**line, "global_disagreement": None if outside is None else sum(outside)})
    after = sum(line["disagreement"] for line in lines)
    return {"regions": lines, "global_disagreement": 1.0 if parts else 0.0, "disagreement": after}


@given(data=st.data())
@examples(50)
def test_several_questions_are_measured_in_shares(data):
    """Each question in shares of its own disagreement on the new rows."""
    case = data.draw(cases(min_rows=5, max_rows=8, min_columns=2, max_columns=3, weighted=None))
    names = data.draw(
        st.lists(st.sampled_from([*o.NAMED, "coe", "ale"]), min_size=2, max_size=2, unique=True)
    )
    drawn = [data.draw(questions(case, name)) for name in names]
    weights = [data.draw(st.sampled_from([1.0, 0.5, 3.0])) for _ in names]
    asked = tuple(question for _, question, _ in drawn)
    pairs = {question: weight for (question, _, _), weight in zip(drawn, weights, strict=True)}
    assume(len(pairs) == 2)  # "sobol" and "variance" are one question where totals are differences
    granite, fit, other, new = both(
        case, gx.Objective(pairs), o.Objective(asked, tuple(weights)), data
    )
    with quiet():
        found = granite.evaluate(other.X, np.array(other.y))
    wanted = in_shares(asked, weights, fit, new)
    errors = [rounding(case, case.problem(), question) for question in asked]
    roots = [o.disagreement(question, new, new.rows, fit.root.rows) for question in asked]
    same_figures(
        found, wanted, max([e / r for e, r in zip(errors, roots, strict=True) if r], default=0.0)
    )


@pytest.mark.parametrize("name", list(o.NAMED))
@given(data=st.data())
@examples(15)
def test_other_rows_are_explained_region_by_region(name, data):
    """Both sides of the question, the new rows of a region being explained and reference alike."""
    case = data.draw(cases(min_rows=5, max_rows=8, min_columns=2, max_columns=3, weighted=None))
    question, asked, _ = data.draw(questions(case, name))
    granite, fit, other, new = both(case, question, asked, data)
    with quiet(), mock.patch("granite_xai.results.other_rows.FEWEST_ROWS", 1):
        parts = granite.explain(other.X, np.array(other.y), reference="rows").parts
    region = o.apply(fit.root, new.fitted, new.X)
    present = sorted(set(region))
    assert [part.region for part in parts] == [k for k in present for _ in range(2)]
    scale = scale_of(case, case.problem(), vars(asked.first))
    for part, side in zip(parts, len(present) * [asked.first, asked.second], strict=True):
        rows = [n for n in new.rows if region[n] == part.region]
        sets = o.question_sets(asked, case.d)
        wanted = o.explain(new, side, rows, sets, fit.root.leaves()[part.region].rows)
        if side.per_row:
            assert part.rows.tolist() == rows
        for k, S in enumerate(sets):
            values = [wanted[S][n] for n in rows] if side.per_row else wanted[S]
            assert part.values[..., k] == pytest.approx(values, rel=0, abs=1e-10 * scale)


@pytest.mark.parametrize(
    "name", [name for name, (behavior, *_) in o.NAMED.items() if behavior == "local"]
)
@given(data=st.data())
@examples(15)
def test_other_rows_are_explained_against_the_fitting_rows_of_their_region(name, data):
    """``F_T`` at a row is the mean over the region's fitting rows; over all of them where none shares the row's bin."""
    case = data.draw(cases(min_rows=5, max_rows=8, min_columns=2, max_columns=3, weighted=None))
    question, asked, _ = data.draw(questions(case, name))
    granite, fit, other, _ = both(case, question, asked, data)
    if not case.has_missing:  # cells of several rows: a row that no fitting row is
        mixed = [
            tuple(data.draw(st.sampled_from(case.rows))[j] for j in range(case.d)) for _ in range(3)
        ]
        other = case.with_rows(mixed, [0.0] * 3)
    problem, extra = case.problem(), len(case.rows)
    with quiet():
        found = granite.explain(other.X).parts
    weights = [*problem.w, *[1.0] * len(other.rows)]
    joined = o.Problem(case.call, [*case.rows, *other.rows], None, weights, problem.kinds, problem)
    region = o.apply(fit.root, problem, other.problem(problem).X)
    scale = scale_of(case, problem, vars(asked.first))
    sets = o.question_sets(asked, case.d)
    for part, side in zip(found, len(set(region)) * [asked.first, asked.second], strict=True):
        rows = fit.root.leaves()[part.region].rows
        for i, values in zip(part.rows.tolist(), part.values, strict=True):

            def nu(T, n=extra + i, rows=rows, side=side):
                T = frozenset(T)
                bins = (
                    o.bins_of(joined, side, T)
                    if side.masking == "conditional"
                    else dict.fromkeys(joined.rows, 0)
                )
                mates = [m for m in rows if bins[m] == bins[n]] or rows
                values = joined.R(T)[n]
                return (
                    values[n]
                    if T == joined.D
                    else o.mean([values[m] for m in mates], joined.weights_of(mates))
                )

            wanted = [o.influence_of(nu, joined.D, S, side) for S in sets]
            assert values == pytest.approx(wanted, rel=0, abs=1e-10 * scale)


@pytest.mark.parametrize("name", [*o.NAMED, "coe", "ale"])
@given(data=st.data())
@examples(15)
def test_other_rows_are_measured_as_defined(name, data):
    """New rows explain and are referred to, inside each region; bins, baselines and thresholds stay as fitted."""
    case = data.draw(cases(min_rows=5, max_rows=8, min_columns=2, max_columns=3, weighted=None))
    question, asked, _ = data.draw(questions(case, name))
    compare(case, question, asked, data)


@given(data=st.data())
@examples(80)
def test_bins_and_baselines_of_other_rows_stay_as_fitted(data):
    """Any two maskings on new rows."""
    case = data.draw(cases(min_rows=5, max_rows=8, min_columns=2, max_columns=3, weighted=None))
    sides, words = [], []
    for _ in range(2):
        masking, about = data.draw(maskings(case))
        interaction, more = data.draw(
            st.sampled_from(["pure", "partial", "full"]).flatmap(interactions)
        )
        sides.append(gx.Explainer(masking, "local", interaction))
        words.append({**about, **more})
    assume((sides[0].masking, sides[0].interaction) != (sides[1].masking, sides[1].interaction))
    asked = o.Question(o.Setting(**words[0]), o.Setting(**words[1]))
    compare(case, gx.Disagreement(*sides), asked, data)


RNG = np.random.default_rng(11)


X = RNG.normal(size=(120, 3))


OTHER = RNG.normal(size=(90, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


def test_the_table_has_all_columns():
    table = paper(step, min_samples_leaf=1).fit(X).evaluate(OTHER).frame()
    assert list(table.columns) == [
        "region",
        "rule",
        "n_samples",
        "fraction",
        "global_disagreement",
        "disagreement",
        "remaining",
    ]


def test_several_questions_are_in_shares():
    g = paper(step, ["ice-pdp", "sobol"], max_depth=1).fit(X)
    assert g.evaluate(OTHER).global_disagreement == pytest.approx(1.0)


def test_a_confidence_level_adds_an_estimate():
    assert paper(step, max_depth=1).fit(X).evaluate(OTHER).estimate is None
    judged = gx.Granite(step, max_depth=1).fit(X).evaluate(OTHER)
    assert judged.estimate.rows == "given"
    assert gx.Granite(step, max_depth=1).fit(X).evaluate(X).estimate.rows == "fitting"


def step_causes(X):
    """ICE and PDP of x0 differ by the sign of x1; in both halves they agree."""
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0) + 0.6 * X[:, 0] * X[:, 2]


def test_an_additive_model_with_dependent_columns_keeps_its_variance_gap_without_interactions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    additive = lambda X: X[:, 0] + X[:, 1] + np.sin(X[:, 2])  # noqa: E731
    found = gx.Granite(additive, "variance").fit(X).diagnostics_["cause"]["variance"]
    assert found["cause"] == "features interact or depend on each other"
    assert found["without_interactions"] == pytest.approx(1.0, abs=1e-9)
    plain = gx.Granite(step_causes, "ice-pdp").fit(X).diagnostics_["cause"]["ice-pdp"]
    assert plain == {"cause": "features interact", "without_interactions": 0.0}
    independent = np.random.default_rng(1).normal(size=(400, 3))
    mixed = gx.Granite(step_causes, "sobol").fit(independent).diagnostics_["cause"]["sobol"]
    assert mixed["without_interactions"] == pytest.approx(0.0, abs=1e-9)


X_INPUTS = pd.DataFrame(np.random.default_rng(1).normal(size=(200, 3)), columns=["a", "b", "c"])


def product(frame):
    return (frame["a"] * frame["b"]).to_numpy()


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(3)])
@pytest.mark.parametrize("explains", [False, True])
def test_the_seed_on_record_repeats_the_draw_of_a_lazy_table(random_state, explains):
    pl = pytest.importorskip("polars")
    lazy = pl.DataFrame(X_INPUTS.to_numpy(), schema=list(X_INPUTS.columns)).lazy()

    def fitted(seed):
        options = {"max_samples": 40, "random_state": seed}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if explains:
                return gx.explain(product, lazy, **options).granite
            return gx.Granite(product, **options).fit(lazy)

    g = fitted(random_state)
    again = fitted(g.diagnostics_["seed"])
    assert again.diagnostics_["seed"] == g.diagnostics_["seed"]
    assert again.disagreement_ == g.disagreement_


def test_a_fit_that_weighs_rows_by_a_copula_says_so():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 2))
    X[:, 1] = X[:, 0] + 0.001 * X[:, 1]
    granite = gx.Granite(lambda X: X[:, 0] * X[:, 1], "mplot-pdp", min_samples_leaf=20)
    with pytest.warns(BinWarning, match="effective number"):
        granite.fit(X)
    assert granite.diagnostics_["conditional"]["sampler"] == "copula"
    assert granite.diagnostics_["thin_bins"]["weighted_rows"] > 0
