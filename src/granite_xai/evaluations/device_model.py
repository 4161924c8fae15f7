"""A model on a device: rows are recombined there, the model is asked there, its answers come back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.errors import GraniteError
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.compute.device import DeviceArrays, device_faults
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.models import Predictor
from granite_xai.models.kinds import number_matrix
from granite_xai.models.model import Raised
from granite_xai.tables import Table

# Recombined rows asked about at a time, where the user sets no size: enough to keep a device busy.
DEVICE_BATCH = 2**20
COMPARED_ROWS = 64  # whose answers on the device and on the host are compared, at most
# How far these may be apart, as a share of their size: beyond this the model is another one there.
SAME_ANSWERS = 1e-5
# Further libraries that a function may be written in; their arrays are shared, not copied.
LIBRARIES = ("cupy", "jax.numpy")


@dataclass(frozen=True, slots=True, eq=False)
class ArrayExchange:
    """How arrays reach the library in which a model is written, and come back."""

    to_model: Callable[[Any], Any]
    from_model: Callable[[Any], Any]


def _unchanged(values: Any) -> Any:
    return values


SAME_LIBRARY = ArrayExchange(to_model=_unchanged, from_model=_unchanged)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceModel:
    """A table on a device, and a model that takes and returns arrays there.

    Parameters
    ----------
    predictor : Predictor
    table : Table
    arrays : DeviceArrays
    cells : array of shape (n_rows, n_columns)
        The table's numbers on the device.
    exchange : ArrayExchange
    """

    predictor: Predictor
    table: Table
    arrays: DeviceArrays
    cells: Any
    exchange: ArrayExchange = SAME_LIBRARY

    @property
    def batch_size(self) -> int:
        """Rows asked about at a time: more than on the host, unless the user sets a size."""
        if self.predictor.user_sets_batch:
            return self.predictor.batch_size
        return DEVICE_BATCH

    def ask(self, rows: Any) -> Any | None:
        """F of rows on the device, in double precision there; None where an answer is no number."""
        return self.predictor.on_device(
            self.exchange.to_model(rows),
            rows.shape[0],
            self.exchange.from_model,
            self.arrays,
        )

    def predictions(self) -> FloatArray:
        """F of the table's own rows."""
        # The matrix of no columns has one line: of no columns all rows have the same value.
        codes = np.zeros(self.table.n_rows, dtype=np.intp)
        only_value = DistinctValues(codes=codes, representatives=codes[:1])
        return self.matrix(frozenset(), only_value)[0, :]

    def matrix(self, columns: Coalition, distinct: DistinctValues) -> FloatArray:
        """``E_S[u, n] = F(value u on S, row n elsewhere)``, shape (U, n).

        Parameters
        ----------
        columns : coalition
            S.
        distinct : DistinctValues
            The U values of S.
        """
        xp = self.arrays.xp
        n_rows = self.table.n_rows
        is_replaced = np.isin(np.arange(self.table.n_columns), sorted(columns))
        replaced = xp.asarray(is_replaced, device=self.arrays.device)[
            None, None, :
        ]  # (1, 1, columns)
        values_at_once = max(1, self.batch_size // n_rows)
        values = np.empty((len(distinct), n_rows))
        with device_faults():
            for start in range(0, len(distinct), values_at_once):
                donors = distinct.representatives[start : start + values_at_once]
                donor_cells = xp.take(self.cells, self._places(donors), axis=0)[:, None, :]
                # (values, rows, columns)
                hybrids = xp.where(replaced, donor_cells, self.cells[None, :, :])
                hybrid_rows = xp.reshape(hybrids, (-1, hybrids.shape[2]))
                answers = self._answers(hybrid_rows, donors, columns)
                values[start : start + values_at_once] = self.arrays.host(answers).reshape(
                    -1, n_rows
                )
        return values

    def _places(self, rows: IntArray) -> Any:
        """Positions of rows as an array of the device."""
        xp = self.arrays.xp
        return xp.asarray(rows, dtype=xp.int64, device=self.arrays.device)

    def _answers(self, hybrid_rows: Any, donors: IntArray, columns: Coalition) -> Any:
        """The answers for recombined rows.

        Where the model fails there, or some answers are no numbers, the host is asked about the same
        rows, and says which are at fault.
        """
        cause = None
        answers = None
        try:
            answers = self.ask(hybrid_rows)
        except Raised as raised:
            cause = raised.cause
        if answers is not None:
            return answers
        # The host's answers are not used: it raises the error that names the rows at fault.
        base = np.tile(np.arange(self.table.n_rows), len(donors))
        self.predictor.recombined(
            self.table, base, self.table, np.repeat(donors, self.table.n_rows), sorted(columns)
        )
        raise cause or RuntimeError(
            "the model's answers there are no numbers, those on the host are"
        )


def find_device_model(
    predictor: Predictor, table: Table, arrays: DeviceArrays | None
) -> DeviceModel | None:
    """The model on a device; None where it is asked on the host.

    Parameters
    ----------
    predictor : Predictor
    table : Table
    arrays : DeviceArrays, optional
        Of the device; None: there is none.

    Notes
    -----
    A module lives where its parameters are. A function is tried with a few rows of the device, in each
    of the array libraries that are loaded: it is at home there if it answers with an array of the same
    library and with the host's numbers.
    """
    if arrays is None:
        return None
    kind = predictor.model_output
    if kind.is_module:
        cells = kind.prepare(table.native)
        if _device_type(cells) != _device_type(arrays):
            return None
        return DeviceModel(predictor, table, arrays, cells)
    if not kind.is_function:
        return None
    try:
        cells = arrays.array(number_matrix(table.native, "the device"))
    except GraniteError:  # text or dates: no matter for a device
        return None
    exchanges = [SAME_LIBRARY]
    exchanges += [_shared_with(sys.modules[name]) for name in LIBRARIES if name in sys.modules]
    for exchange in exchanges:
        device_model = DeviceModel(predictor, table, arrays, cells, exchange)
        if _answers_as_on_host(device_model):
            return device_model
    return None


def _device_type(holder: Any) -> str | None:
    return getattr(holder.device, "type", None)


def _answers_as_on_host(device_model: DeviceModel) -> bool:
    """Whether a function answers there as on the host; whatever it raises says that it does not."""
    table = device_model.table
    compared = table.take(np.arange(min(COMPARED_ROWS, table.n_rows)))
    try:
        on_device = device_model.ask(device_model.cells[: compared.n_rows, :])
    except Exception:  # a function of frames or of NumPy can fail in any way
        return False
    if on_device is None:
        return False
    on_host = device_model.predictor.on_rows(compared)
    differences = np.abs(device_model.arrays.host(on_device) - on_host)
    return bool(np.all(differences <= SAME_ANSWERS * np.max(np.abs(on_host))))


def _shared_with(library: Any) -> ArrayExchange:
    """Arrays of another library in the same memory."""
    from torch.utils.dlpack import from_dlpack

    return ArrayExchange(to_model=library.from_dlpack, from_model=from_dlpack)
