"""The model: the one place from which it is called, counted and checked."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.special import expit
from sklearn.exceptions import NotFittedError

from granite_xai.base.errors import Diagnostics, GraniteError, ModelError, ModelWarning, warn
from granite_xai.base.limits import BLOCK
from granite_xai.base.options import choose, whole_number
from granite_xai.base.parallel import one_openmp_thread
from granite_xai.base.text import count_text, error_text, listing
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.models.kinds import ask_model
from granite_xai.models.outputs import (
    ALL,
    ModelOutput,
    OutputAxis,
    names_in_answer,
    outside_unit_interval,
    read_prediction,
    which_output,
)
from granite_xai.models.scale import RESPONSE, SCALES, Scale
from granite_xai.models.workers import Build, Workers
from granite_xai.tables import Table, recombine
from granite_xai.tables.rows import fixed_row_order

T = TypeVar("T")

DEFAULT_BATCH = 2**13  # rows of one call where the user sets none: fixed, so that repeats are equal
WORKER_BATCHES = 128  # batches of a request while workers are active, where the user sets no size
SMALLEST_BATCH = 256  # rows of these, at least: what a worker gets is worth its way
CELL_BYTES = 24  # of a cell of a recombined row: taken, replaced and sent
# Rows of a call from which a model may use several threads of OpenMP. Histogram boosting of 100 trees on two cores,
# processor seconds of a call with and without: 64 rows .012 and .0007, 1,024 .014 and .004, 4,096 .031 and .014; of
# 16,384 rows both .06, and on a free machine the time to wait is less from about 4,096 rows on.
WORTH_THREADS = 2**12
COMPARED_ROWS = 64  # on which a raw score is compared with the probability, at most
SAME_SINGLE, SAME_DOUBLE = 2e-6, 1e-10  # how far the probability may be from that of the score
SHOWN = 5  # rows, columns or values that a message names
RESPONSES = ("auto", "predict", "probability", "raw")
CHECK_ROWS = "Check the model on these rows."
NAMES_WARNING = (
    "M32: X has no column names, and the model was fitted on columns with names: "
    "they are taken in the order of its fit."
)


class Usage(NamedTuple):
    """What a model was asked: calls, rows sent, seconds inside it; failed calls count."""

    calls: int = 0
    rows: int = 0
    seconds: float = 0.0

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(self.calls + other.calls, self.rows + other.rows, self.seconds + other.seconds)


class Raised(Exception):  # noqa: N818 - the error for users is made from it
    """The model raised; ``cause`` is what."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


@dataclass(frozen=True)
class SentRows:
    """The rows of a call: where they come from, and the words in which an error names them.

    Parameters
    ----------
    base_rows : array of shape (n,)
        Positions in the base.
    base : Table, optional
        Their table; None: a container whose rows have no labels.
    donor_rows : array of shape (n,), optional
    donor : Table, optional
        Where ``columns`` are taken from.
    columns : tuple of int
        Positions of the columns that are replaced.
    """

    base_rows: IntArray
    base: Table | None = None
    donor_rows: IntArray | None = None
    donor: Table | None = None
    columns: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.base_rows)

    def part(self, positions: slice | IntArray) -> SentRows:
        """The rows at some positions of these."""
        donor_rows = None if self.donor_rows is None else self.donor_rows[positions]
        return replace(self, base_rows=self.base_rows[positions], donor_rows=donor_rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the replaced columns."""
        if self.donor is None:
            return ()
        return tuple(self.donor.names[column] for column in self.columns)

    def labels(self) -> list[Any]:
        """What the user calls the first few rows."""
        return _labels(self.base, self.base_rows[:SHOWN])

    def text(self) -> str:
        """The first few rows, or the recombinations that made them."""
        noun = "row" if len(self) == 1 else "rows"
        if not self.columns or self.donor_rows is None:
            return count_text(len(self), noun, self.labels())
        column_noun = "column" if len(self.columns) == 1 else "columns"
        where = f"on {column_noun} {listing(self.names, SHOWN)}"
        donor_labels = _labels(self.donor, self.donor_rows[:SHOWN])
        pairs = [
            f"row {donor!r} {where}, row {base!r} elsewhere"
            for base, donor in zip(self.labels(), donor_labels, strict=True)
        ]
        if len(self) > SHOWN:
            pairs.append("…")
        return f"{len(self)} recombined {noun} ({'; '.join(pairs)})"

    def error(self, message: str, code: str, hint: str = CHECK_ROWS) -> ModelError:
        """An error about these rows."""
        return ModelError(
            message, code=code, argument="model", columns=self.names, rows=self.labels(), hint=hint
        )


def _labels(table: Table | None, rows: Any) -> list[Any]:
    """What the user calls some rows of a table; positions where there is none."""
    return list(rows.tolist() if table is None else table.row_labels(rows))


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
    record : Diagnostics, optional
        Remembers warnings.

    Attributes
    ----------
    usage : Usage
    user_sets_batch : bool
        Whether the rows of a call are the user's choice, which holds for tables of any width.
    native_float32 : bool
        Whether the model has answered in single precision.
    scale : Scale
        On which predictions are read.
    outputs : mapping of name to Predictor
        Of one that speaks for several outputs: each by its name, the first one itself.
    """

    def __init__(
        self,
        model_output: ModelOutput,
        batch_size: int | None = None,
        workers: Workers | None = None,
        block: int = BLOCK,
        record: Diagnostics | None = None,
    ) -> None:
        self.model_output = model_output
        self.label = model_output.label
        self.classes = model_output.classes
        self.explained_class = model_output.explained_class
        self.output_name = model_output.name
        self.axis = model_output.axis
        self.is_survival = model_output.is_survival
        self.user_sets_batch = batch_size is not None
        self.batch_size = DEFAULT_BATCH if batch_size is None else batch_size
        self.workers = Workers() if workers is None else workers
        self.block = block
        self.usage = Usage()
        self.native_float32 = False
        self.scale = RESPONSE
        self.outputs: Mapping[Any, Predictor] = {}
        self._lock = threading.Lock()
        self._watchers: tuple[Callable[[int], None], ...] = ()
        self._warn = warn if record is None else record.warn
        self._warned_of_names = False

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the lock and who watches, which belong to this process."""
        return dict(self.__dict__) | {"_lock": None, "_watchers": (), "_warn": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock(), _warn=warn)

    @property
    def is_probability(self) -> bool:
        """Whether a prediction is a probability, whatever is read of the model."""
        return self.model_output.response == "probability" or self.scale.reads_margin

    # What it is asked -------------------------------------------------------------------------------------------

    def __call__(self, frame: Any) -> FloatArray:
        """Values of the rows of a table of any library on the scale, (n_rows,), in one call.

        The model gets a copy.
        """
        return np.asarray(self.all_outputs(frame)[0])

    def all_outputs(self, frame: Any) -> FloatArray:
        """The same of each output, (n_outputs, n_rows)."""
        rows = SentRows(np.arange(len(frame)))
        try:
            answers = self._ask(_writable_copy(frame), len(frame))
        except Raised as raised:
            raise self._failure(raised.cause, rows) from raised.cause
        return np.stack(self._checked(answers, rows))

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
        outputs = self.recombined_outputs(base, base_rows, donor, donor_rows, columns)
        return np.asarray(outputs[0])

    def recombined_outputs(
        self,
        base: Table,
        base_rows: IntArray,
        donor: Table,
        donor_rows: IntArray,
        columns: Sequence[int],
    ) -> FloatArray:
        """The same of each output, (n_outputs, n)."""

        def build(part: slice | IntArray) -> Any:
            return recombine(base, base_rows[part], donor, donor_rows[part], columns)

        return self.evaluate(build, SentRows(base_rows, base, donor_rows, donor, tuple(columns)))

    def evaluate(self, build: Build, rows: SentRows) -> FloatArray:
        """F of rows that are made batch by batch, in one call of the model a batch.

        Parameters
        ----------
        build : callable
            Makes the rows at some positions, each time in a fresh table.
        rows : SentRows
            What they are, for messages.

        Returns
        -------
        array of shape (n_outputs, n)
        """
        values = np.empty((len(self.outputs) or 1, len(rows)), dtype=np.float64)
        batches = self._batches(rows)
        with closing(self._answers(build, batches, rows)) as answers:
            for batch, answer in zip(batches, answers, strict=True):
                values[:, batch] = answer
                self._report(batch.stop - batch.start)
        return values

    def output_names(self, table: Table) -> tuple[Any, ...]:
        """Every output by the name that a frame of answers gives it, otherwise by position.

        Parameters
        ----------
        table : Table
            The model is asked about its first row.

        Raises
        ------
        ModelError
            M02: there is one output only.
        """
        all_rows = np.arange(table.n_rows, dtype=np.intp)

        def ask(part: slice) -> Any:
            with self._lock:
                return self._returned(
                    recombine(table, all_rows[part], table, all_rows[part], ()), 1
                )

        returned = self._located(ask, slice(0, 1), SentRows(all_rows, table))
        return names_in_answer(returned, self.model_output)

    @property
    def further_outputs(self) -> tuple[Predictor, ...]:
        """All outputs but the first."""
        return tuple(self.outputs.values())[1:]

    # Who counts the rows ----------------------------------------------------------------------------------------

    @contextmanager
    def watched(self, watch: Callable[[int], None]) -> Iterator[None]:
        """Call ``watch`` with the number of rows that were answered, batch by batch."""
        watchers = self._watchers
        self._watchers = (*watchers, watch)
        try:
            yield
        finally:
            self._watchers = watchers

    @property
    def is_watched(self) -> bool:
        """Whether somebody counts the rows that are answered."""
        return bool(self._watchers)

    def _report(self, rows: int) -> None:
        """Call whoever watches that so many rows were answered."""
        for watch in self._watchers:
            watch(rows)

    # Batches ----------------------------------------------------------------------------------------------------

    def batch_rows(self, n_columns: int) -> int:
        """Rows of one call: as the user says, or as many of the default as fit a block of bytes."""
        if self.user_sets_batch:
            return self.batch_size
        affordable = self.block // (CELL_BYTES * max(n_columns, 1))
        return max(1, min(DEFAULT_BATCH, affordable))

    def _batches(self, rows: SentRows) -> list[slice]:
        """Where the rows of a request are cut: counts decide, never the number of workers."""
        count = len(rows)
        size = self.batch_rows(0 if rows.base is None else rows.base.n_columns)
        if self.workers.active and not self.user_sets_batch:
            worth_sending = max(SMALLEST_BATCH, math.ceil(count / WORKER_BATCHES))
            size = min(size, worth_sending)
        return [slice(start, min(start + size, count)) for start in range(0, count, size)]

    def _answers(
        self, build: Build, batches: Sequence[slice], rows: SentRows
    ) -> Generator[list[FloatArray]]:
        """What each batch is answered, by workers as far as there are any, otherwise here."""
        answered = 0
        with closing(self.workers.answers(self._explained, build, batches)) as answers:
            for batch, answer in zip(batches, answers, strict=False):
                with self._lock:
                    self._count_call(batch.stop - batch.start, answer.seconds)
                    self._note_precision(answer.float32)
                if answer.raised is not None:
                    self._answer_batch(
                        build, batch, rows
                    )  # raises what the model raises here, if it does
                    failing = rows.part(batch)
                    raise failing.error(
                        f"the model raised on a worker ({answer.raised}) at {failing.text()}; "
                        "asked in this process, it did not.",
                        code="M07",
                        hint="Check that workers have what the model needs, or pass n_jobs=1.",
                    )
                yield self._checked(answer.outputs, rows, batch.start)
                answered += 1
        for batch in batches[answered:]:
            yield self._answer_batch(build, batch, rows)

    def _answer_batch(self, build: Build, batch: slice, rows: SentRows) -> list[FloatArray]:
        """The checked answer of the model itself, by output."""

        def ask(part: slice) -> list[FloatArray]:
            return self._ask(build(part), part.stop - part.start)

        answer = self._located(ask, batch, rows)
        return self._checked(answer, rows, batch.start)

    def _located(self, ask: Callable[[slice], T], batch: slice, rows: SentRows) -> T:
        """The answer about a batch; where the model raises, the error names a row at which it does.

        Parameters
        ----------
        ask : callable
            Asks about a part of the rows.
        batch : slice
            The part.
        rows : SentRows
            All of them.
        """

        def raised_by(part: slice) -> Exception | None:
            try:
                ask(part)
            except Raised as raised:
                return raised.cause
            except ModelError:  # an answer of the wrong shape is not the failure that is looked for
                return None
            return None

        try:
            return ask(batch)
        except Raised as raised:
            cause = raised.cause
        failing = rows.part(batch)
        if isinstance(cause, NotFittedError | MemoryError):  # which no single row is to blame for
            raise self._failure(cause, failing) from cause
        row = _failing_row(raised_by, batch)
        last_row = slice(len(rows) - 1, len(rows))
        cause_there = raised_by(row)
        if cause_there is None:
            at_random = raised_by(batch) is None
            raise self._failure(cause, failing, at_random=at_random) from cause
        fails_first = row.start == batch.start and row != last_row
        everywhere = fails_first and raised_by(last_row) is not None
        if not everywhere:
            failing = rows.part(row)
        raise self._failure(cause_there, failing, everywhere=everywhere) from cause_there

    def _failure(
        self, cause: Exception, rows: SentRows, everywhere: bool = False, at_random: bool = False
    ) -> ModelError:
        """The error for users about what the model raised (M07; M20 where it is not fitted).

        Parameters
        ----------
        cause : Exception
        rows : SentRows
            At which rows.
        everywhere : bool
            Whether it raises at single rows from both ends.
        at_random : bool
            Whether it did not raise when it was asked again.
        """
        if isinstance(cause, NotFittedError):
            message = f"the model is not fitted ({error_text(cause)})."
            return ModelError(message, code="M20", argument="model", hint="Fit it first.")
        where = "every row that was tried" if everywhere else rows.text()
        if at_random:
            where += "; asked again, it did not: it fails at random"
        hint = CHECK_ROWS
        if isinstance(cause, MemoryError):
            hint = "Send fewer rows a call: Resources(batch_size=)."
        elif everywhere and not self.model_output.is_function:
            hint = "Pass the table or the Pipeline that the model was fitted on"
            hint += _other_cells(rows.base)
        message = f"the model raised {type(cause).__name__} ({error_text(cause)}) at {where}."
        return rows.error(message, code="M07", hint=hint)

    # One call ---------------------------------------------------------------------------------------------------

    def _ask(self, frame: Any, count: int) -> list[FloatArray]:
        """Each output by one call.

        Whatever the model raises comes out as `Raised`, so that our own errors stay apart.
        """
        # Read while the lock is held: the answer may be a buffer that the next call overwrites.
        with self._lock:
            returned = self._returned(frame, count)
            read = [read_prediction(returned, count, output) for output in self._explained]
            self._note_precision(any(is_float32 for _, is_float32 in read))
        return [numbers for numbers, _ in read]

    def _returned(self, frame: Any, count: int) -> Any:
        """What the model answers to a table."""
        sent = self.model_output.prepare(frame)
        if self.model_output.feature_names is not None and sent is not frame:
            self._warn_of_names()
        return self._call_model(sent, count)

    @property
    def _explained(self) -> list[ModelOutput]:
        """Each output that is read of an answer."""
        if not self.outputs:
            return [self.model_output]
        return [output.model_output for output in self.outputs.values()]

    def _call_model(self, sent: Any, count: int) -> Any:
        """What the model answers to what it takes, counted."""
        # Threads that wait for each other cost more than a small call of a boosted model.
        threads = one_openmp_thread() if count < WORTH_THREADS else nullcontext()
        begin = time.perf_counter()
        try:
            with threads:
                return self.model_output.send(sent)
        except Exception as error:
            raise Raised(error) from error
        finally:
            self._count_call(count, time.perf_counter() - begin)

    def _count_call(self, rows: int, seconds: float) -> None:
        """Take note of one call, here or on a worker."""
        self.usage = self.usage.plus(Usage(1, rows, seconds))

    def _note_precision(self, is_float32: bool) -> None:
        if is_float32:
            for predictor in (self, *self.outputs.values()):
                predictor.native_float32 = True

    def _warn_of_names(self) -> None:
        if not self._warned_of_names:
            self._warned_of_names = True
            self._warn(NAMES_WARNING, ModelWarning)

    def on_device(self, sent: Any, rows: SentRows) -> FloatArray:
        """F of rows that lie on a device, as the model takes them, (n,), in one call.

        Raises
        ------
        Raised
            What the model raised.
        ModelError
            As about rows of the host (M02 to M05, T08).
        """
        with self._lock:
            returned = self._call_model(sent, len(rows))
            numbers, is_float32 = read_prediction(returned, len(rows), self.model_output)
            self._note_precision(is_float32)
        self._report(len(rows))
        return self._checked([numbers], rows)[0]

    def _checked(
        self, answers: Sequence[FloatArray], rows: SentRows, start: int = 0
    ) -> list[FloatArray]:
        """The values of a batch on the scale of each output, once they are checked."""
        outputs = list(self.outputs.values()) or [self]
        return [
            output.scale.read(output._checked_values(values, rows, start))
            for output, values in zip(outputs, answers, strict=True)
        ]

    def _checked_values(self, values: FloatArray, rows: SentRows, start: int) -> FloatArray:
        """The values, unless some are not finite (M04), no probabilities (T08) or outside of the scale (M33)."""
        wrong = ~np.isfinite(values)
        code = "M04"
        what = "values that are not finite (NaN or infinity)"
        hint = CHECK_ROWS
        if self.model_output.response == "probability" and not wrong.any():
            wrong = outside_unit_interval(values, self.native_float32)
            code = "T08"
            what = "probabilities outside [0, 1]"
        if not wrong.any() and not self.scale.is_response and not self.scale.reads_margin:
            wrong = self._outside_scale(values)
            code = "M33"
            what = (
                f"predictions that have no place on the scale {self.scale.name!r}, which takes "
                f"{self.scale.needs},"
            )
            hint = "Leave scale out, or choose one on which every prediction has a place."
        if not wrong.any():
            return values
        places = np.flatnonzero(wrong)
        wrong_rows = rows.part(places + start)
        examples = ", ".join(f"{value:g}" for value in values[places[:SHOWN]])
        if len(places) > SHOWN:
            examples += ", …"
        message = f"the model returned {len(places)} {what} among {len(values)} rows: "
        message += f"{examples} for {wrong_rows.text()}."
        raise wrong_rows.error(message, code=code, hint=hint)

    def _outside_scale(self, values: FloatArray) -> BoolArray:
        """Mark the predictions that have no place on the scale; those on an end of it are read beside it."""
        is_checked = self.is_probability and self.scale.own is None
        if is_checked:  # within round-off of 0 and 1
            return np.zeros(len(values), dtype=np.bool_)
        # What a transform of the user's own may do is told by its result.
        with np.errstate(all="ignore"):
            has_place = np.isfinite(self.scale.read(values))
        low, high = self.scale.ends
        return (values < low) | (values > high) | ~has_place

    # The scale --------------------------------------------------------------------------------------------------

    def set_scale(self, scale: Scale) -> None:
        """Read predictions on a scale from now on."""
        self.scale = scale
        self.label = scale.title(self.label)

    def share_clipped(self, table: Table, seed: int) -> float:
        """Settle at which distance from the ends of the scale predictions are read that lie on one.

        That is half the smallest distance of the others, among the predictions of some rows and as many in which a
        column is that of another row; so near to the ends as single rows come, recombined ones may come.

        Returns
        -------
        float
            Share of the rows whose own prediction lies on an end.
        """
        every_row = np.arange(table.n_rows)
        # By place in the fixed order and by name, so that the order of rows and columns does not matter.
        in_order = fixed_row_order(table, None, np.ones(table.n_rows), every_row)
        by_name = np.argsort(np.array(table.names, dtype=object), kind="stable")
        generator = np.random.default_rng(seed)
        donors = generator.permutation(in_order)
        moved_column = by_name[generator.integers(table.n_columns, size=table.n_rows)]
        parts = [self.recombined_outputs(table, every_row, table, every_row, ())]
        for column in np.unique(moved_column).tolist():
            places = np.flatnonzero(moved_column == column)
            rows = in_order[places]
            parts.append(self.recombined_outputs(table, rows, table, donors[places], (column,)))
        on_scale = np.hstack(parts)
        shares = []
        for output, values in zip(self.outputs.values() or [self], on_scale, strict=True):
            predictions = output.scale.back(values)
            output.scale, is_on_end = output.scale.settled(predictions, self.native_float32)
            shares.append(float(np.mean(is_on_end[: table.n_rows])))
        self.scale = next(iter(self.outputs.values()), self).scale
        return max(shares)


def _failing_row(raised_by: Callable[[slice], Exception | None], batch: slice) -> slice:
    """The row at which a batch fails, if it fails at single rows: each step asks about half of what is left."""
    start, stop = batch.start, batch.stop
    while stop - start > 1:
        middle = (start + stop) // 2
        if raised_by(slice(start, middle)) is not None:
            stop = middle
        else:
            start = middle
    return slice(start, stop)


def _other_cells(table: Table | None) -> str:
    """What a table holds that is no number, as the end of a sentence."""
    held = []
    for kind, what in (("nominal", "text or categories"), ("date", "dates")):
        names = [] if table is None else [c.name for c in table.columns if c.kind == kind]
        if names:
            held.append(f"{what} in {listing(names, SHOWN)}")
    return f": X holds {' and '.join(held)}." if held else "."


def _writable_copy(frame: Any) -> Any:
    """A copy of what can be written to; the columns of polars and pyarrow are read-only and shared."""
    if isinstance(frame, list):
        return deepcopy(frame)
    for name in ("copy", "clone"):
        method = getattr(frame, name, None)
        if callable(method):
            return method()
    return frame


def as_predictor(
    model: Any,
    *,
    output: Any = None,
    response: str = "auto",
    batch_size: int | None = None,
    n_jobs: int | None = None,
    device: str = "cpu",
    block: int = BLOCK,
    record: Diagnostics | None = None,
) -> Predictor:
    """Turn any model into a function from tables to one number a row, not called yet.

    Parameters
    ----------
    model, output, response, n_jobs
        As in `Granite`.
    batch_size, device, block
        As in `Resources`.
    record : Diagnostics, optional
        Remembers the warnings about the model.

    Raises
    ------
    ModelError
        M02: it has more than two classes, and none is chosen. M21: it is no model, or does not do what models
        of its kind do.
    """
    if isinstance(model, Predictor):
        return model
    if batch_size is not None:
        whole_number("batch_size", batch_size, at_least=1)
    choose("response", response, {name: name for name in RESPONSES})
    model_output = ask_model(model, output, response)
    names = model_output.classes or model_output.names
    if names is not None and model_output.column is None:
        raise which_output(names)
    if model_output.warning is not None:
        give_warning = warn if record is None else record.warn
        give_warning(model_output.warning, ModelWarning)
    workers = Workers(n_jobs=n_jobs, device=device, record=record)
    return Predictor(model_output, batch_size, workers, block, record)


def for_table(
    model: Any, table: Table, output: Any, scale: Scale = RESPONSE, **options: Any
) -> Predictor:
    """The predictor of the outputs that a fit on a table explains: one, or "all".

    Parameters
    ----------
    model : object
    table : Table
        Of a model whose outputs have no names, a row of it is asked about.
    output : object
        As in `Granite`; "all" is every output, unless it is the name of a class.
    scale : Scale
        On which predictions are read.
    options : dict
        Those of `as_predictor`.
    """
    if isinstance(output, str) and output == ALL:
        described = ask_model(model, None, options.get("response", "auto"))
        names = described.classes or described.names
        if names is None:
            names = as_predictor(model, **options).output_names(table)
        if ALL not in names:
            predictors = {name: as_predictor(model, output=name, **options) for name in names}
            for predictor in predictors.values():
                predictor.set_scale(scale)
            return joint_predictor(predictors)
    predictor = as_predictor(model, output=output, **options)
    if scale.name == "log-odds" and predictor.is_probability:
        margin = _margin_of(model, predictor, table, output, options)
        if margin is not None:
            return margin
    predictor.set_scale(scale)
    return predictor


def _margin_of(
    model: Any, predictor: Predictor, table: Table, output: Any, options: Mapping[str, Any]
) -> Predictor | None:
    """A predictor of log-odds that the model itself gives: a raw score that is the logit of its probability.

    None where there is no such score, or where some rows show that it is another one.
    """
    if len(predictor.classes or ()) != 2 or predictor.model_output.is_function:
        return None
    compared = table.take(np.arange(min(COMPARED_ROWS, table.n_rows)))
    probabilities = predictor.on_rows(compared)
    try:
        raw_score = as_predictor(model, output=output, **{**options, "response": "raw"})
        difference = np.abs(expit(raw_score.on_rows(compared)) - probabilities)
    except (
        GraniteError
    ):  # models without a score, or without a finite one, are asked for probabilities
        return None
    are_single = predictor.native_float32 or raw_score.native_float32
    scale = replace(SCALES["log-odds"], reads_margin=True)
    if difference.max() > (SAME_SINGLE if are_single else SAME_DOUBLE):
        return None
    raw_score.label = scale.title(predictor.label)
    raw_score.usage = raw_score.usage.plus(predictor.usage)
    raw_score.scale = scale
    return raw_score


def joint_predictor(outputs: Mapping[Any, Predictor]) -> Predictor:
    """A predictor of the first output that asks the model once for all of them.

    Parameters
    ----------
    outputs : mapping of name to Predictor
        Of one model, each of another output.
    """
    original = next(iter(outputs.values()))
    first = copy(original)
    first._warn = original._warn  # a copy that has travelled could not warn the caller of this one
    first.outputs = outputs
    axes = [predictor.axis for predictor in outputs.values() if predictor.axis is not None]
    if axes:
        first.axis = OutputAxis(
            axes[0].name, tuple(place for axis in axes for place in axis.places)
        )
    return first
