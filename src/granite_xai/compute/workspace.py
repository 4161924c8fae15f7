"""Workspace: arrays in memory while they fit a share of it, otherwise in files that have no name."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
import weakref
from collections import deque
from math import prod
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from granite_xai.compute.limits import no_room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

BLOCK = 2**26
"""Bytes of one working block where nobody sets a limit."""
FILE = 2**26
"""Bytes of one file, at most, unless one array is larger: every mapped file holds a descriptor."""


class Workspace:
    """Hands out arrays, in memory while those alive stay within a share of it, otherwise in temporary files.

    A file is unlinked as soon as it is opened, so that nothing can leave one behind, and its space is reserved before
    it is mapped: a full disk is an error with a name, and never a signal in the middle of a sum. An array that nobody
    holds any more gives its bytes back, in memory and on disk.

    Parameters
    ----------
    share : int, optional
        Bytes of memory for the arrays that are alive at the same time; None: any number.
    block : int
        Bytes of what is computed at a time on the way to these arrays.

    Examples
    --------
    >>> space = Workspace(share=100)
    >>> first, second = space.empty((3, 4)), space.empty((3, 4))
    >>> space.held, space.spilled
    (96, 96)
    >>> del first
    >>> space.held, space.spilled
    (0, 96)
    """

    def __init__(self, share: int | None = None, block: int = BLOCK) -> None:
        self.share = share
        self.block = block
        self.most_held = 0
        self.most_spilled = 0
        self._bytes = {"memory": 0, "disk": 0}
        self._freed: deque[tuple[str, int]] = deque()
        self._lock = threading.RLock()
        self._file: weakref.ref[mmap.mmap] | None = None
        self._used = 0

    @property
    def held(self) -> int:
        """Bytes in memory now."""
        return self._settled("memory")

    @property
    def spilled(self) -> int:
        """Bytes in files now."""
        return self._settled("disk")

    def slices(self, count: int, size: int) -> Iterator[slice]:
        """Neighbouring parts of so many lines of so many bytes that fit a block each; one line at least.

        >>> list(Workspace(block=100).slices(5, 50))
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
        """
        step = max(1, self.block // max(size, 1))
        for start in range(0, count, step):
            yield slice(start, min(start + step, count))

    def empty(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """An array of numbers yet to be written.

        Raises
        ------
        ResourceError
            D33 there is no room for it, neither in memory nor on the disk.
        """
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

    def _mapped(self, shape: tuple[int, ...], size: int) -> NDArray[np.float64]:
        """The next bytes of the file in use, or the first of a new one; a file ends with the last of its arrays."""
        file = None if self._file is None else self._file()
        if file is None or self._used + size > len(file):
            # As much again as there is, so that few files suffice and little is reserved in vain.
            file = _mapped_file(max(size, min(FILE, self.spilled)))
            self._file, self._used = weakref.ref(file), 0
        start, self._used = self._used, self._used + size
        # A memoryview between array and file: joblib would take the array for one it can open again by its name.
        return np.ndarray(shape, dtype=np.float64, buffer=memoryview(file), offset=start)

    def __reduce__(self) -> tuple[Any, ...]:
        """Counts belong to the process that holds the arrays: another one begins with its own."""
        return type(self), (self.share, self.block)


def _mapped_file(size: int) -> mmap.mmap:
    """A file without a name, of so many reserved bytes, as memory."""
    try:
        with tempfile.TemporaryFile(prefix="granite-") as file:
            _reserve(file, size)
            return mmap.mmap(file.fileno(), size)
    except OSError as error:
        raise no_room(size, tempfile.gettempdir(), error) from error


def _reserve(file: IO[bytes], size: int) -> None:
    """Take the space now: a file with holes would be a deadly signal later, when the disk is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    zeros = bytes(2**20)
    for start in range(0, size, len(zeros)):
        file.write(zeros[: size - start])
    file.flush()
