"""The noise floor: how far a model's answers move when nothing changes, and the disagreement that this alone makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from granite_xai.base.diagnostics import Diagnostics, warn
from granite_xai.base.errors import ModelError, ModelWarning
from granite_xai.base.typing import Elementwise, FloatArray, IntArray, PairLoss
from granite_xai.models import Predictor, Rows
from granite_xai.tables import Table, nudged, recombine

_ENTERS = "This enters the noise floor: disagreement below it is reported as nothing to explain."
# Changes, as shares of the standard deviation, that other orders of summation may explain; by single precision.
_RELATIVE = {False: 1e-7, True: 1e-3}
_PROBED, _REVERSED = 64, 7  # rows of a probe, at most; those that are sent alone and reversed
PROBED_ROWS = 4 * 64 + 7  # sent to the model by a probe, at most
_JUMP = 0.01  # share of the standard deviation from which a jump would hide what is asked for


@dataclass(frozen=True)
class Probe:
    """How far a model's answers move, at most, when nothing, or next to nothing, changes."""

    repeat: float  # when the same rows are sent again
    reorder: float  # when the first 7 are sent alone and reversed
    moved: float  # when every float moves one representable value up or down, the larger of two medians
    mutates: bool  # whether the model wrote into its input
    seconds_per_row: float
    refused: bool = False  # whether it failed on moved values, as lookups do
    others: tuple[Probe, ...] = ()  # of further outputs


def probe(predictor: Predictor, table: Table, diagnostics: Diagnostics | None = None) -> Probe:
    """Ask the model five times about the first rows: as is, again, 7 reversed, every float moved up, and down."""
    # At most the first 64 rows are sent, fewer where a batch is smaller. Warns M09 (not deterministic, or dependent on
    # the batch), M11 (writes into its input) and N01 (jumps between neighbouring floats).
    rows, watch = (
        np.arange(min(_PROBED, table.n_rows, predictor.batch_size), dtype=np.intp),
        _Watch(predictor, table),
    )
    first, again, back = watch.ask(rows), watch.ask(rows), watch.ask(rows[:_REVERSED][::-1])
    medians, refused = _moved(predictor, table, rows, first)
    gaps = (again - first, back[:, ::-1] - first[:, :_REVERSED])
    figures = np.stack([*(np.max(np.abs(each), axis=1) for each in gaps), medians], axis=1).tolist()
    every = [
        Probe(a, b, c, watch.mutated, watch.seconds_per_row(), refused is not None)
        for a, b, c in figures
    ]
    if refused is not None and diagnostics is not None:  # it may as well fail at random
        diagnostics.note("failed_on_moved_values", refused)
    for found, answers in zip(every, first, strict=True):
        for message in _warnings(found, answers, predictor.native_float32 or is_float32(answers)):
            issue = warn if diagnostics is None else diagnostics.warn
            issue(message, ModelWarning)
    return replace(every[0], others=tuple(every[1:]))


class _Watch:
    """Sends rows as they are, times the calls and looks at what the model did to its input."""

    def __init__(self, predictor: Predictor, table: Table) -> None:
        self.predictor, self.table, self.mutated = predictor, table, False
        self.timings: list[tuple[int, float]] = []

    def ask(self, rows: IntArray) -> FloatArray:
        sent: list[Any] = []

        def build(at: slice | IntArray) -> Any:
            sent.append(recombine(self.table, rows[at], self.table, rows[at], ()))
            return sent[-1]

        before = self.predictor.usage.seconds
        values = self.predictor.evaluate_every(build, Rows(len(rows), self.table, rows))
        self.timings.append((len(rows), self.predictor.usage.seconds - before))
        self.mutated = self.mutated or not _equal(sent[0], build(slice(None)))
        return values

    def seconds_per_row(self) -> float:
        """Seconds a row, from the line through a small and a large call."""
        large, small = min(self.timings[:2], key=itemgetter(1)), self.timings[2]
        if large[0] == small[0]:
            return min(large[1], small[1]) / large[0]
        return max(large[1] - small[1], 0.0) / (large[0] - small[0])


def _equal(sent: Any, fresh: Any) -> bool:
    """Compare containers, missing values equal to each other."""
    if isinstance(sent, np.ndarray):
        return sent.shape == fresh.shape and bool(
            np.all((sent == fresh) | ((sent != sent) & (fresh != fresh)))
        )
    if type(sent).__module__.partition(".")[0] == "pyarrow":
        return True  # cannot be written to
    return bool(sent.equals(fresh))


def _moved(
    predictor: Predictor, table: Table, rows: IntArray, first: FloatArray
) -> tuple[FloatArray, str | None]:
    """Larger of the two median changes of each output under moved floats, and what the model said if it refused."""
    medians, refused = np.zeros(len(first)), None
    # Whole numbers are counts or codes: they carry no rounding, and a model that looks codes up would jump.
    fractions = {
        c.position
        for c in table.columns
        if c.kind == "numeric" and np.any(c.levels != np.rint(c.levels))
    }
    columns = [
        c.position
        for c in table.columns
        if c.kind not in ("numeric", "boolean") or c.position in fractions
    ]
    for direction in (1, -1):
        try:
            gaps = predictor.every(nudged(table, rows, direction, columns)) - first
            medians = np.maximum(medians, np.median(np.abs(gaps), axis=1))
        except ModelError as error:
            # A lookup of exact values has no neighbours: no rounding of the input can reach it either.
            refused = str(error)
    return medians, refused


def _warnings(found: Probe, first: FloatArray, float32: bool) -> list[str]:
    limit = round_off(float(np.max(np.abs(first))), float32)
    with np.errstate(over="ignore"):  # predictions that large are refused later (N06)
        spread = float(np.std(first))
    repeats, depends, mutates = found.repeat > limit, found.reorder > limit, found.mutates
    jumps = spread > 0 and found.moved > _JUMP * spread and found.moved > limit
    told = f"values up to {found.repeat if repeats else found.reorder:.3g} apart. {_ENTERS}"
    other = "the model's answer for a row depends on the other rows of the batch:"
    jump = f"{found.moved:.3g} between neighbouring floating-point values, as rounding or comparing floats for equality"
    texts = {
        f"M09: the model is not deterministic: the same rows gave {told}": repeats,
        f"M09: {other} {told}": depends and not repeats,
        "M11: the model writes into its input. It gets a fresh copy for every call, so your data are safe.": mutates,
        f"N01: the model jumps by {jump} does. {_ENTERS} Pass such columns as integers or categories.": jumps,
    }
    return [text for text, said in texts.items() if said]


def round_off(scale: float, float32: bool) -> float:
    """Error of one value by rounding alone: ``8 eps s``, ``s`` the largest value in size."""
    return 8 * (2.0**-23 if float32 else 2.0**-52) * abs(scale)


def is_float32(values: FloatArray) -> bool:
    """Whether every value is exactly a single-precision number and not all are whole."""
    with np.errstate(over="ignore", under="ignore"):
        exact = bool(np.all(values.astype(np.float32).astype(np.float64) == values))
    return exact and values.size > 0 and not bool(np.all(values == np.round(values)))


def inconstancy(error: float, changed: float, spread: float, float32: bool) -> str | None:
    """The warning of a model whose answers changed within the fit by more than any probe of it showed (M09)."""
    # ``changed`` is the largest difference between two answers for the same row, ``spread`` the standard deviation.
    if changed <= max(_RELATIVE[float32] * spread, 10 * error):
        return None
    within = f"within the fit (standard deviation of its predictions: {spread:.3g})"
    why = "they depend on the length of the batch, or the model changes."
    return f"M09: the model's answers for the same rows differ by up to {changed:.3g} {within}: {why} {_ENTERS}"


def large_integers(changed: float) -> str:
    """The warning of a model that tells integers apart which float64 cannot hold (D20)."""
    text = f"D20: the model's answers differ by up to {changed:.3g} for rows that differ only in integers beyond 2^53. "
    text += "float64 cannot hold these integers, so that such rows count as equal here. "
    return text + f"{_ENTERS} Subtract an offset from the column, or make it a category."


def delta(found: Probe, scale: float, float32: bool) -> float:
    """Error of one value of the model: ``max(8 eps s, repeat, reorder, moved)``, ``s`` the largest value in size."""
    return max(round_off(scale, float32), found.repeat, found.reorder, found.moved)


def sensitivity_error(delta: float, sd: float) -> float:
    """Error of a variance: ``e = 2 sd(F) delta + delta**2``."""
    return 2.0 * sd * delta + delta**2


def risk_error(
    delta: float,
    loss: PairLoss,
    predictions: FloatArray,
    mean: float,
    y: FloatArray,
    weights: FloatArray | None = None,
) -> float:
    """Error of a risk: ``max over T in {empty, D} of mean_n max_± |L(F_T ± delta, y) - L(F_T, y)|``."""
    # Never below the rounding of a mean loss itself, which counts where residuals are far larger than predictions.
    errors = []
    for shown in (predictions, np.full_like(predictions, mean)):
        at = loss(shown, y)
        change = np.maximum(
            np.abs(loss(shown + delta, y) - at), np.abs(loss(shown - delta, y) - at)
        )
        errors += [float(np.average(each, weights=weights)) for each in (change, 2.0**-51 * at)]
    return max(errors)


def floor(n_sets: int, loss: Elementwise, order: int, error: float) -> float:
    """Disagreement that errors alone can produce: ``|S| * loss(2**(k + 1) * e)``, k the order (1: no interactions)."""
    return n_sets * float(loss(np.array([2.0 ** (order + 1) * error]))[0])


def sampling_floor(
    loss: Elementwise, standard_error: FloatArray, weights: FloatArray | None = None
) -> float:
    """What sampled partial effects add to the floor: ``sum_S mean_n loss(2 * standard error)``; rows by sets."""
    return float(np.sum(np.average(loss(2.0 * standard_error), axis=0, weights=weights)))
