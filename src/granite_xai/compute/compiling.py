"""Compile a plain function when it is first used, and keep the machine code on disk where that is possible."""

from __future__ import annotations

from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

Kernel = TypeVar("Kernel", bound="Callable[..., None]")


def available() -> bool:
    """Whether the compiler is installed (the extra ``fast``); it is not loaded to find out."""
    return find_spec("numba") is not None


@cache
def compiled(function: Kernel) -> Kernel:
    """The machine code of a function of arrays, which releases the interpreter's lock while it runs.

    Never ``parallel=True``: its work queue aborts the process when two threads call it.

    >>> def fill(values, number):
    ...     for i in range(len(values)):
    ...         values[i] = number
    >>> import numpy as np
    >>> values = np.zeros(2)
    >>> (compiled(fill) if available() else fill)(values, 3.0)
    >>> values
    array([3., 3.])
    """
    import numba

    build = partial(numba.njit, nogil=True, error_model="numpy")
    try:
        return cast("Kernel", build(cache=True)(function))
    except RuntimeError:  # no folder where the machine code could be kept
        return cast("Kernel", build()(function))
