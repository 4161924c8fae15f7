"""The plan of a fit: recorded disagreement from its questions, refusals with remedies that work, other rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import Diagnostics
from granite_xai.base.limits import Resources
from granite_xai.evaluations.evaluations import Coalition
from granite_xai.evaluations.values import every_level
from granite_xai.fitting.plan import (
    Cost,
    Draft,
    Plan,
    RowChoice,
    choose_rows,
    note_rows,
    resolved_questions,
)
from granite_xai.fitting.settings import Opened, Settings, open_inputs
from granite_xai.tables import Rows, read_table

IN_PAPER = {"confidence_level": None, "search": "greedy"}


@dataclass(frozen=True)
class Found:
    """Rows, a model and options, before the plan is made."""

    opened: Opened

    @property
    def rows(self) -> Rows:
        return self.opened.rows

    @property
    def model(self) -> Any:
        return self.opened.model

    def resolve(self, search: Rows) -> tuple[Any, ...]:
        """The questions on some rows, those of the first output first."""
        return resolved_questions(self.opened, search.table)

    def draft(self, search: Rows, n_judging: int = 0) -> Draft:
        return Draft(self.opened, search, n_judging)

    def choose(self) -> RowChoice:
        return choose_rows(self.opened)

    def plan(self, search: Rows) -> Plan:
        return self.draft(search).plan(Diagnostics(), lambda seconds: None)

    def cost(self) -> Cost:
        choice = self.choose()
        return self.draft(self.rows.take(choice.search), len(choice.held_out)).allowed_cost()

    def with_options(self, **options: Any) -> Found:
        settings = replace(self.opened.settings, **options)
        return Found(replace(self.opened, settings=settings))


# Which rows ----------------------------------------------------------------------------------------


def product(X):
    return X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) * X[:, 3]


def numbers(n: int, d: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def about(X: Any, question: str = "ice-pdp", function: Any = product, **options: Any) -> Found:
    """A question about a table, with options of `Granite`."""
    clusters = options.pop("clusters", None)
    g = gx.Granite(function, question, **options)
    y = np.zeros(len(X))
    return Found(open_inputs(Settings.of(g), X, y, None, clusters, Diagnostics()))


@pytest.mark.parametrize(
    ("budget", "question", "options"),
    [
        (30_000, "ice-pdp", {}),
        (100_000, "ice-pdp", {}),
        (250_000, "ice-pdp", {}),
        (100_000, "ice-pdp", {"holdout": 0.1}),
        (100_000, "ice-pdp", {"holdout": False}),
        (100_000, "ale", {}),  # others may need a little more than the rows that search
    ],
)
def test_the_budget_pays_for_the_rows_and_for_hardly_any_more(budget, question, options):
    resources = Resources(max_evaluations=budget)
    found = about(numbers(5000), question, resources=resources, **options)
    choice = found.choose()
    search = found.rows.take(choice.search)
    cost = found.cost()
    fewest = 0.95 if question == "ale" else 0.98
    assert fewest * budget < cost.model_rows <= budget
    plan = found.plan(search)
    plan.ask(search)
    if len(choice.held_out):
        plan.ask(found.rows.take(choice.held_out))
    assert 0.9 * cost.model_rows < found.model.usage.rows <= cost.model_rows


def test_at_all_values_the_rows_that_judge_are_asked_at_all_of_theirs():
    X = np.random.default_rng(0).integers(0, 5, size=(900, 4))
    found = about(X, max_samples=400, resources=Resources(max_grid=None))
    choice = found.choose()
    plan = found.plan(found.rows.take(choice.search))
    plan.ask(found.rows.take(choice.search))
    plan.ask(found.rows.take(choice.held_out))
    assert found.model.usage.rows == pytest.approx(found.cost().model_rows, rel=0.02)


@pytest.mark.parametrize(("n_levels", "is_ordered_by_effects"), [(3, False), (8, True)])
def test_a_column_of_many_levels_is_asked_about_before_the_search(n_levels, is_ordered_by_effects):
    """Although the question is about another one: the search puts its levels into the order of their effects (C13)."""
    frame = pd.DataFrame(numbers(400, d=2), columns=["a", "b"])
    frame["c"] = pd.Categorical(np.arange(400) % n_levels)
    found = about(frame, function=lambda X: X["a"].to_numpy(), features=["a"])
    is_asked = Coalition([2]) in found.draft(found.rows).needs.coalitions
    assert is_asked == is_ordered_by_effects


def test_permuted_rows_and_columns_give_the_same_rows_and_values():
    X = numbers(1500)
    order = np.random.default_rng(1).permutation(1500)
    names = [f"x{j}" for j in range(4)]
    frame = pd.DataFrame(X, columns=names)

    def of_frame(X):
        return product(X[names].to_numpy())

    resources = Resources(max_evaluations=60_000)
    one = about(frame, function=of_frame, resources=resources)
    permuted = frame.iloc[order][names[::-1]].reset_index(drop=True)
    other = about(permuted, function=of_frame, resources=resources)
    chosen = []
    values = []
    for found, positions in ((one, np.arange(1500)), (other, order)):
        choice = found.choose()
        chosen.append({*positions[found.rows.positions[choice.search]].tolist()})
        plan = found.plan(found.rows.take(choice.search))
        by_name = {}
        for cells in plan.values.values():
            by_name[cells.column.name] = cells.column.levels[cells.standing].tolist()
        values.append(by_name)
    assert chosen[0] == chosen[1]
    assert values[0] == values[1]


def test_clusters_are_used_whole():
    clusters = np.repeat(np.arange(60), 50)
    found = about(numbers(3000), clusters=clusters, resources=Resources(max_evaluations=60_000))
    choice = found.choose()
    of_search = set(found.rows.clusters[choice.search])
    of_held_out = set(found.rows.clusters[choice.held_out])
    assert not of_search & of_held_out
    counts = np.bincount(found.rows.clusters[np.concatenate(choice)])
    assert set(counts.tolist()) <= {0, 50}


def test_exact_effects_of_fewer_rows_come_before_sampled_ones_of_more():
    """More rows never find less: a table of 3,000 rows has exact Shapley values as one of 1,000 has."""
    resources = Resources(max_evaluations=20_000_000)
    sizes = {}
    for n in (1000, 3000):
        found = about(numbers(n, d=6), "sage-risk", resources=resources)
        choice = found.choose()
        (question,) = found.resolve(found.rows.take(choice.search))
        assert not question.is_sampled
        sizes[n] = len(choice.search)
    assert sizes[3000] >= 500


def test_few_of_many_rows_are_said_with_a_budget_that_uses_more():
    found = about(numbers(30_000, d=12))
    choice = found.choose()
    record = Diagnostics()
    if choice.n_rows >= 3000:
        note_rows(found.opened, choice, record)
        assert record.warnings == ()
    found = about(numbers(60_000, d=24), function=lambda X: X[:, 0])
    choice = found.choose()
    assert choice.n_rows < 6000
    with pytest.warns(gx.DataWarning, match="M13: "):
        note_rows(found.opened, choice, record)
    (text,) = record.warnings
    budget, n_rows = re.search(r"max_evaluations=([\d_]+)\) uses ([\d,]+)\.", text).groups()
    larger = found.with_options(resources=Resources(max_evaluations=int(budget)))
    assert larger.choose().n_rows == int(n_rows.replace(",", ""))


# Refusals ------------------------------------------------------------------------------------------


def remedy(refused: Any, option: str) -> int:
    return int(re.search(rf"{option}=(\d+)\)", str(refused.value)).group(1))


@pytest.mark.parametrize("question", ["ice-pdp", "ale", "shap-pdp", "mplot-pdp"])
@pytest.mark.parametrize("max_grid", ["auto", None])
def test_M13_what_a_refusal_names_is_enough(question, max_grid):
    # Enough for exact effects of the rows that search, but not of those that judge as well.
    budget = 1_200_000 if question == "shap-pdp" else 40_000
    resources = Resources(max_evaluations=budget, max_grid=max_grid)
    found = about(numbers(1500), question, max_samples=400, resources=resources)

    with pytest.raises(gx.ResourceError, match="the plan sends") as refused:
        found.cost()
    assert refused.value.code == "M13"
    assert found.model.usage.rows == 0
    enough = remedy(refused, "max_evaluations")
    larger = replace(resources, max_evaluations=enough)
    assert found.with_options(resources=larger).cost().model_rows <= enough
    fewer = remedy(refused, "max_samples")
    assert found.with_options(max_samples=fewer).cost().model_rows <= budget
    assert fewer > 20


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "mplot-pdp"])
def test_D33_what_a_refusal_names_is_enough(question):
    resources = Resources(memory_limit=2**23, max_grid=None)
    found = about(numbers(900), question, max_samples=None, holdout=False, resources=resources)
    with pytest.raises(gx.ResourceError, match="900 rows need") as refused:
        found.plan(found.rows)
    assert refused.value.code == "D33"
    assert found.model.usage.rows == 0
    limit = remedy(refused, "memory_limit")
    enough = found.with_options(resources=replace(resources, memory_limit=limit))
    enough.draft(found.rows).require_memory()
    fewer = remedy(refused, "max_samples")
    found.draft(found.rows.take(np.arange(fewer))).require_memory()
    less = found.with_options(resources=replace(resources, memory_limit=limit - 1))
    too_little = less.draft(found.rows)
    with pytest.raises(gx.ResourceError):
        too_little.require_memory()
    if question == "shap-pdp":
        assert "max_grid" not in str(refused.value)
        return
    on_grid = Resources(memory_limit=2**23, max_grid=remedy(refused, "max_grid"))
    found.with_options(resources=on_grid).draft(found.rows).require_memory()


@pytest.mark.parametrize("shape", [(2000, 30), (3000, 10)])
def test_sizes_of_the_paper_fit_the_default_memory(shape):
    found = about(numbers(*shape), **IN_PAPER)
    found.draft(found.rows).require_memory()


def test_R08_a_device_that_is_not_there_is_refused():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a device")
    with pytest.raises(gx.ResourceError) as refused:
        about(numbers(100), resources=Resources(device="cuda"))
    assert refused.value.code == "R08"


# Any rows ------------------------------------------------------------------------------------------


def test_other_rows_are_asked_at_the_values_of_the_fit():
    """An additive model leaves nothing to explain on them."""
    found = about(numbers(900), function=lambda X: np.exp(X[:, 0]) + X[:, 1] ** 2)
    search = found.rows.take(np.arange(600))
    plan = found.plan(search)
    others = Rows.of(read_table(numbers(300, seed=5), missing="error", like=search.table))
    sample = plan.ask(others)
    (question,) = found.resolve(search)
    (evaluations,) = sample.outputs
    assert all(matrix.values.shape[1] <= 16 for matrix in evaluations.matrices.values())
    whole = RegionWeights.whole(evaluations.weights)
    assert question.regional(evaluations, whole)[0, 0] <= question.floor(
        evaluations, sample.errors[0]
    )


def test_curves_ask_about_what_the_questions_did_not():
    found = about(numbers(300), features=["x0"])
    search = found.rows
    plan = found.plan(search)
    sample = plan.ask(search)
    assert set(sample.outputs[0].matrices) == {Coalition([0])}
    rows_before = found.model.usage.rows
    singles = {Coalition([position]) for position in range(4)}
    whole, cells = plan.complete(sample, singles)
    assert set(cells) == {0, 1, 2, 3}
    assert set(whole.outputs[0].matrices) == singles
    assert found.model.usage.rows > rows_before
    assert plan.complete(whole, singles)[0] is whole
    np.testing.assert_array_equal(whole.outputs[0].f, sample.outputs[0].f)


def test_a_model_that_is_read_is_asked_about_its_own_rows_alone():
    from sklearn.ensemble import RandomForestRegressor

    X = np.round(numbers(400), 1)
    forest = RandomForestRegressor(20, random_state=0).fit(X, product(X))
    found = about(X, function=forest, **IN_PAPER)
    record = Diagnostics()
    plan = found.plan(found.rows)
    rows_before = found.model.usage.rows
    sample = plan.ask(found.rows, record)
    note = record.as_dict()["evaluations"]
    assert note["path"].startswith("trees")
    assert found.model.usage.rows == rows_before + note["audited_rows"] + 400
    for columns, matrix in sample.outputs[0].matrices.items():
        (position,) = columns
        n = 7
        moved = np.repeat(X[n : n + 1], len(X), axis=0)
        moved[:, position] = X[:, position]
        expected = forest.predict(moved)
        places = np.argsort(found.rows.positions)
        row = matrix.values[places[n], matrix.codes[places]] + sample.outputs[0].offset
        np.testing.assert_allclose(row, expected, atol=1e-12)


@pytest.mark.filterwarnings("ignore::granite_xai.GraniteWarning")
def test_noise_of_the_model_is_part_of_every_sample():
    rng = np.random.default_rng(0)
    found = about(numbers(300), function=lambda X: X[:, 0] + rng.normal(scale=1e-3, size=len(X)))
    plan = found.plan(found.rows)
    sample = plan.ask(found.rows)
    assert 1e-3 < sample.errors[0] < 1e-1


def noted_rows(found: Found) -> dict[str, Any]:
    record = Diagnostics()
    note_rows(found.opened, found.choose(), record)
    return record.as_dict()["rows"]


def test_the_rows_that_are_used_are_told_as_the_user_knows_them():
    X = numbers(900)
    found = about(X, max_samples=300)
    choice = found.choose()
    facts = noted_rows(found)
    assert (len(facts["search"]), len(facts["held_out"])) == (300, 150)
    assert (facts["available"], facts["reason"]) == (900, "as asked")
    np.testing.assert_array_equal(
        np.sort(found.rows.take(choice.search).table.columns[0].values),
        np.sort(X[facts["search"], 0]),
    )
    assert noted_rows(about(X))["reason"] == "all rows"
    few = about(X, resources=Resources(max_evaluations=20_000))
    assert noted_rows(few)["reason"] == "max_evaluations"


# Interactions at a few values ----------------------------------------------------------------------


def pairs_and_one_of_three(X):
    """Pairs that depend on nothing else, and x0 with x1 only where x2 is large."""
    return X[:, 3] * X[:, 4] + X[:, 5] ** 2 + np.where(X[:, 2] > 0.3, X[:, 0] * X[:, 1], 0.0)


def test_pairs_search_on_a_thousand_rows_within_the_budget():
    X = numbers(12_000, d=10)
    found = about(X, function=pairs_and_one_of_three, influence="interaction")
    choice = found.choose()
    assert len(choice.search) >= 1000
    assert len(choice.held_out) == len(choice.search) // 2
    draft = found.draft(found.rows.take(choice.search))
    assert draft.request().n_model_rows() <= 1_000_000
    plan = draft.plan(Diagnostics(), lambda seconds: None)
    finer = {
        columns for columns, cells in plan.combined.items() if len(cells[min(columns)].standing) > 2
    }
    assert finer == {Coalition({0, 1}), Coalition({0, 2}), Coalition({1, 2})}
    plan.ask(found.rows.take(choice.search))
    plan.ask(found.rows.take(choice.held_out))
    assert found.model.usage.rows <= 1_000_000


def test_what_depends_on_two_columns_at_most_leaves_nothing_of_pairs():
    """At a few values as well: each gap is the exact one of the columns moved to them."""
    X = numbers(1500, d=6)
    found = about(
        X,
        function=lambda X: X[:, 0] * X[:, 1] + np.sin(X[:, 2] * X[:, 3]),
        influence="interaction",
    )
    search = found.rows.take(np.arange(1000))
    plan = found.plan(search)
    assert plan.combined
    (question,) = found.resolve(search)
    for rows_asked in (search, found.rows.take(np.arange(1000, 1500))):
        sample = plan.ask(rows_asked)
        (evaluations,) = sample.outputs
        members = np.random.default_rng(0).uniform(size=(len(evaluations), 3)) < 0.5
        disagreement = question.regional(evaluations, RegionWeights(1.0 * members))
        assert np.all(disagreement <= question.floor(evaluations, sample.errors[0]))


@pytest.mark.parametrize("places", [np.arange(90), np.arange(20, 60)])
def test_at_all_values_of_each_column_pairs_are_exact(places):
    X = np.random.default_rng(3).integers(0, 4, size=(90, 4)) / 2
    found = about(
        X,
        function=lambda X: np.sin(X[:, 0] * X[:, 1] * X[:, 2]) + X[:, 3] * X[:, 0],
        influence="interaction",
    )
    (question,) = found.resolve(found.rows)
    exact = found.plan(found.rows)
    assert not exact.combined
    every = {
        columns: {position: every_level(found.rows.table.columns[position]) for position in columns}
        for columns in question.sets
    }
    combined = replace(exact, combined=every, values=None)
    results = []
    for plan in (exact, combined):
        evaluations = plan.ask(found.rows).outputs[0].take(places)
        results.append(question.losses(evaluations, RegionWeights.whole(evaluations.weights)))
    assert results[0].max() > 1e-3
    np.testing.assert_allclose(results[1], results[0], rtol=1e-9, atol=1e-12)


def test_pairs_that_matter_are_read_finely_enough():
    X = numbers(2000, d=6)
    found = about(X, function=pairs_and_one_of_three, influence="interaction")
    search = found.rows.take(np.arange(400))
    (question,) = found.resolve(search)
    exact = about(
        search.table.native,
        function=pairs_and_one_of_three,
        influence="interaction",
        **IN_PAPER,
    )
    results = []
    for plan, asked in ((found.plan(search), search), (exact.plan(exact.rows), exact.rows)):
        (evaluations,) = plan.ask(asked).outputs
        results.append(
            question.losses(evaluations, RegionWeights.whole(evaluations.weights))[:, 0, 0]
        )
    at_few, at_all = results
    assert at_few.sum() == pytest.approx(at_all.sum(), rel=0.05)


@pytest.mark.parametrize("question", ["pfi-risk", "variance", "mplot-pdp"])
def test_pairs_that_vary_together_are_read_at_all_values(question):
    found = about(numbers(1500, d=8), question, influence="interaction")
    draft = found.draft(found.rows.take(np.arange(250)))
    assert not draft.combines_values
