"""Predictor: the one place from which a model is called, counted and checked; and the rows at which one fails."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError

from granite_xai.base.errors import ModelError
from granite_xai.base.text import count_text, listing
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute.primitives import ArrayNamespace
from granite_xai.models.output import (
    ModelOutput,
    first_line,
    one_column,
    outside_unit_interval,
    read_outputs,
)
from granite_xai.models.remote import RemoteModel, WorkerAnswer, Workers
from granite_xai.tables import Table, recombine

DEFAULT_BATCH = 2**13  # rows of one call where the user sets none: fixed, so that repeats are equal
WORKER_BATCHES = 128  # batches of a request while workers are active, where the user sets no size
SMALLEST_BATCH = 256  # rows of these, at least: what a worker gets is worth its way
_SHOWN = 5
_CHECK = "Check the model on these rows."


class Usage(NamedTuple):
    """What a model was asked: calls, rows sent, seconds inside it; failed calls count."""

    calls: int = 0
    rows: int = 0
    seconds: float = 0.0


class Predictor:
    """A model as a function from tables to one number a row, called from one thread at a time (see `as_predictor`)."""

    def __init__(
        self,
        model_output: ModelOutput,
        batch_size: int | None = None,
        workers: Workers | None = None,
    ) -> None:
        self.model_output, self.label, self.classes = (
            model_output,
            model_output.label,
            model_output.choice.classes,
        )
        self.is_probability = model_output.choice.scale == "probability"
        self.batch_size = DEFAULT_BATCH if batch_size is None else batch_size
        self.workers = Workers() if workers is None else workers
        self.usage = Usage()
        self.native_float32 = False  # whether it has answered in single precision
        self.outputs: Mapping[
            Any, Predictor
        ] = {}  # of one that speaks for several: each by its name, itself first
        self._lock = threading.Lock()
        self._watch: Callable[[int], None] | None = None
        self._meter: Callable[[int], None] | None = None
        self.told: deque[FloatArray] = (
            deque()
        )  # of a further output: its share of what the first was answered

    @contextmanager
    def watched(self, watch: Callable[[int], None]) -> Iterator[None]:
        """Tell someone how many rows were answered, batch by batch; further outputs repeat what the first asks."""
        self._watch = watch
        try:
            yield
        finally:
            self._watch = None
            for other in self.others:
                other.told.clear()

    @contextmanager
    def metered(self, meter: Callable[[int], None]) -> Iterator[None]:
        """Tell someone of all rows that are answered in a whole fit: pilot, rows that search, rows that judge."""
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
        """Tell those who want to know that so many rows were answered."""
        if self._watch is not None:
            self._watch(rows)
        if self._meter is not None:
            self._meter(rows)

    @property
    def others(self) -> tuple[Predictor, ...]:
        """All outputs but the first."""
        return tuple(self.outputs.values())[1:]

    def names(self, table: Table) -> tuple[Any, ...]:
        """Every output by class or position; a model whose outputs have no names is asked about a row (M02)."""
        if self.classes is not None:
            return self.classes
        rows = Rows(1, table, np.zeros(1, dtype=np.intp))
        (answer,) = self._batch(lambda _: table.take([0]).native, slice(0, 1), rows)
        if answer.ndim != 2:
            message, hint = (
                "the model returned one number a row: there are no others.",
                "Leave output=None.",
            )
            raise ModelError(message, code="M02", argument="output", hint=hint)
        return tuple(range(answer.shape[1]))

    @property
    def explained_class(self) -> Any:
        """The class whose probability or score is explained; None where there are no classes."""
        column = self.model_output.choice.column
        return None if self.classes is None or column is None else self.classes[column]

    def __call__(self, frame: Any) -> FloatArray:
        """Values of the rows of a container, in one call; the model gets a copy."""
        return np.asarray(self.every(frame)[0])

    def every(self, frame: Any) -> FloatArray:
        """The same of each output, (outputs, rows)."""
        rows = Rows(len(frame))
        # what can be written to is copied; the columns of polars and pyarrow are read-only and shared
        ways = (getattr(frame, name, None) for name in ("copy", "clone"))
        own = (
            deepcopy(frame)
            if isinstance(frame, list)
            else next(filter(callable, ways), lambda: frame)()
        )
        try:
            return np.stack([self._checked(each, rows) for each in self._ask(own, len(frame))])
        except Raised as raised:
            raise failure(raised, rows) from raised.cause

    def on_rows(self, table: Table) -> FloatArray:
        """F at the table's own rows."""
        every = np.arange(table.n_rows, dtype=np.intp)
        return self.recombined(table, every, table, every, ())

    def recombined(
        self,
        base: Table,
        base_rows: IntArray,
        donor: Table,
        donor_rows: IntArray,
        columns: Sequence[int],
    ) -> FloatArray:
        """F of the rows ``base_rows`` of ``base`` with ``columns`` taken from the rows ``donor_rows`` of ``donor``."""

        def build(at: slice | IntArray) -> Any:
            return recombine(base, base_rows[at], donor, donor_rows[at], columns)

        return self.evaluate(
            build, Rows(len(base_rows), base, base_rows, donor, donor_rows, tuple(columns))
        )

    def evaluate(self, build: Callable[[slice | IntArray], Any], rows: Rows) -> FloatArray:
        """F of rows that ``build`` makes batch by batch, each time in a fresh container."""
        if self.told:
            if len(known := self.told.popleft()) != rows.count:
                raise ValueError(
                    f"{len(known)} rows were asked of the first output, {rows.count} of another"
                )
            return known
        values = self.evaluate_every(build, rows)
        for other, own in zip(self.others if self._watch else (), values[1:], strict=False):
            other.told.append(own)
        return np.asarray(values[0])

    def evaluate_every(self, build: Callable[[slice | IntArray], Any], rows: Rows) -> FloatArray:
        """The same of each output, (outputs, rows), in one call of the model a batch."""
        values = np.empty((len(self.outputs) or 1, rows.count), dtype=np.float64)
        batches = self._batches(rows.count)
        with closing(self._answers(build, batches, rows)) as answers:
            for batch, answer in zip(batches, answers, strict=True):
                values[:, batch] = answer
                self._report(batch.stop - batch.start)
        return values

    def _batches(self, count: int) -> list[slice]:
        """Where the rows of a request are cut: counts decide, never the number of workers."""
        size = self.batch_size
        if size == DEFAULT_BATCH and self.workers.active:
            size = min(size, max(SMALLEST_BATCH, -(-count // WORKER_BATCHES)))
        return [slice(start, min(start + size, count)) for start in range(0, count, size)]

    def _answers(
        self, build: Callable[[slice | IntArray], Any], batches: Sequence[slice], rows: Rows
    ) -> Generator[list[FloatArray]]:
        """What each batch is answered, by workers as far as there are any, otherwise here."""
        answered = 0
        model = RemoteModel(asked=self.model_output, outputs=self._explained)
        with closing(self.workers.answers(model, build, batches)) as answers:
            for batch, answer in zip(batches, answers, strict=False):
                yield self._of_worker(answer, build, batch, rows)
                answered += 1
        for batch in batches[answered:]:
            yield self._batch(build, batch, rows)

    def _of_worker(
        self,
        answer: WorkerAnswer,
        build: Callable[[slice | IntArray], Any],
        batch: slice,
        rows: Rows,
    ) -> list[FloatArray]:
        """The checked answer of a worker; one that failed is asked for here, where it is explained."""
        with self._lock:
            self._count(batch.stop - batch.start, answer.seconds)
            self._note_precision(answer.float32)
        if answer.raised is None:
            return [self._checked(numbers, rows, batch.start) for numbers in answer.outputs]
        self._batch(build, batch, rows)
        failing = rows.at(batch)
        message = f"the model raised on a worker ({answer.raised}) at {failing.text()}; "
        raise ModelError(
            message + "asked in this process, it did not.",
            code="M07",
            argument="model",
            columns=failing.names,
            rows=failing.labels(),
            hint="Check that workers have what the model needs, or pass n_jobs=1.",
        )

    def _batch(
        self, build: Callable[[slice | IntArray], Any], batch: slice, rows: Rows
    ) -> list[FloatArray]:
        def ask(part: slice) -> list[FloatArray]:
            return self._ask(build(part), part.stop - part.start)

        try:
            return [self._checked(each, rows, batch.start) for each in ask(batch)]
        except Raised as raised:
            first = raised
        # Outside the handler, so that the error's history is the model's own and not that of the search.
        at, last, once = smallest_failing(ask, batch, first)
        raise failure(last, rows.at(at), once) from last.cause

    def _ask(self, frame: Any, count: int) -> list[FloatArray]:
        """Each output by one call; whatever the model raises comes out as `Raised`: our own errors stay apart."""
        sent = self.model_output.prepare(frame)
        with self._lock:
            # Read while the lock is held: the answer may be a buffer that the next call overwrites.
            returned = self._answer(sent, count)
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

    def _count(self, rows: int, seconds: float) -> None:
        """Take note of one call, here or on a worker."""
        past = self.usage
        self.usage = Usage(past.calls + 1, past.rows + rows, past.seconds + seconds)

    def _answer(self, sent: Any, count: int) -> Any:
        """What the model answers to what it takes, counted."""
        begin = time.perf_counter()
        try:
            return self.model_output.send(sent)
        except Exception as error:
            raise Raised(error) from error
        finally:
            self._count(count, time.perf_counter() - begin)

    def on_device(
        self, sent: Any, count: int, take: Callable[[Any], Any], primitives: ArrayNamespace
    ) -> Any:
        """F of rows that lie on a device, as an array there; None where a value is no number or no probability."""
        xp = primitives.xp
        with self._lock:
            values, choice = self.model_output.taken(self._answer(sent, count))
            values = take(values)
            self.native_float32 = self.native_float32 or values.dtype == xp.float32
            numbers = one_column(xp.astype(values, xp.float64), count, choice, values)
        wrong = ~xp.isfinite(numbers)
        if self.is_probability:
            wrong = wrong | outside_unit_interval(numbers, self.native_float32)
        self._report(count)
        return None if bool(xp.any(wrong)) else numbers

    def _checked(self, values: FloatArray, rows: Rows, start: int = 0) -> FloatArray:
        """The values of a batch, unless some are not finite (M04) or no probabilities (T08)."""
        code, what, wrong = (
            "M04",
            "values that are not finite (NaN or infinity)",
            ~np.isfinite(values),
        )
        if self.is_probability and not wrong.any():
            code, what = "T08", "probabilities outside [0, 1]"
            wrong = outside_unit_interval(values, self.native_float32)
        if not wrong.any():
            return values
        at = np.flatnonzero(wrong)
        bad = rows.at(at + start)
        shown = ", ".join(f"{value:g}" for value in values[at[:_SHOWN]]) + (
            ", …" if len(at) > _SHOWN else ""
        )
        message = f"the model returned {len(at)} {what} among {len(values)} rows: {shown} for {bad.text()}."
        about: dict[str, Any] = {"columns": bad.names, "rows": bad.labels(), "hint": _CHECK}
        raise ModelError(message, code=code, argument="model", **about)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock and the watch, which belong to this process."""
        return {
            key: value
            for key, value in self.__dict__.items()
            if key not in ("_lock", "_watch", "_meter")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
        self._watch = None
        self._meter = None


def together(outputs: Mapping[Any, Predictor]) -> Predictor:
    """One that asks the model once for all outputs: it speaks for the first, and the others hear of it."""
    first = copy(next(iter(outputs.values())))
    first.outputs = outputs
    return first


class Raised(Exception):  # noqa: N818 - never leaves the room; the error for users is made from it
    """The model raised; ``cause`` is what."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


@dataclass(frozen=True)
class Rows:
    """Where the rows of a call come from: plain positions, or rows of one table with columns of rows of another."""

    count: int
    base: Table | None = None
    base_rows: IntArray | None = None
    donor: Table | None = None
    donor_rows: IntArray | None = None
    columns: tuple[int, ...] = ()

    def at(self, part: slice | IntArray) -> Rows:
        """The rows at some positions of these."""
        base = (np.arange(self.count) if self.base_rows is None else self.base_rows)[part]
        donor = None if self.donor_rows is None else self.donor_rows[part]
        return Rows(len(base), self.base, base, self.donor, donor, self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the replaced columns."""
        return (
            tuple(self.donor.names[column] for column in self.columns)
            if self.donor is not None
            else ()
        )

    def labels(self, donor: bool = False) -> list[Any]:
        """Labels of the first few rows, or of their donors: what the user calls them."""
        table, rows = (self.donor, self.donor_rows) if donor else (self.base, self.base_rows)
        positions = (np.arange(self.count) if rows is None else rows)[:_SHOWN]
        return positions.tolist() if table is None else list(table.row_labels(positions))

    def text(self) -> str:
        """Name the first few rows, or the recombinations that made them."""
        if not self.columns or self.donor_rows is None:
            return count_text(self.count, "row" if self.count == 1 else "rows", self.labels())
        where = f"on column{'s' if len(self.columns) > 1 else ''} {listing(self.names, _SHOWN)}"
        both = zip(self.labels(), self.labels(donor=True), strict=True)
        pairs = [f"row {there!r} {where}, row {here!r} elsewhere" for here, there in both]
        more = "; …" if self.count > _SHOWN else ""
        return f"{self.count} recombined row{'' if self.count == 1 else 's'} ({'; '.join(pairs)}{more})"


def failure(raised: Raised, rows: Rows, once: bool = False) -> ModelError:
    """Phrase what the model raised, with the rows that it raised at; ``once``: asked again, it did not."""
    error = raised.cause
    if isinstance(error, NotFittedError):
        message = f"the model is not fitted ({first_line(error)})."
        return ModelError(message, code="M20", argument="model", hint="Fit it first.")
    short = isinstance(error, MemoryError)
    hint = "Send fewer rows a call: Resources(batch_size=)." if short else _CHECK
    message = f"the model raised {type(error).__name__} ({first_line(error)}) at {rows.text()}"
    message += "; asked again, it did not: it fails at random." if once else "."
    return ModelError(
        message, code="M07", argument="model", columns=rows.names, rows=rows.labels(), hint=hint
    )


def smallest_failing(
    ask: Callable[[slice], Any], batch: slice, raised: Raised
) -> tuple[slice, Raised, bool]:
    """Halve a failing batch until neither half fails alone; and whether the model fails at random, not at its rows."""
    # Neither of these depends on the rows, so there is nothing to search for.
    if isinstance(raised.cause, NotFittedError | MemoryError):
        return batch, raised, False
    whole = batch
    while batch.stop - batch.start > 1:
        middle = (batch.start + batch.stop) // 2
        for half in (slice(batch.start, middle), slice(middle, batch.stop)):
            if (again := _raises(ask, half)) is not None:
                batch, raised = half, again
                break
        else:
            break
    return batch, raised, batch == whole and _raises(ask, whole) is None


def _raises(ask: Callable[[slice], Any], part: slice) -> Raised | None:
    try:
        ask(part)
    except Raised as raised:
        return raised
    except ModelError:
        pass  # an answer of the wrong shape is not the failure that is looked for
    return None
