"""How long a model takes: seconds a call and seconds a row, at the sizes of the calls that will be made."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from granite_xai.evaluations.noise_floor import Probe
from granite_xai.models import Predictor
from granite_xai.tables import Table

SIZES = (512, 4096, 32768)
"""Rows of the calls that are timed, until one takes as long as `LONG`."""
LONG = 0.2
"""Seconds of a call that says enough about the next larger one."""
PATIENT = 2.0
"""Seconds of one call from which calls are made smaller, to about one second: progress is told, an interrupt heard."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds a call and seconds a row, and the rows of one call.

    >>> Speed(per_call=0.5, per_row=1e-3, batch_size=1000).seconds(2000)
    3.0
    """

    per_call: float
    per_row: float
    batch_size: int

    def seconds(self, rows: float) -> float:
        """Seconds for so many rows."""
        return float(-(-rows // self.batch_size) * self.per_call + rows * self.per_row)

    def at_least(self, per_row: float) -> Speed:
        """The same, or slower."""
        return replace(self, per_row=max(self.per_row, per_row))

    def patient_batch(self) -> int:
        """Rows of a call that takes about a second, a power of two; the batch size where it is not too slow."""
        if self.seconds(self.batch_size) <= PATIENT:
            return self.batch_size
        return int(2 ** max(6, np.floor(np.log2(max(1.0 - self.per_call, 0.1) / self.per_row))))


def bound(probed: Probe | None, batch_size: int) -> Speed:
    """What a model takes at most, if larger calls cost no more a row than the small one of the probe."""
    sent = min(64, batch_size)
    if probed is None:
        return Speed(0.0, 0.0, batch_size)
    return Speed(0.0, probed.seconds_per_row + probed.seconds_per_call / sent, batch_size)


def measured(predictor: Predictor, table: Table, most: int) -> Speed:
    """Time larger and larger calls of recombined rows, ours included, up to the size of a batch or of all the work.

    >>> from granite_xai.models import as_predictor
    >>> from granite_xai.tables import read_table
    >>> table = read_table([[0.5], [0.25]], missing="error")
    >>> measured(as_predictor(lambda X: X[:, 0]), table, most=600).per_row < 1.0
    True
    """
    largest = max(1, min(predictor.batch_size, most))
    sizes = [min(64, largest), *(size for size in SIZES if size < largest), largest]
    timings: list[tuple[int, float]] = []
    for size in dict.fromkeys(sizes):
        rows = np.arange(size, dtype=np.intp) % table.n_rows
        begin = time.perf_counter()
        predictor.recombined(table, rows, table, rows[::-1], (0,))
        timings.append((size, time.perf_counter() - begin))
        if timings[-1][1] >= LONG:
            break
    (few, short), (many, long) = timings[-2:] if len(timings) > 1 else ((0, 0.0), timings[0])
    slope = max((long - short) / (many - few), long / many / 4)
    return Speed(max(long - many * slope, 0.0), slope, predictor.batch_size)
