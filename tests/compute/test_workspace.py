"""The workspace: arrays in memory or in files, and what is counted of them (D33, R01)."""

from __future__ import annotations

import errno
import gc
import os
import pickle
import threading
from unittest import mock

import joblib
import numpy as np
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import ResourceError
from granite_xai.compute import Workspace, limits as memory

ORDERS = st.lists(
    st.one_of(st.tuples(st.integers(0, 40), st.integers(0, 40)), st.integers(0, 30)), max_size=40
)


@given(share=st.integers(0, 20_000), orders=ORDERS)
def test_what_is_alive_is_counted_and_memory_never_holds_more_than_its_share(share, orders):
    """A pair orders an array of this shape, a number gives one of those alive back."""
    space, alive = Workspace(share), []
    for order in orders:
        if isinstance(order, tuple):
            array = space.empty(order)
            array[...] = len(alive)
            alive.append((array, float(len(alive))))
            del array
        elif alive:
            del alive[order % len(alive)]
        assert space.held + space.spilled == sum(array.nbytes for array, _ in alive)
        assert space.held <= min(share, space.most_held)
        assert space.most_held <= share
        assert space.spilled <= space.most_spilled
    assert all(np.all(array == value) for array, value in alive)  # no two share a cell


def test_a_view_keeps_its_array_alive():
    for share in (0, 10**6):
        space = Workspace(share)
        view = space.empty((100, 10))[5:, 2]
        gc.collect()
        assert space.held + space.spilled == 8000
        del view
        assert space.held + space.spilled == 0


def test_without_a_share_everything_is_in_memory():
    space = Workspace()
    array = space.empty((1000, 1000))
    assert (space.held, space.spilled) == (array.nbytes, 0)


def test_threads_may_order_and_give_back_at_the_same_time():
    space, start = Workspace(10_000), threading.Barrier(8)

    def work():
        start.wait()
        for size in range(1, 200):
            space.empty((size,))[...] = 1.0

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (space.held, space.spilled) == (0, 0)


def descriptors():
    return len(os.listdir("/dev/fd"))  # noqa: PTH208 - the folder itself is open while it is listed


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="descriptors cannot be counted here")  # noqa: PTH112
def test_many_spilled_arrays_need_few_descriptors_and_leave_none():
    before = descriptors()
    space = Workspace(0)
    arrays = [space.empty((50, 50)) for _ in range(2000)]
    assert descriptors() - before < 20
    del arrays
    assert descriptors() == before


@pytest.mark.skipif(os.name != "posix", reason="files have names until they are closed")
def test_R01_a_spilled_array_has_no_file_that_anyone_could_leave(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    array = Workspace(0).empty((1000, 100))
    array[...] = 1.0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE])
def test_D33_a_full_disk_is_an_error_with_numbers_and_remedies(code, monkeypatch):
    def full(file, size):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(memory, "_reserve", full)
    with pytest.raises(ResourceError, match=r"D33: .*need 7\.6 MiB more") as caught:
        Workspace(0).empty((1000, 1000))
    assert os.strerror(code) in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)
    assert all(
        remedy in caught.value.hint
        for remedy in ("max_samples=", "features=", "TMPDIR", "memory_limit=")
    )


@pytest.mark.skipif(
    not os.access("/dev/full", os.W_OK), reason="there is no disk that is always full"
)
def test_D33_reserving_meets_the_full_disk_before_anything_is_mapped():
    with open("/dev/full", "wb", buffering=0) as file, mock.patch.object(memory, "os") as bare:  # noqa: PTH123
        del bare.posix_fallocate
        with pytest.raises(OSError, match="space"):
            memory._reserve(file, 2**21)


def test_space_is_written_where_it_cannot_be_reserved(tmp_path):
    with mock.patch.object(memory, "os") as bare, (tmp_path / "file").open("wb") as file:
        del bare.posix_fallocate
        memory._reserve(file, 3 * 2**20 + 7)
        assert (tmp_path / "file").stat().st_size == 3 * 2**20 + 7


def test_arrays_and_workspaces_travel_to_other_processes():
    """The file behind an array has no name: the values have to travel, not the place."""
    space = Workspace(0, block=7)
    array = space.empty((400, 500))
    array[...] = np.arange(500)
    assert pickle.loads(pickle.dumps(space)).block == 7
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), array)
    sums = joblib.Parallel(n_jobs=2, max_nbytes=1000)(
        joblib.delayed(np.sum)(array) for _ in range(2)
    )
    assert sums == [array.sum()] * 2
