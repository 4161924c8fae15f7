"""BLAS has one thread while anyone needs that, and its own number afterwards."""

from __future__ import annotations

import sys
import threading
from types import ModuleType

import pytest
import threadpoolctl

from granite_xai.base.parallel import _BlasPin, _libraries, in_threads, one_blas_thread


def _blas_threads():
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]


def test_blas_has_one_thread_inside_and_its_own_number_after():
    before = _blas_threads()
    with one_blas_thread():
        inside = in_threads(lambda _: _blas_threads(), range(3), 2)
    assert all(set(numbers) == {1} for numbers in inside)
    assert _blas_threads() == before


def test_libraries_are_looked_for_again_only_when_modules_have_come(monkeypatch):
    looked, look = [], threadpoolctl.ThreadpoolController.__init__
    monkeypatch.setattr(
        threadpoolctl.ThreadpoolController, "__init__", lambda self: looked.append(look(self))
    )
    pin = _BlasPin()
    _libraries.cache_clear()
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
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            in_threads(lambda task: 1 // task, [1, 0], n_jobs)
    assert _blas_threads() == before
