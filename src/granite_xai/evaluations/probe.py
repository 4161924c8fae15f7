"""How noisy predictions are (C4).

A probe asks the model about a few rows: as they are, again, some of them reversed, and with every
float moved by one step up and down. The *error* of a prediction is how far its answers differ then, or
what rounding explains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from granite_xai.base.errors import (
    DataWarning,
    Diagnostics,
    InputError,
    ModelError,
    ModelWarning,
    warn,
)
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.models import Predictor, SentRows
from granite_xai.tables import Column, Table, open_table, recombine

MOST_ROWS = 64  # of a probe
REVERSED_ROWS = 7  # that are sent alone, in reversed order
# Sent to the model: as they are, again, moved up, moved down; and reversed.
PROBED_ROWS = 4 * MOST_ROWS + REVERSED_ROWS
MOST_GROUPS = (
    256  # of columns that take a step by themselves, where all of them together change much
)
SAME_NOISE = 0.5  # share of a change from which it is taken for noise
UP_AND_DOWN: tuple[Literal[1, -1], ...] = (1, -1)
JUMP = 0.01  # share of the standard deviation from which a jump would hide what is asked for
# Changes, as shares of the standard deviation, that other orders of summation may explain.
ORDER_OF_SUMS_DOUBLE = 1e-7
ORDER_OF_SUMS_SINGLE = 1e-3
TIMES_PROBED = 10  # answers within so many times the probed error are as the probe found them
EPSILON_SINGLE = 2.0**-23
EPSILON_DOUBLE = 2.0**-52
# Disagreements are up to fourth powers of predictions: within these sizes they have all their digits.
LARGEST_SIZE = 1e70
SMALLEST_SIZE = 1e-70
CELLS_AT_ONCE = 2**16  # evaluations looked at together
EQUAL_PREDICTIONS = (
    2.0**-49
)  # share of their size by which equal predictions differ from their mean
ENTERS_FLOOR = (
    "This enters the noise floor: disagreement below it is reported as nothing to explain."
)


# What the probe finds ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Probe:
    """How far the answers of one output move, at most, when nothing, or next to nothing, changes.

    Parameters
    ----------
    repeat : float
        When the same rows are sent again.
    reorder : float
        When the first 7 are sent alone and reversed.
    moved : float
        When floats move by one step: the larger of two medians, up and down.
    """

    repeat: float = 0.0
    reorder: float = 0.0
    moved: float = 0.0

    def error(self, scale: float, is_single: bool) -> float:
        """Error δ of one prediction: ``max(8 ε s, repeat, reorder, moved)``.

        Parameters
        ----------
        scale : float
            s, the largest prediction in size.
        is_single : bool
            Whether the model answers in single precision.
        """
        return max(round_off(scale, is_single), self.repeat, self.reorder, self.moved)


class Probed(NamedTuple):
    """What a probe found of a model.

    Parameters
    ----------
    outputs : tuple of Probe
    seconds_per_row : float
    """

    outputs: tuple[Probe, ...]
    seconds_per_row: float


def probe(model: Predictor, table: Table, record: Diagnostics | None = None) -> Probed:
    """Ask the model about the first rows: as is, again, 7 reversed, moved up, and down.

    At most 64 rows are sent each time, fewer where a batch is smaller. Where the model jumps they are moved
    once more, and a column (or one of 256 groups of columns) at a time, up and down. Warns M09 (not
    deterministic, or dependent on the batch), M11 (writes into its input) and N01 (jumps between
    neighbouring floats).

    Parameters
    ----------
    model : Predictor
    table : Table
    record : Diagnostics, optional
        Takes the warnings, and a note where the model failed on moved values.
    """
    rows = np.arange(min(MOST_ROWS, table.n_rows, model.batch_size), dtype=np.intp)
    seconds = []  # of each call
    is_mutated = False

    def ask(some: IntArray) -> FloatArray:
        """The answers for some rows as they are, (outputs, rows); looks at what the model did to its input."""
        nonlocal is_mutated
        sent: list[Any] = []

        def build(part: slice | IntArray) -> Any:
            sent.append(recombine(table, some[part], table, some[part], ()))
            return sent[-1]

        seconds_before = model.usage.seconds
        answers = model.evaluate(build, SentRows(some, table))
        seconds.append(model.usage.seconds - seconds_before)
        is_mutated |= not _same_content(sent[0], build(slice(None)))
        return answers

    answers = ask(rows)
    repeated = ask(rows)
    reversed_answers = ask(rows[:REVERSED_ROWS][::-1])
    repeat = np.max(np.abs(repeated - answers), axis=1)
    reorder = np.max(np.abs(reversed_answers[:, ::-1] - answers[:, :REVERSED_ROWS]), axis=1)
    moved = np.zeros(len(answers))  # the larger of two medians, up and down
    columns = [column.position for column in table.columns if _can_move(column)]
    for direction in UP_AND_DOWN:
        try:
            change = _noise_of_steps(model, table, rows, direction, columns, answers)
        except ModelError as error:
            # A lookup of exact values has no neighbours: no rounding of the input can reach it either.
            change = np.zeros(len(answers))
            if record is not None:  # it may as well fail at random
                record.note("failed_on_moved_values", str(error))
        moved = np.maximum(moved, change)
    outputs = tuple(
        Probe(float(repeat[output]), float(reorder[output]), float(moved[output]))
        for output in range(len(answers))
    )
    give_warning = warn if record is None else record.warn
    for of_output, output_answers in zip(outputs, answers, strict=True):
        is_single = model.native_float32 or is_float32(output_answers)
        for message in _warnings(of_output, output_answers, is_single, is_mutated):
            give_warning(message, ModelWarning)
    # Seconds a row, from the line through a large and a small call; a first call may load what later ones have.
    n_large = len(rows)
    n_small = reversed_answers.shape[1]
    large = min(seconds[:2])
    if n_large > n_small:
        per_row = max((large - seconds[2]) / (n_large - n_small), 0.0)
    else:
        per_row = min(large, seconds[2]) / n_large
    return Probed(outputs, per_row)


def _same_content(sent: Any, fresh: Any) -> bool:
    """Compare containers; missing values are equal to each other."""
    if isinstance(sent, np.ndarray):
        if sent.shape != fresh.shape:
            return False
        both_missing = (sent != sent) & (fresh != fresh)
        return bool(np.all((sent == fresh) | both_missing))
    if type(sent).__module__.partition(".")[0] == "pyarrow":
        return True  # cannot be written to
    return bool(sent.equals(fresh))


def _noise_of_steps(
    model: Predictor,
    table: Table,
    rows: IntArray,
    direction: Literal[1, -1],
    columns: Sequence[int],
    answers: FloatArray,
) -> FloatArray:
    """Median change of each output where floats move by one step, without thresholds that they cross.

    A model with thresholds on values of the data, such as boosted trees, changes where one of many
    columns leaves its own value. That is no noise: a second step changes nothing more, and neither
    does the first one in most rows if only a few columns take it. Rounding shows in the second step
    as well, and a column whose values all lie on jumps shows by itself.
    """
    moved = table.container.nudged(rows, direction, columns)
    after_step = model.all_outputs(moved)
    change = _median(after_step - answers)
    scale = float(np.max(np.abs(answers)))
    if np.all(change <= round_off(scale, model.native_float32)):
        return change
    again = open_table(moved, "X").nudged(np.arange(len(rows)), direction, list(columns))
    noise = _median(model.all_outputs(again) - after_step)
    if np.any(noise < SAME_NOISE * change):
        by_group = np.zeros(len(answers))
        for group in np.array_split(columns, min(len(columns), MOST_GROUPS)):
            some_moved = table.container.nudged(rows, direction, group.tolist())
            by_group += _median(model.all_outputs(some_moved) - answers)
        noise = np.maximum(noise, by_group)
    return np.where(noise < SAME_NOISE * change, noise, change)


def _median(changes: FloatArray) -> FloatArray:
    """Median size of the changes of each output, (n_outputs,)."""
    return np.asarray(np.median(np.abs(changes), axis=1))


def _can_move(column: Column) -> bool:
    """Whether the numbers of a column may carry rounding.

    Whole numbers are counts or codes: they carry none, and a model that looks codes up would jump.
    """
    if column.kind == "numeric":
        return bool(np.any(column.levels != np.rint(column.levels)))
    return column.kind != "boolean"


def _warnings(probed: Probe, answers: FloatArray, is_single: bool, mutates: bool) -> Iterator[str]:
    """What a user should know of an output's probe.

    Parameters
    ----------
    probed : Probe
    answers : array of shape (rows,)
        Of this output.
    is_single : bool
        Whether they are in single precision.
    mutates : bool
        Whether the model wrote into its input.
    """
    limit = round_off(float(np.max(np.abs(answers))), is_single)
    with np.errstate(over="ignore"):  # predictions that large are refused later (N06)
        spread = float(np.std(answers))
    if probed.repeat > limit:
        yield (
            "M09: the model is not deterministic: the same rows gave values up to "
            f"{probed.repeat:.3g} apart. {ENTERS_FLOOR}"
        )
    elif probed.reorder > limit:
        yield (
            "M09: the model's answer for a row depends on the other rows of the batch: values up to "
            f"{probed.reorder:.3g} apart. {ENTERS_FLOOR}"
        )
    if mutates:
        yield (
            "M11: the model writes into its input. It gets a fresh copy for every call, so your data "
            "are safe."
        )
    if spread > 0 and probed.moved > max(JUMP * spread, limit):
        yield (
            f"N01: the model jumps by {probed.moved:.3g} between neighbouring floating-point values, as "
            f"rounding or comparing floats for equality does. {ENTERS_FLOOR} Pass such columns as "
            "integers or categories."
        )


# What all evaluations show -------------------------------------------------------------------------


@dataclass(slots=True)
class Extent:
    """What the noise floor needs to know of all evaluations of an output.

    Parameters
    ----------
    scale : float
        Their largest size.
    are_single, are_whole : bool
        Whether each is exactly a single-precision number, or a whole number.
    largest_change : float
        How much the model's answers for the same row differ, at most.
    """

    scale: float = 0.0
    are_single: bool = True
    are_whole: bool = True
    largest_change: float = 0.0

    def note_values(self, values: FloatArray) -> None:
        """Take note of some evaluations, of any shape; refuse them where they are too large (N06)."""
        flat = values.reshape(-1)
        for start in range(0, len(flat), CELLS_AT_ONCE):
            part = flat[start : start + CELLS_AT_ONCE]
            self.scale = max(self.scale, float(np.max(np.abs(part))))
            require_at_most("predictions reach", self.scale)
            if self.are_single:
                with np.errstate(over="ignore"):
                    self.are_single = bool(np.all(part.astype(np.float32) == part))
            self.are_whole = self.are_whole and bool(np.all(np.round(part) == part))

    def note_change(self, answers: FloatArray, repeated: FloatArray) -> None:
        """Take note of how much two answers for the same rows differ."""
        self.largest_change = max(self.largest_change, float(np.max(np.abs(answers - repeated))))

    @property
    def is_single_precision(self) -> bool:
        """Whether the model answers in single precision."""
        return self.are_single and not self.are_whole


def require_at_most(what: str, largest: float) -> None:
    """Refuse predictions, or a target, of which the largest is too large (N06)."""
    if largest > LARGEST_SIZE:
        raise out_of_range(f"{what} {largest:.3g}; up to {LARGEST_SIZE:g} can be explained.")


def require_sizeable(extents: Sequence[Extent]) -> None:
    """Refuse evaluations that are tiny in every output, though not all 0 (N06)."""
    largest = max(extent.scale for extent in extents)
    if 0.0 < largest < SMALLEST_SIZE:
        raise out_of_range(
            f"no prediction is larger than {largest:.3g} in size; "
            f"from {SMALLEST_SIZE:g} on they can be explained."
        )


def out_of_range(message: str) -> InputError:
    """The refusal of predictions that cannot be squared, and squared again (N06)."""
    return InputError(message, code="N06", argument="model", hint="Rescale the predictions.")


def error_of_prediction(
    evaluations: Evaluations,
    extent: Extent,
    probed: Probe,
    is_single: bool,
    record: Diagnostics,
) -> float:
    """Error of one prediction of an output: rounding, or how far repeated answers differ.

    Parameters
    ----------
    evaluations : Evaluations
    extent : Extent
        Of all evaluations.
    probed : Probe
    is_single : bool
        Whether the model's table or its answers are in single precision.
    record : Diagnostics
        Is warned where answers changed within the fit more than the probe showed (M09, D20).
    """
    is_single = is_single or extent.is_single_precision
    error = probed.error(extent.scale, is_single)
    variance = np.average(np.square(evaluations.f), weights=evaluations.weights)
    spread = float(np.sqrt(variance))  # f is centred
    order_of_sums = ORDER_OF_SUMS_SINGLE if is_single else ORDER_OF_SUMS_DOUBLE
    change = extent.largest_change
    if change <= max(order_of_sums * spread, TIMES_PROBED * error):
        return error
    if any(text.startswith("D20") for text in record.warnings):
        record.warn(
            f"D20: the model's answers differ by up to {change:.3g} for rows that differ only in "
            "integers beyond 2^53. float64 cannot hold these integers, so that such rows count as "
            f"equal here. {ENTERS_FLOOR} Subtract an offset from the column, or make it a category.",
            DataWarning,
        )
    else:
        record.warn(
            f"M09: the model's answers for the same rows differ by up to {change:.3g} within the fit "
            f"(standard deviation of its predictions: {spread:.3g}): they depend on the length of the "
            f"batch, or the model changes. {ENTERS_FLOOR}",
            ModelWarning,
        )
    return max(error, change)


def is_constant(evaluations: Evaluations, extent: Extent) -> bool:
    """Whether all predictions are equal up to rounding: then no floor hides anything."""
    return float(np.max(np.abs(evaluations.f))) <= EQUAL_PREDICTIONS * extent.scale


def round_off(scale: float, is_single: bool) -> float:
    """Error of one value by rounding alone: ``8 ε s``, s the largest value in size."""
    return 8 * (EPSILON_SINGLE if is_single else EPSILON_DOUBLE) * abs(scale)


def is_float32(values: FloatArray) -> bool:
    """Whether every value is exactly a single-precision number and not all are whole."""
    with np.errstate(over="ignore", under="ignore"):
        are_single = np.all(values.astype(np.float32) == values)
    return bool(are_single and not np.all(values == np.round(values)))
