"""Predictor: the one place from which a model is called, counted and checked."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.models.faults import Raised, Rows, failure, refused, smallest_failing
from granite_xai.models.output import ModelOutput, outside_unit_interval, read_answer
from granite_xai.tables import Table, recombine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DEFAULT_BATCH = 2**16
"""Rows of one call where the user sets none: fixed, so that repeats are equal."""


@dataclass(frozen=True)
class Usage:
    """What a model was asked: calls, rows sent, seconds inside it; failed calls count."""

    calls: int = 0
    rows: int = 0
    seconds: float = 0.0


class Predictor:
    """A model as a function from tables to one number a row, called from one thread at a time.

    Build it with `as_predictor`. The model gets a fresh container, never the user's own, and its answer is copied.

    >>> from granite_xai.models import as_predictor
    >>> F = as_predictor(lambda X: X[:, 0] * X[:, 1])
    >>> F(np.array([[2.0, 3.0], [4.0, 5.0]]))
    array([ 6., 20.])
    >>> F.usage.calls, F.usage.rows
    (1, 2)
    """

    def __init__(self, model_output: ModelOutput, batch_size: int | None = None) -> None:
        self.model_output = model_output
        self.label = model_output.label
        self.classes = model_output.choice.classes
        self.is_probability = model_output.choice.scale == "probability"
        self.batch_size = DEFAULT_BATCH if batch_size is None else batch_size
        self._usage = Usage()
        self._float32 = False
        self._lock = threading.Lock()
        self._watch: Callable[[int], None] | None = None

    @contextmanager
    def watched(self, watch: Callable[[int], None]) -> Iterator[None]:
        """Tell someone how many rows were answered, batch by batch."""
        self._watch = watch
        try:
            yield
        finally:
            self._watch = None

    @property
    def explained_class(self) -> Any:
        """The class whose probability or score is explained; None where there are no classes."""
        column = self.model_output.choice.column
        return None if self.classes is None or column is None else self.classes[column]

    @property
    def usage(self) -> Usage:
        """Exact counts so far."""
        return self._usage

    @property
    def native_float32(self) -> bool:
        """Whether the model has answered in single precision."""
        return self._float32

    def __call__(self, frame: Any) -> FloatArray:
        """Values of the rows of a container, in one call; the model gets a copy."""
        rows = Rows(len(frame))
        try:
            return self._checked(self._ask(_copied(frame), len(frame)), rows)
        except Raised as raised:
            raise failure(raised, rows) from raised.cause

    def on_rows(self, table: Table) -> FloatArray:
        """F at the table's own rows."""
        every = np.arange(table.n_rows, dtype=np.intp)
        return self.recombined(table, every, table, every, ())

    def recombined(
        self, base: Table, base_rows: IntArray, donor: Table, donor_rows: IntArray, columns: Sequence[int]
    ) -> FloatArray:
        """F of the rows ``base_rows`` of ``base`` with ``columns`` taken from the rows ``donor_rows`` of ``donor``.

        Values that are not finite (M04) and failures (M07) are refused with the recombination at fault.
        """

        def build(at: slice | IntArray) -> Any:
            return recombine(base, base_rows[at], donor, donor_rows[at], columns)

        return self.evaluate(build, Rows(len(base_rows), base, base_rows, donor, donor_rows, tuple(columns)))

    def evaluate(self, build: Callable[[slice | IntArray], Any], rows: Rows) -> FloatArray:
        """F of rows that ``build`` makes batch by batch, each time in a fresh container."""
        values = np.empty(rows.count, dtype=np.float64)
        for start in range(0, rows.count, self.batch_size):
            batch = slice(start, min(start + self.batch_size, rows.count))
            values[batch] = self._batch(build, batch, rows)
            if self._watch is not None:
                self._watch(batch.stop - batch.start)
        return values

    def _batch(self, build: Callable[[slice | IntArray], Any], batch: slice, rows: Rows) -> FloatArray:
        def ask(part: slice) -> FloatArray:
            return self._ask(build(part), part.stop - part.start)

        try:
            return self._checked(ask(batch), rows, batch.start)
        except Raised as raised:
            first = raised
        # Outside the handler, so that the error's history is the model's own and not that of the search.
        at, last, once = smallest_failing(ask, batch, first)
        raise failure(last, rows.at(at), once) from last.cause

    def _ask(self, frame: Any, count: int) -> FloatArray:
        """Call the model once; whatever it raises comes out as `Raised`, so that our own errors stay apart."""
        sent = self.model_output.prepare(frame)
        with self._lock:
            begin = time.perf_counter()
            try:
                returned = self.model_output.send(sent)
            except Exception as error:
                raise Raised(error) from error
            finally:
                self._count(count, time.perf_counter() - begin)
            # Read while the lock is held: the answer may be a buffer that the next call overwrites.
            values, choice = self.model_output.unpack(returned, self.model_output.choice)
            answer = read_answer(values, count, choice)
        self._float32 = self._float32 or answer.float32
        return answer.values

    def _count(self, rows: int, seconds: float) -> None:
        past = self._usage
        self._usage = Usage(past.calls + 1, past.rows + rows, past.seconds + seconds)

    def _checked(self, values: FloatArray, rows: Rows, start: int = 0) -> FloatArray:
        wrong = ~np.isfinite(values)
        if wrong.any():
            raise refused("M04", "values that are not finite (NaN or infinity)", values, wrong, rows, start)
        if self.is_probability:
            wrong = outside_unit_interval(values, self._float32)
            if wrong.any():
                raise refused("T08", "probabilities outside [0, 1]", values, wrong, rows, start)
        return values

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock and the watch, which belong to this process."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_watch")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._watch = threading.Lock(), None


def _copied(frame: Any) -> Any:
    """Copy a container that can be written to; the columns of polars and pyarrow are read-only and shared."""
    if isinstance(frame, list):
        return deepcopy(frame)
    for method in ("copy", "clone"):
        if callable(getattr(frame, method, None)):
            return getattr(frame, method)()
    return frame
