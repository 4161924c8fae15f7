"""A model on a device: rows are recombined there, the model is asked there, its answers come back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import GraniteError, ResourceError
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.models import Predictor
from granite_xai.models.kinds import number_matrix
from granite_xai.models.model import Raised
from granite_xai.tables import Table

Array = Any  # of a library that works on the device

# Recombined rows asked about at a time, where the user sets no size: enough to keep a device busy.
DEVICE_BATCH = 2**20
COMPARED_ROWS = 64  # whose answers on the device and on the host are compared, at most
# How far these may be apart, as a share of their size: beyond this the model is another one there.
SAME_ANSWERS = 1e-5
# Further libraries that a function may be written in; their arrays are shared, not copied.
LIBRARIES = ("cupy", "jax.numpy")


class DeviceArrays(NamedTuple):
    """An array library of the array API standard, and a device of it."""

    xp: Any
    device: Any = None

    def array(self, values: FloatArray) -> Any:
        """Numbers as an array there."""
        return self.xp.asarray(values, dtype=self.xp.float64, device=self.device)

    def host(self, values: Any) -> FloatArray:
        """An array from there as one of NumPy."""
        if hasattr(values, "cpu"):
            return np.asarray(values.cpu(), dtype=np.float64)
        return np.asarray(np.from_dlpack(values), dtype=np.float64)


def arrays_on(device: str) -> DeviceArrays | None:
    """The arrays of a device; None: those of the processor."""
    if device == "cpu":
        return None
    import torch
    from array_api_compat import torch as namespace

    return DeviceArrays(namespace, torch.device(device))


@contextmanager
def device_faults() -> Iterator[None]:
    """Name what fails on a device: lost, or out of memory.

    Raises
    ------
    ResourceError
        R08, instead of what the library of the device raises.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, GraniteError):
            raise
        reason = str(error).partition("\n")[0] or "out of memory"
        hint = "Leave Resources(device=) at its default, or set a smaller batch_size."
        raise ResourceError(
            f"the device failed: {reason}. {hint}", code="R08", argument="resources", hint=hint
        ) from error


@dataclass(frozen=True, eq=False)
class DeviceModel:
    """A table on a device, and a model that takes and returns arrays there.

    Parameters
    ----------
    model : Predictor
    table : Table
    arrays : DeviceArrays
    cells : array of shape (n_rows, n_columns)
        The table's numbers on the device.
    to_model, from_model : callable
        How arrays reach the library in which the model is written, and come back.
    """

    model: Predictor
    table: Table
    arrays: DeviceArrays
    cells: Array
    to_model: Callable[[Array], Any]
    from_model: Callable[[Any], Array]

    def ask(self, cells: Array) -> Array | None:
        """F of rows on the device; None where an answer is no number."""
        sent = self.to_model(cells)
        return self.model.on_device(sent, cells.shape[0], self.from_model, self.arrays.xp)

    def matrix(self, columns: Coalition, carriers: IntArray) -> FloatArray:
        """``E_S[n, u] = F(value u on S, row n elsewhere)``, (n, U), on the host."""
        xp = self.arrays.xp
        n_rows, n_columns = self.cells.shape
        is_replaced = np.isin(np.arange(n_columns), sorted(columns))
        device = self.arrays.device
        replaced = xp.asarray(is_replaced, device=device)[None, None, :]  # (1, 1, columns)
        batch = self.model.batch_size if self.model.user_sets_batch else DEVICE_BATCH
        at_once = max(1, batch // n_rows)
        result = np.empty((n_rows, len(carriers)))
        with device_faults():
            for start in range(0, len(carriers), at_once):
                donors = carriers[start : start + at_once]
                places = xp.asarray(donors, dtype=xp.int64, device=device)
                donor_cells = xp.take(self.cells, places, axis=0)[:, None, :]
                hybrids = xp.where(replaced, donor_cells, self.cells[None, :, :])
                answers = self._answers(xp.reshape(hybrids, (-1, n_columns)), donors, columns)
                lines = self.arrays.host(answers).reshape(len(donors), n_rows)
                result[:, start : start + at_once] = lines.T
        return result

    def _answers(self, cells: Array, donors: IntArray, columns: Coalition) -> Array:
        """The answers for recombined rows.

        Where the model fails there, or some answers are no numbers, the host is asked about the same
        rows, and says which are at fault.
        """
        cause = None
        answers = None
        try:
            answers = self.ask(cells)
        except Raised as raised:
            cause = raised.cause
        if answers is not None:
            return answers
        n_rows = self.table.n_rows
        base = np.tile(np.arange(n_rows), len(donors))
        self.model.recombined(
            self.table, base, self.table, np.repeat(donors, n_rows), sorted(columns)
        )
        raise cause or RuntimeError(
            "the model's answers there are no numbers, those on the host are"
        )


def find_device_model(model: Predictor, table: Table, device: str) -> DeviceModel | None:
    """The model on a device; None where it is asked on the host, as it is on a scale other than its own.

    A module lives where its parameters are. A function is tried with a few rows of the device, in each
    of the array libraries that are loaded: it is at home there if it answers with an array of the same
    library and with the host's numbers.
    """
    arrays = arrays_on(device)
    if arrays is None or not model.scale.is_response:
        return None
    kind = model.model_output
    if kind.is_module:
        cells = kind.prepare(table.native)
        if _device_type(cells) != _device_type(arrays):
            return None
        return DeviceModel(model, table, arrays, cells, _unchanged, _unchanged)
    if not kind.is_function:
        return None
    try:
        cells = arrays.array(number_matrix(table.native, "the device"))
    except GraniteError:  # text or dates: no matter for a device
        return None
    exchanges: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [(_unchanged, _unchanged)]
    for name in LIBRARIES:
        if name in sys.modules:
            from torch.utils.dlpack import from_dlpack

            exchanges.append((sys.modules[name].from_dlpack, from_dlpack))
    for to_model, from_model in exchanges:
        on_device = DeviceModel(model, table, arrays, cells, to_model, from_model)
        if _answers_as_on_host(on_device):
            return on_device
    return None


def _unchanged(values: Any) -> Any:
    return values


def _device_type(holder: Any) -> str | None:
    return getattr(holder.device, "type", None)


def _answers_as_on_host(on_device: DeviceModel) -> bool:
    """Whether a function answers there as on the host; whatever it raises says that it does not."""
    table = on_device.table
    compared = table.take(np.arange(min(COMPARED_ROWS, table.n_rows)))
    try:
        answers = on_device.ask(on_device.cells[: compared.n_rows, :])
    except Exception:  # a function of frames or of NumPy can fail in any way
        return False
    if answers is None:
        return False
    on_host = on_device.model.on_rows(compared)
    differences = np.abs(on_device.arrays.host(answers) - on_host)
    return bool(np.all(differences <= SAME_ANSWERS * np.max(np.abs(on_host))))
