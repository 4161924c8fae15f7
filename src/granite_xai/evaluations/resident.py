"""Evaluations on a device: recombined rows are made there, the model is asked there, and its answers stay there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.errors import GraniteError
from granite_xai.base.typing import Coalition
from granite_xai.compute.compiled import device_faults
from granite_xai.compute.primitives import Array, ArrayNamespace
from granite_xai.evaluations.plan import Distinct
from granite_xai.models import DEFAULT_BATCH, Predictor
from granite_xai.models.networks import number_matrix
from granite_xai.models.predictor import Raised
from granite_xai.tables import Table

ROWS = 2**20  # recombined rows asked about at a time, where the user sets no size: enough to keep a device busy
COMPARED = 64  # rows whose answers on the device and on the host are compared, at most
ALIKE = 1e-5  # how far they may be apart, as a share of their size: beyond this the model is another one there
LIBRARIES = ("cupy", "jax.numpy")  # further ones a function may be written in; their arrays are shared, not copied


@dataclass(frozen=True, slots=True, eq=False)
class Resident:
    """A table on a device, and a model that takes and returns arrays there."""

    predictor: Predictor
    table: Table
    primitives: ArrayNamespace
    cells: Array  # (n, d): the table's numbers
    give: Callable[[Array], Any]  # an array of ours as one of the model's library
    take: Callable[[Any], Array]  # an answer as an array of ours

    @property
    def batch_size(self) -> int:
        """Rows asked about at a time: more than on the host, unless the user sets a size."""
        return ROWS if (size := self.predictor.batch_size) == DEFAULT_BATCH else size

    def ask(self, rows: Array) -> Array | None:
        """F of rows on the device, in double precision there; None where an answer is no number."""
        return self.predictor.on_device(self.give(rows), rows.shape[0], self.take, self.primitives)

    def predictions(self) -> Array:
        """F of the table's own rows."""
        own = np.zeros(self.table.n_rows, dtype=np.intp)
        return self.matrix(frozenset(), Distinct(own, own[:1]))[0, :]

    def matrix(self, columns: Coalition, distinct: Distinct) -> Array:
        """``E_S[u, n] = F(value u on S, row n elsewhere)``, shape (U, n), on the device."""
        P, xp, n = self.primitives, self.primitives.xp, self.table.n_rows
        replaced = P.flags(np.isin(np.arange(self.table.n_columns), sorted(columns)))[None, None, :]
        step, lines = max(1, self.batch_size // n), []
        with device_faults(P):
            for start in range(0, len(distinct), step):
                donors = distinct.representatives[start : start + step]
                rows = xp.where(replaced, P.take(self.cells, donors, 0)[:, None, :], self.cells[None, :, :])
                lines.append(xp.reshape(self._checked(xp.reshape(rows, (-1, rows.shape[2])), donors, columns), (-1, n)))
            return lines[0] if len(lines) == 1 else xp.concat(lines, axis=0)

    def _checked(self, rows: Array, donors: Any, columns: Coalition) -> Array:
        """Answers that are numbers; otherwise the host is asked about the same rows, and says which are at fault."""
        try:
            values, cause = self.ask(rows), None
        except Raised as raised:
            values, cause = None, raised.cause
        if values is not None:
            return values
        every, again = np.tile(np.arange(self.table.n_rows), len(donors)), np.repeat(donors, self.table.n_rows)
        self.predictor.recombined(self.table, every, self.table, again, sorted(columns))
        raise cause or RuntimeError("the model's answers there are no numbers, those on the host are")


def resident(predictor: Predictor, table: Table, primitives: ArrayNamespace | None) -> Resident | None:
    """The model on a device; None where it is asked on the host."""
    # A module lives where its parameters are. A function is tried with a few rows of the device, of the libraries that
    # are loaded: it is at home there if it answers with an array of the same library and with the host's numbers.
    if primitives is None:
        return None
    kind = predictor.model_output
    if kind.is_module:
        cells = kind.prepare(table.native)
        at_home = getattr(cells.device, "type", None) == getattr(primitives.device, "type", None)
        return Resident(predictor, table, primitives, cells, _same, _same) if at_home else None
    if not kind.is_function:
        return None
    try:
        cells = primitives.array(number_matrix(table.native, "the device"))
    except GraniteError:  # text or dates: no matter for a device
        return None
    ways = [(_same, _same), *(_shared(sys.modules[name]) for name in LIBRARIES if name in sys.modules)]
    found = (Resident(predictor, table, primitives, cells, *way) for way in ways)
    return next((each for each in found if _answers(each)), None)


def _answers(found: Resident) -> bool:
    """Whether a function answers there as it does on the host; whatever it raises says that it does not."""
    few = found.table.take(np.arange(min(COMPARED, found.table.n_rows)))
    try:
        there = found.ask(found.cells[: few.n_rows, :])
    except Exception:  # a function of frames or of NumPy can fail in any way
        return False
    if there is None:
        return False
    here = found.predictor.on_rows(few)
    return bool(np.all(np.abs(found.primitives.host(there) - here) <= ALIKE * np.max(np.abs(here))))


def _same(values: Array) -> Array:
    return values


def _shared(library: Any) -> tuple[Callable[[Array], Any], Callable[[Any], Array]]:
    """Arrays of another library in the same memory, and back."""
    from torch.utils.dlpack import from_dlpack

    return library.from_dlpack, from_dlpack
