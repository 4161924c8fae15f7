"""Linear algebra on one thread, so that sums are formed in one fixed order; OpenMP on one where work is little."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Libraries:
    """The libraries of one kind that are loaded; they are looked for again after every import."""

    def __init__(self, user_api: str) -> None:
        self._user_api = user_api
        self._loaded: Any = None
        self._modules_seen = 0  # when libraries were last looked for, which takes milliseconds

    def loaded(self) -> Any:
        """A controller of their threads."""
        from threadpoolctl import ThreadpoolController

        if self._modules_seen != len(sys.modules):
            self._modules_seen = len(sys.modules)
            self._loaded = ThreadpoolController().select(user_api=self._user_api)
        return self._loaded


_OPENMP = _Libraries("openmp")


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Run the enclosed call on one thread of OpenMP: threads cost more than they bring where work is little.

    OpenMP counts threads for each of ours, so this concerns no call of another one.
    """
    # Not by the controller's own limit, which takes a tenth of a millisecond.
    libraries = _OPENMP.loaded().lib_controllers
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
        self._holders: Counter[int] = Counter()  # threads of ours, and how often each holds it
        self._libraries = _Libraries("blas")
        self._blas: Any = None
        self._limit: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Run the enclosed products on one BLAS thread."""
        thread = threading.get_ident()
        with self._lock:
            if not self._holders:
                self._blas = self._libraries.loaded()
                self._limit = self._blas.limit(limits=1)
            self._holders[thread] += 1
        try:
            yield
        finally:
            with self._lock:
                self._release(thread)

    def _release(self, thread: int) -> None:
        """End one hold of a thread of ours; after the last of all, BLAS has its threads back.

        A thread that holds nothing any more also lets go of OpenBLAS, so that another one may change it.
        """
        self._holders[thread] -= 1
        if self._holders[thread]:
            return
        del self._holders[thread]
        if not self._holders:
            self._limit.restore_original_limits()
        # threadpoolctl (from 3.7 on) lets only one thread change OpenBLAS, until it says so.
        for library in self._blas.lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread()


one_blas_thread = _BlasPin().held
