"""A model on workers, that is, in other processes.

It travels as a pickle and answers in batches. Where it cannot travel, it is asked "at home": in this
process.
"""

from __future__ import annotations

import io
import pickle
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import Diagnostics, ModelWarning, warn
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import one_blas_thread
from granite_xai.compute.workers import (
    WorkersLostError,
    active_backend,
    count_workers,
    results_from_workers,
)
from granite_xai.models.answers import read_outputs
from granite_xai.models.error_text import error_text
from granite_xai.models.output import ModelOutput

Build = Callable[[slice | IntArray], Any]  # makes the rows at some positions in a fresh container

ATTEMPTS = 3  # losses of workers in one request after which its other batches are asked at home
MODELS_KEPT = 2  # models that a worker keeps, so that it unpickles each of them once


class CannotSendError(Exception):
    """The model, or its rows, cannot travel; the text says why."""


class RemoteModel(NamedTuple):
    """A model as it travels."""

    model_output: ModelOutput  # how it is asked
    outputs: tuple[ModelOutput, ...]  # each output that is read of its answer


class RemoteBatch(NamedTuple):
    """Rows as they travel."""

    model: str  # name of the packed model that is asked about them
    n_rows: int
    rows: bytes  # their container, pickled


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """What a worker says about a batch."""

    outputs: Sequence[FloatArray] = ()  # the numbers of each output
    float32: bool = False  # whether the model answered in single precision
    seconds: float = 0.0  # inside the model
    raised: str | None = None  # what the model raised, or what is wrong with its answer
    unreadable: str | None = None  # why the worker could not unpickle the model or the rows


class Workers:
    """The workers of the joblib backend that is active while a model is asked.

    Parameters
    ----------
    n_jobs : int or None
        As in `Granite`.
    device : str
        Of `Resources`: a model that may be asked on a device stays beside it.
    record : Diagnostics, optional
        Remembers the warning that a model is asked at home.
    """

    def __init__(
        self, n_jobs: int | None = None, device: str = "cpu", record: Diagnostics | None = None
    ) -> None:
        self.n_jobs = n_jobs
        self.device = device
        self._record = record
        self._stays_home = False
        self._warned_of_losses = False

    @property
    def active(self) -> bool:
        """Whether the user has made a backend of processes or of a cluster active."""
        return active_backend() is not None

    def answers(
        self, model: RemoteModel, build: Build, batches: Sequence[slice]
    ) -> Generator[WorkerAnswer]:
        """Ask the workers about some batches of rows.

        Parameters
        ----------
        model : RemoteModel
            Packed again for every request: it may have changed since the last one.
        build : callable
            Makes the rows of a batch, in this process.
        batches : sequence of slices
            Positions of the rows; the same for any number of workers.

        Yields
        ------
        WorkerAnswer
            In the order of the batches. There are fewer of them, or none, where the model must be
            asked at home.
        """
        if self._stays_home or len(batches) < 2:
            return
        workers = self._count()
        if workers == 1:
            return
        try:
            packed = self._packed(model)
            yield from self._collected(packed, build, batches, workers)
        except CannotSendError as error:
            self._stay_home(str(error))

    def _count(self) -> int:
        try:
            return count_workers(self.n_jobs)
        except Exception as error:  # a cluster may fail in any way
            self._stay_home(f"the workers cannot be reached ({_text(error)})")
            return 1

    def _packed(self, model: RemoteModel) -> NDArray[np.uint8]:
        if self.device != "cpu":
            raise CannotSendError(f"Resources(device={self.device!r}) computes in this process")
        return pack(model)

    def _collected(
        self, packed: NDArray[np.uint8], build: Build, batches: Sequence[slice], workers: int
    ) -> Generator[WorkerAnswer]:
        """Answers in order; batches that were lost with a worker are sent again."""
        name = blake2b(packed.data, digest_size=16).hexdigest()
        answered = 0
        losses = 0
        while answered < len(batches) and losses < ATTEMPTS:
            tasks = _Tasks(name, build, batches[answered:])
            results = results_from_workers(answer_batch, packed, tasks, workers)
            try:
                with closing(results):
                    for answer in results:
                        if answer.unreadable is not None:
                            raise CannotSendError(f"a worker cannot read it: {answer.unreadable}")
                        yield answer
                        answered += 1
            except CannotSendError:
                raise
            except WorkersLostError:
                losses += 1
            except Exception as error:  # a cluster may fail in any way; models do so in an answer
                raise CannotSendError(f"the workers failed ({_text(error)})") from error
            if tasks.error is not None:
                raise tasks.error
        if losses == ATTEMPTS and not self._warned_of_losses:
            self._warned_of_losses = True
            text = f"R03: workers died {ATTEMPTS} times while the model was asked; "
            self._warn(text + "the batches without an answer are asked in this process.")

    def _stay_home(self, reason: str) -> None:
        """Ask this model in this process from now on, and say so once."""
        if not self._stays_home:
            self._stays_home = True
            text = "M31: the model is asked in this process, not by the workers of joblib's backend"
            self._warn(f"{text}: {reason}.")

    def _warn(self, text: str) -> None:
        if self._record is None:
            warn(text, ModelWarning)
        else:
            self._record.warn(text, ModelWarning)

    def __reduce__(self) -> tuple[Any, ...]:
        """Options only: a copy, perhaps elsewhere, tries again and warns again."""
        return type(self), (self.n_jobs, self.device)


class _Tasks:
    """Batches as they travel, made when a worker is free for them."""

    # joblib reads them in threads of its own, in which an error would be lost: it is kept here.

    def __init__(self, name: str, build: Build, batches: Sequence[slice]) -> None:
        self.name = name
        self.build = build
        self.batches = batches
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[RemoteBatch]:
        for batch in self.batches:
            try:
                packed_rows = _pack_rows(self.build(batch))
            except Exception as error:
                self.error = error
                return
            yield RemoteBatch(self.name, batch.stop - batch.start, packed_rows)


def _pack_rows(frame: Any) -> bytes:
    # Bytes, not the container: what joblib or Dask make of arrays may be read-only on the worker.
    try:
        return pickle.dumps(frame, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise CannotSendError(f"its rows cannot be pickled ({_text(error)})") from error


def pack(model: RemoteModel) -> NDArray[np.uint8]:
    """The model as bytes, functions by value where they have no module to be imported from.

    Raises
    ------
    CannotSendError
        It cannot be pickled, or some of its arrays are on a device.
    """
    try:
        import cloudpickle
    except ImportError:  # joblib before 1.6 has its own
        from joblib.externals import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            if _is_on_device(value):
                raise CannotSendError("it lives on a device")
            return super().reducer_override(value)

    buffer = io.BytesIO()
    try:
        Pickler(buffer).dump(model)
    except CannotSendError:
        raise
    except Exception as error:  # a model's own way of being pickled may raise anything
        raise CannotSendError(f"it cannot be pickled ({_text(error)})") from error
    # An array, because joblib lets processes map large arrays instead of copying them.
    return np.frombuffer(buffer.getbuffer(), dtype=np.uint8)


def _is_on_device(value: Any) -> bool:
    """Whether an array of torch, CuPy or JAX, or torch's name of a place, is not of the processor."""
    library = type(value).__module__.partition(".")[0]
    if library == "torch":
        torch = sys.modules["torch"]
        if isinstance(value, torch.Tensor):  # a storage would warn when it is asked for its device
            return bool(value.device.type != "cpu")
        return isinstance(value, torch.device) and bool(value.type != "cpu")
    if library == "cupy":
        return hasattr(value, "__cuda_array_interface__")
    if library in ("jax", "jaxlib") and callable(getattr(value, "devices", None)):
        return any(device.platform != "cpu" for device in value.devices())
    return False


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error_text(error)}"


class _Unpacked(NamedTuple):
    model: RemoteModel
    lock: threading.Lock  # also on a worker one thread at a time calls the model (M16)


_unpacked: dict[str, _Unpacked] = {}  # on a worker: the models it was sent last, by name
_unpacking = threading.Lock()


def answer_batch(packed: NDArray[np.uint8], batch: RemoteBatch) -> WorkerAnswer:
    """Ask the model about a batch, on a worker; whatever goes wrong is part of the answer."""
    try:
        unpacked = _unpack(packed, batch.model)
        frame = pickle.loads(batch.rows)
    except Exception as error:
        return WorkerAnswer(unreadable=_text(error))
    model = unpacked.model
    seconds = 0.0
    try:
        # One thread for linear algebra: its number would depend on the number of workers.
        with one_blas_thread():
            sent = model.model_output.prepare(frame)
            with unpacked.lock:
                begin = time.perf_counter()
                try:
                    returned = model.model_output.send(sent)
                finally:
                    seconds = time.perf_counter() - begin
                numbers, float32 = read_outputs(returned, batch.n_rows, model.outputs)
    except Exception as error:
        return WorkerAnswer(raised=_text(error), seconds=seconds)
    return WorkerAnswer(outputs=numbers, float32=float32, seconds=seconds)


def _unpack(packed: NDArray[np.uint8], name: str) -> _Unpacked:
    with _unpacking:
        if name not in _unpacked:
            model = pickle.loads(packed.data)
            while len(_unpacked) >= MODELS_KEPT:
                del _unpacked[next(iter(_unpacked))]
            _unpacked[name] = _Unpacked(model, threading.Lock())
        return _unpacked[name]
