"""Arrays on a device, for models that are asked there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import GraniteError, ResourceError
from granite_xai.base.typing import FloatArray


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
        message = f"the device failed: {reason}. {hint}"
        raise ResourceError(message, code="R08", argument="resources", hint=hint) from error
