"""Threads: as many as were asked for, results in order and bitwise equal."""

from __future__ import annotations

import time

import joblib
import numpy as np
import pytest

from granite_xai.base.errors import InputError
from granite_xai.base.parallel import in_threads, one_blas_thread, resolve_jobs


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

    assert in_threads(slow_first, range(8), resolve_jobs(n_jobs)) == [
        task * task for task in range(8)
    ]


def test_N04_products_are_bitwise_equal_for_any_number_of_jobs():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(300, 700)), rng.normal(size=(700, 257))
    blocks = [slice(0, 150), slice(150, 300)]
    with one_blas_thread():
        results = [in_threads(lambda rows: left[rows] @ right, blocks, jobs) for jobs in (1, 2)]
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
