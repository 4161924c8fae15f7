"""A local cluster behind `joblib.parallel_config(backend="dask")`: the same numbers; workers may die (N04, R03)."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

from granite_xai.base.errors import ResourceError
from granite_xai.compute import jobs, map_blocks, resolve_jobs
from strategies import paper

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning"),
]
X = np.random.default_rng(0).normal(size=(300, 3))
OPTIONS = {"min_samples_leaf": 5, "alpha": 0.01, "max_depth": 2, "max_candidates": 60}


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes; a task that ends its process is lost at once."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
        joblib.parallel_config(backend="dask"),
    ):
        yield client


@pytest.fixture(autouse=True)
def two_workers(cluster):
    """Both are there again: with one alone the work would be done in this process."""
    cluster.wait_for_workers(2, timeout=60)
    assert resolve_jobs(None) == 2


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks of candidates, so that two workers have something to share."""
    from granite_xai.search import scoring as tree

    monkeypatch.setattr(tree, "BLOCK", 2**12)


def model(X):
    return np.sin(X[:, 0] * X[:, 1]) + np.exp(X[:, 0] * X[:, 2] / 3) + X[:, 1] / 7


def bits(g):
    numbers = [g.disagreement_, g.remaining_, g.fidelity_, *g.predict(X)]
    return [g.partition_.to_dict(), np.array(numbers).tobytes()]


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "sobol", "cfi-pfi"])
def test_N04_bitwise_equal_on_a_cluster(question, cluster, monkeypatch):
    sent = []
    monkeypatch.setattr(
        jobs, "_collect", lambda *rest, collect=jobs._collect: (sent.append(1), collect(*rest))
    )
    alone = paper(model, question, n_jobs=1, **OPTIONS).fit(X, X[:, 0])
    assert not sent
    together = paper(model, question, **OPTIONS).fit(X, X[:, 0])
    assert sent
    assert bits(together) == bits(alone)


def deadly(folder, times):
    """Squares numbers; the worker that meets the number 5 is killed so many times."""

    def square(task):
        import os
        from pathlib import Path

        deaths = len(list(Path(folder).iterdir()))
        if task == 5 and deaths < times:
            (Path(folder) / str(deaths)).touch()
            os._exit(1)
        return task * task

    return square


def test_R03_the_work_of_a_lost_worker_is_done_once_more(cluster, tmp_path):
    assert map_blocks(deadly(tmp_path, 1), range(8)) == [task * task for task in range(8)]
    assert len(list(tmp_path.iterdir())) == 1


def test_R03_a_second_loss_is_an_error_that_names_the_block(cluster, tmp_path):
    with pytest.raises(ResourceError, match=r"R03: .*block without a result is \d of 8"):
        map_blocks(deadly(tmp_path, 2), range(8))
    assert map_blocks(abs, [-1, -2]) == [1, 2]
