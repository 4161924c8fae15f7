"""Predictor: the one place from which a model is called, counted and checked."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import ModelError
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import BLOCK
from granite_xai.compute.device import DeviceArrays
from granite_xai.models.answers import one_column, outside_unit_interval, read_outputs
from granite_xai.models.failures import CHECK_ROWS, Raised, failure_error, smallest_failing
from granite_xai.models.output import ModelOutput
from granite_xai.models.remote import Build, RemoteModel, WorkerAnswer, Workers
from granite_xai.models.sent_rows import SHOWN, SentRows
from granite_xai.tables import Table, recombine

DEFAULT_BATCH = 2**13  # rows of one call where the user sets none: fixed, so that repeats are equal
WORKER_BATCHES = 128  # batches of a request while workers are active, where the user sets no size
SMALLEST_BATCH = 256  # rows of these, at least: what a worker gets is worth its way
CELL_BYTES = 24  # of a cell of a recombined row: taken, replaced and sent


class Usage(NamedTuple):
    """What a model was asked: calls, rows sent, seconds inside it; failed calls count."""

    calls: int = 0
    rows: int = 0
    seconds: float = 0.0


class Predictor:
    """A model as a function from tables to one number a row, called from one thread at a time.

    Parameters
    ----------
    model_output : ModelOutput
        How the model is asked, and which output is read.
    batch_size : int, optional
        Rows of one call; None: a fixed default, fewer of wide tables.
    workers : Workers, optional
        Answer batches in other processes.
    block : int
        Bytes that the rows of a call may take before the model works.

    Attributes
    ----------
    usage : Usage
    user_sets_batch : bool
        Whether the rows of a call are the user's choice, which holds for tables of any width.
    native_float32 : bool
        Whether the model has answered in single precision.
    outputs : mapping of name to Predictor
        Of one that speaks for several outputs: each by its name, the first one itself.
    """

    def __init__(
        self,
        model_output: ModelOutput,
        batch_size: int | None = None,
        workers: Workers | None = None,
        block: int = BLOCK,
    ) -> None:
        self.model_output = model_output
        self.label = model_output.label
        self.classes = model_output.choice.classes
        self.is_probability = model_output.choice.scale == "probability"
        self.user_sets_batch = batch_size is not None
        self.batch_size = DEFAULT_BATCH if batch_size is None else batch_size
        self.workers = Workers() if workers is None else workers
        self.block = block
        self.usage = Usage()
        self.native_float32 = False
        self.outputs: Mapping[Any, Predictor] = {}
        self._lock = threading.Lock()
        self._watch: Callable[[int], None] | None = None
        self._meter: Callable[[int], None] | None = None
        # Of a further output: its numbers in the answers that the first output was given.
        self.answers_of_first: deque[FloatArray] = deque()

    @contextmanager
    def watched(self, watch: Callable[[int], None]) -> Iterator[None]:
        """Call ``watch`` with the number of rows that were answered, batch by batch, for one request.

        A request is what one evaluation of a table asks; a fit makes several, see `metered`.
        Meanwhile the answers of the first output also hold those of the further ones: each of these
        is asked about the same rows afterwards, in the same order, and takes them from there.
        """
        self._watch = watch
        try:
            yield
        finally:
            self._watch = None
            for output in self.further_outputs:
                output.answers_of_first.clear()

    @contextmanager
    def metered(self, meter: Callable[[int], None]) -> Iterator[None]:
        """Call ``meter`` in the same way for all requests of a fit: pilot, search rows, held-out rows."""
        self._meter = meter
        try:
            yield
        finally:
            self._meter = None

    @property
    def is_metered(self) -> bool:
        """Whether somebody counts the rows of a whole fit."""
        return self._meter is not None

    def _report(self, rows: int) -> None:
        """Call whoever watches that so many rows were answered."""
        if self._watch is not None:
            self._watch(rows)
        if self._meter is not None:
            self._meter(rows)

    @property
    def further_outputs(self) -> tuple[Predictor, ...]:
        """All outputs but the first."""
        return tuple(self.outputs.values())[1:]

    def output_names(self, table: Table) -> tuple[Any, ...]:
        """Every output by class or position.

        Parameters
        ----------
        table : Table
            A model whose outputs have no names is asked about its first row.

        Raises
        ------
        ModelError
            M02: there is one output only.
        """
        if self.classes is not None:
            return self.classes
        first_row = SentRows(1, table, np.zeros(1, dtype=np.intp))
        (answer,) = self._answer_batch(lambda _: table.take([0]).native, slice(0, 1), first_row)
        if answer.ndim != 2:
            raise ModelError(
                "the model returned one number a row: there are no others.",
                code="M02",
                argument="output",
                hint="Leave output=None.",
            )
        return tuple(range(answer.shape[1]))

    @property
    def explained_class(self) -> Any:
        """The class whose probability or score is explained; None where there are no classes."""
        column = self.model_output.choice.column
        if self.classes is None or column is None:
            return None
        return self.classes[column]

    def __call__(self, frame: Any) -> FloatArray:
        """Values of the rows of a table of any library, (n_rows,), in one call.

        The model gets a copy.
        """
        return np.asarray(self.all_outputs(frame)[0])

    def all_outputs(self, frame: Any) -> FloatArray:
        """The same of each output, (n_outputs, n_rows)."""
        rows = SentRows(len(frame))
        try:
            answers = self._ask(_writable_copy(frame), len(frame))
        except Raised as raised:
            raise failure_error(raised, rows) from raised.cause
        return np.stack([self._checked(numbers, rows) for numbers in answers])

    def on_rows(self, table: Table) -> FloatArray:
        """F at the table's own rows."""
        all_rows = np.arange(table.n_rows, dtype=np.intp)
        return self.recombined(table, all_rows, table, all_rows, ())

    def recombined(
        self,
        base: Table,
        base_rows: IntArray,
        donor: Table,
        donor_rows: IntArray,
        columns: Sequence[int],
    ) -> FloatArray:
        """F of rows of one table with some columns taken from rows of another, (n,).

        Parameters
        ----------
        base, donor : Table
        base_rows, donor_rows : arrays of shape (n,)
            Positions in each.
        columns : sequence of int
            Positions of the columns that are taken from the donor.
        """

        def build(part: slice | IntArray) -> Any:
            return recombine(base, base_rows[part], donor, donor_rows[part], columns)

        rows = SentRows(
            count=len(base_rows),
            base=base,
            base_rows=base_rows,
            donor=donor,
            donor_rows=donor_rows,
            columns=tuple(columns),
        )
        return self.evaluate(build, rows)

    def evaluate(self, build: Build, rows: SentRows) -> FloatArray:
        """F of rows that are made batch by batch.

        Parameters
        ----------
        build : callable
            Makes the rows at some positions, each time in a fresh table.
        rows : SentRows
            What they are made of.

        Returns
        -------
        array of shape (n_rows,)
        """
        if self.answers_of_first:
            repeated = self.answers_of_first.popleft()
            if len(repeated) != rows.count:
                raise ValueError(
                    f"{len(repeated)} rows were asked of the first output, {rows.count} of another"
                )
            return repeated
        values = self.evaluate_outputs(build, rows)
        if self._watch is not None:
            for output, numbers in zip(self.further_outputs, values[1:], strict=True):
                output.answers_of_first.append(numbers)
        return np.asarray(values[0])

    def evaluate_outputs(self, build: Build, rows: SentRows) -> FloatArray:
        """The same of each output, (n_outputs, n_rows), in one call of the model a batch."""
        values = np.empty((len(self.outputs) or 1, rows.count), dtype=np.float64)
        batches = self._batches(rows)
        with closing(self._answers(build, batches, rows)) as answers:
            for batch, answer in zip(batches, answers, strict=True):
                values[:, batch] = answer
                self._report(batch.stop - batch.start)
        return values

    def batch_rows(self, n_columns: int) -> int:
        """Rows of one call: as the user says, or as many of the default as fit a block of bytes."""
        if self.user_sets_batch:
            return self.batch_size
        affordable = self.block // (CELL_BYTES * max(n_columns, 1))
        return max(1, min(DEFAULT_BATCH, affordable))

    def _batches(self, rows: SentRows) -> list[slice]:
        """Where the rows of a request are cut: counts decide, never the number of workers."""
        count = rows.count
        size = self.batch_rows(rows.n_columns)
        if self.workers.active and not self.user_sets_batch:
            worth_sending = max(SMALLEST_BATCH, math.ceil(count / WORKER_BATCHES))
            size = min(size, worth_sending)
        return [slice(start, min(start + size, count)) for start in range(0, count, size)]

    def _answers(
        self, build: Build, batches: Sequence[slice], rows: SentRows
    ) -> Generator[list[FloatArray]]:
        """What each batch is answered, by workers as far as there are any, otherwise here."""
        answered = 0
        model = RemoteModel(model_output=self.model_output, outputs=self._explained)
        with closing(self.workers.answers(model, build, batches)) as answers:
            for batch, answer in zip(batches, answers, strict=False):
                yield self._checked_answer(answer, build, batch, rows)
                answered += 1
        for batch in batches[answered:]:
            yield self._answer_batch(build, batch, rows)

    def _checked_answer(
        self,
        answer: WorkerAnswer,
        build: Build,
        batch: slice,
        rows: SentRows,
    ) -> list[FloatArray]:
        """The checked answer of a worker.

        Where it failed, the model is asked here: it raises again, at fewer rows, or only workers fail.
        """
        with self._lock:
            self._count_call(batch.stop - batch.start, answer.seconds)
            self._note_precision(answer.float32)
        if answer.raised is None:
            return [self._checked(numbers, rows, batch.start) for numbers in answer.outputs]
        self._answer_batch(build, batch, rows)  # raises what the model raises here, if it does
        failing = rows.part(batch)
        message = f"the model raised on a worker ({answer.raised}) at {failing.text()}; "
        raise ModelError(
            message + "asked in this process, it did not.",
            code="M07",
            argument="model",
            columns=failing.names,
            rows=failing.labels(),
            hint="Check that workers have what the model needs, or pass n_jobs=1.",
        )

    def _answer_batch(self, build: Build, batch: slice, rows: SentRows) -> list[FloatArray]:
        """The checked answer of the model itself, by output.

        Where it raises, the fewest rows at which it does are named.
        """

        def ask(part: slice) -> list[FloatArray]:
            return self._ask(build(part), part.stop - part.start)

        try:
            return [self._checked(numbers, rows, batch.start) for numbers in ask(batch)]
        except Raised as raised:
            first_raised = raised
        # Outside the handler, so that the error's history is the model's own and not that of the search.
        failure = smallest_failing(ask, batch, first_raised)
        error = failure_error(failure.raised, rows.part(failure.part), failure.at_random)
        raise error from failure.raised.cause

    def _ask(self, frame: Any, count: int) -> list[FloatArray]:
        """Each output by one call.

        Whatever the model raises comes out as `Raised`, so that our own errors stay apart.
        """
        sent = self.model_output.prepare(frame)
        with self._lock:
            # Read while the lock is held: the answer may be a buffer that the next call overwrites.
            returned = self._call_model(sent, count)
            numbers, is_float32 = read_outputs(returned, count, self._explained)
            self._note_precision(is_float32)
        return numbers

    @property
    def _explained(self) -> tuple[ModelOutput, ...]:
        """Each output that is read of an answer."""
        if not self.outputs:
            return (self.model_output,)
        return tuple(output.model_output for output in self.outputs.values())

    def _note_precision(self, is_float32: bool) -> None:
        if is_float32:
            for predictor in (self, *self.outputs.values()):
                predictor.native_float32 = True

    def _count_call(self, rows: int, seconds: float) -> None:
        """Take note of one call, here or on a worker."""
        past = self.usage
        self.usage = Usage(past.calls + 1, past.rows + rows, past.seconds + seconds)

    def _call_model(self, sent: Any, count: int) -> Any:
        """What the model answers to what it takes, counted."""
        begin = time.perf_counter()
        try:
            return self.model_output.send(sent)
        except Exception as error:
            raise Raised(error) from error
        finally:
            self._count_call(count, time.perf_counter() - begin)

    def on_device(
        self, sent: Any, count: int, take: Callable[[Any], Any], arrays: DeviceArrays
    ) -> Any:
        """F of rows that lie on a device.

        Parameters
        ----------
        sent : object
            The rows as the model takes them.
        count : int
            Number of rows.
        take : callable
            Makes what the model returned an array of the namespace.
        arrays : DeviceArrays
            Of the device.

        Returns
        -------
        array of shape (count,) on the device, or None
            None: a value is no number, or no probability where one is explained.
        """
        xp = arrays.xp
        with self._lock:
            values, choice = self.model_output.unpacked(self._call_model(sent, count))
            values = take(values)
            self.native_float32 = self.native_float32 or values.dtype == xp.float32
            numbers = one_column(xp.astype(values, xp.float64), count, choice, values)
        wrong = ~xp.isfinite(numbers)
        if self.is_probability:
            wrong = wrong | outside_unit_interval(numbers, self.native_float32)
        self._report(count)
        return None if bool(xp.any(wrong)) else numbers

    def _checked(self, values: FloatArray, rows: SentRows, start: int = 0) -> FloatArray:
        """The values of a batch, unless some are not finite (M04) or no probabilities (T08)."""
        wrong = ~np.isfinite(values)
        code = "M04"
        what = "values that are not finite (NaN or infinity)"
        if self.is_probability and not wrong.any():
            wrong = outside_unit_interval(values, self.native_float32)
            code = "T08"
            what = "probabilities outside [0, 1]"
        if not wrong.any():
            return values
        places = np.flatnonzero(wrong)
        wrong_rows = rows.part(places + start)
        examples = ", ".join(f"{value:g}" for value in values[places[:SHOWN]])
        more = ", …" if len(places) > SHOWN else ""
        raise ModelError(
            f"the model returned {len(places)} {what} among {len(values)} rows: "
            f"{examples}{more} for {wrong_rows.text()}.",
            code=code,
            argument="model",
            columns=wrong_rows.names,
            rows=wrong_rows.labels(),
            hint=CHECK_ROWS,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock and who watches, which belong to this process."""
        state = dict(self.__dict__)
        for name in ("_lock", "_watch", "_meter"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
        self._watch = None
        self._meter = None


def _writable_copy(frame: Any) -> Any:
    """A copy of what can be written to; the columns of polars and pyarrow are read-only and shared."""
    if isinstance(frame, list):
        return deepcopy(frame)
    for name in ("copy", "clone"):
        method = getattr(frame, name, None)
        if callable(method):
            return method()
    return frame


def joint_predictor(outputs: Mapping[Any, Predictor]) -> Predictor:
    """A predictor of the first output that asks the model once for all of them.

    Parameters
    ----------
    outputs : mapping of name to Predictor
        Of one model, each of another output.
    """
    first = copy(next(iter(outputs.values())))
    first.outputs = outputs
    return first
