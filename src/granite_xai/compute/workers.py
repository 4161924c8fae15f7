"""Workers: the processes or the machines of the joblib backend that a user has made active."""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError
from contextlib import closing
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

TASKS_AHEAD = 2  # tasks sent for each worker before the first result is waited for: none is idle
PATIENCE = 10.0  # seconds without a result after which a cluster is asked whether it has workers


class WorkersLostError(Exception):
    """Workers died with the work that they had; what has no result yet can be sent again."""


def active_backend() -> Any | None:
    """The joblib backend of processes or of a cluster; None where there are only threads."""
    # The plain default of joblib is no wish of the user, so that it counts as threads. Processes
    # made by fork are never used (M16); Ray's backend derives from theirs and forks nothing.
    from joblib.parallel import MultiprocessingBackend, get_active_backend

    backend = get_active_backend(prefer="threads")[0]
    if getattr(backend, "supports_sharedmem", False) or type(backend) is MultiprocessingBackend:
        return None
    return backend


def count_workers(n_jobs: int | None) -> int:
    """Workers of the active backend that may be used; 1 where the work stays in this process.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn; None is what `joblib.parallel_config` says. Backends of clusters have
        as many workers as the cluster, whatever the number is, unless it is 1.
    """
    import joblib

    if n_jobs == 1 or active_backend() is None:
        return 1
    return int(joblib.effective_n_jobs(n_jobs))


def results_from_workers(
    function: Callable[[Any, Task], Result], shared: Any, tasks: Iterable[Task], workers: int
) -> Generator[Result]:
    """Results of ``function(shared, task)`` by the workers of the active backend.

    Parameters
    ----------
    function : callable
        Importable where the workers are.
    shared : array
        Sent once to each worker of a Dask cluster; mapped into memory by processes, if it is large.
    tasks : iterable
        Read as workers become free, perhaps in another thread.
    workers : int
        How many there are, see `count_workers`.

    Yields
    ------
    object
        The results in the order of the tasks.

    Raises
    ------
    WorkersLostError
        A worker died. (Dask's scheduler sends its tasks to others first.)
    """
    backend = active_backend()
    client = getattr(backend, "client", None)
    if client is None:
        results = _from_joblib(function, shared, tasks, workers)
    else:
        results = _from_dask(client, function, shared, tasks, workers)
    try:
        with closing(results):
            yield from results
    except _losses() as error:
        raise WorkersLostError(f"{type(error).__name__}: {error}") from error


def _losses() -> tuple[type[BaseException], ...]:
    """What the libraries raise when a worker has died; only those that are loaded can have any."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    losses: list[type[BaseException]] = [BrokenProcessPool]
    if "distributed" in sys.modules:
        from distributed import KilledWorker

        losses += [KilledWorker, CancelledError]
    if "ray" in sys.modules:
        from ray.exceptions import RayActorError, WorkerCrashedError

        losses += [RayActorError, WorkerCrashedError]
    return tuple(losses)


def _from_joblib(
    function: Callable[[Any, Task], Result], shared: Any, tasks: Iterable[Task], workers: int
) -> Generator[Result]:
    import joblib

    parallel = joblib.Parallel(
        n_jobs=workers,
        batch_size=1,
        pre_dispatch=TASKS_AHEAD * workers,
        return_as="generator",
    )
    calls = (joblib.delayed(function)(shared, task) for task in tasks)
    results = parallel(calls)
    try:
        for result in results:  # noqa: UP028 - `yield from` would close them, with the warning
            yield result
    finally:
        with warnings.catch_warnings():
            # joblib regrets the tasks that an error or an interrupt leaves over.
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _from_dask(
    client: Any,
    function: Callable[[Any, Task], Result],
    shared: Any,
    tasks: Iterable[Task],
    workers: int,
) -> Generator[Result]:
    """The same on a Dask cluster, past joblib, which would send ``shared`` with every task."""
    import dask

    try:
        sent = client.scatter(shared, broadcast=True, hash=False)
    except TimeoutError as error:
        raise WorkersLostError("the cluster has no workers") from error
    # A task carries its rows, so that the scheduler can give it to another worker when one dies:
    # the client shall not advise the user against that.
    quiet = {"distributed.admin.large-graph-warning-threshold": "1TB"}
    waiting: deque[Any] = deque()
    try:
        for task in tasks:
            with dask.config.set(quiet):
                waiting.append(client.submit(function, sent, task, pure=False))
            if len(waiting) == TASKS_AHEAD * workers:
                yield _result(client, waiting[0])
                waiting.popleft()
        while waiting:
            yield _result(client, waiting[0])
            waiting.popleft()
    finally:
        client.cancel(list(waiting))  # nobody waits for these after an error or an interrupt


def _result(client: Any, future: Any) -> Any:
    """The result of a task, unless the cluster has no worker left that could find it."""
    while True:
        try:
            return future.result(timeout=PATIENCE)
        except TimeoutError:
            if not client.ncores():
                raise WorkersLostError("the cluster has no workers left") from None
