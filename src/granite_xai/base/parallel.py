"""Threads whose number changes no result, one thread of linear algebra, and bars that show how far long work is."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, copy_context
from functools import lru_cache
from typing import Any, TypeVar

from granite_xai.base.errors import InputError
from granite_xai.base.limits import Resources
from granite_xai.base.numbers import duration

Task = TypeVar("Task")
Result = TypeVar("Result")
Item = TypeVar("Item")

LONG = 60.0
"""Seconds from which a fit says at once that it will take long."""

DELAY = 1.0
"""Seconds of work that shows no bar."""

SOON = 1.5
"""Seconds after which the bar is there, also where the first of the items takes long."""


# Threads of ours ---------------------------------------------------------------------------------------


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
        # Processes and clusters are for the model (`models.workers`): the search has threads.
        count_threads = ThreadingBackend().effective_n_jobs
        if n_jobs is None:
            n_jobs = configured_jobs
    if n_jobs is None:
        return int(count_threads(None))
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        hint = "pass None, a positive number of threads, or -1 for all processors"
        raise InputError(
            f"n_jobs={n_jobs!r} is no number of threads: {hint}.",
            code="P08",
            argument="n_jobs",
            hint=hint,
        )
    if n_jobs == 1:
        return 1
    return min(int(count_threads(int(n_jobs))), int(count_threads(-1)))


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


# Threads of libraries ----------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _libraries(user_api: str, _n_modules: int) -> Any:
    """A controller of the threads of the libraries of one kind that are loaded.

    To look for them takes milliseconds: only when modules have come or gone.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api=user_api)


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Run the enclosed call on one thread of OpenMP: threads cost more than they bring where work is little.

    OpenMP counts threads for each of ours, so this concerns no call of another one.
    """
    # Not by the controller's own limit, which takes a tenth of a millisecond.
    libraries = _libraries("openmp", len(sys.modules)).lib_controllers
    numbers = [library.get_num_threads() for library in libraries]
    try:
        for library in libraries:
            library.set_num_threads(1)
        yield
    finally:
        for library, number in zip(libraries, numbers, strict=True):
            library.set_num_threads(number)


class _BlasPin:
    """Holds BLAS at one thread while anyone needs it.

    The threads of BLAS belong to the process: of several fits, the first to end must not give the
    others their threads back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holds = 0
        self._blas: Any = None
        self._limit: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Run the enclosed products on one BLAS thread."""
        with self._lock:
            if self._holds == 0:
                self._blas = _libraries("blas", len(sys.modules))
                self._limit = self._blas.limit(limits=1)
            self._holds += 1
        try:
            yield
        finally:
            with self._lock:
                self._holds -= 1
                if self._holds == 0:
                    self._limit.restore_original_limits()
                # threadpoolctl (from 3.7 on) lets only one thread change OpenBLAS, until it says so.
                for library in self._blas.lib_controllers:
                    if hasattr(library, "clear_controlling_thread"):
                        library.clear_controlling_thread()


one_blas_thread = _BlasPin().held


# Bars ---------------------------------------------------------------------------------------------------


def progress(
    items: Iterable[Item], resources: Resources, desc: str, total: int | None = None
) -> Iterator[Item]:
    """Pass the items on and show how far the work is, once it has taken longer than a second.

    Parameters
    ----------
    items : iterable
        The work.
    resources : Resources
        Whether to show anything.
    desc : str
        What is done.
    total : int, optional
        How many items there are, where ``items`` has no length.
    """
    if not _is_shown(resources):
        yield from items
        return
    with _bar(items, desc=desc, total=total) as bar:
        yield from bar


class Meter:
    """Shows how many rows a model has answered, or how many steps of other work are done.

    Parameters
    ----------
    resources : Resources
        Whether to show anything.
    total : int
        How many there will be; 0: not known.
    desc, unit : str
        What is done, and what is counted.
    """

    def __init__(
        self, resources: Resources, total: int, desc: str = "evaluations", unit: str = "rows"
    ) -> None:
        self._total = total
        self._bar: Any = None
        if _is_shown(resources):
            self._bar = _bar(desc=desc, total=total or None, unit=f" {unit}", unit_scale=True)

    def __call__(self, rows: float) -> None:
        """Take note of so many more rows."""
        if self._bar is not None:
            self._bar.update(rows)

    def announce(self, seconds_per_row: float) -> None:
        """Say at once what will take long, and what takes a minute; only where a bar is shown."""
        seconds = self._total * seconds_per_row
        if self._bar is None or seconds <= LONG:
            return
        rows_in_a_minute = round_down(LONG / seconds_per_row)
        self._bar.write(
            f"The model is asked about {self._total:,} rows, "
            f"which takes about {duration(seconds)}. "
            f"Resources(max_evaluations={rows_in_a_minute}) takes about a minute, "
            "with fewer rows of the table.",
            file=sys.stderr,
        )

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def _is_shown(resources: Resources) -> bool:
    if resources.progress != "auto":
        return resources.progress
    if "ipykernel" in sys.modules:  # a notebook is a screen although its stream is no terminal
        return True
    stream = sys.stderr
    return stream is not None and not stream.closed and stream.isatty()


def _bar(items: Iterable[Any] | None = None, **options: Any) -> Any:
    from tqdm.auto import tqdm

    bar = tqdm(items, delay=DELAY, leave=False, **options)
    timer = threading.Timer(SOON, bar.refresh)  # a bar that was closed stays away
    timer.daemon = True
    timer.start()
    return bar


def round_down(count: float) -> int:
    """A number of one digit and zeros that is not larger, at least 1,000."""
    if count < 1000:
        return 1000
    power = 10 ** int(math.log10(count))
    return int(count // power * power)
