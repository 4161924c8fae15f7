"""A model on workers: batches answered by the processes or the machines of the joblib backend that a user made active.

The model travels as a pickle. Where it cannot travel, it is asked "at home": in this process.
"""

from __future__ import annotations

import io
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import closing
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import Diagnostics, ModelWarning, warn
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.text import error_text
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.models.outputs import ModelOutput, read_prediction

Build = Callable[[slice | IntArray], Any]  # makes the rows at some positions in a fresh container
Task = tuple[NDArray[np.uint8], str, int, bytes]  # arguments of `answer_batch`

ATTEMPTS = 3  # losses of workers in one request after which its other batches are asked at home
TASKS_AHEAD = 2  # tasks sent for each worker before the first result is waited for: none is idle
MODELS_KEPT = 2  # models that a worker keeps, so that it unpickles each of them once


class CannotSendError(Exception):
    """The model, or its rows, cannot travel; the text says why."""


class WorkerAnswer(NamedTuple):
    """What a worker says about a batch."""

    outputs: Sequence[FloatArray] = ()  # the numbers of each output
    float32: bool = False  # whether the model answered in single precision
    seconds: float = 0.0  # inside the model
    raised: str | None = None  # what the model raised, or what is wrong with its answer
    unreadable: str | None = None  # why the worker could not unpickle the model or the rows


def _active_backend() -> Any | None:
    """The joblib backend of processes or of a cluster; None where there are only threads."""
    # The plain default of joblib is no wish of the user, so that it counts as threads. Processes
    # made by fork are never used (M16); Ray's backend derives from theirs and forks nothing.
    from joblib.parallel import MultiprocessingBackend, get_active_backend

    backend = get_active_backend(prefer="threads")[0]
    if getattr(backend, "supports_sharedmem", False) or type(backend) is MultiprocessingBackend:
        return None
    return backend


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
        self._warn = warn if record is None else record.warn
        self._stays_home = False
        self._warned_of_losses = False

    @property
    def active(self) -> bool:
        """Whether the user has made a backend of processes or of a cluster active."""
        return _active_backend() is not None

    def answers(
        self, outputs: Sequence[ModelOutput], build: Build, batches: Sequence[slice]
    ) -> Generator[WorkerAnswer]:
        """Ask the workers about some batches of rows.

        Parameters
        ----------
        outputs : sequence of ModelOutput
            What is read of an answer; the first says how the model is asked. Packed again for every request:
            the model may have changed since the last one.
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
        if self._stays_home or len(batches) < 2 or self.n_jobs == 1 or not self.active:
            return
        try:
            n_workers = self._count()
            if n_workers < 2:
                return
            if self.device != "cpu":
                reason = f"Resources(device={self.device!r}) computes in this process"
                raise CannotSendError(reason)
            yield from self._collected(pack(tuple(outputs)), build, batches, n_workers)
        except CannotSendError as error:
            self._stays_home = True
            text = "M31: the model is asked in this process, not by the workers of joblib's backend"
            self._warn(f"{text}: {error}.", ModelWarning)

    def _count(self) -> int:
        """How many there are; clusters have as many as the cluster, whatever ``n_jobs`` is."""
        import joblib

        try:
            return int(joblib.effective_n_jobs(self.n_jobs))
        except Exception as error:  # a cluster may fail in any way
            raise CannotSendError(f"the workers cannot be reached ({_text(error)})") from error

    def _collected(
        self, packed: NDArray[np.uint8], build: Build, batches: Sequence[slice], n_workers: int
    ) -> Generator[WorkerAnswer]:
        """Answers in order; batches that were lost with a worker are sent again."""
        name = blake2b(packed.data, digest_size=16).hexdigest()
        failures: list[
            Exception
        ] = []  # joblib makes tasks in threads of its own, in which they would be lost

        def tasks(remaining: Sequence[slice]) -> Iterator[Task]:
            for batch in remaining:
                try:
                    rows = _pack_rows(build(batch))
                except Exception as error:
                    failures.append(error)
                    return
                yield packed, name, batch.stop - batch.start, rows

        answered = 0
        losses = 0
        while answered < len(batches) and losses < ATTEMPTS:
            try:
                with closing(_results(tasks(batches[answered:]), n_workers)) as results:
                    for answer in results:
                        if answer.unreadable is not None:
                            raise CannotSendError(f"a worker cannot read it: {answer.unreadable}")
                        yield answer
                        answered += 1
            except CannotSendError:
                raise
            except _losses():
                losses += 1
            except Exception as error:  # a cluster may fail in any way; models do so in an answer
                raise CannotSendError(f"the workers failed ({_text(error)})") from error
            if failures:
                raise failures[0]
        if losses == ATTEMPTS and not self._warned_of_losses:
            self._warned_of_losses = True
            text = f"R03: workers died {ATTEMPTS} times while the model was asked; "
            text += "the batches without an answer are asked in this process."
            self._warn(text, ModelWarning)

    def __reduce__(self) -> tuple[Any, ...]:
        """Options only: a copy, perhaps elsewhere, tries again and warns again."""
        return type(self), (self.n_jobs, self.device)


def _results(tasks: Iterator[Task], n_workers: int) -> Generator[WorkerAnswer]:
    """What the workers answer, in the order of the tasks; joblib sends a large array once to each of them."""
    import joblib

    parallel = joblib.Parallel(
        n_jobs=n_workers,
        batch_size=1,
        pre_dispatch=TASKS_AHEAD * n_workers,
        return_as="generator",
    )
    results = parallel(joblib.delayed(answer_batch)(*task) for task in tasks)
    try:
        for result in results:  # noqa: UP028 - `yield from` would close them, with the warning
            yield result
    finally:
        with warnings.catch_warnings():
            # joblib regrets the tasks that an error or an interrupt leaves over.
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _losses() -> tuple[type[BaseException], ...]:
    """What the libraries raise when a worker has died; only those that are loaded can have any."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    losses: list[type[BaseException]] = [BrokenProcessPool]
    if "distributed" in sys.modules:
        from distributed import KilledWorker

        losses += [KilledWorker, CancelledError]
    if "ray" in sys.modules:
        from ray.exceptions import RayActorError, WorkerCrashedError

        losses += [RayActorError, WorkerCrashedError]
    return tuple(losses)


def _pack_rows(frame: Any) -> bytes:
    # Bytes, not the container: what joblib or Dask make of arrays may be read-only on the worker.
    try:
        return pickle.dumps(frame, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise CannotSendError(f"its rows cannot be pickled ({_text(error)})") from error


def pack(outputs: tuple[ModelOutput, ...]) -> NDArray[np.uint8]:
    """A model as bytes, functions by value where they have no module to be imported from.

    Parameters
    ----------
    outputs : tuple of ModelOutput
        How it is asked, and what is read of its answer.

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
        Pickler(buffer).dump(outputs)
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


# ---------------------------------------------------------------------------------------------------------------
# On a worker

# The models it was sent last, by name, each with a lock: also there one thread at a time calls a model (M16).
_unpacked: dict[str, tuple[tuple[ModelOutput, ...], threading.Lock]] = {}
_unpacking = threading.Lock()


def answer_batch(packed: NDArray[np.uint8], name: str, n_rows: int, rows: bytes) -> WorkerAnswer:
    """Ask the model about a batch, on a worker; whatever goes wrong is part of the answer.

    Parameters
    ----------
    packed : array of bytes
        The model.
    name : str
        Under which the worker keeps it.
    n_rows : int
    rows : bytes
        Their container, pickled.
    """
    try:
        outputs, lock = _unpack(packed, name)
        frame = pickle.loads(rows)
    except Exception as error:
        return WorkerAnswer(unreadable=_text(error))
    seconds = 0.0
    try:
        # One thread for linear algebra: its number would depend on the number of workers.
        with one_blas_thread():
            sent = outputs[0].prepare(frame)
            with lock:
                begin = time.perf_counter()
                try:
                    returned = outputs[0].send(sent)
                finally:
                    seconds = time.perf_counter() - begin
                read = [read_prediction(returned, n_rows, output) for output in outputs]
    except Exception as error:
        return WorkerAnswer(raised=_text(error), seconds=seconds)
    return WorkerAnswer(
        outputs=[numbers for numbers, _ in read],
        float32=any(is_float32 for _, is_float32 in read),
        seconds=seconds,
    )


def _unpack(packed: NDArray[np.uint8], name: str) -> tuple[tuple[ModelOutput, ...], threading.Lock]:
    with _unpacking:
        if name not in _unpacked:
            outputs = pickle.loads(packed.data)
            while len(_unpacked) >= MODELS_KEPT:
                del _unpacked[next(iter(_unpacked))]
            _unpacked[name] = (outputs, threading.Lock())
        return _unpacked[name]
