"""Where the products are computed, and in what numbers: NumPy in this process, or torch on a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.compute import Resources

Array = Any
"""An array of whichever library computes."""

STRETCH = 2048
"""Terms of a sum that are added in float32 before the result is added to a sum in float64."""


@dataclass(frozen=True, slots=True, eq=False)
class Arithmetic:
    """A namespace of array functions, a place, and the numbers of the products.

    Parameters
    ----------
    xp : module
        NumPy, or array-api-compat's torch.
    place : device, optional
        None: there is only one.
    single : bool
        Whether products are formed in float32.
    exhausted : tuple of types
        What is raised when there is no memory left.
    free : callable
        Bytes that are free.
    """

    xp: Any
    place: Any
    single: bool
    exhausted: tuple[type[BaseException], ...]
    free: Callable[[], int]

    @property
    def dtype(self) -> Any:
        """Numbers of the products."""
        return self.xp.float32 if self.single else self.xp.float64

    @property
    def wide(self) -> Any:
        """Numbers of the sums."""
        return self.xp.float64

    @property
    def eps(self) -> float:
        """Relative spacing of the numbers of the products."""
        return 2.0**-23 if self.single else 2.0**-52

    @property
    def itemsize(self) -> int:
        """Bytes of one number of the products."""
        return 4 if self.single else 8

    def array(self, values: Any, dtype: Any = None) -> Array:
        """Values of this process as an array of the library, in the numbers of the products."""
        given = np.asarray(values)
        if self.place is None:
            return given.astype(dtype or self.dtype, copy=False)
        # Torch warns of arrays that it must not write to; it never does here, but a copy keeps it quiet.
        given = given if given.flags.writeable else given.copy()
        return self.xp.asarray(given, dtype=dtype or self.dtype, device=self.place)

    def numbers(self, values: Any) -> Array:
        """Positions, as an array of the library."""
        return self.array(values, self.xp.int64)

    def flags(self, values: Any) -> Array:
        """Truth values, as an array of the library."""
        return self.array(values, np.bool_ if self.place is None else self.xp.bool)

    def cast(self, values: Array, dtype: Any = None) -> Array:
        """Numbers of the products (or others) from an array of the library."""
        return self.xp.asarray(values, dtype=dtype or self.dtype)

    def host(self, values: Array) -> Any:
        """An array of the library as one of NumPy, in float64."""
        return np.asarray(values if self.place is None else values.cpu().numpy(), dtype=np.float64)

    def join(self, parts: Sequence[Array]) -> Array:
        """Arrays side by side."""
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts, axis=1) if self.place is None else self.xp.concat(list(parts), axis=1)

    def product(self, a: Array, b: Array) -> Array:
        """``a @ b`` with sums in float64: in float32 a few terms are added before each goes into a wide sum."""
        if not self.single:
            return a @ b
        total = self.cast(a[:, :STRETCH] @ b[:STRETCH], self.wide)
        for start in range(STRETCH, b.shape[0], STRETCH):
            total += a[:, start : start + STRETCH] @ b[start : start + STRETCH]
        return total


def with_numpy(*, single: bool, memory: int) -> Arithmetic:
    """NumPy in this process, with an allowance of bytes.

    Examples
    --------
    >>> with_numpy(single=True, memory=2**20).product(np.ones((1, 3)), np.ones((3, 1)))
    array([[3.]])
    """
    return Arithmetic(np, None, single, (MemoryError,), lambda: memory)


def with_torch(place: str, *, single: bool) -> Arithmetic:
    """Torch on a device; the processor counts as one."""
    import array_api_compat.torch as xp
    import torch

    device = torch.device(place)
    # "high" lets a device round the factors of a product to 10 bits; then float64 is the faster way to be right.
    single = single and torch.get_float32_matmul_precision() == "highest"
    exhausted = (torch.cuda.OutOfMemoryError, MemoryError)
    return Arithmetic(xp, device, single, exhausted, lambda: _free(torch, device))


def _free(torch: Any, device: Any) -> int:
    if device.type != "cuda":
        return 2**30
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + unused)


def arithmetic_for(resources: Resources) -> Arithmetic | None:
    """What the resources ask for; None: the ordinary search alone."""
    single = resources.dtype == "float32"
    if resources.device != "cpu":
        return with_torch(resources.device, single=single)
    return with_numpy(single=True, memory=resources.memory_limit // 2) if single else None
