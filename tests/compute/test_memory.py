"""Memory: what a fit holds at most for its limit (`tracemalloc`, the model's own excluded), and what it leaves."""

from __future__ import annotations

import gc
import os
import tempfile
import tracemalloc
import weakref

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
from granite_xai import tables
from granite_xai.compute import Budget, Workspace
from granite_xai.evaluations.agnostic import evaluate_matrix
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.plan import Distinct
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


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "sobol", "variance", "cfi-pfi"])
def test_D33_a_fit_stays_within_its_limit_and_spills_the_rest(question):
    fitted(question, 8 * MB, max_depth=2)  # whatever is loaded or compiled once
    peak, small = peak_of(question, 8 * MB, max_depth=2)
    assert small.diagnostics_["bytes"] > 12 * MB
    assert small.diagnostics_["memory"]["spilled"] > 8 * MB
    assert small.diagnostics_["memory"]["held"] <= 4 * MB
    assert peak <= 1.1 * 8 * MB
    large = fitted(question, 2**30, max_depth=2)
    assert large.diagnostics_["memory"]["spilled"] == 0
    assert [str(rule) for rule in small.partition_.rules] == [
        str(rule) for rule in large.partition_.rules
    ]
    assert small.remaining_ == pytest.approx(large.remaining_, rel=1e-10)


@pytest.fixture(scope="module")
def bike(data_folder):
    X, y = gx.datasets.load_bike_sharing(as_frame=False)
    return X, y, HistGradientBoostingRegressor(max_iter=100, random_state=0).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("question", ["ice-pdp", "sobol", "cfi-pfi"])
def test_D33_all_hours_of_bike_stay_within_64_256_and_1024_megabytes(bike, question):
    X, y, trees = bike
    fitted(question, 2**29, X=X[:300], y=y[:300], of=trees)
    found = []
    for limit in (64 * MB, 256 * MB, 1024 * MB):
        peak, granite = peak_of(question, limit, X=X, y=y, of=trees)
        assert peak <= 1.1 * limit, (limit, peak)
        found.append(granite)
    assert (
        found[0].diagnostics_["memory"]["spilled"] > 0 == found[2].diagnostics_["memory"]["spilled"]
    )
    rules = [[str(rule) for rule in granite.partition_.rules] for granite in found]
    assert rules[0] == rules[1] == rules[2]


def test_the_plan_says_what_each_stage_takes():
    found = fitted("shap-pdp", 8 * MB, max_depth=1)
    said = found.diagnostics_["plan"]
    assert said["memory_limit"] == 8 * MB
    assert said["evaluations"]["bytes"] == found.diagnostics_["bytes"]
    assert said["evaluations"]["rows"] == sum((700, 4 * 700**2, 3 * 700**2))
    assert said["attributions"]["bytes"] == 8 * 4 * 700**2
    assert not said["evaluations"]["in_memory"]
    assert 0 < said["evaluations"]["spilled_bytes"] <= found.diagnostics_["memory"]["spilled"]
    assert said["search"] == {
        "block_bytes": 2 * MB,
        "candidate_bytes": said["search"]["candidate_bytes"],
    }
    assert 0 < said["search"]["candidate_bytes"] < 2 * MB
    assert 30 * 700 * 4 < said["table"]["bytes"] < 2 * MB


def test_the_plan_can_be_had_without_the_fit():
    granite = paper(
        model, "shap-pdp", max_samples=None, resources=gx.Resources(memory_limit=8 * MB)
    )
    found, said = granite.plan(X), fitted("shap-pdp", 8 * MB, max_depth=1).diagnostics_["plan"]
    changing = {"seconds", "sentence", "max_evaluations"}
    assert {key: found[key] for key in found.keys() - changing} == {
        key: said[key] for key in said.keys() - changing
    }
    assert found["evaluations"]["spilled_bytes"] > 0


@pytest.mark.skipif(os.name != "posix", reason="files have names until they are closed")
def test_R01_a_fit_that_spills_never_has_a_file_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []

    def looking(X):
        seen.append(list(tmp_path.iterdir()))
        return model(X)

    found = fitted("ice-pdp", 8 * MB, of=looking, max_depth=1)
    assert found.diagnostics_["memory"]["spilled"] > 0
    assert len(seen) > 10
    assert not any(seen)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "of", [model, HistGradientBoostingRegressor(max_iter=5).fit(X, Y)], ids=["function", "trees"]
)
def test_nothing_of_the_evaluations_outlives_the_estimator(of, monkeypatch):
    """Not even in a cycle that the collector would find some day: another fit would not know of that memory."""
    spaces = []
    monkeypatch.setattr(
        Workspace,
        "__init__",
        lambda self, *a, make=Workspace.__init__: (make(self, *a), spaces.append(self))[0],
    )
    gc.collect()
    gc.disable()
    try:
        found = paper(of, "cfi-pfi", max_depth=2).fit(X[:200], Y[:200])
        assert len(found.partition_) >= 1
        del found
        assert [space.held + space.spilled for space in spaces if space.most_held > 10**5] == [0]
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
    distinct = Distinct(*table.distinct([1]))
    plain = evaluate_matrix(predictor, table, frozenset({1}), distinct)
    parts = evaluate_matrix(predictor, table, frozenset({1}), distinct, Workspace(0, block))
    np.testing.assert_array_equal(parts, plain)


def test_a_budget_is_divided_and_a_large_table_takes_from_the_evaluations():
    budget = Budget(800, 60)
    assert (budget.evaluations, budget.search, budget.block) == (400, 200, 100)
    assert Budget(800, 300).evaluations == 200


def test_slices_hold_a_line_at_least():
    assert list(Workspace(block=100).slices(5, 50)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert len(list(Workspace(block=10).slices(3, 50))) == 3
