"""The plan of a fit and what the model is asked, against today's package: same rows, counts, values, matrices."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import granite_xai as gx
from default_cases import CASES
from default_figures import beside, explained, target
from default_tables import rows
from granite_xai.base.errors import Diagnostics
from granite_xai.core.evaluations.asking import Ends
from granite_xai.core.evaluations.evaluations import Attribution, Coalition
from granite_xai.core.evaluations.needs import Needs, Recombined, Summed
from granite_xai.core.fitting.fit import fit
from granite_xai.core.fitting.plan import (
    Draft,
    Options,
    RowChooser,
    coalitions_of_curves,
    make_plan,
)
from granite_xai.disagreement.disagreement import both_sides
from granite_xai.explanation.masking.accumulated import fit_intervals
from granite_xai.fitting.cost import cost_of_fit, plan_facts
from granite_xai.fitting.fit_request import (
    _coalitions_of_surrogate,
    asks_about_all_players,
    with_learned_values,
)
from granite_xai.fitting.inputs import open_inputs
from granite_xai.fitting.pipeline import _ask_model
from granite_xai.fitting.row_choice import choose_rows, n_judging_rows
from granite_xai.tables import Rows

GRID_OF_8 = {"resources": gx.Resources(max_grid=8)}
EXACT = {"confidence_level": None, "search": "greedy"}
BUDGET = {"resources": gx.Resources(max_evaluations=120_000)}
MORE_OPTIONS = {
    "exact": ("ice-pdp", EXACT),
    "exact, some rows": ("ice-pdp", {**EXACT, "max_samples": 150}),
    "quantiles": ("ice-pdp", {**EXACT, **GRID_OF_8}),
    "quantiles, mplot-pdp": ("mplot-pdp", {**EXACT, **GRID_OF_8}),
    "exact, pfi-risk": ("pfi-risk", EXACT),
    "exact, mixed": ("all kinds of columns, ice-pdp", EXACT),
    "quantiles, mixed": ("all kinds of columns, ice-pdp", {**EXACT, **GRID_OF_8}),
    "exact, missing values": ("missing values, ice-pdp", EXACT),
    "no grid": ("ice-pdp", {"resources": gx.Resources(max_grid=None), "max_samples": 200}),
    "a small budget": ("1,500 rows", BUDGET),
    "a small budget in clusters": ("clusters and weights", BUDGET),
    "a share held out": ("1,500 rows", {"holdout": 0.2}),
    "a share held out, budget": ("1,500 rows", {"holdout": 0.2, **BUDGET}),
    "all rows": ("1,500 rows", {"max_samples": None}),
    "some rows in clusters": ("twelve clusters", {"max_samples": 100}),
    "exact, twelve columns": ("twelve columns", EXACT),
    "boosted trees, exact": ("boosted trees of few values", EXACT),
}


@dataclass(frozen=True)
class Today:
    """A fit of today's package, up to where the model is asked."""

    opened: Any
    choice: Any
    inputs: Any


def today(name: str) -> Today:
    case_name, options = MORE_OPTIONS.get(name, (name, {}))
    case = CASES[case_name]
    found = rows(case.table, case.n_rows, seed=case.n_rows)
    granite = gx.Granite(explained(case, found), case.question, **{**case.options, **options})
    asked = beside(case, found)
    opened = open_inputs(
        granite,
        found.X,
        target(case, found),
        asked.get("sample_weight"),
        asked.get("clusters"),
        Diagnostics(),
    )
    choice = choose_rows(opened)
    return Today(opened, choice, opened.resolve(choice.search_rows, Diagnostics()))


class TodaysAle:
    """What accumulated effects ask about, as the algebra's would."""

    def __init__(self, columns: Any) -> None:
        self.columns = columns

    def learn(self, rows: Rows, coalitions: Any, *options: Any) -> Any:
        learned = {}
        for column in self.columns:
            intervals = fit_intervals(column, rows.table, rows.weights)
            if intervals is not None:
                learned[Coalition([column.column])] = TodaysIntervals(column, intervals)
        return learned


class TodaysIntervals:
    """Those of one column."""

    follows_values = False

    def __init__(self, column: Any, intervals: Any) -> None:
        self.column = column
        self.intervals = intervals

    def asks(self, table: Any) -> Recombined:
        _, first, counts = self.intervals.points(table.columns[self.column.column])
        base_rows = np.repeat(np.arange(table.n_rows), counts)
        starts = np.cumsum(counts) - counts - first
        points = np.arange(len(base_rows)) - starts[base_rows]
        return Recombined(table, base_rows, self.intervals.ends, points, [self.column.column])

    def fact(self, table: Any, predictions: Any) -> Any:
        return None


class TodaysQuestion:
    """A question of today's package, as a plan of the new core sees it."""

    def __init__(self, question: Any) -> None:
        self.sides = both_sides([question])
        changes = set().union(*(side.changes() for side in self.sides))
        ale = TodaysAle(changes)
        self.is_ale = bool(changes)
        self.is_sampled = any(side.draws for side in self.sides)
        self.is_local = True
        reads: dict[Coalition, set[Coalition]] = {}
        coalitions: set[Coalition] = set()
        attributions = {}
        for side in self.sides:
            coalitions |= side.needed().pairs
            for members, terms in zip(side.layout.sets, side.terms, strict=True):
                columns = Coalition().union(*members)
                read = {getattr(term, "hidden", term) for term in terms}
                reads.setdefault(columns, set()).update(
                    term for term in read if isinstance(term, frozenset)
                )
            for key, terms in side.attributions.items():
                draws = [dict(draw[len(attributions)]) for draw in side.draws]
                attributions[key] = Summed(
                    terms, tuple(draws), key.players, key.players.index(key.members[0])
                )
        self.reads = {columns: frozenset(of_set) for columns, of_set in reads.items()}
        self.needs = Needs(
            coalitions=frozenset(coalitions),
            compared=frozenset(reads),
            attributions=attributions,
            facts=frozenset((ale, Coalition([column.column])) for column in changes),
        )


def options_of(opened: Any) -> Options:
    options = opened.options
    return Options(
        resources=options.resources,
        seed=options.seed,
        is_sample=options.confidence is not None,
        as_in_paper=options.as_in_paper,
        max_samples="auto" if options.max_samples == "auto" else options.max_samples,
        holdout=options.holdout,
    )


def rows_of(opened: Any) -> Rows:
    """The same rows, in the order in which today's package knows them."""
    by_place = opened.rows
    table = by_place.table.take(by_place.positions)
    y = None if by_place.y is None else by_place.y[by_place.positions]
    return Rows.of(table, y, by_place.weights, by_place.clusters, in_fixed_order=False)


def draft_of(found: Today, search: Rows, options: Options) -> Draft:
    """The draft of a fit whose questions today's package resolves on rows at the same places."""
    inputs = found.opened.resolve(search.positions, Diagnostics())
    return Draft(
        model=inputs.predictor,
        questions=[TodaysQuestion(question) for question in inputs.comparisons],
        search=search,
        curves=curves_of(inputs),
        options=options,
        record=Diagnostics(),
    )


def curves_of(inputs: Any) -> frozenset[Coalition]:
    if not asks_about_all_players(inputs):
        return frozenset()
    question = inputs.comparisons[0]
    players = question.first.layout.explained
    curves = coalitions_of_curves(players, question.effect_order, inputs.table.explained)
    assert curves == _coalitions_of_surrogate(inputs) - {Coalition()}
    return curves


@pytest.mark.parametrize("name", [*CASES, *MORE_OPTIONS])
def test_the_same_rows_search_and_judge_and_the_plan_costs_the_same(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.GraniteWarning)
        found = today(name)
        options = options_of(found.opened)
        everything = rows_of(found.opened)
        chooser = RowChooser(
            everything, lambda search, options: draft_of(found, search, options), options
        )
        choice = chooser.choose()
        positive = np.flatnonzero(found.opened.rows.weights > 0)
        assert np.array_equal(positive[choice.search], found.choice.search_rows)
        assert np.array_equal(positive[choice.held_out], found.choice.held_out_rows)

        n_held_out = n_judging_rows(found.opened, found.choice)
        expected = plan_facts(
            found.inputs,
            cost_of_fit(found.inputs, n_held_out),
            n_held_out=n_held_out,
            n_available=len(everything),
            seconds_per_row=0.0,
        )
        draft = draft_of(found, everything.take(choice.search), options)
        cost = draft.cost(n_held_out, options.budget)
        assert draft.facts(cost, n_held_out, len(everything), seconds_per_row=0.0) == expected


@pytest.mark.parametrize("name", [*CASES, *MORE_OPTIONS])
def test_the_model_says_the_same_about_the_rows_that_search(name):
    """The values that stand for a column, and the predictions of every row at each of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.GraniteWarning)
        found = today(name)
        search = rows_of(found.opened).take(found.choice.search_rows)
        inputs = with_learned_values(found.inputs)
        expected = _ask_model(replace(inputs, diagnostics=Diagnostics())).evaluations
        questions = [TodaysQuestion(question) for question in found.inputs.comparisons]
        asking = [
            question
            for question in questions
            if not question.is_ale  # what is learned of them is the algebra's
        ]
        plan = make_plan(
            inputs.predictor,
            asking,
            search,
            curves_of(found.inputs),
            options_of(found.opened),
            Diagnostics(),
        )
        sample = plan.ask(search)
    assert len(sample.outputs) == len(expected.outputs)
    for evaluations, of_today in zip(sample.outputs, expected.outputs, strict=True):
        np.testing.assert_allclose(evaluations.f, of_today.predictions, rtol=1e-12, atol=1e-12)
        for columns, matrix in of_today.matrices.items():
            values = matrix.values[matrix.codes].T  # row n at row m's value
            of_new = evaluations.matrices[columns]
            np.testing.assert_allclose(
                of_new.values[:, of_new.codes], values, rtol=1e-12, atol=1e-12
            )
        for key, matrix in of_today.attributions.items():
            attribution: Attribution = evaluations.facts[key]
            np.testing.assert_allclose(attribution.values, matrix.values, rtol=1e-9, atol=1e-9)
            if key in of_today.errors:
                np.testing.assert_allclose(attribution.errors, of_today.errors[key], rtol=1e-9)
        for columns, snapped in of_today.snapped.items():
            moved = evaluations.in_gap_of(columns)
            np.testing.assert_allclose(moved.f, snapped.predictions, rtol=1e-12, atol=1e-12)
            if snapped.ends is not None:
                ends = evaluations.facts[Ends(columns)].values
                np.testing.assert_allclose(ends.T, snapped.ends, rtol=1e-12, atol=1e-12)
            if snapped.fine is not None:
                curve = plan.values[min(columns)].curves[sample.outputs.index(evaluations)]
                np.testing.assert_allclose(curve.weights, snapped.fine.weights, atol=1e-9)
                assert np.array_equal(curve.levels, snapped.fine.levels)


@pytest.mark.parametrize("question", ["ice-pdp", "pfi-risk", "mplot-pdp"])
def test_quantiles_are_checked_on_a_few_rows_as_before(question):
    found = rows("dependent", 150, seed=1)
    options = {**EXACT, **GRID_OF_8, "max_depth": 1}
    granite = gx.Granite(explained(CASES["ice-pdp"], found), question, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.GraniteWarning)
        granite.fit(found.X, found.y)
        noted = Diagnostics()
        fit(gx.Granite(granite.model, question, **options), found.X, found.y, record=noted)
        record = noted.as_dict()
    note, expected = record["max_grid"], granite.diagnostics_["max_grid"]
    assert (note["columns"], note["rows"]) == (expected["columns"], expected["rows"])
    for name, gaps in expected["gaps"].items():
        assert note["gaps"][name] == pytest.approx(gaps, rel=1e-9)
    (text,) = [text for text in record["warnings"] if text.startswith("C22")]
    assert text in granite.diagnostics_["warnings"]
