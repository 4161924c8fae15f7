"""Work on several threads, with results that do not depend on how many."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from typing import TypeVar

from granite_xai.base.errors import InputError
from granite_xai.compute.blas import one_blas_thread

Task = TypeVar("Task")
Result = TypeVar("Result")


def resolve_jobs(n_jobs: int | None) -> int:
    """Threads of the search, counted as in scikit-learn's glossary.

    Parameters
    ----------
    n_jobs : int or None
        None is what `joblib.parallel_config` says, otherwise 1. More than there are processors
        count as all of them; a negative number as all but ``-n_jobs - 1``, at least 1.

    Raises
    ------
    InputError
        P08: not a number of threads.
    """
    import joblib
    from joblib.parallel import ThreadingBackend, get_active_backend

    count_threads: Callable[[int | None], int] = joblib.effective_n_jobs
    backend, configured_jobs = get_active_backend(prefer="threads")
    if not getattr(backend, "supports_sharedmem", False):
        # Processes and clusters are for the model (`compute.workers`): the search has threads.
        count_threads = ThreadingBackend().effective_n_jobs
        if n_jobs is None:
            n_jobs = configured_jobs
    if n_jobs is None:
        return int(count_threads(None))
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        hint = "pass None, a positive number of threads, or -1 for all processors"
        text = f"n_jobs={n_jobs!r} is no number of threads: {hint}."
        raise InputError(text, code="P08", argument="n_jobs", hint=hint)
    if n_jobs == 1:
        return 1
    return min(int(count_threads(int(n_jobs))), int(count_threads(-1)))


def map_blocks(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None = None
) -> list[Result]:
    """Apply a function to every block in threads, with one BLAS thread in each.

    Whatever ``n_jobs`` is, results are bitwise equal (N04).

    Parameters
    ----------
    function : callable
        Of one block.
    tasks : iterable
        The blocks.
    n_jobs : int, optional
        See `resolve_jobs`.

    Returns
    -------
    list
        The results in the order of the blocks.
    """
    with one_blas_thread():
        return in_threads(function, tasks, resolve_jobs(n_jobs))


def in_threads(
    function: Callable[[Task], Result], tasks: Iterable[Task], jobs: int
) -> list[Result]:
    """Apply a function to every task in threads, with the caller's arrays and context.

    Parameters
    ----------
    function : callable
        Of one task.
    tasks : iterable
        What is done; less than two tasks need no threads.
    jobs : int
        Number of threads.

    Returns
    -------
    list
        The results in the order of the tasks.
    """
    tasks = list(tasks)
    if jobs == 1 or len(tasks) < 2:
        return [function(task) for task in tasks]

    def run(context: Context, task: Task) -> Result:
        return context.run(function, task)

    contexts = [copy_context() for _ in tasks]
    pool = ThreadPoolExecutor(max_workers=jobs)  # joblib's own threads would poll for results
    try:
        return list(pool.map(run, contexts, tasks))
    finally:
        # After an interrupt only what has begun is waited for (R01).
        pool.shutdown(cancel_futures=True)
