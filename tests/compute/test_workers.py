"""The joblib backend that is active: which one counts, how many workers it has, results in order."""

from __future__ import annotations

import os

import joblib
import numpy as np
import pytest
from joblib.parallel import MultiprocessingBackend

from granite_xai.compute import map_blocks, resolve_jobs
from granite_xai.compute.workers import active_backend, count_workers, results_from_workers

SHARED = np.arange(3)


class LikeRay(MultiprocessingBackend):
    """Ray's backend derives from that of processes made by fork, and makes none."""


@pytest.fixture
def loky():
    """Three processes, which are ended again afterwards."""
    from joblib.externals.loky import get_reusable_executor

    with joblib.parallel_config("loky", n_jobs=3):
        yield
    get_reusable_executor().shutdown(wait=True, kill_workers=True)


def test_a_backend_counts_only_if_the_user_made_it_active():
    assert active_backend() is None
    with joblib.parallel_config(n_jobs=4):
        assert active_backend() is None
    with joblib.parallel_config("threading", n_jobs=4):
        assert active_backend() is None
    with joblib.parallel_config("loky", n_jobs=4):
        assert active_backend() is not None


def test_M16_processes_made_by_fork_are_never_used():
    with joblib.parallel_config("multiprocessing", n_jobs=4):
        assert active_backend() is None
        assert count_workers(4) == 1
    joblib.register_parallel_backend("like ray", LikeRay)
    with joblib.parallel_config("like ray", n_jobs=4):
        assert active_backend() is not None


def test_the_number_of_workers_is_that_of_the_option_or_of_the_context():
    assert count_workers(None) == 1
    assert count_workers(3) == 1
    with joblib.parallel_config("loky", n_jobs=3):
        assert count_workers(None) == 3
        assert count_workers(1) == 1
        assert count_workers(2) == 2
    with joblib.parallel_config("loky"):
        assert count_workers(None) == 1


def test_the_search_has_no_more_threads_than_processors_while_workers_are_active():
    with joblib.parallel_config("loky", n_jobs=10_000):
        assert resolve_jobs(None) == joblib.cpu_count()
        assert resolve_jobs(10_000) == joblib.cpu_count()
        assert resolve_jobs(1) == 1
    with joblib.parallel_config("loky"):
        assert resolve_jobs(None) == 1


def test_blocks_of_the_search_stay_in_this_process():
    with joblib.parallel_config("loky", n_jobs=2):
        assert set(map_blocks(lambda _: os.getpid(), range(8))) == {os.getpid()}


def power(shared, task):
    return shared[task % 3] + task**2, os.getpid()


def test_results_come_in_the_order_of_the_tasks(loky):
    results = list(results_from_workers(power, SHARED, range(20), workers=3))
    assert [result for result, _ in results] == [SHARED[k % 3] + k**2 for k in range(20)]
    assert os.getpid() not in {process for _, process in results}
