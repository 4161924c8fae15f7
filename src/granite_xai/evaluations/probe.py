"""A probe of the model: how far its answers move when nothing, or next to nothing, changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from granite_xai.base.errors import Diagnostics, ModelError, ModelWarning, warn
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.noise_floor import ENTERS_FLOOR, is_float32, round_off
from granite_xai.models import Predictor, SentRows
from granite_xai.tables import Column, Table, nudged, recombine

MOST_ROWS = 64  # of a probe
REVERSED_ROWS = 7  # that are sent alone, in reversed order
# Sent to the model by a probe, at most: as they are, again, moved up, moved down; and reversed.
PROBED_ROWS = 4 * MOST_ROWS + REVERSED_ROWS
JUMP = 0.01  # share of the standard deviation from which a jump would hide what is asked for


@dataclass(frozen=True)
class Probe:
    """How far a model's answers move, at most, when nothing, or next to nothing, changes.

    Parameters
    ----------
    repeat : float
        When the same rows are sent again.
    reorder : float
        When the first 7 are sent alone and reversed.
    moved : float
        When every float moves one representable value up or down: the larger of two medians.
    mutates : bool
        Whether the model wrote into its input.
    seconds_per_row : float
    refused : bool
        Whether it failed on moved values, as lookups do.
    others : tuple of Probe
        Of further outputs.
    """

    repeat: float
    reorder: float
    moved: float
    mutates: bool
    seconds_per_row: float
    refused: bool = False
    others: tuple[Probe, ...] = ()


def probe(predictor: Predictor, table: Table, diagnostics: Diagnostics | None = None) -> Probe:
    """Ask the model five times about the first rows: as is, again, 7 reversed, moved up, and down.

    At most 64 rows are sent, fewer where a batch is smaller. Warns M09 (not deterministic, or dependent
    on the batch), M11 (writes into its input) and N01 (jumps between neighbouring floats).

    Parameters
    ----------
    predictor : Predictor
    table : Table
    diagnostics : Diagnostics, optional
        Takes the warnings, and a note where the model failed on moved values.
    """
    rows = np.arange(min(MOST_ROWS, table.n_rows, predictor.batch_size), dtype=np.intp)
    watch = _Watch(predictor, table)
    answers = watch.ask(rows)  # (outputs, rows)
    repeated = watch.ask(rows)
    reversed_answers = watch.ask(rows[:REVERSED_ROWS][::-1])
    repeat = np.max(np.abs(repeated - answers), axis=1)
    reorder = np.max(np.abs(reversed_answers[:, ::-1] - answers[:, :REVERSED_ROWS]), axis=1)
    moved, failure = _changes_of_moved_floats(predictor, table, rows, answers)
    if failure is not None and diagnostics is not None:  # it may as well fail at random
        diagnostics.note("failed_on_moved_values", failure)
    probes = [
        Probe(
            repeat=float(repeat[output]),
            reorder=float(reorder[output]),
            moved=float(moved[output]),
            mutates=watch.mutated,
            seconds_per_row=watch.seconds_per_row(),
            refused=failure is not None,
        )
        for output in range(len(answers))
    ]
    give_warning = warn if diagnostics is None else diagnostics.warn
    for output_probe, output_answers in zip(probes, answers, strict=True):
        float32 = predictor.native_float32 or is_float32(output_answers)
        for message in _warnings(output_probe, output_answers, float32):
            give_warning(message, ModelWarning)
    return replace(probes[0], others=tuple(probes[1:]))


def delta(probed: Probe, scale: float, float32: bool) -> float:
    """Error δ of one value of the model: ``max(8 eps s, repeat, reorder, moved)`` (C4).

    Parameters
    ----------
    probed : Probe
    scale : float
        s, the largest value in size.
    float32 : bool
        Whether the model answers in single precision.
    """
    return max(round_off(scale, float32), probed.repeat, probed.reorder, probed.moved)


@dataclass(frozen=True)
class _TimedCall:
    """Seconds of a call of the model."""

    n_rows: int
    seconds: float


class _Watch:
    """Sends rows as they are, times the calls, and looks at what the model did to its input."""

    def __init__(self, predictor: Predictor, table: Table) -> None:
        self.predictor = predictor
        self.table = table
        self.mutated = False
        self.calls: list[_TimedCall] = []

    def ask(self, rows: IntArray) -> FloatArray:
        """The answers for some rows of the table, (outputs, rows)."""
        sent: list[Any] = []

        def build(part: slice | IntArray) -> Any:
            chosen = rows[part]
            sent.append(recombine(self.table, chosen, self.table, chosen, ()))
            return sent[-1]

        seconds_before = self.predictor.usage.seconds
        values = self.predictor.evaluate_outputs(build, SentRows(len(rows), self.table, rows))
        seconds = self.predictor.usage.seconds - seconds_before
        self.calls.append(_TimedCall(n_rows=len(rows), seconds=seconds))
        if not _same_content(sent[0], build(slice(None))):
            self.mutated = True
        return values

    def seconds_per_row(self) -> float:
        """Seconds a row, from the line through a small and a large call."""
        first, second, small = self.calls[:3]
        large = first
        if second.seconds < first.seconds:
            large = second
        if large.n_rows == small.n_rows:
            return min(large.seconds, small.seconds) / large.n_rows
        return max(large.seconds - small.seconds, 0.0) / (large.n_rows - small.n_rows)


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


def _changes_of_moved_floats(
    predictor: Predictor, table: Table, rows: IntArray, answers: FloatArray
) -> tuple[FloatArray, str | None]:
    """Larger of two median changes of each output, up and down, and what the model said if it failed.

    Parameters
    ----------
    predictor : Predictor
    table : Table
    rows : array of shape (n,)
        Rows of the table.
    answers : array of shape (n_outputs, n)
        What the model said of these rows.
    """
    columns = [column.position for column in table.columns if _can_move(column)]
    medians = np.zeros(len(answers))
    failure = None
    for direction in (1, -1):
        try:
            moved_answers = predictor.all_outputs(nudged(table, rows, direction, columns))
        except ModelError as error:
            # A lookup of exact values has no neighbours: no rounding of the input can reach it either.
            failure = str(error)
        else:
            change = np.median(np.abs(moved_answers - answers), axis=1)
            medians = np.maximum(medians, change)
    return medians, failure


def _can_move(column: Column) -> bool:
    """Whether the numbers of a column may carry rounding.

    Whole numbers are counts or codes: they carry none, and a model that looks codes up would jump.
    """
    if column.kind == "numeric":
        return bool(np.any(column.levels != np.rint(column.levels)))
    return column.kind != "boolean"


def _warnings(probed: Probe, answers: FloatArray, float32: bool) -> Iterator[str]:
    """What a user should know of an output's probe.

    Parameters
    ----------
    probed : Probe
    answers : array of shape (rows,)
        Of this output.
    float32 : bool
        Whether they are in single precision.
    """
    limit = round_off(float(np.max(np.abs(answers))), float32)
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
    if probed.mutates:
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
