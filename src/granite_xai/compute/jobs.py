"""Work in blocks on several threads, with results that do not depend on how many."""

from __future__ import annotations

import math
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from typing import Any, TypeVar

from granite_xai.base.errors import InputError
from granite_xai.base.wording import duration
from granite_xai.compute.limits import Resources

Item = TypeVar("Item")
Task = TypeVar("Task")
Result = TypeVar("Result")
LONG = 60.0  # seconds from which a fit says at once that it will take long
SOON = 1.5  # seconds after which a bar is there


def _bar(resources: Resources, items: Iterable[Any] | None = None, **options: Any) -> Any:
    """A bar for work that takes longer than a second; None where nothing is shown."""
    shown, stream = resources.progress, sys.stderr
    if (
        shown == "auto"
    ):  # a log file is not a screen; a notebook is one although its stream is no terminal
        shown = "ipykernel" in sys.modules or (
            stream is not None and not stream.closed and stream.isatty()
        )
    if not shown:
        return None
    from tqdm.auto import tqdm

    bar = tqdm(items, delay=1.0, leave=False, **options)
    late = threading.Timer(
        SOON, bar.refresh
    )  # also where the first of the items takes long; a closed bar stays away
    late.daemon = True
    late.start()
    return bar


def progress(
    items: Iterable[Item], resources: Resources, desc: str, total: int | None = None
) -> Iterator[Item]:
    """Pass the items on and show how far the work is, once it has taken longer than a second."""
    bar = _bar(resources, items, desc=desc, total=total)
    with nullcontext(items) if bar is None else bar as shown:
        yield from shown


class Meter:
    """Shows how many rows a model has answered, or how many steps of other work are done."""

    def __init__(
        self, resources: Resources, total: int, desc: str = "evaluations", unit: str = "rows"
    ) -> None:
        self._total = total
        self._bar = _bar(
            resources, desc=desc, total=total or None, unit=f" {unit}", unit_scale=True
        )

    def __call__(self, rows: float) -> None:
        """Take note of so many more rows."""
        if self._bar is not None:
            self._bar.update(rows)

    def announce(self, seconds_per_row: float) -> None:
        """Say at once what will take long, and how it takes about a minute; only where a bar is shown."""
        rows = self._total
        seconds = rows * seconds_per_row
        if self._bar is None or seconds <= LONG:
            return
        fewer = round_down(LONG / seconds_per_row)
        self._bar.write(
            f"The model is asked about {rows:,} rows, which takes about {duration(seconds)}. "
            f"Resources(max_evaluations={fewer}) takes about a minute, with fewer rows of the table.",
            file=sys.stderr,
        )

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def round_down(count: float) -> int:
    """A number of one digit and zeros that is not larger, at least 1,000."""
    if count < 1000:
        return 1000
    power = 10 ** int(math.log10(count))
    return int(count // power * power)


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
        n_jobs = configured_jobs if n_jobs is None else n_jobs
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
    """Apply a function to every block in threads; the results come in the order of the blocks."""
    # The linear algebra of each block uses one thread whatever ``n_jobs`` is: results are bitwise
    # equal for any of them.
    with one_blas_thread():
        return in_threads(function, tasks, resolve_jobs(n_jobs))


def in_threads(
    function: Callable[[Task], Result], tasks: Iterable[Task], jobs: int
) -> list[Result]:
    """Apply a function to every task in threads, with the caller's arrays and context; few tasks need none."""
    if jobs == 1 or len(tasks := list(tasks)) < 2:
        return [function(task) for task in tasks]
    pool = ThreadPoolExecutor(max_workers=jobs)  # joblib's own threads would poll for results
    try:
        return list(
            pool.map(
                lambda own, task: own.run(function, task), [copy_context() for _ in tasks], tasks
            )
        )
    finally:
        pool.shutdown(
            cancel_futures=True
        )  # after an interrupt only what has begun is waited for (R01)


class _BlasPin:
    """Holds BLAS at one thread while anyone needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Its threads belong to the process: the first of several fits to end must not give the others theirs back.
        self._holders: Counter[int] = Counter()
        self._blas: Any = None
        self._limit: Any = None
        self._loaded = 0  # modules when libraries were looked for: that takes milliseconds

    @contextmanager
    def held(self) -> Iterator[None]:
        """Run the enclosed products on one BLAS thread, so that sums are formed in one fixed order."""
        from threadpoolctl import ThreadpoolController

        me = threading.get_ident()
        with self._lock:
            if not self._holders:
                if self._loaded != len(sys.modules):
                    self._loaded, self._blas = (
                        len(sys.modules),
                        ThreadpoolController().select(user_api="blas"),
                    )
                self._limit = self._blas.limit(limits=1)
            self._holders[me] += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders[me] -= 1
                if not self._holders[me]:
                    del self._holders[me]
                    if not self._holders:
                        self._limit.restore_original_limits()
                    # threadpoolctl (from 3.7 on) lets only one thread change OpenBLAS, until it says so.
                    for library in self._blas.lib_controllers:
                        if hasattr(library, "clear_controlling_thread"):
                            library.clear_controlling_thread()


one_blas_thread = _BlasPin().held
