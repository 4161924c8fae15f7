"""Limits of a run, threads, progress."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import pickle
import sys
import threading
import time
from types import ModuleType

import joblib
import numpy as np
import pytest
import threadpoolctl
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.base.errors import InputError, ResourceError
from granite_xai.compute import (
    MemoryNeeds,
    Resources,
    in_threads,
    map_blocks,
    one_blas_thread,
    progress,
    require_budget,
    require_evaluations,
    resolve_jobs,
)
from granite_xai.compute.jobs import _BlasPin
from granite_xai.evaluations.probe import PROBED_ROWS
from strategies import paper


def test_the_defaults_are_those_of_the_public_face():
    assert Resources() == Resources(
        memory_limit=2**29,
        max_seconds=None,
        max_evaluations=None,
        max_grid="auto",
        batch_size=None,
        dtype="float64",
        device="cpu",
        progress="auto",
    )


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("memory_limit", 0),
        ("memory_limit", 1.5),
        ("max_evaluations", -1),
        ("max_evaluations", True),
        ("max_grid", 1),
        ("max_grid", 2.0),
        ("batch_size", 0),
        ("batch_size", "all"),
        ("batch_size", float("nan")),
    ],
)
def test_P02_numbers_out_of_range_are_named(option, value):
    with pytest.raises(InputError) as caught:
        Resources(**{option: value})
    assert caught.value.code == "P02"
    assert caught.value.argument == option


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("dtype", "float16"),
        ("device", "gpu"),
        ("progress", "yes"),
        ("progress", None),
        ("dtype", None),
    ],
)
def test_P01_unknown_names_list_the_valid_ones(option, value):
    with pytest.raises(InputError, match="Valid") as caught:
        Resources(**{option: value})
    assert caught.value.code == "P01"
    assert caught.value.argument == option


def test_resources_are_values():
    resources = Resources(batch_size=np.int64(8))
    assert pickle.loads(pickle.dumps(resources)) == resources
    with pytest.raises(AttributeError):
        resources.batch_size = 9
    assert hash(Resources()) == hash(Resources())


def test_M13_a_plan_over_the_limit_is_refused_with_rows_and_remedies():
    with pytest.raises(ResourceError) as caught:
        require_evaluations(Resources(max_evaluations=1000), 7_200_000)
    assert caught.value.code == "M13"
    text = str(caught.value)
    for part in (
        "7,200,000 rows",
        "1,000",
        "max_samples=",
        "features=",
        "max_grid=8",
        "max_evaluations=7200000",
    ):
        assert part in text


def test_M13_a_plan_at_the_limit_is_allowed():
    require_evaluations(Resources(max_evaluations=1000), 1000)


def test_D33_what_does_not_fit_is_refused_with_numbers_and_remedies():
    limits = Resources(memory_limit=2**20)
    needs = MemoryNeeds(table=3 * 2**20, evaluations=11 * 2**20, candidate=2**20)
    with pytest.raises(ResourceError) as caught:
        require_budget(limits, needs, 1234, ["fewer rows (max_samples=7)"])
    assert caught.value.code == "D33"
    assert caught.value.message.startswith(
        "1,234 rows need 24.0 MiB; memory_limit allows 1.0 MiB. Evaluations of the model take 11.0 MiB, "
        "the table and the plan 4.0 MiB, the search 1.0 MiB for each candidate."
    )
    enough = needs.least_limit
    higher = f"a higher limit (Resources(memory_limit={enough}))"
    assert caught.value.hint == f"fewer rows (max_samples=7), or {higher}"
    with pytest.raises(ResourceError) as caught:
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
    with pytest.raises(ResourceError, match="D33"):
        require_budget(Resources(memory_limit=needs.least_limit - 1), needs, 1)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True, False, np.float64(2)])
def test_P08_senseless_numbers_of_jobs_are_refused(n_jobs):
    with pytest.raises(InputError) as caught:
        resolve_jobs(n_jobs)
    assert (caught.value.code, caught.value.argument) == ("P08", "n_jobs")


def test_P08_jobs_are_clamped_to_the_processors():
    processors = joblib.cpu_count()
    assert resolve_jobs(-1) == processors
    assert resolve_jobs(10_000) == processors
    assert resolve_jobs(-10_000) == 1
    assert resolve_jobs(np.int64(1)) == 1


def test_jobs_follow_joblibs_context_when_none_are_given():
    assert resolve_jobs(None) == 1
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert resolve_jobs(None) == 2


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_blocks_come_back_in_order(n_jobs):
    def slow_first(task):
        time.sleep(0.02 if task == 0 else 0.0)
        return task * task

    assert map_blocks(slow_first, range(8), n_jobs) == [task * task for task in range(8)]


def test_N04_products_are_bitwise_equal_for_any_number_of_jobs():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(300, 700)), rng.normal(size=(700, 257))
    results = [
        map_blocks(lambda rows: left[rows] @ right, [slice(0, 150), slice(150, 300)], n_jobs)
        for n_jobs in (1, 2)
    ]
    assert all(np.array_equal(one, two) for one, two in zip(*results, strict=True))


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="older ones keep it by thread"
)
def test_threads_ignore_what_the_caller_ignores():
    """NumPy keeps it in the context of a thread; 1e300 squared is more than a number holds."""
    with np.errstate(over="raise"):
        with np.errstate(over="ignore"):
            found = in_threads(np.square, [np.array([1e300]), np.array([2.0])], 2)
        assert np.concatenate(found).tolist() == [np.inf, 4.0]
        with pytest.raises(FloatingPointError, match="overflow"):
            in_threads(np.square, [np.array([1e300]), np.array([2.0])], 2)


def _blas_threads():
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]


def test_blas_has_one_thread_inside_and_its_own_number_after():
    before = _blas_threads()
    assert all(set(inside) == {1} for inside in map_blocks(lambda _: _blas_threads(), range(3), 2))
    assert _blas_threads() == before


def test_libraries_are_looked_for_again_only_when_modules_have_come(monkeypatch):
    looked, look = [], threadpoolctl.ThreadpoolController.__init__
    monkeypatch.setattr(
        threadpoolctl.ThreadpoolController, "__init__", lambda self: looked.append(look(self))
    )
    pin = _BlasPin()
    for times, name in ((1, None), (1, None), (2, "a_module_that_comes_later"), (2, None)):
        if name is not None:
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        with pin.held():
            assert len(looked) == times


@pytest.mark.parametrize("first", ["this thread", "another thread"])
def test_blas_stays_pinned_until_the_last_of_several_threads_is_done(first):
    before = _blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with one_blas_thread():
            entered.set()
            leave.wait(5)

    other = threading.Thread(target=hold)
    if first == "another thread":
        other.start()
        entered.wait(5)
    with one_blas_thread(), one_blas_thread():
        if first == "this thread":
            other.start()
            entered.wait(5)
    assert set(_blas_threads()) == {1}
    leave.set()
    other.join()
    assert _blas_threads() == before


def test_an_error_in_a_block_reaches_the_caller_and_releases_blas():
    before = _blas_threads()
    for n_jobs in (1, 2):
        with pytest.raises(ZeroDivisionError):
            map_blocks(lambda task: 1 // task, [1, 0], n_jobs)
    assert _blas_threads() == before


@pytest.mark.parametrize("shown", [True, False, "auto"])
def test_progress_passes_the_items_on(shown, capsys):
    assert list(progress(iter("abc"), Resources(progress=shown), "search", total=3)) == [
        "a",
        "b",
        "c",
    ]
    assert capsys.readouterr() == ("", "")


def test_progress_appears_on_stderr_after_a_second(capsys):
    for _ in progress(range(2), Resources(progress=True), "evaluations", total=2):
        time.sleep(0.6)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "evaluations" in captured.err


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_R15_progress_needs_no_terminal(monkeypatch, stream):
    monkeypatch.setattr("sys.stderr", stream)
    assert list(progress([1, 2], Resources(), "search")) == [1, 2]


@pytest.mark.parametrize(
    ("absent", "said"),
    [
        ("torch", "torch is not installed"),
        ("array_api_compat", "array-api-compat is not installed"),
    ],
)
def test_R08_a_device_without_its_packages_is_refused_before_the_model_is_asked(
    monkeypatch, absent, said
):
    find = importlib.util.find_spec
    there = importlib.machinery.ModuleSpec("there", None)
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *rest: (
            None if name == absent else there if name == "torch" else find(name, *rest)
        ),
    )
    calls = []
    model = paper(lambda X: calls.append(1) or X[:, 0], resources=gx.Resources(device="cuda"))
    with pytest.raises(gx.ResourceError, match=f"R08.*{said}") as caught:
        model.fit(np.zeros((5, 2)))
    assert caught.value.argument == "device"
    assert not calls


@pytest.mark.parametrize(
    ("built", "said"),
    [(None, "this torch was built without CUDA"), ("13.0", "torch finds no CUDA device")],
)
def test_R08_torch_without_a_device_is_refused_before_the_model_is_asked(monkeypatch, built, said):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    monkeypatch.setattr(torch.version, "cuda", built)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    calls = []
    with pytest.raises(gx.ResourceError, match=f"R08.*{said}"):
        paper(lambda X: calls.append(1) or X[:, 0], resources=gx.Resources(device="cuda")).fit(
            np.zeros((5, 2))
        )
    assert not calls


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
