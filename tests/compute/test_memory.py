"""Memory: what a fit holds at most for its limit (`tracemalloc`, the model's own excluded), and what is refused."""

from __future__ import annotations

import gc
import re
import tracemalloc
import weakref

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import granite_xai as gx
from granite_xai import tables
from granite_xai.compute.memory import (
    MemoryNeeds,
    bytes_text,
    require_budget,
    slices,
)
from granite_xai.compute.resources import Resources
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.model_matrix import evaluate_matrix
from granite_xai.evaluations.probe import PROBED_ROWS
from strategies import paper

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")

MB = 2**20
rng = np.random.default_rng(0)
X = rng.normal(size=(700, 4))


def model(X):
    """Takes no memory but for its answer; no two values of a column are alike to it."""
    return X[:, 0] * np.tanh(9 * X[:, 1]) + 0.1 * X[:, 2] * X[:, 0] + 0.01 * X[:, -1]


Y = model(X)


def fitted(question, limit, X=X, y=Y, of=model, **options):
    limits = gx.Resources(memory_limit=limit, max_evaluations=10**9)
    return paper(of, question, resources=limits, max_samples=None, **options).fit(X, y)


def peak_of(*arguments, **options):
    gc.collect()
    tracemalloc.start()
    try:
        found = fitted(*arguments, **options)
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()


def refusal(question, limit=8 * MB, **options):
    """The error of a fit for which there is no room."""
    with pytest.raises(gx.ResourceError, match="D33") as caught:
        fitted(question, limit, **options)
    return caught.value


def named(error, name):
    """The value of an option that a refusal recommends; None where it does not."""
    found = re.search(rf"{name}=(\d+)", error.hint)
    return None if found is None else int(found[1])


QUESTIONS = ["ice-pdp", "shap-pdp", "sobol", "variance", "cfi-pfi"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_D33_a_fit_stays_within_the_limit_that_is_just_enough(question):
    limit = named(refusal(question), "memory_limit")
    fitted(question, limit, max_depth=2)  # whatever is loaded or compiled once
    peak, small = peak_of(question, limit, max_depth=2)
    assert small.diagnostics_["bytes"] > 12 * MB
    assert peak <= 1.1 * limit
    large = fitted(question, 2**30, max_depth=2)
    assert [str(rule) for rule in small.partition_.rules] == [
        str(rule) for rule in large.partition_.rules
    ]
    assert small.remaining_ == pytest.approx(large.remaining_, rel=1e-10)


@pytest.mark.parametrize("question", QUESTIONS)
def test_D33_evaluations_that_do_not_fit_are_refused_before_the_model_is_asked(question):
    asked = []

    def counting(Z):
        asked.append(len(Z))
        return model(Z)

    error = refusal(question, of=counting)
    assert not asked
    assert (error.code, error.argument) == ("D33", "resources")
    assert re.search(r"700 rows need [0-9.]+ MiB; memory_limit allows 8\.0 MiB", str(error))
    assert "Evaluations of the model take" in str(error)


@pytest.mark.parametrize("question", [*QUESTIONS, "mplot-pdp", "coe", "cice-mplot"])
@pytest.mark.parametrize("limit", [3 * MB, 8 * MB, 15 * MB])
def test_D33_the_rows_that_a_refusal_names_fit_and_few_more_do(question, limit):
    rows = named(refusal(question, limit), "max_samples")
    limits = gx.Resources(memory_limit=limit, max_grid=None, max_evaluations=10**9)
    assert 50 < rows < 700
    g = paper(model, question, resources=limits, max_samples=rows, max_depth=1).fit(X, Y)
    assert len(g.diagnostics_["rows"]["search"]) == rows
    with pytest.raises(gx.ResourceError, match="D33"):
        paper(model, question, resources=limits, max_samples=rows + rows // 10).fit(X, Y)


@pytest.mark.parametrize("question", ["ice-pdp", "sobol", "cfi-pfi"])
def test_D33_the_grid_that_a_refusal_names_fits(question):
    size = named(refusal(question), "max_grid")
    limits = gx.Resources(memory_limit=8 * MB, max_grid=size)
    g = paper(model, question, resources=limits, max_samples=None, max_depth=1).fit(X, Y)
    assert size == 16
    assert g.diagnostics_["plan"]["values"] == dict.fromkeys(["x0", "x1", "x2", "x3"], 16)


def test_D33_a_grid_is_named_only_where_it_is_defined_and_helps():
    assert named(refusal("shap-pdp"), "max_grid") is None
    many = rng.normal(size=(20_000, 4))
    assert named(refusal("ice-pdp", X=many, y=None), "max_grid") is None


def test_D33_on_a_grid_the_rows_that_a_refusal_names_fit():
    many = np.round(np.exp(2 * rng.normal(size=(20_000, 4))))  # few values hold most of the rows
    limits = gx.Resources(memory_limit=8 * MB, max_grid=64)
    with pytest.raises(gx.ResourceError, match="D33") as caught:
        paper(model, resources=limits, max_samples=None).fit(many)
    rows = named(caught.value, "max_samples")
    paper(model, resources=limits, max_samples=rows, max_depth=1).fit(many)
    assert rows > 1000


def test_D33_all_outputs_count():
    classifier = HistGradientBoostingClassifier(max_iter=5).fit(X, np.digitize(Y, [-0.5, 0.5]))
    limit = refused_limit(classifier, "all")
    assert limit > 1.5 * refused_limit(classifier, 0)
    resources = gx.Resources(memory_limit=limit, max_grid=None)
    g = paper(classifier, output="all", resources=resources, max_samples=None, max_depth=1).fit(X)
    assert len(g.outputs_) == 3


def refused_limit(classifier, output):
    limits = gx.Resources(memory_limit=MB, max_grid=None)
    with pytest.raises(gx.ResourceError, match="D33") as caught:
        paper(classifier, output=output, resources=limits, max_samples=None).fit(X)
    return named(caught.value, "memory_limit")


def test_D33_new_rows_that_do_not_fit_are_refused_with_the_rows_that_do():
    limits = gx.Resources(memory_limit=8 * MB, max_grid=None)
    g = paper(model, resources=limits, max_samples=200, holdout=False, max_depth=1).fit(X)
    with pytest.raises(gx.ResourceError, match="D33: 700 rows need") as caught:
        g.evaluate(X)
    rows = named(caught.value, "max_samples")
    assert sum(g.evaluate(X[:rows]).counts) == rows


@pytest.fixture(scope="module")
def bike(data_folder):
    X, y = gx.datasets.load_bike_sharing(as_frame=False)
    return X, y, HistGradientBoostingRegressor(max_iter=100, random_state=0).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["ice-pdp", "sobol", "cfi-pfi"])
def test_D33_all_hours_of_bike_stay_within_the_limit_that_is_just_enough(bike, question):
    X, y, trees = bike
    fitted(question, 2**29, X=X[:3000], y=y[:3000], of=trees)  # loads what is compiled
    limit = named(refusal(question, 32 * MB, X=X, y=y, of=trees), "memory_limit")
    peak, small = peak_of(question, limit, X=X, y=y, of=trees)
    assert peak <= 1.1 * limit, (limit, peak)
    large = fitted(question, 4 * limit, X=X, y=y, of=trees)
    assert [str(rule) for rule in small.partition_.rules] == [
        str(rule) for rule in large.partition_.rules
    ]


def test_the_plan_says_what_each_stage_takes():
    found = fitted("shap-pdp", 64 * MB, max_depth=1)
    said = found.diagnostics_["plan"]
    assert said["memory_limit"] == 64 * MB
    assert said["evaluations"]["bytes"] == found.diagnostics_["bytes"]
    assert said["evaluations"]["rows"] == sum((700, 4 * 700**2, 3 * 700**2))
    assert said["attributions"]["bytes"] == 8 * 4 * 700**2
    assert said["search"] == {
        "block_bytes": 16 * MB,
        "candidate_bytes": said["search"]["candidate_bytes"],
    }
    assert 0 < said["search"]["candidate_bytes"] < 2 * MB
    assert 30 * 700 * 4 < said["table"]["bytes"] < 2 * MB


def test_the_plan_can_be_had_without_the_fit():
    granite = paper(
        model, "shap-pdp", max_samples=None, resources=gx.Resources(memory_limit=64 * MB)
    )
    found, said = granite.plan(X), fitted("shap-pdp", 64 * MB, max_depth=1).diagnostics_["plan"]
    assert found["rows"] == 700
    assert found["model_rows"] > 7 * 700**2
    for key in found.keys() - {"seconds"}:
        assert found[key] == said[key], key


@pytest.mark.parametrize("options", [{}, {"confidence_level": 0.95, "holdout": False}])
def test_D33_a_plan_is_refused_as_the_fit_would_be(options):
    limits = gx.Resources(memory_limit=MB)
    granite = paper(model, max_samples=None, resources=limits, **options)
    with pytest.raises(gx.ResourceError, match="D33: 700 rows need") as of_fit:
        granite.fit(X)
    with pytest.raises(gx.ResourceError, match="D33") as of_plan:
        granite.plan(X)
    assert str(of_plan.value) == str(of_fit.value)


def test_D33_what_cells_of_a_pilot_need_is_known_before_the_pilot():
    """The limit that is named is enough, and one byte less is refused before the model is asked."""
    asked = []

    def counting(Z):
        asked.append(len(Z))
        return model(Z)

    def cells(limit):
        return gx.Granite(
            counting, max_samples=None, max_depth=1, resources=gx.Resources(memory_limit=limit)
        ).fit(X)

    with pytest.raises(gx.ResourceError, match="D33") as caught:
        cells(MB)
    limit = named(caught.value, "memory_limit")
    with pytest.raises(gx.ResourceError, match="D33"):
        cells(limit - 1)
    assert asked == []
    assert cells(limit).diagnostics_["plan"]["values"]["x0"] == 16


@pytest.mark.parametrize(
    "of", [model, HistGradientBoostingRegressor(max_iter=5).fit(X, Y)], ids=["function", "trees"]
)
def test_nothing_of_the_evaluations_outlives_the_estimator(of):
    """Not even in a cycle that the collector would find some day: another fit would not know of that memory."""
    gc.collect()
    gc.disable()
    try:
        found = paper(of, "cfi-pfi", max_depth=2).fit(X[:200], Y[:200])
        run = vars(found)["_run"]
        matrices = [weakref.ref(matrix.values) for matrix in run.evaluations.matrices.values()]
        assert len(matrices) > 1
        del run, found
        assert [matrix() for matrix in matrices] == [None] * len(matrices)
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 2])
def test_a_child_is_cut_out_when_it_is_grown_and_dropped_before_its_sibling(beam, monkeypatch):
    cut, most = [], []
    divide = Evaluations.divide

    def noting(*arguments):
        gc.collect()
        alive = sum(each() is not None for each in cut)
        most.append(alive)
        side = divide(*arguments)
        cut.append(weakref.ref(next(iter(side.matrices.values()))))
        return side

    monkeypatch.setattr(Evaluations, "divide", noting)
    paper(model, max_depth=3, alpha=0.0, search="greedy", beam=beam, min_samples_leaf=5).fit(
        X[:200]
    )
    assert len(most) > 3
    assert max(most) == 1  # of two levels below the root, the one above


@pytest.mark.parametrize("block", [1, 1000, 10**5])
@pytest.mark.parametrize("batch", [None, 7])
def test_blocks_of_evaluations_do_not_change_them(block, batch):
    """A block may hold several values, or only some rows of one."""
    table = tables.read_table(X[:60], missing="error")
    predictor = gx.models.as_predictor(model, batch_size=batch)
    distinct = DistinctValues(*table.distinct([1]))
    plain = evaluate_matrix(predictor, table, frozenset({1}), distinct)
    parts = evaluate_matrix(predictor, table, frozenset({1}), distinct, block)
    np.testing.assert_array_equal(parts, plain)


def test_slices_hold_a_line_at_least():
    assert list(slices(5, 50, block=100)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert len(list(slices(3, 50, block=10))) == 3


def test_D33_what_does_not_fit_is_refused_with_numbers_and_remedies():
    limits = Resources(memory_limit=2**20)
    needs = MemoryNeeds(table=3 * 2**20, evaluations=11 * 2**20, candidate=2**20)
    with pytest.raises(gx.ResourceError) as caught:
        require_budget(limits, needs, 1234, ["fewer rows (max_samples=7)"])
    assert caught.value.code == "D33"
    assert caught.value.message.startswith(
        "1,234 rows need 24.0 MiB; memory_limit allows 1.0 MiB. Evaluations of the model take 11.0 MiB, "
        "the table and the plan 4.0 MiB, the search 1.0 MiB for each candidate."
    )
    enough = needs.least_limit
    higher = f"a higher limit (Resources(memory_limit={enough}))"
    assert caught.value.hint == f"fewer rows (max_samples=7), or {higher}"
    with pytest.raises(gx.ResourceError) as caught:
        require_budget(limits, needs, 1234)
    assert caught.value.hint == higher


@given(
    table=st.integers(0, 2**28),
    evaluations=st.integers(0, 2**31),
    candidate=st.integers(0, 2**26),
)
def test_D33_the_least_limit_is_enough_and_no_smaller_one_is(table, evaluations, candidate):
    needs = MemoryNeeds(table, evaluations, candidate)
    least = Resources(memory_limit=needs.least_limit)
    require_budget(least, needs, 1)
    staying = 2**20 + table + evaluations
    assert staying + least.memory_limit // 4 + least.block <= least.memory_limit + 8
    assert candidate <= least.memory_limit // 4
    with pytest.raises(gx.ResourceError, match="D33"):
        require_budget(Resources(memory_limit=needs.least_limit - 1), needs, 1)


@pytest.mark.parametrize(
    "options", [{}, {"influence": "interaction"}, {"resources": gx.Resources(max_grid=8)}]
)
def test_the_plan_is_what_the_fit_then_does(options):
    """Bytes that are kept and rows that are sent, those of the probe included."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    granite = paper(lambda X: X[:, 0] * X[:, 1] * X[:, 2], max_depth=1, **options)
    found = granite.plan(X)
    fitted = granite.fit(X).diagnostics_
    assert found["bytes"] == fitted["bytes"]
    assert found["model_rows"] == fitted["plan"]["evaluations"]["rows"] + PROBED_ROWS
    # Of 40 rows the probe sends fewer; the check of a grid of quantiles asks about some rows again.
    sent = fitted["model"]["rows"] + PROBED_ROWS - (4 * 40 + 7)
    assert 0 <= sent - found["model_rows"] <= (20 if "resources" in options else 0)


@pytest.mark.parametrize(
    ("count", "text"), [(1000, "1,000 bytes"), (2**20, "1.0 MiB"), (2**31, "2,048.0 MiB")]
)
def test_bytes_are_written_as_a_person_reads_them(count, text):
    assert bytes_text(count) == text
