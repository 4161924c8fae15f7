"""Limits of a fit, and the memory within them: arrays that spill into files, and budgets that say so before."""

from __future__ import annotations

import importlib.util
import mmap
import os
import shutil
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import IO, Any, Literal

import numpy as np

from granite_xai.base.errors import ResourceError, choose, real_number, whole_number
from granite_xai.base.typing import FloatArray

_FEWER = "fewer rows (max_samples=), fewer columns (features=), a grid (Resources(max_grid=64))"


@dataclass(frozen=True)
class Resources:
    """The limits of a run; fixed numbers, so that a repeat is equal bit by bit.

    Parameters
    ----------
    memory_limit : int
        Bytes that our own arrays may take in memory; evaluations beyond it go to temporary files.
    max_seconds : float, optional
        Time that a fit may take, about. The fit begins with 250 rows and doubles them while there is time; the last
        complete step is the answer, and the first note says so. None: any time; the result never depends on the clock.
    max_evaluations : int, optional
        Rows that may be sent to the model: fewer of the table's rows are used where more would be needed. None: a
        million, which explicit ``max_samples`` or ``max_grid`` may exceed.
    max_grid : int, "auto" or None
        Values of a column at which the model is asked, chosen by what it does for a few rows; one of them stands for
        each of the others in every term of the column's own gap, and the cost is linear in the rows. For pure and full
        effects of single columns. "auto": 16. None: all values, as in the paper.
    batch_size : int, optional
        Rows of one call of the model; the last batch is shorter. None: a fixed default.
    dtype : "float64"
        Numbers in which the split search decides, on the processor and on a device. Single precision is refused: on the
        processor it was never faster, and it cannot decide.
    device : {"cpu", "cuda"}
        Where sums are formed; ``"cuda"`` needs the extra ``gpu``. The regions are the same. A torch module with its
        parameters there, or a function that takes and returns arrays of torch, CuPy or JAX there, is also asked there:
        recombined rows are made on the device, and their predictions stay on it. Any other model is asked on the host.
    progress : {"auto", True, False}
        Show progress of work longer than a second: in terminals and notebooks, always, never.

    Examples
    --------
    >>> Resources(batch_size=32).memory_limit == 2**29
    True
    """

    memory_limit: int = 2**29
    max_seconds: float | None = None
    max_evaluations: int | None = None
    max_grid: int | Literal["auto"] | None = "auto"
    batch_size: int | None = None
    dtype: Literal["float64"] = "float64"
    device: Literal["cpu", "cuda"] = "cpu"
    progress: bool | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        whole_number("memory_limit", self.memory_limit, at_least=1)
        if self.max_seconds is not None:
            real_number("max_seconds", self.max_seconds, above=0)
        grid = None if self.max_grid == "auto" else self.max_grid
        own = (
            ("max_evaluations", self.max_evaluations, 1),
            ("max_grid", grid, 2),
            ("batch_size", self.batch_size, 1),
        )
        for name, value, least in own:
            if value is not None:
                whole_number(name, value, at_least=least)
        choose("dtype", self.dtype, {"float64": "float64"})
        choose("device", self.device, {"cpu": "cpu", "cuda": "cuda"})
        choose("progress", self.progress, {"auto": "auto"}, accept=bool)

    @property
    def grid(self) -> int | None:
        """Values of a grid; None: exact, as "auto" is until a plan says otherwise."""
        return None if isinstance(self.max_grid, str) else self.max_grid


MODEL_ROWS = 1_000_000  # that a fit sends to the model where nobody says how many


def model_row_budget(resources: Resources) -> int:
    """Rows that a fit may send to the model."""
    return MODEL_ROWS if resources.max_evaluations is None else resources.max_evaluations


class TooSlowError(ResourceError):
    """The model takes far longer than planned, and than the limit: ``per_row`` seconds a row."""

    per_row = 0.0


def require_supported(resources: Resources) -> None:
    """Refuse a device that is not there, naming what is missing, before the model is asked (R08)."""
    missing = None if resources.device == "cpu" else _missing_for_cuda()
    if missing:
        hint = 'Install granite-xai[gpu] on a machine with a CUDA device, or leave device="cpu".'
        text = f"Resources(device={resources.device!r}): {missing}."
        raise ResourceError(text, code="R08", argument="device", hint=hint)


def _missing_for_cuda() -> str | None:
    """What a search on a CUDA device lacks here; None: nothing."""
    for package in ("torch", "array_api_compat"):
        if importlib.util.find_spec(package) is None:
            return f"{package.replace('_', '-')} is not installed"
    import torch

    if torch.cuda.is_available():
        return None
    return (
        "this torch was built without CUDA"
        if torch.version.cuda is None
        else "torch finds no CUDA device"
    )


def require_evaluations(resources: Resources, rows: int, seconds: float | None = None) -> None:
    """Refuse a plan that sends more rows to the model than allowed, with the numbers and the remedies (M13)."""
    if resources.max_evaluations is None or rows <= resources.max_evaluations:
        return
    time = "" if seconds is None else f", about {duration(seconds)} of the model's time"
    message = f"the plan sends {rows:,} rows to the model{time}; max_evaluations allows {resources.max_evaluations:,}."
    raise too_little(message, f"max_evaluations={rows}", "M13")


def require_free(free: int | None, needed: int) -> None:
    """Refuse evaluations that a device has no room for, with the numbers (D33); a fifth is left to the search."""
    if free is not None and 5 * needed > 4 * free:
        text = f"the model's evaluations need {size(needed)} on the device, which has {size(free)} left."
        raise too_little(text, 'device="cpu"')


def too_little(message: str, limit: str, code: str = "D33", also: str = "") -> ResourceError:
    """The refusal of work for which there is no room, with the remedies (D33)."""
    hint = f"{_FEWER}, {also}or a higher limit (Resources({limit}))"
    return ResourceError(f"{message} Remedies: {hint}.", code=code, argument="resources", hint=hint)


def size(count: int) -> str:
    """Bytes as a person reads them."""
    return f"{count / 2**20:,.1f} MiB" if count >= 2**20 else f"{count:,} bytes"


def duration(seconds: float) -> str:
    """Seconds as a person reads them."""
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


BLOCK = 2**26  # bytes of one working block where nobody sets a limit
FILE = (
    2**26
)  # bytes of one file, at most, unless one array is larger: every mapped file holds a descriptor
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
        self.limit, self.fixed = (
            limit,
            fixed,
        )  # bytes of the table, of the codes of its rows, of the plan
        self.search = limit // 4  # for the arrays of one block of candidates
        self.block = limit // 8  # for a block of evaluations that is computed at a time
        # For evaluations held in memory; less where an eighth does not suffice for the table.
        self.evaluations = max(0, limit - self.search - self.block - max(limit // 8, fixed))


def require_budget(
    resources: Resources, fixed: int, evaluations: int = 0, candidate: int = 0
) -> Budget:
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
