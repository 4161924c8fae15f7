"""A model of 2 ms a row on a Dask cluster: more workers, and one that is killed on the way.

The model sleeps, so that workers need no cores. Needs `dask[distributed]`.
"""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib
import numpy as np

import granite_xai as gx

SECONDS_PER_ROW = 2e-3


def rows(quick: bool, jobs: int) -> Iterator[dict[str, Any]]:
    """One line a number of workers; the first is the model in this process."""
    X = np.random.default_rng(0).normal(size=(200 if quick else 600, 3)).round(1)
    alone = _measure(X, workers=1, killed=0)
    yield _line(alone, alone)
    for workers, killed in ((2, 0), (4, 0), (4, 1)):
        yield _line(_measure(X, workers=workers, killed=killed), alone)


def _line(measured: dict[str, Any], alone: dict[str, Any]) -> dict[str, Any]:
    return {
        **measured,
        "times_as_fast": alone["seconds"] / measured["seconds"],
        "same_bits": measured["figures"] == alone["figures"],
    }


def _measure(X: Any, workers: int, killed: int) -> dict[str, Any]:
    """A fit with so many workers, some of which are killed while they are asked."""
    with _cluster(workers) as client, joblib.parallel_config("dask"):
        victims = list(client.run(os.getpid).values())[:killed]
        killer = threading.Timer(3.0, _kill, [victims])
        killer.start()
        begin = time.perf_counter()
        g = _fit(X)
        seconds = time.perf_counter() - begin
        killer.join()
    model = g.diagnostics_["model"]
    return {
        "workers": workers,
        "killed": killed,
        "model_rows": model["rows"],
        "model_seconds": model["seconds"],
        "seconds": seconds,
        "figures": _digest(g),
    }


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    local = LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with local, Client(local) as client:
        yield client


def _kill(processes: list[int]) -> None:
    for process in processes:
        os.kill(process, signal.SIGKILL)


def _fit(X: Any) -> gx.Granite:
    def model(X: Any) -> Any:
        time.sleep(SECONDS_PER_ROW * len(X))
        return X[:, 0] * (X[:, 1] > 0) + X[:, 2]

    limits = gx.Resources(max_grid=16, progress=False)
    return gx.Granite(model, max_samples=None, holdout=False, resources=limits).fit(X)


def _digest(g: gx.Granite) -> str:
    """A short name of the tree and of every figure, bit for bit."""
    figures = np.array([g.disagreement_, g.remaining_, g.estimate_.remaining])
    digest = hashlib.sha256(repr(g.partition_.to_dict()).encode())
    digest.update(figures.tobytes())
    return digest.hexdigest()[:12]
