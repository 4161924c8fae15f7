"""Which primitives a batch of sums uses: NumPy, compiled loops, or those of a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from granite_xai.base.errors import GraniteError, ResourceError
from granite_xai.compute.compiled import available
from granite_xai.compute.compiled_primitives import COMPILED
from granite_xai.compute.primitives import NUMPY, ArrayNamespace

WORTHWHILE = 2**15
"""Cells of a batch from which compiled loops are used; smaller ones are not worth compiling for."""

_LOOPS_ALLOWED: ContextVar[bool] = ContextVar("compiled loops allowed", default=True)


@contextmanager
def compiled_loops(*, allowed: bool) -> Iterator[None]:
    """Say whether sums may be formed in compiled loops in what is enclosed.

    They pay for exact predictions of all pairs of rows. A fit on a few values of each column is as
    fast without them, and does not wait until they are compiled.
    """
    token = _LOOPS_ALLOWED.set(allowed)
    try:
        yield
    finally:
        _LOOPS_ALLOWED.reset(token)


def primitives_for(cells: int) -> ArrayNamespace:
    """The primitives on the processor for a batch of so many cells."""
    is_worthwhile = cells >= WORTHWHILE and _LOOPS_ALLOWED.get()
    if is_worthwhile and available():
        return COMPILED
    return NUMPY


def primitives_on(device: str) -> ArrayNamespace | None:
    """The primitives of a device; None: those of the processor, chosen for each batch."""
    if device == "cpu":
        return None
    import torch
    from array_api_compat import torch as namespace

    return ArrayNamespace(namespace, torch.device(device))


@contextmanager
def device_faults(primitives: ArrayNamespace | None) -> Iterator[None]:
    """Name what fails on a device: lost, or out of memory.

    Raises
    ------
    ResourceError
        R08, instead of what the library of the device raises.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if primitives is None or isinstance(error, GraniteError):
            raise
        reason = str(error).partition("\n")[0] or "out of memory"
        hint = "Leave Resources(device=) at its default, or ask about fewer rows (max_samples=)."
        message = f"the device failed: {reason}. {hint}"
        raise ResourceError(message, code="R08", argument="resources", hint=hint) from error
