"""A deferred value is computed once, when it is first read."""

from __future__ import annotations

import pickle
import threading

from granite_xai.base.deferred import Deferred


def test_the_value_is_computed_once_and_only_when_it_is_read():
    calls = []
    answer = Deferred(lambda: calls.append("computed") or 42)
    assert not answer.is_computed
    assert calls == []
    assert (answer.value, answer.value) == (42, 42)
    assert answer.is_computed
    assert calls == ["computed"]


def test_a_value_can_be_computed_at_once():
    assert Deferred(lambda: None, now=True).is_computed


def test_a_pickle_holds_the_value_not_the_function():
    copy = pickle.loads(pickle.dumps(Deferred(lambda: [1, 2])))
    assert copy.is_computed
    assert copy.value == [1, 2]


def test_R13_a_value_that_another_thread_is_computing_can_be_read():
    """Both threads compute it; neither takes the value for the function."""
    both_compute = threading.Barrier(2, timeout=10)

    def compute():
        both_compute.wait()
        return 42

    answer = Deferred(compute)
    values = []
    threads = [threading.Thread(target=lambda: values.append(answer.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [42, 42]
