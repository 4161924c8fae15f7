"""Memory: how a limit is divided among the stages of a run, and arrays that go to files where it is used up."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from math import prod
from typing import IO, Any

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.compute.limits import Resources, size, too_little

BLOCK = 2**26  # bytes of one working block where nobody sets a limit
FILE = 2**26  # bytes of one file, at most, unless one array is larger: every mapped file holds a descriptor
OWN = 2**20  # bytes of a run on any table: rules, plans, small arrays


class Workspace:
    """Hands out arrays, in memory while those alive stay within a share of it, otherwise in temporary files."""

    def __init__(self, share: int | None = None, block: int = BLOCK) -> None:
        self.share = share  # bytes for the arrays alive at the same time; None: any number
        self.block = block  # bytes of what is computed at a time on the way to these
        self.most_held = self.most_spilled = 0
        self._bytes = {"memory": 0, "disk": 0}
        self._freed: deque[tuple[str, int]] = deque()
        self._lock = threading.RLock()
        self._file: weakref.ref[mmap.mmap] | None = None
        self._files: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self._used = self._read = 0

    @property
    def held(self) -> int:
        """Bytes in memory now."""
        return self._settled("memory")

    @property
    def spilled(self) -> int:
        """Bytes in files now."""
        return self._settled("disk")

    def slices(self, count: int, size: int) -> Iterator[slice]:
        """Neighbouring parts of so many lines of so many bytes that fit a block each; one line at least."""
        step = max(1, self.block // max(size, 1))
        for start in range(0, count, step):
            self.release()
            yield slice(start, min(start + step, count))

    def release(self, read: int | None = None) -> None:
        """Let go of what was read of the files, once it is a block (None: now); it is read again from the files."""
        if not self._files or not hasattr(mmap, "MADV_DONTNEED"):
            return
        with self._lock:
            self._read += self.block if read is None else read
            if self._read >= self.block:
                self._read = 0
                for file in list(self._files):
                    file.madvise(mmap.MADV_DONTNEED)

    def empty(self, shape: tuple[int, ...]) -> FloatArray:
        """An array of numbers yet to be written; D33 where neither memory nor the disk has room."""
        size = 8 * prod(shape)
        with self._lock:
            fits = not size or self.share is None or self.held + size <= self.share
            array = np.empty(shape) if fits else self._mapped(shape, size)
            place = "memory" if fits else "disk"
            self._bytes[place] += size
            self.most_held = max(self.most_held, self.held)
            self.most_spilled = max(self.most_spilled, self.spilled)
        # A finalizer may run in the middle of anything, also of the lines above: it only leaves a note.
        weakref.finalize(array, self._freed.append, (place, size)).atexit = False
        return array

    def _settled(self, place: str) -> int:
        with self._lock:
            while self._freed:
                freed, size = self._freed.popleft()
                self._bytes[freed] -= size
            return self._bytes[place]

    def _mapped(self, shape: tuple[int, ...], size: int) -> FloatArray:
        """The next bytes of the file in use, or the first of a new one; a file ends with the last of its arrays."""
        file = None if self._file is None else self._file()
        if file is None or self._used + size > len(file):
            # As much again as there is, so that few files suffice and little is reserved in vain.
            file = _mapped_file(max(size, min(FILE, self.spilled)))
            self._file, self._used = weakref.ref(file), 0
            self._files.add(file)
        start, self._used = self._used, self._used + size
        # A memoryview between array and file: joblib would take the array for one it can open again by its name.
        return np.ndarray(shape, dtype=np.float64, buffer=memoryview(file), offset=start)

    def __reduce__(self) -> tuple[Any, ...]:
        """Counts belong to the process that holds the arrays: another one begins with its own."""
        return type(self), (self.share, self.block)


def _mapped_file(needed: int) -> mmap.mmap:
    """A file without a name, which nothing can leave behind, of so many reserved bytes, as memory."""
    try:
        with tempfile.TemporaryFile(prefix="granite-") as file:
            _reserve(file, needed)
            return mmap.mmap(file.fileno(), needed)
    except OSError as error:
        folder, why = tempfile.gettempdir(), error.strerror or str(error)
        text = f"evaluations that memory_limit keeps out of memory need {size(needed)} more in {folder!r}: {why}."
        also = f"more room in {folder!r} (another folder: TMPDIR), "
        raise too_little(text, "memory_limit=", also=also) from error


def _reserve(file: IO[bytes], size: int) -> None:
    """Take the space now: a file with holes would be a deadly signal later, when the disk is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    zeros = bytes(2**20)
    for start in range(0, size, len(zeros)):
        file.write(zeros[: size - start])
    file.flush()


class Budget:
    """Half of the limit for evaluations, a quarter for the search, an eighth for the table, an eighth for blocks."""

    def __init__(self, limit: int, fixed: int = 0) -> None:
        self.limit, self.fixed = limit, fixed  # bytes of the table, of the codes of its rows, of the plan
        self.search = limit // 4  # for the arrays of one block of candidates
        self.block = limit // 8  # for a block of evaluations that is computed at a time
        # For evaluations held in memory; less where an eighth does not suffice for the table.
        self.evaluations = max(0, limit - self.search - self.block - max(limit // 8, fixed))


def require_budget(resources: Resources, fixed: int, evaluations: int = 0, candidate: int = 0) -> Budget:
    """The budget of a run; refused when neither memory nor the disk has room for it (D33)."""
    own = -(-8 * (OWN + fixed) // 5), "the table, its codes and the plan"
    least, what = max(own, (4 * candidate, "blocks of the search, of one candidate each,"))
    budget = Budget(resources.memory_limit, OWN + fixed)
    roomy = Budget(max(least, resources.memory_limit), OWN + fixed)
    free = shutil.disk_usage(tempfile.gettempdir()).free if evaluations > roomy.evaluations else 0
    # The limit that an error names must be enough, whatever it was that the given one fell short of.
    whole = max(2 * evaluations + 8, -(-8 * (evaluations + budget.fixed) // 5) + 8, least)
    enough = least if evaluations <= roomy.evaluations + free else whole
    if resources.memory_limit < least:
        text = f"{what} need {size(least)}; memory_limit allows {size(resources.memory_limit)}."
    elif enough == whole > least:
        text = f"the model's evaluations need {size(evaluations)}; memory_limit={resources.memory_limit} leaves "
        text += f"{size(budget.evaluations)} for them in memory, and the folder of temporary files has {size(free)}."
    else:
        return budget
    raise too_little(text, f"memory_limit={enough}")
